"""Conversion of objects to the plain data of a file, following class annotations; defaults are omitted."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np

from hydromechs.errors import UnsupportedFeature

from ._code import reference_to
from ._family import Families, Family
from ._members import MISSING, Degrees, Described, Inline, dotted, members, unmarked
from ._reader import Place


class Writer:
    """Writer of the objects of one file. `families` resolves annotations.

    Paths of custom classes are relative to `folder`, which contains the file, or absolute if `folder` is None.
    """

    def __init__(self, families: Families, folder: Path | None = None) -> None:
        self.families, self.folder = families, folder

    def label(self, path: Place) -> str:
        """Return the name of a location in error messages."""
        return dotted(path)

    def fields(self, thing: Any, path: Place = (), skip: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the mapping of an object without the fields in `skip`, which are written elsewhere."""
        out: dict[str, Any] = {}
        kind: Any = type(thing)
        kept = dict(thing.arguments) if isinstance(thing, Described) else {}
        for member in members(kind).values():
            value = kept[member.name] if kept else getattr(thing, member.name)
            if member.name in skip or (member.default is not MISSING and repr(value) == repr(member.default)):
                continue  # repr, because −0 differs from 0
            if member.has(Inline):
                out |= self.fields(value, path)
            elif member.has(Degrees) and (degrees := _degrees(value)) is not None:
                out[f"{member.name}_deg"] = degrees
            else:
                out[member.name] = self.value(value, member.hint, (*path, member.name))
        more = {key: value for key, value in kept.items() if key not in members(kind)}
        return out | {key: self.plain(value, (*path, key)) for key, value in more.items()}

    def value(self, value: Any, hint: Any, path: Place = ()) -> Any:
        """Return the plain data of a value with the annotation `hint`."""
        hint, _ = unmarked(hint)
        family = self.families.of(hint)
        if family is not None:
            return self.part(value, family, path)
        origin = get_origin(hint)
        if origin is tuple and get_args(hint)[1:] == (...,):
            return self._sequence(value, get_args(hint)[0], path)
        if origin in (dict, Mapping) and get_args(hint):
            return {key: self.value(x, get_args(hint)[1], (*path, key)) for key, x in value.items()}
        if isinstance(hint, type) and hint not in (str, int, float, bool, dict, Any) and isinstance(value, hint):
            return self.fields(value, path)
        return self.plain(value, path)

    def part(self, thing: Any, family: Family, path: Place, skip: tuple[str, ...] = ()) -> Any:
        """Return the plain data of a member of a family: a mapping, or only its type if it has no other keys."""
        if isinstance(thing, str):
            return thing
        skip = (*skip, *family.known)
        holder = family.holder
        held = holder is not None and isinstance(thing, holder.owner) and not isinstance(getattr(thing, holder.field), str)
        inner = getattr(thing, holder.field) if holder is not None and held else thing
        word, keys, stands = family.shorthand.shorten(thing) or ("", {}, ())
        if holder is not None and held and not isinstance(inner, holder.base):  # a function
            word = self.reference(inner, path)
        else:
            typed = family.type_field and not held
            word = word or (getattr(inner, family.type_field) if typed else family.key_of(type(inner)))
            word = word or self.custom(inner, family, path)
            skipped = (*stands, family.type_field, *(() if held else skip))
            keys = {**self.fields(inner, path, skipped), **keys}
        if holder is not None and held:
            kind: Any = type(inner)
            taken = members(kind) if isinstance(inner, holder.base) else ()
            keys |= self.fields(thing, path, (*skip, *stands, holder.field, *taken))
        if word == family.default:
            return keys
        return {"type": word, **keys} if keys else word

    def custom(self, thing: Any, family: Family, path: Place) -> str:
        """Return the import path of the class of a custom object, which the table of its family does not contain."""
        kind = type(thing)
        if not family.open_to_users or not isinstance(thing, family.bases):
            raise UnsupportedFeature(
                f"{self.label(path)} is a {kind.__name__}, which a file cannot represent; replace it before saving"
            )
        return self.reference(kind, path)

    def reference(self, target: Any, path: Place) -> str:
        """Return the import path of a class or function."""
        try:
            return reference_to(target, self.folder)
        except UnsupportedFeature as e:
            raise UnsupportedFeature(f"{self.label(path)}: {e}") from None

    def _sequence(self, values: Any, hint: Any, path: Place) -> Any:
        item, _ = unmarked(hint)
        if get_origin(item) is tuple and len(get_args(item)) == 2 and unmarked(get_args(item)[0])[0] is str:
            return {key: self.value(x, get_args(item)[1], (*path, key)) for key, x in values}
        family = self.families.of(item)
        if self.families.named(item):
            return self._named(values, item, path)
        out = [self.value(x, item, (*path, i)) for i, x in enumerate(values)]
        return out[0] if family is not None and len(out) == 1 else out

    def _named(self, things: Any, hint: Any, path: Place) -> dict[str, Any]:
        """Return a mapping from name to object; objects without a name are named after their type."""
        family, out = self.families.of(hint), {}
        taken = {thing.name for thing in things}
        for thing in things:
            name = thing.name or self._free_name(family.key_of(type(thing)) if family else "item", taken)
            if name in out:
                raise UnsupportedFeature(f"{self.label((*path, name))}: the name is used twice; rename one of the objects")
            taken.add(name)
            at = (*path, name)
            out[name] = self.fields(thing, at, ("name",)) if family is None else self.part(thing, family, at, ("name",))
        return out

    @staticmethod
    def _free_name(base: str, taken: set[str]) -> str:
        numbered = (base if n == 1 else f"{base}_{n}" for n in range(1, len(taken) + 2))
        return next(name for name in numbered if name not in taken)

    def plain(self, value: Any, path: Place) -> Any:
        """Return the plain data of a value without an annotation: numbers, strings, lists and mappings."""
        if isinstance(value, tuple | list):
            return [self.plain(x, path) for x in value]
        if isinstance(value, Mapping):
            return {key: self.plain(x, (*path, key)) for key, x in value.items()}
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise UnsupportedFeature(
            f"{self.label(path)} is {value!r}, which a file cannot represent; use numbers, strings, lists or mappings"
        )


def _degrees(value: Any) -> Any:
    """Return angles in degrees if these are short and convert back to the same radians; None otherwise."""
    if isinstance(value, tuple):
        row = [_degrees(x) for x in value]
        return None if None in row else row
    degrees = round(math.degrees(value), 6)
    return degrees if repr(math.radians(degrees)) == repr(value) else None
