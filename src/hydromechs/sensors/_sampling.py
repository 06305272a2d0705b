"""Operations at a tick of the fastest sensor as nodes of a routine: arrivals, truth, errors, delay lines."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from hydromechs.compiler import Entries, Recipe, Routine, draw, recipe_of, stream_number
from hydromechs.contact import Terrain
from hydromechs.equations import identity_of
from hydromechs.integrators import whole_steps
from hydromechs.simulation import Plant, SensingPlaces
from hydromechs.spatial import nearest_integer, where
from hydromechs.values import Array, Scalar

from ._instant import Before, Instant, terrain_of
from ._sensor import PERFECT, Errors, Mounted, Noise, Sensor

HUGE = 1e300
"""Upper bound of measurements; comparison with it is false for NaN."""
STREAMS = ("bias", "mounting", "noise", "walk", "dropout")
"""Random number streams of a sensor."""
TIMES = ("ratio", "delay", "period")
"""Timing values of a sensor: sample interval [ticks], latency [ticks], sample interval [s]."""
MORE = 2 + len(TIMES) + len(STREAMS)
"""Number of values per sensor besides the channel values: dropout, misalignment, timing, streams."""
NEVER = -2.0
"""Index for "no sample yet", different from the index before any sample."""


class Readings(NamedTuple):
    """Measurements after a tick; entry k of `fresh` and `number` refers to sensor k."""

    received: Entries
    """Last reading of each sensor; NaN for missing values and before the first reading."""
    last: Entries
    """Last valid value of each channel; NaN before the first value."""
    fresh: Entries
    """1 for each sensor with a reading that arrived at this tick, else 0."""
    number: Entries
    """Indices of the last samples that have arrived."""


def common_period(sensors: Sequence[Sensor]) -> float:
    """Return the period of the fastest sensor [s]; reject other periods that are not integer multiples."""
    fastest = max(sensors, key=lambda s: s.rate)
    for s in sensors:
        ratio = fastest.rate / s.rate
        if abs(ratio - round(ratio)) > 1e-6:
            near = [f"{fastest.rate / n:.6g}" for n in (int(ratio), int(ratio) + 1) if n]
            raise ValueError(
                f"sensor {s.name!r} measures at {s.rate:g} Hz, which does not divide the {fastest.rate:g} Hz of "
                f"{fastest.name!r}, the fastest sensor; set {' or '.join(near)} Hz, or change the rate of {fastest.name!r}"
            )
    return fastest.period


def whole_periods(period: float, common: float, name: str) -> None:
    """Reject a period that is not an integer multiple of the fastest sensor's period.

    `period`: period to check [s]; `common`: result of `common_period` [s]; `name`: description of the period for the message.
    """
    whole_steps(period, common, name, "the period of the fastest sensor", "another rate")


def is_number(x: Scalar) -> Scalar:
    """Return 1 for a number and 0 for NaN, for floats or symbols."""
    return where(abs(x) <= HUGE, 1.0, 0.0)


def part_of(whole: Entries, start: int, size: int) -> Entries:
    """Return a contiguous part of entries."""
    return Entries(whole.array, whole.start + start, size)


def equations_of(s: Sensor) -> Sensor:
    """Return a sensor reduced to the inputs of its `read`: without timing, and without errors except misalignment."""
    perfect: dict[str, Any] = {f.name: PERFECT for f in fields(s) if isinstance(getattr(s, f.name), Noise)}
    if isinstance(s, Mounted):
        perfect["misalignment"] = float(s.misalignment > 0.0)
    return replace(s, rate=1.0, latency=0.0, dropout=0.0, outages=(), seed=0, **perfect)


class SensorNodes:
    """Sensors of a plant as nodes of a routine.

    Random numbers depend only on run seed, world, sensor name, sensor seed, and sample index.

    `terrain`: visible ground in addition to the terrain of the plant.
    """

    def __init__(self, plant: Plant, sensors: Sequence[Sensor], step: float, terrain: Sequence[Terrain] = ()) -> None:
        model = plant.model
        names = [s.name for s in sensors]
        for s in sensors:
            if names.count(s.name) > 1:
                raise ValueError(f"several sensors are named {s.name!r}; use unique names")
            s.check(model)
        self.sensors, self.plant, self.step = tuple(sensors), plant, step
        self.period = common_period(sensors)
        """Tick interval [s]."""
        self.ratios = [round(s.period / self.period) for s in sensors]
        """Number of ticks between samples of each sensor."""
        self.channels = [tuple(s.channels(model)) for s in sensors]
        """Channels of each sensor."""
        self.errors = [s.errors(model) for s in sensors]
        """Error parameters of each sensor."""
        ends = np.cumsum([0, *map(len, self.channels)]).tolist()
        self.places = [slice(a, b) for a, b in itertools.pairwise(ends)]
        """Slice of each sensor in the array of all channel values."""
        self.size = ends[-1]
        """Total number of channels."""
        self._off = np.array([s.misalignment if isinstance(s, Mounted) else 0.0 for s in sensors])
        self._keeping = [i for i, s in enumerate(sensors) if s.kept]
        kept = np.cumsum([0, *(1 + sensors[i].kept for i in self._keeping)]).tolist()
        self._kept = {i: slice(a, b) for i, (a, b) in zip(self._keeping, itertools.pairwise(kept), strict=True)}
        self.past = kept[-1]
        """Size of the array of stored values of all sensors."""
        self.state: dict[str, Array] = self._first_state()
        """Persistent arrays of the routine, with initial values."""
        rows = [np.concatenate([*self.errors[i], self._more(i)]) for i in range(len(sensors))]
        self.inputs: dict[str, Array] = {"sensor errors": np.concatenate(rows)}
        """Input arrays of the routine for a run, with values."""
        self.truth = self._truth(plant, terrain)
        """Program from (t, q, x, inputs, turns, before) to error-free measurements and stored values of sensors."""

    def _first_state(self) -> dict[str, Array]:
        state = {"sensors first": np.ones(1), "sensor bias": np.zeros(self.size)}
        state |= {name: np.full(self.size, np.nan) for name in ("sensor received", "sensor last")}
        state["sensor turns"] = np.zeros(3 * len(self.sensors))
        if self.past:
            state["sensor kept"] = np.zeros(self.past)
            for at in self._kept.values():
                state["sensor kept"][at.start] = NEVER
        for i, s in enumerate(self.sensors):
            state[f"flight {i}"] = np.zeros(max(1, s.in_flight) * (2 + len(self.channels[i])))
        return state

    def _truth(self, plant: Plant, terrain: Sequence[Terrain]) -> Recipe:
        sensors, ground, nv = self.sensors, terrain_of(plant, terrain), plant.model.nv

        def true(t: Scalar, q: Array, x: Array, inputs: Array, turns: Array, before: Array) -> tuple[Array, Array]:
            turned = {s.name: turns[i] for i, s in enumerate(sensors) if self._off[i]}
            past = {sensors[i].name: Before(before[at.start], before[at.start + 1 : at.stop]) for i, at in self._kept.items()}
            instant = Instant(plant, t, q, x[:nv], x[nv:], inputs, turned, ground, past)
            keep = [part for i in self._keeping for part in ([0.0], sensors[i].keep(instant))]
            return np.concatenate([np.asarray(s.read(instant)) for s in sensors]), np.concatenate([*keep, np.zeros(0)])

        given = {"t": (), "q": (plant.model.nq,), "x": (nv + plant.layout.nz,), "inputs": (plant.layout.size,)}
        given |= {"turns": (len(sensors), 3), "before": (self.past,)}
        own = (plant.identity, identity_of((*map(equations_of, sensors), *ground)))
        identity = None if None in own else " ".join(map(str, own))
        outputs = {"values": (self.size,), "kept": (self.past,)}
        return recipe_of("sensors", true, given, outputs, identity=identity)

    # -- nodes --------------------------------------------------------------------------------------------------------------

    def before(self, routine: Routine, at: SensingPlaces) -> tuple[Entries, Entries, Entries, Entries]:
        """Append the operations before the truth; return due sensors, sample indices, mounting errors and stored values."""
        n, r = len(self.sensors), routine
        own = f"{[len(c) for c in self.channels]} {[bool(e.bias.any()) for e in self.errors]} {[bool(x) for x in self._off]}"
        given: dict[str, tuple[int, ...]] = {"seed": (), "world": (), "errors": (len(self.inputs["sensor errors"]),)}
        wanted: dict[str, tuple[int, ...]] = {"first": (), "bias": (self.size,), "turns": (3 * n,)}
        with r.when(r["sensors first"]):
            r.call(
                recipe_of("sensors_begin", self._begin, given, wanted, identity=own),
                [at.seed, at.world, r["sensor errors"]],
                [r["sensors first"], r["sensor bias"], r["sensor turns"]],
            )
        due, number, past = r.scratch("sensor due", n), r.scratch("sensor number", n), r.scratch("sensor before", self.past)
        times = [self._numbers(r, i, 2, len(TIMES)) for i in range(n)]
        given, wanted = {"tick": (), "times": (n, len(TIMES))}, {"due": (n,), "number": (n,)}
        places, results = [at.tick, times], [due, number]
        if self.past:
            given["kept"] = wanted["before"] = (self.past,)
            places.append(r["sensor kept"])
            results.append(past)
        own = f"{n} {[(i, at.start, at.stop) for i, at in self._kept.items()]}"
        r.call(recipe_of("sensors_due", self._due, given, wanted, identity=own), places, results)
        return due, number, r["sensor turns"], past

    def add(self, routine: Routine, at: SensingPlaces, truth: tuple[Entries, Entries] | None = None) -> Readings:
        """Append all operations of a tick. `truth` contains results of the program `truth`, which is called if omitted."""
        r, n = routine, len(self.sensors)
        due, number, turns, past = self.before(r, at)
        fresh, arrived = r.scratch("sensor fresh", n), r.scratch("sensor arrived", n)
        if truth is None:
            truth = r.scratch("sensor truth", self.size), r.scratch("sensor keeps", self.past)
            r.call(self.truth, [at.t, at.q, at.x, at.inputs, turns, past], [*truth])
        true, kept = truth
        r.call(recipe_of("sensors_none", lambda: (np.zeros(n),), {}, {"fresh": (n,)}, identity=str(n)), [], [fresh])
        for i, s in enumerate(self.sensors):
            here = part_of(fresh, i, 1), part_of(arrived, i, 1)
            if s.in_flight:
                self._arrive(r, at, i, *here)
            with r.when(part_of(due, i, 1)):
                self._measure(r, at, i, part_of(number, i, 1), true)
                if s.kept:
                    place = self._kept[i]
                    r.copy(part_of(number, i, 1), r.part("sensor kept", place.start, 1))
                    r.copy(part_of(kept, place.start + 1, s.kept), r.part("sensor kept", place.start + 1, s.kept))
                if not s.in_flight:
                    self._arrive(r, at, i, *here)
        return Readings(r["sensor received"], r["sensor last"], fresh, arrived)

    def _received(self, r: Routine, i: int) -> list[Entries]:
        at = self.places[i]
        return [r.part(name, at.start, at.stop - at.start) for name in ("sensor received", "sensor last")]

    def _more(self, i: int) -> list[float]:
        s = self.sensors[i]
        delay = float(math.ceil((s.latency - 1e-6 * self.step) / self.period - 1e-12)) if s.in_flight else 0.0
        own = f" {s.seed}" if s.seed else ""
        streams = [float(stream_number(f"{s.name} {what}{own}")) for what in STREAMS]
        return [s.dropout, float(self._off[i]), float(self.ratios[i]), delay, s.period, *streams]

    def _row(self, i: int) -> slice:
        sizes = [6 * len(c) + MORE for c in self.channels]
        return slice(sum(sizes[:i]), sum(sizes[: i + 1]))

    def _numbers(self, r: Routine, i: int, start: int, size: int) -> Entries:
        """Return a slice of a sensor's values that follow the channel values."""
        return r.part("sensor errors", self._row(i).stop - MORE + start, size)

    def _begin(self, seed: Scalar, world: Scalar, errors: Array) -> tuple[Scalar, Array, Array]:
        bias: list[Scalar] = []
        turns: list[Scalar] = []
        for i, (e, off) in enumerate(zip(self.errors, self._off, strict=True)):
            m = len(e.bias)
            row = errors[self._row(i)]
            streams = row[-len(STREAMS) :]
            bias += list(row[2 * m : 3 * m] * draw(m, seed, world, streams[0], 0.0)) if e.bias.any() else [0.0] * m
            turns += list(row[6 * m + 1] * draw(3, seed, world, streams[1], 0.0)) if off else [0.0] * 3
        return 0.0, np.array(bias), np.array(turns)

    def _due(self, tick: Scalar, times: Array, kept: Array | None = None) -> tuple[Array, ...]:
        """Return due sensors, sample indices, and stored values with their age; the age is 0 if they are outdated."""
        due = [where(tick % ratio == 0.0, 1.0, 0.0) for ratio in times[:, 0]]
        number = [where(on, nearest_integer(tick / ratio), 0.0) for on, ratio in zip(due, times[:, 0], strict=True)]
        if kept is None:
            return np.array(due), np.array(number)
        before: list[Scalar] = []
        for i, at in self._kept.items():
            before += [where(kept[at.start] + 1.0 == number[i], times[i, 2], 0.0), *kept[at.start + 1 : at.stop]]
        return np.array(due), np.array(number), np.array(before)

    def _arrive(self, r: Routine, at: SensingPlaces, i: int, fresh: Entries, arrived: Entries) -> None:
        """Append the arrival of samples whose latency has elapsed; the newest sample is used."""
        m, flight, here = len(self.channels[i]), r[f"flight {i}"], r.scratch("sensor here", 1)
        received, last = self._received(r, i)
        given: dict[str, tuple[int, ...]] = {"tick": (), "times": (len(TIMES),), "there": (), "sample": ()}
        arrival = recipe_of("sensor_arrival", _arrival, given, {"here": (), "there": ()}, identity="arrival")
        for k in reversed(range(max(1, self.sensors[i].in_flight))):
            there, sample, values = (part_of(flight, k * (2 + m) + a, size) for a, size in ((0, 1), (1, 1), (2, m)))
            r.call(arrival, [at.tick, self._numbers(r, i, 2, len(TIMES)), there, sample], [here, there])
            with r.when(here):
                for source, target in ((here, fresh), (sample, arrived), (values, received)):
                    r.copy(source, target)
        with r.when(fresh):
            given = {"received": (m,), "last": (m,)}
            r.call(recipe_of("sensor_last", _latest, given, {"last": (m,)}, identity=str(m)), [received, last], [last])

    def _measure(self, r: Routine, at: SensingPlaces, i: int, number: Entries, true: Entries) -> None:
        """Append a sample of one sensor to its delay line; earlier samples move by one position."""
        s, place, row, e = self.sensors[i], self.places[i], self._row(i), self.errors[i]
        m, flight = place.stop - place.start, r[f"flight {i}"]
        for k in reversed(range(1, s.in_flight)):
            r.copy(part_of(flight, (k - 1) * (2 + m), 2 + m), part_of(flight, k * (2 + m), 2 + m))
        bias = r.part("sensor bias", place.start, m)
        given: dict[str, tuple[int, ...]] = {"t": (), "number": (), "seed": (), "world": (), "true": (m,), "bias": (m,)}
        given["errors"] = (row.stop - row.start,)
        pieces = [at.t, number, at.seed, at.world, part_of(true, place.start, m), bias]
        pieces.append(r.part("sensor errors", row.start, row.stop - row.start))
        equations = identity_of((replace(equations_of(s), name="sensor"), s.outages))
        kinds = [bool(np.any(x)) for x in e], bool(np.isinf(e.limit).all()), s.dropout > 0.0
        own = None if equations is None else f"{equations} {kinds}"
        recipe = recipe_of("sensor_sample", self._sample(i), given, {"bias": (m,), "sample": (2 + m,)}, identity=own)
        r.call(recipe, pieces, [bias, part_of(flight, 0, 2 + m)])

    def _sample(self, i: int) -> Callable[..., tuple[Any, ...]]:
        s, found = self.sensors[i], self.errors[i]
        m = len(found.bias)

        def sample(
            t: Scalar, number: Scalar, seed: Scalar, world: Scalar, true: Array, bias: Array, errors: Array
        ) -> tuple[Any, ...]:
            given = [errors[k * m : (k + 1) * m] if np.any(x) else x for k, x in enumerate(found)]
            if np.isinf(found.limit).all():
                given[5] = found.limit
            e, streams = Errors(*given), errors[-len(STREAMS) :]
            if found.walk.any():
                step = e.walk * draw(m, seed, world, streams[3], number)
                bias = np.array([where(number > 0.0, b + d, b) for b, d in zip(bias, step, strict=True)])
            noisy = s.draws > 0 or found.deviation.any()
            random = draw(s.draws or m, seed, world, streams[2], number) if noisy else np.zeros(m)
            y = list(s.measured(true, bias, random, e))
            working: Scalar = 1.0
            for begin, end in s.outages:
                working = working * where((t >= begin - 1e-9) * (t < end - 1e-9), 0.0, 1.0)
            if s.dropout:
                (chance,) = draw(1, seed, world, streams[4], number, normal=False)
                working = working * where(chance < errors[6 * m], 0.0, 1.0)
            y = [where(working, x, math.nan) for x in y]
            return bias, np.array([1.0, number, *y])

        return sample


def _arrival(tick: Scalar, times: Array, there: Scalar, sample: Scalar) -> tuple[Scalar, Scalar]:
    """Return 1 if a sample arrives, and 1 if it remains in transit."""
    here = there * where(sample * times[0] + times[1] <= tick, 1.0, 0.0)
    return here, there - here


def _latest(received: Array, last: Array) -> tuple[Array]:
    """Return the last valid value of each channel, updated by received values."""
    return (np.array([where(is_number(new), new, old) for new, old in zip(received, last, strict=True)]),)
