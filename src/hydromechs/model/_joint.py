"""What all joints share."""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import ClassVar

from ._placement import Mdh, Origin

__all__ = ["Joint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint(abc.ABC):
    """What all joints share."""

    placement: Origin | Mdh = field(default_factory=Origin)
    """Joint frame on the parent, before motion."""

    kind: ClassVar[str]
    """Name in files."""
    neutral_q: ClassVar[tuple[float, ...]]
    """Configuration at zero, shape (nq,)."""
    unit: ClassVar[str] = "rad"
    """Unit of its coordinates, "rad" or "m"; that of a free or ball joint is that of its turns."""

    @property
    @abc.abstractmethod
    def initial_q(self) -> tuple[float, ...]:
        """Initial configuration, shape (nq,)."""

    @property
    @abc.abstractmethod
    def initial_v(self) -> tuple[float, ...]:
        """Initial velocity, shape (nv,)."""

    @abc.abstractmethod
    def steps(self, iq: int, iv: int) -> tuple:
        """Transformations from the parent, see the module.

        Args:
            iq: Where its coordinates start in `q`.
            iv: Where its velocities start in `v`.
        """

    @property
    def parts(self) -> tuple[Joint, ...]:
        """The joint itself: one part, as those of a composition."""
        return (self,)

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return len(self.initial_q)

    @property
    def nv(self) -> int:
        """Number of velocity coordinates."""
        return len(self.initial_v)
