"""Recordings: storage on disk and in memory, named quantities, checks, comparisons, and summaries of runs."""

from ._checks import STATISTICS, Check, CheckResult, statistic_of
from ._compare import RecordingComparison, VariableDifference, compare_recordings
from ._export import select_recording, to_pandas
from ._folder import FolderInUse, RunFolder, lock_folder, unlock_folder
from ._quantities import (
    ATTITUDE,
    angle_difference,
    attitude,
    attitude_of,
    find_quantity,
    find_terms,
    period_of,
    samples_of,
    source_of,
    summed,
    unit_of,
    values_of,
)
from ._store import MemoryRecorder, RecordingError, RecordingWriter, Variable, load_recording, save_recording
from ._stored import check_store, checked_texts, structured
from ._summary import DESIGN, STORED_ENERGIES, WARNING_KINDS, RunWarning, Summary, real_time_factor, summarise

open = load_recording
"""Alias of `load_recording`, used as `hm.recording.open(path)`."""

__all__ = [
    "ATTITUDE",
    "DESIGN",
    "STATISTICS",
    "STORED_ENERGIES",
    "WARNING_KINDS",
    "Check",
    "CheckResult",
    "FolderInUse",
    "MemoryRecorder",
    "RecordingComparison",
    "RecordingError",
    "RecordingWriter",
    "RunFolder",
    "RunWarning",
    "Summary",
    "Variable",
    "VariableDifference",
    "angle_difference",
    "attitude",
    "attitude_of",
    "check_store",
    "checked_texts",
    "compare_recordings",
    "find_quantity",
    "find_terms",
    "load_recording",
    "lock_folder",
    "open",
    "period_of",
    "real_time_factor",
    "samples_of",
    "save_recording",
    "select_recording",
    "source_of",
    "statistic_of",
    "structured",
    "summarise",
    "summed",
    "to_pandas",
    "unit_of",
    "unlock_folder",
    "values_of",
]
