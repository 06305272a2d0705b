"""What a simulation takes and gives: controllers, runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hydromechs.model import State

if TYPE_CHECKING:
    import xarray

__all__ = ["Controller", "Run"]


class Controller(Protocol):
    """A controller: any callable from the state to commands. What it remembers must be in `memory`: a run can be resumed.

    `period` [s] and `memory` (an array that can be set) are optional, as is `start(simulation)`, called before the first tick.
    """

    def __call__(self, state: State) -> Mapping[str, float] | Sequence[float] | None:
        """Commands by actuator name (those not named stay), or all of them in order, or None for no change."""


@dataclass
class Run:
    """What became of a run."""

    recording: xarray.Dataset
    """The recording."""
    state: State
    """The state at the end."""
    stopped: str | None
    """Why it ended before its time, or None."""
    messages: list[str] = field(default_factory=list)
    """What happened: events, warnings."""
    wall_time: float = 0.0
    """Seconds that it took."""
    real_time_factor: float = 0.0
    """Simulated over real time."""
    late: int = 0
    """Looks at the clock that came late, of a run in real time."""
