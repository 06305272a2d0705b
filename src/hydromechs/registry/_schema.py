"""JSON Schema (2020-12) of a file, derived from the annotations of its classes."""

import dataclasses
import inspect
import math
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from hydromechs.values import Bound

from ._family import Families, Family
from ._members import MISSING, ByName, Degrees, Pattern, bounds_of, file_keys, options, unmarked

CUSTOM = {
    "type": "object",
    "description": "Custom class: 'package.module:Name' or 'file.py:Name', with its own keys.",
    "properties": {"type": {"type": "string", "pattern": ".:[A-Za-z_]", "description": "Import path of the class."}},
    "required": ["type"],
}
"""Schema of an object of a custom class."""


def json_schema(cls: Any, families: Families, *, key: str, version: int, title: str) -> dict[str, Any]:
    """Return the JSON Schema of a file that contains an object of a class and, under `key`, the version of its format."""
    walk = _Schema(families)
    out = walk.object(cls)
    marked = {key: {"const": version, "description": f"Version of the file format: {version}."}}
    out |= {"title": title, "properties": marked | out["properties"], "required": [key, *out.get("required", ())]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **out, "$defs": dict(sorted(walk.defs.items()))}


class _Schema:
    """Schema builder, which collects class definitions in `defs` while it follows annotations."""

    def __init__(self, families: Families) -> None:
        self.families = families
        self.defs: dict[str, dict[str, Any]] = {}

    def object(
        self, cls: Any, skip: tuple[str, ...] = (), word: str = "", default: bool = False, family: Family | None = None
    ) -> dict[str, Any]:
        """Return the schema of the mapping of a class. `word` is its type, which files may omit if `default` is True."""
        properties: dict[str, Any] = {"type": {"const": word, "description": "Type."}} if word else {}
        required = ["type"] if word and not default else []
        own = file_keys(cls) if family is None else family.keys_of(word) | dict(family.shorthand.keys.get(word, {}))
        for key, member in own.items():
            if key in skip:
                continue
            properties[key] = {**self.of(member.hint, member.marks), "description": member.text}
            if _has_schema(member.default) and key == member.name:
                properties[key]["default"] = _plain(member.default)
            if member.default is MISSING and not member.has(Degrees):
                required.append(key)
        about = " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())
        out = {"type": "object", "description": about, "properties": properties, "additionalProperties": False}
        angles = [m for key, m in own.items() if m.has(Degrees) and key == m.name]
        either = [{"oneOf": [{"required": [key]} for key in m.keys]} for m in angles if m.default is MISSING]
        both = [{"not": {"required": list(m.keys)}} for m in angles if m.default is not MISSING]
        for key, stand in family.shorthand.instead.get(word, {}).items() if family is not None else ():
            required.remove(key)
            out["anyOf"] = [{"required": [key]}, {"required": list(stand)}]
        return out | ({"required": required} if required else {}) | ({"allOf": [*either, *both]} if angles else {})

    def reference(self, name: str, cls: Any, **options: Any) -> dict[str, Any]:
        """Return a reference to the definition of a class; add the definition if it is missing."""
        if name not in self.defs:
            self.defs[name] = {}  # a class may contain itself
            self.defs[name] = self.object(cls, **options)
        return {"$ref": f"#/$defs/{name}"}

    def part(self, family: Family, skip: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the schema of a member of a family: a mapping with its type, or only the type."""
        skip = (*skip, *family.known, family.type_field)
        choices, alone = [], []
        for word, cls in family.table.items():
            name, default = f"{family.name}.{word}", word == family.default
            choices.append(self.reference(name, cls, skip=skip, word=word, default=default, family=family))
            if all(m.default is not MISSING for n, m in family.keys_of(word).items() if n not in skip):
                alone.append(word)
        custom = [CUSTOM] if family.open_to_users else []
        if family.presets:
            named = {
                "device": {"enum": list(family.presets), "description": "Predefined object; other keys override its values."}
            }
            custom.append({"type": "object", "properties": named, "required": ["device"]})
        custom += [{"type": "string"}] if family.named_by_text else []
        alone = [] if family.named_by_text else alone
        return {"oneOf": [*choices, *([{"enum": alone, "x-short": True}] if alone else []), *custom]}

    def of(self, hint: Any, marks: tuple = ()) -> dict[str, Any]:
        """Return the schema of an annotation."""
        hint, more = unmarked(hint)
        if any(isinstance(mark, ByName) for mark in (*marks, *more)):
            name = {"type": "string"}
            return {"type": "array", "items": name} if get_origin(hint) is tuple else {"oneOf": [name, self.of(hint)]}
        if hint is Any:
            return {}
        family, bounds, origin = self.families.of(hint), bounds_of(hint), get_origin(hint)
        if family is not None:
            return self.part(family)
        if bounds:
            forms = [_numbers(bound) for bound in bounds]
            return forms[0] if len(forms) == 1 else {"oneOf": forms}
        if hint in (str, bool, int):
            patterns = [f"^(?:{m.regex})$" for m in (*marks, *more) if isinstance(m, Pattern)]
            plain = {"type": {str: "string", bool: "boolean", int: "integer"}[hint]}
            return {**plain, "pattern": patterns[0]} if patterns else plain
        if origin is Literal:
            return {"enum": list(get_args(hint))}
        if origin is tuple:
            return self._sequence(get_args(hint))
        if origin in (dict, Mapping) or hint is dict:
            return {"type": "object", "additionalProperties": self.of((get_args(hint) or (str, Any))[1])}
        if len(options(hint)) > 1:
            return {"oneOf": [self.of(option) for option in options(hint)]}
        return self.reference(hint.__name__, hint) if isinstance(hint, type) else {}

    def _sequence(self, args: tuple) -> dict[str, Any]:
        if args[1:] != (...,):
            return {"type": "array", "prefixItems": [self.of(a) for a in args], "minItems": len(args), "maxItems": len(args)}
        item, _ = unmarked(args[0])
        if get_origin(item) is tuple and len(get_args(item)) == 2 and unmarked(get_args(item)[0])[0] is str:
            key = {k: v for k, v in self.of(get_args(item)[0]).items() if k == "pattern"}
            pairs = {"type": "object", "additionalProperties": self.of(get_args(item)[1])}
            return {**pairs, "propertyNames": key} if key else pairs
        family = self.families.of(item)
        if self.families.named(item):
            inner = self.part(family, ("name",)) if family else self.reference(item.__name__, item, skip=("name",))
            return {"type": "object", "additionalProperties": inner}
        inner = self.of(args[0])
        many = {"type": "array", "items": inner}
        return {"oneOf": [*inner["oneOf"], many]} if family is not None else many


def _numbers(bound: Bound) -> dict[str, Any]:
    limits = {"exclusiveMinimum": bound.above, "minimum": bound.least, "exclusiveMaximum": bound.below, "maximum": bound.most}
    out: dict[str, Any] = {"type": "integer" if bound.whole else "number"}
    out |= {key: value for key, value in limits.items() if value is not None}
    for n in (bound.size, bound.rows):
        if n is not None:
            out = {"type": "array", "items": out} | ({"minItems": n, "maxItems": n} if n else {})
    return out


def _has_schema(default: Any) -> bool:
    """True if the schema should show a default, because the value can appear in a file."""
    infinite = isinstance(default, float) and math.isinf(default)
    return default not in (MISSING, None, "", ()) and not infinite and not dataclasses.is_dataclass(default)


def _plain(value: Any) -> Any:
    return [_plain(x) for x in value] if isinstance(value, tuple) else value
