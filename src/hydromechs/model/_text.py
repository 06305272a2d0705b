"""Complete description of an object without visuals, as a text; objects with equal texts behave identically."""

from dataclasses import fields, is_dataclass
from typing import Any

SEEN = {"seen": True}
"""Metadata of a purely visual field, which does not affect any computation."""
GIVEN = {"given": True}
"""Metadata of a field that is an input of programs, and is not a constant in compiled code."""


def definition(thing: Any) -> str | None:
    """Return classes and values of all relevant fields (`compare`) of a model, a part, or objects built on models.

    Visuals, and data that are inputs of programs, are ignored. The text is None for objects with a class from outside this
    package, because a text cannot capture their behaviour.
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
