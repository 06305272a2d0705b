"""One run of a study after another, in a worker: values of the parameters in, a row of results out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from hydromechs.errors import SimulationDiverged, words_of
from hydromechs.model import State
from hydromechs.model.joints import Free
from hydromechs.scenario import assemble

from ._study import OF_MODEL, Study

if TYPE_CHECKING:
    import xarray

    from hydromechs.simulation import Simulation

__all__ = ["DONE", "FAILED", "REASON", "Row", "Runner", "Task", "failed_row"]

DONE, FAILED = 1, 2
"""Status of a run: it came to its end; it did not. 0 in a store: it has not run yet."""
REASON = 400
"""Letters of a reason that are kept."""
STARTS = ("position", "velocity", "joints", "joint_velocities", "rpy_deg")
"""Fields of a model's start that change its first state alone."""


class Task(NamedTuple):
    """Some runs that go to a worker together."""

    runs: tuple[int, ...]
    """Their numbers."""
    values: tuple[tuple[Any, ...], ...]
    """Values of the parameters in each."""
    seeds: tuple[int, ...]
    """Seed of each."""


class Row(NamedTuple):
    """What is kept of a run."""

    status: int
    """`DONE` or `FAILED`."""
    reason: str
    """Why it failed."""
    end_time: float
    """Time that was reached [s]."""
    results: tuple[float, ...]
    """Values of the study's results."""
    passed: tuple[bool, ...]
    """Whether each of the scenario's checks passed."""
    values: tuple[float, ...]
    """Values of the checks."""


def failed_row(study: Study, reason: str, end_time: float = math.nan) -> Row:
    """The row of a run that has no results.

    Args:
        study: Its study.
        reason: Why.
        end_time: Time that was reached [s].
    """
    checks = len(study.scenario.checks)
    said = " ".join(reason.split())[:REASON]
    return Row(FAILED, said, end_time, (math.nan,) * len(study.results), (False,) * checks, (math.nan,) * checks)


@dataclass
class Runner:
    """Runs parts of a study. What it sends to another process is the study; a simulation that it keeps stays here."""

    study: Study
    """The study."""

    def __post_init__(self) -> None:
        self._kept: Simulation | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Runner, (self.study,)

    def __call__(self, task: Task) -> list[Row]:
        """The rows of some runs, in their order.

        Args:
            task: The runs.
        """
        return [self._row(values, seed) for values, seed in zip(task.values, task.seeds, strict=True)]

    def _row(self, values: Sequence[Any], seed: int) -> Row:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of one run; the first one of a study is looked at before
                sim = self._simulation(values, seed)
                return self._judged(sim.run(self._duration).recording, sim.state.t)
        except SimulationDiverged as error:
            end = math.nan if error.state is None else error.state.t
            self._kept = None
            return failed_row(self.study, f"diverged: {error}", end)
        except Exception as error:  # the others go on
            self._kept = None
            return failed_row(self.study, f"{type(error).__name__}: {words_of(error)}")

    def _judged(self, recording: xarray.Dataset, end_time: float) -> Row:
        checks = [check.judge(recording) for check in self.study.scenario.checks]
        results = tuple(result.of(recording) for result in self.study.results)
        return Row(DONE, "", end_time, results, tuple(c.passed for c in checks), tuple(c.value for c in checks))

    def _simulation(self, values: Sequence[Any], seed: int) -> Simulation:
        """The simulation of a run at its start: the last one, put into another state, where only that can differ."""
        study = self.study
        if not self._reusable:
            variant = study.variant(values, seed)
            self._duration = variant.scenario.duration
            return variant.simulation()
        fields, opened = study.changes(values)
        if self._kept is None:
            self._duration = study.scenario.duration
            self._kept = study.scenario.simulation(parameters=opened)
        sim, start = self._kept, assemble(fields.get("models", study.scenario.models))[1]
        sim.reset(State(t=start.t, q=start.q, v=start.v, parameters=sim.plant.parameter_values(opened)))
        return sim

    @cached_property
    def _reusable(self) -> bool:
        """Whether runs differ in open parameters and starts alone, and nothing else remembers the run before."""
        scenario, water = self.study.scenario, self.study.scenario.environment
        alone = scenario.controller is None and not scenario.sensors and scenario.engine is None and not scenario.code
        free = all(any(isinstance(b.joint, Free) for b in start.model.bodies if b.parent is None) for start in scenario.models)
        still = water.gusts is None and not water.waves
        return alone and free and still and all(map(_is_data, self.study.paths))


def _is_data(path: str) -> bool:
    """Whether a path leads to an open parameter or to the start of a model."""
    pieces = path.split(".")
    return path.startswith(OF_MODEL) or (pieces[0] == "models" and len(pieces) > 3 and pieces[2] in STARTS)
