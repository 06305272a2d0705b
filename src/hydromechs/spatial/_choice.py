"""Choices without branching, for functions that are traced: both sides are computed, one is taken."""

from __future__ import annotations

__all__ = ["maximum", "minimum", "where"]


def where(condition, a, b):
    """`a` where the condition holds, else `b`; scalars, floats or symbols."""
    if hasattr(condition, "where"):
        return condition.where(a, b)
    return a if condition else b


def maximum(a, b):
    """The larger of two scalars, floats or symbols; NaN if one is NaN."""
    return where(a > b, a, where(b >= a, b, a + b))


def minimum(a, b):
    """The smaller of two scalars, floats or symbols; NaN if one is NaN."""
    return where(a < b, a, where(b <= a, b, a + b))
