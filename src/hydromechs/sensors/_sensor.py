"""Interface of sensors: rates, measurements and errors."""

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from hydromechs.contact import Terrain
from hydromechs.errors import FieldError
from hydromechs.model import Model, World
from hydromechs.model.component import Component
from hydromechs.simulation import Block, SensingSource
from hydromechs.spatial import clamp, nearest_integer, where
from hydromechs.values import Array, Bound, Limit, NotNegative, Positive, Scalar, check_fields

from ._instant import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Error model of a channel: y = clip(round(x + b + n)), in the unit of the quantity.

    At sample k with rate f:  n_k = √(sigma² + density² f) w_k,   b_k = b_{k−1} + walk √(1/f) w'_k,   b_0 = bias w'_0
    where w and w' are independent standard normal numbers determined by the seeds, the sensor name and k.
    """

    sigma: NotNegative = 0.0
    """Standard deviation of the noise of one sample [unit]."""
    density: NotNegative = 0.0
    """Density of white noise [unit/√Hz]; the integral over a time t has the standard deviation density·√t."""
    bias: NotNegative = 0.0
    """Standard deviation of the initial bias [unit]."""
    walk: NotNegative = 0.0
    """Random walk of the bias [unit/√s]; the standard deviation of its change in a time t is walk·√t."""
    resolution: NotNegative = 0.0
    """Resolution to which readings are rounded [unit]; 0 disables rounding."""
    limit: Limit = math.inf
    """Saturation limit of the magnitude of readings [unit]; inf disables saturation."""

    def __post_init__(self) -> None:
        check_fields(self)

    def deviation(self, rate: float) -> float:
        """Return the standard deviation of the noise of one sample [unit] at a rate [Hz]."""
        return math.sqrt(self.sigma**2 + self.density**2 * rate)

    def variance(self, rate: float) -> float:
        """Return the variance of one sample about the bias [unit²] at a rate [Hz]: noise and rounding."""
        return self.deviation(rate) ** 2 + self.resolution**2 / 12.0


PERFECT = Noise()
"""Noise model without errors."""


Outages = Annotated[tuple[tuple[float, ...], ...], Bound(size=2, rows=0)]
"""Pairs of start and end times [s]."""


class Channel(NamedTuple):
    """Channel of a sensor: one scalar of a measurement."""

    label: str
    """Name within the sensor, such as "wx"."""
    unit: str
    """Unit of the scalar."""
    noise: Noise
    """Error model of the scalar."""


class Errors(NamedTuple):
    """Error parameters of all channels of a sensor, see `Noise`, shape (n,) each."""

    deviation: Array
    """Standard deviations of the noise of one sample [unit]."""
    variance: Array
    """Variances of one sample about the bias [unit²]: noise and rounding."""
    bias: Array
    """Standard deviations of the initial biases [unit]."""
    walk: Array
    """Standard deviations of the bias increments between samples [unit]."""
    resolution: Array
    """Resolutions of readings [unit]; 0 without rounding."""
    limit: Array
    """Saturation limits of readings [unit]."""


class FrameMotion(Protocol):
    """Motion of a mounted frame in world axes, true or estimated by a filter."""

    @property
    def p(self) -> Array:
        """Origin of the frame in the world [m], shape (3,)."""

    @property
    def R(self) -> Array:
        """Axes of the frame in the world, shape (3, 3)."""

    @property
    def v(self) -> Array:
        """Velocity of the frame origin in world axes [m/s], shape (3,)."""

    @property
    def v_water(self) -> Array:
        """Water velocity at the frame origin in world axes [m/s], shape (3,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensor(Block):
    """Sensor that measures at a fixed rate. For a custom sensor, derive a frozen dataclass with `channels` and `read`."""

    draws: ClassVar[int] = 0
    """Number of standard normal numbers per measurement; 0 for one per channel."""
    kept: ClassVar[int] = 0
    """Number of values stored for the next measurement; see `keep`."""

    name: str
    """Unique name of the sensor."""
    rate: Positive
    """Measurement rate [Hz]; the period must be an integer multiple of the fastest sensor's period."""
    latency: NotNegative = 0.0
    """Latency: time between a measurement and its availability [s]."""
    dropout: Annotated[float, Bound(least=0.0, below=1.0)] = 0.0
    """Dropout probability of a measurement [-]."""
    outages: Outages = ()
    """Outages: pairs of start and end times without measurements [s]."""
    seed: Annotated[int, Bound(least=0, whole=True)] = 0
    """Seed of the sensor errors, combined with the seed of the simulation."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise FieldError(f"{type(self).__name__}.name", self.name, "must be a non-empty text")
        check_fields(self, f"sensor {self.name!r}")
        object.__setattr__(self, "seed", int(self.seed))
        for begin, end in self.outages:
            if end <= begin:
                raise FieldError(f"sensor {self.name!r}.outages", [begin, end], "must be increasing times, [start, end]")

    @abc.abstractmethod
    def channels(self, model: Model) -> Sequence[Channel]:
        """Return the channels of one measurement."""

    @abc.abstractmethod
    def read(self, instant: Instant) -> Array:
        """Return the error-free measurement, in NumPy operations, shape (n,); NaN for missing values.

        The result must not depend on rate, latency, dropout, outages, seed or `Noise`, so that their changes need no
        compilation.
        """

    def keep(self, instant: Instant) -> Array:
        """Return values stored for the next measurement, which reads them as `instant.before`, shape (kept,)."""
        return np.zeros(0)

    def check(self, model: Model) -> None:
        """Raise `ValueError` or `KeyError` if a model does not support the sensor; `channels` and `read` must also run."""

    def check_beside(self, components: Sequence[Component]) -> None:
        """Raise `ValueError` if the components of a scenario do not support the sensor; by default they do."""

    def errors(self, model: Model) -> Errors:
        """Return the error parameters of the channels."""
        noises = [c.noise for c in self.channels(model)]
        rows = [
            (n.deviation(self.rate), n.variance(self.rate), n.bias, n.walk * math.sqrt(self.period), n.resolution, n.limit)
            for n in noises
        ]
        return Errors(*np.array(rows).T)

    def measured(self, true: Array, bias: Array, normals: Array, errors: Errors) -> Array:
        """Return a measurement with errors, in NumPy operations, shape (n,).

        `true`: result of `read`, shape (n,); `bias`: current bias of each channel, shape (n,); `normals`: standard normal
        numbers, shape (n,) or (draws,); `errors`: error parameters of the channels.
        """
        y = true + bias + errors.deviation * normals
        rows = zip(y, errors.resolution, errors.limit, strict=True)
        return np.array([_limited(_rounded(x, step), limit) for x, step, limit in rows])

    def sensing(
        self, source: SensingSource | None, blocks: Sequence[Block], components: Sequence[Component]
    ) -> SensingSource | None:
        """Return a suite of all sensors, or `source` if it exists."""
        from ._sensing import SensorSuite

        terrain = tuple(part for part in components if isinstance(part, Terrain))
        return source or SensorSuite(tuple(block for block in blocks if isinstance(block, Sensor)), terrain)

    @property
    def period(self) -> float:
        """Measurement interval [s]."""
        return 1.0 / self.rate

    @property
    def in_flight(self) -> int:
        """Maximum number of measurements in transit; 0 without latency."""
        return math.ceil(self.latency * self.rate - 1e-9)


def _rounded(x: Scalar, step: Scalar) -> Scalar:
    """Return the nearest multiple of a step with ties rounded up, or x if the step is 0."""
    if isinstance(step, float) and step == 0.0:
        return x
    positive = where(step > 0.0, step, 1.0)
    return where(step > 0.0, nearest_integer(x / positive) * positive, x)


def _limited(x: Scalar, limit: Scalar) -> Scalar:
    return x if isinstance(limit, float) and math.isinf(limit) else clamp(x, -limit, limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted(Sensor):
    """Sensor on a frame."""

    frame: str
    """Frame or body that carries the sensor, which measures in axes of this frame."""
    misalignment: NotNegative = 0.0
    """Standard deviation of the constant random mounting error about each axis [rad]."""

    def check(self, model: Model) -> None:
        try:
            model.locate(self.frame)
        except KeyError as e:
            raise KeyError(f"sensor {self.name!r}: {e.args[0]}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Aid(Mounted):
    """Aiding sensor of a navigation filter: the motion of the frame determines the measurement."""

    angular: ClassVar[bool] = False
    """True if the sensor measures angles, whose differences are wrapped to ±180°."""
    shows: ClassVar[Literal["position", "velocity", "attitude"]] = "position"
    """Quantity in error if a filter persistently rejects the sensor."""

    @abc.abstractmethod
    def expected(self, place: FrameMotion, world: World) -> Array:
        """Return the error-free measurement for the motion of a frame, in NumPy operations, shape (n,).

        `place`: true or estimated motion of the frame; `world`: axes, gravity and water.
        """

    def read(self, instant: Instant) -> Array:
        return self.expected(instant.mount(self.name, self.frame), instant.model.world)

    def covariance(self, measured: Array, errors: Errors) -> Array:
        """Return the covariance of measurement errors about the biases, in NumPy operations, shape (n, n).

        `measured`: measurement, shape (n,); `errors`: error parameters of the channels.
        """
        return np.diag(errors.variance)
