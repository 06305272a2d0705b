"""Logs of a vehicle: tables of comma-separated values, with what is wrong with them found and told."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs.values import nearest

__all__ = ["Log", "euler_angles", "read_log"]

GAP = 10.0
"""Times the usual time between two samples from which a pause is told."""
FEW = 10
"""Least number of samples of a log."""


@dataclass(frozen=True, eq=False)
class Log:
    """Columns of a log over time."""

    name: str
    """Name of its file."""
    time: np.ndarray
    """Times [s], shape (n,), rising."""
    columns: dict[str, np.ndarray]
    """Values by the name of the column, shape (n,) each."""
    notes: tuple[str, ...] = field(default=())
    """What was found wrong with it and what was done."""

    def column(self, name: str) -> np.ndarray:
        """A column by its name."""
        if name not in self.columns:
            raise KeyError(f"{self.name}: no column {name!r}{nearest(name, self.columns)}")
        return self.columns[name]

    def dataset(self) -> Any:
        """As an `xarray.Dataset` over time."""
        import xarray

        return xarray.Dataset({name: ("time", x) for name, x in self.columns.items()}, coords={"time": self.time})

    def keeping(self, good: np.ndarray, note: str) -> Log:
        """The log without some samples, and why."""
        kept = {name: x[good] for name, x in self.columns.items()}
        return Log(self.name, self.time[good], kept, (*self.notes, note) if note else self.notes)


def read_log(path: str | Path, time: str) -> Log:
    """A log from a file of comma-separated values, plain or compressed, with the names of its columns in the first line.

    Rows that are not whole, and samples whose time does not come after all before it, as of a clock that jumps back, are left
    out; pauses of more than ten times the usual time between two samples are told.

    Args:
        path: The file.
        time: Name of the column with the times [s].
    """
    path = Path(path)
    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as text:
            names = [name.strip() for name in text.readline().split(",")]
            rows = np.genfromtxt(text, delimiter=",", invalid_raise=False, ndmin=2)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ValueError(f"{path} is not a log that can be read: {error}") from None
    if time not in names:
        raise KeyError(f"{path.name}: no column {time!r} with the times{nearest(time, names)}")
    if rows.shape[1] != len(names):
        raise ValueError(f"{path.name}: rows have {rows.shape[1]} numbers, but {len(names)} columns have names")
    t, notes = rows[:, names.index(time)], []
    whole = np.isfinite(rows).all(axis=1)
    if not whole.all():
        notes.append(f"{path.name}: {int((~whole).sum())} of {len(rows)} rows have no number somewhere; left out")
        rows, t = rows[whole], t[whole]
    latest = np.maximum.accumulate(t) if len(t) else t
    late = np.concatenate([[True], t[1:] > latest[:-1]]) if len(t) else np.zeros(0, dtype=bool)
    if not late.all():
        notes.append(
            f"{path.name}: {int((~late).sum())} samples are not later than those before them (a clock that jumps?); left out"
        )
        rows, t = rows[late], t[late]
    if len(t) < FEW:
        raise ValueError(f"{path.name}: {len(t)} samples are left, needed are {FEW}")
    steps = np.diff(t)
    usual = float(np.median(steps))
    if usual > 1.0 and t[-1] > 1e4:
        notes.append(f"{path.name}: {usual:g} s between two samples; are times in milliseconds?")
    for k in np.flatnonzero(steps > GAP * usual):
        notes.append(f"{path.name}: nothing from {t[k]:.2f} to {t[k + 1]:.2f} s")
    return Log(path.name, t, {name: rows[:, k] for k, name in enumerate(names)}, tuple(notes))


def without_outliers(log: Log, limits: dict[str, float], span: float) -> Log:
    """The log without samples that are off the median around them by more than a limit.

    Args:
        log: The log.
        limits: Limits by column, in its unit.
        span: Time over which the median is taken [s].
    """
    from scipy.ndimage import median_filter

    n = 2 * max(1, round(0.5 * span / float(np.median(np.diff(log.time))))) + 1
    good = np.ones(len(log.time), dtype=bool)
    for name, limit in limits.items():
        x = log.column(name)
        good &= np.abs(x - median_filter(x, n, mode="nearest")) <= limit
    bad = int((~good).sum())
    return log.keeping(good, f"{log.name}: {bad} of {len(good)} samples are outliers; left out" if bad else "")


def changed(log: Log, name: str, longest: float) -> np.ndarray:
    """Places of the samples at which a column has a new value, and of others where none came for a time.

    A bus that repeats the last value between two updates makes a staircase of a slope; its corners are the truth.

    Args:
        log: The log.
        name: Name of the column.
        longest: Longest time without a sample [s].
    """
    x, keep, last = log.column(name), [0], log.time[0]
    for k in range(1, len(x)):
        if x[k] != x[k - 1] or log.time[k] - last > longest:
            keep.append(k)
            last = log.time[k]
    return np.array(keep)


def euler_angles(columns: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Roll, pitch and yaw [rad] of quaternions x, y, z, w; yaw without jumps.

    Args:
        columns: x, y, z and w, shape (n,) each.
    """
    q = np.stack(columns)
    size = np.sqrt(np.sum(q * q, axis=0))
    if not (np.abs(size - 1.0) < 0.05).all():
        raise ValueError(
            f"quaternions have lengths from {size.min():.3g} to {size.max():.3g}, must be 1: is their order x, y, z, w?"
        )
    x, y, z, w = q / size
    return {
        "roll": np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y)),
        "pitch": np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0)),
        "yaw": np.unwrap(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))),
    }
