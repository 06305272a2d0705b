"""Reader of sweep files; all problems are reported in one `SweepError`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hydromechs import files, registry
from hydromechs.errors import CodeNotAllowed, Fault, SweepError, message_of
from hydromechs.formats import FILE_KINDS, read_document
from hydromechs.library import load, load_scenario, sweep_file
from hydromechs.registry import BROKEN, Families, Family, Reader
from hydromechs.scenario import ModelStart, Scenario
from hydromechs.values import is_path

from ._definition import VALUE_ERRORS, ParameterSweep, SweepSettings
from ._parameters import Choices, Grid, LatinHypercube, LogRange, MonteCarlo, Normal, Parameter, Range, Sampling, Sobol

KIND = FILE_KINDS["sweep"]
FAMILIES = Families(
    [
        Family(
            name="parameter",
            base=Parameter,
            table={"range": Range, "log_range": LogRange, "normal": Normal, "choices": Choices},
            default="range",
        ),
        Family(
            name="sampling",
            base=Sampling,
            table={"grid": Grid, "latin_hypercube": LatinHypercube, "sobol": Sobol, "monte_carlo": MonteCarlo},
        ),
    ]
)
"""All families of sweep files."""


@dataclass(frozen=True, kw_only=True)
class SweepFile(SweepSettings):
    """Sweep file: many runs of a scenario, or of a model in still water."""

    scenario: str = ""
    """Library scenario, or path of a scenario file; a sweep requires either a scenario or a model."""
    model: str = ""
    """Library model, or path of a model file, to simulate in still water."""
    changes: dict[str, Any] = field(default_factory=dict)
    """Values that replace those of the scenario in all runs, keyed by path."""


def sweep_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of sweep files, for editors and other programs."""
    return KIND.json_schema(SweepFile, FAMILIES)


@files.one_load()
def load_sweep(source: str | os.PathLike[str], *, code: bool = False) -> ParameterSweep:
    """Load a sweep from the library or a file; raise one `SweepError` with all errors before any simulation.

    `source`: library name such as "sinking_chains", or path of a file (recognised by a folder or suffix). `code`: True to
    run Python code that the scenario or model references; without permission, such code raises `CodeNotAllowed`.
    """
    path = sweep_file(source)
    document = read_document(path, "sweep", SweepError)
    given: dict[str, Any] = {"source": str(source), "folder": Path(path).parent, "code": code or not is_path(source)}
    reader = _SweepReader(FAMILIES, document.line, document.problems, **given)
    file = reader.file(SweepFile, document.data, KIND.key, KIND.version)
    scenario = None if file is BROKEN else reader.scenario(file)
    sweep = None
    if scenario is not None:
        settings = {f.name: getattr(file, f.name) for f in fields(SweepSettings)}
        try:  # even after an error, to list those of the remaining items
            sweep = ParameterSweep(scenario=scenario, **settings)
        except SweepError as e:
            for fault in e.faults:
                if not reader.follows(fault):
                    reader.add_fault(fault)
    if reader.problems or sweep is None:
        raise SweepError(str(source), reader.problems)
    return sweep


class _SweepReader(Reader):
    """Reader of a sweep file. If a part is unreadable, the sweep is checked without this part."""

    made: Mapping[str, tuple[Any, ...]] = MappingProxyType({})
    """Readable parameters and results, keyed by section."""
    incomplete: tuple[tuple[str], ...] = ()
    """Paths of unreadable sections, whose further problems are not reported."""
    unchanged: tuple[str, ...] = ()
    """Paths of failed changes, which may cause errors of parameters below these paths."""

    def follows(self, fault: Fault) -> bool:
        """True if an unreadable part or a failed change may be the only cause of a problem."""
        inside = isinstance(fault.value, str) and fault.value.startswith(tuple(f"{path}." for path in self.unchanged))
        return fault.path[:1] in self.incomplete or (inside and fault.path[:1] == ("parameters",))

    def make(self, cls: Any, values: dict[str, Any], path: tuple) -> Any:
        """Build an object from its fields, and store parameters and results by section."""
        out = super().make(cls, values, path)
        if out is not BROKEN and path:
            self.made = {**self.made, str(path[0]): (*self.made.get(str(path[0]), ()), out)}
        return out

    def unmade(self, cls: Any, values: dict[str, Any], path: tuple) -> Any:
        """Report further problems of an object with `BROKEN` fields; return a sweep file without them if possible."""
        super().unmade(cls, values, path)
        if cls is not SweepFile or {values.get(key) for key in ("name", "scenario", "model")} & {BROKEN}:
            return BROKEN
        broken = [name for name, value in values.items() if value is BROKEN]
        kept: dict[str, Any] = {name: self.made.get(name, ()) for name in broken if name in ("parameters", "results")}
        self.incomplete = tuple((name,) for name in broken if not kept.get(name))
        kept |= {"sampling": MonteCarlo(1)} if "sampling" in broken else {}  # unlike a grid, it suits all parameters
        return SweepFile(**{name: value for name, value in values.items() if value is not BROKEN} | kept)

    def scenario(self, file: SweepFile) -> Scenario | None:
        """Return the scenario with the changes for all runs; add a problem and return None if it cannot be loaded."""
        if bool(file.scenario) == bool(file.model):
            both = "both scenario and model" if file.scenario else "neither scenario nor model"
            self.add(("scenario",) if file.scenario else (), f"the sweep has {both}; set exactly one of them")
            return None
        key, reference = ("scenario", file.scenario) if file.scenario else ("model", file.model)
        source = (self.folder or Path()) / reference if is_path(reference) else reference
        try:
            if key == "scenario":
                scenario = load_scenario(source, code=self.code)
            else:
                start = ModelStart(model=load(source, code=self.code), source=str(source))
                scenario = Scenario(name=file.name, models=(start,))
        except CodeNotAllowed:
            raise
        except (*VALUE_ERRORS, OSError) as e:
            self.add((key,), f"{key} is {reference!r}: {message_of(e)}", reference)
            return None
        return self._changed(scenario, file.changes)

    def _changed(self, scenario: Scenario, given: Mapping[str, Any]) -> Scenario:
        """Return a scenario with all valid changes; add a problem for each invalid change."""
        changes = {path: _tuples(value) for path, value in given.items()}
        for path in given:
            try:
                registry.located(scenario, path)
            except KeyError as e:
                self.add(("changes", path), f"changes: {_one_line(e)}", given[path])
                del changes[path]
        try:
            return registry.replaced_all(scenario, changes) if changes else scenario
        except VALUE_ERRORS as e:
            together = _one_line(e)
        pending, errors = changes, dict[str, str]()
        while pending:  # a value may be valid only after another change, for example the ends of a range
            errors = {}
            for path, value in pending.items():
                try:
                    scenario = registry.replaced(scenario, path, value)
                except VALUE_ERRORS as e:
                    errors[path] = _one_line(e)
            if errors.keys() == pending.keys():
                break
            pending = {path: changes[path] for path in errors}
        self.unchanged = tuple(errors)
        for path, text in errors.items():
            self.add(("changes", path), f"changes: {text}", given[path])
        if not errors:  # each can be made, but not all of them
            self.add(("changes",), f"changes: {together}")
        return scenario


def _one_line(error: Exception) -> str:
    return " ".join(message_of(error).split())


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
