"""Prescribed joint motions as functions of time: interface, sines, constant speed, and recorded signals.

Units apply to revolute joints; for prismatic joints, replace rad by m.
"""

from __future__ import annotations

import abc
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from hydromechs import files
from hydromechs.errors import FieldError
from hydromechs.model import GIVEN
from hydromechs.registry import Degrees
from hydromechs.values import Checked, Finite, NotNegative, Positive, Scalar, nearest

__all__ = ["TYPES", "Motion", "MotionNow", "Recorded", "Sine", "Steady", "recorded_file"]

DIFFERENCE = 1e-4
"""Step of the finite differences that check a custom motion [s]."""
AGREE = 1e-5
"""Tolerance between rates and finite differences, relative to the larger value, or absolute below 1."""


class MotionNow(NamedTuple):
    """Motion at one instant."""

    position: Scalar
    """Position [rad]."""
    velocity: Scalar
    """Velocity [rad/s]."""
    acceleration: Scalar
    """Acceleration [rad/s²]."""


class Motion(abc.ABC):
    """Base class of motions. For a custom motion, derive a frozen dataclass and implement `at` in NumPy operations."""

    __slots__ = ()
    timed: ClassVar[tuple[str, ...]] = ()
    """Names of numbers that change at known times; empty for formulas."""

    def timed_values(self, t: float) -> tuple[Sequence[float], float]:
        """Return the numbers in `timed` at a time [s], and the time until which they are valid [s]."""
        return (), math.inf

    @abc.abstractmethod
    def at(self, t: Scalar, x: Sequence[Scalar]) -> MotionNow:
        """Return position, velocity and acceleration; x contains the numbers in `timed`."""

    def now(self, t: float) -> MotionNow:
        """Return the motion at a time [s] as numbers."""
        return MotionNow(*(float(x) for x in self.at(t, self.timed_values(t)[0])))

    def faults(self) -> list[str]:
        """Return deviations of velocity and acceleration from finite differences of position and velocity at five times."""
        out = []
        for t in (0.0, 0.37, 1.3, 3.1, 7.7):
            before, here, after = (self.now(t + k * DIFFERENCE) for k in (-1.0, 0.0, 1.0))
            for name, rate, low, high in (
                ("velocity", here.velocity, before.position, after.position),
                ("acceleration", here.acceleration, before.velocity, after.velocity),
            ):
                found = (high - low) / (2.0 * DIFFERENCE)
                if not abs(rate - found) <= AGREE * max(1.0, abs(rate), abs(found)):
                    out.append(f"at {t:g} s, the {name} is {rate:.9g}, but the finite difference is {found:.9g}")
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Sine(Checked, Motion):
    """Sine: q = offset + amplitude sin(2π t/period + phase)."""

    amplitude: Finite
    """Amplitude [rad]."""
    period: Positive
    """Period [s]."""
    phase: Annotated[Finite, Degrees()] = 0.0
    """Phase at t = 0 [rad]."""
    offset: Finite = 0.0
    """Mean position [rad]."""

    def at(self, t: Scalar, x: Sequence[Scalar]) -> MotionNow:
        """Return the sine and its derivatives."""
        w = 2.0 * math.pi / self.period
        angle = w * t + self.phase
        s, c = np.sin(angle), np.cos(angle)
        a = self.amplitude
        return MotionNow(self.offset + a * s, a * w * c, -a * w * w * s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady(Checked, Motion):
    """Constant speed: q = offset + speed t, as for a towing carriage, a rotating drum, or, at speed 0, a locked joint."""

    speed: Finite = 0.0
    """Speed [rad/s]."""
    offset: Finite = 0.0
    """Position at t = 0 [rad]."""

    def at(self, t: Scalar, x: Sequence[Scalar]) -> MotionNow:
        """Return the motion at constant speed."""
        return MotionNow(self.offset + self.speed * t, self.speed, 0.0 * t)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded(Motion):
    """Recorded signal as a cubic spline; the joint is stationary before the first and after the last piece.

        q = q_k + v_k s + ½ a_k s² + ⅙ j_k s³,    s = t − t_k

    `Recorded.of` builds the spline from measured positions. The coefficients are inputs of the compiled program, so a different
    recording of the same joint requires no compilation.
    """

    pieces: tuple[tuple[float, float, float, float, float], ...] = field(metadata=GIVEN)
    """Coefficients t_k [s], q_k [rad], v_k [rad/s], a_k [rad/s²] and j_k [rad/s³] of each piece, with increasing t_k."""
    end: Finite = field(metadata=GIVEN)
    """End time of the last piece [s]."""

    timed = ("since", "position", "velocity", "acceleration", "jerk")

    def __post_init__(self) -> None:
        rows = np.asarray(self.pieces, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != 5 or not np.isfinite(rows).all():
            raise ValueError("pieces must be rows of 5 finite numbers: time, position, velocity, acceleration, jerk")
        times = np.append(rows[:, 0], float(self.end))
        if not (np.diff(times) > 0.0).all():
            raise ValueError(
                f"times of the pieces, followed by end = {self.end!r} s, do not increase; sort the pieces or increase end"
            )
        object.__setattr__(self, "pieces", tuple(tuple(float(x) for x in row) for row in rows))
        object.__setattr__(self, "end", float(self.end))

    @classmethod
    def of(cls, times: Any, positions: Any, *, smoothing: float = 0.0) -> Recorded:
        """Return the cubic spline through measured positions, or a smoothing spline.

        The spline f minimises Σ (x_k − f(t_k))² + λ ∫ f̈² dt, with λ = n (T/2π)⁴ for n samples per second. The amplitude of a
        sine with period T is halved, longer periods are preserved, and shorter periods decrease with (period/T)⁴.

        Args:
            times: Increasing times of the samples [s], shape (n,), n at least 5.
            positions: Positions [rad], shape (n,).
            smoothing: Period T [s]; 0 for a spline through all samples.
        """
        from scipy.interpolate import PPoly, make_interp_spline, make_smoothing_spline

        t, x = np.asarray(times, dtype=float), np.asarray(positions, dtype=float)
        if t.ndim != 1 or t.shape != x.shape or len(t) < 5:
            raise ValueError(
                f"times and positions have shapes {t.shape} and {x.shape}, must be rows of equal length with at least 5 samples"
            )
        if not (np.isfinite(t).all() and np.isfinite(x).all()):
            raise ValueError("times or positions contain non-finite numbers; remove these samples")
        if not (np.diff(t) > 0.0).all():
            raise ValueError(
                f"times do not increase at sample {int(np.argmin(np.diff(t) > 0.0)) + 1}; sort samples, remove duplicates"
            )
        if not 0.0 <= smoothing < math.inf:
            raise ValueError(f"smoothing is {smoothing!r}, must be finite and at least 0")
        if smoothing > 0.0:
            rate = (len(t) - 1) / (t[-1] - t[0])
            found = make_smoothing_spline(t, x, lam=rate * (smoothing / (2.0 * math.pi)) ** 4)
        else:
            found = make_interp_spline(t, x, k=3)
        spline = PPoly.from_spline(found)
        whole = np.flatnonzero(np.diff(spline.x) > 0.0)
        c3, c2, c1, c0 = spline.c[:, whole]
        rows = np.stack([spline.x[whole], c0, c1, 2.0 * c2, 6.0 * c3], axis=1)
        return cls(pieces=tuple(map(tuple, rows)), end=float(t[-1]))

    def timed_values(self, t: float) -> tuple[Sequence[float], float]:
        """Return the piece at a time [s], and its end time [s]."""
        if t < self.pieces[0][0]:
            return (self.pieces[0][0], self.pieces[0][1], 0.0, 0.0, 0.0), self.pieces[0][0]
        if t >= self.end:
            since, *rates = self.pieces[-1]
            return (self.end, _cubic(self.end - since, rates).position, 0.0, 0.0, 0.0), math.inf
        k = bisect_right(self.pieces, t, key=lambda piece: piece[0]) - 1
        return self.pieces[k], self.end if k + 1 == len(self.pieces) else self.pieces[k + 1][0]

    def at(self, t: Scalar, x: Sequence[Scalar]) -> MotionNow:
        """Return the cubic polynomial of the piece."""
        return _cubic(t - x[0], x[1:])

    def faults(self) -> list[str]:
        """Return an empty list, because all rates are derivatives of the spline."""
        return []


def _cubic(s: Scalar, x: Sequence[Scalar]) -> MotionNow:
    q, v, a, j = x
    return MotionNow(q + s * (v + s * (0.5 * a + s * (j / 6.0))), v + s * (a + 0.5 * s * j), a + s * j)


def recorded_file(
    file: str, time: str, position: str, scale: Finite = 1.0, offset: Finite = 0.0, smoothing: NotNegative = 0.0
) -> Recorded:
    """Return a recorded motion from a file of comma-separated values with column names in the first line.

    Args:
        file: Name of the file, which may be compressed (.gz).
        time: Name of the column with the times [s].
        position: Name of the column with the positions.
        scale: Factor on the positions [-], such as 0.0174533 for degrees.
        offset: Offset added to the scaled positions [rad].
        smoothing: Period of a sine whose amplitude is halved [s]; 0 for a spline through all samples.
    """
    import gzip
    import zlib

    try:
        raw: Any = files.open_file(file)
        with raw, gzip.open(raw) if file.endswith(".gz") else raw as plain:
            lines = plain.read(files.MAX_BYTES + 1).decode().splitlines()
            if plain.read(1):
                raise files.UnreadableFile(f"more than {files.MAX_BYTES // 2**20} MiB of text; split the file")
        for line in lines:
            files.require_columns(line)
        names = [name.strip() for name in lines[0].split(",")] if lines else []
        rows = np.genfromtxt(lines[1:], delimiter=",", usecols=range(len(names)), ndmin=2) if lines[1:] else np.zeros((0, 1))
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise FieldError("file", file, f"must be a file that can be read ({error})") from None
    # this may be any file: do not quote its column names
    if rows.shape[1] < len(names) or not np.isfinite(rows).all(axis=1).any():
        raise FieldError(
            "file", file, "must contain rows of comma-separated numbers, one for each column name in the first line"
        )
    for key, name in (("time", time), ("position", position)):
        if name not in names:
            raise FieldError(key, name, f"must be a column of {file}{nearest(name, names)}")
    t, x = rows[:, names.index(time)], rows[:, names.index(position)]
    good = np.isfinite(t) & np.isfinite(x)
    good[1:] &= (
        np.diff(np.maximum.accumulate(np.where(good, t, -np.inf))) > 0.0
    )  # samples that are not later than all previous ones
    return Recorded.of(t[good], scale * x[good] + offset, smoothing=smoothing)


TYPES: Mapping[str, Any] = {"sine": Sine, "steady": Steady, "recorded": Recorded, "recorded_file": recorded_file}
"""Motion classes, keyed by their names in files."""
