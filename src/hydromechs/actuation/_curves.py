"""Force curves: bollard thrust as a function of the command."""

import csv
import itertools
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Annotated, overload

import numpy as np

from hydromechs.spatial import clamp, floor, lookup, where
from hydromechs.values import Array, Bound, NotNegative, Row, Scalar, number

STANDARD_GRAVITY = 9.80665
"""One kilogram-force [N]."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ForceCurve:
    """Bollard thrust as a function of the command: linear between points, constant beyond the first and last (saturation)."""

    commands: Row
    """Increasing commands [`unit`], shape (n,)."""
    forces: Row
    """Non-decreasing force at each command [N], shape (n,)."""
    unit: str
    """Unit of the commands: "N", "throttle" (−1 to 1), "us" (pulse width in microseconds), or another text."""

    def __post_init__(self) -> None:
        for name in ("commands", "forces"):
            values = tuple(number(x, f"ForceCurve.{name}") for x in getattr(self, name))
            if not np.isfinite(values).all():
                raise ValueError(f"ForceCurve.{name} contains {next(x for x in values if not np.isfinite(x))}, must be finite")
            object.__setattr__(self, name, values)
        n = len(self.commands)
        if n < 2 or len(self.forces) != n:
            raise ValueError(
                f"ForceCurve has {n} commands and {len(self.forces)} forces, must have equal numbers of both, at least 2"
            )
        for k, (a, b) in enumerate(itertools.pairwise(self.commands)):
            if b <= a:
                raise ValueError(f"ForceCurve.commands[{k + 1}] is {b:.6g} after {a:.6g}, must increase; sort the points")
        for k, (a, b) in enumerate(itertools.pairwise(self.forces)):
            if b < a:
                raise ValueError(
                    f"ForceCurve.forces[{k + 1}] is {b:.6g} N after {a:.6g} N, must not decrease; smooth the measurements, "
                    "or reverse the frame of the thruster if the force decreases with the command"
                )

    def __repr__(self) -> str:
        (low, high), (first, last) = self.limits, (self.commands[0], self.commands[-1])
        return f"<ForceCurve of {len(self.commands)} points: {low:g} to {high:g} N at {first:g} to {last:g} {self.unit}>"

    @property
    def limits(self) -> tuple[float, float]:
        """Minimum and maximum force [N]."""
        return self.forces[0], self.forces[-1]

    @cached_property
    def _points(self) -> tuple[np.ndarray, np.ndarray]:
        """Return commands and forces as arrays, shape (n,) each."""
        return np.array(self.commands), np.array(self.forces)

    def steady(self, command: Scalar | Array) -> Scalar | Array:
        """Return the force [N] at a `command` in `unit`; floats or arrays of any shape, or symbols."""
        if isinstance(command, float) or np.asarray(command).dtype != object:
            return np.interp(command, *self._points)[()]
        return np.vectorize(self._traced, otypes=[object])(command)[()]

    def _traced(self, command: Scalar) -> Scalar:
        """Return the force by scalar operations: table lookup for evenly spaced points, otherwise a sum over segments."""
        c, f = self._points
        step = (c[-1] - c[0]) / (len(c) - 1)
        if len(c) > 8 and np.abs(np.diff(c) - step).max() < 1e-9 * step:
            place = clamp((command - c[0]) / step, 0.0, len(c) - 1.0)
            k = floor(place)
            return lookup(f, k) + (place - k) * lookup([*np.diff(f), 0.0], k)
        total = f[0]
        for a, b, rise in zip(c, c[1:], np.diff(f), strict=False):
            if rise:
                total = total + clamp(command - a, 0.0, b - a) * float(rise / (b - a))
        return total

    @overload
    def inverse(self, force: float) -> float: ...
    @overload
    def inverse(self, force: Array) -> Array: ...
    def inverse(self, force: Scalar | Array) -> Scalar | Array:
        """Return the command in `unit` for a `force` [N]; in a dead band its middle, beyond the curve the nearest limit."""
        if isinstance(force, float):
            return self._inverse(force)
        if np.asarray(force).dtype == object:
            return np.vectorize(self._traced_inverse, otypes=[object])(force)[()]
        return np.vectorize(self._inverse, otypes=[float])(force)[()]

    def _inverse(self, force: float) -> float:
        c, f = self.commands, self.forces
        force = min(max(force, f[0]), f[-1])
        first, last = bisect_left(f, force), bisect_right(f, force) - 1
        if first <= last:  # one point, or a dead band
            return 0.5 * (c[first] + c[last])
        part = (force - f[last]) / (f[first] - f[last])
        return c[last] + part * (c[first] - c[last])

    def _traced_inverse(self, force: Scalar) -> Scalar:
        """Return the command by scalar operations, with bisection for the last point whose force is not above `force`."""
        c, f = self._points
        levels = (len(f) - 1).bit_length()
        padded = [*f, *(2**levels - len(f)) * (np.inf,)]
        force, k = clamp(force, f[0], f[-1]), 0.0
        for level in reversed(range(levels)):
            k = k + where(lookup(padded, k + 2.0**level) <= force, 2.0**level, 0.0)
        equal = [
            0.5 * (c[np.searchsorted(f, x)] + c[np.searchsorted(f, x, "right") - 1]) for x in f
        ]  # in dead bands, the middle
        low, rise = lookup(f, k), [*np.diff(f), 1.0]
        between = lookup(c, k) + (force - low) / lookup([x or 1.0 for x in rise], k) * lookup([*np.diff(c), 0.0], k)
        return where(low == force, lookup(equal, k), between)


def ideal_curve(forward: NotNegative, reverse: NotNegative) -> ForceCurve:
    """Return the curve of a thruster that is commanded in newtons.

    Args:
        forward: Maximum forward force [N].
        reverse: Maximum reverse force, a positive number [N].
    """
    forward, reverse = _extremes(forward, reverse)
    return ForceCurve(commands=(-reverse, forward), forces=(-reverse, forward), unit="N")


def linear_curve(
    forward: NotNegative, reverse: NotNegative, dead_band: Annotated[float, Bound(least=0.0, below=1.0)] = 0.0
) -> ForceCurve:
    """Return a curve from throttle (−1 to 1) to force, linear from the edge of the dead band to the limits.

    Args:
        forward: Force at throttle 1 [N].
        reverse: Reverse force at throttle −1, a positive number [N].
        dead_band: Throttle in either direction below which the force is 0 [-].
    """
    forward, reverse = _extremes(forward, reverse)
    dead = number(dead_band, "dead_band")
    if not 0.0 <= dead < 1.0:
        raise ValueError(f"dead_band is {dead:.6g}, must be at least 0 and below 1")
    middle = (-dead, dead) if dead else (0.0,)
    return ForceCurve(commands=(-1.0, *middle, 1.0), forces=(-reverse, *(0.0 for _ in middle), forward), unit="throttle")


def _extremes(forward: float, reverse: float) -> tuple[float, float]:
    out = number(forward, "forward"), number(reverse, "reverse")
    if not (min(out) >= 0.0 and 0.0 < max(out) < np.inf):
        raise ValueError(f"forward is {out[0]:.6g} N and reverse {out[1]:.6g} N, must be finite, at least 0, and not both 0")
    return out


def t200_curve(voltage: Annotated[float, Bound(least=10.0, most=20.0)] = 16.0) -> ForceCurve:
    """Return the measured bollard thrust of the Blue Robotics T200 as a function of pulse width, 1100 to 1900 µs.

    Forces are interpolated between the measured voltages (10, 12, ... 20 V). At five points of the six data sheets, the
    measured force decreases by up to 0.14 N. At these points, the curve is the mean of the smallest non-decreasing curve above
    the measurements and the largest non-decreasing curve below them.

    Args:
        voltage: Supply voltage [V], 10 to 20.
    """
    text = (files(__package__) / "t200.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(line for line in text.splitlines() if not line.startswith("#"))
    voltages = np.array([float(x) for x in header[1:]])
    table = np.array([[float(x) for x in row] for row in rows])
    V = number(voltage, "voltage")
    if not voltages[0] <= V <= voltages[-1]:
        raise ValueError(
            f"voltage is {V:.6g} V, must be in the measured range of the T200, {voltages[0]:g} to {voltages[-1]:g} V"
        )
    kgf = np.array([np.interp(V, voltages, row) for row in table[:, 1:]])
    kgf = 0.5 * (np.maximum.accumulate(kgf) + np.minimum.accumulate(kgf[::-1])[::-1])
    return ForceCurve(commands=tuple(table[:, 0]), forces=tuple(STANDARD_GRAVITY * kgf), unit="us")
