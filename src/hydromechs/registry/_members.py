"""Keys of a class: dataclass fields with type, default, description, and marks such as `Annotated[str, Ref("frame")]`."""

import dataclasses
import functools
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from hydromechs.values import Bound, closest, field_texts


def show(value: Any, limit: int = 60) -> str:
    """Return `value` as text in file notation, truncated to about `limit` characters."""
    text = _shown(value, 3)
    return text if len(text) <= limit else text[: limit - 4] + " ..."


def _shown(value: Any, levels: int) -> str:
    if value is None:
        return "null (empty)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return repr(value if len(value) <= 200 else value[:200])
    if isinstance(value, int) and abs(value) > 10**18:
        return repr(float(value))
    if isinstance(value, list):
        return "[" + ", ".join(_shown(v, levels - 1) for v in value[:40]) + "]" if levels else "[...]"
    if isinstance(value, dict):
        items = list(value.items())[:40]
        return "{" + ", ".join(f"{k}: {_shown(v, levels - 1)}" for k, v in items) + "}" if levels else "{...}"
    return repr(value)


def suggestion(word: Any, known: Iterable[str]) -> str:
    """Return a suggestion of the nearest known word, such as " (did you mean 'mass'?)"; empty if no word is similar."""
    close = closest(word, known) if isinstance(word, str) else []
    return f" (did you mean {close[0]!r}?)" if close else ""


def dotted(path: tuple) -> str:
    """Return a path in dotted notation, such as "bodies.arm.inertia"."""
    return ".".join(str(step) for step in path)


class Ref(NamedTuple):
    """Mark of a text that names another object; `Reader.check_names` reports unknown names."""

    what: str
    """Kind of object, such as "frame"."""


class Pattern(NamedTuple):
    """Mark of a text that must match a regular expression."""

    regex: str
    """Regular expression that the whole text must match."""
    must: str
    """Requirement for messages, such as "write it as 'Y|r|v'"."""


class Degrees(NamedTuple):
    """Mark of angles in radians, which a file may specify in degrees under the key with the suffix "_deg"."""


class Inline(NamedTuple):
    """Mark of an object whose keys appear among the keys of its owner, not in a separate mapping."""


class ByName(NamedTuple):
    """Mark of an object that a file may define elsewhere and reference by name."""


class Required(NamedTuple):
    """Mark of a key that is required in files, although the field has a default in Python."""


class Hidden(NamedTuple):
    """Mark of a field that does not appear in files."""


MISSING = dataclasses.MISSING
"""Default of a required key."""


class Member(NamedTuple):
    """Key of a class, with its annotation."""

    name: str
    """Name of the field, and the key in a file."""
    hint: Any
    default: Any
    """Value if the key is omitted; `MISSING` if the key is required."""
    text: str
    marks: tuple
    keys: tuple[str, ...] = ()
    """File keys of the member: its name, the key in degrees, or the keys of the inlined object."""

    def has(self, mark: type) -> bool:
        """True if the annotation has the mark."""
        return any(isinstance(m, mark) for m in self.marks)


@cache
def members(cls: Any) -> dict[str, Member]:
    """Return the fields of a dataclass, or the arguments of another class or function, keyed by name; required ones first."""
    initialised = isinstance(cls, type) and not dataclasses.is_dataclass(cls) and cls.__init__ is not object.__init__  # type: ignore[misc]
    hints = _hints(cls.__init__ if initialised else cls)
    if dataclasses.is_dataclass(cls) and isinstance(cls, type):
        texts = field_texts(cls)
        fields = [f for f in dataclasses.fields(cls) if f.init]
        given = [(f.name, f.default if f.default_factory is MISSING else f.default_factory()) for f in fields]
    else:
        docs = [inspect.cleandoc(base.__doc__ or "") for base in reversed(getattr(cls, "__mro__", (cls,)))]
        texts = dict(re.findall(r"^ {4}(\w+): (.+(?:\n {8,}.+)*)$", "\n".join(docs), re.MULTILINE))
        taken = [p for p in inspect.signature(cls).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        given = [(p.name, MISSING if p.default is p.empty else p.default) for p in taken]
    found = [_member(name, hints.get(name, Any), default, texts.get(name, "")) for name, default in given]
    shown = [m for m in found if not m.has(Hidden)]
    return {m.name: m for m in sorted(shown, key=lambda m: m.default is not MISSING)}


def _hints(thing: Any) -> dict[str, Any]:
    """Return annotations keyed by name, except custom annotations with names that are imported only for type checking."""
    try:
        return get_type_hints(thing, include_extras=True)
    except NameError:
        if thing.__module__.partition(".")[0] == "hydromechs":
            raise
    bases = reversed(getattr(thing, "__mro__", (thing,)))
    written = {name: hint for base in bases for name, hint in getattr(base, "__annotations__", {}).items()}
    return {name: hint for name, hint in written.items() if not isinstance(hint, str)}


@cache
def file_keys(cls: Any) -> dict[str, Member]:
    """Return all keys that a file may contain for a class, including keys in degrees and keys of inlined objects."""
    out: dict[str, Member] = {}
    for member in members(cls).values():
        optional = member.default is not MISSING
        if member.has(Inline):
            inner = file_keys(member.hint).items()
            out |= {key: m._replace(default=None) if optional and m.default is MISSING else m for key, m in inner}
            continue
        out[member.name] = member
        if member.has(Degrees):
            text = re.sub(r"\brad\b", "°", member.text)
            out[f"{member.name}_deg"] = member._replace(text=text, default=None)
    return out


@cache
def takes_any(cls: Any) -> bool:
    """True if a class accepts arbitrary keys, because its constructor has `**options`."""
    if dataclasses.is_dataclass(cls):
        return False
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(cls).parameters.values())


def made_by(function: Any) -> Any:
    """Return the class of the objects that a function returns, according to its annotation."""
    return get_type_hints(function).get("return")


def _member(name: str, hint: Any, default: Any, text: str) -> Member:
    bare, marks = unmarked(hint)
    kinds = {type(mark) for mark in marks}
    keys = tuple(file_keys(bare)) if Inline in kinds else (name, f"{name}_deg") if Degrees in kinds else (name,)
    return Member(name, bare, MISSING if Required in kinds else default, _clean(text), marks, keys)


def unmarked(hint: Any) -> tuple[Any, tuple]:
    """Return an annotation without marks and without None, and a tuple of the marks. Bounds remain part of the annotation."""
    found: tuple = ()
    if get_origin(hint) is Annotated and not any(isinstance(m, Bound) for m in hint.__metadata__):
        inner, marks = unmarked(hint.__origin__)
        return inner, (*marks, *hint.__metadata__)
    if get_origin(hint) is Annotated:
        found = tuple(m for m in hint.__metadata__ if not isinstance(m, Bound))
    if get_origin(hint) in (Union, UnionType):
        some = [a for a in get_args(hint) if a is not NoneType]
        if len(some) == 1:
            return unmarked(some[0])
    if get_origin(hint) is Sequence:
        return tuple[get_args(hint)[0], ...], found  # type: ignore[misc]
    return hint, found


def options(hint: Any) -> tuple:
    """Return the members of a union except None; for any other annotation, the annotation itself."""
    if get_origin(hint) in (Union, UnionType):
        return tuple(a for a in get_args(hint) if a is not NoneType)
    return (hint,)


def bounds_of(hint: Any) -> tuple[Bound, ...]:
    """Return the bounds of each permitted form of numbers (number, row, table); empty for other types."""
    out = []
    for option in options(hint):
        if option is float:
            out.append(Bound())
            continue
        found = [m for m in option.__metadata__ if isinstance(m, Bound)] if get_origin(option) is Annotated else []
        if not found:
            return ()
        out.append(found[0])
    return tuple(out)


def _clean(text: str) -> str:
    text = re.sub(r",? shape \([^)]*\)", "", " ".join(text.split()))
    return re.sub(r"; (?:None|−?inf): ([^;]*)\.$", r"; \1 if omitted.", text)


class Described:
    """Base class of stateful parts that stores constructor arguments. Objects of one class are equal if these are equal."""

    arguments: Mapping[str, Any] = MappingProxyType({})
    """Constructor arguments, keyed by name, including defaults; lists are stored as tuples."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        init = vars(cls).get("__init__")
        if init is None:
            return

        @functools.wraps(init)
        def kept(self: Any, *values: Any, **named: Any) -> None:
            if "arguments" not in vars(self):  # the most derived class, not its bases
                vars(self)["arguments"] = _bound(init, (self, *values), named)
            init(self, *values, **named)

        cls.__init__ = kept  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.arguments.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Described) and type(self) is type(other) and self.arguments == other.arguments

    def __hash__(self) -> int:
        return hash((type(self), repr(self.arguments)))


def _bound(init: Any, values: tuple, named: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        bound = inspect.signature(init).bind(*values, **named)
    except TypeError:  # the constructor raises the error
        return MappingProxyType({})
    bound.apply_defaults()
    given = dict(list(bound.arguments.items())[1:])
    for name, parameter in inspect.signature(init).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            given |= given.pop(name)
    return {name: _frozen(value) for name, value in given.items()}


def _frozen(value: Any) -> Any:
    """Return lists, arrays and mappings as tuples and new dictionaries, so that stored values cannot change."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if type(value) in (list, tuple):
        return tuple(map(_frozen, value))
    return {key: _frozen(x) for key, x in value.items()} if isinstance(value, Mapping) else value
