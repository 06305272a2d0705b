"""The sensors of many worlds: measured together in compiled code, each world with errors that its own seed decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hydromechs.compiler import Compiled, Routine, RoutineCode
from hydromechs.contact import Terrain
from hydromechs.integrators import slack, whole_steps
from hydromechs.simulation import Plant
from hydromechs.values import Array

from ._sampling import SensingPlaces, SensorNodes
from ._sensor import Sensor
from ._world_inputs import SEEDS

CLOCK = ("t", "tick", "seed", "world")


class InstrumentArray:
    """Sensors of worlds, which measure what those of a simulation with the same seed do. What they remember is here.

    Args:
        terrain: Ground that they see besides what the plant can touch.
    """

    def __init__(
        self,
        plant: Plant,
        sensors: Sequence[Sensor],
        step: float,
        worlds: int,
        terrain: Sequence[Terrain] = (),
        *,
        lanes: int = 1,
        threads: int = 1,
    ) -> None:
        self._of = of = SensorNodes(plant, sensors, step, terrain)
        self.every = whole_steps(of.period, step, "the period of the fastest sensor")
        """Steps from one look at the sensors to the next."""
        self.sensors, self.step = of.sensors, step
        self._readings = np.full((worlds, of.size), np.nan)
        self.readings = {s.name: self._readings[:, at] for s, at in zip(sensors, of.places, strict=True)}
        """The last measurement of each sensor that has arrived, by name, shape (worlds, n); NaN where there is nothing."""
        self._memory = {name: np.zeros((worlds, x.size)) for name, x in of.state.items()}
        self._seeds, self._looked = np.zeros(worlds), np.full(worlds, -1.0)
        self._given = {name: x[None] for name, x in of.inputs.items()}
        self.truth = Compiled(of.truth, lanes, threads)
        """What sensors would measure without errors, and what they keep, of (t, q, x, inputs, turns, before)."""
        self.truth.single_lanes = lanes  # the same bits for one world as for many
        sizes = {name: x.size for name, x in of.state.items()} | dict.fromkeys(CLOCK, 1)
        first = Routine("before the truth", sizes | {"before": of.past}, {name: x.size for name, x in of.inputs.items()})
        *_, past = of.before(first, _places(first))
        first.copy(past, first["before"])
        then = Routine("after the truth", sizes | {"true": of.size, "keeps": of.past}, first.inputs)
        of.add(then, _places(then), (then["true"], then["keeps"]))
        self._first, self._then = RoutineCode(first, lanes, threads), RoutineCode(then, lanes, threads)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Names of the numbers of each sensor, by its name."""
        return {s.name: tuple(c.label for c in channels) for s, channels in zip(self.sensors, self._of.channels, strict=True)}

    def begin(self, which: Array, seeds: Sequence[int]) -> None:
        """Set up worlds at their start, each with its seed: biases and misalignments are drawn, nothing has been measured."""
        for name, x in self._of.state.items():
            self._memory[name][which] = x
        self._seeds[which] = [float(int(seed) % SEEDS) for seed in seeds]
        self._looked[which], self._readings[which] = -1.0, np.nan

    def look(self, clock: Array, offset: float, frozen: Array, truth: Callable[..., tuple[Array, Array]]) -> None:
        """Measure in all worlds where a sensor is due and has not measured yet, and take what has arrived.

        Args:
            clock: Steps since each world began, shape (worlds,).
            offset: Time at which they begin [s].
            frozen: Worlds in which nothing is measured, shape (worlds,).
            truth: Results of `truth` for some worlds, of their numbers, and of t, turns and before there.
        """
        times, period = offset + self.step * clock, self.every * self.step
        near = np.abs(times - np.rint(times / period) * period) <= slack(float(np.abs(times).max(initial=0.0)), self.step)
        which = np.flatnonzero(near & (self._looked != clock) & ~frozen)
        if not len(which):
            return
        self._looked[which] = clock[which]
        t, n = times[which], len(which)
        clocks = (t, np.rint(t / self._of.period), self._seeds[which], np.zeros(n))
        arrays = {name: x[which] for name, x in self._memory.items()}
        arrays |= {name: np.ascontiguousarray(x, dtype=float)[:, None] for name, x in zip(CLOCK, clocks, strict=True)}
        past = {"before": np.zeros((n, self._of.past))}
        self._first.run(arrays | past, self._given, 1)
        true, kept = truth(which, t, arrays["sensor turns"].reshape(n, -1, 3), past["before"])
        found = {"true": np.ascontiguousarray(true), "keeps": np.ascontiguousarray(kept)}
        self._then.run(arrays | found, self._given, 1)
        for name, x in self._memory.items():
            x[which] = arrays[name]
        self._readings[which] = arrays["sensor received"]


def _places(r: Routine) -> SensingPlaces:
    """Places in a routine that is given the truth: nothing reads the state of the plant."""
    none = r["t"]
    return SensingPlaces(r["t"], r["tick"], none, none, none, r["seed"], r["world"])
