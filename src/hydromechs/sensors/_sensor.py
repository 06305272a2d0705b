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
    """Errors of a channel: y = clip(round(x + b + n)), in the unit of the quantity.

    At sample k, of a rate f:  n_k = √(sigma² + density² f) w_k,   b_k = b_{k−1} + walk √(1/f) w'_k,   b_0 = bias w'_0
    with w independent standard normal numbers that depend on the seed, the sensor's name and k.
    """

    sigma: NotNegative = 0.0
    """Standard deviation of one sample [unit]."""
    density: NotNegative = 0.0
    """Density of white noise: its integral over a time t has the standard deviation density·√t [unit/√Hz]."""
    bias: NotNegative = 0.0
    """Standard deviation of the bias, which is drawn once and constant [unit]."""
    walk: NotNegative = 0.0
    """Random walk of the bias: it changes by walk·√t in a time t [unit/√s]."""
    resolution: NotNegative = 0.0
    """Resolution: step to which readings are rounded [unit]; 0 for none."""
    limit: Limit = math.inf
    """Range: maximum magnitude of a reading [unit]; inf for none."""

    def __post_init__(self) -> None:
        check_fields(self)

    def deviation(self, rate: float) -> float:
        """Standard deviation of the noise of one sample at a rate [Hz]."""
        return math.sqrt(self.sigma**2 + self.density**2 * rate)

    def variance(self, rate: float) -> float:
        """Variance of one sample about its bias at a rate [Hz]: noise and rounding."""
        return self.deviation(rate) ** 2 + self.resolution**2 / 12.0


PERFECT = Noise()
"""No errors."""


Outages = Annotated[tuple[tuple[float, ...], ...], Bound(size=2, rows=0)]
"""Pairs of times."""


class Channel(NamedTuple):
    """One number of a measurement."""

    label: str
    """Name within the sensor, such as "wx"."""
    unit: str
    """Its unit."""
    noise: Noise
    """Its errors."""


class Errors(NamedTuple):
    """Errors of all channels of a sensor, see `Noise`, shape (n,) each."""

    deviation: Array
    """Standard deviations of the noise of one sample."""
    variance: Array
    """Variances of one sample about its bias: noise and rounding."""
    bias: Array
    """Standard deviations of the biases."""
    walk: Array
    """Standard deviations of the biases' steps from sample to sample."""
    resolution: Array
    """Steps to which readings are rounded; 0: none."""
    limit: Array
    """Highest readings."""


class FrameMotion(Protocol):
    """Motion of a mounted frame in world axes, true or estimated by a filter."""

    @property
    def p(self) -> Array:
        """Its origin [m], shape (3,)."""

    @property
    def R(self) -> Array:
        """Its axes, shape (3, 3)."""

    @property
    def v(self) -> Array:
        """Velocity of its origin [m/s], shape (3,)."""

    @property
    def v_water(self) -> Array:
        """Velocity of the water there [m/s], shape (3,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensor(Block):
    """Sensor that measures `rate` times a second. Derive a frozen dataclass, write `channels` and `read`."""

    draws: ClassVar[int] = 0
    """Standard normal numbers per measurement for its noise; 0 for one per channel."""
    kept: ClassVar[int] = 0
    """Number of values that the next measurement needs from this one; see `keep`."""

    name: str
    """Name, unique among the sensors."""
    rate: Positive
    """Measurements per second [Hz]; its period must be an integer multiple of the fastest sensor's."""
    latency: NotNegative = 0.0
    """Latency: time from a measurement until it can be used [s]."""
    dropout: Annotated[float, Bound(least=0.0, below=1.0)] = 0.0
    """Probability that a measurement is missing [-]."""
    outages: Outages = ()
    """Intervals in which it does not measure, pairs of times [s]."""
    seed: Annotated[int, Bound(least=0, whole=True)] = 0
    """Seed of its errors, besides the seed of the simulation."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise FieldError(f"{type(self).__name__}.name", self.name, "must be a non-empty text")
        check_fields(self, f"sensor {self.name!r}")
        object.__setattr__(self, "seed", int(self.seed))
        for begin, end in self.outages:
            if end <= begin:
                raise FieldError(f"sensor {self.name!r}.outages", [begin, end], "must be increasing times, [from, to]")

    @abc.abstractmethod
    def channels(self, model: Model) -> Sequence[Channel]:
        """The numbers of one measurement."""

    @abc.abstractmethod
    def read(self, instant: Instant) -> Array:
        """Error-free measurement, in NumPy operations, shape (n,); NaN for missing values.

        It does not depend on rate, latency, drop-outs, outages, seed and `Noise`: changing them requires no compilation.
        """

    def keep(self, instant: Instant) -> Array:
        """Values of this instant that the next measurement needs as `instant.before`, in NumPy operations, shape (kept,)."""
        return np.zeros(0)

    def check(self, model: Model) -> None:
        """Raise `ValueError` or `KeyError` if it does not fit a model; by default `channels` and `read` must run."""

    def check_beside(self, components: Sequence[Component]) -> None:
        """Raise `ValueError` if it does not fit the components of a scenario; by default it fits all."""

    def errors(self, model: Model) -> Errors:
        """Errors of its channels."""
        noises = [c.noise for c in self.channels(model)]
        rows = [
            (n.deviation(self.rate), n.variance(self.rate), n.bias, n.walk * math.sqrt(self.period), n.resolution, n.limit)
            for n in noises
        ]
        return Errors(*np.array(rows).T)

    def measured(self, true: Array, bias: Array, normals: Array, errors: Errors) -> Array:
        """Return a measurement with its errors, in NumPy operations, shape (n,).

        `true`: result of `read`, shape (n,); `bias`: present bias of each channel, shape (n,); `normals`: standard normal
        numbers, shape (n,) or (draws,); `errors`: errors of its channels.
        """
        y = true + bias + errors.deviation * normals
        rows = zip(y, errors.resolution, errors.limit, strict=True)
        return np.array([_limited(_rounded(x, step), limit) for x, step, limit in rows])

    def sensing(
        self, source: SensingSource | None, blocks: Sequence[Block], components: Sequence[Component]
    ) -> SensingSource | None:
        """Return all sensors, if they are not already included."""
        from ._sensing import SensorSuite

        terrain = tuple(part for part in components if isinstance(part, Terrain))
        return source or SensorSuite(tuple(block for block in blocks if isinstance(block, Sensor)), terrain)

    @property
    def period(self) -> float:
        """Time between two measurements [s]."""
        return 1.0 / self.rate

    @property
    def in_flight(self) -> int:
        """Measurements that can be in transit at once; 0 without latency."""
        return math.ceil(self.latency * self.rate - 1e-9)


def _rounded(x: Scalar, step: Scalar) -> Scalar:
    """Return the nearest multiple of a step, rounding ties up; x itself if the step is 0."""
    if isinstance(step, float) and step == 0.0:
        return x
    positive = where(step > 0.0, step, 1.0)
    return where(step > 0.0, nearest_integer(x / positive) * positive, x)


def _limited(x: Scalar, limit: Scalar) -> Scalar:
    return x if isinstance(limit, float) and math.isinf(limit) else clamp(x, -limit, limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted(Sensor):
    """A sensor on a frame."""

    frame: str
    """Named frame of the model, or a body, that carries it; it measures in the axes of that frame."""
    misalignment: NotNegative = 0.0
    """Standard deviation of its mounting error about each axis, which is drawn once [rad]."""

    def check(self, model: Model) -> None:
        try:
            model.locate(self.frame)
        except KeyError as e:
            raise KeyError(f"sensor {self.name!r}: {e.args[0]}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Aid(Mounted):
    """A sensor that a navigation filter can use: its measurement follows from the motion of its frame."""

    angular: ClassVar[bool] = False
    """True if it measures angles, which differ by at most half a turn."""
    shows: ClassVar[Literal["position", "velocity", "attitude"]] = "position"
    """Likely cause if a filter rejects it for long."""

    @abc.abstractmethod
    def expected(self, place: FrameMotion, world: World) -> Array:
        """Return the error-free measurement of a frame with this motion, in NumPy operations, shape (n,).

        `place`: the frame, true or estimated; `world`: axes, gravity and water.
        """

    def read(self, instant: Instant) -> Array:
        return self.expected(instant.mount(self.name, self.frame), instant.model.world)

    def covariance(self, measured: Array, errors: Errors) -> Array:
        """Return the covariance of the errors of a measurement about its biases, in NumPy operations, shape (n, n).

        `measured`: the measurement, shape (n,); `errors`: errors of its channels.
        """
        return np.diag(errors.variance)
