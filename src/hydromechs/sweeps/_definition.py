"""Definition of a sweep: scenario, numbers that vary between runs, and stored results of each run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from hydromechs import registry
from hydromechs.compiler import NATIVE, TARGETS
from hydromechs.errors import Fault, SweepError, message_of
from hydromechs.model import State
from hydromechs.recording import find_terms, period_of, samples_of, statistic_of
from hydromechs.registry import Keys
from hydromechs.scenario import Scenario, assemble
from hydromechs.simulation import Plant, coordinates, quantities
from hydromechs.values import Bound, Finite, Pair, check_fields, convert_fields, field_faults

from ._parameters import Grid, Parameter, Sampling
from ._together import fits_lanes

if TYPE_CHECKING:
    import xarray

    from hydromechs.simulation import Simulation

OWN = {"run", "status", "reason", "seed", "end_time", "warnings", "check", "passed", "check_value", "on_gpu"}
"""Variable names of every store."""
APPEARANCE = ("color", "opacity", "style")
"""Fields of a shape without effect on a simulation."""
UNSIMULATED = ("name", "title", "description", "checks")
"""Parts of a scenario without effect on a simulation."""
MIN_BLOCK_ON_LANES, MAX_BLOCK = 32, 64
"""Minimum number of runs in a block of a sweep on lanes, and maximum number of runs in any block."""
VALUE_ERRORS = (ValueError, KeyError, TypeError, ArithmeticError, RuntimeError)
"""Exceptions raised by a scenario or model that cannot be simulated."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """Statistic of a recorded quantity that is stored for each run. For a custom result, override `of` in a derived class."""

    name: str
    """Name of the variable in the store."""
    quantity: str
    """Recorded quantity, as in a check, such as "position.vehicle.x"."""
    statistic: Literal["last", "min", "max", "mean", "rms", "max_abs"] = "last"
    """Statistic of the samples."""
    target: Finite = 0.0
    """Value subtracted from the quantity [unit of the quantity]."""
    after: Finite = 0.0
    """Samples before this time are ignored [s]."""
    before: Finite | None = None
    """Samples at and after this time are ignored [s]; optional."""
    mean_of: Pair | None = None
    """Start and end [s] of an interval over which the mean of the quantity is also subtracted; optional."""

    def __post_init__(self) -> None:
        check_fields(self)

    def of(self, recording: xarray.Dataset) -> float:
        """Return the value of the statistic in a recording; NaN without samples."""
        samples = samples_of(recording, self.quantity)
        return statistic_of(recording["time"].values, samples, self.statistic, **self.how)[0]

    @property
    def how(self) -> dict[str, Any]:
        """Keyword arguments for `statistic_of`."""
        how = {key: getattr(self, key) for key in ("target", "after", "before", "mean_of")}
        return how | {"period": period_of(self.quantity)}


@dataclass(frozen=True, kw_only=True)
class SweepRun:
    """One run of a sweep as data."""

    scenario: Scenario
    """Scenario with the parameter values of the run."""
    parameters: dict[str, float] = field(default_factory=dict)
    """Values of numbers that stay open in the compiled programs, keyed by path."""

    def simulation(self) -> Simulation:
        """Return the simulation in its initial state."""
        return self.scenario.simulation(parameters=self.parameters)


@dataclass(frozen=True, kw_only=True)
class SweepSettings:
    """Settings of a sweep without its scenario."""

    name: str
    """Name of the sweep and of its folder."""
    title: str = ""
    """Question that the sweep answers, in one line."""
    description: str = ""
    """Detailed description of the sweep."""
    parameters: tuple[Parameter, ...] = ()
    """Numbers that vary between runs."""
    sampling: Sampling = field(default_factory=Grid)
    """Method that selects parameter values for the runs. Defaults to all combinations."""
    seed: Annotated[int, Bound(whole=True, least=0)] = 0
    """Seed of the sampling and of the runs."""
    run_seeds: Literal["own", "same"] = "own"
    """Seeds of gusts, waves and sensors: "own" derives one for each run from the seed of the sweep and the number of the
    run; "same" uses the seed of the scenario in all runs, so that all parameters have the same noise."""
    results: tuple[Result, ...] = ()
    """Results stored for each run, in addition to the checks of the scenario."""
    block: Annotated[int, Bound(whole=True, least=1)] | None = None
    """Number of runs that are sent to a worker and stored together. Defaults to a value derived from the number of runs."""
    target: str = NATIVE.target
    """Target of runs on lanes. "cuda" uses the GPU of a worker in float64, or its CPU if it has no GPU; the store records
    the device. Results of both agree except for rounding."""


@dataclass(frozen=True, kw_only=True)
class ParameterSweep(SweepSettings):
    """Many runs of a scenario. The constructor reports all problems in one `SweepError`."""

    scenario: Scenario
    """Scenario to simulate."""

    def __post_init__(self) -> None:
        convert_fields(self)
        faults = [*self._name_faults(), *self._path_faults()]
        found, simulable = self._trial_faults()
        faults += found
        if simulable:  # otherwise each value would repeat the scenario's problem
            faults += self._value_faults()
        if not faults:
            faults = self._lane_faults()
        if faults:
            raise SweepError(self.name, faults)

    def __getstate__(self) -> dict[str, Any]:
        """Return the data for workers: all fields without the table, whose rows are part of each task."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    # -- runs -----------------------------------------------------------------------------------------------------------------

    @cached_property
    def table(self) -> list[tuple[Any, ...]]:
        """Values of all parameters in each run."""
        return self.sampling.table(self.parameters, self.seed)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.table)

    @property
    def block_size(self) -> int:
        """Number of runs in a block, small enough to keep a thousand workers busy and large enough to fill lanes."""
        return self.block or min(max(math.ceil(self.runs / 256), MIN_BLOCK_ON_LANES if self.on_lanes else 1), MAX_BLOCK)

    @cached_property
    def on_lanes(self) -> bool:
        """True if the runs are worlds of one plant, many of which are simulated in parallel on processor lanes."""
        plain = all(type(result).of is Result.of for result in self.results)  # others need a complete recording
        return plain and fits_lanes(self)

    @cached_property
    def own_seeds(self) -> bool:
        """True if each run has a separate seed."""
        return self.run_seeds == "own" and not any(map(self._sets_seed, self.parameters))

    def _sets_seed(self, parameter: Parameter) -> bool:
        return any(("seed",) in self.places(path) for path in parameter.paths)

    def run_seed(self, run: int) -> int:
        """Return the seed of gusts, waves and sensors of a run, numbered from 0."""
        if not self.own_seeds:
            given = [v for p, v in zip(self.parameters, self.table[run], strict=True) if self._sets_seed(p)]
            return int(given[0]) if given else self.scenario.seed
        return int(np.random.SeedSequence([self.seed, run]).generate_state(1, np.uint64)[0] >> np.uint64(1))

    @cached_property
    def compiling(self) -> tuple[str, ...]:
        """Names of the parameters that are part of the compiled programs, so that each new value requires a compilation."""
        return tuple(p.name for p in self.parameters if len({self._identity(p, value) for value in p.ends()[:2]}) > 1)

    def _identity(self, parameter: Parameter, value: Any) -> str | None:
        parts, _ = self._changes([(path, value) for path in parameter.paths])
        other = replace(self.scenario, **parts)
        return f"{other.plant.identity} {other.integrator} {other.engine}"

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of the numbers of all parameters."""
        return tuple(path for parameter in self.parameters for path in parameter.paths)

    def variant(self, values: Sequence[Any], seed: int | None) -> SweepRun:
        """Return the run with one value per parameter; raise the errors of a scenario or model with invalid values.

        If `seed` is None, the run uses the seed of the scenario or of a parameter.
        """
        parts, opened = self.changes(values)
        parts |= {} if seed is None else {"seed": seed}
        return SweepRun(scenario=replace(self.scenario, **parts) if parts else self.scenario, parameters=opened)

    def changes(self, values: Sequence[Any]) -> tuple[dict[str, Any], dict[str, float]]:
        """Return the changed fields of the scenario, and the values of open parameters, keyed by path."""
        pairs = zip(self.parameters, values, strict=True)
        return self._changes([(path, value) for parameter, value in pairs for path in parameter.paths])

    def start(self, fields: Mapping[str, Any], opened: Mapping[str, float]) -> State:
        """Return the initial state of a run from the result of `changes`; joints with a prescribed motion have its values."""
        scenario = self.scenario
        state = assemble(fields["models"])[1] if "models" in fields else scenario.start
        return self.open_plant.with_values(self.open_plant.parameter_values(opened)).on_motions(state)

    @cached_property
    def opened(self) -> tuple[str, ...]:
        """Paths of numbers that stay open in the compiled programs, so that new values require no compilation."""
        good = [path for path in dict.fromkeys(self.paths) if not self._path_fault(path)]
        plant = self.scenario.plant
        if self.scenario.engine is not None:  # third-party engines keep the numbers in their own models
            return ()
        wanted = [path for path in good if _leads_into(plant, path) and not self._is_known(path)]
        if _stay_open(plant, wanted):
            return tuple(wanted)
        return tuple(path for path in wanted if _stay_open(plant, [path]))

    def _is_known(self, path: str) -> bool:
        """True for numbers of the environment if blocks are designed for it; these numbers are run data in any case."""
        return bool(self.scenario.blocks) and any(keys[0] == "environment" for keys in self.places(path))

    @cached_property
    def open_plant(self) -> Plant:
        """Plant with open parameters."""
        plant = self.scenario.plant
        return replace(plant, parameters=self.opened) if self.opened else plant

    def places(self, path: str) -> tuple[Keys, ...]:
        """Return the locations of the numbers at a path in the scenario; empty if only the plant contains them."""
        try:
            return registry.located(self.scenario, path)
        except KeyError:
            return ()

    def _changes(self, given: Sequence[tuple[str, Any]]) -> tuple[dict[str, Any], dict[str, float]]:
        opened = {path: float(value) for path, value in given if path in self.opened}
        self.open_plant.check_values(opened)
        edits = registry.edits_of(self.scenario, {path: value for path, value in given if path not in opened})
        heads = {keys[0]: {k[1:]: x for k, x in edits.items() if k[0] == keys[0]} for keys in edits}
        return {str(head): registry.edited(getattr(self.scenario, str(head)), own) for head, own in heads.items()}, opened

    # -- problems -------------------------------------------------------------------------------------------------------------

    def _name_faults(self) -> list[Fault]:
        out = []
        if not self.name or self.name.startswith(".") or any(c in self.name for c in "/\\\0"):
            out.append(
                Fault(
                    ("name",),
                    f"name is {self.name!r}, must be a folder name: not empty, without slashes and without a leading '.'",
                )
            )
        out += [Fault((name,), f"{name} is {value!r}, {must}", value, must) for name, value, must in field_faults(self)]
        if self.target not in TARGETS:
            out.append(Fault(("target",), f"target is {self.target!r}, must be one of {', '.join(TARGETS)}"))
        taken = set(OWN)
        for key, items in (("parameters", self.parameters), ("results", self.results)):
            for item in items:
                where = (key, item.name)
                if not item.name or any(c in item.name for c in "/\\.\0") or item.name.startswith("__"):
                    text = f"{key}: the name {item.name!r} must not be empty, contain '/', '\\' or '.', or start with '__'"
                    out.append(Fault(where, text))
                elif item.name in taken:
                    out.append(Fault(where, f"{key}.{item.name}: another variable in the store has this name; rename this one"))
                taken.add(item.name)
        if not self.results and not self.scenario.checks:
            out.append(
                Fault(("results",), "results is empty and the scenario has no checks, so nothing would be stored; add a result")
            )
        return out

    def _path_faults(self) -> list[Fault]:
        out, seen = [], dict[str, str]()
        for parameter in self.parameters:
            for path in parameter.paths:
                where = ("parameters", parameter.name, "path")
                text = self._path_fault(path)
                if not text and path in seen:
                    text = f"parameter {seen[path]!r} also sets {path!r}; remove one of the two"
                seen[path] = parameter.name
                if text:
                    out.append(Fault(where, f"parameters.{parameter.name}: {text}", path))
            if not parameter.paths:
                out.append(Fault(("parameters", parameter.name), f"parameters.{parameter.name} has no path; add a path"))
        return out

    def _path_fault(self, path: str) -> str:
        """Return the problem of a path; empty if the path is valid."""
        try:
            found = self._found(path)
        except KeyError as e:
            return message_of(e)
        if found is None:
            return f"{path!r} is not a number; set the path of a number"
        if isinstance(found, bool) or not isinstance(found, float | int | str):
            try:
                shape = registry.value(self.scenario, path).shape
            except KeyError as e:
                return message_of(e)
            return f"{path!r} is not a number but has the shape {shape}; append an index or an axis, such as {path}.0"
        return ""

    def _found(self, path: str) -> Any:
        """Return the value at a path; raise `KeyError` if the path does not exist."""
        try:
            places = registry.located(self.scenario, path)
        except KeyError:
            if _leads_into(self.scenario.plant, path):  # a part derived from others, such as the stops of a joint
                return float(registry.value(self.scenario.plant, path))
            raise
        for keys in places:
            if keys[0] in UNSIMULATED or keys[-1] in APPEARANCE:
                what = keys[0] if keys[0] in UNSIMULATED else "the appearance of a body"
                raise KeyError(f"{path!r}: {what} has no effect on a simulation; remove this path")
        found = registry.part(self.scenario, path)
        free = found is None and len(places[0]) > 1 and isinstance(registry.follow(self.scenario, places[0][:-1]), tuple)
        return 0.0 if free else found  # a new name, where any name is allowed

    def _value_faults(self) -> list[Fault]:
        """Return errors of parameters with valid paths: distributions incompatible with the sampling, and invalid values."""
        out = []
        for parameter in self.parameters:
            if any(self._path_fault(path) for path in parameter.paths):
                continue
            where = ("parameters", parameter.name)
            if isinstance(self.sampling, Grid):
                try:
                    parameter.grid()
                except ValueError as e:
                    out.append(Fault(where, f"parameters.{parameter.name}: {e}"))
                    continue
            for value in parameter.ends():
                try:
                    parts, opened = self._changes([(path, value) for path in parameter.paths])
                    replace(self.scenario, **parts).simulation(parameters=opened)
                except VALUE_ERRORS as e:
                    said = " ".join(message_of(e).split())
                    out.append(Fault(where, f"parameters.{parameter.name}: with {value!r}: {said}", value))
                    break
        return out

    def _trial_faults(self) -> tuple[list[Fault], bool]:
        """Return the errors of the scenario and of unknown quantities, and True if the scenario can be simulated."""
        try:
            sim = self.scenario.simulation()
        except VALUE_ERRORS as e:
            return [Fault(("scenario",), f"scenario: {' '.join(message_of(e).split())}")], False
        variables, labels = quantities(sim.plant, sim.signals), coordinates(sim.plant, sim.signals)
        out = []
        for result in self.results:
            try:
                if result.quantity != "time":
                    find_terms(result.quantity, variables, labels)
            except KeyError as e:
                where = ("results", result.name, "quantity")
                out.append(Fault(where, f"results.{result.name}: quantity: {message_of(e)}", result.quantity))
        return out, True

    def _lane_faults(self) -> list[Fault]:
        """Return an error if the target is a GPU but the runs are not worlds of one plant."""
        if self.target == NATIVE.target or self.on_lanes:
            return []
        text = (
            f"target is {self.target}, but the runs of this sweep are separate simulations, because of a controller, sensors, "
            "events, Python code, an adaptive integrator or compiled parameters; remove target"
        )
        return [Fault(("target",), text, self.target)]


def _leads_into(plant: Plant, path: str) -> bool:
    try:
        return registry.value(plant, path).ndim == 0
    except KeyError:
        return False


def _stay_open(plant: Plant, paths: Sequence[str]) -> bool:
    try:
        replace(plant, parameters=tuple(paths))
    except (ValueError, KeyError):
        return False
    return True
