"""Parameters, which are numbers that vary between runs, and sampling of their values."""

import abc
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.values import Bound, Finite, Positive, check_fields, finite

Steps = Annotated[int, Bound(whole=True, least=2, hint="use changes for a single value")]


@dataclass(frozen=True, kw_only=True)
class Parameter(abc.ABC):
    """Number that varies between runs."""

    name: str
    """Name of the coordinate in the store."""
    path: str | tuple[str, ...]
    """Path of the number in the scenario, such as "vehicle.inertia.mass" or "environment.current.velocity.x". If several
    paths are given, their numbers have the same value."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of the parameter."""
        return (self.path,) if isinstance(self.path, str) else tuple(self.path)

    @abc.abstractmethod
    def at(self, u: float) -> Any:
        """Return the value with the cumulative probability `u`, 0 to 1."""

    @abc.abstractmethod
    def grid(self) -> list[Any]:
        """Return the values on a grid; raise `ValueError` if the distribution has no grid values."""

    @abc.abstractmethod
    def ends(self) -> list[Any]:
        """Return representative values, which are used to check that all values are valid."""


@dataclass(frozen=True, kw_only=True)
class Range(Parameter):
    """Uniform distribution between two limits."""

    low: Finite
    """Lower limit."""
    high: Finite
    """Upper limit, greater than the lower limit."""
    steps: Steps | None = None
    """Number of values on a grid; required for sampling on a grid."""

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.low < self.high:
            raise FieldError("Range.high", self.high, f"must be above low ({self.low:g}); swap them")

    def at(self, u: float) -> float:
        return self.low + u * (self.high - self.low)

    def grid(self) -> list[float]:
        return np.linspace(self.low, self.high, self._steps()).tolist()

    def ends(self) -> list[float]:
        return [self.low, self.high]

    def _steps(self) -> int:
        if self.steps is None:
            raise ValueError("a grid requires steps, the number of values in the range; add steps")
        return self.steps


@dataclass(frozen=True, kw_only=True)
class LogRange(Range):
    """Log-uniform distribution between two positive limits."""

    low: Positive
    """Lower limit."""

    def at(self, u: float) -> float:
        return self.low * math.exp(u * math.log(self.high / self.low))

    def grid(self) -> list[float]:
        return np.geomspace(self.low, self.high, self._steps()).tolist()


@dataclass(frozen=True, kw_only=True)
class Normal(Parameter):
    """Normal distribution."""

    mean: Finite
    """Mean of the distribution."""
    sigma: Annotated[float, Bound(above=0.0, hint="use changes for a single value")]
    """Standard deviation of the distribution."""

    def at(self, u: float) -> float:
        from scipy.special import ndtri

        least = 2.0**-54  # a probability of exactly 0 has no value
        return float(self.mean + self.sigma * ndtri(min(max(u, least), 1.0 - 2.0**-53)))

    def grid(self) -> list[float]:
        raise ValueError("a normal distribution has no grid values; use a range with steps, or choices")

    def ends(self) -> list[float]:
        return [self.mean]


@dataclass(frozen=True, kw_only=True)
class Choices(Parameter):
    """Discrete values with equal probability."""

    values: tuple[Finite | str, ...]
    """Possible values, either all numbers or all strings."""

    def __post_init__(self) -> None:
        texts = [isinstance(x, str) for x in self.values]
        if not self.values:
            raise FieldError("Choices.values", [], "must have at least one value")
        if any(texts) and not all(texts):
            raise FieldError("Choices.values", list(self.values), "must be all numbers or all strings")
        if not any(texts):
            object.__setattr__(self, "values", tuple(finite(x, "Choices.values") for x in self.values))
        if len(set(self.values)) < len(self.values):
            raise FieldError("Choices.values", list(self.values), "must contain each value only once")

    def at(self, u: float) -> Any:
        return self.values[min(int(u * len(self.values)), len(self.values) - 1)]

    def grid(self) -> list[Any]:
        return list(self.values)

    def ends(self) -> list[Any]:
        return list(self.values)


class Sampling(abc.ABC):
    """Method that selects parameter values for the runs."""

    @abc.abstractmethod
    def table(self, parameters: Sequence[Parameter], seed: int) -> list[tuple[Any, ...]]:
        """Return the values of all parameters in each run; random values are determined by the seed."""


@dataclass(frozen=True)
class Grid(Sampling):
    """Full grid of all combinations of values; the last parameter varies fastest."""

    def table(self, parameters: Sequence[Parameter], seed: int) -> list[tuple[Any, ...]]:
        return list(itertools.product(*(parameter.grid() for parameter in parameters)))


@dataclass(frozen=True)
class _Sampled(Sampling):
    """Sampling at points in the unit cube."""

    runs: Annotated[int, Bound(whole=True, least=1)]
    """Number of runs."""

    def __post_init__(self) -> None:
        check_fields(self)

    @abc.abstractmethod
    def points(self, dimensions: int, seed: int) -> np.ndarray:
        """Return points in the unit cube, shape (runs, dimensions)."""

    def table(self, parameters: Sequence[Parameter], seed: int) -> list[tuple[Any, ...]]:
        points = self.points(len(parameters), seed) if parameters else np.zeros((self.runs, 0))
        return [tuple(p.at(float(u)) for p, u in zip(parameters, row, strict=True)) for row in points]


@dataclass(frozen=True)
class MonteCarlo(_Sampled):
    """Independent random points; the first n points do not depend on the number of runs."""

    def points(self, dimensions: int, seed: int) -> np.ndarray:
        return np.random.default_rng(seed).random((self.runs, dimensions))


@dataclass(frozen=True)
class LatinHypercube(_Sampled):
    """Latin hypercube: the range of each parameter has one interval per run, with one random point in each interval."""

    def points(self, dimensions: int, seed: int) -> np.ndarray:
        from scipy.stats import qmc

        return qmc.LatinHypercube(dimensions, seed=np.random.default_rng(seed)).random(self.runs)


@dataclass(frozen=True)
class Sobol(_Sampled):
    """Scrambled Sobol sequence, which covers the ranges evenly; most accurate if the number of runs is a power of 2."""

    def points(self, dimensions: int, seed: int) -> np.ndarray:
        from scipy.stats import qmc

        sequence = qmc.Sobol(dimensions, scramble=True, seed=np.random.default_rng(seed))
        power = max(math.ceil(math.log2(self.runs)), 0)
        return sequence.random_base2(power)[: self.runs]
