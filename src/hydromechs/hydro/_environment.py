"""Data of the water around the mechanism: currents, gusts, waves, the free surface. The equations are in the modules beside.

Depth is measured down from the mean surface; velocities are in world axes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

from hydromechs.values import floats, number

__all__ = [
    "Current",
    "DepthTable",
    "Environment",
    "FreeSurface",
    "Gusts",
    "JonswapSea",
    "PiersonMoskowitzSea",
    "PowerLaw",
    "RegularWave",
    "Uniform",
]


def _set(thing, **values) -> None:
    for name, value in values.items():
        object.__setattr__(thing, name, value)


def _finite(value, name: str) -> float:
    value = number(value, name)
    if not math.isfinite(value):
        raise ValueError(f"{name} is {value}, must be a finite number")
    return value


def _positive(value, name: str) -> float:
    value = _finite(value, name)
    if value <= 0.0:
        raise ValueError(f"{name} is {value:g}, must be greater than 0")
    return value


def _row(values, n: int, name: str) -> tuple[float, ...]:
    return tuple(_finite(v, name) for v in floats(values, n, name))


def _list(values, name: str) -> tuple:
    """`values` as a tuple, whatever its entries are."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ValueError(f"{name} must be a list, got {values!r}")
    return tuple(values)


def _increasing(values, name: str) -> tuple[float, ...]:
    values = tuple(_finite(v, name) for v in _list(values, name))
    for a, b in pairwise(values):
        if b <= a:
            raise ValueError(f"{name} has {b:g} after {a:g}; the numbers must increase")
    return values


def _count(value, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}, must be a whole number of 1 or more")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform:
    """The current is the same at all depths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLaw:
    """The current falls off towards the bed as ((D − d)/D)^a: 1 at the surface and above it, 0 at the bed and below it.

    In the lowest thousandth of the water it goes to 0 linearly, so that its slope stays finite.
    """

    depth: float
    """Depth D of the bed [m]."""
    exponent: float = 1.0 / 7.0
    """Exponent a."""

    def __post_init__(self):
        _set(
            self,
            depth=_positive(self.depth, "profile.depth"),
            exponent=_positive(self.exponent, "profile.exponent"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthTable:
    """Factor on the current from a table, linear in between, held constant outside."""

    depths: tuple[float, ...]
    """Depths, increasing [m], shape (n,)."""
    factors: tuple[float, ...]
    """Factor on the velocity at each depth, shape (n,)."""

    def __post_init__(self):
        depths = _increasing(self.depths, "profile.depths")
        if not depths:
            raise ValueError("profile.depths is empty; give one depth or more")
        _set(self, depths=depths, factors=_row(self.factors, len(depths), "profile.factors"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """A current in world axes: a steady velocity, or a table of velocities over time; times a profile over depth."""

    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Steady velocity at the surface [m/s], shape (3,); leave it out where `times` and `velocities` are given."""
    times: tuple[float, ...] = ()
    """Times of the table, increasing [s], shape (n,)."""
    velocities: tuple[tuple[float, float, float], ...] = ()
    """Velocity at each time [m/s], shape (n, 3); linear in between, held constant before the first and after the last."""
    profile: Uniform | PowerLaw | DepthTable = field(default_factory=Uniform)
    """Factor on the velocity by depth."""

    def __post_init__(self):
        times = _increasing(self.times, "current.times")
        rows = tuple(_row(v, 3, "current.velocities") for v in _list(self.velocities, "current.velocities"))
        _set(self, velocity=_row(self.velocity, 3, "current.velocity"), times=times, velocities=rows)
        if len(rows) != len(times):
            raise ValueError(f"current.velocities has {len(rows)} rows for {len(times)} current.times; give one for each time")
        if times and any(self.velocity):
            raise ValueError("current.velocity is given beside current.times; give one of the two")
        if not isinstance(self.profile, Uniform | PowerLaw | DepthTable):
            raise ValueError(f"current.profile is {self.profile!r}, must be Uniform(), PowerLaw(...) or DepthTable(...)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gusts:
    """Random change of the current: a first-order Gauss-Markov process for each world axis, sampled and joined by lines."""

    sigma: tuple[float, float, float]
    """Standard deviation along each world axis [m/s], shape (3,)."""
    time_constant: float
    """Time in which the correlation falls to 1/e [s]."""
    interval: float
    """Time between samples [s]; the samples have the exact correlation, whatever it is."""

    def __post_init__(self):
        sigma = _row(self.sigma, 3, "gusts.sigma")
        if min(sigma) < 0.0:
            raise ValueError(f"gusts.sigma is {list(sigma)}, must not be negative")
        _set(
            self,
            sigma=sigma,
            time_constant=_positive(self.time_constant, "gusts.time_constant"),
            interval=_positive(self.interval, "gusts.interval"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RegularWave:
    """One long-crested sine wave of linear (Airy) theory: η = H/2 cos(k n·p − ω t + phase), η up."""

    height: float
    """Height H from trough to crest [m]."""
    period: float
    """Period [s]."""
    direction: float = 0.0
    """Where it runs to, from the world's x axis towards its y axis [rad]."""
    phase: float = 0.0
    """Phase at the world's origin at time 0 [rad]; 0 is a crest."""

    def __post_init__(self):
        _set(
            self,
            height=_positive(self.height, "wave.height"),
            period=_positive(self.period, "wave.period"),
            direction=_finite(self.direction, "wave.direction"),
            phase=_finite(self.phase, "wave.phase"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PiersonMoskowitzSea:
    """A long-crested fully developed sea: waves of equal energy with random phases and the Pierson-Moskowitz spectrum."""

    significant_height: float
    """Significant wave height, four times the standard deviation of the elevation [m]."""
    peak_period: float
    """Period at the peak of the spectrum [s]."""
    direction: float = 0.0
    """Where it runs to, from the world's x axis towards its y axis [rad]."""
    components: int = 30
    """Number of waves."""

    def __post_init__(self):
        _set(
            self,
            significant_height=_positive(self.significant_height, "sea.significant_height"),
            peak_period=_positive(self.peak_period, "sea.peak_period"),
            direction=_finite(self.direction, "sea.direction"),
            components=_count(self.components, "sea.components"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JonswapSea(PiersonMoskowitzSea):
    """A long-crested wind sea with the JONSWAP spectrum: Pierson-Moskowitz with a higher peak, at the same height."""

    gamma: float = 3.3
    """Enhancement of the peak; 1 gives Pierson-Moskowitz."""

    def __post_init__(self):
        super(JonswapSea, self).__post_init__()
        gamma = _finite(self.gamma, "sea.gamma")
        if gamma < 1.0:
            raise ValueError(f"sea.gamma is {gamma:g}, must be 1 or more")
        _set(self, gamma=gamma)


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeSurface:
    """The water ends at its surface: a body that crosses it displaces less. Without it water is everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The water around the mechanism; `Environment()` is still water without end."""

    current: Current | None = None
    """The current; None for none."""
    gusts: Gusts | None = None
    """Random change of the current, with the same profile over depth; None for none."""
    waves: tuple[RegularWave | PiersonMoskowitzSea | JonswapSea, ...] = ()
    """Waves and seas; their motions add up."""
    water_depth: float | None = None
    """Depth of the bed for the waves [m]; None for deep water."""
    surface: FreeSurface | None = None
    """The free surface; None where bodies stay below it."""

    def __post_init__(self):
        waves = _list(self.waves, "environment.waves")
        for wave in waves:
            if not isinstance(wave, RegularWave | PiersonMoskowitzSea):
                raise ValueError(f"environment.waves has {wave!r}; use RegularWave, PiersonMoskowitzSea or JonswapSea")
        _set(self, waves=waves)
        for name, kind in (("current", Current), ("gusts", Gusts), ("surface", FreeSurface)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise ValueError(f"environment.{name} is {value!r}, must be {kind.__name__}(...) or None")
        if self.water_depth is not None:
            _set(self, water_depth=_positive(self.water_depth, "environment.water_depth"))

    @property
    def profile(self) -> Uniform | PowerLaw | DepthTable:
        """Factor on current and gusts by depth."""
        return Uniform() if self.current is None else self.current.profile
