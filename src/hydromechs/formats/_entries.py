"""Entries of files made from dataclasses: keys, types, bounds, defaults and descriptions are those of the fields.

`entry(Thruster)` is the pydantic class that checks what a file says of a thruster; `_convert` makes the thruster of it, and
says what a file writes of one. Where a file writes something differently from the object, a `Swap` stands beside: the fields
that it replaces, the keys that a file has for them, and the way from the ones to the others and back.

Where a file may write one of several things (a joint by its `type`, a drive by its key), the class is picked from the data
first and then checked alone, so that a fault is told once and in the terms of what was meant.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, create_model
from pydantic_core import PydanticCustomError

from hydromechs.values import Bound, field_texts

from ._numbers import Finite, numbers

__all__ = [
    "CHOICES",
    "ENTRIES",
    "KINDS",
    "TAGS",
    "Choice",
    "Entry",
    "Key",
    "Kind",
    "Swap",
    "entry",
    "json_schema_of",
    "list_of",
    "mapping_of",
    "one_of",
    "one_or_many",
    "picked",
    "table",
    "tagged",
    "version_key",
]


class Choice(NamedTuple):
    """What is said where none of several variants fits."""

    key: str
    """Key that decides; empty where there is none."""
    names: tuple[str, ...]
    """What may stand under it."""
    must: str
    """What there must be, in words."""


TAGS: dict[str, type[BaseModel] | None] = {}
"""Class of each variant by the tag that pydantic puts into the place of an error; None for one that is not a mapping."""
CHOICES: dict[str, Choice] = {}
"""What is said where no variant fits, by the group of variants."""
KINDS: dict[Any, list[Kind]] = {}
"""How files write each class."""
ENTRIES: dict[str, type[Entry]] = {}
"""All entries by name, without "Entry" at the end."""
MARK = "\0"
"""First character of a tag, so that it cannot be taken for a key."""
LEFT_OUT = None
"""Default of a key that stands for nothing where it is left out."""


class Entry(BaseModel):
    """A mapping with known keys only and no conversions."""

    model_config = ConfigDict(extra="forbid", strict=True)
    kind: ClassVar[Kind | None] = None
    """What it is an entry of; None for a table, of which a dictionary is made."""
    wraps: ClassVar[str] = ""
    """The key that says which of several things it is, and holds it."""


class Key(NamedTuple):
    """One key of an entry."""

    hint: Any
    """Type, as pydantic takes it."""
    text: str
    """Meaning, with its unit."""
    default: Any = ...
    """Value of a key that is left out; ... for one that must be there."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Swap:
    """Fields of a class that a file writes another way."""

    fields: tuple[str, ...]
    """The fields; keys stand in the place of the first."""
    keys: dict[str, Key]
    """What a file has for them."""
    read: Callable[[dict[str, Any]], dict[str, Any]]
    """Values by key, of those given, to values by field."""
    write: Callable[[Any], dict[str, Any]]
    """The object to what a file writes, by key."""


@dataclass(kw_only=True, eq=False)
class Kind:
    """How a file writes one class."""

    cls: Any
    """The dataclass, or a function that makes the object."""
    tag: tuple[str, str] | None
    """Key and name that tell it from others in its place."""
    swaps: tuple[Swap, ...]
    """What a file writes differently."""
    steps: tuple[tuple[str, Any] | Swap, ...]
    """What is written one after the other: a field with its default, or a swap."""
    fits: Callable[[Any], bool] = field(default=lambda thing: True)
    """Whether an object can be written this way, where there are several."""
    block: bool = False
    """Whether each key gets a line of its own."""
    entry: type[Entry] = Entry
    """The pydantic class."""
    wrap: str = ""
    """Key under which it stands, where that tells it from others."""


# -- types --------------------------------------------------------------------------------------------------------------


def _type(hint: Any, judged: bool) -> Any:
    """What pydantic checks of a field with the annotation `hint`."""
    origin, args = get_origin(hint), [a for a in get_args(hint) if a is not NoneType]
    if origin is Annotated:
        bound = next((x for x in get_args(hint)[1:] if isinstance(x, Bound)), None)
        return hint if bound is None else numbers(bound, judged)
    if origin in (Union, UnionType) and len(args) == 1:
        return _type(args[0], judged)
    if origin is tuple and args[1:] == [...]:
        pair = get_args(args[0])
        if get_origin(args[0]) is tuple and len(pair) == 2 and pair[0] is str:
            return mapping_of(_type(pair[1], judged))
        return list_of(_type(args[0], judged))
    if hint is float:
        return Finite
    if hint in (str, bool, int) or origin is Literal:
        return hint
    if origin in (dict, Mapping):
        return dict[str, Any]
    if isinstance(hint, type) and hint in KINDS:
        return KINDS[hint][0].entry
    raise TypeError(f"a file has no way to write {hint}; give the type of the key")


# -- entries ------------------------------------------------------------------------------------------------------------


class _Member(NamedTuple):
    name: str
    hint: Any
    text: str
    default: Any


def _members(cls: Any, hints: Mapping[str, Any]) -> list[_Member]:
    """Fields of a dataclass or arguments of a function, those that must be given first."""
    known = get_type_hints(cls, include_extras=True) | dict(hints)
    if dataclasses.is_dataclass(cls) and isinstance(cls, type):
        texts = field_texts(cls)
        given = [(f.name, _default(f)) for f in dataclasses.fields(cls)]
    else:
        texts = dict(re.findall(r"^ {4,8}(\w+): (.+)$", inspect.getdoc(cls) or "", re.MULTILINE))
        parameters = inspect.signature(cls).parameters.values()
        given = [(p.name, ... if p.default is p.empty else p.default) for p in parameters]
    out = [_Member(name, known[name], _clean(texts.get(name, "")), default) for name, default in given]
    return sorted(out, key=lambda m: m.default is not ...)


def _default(f: dataclasses.Field) -> Any:
    if f.default_factory is not dataclasses.MISSING:
        return f.default_factory()
    return ... if f.default is dataclasses.MISSING else f.default


def _clean(text: str) -> str:
    """A text under a field without what matters in Python only."""
    text = re.sub(r",? shape \([^)]*\)", "", text)
    return re.sub(r"; (?:None|−?inf): ([^;]*)\.$", r"; \1 if left out.", text)


def _in_file(default: Any, hint: Any) -> Any:
    """The default of a key, by that of its field."""
    if default is None or dataclasses.is_dataclass(default) or (isinstance(default, float) and math.isinf(default)):
        return LEFT_OUT
    if isinstance(default, tuple):
        return {} if get_origin(hint) is dict else [_in_file(x, None) for x in default]
    return default


def entry(
    cls: Any,
    name: str = "",
    *,
    swaps: Iterable[Swap] = (),
    types: Mapping[str, Any] | None = None,
    hints: Mapping[str, Any] | None = None,
    texts: Mapping[str, str] | None = None,
    required: tuple[str, ...] = (),
    without: tuple[str, ...] = (),
    tag: tuple[str, str, str] | None = None,
    extra: Mapping[str, Key] | None = None,
    config: ConfigDict | None = None,
    judged: bool = True,
    fits: Callable[[Any], bool] | None = None,
    block: bool = False,
) -> type[Entry]:
    """The pydantic class of what a file says of a dataclass.

    Args:
        cls: The dataclass, or a function that makes the object.
        name: Name of the entry; that of the class and "Entry" unless given.
        swaps: Fields that a file writes another way.
        types: Types of keys, as pydantic takes them, where the annotation does not say which.
        hints: Annotations in place of those of the class.
        texts: Meanings in place of those under the fields.
        required: Fields that have a default and must be in a file all the same.
        without: Fields that a file does not have.
        tag: Key and name that tell it from others in its place, and the meaning of the key.
        extra: Keys that are not fields.
        config: Further settings of the pydantic class.
        judged: Whether a number out of its bound is a fault of the entry; otherwise the object collects such faults itself.
        fits: Whether an object can be written this way, where the class has several entries.
        block: Whether each key is written on a line of its own.
    """
    types, texts, swaps = types or {}, texts or {}, tuple(swaps)
    swapped = {name: swap for swap in swaps for name in swap.fields}
    keys: dict[str, Key] = {key: value for key, value in (extra or {}).items() if value.default is ...}
    if tag is not None:
        keys[tag[0]] = Key(Literal[tag[1]], tag[2])
    steps: list[tuple[str, Any] | Swap] = []
    for member in _members(cls, hints or {}):
        swap = swapped.get(member.name)
        if swap is not None and swap not in steps:
            steps.append(swap)
            keys |= swap.keys
        if swap is not None or member.name in without:
            continue
        hint = types[member.name] if member.name in types else _type(member.hint, judged)
        default = ... if member.name in required else _in_file(member.default, hint)
        keys[member.name] = Key(hint, texts.get(member.name, member.text), default)
        steps.append((member.name, ... if member.name in required else member.default))
    keys |= extra or {}
    kind = Kind(cls=cls, tag=tag and tag[:2], swaps=swaps, steps=tuple(steps), block=block, fits=fits or (lambda thing: True))
    out = table(name or f"{cls.__name__}Entry", (inspect.getdoc(cls) or "").split("\n\n")[0], keys, config)
    out.kind, kind.entry = kind, out
    KINDS.setdefault(cls, []).append(kind)
    return out


def table(
    name: str, text: str, keys: Mapping[str, Key], config: ConfigDict | None = None, base: type[Entry] = Entry
) -> type[Entry]:
    """An entry that is not one of a class.

    Args:
        name: Its name.
        text: What it is.
        keys: Its keys.
        config: Further settings of the pydantic class.
        base: Entry whose keys it has, too.
    """
    fields: dict[str, Any] = {}
    for key, (hint, words, default) in keys.items():
        safe = f"{key}_" if key in ("from",) else key
        fields[safe] = (hint, Field(default, alias=key if safe != key else None, description=words))
    if config is not None:
        base = type(base.__name__, (base,), {"model_config": config, "__module__": __name__, "__doc__": text})
    out = create_model(name, __base__=base, __doc__=" ".join(text.split()), **fields)
    return ENTRIES.setdefault(name.removesuffix("Entry"), out)


def _version(value: Any) -> Any:
    if type(value) is not int or value != 1:
        raise PydanticCustomError("version", "must be 1, the version of the file format that this program reads")
    return value


version_key = Key(Annotated[Literal[1], BeforeValidator(_version)], "Version of the file format: 1.")
"""The first key of a file."""


def list_of(item: Any, least: int = 0) -> Any:
    """The type of a list of at least `least` of what `item` is the type of."""
    return Annotated[list[item], Field(min_length=least)] if least else list[item]


def mapping_of(item: Any) -> Any:
    """The type of a mapping of names to what `item` is the type of."""
    return dict[str, item]


# -- choices ------------------------------------------------------------------------------------------------------------


def picked(
    group: str,
    pick: Callable[[Any], str | None],
    must: str,
    variants: Mapping[str, Any],
    key: str = "",
    names: Iterable[str] = (),
) -> Any:
    """The type of one of several variants.

    Args:
        group: What to call them.
        pick: Names the variant that a value means, or None.
        must: What is said where it is none.
        variants: Types by name.
        key: The key that decides.
        names: What may stand under that key.
    """
    for name, kind in variants.items():
        TAGS[f"{MARK}{group}:{name}"] = kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None

    def tag(value: Any) -> str | None:
        name = pick(value)
        return f"{MARK}{group}:{name}" if name in variants else None

    members = tuple(Annotated[kind, Tag(f"{MARK}{group}:{name}")] for name, kind in variants.items())
    CHOICES[group] = Choice(key, tuple(names), must)
    union: Any = Union.__getitem__(members)
    return Annotated[union, Discriminator(tag, custom_error_type="choice", custom_error_message=group)]


def tagged(group: str, key: str, kinds: Iterable[type[Entry]], rest: str = "", code: type[Entry] | None = None) -> Any:
    """One of several entries that a key tells apart; entries without that key are told by the keys that only they have.

    Args:
        group: What to call them.
        key: The key, as "shape".
        kinds: The entries; of two with the same tag, the first is taken if it has keys of its own in the data.
        rest: What is said besides the names.
        code: Entry of what names a class of the user's own under the key, "file.py:Name".
    """
    entries = {e.__name__: e for e in kinds}
    tags = {name: e.kind.tag[1] if e.kind and e.kind.tag else None for name, e in entries.items()}
    keys = {name: {f.alias or n for n, f in e.model_fields.items()} for name, e in entries.items()}
    own = {n: keys[n] - {k for o in keys if o != n and tags[o] == tags[n] for k in keys[o]} for n in entries}

    def pick(value: Any) -> str | None:
        if not isinstance(value, dict):
            return None
        if code is not None and ":" in str(value.get(key)):
            return code.__name__
        alike = [n for n in entries if tags[n] == value.get(key)]
        first = [n for n in alike if value.keys() & own[n]]
        return first[0] if first else alike[-1] if alike and key in value else None

    names = list(dict.fromkeys(tag for tag in tags.values() if tag is not None))
    variants = entries if code is None else {**entries, code.__name__: code}
    return picked(group, pick, f"must be one of {', '.join(names)}{rest}", variants, key, names)


def one_of(group: str, kinds: Mapping[str, type[Entry]], rest: str = "", base: type[Entry] = Entry) -> Any:
    """A mapping that has exactly one of several keys, besides those of `base`.

    Args:
        group: What to call them.
        kinds: Entry under each key.
        rest: What is said besides the keys.
        base: Keys beside it.
    """
    variants: dict[str, type[Entry]] = {}
    for key, kind in kinds.items():
        name = f"{group.title().replace(' ', '')}{key.title().replace('_', '')}Entry"
        variants[key] = table(name, kind.__doc__ or "", {key: Key(kind, kind.__doc__ or "")}, base=base)
        variants[key].wraps = key
        if kind.kind is not None:
            kind.kind.wrap = key

    def pick(value: Any) -> str | None:
        found = [key for key in variants if isinstance(value, dict) and key in value]
        return found[0] if len(found) == 1 else None

    shown = [f"{{{key}: {{...}}}}" for key in kinds]
    must = f"must be {' or '.join([', '.join(shown[:-1]), shown[-1]])}"
    must = must if base is Entry else f"must have one of the keys {', '.join(kinds)}"
    return picked(group, pick, must + rest, variants, names=kinds)


def one_or_many(group: str, element: Any) -> Any:
    """One element, or a list of them.

    Args:
        group: What to call them.
        element: The type of one.
    """
    pick = lambda value: "one" if isinstance(value, dict) else "many" if isinstance(value, list) else None  # noqa: E731
    must = "must be one element {...} or a list of them"
    return picked(f"{group} list", pick, must, {"one": element, "many": list_of(element)})


# -- JSON Schema --------------------------------------------------------------------------------------------------------


def json_schema_of(file: type[Entry]) -> dict[str, Any]:
    """JSON Schema (2020-12) of a file.

    Args:
        file: The entry of the whole.
    """
    schema = file.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_tidy(schema)}


def _tidy(node: Any, named: bool = True) -> Any:
    """Without the titles of fields, which repeat their keys, and without defaults of null, which mean "left out".

    `named` tells a schema from a table of schemas by name, where `title` and `default` could be names.
    """
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    tables = ("properties", "$defs", "patternProperties")
    out = {key: _tidy(value, not named or key not in tables) for key, value in node.items()}
    if named:
        if "properties" not in out:
            out.pop("title", None)
        if out.get("default", 0) is None:
            del out["default"]
    return out
