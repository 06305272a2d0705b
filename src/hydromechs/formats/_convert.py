"""Entries to objects, and objects to what a file writes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from hydromechs.errors import UnsupportedFeature

from ._emit import Block, Rows
from ._entries import KINDS, Entry, Swap

__all__ = ["build", "fields_of", "key_of", "written"]

Path: TypeAlias = tuple[str | int, ...]
Make: TypeAlias = Callable[[Path, Any, dict[str, Any]], Any]
_FAILED = object()
"""Stands for an object that could not be made."""


def _call(path: Path, cls: Any, values: dict[str, Any]) -> Any:
    return cls(**values)


def build(item: Entry, path: Path = (), make: Make = _call) -> Any:
    """What an entry says, as an object.

    Args:
        item: The entry.
        path: Where it stands in the file.
        make: Makes an object of a path, a class and its fields, or None where that fails; what fails is left out around it.
    """
    if item.wraps and len(type(item).model_fields) == 1:
        return build(getattr(item, item.wraps), (*path, item.wraps), make)
    fields = fields_of(item, path, make)
    return fields if item.kind is None else make(path, item.kind.cls, fields)


def fields_of(item: Entry, path: Path = (), make: Make = _call) -> dict[str, Any]:
    """Fields that an entry gives, with objects for the entries in it; what is left out takes the default of the class.

    Args:
        item: The entry.
        path: Where it stands in the file.
        make: Makes the objects, see `build`.
    """
    kind, keys = item.kind, type(item).model_fields
    tag = kind.tag[0] if kind is not None and kind.tag is not None else ""
    out: dict[str, Any] = {}
    for name in [n for n in keys if n in item.model_fields_set]:
        key = keys[name].alias or name
        value = _built(getattr(item, name), (*path, key), make)
        if value is not _FAILED and key != tag:
            out[key] = value
    for swap in kind.swaps if kind is not None else ():
        given = {key: out.pop(key) for key in swap.keys if key in out}
        if given:
            out |= swap.read(given)
    return out


def _built(value: Any, path: Path, make: Make) -> Any:
    if isinstance(value, Entry):
        made = build(value, path, make)
        return _FAILED if made is None else made
    if isinstance(value, list) and value and isinstance(value[0], Entry):
        items = [_built(item, (*path, i), make) for i, item in enumerate(value)]
        return [item for item in items if item is not _FAILED]
    if isinstance(value, dict):
        pairs = {key: _built(item, (*path, key), make) for key, item in value.items()}
        return {key: item for key, item in pairs.items() if item is not _FAILED}
    return value


def written(thing: Any, what: str = "it") -> dict[str, Any]:
    """What a file writes of an object: what equals a default is left out.

    Args:
        thing: An object of a class that has an entry.
        what: What an error calls the place that it has.
    """
    kind = next((k for k in KINDS.get(type(thing), ()) if k.fits(thing)), None)
    if kind is None:
        raise UnsupportedFeature(f"{what} has a {type(thing).__name__}, which a file cannot hold")
    out: dict[str, Any] = Block() if kind.block else {}
    if kind.tag is not None:
        out[kind.tag[0]] = kind.tag[1]
    for step in kind.steps:
        if isinstance(step, Swap):
            out |= step.write(thing)
        elif _differs(value := getattr(thing, step[0]), step[1]):
            out[step[0]] = written_value(value, step[0])
    return {kind.wrap: out} if kind.wrap else out


def written_value(value: Any, what: str = "it") -> Any:
    """What a file writes of the value of a field.

    Args:
        value: Numbers, texts, objects, and tuples of them; pairs of a name and a value make a mapping.
        what: What an error calls the place that it has.
    """
    if isinstance(value, tuple):
        if value and all(isinstance(v, tuple) and len(v) == 2 and isinstance(v[0], str) for v in value):
            return {key: written_value(item, what) for key, item in value}
        items = [written_value(item, what) for item in value]
        return Rows(items) if value and not isinstance(value[0], str | int | float) else items
    return value if _is_plain(value) else written(value, what)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | dict | list)


def _differs(value: Any, default: Any) -> bool:
    """Whether two values differ, −0 and 0 too."""
    return repr(value) != repr(default)


def key_of(cls: Any, name: str) -> str:
    """The key that a file has for a field of a class, which may be another name.

    Args:
        cls: The class, or a function that makes the object.
        name: Name of the field.
    """
    swaps = [swap for kind in KINDS.get(cls, ()) for swap in kind.swaps if name in swap.fields]
    return next(iter(swaps[0].keys), name) if swaps else name
