"""A scenario file to a `Scenario`, with every fault of the file in one `ScenarioError`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from hydromechs import files
from hydromechs.actuation import Thruster
from hydromechs.contact import LinearContact, Material
from hydromechs.contact.ground import MATERIALS, generated, grid_on_lines, read_heights
from hydromechs.contact.terrain import HeightField
from hydromechs.errors import Fault, FieldError, ModelError, ScenarioError
from hydromechs.hybrid import SCHEMES, Exact, Hybrid
from hydromechs.hydro import Environment
from hydromechs.model import Model
from hydromechs.recording import ATTITUDE
from hydromechs.scenario import ModelStart, Scenario, check_faults, start_names
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix
from hydromechs.values import field_texts, is_path

from ._convert import build, fields_of, key_of
from ._entries import Entry
from ._messages import dotted, faults_of, nearest
from ._read import MODEL_KEY, load_file, parsed
from ._robot_plant import convertible, renamed, robot_plant
from ._robots import import_file, is_robot_file
from ._scenario_entries import ScenarioFile, radians
from ._yaml import Document, collector_paused, parse, read_text, show

__all__ = ["load_scenario_file", "loads_scenario", "scenario_text", "with_lines"]

STAND_IN: dict[str, Any] = {"hydromechs_scenario": 1, "name": "?", "duration": 1e5, "models": [{"model": "?"}]}
"""What stands for required keys that cannot be read, while the others are looked at."""
ITEMS = {"models", "materials", "terrain", "grasps", "tethers", "thrusters", "joints", "external", "components"}
ITEMS |= {"commands", "sensors", "events", "checks"}
"""Sections of which single items can be left out."""
OF_MODELS = ("thrusters", "drives", "motions", "friction", "stops")
"""What comes with models and vehicles where it is not among what a file says of it."""
INSTEAD = {"record": ("step", "duration"), "step": ("duration",)} | dict.fromkeys(OF_MODELS, ("models",))
"""Keys that are shown in place of one that a file leaves out."""
ALWAYS = {"time", "q", "v", "tau", "position", "orientation", "velocity", "acceleration", "depth", *ATTITUDE}
"""Quantities that every scenario has."""


def load_scenario_file(
    path: str | Path,
    library: Callable[[str], Model] | None = None,
    plants: Callable[[str], Scenario] | None = None,
    *,
    code: bool = False,
) -> Scenario:
    """Read a scenario file.

    Args:
        path: The file; models and controllers that it names by path are looked for relative to its folder.
        library: Gives the library's models by name; `hydromechs.library.load_scenario` passes its own.
        plants: Gives the library's vehicles by name, scenarios of one model with its actuators.
        code: True if the Python code that the file and its models name may run when the scenario is run.

    Returns:
        The scenario; every fault of the file is listed in one `ScenarioError`.
    """
    path = Path(path)
    return loads_scenario(scenario_text(path), str(path), path.parent, library, plants, code=code)


def scenario_text(path: str | Path) -> str:
    """Return the text of a scenario file; a file of another kind is a `ScenarioError` that quotes nothing of it.

    Args:
        path: The file.
    """
    return read_text(Path(path), "scenario", ScenarioError)


def loads_scenario(
    text: str,
    source: str = "<text>",
    folder: str | Path = ".",
    library: Callable[[str], Model] | None = None,
    plants: Callable[[str], Scenario] | None = None,
    *,
    code: bool = False,
) -> Scenario:
    """Read a scenario from the text of a scenario file.

    Args:
        text: YAML.
        source: Name of the text in messages.
        folder: Where relative paths of models and controllers start.
        library: Gives the library's models by name.
        plants: Gives the library's vehicles by name.
        code: True if the Python code that the text and its models name may run when the scenario is run.

    Returns:
        The scenario; every fault of the text is listed in one `ScenarioError`.
    """
    with collector_paused():
        document = parsed(text, source, "scenario", "hydromechs_scenario: 1", ScenarioError)
        if MODEL_KEY in document.data and "hydromechs_scenario" not in document.data:
            words = "this is a model file; a scenario file begins with 'hydromechs_scenario: 1'"
            raise ScenarioError(source, [Fault((MODEL_KEY,), words, line=document.line((MODEL_KEY,)))])
        return _Reader(document, source, Path(folder), library, plants, code).scenario()


def with_lines(faults: Iterable[Fault], path: str | Path) -> list[Fault]:
    """Faults of a scenario that was read from a file, with the lines of what they speak of there.

    Args:
        faults: Their paths are those of the scenario.
        path: The file; it has no faults by itself.
    """
    document = parse(files.read_text(path))
    if "hydromechs_scenario" not in document.data:
        return [replace(fault, line=document.line(fault.path)) for fault in faults]
    return _Reader(document, str(path), Path(path).parent, None, None, code=False).told(faults)


class _Reader:
    """Collects the faults of one document on the way to its scenario."""

    def __init__(
        self,
        document: Document,
        source: str,
        folder: Path,
        library: Callable[[str], Model] | None,
        plants: Callable[[str], Scenario] | None,
        code: bool,
    ) -> None:
        self.code = code
        self.document, self.source, self.folder, self.library, self.plants = document, source, folder, library, plants
        self.equipped: dict[int, Scenario] = {}
        """Vehicles with their actuators, by their index among the models that are left."""
        self.data: dict[str, Any] = document.data
        self.faults: list[Fault] = []
        self.broken: set[str] = set()
        """Sections in which something could not be read, so that what refers to them is not judged."""
        self.places: dict[tuple, tuple] = {}
        """Path in the file of what a fault of `Scenario` names by another path."""
        self.kept: dict[str, list[int]] = {}
        """Original index of each item that is left of a list."""
        self.loaded: dict[str, Model | None] = {}
        for fault in document.problems:
            owner = f"{dotted(fault.path)}: " if fault.path else ""
            self.faults.append(replace(fault, text=owner + fault.text.replace("model files", "scenario files")))
            self.broken.add(str(fault.path[0]) if fault.path else "")

    def scenario(self) -> Scenario:
        """The scenario, or `ScenarioError`."""
        file = self._file()
        scenario = None if file is None else self._build(file)
        if self.faults or scenario is None:
            ordered = sorted(self.faults, key=lambda f: f.line or 0)
            raise ScenarioError(self.source, {str(f): f for f in ordered}.values())
        return scenario

    def told(self, faults: Iterable[Fault]) -> list[Fault]:
        """Faults of the scenario that was made of the file, with their places and lines there."""
        file = self._file()
        if file is not None:
            self._thrusters(file)  # notes their places
            self._actuation(file)
        return [self._with_line(fault) for fault in faults]

    def _with_line(self, fault: Fault) -> Fault:
        """A fault of `Scenario` with its place in the file; one of no part of it has no line."""
        place = self._place(fault.path)
        return replace(fault, path=place, line=self.document.line(place) if place and place[0] in self.data else None)

    def _add(self, fault: Fault) -> None:
        self.faults.append(replace(fault, line=self.document.line(fault.path)))
        if fault.path:
            self.broken.add(str(fault.path[0]))

    # -- keys and types -----------------------------------------------------------------------------------------------------

    def _file(self) -> Any:
        """The file as the schema has it, less the parts that have faults; None where even that cannot be read."""
        data, reported = dict(self.data), {p.path for p in self.document.problems}
        try:
            return ScenarioFile.model_validate(data)
        except ValidationError as e:
            bad = set()
            for fault in faults_of(e, ScenarioFile):
                path = fault.path
                if path not in reported:
                    self._add(fault)
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

    def _make(self, path: tuple, cls: Any, values: dict[str, Any]) -> Any:
        """`cls(**values)`; None where a value is not good, which is reported."""
        try:
            return cls(**values)
        except FieldError as e:
            where = (*path, key_of(cls, e.field)) if e.field in values else path
            self._add(Fault(where, f"{dotted(where)} {e.said}", e.value, e.must))
        except (ValueError, ArithmeticError) as e:
            self._add(Fault(path, f"{dotted(path)}: {e}"))
        return None

    def _made(self, path: tuple, entry: Entry) -> Any:
        """The object of an entry; None where it is not good, which is reported."""
        return build(entry, path, self._make)

    def _build(self, file: Any) -> Scenario | None:
        """The scenario of what could be read; what refers to what could not is not judged."""
        materials = {name: self._material(name, entry) for name, entry in file.materials.items()}
        touching = {} if file.contact is None else fields_of(file.contact)
        if touching.get("bodies") and "material" not in touching and "contact" not in self.broken:
            remedy = "add it"
            text = f"contact.bodies needs contact.material, the name of one of materials; {remedy}"
            self._add(Fault(("contact",), text, remedy=remedy))
        method = file.integrator
        if not isinstance(method, str):
            method = self._made(("integrator", "dormand_prince"), method.dormand_prince) or "rk4"
        engine = file.engine if file.engine is None or isinstance(file.engine, str) else self._engine(file.engine)
        plain = ("name", "title", "description", "external", "commands", "step", "record", "duration", "seed")
        fields = {
            **{name: getattr(file, name) for name in plain},
            "models": self._models(file),
            "world": None if file.world is None else self._made(("world",), file.world),
            "environment": None if file.environment is None else self._made(("environment",), file.environment),
            "terrain": self._items("terrain", file.terrain, lambda path, entry: self._solid(path, entry, materials)),
            "touching": touching.get("points", ()),
            "collisions": touching.get("bodies", ()),
            "material": self._named_material(("contact", "material"), touching.get("material"), materials),
            "thrusters": self._thrusters(file),
            "grasps": self._items("grasps", file.grasps, self._made),
            "tethers": (),
            "components": self._items("components", file.components, self._code),
            "controller": None if file.controller is None else self._code(("controller",), file.controller),
            "sensors": self._items("sensors", file.sensors, self._made),
            "navigation": None if file.navigation is None else self._made(("navigation",), file.navigation),
            "events": self._items("events", file.events, self._made),
            "randomisation": None if file.randomisation is None else self._made(("randomisation",), file.randomisation),
            "integrator": method,
            "engine": Hybrid(engine=engine) if isinstance(engine, str) else engine,
            "checks": self._items("checks", file.checks, self._made),
            "expected_warnings": file.expected_warnings,
            **self._actuation(file),
        }
        fields["environment"] = fields["environment"] or Environment()
        solids = {solid.name: solid for solid in fields["terrain"]}
        fields["tethers"] = self._items("tethers", file.tethers, lambda path, entry: self._tether(path, entry, solids))
        self._equip(fields)
        if "models" in self.broken:
            return None
        try:
            scenario = Scenario(**fields)
            self.faults += [self._with_line(fault) for fault in check_faults(scenario)]
            return scenario
        except ScenarioError as e:
            shown = [self._is_reported(fault.path) for fault in e.faults]  # judged before any is added
            self.faults += [self._with_line(fault) for fault, show_it in zip(e.faults, shown, strict=True) if show_it]
        except (ValueError, ArithmeticError) as e:
            self._add(Fault((), str(e)))
        return None

    def _engine(self, entry: Any) -> Hybrid:
        """An engine with its options."""
        named = isinstance(entry.scheme, str)
        scheme = SCHEMES[entry.scheme]() if named else self._made(("engine", "scheme", "filtered"), entry.scheme.filtered)
        return Hybrid(engine=entry.name, scheme=scheme or Exact(), accept_unstable=entry.accept_unstable)

    def _items(self, section: str, entries: list[Entry], make: Callable[[tuple, Any], Any]) -> list[Any]:
        """What is built of a list; where an item is not good, the others are moved up and their places kept."""
        out: list[Any] = []
        for i, entry in enumerate(entries):
            path = (section, self._index(section, i))
            item = make(path, entry)
            if item is not None:
                self.places[section, len(out)] = path
                out.append(item)
        return out

    def _models(self, file: Any) -> list[ModelStart]:
        out: list[ModelStart] = []
        for i, entry in enumerate(file.models):
            start = self._start(self._index("models", i), entry, len(out))
            out += [] if start is None else [start]
        return out

    def _equip(self, fields: dict[str, Any]) -> None:
        """Add the actuators of vehicles that come with them; what the file itself says of a thruster or joint stays."""
        names = start_names(fields["models"])
        instead = {"drives": set(fields["motions"]), "motions": set(fields["drives"])}  # one takes the place of the other
        for k, vehicle in self.equipped.items():
            before = f"{names[k]}." if len(names) > 1 else ""
            have = {t.name for t in fields["thrusters"]}
            own = [replace(t, name=before + t.name, frame=before + t.frame) for t in vehicle.thrusters]
            fields["thrusters"] = [*fields["thrusters"], *(t for t in own if t.name not in have)]
            fields["components"] = [*fields["components"], *(renamed(c, before) for c in vehicle.components)]
            for key in ("drives", "motions", "friction", "stops"):
                others = {before + name: x for name, x in getattr(vehicle, key)}
                others = {name: x for name, x in others.items() if name not in instead.get(key, ())}
                fields[key] = others | fields[key]

    def _start(self, i: int, entry: Entry, k: int) -> ModelStart | None:
        fields, path = fields_of(entry), ("models", i)
        quaternion = self._turned(path, fields)
        turns = {name: x for name, x in fields.get("joints", {}).items() if isinstance(x, dict)}
        for name, turn in turns.items():
            fields["joints"][name] = self._turned((*path, "joints", name), turn)
            if fields["joints"][name] is None:
                where = (*path, "joints", name)
                self._add(Fault(where, f"{dotted(where)} is {{}}, must have rpy_deg or quaternion"))
        self.places["models", i, "orientation"] = (*path, "quaternion")
        given = {key: fields.pop(key) for key in ("model", "plant") if fields.get(key) is not None}
        if len(given) != 1:
            remedy = "give one of them: a model, or as plant a vehicle with its actuators"
            has = "both model and plant" if given else "neither model nor plant"
            self._add(Fault(path, f"{dotted(path)} has {has}; {remedy}", remedy=remedy))
            return None
        ((key, reference),) = given.items()
        named = not is_path(reference)
        source = reference if named else str((self.folder / reference).absolute())
        if key == "plant":
            vehicle = self._vehicle((*path, key), source, named)
            if vehicle is None:
                return None
            self.equipped[k] = vehicle
            model, source = vehicle.models_in_world[0].model, vehicle.models[0].source or source
        else:
            found = self._model((*path, key), source, named)
            if found is None:
                return None
            model = found
        return self._make(path, ModelStart, {**fields, "model": model, "source": source, "orientation": quaternion})

    def _vehicle(self, path: tuple, source: str, named: bool) -> Scenario | None:
        """The vehicle with its actuators that a file or the library has under a name; None where a fault is reported."""
        try:
            if named and self.plants is None:
                raise ScenarioError(source, ["there is no library here; give the path of a .yaml file"])
            if not named and is_robot_file(source):
                imported = import_file(source)
                return robot_plant(imported.model, imported.components, source)
            read = self.plants if named else lambda path: load_scenario_file(path, self.library, self.plants, code=self.code)
            vehicle = read(source)  # type: ignore[misc]  # as the line above
            if len(vehicle.models) == 1:
                return vehicle
            words = [f"it has {len(vehicle.models)} models, must have one"]
        except (ScenarioError, ModelError) as e:
            words = list(e.problems)
        except OSError as e:
            words = [str(e)]
        self.broken.add("models")
        for text in map(convertible, words):
            self._add(Fault(path, f"{dotted(path)}: {text}" if named else f"{dotted(path)}: {source}: {text}", source))
        return None

    def _turned(self, path: tuple, fields: dict[str, Any]) -> list[float] | None:
        """The quaternion of what a file gives as rpy_deg or quaternion, which are taken out of `fields`; None for neither."""
        rpy, quaternion = fields.pop("rpy_deg", None), fields.pop("quaternion", None)
        if rpy is not None and quaternion is not None:
            both = f"rpy_deg {show(rpy)} and quaternion {show(quaternion)}"
            text = f"{dotted(path)} has both {both}; keep one of them"
            self._add(Fault((*path, "quaternion"), text, remedy="keep one of them"))
        return quaternion if rpy is None else quaternion_from_matrix(matrix_from_rpy(radians(rpy))).tolist()

    def _model(self, path: tuple, source: str, named: bool) -> Model | None:
        if source == STAND_IN["models"][0]["model"] and "models" in self.broken:
            return None
        if source in self.loaded:
            return self.loaded[source]
        self.loaded[source] = None
        try:
            if not named:
                self.loaded[source] = load_file(source, code=self.code)
            elif self.library is not None:
                self.loaded[source] = self.library(source)
            else:
                remedy = "give the path of a .yaml file"
                text = f"{dotted(path)} is {source!r}, but there is no library here; {remedy}"
                self._add(Fault(path, text, source, remedy=remedy))
        except FileNotFoundError:
            remedy = "paths are relative to the scenario file"
            self._add(Fault(path, f"{dotted(path)}: there is no file {source!r}; {remedy}", source, remedy=remedy))
        except ModelError as e:
            for words in map(convertible, e.problems):
                self._add(Fault(path, f"{dotted(path)}: {words}" if named else f"{dotted(path)}: {source}: {words}", source))
        if self.loaded[source] is None:
            self.broken.add("models")
        return self.loaded[source]

    def _material(self, name: str, entry: Any) -> Material | None:
        path = ("materials", name)
        law = self._made((*path, entry.wraps), getattr(entry, entry.wraps))
        friction = None if entry.friction is None else self._made((*path, "friction"), entry.friction)
        if law is None or (friction is None and entry.friction is not None):
            return None
        return Material(law=law, friction=friction)

    def _named_material(self, path: tuple, name: str | None, materials: dict[str, Material | None]) -> Material | None:
        if name is None or (name not in materials and "materials" in self.broken):
            return None
        if name not in materials and name in MATERIALS:
            return MATERIALS[name]
        if name not in materials:
            remedy = f"there are {', '.join([*materials, *MATERIALS])}: add it to materials, or take one of these"
            what = f"{dotted(path)} is {show(name)}, but there is no such material{nearest(name, [*materials, *MATERIALS])}"
            self._add(Fault(path, f"{what}; {remedy}", name, remedy=remedy))
        return materials.get(name)

    def _solid(self, path: tuple, entry: Any, materials: dict[str, Material | None]) -> Any:
        material = self._named_material((*path, "material"), entry.material, materials)
        if material is None:
            self.broken.add("terrain")
        some = material or Material(law=LinearContact(stiffness=1.0))  # so that the faults of the solid are found, too
        inner = getattr(entry, entry.wraps)
        inside = fields_of(inner, (*path, entry.wraps))
        if inner.kind.cls is HeightField and not self._heights((*path, entry.wraps), inside):
            self.broken.add("terrain")
            return None
        fields = {**inside, "name": entry.name, "material": some}
        solid = self._make((*path, entry.wraps), inner.kind.cls, fields)
        return None if material is None else solid

    def _tether(self, path: tuple, entry: Any, solids: dict[str, Any]) -> Any:
        """A tether, with the terrain that it names."""
        inner, path = getattr(entry, entry.wraps), (*path, entry.wraps)
        given = fields_of(inner, path, self._make)
        for k, name in enumerate(given.get("ground", ())):
            if name not in solids and "terrain" not in self.broken:
                where = (*path, "ground", k)
                text = (
                    f"{dotted(where)} is {show(name)}, but there is no such terrain{nearest(name, solids)}; add it to terrain"
                )
                self._add(Fault(where, text, name))
        if "ground" in given:
            given["ground"] = tuple(solids[name] for name in given["ground"] if name in solids)
        needed = {f.name for f in fields(inner.kind.cls) if f.default is MISSING}
        return (
            self._make(path, inner.kind.cls, given) if given.keys() >= needed else None
        )  # a part that is not good is told already

    def _heights(self, path: tuple, fields: dict[str, Any]) -> bool:
        """Put the heights of a file or a generator, and their grid, into the fields of a field; whether there are any."""
        file, made = fields.pop("file", None), fields.pop("generate", None)
        given_with = {key: fields.pop(key) for key in ("low", "high", "spacing") if key in fields}
        sources = [
            name
            for name, given in (("heights", fields.get("heights")), ("file", file), ("generate", made))
            if given is not None
        ]
        if len(sources) != 1:
            words = (
                "needs heights, file or generate; add one of them"
                if not sources
                else f"has {' and '.join(sources)}; keep one of them"
            )
            self._add(Fault(path, f"{dotted(path)} {words}"))
            return False
        if given_with and file is None:
            words = f"has {' and '.join(given_with)}, which only go with file; leave them out"
            self._add(Fault(path, f"{dotted(path)} {words}"))
            return False
        for axis in "xy" if file is None else "":
            if axis not in fields:
                remedy = f"add it: {field_texts(HeightField)[axis]}"
                self._add(Fault((*path, axis), f"{dotted(path)}: the key {axis!r} is missing; {remedy}", remedy=remedy))
        if "heights" in fields or (file is None and not fields.keys() >= {"x", "y"}):
            return fields.keys() >= {"x", "y"}
        try:
            if made is not None:
                fields["x"], fields["y"], heights = generated(fields["x"], fields["y"], made)
            else:
                x, y = (fields.get(axis) for axis in "xy")
                ends = ((float(x[0]), float(x[-1])), (float(y[0]), float(y[-1]))) if x and y else None
                grid = grid_on_lines(read_heights(self.folder / file, ends, **given_with), file, x, y)
                fields["x"], fields["y"], heights = np.array(grid.x).tolist(), np.array(grid.y).tolist(), grid.heights
        except FieldError as e:
            where = (*path, e.name) if file or e.name in ("x", "y") else (*path, *sources, e.name)
            self._add(Fault(where, f"{dotted(where)} {e.said}", e.value, e.must))
            return False
        except ValueError as e:
            self._add(Fault((*path, *sources), f"{dotted((*path, *sources))}: {e}", file or str(made)))
            return False
        fields["heights"] = heights.tolist()
        return True

    def _thrusters(self, file: Any) -> list[Thruster]:
        out: list[Thruster] = []
        for i, entry in enumerate(file.thrusters):
            path = ("thrusters", self._index("thrusters", i))
            fields = fields_of(entry, path, self._make)
            frames = fields.pop("frames", None)
            for k, frame in enumerate([fields["frame"]] if frames is None else frames):
                one = {"name": frame, **fields, "frame": frame}
                thruster = self._make(path, Thruster, one) if "curve" in one else None
                if thruster is None:
                    break
                self.places["thrusters", len(out)] = path if frames is None else (*path, "frames", k)
                out.append(thruster)
        return out

    def _actuation(self, file: Any) -> dict[str, dict[str, Any]]:
        """Drives, given motions, friction and stops by joint."""
        out: dict[str, dict[str, Any]] = {"drives": {}, "motions": {}, "friction": {}, "stops": {}}
        for name, entry in file.joints.items():
            path = ("joints", name)
            for key, section in (("drive", "drives"), ("motion", "motions"), ("friction", "friction"), ("stops", "stops")):
                value = getattr(entry, key)
                if key == "motion" and value is not None and value.wraps == "recorded_file":
                    value.recorded_file.file = str(self.folder / value.recorded_file.file)
                if value is not None:
                    out[section][name] = None if value == "none" else self._made((*path, key), value)
                self.places[section, name] = path
        for section in ("drives", "motions"):
            out[section] = {name: found for name, found in out[section].items() if found is not None}
        return out

    def _code(self, path: tuple, entry: Any) -> Any:
        """A reference to Python code, with the path of its file made absolute and its place in this file."""
        file, colon, name = entry.type.rpartition(":")
        if colon and file.endswith(".py"):
            entry.type = f"{(self.folder / file).absolute()}:{name}"
        spec = self._made(path, entry)
        line = self.document.line((*path, "type"))
        return spec if spec is None or self.code else replace(spec, locked=f"{self.source}, line {line}")

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
        others = ((key,) for key in INSTEAD.get(path[0] if path else "", ()) if key in self.data)
        return path if path[:1] and path[0] in self.data and path[0] not in OF_MODELS else next(others, path)

    def _is_reported(self, path: tuple) -> bool:
        """Whether a fault is one of the file, and not of what had to be left out of it."""
        key = path[0] if path else None
        if path[2:] == ("quantity",):
            section, i = self._place(path)[:2]
            if str(self.data[section][i]["quantity"]).partition(".")[0] in ALWAYS:
                return True
        acting = {"thrusters", "joints", "terrain", "materials", "contact", "environment", "external", "components", ""}
        acting |= {"grasps", "tethers", "sensors", "navigation", "controller"}
        if not path or path[2:] == ("quantity",):
            return not self.broken & acting
        if key in ("touching", "collisions"):
            return not self.broken & {"terrain", "materials", "contact", ""}
        if key == "commands" or "command" in path:
            return not self.broken & {"thrusters", "joints", "tethers", "components", ""}
        if key == "events" and path[2:3] in (("grasp",), ("release",)):
            return not self.broken & {"grasps", ""}
        if "wrench" in path:
            return not self.broken & {"external", ""}
        if key in ("sensors", "navigation"):
            return not self.broken & {"sensors", "thrusters", "step", "integrator", ""}
        if key in ("record", "controller", "environment"):
            return not self.broken & {"step", "record", "integrator", str(key), ""}
        return True
