"""Friction of a joint: viscous, and Coulomb friction with a stick phase."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hydromechs.model import Model
from hydromechs.model.component import Action, FastMode, Mobility, Now, Order, Slot, Values, mode_of
from hydromechs.spatial import stick_slip
from hydromechs.values import Array, Checked, NotNegative, Positive, Scalar, is_zero

from ._joints import InJoint, axes, checked_part, named


class FrictionForce(NamedTuple):
    """Friction of a joint, with tau · q̇ = −loss − d(stored)/dt."""

    tau: Scalar | Array
    """Torque on the joint [N·m], shaped as the speed."""
    s_rate: Scalar | Array
    """Rate of the deflection [rad/s], shaped as the speed."""
    loss: Scalar
    """Dissipated power, never negative [W]."""
    stored: Scalar
    """Elastic energy of the stick phase [J]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointFriction(Checked, InJoint):
    """Viscous friction of a joint, and Coulomb friction with a stick phase. In a ball joint it opposes the angular velocity.

    Without any friction, it overrides the friction of the model.
    """

    kind = "joint_friction"
    cause = "friction"
    suffix = "friction"

    viscous: NotNegative = 0.0
    """Torque per speed [N·m·s/rad]."""
    coulomb: NotNegative = 0.0
    """Torque at which it slips [N·m]; 0 for no Coulomb friction and no state."""
    stick_deflection: Positive = 1e-3
    """Elastic deflection at which it slips [rad]: the stiffness of the stick phase is coulomb / stick_deflection."""
    relaxation: Positive = 0.005
    """Damping over stiffness of the stick phase [s]: the time in which the deflection settles while it slips."""

    armature: NotNegative = 0.0
    """Inertia of a rotor that turns with the joint and belongs to neither body nor drive [kg·m² or kg]."""

    @property
    def state_names(self) -> tuple[str, ...]:
        """Return the deflection of the stick phase [rad]; none without Coulomb friction."""
        return () if is_zero(self.coulomb) else ("deflection",)

    def force(self, qd: Scalar | Array, s: Scalar | Array) -> FrictionForce:
        """Return viscous and Coulomb friction τ = −d q̇ − f for q̇ and the deflection s of the stick phase [rad], each (n,).

        f is that of `spatial.stick_slip`: no creep below the Coulomb torque; above it, the joint slips with |f| equal to it.
        """
        shape, w = np.shape(qd), np.atleast_1d(np.asarray(qd))
        viscous = self.viscous * w
        if is_zero(self.coulomb):
            return FrictionForce((-viscous).reshape(shape)[()], np.zeros(shape)[()], viscous @ w, 0.0)
        k = self.coulomb / self.stick_deflection
        c = k * self.relaxation
        deflection = np.atleast_1d(np.asarray(s))
        f, rate = stick_slip(k, c, self.coulomb, deflection, w)
        loss = viscous @ w + c * (rate @ rate) + f @ (w - rate)
        tau, stored = -viscous - f, 0.5 * k * (deflection @ deflection)
        return FrictionForce(tau.reshape(shape)[()], rate.reshape(shape)[()], loss, stored)

    # -- the component ------------------------------------------------------------------------------------------------------

    @property
    def acts(self) -> bool:
        return bool(self.viscous or self.coulomb or self.armature)

    @property
    def rotors(self) -> dict[str, float]:
        return {self.joint: self.armature}

    @property
    def notes(self) -> Sequence[str]:
        """Return the inertia of the rotor, which is not part of the model."""
        if not self.armature:
            return ()
        return (
            f"joint {self.joint!r}: its friction would stop it within a step; a rotor of {self.armature:.3g} kg·m² is assumed "
            "in it (docs/actuation.md); give a drive with its armature, or custom friction, to avoid it",
        )

    def order(self, model: Model) -> tuple[int, int]:
        return Order.FRICTION.of_joint(model, self.joint)

    def check(self, model: Model) -> None:
        checked_part(model, self.joint, "friction needs")

    def states(self, model: Model) -> list[Slot]:
        return [Slot(named(axis, x), unit="rad") for axis in axes(model.joint_part(self.joint)) for x in self.state_names]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        joint = now.joint(self.joint)
        names = [named(axis, x) for axis in axes(joint.part) for x in self.state_names]
        f = self.force(joint.v, np.array([z[n] for n in names]) if names else np.zeros(len(joint.v)))
        return Action(
            joint_forces=[joint.force(np.asarray(f.tau))],
            armature=[(joint.part.v, self.armature)] if self.armature else [],
            rates=dict(zip(names, np.asarray(f.s_rate), strict=True)) if names else {},
            energy=f.stored,
            power=-f.loss,
        )

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        moves = mobility.joint(model.joint_part(self.joint).v)
        k = self.coulomb / self.stick_deflection
        c = k * self.relaxation + self.viscous
        out: tuple[FastMode, ...] = (mode_of(f"friction of joint {self.joint!r}", k, c, moves, internal=True),)
        if self.coulomb:
            out += (FastMode(f"slipping friction of joint {self.joint!r}", 0.0, 1.0 / self.relaxation),)
        return out
