"""Heights of a seabed from a file beside a scenario: an array of NumPy (.npy) or rows of numbers (.csv)."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

__all__ = ["MOST", "read_heights"]

MOST = 250_000
"""Heights that a field may have: they are constants of the machine code, which takes long to make with more."""


def read_heights(path: Path) -> np.ndarray:
    """Heights, a row for each x, shape (nx, ny); raises `ValueError` with what is wrong with the file.

    Args:
        path: The file; its suffix says what it is.
    """
    readers = {".npy": _npy, ".csv": _csv}
    if path.suffix.lower() not in readers:
        raise ValueError(f"{path.name!r} must end in .npy or .csv, of which heights can be read")
    try:
        heights = readers[path.suffix.lower()](path)
    except FileNotFoundError:
        raise ValueError(f"there is no file {str(path)!r}; paths are relative to the scenario file") from None
    except IsADirectoryError:
        raise ValueError(f"{str(path)!r} is a folder; give a .npy or .csv file") from None
    except OSError as e:
        raise ValueError(f"{str(path)!r} cannot be read: {e}") from None
    bad = np.argwhere(~np.isfinite(heights))
    if len(bad):
        i, j = bad[0]
        raise ValueError(f"{path.name!r} has a height that is not finite: row {i}, column {j} is {heights[i, j]}; fill it in")
    return heights


def _small(path: Path, n: int) -> None:
    if n > MOST:
        raise ValueError(
            f"{path.name!r} has {n} heights, must have at most {MOST}; cut out the part that is touched, or thin it"
        )


def _npy(path: Path) -> np.ndarray:
    try:
        heights = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError) as e:
        raise ValueError(f"{path.name!r} cannot be read as numbers: {e}; write them with numpy.save") from None
    if heights.dtype.kind not in "fiu":
        raise ValueError(f"{path.name!r} holds {heights.dtype}, must hold real numbers")
    if heights.ndim != 2:
        raise ValueError(f"{path.name!r} has the shape {heights.shape}, must have two dimensions: a row for each x")
    _small(path, heights.size)
    return np.array(heights, dtype=float)


def _csv(path: Path) -> np.ndarray:
    rows: list[list[float]] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for n, cells in enumerate(csv.reader(file), 1):
                if not cells:
                    continue
                rows.append([_number(path, n, cell) for cell in cells])
                if len(rows[-1]) != len(rows[0]):
                    raise ValueError(f"{path.name!r}: line {n} has {len(rows[-1])} numbers, line 1 has {len(rows[0])}")
                _small(path, len(rows) * len(rows[0]))
    except UnicodeDecodeError:
        raise ValueError(f"{path.name!r} is not UTF-8; save it as a text of numbers") from None
    except csv.Error as e:
        raise ValueError(f"{path.name!r} cannot be read as rows of numbers: {e}") from None
    if not rows:
        raise ValueError(f"{path.name!r} is empty; write a row of heights for each x, with commas between them")
    return np.array(rows)


def _number(path: Path, line: int, cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise ValueError(f"{path.name!r}: line {line}: {cell.strip()!r} is not a number; leave headings out") from None
