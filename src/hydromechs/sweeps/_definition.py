"""A sweep: a scenario, the numbers of it that change from run to run, and what is kept of each run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from hydromechs.compiler import NATIVE, TARGETS
from hydromechs.errors import Fault, ModelError, SweepError, message_of
from hydromechs.model import State, body_faults, world_faults
from hydromechs.recording import find_terms, period_of, samples_of, statistic_of
from hydromechs.scenario import Scenario, assemble
from hydromechs.simulation import coordinates, quantities
from hydromechs.values import Bound, Finite, Pair, check_fields, convert_fields, field_faults, nearest

from ._anew import anew, places_in_models
from ._parameters import Parameter
from ._paths import changed, first_part, numbered, parts_of, value_at
from ._sampling import Grid, Sampling
from ._together import OF_MODEL, fits_lanes

if TYPE_CHECKING:
    import xarray

    from hydromechs.simulation import Simulation

OWN = {"run", "status", "reason", "seed", "end_time", "check", "passed", "check_value", "on_gpu"}
"""Names that every store has."""
UNSIMULATED = ("name", "title", "description", "checks")
"""Parts of a scenario that change nothing that is simulated."""
MIN_BLOCK_ON_LANES, MAX_BLOCK = 32, 64
"""Runs in a block of a sweep on lanes, whose runs go together, at least; and in any block, at most."""
REFUSED = (ValueError, KeyError, TypeError, ArithmeticError, RuntimeError)
"""Errors of a scenario or model that cannot be simulated."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """A statistic of a recorded quantity that is kept of each run. For a number that is none, derive and write `of`."""

    name: str
    """Name of its variable in the store."""
    quantity: str
    """A recorded quantity, as of a check: "position.vehicle.x"."""
    statistic: Literal["last", "min", "max", "mean", "rms", "max_abs"] = "last"
    """Statistic of the samples."""
    target: Finite = 0.0
    """Subtracted from the quantity first [in its unit]."""
    after: Finite = 0.0
    """Samples before this time are ignored [s]."""
    before: Finite | None = None
    """Samples from this time on are ignored [s]; optional."""
    mean_of: Pair | None = None
    """Start and end [s] of an interval whose mean is subtracted from the quantity, too; optional."""

    def __post_init__(self) -> None:
        check_fields(self)

    def of(self, recording: xarray.Dataset) -> float:
        """Its value in a recording; NaN where there are no samples."""
        samples = samples_of(recording, self.quantity)
        return statistic_of(recording["time"].values, samples, self.statistic, **self.how)[0]

    @property
    def how(self) -> dict[str, Any]:
        """What of the samples the statistic is of, as `statistic_of` takes it."""
        how = {key: getattr(self, key) for key in ("target", "after", "before", "mean_of")}
        return how | {"period": period_of(self.quantity)}


@dataclass(frozen=True, kw_only=True)
class SweepRun:
    """One run of a sweep, as data."""

    scenario: Scenario
    """The scenario with the run's numbers in it."""
    parameters: dict[str, float] = field(default_factory=dict)
    """Values of numbers of the model that stay open, by name."""

    def simulation(self) -> Simulation:
        """The simulation, at its start."""
        return self.scenario.simulation(parameters=self.parameters)


@dataclass(frozen=True, kw_only=True)
class SweepSettings:
    """Everything of a sweep but its scenario."""

    name: str
    """Name of the sweep and of its folder."""
    title: str = ""
    """Question that it answers, in one line."""
    description: str = ""
    """Description for people."""
    parameters: tuple[Parameter, ...] = ()
    """Numbers that change from run to run."""
    sampling: Sampling = field(default_factory=Grid)
    """Spread of the runs over the parameters; all combinations if omitted."""
    seed: Annotated[int, Bound(whole=True, least=0)] = 0
    """Seed of the sampling and of the runs."""
    run_seeds: Literal["own", "same"] = "own"
    """Seeds of gusts, waves and sensors: "own" derives one for each run from the sweep's seed and the number of the run; "same"
    keeps the scenario's, so that the same noise meets all parameters."""
    results: tuple[Result, ...] = ()
    """Numbers kept of each run besides the scenario's checks."""
    block: Annotated[int, Bound(whole=True, least=1)] | None = None
    """Runs that are sent to a worker, and stored, together; chosen by their number if omitted."""
    target: str = NATIVE.target
    """Target of runs on lanes: "cuda" uses the GPU of a worker that has one, in float64, and its CPU otherwise; the store
    records which. They agree to rounding, not to the last bit."""


@dataclass(frozen=True, kw_only=True)
class ParameterSweep(SweepSettings):
    """Many runs of a scenario. It is checked when it is built; all problems are listed in one `SweepError`."""

    scenario: Scenario
    """Scenario that is simulated."""

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
        """What is sent to workers: the description, without the table, of which they get their rows."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    # -- runs -----------------------------------------------------------------------------------------------------------------

    @cached_property
    def table(self) -> list[tuple[Any, ...]]:
        """Values of the parameters in each run."""
        return self.sampling.table(self.parameters, self.seed)

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return len(self.table)

    @property
    def block_size(self) -> int:
        """Runs in a block: a share of all of them, that a thousand workers have something to do; enough to fill lanes."""
        return self.block or min(max(math.ceil(self.runs / 256), MIN_BLOCK_ON_LANES if self.on_lanes else 1), MAX_BLOCK)

    @cached_property
    def on_lanes(self) -> bool:
        """True if its runs are worlds of one plant, of which many are simulated at once on the lanes of a processor."""
        plain = all(type(result).of is Result.of for result in self.results)  # others want a whole recording
        return plain and fits_lanes(self)

    @cached_property
    def own_seeds(self) -> bool:
        """True if each run has a seed of its own."""
        return self.run_seeds == "own" and not any("seed" in p.paths for p in self.parameters)

    def run_seed(self, run: int) -> int:
        """Seed of gusts, waves and sensors in a run, numbered from 0."""
        if not self.own_seeds:
            given = [v for p, v in zip(self.parameters, self.table[run], strict=True) if "seed" in p.paths]
            return int(given[0]) if given else self.scenario.seed
        return int(np.random.SeedSequence([self.seed, run]).generate_state(1, np.uint64)[0] >> np.uint64(1))

    @cached_property
    def compiling(self) -> tuple[str, ...]:
        """Names of the parameters that are part of the compiled programs, so that each new value compiles anew."""
        return tuple(p.name for p in self.parameters if len({self._identity(p, value) for value in p.ends()[:2]}) > 1)

    def _identity(self, parameter: Parameter, value: Any) -> str | None:
        parts, _ = self._changes([(path, value) for path in parameter.paths])
        other = replace(self.scenario, **parts)
        return f"{other.plant.identity} {other.integrator} {other.engine}"

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of all parameters."""
        return tuple(path for parameter in self.parameters for path in parameter.paths)

    def variant(self, values: Sequence[Any], seed: int | None) -> SweepRun:
        """The run with a value for each parameter; raises what the scenario or the model raises with them.

        If the seed is None, it is that of the scenario, or a parameter.
        """
        parts, opened = self.changes(values)
        parts |= {} if seed is None else {"seed": seed}
        return SweepRun(scenario=replace(self.scenario, **parts) if parts else self.scenario, parameters=opened)

    def changes(self, values: Sequence[Any]) -> tuple[dict[str, Any], dict[str, float]]:
        """Fields of the scenario that values of the parameters change, and open parameters of the model by name."""
        pairs = zip(self.parameters, values, strict=True)
        return self._changes([(path, value) for parameter, value in pairs for path in parameter.paths])

    def start(self, fields: Mapping[str, Any]) -> State:
        """State at the start of a run with changed fields of the scenario (see `changes`), joints with a given motion on it."""
        scenario = self.scenario
        return scenario.plant.on_motions(assemble(fields["models"])[1]) if "models" in fields else scenario.start

    @cached_property
    def built_anew(self) -> frozenset[str]:
        """Paths into the model whose numbers cannot stay open, as sizes of shapes: each value builds it anew."""
        return anew(self.scenario, [p for p in self.paths if p.startswith(OF_MODEL) and not self._path_fault(p)])

    def _changes(self, given: Sequence[tuple[str, Any]]) -> tuple[dict[str, Any], dict[str, float]]:
        parts: dict[str, Any] = {}
        opened, bodies, model = {}, dict[str, Any](), self.scenario.model
        for path, value in given:
            if path in self.built_anew:
                models = parts.get("models", self.scenario.models)
                for place in places_in_models(self.scenario, path):
                    models = changed(models, place, value, inside="models")
                parts["models"] = models
            elif path.startswith(OF_MODEL):
                body, rest = first_part(model, path.removeprefix(OF_MODEL))
                bodies[body] = changed(bodies.get(body, value_at(model, body)), rest, value, inside=f"{OF_MODEL}{body}")
                opened[numbered(model, f"{body}.{rest}")] = float(value)
            else:
                head, _, rest = path.partition(".")
                parts[head] = changed(parts.get(head, getattr(self.scenario, head)), rest, value, inside=head)
        for name, part in bodies.items():
            faults = world_faults(part) if name == "world" else body_faults(model.body_index(name), part)
            if faults:
                raise ModelError(model.name, faults)
        return parts, opened

    # -- faults ---------------------------------------------------------------------------------------------------------------

    def _name_faults(self) -> list[Fault]:
        out = []
        if not self.name or self.name.startswith(".") or any(c in self.name for c in "/\\\0"):
            out.append(Fault(("name",), f"name is {self.name!r}; it names a folder: no empty one, no '/', no '.' at its start"))
        out += [Fault((name,), f"{name} is {value!r}, {must}", value, must) for name, value, must in field_faults(self)]
        if self.target not in TARGETS:
            out.append(Fault(("target",), f"target is {self.target!r}, must be one of {', '.join(TARGETS)}"))
        taken = set(OWN)
        for key, items in (("parameters", self.parameters), ("results", self.results)):
            for item in items:
                where = (key, item.name)
                if not item.name or any(c in item.name for c in "/\\.\0") or item.name.startswith("__"):
                    text = f"{key}: the name {item.name!r} must not be empty, nor hold '/', '\\' or '.'"
                    out.append(Fault(where, text))
                elif item.name in taken:
                    out.append(Fault(where, f"{key}.{item.name}: the store has another variable of this name; rename it"))
                taken.add(item.name)
        if not self.results and not self.scenario.checks:
            out.append(Fault(("results",), "results is empty and the scenario has no checks: nothing would be kept; add one"))
        return out

    def _path_faults(self) -> list[Fault]:
        """Paths that lead nowhere, or to what is no number."""
        out, seen = [], dict[str, str]()
        for parameter in self.parameters:
            for path in parameter.paths:
                where = ("parameters", parameter.name, "path")
                text = self._path_fault(path)
                if not text and path in seen:
                    text = f"parameter {seen[path]!r} sets {path!r}, too; keep one of them"
                seen[path] = parameter.name
                if text:
                    out.append(Fault(where, f"parameters.{parameter.name}: {text}", path))
            if not parameter.paths:
                out.append(Fault(("parameters", parameter.name), f"parameters.{parameter.name}: it has no path; add one"))
        return out

    def _path_fault(self, path: str) -> str:
        """What is wrong with a path; empty for nothing."""
        try:
            found = self._found(path)
        except KeyError as e:
            return message_of(e)
        if isinstance(found, bool) or not isinstance(found, float | int | str):
            parts = [name for name in parts_of(found) if not name.isdecimal()] or parts_of(found)
            return f"{path!r} is no number" + (f"; go on with one of {', '.join(parts)}" if parts else "")
        return ""

    def _found(self, path: str) -> Any:
        """What a path leads to; `KeyError` where it leads nowhere."""
        if path.startswith(OF_MODEL):
            model, inner = self.scenario.model, path.removeprefix(OF_MODEL)
            found = value_at(model, inner)
            if inner.rpartition(".")[2] in ("color", "opacity", "style"):
                raise KeyError(f"{path!r}: the appearance of a body changes nothing that is simulated")
            if self.scenario.engine is not None:
                raise KeyError(f"{path!r} stays open when the model is compiled, which engines of others cannot do")
            return found
        head, _, rest = path.partition(".")
        known = ["model", *self.scenario.__dataclass_fields__]
        if head not in known[1:]:
            raise KeyError(f"{path!r}: a scenario has no part {head!r}{nearest(head, known)}")
        if head in UNSIMULATED:
            raise KeyError(f"{path!r}: {head} changes nothing that is simulated")
        try:
            return value_at(self.scenario, path)
        except KeyError:
            changed(getattr(self.scenario, head), rest, 0.0, inside=head)  # a new name, where names are free
            return 0.0

    def _value_faults(self) -> list[Fault]:
        """Return errors of parameters with valid paths: spreads that do not suit the sampling, values that are rejected."""
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
                except REFUSED as e:
                    said = " ".join(message_of(e).split())
                    out.append(Fault(where, f"parameters.{parameter.name}: with {value!r}: {said}", value))
                    break
        return out

    def _trial_faults(self) -> tuple[list[Fault], bool]:
        """Return the errors of the scenario and of unrecorded quantities; and True if it can be simulated."""
        try:
            sim = self.scenario.simulation()
        except REFUSED as e:
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
            f"target is {self.target}, but each run of this sweep is a separate simulation: it has a controller, sensors, "
            "events or Python code, an integrator with variable steps, or compiled parameters; remove target"
        )
        return [Fault(("target",), text, self.target)]
