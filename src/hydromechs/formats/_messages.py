"""Pydantic's errors as plain sentences: the key, the value, what it must be."""

from __future__ import annotations

import difflib
from typing import get_args, get_origin

from pydantic import BaseModel, ValidationError

from ._schema import CHOICES, TAGS
from ._yaml import show

__all__ = ["dotted", "nearest", "sentences"]

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


def sentences(error: ValidationError, kind: type[BaseModel]) -> list[tuple[tuple, str]]:
    """(path, sentence) for each error found with the class `kind`; paths are keys and indices of the file."""
    out = []
    for e in error.errors(include_url=False, include_context=True):
        path = _path(e["type"], e["loc"])
        out.append((path, _sentence(e, path, kind)))
    return out


def _path(type_: str, loc: tuple) -> tuple:
    """Keys and indices of the file in pydantic's `loc`, without the tags of variants and the mark of a faulty key."""
    if type_ == "string_pattern_mismatch":
        return _path("", loc[:-1])
    if type_ == "extra_forbidden":
        return (*_path("", loc[:-1]), loc[-1])
    return tuple(step for step in loc if step not in TAGS)


def _sentence(e: dict, path: tuple, kind: type[BaseModel]) -> str:
    value, name = e["input"], dotted(path)
    match e["type"]:
        case "extra_forbidden":
            known = _keys(_class_at(kind, e["loc"][:-1]))
            hint = nearest(path[-1], known)
            what = f"unknown key {path[-1]!r} with the value {show(value)}{hint}"
            return f"{_inside(path)}{what}; keys here are {', '.join(known)}"
        case "missing":
            field = _keys(_class_at(kind, e["loc"][:-1])).get(path[-1])
            what = f": {field.description}" if field is not None else ""
            return f"{_inside(path)}the key {path[-1]!r} is missing; add it{what}"
        case "choice":
            return _choice_sentence(e["msg"], value, path)
        case "model_type" | "dict_type" | "model_attributes_type":
            known = _keys(_class_at(kind, e["loc"]))
            return f"{name} is {show(value)}, must be a mapping{' with the keys ' + ', '.join(known) if known else ''}"
        case "literal_error":
            return f"{name} is {show(value)}, must be {e['ctx']['expected']}"
        case "string_pattern_mismatch":
            return f"{dotted(path[:-1])} has the term {show(value)}; write it as 'Y|r|v' (one of XYZKMN, then two of uvwpqr)"
        case "array" | "version":
            return f"{name} is {show(value)}, {e['msg']}"
    return f"{name} is {show(value)}, {_MUST.get(e['type'], e['msg'])}"


def _choice_sentence(group: str, value, path: tuple) -> str:
    key, must = CHOICES[group]
    name = dotted(path)
    if not key or not isinstance(value, dict):
        return f"{name} is {show(value)}, {must if not key else f'must be a mapping whose {key!r} {must}'}"
    if key not in value:
        return f"{name} is {show(value)} without the key {key!r}, which {must}"
    given = value[key]
    return f"{name}.{key} is {show(given)}{nearest(given, must.split(';')[0].replace(',', '').split()[4:])}, {must}"


def _class_at(kind: type[BaseModel] | None, loc: tuple) -> type[BaseModel] | None:
    """The class that describes what pydantic's `loc` leads to from `kind`."""
    table = False
    for step in loc:
        if table:  # the name of an entry of a table
            table = False
        elif isinstance(step, str) and step in TAGS:
            kind = TAGS[step]
        elif isinstance(step, str) and kind is not None:
            field = _keys(kind).get(step)
            annotation = None if field is None else field.annotation
            if get_origin(annotation) is dict:
                table, annotation = True, get_args(annotation)[1]
            elif get_origin(annotation) is list:  # its index comes next and is passed over
                annotation = get_args(annotation)[0]
            kind = annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
    return None if table else kind


def _keys(kind: type[BaseModel] | None) -> dict:
    """Fields of `kind` by the key that a file uses."""
    return {} if kind is None else {field.alias or name: field for name, field in kind.model_fields.items()}


def nearest(word, known) -> str:
    """A hint at the nearest of the known words."""
    close = difflib.get_close_matches(word, list(known), 1, 0.6) if isinstance(word, str) else []
    return f" (did you mean {close[0]!r}?)" if close else ""


def dotted(path: tuple) -> str:
    """A path as a person would write it."""
    return ".".join(str(step) for step in path)


def _inside(path: tuple) -> str:
    return f"{dotted(path[:-1])}: " if len(path) > 1 else ""
