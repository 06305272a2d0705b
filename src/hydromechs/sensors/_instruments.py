"""All sensors of a simulation: compiled once, sampled at their own rates, with errors that a seed decides."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from hydromechs.compiler import compile_function
from hydromechs.contact import Terrain
from hydromechs.equations import identity_of
from hydromechs.integrators import is_multiple, rounding, whole_steps
from hydromechs.model import State
from hydromechs.simulation import Pack, Plant
from hydromechs.values import Array, Scalar

from ._instant import Before, Instant, terrain_of
from ._noise import PERFECT, Noise
from ._sensor import Mounted, Sensor

NONE: Mapping[str, Array] = MappingProxyType({})
BLOCK = 64
"""Samples whose random numbers are drawn at once; the numbers depend on it."""
ONCE = 2**62
"""Block number of what is drawn once: biases, misalignment."""


class Reading(NamedTuple):
    """A measurement that has arrived."""

    sensor: int
    """Number of the sensor."""
    number: int
    """Number of the sample, counted from time 0."""
    time: float
    """Time at which it was measured [s]."""
    value: Array
    """What was measured, shape (n,); NaN where there is nothing."""


def normals(name: str, seeds: Sequence[int], block: int, shape: tuple[int, ...]) -> Array:
    """Standard normal numbers that a name, seeds and a number decide, and nothing else.

    Args:
        seeds: Whole numbers of at least 0.
        block: Number of the block.
        shape: Their shape.
    """
    key = np.random.SeedSequence([*seeds, *name.encode()]).generate_state(2, np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, block, 0, 0])).standard_normal(shape)


def common_period(sensors: Sequence[Sensor]) -> float:
    """Period of the fastest sensor [s], of which all others' must be whole multiples."""
    fastest = max(sensors, key=lambda s: s.rate)
    for s in sensors:
        ratio = fastest.rate / s.rate
        if abs(ratio - round(ratio)) > 1e-6:
            near = [f"{fastest.rate / n:.6g}" for n in (int(ratio), int(ratio) + 1) if n]
            raise ValueError(
                f"sensor {s.name!r} measures at {s.rate:g} Hz, which does not divide the {fastest.rate:g} Hz of "
                f"{fastest.name!r}, the fastest: take {' or '.join(near)} Hz, or another rate there"
            )
    return fastest.period


def whole_periods(period: float, common: float, name: str) -> None:
    """Refuse a period that is no whole number of periods of the fastest sensor.

    Args:
        period: The period [s].
        common: As `common_period` gives it [s].
        name: What has the period, for the message.
    """
    whole_steps(period, common, name, "periods of the fastest sensor,", "another rate")


def _equations(s: Sensor) -> Sensor:
    """A sensor without what its `read` does not depend on: when it measures, and its errors but for whether it is askew."""
    perfect: dict[str, Any] = {f.name: PERFECT for f in fields(s) if isinstance(getattr(s, f.name), Noise)}
    if isinstance(s, Mounted):
        perfect["misalignment"] = float(s.misalignment > 0.0)
    return replace(s, rate=1.0, latency=0.0, dropout=0.0, outages=(), seed=0, **perfect)


class Instruments:
    """The sensors of a plant. What they remember is in an array that the caller keeps.

    Args:
        terrain: Ground that they see besides what the plant can touch.
        lanes: Worlds per vector operation, for `truth` of many worlds.
        threads: Threads that share worlds there.
    """

    def __init__(
        self,
        plant: Plant,
        sensors: Sequence[Sensor],
        step: float,
        terrain: Sequence[Terrain] = (),
        *,
        lanes: int = 1,
        threads: int = 1,
    ) -> None:
        model = plant.model
        names = [s.name for s in sensors]
        for s in sensors:
            if names.count(s.name) > 1:
                raise ValueError(f"two sensors are called {s.name!r}; names must differ")
            s.check(model)
        self.sensors, self.plant, self.step = tuple(sensors), plant, step
        self.channels = [tuple(s.channels(model)) for s in sensors]
        """Channels of each sensor."""
        self.errors = [s.errors(model) for s in sensors]
        """Errors of each sensor."""
        sizes = [len(c) for c in self.channels]
        ends = np.cumsum([0, *sizes]).tolist()
        self.places = [slice(a, b) for a, b in itertools.pairwise(ends)]
        """Where each sensor is among the values of all."""
        shapes: dict[str, tuple[int, ...]] = {}
        for s, n in zip(sensors, sizes, strict=True):
            shapes[f"{s.name} bias"] = (n,)
            shapes[f"{s.name} before"] = (1 + s.kept,)  # 2 + number of the last sample, what it kept
            shapes[f"{s.name} flight"] = (s.in_flight, 2 * n + 2)  # whether there is one, its number, which values, values
        self.pack = Pack(shapes)
        self._off = np.array([s.misalignment if isinstance(s, Mounted) else 0.0 for s in sensors])
        from scipy.special import ndtri  # slow to import, and only sensors need it

        self._missing = [float(ndtri(s.dropout)) for s in sensors]
        self._flow = plant.flow()
        self._draw(plant.seed)
        ground = terrain_of(plant, terrain)
        nv = model.nv
        self._keeping = [s for s in sensors if s.kept]
        kept = np.cumsum([0, *(1 + s.kept for s in self._keeping)]).tolist()
        self._past = kept[-1]
        self._kept = {s.name: slice(a + 1, b) for s, (a, b) in zip(self._keeping, itertools.pairwise(kept), strict=True)}

        def true(t: Scalar, q: Array, x: Array, inputs: Array, turns: Array, before: Array) -> tuple[Array, Array]:
            turned = {s.name: turns[i] for i, s in enumerate(sensors) if self._off[i]}
            past = {name: Before(before[at.start - 1], before[at]) for name, at in self._kept.items()}
            instant = Instant(plant, t, q, x[:nv], x[nv:], inputs, turned, ground, past)
            keep = [part for s in self._keeping for part in ([0.0], s.keep(instant))]
            return np.concatenate([np.asarray(s.read(instant)) for s in sensors]), np.concatenate([*keep, np.zeros(0)])

        arguments = {"t": (), "q": (model.nq,), "x": (nv + plant.layout.nz,), "inputs": (plant.layout.size,)}
        arguments["turns"] = (len(sensors), 3)
        arguments["before"] = (self._past,)
        outputs = {"values": (ends[-1],), "kept": (self._past,)}
        own = (plant.identity, identity_of((*map(_equations, sensors), *ground)))
        identity = None if None in own else " ".join(map(str, own))
        how = {"lanes": lanes, "threads": threads}
        self.truth = compile_function("sensors", true, arguments, outputs, identity, rarely_called=True, **how)
        """What they would measure without errors, and what they keep."""
        self.truth.single_lanes = lanes  # the same bits for one world as for many
        self.truth.code(lanes)

    def _draw(self, seed: int) -> None:
        """Draw what is drawn once."""
        self._seeds = [(seed, s.seed) for s in self.sensors]
        self.turns = np.array([self._once(i, 3) * off for i, off in enumerate(self._off)])
        """Error of the mounting of each sensor, a rotation vector [rad], shape (ns, 3)."""
        self._drawn: dict[int, tuple[int, Array]] = {}

    def seeded(self, seed: int) -> Instruments:
        """The same sensors with errors of another seed than the plant's; nothing is compiled."""
        out = copy.copy(self)
        Instruments._draw(out, seed)
        return out

    def _once(self, i: int, n: int, part: int = 0) -> Array:
        """Numbers that are drawn once for sensor i, shape (n,)."""
        return normals(self.sensors[i].name, self._seeds[i], ONCE + part, (n,))

    def start(self) -> Array:
        """What they remember at the start: biases, nothing in flight, shape (pack.size,)."""
        memory = np.zeros(self.pack.size)
        for i, bias in enumerate(self.pack.views(memory)[f"{s.name} bias"] for s in self.sensors):
            bias[:] = self._once(i, len(bias), 1) * self.errors[i].bias
        return memory

    def _random(self, i: int, number: int) -> Array:
        """Random numbers of one sample of a sensor: noise, walk, drop-out."""
        block, row = divmod(number, BLOCK)
        if i not in self._drawn or self._drawn[i][0] != block:
            self._drawn[i] = block, self.draw_block(i, self._seeds[i][0], block)
        return self._drawn[i][1][row]

    def drawn_width(self, i: int) -> int:
        """How many random numbers a sample of sensor i takes: noise, walk, drop-out."""
        n = len(self.channels[i])
        return (self.sensors[i].draws or n) + n + 1

    def draw_block(self, i: int, seed: int, block: int) -> Array:
        """Random numbers of a block of samples of a sensor, shape (BLOCK, width).

        Args:
            i: Number of the sensor.
            seed: Seed of the run.
            block: Number of the block.
        """
        s = self.sensors[i]
        return normals(s.name, (seed, s.seed), block % ONCE, (BLOCK, self.drawn_width(i)))

    def sample(self, memory: Mapping[str, Array], state: State, parameters: Mapping[str, Array] = NONE) -> list[Reading]:
        """Measure with all sensors that are due; what has arrived. `memory` is changed.

        Args:
            memory: What they remember, by the names of `pack`.
            state: The true state, at a multiple of the fastest sensor's period.
            parameters: Values of open parameters, by name; the model's for those not named.
        """
        arrived, t = [], float(state.t)
        data, _ = self.plant.data(self._flow, t + max(1e-9 * self.step, rounding(t)), parameters)
        inputs, x = np.concatenate([state.command, state.held, data]), np.concatenate([state.v, state.internal])
        before = self.before(memory, np.asarray(t))
        true, kept = self.truth.single_results(np.asarray(t), state.q, x, inputs, self.turns, before)
        for i, s in enumerate(self.sensors):
            flight = memory[f"{s.name} flight"]
            for row in flight:
                if row[0] and row[1] * s.period + s.latency <= t + 1e-6 * self.step:
                    known, value = row[2:].reshape(2, -1)
                    arrived.append(Reading(i, int(row[1]), row[1] * s.period, np.where(known > 0.0, value, np.nan)))
                    row[0] = 0.0
            if not is_multiple(t, s.period, self.step):
                continue
            number = round(t * s.rate)
            if s.kept:
                memory[f"{s.name} before"][0], memory[f"{s.name} before"][1:] = 2 + number, kept[self._kept[s.name]]
            value = self._measure(i, number, t, true[self.places[i]], memory[f"{s.name} bias"])
            if s.in_flight:
                known = np.isfinite(value)
                flight[number % s.in_flight] = [1.0, number, *known, *np.where(known, value, 0.0)]
            else:
                arrived.append(Reading(i, number, t, value))
        return arrived

    def before(self, memory: Mapping[str, Array], t: Array) -> Array:
        """Of each sensor that keeps something, the time since its last measurement, 0 if the last one is missing, and that.

        Args:
            memory: As of `sample`, or of many worlds, shape (..., n) each.
            t: Times [s], shape (...).
        """
        out = np.zeros((*np.shape(t), self._past))
        for s in self._keeping:
            last, at = memory[f"{s.name} before"], self._kept[s.name]
            out[..., at.start - 1] = np.where(last[..., 0] == 1 + np.rint(t * s.rate), s.period, 0.0)
            out[..., at] = last[..., 1:]
        return out

    def missing(self, i: int, t: Array, random: Array) -> Array:
        """Whether measurements of sensor i are missing, shape (n,).

        Args:
            i: Number of the sensor.
            random: Standard normal numbers that decide on drop-outs, shape (n,).
        """
        s = self.sensors[i]
        working = np.array([s.works(float(x)) for x in t]) if s.outages else np.ones(len(t), dtype=bool)
        return ~working | (random < self._missing[i])

    def kept_place(self, name: str) -> slice:
        """Where what a sensor keeps is among that of all."""
        return self._kept[name]

    def _measure(self, i: int, number: int, t: float, true: Array, bias: Array) -> Array:
        s, errors, random, n = self.sensors[i], self.errors[i], self._random(i, number), len(true)
        if number:
            bias += errors.walk * random[-1 - n : -1]
        if self.missing(i, np.array([t]), random[-1:])[0]:
            return np.full(n, np.nan)
        return s.measured(true, bias, random[: -1 - n], errors)
