"""Likely errors in the signals of a log, and clock offsets."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from ._logs import LogFile

TURNS = {"roll": 3.3, "pitch": 1.7}
"""Maximum plausible 90th percentile of absolute angles [rad]; yaw may be up to two turns."""
QUICK, BEYOND = 4.0, 0.3
"""Maximum plausible 90th percentiles of joint speed [rad/s] and of the excess over joint limits [rad]."""
FAR, RARE = 20.0, 0.05
"""Ratio to the median deviation from the running median that marks a suspect sample, and maximum fraction of such samples."""
HANGS = 0.2
"""Maximum fraction of the duration of a log for which a signal may be exactly constant."""
FAST = 10.0
"""Maximum plausible 90th percentile of speed [m/s]."""
NEAR_DEGREES = (30.0, 110.0)
"""Range of the ratio of measured rates to attitude rates that indicates degrees per second [-]."""
MOVES = math.radians(0.5)
"""Minimum standard deviation of attitude rates at which measured rates are checked [rad/s]."""
ALIKE = 0.7
"""Minimum correlation of two signals of one motion."""


def check_units(
    log: LogFile,
    quantities: Mapping[str, str],
    attitude: Mapping[str, np.ndarray] | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None,
) -> None:
    """Reject columns whose values are implausible in m, rad, m/s and rad/s, and name their likely unit.

    `quantities` maps quantities to columns. Rates are compared with `attitude`, roll, pitch and yaw of the same instrument
    [rad], shape (n,) each. Joints are compared with their `limits` [rad].
    """
    angles = dict(attitude or {})
    for quantity, name in quantities.items():
        x = log.column(name)
        if quantity in ("roll", "pitch", "yaw") or quantity.startswith("joint"):
            _check_angle(log, quantity, name, (limits or {}).get(quantity))
            if not quantity.startswith("joint"):
                angles.setdefault(quantity, x)
        elif quantity in "xyz":
            speed = _speed(log, x)
            if speed > FAST:
                raise ValueError(f"{log.name}: {name} moves at {speed:.3g} m/s; if it is in mm, {_remedy(name, 'mm')}")
    for rate, angle in (("p", "roll"), ("q", "pitch"), ("r", "yaw")):
        if rate in quantities and angle in angles:
            _check_rate(log, quantities[rate], angles[angle], quantities.get(angle, angle))


def _check_angle(log: LogFile, quantity: str, name: str, limits: tuple[float, float] | None) -> None:
    x, why = log.column(name), ""
    if np.percentile(np.abs(x), 90) > TURNS.get(quantity, 4.0 * math.pi):
        why = f"is {np.abs(x).max():.4g} rad"
    elif limits is not None and np.percentile(np.maximum(limits[0] - x, x - limits[1]), 90) > BEYOND:
        why = f"ranges from {x.min():.4g} to {x.max():.4g} rad, but the joint limits are {limits[0]:.4g} to {limits[1]:.4g} rad"
    elif quantity.startswith("joint") and _speed(log, x) > QUICK:
        why = f"turns at {_speed(log, x):.3g} rad/s"
    if why:
        raise ValueError(f"{log.name}: {name} {why}; {_remedy(name, 'deg')}, or {{{name}: rad}} to confirm rad")


def _check_rate(log: LogFile, name: str, angle: np.ndarray, of: str) -> None:
    """Reject a rate or an angle if only one of them seems to be in degrees."""
    turns, rate = float(np.std(np.gradient(angle, log.time))), float(np.std(log.column(name)))
    if NEAR_DEGREES[0] * turns < rate < NEAR_DEGREES[1] * turns and turns > MOVES:
        raise ValueError(
            f"{log.name}: {name} is {rate / turns:.3g} times the attitude rate; if it is in deg/s, {_remedy(name, 'deg/s')}"
        )
    if NEAR_DEGREES[0] * rate < turns < NEAR_DEGREES[1] * rate and rate > MOVES:
        raise ValueError(
            f"{log.name}: {of} turns {turns / rate:.3g} times as fast as {name}; if it is in degrees, {_remedy(of, 'deg')}"
        )


def _speed(log: LogFile, x: np.ndarray) -> float:
    return float(np.percentile(np.abs(np.diff(x)) / np.diff(log.time), 90))


def far_off(log: LogFile, columns: Mapping[str, str], span: float) -> tuple[str, ...]:
    """Return notes on samples far from the running median over `span` [s]."""
    notes = []
    for name, remedy in columns.items():
        x, off = log.column(name), log.off_median(name, span)
        low, high = np.percentile(x, [1.0, 99.0])
        far = (off > FAR * float(np.median(off))) & (off > 0.5 * (high - low))
        if 0 < far.sum() <= RARE * len(x):
            k = int(np.argmax(off))
            notes.append(
                f"{log.name}: {int(far.sum())} samples of {name} deviate from the running median by up to {off[k]:.3g}, "
                f"at {log.time[k]:.2f} s; if they are outliers, {remedy}"
            )
    return tuple(notes)


def hanging(log: LogFile, columns: Iterable[str]) -> tuple[str, ...]:
    """Return notes on the named signals that are exactly constant for a long time but not always."""
    notes = []
    for name in columns:
        x = log.column(name)
        first, last = _longest_hold(x)
        if last - first + 1 < len(x) and log.time[last] - log.time[first] > HANGS * (log.time[-1] - log.time[0]):
            notes.append(
                f"{log.name}: {name} is {x[first]:.6g} exactly from {log.time[first]:.2f} to {log.time[last]:.2f} s; "
                "check the sensor"
            )
    return tuple(notes)


def _longest_hold(x: np.ndarray) -> tuple[int, int]:
    ends = np.concatenate([np.flatnonzero(np.diff(x) != 0.0), [len(x) - 1]])
    starts = np.concatenate([[0], ends[:-1] + 1])
    k = int(np.argmax(ends - starts))
    return int(starts[k]), int(ends[k])


def _remedy(column: str, unit: str) -> str:
    return f"set units: {{{column}: {unit}}} for this log"


def resampled(log: LogFile, rate: float) -> LogFile:
    """Return the log with the sample nearest to each tick of a regular grid; ticks without a sample are omitted.

    Samples keep their measured values and times; pauses are not filled.
    """
    tick = np.round((log.time - log.time[0]) * rate)
    off = np.abs(log.time - log.time[0] - tick / rate)
    order = np.lexsort((off, tick))
    first = np.concatenate([[True], np.diff(tick[order]) > 0.0])
    good = np.zeros(len(tick), dtype=bool)
    good[order[first]] = True
    had = (len(tick) - 1) / (log.time[-1] - log.time[0])
    if good.all():
        return log
    return log.keeping(
        good, f"{log.name}: resampled from {had:.3g} to {rate:g} Hz; {int(good.sum())} of {len(good)} samples remain"
    )


def aligned(log: LogFile, column: np.ndarray, other: LogFile, reference: np.ndarray, most: float) -> tuple[LogFile, float]:
    """Return the log on the clock of another log, and the shift of maximum correlation between two signals [s].

    A signal of the log, `column`, shape (n,), and a signal of the other log, `reference`, shape (m,), agree up to a
    constant and a factor. The shift, at most `most` [s], is located on a fine grid and refined by a parabola.
    """
    h = 0.5 * min(float(np.median(np.diff(log.time))), float(np.median(np.diff(other.time))))
    k = max(1, int(np.ceil(most / h)))
    shifts = h * np.arange(-k, k + 1)
    start, end = max(log.time[0], other.time[0]) + most, min(log.time[-1], other.time[-1]) - most
    grid = np.arange(start, end, h)
    if len(grid) < 10:
        raise ValueError(
            f"{log.name} and {other.name} overlap by {max(0.0, end - start + 2 * most):.2f} s, "
            "too short to align clocks; remove align"
        )
    r = np.interp(grid, other.time, reference)
    alike = np.array([_correlation(np.interp(grid - s, log.time, column), r) for s in shifts])
    if not np.isfinite(alike).any() or np.nanmax(np.abs(alike)) < ALIKE:
        raise ValueError(
            f"the correlation of {log.name} and {other.name} is at most {np.nanmax(np.abs(alike)):.2f}, below {ALIKE}; "
            "choose other signals in align"
        )
    best = int(np.nanargmax(np.abs(alike)))
    shift = float(shifts[best])
    if best in (0, 2 * k):
        raise ValueError(f"the clocks of {log.name} and {other.name} differ by {most:g} s or more; increase align.most")
    a, b, c = alike[best - 1 : best + 2]
    bend = a - 2.0 * b + c
    shift += 0.5 * h * float((a - c) / bend) if bend else 0.0
    note = f"{log.name}: the clock was shifted by {shift:+.4f} s to the clock of {other.name} (correlation {alike[best]:.3f})"
    return replace(log, time=log.time + shift, notes=(*log.notes, note)), shift


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size else math.nan
