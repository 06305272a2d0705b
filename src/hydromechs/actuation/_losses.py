"""Joint friction, viscous and Coulomb with a stick phase, and soft stops at the ends of the travel."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.model import Model, joints
from hydromechs.model.component import Action, FastMode, Mobility, Now, Order, Slot, Values, mode_of
from hydromechs.registry import Hidden, Required
from hydromechs.spatial import maximum, norm, stick_slip, where
from hydromechs.values import Array, Checked, NotNegative, Number, Positive, Scalar, check_fields, is_zero, limits

from ._joints import TINY, InJoint, axes, checked_part, named, turned


class FrictionForce(NamedTuple):
    """Friction of a joint, which satisfies tau · q̇ = −loss − d(stored)/dt."""

    tau: Scalar | Array
    """Torque on the joint [N·m], with the shape of the speed."""
    s_rate: Scalar | Array
    """Rate of the deflection [rad/s], with the shape of the speed."""
    loss: Scalar
    """Dissipated power, never negative [W]."""
    stored: Scalar
    """Elastic energy of the stick phase [J]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointFriction(Checked, InJoint):
    """Viscous friction of a joint, and Coulomb friction with a stick phase; in a ball joint, friction opposes rotation.

    If both coefficients are 0, this component removes the friction of the model.
    """

    kind = "joint_friction"
    cause = "friction"
    suffix = "friction"

    viscous: NotNegative = 0.0
    """Viscous friction torque per speed [N·m·s/rad]."""
    coulomb: NotNegative = 0.0
    """Coulomb torque, at which the joint slips [N·m]; 0 for no Coulomb friction and no internal state."""
    stick_deflection: Positive = 1e-3
    """Elastic deflection at which the joint slips [rad]; the stick phase has the stiffness coulomb / stick_deflection."""
    relaxation: Positive = 0.005
    """Ratio of damping to stiffness of the stick phase: the time in which the deflection settles during slip [s]."""

    armature: NotNegative = 0.0
    """Inertia of an additional rotor that rotates with the joint [kg·m² or kg]."""

    @property
    def state_names(self) -> tuple[str, ...]:
        """Name of the deflection of the stick phase [rad]; empty without Coulomb friction."""
        return () if is_zero(self.coulomb) else ("deflection",)

    def force(self, qd: Scalar | Array, s: Scalar | Array) -> FrictionForce:
        """Return the friction torque τ = −d q̇ − f at speed q̇ and deflection s of the stick phase [rad], shape (n,) each.

        The function `spatial.stick_slip` defines f: no creep below the Coulomb torque, and slip with |f| equal to it.
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
        """Note about the assumed inertia of a rotor, which is not part of the model."""
        if not self.armature:
            return ()
        return (
            f"joint {self.joint!r}: friction would stop the joint within a step, so a rotor of {self.armature:.3g} kg·m² is "
            "assumed (docs/actuation.md); add a drive with an armature, or custom friction, to avoid this",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class JointStops(InJoint):
    """Soft stops of a joint: a spring and a damper beyond each limit, which push back and never pull.

    In a ball joint, `upper` limits the rotation angle θ, and the stop pushes back about the rotation vector φ, with
    θ̇ = φ·ω/θ. Without limits, this component removes the stops of the model.
    """

    kind = "joint_stops"
    cause = "friction"
    suffix = "stops"

    lower: Number = -math.inf
    """Minimum free position [rad]; −inf for no lower stop."""
    upper: Number = math.inf
    """Maximum free position [rad]; inf for no upper stop."""
    stiffness: Annotated[NotNegative, Required()] = 0.0
    """Torque per angle beyond a limit [N·m/rad]; must be > 0 if there is a limit."""
    damping: NotNegative = 0.0
    """Torque per speed beyond a limit [N·m·s/rad]."""
    assumed: Annotated[bool, Hidden()] = False
    """True if the values are defaults from limits and inertia in the model; error messages state this."""

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.lower < self.upper:
            raise ValueError(
                f"JointStops.lower is {self.lower:.6g}, must be below JointStops.upper, {self.upper:.6g}; swap them"
            )
        if self.acts and not self.stiffness:
            raise FieldError("JointStops.stiffness", self.stiffness, "must be > 0")

    def _beyond(self, q: Scalar) -> list[tuple[Scalar, float]]:
        """Return the depth beyond the limit [rad] and the direction of the torque (1 or −1) for each stop."""
        out = []
        if limits(self.lower):
            out.append((maximum(self.lower - q, 0.0), 1.0))
        if limits(self.upper):
            out.append((maximum(q - self.upper, 0.0), -1.0))
        return out

    def _push(self, depth: Scalar, depth_rate: Scalar) -> Scalar:
        """Return the torque of a stop, max(0, k d + c ḋ) while d > 0, otherwise 0 [N·m]."""
        return where(depth > 0.0, maximum(self.stiffness * depth + self.damping * depth_rate, 0.0), 0.0)

    def force(self, q: Scalar, qd: Scalar) -> Scalar:
        """Return the torque of the stops on the joint [N·m]: max(0, k d + c ḋ) towards the free range while the depth d > 0."""
        return sum((sense * self._push(d, -sense * qd) for d, sense in self._beyond(q)), 0.0)

    def energy(self, q: Scalar) -> Scalar:
        """Return the elastic energy ½ k d² [J] at a joint position q [rad]."""
        return sum((0.5 * self.stiffness * d * d for d, _ in self._beyond(q)), 0.0)

    def loss(self, q: Scalar, qd: Scalar) -> Scalar:
        """Return the dissipated power (F − k d) ḋ ≥ 0 [W], so that τ q̇ = −loss − d(energy)/dt.

        The power is c ḋ² while a stop pushes. If the joint leaves the stop faster than the stop recovers, the energy of the
        spring is dissipated.
        """
        return sum(((self._push(d, -sense * qd) - self.stiffness * d) * (-sense * qd) for d, sense in self._beyond(q)), 0.0)

    # -- the component ------------------------------------------------------------------------------------------------------

    @property
    def acts(self) -> bool:
        return limits(self.lower) or limits(self.upper)

    def order(self, model: Model) -> tuple[int, int]:
        return Order.STOPS.of_joint(model, self.joint)

    def check(self, model: Model) -> None:
        part = checked_part(model, self.joint, "stops need")
        if part.joint.nv > 1 and not isinstance(part.joint, joints.Ball):
            raise ValueError(
                f"stops: joint {self.joint!r} has {part.joint.nv} velocities, but stops require one velocity or a ball joint; "
                "remove the stops"
            )
        if self.acts and isinstance(part.joint, joints.Ball) and not (0.0 < self.upper < math.pi and self.lower <= 0.0):
            raise ValueError(
                f"stops of the ball joint {self.joint!r}: upper, the maximum rotation angle, is {self.upper:.6g} rad, must be "
                "above 0 and below π; omit lower"
            )

    def act(self, now: Now, z: Values, u: Values) -> Action:
        joint, stops = now.joint(self.joint), self
        if len(joint.v) == 1:
            q, qd, out = joint.q[0], joint.v[0], np.ones(1)
        else:
            phi = turned(joint.part, joint.q)
            q = norm(phi)
            out = phi / (q + TINY)
            qd = out @ joint.v
            stops = replace(self, lower=-math.inf)
        return Action(joint_forces=[joint.force(stops.force(q, qd) * out)], energy=stops.energy(q), power=-stops.loss(q, qd))

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        moves = mobility.joint(model.joint_part(self.joint).v)
        found = mode_of(f"stops of joint {self.joint!r}", self.stiffness, self.damping, moves, meets=True)
        advice = "define stops that are softer than these defaults, or `stops: none`"
        return (found._replace(remedy=advice) if self.assumed else found,)
