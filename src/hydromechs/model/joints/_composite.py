"""Composite and fixed joints."""

from dataclasses import dataclass

import numpy as np

from hydromechs.values import Array

from ._joint import Coordinates, Joint, SteppedJoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed(SteppedJoint):
    """No motion. The dynamics merge the body with its parent; the body keeps its name, frame and outputs."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Composite:
    """Several joints in series as one joint with one 6×n motion subspace, such as a universal, cylindrical or planar joint."""

    parts: tuple[Joint, ...]
    """Joints from the parent outwards, at least one. The frame of the body is the frame of the last part."""

    kind = "composite"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))

    @property
    def neutral_q(self) -> tuple[float, ...]:
        """Configuration with all parts at zero, shape (nq,)."""
        return tuple(x for part in self.parts for x in part.neutral_q)

    @property
    def initial_q(self) -> tuple[float, ...]:
        """Initial configuration, shape (nq,)."""
        return tuple(x for part in self.parts for x in part.initial_q)

    @property
    def initial_v(self) -> tuple[float, ...]:
        """Initial velocity, shape (nv,)."""
        return tuple(x for part in self.parts for x in part.initial_v)

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return sum(part.nq for part in self.parts)

    @property
    def nv(self) -> int:
        """Number of velocity coordinates."""
        return sum(part.nv for part in self.parts)

    @property
    def shared(self) -> str:
        """Empty text: the joint does not share its coordinates with other bodies."""
        return ""

    def steps(self, iq: int, iv: int) -> tuple:
        """Return the transformations from the parent, see `Joint.steps`."""
        out: tuple = ()
        for part in self.parts:
            out += part.steps(iq, iv)
            iq, iv = iq + part.nq, iv + part.nv
        return out
