"""Numbers found and replaced by path: "vehicle.inertia.mass", "thruster_1.time_constant", "environment.current.velocity.x".

    path  = [section "."] name { "." step }        section = models | components | blocks | terrain | environment | run
    step  = field | name of an item | index | axis (x y z) | "*"

Names may contain dots; the longest matching name is used. A path with "*" denotes one factor on all matching numbers; the
factor 1 leaves them unchanged. Paths follow dataclass fields, so this module refers to no specific class. Classes with
named items list them in `path_items`.
"""

import dataclasses
import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from hydromechs.errors import message_of
from hydromechs.values import Array, field_texts, nearest, unit_in

from ._members import Described, members

SECTIONS = ("models", "components", "blocks", "terrain", "environment", "run")
"""Optional first words of a path, which distinguish items with the same name."""
AXES = ("x", "y", "z")
"""Names of the components of a 3-vector."""
EVERY = "*"
"""Wildcard step, which selects every part for which the rest of the path resolves."""
CLOSE = 0.75
"""Minimum similarity of an unknown path and a suggested path [-]."""

Keys: TypeAlias = tuple[str | int, ...]
"""Fields, indices and keys that lead from an object to one of its parts."""


class Item(NamedTuple):
    """Named part of an object, at which paths start."""

    section: str
    """One of `SECTIONS`."""
    name: str
    places: tuple[Keys, ...]
    """Locations of the part; if there are several, their numbers are equal and change together."""


@runtime_checkable
class HasItems(Protocol):
    """Object with named items, such as a model with bodies."""

    def path_items(self) -> Iterable[Item]:
        """Return the items at which paths start."""


class View(NamedTuple):
    """Path step that is not a field: a value computed from a part, and a setter that returns a new part."""

    get: Any
    """Function of the part that returns the value, or None if the value is not set."""
    put: Any
    """Function of the part and a new value that returns the new part."""


class NumberAt(NamedTuple):
    """Number or array of numbers, with its path."""

    path: str
    """Shortest path."""
    value: Any
    """Number, or nested tuples of numbers."""
    unit: str
    """Unit; empty if the number has no unit."""
    text: str
    """Description of the number."""


# -- reading ------------------------------------------------------------------------------------------------------------------


def located(thing: Any, path: str) -> tuple[Keys, ...]:
    """Return the locations of the numbers at a path; raise `KeyError` with a suggestion if a step is unknown."""
    if not isinstance(path, str) or not path:
        raise KeyError(f"path {path!r} must be text such as 'vehicle.inertia.mass'")
    found: list[tuple[Item, list[Keys]]] = []
    lost: list[tuple[int, str]] = []
    section, inner = _section(path)
    for item in _items(thing):
        for named in {path} | ({inner} if item.section == section else set()):
            name = EVERY if _begins(named, EVERY) else item.name
            if not _begins(named, name):
                continue
            try:
                places = [keys for at in item.places for keys in _rest(follow(thing, at), at, named[len(name) + 1 :], path)]
                found.append((item, places))
            except KeyError as error:
                lost.append((len(name), message_of(error)))
    if is_factor(path):
        every = [keys for _, places in found for keys in places if _is_numeric(follow(thing, keys))]
        if not every:
            raise KeyError(f"{path!r} matches no number{_similar(thing, path)}")
        return tuple(dict.fromkeys(every))
    if not found:
        # among items with the same name, assume the one with a similar step
        raise KeyError(max(lost, key=lambda x: (x[0], "did you mean" in x[1]))[1] if lost else _unknown(thing, path))
    there = [x for x in found if all(keys[-1] in _steps(follow(thing, keys[:-1])).values() for keys in x[1])]
    found = there or found  # more likely than a new name
    longest = max(len(item.name) for item, _ in found)
    best = [(item, places) for item, places in found if len(item.name) == longest]
    if len({tuple(places) for _, places in best}) > 1:
        both = " and ".join(f"{item.section}.{path}" for item, _ in best)
        raise KeyError(f"{path!r} is ambiguous: it matches {both}; add the section")
    return tuple(best[0][1])


def is_factor(path: str) -> bool:
    """True for a path with "*", which denotes one factor on several numbers."""
    return EVERY in path.split(".")


def part(thing: Any, path: str) -> Any:
    """Return the object or number at a path; 1.0 for a path with "*", which denotes a factor."""
    places = located(thing, path)
    return 1.0 if is_factor(path) else follow(thing, places[0])


def value(thing: Any, path: str) -> Array:
    """Return the number or array of numbers at a path, shape () for one number; raise `KeyError` for any other object."""
    found = part(thing, path)
    if found is None:
        raise KeyError(f"{path!r} is not set; set it to a number first")
    if not _is_numeric(found):
        parts = ", ".join(_shown(_steps(found)))
        raise KeyError(
            f"{path!r} is not a number but a {type(found).__name__}" + (f"; continue the path with {parts}" if parts else "")
        )
    return np.array(found, dtype=float)


def paths(thing: Any) -> Iterator[NumberAt]:
    """Yield all numbers of an object with shortest path, value, unit and description. A row or matrix is one entry."""
    items: dict[Keys, Item] = {}
    for item in _items(thing):
        items.setdefault(item.places[0], item)
    apart = {keys for item in items.values() for keys in item.places}  # listed under their own names
    listed: list[tuple[str, NumberAt]] = []
    for keys, item in sorted(items.items(), key=lambda x: SECTIONS.index(x[1].section) if x[1].section else 0):
        found = _numbers(follow(thing, keys), item.name, *_field_of(thing, keys), apart, keys)
        listed += [(item.section, number) for number in found]
    counts = Counter(number.path for _, number in listed)
    for section, number in listed:
        named = section == "environment" or (section and counts[number.path] > 1)
        yield number._replace(path=f"{section}.{number.path}") if named else number


# -- replacing ----------------------------------------------------------------------------------------------------------------


def replaced(thing: Any, path: str, new: Any, *, checked: bool = True) -> Any:
    """Return a copy of an object with a new value at a path."""
    return replaced_all(thing, {path: new}, checked=checked)


def replaced_all(thing: Any, values: Mapping[str, Any], *, checked: bool = True) -> Any:
    """Return a copy of an object with new values at several paths; each object along a path is rebuilt and checked once."""
    edits = edits_of(thing, values)
    if not checked:
        return edited(thing, edits, checked=False)
    try:
        return edited(thing, edits)
    except (ValueError, TypeError, ArithmeticError) as error:
        given = ", ".join(f"{path} = {new!r}" for path, new in values.items())
        raise ValueError(f"{given}: {message_of(error)}") from error


def edits_of(thing: Any, values: Mapping[str, Any]) -> dict[Keys, Any]:
    """Return new values keyed by location; raise `ValueError` if two paths overlap."""
    out: dict[Keys, Any] = {}
    owners: dict[Keys, str] = {}
    for path, new in values.items():
        places = located(thing, path)
        for keys in places:
            for other, owner in owners.items():
                n = min(len(keys), len(other))
                if keys[:n] == other[:n]:
                    raise ValueError(f"{path!r} and {owner!r} refer to the same number or overlap; keep one of them")
            out[keys] = scaled(follow(thing, keys), new) if is_factor(path) else new
        owners |= dict.fromkeys(places, path)
    return out


def edited(thing: Any, edits: Mapping[Keys, Any], *, checked: bool = True) -> Any:
    """Return a copy of an object with new values, keyed by location."""
    if () in edits:
        return _as_before(thing, edits[()])
    below: dict[str | int, dict[Keys, Any]] = {}
    for keys, new in edits.items():
        below.setdefault(keys[0], {})[keys[1:]] = new
    views = _views(thing)
    fields = {key: edited(_child(thing, key), rest, checked=checked) for key, rest in below.items()}
    for key in [key for key in fields if key in views]:
        thing = views[str(key)].put(thing, fields.pop(key))
    if not fields:
        return thing
    if isinstance(thing, Mapping):
        return {**thing, **fields}
    if isinstance(thing, Described):  # rebuilt, with its checks
        return type(thing)(**{**thing.arguments, **{str(key): x for key, x in fields.items()}})
    if isinstance(thing, tuple | list):
        if all(isinstance(key, str) for key in fields):  # pairs
            kept = tuple((name, fields.pop(name, x)) for name, x in thing)
            return (*kept, *fields.items())
        return type(thing)([fields.get(k, x) for k, x in enumerate(thing)])
    if checked:
        return dataclasses.replace(thing, **{str(key): x for key, x in fields.items()})
    new = object.__new__(type(thing))
    for name in [f.name for f in dataclasses.fields(thing)]:
        object.__setattr__(new, name, getattr(thing, name))
    for name, x in getattr(thing, "__dict__", {}).items():
        if not isinstance(getattr(type(thing), name, None), cached_property):  # built from the preceding numbers
            object.__setattr__(new, name, x)
    for key, x in fields.items():
        object.__setattr__(new, str(key), x)
    return new


# -- steps --------------------------------------------------------------------------------------------------------------------


def _section(path: str) -> tuple[str, str]:
    """Return the section of a path and the rest; two empty strings if the path has no section."""
    head, _, rest = path.partition(".")
    return (head, rest) if head in SECTIONS and rest else ("", "")


def _items(thing: Any) -> list[Item]:
    if isinstance(thing, HasItems):
        return list(thing.path_items())
    return [Item("", name, ((key,),)) for name, key in _steps(thing).items()]


def _begins(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name}.")


def follow(thing: Any, keys: Keys) -> Any:
    """Return the object at a location from `located`."""
    for key in keys:
        thing = _child(thing, key)
    return thing


def _child(thing: Any, key: str | int) -> Any:
    if isinstance(thing, tuple | list) and isinstance(key, str):
        return dict(thing).get(key)
    if isinstance(thing, tuple | list | Mapping):
        return thing[key]  # type: ignore[index]  # of the matching type
    if isinstance(thing, Described):
        return thing.arguments[str(key)]
    views = _views(thing)
    return views[str(key)].get(thing) if key in views else getattr(thing, str(key))


def _views(thing: Any) -> Mapping[str, View]:
    return getattr(type(thing), "path_views", {})


def _is_pairs(thing: Any) -> bool:
    return (
        isinstance(thing, tuple)
        and bool(thing)
        and all(isinstance(x, tuple) and len(x) == 2 and isinstance(x[0], str) for x in thing)
    )


def _steps(thing: Any) -> dict[str, str | int]:
    if isinstance(thing, Mapping | Described):
        return {str(key): key for key in (thing if isinstance(thing, Mapping) else thing.arguments)}
    if _is_pairs(thing):
        return {key: key for key, _ in thing}
    if isinstance(thing, tuple | list):
        out: dict[str, str | int] = {str(k): k for k in range(len(thing))}
        named = {name: k for k, x in enumerate(thing) if isinstance(name := getattr(x, "name", None), str) and name}
        return out | (named if named or len(thing) != 3 else dict(zip(AXES, range(3), strict=True)))
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return {name: name for name in (*_fields(type(thing)), *_views(thing))}
    return {}


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """Return the fields that a caller may set, except `Hidden` fields, which the owner sets."""
    given = [f.name for f in dataclasses.fields(kind) if f.init]
    try:
        return tuple(name for name in given if name in members(kind))
    except NameError:  # annotations of a class defined in a function
        return tuple(given)


def _shown(steps: Mapping[str, Any]) -> list[str]:
    return [name for name in steps if not name.isdecimal()] or list(steps)


def _rest(thing: Any, at: Keys, rest: str, path: str) -> list[Keys]:
    """Return the locations of the rest of a path, starting at a part."""
    if not rest:
        return [at]
    steps = _steps(thing)
    if _begins(rest, EVERY):
        out: list[Keys] = []
        for key in dict.fromkeys(steps.values()):
            try:
                out += _rest(_child(thing, key), (*at, key), rest[2:], path)
            except KeyError:  # the rest of the path does not resolve here
                continue
        if out:
            return out
    for name in sorted((name for name in steps if _begins(rest, name)), key=len, reverse=True):
        try:
            return _rest(_child(thing, steps[name]), (*at, steps[name]), rest[len(name) + 1 :], path)
        except KeyError as error:
            if not any(other != name and _begins(rest, other) for other in steps):
                raise error
    if (thing == () or isinstance(thing, Mapping) or _is_pairs(thing)) and "." not in rest:
        return [(*at, rest)]  # a new name in a mapping that accepts any name
    step, before = rest.partition(".")[0], path[: len(path) - len(rest) - 1]
    if thing is None or thing == ():
        raise KeyError(f"{path!r}: {before} is not set; set it first")
    if not steps:
        raise KeyError(f"{path!r}: {before} is {thing!r}, which has no parts; remove .{rest}")
    raise KeyError(f"{path!r}: {before} has no {step!r}{nearest(step, _shown(steps))}")


def _unknown(thing: Any, path: str) -> str:
    section, inner = _section(path)
    known = [item.name for item in _items(thing) if item.section == section or not section]
    first = (inner or path).partition(".")[0]
    where = f" in {section}" if section else ""
    return f"{path!r}: unknown name {first!r}{where}{nearest(first, known)}{_similar(thing, path)}"


def _similar(thing: Any, path: str) -> str:
    known = [number.path for number in paths(thing)]
    close = difflib.get_close_matches(path, known, 1, CLOSE)
    return f"; the nearest path is {close[0]!r}" if close else ""


# -- numbers ------------------------------------------------------------------------------------------------------------------


def _is_numeric(thing: Any) -> bool:
    """True for a number, an array, or nested tuples of numbers with one shape."""
    if isinstance(thing, bool) or thing is None:
        return False
    if isinstance(thing, float | int | np.number):
        return True
    if isinstance(thing, np.ndarray):
        return thing.dtype != object
    if not isinstance(thing, tuple | list) or not thing or not all(map(_is_numeric, thing)):
        return False
    return len({np.shape(x) for x in thing}) == 1


def _numbers(thing: Any, path: str, unit: str, text: str, apart: set[Keys], at: Keys) -> Iterator[NumberAt]:
    if _is_numeric(thing):
        yield NumberAt(path, thing, unit, text)
        return
    names: dict[str | int, str] = {}
    for name, key in _steps(thing).items():
        if key not in names or names[key].isdecimal():
            names[key] = name
    for key, name in names.items():
        if (*at, key) not in apart and key not in _views(thing):
            yield from _numbers(_child(thing, key), f"{path}.{name}", *(_text(thing, key) or (unit, text)), apart, (*at, key))


def _text(thing: Any, key: str | int) -> tuple[str, str] | None:
    """Return the unit and description of a dataclass field; None for an entry of a list."""
    if not dataclasses.is_dataclass(thing):
        return None
    kind: type = type(thing)
    text = field_texts(kind).get(str(key), "")
    return unit_in(text), text


def _field_of(thing: Any, keys: Keys) -> tuple[str, str]:
    for k in range(len(keys) - 1, -1, -1):
        found = _text(follow(thing, keys[:k]), keys[k])
        if found is not None:
            return found
    return "", ""


def scaled(thing: Any, factor: Any) -> Any:
    """Multiply a number, or nested tuples of numbers, by a factor."""
    if isinstance(thing, tuple | list):
        return tuple(scaled(x, factor) for x in thing)
    return thing * factor


def _as_before(before: Any, new: Any) -> Any:
    """Return a new value in the form of the old value: Python numbers, an int for an int, tuples for arrays."""
    new = _plain(new.item() if isinstance(new, np.generic) else new.tolist() if isinstance(new, np.ndarray) else new)
    return int(new) if type(before) is int and isinstance(new, float) and new.is_integer() else new


def _plain(x: Any) -> Any:
    return tuple(map(_plain, x)) if isinstance(x, list) else x
