"""Values of parameters: what each may be, and how runs are spread over all of them."""

from __future__ import annotations

import abc
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hydromechs.values import finite


class Spread(abc.ABC):
    """What a parameter may be."""

    @abc.abstractmethod
    def at(self, u: float) -> Any:
        """The value at a share of its probability, 0 to 1, without the ends where these are not finite."""

    @abc.abstractmethod
    def steps(self) -> list[Any]:
        """Its values on a grid; `ValueError` where it has none."""

    @abc.abstractmethod
    def ends(self) -> list[Any]:
        """Values that show whether all between them are good."""


def _steps(count: int | None) -> int:
    if count is None:
        raise ValueError("a grid needs steps: how many values the range has; add it, or give values")
    if count < 2:
        raise ValueError(f"steps is {count}, must be 2 or more; for one value use changes")
    return count


@dataclass(frozen=True)
class Range(Spread):
    """All numbers between two, each as likely as the others."""

    low: float
    """Lower end."""
    high: float
    """Upper end."""
    count: int | None = None
    """How many values a grid has."""

    def __post_init__(self) -> None:
        if not finite(self.low, "its lower end") < finite(self.high, "its upper end"):
            raise ValueError(f"the range is from {self.low:g} to {self.high:g}, must end above its beginning; swap them?")

    def at(self, u: float) -> float:
        """See `Spread`."""
        return self.low + u * (self.high - self.low)

    def steps(self) -> list[float]:
        """See `Spread`."""
        return np.linspace(self.low, self.high, _steps(self.count)).tolist()

    def ends(self) -> list[float]:
        """See `Spread`."""
        return [self.low, self.high]


@dataclass(frozen=True)
class LogRange(Range):
    """All numbers between two above 0, their logarithms each as likely as the others."""

    def __post_init__(self) -> None:
        Range.__post_init__(self)
        if self.low <= 0.0:
            raise ValueError(f"log_range begins at {self.low:g}, must begin above 0")

    def at(self, u: float) -> float:
        """See `Spread`."""
        return self.low * math.exp(u * math.log(self.high / self.low))

    def steps(self) -> list[float]:
        """See `Spread`."""
        return np.geomspace(self.low, self.high, _steps(self.count)).tolist()


@dataclass(frozen=True)
class Normal(Spread):
    """A normal distribution."""

    mean: float
    """Its mean."""
    sigma: float
    """Its standard deviation, above 0."""

    def __post_init__(self) -> None:
        finite(self.mean, "its mean")
        if not finite(self.sigma, "its standard deviation") > 0.0:
            raise ValueError(f"the standard deviation is {self.sigma:g}, must be above 0; for one value use changes")

    def at(self, u: float) -> float:
        """See `Spread`."""
        from scipy.special import ndtri

        least = 2.0**-54  # a share of exactly 0 has no value
        return float(self.mean + self.sigma * ndtri(min(max(u, least), 1.0 - 2.0**-53)))

    def steps(self) -> list[float]:
        """See `Spread`."""
        raise ValueError("a grid has no normal distributions; give range and steps, or values")

    def ends(self) -> list[float]:
        """See `Spread`."""
        return [self.mean]


@dataclass(frozen=True)
class Choices(Spread):
    """Some values, each as likely as the others."""

    values: tuple[Any, ...]
    """The values: numbers, or texts."""

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError("values is empty; give at least one")
        texts = [isinstance(x, str) for x in self.values]
        if any(texts) and not all(texts):
            raise ValueError(f"values is {list(self.values)}, must be all numbers or all texts")
        if not any(texts):
            object.__setattr__(self, "values", tuple(finite(x, "one of values") for x in self.values))
        if len(set(self.values)) < len(self.values):
            raise ValueError(f"values is {list(self.values)}; one of them occurs twice")

    def at(self, u: float) -> Any:
        """See `Spread`."""
        return self.values[min(int(u * len(self.values)), len(self.values) - 1)]

    def steps(self) -> list[Any]:
        """See `Spread`."""
        return list(self.values)

    def ends(self) -> list[Any]:
        """See `Spread`."""
        return list(self.values)


class Sampling(abc.ABC):
    """How runs are spread over the parameters."""

    @abc.abstractmethod
    def table(self, spreads: Sequence[Spread], seed: int) -> list[tuple[Any, ...]]:
        """The values of all parameters in each run."""


@dataclass(frozen=True)
class Grid(Sampling):
    """All combinations; the last parameter changes from run to run."""

    def table(self, spreads: Sequence[Spread], seed: int) -> list[tuple[Any, ...]]:
        """See `Sampling`."""
        return list(itertools.product(*(spread.steps() for spread in spreads)))


@dataclass(frozen=True)
class _Sampled(Sampling):
    """Runs at points of the unit cube."""

    runs: int
    """How many."""

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise ValueError(f"runs is {self.runs}, must be 1 or more")

    @abc.abstractmethod
    def points(self, dimensions: int, seed: int) -> np.ndarray:
        """Points in the unit cube, shape (runs, dimensions)."""

    def table(self, spreads: Sequence[Spread], seed: int) -> list[tuple[Any, ...]]:
        """See `Sampling`."""
        points = self.points(len(spreads), seed) if spreads else np.zeros((self.runs, 0))
        return [tuple(spread.at(float(u)) for spread, u in zip(spreads, row, strict=True)) for row in points]


@dataclass(frozen=True)
class MonteCarlo(_Sampled):
    """Independent random points. The first n of more runs are those of n runs."""

    def points(self, dimensions: int, seed: int) -> np.ndarray:
        """See `_Sampled`."""
        return np.random.default_rng(seed).random((self.runs, dimensions))


@dataclass(frozen=True)
class LatinHypercube(_Sampled):
    """Random points, one in each of as many slices of each parameter as there are runs."""

    def points(self, dimensions: int, seed: int) -> np.ndarray:
        """See `_Sampled`."""
        from scipy.stats import qmc

        return qmc.LatinHypercube(dimensions, seed=np.random.default_rng(seed)).random(self.runs)


@dataclass(frozen=True)
class Sobol(_Sampled):
    """A scrambled Sobol sequence: points that fill the cube evenly; best with a power of 2 of them."""

    def points(self, dimensions: int, seed: int) -> np.ndarray:
        """See `_Sampled`."""
        from scipy.stats import qmc

        sequence = qmc.Sobol(dimensions, scramble=True, seed=np.random.default_rng(seed))
        power = max(math.ceil(math.log2(self.runs)), 0)
        return sequence.random_base2(power)[: self.runs]
