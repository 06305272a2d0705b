"""The sensors of many worlds: measured together in compiled code, each world with errors that its own seed decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hydromechs.compiler import Compiled
from hydromechs.contact import Terrain
from hydromechs.integrators import slack, whole_steps
from hydromechs.simulation import Plant
from hydromechs.values import Array

from ._instruments import BLOCK, Instruments, common_period
from ._sensor import Sensor


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
        self.every = whole_steps(common_period(sensors), step, "the period of the fastest sensor")
        """Steps from one look at the sensors to the next."""
        self._of = Instruments(plant, sensors, step, terrain, lanes=lanes, threads=threads)
        self.sensors, self.step = self._of.sensors, step
        self.readings = {s.name: np.full((worlds, len(c)), np.nan) for s, c in zip(sensors, self._of.channels, strict=True)}
        """The last measurement of each sensor that has arrived, by name, shape (worlds, n); NaN where there is nothing."""
        self._memory = np.zeros((worlds, self._of.pack.size))
        self._turns = np.zeros((worlds, len(sensors), 3))
        self._seeds = np.zeros(worlds, dtype=object)
        self._blocks = np.full((len(sensors), worlds), -1)
        self._drawn = [np.zeros((worlds, BLOCK, self._of.drawn_width(i))) for i in range(len(sensors))]
        self._looked = np.full(worlds, -1.0)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Names of the numbers of each sensor, by its name."""
        return {s.name: tuple(c.label for c in channels) for s, channels in zip(self.sensors, self._of.channels, strict=True)}

    def begin(self, which: Array, seeds: Sequence[int]) -> None:
        """Set up worlds at their start, each with its seed: biases and misalignments are drawn, nothing has been measured."""
        for world, seed in zip(which, seeds, strict=True):
            one = self._of.seeded(int(seed))
            self._memory[world], self._turns[world] = one.start(), one.turns
            self._seeds[world] = int(seed)
        self._blocks[:, which], self._looked[which] = -1, -1.0
        for values in self.readings.values():
            values[which] = np.nan

    @property
    def truth(self) -> Compiled:
        """What sensors would measure without errors, and what they keep, of (t, q, x, inputs, turns, before)."""
        return self._of.truth

    def look(self, clock: Array, offset: float, frozen: Array, truth: Callable[..., tuple[Array, Array]]) -> None:
        """Measure in all worlds where a sensor is due and has not measured yet, and take what has arrived.

        Args:
            clock: Steps since each world began, shape (worlds,).
            offset: Time at which they begin [s].
            frozen: Worlds in which nothing is measured, shape (worlds,).
            truth: Results of `truth` for some worlds, of their numbers, and of t, turns and before there.
        """
        times = offset + self.step * clock
        due = self._multiple(times, self.every * self.step) & (self._looked != clock) & ~frozen
        which = np.flatnonzero(due)
        if not len(which):
            return
        self._looked[which] = clock[which]
        t, memory = times[which], self._memory[which]
        views = self._of.pack.views_of_rows(memory)
        true, kept = truth(which, t, self._turns[which], self._of.before(views, t))
        for i, s in enumerate(self.sensors):
            self._arrive(s, which, views[f"{s.name} flight"], t)
            now = np.flatnonzero(self._multiple(t, s.period))
            if len(now):
                self._measure(i, s, which, now, t, views, true[:, self._of.places[i]], kept)
        self._memory[which] = memory

    def _multiple(self, t: Array, period: float) -> Array:
        """Whether times are multiples of a period, see `is_multiple`."""
        return np.abs(t - np.rint(t / period) * period) <= slack(float(np.abs(t).max(initial=0.0)), self.step)

    def _arrive(self, s: Sensor, which: Array, flight: Array, t: Array) -> None:
        """Take measurements whose latency is over; of several, the one that stands last, as a simulation does."""
        for k in range(s.in_flight):
            row = flight[:, k]
            there = (row[:, 0] > 0.0) & (row[:, 1] * s.period + s.latency <= t + 1e-6 * self.step)
            known, value = np.split(row[there, 2:], 2, axis=1)
            self.readings[s.name][which[there]] = np.where(known > 0.0, value, np.nan)
            row[there, 0] = 0.0

    def _measure(
        self, i: int, s: Sensor, which: Array, now: Array, t: Array, views: dict[str, Array], true: Array, kept: Array
    ) -> None:
        """Measure with one sensor in the worlds `which[now]`; `views` are changed."""
        number = np.rint(t[now] * s.rate).astype(int)
        if s.kept:
            views[f"{s.name} before"][now, 0] = 2 + number
            views[f"{s.name} before"][now, 1:] = kept[now][:, self._of.kept_place(s.name)]
        random, n = self._random(i, which[now], number), true.shape[1]
        errors, bias = self._of.errors[i], views[f"{s.name} bias"]
        bias[now] += np.where(number[:, None] != 0, errors.walk * random[:, -1 - n : -1], 0.0)
        if type(s).measured is Sensor.measured:
            value = s.measured(true[now], bias[now], random[:, : -1 - n], errors)
        else:  # written for one world
            value = np.array([s.measured(true[j], bias[j], random[k, : -1 - n], errors) for k, j in enumerate(now)])
        value = np.where(self._of.missing(i, t[now], random[:, -1])[:, None], np.nan, value)
        if s.in_flight:
            known = np.isfinite(value)
            head = np.stack([np.ones(len(now)), number], axis=1)
            row = np.concatenate([head, known, np.where(known, value, 0.0)], axis=1)
            views[f"{s.name} flight"][now, number % s.in_flight] = row
        else:
            self.readings[s.name][which[now]] = value

    def _random(self, i: int, worlds: Array, number: Array) -> Array:
        """Random numbers of one sample of a sensor in each of some worlds, shape (len(worlds), width)."""
        block = number // BLOCK
        for k in np.flatnonzero(self._blocks[i, worlds] != block):
            self._drawn[i][worlds[k]] = self._of.draw_block(i, self._seeds[worlds[k]], int(block[k]))
        self._blocks[i, worlds] = block
        return self._drawn[i][worlds, number % BLOCK]
