"""Selection without branching, for traced functions: both alternatives are computed and one is selected."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from hydromechs.values import Array, Scalar


def where(condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """Return `a` if the condition is true, else `b`; all arguments are scalars, floats or symbols."""
    if hasattr(condition, "where"):
        return condition.where(a, b)
    return a if condition else b


def any_of(conditions: Iterable[Scalar]) -> Scalar:
    """Return 1 if at least one condition is true, else 0; conditions are floats or symbols."""
    found: Scalar = 0.0
    for condition in conditions:
        found = where(condition, 1.0, found)
    return found


def maximum(a: Scalar, b: Scalar) -> Scalar:
    """Return the larger of two scalars, floats or symbols; NaN if either is NaN."""
    if hasattr(a, "where") or hasattr(b, "where"):
        return a.maximum(b) if hasattr(a, "where") else b.maximum(a)
    return a if a > b or a != a else b


def minimum(a: Scalar, b: Scalar) -> Scalar:
    """Return the smaller of two scalars, floats or symbols; NaN if either is NaN."""
    if hasattr(a, "where") or hasattr(b, "where"):
        return a.minimum(b) if hasattr(a, "where") else b.minimum(a)
    return a if a < b or a != a else b


def positive_part(x: Scalar) -> Scalar:
    """Return max(x, 0), exactly and with fewer operations than `maximum`; NaN if x is NaN."""
    return 0.5 * (x + abs(x))


def clamp(x: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    """Return `x` clamped to the interval [lower, upper]; scalars, floats or symbols."""
    return minimum(maximum(x, lower), upper)


def floor(x: Scalar) -> Scalar:
    """Return the largest integer not greater than a scalar, as a float or symbol."""
    if hasattr(x, "floor"):
        return x.floor()
    return float(math.floor(x)) if math.isfinite(x) else x


def nearest_integer(x: Scalar) -> Scalar:
    """Return the integer nearest to a scalar, as a float or symbol; ties round up."""
    return floor(x + 0.5)


def smallest_angle(angle: Scalar) -> Scalar:
    """Return the equivalent angle in [−π, π] [rad], as a float or symbol."""
    return angle - 2.0 * math.pi * nearest_integer(angle / (2.0 * math.pi))


def lookup(table: Sequence[float] | Array, index: Scalar) -> Scalar:
    """Return the entry of a constant table (n,) at an integer index, clamped to the valid range; the derivative is zero."""
    if hasattr(index, "lookup"):
        return index.lookup(tuple(np.asarray(table, dtype=float).tolist()))
    if math.isnan(index):
        return math.nan
    return float(table[int(min(max(index, 0.0), len(table) - 1.0))])
