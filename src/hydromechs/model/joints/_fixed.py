"""Fixed joints."""

from dataclasses import dataclass

import numpy as np

from hydromechs.values import Array

from ._joint import Coordinates, SteppedJoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed(SteppedJoint):
    """No motion: the body is merged with its parent for the dynamics and keeps its name, frame and outputs."""

    kind = "fixed"
    neutral_q = ()

    @property
    def coordinates(self) -> tuple[Coordinates, ...]:
        return ()

    @property
    def rates(self) -> tuple[Coordinates, ...]:
        return ()

    def steps(self, iq: int, iv: int) -> tuple:
        return self.placement.steps(2)

    def random_q(self, rng: np.random.Generator, n: int) -> Array:
        return np.zeros((n, 0))
