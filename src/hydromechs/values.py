"""Checks of what users write: numbers, rows of numbers, names. Errors name the thing, the value and what it must be.

A dataclass says what its numbers must be in their annotations, and `check_fields` in its `__post_init__` sees to it:

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Spring:
        stiffness: Positive
        '''k [N/m].'''

        def __post_init__(self) -> None:
            check_fields(self)

File formats read the same annotations, so that a bound stands in one place.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import operator
from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np

from .errors import FieldError

__all__ = [
    "Array",
    "Bound",
    "Finite",
    "Limit",
    "NotNegative",
    "Number",
    "Positive",
    "Scalar",
    "Vector3",
    "Vector4",
    "Vector6",
    "check_fields",
    "field_bounds",
    "finite",
    "floats",
    "is_finite",
    "matrix",
    "nearest",
    "number",
    "plain",
    "positive",
    "whole",
]

Array: TypeAlias = np.ndarray[Any, Any]
"""An array of floats, or of symbols where an equation is traced."""
Scalar: TypeAlias = Any
"""A float, or a symbol where an equation is traced."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What a number, or each of a row of numbers, must be."""

    above: float | None = None
    """It must exceed this."""
    least: float | None = None
    """It must not be below this."""
    below: float | None = None
    """It must not reach this."""
    most: float | None = None
    """It must not exceed this."""
    infinite: bool = False
    """Whether it may be infinite (which means "none")."""
    size: int | None = None
    """How many numbers a row must have; None for one number."""
    hint: str = ""
    """What helps, for the message."""

    @property
    def must(self) -> str:
        """What it must be, in words: "finite and > 0"."""
        words = [] if self.infinite else ["finite"]
        words += [] if self.above is None else [f"> {self.above:g}"]
        words += [] if self.least is None else [f"at least {self.least:g}"]
        words += [] if self.below is None else [f"below {self.below:g}"]
        words += [] if self.most is None else [f"at most {self.most:g}"]
        listed = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
        return listed + (" (leave it out for none)" if self.infinite else "") + (f"; {self.hint}" if self.hint else "")

    def holds(self, x: float) -> bool:
        """Whether a number `x` is within."""
        return (
            not math.isnan(x)
            and (self.infinite or math.isfinite(x))
            and (self.above is None or x > self.above)
            and (self.least is None or x >= self.least)
            and (self.below is None or x < self.below)
            and (self.most is None or x <= self.most)
        )


Number = Annotated[float, Bound(infinite=True)]
"""Any number."""
Finite = Annotated[float, Bound()]
"""A finite number."""
Positive = Annotated[float, Bound(above=0.0)]
"""A finite number above 0."""
NotNegative = Annotated[float, Bound(least=0.0)]
"""A finite number of at least 0."""
Limit = Annotated[float, Bound(above=0.0, infinite=True)]
"""A number above 0; infinite where there is no limit."""
Vector3 = Annotated[tuple[float, float, float], Bound(size=3)]
"""Three finite numbers."""
Vector4 = Annotated[tuple[float, float, float, float], Bound(size=4)]
"""Four finite numbers."""
Vector6 = Annotated[tuple[float, float, float, float, float, float], Bound(size=6)]
"""Six finite numbers."""


def number(value: Any, name: str) -> float:
    """`value` as a float that is not NaN; `name` is used in the error."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise FieldError(name, value, "must be a number")
    try:
        out = float(value)
    except OverflowError:
        raise FieldError(name, f"a number of {value.bit_length()} bits", "must be a number of ordinary size") from None
    return out


def finite(value: Any, name: str) -> float:
    """`value` as a finite float."""
    return _bounded(value, Bound(), name)


def positive(value: Any, name: str) -> float:
    """`value` as a finite float above 0."""
    return _bounded(value, Bound(above=0.0), name)


def whole(value: Any, name: str, least: int = 0) -> int:
    """`value` as an int of at least `least`."""
    try:
        out = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        out = None
    if out is None or out < least:
        raise FieldError(name, value, f"must be a whole number of at least {least}")
    return out


def floats(values: Any, n: int, name: str) -> tuple[float, ...]:
    """`values` as a tuple of n floats."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise FieldError(name, values, f"must have {n} numbers")
    out = tuple(number(v, name) for v in values)
    if len(out) != n:
        raise FieldError(name, list(out), f"must have {n} numbers, has {len(out)}")
    return out


def matrix(rows: Any, n: int, name: str) -> tuple[tuple[float, ...], ...]:
    """`rows` as an n×n tuple of tuples of floats."""
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise FieldError(name, rows, f"must have {n} rows of {n} numbers")
    out = tuple(floats(row, n, f"{name} row {i}") for i, row in enumerate(rows))
    if len(out) != n:
        raise FieldError(name, [list(row) for row in out], f"must have {n} rows, has {len(out)}")
    return out


def _bounded(value: Any, bound: Bound, name: str) -> float:
    out = number(value, name)
    if not bound.holds(out):
        raise FieldError(name, out, f"must be {bound.must}")
    return out


@cache
def field_bounds(kind: type) -> dict[str, tuple[Bound, bool]]:
    """Bound of each bounded field of a dataclass, and whether the field may be None.

    Args:
        kind: The dataclass.
    """
    out = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        options = [hint] if get_origin(hint) is Annotated else [a for a in get_args(hint) if a is not type(None)]
        for option in options:
            found = [x for x in get_args(option)[1:] if isinstance(x, Bound)] if get_origin(option) is Annotated else []
            if found:
                out[name] = (found[0], type(None) in get_args(hint))
    return out


def check_fields(thing: Any, owner: str = "") -> None:
    """Make the bounded fields of a frozen dataclass floats, and check them; raises `FieldError` for the first that is not good.

    Args:
        thing: The instance, from its `__post_init__`.
        owner: What the error calls it; the name of its class unless given.
    """
    owner = owner or type(thing).__name__
    for name, (bound, optional) in field_bounds(type(thing)).items():
        value, label = getattr(thing, name), f"{owner}.{name}"
        if value is None and optional:
            continue
        if bound.size is None:
            new: Any = _bounded(value, bound, label)
        else:
            new = floats(value, bound.size, label)
            if not all(bound.holds(x) for x in new):
                raise FieldError(label, list(new), f"must be {bound.must}")
        object.__setattr__(thing, name, new)


def is_finite(values: Any) -> bool:
    """Whether a float or a nested tuple of floats holds finite numbers only."""
    if isinstance(values, tuple):
        return all(is_finite(v) for v in values)
    return math.isfinite(values)


def plain(values: Any) -> str:
    """A short text of floats for error messages: 0.5 or [1, 2.5, 3]."""
    if isinstance(values, tuple):
        return "[" + ", ".join(plain(v) for v in values) + "]"
    return f"{values:.6g}"


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint at the nearest of the known words, and all of them.

    Args:
        word: What was written.
        known: What could have been meant.
    """
    known = list(known)
    close = difflib.get_close_matches(word, known, 1, 0.6)
    listed = ", ".join(known[:40]) + (", ..." if len(known) > 40 else "")
    return (f" (did you mean {close[0]!r}?)" if close else "") + f"; there are {listed or 'none'}"
