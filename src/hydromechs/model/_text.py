"""All that a description holds, as a text: two things with the same text are the same."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["definition"]


def definition(thing: Any) -> str | None:
    """The classes and the values of all fields that count (`compare`) of a thing of dataclasses, tuples, numbers and texts.

    Args:
        thing: A model, a part of one, or what is built on models in the same way.

    Returns:
        The text; None where a class from outside this package is inside, whose behaviour no text can tell.
    """
    if thing is None or type(thing) in (bool, int, float, str):
        return repr(thing)
    kind = type(thing)
    name = "" if kind is tuple else f"{kind.__module__}.{kind.__qualname__}"
    if name and not name.startswith("hydromechs."):
        return None
    if isinstance(thing, tuple):
        parts = [definition(x) for x in thing]
        return None if None in parts else f"{name}({', '.join(map(str, parts))})"
    if not is_dataclass(thing):
        return None
    values = {f.name: definition(getattr(thing, f.name)) for f in fields(thing) if f.compare}
    return None if None in values.values() else f"{name}({', '.join(f'{k}={text}' for k, text in values.items())})"
