"""Complete description without visuals, as a text: two things with the same text behave the same."""

from dataclasses import fields, is_dataclass
from typing import Any

SEEN = {"seen": True}
"""Metadata of a field that is for the eye only: what it holds changes nothing that is computed."""
GIVEN = {"given": True}
"""Metadata of a field that programs take as an input: what it holds is not part of the compiled code."""


def definition(thing: Any) -> str | None:
    """The classes and values of all fields that count (`compare`), of a model, a part of one or what is built on models alike.

    Visuals, and data that programs take as inputs, do not count. None where a class from outside this package is inside, whose
    behaviour
    no text can tell.
    """
    if thing is None or type(thing) in (bool, int, float, str):
        return repr(thing)
    kind = type(thing)
    name = "" if kind is tuple else f"{kind.__module__}.{kind.__qualname__}"
    if name and not name.startswith("hydromechs."):
        return None
    if isinstance(thing, tuple):
        parts = [definition(x) for x in thing if getattr(x, "roles", ()) != ("appearance",)]
        return None if None in parts else f"{name}({', '.join(map(str, parts))})"
    if not is_dataclass(thing):
        return None
    counted = [f for f in fields(thing) if f.compare and f.metadata not in (SEEN, GIVEN)]
    values = {f.name: definition(getattr(thing, f.name)) for f in counted}
    return None if None in values.values() else f"{name}({', '.join(f'{k}={text}' for k, text in values.items())})"
