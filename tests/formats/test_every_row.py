"""Every row of every table, and every class that a file holds, goes through a file and comes back equal.

Examples are made from the fields of a class, so that a new row is tested without a test of its own. A class that rejects its
example needs a line in `VALUES`; without it the test of its row fails.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import jsonschema
import pytest

import hydromechs
from hydromechs import (
    actuation,
    contact,
    control,
    formats,
    geometry,
    hydro,
    identification,
    integrators,
    library,
    lines,
    model,
    recording,
    scenario,
    sensors,
    simulation,
    sweeps,
    walking,
)
from hydromechs.actuation import motions
from hydromechs.contact import MATERIALS, Terrain
from hydromechs.formats import parse_yaml
from hydromechs.formats._scenario_sections import JointKeys, ScenarioFile, in_order
from hydromechs.formats._write import Block, emit
from hydromechs.identification import validation
from hydromechs.identification.validation import _study
from hydromechs.model import component, drag
from hydromechs.registry import BROKEN, MISSING, Families, Family, Reader, Writer, members, module_kept
from hydromechs.registry._members import bounds_of, options, unmarked
from hydromechs.scenario import FAMILIES as SCENARIO
from hydromechs.sweeps import _file as sweep_file
from hydromechs.values import Bound

FILES: dict[str, tuple[Any, Families]] = {
    "model": (model.Model, model.FAMILIES),
    "scenario": (ScenarioFile, SCENARIO),
    "sweep": (sweep_file.SweepFile, sweep_file.FAMILIES),
    "validation": (_study.ValidationStudy, _study.FAMILIES),
}
"""Class of what a file holds, and its tables, by kind of file."""
PACKAGE = Path(hydromechs.__file__).parent
SCHEMAS = {
    "model": formats.model_json_schema,
    "scenario": formats.scenario_json_schema,
    "sweep": sweeps.sweep_json_schema,
    "validation": validation.validation_json_schema,
}
ROWS = [
    pytest.param(file, k, word, id=f"{file}-{family.name}-{word}")
    for file, (_, families) in FILES.items()
    for k, family in enumerate(families)
    for word in family.table
]
"""Kind of file, number of the family, and type."""


def _row(file: str, k: int, word: str) -> tuple[Family, Any]:
    """Return the family and the class of a row."""
    family = list(FILES[file][1])[k]
    return family, family.table[word]


JOINTS = ({"t": 0.5, "elbow": 0.1, "wrist": 0}, {"t": 2, "elbow": 1, "wrist": -0.25})
POSES = ({"t": 0, "position": [1, 2, 3], "heading_deg": 30}, {"t": 5.5, "position": [1, 2, 4]})
SPEEDS = ({"t": 0}, {"t": 2, "surge": 0.64, "yaw_rate_deg": -3})
PATH = {"waypoints": POSES, "arm": JOINTS}
TOOL = {
    "waypoints": POSES,
    "swings": ({"t": 1, "travel": [0.1, 0, 0], "period": 2, "cycles": 3},),
    "directions": ("x", "rz"),
    "admittance": {"sensor": "wrist", "stiffness": 100, "damping": 20},
}
FITTING = {
    "frame": "tool",
    "body": "vehicle",
    "bodies": ("vehicle", "crate"),
    "joint": "arm",
    "joints": ("arm", "wrist"),
    "holder": "tool",
    "held": "grip",
    "thruster": "fore",
    "rate": 2.0,
    "period": 0.5,
}
"""Names and times by field, which fit the machine and the step of `scene`."""
CURVE = str(Path(__file__).parents[2] / "docs" / "data" / "station_keeping_curve.csv")
NETWORK = str(Path(__file__).with_name("policy.npz"))
CORNERS = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, -2.5))
BESIDE: tuple = (
    actuation.Thruster(name="fore", frame="tool", curve=actuation.ideal_curve(forward=3.0, reverse=2.0)),
    sensors.Imu(name="beside", frame="vehicle", rate=2.0),
    Terrain(name="floor", material=MATERIALS["sand"], shape=geometry.Plane.through((0.0, 0.0, 30.0), (0.0, 0.0, -1.0))),
)
"""Parts that others need."""
CROWD = contact.CollisionGroup(material=MATERIALS["steel"])
"""Group of the bodies that an exclusion needs."""
VALUES: dict[Any, dict[str, Any]] = {
    model.BodyShape: {"roles": ("wetting",)},
    geometry.Box: {"rounding": 0.05},
    geometry.Cylinder: {"bore": 0.2},
    geometry.Convex: {"points": CORNERS},
    drag.Damping: {"coupled": (("Y|r|v", 12.0), ("N|v|r", -3.0))},
    drag.CoefficientMap: {"alpha": (-0.5, 0.5), "beta": (0.0, 1.0), "coefficients": (((1.0,) * 6, (2.0,) * 6),) * 2},
    geometry.height_field: {"heights": ((-9.0, -9.0, -9.0), (-9.0, -8.5, -9.0)), "x": (0.0, 1.0), "y": (0.0, 0.5, 1.0)}
    | dict.fromkeys(("low", "high", "spacing", "generate"))
    | {"file": ""},
    motions.Recorded: {"pieces": ((0.0, 1.0, 2.0, 3.0, 4.0), (1.5, 1.0, 2.0, -3.0, 4.0)), "end": 2.5},
    contact.DryFriction: {"static": 0.7, "kinetic": 0.5},
    lines.HangingLine: {"shortest": 0.5},
    contact.Grip: dict.fromkeys(("stiffness", "damping", "turning_stiffness", "turning_damping"), (1.0, 2.0, 3.5)),
    control.HoldPose: PATH,
    control.FollowPath: PATH,
    control.LqrSpeed: {"waypoints": SPEEDS, "arm": JOINTS, "controlled": ("surge", "yaw")},
    control.LqrHoldPose: PATH | {"controlled": ("surge", "yaw")},
    control.LqrFollowPath: PATH | {"controlled": ("surge", "yaw")},
    control.JointTrajectory: {"waypoints": JOINTS},
    control.JointControl: {"waypoints": JOINTS},
    control.ComputedTorque: {"waypoints": JOINTS},
    control.CartesianMotion: TOOL,
    control.CarryLoad: {"waypoints": POSES},
    control.TASKS["tool"]: TOOL,
    control.TASKS["vehicle"]: {"waypoints": POSES, "parts": ("roll", "yaw")},
    control.Policy: {"file": NETWORK, "activation": "relu", "waypoints": POSES, "ranges": {"fore": (-2.0, 3.0)}},
    control.Serpenoid: {"frequency": 0.3},
    walking.Walk: {"feet": ("a", "b", "c"), "velocity": (0.2, 0.1)},
    walking.GAITS["tripod"]: {"duty": 0.7},
    walking.GAITS["wave"]: {"duty": 0.8},
    walking.AlternatingSupport: {"halves": {"a": ("1", "2", "3"), "b": ("4", "5", "6")}},
    walking.ArticulatedDrive: {"modules": {"front": ("1", "2"), "middle": ("3", "4"), "rear": ("5", "6")}},
    lines.Tether: {"ground": ()},
    actuation.JointStops: {"lower": -1.0, "upper": 1.0},
    lines.FramePoint: {"name": "crate"},
    lines.Winch: {"shortest": 1.0, "longest": 9.0},
    integrators.SlidingBlock: {"tasks": 1},
    motions.recorded_file: {"file": CURVE, "time": "steps", "position": "distance_m", "smoothing": 0.0},
    hydro.Current: {"velocity": (0.0, 0.0, 0.0), "times": (0.0, 1.0, 2.5), "velocities": CORNERS[:3]},
    recording.Check: {"statistic": "rms", "before": 9.0, "above": 1.0},
    sweeps.Choices: {"values": ("one", "two")},
    scenario.Randomisation: {"mass": 0.1, "added_mass": 0.2, "drag": 0.3, "parameters": (("a.b", (0.9, 1.1)),)},
    identification.AddedMass: {"deviation": 0.4, "averaged": False},
    identification.SurfaceHeight: {"value": 2.0},
}
"""Values of fields that must fit together."""


def same(a: Any, b: Any) -> bool:
    """Equal to the last bit; the text tells −0 from 0 and 1 from 1.0."""
    return type(a) is type(b) and a == b and repr(a) == repr(b)


# -- examples -----------------------------------------------------------------------------------------------------------


def value(hint: Any, families: Families, name: str, default: Any = None, k: int = 0) -> Any:
    """Return a value of an annotation that is not the default; numbers rise with `k`."""
    hint, _ = unmarked(hint)
    bounds, origin, family = bounds_of(hint), get_origin(hint), families.of(hint)
    if family is not None:
        return member(family, families, next(iter(family.table)), k=k)
    if name in FITTING and type(FITTING[name]) in (hint, get_origin(hint), get_args(hint)[:1] and get_args(hint)[0]):
        return FITTING[name]
    if bounds:
        return numbers(bounds[0], default, k)
    if hint in (str, Any):
        return f"{name}_{k}"
    if hint is bool:
        return not default
    if hint in (int, float):
        return hint(3 if default is None else default + 1)
    if origin is Literal:
        return next(x for x in get_args(hint) if x != default)
    if origin is tuple and get_args(hint)[1:] == (...,):
        return tuple(value(get_args(hint)[0], families, name, k=k + i) for i in range(2))
    if origin is tuple:
        return tuple(value(x, families, name, k=k + i) for i, x in enumerate(get_args(hint)))
    if origin in (dict, Mapping):
        return {"a": value(get_args(hint)[1], families, name), "b.c": value(get_args(hint)[1], families, name)}
    if len(options(hint)) > 1:
        return value(options(hint)[-1], families, name)
    return example(hint, families, k=k)


def numbers(bound: Bound, default: Any, k: int) -> Any:
    """Return a number, a row or a table within a bound; numbers rise, also with `k`."""
    low = max([x for x in (bound.above, bound.least) if x is not None], default=None)
    high = min([x for x in (bound.below, bound.most) if x is not None], default=None)
    if low is None:
        low = -0.7 if high is None else high - 1.0
    count = itertools.count(1)

    def one() -> float:
        n = next(count)
        if bound.whole:
            return int(low) + n + (int(low) + n == default)
        x = low + (0.3 * n + k if high is None else (high - low) * (0.9 - 0.8 / (n + k + 1)))
        return x + 1e-3 if x == default else x

    def row() -> tuple:
        return tuple(one() for _ in range(bound.size or 3))

    if bound.size is None:
        return one()
    return row() if bound.rows is None else tuple(row() for _ in range(bound.rows or 2))


def example(cls: Any, families: Families, chosen: tuple[str, ...] | None = None, k: int = 0, **given: Any) -> Any:
    """Return an object of a class: the chosen optional fields, or all, have values that are not their defaults."""
    known = VALUES.get(cls, {})
    for i, m in enumerate(members(cls).values()):
        if m.name not in given and (m.default is MISSING or chosen is None or m.name in chosen):
            default = None if m.default is MISSING else m.default
            given[m.name] = known[m.name] if m.name in known else value(m.hint, families, m.name, default, k + i)
    return cls(**given)


def member(family: Family, families: Families, word: str, chosen: tuple[str, ...] | None = None, k: int = 0) -> Any:
    """Return a member of a family."""
    cls = family.table[word]
    given = {family.type_field: word} if family.type_field else {}
    inner = example(cls, families, chosen, k, **given)
    if not family.holds(cls):
        return inner
    owner, field, *_ = family.holder
    beside = [name for name in optional(owner) if name not in members(cls) and (chosen is None or name in chosen)]
    beside = [name for name in beside if not (isinstance(inner, geometry.HeightField) and name == "origin")]
    return example(owner, families, tuple(beside), k, **{field: inner})


def optional(cls: Any) -> list[str]:
    return [m.name for m in members(cls).values() if m.default is not MISSING]


# -- rows ---------------------------------------------------------------------------------------------------------------


@functools.cache
def validator(file: str, definition: str) -> jsonschema.Draft202012Validator:
    """Return the validator of a row, as the schema of its kind of file defines it."""
    definitions = SCHEMAS[file]()["$defs"]
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{definition}", "$defs": definitions})


def through_text(data: Any) -> Any:
    """Return plain data after they were text."""
    document = parse_yaml(emit(Block({"x": data})))
    assert not document.problems
    return document.data["x"]


def back(thing: Any, family: Family, families: Families, folder: Any = None, code: bool = False) -> tuple[Any, Any]:
    """Return what is written of a member of a family, and what is read of that."""
    skip = (*(("name",) if family.named else ()), *family.known)
    data = through_text(Writer(families, folder).part(thing, family, ("x",), skip))
    reader = Reader(families, source="x", folder=folder, code=code)
    out = reader.part(data, family, ("x",), **{key: getattr(thing, key) for key in skip})
    assert not reader.problems, [fault.text for fault in reader.problems]
    return data, out


def variants(cls: Any, make: Any) -> Iterator[Any]:
    """Yield an object with all fields, one with none that can be omitted, and one with each of these alone."""
    yield make(None)
    for chosen in ((), *((name,) for name in optional(cls))):
        with contextlib.suppress(ValueError):  # fields that go together
            yield make(chosen)


@pytest.mark.parametrize(("file", "k", "word"), ROWS)
def test_a_row_comes_back(file, k, word):
    families = FILES[file][1]
    family = list(families)[k]
    found = list(variants(family.table[word], lambda chosen: member(family, families, word, chosen)))
    for thing in found:
        data, again = back(thing, family, families)
        assert same(again, thing)
        if isinstance(data, dict):
            data = {"type": family.default, **data}
            validator(file, f"{family.name}.{data['type']}").validate(data)


def held_classes(file: str) -> list[Any]:
    """Return the dataclasses that the keys of a file hold and that are in no table."""
    top, families = FILES[file]
    rows = [
        cls for family in families for cls in (*family.table.values(), family.holder and family.holder.owner) if cls is not None
    ]
    bases = [cls for family in families for cls in family.bases]
    found: list[Any] = [top, *rows]
    for cls in found:  # grows
        found += [x for m in members(cls).values() for x in dict.fromkeys(classes_in(m.hint)) if x not in found]
    return [cls for cls in dict.fromkeys(found) if cls not in (top, JointKeys, *rows, *bases)]


def classes_in(hint: Any) -> Iterator[Any]:
    """Yield the dataclasses of an annotation."""
    hint, _ = unmarked(hint)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        yield hint
    for inner in get_args(hint):
        yield from classes_in(inner)


HELD = [(file, cls) for file in FILES for cls in held_classes(file)]


@pytest.mark.parametrize(("file", "cls"), HELD, ids=[f"{file}-{cls.__name__}" for file, cls in HELD])
def test_a_class_inside_comes_back(file, cls):
    families = FILES[file][1]
    for thing in variants(cls, lambda chosen: example(cls, families, chosen)):
        data = through_text(Writer(families).fields(thing))
        reader = Reader(families)
        assert same(reader.build(cls, data, ("x",)), thing), reader.problems


@pytest.mark.parametrize("name", sensors.DEVICES)
def test_a_device_comes_back(name):
    """A file may override some fields of a device; the others are kept."""
    family: Any = SCENARIO.of(sensors.Sensor)
    cls = sensors.DEVICES[name].kind
    reader = Reader(SCENARIO)
    required = {
        m.name: FITTING[m.name] for m in members(cls).values() if m.default is MISSING and m.name in ("frame", "thruster")
    }
    for changes in ({}, {"latency": 0.125}):
        thing = reader.part({"device": name, **required, **changes}, family, ("x",), name="x")
        expected = cls(name="x", **required, **sensors.DEVICES[name].fields | changes)
        assert not reader.problems and same(thing, expected)
        assert same(back(thing, family, SCENARIO)[1], thing)


PLACES = {
    "at": {"at": [1, 2, 3]},
    "from": {"from": [0, 0, 0], "to": [0.3, 0.1, 0]},
    "point": {"point": [0, 0, 9], "normal": [0, 0.1, -1]},
}
"""Keys that stand for others, by the first of them."""
SHORT = [
    pytest.param(family, word, key, id=f"{family.name}-{word}-{key}")
    for family in (*model.FAMILIES, SCENARIO.of(Terrain))
    for word in family.table
    for key in family.shorthand.keys.get(word, {})
    if key not in ("to", "normal")
]


@pytest.mark.parametrize(("family", "word", "key"), SHORT)
def test_short_keys_of_shapes_come_back(family, word, key):
    families, cls = (SCENARIO if family.name == "terrain" else model.FAMILIES), family.table[word]
    reader, without = Reader(families), ("length",) if key == "from" else ()
    inner = Writer(families).fields(example(cls, families), skip=without)
    given = {"name": "x"} if family.named else {}
    given |= {"material": MATERIALS["sand"]} if family.name == "terrain" else {}
    short = reader.part({"type": word, **inner, **PLACES[key]}, family, ("x",), **given)
    assert not reader.problems, reader.problems
    data, again = back(short, family, families)
    assert same(again, short) and ("origin" in data or set(PLACES[key]) & set(data))


# -- custom classes -----------------------------------------------------------------------------------------------------


def _derivable(family, cls):
    """False for engines, whose rows are one class with a name: custom engines are in test_engines.py."""
    return isinstance(cls, type) and family.open_to_users and not family.type_field


OPEN = [row for row in ROWS if _derivable(*_row(*row.values))]
CUSTOM = """
from {module} import {name} as Base
class Own(Base):
    "A custom class."
"""
CUSTOM_DATACLASS = """
import dataclasses
from {module} import {name} as Base
@dataclasses.dataclass(frozen=True, kw_only=True)
class Own(Base):
    "A custom class."
    extra: float = 2.5
"""


@pytest.mark.parametrize(("file", "k", "word"), OPEN)
def test_a_custom_class_comes_back_with_consent_only(file, k, word, tmp_path):
    """A class derived from that of a row, in a file beside."""
    families = FILES[file][1]
    family, base = _row(file, k, word)
    text = CUSTOM_DATACLASS if dataclasses.is_dataclass(base) else CUSTOM
    path = tmp_path / "own.py"
    path.write_text(text.format(module=base.__module__, name=base.__name__))
    own = module_kept(str(path)).Own
    VALUES[own] = VALUES.get(base, {})
    thing = member(dataclasses.replace(family, table={"own": own}), families, "own")
    data, again = back(thing, family, families, tmp_path, code=True)
    assert same(again, thing) and data["type"] == "own.py:Own"
    reader = Reader(families, source="x", folder=tmp_path)
    assert reader.part(data, family, ("x",), name="x") is BROKEN and len(reader.locked) == 1 and not reader.problems


# -- whole files --------------------------------------------------------------------------------------------------------

MACHINE = """
hydromechs_model: 2
name: machine
bodies:
  vehicle: {joint: free, inertia: {mass: 20, tensor: [2, 2, 2, 0, 0, 0]}, shapes: {hull: {type: sphere, radius: 0.2}}}
  arm: {parent: vehicle, joint: revolute, inertia: {mass: 2, tensor: [1, 1, 1, 0, 0, 0]}}
  wrist: {parent: arm, joint: revolute, inertia: {mass: 1, tensor: [1, 1, 1, 0, 0, 0]}, frames: {tool: {}}}
  crate: {joint: free, inertia: {mass: 3, tensor: [1, 1, 1, 0, 0, 0]}, shapes: {lid: {type: sphere, radius: 0.1}}, frames: {grip: {}}}
"""


def scene(tmp_path: Path, *parts: Any) -> scenario.Scenario:
    """Return a scenario of the machine with parts."""
    source = tmp_path / "machine.yaml"
    source.write_text(MACHINE)
    start = scenario.ModelStart(model=formats.load_file(source), source=str(source))
    components = [part for part in parts if not isinstance(part, simulation.Block)]
    blocks = [part for part in parts if isinstance(part, simulation.Block)]
    return scenario.Scenario(name="x", models=[start], components=components, blocks=blocks, duration=100.0)


WHOLE = [row for row in ROWS if _row(*row.values)[0].name in ("component", "block")]


@pytest.mark.parametrize(("file", "k", "word"), WHOLE)
def test_a_part_comes_back_in_a_scenario_file(file, k, word, tmp_path):
    """In the shorthand of its section and in the plain form."""
    family, _ = _row(file, k, word)
    part = member(family, FILES[file][1], word)
    group = [CROWD] if isinstance(part, contact.ContactExclusion) else []
    made = scene(tmp_path, *BESIDE, *group, part)
    ordered = dataclasses.replace(made, components=in_order(made.components))
    for thing, plain in ((made, True), (ordered, True), (ordered, False)):
        again = formats.loads_scenario(formats.dumps_scenario(thing, tmp_path, plain=plain), "x", tmp_path)
        assert same(again, thing) and same(again.plant, thing.plant)


def test_tethers_name_their_ground(tmp_path):
    """Terrain on which a line lies, of either section."""
    floor = BESIDE[2]
    tether = member(SCENARIO.of(component.Component), SCENARIO, "tether")
    made = scene(tmp_path, floor, dataclasses.replace(tether, ground=(floor,)))
    for plain in (True, False):
        text = formats.dumps_scenario(made, tmp_path, plain=plain)
        assert "ground: [floor]" in text and same(formats.loads_scenario(text, "x", tmp_path), made)


@pytest.mark.parametrize("name", library.names())
def test_library_models_come_back(name):
    thing = library.load(name)
    assert same(formats.loads(formats.dumps(thing), folder=Path(library.model_path(name)).parent), thing)


@pytest.mark.parametrize("name", library.plant_names())
def test_library_vehicles_come_back(name):
    thing = library.load_vehicle(name)
    for plain in (True, False):
        assert same(formats.loads_scenario(formats.dumps_scenario(thing, plain=plain), library=library.load), thing)


STUDIES = [
    ("sweep", PACKAGE / "library" / "sweeps" / "sinking_chains.yaml"),
    ("sweep", Path(__file__).parents[1] / "sweeps" / "drops.yaml"),
    ("validation", Path(__file__).parents[2] / "examples" / "hinsdale_2023.yaml"),
]


@pytest.mark.parametrize(("file", "path"), STUDIES, ids=[path.stem for _, path in STUDIES])
def test_study_files_come_back(file, path):
    """Contents of the files, without the scenario or model that they name."""
    cls, families = FILES[file]
    kind = formats.FILE_KINDS[file]
    reader = Reader(families)
    thing = reader.file(cls, parse_yaml(path.read_text()).data, kind.key, kind.version)
    data = through_text({kind.key: kind.version, **Writer(families).fields(thing)})
    assert not reader.problems and same(reader.file(cls, data, kind.key, kind.version), thing)
