"""A study file to a `Study`, with every fault of the file in one `StudyError`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hydromechs.compiler import NATIVE
from hydromechs.errors import CodeNotAllowed, Fault, StudyError, message_of
from hydromechs.formats import document_faults, read_document
from hydromechs.library import load, load_scenario, study_file
from hydromechs.scenario import ModelStart, Scenario
from hydromechs.values import is_path

from ._paths import changed
from ._sampling import Choices, Grid, LatinHypercube, LogRange, MonteCarlo, Normal, Range, Sampling, Sobol, Spread
from ._study import REFUSED, Parameter, Result, Study

__all__ = ["load_study"]

SAMPLED: dict[str, Callable[[int], Sampling]] = {"latin_hypercube": LatinHypercube, "sobol": Sobol, "monte_carlo": MonteCarlo}
"""Samplings that have a number of runs."""
SPREADS = ("range", "log_range", "normal", "values")
"""Keys of which a parameter has one."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=False, populate_by_name=True)


class _ParameterEntry(_Entry):
    path: str | list[str] = Field(description="where it goes, as model.vehicle.inertia.mass or environment.current.velocity.x")
    range: list[float] | None = None
    log_range: list[float] | None = None
    normal: list[float] | None = None
    values: list[Any] | None = None
    steps: int | None = None


class _ResultEntry(_Entry):
    quantity: str = Field(description="a recorded quantity, as position.vehicle.x")
    statistic: str = "last"
    target: float = 0.0
    after: float = 0.0
    before: float | None = None
    mean_of: list[float] | None = None


class _StudyFile(_Entry):
    hydromechs_sweep: Literal[1] = Field(description="version of the format: 1")
    name: str = Field(description="name of the study")
    title: str = ""
    description: str = ""
    scenario: str | None = None
    model: str | None = None
    changes: dict[str, Any] = {}
    parameters: dict[str, _ParameterEntry] = {}
    sampling: Literal["grid", "latin_hypercube", "sobol", "monte_carlo"] = "grid"
    runs: int | None = None
    seed: int = 0
    run_seeds: Literal["own", "same"] = "own"
    results: dict[str, _ResultEntry] = {}
    block: int | None = None
    target: str = NATIVE.target


def load_study(source: str | os.PathLike[str], *, code: bool = False) -> Study:
    """Load the study of a library name or file; all errors are listed in one `StudyError`, before anything is computed.

    Args:
        source: A name such as "density_and_mass", or the path of a file (recognised by a folder or suffix).
        code: True if the Python code that its scenario or model names may run. Otherwise it raises `CodeNotAllowed`.
    """
    path = study_file(source)
    document = read_document(path, "sweep", "hydromechs_sweep: 1", StudyError)

    def refuse(faults: list[Fault]) -> StudyError:
        placed = [replace(f, line=document.line(f.path) if f.path and f.path[0] in document.data else None) for f in faults]
        placed.sort(key=lambda f: f.line or 0)
        return StudyError(str(source), placed)

    if document.problems:
        raise refuse(list(document.problems))
    try:
        file = _StudyFile.model_validate(document.data)
    except ValidationError as e:
        raise refuse(document_faults(e, _StudyFile)) from None
    faults: list[Fault] = []
    scenario = _scenario(file, Path(path).parent, faults, code or not is_path(source))
    parameters = [_parameter(name, entry, faults) for name, entry in file.parameters.items()]
    sampling = _sampling(file, faults)
    if scenario is None:
        raise refuse(faults)
    try:
        study = Study(  # even after an error, to list those of the rest, too
            name=file.name,
            title=file.title,
            description=file.description,
            scenario=scenario,
            parameters=tuple(p for p in parameters if p is not None),
            sampling=sampling or MonteCarlo(1),
            seed=file.seed,
            run_seeds=file.run_seeds,
            results=tuple(_result(name, entry) for name, entry in file.results.items()),
            block=file.block,
            target=file.target,
        )
    except StudyError as e:
        raise refuse([*faults, *e.faults]) from None
    if faults:
        raise refuse(faults)
    return study


def _scenario(file: _StudyFile, folder: Path, faults: list[Fault], code: bool) -> Scenario | None:
    """The scenario with the changes that hold for all runs; None where a fault is noted."""
    given = {key: value for key in ("scenario", "model") if (value := getattr(file, key)) is not None}
    if len(given) != 1:
        has = "both scenario and model" if given else "neither scenario nor model"
        faults.append(Fault(tuple(given)[:1], f"the study has {has}; give one of them"))
        return None
    ((key, reference),) = given.items()
    source = folder / reference if is_path(reference) else reference
    try:
        if key == "scenario":
            scenario = load_scenario(source, code=code)
        else:
            scenario = Scenario(name=file.name, models=(ModelStart(model=load(source, code=code), source=str(source)),))
    except CodeNotAllowed:
        raise
    except (*REFUSED, OSError) as e:
        faults.append(Fault((key,), f"{key}: {message_of(e)}"))
        return None
    together: dict[str, Any] = {}
    known = [f.name for f in fields(Scenario)]
    for path, value in file.changes.items():
        head, _, rest = path.partition(".")
        try:
            if head not in known:
                raise KeyError(f"{path!r}: a scenario has no part {head!r}; there are {', '.join(known)}")
            together[head] = changed(together.get(head, getattr(scenario, head)), rest, _tuples(value), inside=head)
        except REFUSED as e:
            faults.append(Fault(("changes", path), f"changes: {message_of(e)}", value))
    try:
        return replace(scenario, **together)
    except REFUSED as e:
        faults.append(Fault(("changes",), f"changes: {' '.join(message_of(e).split())}"))
        return None


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _parameter(name: str, entry: _ParameterEntry, faults: list[Fault]) -> Parameter | None:
    """A parameter of a study; None where a fault is noted."""
    where, given = ("parameters", name), [key for key in SPREADS if getattr(entry, key) is not None]
    if len(given) != 1:
        text = f"it has {' and '.join(given)}; keep one of them" if given else f"it has none of {', '.join(SPREADS)}; add one"
        faults.append(Fault(where, f"parameters.{name}: {text}"))
        return None
    key, numbers = given[0], getattr(entry, given[0])
    if key != "values" and len(numbers) != 2:
        what = "its mean and its standard deviation" if key == "normal" else "its lower and its upper end"
        faults.append(Fault((*where, key), f"parameters.{name}.{key} is {numbers}, must be 2 numbers: {what}", numbers))
        return None
    if entry.steps is not None and key not in ("range", "log_range"):
        faults.append(Fault((*where, "steps"), f"parameters.{name}: steps goes with range or log_range only; leave it out"))
        return None
    try:
        spread: Spread
        if key == "values":
            spread = Choices(tuple(numbers))
        elif key == "normal":
            spread = Normal(*numbers)
        else:
            low, high = numbers
            spread = (Range if key == "range" else LogRange)(low, high, entry.steps)
    except ValueError as e:
        faults.append(Fault((*where, key), f"parameters.{name}: {e}", numbers))
        return None
    return Parameter(name=name, paths=(entry.path,) if isinstance(entry.path, str) else tuple(entry.path), spread=spread)


def _sampling(file: _StudyFile, faults: list[Fault]) -> Sampling | None:
    """How runs are spread; None where a fault is noted."""
    try:
        if file.sampling == "grid":
            if file.runs is not None:
                raise ValueError("runs is given for a grid, whose steps say how many there are; leave it out")
            return Grid()
        if file.runs is None:
            raise ValueError(f"runs is missing: how many {file.sampling.replace('_', ' ')} samples there are; add it")
        return SAMPLED[file.sampling](file.runs)
    except ValueError as e:
        faults.append(Fault(("runs",) if file.runs is not None else ("sampling",), str(e)))
        return None


def _result(name: str, entry: _ResultEntry) -> Result:
    given = entry.model_dump()
    return Result(name=name, **{**given, "mean_of": None if entry.mean_of is None else tuple(entry.mean_of)})
