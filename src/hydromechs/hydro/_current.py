"""Currents: uniform flow over time, profile over depth, and total motion of the water."""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs.values import Array, Scalar

from ._environment import Environment, Gusts, Profile
from ._waves import WaveComponents, wave_motion

BLOCK = 8192
"""Number of gust samples drawn in one block; the block size affects results only by rounding."""
DOUBLED = [2**k for k in range(BLOCK.bit_length())]
"""Powers of 2 up to BLOCK."""


class FlowSegment(NamedTuple):
    """Linear segment of current and gusts from t_begin to t_end: velocity + slope (t − t_begin)."""

    t_begin: float
    """Start time, at or before the requested time [s]."""
    t_end: float
    """End time, after the requested time; may be infinite [s]."""
    velocity: Array
    """Velocity at t_begin, in world axes [m/s], shape (3,)."""
    slope: Array
    """Rate of change of the velocity [m/s²], shape (3,)."""


class UniformFlow:
    """Current and gusts at the surface over time, as linear segments.

    The flow depends only on the environment, the seed and time. Gusts are drawn when first needed, but always in the same
    order from time 0. Before time 0, gusts have their value at time 0.
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
            raise ValueError(f"time t is {t} s, must be finite")
        parts = [self._current_segment(t), self._gust_segment(t)]
        t_begin = max(part.t_begin for part in parts)
        velocity, slope = np.zeros(3), np.zeros(3)
        for part in parts:
            velocity += part.velocity + part.slope * (t_begin - part.t_begin)
            slope += part.slope
        return FlowSegment(t_begin, min(part.t_end for part in parts), velocity, slope)

    def velocity(self, t: float) -> Array:
        """Return the velocity in world axes [m/s], shape (3,), at time `t` [s]."""
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
        """Return the current as segments, and the parameters of the gusts, for programs in other languages."""
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
        """Return gust samples k and k + 1 [m/s], shape (2, 3).

            x_{k+1} = φ x_k + σ √(1 − φ²) w_k,  φ = e^(−interval/time_constant),  x_0 = σ w_0

        The process is stationary, and the correlation is exact. Only one block of samples is stored, with the random state at
        the start of each earlier block, so that earlier samples can be drawn again.
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
    """Return the correlation of consecutive samples, and the standard deviation of the innovation [m/s], shape (3,)."""
    drive = np.array(gusts.sigma) * math.sqrt(-math.expm1(-2.0 * gusts.interval / gusts.time_constant))
    return math.exp(-gusts.interval / gusts.time_constant), drive


def profile_factor(profile: Profile, depth: Scalar) -> Scalar:
    """Return the factor on current and gusts at a depth below the mean surface [m]."""
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
    """Elevation of the surface above the point, relative to the mean surface [m]."""


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
    """Return the velocity v of the water in current, gusts and waves, and the acceleration of a water particle.

        v = f(d) U + v_w(p − c t, t),    Dv/Dt = f dU/dt + f'(d) (down·v) U + ∂v_w/∂t + ∇v_w (v − c)

    The current carries the particle through the waves, and vertical motion carries the particle through the profile. A steady
    current also carries the waves, with the velocity c.

    Args:
        profile: Factor f on U as a function of depth d.
        components: Waves.
        down: Unit vector down in world axes, shape (3,).
        p: Position of the point in world axes [m], shape (3,).
        t: Time [s].
        velocity: Velocity U of current and gusts at the surface, in world axes [m/s], shape (3,).
        rate: Rate of change dU/dt [m/s²], shape (3,).
        carried: Velocity c of the waves due to the current [m/s], shape (3,).
        above: False for points that stay below the mean surface; see `wave_motion`.
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
