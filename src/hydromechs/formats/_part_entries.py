"""Entries of actuators and of components in their plain form: thrusters, what acts in joints, `components`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from hydromechs import lines
from hydromechs.actuation import (
    ExternalWrench,
    ForceCurve,
    JointMotion,
    JointRotor,
    JointSpring,
    Thruster,
    drives,
    ideal_curve,
    linear_curve,
    motions,
    t200_curve,
)
from hydromechs.contact import BodyContact, PointContact
from hydromechs.scenario import ComponentSpec
from hydromechs.values import Bound, field_texts

from ._convert import written
from ._entries import Entry, Key, Swap, entry, list_of, one_of, picked, table, tagged
from ._numbers import numbers

UNIT = "Unit of the commands, shown to users: N, throttle, us (pulse width in microseconds) or any text."
TYPE = "Class of the component, as 'package.module:Name', or 'file.py:Name' beside this file."

# -- thrusters ----------------------------------------------------------------------------------------------------------


def _forces(curve: Any) -> list[Swap]:
    """`forward` and `reverse` of a curve that has limits."""
    hint = numbers(Bound(least=0.0))
    return [
        Swap(
            fields=(f"max_{key}",),
            keys={key: Key(hint, text)},
            read=lambda given, key=key: {f"max_{key}": given[key]},  # type: ignore[misc]
            write=lambda thing: {},
        )
        for key, text in (
            ("forward", "Highest force forward [N]."),
            ("reverse", "Highest force backward, a positive number [N]."),
        )
    ]


CURVES: dict[str, Callable[..., ForceCurve]] = {"t200": t200_curve, "newtons": ideal_curve, "throttle": linear_curve}
"""Functions that make curves, by the key of a file."""
Curve = one_of(
    "curve",
    {
        "t200": entry(t200_curve, "T200Entry"),
        "newtons": entry(ideal_curve, "NewtonsEntry", swaps=_forces(ideal_curve)),
        "throttle": entry(linear_curve, "ThrottleEntry", swaps=_forces(linear_curve)),
        "table": entry(ForceCurve, "ForceTableEntry", texts={"unit": UNIT}),
    },
)


def written_curve(curve: ForceCurve) -> dict[str, Any]:
    """The short way to write a curve where there is one."""
    commands, forces = curve.commands, curve.forces
    limits = {"forward": forces[-1], "reverse": -forces[0]}
    dead = {"dead_band": commands[-2]} if len(commands) == 4 else {}
    candidates: dict[str, list[tuple[str, dict[str, float]]]] = {
        "N": [("newtons", limits)],
        "throttle": [("throttle", limits | dead)],
        "us": [("t200", {"voltage": float(v)}) for v in range(10, 21)],
    }
    for key, values in candidates.get(curve.unit, ()):
        given = {f"max_{k}" if k in limits else k: x for k, x in values.items()}
        try:
            if CURVES[key](**given) == curve:
                return {key: values}
        except ValueError:
            continue
    return written(curve)


_CURVE = Swap(
    fields=("curve",),
    keys={"curve": Key(Curve, field_texts(Thruster)["curve"])},
    read=lambda given: given,
    write=lambda thruster: {"curve": written_curve(thruster.curve)},
)
_NAME = Swap(
    fields=("name",),
    keys={"name": Key(str, "Name of the thruster; that of its frame if omitted.", None)},
    read=lambda given: given,
    write=lambda thruster: {"name": thruster.name} if thruster.name != thruster.frame else {},
)
_FRAMES = Swap(
    fields=("name", "frame"),
    keys={
        "frames": Key(
            list_of(str, 1),
            "Named frames of the model, a thruster with the name of its frame on each; it pushes along the frame's x axis.",
        )
    },
    read=lambda given: given,
    write=lambda thruster: {"frames": [thruster.frame]},
)
ThrustersEntry = entry(
    Thruster, "ThrustersEntry", swaps=[_FRAMES, _CURVE], fits=lambda thruster: thruster.name == thruster.frame
)
ThrusterEntry = entry(Thruster, swaps=[_NAME, _CURVE])
Thrusters = picked(
    "thruster",
    lambda value: ("many" if "frames" in value else "one") if isinstance(value, dict) else None,
    "must be a mapping with the keys frames (or frame and name), curve, time_constant, zero_thrust_speed",
    {"many": ThrustersEntry, "one": ThrusterEntry},
)

# -- joints -------------------------------------------------------------------------------------------------------------

_BACK_EMF = Swap(
    fields=("back_emf",),
    keys={
        "back_emf": Key(
            numbers(Bound(least=0.0)), "Voltage per speed of the rotor [V·s/rad]; the torque constant if omitted.", None
        )
    },
    read=lambda given: given,
    write=lambda motor: {} if motor.back_emf == motor.torque_constant else {"back_emf": motor.back_emf},
)
_JOINT = ("joint",)
Drive = one_of(
    "drive",
    {
        "torque": entry(drives.Torque, without=_JOINT),
        "servo": entry(drives.Servo, without=_JOINT),
        "motor": entry(drives.Motor, without=_JOINT, swaps=[_BACK_EMF]),
        "hydraulic": entry(drives.Hydraulic, without=_JOINT),
    },
)
Motion = one_of(
    "motion",
    {
        "sine": entry(motions.Sine),
        "steady": entry(motions.Steady),
        "recorded": entry(
            motions.Recorded, types={"pieces": numbers(Bound(size=0, rows=0)), "end": numbers(Bound())}, block=True
        ),
        "recorded_file": entry(motions.recorded_file, "RecordedFileEntry"),
    },
)


JointFrictionEntry = entry(drives.JointFriction, without=(*_JOINT, "armature"), fits=lambda friction: not friction.armature)
StopsEntry = entry(drives.JointStops, "StopsEntry", without=(*_JOINT, "assumed"), required=("stiffness",))


def _or_none(group: str, kind: type[Entry]) -> Any:
    """A mapping, or the word none."""

    def pick(value: Any) -> str | None:
        return "none" if value == "none" else "some" if isinstance(value, dict) else None

    must = f"must be none, or a mapping with the keys {', '.join(kind.model_fields)}"
    return picked(group, pick, must, {"none": Literal["none"], "some": kind})


ActuationEntry = table(
    "ActuationEntry",
    "What acts in a joint.",
    {
        "drive": Key(Drive, "Drive of the joint; none if omitted.", None),
        "motion": Key(Motion, "Motion that is given as a function of time; none if omitted. No drive, then.", None),
        "friction": Key(
            _or_none("joint friction", JointFrictionEntry), "Friction, or none; as the model says if omitted.", None
        ),
        "stops": Key(
            _or_none("stops", StopsEntry), "Ends of its travel, or none; soft ones at the model's limits if omitted.", None
        ),
    },
)

# -- components in their plain form -------------------------------------------------------------------------------------


def _two_names(value: Any) -> Any:
    if not isinstance(value, list) or len(value) != 2:
        raise PydanticCustomError("array", "must be two names of bodies: [a, b]")
    return value


NamePair = Annotated[list[str], Field(min_length=2, max_length=2), BeforeValidator(_two_names)]
SpecEntry = entry(ComponentSpec, "ComponentEntry", texts={"type": TYPE}, without=("locked",))


def _part(cls: type, key: str, **options: Any) -> type[Entry]:
    """A component in its plain form, as `components` lists it."""
    return entry(cls, f"{cls.__name__}PartEntry", tag=("type", key, "Kind of component."), **options)


_MATERIAL = Swap(
    fields=("material",),
    keys={"material": Key(str, "Name of the material with which they meet: one of materials, or concrete, rock, ...")},
    read=lambda given: given,
    write=lambda part: {},
)
PARTS = (
    _part(JointSpring, "joint_spring"),
    _part(JointRotor, "joint_rotor"),
    _part(drives.JointFriction, "joint_friction"),
    _part(JointMotion, "joint_motion", types={"motion": Motion}),
    _part(ExternalWrench, "external_wrench"),
    _part(lines.LiftedLine, "lifted_line"),
    _part(PointContact, "point_contact"),
    _part(BodyContact, "body_contact", swaps=[_MATERIAL], types={"bodies": NamePair}),
)
"""Components that have no section of their own, or not for all that they can be."""
ComponentEntry = tagged("component", "type", PARTS, "; or 'package.module:Name'", code=SpecEntry)
