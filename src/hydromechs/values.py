"""Checks of user input: numbers, rows of numbers, names. Errors contain the item, the value and the requirement.

A dataclass specifies the bounds of its numbers in their annotations; `check_fields` in its `__post_init__` checks them:

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Spring:
        stiffness: Positive
        '''k [N/m].'''

        def __post_init__(self) -> None:
            check_fields(self)

File formats read the same annotations and the text under each field, so that a bound, a unit and a meaning appear in one place.
"""

import ast
import dataclasses
import difflib
import inspect
import itertools
import math
import operator
import re
import sys
from collections.abc import Iterable
from functools import cache
from types import ModuleType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np

from .errors import FieldError, FieldErrors

__all__ = [
    "Array",
    "Bound",
    "Checked",
    "Edges",
    "Finite",
    "Limit",
    "Matrix6",
    "NotNegative",
    "Number",
    "Pair",
    "Positive",
    "Rising",
    "Row",
    "Scalar",
    "Vector3",
    "Vector4",
    "Vector6",
    "check_fields",
    "convert_fields",
    "field_bounds",
    "field_faults",
    "field_texts",
    "finite",
    "floats",
    "instances",
    "is_finite",
    "is_path",
    "is_zero",
    "limits",
    "matrix",
    "nearest",
    "not_negative",
    "number",
    "plain",
    "positive",
    "unit_in",
    "whole",
]

Array: TypeAlias = np.ndarray[Any, Any]
"""An array of floats, or of symbols while an equation is traced."""
Scalar: TypeAlias = Any
"""A float, or a symbol while an equation is traced."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Bounds of a number, or of each number in a row."""

    above: float | None = None
    """Exclusive lower bound."""
    least: float | None = None
    """Inclusive lower bound."""
    below: float | None = None
    """Exclusive upper bound."""
    most: float | None = None
    """Inclusive upper bound."""
    infinite: bool = False
    """True if the number may be infinite, which means no limit."""
    whole: bool = False
    """True if the number must be an integer."""
    size: int | None = None
    """Number of values in a row; 0 for any number of values, None for a single number."""
    rows: int | None = None
    """Number of rows; 0 for any number of rows, None for one row or number."""
    rising: bool = False
    """True if the numbers of a row must strictly increase."""
    hint: str = ""
    """Fix in the error message."""

    @property
    def must(self) -> str:
        """Return the requirement as text: "finite and > 0"."""
        if self.whole and self.most is None and self.least is not None:
            return f"an integer of at least {self.least:g}"
        if self.whole and self.most is not None and self.least is not None:
            return f"an integer from {self.least:g} to {self.most:g}"
        words = ["an integer"] if self.whole else [] if self.infinite else ["finite"]
        words += [] if self.above is None else [f"> {self.above:g}"]
        if self.least is not None and self.most is not None:
            words.append(f"from {self.least:g} to {self.most:g}")
        else:
            words += [] if self.least is None else [f"at least {self.least:g}"]
            words += [] if self.most is None else [f"at most {self.most:g}"]
        words += [] if self.below is None else [f"below {self.below:g}"]
        listed = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
        return listed + (" (omit it for none)" if self.infinite else "") + (f"; {self.hint}" if self.hint else "")

    def holds(self, x: float) -> bool:
        """Return True if a number `x` is within the bounds."""
        return (
            not math.isnan(x)
            and (self.infinite or math.isfinite(x))
            and (self.above is None or x > self.above)
            and (self.least is None or x >= self.least)
            and (self.below is None or x < self.below)
            and (self.most is None or x <= self.most)
        )

    def fault(self, value: Any) -> str:
        """Return the violated requirement of a number, row or table, such as "must be finite and > 0"; empty if it is valid."""
        if not isinstance(value, tuple):
            return "" if self.holds(value) else f"must be {self.must}"
        if value and isinstance(value[0], tuple):
            return next(filter(None, map(self.fault, value)), "")
        if not self._all_hold(value):
            return f"must be {self.must}"
        falls = [(a, b) for a, b in itertools.pairwise(value) if b <= a] if self.rising else []
        return f"must increase, but has {falls[0][1]:g} after {falls[0][0]:g}" if falls else ""

    def _all_hold(self, values: tuple[float, ...]) -> bool:
        """Return True if all numbers of a row are within the bounds; long rows are checked as arrays, 20 times faster."""
        if len(values) < LONG_ROW:
            return all(map(self.holds, values))
        x = np.array(values)
        inside = ~np.isnan(x) if self.infinite else np.isfinite(x)
        for limit, within in ((self.above, x.__gt__), (self.least, x.__ge__), (self.below, x.__lt__), (self.most, x.__le__)):
            inside = inside if limit is None else inside & within(limit)
        return bool(inside.all())


LONG_ROW = 64
"""Row length above which a row is checked as an array."""

Number = Annotated[float, Bound(infinite=True)]
"""Any number."""
Finite = Annotated[float, Bound()]
"""A finite number."""
Positive = Annotated[float, Bound(above=0.0)]
"""A finite number above 0."""
NotNegative = Annotated[float, Bound(least=0.0)]
"""A finite number of at least 0."""
Limit = Annotated[float, Bound(above=0.0, infinite=True)]
"""A number above 0; infinite means no limit."""
Vector3 = Annotated[tuple[float, float, float], Bound(size=3)]
"""Three finite numbers."""
Vector4 = Annotated[tuple[float, float, float, float], Bound(size=4)]
"""Four finite numbers."""
Vector6 = Annotated[tuple[float, float, float, float, float, float], Bound(size=6)]
"""Six finite numbers."""
Pair = Annotated[tuple[float, float], Bound(size=2)]
"""Two finite numbers."""
Edges = Annotated[tuple[float, float, float], Bound(above=0.0, size=3)]
"""Three finite numbers above 0."""
Row = Annotated[tuple[float, ...], Bound(size=0)]
"""Any number of finite numbers."""
Rising = Annotated[tuple[float, ...], Bound(size=0, rising=True)]
"""Any number of finite, strictly increasing numbers."""
Matrix6 = Annotated[tuple[tuple[float, ...], ...], Bound(size=6, rows=6)]
"""Six rows of six finite numbers."""


def number(value: Any, name: str) -> float:
    """Return `value` as a float that is not NaN; `name` is used in the error."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise FieldError(name, value, "must be a number")
    try:
        out = float(value)
    except OverflowError:
        raise FieldError(name, f"a number of {int(value).bit_length()} bits", "must fit into a float") from None
    return out


def finite(value: Any, name: str) -> float:
    """Return `value` as a finite float."""
    return _bounded(value, Bound(), name)


def positive(value: Any, name: str) -> float:
    """Return `value` as a finite float above 0."""
    return _bounded(value, Bound(above=0.0), name)


def not_negative(value: Any, name: str) -> float:
    """Return `value` as a finite float of at least 0."""
    return _bounded(value, Bound(least=0.0), name)


def whole(value: Any, name: str, least: int | None = 0) -> int:
    """Return `value` as an int of at least `least`, if given."""
    try:
        out = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        out = None
    if out is None or (least is not None and out < least):
        raise FieldError(name, value, "must be an integer" + ("" if least is None else f" of at least {least}"))
    return out


def floats(values: Any, n: int, name: str) -> tuple[float, ...]:
    """Return `values` as a tuple of n floats."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise FieldError(name, values, f"must have {n} numbers")
    values = tuple(values)
    if len(values) >= LONG_ROW and set(map(type, values)) == {float}:
        out = values
    else:
        out = tuple(number(v, name) for v in values)
    if len(out) != n:
        raise FieldError(name, list(out), f"must have {n} numbers, but has {len(out)}")
    return out


def instances(values: Any, kind: Any, name: str, what: str) -> tuple[Any, ...]:
    """Return `values` as a tuple of objects of a class; errors name it `name`, and the objects `what`, such as "thrusters"."""
    if isinstance(values, str | dict) or not isinstance(values, Iterable):
        raise FieldError(name, values, f"must be a list of {what}")
    out = tuple(values)
    for i, x in enumerate(out):
        if isinstance(x, type):
            raise ValueError(f"{name}[{i}] is the class {x.__name__}, must be an instance, such as {x.__name__}(...)")
        if not isinstance(x, kind):
            raise FieldError(f"{name}[{i}]", x, f"but {name} must be a list of {what}")
    return out


def matrix(rows: Any, n: int, name: str) -> tuple[tuple[float, ...], ...]:
    """Return `rows` as an n×n tuple of tuples of floats."""
    out: tuple[tuple[float, ...], ...] = _converted(rows, Bound(size=n, rows=n), name)
    return out


def _bounded(value: Any, bound: Bound, name: str) -> float:
    out = number(value, name)
    must = bound.fault(out)
    if must:
        raise FieldError(name, out, must)
    return out


@cache
def field_bounds(kind: type) -> dict[str, tuple[Bound, bool]]:
    """Return the bound of each bounded field of a dataclass, and whether the field may be None."""
    out = {}
    for name, hint in _hints(kind).items():
        options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        for option in options:
            found = [x for x in get_args(option)[1:] if isinstance(x, Bound)] if get_origin(option) is Annotated else []
            if found:
                out[name] = (found[0], type(None) in get_args(hint))
    return out


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


@cache
def _field_words(kind: type) -> dict[str, tuple[Any, ...]]:
    return {name: get_args(hint) for name, hint in _hints(kind).items() if get_origin(hint) is Literal}


def _converted(value: Any, bound: Bound, label: str) -> Any:
    """Return a value as the floats or ints of its bound, without checking their values."""
    if bound.rows is not None:
        items = _listed(value, label, f"must have {bound.rows or 'any number of'} rows of {bound.size or 'as many'} numbers")
        out = tuple(_converted(row, dataclasses.replace(bound, rows=None), f"{label} row {i}") for i, row in enumerate(items))
        if bound.rows and len(out) != bound.rows:
            raise FieldError(label, [list(row) for row in out], f"must have {bound.rows} rows, but has {len(out)}")
        return out
    if bound.size is not None:
        items = _listed(value, label, "must be a list of numbers") if bound.size == 0 else value
        return floats(items, bound.size or len(items), label)
    return whole(value, label, least=None) if bound.whole else number(value, label)


def _listed(value: Any, label: str, must: str) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise FieldError(label, value, must)
    return tuple(value)


def convert_fields(thing: Any, owner: str = "") -> None:
    """Convert the bounded fields of a frozen dataclass to floats and tuples without checking bounds. `owner` is for errors."""
    for error in _conversion_errors(thing, owner):
        raise error


def _conversion_errors(thing: Any, owner: str) -> list[FieldError]:
    """Convert the bounded fields of a dataclass; return the errors of those that cannot be converted."""
    kind: type = type(thing)
    owner, out = owner or kind.__name__, []
    for name, (bound, optional) in field_bounds(kind).items():
        value = getattr(thing, name)
        if value is not None or not optional:
            try:
                object.__setattr__(thing, name, _converted(value, bound, f"{owner}.{name}"))
            except FieldError as error:
                out.append(error)
    return out


def field_faults(thing: Any, without: tuple[str, ...] = ()) -> list[tuple[str, Any, str]]:
    """Yield (field, value, requirement) of each invalid field of a dataclass, `without` some."""
    out: list[tuple[str, Any, str]] = []
    kind: type = type(thing)
    for name, (bound, _) in field_bounds(kind).items():
        value = getattr(thing, name)
        must = "" if value is None or name in without else bound.fault(value)
        if must:
            out.append((name, value, must))
    for name, words in _field_words(kind).items():
        if getattr(thing, name) not in words:
            out.append((name, getattr(thing, name), f"must be {_either(words)}"))
    return out


def _either(words: tuple[Any, ...]) -> str:
    shown = [repr(word) for word in words]
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def check_fields(thing: Any, owner: str = "") -> None:
    """Convert the bounded fields of a frozen dataclass to floats, and check them.

    Args:
        thing: Dataclass instance.
        owner: Name of the object in errors. Defaults to the name of its class.

    Raises:
        FieldError: If one field is invalid.
        FieldErrors: If several fields are invalid; contains all errors.
    """
    errors = _conversion_errors(thing, owner)
    owner, unread = owner or type(thing).__name__, tuple(error.field for error in errors)
    for name, value, must in field_faults(thing, unread):
        errors.append(FieldError(f"{owner}.{name}", list(value) if isinstance(value, tuple) else value, must))
    if errors:
        raise errors[0] if len(errors) == 1 else FieldErrors(errors)


class Checked:
    """Base class of frozen dataclasses whose fields are checked only by `check_fields`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_fields(self)


@cache
def field_texts(kind: type) -> dict[str, str]:
    """Return the docstring of each field of a dataclass and its bases, in one line; fields without one are omitted."""
    out: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        out |= _texts_in(sys.modules[base.__module__]).get(base.__qualname__, {}) if base is not object else {}
    return out


@cache
def _texts_in(module: ModuleType) -> dict[str, dict[str, str]]:
    """Return the docstrings of the fields of each class of a module; none if its source is not available."""
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError):
        return {}
    out: dict[str, dict[str, str]] = {}
    for item in tree.body:
        texts = out.setdefault(item.name, {}) if isinstance(item, ast.ClassDef) else {}
        for first, then in itertools.pairwise(item.body if isinstance(item, ast.ClassDef) else ()):
            match first, then:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    texts[name] = " ".join(text.split())
    return out


def unit_in(text: str) -> str:
    """Return the unit in the docstring of a field, such as "Mass [kg].": the text in the first brackets, or an empty text."""
    found = re.search(r"\[([^]]+)\]", text)
    return found[1] if found and found[1] != "-" else ""


def is_finite(values: Any) -> bool:
    """Return True if a float or a nested tuple of floats contains only finite numbers."""
    if isinstance(values, tuple):
        return all(is_finite(v) for v in values)
    return math.isfinite(values)


def is_zero(x: Scalar) -> bool:
    """Return True for the number 0, and False for symbols, because open parameters must never be removed from a program."""
    return isinstance(x, float | int) and x == 0


def limits(x: Scalar) -> bool:
    """Return True if a limit is finite or a symbol; an infinite value means no limit."""
    return not isinstance(x, float | int) or math.isfinite(x)


def plain(values: Any) -> str:
    """Return floats as short text for error messages: 0.5 or [1, 2.5, 3]."""
    if isinstance(values, tuple):
        return "[" + ", ".join(plain(v) for v in values) + "]"
    return f"{values:.6g}"


def is_path(source: object) -> bool:
    """Return True if a text is a file path instead of a library name: it contains a folder or a suffix."""
    return not isinstance(source, str) or any(c in source for c in "./\\")


PART = 3
"""Minimum length of a part of a name for which the complete name is suggested."""


def closest(word: str, known: Iterable[str]) -> list[str]:
    """Return a list with the known word nearest to a word; empty if none is close.

    The search takes quadratic time: it is limited to words of 64 characters and to 300 known words.
    """
    short = [name for name in itertools.islice(known, 300) if len(name) <= 64]
    bare = {name.lstrip("-") or name: name for name in short}  # dashes do not make options similar
    return [bare[name] for name in difflib.get_close_matches(word.lstrip("-"), bare, 1, 0.6)] if len(word) <= 64 else []


def nearest(word: object, known: Iterable[str]) -> str:
    """Return a text that suggests the known word nearest to `word`, which may be of any type, and lists all known words."""
    known = list(known)
    listed = ", ".join(known[:40]) + (", ..." if len(known) > 40 else "")
    if not isinstance(word, str):
        return f"; names must be text; available: {listed or 'none'}"
    close = closest(word, known)
    if not close and len(word) >= PART:  # part of a longer name, such as "bluerov2" of "bluerov2_heavy_alpha5"
        close = [name for name in known if word.lower() in name.lower()][:3]
    meant = " or ".join(map(repr, close))
    return (f" (did you mean {meant}?)" if close else "") + f"; available: {listed or 'none'}"
