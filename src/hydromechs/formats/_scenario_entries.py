"""What a scenario file can say: which class stands where, and what a file writes differently from the objects.

Keys, types, units, bounds and defaults are those of the dataclasses; names are judged by `Scenario`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import ConfigDict

from hydromechs import hydro, lines, sensors
from hydromechs.contact import DryFriction, Grasp, Grip, LinearContact, Material, NonlinearContact, terrain
from hydromechs.hybrid import ENGINES, SCHEMES, Filtered, Hybrid
from hydromechs.integrators import METHODS, DormandPrince
from hydromechs.model import Origin
from hydromechs.navigation import ErrorStateFilter, Navigation
from hydromechs.recording import STATISTICS, WARNING_KINDS, Check
from hydromechs.scenario import (
    ControllerSpec,
    ModelStart,
    ObservationNoise,
    Randomisation,
    Scenario,
    WorldSettings,
)
from hydromechs.simulation import Event
from hydromechs.values import Bound, Vector3, Vector6, field_texts

from . import _entries as entries
from ._convert import written_value
from ._entries import Entry, Key, Swap, entry, list_of, mapping_of, one_of, picked, table
from ._numbers import Finite, numbers
from ._part_entries import ActuationEntry, ComponentEntry, NamePair, Thrusters

__all__ = ["ScenarioFile", "scenario_json_schema"]

# -- what files say otherwise than Python --------------------------------------------------------------------------------

HINTS: dict[Any, dict[str, Any]] = {
    Check: {"statistic": Literal[*STATISTICS]},
    ModelStart: {"position": Vector3, "velocity": Vector6},
}
"""Annotations of fields, by class, that files see otherwise than Python."""
TEXTS: dict[Any, dict[str, str]] = {
    ModelStart: {
        "joint_velocities": "Velocities of joints: a number [rad/s or m/s], or 3 of a ball joint, in body axes [rad/s].",
    },
    Check: {"statistic": "What to look at."},
    ControllerSpec: {"type": "Name of a library controller, 'package.module:Name', or 'file.py:Name' beside this file."},
    Scenario: {
        "components": "Other components by their type, or custom ones by the names of their classes.",
        "integrator": "Method of integration of our own engine.",
        "engine": "Physics engine that takes the steps, by name or with options; HydroMechs if omitted.",
    },
}
"""Meanings of fields, by class, where the text under them speaks of Python."""


def _entry(cls: Any, name: str = "", **options: Any) -> type[Entry]:
    return entry(cls, name, hints=HINTS.get(cls), texts=TEXTS.get(cls), **options)


# -- angles and places --------------------------------------------------------------------------------------------------


def radians(degrees: Iterable[float]) -> tuple[float, ...]:
    """Angles in radians."""
    return tuple(math.radians(a) for a in degrees)


def degrees(angle: float) -> float:
    """Degrees that `math.radians` turns back into the same angle, where there are such, and as few digits as possible."""
    exact = math.degrees(angle)
    near = [round(exact, digits) for digits in (0, 3, 6, 9, 12)]
    near += [exact, math.nextafter(exact, math.inf), math.nextafter(exact, -math.inf)]
    return next((d for d in near if math.radians(d) == angle), exact)


def _in_degrees(cls: type, name: str) -> Swap:
    """An angle that a file has in degrees."""
    key = f"{name}_deg"
    return Swap(
        fields=(name,),
        keys={key: Key(Finite, field_texts(cls)[name].replace("[rad]", "[degrees]"), 0.0)},
        read=lambda given: {name: math.radians(given[key])},
        write=lambda thing: {key: degrees(getattr(thing, name))} if getattr(thing, name) else {},
    )


ROW3 = numbers(Bound(size=3))
PLACED = Swap(
    fields=("origin",),
    keys={
        "position": Key(ROW3, "Centre in world axes [m].", [0.0, 0.0, 0.0]),
        "rpy_deg": Key(ROW3, "Roll, pitch, yaw of its axes [degrees].", [0.0, 0.0, 0.0]),
    },
    read=lambda given: {"origin": Origin(given.get("position", (0.0,) * 3), radians(given.get("rpy_deg", (0.0,) * 3)))},  # type: ignore[arg-type]
    write=lambda solid: (
        {"position": list(solid.origin.xyz), "rpy_deg": [degrees(a) for a in solid.origin.rpy]}
        if solid.origin != Origin()
        else {}
    ),
)

_CENTER = Swap(
    fields=("center",),
    keys={"position": Key(ROW3, "Centre in world axes [m].", [0.0, 0.0, 0.0])},
    read=lambda given: {"center": given["position"]},
    write=lambda sphere: {"position": list(sphere.center)} if any(sphere.center) else {},
)

# -- water --------------------------------------------------------------------------------------------------------------

Profile = one_of(
    "profile",
    {"power_law": entry(hydro.PowerLaw), "table": entry(hydro.DepthTable)},
    "; leave it out for the same current at all depths",
)
CurrentEntry = entry(hydro.Current, types={"profile": Profile})
GustsEntry = entry(hydro.Gusts)
_DIRECTION, _PHASE = _in_degrees(hydro.RegularWave, "direction"), _in_degrees(hydro.RegularWave, "phase")
Wave = one_of(
    "wave",
    {
        "regular": entry(hydro.RegularWave, swaps=[_DIRECTION, _PHASE]),
        "jonswap": entry(hydro.JonswapSea, swaps=[_DIRECTION]),
        "pierson_moskowitz": entry(hydro.PiersonMoskowitzSea, swaps=[_DIRECTION]),
    },
)
SURFACE = Swap(
    fields=("surface",),
    keys={
        "surface": Key(
            Literal["free"], "free: the water ends at its surface. Leave it out where bodies stay below, which is faster.", None
        )
    },
    read=lambda given: {"surface": hydro.FreeSurface()},
    write=lambda environment: {} if environment.surface is None else {"surface": "free"},
)
EnvironmentEntry = entry(hydro.Environment, types={"waves": list_of(Wave)}, swaps=[SURFACE], block=True)

# -- contact ------------------------------------------------------------------------------------------------------------

DryFrictionEntry = entry(DryFriction)
MaterialBase = table(
    "MaterialEntry", "How surfaces meet.", {"friction": Key(DryFrictionEntry, field_texts(Material)["friction"], None)}
)
MaterialEntry = one_of("material", {"linear": entry(LinearContact), "nonlinear": entry(NonlinearContact)}, base=MaterialBase)
_INSIDE = ("name", "material")
_FIELD = field_texts(terrain.HeightField)
_OWN = "; needed, but with a file of points, which has its own."
_HEIGHTS = Swap(
    fields=("x", "y", "heights"),
    keys={
        **{
            axis: Key(numbers(Bound(size=0, rising=True)), _FIELD[axis].replace(f", shape (n{axis},)", "")[:-1] + _OWN, None)
            for axis in "xy"
        },
        "heights": Key(numbers(Bound(size=0, rows=0)), _FIELD["heights"].replace(", shape (nx, ny)", ""), None),
        "file": Key(
            str,
            "File with the heights, relative to the scenario file, in place of heights: a table (.npy, .csv), points (.xyz, "
            ".txt), an image (.png, .tif, .bmp, .pgm) or a mesh (.obj, .stl, .ply, .glb); x and y may then be the first and "
            "last grid line alone.",
            None,
        ),
        "low": Key(float, "Height of black in an image [m].", None),
        "high": Key(float, "Height of white in an image [m].", None),
        "spacing": Key(float, "Of the grid over a mesh, whose highest points count [m].", None),
        "generate": Key(
            dict[str, Any],
            "Generator of the heights in place of heights: {type: rubble_mound, spacing: 0.1, seed: 1, ...}; type is slope, "
            "steps or rubble_mound, the other keys are its arguments; x and y are then the first and last grid line.",
            None,
        ),
    },
    read=lambda given: given,
    write=lambda field: {key: written_value(getattr(field, key)) for key in ("x", "y", "heights")},
)
TerrainBase = table(
    "TerrainEntry",
    "Something that stands still and can be touched.",
    {
        "name": Key(str, "Name, unique among the terrain."),
        "material": Key(str, "Name of its material: one of materials, or concrete, rock, sand, mud, steel, rubber."),
    },
)
TerrainEntry = one_of(
    "terrain",
    {
        "plane": entry(terrain.Plane, without=_INSIDE),
        "height_field": entry(
            terrain.HeightField,
            without=_INSIDE,
            swaps=[_HEIGHTS],
            block=True,
            config=ConfigDict(json_schema_extra={"anyOf": [{"required": ["file"]}, {"required": ["x", "y"]}]}),
        ),
        "box": entry(terrain.Box, "SolidBoxEntry", without=_INSIDE, swaps=[PLACED]),
        "cylinder": entry(terrain.Cylinder, "SolidCylinderEntry", without=_INSIDE, swaps=[PLACED]),
        "sphere": entry(terrain.Sphere, "SolidSphereEntry", without=_INSIDE, swaps=[_CENTER]),
    },
    base=TerrainBase,
)


ContactEntry = table(
    "ContactEntry",
    "What touches besides the shapes of bodies, which touch all terrain.",
    {
        "points": Key(list[str], "Names of frames that touch terrain at their origin, as feet do.", []),
        "bodies": Key(list[NamePair], "Pairs of names of bodies that can touch each other.", []),
        "material": Key(str, "Name of the material with which bodies meet each other.", None),
    },
)
GraspEntry = _entry(Grasp)
Grasps = picked(
    "grasp",
    lambda value: ("soft" if "stiffness" in value else "firm") if isinstance(value, dict) else None,
    "must be a mapping with the keys name, holder, held, ... of a grasp, or with stiffness and damping besides of a grip",
    {"firm": GraspEntry, "soft": _entry(Grip)},
)

# -- tethers ------------------------------------------------------------------------------------------------------------

_PHASES = Swap(
    fields=("phase",),
    keys={"phase_deg": Key(ROW3, "Phases φ of the three [degrees].", [0.0, 0.0, 0.0])},
    read=lambda given: {"phase": radians(given["phase_deg"])},
    write=lambda point: {"phase_deg": [degrees(a) for a in point.phase]} if any(point.phase) else {},
)
Top = one_of(
    "top",
    {
        "frame": entry(lines.FramePoint),
        "swaying": entry(lines.SwayingPoint, swaps=[_PHASES]),
        "riding": entry(lines.RidingPoint),
    },
)
CableEntry = entry(lines.Cable)
WinchEntry = entry(lines.Winch)
_GROUND = Swap(
    fields=("ground",),
    keys={"ground": Key(list[str], "Names of terrain that it can lie on.", [])},
    read=lambda given: given,
    write=lambda tether: {"ground": [solid.name for solid in tether.ground]} if tether.ground else {},
)
Tethers = one_of(
    "tether",
    {
        "lumped": entry(lines.Tether, types={"top": Top}, swaps=[_GROUND], block=True),
        "hanging": entry(lines.HangingLine, types={"top": Top}, block=True),
    },
)

# -- sensors and navigation ----------------------------------------------------------------------------------------------

NoiseEntry = entry(sensors.Noise)
SensorEntry = one_of(
    "sensor",
    {
        "imu": entry(sensors.Imu),
        "dvl": entry(sensors.Dvl),
        "usbl": entry(sensors.Usbl),
        "depth": entry(sensors.DepthGauge),
        "compass": entry(sensors.Compass),
        "encoders": entry(sensors.JointEncoders),
        "force_torque": entry(sensors.ForceTorque),
        "tachometer": entry(sensors.Tachometer),
        "contact_switch": entry(sensors.ContactSwitch),
        "device": entry(sensors.device, "DeviceEntry"),
    },
)
FilterEntry = entry(ErrorStateFilter)
NavigationEntry = entry(Navigation, without=("name",))

# -- the file -----------------------------------------------------------------------------------------------------------

_MODEL = Swap(
    fields=("model", "source"),
    keys={
        "model": Key(str, "Name of a library model, or path of a model file relative to the scenario file.", None),
        "plant": Key(
            str,
            "In place of model: name of a library vehicle with its actuators, or path of a scenario file of one model, whose "
            "thrusters and joints come with it; what thrusters and joints of this file say goes first.",
            None,
        ),
    },
    read=lambda given: given,
    write=lambda start: {"model": start.source},
)
_TURNED = Swap(
    fields=("orientation",),
    keys={
        "rpy_deg": Key(ROW3, "Roll, pitch, yaw of the same [degrees]. Not with quaternion.", None),
        "quaternion": Key(
            numbers(Bound(size=4)), "Unit quaternion (w, x, y, z) of the same, body to world. Not with rpy_deg.", None
        ),
    },
    read=lambda given: given,
    write=lambda start: {} if start.orientation is None else {"quaternion": list(start.orientation)},
)
TurnEntry = table(
    "TurnEntry",
    "Orientation of a ball joint: of the body that it carries in the joint's frame.",
    {
        "rpy_deg": Key(ROW3, "Roll, pitch, yaw [degrees]. Not with quaternion.", None),
        "quaternion": Key(numbers(Bound(size=4)), "Unit quaternion (w, x, y, z). Not with rpy_deg.", None),
    },
    ConfigDict(json_schema_extra={"oneOf": [{"required": ["rpy_deg"]}, {"required": ["quaternion"]}]}),
)


def _joint_start(group: str, other: str, kind: type, must: str, hint: Any) -> Any:
    """A number for a joint with one degree of freedom, or what a ball joint has."""
    pick = lambda value: other if isinstance(value, kind) else "number"  # noqa: E731
    return picked(group, pick, must, {"number": Finite, other: hint})


_POSITION = _joint_start("joint position", "turn", dict, "must be a number, or {rpy_deg: [...]} of a ball joint", TurnEntry)
_VELOCITY = _joint_start("joint velocity", "three", list, "must be a number, or 3 numbers of a ball joint", ROW3)
_JOINTS = Swap(
    fields=("joints",),
    keys={
        "joints": Key(
            mapping_of(_POSITION),
            "Positions of joints, by the name of the body that they carry: a number [rad or m], or the orientation of a ball "
            "joint; body.2 is the second part of a composite joint.",
            {},
        )
    },
    read=lambda given: given,
    write=lambda start: (
        {"joints": {name: {"quaternion": list(x)} if isinstance(x, tuple) else x for name, x in start.joints}}
        if start.joints
        else {}
    ),
)
ModelStartEntry = _entry(
    ModelStart,
    swaps=[_MODEL, _TURNED, _JOINTS],
    types={"joint_velocities": mapping_of(_VELOCITY)},
    config=ConfigDict(
        json_schema_extra={
            "not": {"required": ["rpy_deg", "quaternion"]},
            "oneOf": [{"required": ["model"]}, {"required": ["plant"]}],
        }
    ),
    block=True,
)
EventEntry = _entry(Event)
ControllerEntry = _entry(ControllerSpec, "ControllerEntry", without=("locked", "name", "phase"))
CheckEntry = _entry(Check, config=ConfigDict(json_schema_extra={"anyOf": [{"required": ["below"]}, {"required": ["above"]}]}))
AdaptiveEntry = table(
    "AdaptiveEntry",
    "The adaptive method with its tolerances.",
    {"dormand_prince": Key(_entry(DormandPrince), "Tolerances.")},
)
INTEGRATORS = (*METHODS, "b1pc5", "b2pc5", "b4pc5")
"""Names of methods of integration."""
Integrator = picked(
    "integrator",
    lambda value: "name" if isinstance(value, str) else "adaptive" if isinstance(value, dict) else None,
    f"must be {', '.join(INTEGRATORS)} or {{dormand_prince: {{...}}}}",
    {"name": Literal[*INTEGRATORS], "adaptive": AdaptiveEntry},
)
FilterEntry = table(
    "FilterEntry", "The filtered scheme with its weight.", {"filtered": Key(_entry(Filtered), "Weight of the filter.")}
)
AddedMassScheme = picked(
    "scheme",
    lambda value: "name" if isinstance(value, str) else "filtered" if isinstance(value, dict) else None,
    f"must be {', '.join(SCHEMES)} or {{filtered: {{weight: ...}}}}",
    {"name": Literal[*SCHEMES], "filtered": FilterEntry},
)
EngineEntry = table(
    "EngineEntry",
    "An engine of others, and how added mass acts in it.",
    {
        "name": Key(Literal[*ENGINES], "Which engine."),
        "scheme": Key(AddedMassScheme, "How added mass acts.", "exact"),
        "accept_unstable": Key(bool, field_texts(Hybrid)["accept_unstable"], False),
    },
)
EngineChoice = picked(
    "engine",
    lambda value: "name" if isinstance(value, str) else "options" if isinstance(value, dict) else None,
    f"must be {', '.join(ENGINES)} or {{name: ..., scheme: ...}}",
    {"name": Literal[*ENGINES], "options": EngineEntry},
)
entry(ObservationNoise)
ScenarioFile = _entry(
    Scenario,
    "ScenarioFile",
    extra={
        "hydromechs_scenario": entries.version_key,
        "materials": Key(mapping_of(MaterialEntry), "Materials of surfaces, by name.", {}),
        "contact": Key(ContactEntry, "What touches besides the shapes of bodies.", None),
        "terrain": Key(list_of(TerrainEntry), "What stands still and can be touched.", []),
        "thrusters": Key(list_of(Thrusters), "Thrusters.", []),
        "grasps": Key(list_of(Grasps), "What is held together, or can be: firmly, or softly by a grip.", []),
        "tethers": Key(
            list_of(Tethers), "Lines up to a ship or to another body: of lumped masses, or hanging ones that only pull.", []
        ),
        "external": Key(list[str], "Names of bodies on which wrenches act.", []),
        "sensors": Key(list_of(SensorEntry), "What measures, in front of the controller.", []),
        "navigation": Key(
            NavigationEntry,
            "Navigation filter. If omitted, controllers use the true state; joints with encoders use their readings.",
            None,
        ),
        "controller": Key(ControllerEntry, "Source of the commands; none if omitted.", None),
        "joints": Key(
            mapping_of(ActuationEntry),
            "Drives, given motions, friction and stops of joints, by the name of the body that the joint carries.",
            {},
        ),
    },
    without=("blocks",),
    types={
        "models": list_of(ModelStartEntry, 1),
        "world": entry(WorldSettings),
        "components": list_of(ComponentEntry),
        "randomisation": entry(Randomisation),
        "integrator": Integrator,
        "engine": EngineChoice,
        "expected_warnings": list_of(Literal[*WARNING_KINDS]),
    },
    required=("duration",),
    config=ConfigDict(title="HydroMechs scenario file, version 1"),
)


def scenario_json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the scenario file, for editors and other programs."""
    return entries.json_schema_of(ScenarioFile)
