"""Components that act in a joint of any kind: drives, friction, stops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.errors import noted
from hydromechs.model import JointPart, Model, MovingStep, joints
from hydromechs.model.component import Action, Component, Mobility, Mode, Now, Output, Slot, Values
from hydromechs.spatial import norm
from hydromechs.values import Array, NotNegative, Scalar, check_fields

from ._drive import Drive
from ._friction import Friction
from ._stops import Stops

__all__ = ["ACTUATOR_OUTPUTS", "JointDrive", "JointFriction", "JointStops"]

AXES = ("x", "y", "z")
TINY = 1e-150
"""Keeps the direction of a rotation finite where there is none."""
ACTUATOR_OUTPUTS = (
    Output("actuator_force", "N, N m", "thrust, or force of the drive"),
    Output("saturated", "1", "1 where the actuator is at a limit", dtype="int8"),
)
"""What actuators record."""


def _checked_part(model: Model, joint: str, what: str) -> JointPart:
    """The joint called `joint`; an error if nothing can act in it."""
    part = model.joint_part(joint)
    if isinstance(part.joint, joints.Free):
        raise ValueError(f"joint of body {joint!r} is free; {what} a joint of another kind")
    return part


def _axes(part: JointPart) -> tuple[str, ...]:
    """Names of its degrees of freedom: one without a name; three of a ball joint; "v1", "v2", ... of a user's own."""
    if isinstance(part.joint, joints.Ball):
        return AXES
    return tuple(name for group in part.joint.rates for name in group.names)


def _named(axis: str, name: str) -> str:
    return f"{name}.{axis}" if axis and name else axis or name


def _chart(part: JointPart) -> MovingStep:
    """What knows the configurations of a joint."""
    return next(step for step in part.joint.steps(0, 0) if isinstance(step, MovingStep))


def _turned(part: JointPart, q: Array) -> Array:
    """Coordinates of a joint from its zero configuration, the rotation vector of a ball joint, shape (nv,)."""
    return _chart(part).difference(np.array(part.joint.neutral_q), q)


@dataclass(frozen=True, slots=True, kw_only=True)
class JointDrive(Component):
    """A drive in a joint; in a ball joint, one for each axis of the body that it carries.

    A drive that is told positions follows a target that moves between two commands, r(t) = command + rate (t − at): the held
    inputs "rate" and "at" say how fast, and when the target is at the commanded position; the rate is 0 unless set.
    In a ball joint the command is the rotation vector of a target at rest; its error is the rotation from here to there. In a
    joint of a user's own with several velocities it is, as there, the target in the chart around the zero configuration.
    """

    kind = "actuator"
    cause = "drives"
    outputs = ACTUATOR_OUTPUTS

    joint: str
    """Name of the joint: of the body that it carries, "body.2" for the second part of a composite joint."""
    drive: Drive
    """What drives it."""

    @property
    def name(self) -> str:  # type: ignore[override]  # the interface's attribute, computed
        """That of the joint."""
        return self.joint

    def check(self, model: Model) -> None:
        """The joint must be there, and have something to drive."""
        if not isinstance(self.drive, Drive):
            raise TypeError(f"drive of joint {self.joint!r} is {self.drive!r}, must be a Drive, as drives.Servo(...)")
        _checked_part(model, self.joint, "drives need")

    def states(self, model: Model) -> list[Slot]:
        """Those of the drive, for each axis."""
        return [Slot(_named(axis, x)) for axis in _axes(model.joint_part(self.joint)) for x in self.drive.states]

    def entries(self, model: Model) -> list[str]:
        """One for each axis."""
        return [f"{self.name}.{axis}" if axis else self.name for axis in _axes(model.joint_part(self.joint))]

    def inputs(self, model: Model) -> list[Slot]:
        """The command, for each axis; at rest a servo's is the joint's position, whose rate and time it is told, too."""
        part = model.joint_part(self.joint)
        out = []
        for k, axis in enumerate(_axes(part)):
            start = _position(part, k) if self.drive.commands_position else 0.0
            unit = self.drive.unit
            if part.joint.unit == "m":
                unit = {"rad": "m", "N m": "N"}.get(unit, unit)
            out.append(Slot(axis, start, unit, limits=self.drive.limits))
        if self._follows(part):
            out += [Slot("rate", unit=f"{unit}/s", held=True), Slot("at", unit="s", held=True)]
        return out

    def _follows(self, part: JointPart) -> bool:
        """Whether its target can move between two commands."""
        return self.drive.commands_position and part.joint.nv == 1

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Force, rates of the drive's states, and the rotor's inertia."""
        joint = now.joint(self.joint)
        axes = _axes(joint.part)
        commands = [u[axis] for axis in axes]
        at: list[Scalar] = [joint.q[0]]
        speed = joint.v
        if self._follows(joint.part):
            commands = [commands[0] + u["rate"] * (now.t - u["at"])]
            speed = joint.v - u["rate"]
        if len(axes) > 1:
            at = [0.0] * len(axes)
            if self.drive.commands_position:
                chart = _chart(joint.part)
                target = chart.retract(np.array(joint.part.joint.neutral_q), np.array(commands))
                commands = list(chart.difference(joint.q, target))
        tau: list[Scalar] = []
        saturated: list[Scalar] = []
        rates: dict[str, Scalar] = {}
        for k, axis in enumerate(axes):
            x = [z[_named(axis, name)] for name in self.drive.states]
            given = (commands[k], at[k], speed[k], x)
            with noted(f"in the drive of the joint {self.joint!r} ({type(self.drive).__name__})"):
                tau.append(self.drive.force(*given))
                rates |= zip((_named(axis, name) for name in self.drive.states), self.drive.rates(*given), strict=True)
                saturated.append(self.drive.saturated(*given))
        geared = self.drive.armature
        return Action(
            joint_forces=[joint.force(np.array(tau))],
            armature=[(joint.part.v, geared)] if geared else [],
            rates=rates,
            record={"actuator_force": np.array(tau), "saturated": np.array(saturated)},
        )

    def modes(self, model: Model, mobility: Mobility) -> Sequence[Mode]:
        """Those of the drive."""
        return self.drive.modes(self.joint, mobility.joint(model.joint_part(self.joint).v))


def _position(part: JointPart, k: int) -> Callable[[Now], float]:
    """A function of the instant: the k-th command that holds a joint where it is."""
    if part.joint.nv == 1:
        return lambda now: float(now.q[part.q][0])
    return lambda now: float(_turned(part, now.q[part.q])[k])


@dataclass(frozen=True, slots=True, kw_only=True)
class JointFriction(Component):
    """Friction in a joint."""

    kind = "joint_friction"
    cause = "friction"

    joint: str
    """Name of the joint."""
    friction: Friction
    """What resists."""
    armature: NotNegative = 0.0
    """Inertia of a rotor that turns with the joint and is part of neither body nor drive [kg·m² or kg]."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def notes(self) -> Sequence[str]:
        """The rotor, which the model does not have."""
        if not self.armature:
            return ()
        return (
            f"joint {self.joint!r}: its friction would stop it within a step; a rotor of {self.armature:.3g} kg·m² is assumed "
            "in it (docs/actuation.md); give a drive with its armature, or friction of your own, to leave it out",
        )

    @property
    def name(self) -> str:  # type: ignore[override]  # the interface's attribute, computed
        """That of the joint, and what it is."""
        return f"{self.joint}.friction"

    def check(self, model: Model) -> None:
        """The joint must be there."""
        if not isinstance(self.friction, Friction):
            raise TypeError(f"friction of joint {self.joint!r} is {self.friction!r}, must be a drives.Friction(...)")
        _checked_part(model, self.joint, "friction needs")

    def states(self, model: Model) -> list[Slot]:
        """The deflection of the stick phase."""
        axes = _axes(model.joint_part(self.joint))
        return [Slot(_named(axis, x), unit="rad") for axis in axes for x in self.friction.states]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Friction, what it stores and what it loses."""
        joint = now.joint(self.joint)
        names = [_named(axis, x) for axis in _axes(joint.part) for x in self.friction.states]
        f = self.friction.force(joint.v, np.array([z[n] for n in names]) if names else np.zeros(len(joint.v)))
        return Action(
            joint_forces=[joint.force(np.asarray(f.tau))],
            armature=[(joint.part.v, self.armature)] if self.armature else [],
            rates=dict(zip(names, np.asarray(f.s_rate), strict=True)) if names else {},
            energy=f.stored,
            power=-f.loss,
        )

    def modes(self, model: Model, mobility: Mobility) -> Sequence[Mode]:
        """Those of the friction."""
        return self.friction.modes(self.joint, mobility.joint(model.joint_part(self.joint).v))


@dataclass(frozen=True, slots=True, kw_only=True)
class JointStops(Component):
    """Stops of a joint. A ball joint turned by the angle θ > upper is pushed back about its rotation vector φ, θ̇ = φ·ω/θ."""

    kind = "joint_stops"
    cause = "friction"

    joint: str
    """Name of the joint."""
    stops: Stops
    """What ends its travel."""
    assumed: bool = False
    """Whether their numbers follow from the model's limits and inertia, as none were given: a refusal says so."""

    @property
    def name(self) -> str:  # type: ignore[override]  # the interface's attribute, computed
        """That of the joint, and what it is."""
        return f"{self.joint}.stops"

    def check(self, model: Model) -> None:
        """The joint must be there; a ball joint has one limit."""
        if not isinstance(self.stops, Stops):
            raise TypeError(f"stops of joint {self.joint!r} is {self.stops!r}, must be drives.Stops(...)")
        part = _checked_part(model, self.joint, "stops need")
        if part.joint.nv > 1 and not isinstance(part.joint, joints.Ball):
            raise ValueError(
                f"stops of joint {self.joint!r}: it has {part.joint.nv} velocities; stops need one, or a ball joint"
            )
        if isinstance(part.joint, joints.Ball) and not (0.0 < self.stops.upper < math.pi and self.stops.lower <= 0.0):
            raise ValueError(
                f"stops of the ball joint {self.joint!r}: upper is {self.stops.upper:.6g} rad, must be above 0 and below π: "
                "it is the largest angle by which the joint can turn; leave lower out"
            )

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Force, what it stores and what it loses."""
        joint, stops = now.joint(self.joint), self.stops
        if len(joint.v) == 1:
            q, qd, out = joint.q[0], joint.v[0], np.ones(1)
        else:
            phi = _turned(joint.part, joint.q)
            q = norm(phi)
            out = phi / (q + TINY)
            qd = out @ joint.v
            stops = Stops(upper=stops.upper, stiffness=stops.stiffness, damping=stops.damping)
        return Action(
            joint_forces=[joint.force(stops.force(q, qd) * out)],
            energy=stops.energy(q),
            power=-stops.loss(q, qd),
        )

    def modes(self, model: Model, mobility: Mobility) -> Sequence[Mode]:
        """Those of the stops."""
        found = self.stops.modes(self.joint, mobility.joint(model.joint_part(self.joint).v))
        advice = "give the joint softer stops than these, which the model's limits have by default, or `stops: none`"
        return [mode._replace(remedy=advice) for mode in found] if self.assumed else found
