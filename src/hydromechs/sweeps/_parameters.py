"""Parameters: numbers that change from run to run, and their possible values."""

import abc
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.values import Bound, Finite, Positive, check_fields, finite

Steps = Annotated[int, Bound(whole=True, least=2, hint="for a single value use changes")]


@dataclass(frozen=True, kw_only=True)
class Parameter(abc.ABC):
    """Number that changes from run to run."""

    name: str
    """Name of its coordinate in the store."""
    path: str | tuple[str, ...]
    """Path of the number in the scenario, such as "vehicle.inertia.mass" or "environment.current.velocity.x". Several paths get
    the same number."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths."""
        return (self.path,) if isinstance(self.path, str) else tuple(self.path)

    @abc.abstractmethod
    def at(self, u: float) -> Any:
        """Return the value at a cumulative probability `u`, 0 to 1."""

    @abc.abstractmethod
    def grid(self) -> list[Any]:
        """Return the values on a grid; raise `ValueError` if it has none."""

    @abc.abstractmethod
    def ends(self) -> list[Any]:
        """Return values that test whether all values are valid."""


@dataclass(frozen=True, kw_only=True)
class Range(Parameter):
    """A number uniformly distributed between two limits."""

    low: Finite
    """Lower end."""
    high: Finite
    """Upper end, above the lower end."""
    steps: Steps | None = None
    """Number of values on a grid, required there."""

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.low < self.high:
            raise FieldError("Range.high", self.high, f"must be above low, {self.low:g}; swap them?")

    def at(self, u: float) -> float:
        return self.low + u * (self.high - self.low)

    def grid(self) -> list[float]:
        return np.linspace(self.low, self.high, self._steps()).tolist()

    def ends(self) -> list[float]:
        return [self.low, self.high]

    def _steps(self) -> int:
        if self.steps is None:
            raise ValueError("a grid needs steps, the number of values of the range; add it")
        return self.steps


@dataclass(frozen=True, kw_only=True)
class LogRange(Range):
    """A number between two limits, its logarithm uniformly distributed."""

    low: Positive
    """Lower end."""

    def at(self, u: float) -> float:
        return self.low * math.exp(u * math.log(self.high / self.low))

    def grid(self) -> list[float]:
        return np.geomspace(self.low, self.high, self._steps()).tolist()


@dataclass(frozen=True, kw_only=True)
class Normal(Parameter):
    """A normally distributed number."""

    mean: Finite
    """Mean."""
    sigma: Annotated[float, Bound(above=0.0, hint="for a single value use changes")]
    """Standard deviation."""

    def at(self, u: float) -> float:
        from scipy.special import ndtri

        least = 2.0**-54  # a probability of exactly 0 has no value
        return float(self.mean + self.sigma * ndtri(min(max(u, least), 1.0 - 2.0**-53)))

    def grid(self) -> list[float]:
        raise ValueError("a grid has no normal distributions; use a range with steps, or choices")

    def ends(self) -> list[float]:
        return [self.mean]


@dataclass(frozen=True, kw_only=True)
class Choices(Parameter):
    """Several values with equal probability."""

    values: tuple[Finite | str, ...]
    """The values: all numbers, or all texts."""

    def __post_init__(self) -> None:
        texts = [isinstance(x, str) for x in self.values]
        if not self.values:
            raise FieldError("Choices.values", [], "must have at least one value")
        if any(texts) and not all(texts):
            raise FieldError("Choices.values", list(self.values), "must be all numbers or all texts")
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
    """Spread of the runs over the parameters."""

    @abc.abstractmethod
    def table(self, parameters: Sequence[Parameter], seed: int) -> list[tuple[Any, ...]]:
        """Return the values of all parameters in each run; random numbers follow from the seed."""


@dataclass(frozen=True)
class Grid(Sampling):
    """All combinations of the values; the last parameter changes fastest."""

    def table(self, parameters: Sequence[Parameter], seed: int) -> list[tuple[Any, ...]]:
        return list(itertools.product(*(parameter.grid() for parameter in parameters)))


@dataclass(frozen=True)
class _Sampled(Sampling):
    """Runs at points of the unit cube."""

    runs: Annotated[int, Bound(whole=True, least=1)]
    """Number of runs."""

    def __post_init__(self) -> None:
        check_fields(self)

    @abc.abstractmethod
    def points(self, dimensions: int, seed: int) -> np.ndarray:
        """Points in the unit cube, shape (runs, dimensions)."""

    def table(self, parameters: Sequence[Parameter], seed: int) -> list[tuple[Any, ...]]:
        points = self.points(len(parameters), seed) if parameters else np.zeros((self.runs, 0))
        return [tuple(p.at(float(u)) for p, u in zip(parameters, row, strict=True)) for row in points]


@dataclass(frozen=True)
class MonteCarlo(_Sampled):
    """Independent random points. The first n of more runs are those of n runs."""

    def points(self, dimensions: int, seed: int) -> np.ndarray:
        return np.random.default_rng(seed).random((self.runs, dimensions))


@dataclass(frozen=True)
class LatinHypercube(_Sampled):
    """Random points: each parameter has as many slices as there are runs, with one point in each."""

    def points(self, dimensions: int, seed: int) -> np.ndarray:
        from scipy.stats import qmc

        return qmc.LatinHypercube(dimensions, seed=np.random.default_rng(seed)).random(self.runs)


@dataclass(frozen=True)
class Sobol(_Sampled):
    """A scrambled Sobol sequence, which fills the ranges evenly; best with a power of 2 runs."""

    def points(self, dimensions: int, seed: int) -> np.ndarray:
        from scipy.stats import qmc

        sequence = qmc.Sobol(dimensions, scramble=True, seed=np.random.default_rng(seed))
        power = max(math.ceil(math.log2(self.runs)), 0)
        return sequence.random_base2(power)[: self.runs]
