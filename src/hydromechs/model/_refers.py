"""Elements that refer to a shape of their body by name, or have an inline shape."""

from __future__ import annotations

from typing import Any

from hydromechs.errors import FieldError
from hydromechs.geometry import Placed, Shape


def own_shape(given: Any, owner: str) -> str | Placed:
    """Return a name as it is, and a shape of an element at its place; a plain shape is at the body's origin."""
    if isinstance(given, Shape):
        return Placed(shape=given)
    if isinstance(given, Placed):
        return Placed(shape=given.shape, origin=given.origin) if type(given) is not Placed else given
    if not isinstance(given, str) or not given.strip():
        raise FieldError(f"{owner}.shape", given, "must be the name of a shape of the body, or a shape of hydromechs.geometry")
    return given


def solid_of(element: Any) -> Placed:
    """Return the shape of an element on its body."""
    found = element.shape if isinstance(element.shape, Placed) else element.placed
    if found is None:
        raise ValueError(f"shape {element.shape!r} is a name; use the element in the hydro of a body with this shape")
    return found


def element_word(element: Any) -> str:
    """Return the name of an element in messages: that of its shape, or of its class."""
    found = getattr(element, "solid", None)
    return type(element).__name__.lower() if found is None else found.shape.word
