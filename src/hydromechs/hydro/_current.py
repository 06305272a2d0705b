"""Currents: the uniform part over time, the profile over depth, and the total motion of the water."""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs.values import Array, Scalar

from ._environment import Environment, Gusts, Profile
from ._waves import WaveComponents, wave_motion

BLOCK = 8192
"""Number of gust samples drawn at once; it affects results only by rounding."""
DOUBLED = [2**k for k in range(BLOCK.bit_length())]
"""1, 2, 4, ..., BLOCK."""


class FlowSegment(NamedTuple):
    """Current and gusts from t_begin to t_end: velocity + slope (t − t_begin)."""

    t_begin: float
    """Start [s], at or before the requested time."""
    t_end: float
    """End [s], after the requested time; may be infinite."""
    velocity: Array
    """Velocity at t_begin, in world axes [m/s], shape (3,)."""
    slope: Array
    """Its rate of change [m/s²], shape (3,)."""


class UniformFlow:
    """Current and gusts at the surface over time, as linear segments.

    It depends only on the environment, the seed and time: gusts are drawn when they are first needed, but always in the
    same order from time 0. Before time 0 gusts keep their first value.
    """

    def __init__(self, environment: Environment, seed: int = 0) -> None:
        self._current = environment.current
        self._gusts = environment.gusts
        self._block, self._rows = -1, np.zeros((0, 3))
        self._begins: list[tuple[Mapping[str, Any], Array]] = []
        self._random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))

    def segment(self, t: float) -> FlowSegment:
        """Return the linear segment at time `t` [s]."""
        t = float(t)
        if not math.isfinite(t):
            raise ValueError(f"t is {t}, must be a finite time")
        parts = [self._current_segment(t), self._gust_segment(t)]
        t_begin = max(part.t_begin for part in parts)
        velocity, slope = np.zeros(3), np.zeros(3)
        for part in parts:
            velocity += part.velocity + part.slope * (t_begin - part.t_begin)
            slope += part.slope
        return FlowSegment(t_begin, min(part.t_end for part in parts), velocity, slope)

    def velocity(self, t: float) -> Array:
        """Return the velocity at time `t` [s], in world axes [m/s], shape (3,)."""
        part = self.segment(t)
        return part.velocity + part.slope * (t - part.t_begin)

    def _current_segment(self, t: float) -> FlowSegment:
        current = self._current
        if current is None or not current.times:
            steady = np.zeros(3) if current is None else np.array(current.velocity)
            return FlowSegment(min(t, 0.0), math.inf, steady, np.zeros(3))
        times, rows = current.times, current.velocities
        k = bisect_right(times, t)
        if k == 0:
            return FlowSegment(min(t, 0.0), times[0], np.array(rows[0]), np.zeros(3))
        if k == len(times):
            return FlowSegment(times[-1], math.inf, np.array(rows[-1]), np.zeros(3))
        a, b = np.array(rows[k - 1]), np.array(rows[k])
        return FlowSegment(times[k - 1], times[k], a, (b - a) / (times[k] - times[k - 1]))

    def described(self) -> dict[str, Any]:
        """Return the current as segments, and the numbers of the gusts, for a program in another language."""
        segments, t = list[Any](), 0.0
        while math.isfinite(t):
            s = self._current_segment(t)
            t = s.t_end
            segments.append([s.t_begin, t if math.isfinite(t) else None, s.velocity.tolist(), s.slope.tolist()])
        if (gusts := self._gusts) is None:
            return {"segments": segments, "gusts": None}
        phi, drive = _process(gusts)
        numbers = {"interval": gusts.interval, "sigma": list(gusts.sigma), "phi": phi, "drive": drive.tolist()}
        return {"segments": segments, "gusts": numbers}

    def _gust_segment(self, t: float) -> FlowSegment:
        gusts = self._gusts
        if gusts is None:
            return FlowSegment(min(t, 0.0), math.inf, np.zeros(3), np.zeros(3))
        if t < 0.0:
            return FlowSegment(t, 0.0, self._samples(gusts, 0)[0].copy(), np.zeros(3))
        k = int(t // gusts.interval)
        while (k + 1) * gusts.interval <= t:  # rounding of the quotient
            k += 1
        while k * gusts.interval > t:
            k -= 1
        begin, end = k * gusts.interval, (k + 1) * gusts.interval
        a, b = self._samples(gusts, k)
        return FlowSegment(begin, end, a.copy(), (b - a) / (end - begin))

    def _samples(self, gusts: Gusts, k: int) -> Array:
        """Return samples k and k + 1 of the gusts [m/s], shape (2, 3).

            x_{k+1} = φ x_k + σ √(1 − φ²) w_k,  φ = e^(−interval/time_constant),  x_0 = σ w_0: stationary and exact.

        One block of samples is kept, and the start of each earlier block, so that any of them can be drawn again.
        """
        block, row = divmod(k, BLOCK)
        if block != self._block:
            phi, drive = _process(gusts)
            if not self._begins:
                first = np.array(gusts.sigma) * self._random.standard_normal(3)
                self._begins.append((self._random.bit_generator.state, first))
            for j in range(min(block, len(self._begins) - 1), block + 1):
                self._random.bit_generator.state, first = self._begins[j]
                steps = drive * self._random.standard_normal((BLOCK, 3))
                rows = np.vstack([first, steps])
                for shift in DOUBLED:  # sums of 2, 4, 8, ... terms
                    rows[shift:] += phi**shift * rows[:-shift]
                if j + 1 == len(self._begins):
                    self._begins.append((self._random.bit_generator.state, rows[-1].copy()))
            self._block, self._rows = block, rows
        return self._rows[row : row + 2]


def _process(gusts: Gusts) -> tuple[float, Array]:
    """Return the correlation from sample to sample, and the standard deviation of the independent part [m/s], shape (3,)."""
    drive = np.array(gusts.sigma) * math.sqrt(-math.expm1(-2.0 * gusts.interval / gusts.time_constant))
    return math.exp(-gusts.interval / gusts.time_constant), drive


def profile_factor(profile: Profile, depth: Scalar) -> Scalar:
    """Return the factor on the velocity of current and gusts at a depth below the mean surface [m]."""
    return profile.factor(depth)


def profile_slope(profile: Profile, depth: Scalar) -> Scalar:
    """Return the derivative of `profile_factor` with respect to depth [1/m]; zero below the bed and outside a table."""
    return profile.slope(depth)


class FluidMotion(NamedTuple):
    """Motion of the water at one point, in world axes."""

    velocity: Array
    """Velocity v [m/s], shape (3,)."""
    acceleration: Array
    """Material derivative ∂v/∂t + (v·∇) v [m/s²], shape (3,)."""
    elevation: Scalar
    """Height of the surface above its mean, over that point [m]."""


def fluid_motion(
    profile: Profile,
    components: WaveComponents,
    down: Array | Sequence[float],
    p: Array,
    t: Scalar,
    velocity: Array | Sequence[Scalar],
    rate: Array | Sequence[Scalar],
    carried: Array | Sequence[Scalar] = (0.0, 0.0, 0.0),
    *,
    above: bool = True,
) -> FluidMotion:
    """Return the combined motion of current, gusts and waves, v = f(d) U + v_w, and the acceleration of a water particle:

        Dv/Dt = f dU/dt + f'(d) (down·v) U + ∂v_w/∂t + ∇v_w (v − c)

    The current carries the particle through the waves, and vertical motion through the profile.

    The profile f is a factor on U as a function of depth; `velocity` U, current and gusts at the surface [m/s], and its `rate`
    dU/dt [m/s²]
    are in world axes, shape (3,). A steady current carries the waves with the velocity c [m/s], v_w = v_w(p − c t, t).
    The other arguments are those of `wave_motion`.
    """
    carried = np.asarray(carried)
    down, velocity, rate = np.asarray(down, dtype=float), np.asarray(velocity), np.asarray(rate)
    depth = down @ p
    factor = profile.factor(depth)
    waves = wave_motion(components, down, p - carried * t, t, above=above)
    current = factor * velocity
    v = current + waves.velocity
    shear = (profile.slope(depth) * (down @ v)) * velocity
    return FluidMotion(v, factor * rate + shear + waves.acceleration + waves.gradient @ (current - carried), waves.elevation)
