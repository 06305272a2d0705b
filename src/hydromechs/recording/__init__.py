"""Recordings: their store on disk and in memory, quantities by name, checks."""

from ._checks import STATISTICS, Check, CheckResult
from ._quantities import place
from ._store import MemoryRecorder, RecordingError, RecordingWriter, Variable, load_recording, save_recording

__all__ = [
    "STATISTICS",
    "Check",
    "CheckResult",
    "MemoryRecorder",
    "RecordingError",
    "RecordingWriter",
    "Variable",
    "load_recording",
    "place",
    "save_recording",
]
