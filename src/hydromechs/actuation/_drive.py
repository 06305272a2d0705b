"""Joint drives: interface, and the two simplest drives. A class contains the data, equations and states of a drive.

Units apply to revolute joints; for prismatic joints, replace N·m by N and rad by m. A ball joint has three copies of a
drive, one for each axis of the carried body; the error of a servo is then the rotation vector to the target.
"""

import abc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hydromechs.errors import FieldError, noted
from hydromechs.model import JointPart, Model
from hydromechs.model.component import Action, Component, FastMode, Mobility, Now, Order, Slot, Values, mode_of
from hydromechs.spatial import clamp, maximum, minimum, where
from hydromechs.values import Checked, Limit, NotNegative, Scalar, check_fields, limits

from ._joints import ACTUATOR_OUTPUTS, IN_JOINT, axes, chart, checked_part, named, turned

FADE = 0.1
"""Fraction of a speed limit over which the torque decreases to zero."""


def bounded(x: Scalar, lower: float, upper: float) -> Scalar:
    """Return `x` clamped between two constants, without operations if they are infinite."""
    return clamp(x, lower, upper) if limits(lower) or limits(upper) else x


def outside(x: Scalar, lower: float, upper: float) -> Scalar:
    """Return 1 if `x` is at or beyond one of two constants, otherwise 0."""
    return where(x <= lower, 1.0, where(x >= upper, 1.0, 0.0)) if limits(lower) or limits(upper) else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive(Component):
    """Base class of joint drives; a ball joint has one copy for each axis of the carried body.

    For a custom drive, derive a frozen dataclass and implement `force` in NumPy operations for one degree of freedom.

    The target of a position-commanded drive moves between two commands: r(t) = command + rate (t − at). The held input "rate"
    is the speed of the target and defaults to 0; "at" is the time at which the target is at the commanded position. In a ball
    joint, the command is the rotation vector of a fixed target, and the error is the rotation to the target. In a custom joint
    with several velocities, the command is the target in the chart around the zero configuration.
    """

    kind = "actuator"
    cause = "drives"
    outputs = ACTUATOR_OUTPUTS
    refers = IN_JOINT
    unit: ClassVar[str] = "N m"
    """Unit of the command."""
    commands_position: ClassVar[bool] = False
    """True if the command is a position. Its initial value is then the joint position (otherwise 0), and `qd` is relative
    to the target, which may move."""

    joint: str
    """Name of the joint: the name of the carried body, or "body.2" for the second part of a composite joint."""

    @property
    def name(self) -> str:  # type: ignore[override]  # the interface's attribute, computed
        """Name of the joint."""
        return self.joint

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the internal states, which start at 0. Defaults to no states."""
        return ()

    @property
    def limits(self) -> tuple[float, float]:
        """Minimum and maximum command; commands beyond these have no further effect."""
        return -math.inf, math.inf

    @property
    def armature(self) -> float:
        """Additional inertia reflected to the joint [kg·m²]."""
        return 0.0

    @abc.abstractmethod
    def force(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> Scalar:
        """Return the torque on the joint [N·m] at position q [rad] and speed qd [rad/s]; x contains the internal states."""

    def rates(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Return the rates of the internal states; the arguments are those of `force`."""
        return ()

    def saturated(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> Scalar:
        """Return 1 if the command or torque is at a limit, otherwise 0; the arguments are those of `force`."""
        return outside(command, *self.limits)

    def joint_modes(self, mobility: float) -> tuple[FastMode, ...]:
        """Return the fast modes of the drive, for advice on the step; `mobility` is acceleration per torque [1/(kg·m²)]."""
        return ()

    # -- the component ------------------------------------------------------------------------------------------------------

    @property
    def rotors(self) -> dict[str, float]:
        return {self.joint: self.armature}

    def order(self, model: Model) -> tuple[int, int]:
        return Order.DRIVE.of_joint(model, self.joint)

    def check(self, model: Model) -> None:
        checked_part(model, self.joint, "drives need")

    def states(self, model: Model) -> list[Slot]:
        return [Slot(named(axis, x)) for axis in axes(model.joint_part(self.joint)) for x in self.state_names]

    def entries(self, model: Model) -> list[str]:
        return [f"{self.name}.{axis}" if axis else self.name for axis in axes(model.joint_part(self.joint))]

    def inputs(self, model: Model) -> list[Slot]:
        """Return the command of each axis, and the rate and time of the target of a position-commanded drive."""
        part = model.joint_part(self.joint)
        out = []
        for k, axis in enumerate(axes(part)):
            start = _position(part, k) if self.commands_position else 0.0
            unit = self.unit
            if part.joint.unit == "m":
                unit = {"rad": "m", "N m": "N"}.get(unit, unit)
            out.append(Slot(axis, start, unit, limits=self.limits))
        if self._follows(part):
            out += [Slot("rate", unit=f"{unit}/s", setting=True), Slot("at", unit="s", setting=True)]
        return out

    def _follows(self, part: JointPart) -> bool:
        return self.commands_position and part.joint.nv == 1

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Return the joint force, the rates of the states, and the reflected rotor inertia."""
        joint = now.joint(self.joint)
        ways = axes(joint.part)
        commands = [u[axis] for axis in ways]
        at: list[Scalar] = [joint.q[0]]
        speed = joint.v
        if self._follows(joint.part):
            commands = [commands[0] + u["rate"] * (now.t - u["at"])]
            speed = joint.v - u["rate"]
        if len(ways) > 1:
            at = [0.0] * len(ways)
            if self.commands_position:
                step = chart(joint.part)
                target = step.retract(np.array(joint.part.joint.neutral_q), np.array(commands))
                commands = list(step.difference(joint.q, target))
        tau: list[Scalar] = []
        saturated: list[Scalar] = []
        rates: dict[str, Scalar] = {}
        for k, axis in enumerate(ways):
            x = [z[named(axis, name)] for name in self.state_names]
            given = (commands[k], at[k], speed[k], x)
            with noted(f"in the drive of joint {self.joint!r} ({type(self).__name__})"):
                tau.append(self.force(*given))
                rates |= zip((named(axis, name) for name in self.state_names), self.rates(*given), strict=True)
                saturated.append(self.saturated(*given))
        geared = self.armature
        return Action(
            joint_forces=[joint.force(np.array(tau))],
            armature=[(joint.part.v, geared)] if geared else [],
            rates=rates,
            record={"actuator_force": np.array(tau), "saturated": np.array(saturated)},
        )

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        return self.joint_modes(mobility.joint(model.joint_part(self.joint).v))


def _position(part: JointPart, k: int) -> Callable[[Now], float]:
    """Return a function that computes the k-th command that holds a joint at its present position."""
    if part.joint.nv == 1:
        return lambda now: float(now.q[part.q][0])
    return lambda now: float(turned(part, now.q[part.q])[k])


@dataclass(frozen=True, slots=True, kw_only=True)
class Torque(Drive):
    """Torque source; the command is the torque [N·m].

    With a speed limit, the torque in the direction of motion decreases to 0 over the last tenth of the speed range:

        τ ≤ limit · clamp((speed − q̇)/(speed/10), 0, 1),   and correspondingly in the other direction

    The drive does not brake, so a load can move the joint faster. If the torque accelerates the joint by more than a tenth of
    the limit within one step, the speed oscillates about the limit by the same amount.
    """

    limit: Limit = math.inf
    """Maximum torque in either direction [N·m]."""
    speed: Limit = math.inf
    """Maximum speed to which the drive accelerates the joint, in either direction [rad/s]; requires a finite `limit`."""

    def __post_init__(self) -> None:
        check_fields(self)
        if math.isinf(self.limit) and math.isfinite(self.speed):
            raise FieldError("Torque.speed", self.speed, "must be omitted without a torque limit; set Torque.limit")

    @property
    def limits(self) -> tuple[float, float]:
        return -self.limit, self.limit

    def force(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> Scalar:
        """Return the torque τ: the command within the torque and speed limits."""
        if not limits(self.speed):
            return bounded(command, *self.limits)
        most, least = self._at(qd), -self._at(-qd)
        return minimum(maximum(command, least), most)

    def saturated(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> Scalar:
        """Return 1 if the torque is at its limit for the present speed, otherwise 0."""
        if not limits(self.speed):
            return outside(command, *self.limits)
        return where(command >= self._at(qd), 1.0, where(command <= -self._at(-qd), 1.0, 0.0))

    def _at(self, qd: Scalar) -> Scalar:
        """Return the maximum torque in the direction of a speed [N·m]."""
        return self.limit * clamp((self.speed - qd) / (FADE * self.speed), 0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Servo(Checked, Drive):
    """Position servo: a spring and damper to the target; the command is the target position [rad]."""

    unit = "rad"
    commands_position = True

    stiffness: NotNegative
    """Stiffness k: torque per position error [N·m/rad]."""
    damping: NotNegative
    """Damping d: torque per velocity error [N·m·s/rad]."""
    limit: Limit = math.inf
    """Maximum torque in either direction [N·m]."""

    def force(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> Scalar:
        """Return the torque τ = k (r − q) + d (ṙ − q̇), within the limit."""
        return bounded(self.stiffness * (command - q) - self.damping * qd, -self.limit, self.limit)

    def saturated(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> Scalar:
        return outside(self.force(command, q, qd, x), -self.limit, self.limit)

    def joint_modes(self, mobility: float) -> tuple[FastMode, ...]:
        return (mode_of(f"servo of joint {self.joint!r}", self.stiffness, self.damping, mobility),)
