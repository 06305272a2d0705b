"""Statistics for quantities and checks of a mission, accumulated in compiled code at each sample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.compiler import Entries, Routine
from hydromechs.errors import UnsupportedFeature
from hydromechs.recording import Check, CheckResult, angle_difference, period_of
from hydromechs.spatial import where
from hydromechs.values import Array, Scalar

from ._events import Event
from ._programs import PlantPrograms
from ._quantities_now import QuantitiesNow
from ._run_warnings import CAPSIZED, tilt_between, vehicles


class Statistics(NamedTuple):
    """Statistics of a quantity, one value per world; NaN samples are included only in `final`."""

    final: Array
    """Last value [unit of the quantity], shape (worlds,)."""
    min: Array
    """Minimum [unit of the quantity], shape (worlds,)."""
    max: Array
    """Maximum [unit of the quantity], shape (worlds,)."""
    rms: Array
    """Root mean square [unit of the quantity], shape (worlds,)."""


class _Sums(NamedTuple):
    """Accumulators of a series of samples."""

    number: Scalar | Array = 0.0
    last: Scalar | Array = math.nan
    min: Scalar | Array = math.inf
    max: Scalar | Array = -math.inf
    sum: Scalar | Array = 0.0
    squares: Scalar | Array = 0.0

    def with_sample(self, x: Scalar, use: Scalar) -> _Sums:
        """Return the accumulators after a sample, if `use` is not 0; minimum and maximum ignore NaN."""
        new = self.number + 1.0, x, where(x < self.min, x, self.min), where(x > self.max, x, self.max), self.sum + x
        return _Sums(*(where(use != 0.0, a, b) for a, b in zip((*new, self.squares + x * x), self, strict=True)))

    def statistic(self, name: str, shift: Array | float = 0.0) -> Array:
        """Return a statistic, one of `recording.STATISTICS`, of the samples minus a shift; NaN without samples."""
        with np.errstate(all="ignore"):
            mean, unknown = self.sum / self.number, np.isnan(self.sum)
            squares = self.squares / self.number - 2.0 * shift * mean + shift * shift
            low, high = (np.where(unknown, math.nan, x - shift) for x in (self.min, self.max))
            found = {"last": self.last - shift, "min": low, "max": high, "mean": mean - shift}
            found |= {"rms": np.sqrt(np.maximum(squares, 0.0)), "max_abs": np.maximum(np.abs(low), np.abs(high))}
            return np.where(self.number > 0.0, found[name], math.nan)


SIZE = len(_Sums._fields)
TILT = 4
"""Count of numbers per vehicle: initial vertical in body axes, and minimum cosine of the tilt from this vertical."""
CHECK = SIZE + 3
"""Count of numbers per check: accumulators, then count, first value and sum of the samples whose mean is subtracted."""


class Reduction:
    """Accumulators of checks and quantities, whose size does not depend on the duration of a run.

    The numbers of a world are the count of its samples and the initial energy residual, followed by the numbers of checks,
    quantities and vehicles.

    `quantities`: names of quantities. `signals`: units of the signals of blocks, keyed by signal.
    """

    def __init__(
        self, programs: PlantPrograms, checks: Sequence[Check], quantities: Sequence[str], signals: Mapping[str, str]
    ) -> None:
        self.checks, self.quantities = tuple(checks), tuple(quantities)
        self._names = list(dict.fromkeys([*(c.quantity for c in checks), *quantities]))
        for name in self._names:
            if name.partition(".")[0] == "orientation":
                raise UnsupportedFeature(
                    f"statistics of {name!r} are not available in many worlds; use roll, pitch, heading or tilt, or "
                    "keep the samples"
                )
        for c in checks:
            if self._late(c) and period_of(c.quantity) is not None:
                raise UnsupportedFeature(
                    f"check {c.name!r}: `mean_of` ends at {c.mean_of[1] if c.mean_of else 0:g} s, after the first sample of "
                    f"the angle at {c.after:g} s; set `after` to the end of `mean_of`, or use `samples=True`"
                )
        self._vehicles = sorted(vehicles(programs.plant))
        self._now = QuantitiesNow(programs, self._names, signals, self._vehicles)
        none, level = [*_Sums()], [0.0, 0.0, 0.0, 1.0] * len(self._vehicles)
        self.first = np.array([0.0, 0.0, *[*none, 0.0, 0.0, 0.0] * len(checks), *none * len(quantities), *level])
        """Initial accumulators of a world, shape (n,)."""

    @staticmethod
    def _late(check: Check) -> bool:
        """True if the subtracted mean becomes known only after samples of the check."""
        return check.mean_of is not None and check.mean_of[1] > check.after

    def add(self, r: Routine, t: Entries, parts: Mapping[str, Entries], totals: Entries) -> None:
        """Append a sample of the current instant to a routine; see `QuantitiesNow.call`."""
        rows = [(c.quantity, c.statistic, c.target, c.after, c.before, c.mean_of) for c in self.checks]
        identity = repr((rows, self.quantities))
        self._now.call(r, t, parts, self._sampled, {"totals": totals}, "statistics", identity)

    def _parts(self, totals: Array) -> tuple[Array, Array, Array]:
        """Return the numbers of checks, quantities and vehicles, shapes (..., n, CHECK), (..., n, SIZE) and (..., n, TILT)."""
        lead, a = totals.shape[:-1], 2 + CHECK * len(self.checks)
        b = a + SIZE * len(self.quantities)
        checks, quantities, tilts = totals[..., 2:a], totals[..., a:b], totals[..., b:]
        shapes = (len(self.checks), CHECK), (len(self.quantities), SIZE), (len(self._vehicles), TILT)
        return checks.reshape(*lead, *shapes[0]), quantities.reshape(*lead, *shapes[1]), tilts.reshape(*lead, *shapes[2])

    def _sampled(self, t: Scalar, found: Sequence[Scalar], totals: Array) -> tuple[Array]:
        """Return `totals` after a sample of the values `found` at time `t` [s]."""
        named, verticals = found[: len(self._names)], found[len(self._names) :]
        values, residual = dict(zip(self._names, named, strict=True)), totals[1]
        if "energy_residual" in values:
            residual = where(totals[0] == 0.0, values["energy_residual"], residual)
            values["energy_residual"] = values["energy_residual"] - residual
        out: list[Scalar] = [totals[0] + 1.0, residual]
        checks, quantities, tilts = self._parts(totals)
        for c, row in zip(self.checks, checks, strict=True):
            x, period, (number, near, total) = values[c.quantity], period_of(c.quantity), row[SIZE:]
            target: Scalar = c.target
            if c.mean_of is not None:
                within = where(t >= c.mean_of[0], where(t < c.mean_of[1], 1.0, 0.0), 0.0)
                near = where(number == 0.0, x, near)
                number, total = number + within, where(within != 0.0, total + angle_difference(x - near, period), total)
                target = target if self._late(c) else target + near + total / number
            inside = where(t >= c.after, 1.0, 0.0)
            inside = inside if c.before is None else where(t < c.before, inside, 0.0)
            out += _Sums(*row[:SIZE]).with_sample(angle_difference(x - target, period), inside)
            out += [number, near, total]
        for name, row in zip(self.quantities, quantities, strict=True):
            x = values[name]
            is_number = where(x < 1.0, 1.0, where(x >= 1.0, 1.0, 0.0))
            out += _Sums(*row).with_sample(x, is_number)._replace(last=x)
        for k, row in enumerate(tilts):
            vertical = verticals[3 * k : 3 * k + 3]
            first = [where(totals[0] == 0.0, now, before) for now, before in zip(vertical, row[:3], strict=True)]
            cosine = sum((a * b for a, b in zip(first, vertical, strict=True)), 0.0)
            out += [*first, where(cosine < row[3], cosine, row[3])]
        return (np.array(out),)

    def judge(self, totals: Array) -> list[list[CheckResult]]:
        """Return the results of the checks, one list per world, from `totals`, shape (worlds, n)."""
        columns = [c.results(x.tolist()) for c, x in zip(self.checks, self.values(totals).T, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in totals]

    def values(self, totals: Array) -> Array:
        """Return the statistic of each check in each world, shape (worlds, checks), from `totals`, shape (worlds, n)."""
        columns = []
        for k, c in enumerate(self.checks):
            row = self._parts(totals)[0][:, k].T
            shift: Array | float = 0.0
            if self._late(c):
                with np.errstate(all="ignore"):
                    shift = row[SIZE + 1] + row[SIZE + 2] / row[SIZE]
            columns.append(_Sums(*row[:SIZE]).statistic(c.statistic, shift))
        return np.array(columns, dtype=float).reshape(len(columns), len(totals)).T

    def capsized(self, totals: Array) -> Array:
        """Return True for each world in which a vehicle capsized, as in `run_warnings`, from `totals`, shape (worlds, n)."""
        tilts = tilt_between(self._parts(totals)[2][..., 3])
        return np.any(tilts > CAPSIZED, axis=-1)

    def statistics(self, totals: Array, quantity: str) -> Statistics:
        """Return the statistics of a quantity in each world, from `totals`, shape (worlds, n)."""
        if quantity not in self.quantities:
            raise KeyError(f"statistics of {quantity!r} were not accumulated; add the quantity to watch=[...]")
        sums = _Sums(*self._parts(totals)[1][:, self.quantities.index(quantity)].T)
        return Statistics(sums.last, *(sums.statistic(name) for name in ("min", "max", "rms")))


IN_PYTHON = ("time", "work", "energy_residual", "orientation")
"""Quantities without a compiled guard: time, orientation, and quantities that depend on the history of a run."""


class Guards:
    """Compiled guards of events, except events that watch a quantity in `IN_PYTHON`.

    `events`: events of a mission. `signals`: units of the signals of blocks, keyed by signal.
    """

    def __init__(self, programs: PlantPrograms, events: Sequence[Event], signals: Mapping[str, str]) -> None:
        self.events = [e for e in events if e.quantity.partition(".")[0] not in IN_PYTHON]
        """Events with compiled guards."""
        self._quantities = QuantitiesNow(programs, [e.quantity for e in self.events], signals)

    def add(self, r: Routine, t: Entries, parts: Mapping[str, Entries], last: Entries, paused: Entries) -> None:
        """Append a check of the guards at the current instant to a routine; see `QuantitiesNow.call`."""
        identity = repr([(e.level, e.direction, period_of(e.quantity)) for e in self.events])
        self._quantities.call(r, t, parts, self._look, {"last": last, "paused": paused}, "guards", identity)

    def _look(self, t: Scalar, values: Sequence[Scalar], last: Array, paused: Array) -> tuple[Array, Array]:
        """Return new values of the guards and the pause flag; if a guard crosses 0, the world pauses with the old values."""
        out, now = paused[0], []
        for e, value, before in zip(self.events, values, last, strict=True):
            period = period_of(e.quantity)
            off = angle_difference(value - e.level, period)
            rising = where(before < 0.0, where(off >= 0.0, 1.0, 0.0), 0.0)
            falling = where(before > 0.0, where(off <= 0.0, 1.0, 0.0), 0.0)
            crossed = {"rising": rising, "falling": falling, "either": rising + falling}[e.direction]
            if period is not None:
                crossed = where(abs(off - before) > 0.5 * period, 0.0, crossed)
            out = where(crossed != 0.0, 1.0, out)
            now.append(off)
        return np.array([where(out != 0.0, a, b) for a, b in zip(last, now, strict=True)]), np.array([out])
