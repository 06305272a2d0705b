"""Runs of a sweep as worlds of one plant: complete steps of many runs in parallel on the lanes of the processor.

The row of a run depends only on its own numbers, because the results of a world do not depend on the batch size. All
executors evaluate such a sweep in this way, so that their stores are identical.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hydromechs.compiler import NATIVE, TARGETS
from hydromechs.model import State
from hydromechs.recording import statistic_of
from hydromechs.simulation import CAPSIZED, CommandRanges, tilt_from_start, vehicles
from hydromechs.values import Array
from hydromechs.worlds import Worlds

from ._definition import ParameterSweep
from ._runner import Row, Task, done_row, failed_row, refused_row


class _Start(NamedTuple):
    """Initial state and inputs of one run."""

    state: State
    """Initial configuration and velocity."""
    parameters: dict[str, float]
    """Values of open parameters, keyed by name."""
    commands: dict[str, float]
    """Initial commands [unit of the actuator], keyed by name."""


class LaneRunner:
    """Runner of tasks of a sweep on lanes; see `ParameterSweep.on_lanes`."""

    def __init__(self, sweep: ParameterSweep) -> None:
        self.sweep, self._scenario = sweep, sweep.scenario
        plant, seeded = self._scenario.plant, self._scenario.environment
        self._seeded = seeded.gusts is not None or bool(seeded.waves)
        self._ranges = CommandRanges(plant.layout)
        wanted = [*(result.quantity for result in sweep.results), *(check.quantity for check in self._scenario.checks)]
        expected = "capsized" in self._scenario.expected_warnings
        names = [] if expected else [plant.model.body_names[i] for i in sorted(vehicles(plant))]
        self._attitudes = [[f"orientation.{name}.{axis}" for axis in "wxyz"] for name in names]
        self._watched = list(dict.fromkeys([*wanted, *(name for row in self._attitudes for name in row)]))

    def compile(self, values: Sequence[Any]) -> None:
        """See `Runner.compile`."""
        worlds = self._worlds([self._start(values)], [0])
        worlds.step_faults()
        worlds.run(worlds.offset + self._scenario.record)

    def rows(self, task: Task) -> list[Row]:
        """Return the rows of the runs of a task, in order."""
        out: dict[int, Row] = {}
        starts: dict[int, _Start] = {}
        for k, values in enumerate(task.values):
            try:
                starts[k] = self._start(values)
            except Exception as error:  # the others continue
                out[k] = refused_row(self.sweep, error)
        out |= self._run(starts, task.seeds)
        return [out[k] for k in range(len(task.runs))]

    def _start(self, values: Sequence[Any]) -> _Start:
        scenario = self._scenario
        fields, opened = self.sweep.changes(values)
        start = self.sweep.start(fields, opened)
        commands = dict(fields.get("commands", scenario.commands))
        for text in self._ranges.faults(commands).values():
            raise ValueError(f"commands: {text}")
        return _Start(start, opened, commands)

    @cached_property
    def _gpu(self) -> bool:
        """True if the sweep requests a target other than the CPU and this worker has such a device."""
        return self.sweep.target != NATIVE.target and not TARGETS[self.sweep.target].unavailable()

    def _worlds(self, starts: Sequence[_Start], seeds: Sequence[int]) -> Worlds:
        scenario = self._scenario
        q, v = (np.stack([getattr(s.state, name) for s in starts]) for name in ("q", "v"))
        opened = {name: np.array([s.parameters[name] for s in starts]) for name in starts[0].parameters}
        worlds = Worlds(
            self.sweep.open_plant,
            len(starts),
            start=State(t=starts[0].state.t, q=q, v=v),
            parameters=opened,
            step=scenario.step,
            method=scenario.integrator,
            record=scenario.record,
            watch=self._watched,
            seed=list(seeds) if self._seeded else None,
            target=self.sweep.target if self._gpu else NATIVE.target,
        )
        everyone = np.arange(len(starts))
        for name in starts[0].commands:
            worlds.target.put(worlds.inputs[name], everyone, np.array([s.commands[name] for s in starts]))
        return worlds

    def _run(self, starts: Mapping[int, _Start], seeds: Sequence[int]) -> dict[int, Row]:
        """Return rows of runs, keyed by index. If a batch fails, runs are repeated separately to find the cause."""
        if not starts:
            return {}
        try:
            return self._together(starts, [seeds[k] for k in starts])
        except Exception as error:
            if len(starts) == 1:
                return dict.fromkeys(starts, refused_row(self.sweep, error))
        out: dict[int, Row] = {}
        for k, start in starts.items():
            out |= self._run({k: start}, seeds)
        return out

    def _together(self, starts: Mapping[int, _Start], seeds: Sequence[int]) -> dict[int, Row]:
        worlds = self._worlds(list(starts.values()), seeds)
        faults = worlds.step_faults()
        worlds.run(worlds.offset + self._scenario.duration)
        lost, ends = worlds.ended, worlds.target.get(worlds.t)
        samples = {name: worlds.samples(name) for name in self._watched}
        out = {}
        for i, k in enumerate(starts):
            if faults[i]:
                out[k] = refused_row(self.sweep, ValueError(faults[i]))
            elif i in lost:
                out[k] = failed_row(self.sweep, f"diverged: t = {ends[i]:.6g} s: {lost[i]}", float(ends[i]))
            else:
                out[k] = self._judged(worlds.times[i], {name: x[i] for name, x in samples.items()})
        return out

    def _judged(self, time: Array, samples: Mapping[str, Array]) -> Row:
        checks = [check.judge_samples(time, samples[check.quantity]) for check in self._scenario.checks]
        results = [statistic_of(time, samples[r.quantity], r.statistic, **r.how)[0] for r in self.sweep.results]
        tilts = [tilt_from_start(np.stack([samples[name] for name in row], axis=1)) for row in self._attitudes]
        capsized = any((tilt > CAPSIZED).any() for tilt in tilts)
        row = done_row(float(time[-1]), results, checks)
        return row._replace(on_gpu=self._gpu, warnings="capsized" if capsized else "")
