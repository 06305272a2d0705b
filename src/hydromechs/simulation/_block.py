"""Blocks: parts of a mission that run at their own ticks."""

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
    """Time from which it runs [s]."""
    end: Number = math.inf
    """Time from which it no longer runs [s]; inf for none."""

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.start < self.end:
            raise FieldError("Phase.start", self.start, f"must be before end, {self.end:g} s")


class Block(abc.ABC):
    """A part of a mission that runs at its own ticks: a sensor, a navigation filter or a controller."""

    __slots__ = ()
    name: str
    """Name, unique among the blocks."""

    def sensing(
        self, source: SensingSource | None, blocks: Sequence[Block], components: Sequence[Component]
    ) -> SensingSource | None:
        """Return what controllers read, with this block; by default, `source` itself.

        Args:
            source: Sensors and filter of the blocks before this one, if any.
            blocks: All blocks.
            components: Components of the simulation, among them terrain.
        """
        return source


BLOCKS = "blocks: sensors, Navigation(...), PythonBlock(controller=...)"
"""Return the contents of a list of blocks, for messages."""


@dataclass(frozen=True, kw_only=True)
class PythonBlock(Block):
    """A controller in Python, which sets commands."""

    name: str = "controller"
    """Name, unique among the blocks; prefix of its signals if there are several controllers."""
    controller: Controller | Callable[[State], Commands]
    """A `Controller`, or a function of the state."""
    period: float | None = None
    """Time between two calls of a function [s]; a controller has its own."""
    phase: Phase = field(default_factory=Phase)
    """Time interval in which it runs."""

    def __post_init__(self) -> None:
        if self.controller is None:
            raise FieldError("PythonBlock.controller", None, "must be a hydromechs.Controller or a function of the state")
        as_controller(self.controller, self.period)  # raises an error for an invalid controller

    def make(self, number: int = 0) -> Controller:
        """Return the controller; `number` is its index among the blocks."""
        made: Any = as_controller(self.controller, self.period)
        return made
