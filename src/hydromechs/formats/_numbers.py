"""Bounds of numbers as types of pydantic: what a file may write for a number, a row or rows of numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from hydromechs.values import Bound


class Bounded:
    """A bound of a number as an annotation for pydantic.

    Args:
        bound: The bound.
        judged: Whether an entry is faulty where it does not hold; otherwise the object tells, and only the schema shows it.
    """

    def __init__(self, bound: Bound, judged: bool) -> None:
        self.bound, self.judged = bound, judged

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        inner = handler(source)
        return core_schema.no_info_after_validator_function(self._check, inner) if self.judged else inner

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Callable[[CoreSchema], dict]) -> dict:
        b = self.bound
        limits = {"exclusiveMinimum": b.above, "minimum": b.least, "exclusiveMaximum": b.below, "maximum": b.most}
        return {**handler(schema), **{key: value for key, value in limits.items() if value is not None}}

    def _check(self, value: float) -> float:
        if not self.bound.holds(value):
            raise PydanticCustomError("bound", "must be {must}", {"must": self.bound.must})
        return value


def _shaped(rows: int, columns: int = 0) -> Callable[[Any], Any]:
    """A check that a value is a list of `rows` items, or of `rows` lists of `columns` items."""
    must = f"must be {rows} rows of {columns} numbers" if columns else f"must be a list of {rows} numbers"

    def check(value: Any) -> Any:
        if not isinstance(value, list):
            raise PydanticCustomError("array", must)
        if len(value) != rows:
            raise PydanticCustomError("array", f"{must}, has {len(value)}")
        for i, row in enumerate(value if columns else ()):
            if not isinstance(row, list) or len(row) != columns:
                raise PydanticCustomError("array", f"{must}, row {i + 1} has {len(row) if isinstance(row, list) else 'none'}")
        return value

    return check


def numbers(bound: Bound, judged: bool = True) -> Any:
    """The type of a number, a row or rows of numbers within a bound.

    Args:
        bound: The bound; what may be infinite is left out of a file.
        judged: Whether an entry is faulty where it does not hold.
    """
    bound = dataclasses.replace(bound, infinite=False)
    within = [] if (bound.above, bound.least, bound.below, bound.most) == (None,) * 4 else [Bounded(bound, judged)]
    out: Any = Annotated[int, *within] if bound.whole else Annotated[float, Field(allow_inf_nan=False), *within]
    if bound.size is None:
        return out
    if bound.rows:
        row = Annotated[list[out], Field(min_length=bound.size, max_length=bound.size)]
        check = BeforeValidator(_shaped(bound.rows, bound.size))
        return Annotated[list[row], Field(min_length=bound.rows, max_length=bound.rows), check]
    out = list[out]
    if bound.size:
        out = Annotated[out, Field(min_length=bound.size, max_length=bound.size), BeforeValidator(_shaped(bound.size))]
    return out if bound.rows is None else list[out]


Finite = numbers(Bound())
"""A finite number."""
