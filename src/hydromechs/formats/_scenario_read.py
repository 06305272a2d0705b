"""A scenario file to a `Scenario`, with every fault of the file in one `ScenarioError`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hydromechs import files
from hydromechs.errors import Fault, FieldError, ModelError, ScenarioError
from hydromechs.hybrid import SCHEMES, Exact, Hybrid
from hydromechs.hydro import Environment
from hydromechs.model import Model
from hydromechs.recording import ATTITUDE
from hydromechs.registry import show
from hydromechs.scenario import ModelStart, Scenario, check_faults, start_names
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix
from hydromechs.values import is_path

from ._convert import build, fields_of, key_of
from ._entries import Entry
from ._messages import dotted, faults_of
from ._read import MODEL_KEY, load_file, parsed
from ._robot_plant import convertible, robot_plant
from ._robots import import_file, is_robot_file, warned
from ._scenario_entries import ScenarioFile, radians
from ._scenario_sections import Sections
from ._yaml import Document, collector_paused, parse, read_text

__all__ = ["load_scenario_file", "loads_scenario", "scenario_text", "with_lines"]

STAND_IN: dict[str, Any] = {"hydromechs_scenario": 1, "name": "?", "duration": 1e5, "models": [{"model": "?"}]}
"""What stands for required keys that cannot be read, while the others are looked at."""
ITEMS = {"models", "materials", "terrain", "grasps", "tethers", "thrusters", "joints", "external", "components"}
ITEMS |= {"commands", "sensors", "events", "checks"}
"""Sections of which single items can be left out."""
INSTEAD = {"record": ("step", "duration"), "step": ("duration",), "components": ("models",), "blocks": ("controller",)}
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
        path: The file. Paths of models and controllers in it are relative to its folder.
        library: Returns library models by name; `hydromechs.library.load_scenario` passes its own.
        plants: Returns library vehicles by name: scenarios of one model with its actuators.
        code: True if the Python code that the file and its models name may run when the scenario is run.

    Returns:
        The scenario. All errors of the file are listed in one `ScenarioError`.
    """
    path = Path(path)
    return loads_scenario(scenario_text(path), str(path), path.parent, library, plants, code=code)


def scenario_text(path: str | Path) -> str:
    """Return the text of a scenario file. Files of other kinds raise a `ScenarioError` that does not quote them.

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
        folder: Base folder of relative paths of models and controllers.
        library: Returns library models by name.
        plants: Returns library vehicles by name.
        code: True if the Python code that the text and its models name may run when the scenario is run.

    Returns:
        The scenario. All errors of the text are listed in one `ScenarioError`.
    """
    with collector_paused():
        document = parsed(text, source, "scenario", "hydromechs_scenario: 1", ScenarioError)
        if MODEL_KEY in document.data and "hydromechs_scenario" not in document.data:
            words = "this is a model file; a scenario file begins with 'hydromechs_scenario: 1'"
            raise ScenarioError(source, [Fault((MODEL_KEY,), words, line=document.line((MODEL_KEY,)))])
        return Reader(document, source, Path(folder), library, plants, code).scenario()


def with_lines(
    faults: Iterable[Fault],
    path: str | Path,
    library: Callable[[str], Model] | None = None,
    plants: Callable[[str], Scenario] | None = None,
) -> list[Fault]:
    """Faults of a scenario that was read from a file, with the lines of what they speak of there.

    Args:
        faults: Their paths are those of the scenario.
        path: The file; it has no faults by itself.
        library: Gives the library's models by name.
        plants: Gives the library's vehicles by name.
    """
    document = parse(files.read_text(path))
    if "hydromechs_scenario" not in document.data:
        return [replace(fault, line=document.line(fault.path)) for fault in faults]
    return Reader(document, str(path), Path(path).parent, library, plants, code=False).told(faults)


class Reader:
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
            self._parts(file)  # notes where they are
            for section in ("events", "checks"):
                self._items(section, getattr(file, section), self.made)
        return [self._with_line(fault) for fault in faults]

    def _with_line(self, fault: Fault) -> Fault:
        """A fault of `Scenario` with its place in the file; one of no part of it has no line."""
        place = self._place(fault.path)
        return replace(fault, path=place, line=self.document.line(place) if place and place[0] in self.data else None)

    def add(self, fault: Fault) -> None:
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
                    self.add(fault)
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

    def index(self, section: str, i: int) -> int:
        """Index in the file of item i of what is left of a list."""
        return self.kept[section][i] if section in self.kept else i

    # -- values -------------------------------------------------------------------------------------------------------------

    def make(self, path: tuple, cls: Any, values: dict[str, Any]) -> Any:
        """`cls(**values)`; None where a value is not good, which is reported."""
        try:
            return cls(**values)
        except FieldError as e:
            where = (*path, key_of(cls, e.field)) if e.field in values else path
            self.add(Fault(where, f"{dotted(where)} {e.said}", e.value, e.must))
        except (ValueError, ArithmeticError) as e:
            self.add(Fault(path, f"{dotted(path)}: {e}"))
        return None

    def made(self, path: tuple, entry: Entry) -> Any:
        """The object of an entry; None where it is not good, which is reported."""
        return build(entry, path, self.make)

    def _build(self, file: Any) -> Scenario | None:
        """The scenario of what could be read; what refers to what could not is not judged."""
        models, sections = self._parts(file)
        method = file.integrator
        if not isinstance(method, str):
            method = self.made(("integrator", "dormand_prince"), method.dormand_prince) or "rk4"
        engine = file.engine if file.engine is None or isinstance(file.engine, str) else self._engine(file.engine)
        plain = ("name", "title", "description", "commands", "step", "record", "duration", "seed")
        fields = {
            **{name: getattr(file, name) for name in plain},
            "models": models,
            "world": None if file.world is None else self.made(("world",), file.world),
            "environment": None if file.environment is None else self.made(("environment",), file.environment),
            "components": sections.components,
            "blocks": sections.blocks,
            "events": self._items("events", file.events, self.made),
            "randomisation": None if file.randomisation is None else self.made(("randomisation",), file.randomisation),
            "integrator": method,
            "engine": Hybrid(engine=engine) if isinstance(engine, str) else engine,
            "checks": self._items("checks", file.checks, self.made),
            "expected_warnings": file.expected_warnings,
        }
        fields["environment"] = fields["environment"] or Environment()
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
            self.add(Fault((), str(e)))
        return None

    def _parts(self, file: Any) -> tuple[list[ModelStart], Sections]:
        """Models, and components and blocks with those that come with vehicles."""
        models, sections = self._models(file), Sections(self, file)
        names = start_names(models)
        before = [f"{name}." if len(names) > 1 else "" for name in names]
        sections.equip((self.index("models", k), before[k], vehicle) for k, vehicle in self.equipped.items())
        return models, sections

    def _engine(self, entry: Any) -> Hybrid:
        """An engine with its options."""
        named = isinstance(entry.scheme, str)
        scheme = SCHEMES[entry.scheme]() if named else self.made(("engine", "scheme", "filtered"), entry.scheme.filtered)
        return Hybrid(engine=entry.name, scheme=scheme or Exact(), accept_unstable=entry.accept_unstable)

    def _items(self, section: str, entries: list[Entry], make: Callable[[tuple, Any], Any]) -> list[Any]:
        """What is built of a list; where an item is not good, the others are moved up and their places kept."""
        out: list[Any] = []
        for i, entry in enumerate(entries):
            path = (section, self.index(section, i))
            item = make(path, entry)
            if item is not None:
                self.places[section, len(out)] = path
                out.append(item)
        return out

    def _models(self, file: Any) -> list[ModelStart]:
        out: list[ModelStart] = []
        for i, entry in enumerate(file.models):
            start = self._start(self.index("models", i), entry, len(out))
            out += [] if start is None else [start]
        return out

    def _start(self, i: int, entry: Entry, k: int) -> ModelStart | None:
        fields, path = fields_of(entry), ("models", i)
        quaternion = self._turned(path, fields)
        turns = {name: x for name, x in fields.get("joints", {}).items() if isinstance(x, dict)}
        for name, turn in turns.items():
            fields["joints"][name] = self._turned((*path, "joints", name), turn)
            if fields["joints"][name] is None:
                where = (*path, "joints", name)
                self.add(Fault(where, f"{dotted(where)} is {{}}, must have rpy_deg or quaternion"))
        self.places["models", i, "orientation"] = (*path, "quaternion")
        given = {key: fields.pop(key) for key in ("model", "plant") if fields.get(key) is not None}
        if len(given) != 1:
            remedy = "give one of them: a model, or as plant a vehicle with its actuators"
            has = "both model and plant" if given else "neither model nor plant"
            self.add(Fault(path, f"{dotted(path)} has {has}; {remedy}", remedy=remedy))
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
        return self.make(path, ModelStart, {**fields, "model": model, "source": source, "orientation": quaternion})

    def _vehicle(self, path: tuple, source: str, named: bool) -> Scenario | None:
        """The vehicle with its actuators that a file or the library has under a name; None where a fault is reported."""
        try:
            if named and self.plants is None:
                raise ScenarioError(source, ["there is no library here; give the path of a .yaml file"])
            if not named and is_robot_file(source):
                imported = warned(import_file(source), plant=True)
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
            self.add(Fault(path, f"{dotted(path)}: {text}" if named else f"{dotted(path)}: {source}: {text}", source))
        return None

    def _turned(self, path: tuple, fields: dict[str, Any]) -> list[float] | None:
        """The quaternion of what a file gives as rpy_deg or quaternion, which are taken out of `fields`; None for neither."""
        rpy, quaternion = fields.pop("rpy_deg", None), fields.pop("quaternion", None)
        if rpy is not None and quaternion is not None:
            both = f"rpy_deg {show(rpy)} and quaternion {show(quaternion)}"
            text = f"{dotted(path)} has both {both}; keep one of them"
            self.add(Fault((*path, "quaternion"), text, remedy="keep one of them"))
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
                self.add(Fault(path, text, source, remedy=remedy))
        except FileNotFoundError:
            remedy = "paths are relative to the scenario file"
            self.add(Fault(path, f"{dotted(path)}: there is no file {source!r}; {remedy}", source, remedy=remedy))
        except ModelError as e:
            for words in map(convertible, e.problems):
                self.add(Fault(path, f"{dotted(path)}: {words}" if named else f"{dotted(path)}: {source}: {words}", source))
        if self.loaded[source] is None:
            self.broken.add("models")
        return self.loaded[source]

    # -- faults of the scenario ---------------------------------------------------------------------------------------------

    def _place(self, path: tuple) -> tuple:
        """Path in the file of what `Scenario` names."""
        for n in range(len(path), 0, -1):
            if path[:n] in self.places:
                return (*self.places[path[:n]], *path[n:])
        others = ((key,) for key in INSTEAD.get(path[0] if path else "", ()) if key in self.data)
        return path if path[:1] and path[0] in self.data and path[0] not in ("components", "blocks") else next(others, path)

    def _is_reported(self, path: tuple) -> bool:
        """Whether a fault is one of the file, and not of what had to be left out of it."""
        place = self._place(path)
        key = place[0] if place else None
        if path[2:] == ("quantity",):
            section, i = place[:2]
            if str(self.data[section][i]["quantity"]).partition(".")[0] in ALWAYS:
                return True
        acting = {"thrusters", "joints", "terrain", "materials", "contact", "environment", "external", "components", ""}
        acting |= {"grasps", "tethers", "sensors", "navigation", "controller"}
        if not path or path[2:] == ("quantity",):
            return not self.broken & acting
        if key == "contact":
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
