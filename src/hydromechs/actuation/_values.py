"""Conversion of what users write into the finite floats that actuators keep, with errors that name field, value and remedy."""

from __future__ import annotations

import math
from numbers import Real

__all__ = ["convert", "number"]


def number(value, name: str) -> float:
    """`value` as a float that is not NaN; `name` is used in the error."""
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
        raise ValueError(f"{name} is {value!r}, must be a number")
    return float(value)


def convert(thing, *, positive: str = "", not_negative: str = "", limit: str = "") -> None:
    """Convert named fields of a frozen dataclass in place, and check them.

    Args:
        thing: The instance, from its `__post_init__`.
        positive: Names of fields that must be finite and > 0, separated by spaces.
        not_negative: Names of fields that must be finite and at least 0.
        limit: Names of fields that must be > 0 and may be infinite.
    """
    rules = {
        "finite and > 0": (positive, lambda x: 0.0 < x < math.inf),
        "finite and at least 0": (not_negative, lambda x: 0.0 <= x < math.inf),
        "> 0 (leave it out for none)": (limit, lambda x: x > 0.0),
    }
    for must_be, (names, holds) in rules.items():
        for name in names.split():
            label = f"{type(thing).__name__}.{name}"
            value = number(getattr(thing, name), label)
            if not holds(value):
                raise ValueError(f"{label} is {value:.6g}, must be {must_be}")
            object.__setattr__(thing, name, value)
