"""Reader of a sweep file; every problem is in one `SweepError`."""

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
"""All families of a sweep file."""


@dataclass(frozen=True, kw_only=True)
class SweepFile(SweepSettings):
    """A sweep file: many runs of a scenario, or of a model in still water."""

    scenario: str = ""
    """Library scenario, or path of a scenario file; a sweep has a scenario or a model."""
    model: str = ""
    """Library model, or path of a model file; it is simulated in still water."""
    changes: dict[str, Any] = field(default_factory=dict)
    """Values by path that differ from the scenario in all runs."""


def sweep_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the sweep file, for editors and other programs."""
    return KIND.json_schema(SweepFile, FAMILIES)


@files.one_load()
def load_sweep(source: str | os.PathLike[str], *, code: bool = False) -> ParameterSweep:
    """Load the sweep of a library name or file; all errors are listed in one `SweepError`, before anything is computed.

    `source`: a name such as "sinking_chains", or the path of a file (recognised by a folder or suffix); `code`: True if the
    Python code that its scenario or model names may run; otherwise it raises `CodeNotAllowed`.
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
    """Reads a sweep file. If a part cannot be read, the sweep is checked without it."""

    made: Mapping[str, tuple[Any, ...]] = MappingProxyType({})
    """Readable parameters and results, by section."""
    incomplete: tuple[tuple[str], ...] = ()
    """Unreadable sections; problems of the whole sections would follow from that."""
    unchanged: tuple[str, ...] = ()
    """Paths of failed changes; parameters inside them may be invalid only because of that."""

    def follows(self, fault: Fault) -> bool:
        """True if a problem of the sweep only follows from an unreadable part."""
        inside = isinstance(fault.value, str) and fault.value.startswith(tuple(f"{path}." for path in self.unchanged))
        return fault.path[:1] in self.incomplete or (inside and fault.path[:1] == ("parameters",))

    def make(self, cls: Any, values: dict[str, Any], path: tuple) -> Any:
        """Make an object from its fields by name, and keep parameters and results, by section."""
        out = super().make(cls, values, path)
        if out is not BROKEN and path:
            self.made = {**self.made, str(path[0]): (*self.made.get(str(path[0]), ()), out)}
        return out

    def unmade(self, cls: Any, values: dict[str, Any], path: tuple) -> Any:
        """Report further problems of an object with `BROKEN` fields, without its broken parts."""
        super().unmade(cls, values, path)
        if cls is not SweepFile or {values.get(key) for key in ("name", "scenario", "model")} & {BROKEN}:
            return BROKEN
        broken = [name for name, value in values.items() if value is BROKEN]
        kept: dict[str, Any] = {name: self.made.get(name, ()) for name in broken if name in ("parameters", "results")}
        self.incomplete = tuple((name,) for name in broken if not kept.get(name))
        kept |= {"sampling": MonteCarlo(1)} if "sampling" in broken else {}  # unlike a grid, it suits all parameters
        return SweepFile(**{name: value for name, value in values.items() if value is not BROKEN} | kept)

    def scenario(self, file: SweepFile) -> Scenario | None:
        """Return the scenario with the changes that apply to all runs; None if it cannot be loaded, with the problem added."""
        if bool(file.scenario) == bool(file.model):
            both = "both scenario and model" if file.scenario else "neither scenario nor model"
            self.add(("scenario",) if file.scenario else (), f"the sweep has {both}; give one of them")
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
        """Return a scenario with all changes that can be made; the others are added as problems."""
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
