"""Friction of a joint: viscous, and Coulomb friction with a stick phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hydromechs.model.component import Mode, mode_of
from hydromechs.spatial import stick_slip
from hydromechs.values import Array, NotNegative, Positive, Scalar, check_fields

__all__ = ["Friction", "FrictionForce"]


class FrictionForce(NamedTuple):
    """Friction of a joint, with tau · q̇ = −loss − d(stored)/dt."""

    tau: Scalar | Array
    """Torque on the joint [N·m], shaped as the speed."""
    s_rate: Scalar | Array
    """Rate of the deflection [rad/s], shaped as the speed."""
    loss: Scalar
    """Power that is lost, never negative [W]."""
    stored: Scalar
    """Elastic energy of the stick phase [J]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Friction:
    """Viscous friction, and Coulomb friction with a stick phase. In a ball joint it opposes the angular velocity."""

    viscous: NotNegative = 0.0
    """Torque per speed [N·m·s/rad]."""
    coulomb: NotNegative = 0.0
    """Torque at which it slips [N·m]; 0: no Coulomb friction, no state."""
    stick_deflection: Positive = 1e-3
    """Elastic deflection at which it slips [rad]: the stiffness of the stick phase is coulomb / stick_deflection."""
    relaxation: Positive = 0.005
    """Damping over stiffness of the stick phase [s]: the time in which the deflection settles while it slips."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def states(self) -> tuple[str, ...]:
        """The deflection of the stick phase [rad]; none without Coulomb friction."""
        return ("deflection",) if self.coulomb else ()

    def force(self, qd: Scalar | Array, s: Scalar | Array) -> FrictionForce:
        """Viscous and Coulomb friction: τ = −d q̇ − f, f from `spatial.stick_slip`.

        Below the Coulomb torque it holds with no creep; above, it slips with |f| equal to it.

        Args:
            qd: Joint speed [rad/s], a number or shape (n,).
            s: Deflection of the stick phase, its state [rad], shaped alike; without effect where there is no Coulomb friction.
        """
        shape, w = np.shape(qd), np.atleast_1d(np.asarray(qd))
        viscous = self.viscous * w
        if not self.coulomb:
            return FrictionForce((-viscous).reshape(shape)[()], np.zeros(shape)[()], viscous @ w, 0.0)
        k = self.coulomb / self.stick_deflection
        c = k * self.relaxation
        deflection = np.atleast_1d(np.asarray(s))
        f, rate = stick_slip(k, c, self.coulomb, deflection, w)
        loss = viscous @ w + c * (rate @ rate) + f @ (w - rate)
        tau, stored = -viscous - f, 0.5 * k * (deflection @ deflection)
        return FrictionForce(tau.reshape(shape)[()], rate.reshape(shape)[()], loss, stored)

    def modes(self, joint: str, mobility: float) -> tuple[Mode, ...]:
        """The stick phase, and the settling of its deflection.

        Args:
            joint: Name of the joint.
            mobility: Acceleration of the joint per torque [1/(kg·m²)].
        """
        k = self.coulomb / self.stick_deflection
        c = k * self.relaxation + self.viscous
        out: tuple[Mode, ...] = (mode_of(f"friction of joint {joint!r}", k, c, mobility, internal=True),)
        if self.coulomb:
            out += (Mode(f"slipping friction of joint {joint!r}", 0.0, 1.0 / self.relaxation),)
        return out
