"""Conversion of what users write (lists, arrays, ints) into the immutable floats that a model keeps."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

__all__ = ["floats", "is_finite", "matrix", "number", "plain"]


def number(value, name: str) -> float:
    """`value` as a float; `name` is used in the error."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{name} must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} must be a number of ordinary size, got one of {value.bit_length()} bits") from None


def floats(values, n: int, name: str) -> tuple[float, ...]:
    """`values` as a tuple of n floats."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{name} must have {n} numbers, got {values!r}")
    out = tuple(number(v, name) for v in values)
    if len(out) != n:
        raise ValueError(f"{name} must have {n} numbers, got {len(out)}")
    return out


def matrix(rows, n: int, name: str) -> tuple[tuple[float, ...], ...]:
    """`rows` as an n×n tuple of tuples of floats."""
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise ValueError(f"{name} must have {n} rows of {n} numbers, got {rows!r}")
    out = tuple(floats(row, n, f"{name} row {i}") for i, row in enumerate(rows))
    if len(out) != n:
        raise ValueError(f"{name} must have {n} rows, got {len(out)}")
    return out


def is_finite(values) -> bool:
    """Whether a float or a nested tuple of floats holds finite numbers only."""
    if isinstance(values, tuple):
        return all(is_finite(v) for v in values)
    return math.isfinite(values)


def plain(values) -> str:
    """A short text of floats for error messages: 0.5 or [1, 2.5, 3]."""
    if isinstance(values, tuple):
        return "[" + ", ".join(plain(v) for v in values) + "]"
    return f"{values:.6g}"
