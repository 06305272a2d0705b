"""Families of scenario files. The row of a new type is in a table of its package, such as `actuation.TYPES`."""

from collections.abc import Callable
from typing import Any

from hydromechs import actuation, contact, control, hydro, integrators, lines, sensors, walking
from hydromechs.actuation import ForceCurve, JointFriction, JointStops, drives, ideal_curve, linear_curve, motions, t200_curve
from hydromechs.geometry import SHAPES, SHORTHAND, Mesh, Shape, height_field
from hydromechs.hybrid import ENGINES, SCHEMES, Engine, Hybrid, Scheme
from hydromechs.model.component import Component
from hydromechs.navigation import Navigation
from hydromechs.registry import Families, Family, Holder, Shorthand, members
from hydromechs.simulation import Block, Controller, PythonBlock

CURVES: dict[str, Any] = {"t200": t200_curve, "newtons": ideal_curve, "throttle": linear_curve, "table": ForceCurve}


def _short_curve(curve: ForceCurve) -> tuple[str, dict[str, Any], tuple[str, ...]] | None:
    """Return the name and arguments of a function that builds the curve, or None."""
    limits = {"forward": curve.forces[-1], "reverse": -curve.forces[0]}
    dead = {"dead_band": curve.commands[-2]} if len(curve.commands) == 4 else {}
    candidates: dict[str, list[tuple[str, dict[str, float]]]] = {
        "N": [("newtons", limits)],
        "throttle": [("throttle", limits | dead)],
        "us": [("t200", {"voltage": float(v)}) for v in range(10, 21)],
    }
    for word, values in candidates.get(curve.unit, ()):
        try:
            if CURVES[word](**values) == curve:
                return word, values, ("commands", "forces", "unit")
        except ValueError:
            continue
    return None


TERRAIN: dict[str, Any] = {word: kind for word, kind in SHAPES.items() if kind is not Mesh} | {"height_field": height_field}
COMPONENTS: dict[str, Any] = {**actuation.TYPES, **TERRAIN, **contact.TYPES, **lines.TYPES}
CONTROLLERS: dict[str, type[Controller]] = {**control.TYPES, **walking.TYPES}
"""Controller classes, keyed by type name in files."""


def _derived(base: Any) -> dict[str, Any]:
    """Return the component types that derive from a class or a member of a union, keyed by type name."""
    return {word: kind for word, kind in COMPONENTS.items() if isinstance(kind, type) and issubclass(kind, base)}


def no_friction(joint: str) -> JointFriction:
    """Joint friction of zero, which overrides the model.

    Args:
        joint: Name of the body that the joint carries.
    """
    return JointFriction(joint=joint)


def no_stops(joint: str) -> JointStops:
    """Joint without stops, which overrides the limits in the model.

    Args:
        joint: Name of the body that the joint carries.
    """
    return JointStops(joint=joint)


def _none(part: Any) -> tuple[str, dict[str, Any], tuple[str, ...]] | None:
    kind: Any = type(part)
    return ("none", {}, tuple(members(kind))) if part == kind(joint=part.joint) else None


def _of_joints(name: str, base: type, none: Callable[[str], Any]) -> Family:
    """Return the family of an optional part of joints, with two types: the class `base`, and "none"."""
    return Family(
        name=name, base=base, table={name: base, "none": none}, default=name, known=_JOINT, shorthand=Shorthand(shorten=_none)
    )


_JOINT = ("joint",)
_LINES = lines.Tether | lines.HangingLine
_TERRAIN = Holder(contact.Terrain, "shape", Shape)
_PRESETS = {name: (device.kind, device.fields) for name, device in sensors.DEVICES.items()}

FAMILIES = Families(
    [
        Family(
            name="component",
            base=Component,
            table=COMPONENTS,
            open_to_users=True,
            by_name=True,
            holder=_TERRAIN,
            shorthand=SHORTHAND,
        ),
        Family(
            name="block",
            base=Block,
            table={**sensors.TYPES, "error_state_filter": Navigation, **CONTROLLERS},
            open_to_users=True,
            presets=_PRESETS,
            holder=Holder(PythonBlock, "controller", Controller, functions=True),
            by_name=True,
        ),
        Family(name="sensor", base=sensors.Sensor, table=sensors.TYPES, open_to_users=True, presets=_PRESETS),
        Family(name="terrain", base=contact.Terrain, table=TERRAIN, open_to_users=True, holder=_TERRAIN, shorthand=SHORTHAND),
        Family(name="grasp", base=contact.Holding, table=_derived(contact.Holding), open_to_users=True),
        Family(name="tether", base=_LINES, table=_derived(_LINES)),
        Family(name="drive", base=drives.Drive, table=drives.TYPES, open_to_users=True, known=_JOINT),
        _of_joints("friction", JointFriction, no_friction),
        _of_joints("stops", JointStops, no_stops),
        Family(name="motion", base=motions.Motion, table=motions.TYPES, open_to_users=True),
        Family(name="curve", base=ForceCurve, table=CURVES, shorthand=Shorthand(shorten=_short_curve)),
        Family(name="law", base=contact.ContactLaw, table=contact.LAWS, open_to_users=True),
        Family(name="top", base=lines.TopPoint, table=lines.TOPS, open_to_users=True),
        Family(
            name="profile",
            base=hydro.Uniform | hydro.PowerLaw | hydro.DepthTable,
            table={"uniform": hydro.Uniform, "power_law": hydro.PowerLaw, "table": hydro.DepthTable},
        ),
        Family(
            name="wave",
            base=hydro.RegularWave | hydro.PiersonMoskowitzSea | hydro.JonswapSea,
            table={"regular": hydro.RegularWave, "jonswap": hydro.JonswapSea, "pierson_moskowitz": hydro.PiersonMoskowitzSea},
        ),
        Family(name="surface", base=hydro.FreeSurface, table={"free": hydro.FreeSurface}),
        Family(name="gait", base=walking.Gait, table=walking.GAITS, open_to_users=True),
        Family(
            name="support_gait",
            base=walking.SupportGait,
            table={"equal_steps": walking.SupportGait},
            default="equal_steps",
            open_to_users=True,
        ),
        Family(name="task", base=control.KinematicTask, table=control.TASKS, open_to_users=True),
        Family(
            name="integrator",
            base=integrators.Integrator,
            table={**integrators.METHODS, "sliding_block": integrators.SlidingBlock},
        ),
        Family(name="scheme", base=Scheme, table=SCHEMES),
        Family(
            name="engine",
            base=Hybrid,
            table=dict.fromkeys(ENGINES, Hybrid),
            type_field="engine",
            open_to_users=True,
            holder=Holder(Hybrid, "engine", Engine),
        ),
    ]
)
"""All families of a scenario file."""
