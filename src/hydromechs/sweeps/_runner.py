"""Sequential runs of a sweep in a worker, from parameter values to rows of results."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from hydromechs.errors import SimulationDiverged, message_of
from hydromechs.model import State
from hydromechs.registry import loaded_files, module_kept
from hydromechs.simulation import run_warnings

from ._definition import ParameterSweep
from ._fingerprint import fingerprint_of
from ._together import is_open_or_start, stands_free

if TYPE_CHECKING:
    from hydromechs.recording import CheckResult
    from hydromechs.simulation import Simulation

    from ._lanes import LaneRunner

DONE, FAILED = 1, 2
"""Status of a run: done or failed. The status 0 in a store marks a missing run."""
REASON = 400
"""Maximum length of a reason [characters]."""


class Task(NamedTuple):
    """Runs that are sent to a worker together."""

    runs: tuple[int, ...]
    """Numbers of the runs."""
    values: tuple[tuple[Any, ...], ...]
    """Values of the parameters in each run."""
    seeds: tuple[int, ...]
    """Seed of each run."""


class Row(NamedTuple):
    """Stored results of a run."""

    status: int
    """`DONE` or `FAILED`."""
    reason: str
    """Reason for the failure."""
    end_time: float
    """Final time of the run [s]."""
    results: tuple[float, ...]
    """Values of the results of the sweep."""
    passed: tuple[bool, ...]
    """True for each check of the scenario that passed."""
    values: tuple[float, ...]
    """Values of the checks."""
    on_gpu: bool = False
    """True if a GPU simulated the run."""
    warnings: str = ""
    """Kinds of unexpected warnings of the run, separated by spaces."""


def failed_row(sweep: ParameterSweep, reason: str, end_time: float = math.nan) -> Row:
    """Return the row of a failed run, with the reason and the final time [s]."""
    checks = len(sweep.scenario.checks)
    said = " ".join(reason.split())[:REASON]
    return Row(FAILED, said, end_time, (math.nan,) * len(sweep.results), (False,) * checks, (math.nan,) * checks)


def refused_row(sweep: ParameterSweep, error: Exception) -> Row:
    """Return the row of a run that raised an error."""
    return failed_row(sweep, f"{type(error).__name__}: {message_of(error)}")


def done_row(end_time: float, results: Sequence[float], checks: Sequence[CheckResult]) -> Row:
    """Return the row of a completed run, with the final time [s]."""
    return Row(DONE, "", end_time, tuple(results), tuple(c.passed for c in checks), tuple(c.value for c in checks))


@dataclass
class Runner:
    """Runner of tasks of a sweep. Pickles contain the sweep, but not the compiled programs."""

    sweep: ParameterSweep
    """Sweep to run."""

    def __post_init__(self) -> None:
        self._kept: Simulation | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return sent, (loaded_files(), Runner, pickle.dumps((self.sweep,)))

    @property
    def identity(self) -> str:
        """Identifier of the sweep; see `Work.identity`."""
        return fingerprint_of(self.sweep)

    def __call__(self, task: Task) -> list[Row]:
        """Return the rows of the runs of a task, in order, simulated in parallel on lanes or sequentially."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of one run; the first run of a sweep is inspected before
            if self._lanes is not None:
                return self._lanes.rows(task)
            return [self._row(values, seed) for values, seed in zip(task.values, task.seeds, strict=True)]

    def compile(self, values: Sequence[Any]) -> None:
        """Compile the programs of a run into the cache that other processes also use."""
        if self._lanes is not None:
            self._lanes.compile(values)
        else:
            self.sweep.variant(values, None).simulation().compile()

    @cached_property
    def _lanes(self) -> LaneRunner | None:
        """Runner on lanes; None for a sweep whose runs are separate simulations."""
        from ._lanes import LaneRunner

        return LaneRunner(self.sweep) if self.sweep.on_lanes else None

    def _row(self, values: Sequence[Any], seed: int) -> Row:
        try:
            sim = self._simulation(values, seed)
            recording = sim.run(self._duration).recording
            results = [result.of(recording) for result in self.sweep.results]
            scenario = self.sweep.scenario
            found = {w.kind for w in run_warnings(sim.plant, recording, scenario.expected_warnings) if not w.expected}
            row = done_row(sim.state.t, results, [check.judge(recording) for check in scenario.checks])
            return row._replace(warnings=" ".join(sorted(found)))
        except SimulationDiverged as error:
            end = math.nan if error.state is None else error.state.t
            self._kept = None
            return failed_row(self.sweep, f"diverged: {error}", end)
        except Exception as error:  # the others continue
            self._kept = None
            return refused_row(self.sweep, error)

    def _simulation(self, values: Sequence[Any], seed: int) -> Simulation:
        """Return the simulation of a run in its initial state; reuse the previous simulation if only states differ."""
        sweep = self.sweep
        if not self._reusable:
            variant = sweep.variant(values, seed)
            self._duration = variant.scenario.duration
            return variant.simulation()
        fields, opened = sweep.changes(values)
        if self._kept is None:
            self._duration = sweep.scenario.duration
            self._kept = sweep.scenario.simulation(parameters=opened)
        sim, start = self._kept, sweep.start(fields, opened)
        sim.reset(State(t=start.t, q=start.q, v=start.v, parameters=sim.plant.parameter_values(opened)))
        return sim

    @cached_property
    def _reusable(self) -> bool:
        """True if runs differ only in open parameters and initial states, and no object remembers the previous run."""
        scenario, water = self.sweep.scenario, self.sweep.scenario.environment
        alone = not scenario.blocks and scenario.engine is None
        still = water.gusts is None and not water.waves
        free = all(map(stands_free, scenario.models))
        numbers = all(is_open_or_start(self.sweep, path) for path in self.sweep.paths)
        return alone and free and still and numbers


def sent(code: tuple[str, ...], kind: Callable[..., Any], content: bytes) -> Any:
    """Return work in another process, after loading the modules of custom classes that its arguments require."""
    for file in code:
        module_kept(file)
    return kind(*pickle.loads(content))
