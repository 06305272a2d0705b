"""Blocks: parts of a mission that run at separate ticks."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hydromechs.errors import FieldError
from hydromechs.model import State
from hydromechs.model.component import Component
from hydromechs.values import Finite, Number, check_fields

from ._controller import Commands, Controller, as_controller

if TYPE_CHECKING:
    from ._mission import SensingSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Time interval in which a block runs."""

    start: Finite = 0.0
    """Time from which the block runs [s]."""
    end: Number = math.inf
    """Time at which the block stops running [s]; inf for no end."""

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.start < self.end:
            raise FieldError("Phase.start", self.start, f"must be before end ({self.end:g} s)")


class Block(abc.ABC):
    """Part of a mission that runs at separate ticks: a sensor, a navigation filter or a controller."""

    __slots__ = ()
    name: str
    """Name, unique among the blocks."""

    def sensing(
        self, source: SensingSource | None, blocks: Sequence[Block], components: Sequence[Component]
    ) -> SensingSource | None:
        """Return the source of controller readings that includes this block; by default, `source` itself.

        Args:
            source: Sensors and filter of the preceding blocks, or None.
            blocks: All blocks.
            components: Components of the simulation, including terrain.
        """
        return source


BLOCKS = "blocks: sensors, Navigation(...), PythonBlock(controller=...)"
"""Description of the contents of a list of blocks, for messages."""


@dataclass(frozen=True, kw_only=True)
class PythonBlock(Block):
    """Controller in Python, which sets commands."""

    name: str = "controller"
    """Name, unique among the blocks; it prefixes signals if there are several controllers."""
    controller: Controller | Callable[[State], Commands]
    """`Controller`, or function of the state that returns commands."""
    period: float | None = None
    """Time between two calls of a function [s]; omit it for a `Controller`, which defines its own period."""
    phase: Phase = field(default_factory=Phase)
    """Time interval in which the controller runs."""

    def __post_init__(self) -> None:
        if self.controller is None:
            raise FieldError("PythonBlock.controller", None, "must be a hydromechs.Controller or a function of the state")
        as_controller(self.controller, self.period)  # raises an error for an invalid controller

    def make(self, number: int = 0) -> Controller:
        """Return the controller; `number` is its index among the blocks."""
        made: Any = as_controller(self.controller, self.period)
        return made
