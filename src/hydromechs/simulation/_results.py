"""Result of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from hydromechs.model import State
from hydromechs.recording import MemoryRecorder, RecordingWriter

if TYPE_CHECKING:
    import xarray


class RunLog:
    """Messages of a run."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        """One line each."""

    def say(self, text: str) -> None:
        """Add a line."""
        self.messages.append(text)


@dataclass(repr=False)
class Run:
    """Outcome of a run."""

    sink: MemoryRecorder | RecordingWriter
    """Where the samples are."""
    state: State
    """The state at the end."""
    stopped: str | None
    """Why it ended before its time, or None."""
    messages: list[str] = field(default_factory=list)
    """Events and warnings."""
    wall_time: float = 0.0
    """Seconds that it took."""
    real_time_factor: float = 0.0
    """Simulated over real time."""
    late: int = 0
    """Missed deadlines of a run in real time."""

    @cached_property
    def recording(self) -> xarray.Dataset:
        """The recording. One on disk is loaded when it is first asked for."""
        return self.sink.dataset()

    def __repr__(self) -> str:
        model = self.sink.attrs.get("model", "?")
        end = f", stopped: {self.stopped}" if self.stopped else ""
        notes = f", {len(self.messages)} messages" if self.messages else ""
        times = f"{self.sink.samples} samples to t = {self.state.t:g} s"
        return f"<Run of {model}: {times} in {self.wall_time:.3g} s ({self.real_time_factor:.3g} x real time){end}{notes}>"
