"""Conversion of the plain data of a file to objects, following class annotations; all problems are collected."""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass, replace
from inspect import isabstract
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args, get_origin

import numpy as np

from hydromechs.errors import CodeNotAllowed, Fault, FieldError, FieldErrors, message_of
from hydromechs.values import LONG_ROW, Bound

from ._code import imported, installed_parts, is_ours
from ._family import Families, Family
from ._members import (
    MISSING,
    Inline,
    Member,
    Pattern,
    Ref,
    bounds_of,
    dotted,
    file_keys,
    members,
    options,
    show,
    suggestion,
    takes_any,
    unmarked,
)

Place: TypeAlias = tuple[str | int, ...]
"""Keys and indices that lead to a location in a file."""


class _Broken:
    def __repr__(self) -> str:
        return "BROKEN"


BROKEN: Any = _Broken()
"""Placeholder for an unreadable value, so that the rest of the file is still read and checked."""
PLAIN = {str: "text; put it in quotes", bool: "true or false", int: "an integer"}
"""Types of single values, with their descriptions in messages."""
NUMBERS = {int, float}
"""Number types in plain data; a Boolean is not a number."""


class Reader:
    """Reader of one file. `problems` lists all errors, ordered by line and without repetition.

    `families` resolves annotations. `line` returns the line of a location in the file, `source` is the name of the file in
    messages, and relative paths start at `folder`. `known` contains problems found by the parser; no other problems are
    reported at their locations. If `code` is True, Python code that the file references may run.
    """

    def __init__(
        self,
        families: Families,
        line: Callable[[Place], int | None] = lambda path: None,
        known: Iterable[Fault] = (),
        *,
        source: str = "<text>",
        folder: Path | None = None,
        code: bool = False,
    ) -> None:
        self.families, self.line, self.source, self.folder, self.code = families, line, source, folder, code
        self.names: dict[tuple[str, str], list[Place]] = {}
        self.reported: set[Place] = set()
        self.locked: list[str] = []
        self._problems: list[Fault] = []
        for fault in (known := tuple(known)):
            self.add_fault(replace(fault, text=f"{self._inside(fault.path)}{fault.text}"))
        self.reported |= {fault.path for fault in known}

    # -- problems --------------------------------------------------------------------------------------------------------

    @property
    def problems(self) -> list[Fault]:
        """All problems, ordered by line and without repetition."""
        ordered = sorted(self._problems, key=lambda fault: fault.line or 0)
        return list({(fault.line, fault.text): fault for fault in reversed(ordered)}.values())[::-1]

    def checked(self, thing: Any, error: Callable[[str, list], Exception], notes: Iterable[Fault] = ()) -> Any:
        """Return the object; raise `error` with all problems and `notes`, or `CodeNotAllowed` if only consent is missing."""
        if self.problems:
            raise error(self.source, [*self.problems, *notes])
        if self.locked:
            raise CodeNotAllowed(dict.fromkeys(self.locked))
        return thing

    def label(self, path: Place) -> str:
        """Return the name of a location in messages. Override this method if a file has better names than its paths."""
        return dotted(path)

    def add(self, path: Place, text: str, value: object = None, must: str = "", remedy: str = "") -> Any:
        """Add a problem and return `BROKEN`; further problems at the location of a parser error are ignored.

        The text contains item, value and limit (`must`); the remedy ends the sentence.
        """
        self.add_fault(Fault(path, f"{text}; {remedy}" if remedy else text, value, must, remedy))
        return BROKEN

    def add_fault(self, fault: Fault) -> None:
        """Add a problem; its line is derived from its path if missing."""
        if fault.path not in self.reported:
            self._problems.append(fault if fault.line else replace(fault, line=self.line(fault.path)))

    def wrong(self, path: Place, value: object, must: str, known: Iterable[str] = ()) -> Any:
        """Report an invalid value and return `BROKEN`; suggest the nearest of the `known` words."""
        return self.add(path, f"{self.label(path)} is {show(value)}{suggestion(value, known)}, {must}", value, must)

    def _twice(self, first: str, second: str, data: dict[str, Any], path: Place) -> Any:
        """Report two mutually exclusive keys of a mapping and return `BROKEN`."""
        words = f"{self._inside(path)}both {first!r} and {second!r} are given"
        return self.add((*path, second), words, data[second], remedy="keep one of them")

    def _inside(self, path: Place) -> str:
        return f"{self.label(path)}: " if path else ""

    # -- objects ---------------------------------------------------------------------------------------------------------

    def file(self, cls: Any, data: dict[str, Any], key: str, version: int) -> Any:
        """Read a complete file: check the version under `key`, which identifies the kind of file, then build the object."""
        if key not in data:
            self.add((key,), f"the key {key!r} is missing; start the file with '{key}: {version}'")
        elif type(data[key]) is not int or data[key] != version:
            self.wrong((key,), data[key], f"must be {version}, the version of the file format that this program reads")
        return self.build(cls, data, (), skip=(key,))

    def build(
        self, cls: Any, data: Any, path: Place, skip: tuple[str, ...] = (), also: Iterable[str] = (), **given: Any
    ) -> Any:
        """Build an object of a class from its mapping.

        Keys in `skip` and `also` are read elsewhere; messages also list the keys in `also`. `given` contains fields whose
        values are already known.
        """
        part_name = given.get("name")
        if "name" in given and "name" not in members(cls) and not takes_any(cls):  # derived from other fields, see `_called`
            del given["name"]
        own = {name: m for name, m in members(cls).items() if name not in given}
        keys = [*also, *(key for key in file_keys(cls) if key not in given)]
        if not isinstance(data, dict):
            return self.wrong(path, data, f"must be a mapping with the keys {', '.join(keys)}")
        missing = [m.name for m in own.values() if m.default is MISSING and not any(k in data for k in m.keys)]
        others = [key for key in data if key not in keys and key not in skip]
        if takes_any(cls):
            taken = [key for key in others if key in given]  # the file does not set these
            given |= {key: data[key] for key in others if key not in taken}
            others = taken
        for key in others:
            renames = key == "name" and part_name is not None
            meant = "" if renames else suggestion(key, missing)
            missing = [name for name in missing if repr(name) not in meant]
            hint, remedy = meant or suggestion(key, keys), f"use the keys {', '.join(keys)}"
            if renames:
                hint, remedy = "", f"remove it, because the key {part_name!r} before the mapping is the name"
            words = f"{self._inside(path)}unknown key {key!r} with the value {show(data[key])}{hint}"
            self.add((*path, key), words, data[key], remedy=remedy)
            if meant:
                given[re.findall(r"'(.*)'", meant)[0]] = BROKEN
        values = dict(given)
        for name in missing:
            remedy = f"add it: {own[name].text}" if own[name].text else "add it"
            values[name] = self.add((*path, name), f"{self._inside(path)}the key {name!r} is missing", remedy=remedy)
        for name, member in own.items():
            if name not in values and (there := [key for key in member.keys if key in data]):
                values[name] = self._member(member, {key: data[key] for key in there}, path)
        if any(value is BROKEN for value in values.values()):
            return self.unmade(cls, values, path)
        if not is_dataclass(cls) and not self._within_bounds(cls, values, path):  # a dataclass checks its own
            return BROKEN
        return self.make(cls, values, path)

    def _member(self, member: Member, data: dict[str, Any], path: Place) -> Any:
        if member.has(Inline):
            return self.build(member.hint, data, path)
        if len(data) > 1:
            first, second = data
            return self._twice(first, second, data, path)
        ((key, value),) = data.items()
        out = self.read(value, member.hint, (*path, key), member.marks)
        if key == member.name or out is BROKEN:
            return out
        return tuple(map(math.radians, out)) if isinstance(out, tuple) else math.radians(out)

    def make(self, cls: Any, values: dict[str, Any], path: Place) -> Any:
        """Build an object from complete values, and report the errors that its class raises."""
        try:
            return cls(**values)
        except FieldError as error:
            for e in error.errors if isinstance(error, FieldErrors) else (error,):
                at = _place_of_error(e, cls, values, path)
                # the place cannot show an item inside a field, such as "t of waypoint 0", nor a field that files do not have
                words = f"{self._inside(path)}{e}" if at == path or " of " in e.name else f"{self.label(at)} {e.said}"
                self.add(at, words, e.value, e.must)
        except (ValueError, ArithmeticError) as e:
            self.add(path, f"{self._inside(path)}{message_of(e)}")
        except Exception as e:
            if cls.__module__.partition(".")[0] == "hydromechs":
                raise
            self.add(path, f"{self._inside(path)}{cls.__name__} cannot be built: {type(e).__name__}: {message_of(e)}")
        return BROKEN

    def unmade(self, cls: Any, values: dict[str, Any], path: Place) -> Any:
        """Report further problems of an object that cannot be built, and return `BROKEN`."""
        self._within_bounds(cls, values, path)
        return BROKEN

    def _within_bounds(self, cls: Any, values: dict[str, Any], path: Place) -> bool:
        """Report numbers outside the bounds of their fields; return False if there are any."""
        good = True
        for name, value in values.items():
            member = members(cls).get(name)
            for bound in bounds_of(member.hint)[:1] if member is not None else ():
                must = "" if value is BROKEN or value is None else bound.fault(value)
                if must:
                    self.wrong((*path, name), list(value) if isinstance(value, tuple) else value, must)
                    good = False
        return good

    def part(self, data: Any, family: Family, path: Place, preset: str = "", **given: Any) -> Any:
        """Read a member of a family from a mapping with a `type`, or from the type alone.

        `preset` is the type implied by a section of the file, such as "thruster" for `thrusters`. `given` contains fields
        whose values are already known.
        """
        default = preset or family.default
        if isinstance(data, str) and family.named_by_text:
            return data
        if isinstance(data, str):
            data = {"type": data}
        if not isinstance(data, dict) and default:
            return self.build(family.table[default], data, path, **given)
        if not isinstance(data, dict):
            return self.wrong(path, data, f"must be a mapping whose 'type' {family.must}")
        if "device" in data and family.presets:
            return self._preset(data, family, path, **given)
        if "type" not in data and not default:
            words = f"{self.label(path)} is {show(data)} without the key 'type', which {family.must}"
            return self.add(path, words, data, family.must)
        word = data.get("type", default)
        if isinstance(word, str) and word in family.table:
            given |= {family.type_field: word} if family.type_field else {}
            data = self._expanded(word, data, family, path)
            return self.member(family.table[word], data, family, path, family.shorthand.keys.get(word, ()), **given)
        known = [*family.table, *(installed_parts() if family.open_to_users else ())]
        if not family.open_to_users or not isinstance(word, str) or not (re.search(r".:[A-Za-z_]", word) or word in known):
            return self.wrong((*path, "type"), word, family.must, known)
        return self.custom(word, data, family, path, **given)

    def _expanded(self, word: str, data: dict[str, Any], family: Family, path: Place) -> dict[str, Any]:
        """Return the mapping of a member with its short keys expanded; invalid short keys become `BROKEN`."""
        short = {key: member for key, member in family.shorthand.keys.get(word, {}).items() if key in data}
        if not short:
            return data
        values = {key: self.read(data[key], member.hint, (*path, key)) for key, member in short.items()}
        data, first = {key: x for key, x in data.items() if key not in short}, next(iter(short))
        if any(x is BROKEN for x in values.values()):
            return data | {BROKEN: BROKEN}
        try:
            longer = family.shorthand.expand(word, values)
        except FieldError as e:
            at = (*path, e.field if e.field in short else first)
            return data | {BROKEN: self.add(at, f"{self.label(at)} {e.said}", e.value, e.must)}
        except ValueError as e:
            return data | {BROKEN: self.add((*path, first), f"{self._inside(path)}{message_of(e)}")}
        for key in longer.keys() & data.keys():
            return data | {BROKEN: self._twice(first, key, data, path)}
        return data | longer

    def custom(self, word: str, data: dict[str, Any], family: Family, path: Place, **given: Any) -> Any:
        """Read an object of a custom class or an installed part; without consent, return `BROKEN` and add it to `locked`."""
        at = (*path, "type")
        if not self.code and not is_ours(word):
            self.locked.append(f"{self.label(at)} {word!r} in {self.source}, line {self.line(at)}")
            return BROKEN
        takes_functions = family.holder is not None and family.holder.functions
        try:
            # from this package, without consent, only classes: not all of its functions are safe to call from files
            cls = imported(word, self.folder, functions=takes_functions and not is_ours(word))
        except ValueError as e:
            return self.add(at, f"{self.label(at)} is {word!r}: {e}", word)
        if isinstance(cls, type) and (not issubclass(cls, family.bases) or isabstract(cls)):
            names = " or ".join(base.__name__ for base in family.bases)
            return self.wrong(at, word, f"must be a class derived from {names}")
        return self.member(cls, data, family, path, **given)

    def member(
        self, cls: Any, data: dict[str, Any], family: Family, path: Place, short: Iterable[str] = (), **given: Any
    ) -> Any:
        """Read a family member of a known class; wrap it in the family's holder if the class does not derive from the base."""
        holder = family.holder
        data, good = {key: x for key, x in data.items() if key is not BROKEN}, BROKEN not in data
        if holder is None or not family.holds(cls):
            return self.build(cls, data, path, ("type",), short, **given)
        is_function = not isinstance(cls, type) and cls not in family.table.values()
        own = {} if is_function else file_keys(cls)
        beside = {key: x for key, x in data.items() if key in holder.keys(own) or is_function}
        beside.pop("type", None)
        rest = {key: x for key, x in data.items() if key not in beside}
        also = [*short, *(key for key in holder.keys(own) if key not in given)]
        inner = cls if is_function else self.build(cls, rest, path, ("type",), also) if good else BROKEN
        try:
            outer = self.build(holder.owner, beside, path, **{holder.field: inner}, **given)
        except TypeError as e:  # the holder rejects a custom object, for example a controller without a period
            if is_ours(f"{cls.__module__}:{cls.__name__}"):
                raise
            return self.add(path, f"{self._inside(path)}{message_of(e)}")
        return BROKEN if inner is BROKEN else outer

    def _preset(self, data: dict[str, Any], family: Family, path: Place, **given: Any) -> Any:
        """Read a predefined member and apply the changes in the file."""
        word, at = data["device"], (*path, "device")
        if not isinstance(word, str) or word not in family.presets:
            return self.wrong(at, word, f"must be one of {', '.join(family.presets)}", family.presets)
        cls, values = family.presets[word]
        given |= {name: value for name, value in values.items() if not any(key in data for key in members(cls)[name].keys)}
        return self.build(cls, data, path, ("device",), **given)

    # -- values ----------------------------------------------------------------------------------------------------------

    def read(self, data: Any, hint: Any, path: Place, marks: tuple = ()) -> Any:
        """Read a value with any annotation; if it is invalid, add the problems and return `BROKEN`."""
        hint, more = unmarked(hint)
        marks = (*marks, *more)
        family = self.families.of(hint)
        if family is not None:
            return self.part(data, family, path)
        bounds = bounds_of(hint)
        if bounds:
            return self._numbers(data, _form(data, bounds), path)
        origin = get_origin(hint)
        if hint is Any:
            return data
        if hint in PLAIN:
            return self._plain(data, hint, path, marks)
        if origin is Literal:
            words = [repr(word) for word in get_args(hint)]
            must = f"must be {' or '.join([', '.join(words[:-1]), words[-1]] if len(words) > 1 else words)}"
            return data if data in get_args(hint) else self.wrong(path, data, must)
        if hint in (list, tuple):  # a custom class need not annotate the type of its items
            return hint(data) if isinstance(data, list) else self.wrong(path, data, "must be a list")
        if origin is tuple:
            return self._sequence(data, get_args(hint), path)
        if origin in (dict, Mapping) or hint is dict:
            return self._mapping(data, (get_args(hint) or (str, Any))[1], path)
        if len(options(hint)) > 1:
            return self.read(data, _option(data, options(hint)), path, marks)
        if isinstance(hint, type):
            return self.build(hint, data, path)
        return self.add(path, f"{self.label(path)}: a file cannot represent {hint}; set this value in Python")

    def _plain(self, data: Any, kind: Any, path: Place, marks: tuple) -> Any:
        if type(data) is not kind:
            return self.wrong(path, data, f"must be {PLAIN[kind]}")
        for mark in marks:
            if isinstance(mark, Ref):
                self.names.setdefault((mark.what, data), []).append(path)
            elif isinstance(mark, Pattern) and not re.fullmatch(mark.regex, data):
                return self.wrong(path, data, mark.must)
        return data

    def _sequence(self, data: Any, args: tuple, path: Place) -> Any:
        """Read a tuple from a list, a mapping from name to object, or a mapping of pairs."""
        if args[1:] != (...,):
            return self._row(data, args, path)
        item, _ = unmarked(args[0])
        if get_origin(item) is tuple and len(get_args(item)) == 2 and unmarked(get_args(item)[0])[0] is str:
            return self._pairs(data, get_args(item), path)
        if self.families.named(item):
            return self.named(data, item, path)
        family = self.families.of(item)
        if family is not None and isinstance(data, dict | str):  # one element needs no list
            made = self.read(data, item, path)
            return BROKEN if made is BROKEN else (made,)
        if not isinstance(data, list):
            one = "one element {...} or " if family is not None else ""
            return self.wrong(path, data, f"must be {one}a list")
        return _whole(self.read(x, args[0], (*path, i)) for i, x in enumerate(data))

    def _row(self, data: Any, args: tuple, path: Place) -> Any:
        if not isinstance(data, list) or len(data) != len(args):
            has = f", not {len(data)}" if isinstance(data, list) else ""
            return self.wrong(path, data, f"must be a list of {len(args)} items{has}")
        return _whole(self.read(x, hint, (*path, i)) for i, (x, hint) in enumerate(zip(data, args, strict=True)))

    def _pairs(self, data: Any, hints: tuple, path: Place) -> Any:
        if not isinstance(data, dict):
            return self.wrong(path, data, "must be a mapping")
        marks = unmarked(hints[0])[1]
        pairs = [(self._plain(key, str, (*path, key), marks), self.read(x, hints[1], (*path, key))) for key, x in data.items()]
        return BROKEN if any(x is BROKEN for pair in pairs for x in pair) else tuple(pairs)

    def _mapping(self, data: Any, hint: Any, path: Place) -> Any:
        if not isinstance(data, dict):
            return self.wrong(path, data, "must be a mapping")
        out = {key: self.read(x, hint, (*path, key)) for key, x in data.items()}
        return BROKEN if any(x is BROKEN for x in out.values()) else out

    def named(self, data: Any, hint: Any, path: Place, preset: str = "") -> Any:
        """Read a mapping from name to object into a tuple of objects of a class or family; see `part` for `preset`."""
        family = self.families.of(hint)
        if not isinstance(data, dict):
            what = family.name if family is not None else hint.__name__.lower()
            return self.wrong(path, data, f"must be a mapping from the name of each {what} to its keys")
        made = [
            self.build(hint, x, (*path, name), name=name)
            if family is None
            else self.part(x, family, (*path, name), preset, name=name)
            for name, x in data.items()
        ]
        return _whole(map(self._called, made, data, [path] * len(made)))

    def _called(self, thing: Any, name: str, path: Place) -> Any:
        """Return an object if its name equals its key in the file; report a mismatch, as some classes derive their names."""
        if thing is BROKEN or (own := getattr(thing, "name", None)) == name:
            return thing
        if not isinstance(own, str):
            return self.add(
                (*path, name),
                f"{self.label((*path, name))}: {type(thing).__name__} has no name; add the attribute 'name' to the class",
            )
        words = f"{self.label((*path, name))}: the name of a {type(thing).__name__} is derived from its other keys"
        return self.add((*path, name), words, name, remedy=f"rename the key to {own!r}")

    def _numbers(self, data: Any, bound: Bound, path: Place) -> Any:
        """Read a number, a row or a table of numbers. Bounds are checked by the class of the object."""
        if bound.size is None:
            return self._number(data, bound, path)
        if bound.rows is None:
            must = f"must be a list of {f'{bound.size} ' if bound.size else ''}numbers"
            if not isinstance(data, list):
                return self.wrong(path, data, must)
            if bound.size and len(data) != bound.size:
                return self.wrong(path, data, f"{must}, not {len(data)}")
            return self._number_row(data, bound, path)
        must = f"must be {bound.rows or ''} rows of {bound.size or ''} numbers".replace("  ", " ")
        if not isinstance(data, list):
            return self.wrong(path, data, must)
        if bound.rows and len(data) != bound.rows:
            return self.wrong(path, data, f"{must}, not {len(data)} rows")
        for i, row in enumerate(data):
            if not isinstance(row, list) or (bound.size and len(row) != bound.size):
                has = len(row) if isinstance(row, list) else "none"
                return self.wrong(path, data, f"{must}, but row {i + 1} has {has}")
        return _whole(self._number_row(row, bound, (*path, i)) for i, row in enumerate(data))

    def _number_row(self, data: list[Any], bound: Bound, path: Place) -> Any:
        if len(data) >= LONG_ROW and not bound.whole and set(map(type, data)) <= NUMBERS:
            row = np.array(data, dtype=float)
            if np.isfinite(row).all():
                return tuple(row.tolist())
        read = (self._number(x, bound, (*path, i)) for i, x in enumerate(data))
        good = tuple(itertools.takewhile(lambda x: x is not BROKEN, read))  # one problem per row is enough
        return good if len(good) == len(data) else BROKEN

    def _number(self, data: Any, bound: Bound, path: Place) -> Any:
        if type(data) not in NUMBERS or (bound.whole and type(data) is not int):
            return self.wrong(path, data, f"must be {'an integer' if bound.whole else 'a number'}")
        if not math.isfinite(data):
            return self.wrong(path, data, "must be a finite number" + ("; omit the key for no limit" if bound.infinite else ""))
        return data if bound.whole else float(data)

    # -- names -----------------------------------------------------------------------------------------------------------

    def check_names(self, known: Mapping[str, Iterable[str]]) -> None:
        """Report every `Ref` to an unknown name, for the kinds of objects in `known`."""
        for (what, name), paths in self.names.items():
            if what in known and name not in (names := list(known[what])):
                listed = ", ".join(names[:40]) + (", ..." if len(names) > 40 else "")
                for path in paths:
                    words = f"{self.label(path)}: unknown {what} {name!r}{suggestion(name, names)}"
                    self.add(path, f"{words}; available: {listed or 'none'}", name, f"must be the name of a {what}")


def _option(data: Any, hints: tuple) -> Any:
    """Return the member of a union that matches the data (number, text or list), or the first member."""

    def fits(hint: Any) -> bool:
        bounds = bounds_of(hint)
        if bounds:
            return isinstance(data, list) if bounds[0].size is not None else type(data) in NUMBERS
        return isinstance(data, list) if get_origin(hint) is tuple else type(data) is hint

    return next(filter(fits, hints), hints[0])


def _form(data: Any, bounds: tuple[Bound, ...]) -> Bound:
    """Return the bound for the form of the data: number, row or table."""
    if len(bounds) == 1:
        return bounds[0]
    depth = 0 if not isinstance(data, list) else 2 if any(isinstance(x, list) for x in data) else 1
    forms = {0 if b.size is None else 1 if b.rows is None else 2: b for b in bounds}
    return forms.get(depth, bounds[0])


def _place_of_error(error: FieldError, cls: Any, values: dict[str, Any], path: Place) -> Place:
    """Return the location of a value that an object rejects, or of the object itself if files have no key for the value."""
    head, _, key = error.name.removeprefix(f"{cls.__name__}.").partition(".")
    held = values.get(head)
    if isinstance(held, tuple) and all(isinstance(x, tuple) and len(x) == 2 for x in held):
        held = dict(held)
    if isinstance(held, Mapping) and key in held:  # inside a field, for example joints.tip.2 with the key "tip.2"
        return (*path, head, key)
    return (*path, error.field) if error.field in members(cls) else path


def _whole(items: Iterator[Any] | Iterable[Any]) -> Any:
    """Return all items as a tuple; `BROKEN` if any item is broken."""
    out = tuple(items)
    return BROKEN if any(x is BROKEN for x in out) else out
