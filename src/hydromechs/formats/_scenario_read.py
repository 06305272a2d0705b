"""A scenario file to a `Scenario`, with every fault of the file in one `ScenarioError`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from hydromechs.actuation import ForceCurve, Thruster, drives, ideal_curve, linear_curve, t200_curve
from hydromechs.contact import DryFriction, Grasp, LinearContact, Material, NonlinearContact, terrain
from hydromechs.errors import ModelError, ScenarioError
from hydromechs.hydro import (
    Current,
    DepthTable,
    Environment,
    FreeSurface,
    Gusts,
    JonswapSea,
    PiersonMoskowitzSea,
    PowerLaw,
    RegularWave,
)
from hydromechs.integrators import DormandPrince
from hydromechs.model import Model, Origin
from hydromechs.recording import Check
from hydromechs.scenario import ControllerSpec, ModelStart, Scenario
from hydromechs.simulation import Event
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix

from ._messages import dotted, nearest, sentences
from ._read import load_file
from ._scenario_schema import ScenarioFile
from ._yaml import Document, Problem, UnreadableText, parse, read_text, show

__all__ = ["load_scenario_file", "loads_scenario"]

WAVES = {"regular": RegularWave, "jonswap": JonswapSea, "pierson_moskowitz": PiersonMoskowitzSea}
PROFILES = {"power_law": PowerLaw, "table": DepthTable}
LAWS = {"linear": LinearContact, "nonlinear": NonlinearContact}
SOLIDS = {
    "plane": terrain.Plane,
    "height_field": terrain.HeightField,
    "box": terrain.Box,
    "cylinder": terrain.Cylinder,
    "sphere": terrain.Sphere,
}
DRIVES = {"torque": drives.Torque, "servo": drives.Servo, "motor": drives.Motor, "hydraulic": drives.Hydraulic}
STAND_IN = {"hydromechs_scenario": 1, "name": "?", "duration": 1.0, "models": [{"model": "?"}]}
"""What stands for required keys that cannot be read, while the others are looked at."""
ITEMS = {"models", "materials", "terrain", "grasps", "thrusters", "joints", "external", "commands", "events", "checks"}
"""Sections of which single items can be left out."""
ALWAYS = {"time", "q", "v", "tau", "position", "orientation", "velocity", "depth"}
"""Quantities that every scenario has."""


def load_scenario_file(path: str | Path, library: Callable[[str], Model] | None = None) -> Scenario:
    """Read a scenario file.

    Args:
        path: The file; models and controllers that it names by path are looked for relative to its folder.
        library: Gives the library's models by name; `hydromechs.library.load_scenario` passes its own.

    Returns:
        The scenario; every fault of the file is listed in one `ScenarioError`.
    """
    path = Path(path)
    text = read_text(path, "scenario", ScenarioError)
    return loads_scenario(text, str(path), path.parent, library)


def loads_scenario(
    text: str, source: str = "<text>", folder: str | Path = ".", library: Callable[[str], Model] | None = None
) -> Scenario:
    """Read a scenario from the text of a scenario file.

    Args:
        text: YAML.
        source: Name of the text in messages.
        folder: Where relative paths of models and controllers start.
        library: Gives the library's models by name.

    Returns:
        The scenario; every fault of the text is listed in one `ScenarioError`.
    """
    try:
        document = parse(text)
    except UnreadableText as e:
        raise ScenarioError(source, [f"line {e.line}: {e}"]) from None
    if document.root is None:
        raise ScenarioError(source, ["line 1: the file is empty; a scenario file begins with 'hydromechs_scenario: 1'"])
    if not isinstance(document.data, dict):
        words = f"the file holds {show(document.data)}, must be a mapping that begins with 'hydromechs_scenario: 1'"
        raise ScenarioError(source, [f"line {document.line(())}: {words}"])
    if "hydromechs" in document.data and "hydromechs_scenario" not in document.data:
        words = "this is a model file; a scenario file begins with 'hydromechs_scenario: 1'"
        raise ScenarioError(source, [f"line {document.line(('hydromechs',))}: {words}"])
    return _Reader(document, source, Path(folder), library).scenario()


class _Reader:
    """Collects the faults of one document on the way to its scenario."""

    def __init__(self, document: Document, source: str, folder: Path, library: Callable[[str], Model] | None):
        self.document, self.source, self.folder, self.library = document, source, folder, library
        self.data: dict = document.data
        self.problems: list[Problem] = []
        self.broken: set[str] = set()
        """Sections in which something could not be read, so that what refers to them is not judged."""
        self.places: dict[tuple, tuple] = {}
        """Path in the file of what a fault of `Scenario` names by another path."""
        self.kept: dict[str, list[int]] = {}
        """Original index of each item that is left of a list."""
        self.loaded: dict[str, Model | None] = {}
        for line, path, words in document.problems:
            owner = f"{dotted(path)}: " if path else ""
            self.problems.append(Problem(line, path, owner + words.replace("model files", "scenario files")))
            self.broken.add(str(path[0]) if path else "")

    def scenario(self) -> Scenario:
        """The scenario, or `ScenarioError`."""
        file = self._file()
        scenario = None if file is None else self._build(file)
        if self.problems or scenario is None:
            ordered = sorted(self.problems, key=lambda p: p.line, reverse=True)
            places = {f"line {p.line}: {p.text}": p.path for p in ordered}
            raise ScenarioError(self.source, list(places)[::-1], list(places.values())[::-1])
        return scenario

    def _add(self, path: tuple, words: str) -> None:
        self.problems.append(Problem(self.document.line(path), path, words))
        if path:
            self.broken.add(str(path[0]))

    # -- keys and types -----------------------------------------------------------------------------------------------------

    def _file(self) -> ScenarioFile | None:
        """The file as the schema has it, less the parts that have faults; None where even that cannot be read."""
        data, told = dict(self.data), {p.path for p in self.document.problems}
        try:
            return ScenarioFile.model_validate(data)
        except ValidationError as e:
            bad = set()
            for path, words in sentences(e, ScenarioFile):
                if path not in told:
                    self._add(path, words.replace(", Input should be ", ", must be "))
                bad.add(path[:2] if path and path[0] in ITEMS else path[:1])
                self.broken.add(str(path[0]) if path else "")
        for section in {path[0] for path in bad if path}:
            self._drop(data, section, bad)
        try:
            return ScenarioFile.model_validate(STAND_IN | data)
        except ValidationError:  # pragma: no cover
            return None

    def _drop(self, data: dict, section: str, bad: set[tuple]) -> None:
        value = data.get(section)
        if (section,) in bad or not isinstance(value, list | dict):
            data.pop(section, None)
        elif isinstance(value, list):
            self.kept[section] = [i for i in range(len(value)) if (section, i) not in bad]
            data[section] = [value[i] for i in self.kept[section]]
            if not data[section]:
                del data[section], self.kept[section]
        else:
            data[section] = {key: item for key, item in value.items() if (section, key) not in bad}

    def _index(self, section: str, i: int) -> int:
        """Index in the file of item i of what is left of a list."""
        return self.kept[section][i] if section in self.kept else i

    # -- values -------------------------------------------------------------------------------------------------------------

    def _make(self, path: tuple, kind: Callable, values: dict):
        """`kind(**values)`; None where a value is not good, which is told."""
        try:
            return kind(**values)
        except (ValueError, ArithmeticError) as e:
            words = re.sub(r"^[A-Za-z_0-9]+\.(?=[a-z_]+ )", "", str(e))
            key = re.match(r"(?:.*?: )?([a-z_]+)\b", words)
            inner = (key[1],) if key and key[1] in values else ()
            self._add((*path, *inner), f"{dotted(path)}: {words}")
            return None

    def _build(self, file: ScenarioFile) -> Scenario | None:
        """The scenario of what could be read; what refers to what could not is not judged."""
        models = [self._start(self._index("models", i), entry) for i, entry in enumerate(file.models)]
        environment = self._environment(file.environment)
        materials = {name: self._material(name, entry) for name, entry in file.materials.items()}
        solids = self._items("terrain", file.terrain, lambda path, entry: self._solid(path, entry, materials))
        thrusters = self._thrusters(file)
        actuation = self._actuation(file)
        spec = None
        if file.controller is not None:
            fields = _given(file.controller) | {"type": self._controller_type(file.controller.type)}
            spec = self._make(("controller",), ControllerSpec, fields)
        touching = {} if file.contact is None else _given(file.contact)
        material = self._named_material(("contact", "material"), touching.get("material"), materials)
        if touching.get("bodies") and "material" not in touching and "contact" not in self.broken:
            self._add(("contact",), "contact.bodies needs contact.material, the name of one of materials; add it")
        method = file.integrator
        if not isinstance(method, str):
            method = self._make(("integrator", "dormand_prince"), DormandPrince, _given(method.dormand_prince))
        fields = dict(
            name=file.name,
            title=file.title,
            description=file.description,
            models=[m for m in models if m is not None],
            environment=environment,
            terrain=solids,
            touching=touching.get("points", ()),
            collisions=touching.get("bodies", ()),
            material=material,
            thrusters=thrusters,
            grasps=self._items("grasps", file.grasps, lambda path, e: self._make(path, Grasp, _given(e))),
            external=file.external,
            commands=file.commands,
            controller=spec,
            events=self._items("events", file.events, lambda path, e: self._make(path, Event, _event(e))),
            integrator=method or "rk4",
            step=file.step,
            record=file.record,
            duration=file.duration,
            seed=file.seed,
            checks=self._items("checks", file.checks, lambda path, e: self._make(path, Check, _given(e))),
            **actuation,
        )
        if "models" in self.broken:
            return None
        try:
            return Scenario(**fields)
        except ScenarioError as e:
            told = [self._to_be_told(path) for path in e.places]  # judged before any is added
            for path, words, tell in zip(e.places, e.problems, told, strict=True):
                if tell:
                    self._add(self._place(path), words)
        except (ValueError, ArithmeticError) as e:
            self._add((), str(e))
        return None

    def _items(self, section: str, entries: list, build: Callable) -> list:
        """What is built of a list; where an item is not good, the others are moved up and their places kept."""
        out = []
        for i, entry in enumerate(entries):
            path = (section, self._index(section, i))
            item = build(path, entry)
            if item is not None:
                self.places[section, len(out)] = path
                out.append(item)
        return out

    def _start(self, i: int, entry) -> ModelStart | None:
        fields, path = _given(entry), ("models", i)
        if "rpy_deg" in fields and "quaternion" in fields:
            both = f"rpy_deg {show(fields['rpy_deg'])} and quaternion {show(fields['quaternion'])}"
            self._add((*path, "quaternion"), f"{dotted(path)} has both {both}; keep one of them")
        rpy, quaternion = fields.pop("rpy_deg", None), fields.pop("quaternion", None)
        if rpy is not None:
            quaternion = quaternion_from_matrix(matrix_from_rpy(_radians(rpy))).tolist()
        self.places["models", i, "orientation"] = (*path, "quaternion")
        reference = fields.pop("model")
        named = not any(c in reference for c in "./\\")
        source = reference if named else str((self.folder / reference).absolute())
        model = self._model((*path, "model"), source, named)
        if model is None:
            return None
        return self._make(path, ModelStart, {**fields, "model": model, "source": source, "orientation": quaternion})

    def _model(self, path: tuple, source: str, named: bool) -> Model | None:
        if source == STAND_IN["models"][0]["model"] and "models" in self.broken:
            return None
        if source in self.loaded:
            return self.loaded[source]
        self.loaded[source] = None
        try:
            if named and self.library is None:
                self._add(path, f"{dotted(path)} is {source!r}, but there is no library here; give the path of a .yaml file")
            else:
                self.loaded[source] = self.library(source) if named else load_file(source)
        except FileNotFoundError:
            self._add(path, f"{dotted(path)}: there is no file {source!r}; paths are relative to the scenario file")
        except ModelError as e:
            for words in e.problems:
                self._add(path, f"{dotted(path)}: {words}" if named else f"{dotted(path)}: {source}: {words}")
        if self.loaded[source] is None:
            self.broken.add("models")
        return self.loaded[source]

    def _environment(self, entry) -> Environment:
        if entry is None:
            return Environment()
        path, fields = ("environment",), _given(entry)
        if "current" in fields:
            current, inner = _given(entry.current), (*path, "current")
            if "profile" in current:
                kind, values = _only(entry.current.profile)
                current["profile"] = self._make((*inner, "profile", kind), PROFILES[kind], _given(values))
            if current.get("profile", 0) is not None:
                fields["current"] = self._make(inner, Current, current)
            else:
                del fields["current"]
        if "gusts" in fields:
            fields["gusts"] = self._make((*path, "gusts"), Gusts, _given(entry.gusts))
        waves = []
        for i, wave in enumerate(entry.waves):
            kind, values = _only(wave)
            waves.append(self._make((*path, "waves", i, kind), WAVES[kind], _angles(_given(values))))
        fields["waves"] = [w for w in waves if w is not None]
        if "surface" in fields:
            fields["surface"] = FreeSurface()
        return self._make(path, Environment, fields) or Environment()

    def _material(self, name: str, entry) -> Material | None:
        kind, values = _only(entry, "friction")
        path = ("materials", name)
        law = self._make((*path, kind), LAWS[kind], _given(values))
        friction = None
        if entry.friction is not None:
            friction = self._make((*path, "friction"), DryFriction, _given(entry.friction))
            if friction is None:
                return None
        return None if law is None else Material(law=law, friction=friction)

    def _named_material(self, path: tuple, name: str | None, materials: dict) -> Material | None:
        if name is None or (name not in materials and "materials" in self.broken):
            return None
        if name not in materials:
            hint = nearest(name, materials)
            known = f"there are {', '.join(materials)}" if materials else "there are none: add it to materials"
            self._add(path, f"{dotted(path)} is {show(name)}, but there is no such material{hint}; {known}")
        return materials.get(name)

    def _solid(self, path: tuple, entry, materials: dict):
        kind, values = _only(entry, "name", "material")
        fields = _given(values)
        material = self._named_material((*path, "material"), entry.material, materials)
        rpy, position = fields.pop("rpy_deg", None), fields.pop("position", None)
        if kind == "sphere":
            fields |= {} if position is None else {"center": position}
        elif position is not None or rpy is not None:
            fields["origin"] = Origin(position or (0.0,) * 3, _radians(rpy or (0.0,) * 3))
        if material is None:
            self.broken.add("terrain")
            material = Material(law=LinearContact(stiffness=1.0))  # so that the faults of the solid are found, too
            self._make((*path, kind), SOLIDS[kind], {**fields, "name": entry.name, "material": material})
            return None
        return self._make((*path, kind), SOLIDS[kind], {**fields, "name": entry.name, "material": material})

    def _thrusters(self, file: ScenarioFile) -> list[Thruster]:
        out = []
        for i, entry in enumerate(file.thrusters):
            path = ("thrusters", self._index("thrusters", i))
            fields = _given(entry)
            kind, values = _only(entry.curve)
            fields["curve"] = self._make((*path, "curve", kind), curve_of, {"kind": kind} | _given(values))
            frames = fields.pop("frames", None)
            for k, frame in enumerate([fields["frame"]] if frames is None else frames):
                one = {"name": frame, **fields, "frame": frame}
                thruster = None if one["curve"] is None else self._make(path, Thruster, one)
                if thruster is None:
                    break
                self.places["thrusters", len(out)] = path if frames is None else (*path, "frames", k)
                out.append(thruster)
        return out

    def _actuation(self, file: ScenarioFile) -> dict[str, dict]:
        """Drives, friction and stops by joint."""
        out = {"drives": {}, "friction": {}, "stops": {}}
        for name, entry in file.joints.items():
            path = ("joints", name)
            if entry.drive is not None:
                kind, values = _only(entry.drive)
                out["drives"][name] = self._make((*path, "drive", kind), DRIVES[kind], _given(values))
            for key, kind in (("friction", drives.Friction), ("stops", drives.Stops)):
                value = getattr(entry, key)
                if value is not None:
                    out[key][name] = None if value == "none" else self._make((*path, key), kind, _given(value))
            for key in out:
                self.places[key, name] = path
        out["drives"] = {name: drive for name, drive in out["drives"].items() if drive is not None}
        return out

    def _controller_type(self, text: str) -> str:
        """The type with the path of a file made absolute."""
        file, colon, name = text.rpartition(":")
        return f"{(self.folder / file).absolute()}:{name}" if colon and file.endswith(".py") else text

    # -- faults of the scenario ---------------------------------------------------------------------------------------------

    def _place(self, path: tuple) -> tuple:
        """Path in the file of what `Scenario` names."""
        if path[:1] == ("touching",):
            return ("contact", "points", *path[1:])
        if path[:1] == ("collisions",):
            return ("contact", "bodies", *path[1:])
        for n in range(len(path), 0, -1):
            if path[:n] in self.places:
                return (*self.places[path[:n]], *path[n:])
        return path

    def _to_be_told(self, path: tuple) -> bool:
        """Whether a fault is one of the file, and not of what had to be left out of it."""
        key = path[0] if path else None
        if path[2:] == ("quantity",):
            section, i = self._place(path)[:2]
            if str(self.data[section][i]["quantity"]).partition(".")[0] in ALWAYS:
                return True
        if not path or path[2:] == ("quantity",):
            return not self.broken & {"thrusters", "joints", "terrain", "materials", "contact", "environment", "external", ""}
        if key == "commands" or "command" in path:
            return not self.broken & {"thrusters", "joints", ""}
        if "wrench" in path:
            return not self.broken & {"external", ""}
        if key in ("record", "controller", "environment"):
            return not self.broken & {"step", "record", "integrator", str(key), ""}
        return True


def _given(entry) -> dict:
    """Values that the file gives, by key; what is left out takes the default of the dataclass."""
    return {name: getattr(entry, name) for name in sorted(entry.model_fields_set)}


def _only(entry, *others: str) -> tuple[str, object]:
    """The one key of an entry that is none of `others`, and what it holds."""
    return next((name, getattr(entry, name)) for name in type(entry).model_fields if name not in others)


def _radians(degrees) -> tuple[float, ...]:
    return tuple(math.radians(a) for a in degrees)


def _angles(fields: dict) -> dict:
    """Fields with angles in radians under their own names."""
    return {k.removesuffix("_deg"): math.radians(v) if k.endswith("_deg") else v for k, v in fields.items()}


def curve_of(kind: str, **values) -> ForceCurve:
    """The curve of a thruster.

    Args:
        kind: Key of the file: t200, newtons, throttle or table.
        values: What stands under it.
    """
    if kind == "table":
        return ForceCurve(**values)
    if kind == "t200":
        return t200_curve(**values)
    forward, reverse = values.pop("forward"), values.pop("reverse")
    return ideal_curve(forward, reverse) if kind == "newtons" else linear_curve(forward, reverse, **values)


def _event(entry) -> dict:
    fields = _given(entry)
    if "command" in fields:
        fields["command"] = tuple(fields["command"].items())
    if "wrench" in fields:
        fields["wrench"] = tuple((body, tuple(wrench)) for body, wrench in fields["wrench"].items())
    for key in ("grasp", "release"):
        if key in fields:
            fields[key] = tuple(fields[key])
    return fields
