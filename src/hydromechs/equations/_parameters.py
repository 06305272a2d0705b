"""Numbers of a model that stay open when it is compiled, named by where they are: "arm.inertia.mass"."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from hydromechs.errors import UnsupportedFeature
from hydromechs.model import Body, Model
from hydromechs.values import Array

OF_COMPONENTS = ("limits", "limit", "damping", "friction", "position", "velocity", "orientation")
"""Numbers of joints from which drives, stops and the start are made; no equation has them."""


def _children(thing: Any) -> list[str]:
    """Names of what can be reached from a piece of a model."""
    if isinstance(thing, tuple):
        return [str(k) for k in range(len(thing))]
    return list(getattr(thing, "__dataclass_fields__", {}))


def _child(thing: Any, name: str, path: str) -> Any:
    if isinstance(thing, Model):
        if name == "world":
            return thing.world
        return thing.bodies[thing.body_index(name)]
    if isinstance(thing, tuple) and name.isdecimal() and int(name) < len(thing):
        return thing[int(name)]
    if name in _children(thing):
        return getattr(thing, name)
    raise KeyError(
        f"parameter {path!r}: {type(thing).__name__} has no {name!r}; it has {', '.join(_children(thing)) or 'no parts'}"
    )


def _names(model: Model, path: str) -> list[str]:
    """The pieces of a parameter's name; the first is a body, whose name may have dots in it."""
    bodies = [name for name in ("world", *model.body_names) if path == name or path.startswith(f"{name}.")]
    if not bodies:
        known = ", ".join(["world", *model.body_names])
        raise KeyError(f"parameter {path!r} must start with the name of a body or with world; there are {known}")
    first = max(bodies, key=len)
    return [first, *[x for x in path[len(first) + 1 :].split(".") if x]]


def parameter_value(model: Model, path: str) -> Array:
    """The number or array that a parameter has in the model.

    Args:
        path: Its name: a body (or "world") and then fields, as "vehicle.hydro.added_mass.0.matrix"; tuples are counted from 0.
    """
    thing, names = model, _names(model, path)
    if names[1:2] == ["joint"] and {*names[2:]} & {*OF_COMPONENTS}:
        raise KeyError(f"parameter {path!r} has no effect on the equations: it is data for drives, stops and the start")
    if names[1:2] in (["shapes"], ["visual"]):
        raise KeyError(f"parameter {path!r} has no effect on the equations: contacts are made of shapes when they are built")
    for name in names:
        thing = _child(thing, name, path)
    if thing is None:
        raise KeyError(f"parameter {path!r} is not set in the model; give it a number there first")
    try:
        return np.array(thing, dtype=float)
    except (TypeError, ValueError):
        parts = ", ".join(_children(thing))
        remedy = f"; go on with one of {parts}" if parts else ""
        raise KeyError(f"parameter {path!r} is not a number but a {type(thing).__name__}{remedy}") from None


def with_parameters(model: Model, values: Mapping[str, np.ndarray]) -> Model:
    """The model with other numbers or symbols in place of named parameters; nothing is checked again.

    Args:
        values: Arrays by parameter name.
    """
    for path, value in values.items():
        model = _replaced(model, _names(model, path), np.asarray(value), path)
    try:
        _ = model.steps, model.rigid
    except TypeError as error:
        raise UnsupportedFeature(
            f"one of {', '.join(values)} decides the structure of the program; it must stay a number"
        ) from error
    return model


def _replaced(thing: Any, names: list[str], value: np.ndarray, path: str) -> Any:
    """A copy of a piece of a model with one number replaced; cached tables are left behind."""
    if not names:
        return _as_tuples(value)
    child = _replaced(_child(thing, names[0], path), names[1:], value, path)
    if isinstance(thing, tuple):
        k = int(names[0])
        return (*thing[:k], child, *thing[k + 1 :])
    new = object.__new__(type(thing)) if isinstance(thing, Model) else copy.copy(thing)
    if isinstance(thing, Model):
        for name in thing.__dataclass_fields__:
            object.__setattr__(new, name, getattr(thing, name))
        if isinstance(child, Body):
            k = thing.body_index(names[0])
            object.__setattr__(new, "bodies", (*thing.bodies[:k], child, *thing.bodies[k + 1 :]))
            return new
    object.__setattr__(new, names[0], child)
    return new


def _as_tuples(value: Any) -> Any:
    """An array as the nested tuples that models hold."""
    if isinstance(value, np.ndarray):
        return value[()] if value.ndim == 0 else tuple(_as_tuples(row) for row in value)
    return value
