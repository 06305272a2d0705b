"""Soft stops at the ends of a joint's travel."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hydromechs.model.component import Mode, mode_of
from hydromechs.spatial import maximum, where
from hydromechs.values import NotNegative, Number, Positive, Scalar, check_fields

__all__ = ["Stops"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stops:
    """Soft ends of the travel: a spring and a damper beyond each limit, which push back and never pull.

    In a ball joint the position is the angle by which it is turned, so only `upper` counts.
    """

    lower: Number = -math.inf
    """Lowest free position [rad]; −inf: none."""
    upper: Number = math.inf
    """Highest free position [rad]; inf: none."""
    stiffness: Positive
    """Torque per angle beyond the limit [N·m/rad]."""
    damping: NotNegative = 0.0
    """Torque per speed beyond the limit [N·m·s/rad]."""

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.lower < self.upper:
            raise ValueError(f"Stops.lower is {self.lower:.6g}, must be below Stops.upper, {self.upper:.6g}; swap them?")

    def _beyond(self, q: Scalar) -> list[tuple[Scalar, float]]:
        """(depth beyond the limit, sense of the way out) of each stop that there is."""
        out = []
        if math.isfinite(self.lower):
            out.append((maximum(self.lower - q, 0.0), 1.0))
        if math.isfinite(self.upper):
            out.append((maximum(q - self.upper, 0.0), -1.0))
        return out

    def _push(self, depth: Scalar, depth_rate: Scalar) -> Scalar:
        """max(0, k d + c ḋ) while d > 0."""
        return where(depth > 0.0, maximum(self.stiffness * depth + self.damping * depth_rate, 0.0), 0.0)

    def force(self, q: Scalar, qd: Scalar) -> Scalar:
        """Torque on the joint [N·m]: max(0, k d + c ḋ) back into the travel while the depth d > 0.

        Args:
            q: Joint position [rad].
            qd: Joint speed [rad/s].
        """
        return sum((sense * self._push(d, -sense * qd) for d, sense in self._beyond(q)), 0.0)

    def energy(self, q: Scalar) -> Scalar:
        """Elastic energy ½ k d² [J].

        Args:
            q: Joint position [rad].
        """
        return sum((0.5 * self.stiffness * d * d for d, _ in self._beyond(q)), 0.0)

    def loss(self, q: Scalar, qd: Scalar) -> Scalar:
        """Power that is lost [W], never negative: (F − k d) ḋ, so that τ q̇ = −loss − d(energy)/dt.

        It is c ḋ² while they push; where the joint leaves faster than they follow, the spring's energy is lost.

        Args:
            q: Joint position [rad].
            qd: Joint speed [rad/s].
        """
        return sum(
            ((self._push(d, -sense * qd) - self.stiffness * d) * (-sense * qd) for d, sense in self._beyond(q)),
            0.0,
        )

    def modes(self, joint: str, mobility: float) -> tuple[Mode, ...]:
        """Their spring and damper.

        Args:
            joint: Name of the joint.
            mobility: Acceleration of the joint per torque [1/(kg·m²)].
        """
        return (mode_of(f"stops of joint {joint!r}", self.stiffness, self.damping, mobility, meets=True),)
