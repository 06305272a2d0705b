"""Pydantic's errors as faults: the key, the value, what it must be."""

from __future__ import annotations

from typing import get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from hydromechs.errors import Fault
from hydromechs.registry import dotted, show
from hydromechs.registry import suggestion as nearest

__all__ = ["dotted", "faults_of", "nearest"]

_MUST = {
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "int_type": "must be a whole number",
    "string_type": "must be a text; put it in quotes",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "too_short": "must not be empty; give at least one",
}
"""What a value must be, by the type of pydantic's error."""


def faults_of(error: ValidationError, kind: type[BaseModel]) -> list[Fault]:
    """A fault for each error that pydantic has found with the class `kind`; paths are keys and indices of the file."""
    return [_fault(e, _path(e["type"], e["loc"]), kind) for e in error.errors(include_url=False, include_context=True)]


def _path(type_: str, loc: tuple) -> tuple:
    """Keys and indices of the file in pydantic's `loc`, without the tags of variants and the mark of a faulty key."""
    if type_ == "string_pattern_mismatch":
        return _path("", loc[:-1])
    if type_ == "extra_forbidden":
        return (*_path("", loc[:-1]), loc[-1])
    return loc


def _fault(e: ErrorDetails, path: tuple, kind: type[BaseModel]) -> Fault:
    value, name = e["input"], dotted(path)
    match e["type"]:
        case "extra_forbidden":
            known = _keys(_class_at(kind, e["loc"][:-1]))
            what = f"unknown key {path[-1]!r} with the value {show(value)}{nearest(path[-1], known)}"
            remedy = f"keys here are {', '.join(known)}"
            return Fault(path, f"{_inside(path)}{what}; {remedy}", value, remedy=remedy)
        case "missing":
            field = _keys(_class_at(kind, e["loc"][:-1])).get(path[-1])
            remedy = "add it" + (f": {field.description}" if field is not None else "")
            return Fault(path, f"{_inside(path)}the key {path[-1]!r} is missing; {remedy}", remedy=remedy)
        case "model_type" | "dict_type" | "model_attributes_type":
            known = _keys(_class_at(kind, e["loc"]))
            must = f"must be a mapping{' with the keys ' + ', '.join(known) if known else ''}"
        case "literal_error":
            must = f"must be {e['ctx']['expected']}"
        case "string_pattern_mismatch":
            must = "write it as 'Y|r|v' (one of XYZKMN, then two of uvwpqr)"
            return Fault(path, f"{dotted(path[:-1])} has the term {show(value)}; {must}", value, must)
        case "array" | "version" | "bound":
            must = e["msg"]
        case _:
            must = _MUST.get(e["type"], e["msg"])
    return Fault(path, f"{name} is {show(value)}, {must}", value, must)


def _class_at(kind: type[BaseModel] | None, loc: tuple) -> type[BaseModel] | None:
    """The class that describes what pydantic's `loc` leads to from `kind`."""
    in_table = False
    for step in loc:
        if in_table:  # the name of an entry of a table
            in_table = False
        elif isinstance(step, str) and kind is not None:
            field = _keys(kind).get(step)
            annotation = None if field is None else field.annotation
            if get_origin(annotation) is dict:
                in_table, annotation = True, get_args(annotation)[1]
            elif get_origin(annotation) is list:  # its index comes next and is passed over
                annotation = get_args(annotation)[0]
            kind = annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
    return None if in_table else kind


def _keys(kind: type[BaseModel] | None) -> dict[str, FieldInfo]:
    """Fields of `kind` by the key that a file uses."""
    return {} if kind is None else {field.alias or name: field for name, field in kind.model_fields.items()}


def _inside(path: tuple) -> str:
    return f"{dotted(path[:-1])}: " if len(path) > 1 else ""
