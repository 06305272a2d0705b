"""Linear (Airy) waves: components of regular waves and seas, dispersion relation, motion of the water."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.spatial import cos_sin, maximum, minimum, where
from hydromechs.values import Array, Scalar

from ._environment import Environment, JonswapSea, PiersonMoskowitzSea, RegularWave

BAND = (0.3, 6.0)
"""Frequency range of a sea, relative to the peak frequency; it contains 99.9 % of the Pierson-Moskowitz energy."""
BREAKING = 0.142
"""Ratio of height to length of the steepest wave in deep water (Michell); multiplied by tanh kh in finite depth (Miche)."""
STEEPEST_SEA = 1.0 / 15.0
"""Ratio of significant height to the wavelength at the peak period in the steepest seas (DNV-RP-C205, peak periods up to 8 s);
the highest of 1,000 waves, 1.86 H_s, is then nearly as steep as possible. Also multiplied by tanh kh in shallow water."""


class WaveComponents(NamedTuple):
    """Sine waves η = a cos(k n·p − ω t + phase), η positive upwards."""

    amplitude: Array
    """Amplitude a [m], shape (n,)."""
    omega: Array
    """Angular frequency ω [rad/s], shape (n,)."""
    wavenumber: Array
    """Wavenumber k [rad/m], shape (n,)."""
    direction: Array
    """Direction of propagation n, unit vector along world x and y, shape (n, 2)."""
    phase: Array
    """Phase [rad], shape (n,)."""
    scale: Array
    """Depth factor 1/(1 − e^(−2kh)), 1 in deep water, shape (n,)."""
    water_depth: float
    """Depth h of the bed [m]; infinite in deep water."""


class WaveMotion(NamedTuple):
    """Motion of the water in waves at one point, in world axes."""

    velocity: Array
    """Velocity v [m/s], shape (3,)."""
    acceleration: Array
    """Material derivative ∂v/∂t + (v·∇) v [m/s²], shape (3,)."""
    elevation: Scalar
    """Elevation of the surface above the point, relative to the mean surface [m]."""
    gradient: Array
    """Velocity gradient ∂v_i/∂x_j [1/s], shape (3, 3)."""


class WaveSurface(NamedTuple):
    """Slope, curvature and rates of the surface above a point, in world axes."""

    slope: Array
    """Horizontal gradient ∇η, shape (3,)."""
    curvature: Array
    """Second derivatives ∂²η/∂x_i∂x_j [1/m], shape (3, 3)."""
    rise: Scalar
    """Rate of the elevation ∂η/∂t [m/s]."""
    turn: Array
    """Rate of the gradient ∂∇η/∂t [1/s], shape (3,)."""


def wavenumber(omega: float, gravity: float, water_depth: float = math.inf) -> float:
    """Return k [rad/m] that satisfies the dispersion relation ω² = g k tanh(k h); h [m] is infinite in deep water."""
    if not gravity > 0.0:
        raise ValueError(f"gravity is {gravity:g} m/s², must be > 0 for waves; change the world, or remove the waves")
    deep = omega**2 / gravity
    if math.isinf(water_depth):
        return deep
    k = deep / math.sqrt(math.tanh(deep * water_depth))  # Eckart's, within 5 %
    for _ in range(20):
        tanh = math.tanh(k * water_depth)
        step = (k * tanh - deep) / (tanh + k * water_depth * (1.0 - tanh**2))
        k -= step
        if abs(step) <= 1e-15 * k:
            break
    return k


def sea_spectrum(sea: PiersonMoskowitzSea | JonswapSea, omega: ArrayLike) -> Array:
    """Return the spectral density S of the elevation [m²·s/rad], shape (n,), at ω > 0 [rad/s]; its integral is H_s²/16.

    S = A 5/16 H_s² ω_p⁴ ω⁻⁵ exp(−5/4 (ω_p/ω)⁴) γ^exp(−½ ((ω − ω_p)/(σ ω_p))²),  σ = 0.07 below ω_p, 0.09 above it;
    γ = A = 1 for Pierson-Moskowitz; A of JONSWAP is found by quadrature.
    """
    omega_p = 2.0 * np.pi / sea.peak_period
    x = np.asarray(omega, dtype=float) / omega_p
    scale = sea.significant_height**2 / 16.0 / omega_p
    if not isinstance(sea, JonswapSea):
        return scale * _shape(x, 1.0)
    far = np.geomspace(0.2, 100.0, 20001)
    return scale * _shape(x, sea.gamma) / np.trapezoid(_shape(far, sea.gamma) * far, np.log(far))


def _shape(x: Array, gamma: float) -> Array:
    """Return the normalised spectrum 5 x⁻⁵ exp(−5/4 x⁻⁴) γ^..., whose integral is 1 for γ = 1."""
    sigma = np.where(x <= 1.0, 0.07, 0.09)
    return 5.0 * x**-5.0 * np.exp(-1.25 * x**-4.0) * gamma ** np.exp(-0.5 * ((x - 1.0) / sigma) ** 2)


def wave_components(environment: Environment, gravity: float, seed: int = 0) -> WaveComponents:
    """Return all sine waves of an environment.

    The spectrum of a sea is divided into bins with one wave each. The wave has the energy of the bin, so that
    Σ a²/2 = m₀ = H_s²/16 exactly. Its frequency is drawn from the spectrum inside the bin, so that the sea does not repeat, and
    its phase is uniformly distributed. Bins have equal means of two fractions: the fraction of the elevation variance, S, and
    the fraction of the acceleration variance, ω⁴ S. Short waves have little energy but most of the acceleration, and receive
    half of the bins. Therefore the acceleration is close to the spectrum for all seeds.

    Args:
        environment: Environment with waves and seas.
        gravity: Acceleration of gravity [m/s²].
        seed: Seed of the random frequencies and phases.
    """
    h = math.inf if environment.water_depth is None else environment.water_depth
    rows = []
    for number, wave in enumerate(environment.waves):
        direction = cos_sin(wave.direction)
        if isinstance(wave, RegularWave):
            omega = 2.0 * math.pi / wave.period
            k = wavenumber(omega, gravity, h)
            _check_height(wave.height, BREAKING, k, h, "wave.height", f"a wave of {wave.period:g} s breaks above")
            rows.append((0.5 * wave.height, omega, k, *direction, wave.phase))
        else:
            k = wavenumber(2.0 * math.pi / wave.peak_period, gravity, h)
            breaks = f"a sea with a peak period of {wave.peak_period:g} s breaks above about"
            _check_height(wave.significant_height, STEEPEST_SEA, k, h, "sea.significant_height", breaks)
            random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1, number)))
            omegas, parts = _frequencies(wave, random.uniform(size=wave.components))
            amplitudes = wave.significant_height * np.sqrt(parts / 8.0)
            phases = random.uniform(0.0, 2.0 * np.pi, wave.components)
            rows += [
                (amplitude, omega, wavenumber(omega, gravity, h), *direction, phase)
                for amplitude, omega, phase in zip(amplitudes.tolist(), omegas.tolist(), phases.tolist(), strict=True)
            ]
    table = np.array(rows, dtype=float).reshape(-1, 6)
    scale = 1.0 / -np.expm1(-2.0 * table[:, 2] * h) if math.isfinite(h) else np.ones(len(table))
    return WaveComponents(table[:, 0], table[:, 1], table[:, 2], table[:, 3:5], table[:, 5], scale, h)


def _check_height(height: float, steepest: float, k: float, h: float, name: str, breaks: str) -> None:
    """Raise `ValueError` if a wave [m] with wavenumber k [rad/m] is higher than the steepest wave at water depth h [m]."""
    highest = steepest * 2.0 * math.pi / k * math.tanh(k * h)
    if height > highest:
        raise ValueError(f"{name} is {height:g} m, but {breaks} {highest:.3g} m; reduce the height or increase the period")


def _frequencies(sea: PiersonMoskowitzSea | JonswapSea, places: Array) -> tuple[Array, Array]:
    """Return the frequency [rad/s] of each bin, at a fraction `places` (0 to 1) of its energy, and its share of the energy."""
    omega = 2.0 * np.pi / sea.peak_period * np.geomspace(*BAND, 4001)
    density = sea_spectrum(sea, omega)
    energy, acceleration = _parts(density, omega), _parts(density * omega**4, omega)
    ends = np.interp(np.linspace(0.0, 1.0, len(places) + 1), 0.5 * (energy + acceleration), energy)
    return np.interp(ends[:-1] + places * np.diff(ends), energy, omega), np.diff(ends)


def _parts(density: Array, omega: Array) -> Array:
    """Return the cumulative integral of a density as a fraction of the total at each frequency, 0 to 1, shape (n,)."""
    total = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(omega))])
    return total / total[-1]


def wave_motion(
    components: WaveComponents, down: Array | Sequence[float], p: Array, t: Scalar, *, above: bool = True
) -> WaveMotion:
    """Return the velocity and acceleration of the water in waves at a point, and the elevation of the surface.

    With θ = k n·p − ω t + phase and the depth d of the point below the mean surface, each wave has

        v = a ω (cosh k(h − d)/sinh kh · cos θ n + sinh k(h − d)/sinh kh · sin θ up),   η = a cos θ

    (Airy; both fractions are e^(−kd) in deep water). Below the bed, the velocity is constant, equal to its value at d = h.
    Above the mean surface, e^(−kd) continues as

        e^(−kd) (1 − (1 − e^(kd))⁴),

    with the same value and first three derivatives at d = 0, so that acceleration and its gradients are continuous. Near the
    surface, this agrees with Airy's formula; at kd = −2, it is close to the linear extrapolation 1 − kd. It never exceeds 4,
    even for short waves on long waves.

    Args:
        components: Waves.
        down: Constant unit vector down in world axes, shape (3,).
        p: Position of the point in world axes [m], shape (3,).
        t: Time [s].
        above: False for points that stay below the mean surface; evaluation is faster, and velocity above it is constant.
    """
    a, omega, k, n, phase, scale, h = components
    if not len(a):
        return WaveMotion(np.zeros(3), np.zeros(3), 0.0, np.zeros((3, 3)))
    down = np.asarray(down, dtype=float)
    depth = down @ p
    highest = depth if above else maximum(depth, 0.0)
    d = minimum(highest, h) if math.isfinite(h) else highest

    theta = k * (n[:, 0] * p[0] + n[:, 1] * p[1]) - omega * t + phase
    cos, sin = np.cos(theta), np.sin(theta)
    near = _above(k, d)[0] if above else np.exp(-k * d)
    along, upward = _decay(k, d, near, scale, h)
    speed = a * omega
    u, w = speed * along * cos, speed * upward * sin
    u_rate, w_rate = speed * along * sin, -speed * upward * cos  # ∂u/∂t and ∂w/∂t over ω

    N = np.column_stack([n, np.zeros(len(a))])
    up = -down
    velocity = N.T @ u + up * w.sum()
    local = N.T @ (omega * u_rate) + up * (omega * w_rate).sum()
    # ∂v/∂x_j: along n each wave gives −k u_rate n − k w_rate up, along the vertical −k w_rate n + k u_rate up
    along_n = -(N.T * (k * u_rate)) @ N - np.outer(up, N.T @ (k * w_rate))
    if above:
        along_slope, upward_slope = _decay(k, d, _above(k, d)[1], scale, h)[::-1]  # −∂/∂d over k: cosh and sinh swap
        along_up = up * (k * (speed * upward_slope * sin)).sum() + N.T @ (k * (speed * along_slope * cos))
        if math.isfinite(h):
            along_up = where(depth < h, 1.0, 0.0) * along_up
    else:
        inside = where(depth > 0.0, where(depth < h, 1.0, 0.0), 0.0) if math.isfinite(h) else where(depth > 0.0, 1.0, 0.0)
        along_up = inside * (up * (k * u_rate).sum() - N.T @ (k * w_rate))
    gradient = along_n + np.outer(along_up, up)
    return WaveMotion(velocity, local + gradient @ velocity, (a * cos).sum(), gradient)


def wave_surface(components: WaveComponents, p: Array, t: Scalar) -> WaveSurface:
    """Return the slope of the surface η = Σ a cos(k n·p − ω t + phase) above a point p in world axes [m], shape (3,)."""
    a, omega, k, n, phase, _, _ = components
    theta = k * (n[:, 0] * p[0] + n[:, 1] * p[1]) - omega * t + phase
    high, steep = a * np.cos(theta), a * np.sin(theta)
    N = np.column_stack([n, np.zeros(len(a))])
    return WaveSurface(
        slope=-(N.T @ (k * steep)),
        curvature=-(N.T * (k * k * high)) @ N,
        rise=(omega * steep).sum(),
        turn=N.T @ (k * omega * high),
    )


def _above(k: Array, d: Scalar) -> tuple[Array, Array]:
    """Return e^(−kd) and −1/k times its derivative with respect to d.

    Above the mean surface, both continue as in `wave_motion`, with E = e^(kd): 4 − 6 E + 4 E² − E³, 6 E − 8 E² + 3 E³.
    """
    E = np.exp(-k * where(d > 0.0, d, -d))
    high = 4.0 - E * (6.0 - E * (4.0 - E))
    slope = E * (6.0 - E * (8.0 - 3.0 * E))
    near = [(where(d > 0.0, e, x), where(d > 0.0, e, y)) for e, x, y in zip(E, high, slope, strict=True)]
    return np.array([x for x, _ in near]), np.array([y for _, y in near])


def _decay(k: Array, d: Scalar, near: Array, scale: Array, h: float) -> tuple[Array, Array]:
    """Return cosh k(h − d)/sinh kh and sinh k(h − d)/sinh kh for d ≤ h, without overflow, from near = e^(−kd)."""
    if math.isinf(h):
        return near, near
    far = np.exp(k * (d - 2.0 * h))
    return scale * (near + far), scale * (near - far)
