"""Result of a run, and states on disk as JSON without loss of precision."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hydromechs import files
from hydromechs.model import State
from hydromechs.recording import MemoryRecorder, RecordingWriter
from hydromechs.values import finite

if TYPE_CHECKING:
    import xarray


class RunLog:
    """Log of the messages of a run."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        """Messages of one line each."""

    def say(self, text: str) -> None:
        """Add a message."""
        self.messages.append(text)


@dataclass(repr=False)
class Run:
    """Result of a run."""

    sink: MemoryRecorder | RecordingWriter
    """Destination of the samples."""
    state: State
    """Final state."""
    stopped: str | None
    """Reason for an early end, or None."""
    messages: list[str] = field(default_factory=list)
    """Events and warnings."""
    wall_time: float = 0.0
    """Wall time of the run [s]."""
    real_time_factor: float = 0.0
    """Ratio of simulated time to wall time [-]."""
    late: int = 0
    """Number of missed deadlines of a real-time run."""

    @cached_property
    def recording(self) -> xarray.Dataset:
        """Recording of the run; a recording on disk is loaded on first use."""
        return self.sink.dataset()

    def __repr__(self) -> str:
        model = self.sink.attrs.get("model", "?")
        end = f", stopped: {self.stopped}" if self.stopped else ""
        notes = f", {len(self.messages)} messages" if self.messages else ""
        times = f"{self.sink.samples} samples to t = {self.state.t:g} s"
        return f"<Run of {model}: {times} in {self.wall_time:.3g} s ({self.real_time_factor:.3g} x real time){end}{notes}>"


VERSION = 2
"""Version of the format of state files."""
MAY_BE_NAN = ("memory", "signal")
"""Arrays of a state that may contain entries without a value."""


def save_state(
    state: State, path: str | os.PathLike, layout: str = "", run: Mapping[str, str | int | float] | None = None
) -> Path:
    """Write a state from which a run can be resumed; return the path.

    Args:
        state: State to write.
        path: File to write, usually with the suffix .json.
        layout: Text that identifies the entries of the state, which `hydromechs run --resume` compares.
        run: Settings that a resumed run must match, such as the seed.
    """
    path = Path(path)
    content = {f.name: np.asarray(getattr(state, f.name)).tolist() for f in fields(state)}
    files.write_json(path, {"hydromechs_state": VERSION, "layout": layout, "run": dict(run or {}), **content})
    return path


def load_state(path: str | os.PathLike) -> State:
    """Read a state that was written by `save_state`.

    Args:
        path: File to read.
    """
    try:
        content = files.read_json(path)
        version = content.pop("hydromechs_state", None)
        if version == VERSION:
            for about in ("layout", "run"):
                content.pop(about, None)
            t, control = finite(content.pop("t", 0.0), "t"), finite(content.pop("control", 1.0), "control")
            return State(t=t, control=control, **{name: _numbers(name, values) for name, values in content.items()})
        fault = "the key 'hydromechs_state' is missing"
    except (ValueError, TypeError, AttributeError, OverflowError, files.UnreadableFile) as error:
        version, fault = None, str(error)
    if version is not None:
        try:
            files.check_version(path, "a saved state", version, VERSION, "start the run again from the beginning")
        except files.UnreadableFile as error:
            raise ValueError(str(error)) from None
    raise ValueError(f"{path} is not a state of a simulation: {fault}; write a state with save_state")


def _numbers(name: str, values: object) -> np.ndarray:
    if not (isinstance(values, list) and all(type(x) in (int, float) for x in values)):
        raise ValueError(f"{name} must be a list of numbers")
    numbers = np.array(values, dtype=float)
    if name not in MAY_BE_NAN and not np.isfinite(numbers).all():
        raise ValueError(f"{name} contains a number that is not finite")
    return numbers
