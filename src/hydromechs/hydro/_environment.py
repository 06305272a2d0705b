"""Description of the water around a mechanism: currents, gusts, waves, free surface.

Most equations are in the neighbouring modules.  Depth is measured down from the mean surface; velocities are in world
axes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, TypeAlias

from hydromechs.errors import FieldError
from hydromechs.registry import Degrees
from hydromechs.spatial import clamp, maximum, where
from hydromechs.values import Bound, Finite, Positive, Rising, Row, Scalar, Vector3, check_fields

LINEAR_PART = 1e-3
"""Height above the bed, as a fraction of the water depth, below which a straight line from 0 replaces the power law."""
Sigmas = Annotated[tuple[float, float, float], Bound(least=0.0, size=3)]
"""Standard deviations along three axes, each at least 0."""
Velocities = Annotated[tuple[tuple[float, float, float], ...], Bound(size=3, rows=0)]
"""Rows of three finite numbers."""
Components = Annotated[int, Bound(least=1, most=10_000, whole=True)]
"""Number of sine waves."""
Gamma = Annotated[float, Bound(least=1.0)]
"""Factor of at least 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform:
    """Uniform current at all depths."""

    def factor(self, depth: Scalar) -> Scalar:
        """Return 1, the factor at all depths."""
        return 1.0

    def slope(self, depth: Scalar) -> Scalar:
        """Return 0, the slope at all depths."""
        return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLaw:
    """Power-law factor ((D − d)/D)^a: 1 at the mean surface, slightly more in crests, 0 below the bed.

    In the lowest thousandth of the depth, the factor decreases linearly to 0, so that its slope stays finite.
    """

    depth: Positive
    """Depth D of the bed [m]."""
    exponent: Positive = 1.0 / 7.0
    """Exponent a [-]."""

    def __post_init__(self) -> None:
        check_fields(self, "profile")

    def factor(self, depth: Scalar) -> Scalar:
        """Return s^a with s = max((D − d)/D, 0), or the straight line from 0 near the bed."""
        s = maximum((self.depth - depth) / self.depth, 0.0)
        near = LINEAR_PART ** (self.exponent - 1.0) * s
        return where(s > LINEAR_PART, s**self.exponent, near)

    def slope(self, depth: Scalar) -> Scalar:
        """Return the slope −a s^(a−1)/D [1/m], or the slope of the straight line near the bed."""
        s = (self.depth - depth) / self.depth
        a = self.exponent
        power = a * maximum(s, LINEAR_PART) ** (a - 1.0)
        return where(s > LINEAR_PART, power, where(s > 0.0, LINEAR_PART ** (a - 1.0), 0.0)) * (-1.0 / self.depth)


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthTable:
    """Factor on the current from a table, interpolated linearly and constant outside the table."""

    depths: Rising
    """Increasing depths [m], shape (n,)."""
    factors: Row
    """Factor on the velocity at each depth [-], shape (n,)."""

    def __post_init__(self) -> None:
        check_fields(self, "profile")
        n = len(self.depths)
        if not n:
            raise FieldError("profile.depths", [], "must contain at least one depth")
        if len(self.factors) != n:
            must = f"must have {n} numbers, one per depth, but has {len(self.factors)}"
            raise FieldError("profile.factors", list(self.factors), must)

    @property
    def _pieces(self) -> list[tuple[float, float, float]]:
        d, f = self.depths, self.factors
        return [(d[i], d[i + 1] - d[i], (f[i + 1] - f[i]) / (d[i + 1] - d[i])) for i in range(len(d) - 1)]

    def factor(self, depth: Scalar) -> Scalar:
        """Return the factor by linear interpolation: f_0 + Σ slope_i clamp(d − d_i, 0, d_{i+1} − d_i)."""
        out = self.factors[0]
        for begin, length, slope in self._pieces:
            out = out + slope * clamp(depth - begin, 0.0, length)
        return out

    def slope(self, depth: Scalar) -> Scalar:
        """Return the slope of the segment that contains the depth [1/m]."""
        out = 0.0
        for begin, length, slope in self._pieces:
            out = out + where(depth > begin, where(depth <= begin + length, slope, 0.0), 0.0)
        return out


Profile: TypeAlias = Uniform | PowerLaw | DepthTable
"""Factor on the velocity of current and gusts as a function of depth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """Current in world axes: a steady velocity or a table of velocities over time, multiplied by a profile over depth."""

    velocity: Vector3 = (0.0, 0.0, 0.0)
    """Steady velocity at the surface, in the direction of flow [m/s], shape (3,). Omit it if `times` are given."""
    times: Rising = ()
    """Increasing times of a table [s], shape (n,). Omit them if `velocity` is given."""
    velocities: Velocities = ()
    """Velocity at each time [m/s], shape (n, 3); interpolated linearly, constant before the first and after the last time."""
    profile: Profile = field(default_factory=Uniform)
    """Factor on the velocity as a function of depth. Defaults to 1."""

    def __post_init__(self) -> None:
        check_fields(self, "current")
        rows, times = len(self.velocities), len(self.times)
        if rows != times:
            given = [list(row) for row in self.velocities]
            raise FieldError(
                "current.velocities", given, f"must have one row for each of {times} current.times, but has {rows}"
            )
        if times and any(self.velocity):
            must = "cannot be combined with current.times; remove one of them"
            raise FieldError("current.velocity", list(self.velocity), must)
        if not isinstance(self.profile, Profile):
            raise FieldError("current.profile", self.profile, "must be Uniform(), PowerLaw(...) or DepthTable(...)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gusts:
    """Random variation of the current: a first-order Gauss-Markov process along each world axis, interpolated linearly."""

    sigma: Sigmas
    """Standard deviation along each world axis [m/s], shape (3,)."""
    time_constant: Positive
    """Time after which the correlation has decreased to 1/e [s]."""
    interval: Positive
    """Interval between samples, an integer multiple of the step [s]; the correlation of samples is exact for any interval."""

    def __post_init__(self) -> None:
        check_fields(self, "gusts")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegularWave:
    """Long-crested sine wave of linear (Airy) theory: η = H/2 cos(k n·p − ω t + phase), η positive upwards."""

    height: Positive
    """Height H from trough to crest [m]."""
    period: Positive
    """Period [s]."""
    direction: Annotated[Finite, Degrees()] = 0.0
    """Direction of propagation, from the world's x axis towards its y axis [rad]."""
    phase: Annotated[Finite, Degrees()] = 0.0
    """Phase at the world origin at time 0 [rad]; 0 is a crest."""

    def __post_init__(self) -> None:
        check_fields(self, "wave")


@dataclass(frozen=True, slots=True, kw_only=True)
class PiersonMoskowitzSea:
    """Long-crested, fully developed sea: waves with random phases and the Pierson-Moskowitz spectrum."""

    significant_height: Positive
    """Significant wave height, four times the standard deviation of the elevation [m]."""
    peak_period: Positive
    """Period at the peak of the spectrum [s]."""
    direction: Annotated[Finite, Degrees()] = 0.0
    """Direction of propagation, from the world's x axis towards its y axis [rad]."""
    components: Components = 30
    """Number of sine waves, 1 to 10,000."""

    def __post_init__(self) -> None:
        check_fields(self, "sea")


@dataclass(frozen=True, slots=True, kw_only=True)
class JonswapSea(PiersonMoskowitzSea):
    """Long-crested wind sea with the JONSWAP spectrum, which has a higher peak than Pierson-Moskowitz at the same height."""

    gamma: Gamma = 3.3
    """Peak enhancement factor [-]; 1 gives the Pierson-Moskowitz spectrum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeSurface:
    """Free surface, which reduces the displaced water of bodies that cross it. Without a free surface, water is unbounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Water around a mechanism; `Environment()` is unbounded still water."""

    current: Current | None = None
    """Current. Defaults to no current."""
    gusts: Gusts | None = None
    """Random variation of the current, with the same profile over depth. Defaults to no gusts."""
    waves: tuple[RegularWave | PiersonMoskowitzSea | JonswapSea, ...] = ()
    """Waves and seas, which are superposed."""
    water_depth: Positive | None = None
    """Depth of the bed for waves [m]. Defaults to deep water."""
    surface: FreeSurface | None = None
    """Free surface. Omit it for faster simulation if all bodies stay below the surface."""

    def __post_init__(self) -> None:
        if isinstance(self.waves, str) or not isinstance(self.waves, Iterable):
            raise FieldError("environment.waves", self.waves, "must be a list of waves")
        object.__setattr__(self, "waves", tuple(self.waves))
        for wave in self.waves:
            if not isinstance(wave, RegularWave | PiersonMoskowitzSea):
                raise ValueError(f"environment.waves contains {wave!r}; use RegularWave, PiersonMoskowitzSea or JonswapSea")
        for name, kind in (("current", Current), ("gusts", Gusts), ("surface", FreeSurface)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise FieldError(f"environment.{name}", value, f"must be {kind.__name__}(...) or None")
        check_fields(self, "environment")

    @property
    def random(self) -> bool:
        """True if gusts or waves depend on a seed."""
        return self.gusts is not None or any(not isinstance(wave, RegularWave) for wave in self.waves)

    @property
    def profile(self) -> Profile:
        """Factor on current and gusts as a function of depth."""
        return Uniform() if self.current is None else self.current.profile
