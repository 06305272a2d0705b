"""Reader of scenario files into `Scenario`; one `ScenarioError` lists all errors of a file."""

import math
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from hydromechs import files
from hydromechs.actuation import ExternalWrench, JointMotion, Thruster
from hydromechs.actuation.drives import Drive
from hydromechs.actuation.motions import recorded_file
from hydromechs.contact import MATERIALS, BodyContact, CollisionGroup, ContactExclusion, Material, PointContact, Terrain
from hydromechs.control import Policy
from hydromechs.errors import CodeNotAllowed, Fault, ModelError, ScenarioError
from hydromechs.geometry import height_field
from hydromechs.model import Model
from hydromechs.model.component import Component
from hydromechs.recording import ATTITUDE
from hydromechs.registry import BROKEN, Family, Reader, is_ours, members, show, suggestion
from hydromechs.scenario import FAMILIES, ModelStart, Scenario, check_faults
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix
from hydromechs.values import is_path

from ._file_kinds import FILE_KINDS
from ._read import load_file, parsed
from ._robots import import_file, is_robot_file, warned
from ._scenario_sections import JOINT_KEYS, SCENARIO_KEY, SCENARIO_VERSION, ModelKeys, RunKeys, ScenarioFile, in_order
from ._scenario_write import convertible, robot_plant
from ._yaml import Document, collector_paused, read_text

LINES = "_lines"
"""Attribute of a scenario read from a file: location and line of each part, keyed by path."""
ALWAYS = {"time", "q", "v", "tau", "position", "orientation", "velocity", "acceleration", "depth", *ATTITUDE}
"""Quantities available in every scenario."""
TURNS = ("heading_deg", "rpy_deg", "quaternion")
"""Keys of an orientation; at most one may be used."""
MAX_PLANTS = 4
"""Maximum nesting depth of scenario files whose plants are other scenario files."""
_open: ContextVar[tuple[Path, ...]] = ContextVar("open", default=())
"""Scenario files that are currently being read."""
PLANT = {"thrusters", "joints", "terrain", "materials", "contact", "external", "components", "grasps", "tethers", "models"}
"""Sections that define the plant."""


@files.one_load()
def load_scenario_file(
    path: str | Path,
    library: Callable[[str], Model] | None = None,
    plants: Callable[[str], Scenario] | None = None,
    *,
    code: bool = False,
) -> Scenario:
    """Read a scenario file.

    Args:
        path: Path of the file. Paths of models and code in the file are relative to its folder.
        library: Function that returns a library model by name; set by `hydromechs.library.load_scenario`.
        plants: Function that returns a library vehicle by name, as a scenario of one model with its actuators.
        code: True to allow Python code that the file and its models refer to; otherwise such a file raises `CodeNotAllowed`.

    Returns:
        The scenario. One `ScenarioError` lists all errors of the file.
    """
    path, above = Path(path), _open.get()
    if len(above) > MAX_PLANTS or path.resolve() in above:
        raise ScenarioError(str(path), ["the plant refers to the file itself, or is nested too deeply; use a vehicle"])
    token = _open.set((*above, path.resolve()))
    try:
        return loads_scenario(scenario_text(path), str(path), path.parent, library, plants, code=code)
    finally:
        _open.reset(token)


def scenario_text(path: str | Path) -> str:
    """Return the text of a scenario file; for files of other kinds, raise a `ScenarioError` that does not quote them."""
    return read_text(Path(path), "scenario", ScenarioError)


@files.one_load()
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
        text: YAML text.
        source: Name of the text in messages.
        folder: Base folder of relative paths of models and code.
        library: Function that returns a library model by name.
        plants: Function that returns a library vehicle by name.
        code: True to allow Python code that the text and its models refer to; otherwise such a text raises `CodeNotAllowed`.

    Returns:
        The scenario. One `ScenarioError` lists all errors of the text.
    """
    with collector_paused():
        document = parsed(text, source, "scenario", ScenarioError)
        return _ScenarioReader(document, source, Path(folder), library, plants, code).scenario()


def scenario_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the scenario file, for editors and other programs."""
    return FILE_KINDS["scenario"].json_schema(ScenarioFile, FAMILIES)


def located(faults: Iterable[Fault], scenario: Scenario) -> list[Fault]:
    """Return errors of a scenario with their locations and lines in the scenario file."""
    lines: dict[tuple, tuple[tuple, int]] = vars(scenario).get(LINES, {})
    out = []
    for fault in faults:
        known = next((fault.path[:n] for n in range(len(fault.path), 0, -1) if fault.path[:n] in lines), None)
        path, line = (fault.path, fault.line) if known is None else lines[known]
        out.append(replace(fault, path=(*path, *fault.path[len(known or fault.path) :]), line=line))
    return out


class _ScenarioReader(Reader):
    """Reader of a scenario file. Items are read one by one, so that the errors of all items are found.

    The functions `library` and `plants` return library models and vehicles by name.
    """

    folder: Path

    def __init__(
        self,
        document: Document,
        source: str,
        folder: Path,
        library: Callable[[str], Model] | None,
        plants: Callable[[str], Scenario] | None,
        code: bool,
    ) -> None:
        self.library, self.plants = library, plants
        self.broken: set[str] = set()
        """Sections with errors; references to these sections are not checked."""
        self.materials: dict[str, Any] = {}
        self.solids: dict[str, Any] = {}
        self.where: dict[int, tuple[Any, tuple]] = {}
        """Objects with their locations in the file, keyed by id."""
        self.loaded: dict[str, Model | None] = {}
        self.data: dict[str, Any] = document.data
        super().__init__(FAMILIES, document.line, document.problems, source=source, folder=folder, code=code)

    def scenario(self) -> Scenario:
        """Return the scenario; raise `ScenarioError` with all errors, or `CodeNotAllowed` if there are no other errors."""
        scenario = self.file(ScenarioFile, self.data, SCENARIO_KEY, SCENARIO_VERSION)
        text = "not checked, because its Python code may run only with --code (in Python: code=True)"
        return self.checked(
            scenario, ScenarioError, [Fault(("code",), f"{item}: {text}", item) for item in dict.fromkeys(self.locked)]
        )

    # -- hooks of the walker -----------------------------------------------------------------------------------------------

    def add_fault(self, fault: Fault) -> None:
        super().add_fault(fault)
        self.broken.add(str(fault.path[0]) if fault.path else "")

    def named(self, data: Any, hint: Any, path: tuple, preset: str = "") -> Any:
        """Read a mapping from name to object; unreadable items of a section are omitted."""
        if len(path) != 1 or not isinstance(data, dict):
            return super().named(data, hint, path, preset)
        made = [super(_ScenarioReader, self).named({name: x}, hint, path, preset) for name, x in data.items()]
        return tuple(item for one in made if one is not BROKEN for item in one)

    def read(self, data: Any, hint: Any, path: tuple, marks: tuple = ()) -> Any:
        """Read a value; materials and the ground of tethers are referred to by name, thrusters and joints are expanded."""
        if path in (("materials",), ("thrusters",), ("joints",)) and isinstance(data, dict):
            read = {"materials": self._materials, "thrusters": self._thrusters, "joints": self._joints}[path[0]]
            return read(data)
        if hint is Material and not isinstance(data, dict):
            return self._material(data, path)
        if path[-1:] == ("ground",) and isinstance(data, list):
            solids = tuple(self._solid(name, (*path, i)) for i, name in enumerate(data))
            return BROKEN if any(solid is BROKEN for solid in solids) else solids
        return super().read(data, hint, path, marks)

    def make(self, cls: Any, values: dict[str, Any], path: tuple) -> Any:
        if cls is ScenarioFile:
            return self._made(values)
        if cls in (height_field, recorded_file, Policy) and values.get("file"):
            values = values | {"file": str(self.folder / values["file"])}
        out = super().make(cls, values, path)
        self.where[id(out)] = out, path
        if isinstance(out, Terrain):
            self.solids[out.name] = out
        return out

    def unmade(self, cls: Any, values: dict[str, Any], path: tuple) -> Any:
        """Report further errors of an object that cannot be built; for a file, of all readable sections."""
        if cls is not ScenarioFile:
            return super().unmade(cls, values, path)
        given = {"name": "?", "run": RunKeys(duration=1e5, step=1e-6)} | {k: v for k, v in values.items() if v is not BROKEN}
        return self._made(given) if "models" in given else BROKEN

    def custom(self, word: str, data: dict[str, Any], family: Family, path: tuple, **given: Any) -> Any:
        """Read an object of a class in a Python file; if code is not allowed, references to its section are not checked."""
        if not self.code and not is_ours(word):
            self.broken.add(str(path[0]))
        return super().custom(word, data, family, path, **given)

    # -- sections ----------------------------------------------------------------------------------------------------------

    def _materials(self, data: dict[str, Any]) -> tuple:
        for name, x in data.items():
            self.materials[name] = super().read(x, Material, ("materials", name))
        return tuple((name, x) for name, x in self.materials.items() if x is not BROKEN)

    def _material(self, name: Any, path: tuple) -> Any:
        known = {**MATERIALS, **self.materials}
        if isinstance(name, str) and name in known:
            return known[name]
        return self.wrong(path, name, f"must be one of {', '.join(known)}, or a mapping with law and friction", known)

    def _solid(self, name: Any, path: tuple) -> Any:
        """Return the terrain named `name`, from either section that may define it."""
        if not isinstance(name, str):
            return self.wrong(path, name, "must be the name of a terrain")
        sections = [key for key in ("terrain", "components") if isinstance(self.data.get(key), dict)]
        for section in sections if name not in self.solids else ():
            if name in self.data[section]:
                self.named({name: self.data[section][name]}, Component, (section,))
                return self.solids.get(name, BROKEN)
        if name not in self.solids:
            hint = suggestion(name, [x for section in sections for x in self.data[section]])
            return self.add(path, f"{self.label(path)} is {show(name)}, but this terrain does not exist{hint}; add it", name)
        return self.solids[name]

    def _thrusters(self, data: dict[str, Any]) -> list[Any]:
        out = []
        for name, group in data.items():
            path = ("thrusters", name)
            given = dict(group) if isinstance(group, dict) else group
            frames = given.pop("frames", None) if isinstance(given, dict) else None
            if frames is not None and not (isinstance(frames, list) and frames and all(isinstance(f, str) for f in frames)):
                self.wrong((*path, "frames"), frames, "must be a list of frame names")
                continue
            for frame in [name] if frames is None else frames:
                one = given if frames is None and isinstance(given, dict) and "frame" in given else None
                known = {"name": name} if one is not None else {"name": frame, "frame": frame}
                out.append(self.build(Thruster, given, path, **known))
        return [thruster for thruster in out if thruster is not BROKEN]

    def _joints(self, data: dict[str, Any]) -> list[Any]:
        out = []
        for joint, keys in data.items():
            path = ("joints", joint)
            if not isinstance(keys, dict) or not keys.keys() <= JOINT_KEYS.keys():
                self.wrong(path, keys, f"must be a mapping with any of the keys {', '.join(JOINT_KEYS)}")
                continue
            for key, hint in JOINT_KEYS.items():
                if key not in keys:
                    continue
                family: Any = self.families.of(hint)
                at = (*path, key)
                made = self.part(keys[key], family, at, **dict.fromkeys(family.known, joint))
                made = JointMotion(joint=joint, motion=made) if key == "motion" and made is not BROKEN else made
                self.where[id(made)] = made, path if key == "motion" else at
                out.append(made)
        return [part for part in out if part is not BROKEN]

    def _contacts(self, given: Any) -> list[Component]:
        out: list[Any] = []
        for i, frame in enumerate(given.points):
            out.append(self.make(PointContact, {"frame": frame}, ("contact", "points", i)))
        if bool(given.bodies or given.groups) != (given.material is not None) and "contact" not in self.broken:
            words = "contact.material and one of contact.bodies or contact.groups must be set together"
            self.add(("contact",), f"{words}; add the missing key")
        rough = {} if given.material is None else {"material": given.material}
        pairs = [("bodies", BodyContact, rough, "two body names, such as [a, b]")] if rough else []
        groups = [("groups", CollisionGroup, rough, "a list of body names, or all")] if rough else []
        for key, kind, known, must in (*pairs, *groups, ("exclude", ContactExclusion, {}, "two body names, such as [a, b]")):
            for i, names in enumerate(getattr(given, key)):
                names = [] if names == "all" and key == "groups" else names
                if isinstance(names, list) and all(isinstance(x, str) for x in names):
                    out.append(self.make(kind, {"bodies": tuple(names), **known}, ("contact", key, i)))
                else:
                    self.wrong(("contact", key, i), names, f"must be {must}")
        return [part for part in out if part is not BROKEN]

    # -- the scenario ------------------------------------------------------------------------------------------------------

    def _made(self, values: dict[str, Any]) -> Any:
        """Build the scenario from the readable parts; references to unreadable parts are not checked."""
        file = {name: member.default for name, member in members(ScenarioFile).items()}
        file |= {"run": RunKeys()} | values
        external = [self.make(ExternalWrench, {"body": x}, ("external", i)) for i, x in enumerate(file["external"])]
        starts, equipped = self._starts(file["models"])
        parts = [*file["terrain"], *self._contacts(file["contact"]), *file["thrusters"], *file["joints"], *external]
        parts += [*file["grasps"], *file["tethers"]]
        plain = file["components"]  # in file order, which is also the order of the plain form
        components = [*in_order([*parts, *self._brought([*parts, *plain], starts, equipped)]), *plain]
        blocks = [*file["sensors"], *file["blocks"]]
        run = file["run"]
        same = ("name", "title", "description", "world", "environment", "commands", "events", "randomisation", "checks")
        if len(starts) < len(self.data["models"]) or ("models" in self.broken and not starts):
            return BROKEN
        given = {key: file[key] for key in (*same, "expected_warnings")} | {"models": starts}
        given |= {f.name: getattr(run, f.name) for f in fields(run)} | {"components": components, "blocks": blocks}
        try:
            scenario = Scenario(**given)
            faults = check_faults(scenario)
        except ScenarioError as e:
            scenario, faults = BROKEN, list(e.faults)
        except (ValueError, ArithmeticError) as e:
            return self.add((), str(e))
        lists = {"components": components, "blocks": blocks, "models": starts, "events": file["events"]}
        lists["checks"] = file["checks"]
        self._add_scenario_faults(faults, lists)
        if scenario is not BROKEN:
            object.__setattr__(scenario, LINES, self._lines(lists))
        return scenario

    def _lines(self, lists: dict[str, Any]) -> dict[tuple, tuple[tuple, int | None]]:
        """Return location and line of each part, keyed by path in the scenario, with one level of keys."""
        paths: list[tuple] = [(key,) for key in self.data] + [(f.name,) for f in fields(RunKeys)]
        paths += [(key, i) for key, items in lists.items() for i in range(len(items))]
        out = {path: self._place(path, lists) for path in paths}
        for path, place in list(out.items()):
            data = self._raw(place) if place[0] in self.data else None
            out |= {(*path, key): (*place, key) for key in (data if isinstance(data, dict) else ())}
        return {path: (place, self.line(place)) for path, place in out.items()}

    def _add_scenario_faults(self, faults: Iterable[Fault], lists: dict[str, Any]) -> None:
        """Add errors that the scenario found, at their locations in the file."""
        there = frozenset(self.broken)
        for fault in faults:
            path = self._place(fault.path, lists)
            if self._is_reported(path, fault.path, there):
                line = self.line(path) if path and path[0] in self.data else None
                self.add_fault(replace(fault, path=path, line=line))

    def _place(self, path: tuple, lists: dict[str, Any]) -> tuple:
        """Return the location in the file of a part that the scenario identifies by index."""
        if path[:1] and path[0] in {f.name for f in fields(RunKeys)}:
            return ("run", *path)
        if len(path) < 2 or path[0] not in lists or not isinstance(path[1], int):
            return path if path[:1] != ("blocks",) or "blocks" in self.data else ("sensors", *path[1:])
        item = lists[path[0]][path[1]]
        place = self.where[id(item)][1] if id(item) in self.where else (path[0], item.name)
        turned = [key for key in TURNS if path[2:3] == ("orientation",) and key in self._raw(place)]
        return (*place, *(turned or path[2:]))

    def _raw(self, path: tuple) -> Any:
        data: Any = self.data
        for step in path:
            data = data.get(step) if isinstance(data, dict) else None
        return data

    def _is_reported(self, path: tuple, own: tuple, broken: frozenset[str]) -> bool:
        """True if an error is in the file, and not a consequence of omitted parts."""
        key = path[0] if path else None
        if own[2:] == ("quantity",) and str(self._raw(path)).partition(".")[0] in ALWAYS:
            return True
        if not path or own[2:] == ("quantity",):
            return not broken & {*PLANT, "environment", "sensors", "blocks", ""}
        if key == "contact":
            return not broken & {"terrain", "materials", "contact", ""}
        if key == "commands" or "command" in own:
            return not broken & {"thrusters", "joints", "tethers", "components", ""}
        if key == "events" and own[2:3] in (("grasp",), ("release",)):
            return not broken & {"grasps", "components", ""}
        if "wrench" in own:
            return not broken & {"external", "components", ""}
        if key in ("sensors", "blocks"):
            return not broken & {"sensors", "blocks", "thrusters", "components", "run", ""}
        if key in ("run", "environment"):
            return not broken & {"run", str(key), ""}
        return True

    def _brought(self, own: list[Any], starts: list[ModelStart], equipped: dict[int, Scenario]) -> list[Component]:
        """Return the components that vehicles contain; thrusters and joints of the file override them."""
        taken = {part.name for part in own}
        taken |= {f"{part.joint}.motion" for part in own if isinstance(part, Drive)}  # one overrides the other
        taken |= {part.joint for part in own if isinstance(part, JointMotion)}
        out = []
        for k, vehicle in equipped.items():
            before = f"{starts[k].name}." if len(starts) > 1 else ""
            for part in vehicle.components:
                named = part.renamed(before)
                if not isinstance(part, Terrain) and named.name not in taken:
                    self.where[id(named)] = named, ("models", starts[k].name)
                    out.append(named)
        return out

    # -- models ------------------------------------------------------------------------------------------------------------

    def _starts(self, models: Iterable[ModelKeys]) -> tuple[list[ModelStart], dict[int, Scenario]]:
        """Return the models with their initial states, and the vehicles with components, keyed by model index."""
        starts: list[ModelStart] = []
        equipped: dict[int, Scenario] = {}
        for keys in models:
            start, vehicle = self._start(keys, ("models", keys.name))
            if start is not None:
                equipped |= {} if vehicle is None else {len(starts): vehicle}
                starts.append(start)
        return starts, equipped

    def _start(self, keys: ModelKeys, path: tuple) -> tuple[ModelStart | None, Scenario | None]:
        orientation = self._turned(path, {key: getattr(keys, key) for key in TURNS})
        joints = dict(keys.joints)
        for name, turn in joints.items():
            if isinstance(turn, dict):
                joints[name] = self._turned((*path, "joints", name), turn) or BROKEN
        if bool(keys.model) == bool(keys.plant):
            has = "both model and plant" if keys.model else "neither model nor plant"
            remedy = "set model, or set plant to a vehicle with its actuators"
            self.add(path, f"{self.label(path)} has {has}", remedy=remedy)
            return None, None
        key = "model" if keys.model else "plant"
        reference, named = getattr(keys, key), not is_path(getattr(keys, key))
        source = reference if named else str((self.folder / reference).absolute())
        vehicle = self._vehicle((*path, key), source, named) if key == "plant" else None
        model = self._model((*path, key), source, named) if key == "model" else vehicle and vehicle.models_in_world[0].model
        if model is None or BROKEN in joints.values():
            return None, None
        source = source if vehicle is None else vehicle.models[0].source or source
        given = {"name": keys.name, "model": model, "source": source, "orientation": orientation, "joints": joints}
        given |= {
            "mount": keys.mount or None,
            "position": keys.position,
            "velocity": keys.velocity,
            "joint_velocities": keys.joint_velocities,
        }
        start = self.make(ModelStart, given, path)
        return (None, None) if start is BROKEN else (start, vehicle)

    def _turned(self, path: tuple, keys: dict[str, Any]) -> tuple[float, ...] | None:
        """Return the quaternion of an orientation; None without an orientation."""
        given = {key: value for key, value in keys.items() if value is not None}
        for key, value in given.items():
            n = {"heading_deg": 0, "rpy_deg": 3, "quaternion": 4}.get(key)
            row = value if isinstance(value, list | tuple) else [value]
            if n is None or len(row) != (n or 1) or not all(type(x) in (int, float) and math.isfinite(x) for x in row):
                count = f"{n} finite numbers" if n else "one finite number" if n == 0 else f"under a key of {', '.join(TURNS)}"
                return self.wrong((*path, key), value, f"must be {count}") and None
        if len(given) != 1:
            if given or "joints" in path:
                shown = ", ".join(f"{key} {show(value)}" for key, value in given.items()) or "no orientation"
                self.add((*path, *list(given)[1:2]), f"{self.label(path)} has {shown}; set one of {', '.join(TURNS)}")
            return None
        ((key, value),) = given.items()
        if key == "quaternion":
            return tuple(float(x) for x in value)
        rpy = (0.0, 0.0, value) if key == "heading_deg" else value
        return tuple(quaternion_from_matrix(matrix_from_rpy([math.radians(x) for x in rpy])).tolist())

    def _vehicle(self, path: tuple, source: str, named: bool) -> Scenario | None:
        """Return the vehicle with actuators from a file or the library; None if it has errors."""

        def read(file: str) -> Scenario:
            if is_robot_file(file):
                imported = warned(import_file(file), plant=True)
                return robot_plant(imported.model, imported.components, file)
            return load_scenario_file(file, self.library, self.plants, code=self.code)

        vehicle = self._loaded(path, source, self.plants if named else read, named)
        if vehicle is not None and len(vehicle.models) != 1:
            self._add_of(path, source, named, f"it has {len(vehicle.models)} models; use a scenario with one model")
            return None
        return vehicle

    def _model(self, path: tuple, source: str, named: bool) -> Model | None:
        if source not in self.loaded:
            read = self.library if named else lambda file: load_file(file, code=self.code)
            self.loaded[source] = self._loaded(path, source, read, named)
        return self.loaded[source]

    def _loaded(self, path: tuple, source: str, read: Callable[[str], Any] | None, named: bool) -> Any:
        """Return the object from a file or the library; None if it has errors, which are recorded."""
        try:
            if read is not None:
                return read(source)
            text = f"{self.label(path)} is {source!r}, but the library of vehicles is not available here"
            self.add(path, text, source, remedy="set the path of a .yaml file")
        except CodeNotAllowed as e:
            self.locked += e.items
            self.broken.add("models")
        except FileNotFoundError:
            text = f"{self.label(path)}: file {source!r} does not exist"
            self.add(path, text, source, remedy="correct the path, relative to the scenario file")
        except (ScenarioError, ModelError) as e:
            for text in e.problems:
                self._add_of(path, source, named, convertible(text))
        except OSError as e:
            self._add_of(path, source, named, str(e))
        return None

    def _add_of(self, path: tuple, source: str, named: bool, text: str) -> None:
        self.add(path, f"{self.label(path)}: {text}" if named else f"{self.label(path)}: {source}: {text}", source)
