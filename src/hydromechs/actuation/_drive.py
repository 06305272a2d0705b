"""Drives of a joint: the interface, and the two plain ones. A drive's data, its equations and its states are in one class.

Units are those of a revolute joint; for a prismatic one read N for N·m, m for rad. A ball joint has three of a drive, one for
each axis of the body that it carries; a servo's error is then the rotation vector to its target.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hydromechs.errors import FieldError
from hydromechs.model.component import Mode, mode_of
from hydromechs.spatial import clamp, maximum, minimum, where
from hydromechs.values import Limit, NotNegative, Scalar, check_fields

__all__ = ["Drive", "Servo", "Torque", "bounded", "outside"]

FADE = 0.1
"""Part of a speed limit over which the torque fades below it."""


def bounded(x: Scalar, lower: float, upper: float) -> Scalar:
    """`x` between two constants, at no cost where they are infinite."""
    return x if math.isinf(lower) and math.isinf(upper) else clamp(x, lower, upper)


def outside(x: Scalar, lower: float, upper: float) -> Scalar:
    """1 where `x` is at or beyond one of two constants, else 0."""
    return 0.0 if math.isinf(lower) and math.isinf(upper) else where(x <= lower, 1.0, where(x >= upper, 1.0, 0.0))


class Drive(abc.ABC):
    """What drives one degree of freedom. Derive a frozen dataclass from it for a drive of your own; write NumPy operations."""

    __slots__ = ()
    unit: ClassVar[str] = "N m"
    """Unit of the command."""
    commands_position: ClassVar[bool] = False
    """Whether the command is a position; at rest it is then the joint's own, else 0. Its speed `qd` is then the one relative
    to the target, which can move."""

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the internal states, which start at 0; none unless overridden."""
        return ()

    @property
    def limits(self) -> tuple[float, float]:
        """Lowest and highest command; commands beyond have no further effect."""
        return -math.inf, math.inf

    @property
    def armature(self) -> float:
        """Inertia that the joint feels besides its own [kg·m²]."""
        return 0.0

    @abc.abstractmethod
    def force(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> Scalar:
        """Torque on the joint [N·m].

        Args:
            command: Command, in the drive's unit.
            q: Joint position [rad].
            qd: Joint speed [rad/s].
            x: Internal states, as `states` names them.
        """

    def rates(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Rates of the internal states, as many as `states` names.

        Args:
            command: Command, in the drive's unit.
            q: Joint position [rad].
            qd: Joint speed [rad/s].
            x: Internal states.
        """
        return ()

    def saturated(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> Scalar:
        """1 where the drive is at a limit of its command or of its torque, else 0.

        Args:
            command: Command, in the drive's unit.
            q: Joint position [rad].
            qd: Joint speed [rad/s].
            x: Internal states.
        """
        return outside(command, *self.limits)

    def modes(self, joint: str, mobility: float) -> tuple[Mode, ...]:
        """Its fast modes, for advice on the step.

        Args:
            joint: Name of the joint.
            mobility: Acceleration of the joint per torque [1/(kg·m²)].
        """
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Torque(Drive):
    """Source of torque; the command is the torque [N·m].

    With a speed limit the torque in the direction of motion fades over the last tenth below it, and is 0 beyond it:

        τ ≤ limit · clamp((speed − q̇)/(speed/10), 0, 1),   and likewise the other way

    Nothing brakes: a load can drive the joint faster. Where the limit speeds the joint up by more than that tenth within one
    step, the speed hunts about its limit by as much.
    """

    limit: Limit = math.inf
    """Highest torque, either way [N·m]."""
    speed: Limit = math.inf
    """Speed from which on it does not drive the joint any faster, either way; needs a finite `limit` [rad/s]."""

    def __post_init__(self) -> None:
        check_fields(self)
        if math.isinf(self.limit) and math.isfinite(self.speed):
            raise FieldError("Torque.speed", self.speed, "needs a limit of the torque, too, which fades there")

    @property
    def limits(self) -> tuple[float, float]:
        """Of the torque [N·m]."""
        return -self.limit, self.limit

    def force(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> Scalar:
        """τ = the command, within the limit and, at high speeds, below."""
        if math.isinf(self.speed):
            return bounded(command, *self.limits)
        most, least = self._at(qd), -self._at(-qd)
        return minimum(maximum(command, least), most)

    def saturated(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> Scalar:
        """1 at the limit of the torque at this speed."""
        if math.isinf(self.speed):
            return outside(command, *self.limits)
        return where(command >= self._at(qd), 1.0, where(command <= -self._at(-qd), 1.0, 0.0))

    def _at(self, qd: Scalar) -> Scalar:
        """Highest torque at a speed in its direction [N·m]."""
        return self.limit * clamp((self.speed - qd) / (FADE * self.speed), 0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Servo(Drive):
    """Position servo, a spring and damper to the target; the command is the target position [rad], and its rate [rad/s]."""

    unit = "rad"
    commands_position = True

    stiffness: NotNegative
    """Torque per position error [N·m/rad]."""
    damping: NotNegative
    """Torque per speed relative to the target [N·m·s/rad]."""
    limit: Limit = math.inf
    """Highest torque, either way [N·m]."""

    def __post_init__(self) -> None:
        check_fields(self)

    def force(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> Scalar:
        """τ = k (r − q) + d (ṙ − q̇), within the limit."""
        return bounded(self.stiffness * (command - q) - self.damping * qd, -self.limit, self.limit)

    def saturated(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> Scalar:
        """1 at the limit of the torque."""
        return outside(self.force(command, q, qd, x), -self.limit, self.limit)

    def modes(self, joint: str, mobility: float) -> tuple[Mode, ...]:
        """Its spring and damper."""
        return (mode_of(f"servo of joint {joint!r}", self.stiffness, self.damping, mobility),)
