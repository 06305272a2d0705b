"""Numbers of a scenario by their paths: "environment.current.velocity.x", "models.0.position.z", "components.elbow.damping"."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from hydromechs.model import Model
from hydromechs.registry import Described
from hydromechs.scenario import ModelStart
from hydromechs.simulation import PythonBlock
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix, quaternion_matrix, rpy_from_matrix
from hydromechs.values import nearest

__all__ = ["changed", "first_part", "numbered", "parts_of", "value_at"]

AXES = ("x", "y", "z")
"""Names of the entries of a row of three numbers."""
ANGLES = "rpy_deg"
"""Name of what a scenario file says of a start in place of a quaternion."""


def value_at(thing: Any, path: str) -> Any:
    """What a path leads to; `KeyError` that names the piece that is not there, and the nearest.

    Args:
        thing: A scenario, a model, or a part of one.
        path: Fields, names and indices with dots between them.
    """
    at: list[str] = []
    rest = path
    while rest:
        name = _first(thing, rest, path, at)
        thing = _child(thing, name)
        at.append(name)
        rest = rest[len(name) + 1 :]
    return thing


def first_part(thing: Any, path: str) -> tuple[str, str]:
    """The first piece of a path, and the rest.

    Args:
        thing: As of `value_at`.
        path: As of `value_at`.
    """
    name = _first(thing, path, path, [])
    return name, path[len(name) + 1 :]


def numbered(thing: Any, path: str) -> str:
    """A path with indices in place of the names of rows, as open parameters want it: "com.2" for "com.z".

    Args:
        thing: A model.
        path: As of `value_at`.
    """
    at: list[str] = []
    rest = path
    while rest:
        name = _first(thing, rest, path, at)
        rest = rest[len(name) + 1 :]
        row = isinstance(thing, tuple | list) and not _is_pairs(thing)
        at.append(str(parts_of(thing).index(name) % len(thing)) if row else name)
        thing = _child(thing, name)
    return ".".join(at)


def changed(thing: Any, path: str, value: Any, *, inside: str = "") -> Any:
    """A copy with another value at a path; dataclasses on the way are built anew, with their checks.

    Args:
        thing: A scenario, a model, or a part of one.
        path: As of `value_at`; the last piece may be a new name where names are free, as in commands.
        value: What stands there then.
        inside: Where the thing itself stands, for messages.
    """
    return _changed(thing, path, value, f"{inside}.{path}" if inside else path, [inside] if inside else [])


def _changed(thing: Any, rest: str, value: Any, path: str, at: list[str]) -> Any:
    if not rest:
        return int(value) if type(thing) is int and float(value).is_integer() else value
    if _is_free(thing) and not any(_begins(rest, name) for name in parts_of(thing)) and "." not in rest:
        return {**thing, rest: value} if isinstance(thing, Mapping) else (*thing, (rest, value))
    name = _first(thing, rest, path, at)
    child = _changed(_child(thing, name), rest[len(name) + 1 :], value, path, [*at, name])
    if isinstance(thing, ModelStart) and name == ANGLES:
        turned = quaternion_from_matrix(matrix_from_rpy([math.radians(a) for a in child]))
        return dataclasses.replace(thing, orientation=tuple(turned.tolist()))
    if isinstance(thing, Model) and name != "world":
        k = thing.body_index(name)
        return dataclasses.replace(thing, bodies=(*thing.bodies[:k], child, *thing.bodies[k + 1 :]))
    if isinstance(thing, PythonBlock) and name != "phase":
        return dataclasses.replace(thing, controller=_changed_argument(thing.controller, name, child))
    if isinstance(thing, Described):
        return _changed_argument(thing, name, child)
    if isinstance(thing, Mapping):
        return {**thing, name: child}
    if _is_pairs(thing):
        return tuple((key, child if key == name else x) for key, x in thing)
    if isinstance(thing, tuple | list):
        k = parts_of(thing).index(name) % len(thing)
        return type(thing)([*thing[:k], child, *thing[k + 1 :]])
    return dataclasses.replace(thing, **{name: child})


def _changed_argument(thing: Any, name: str, value: Any) -> Any:
    """A controller with another argument; it is built again, with its checks."""
    return type(thing)(**{**thing.arguments, name: value})


def _begins(rest: str, name: str) -> bool:
    return rest == name or rest.startswith(f"{name}.")


def _is_pairs(thing: Any) -> bool:
    """Whether it is a mapping written as a tuple of pairs."""
    return (
        isinstance(thing, tuple)
        and bool(thing)
        and all(isinstance(x, tuple) and len(x) == 2 and isinstance(x[0], str) for x in thing)
    )


def _is_free(thing: Any) -> bool:
    """Whether new names can be added; who made the scenario says which are good."""
    return isinstance(thing, Mapping) or thing == () or _is_pairs(thing)


def parts_of(thing: Any) -> list[str]:
    """Names of what can be reached from here, in their order; of a list by name, or by the number."""
    if isinstance(thing, Model):
        return ["world", *thing.body_names]
    if isinstance(thing, PythonBlock):
        return [*parts_of(thing.controller), "phase"]
    if isinstance(thing, Described):
        return list(thing.arguments)
    if isinstance(thing, Mapping):
        return [str(key) for key in thing]
    if _is_pairs(thing):
        return [key for key, _ in thing]
    if isinstance(thing, tuple | list):
        numbers = [str(k) for k in range(len(thing))]
        own = [str(getattr(x, "name", None) or k) for k, x in enumerate(thing)]
        letters = list(AXES) if len(thing) == 3 and not any(hasattr(x, "name") for x in thing) else own
        return [*numbers, *letters]
    if dataclasses.is_dataclass(thing):
        names = [f.name for f in dataclasses.fields(thing) if f.init]
        return [*names, ANGLES] if isinstance(thing, ModelStart) else names
    return []


def _first(thing: Any, rest: str, path: str, at: list[str]) -> str:
    """The first piece of the rest of a path; names may have dots in them."""
    known = parts_of(thing)
    found = [name for name in known if _begins(rest, name)]
    if found:
        return max(found, key=len)
    where = ".".join(at)
    piece = rest.partition(".")[0]
    if thing is None or thing == ():
        raise KeyError(f"{path!r}: {where} is not set; set it in the scenario, or with changes, first")
    if not known:
        raise KeyError(f"{path!r}: {where} is {thing!r}, which has no parts; leave .{rest} out")
    inside = f" in {where}" if where else ""
    what = "body" if isinstance(thing, Model) else "part"
    shown = list(dict.fromkeys(name for name in known if not name.isdecimal())) or known
    raise KeyError(f"{path!r}: there is no {what} {piece!r}{inside}{nearest(piece, shown)}")


def _child(thing: Any, name: str) -> Any:
    if isinstance(thing, Model):
        return thing.world if name == "world" else thing.bodies[thing.body_index(name)]
    if isinstance(thing, PythonBlock) and name != "phase":
        return _child(thing.controller, name)
    if isinstance(thing, Described):
        return thing.arguments[name]
    if isinstance(thing, Mapping):
        return thing[name]
    if _is_pairs(thing):
        return dict(thing)[name]
    if isinstance(thing, tuple | list):
        return thing[parts_of(thing).index(name) % len(thing)]
    if isinstance(thing, ModelStart) and name == ANGLES:
        if thing.orientation is None:
            return None
        return tuple(math.degrees(a) for a in rpy_from_matrix(quaternion_matrix(thing.orientation)))
    return getattr(thing, name)
