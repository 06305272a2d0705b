"""Samplings: distribution of the runs over the parameters of a sweep."""

import abc
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from hydromechs.values import Bound, check_fields

from ._parameters import Parameter


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
