"""Families: tables from the names in files to classes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from ._members import Member, file_keys, made_by, members, options


class Holder(NamedTuple):
    """Class with a field that contains a family member; in files, one mapping contains the keys of both."""

    owner: Any
    field: str
    base: Any
    functions: bool = False
    """True if it also accepts functions that a file names."""

    def keys(self, own: Mapping[str, Member]) -> dict[str, Member]:
        """Return the keys of the holder without those of the member, `own`, which take precedence."""
        return {key: member for key, member in file_keys(self.owner).items() if key not in own and key != self.field}


class Shorthand(NamedTuple):
    """File keys that are shorthand for others."""

    keys: Mapping[str, Mapping[str, Member]] = MappingProxyType({})
    expand: Callable[[str, dict[str, Any]], dict[str, Any]] = lambda word, values: values
    """Function that expands short keys; its arguments are the type and the values of the short keys."""
    instead: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    """Short keys that replace a required key, by type."""
    shorten: Callable[[Any], tuple[str, dict[str, Any], tuple[str, ...]] | None] = lambda thing: None
    """Function that returns the type of a member, its short keys, and the fields that they replace; None if it has none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Family:
    """Classes between which a file chooses by `type`."""

    name: str
    """Name of the family, such as "joint"."""
    base: Any
    """Annotation of the fields that hold a member: a base class, or a union of classes."""
    table: Mapping[str, Any]
    """Class, or function that creates a member, by its name in files."""
    default: str = ""
    """Type if a file omits it; empty if it is required."""
    open_to_users: bool = False
    """True if a file may name a class by its import path or by an entry point of an installed package."""
    note: str = ""
    """Text that messages add to the list of types."""
    presets: Mapping[str, tuple[Any, Mapping[str, Any]]] = field(default_factory=dict)
    """Class and values of predefined members, which a file selects by `device` instead of `type`."""
    type_field: str = ""
    """Field of the members that holds the type, if one class has several."""
    known: tuple[str, ...] = ()
    """Fields that follow from the place of a member in a file, such as `joint`."""
    by_name: bool = False
    """True if several members form a mapping from name to object although some derive their names from other fields."""
    holder: Holder | None = None
    """Class that holds members that do not derive from the base, as a block holds a controller; None if there are none."""
    shorthand: Shorthand = field(default_factory=lambda: Shorthand())
    """File keys that are shorthand for others."""

    @property
    def must(self) -> str:
        """Permitted types, for messages."""
        custom = ", or 'file.py:Name' for a custom type" if self.open_to_users else ""
        return f"must be one of {', '.join(self.table)}{custom}{self.note}"

    @property
    def bases(self) -> tuple:
        """Classes from which a custom class must derive."""
        return (*options(self.base), *(() if self.holder is None else (self.holder.base,)))

    def holds(self, cls: Any) -> bool:
        """True if members of a class or function are wrapped in the holder."""
        if self.holder is None:
            return False
        if not isinstance(cls, type) and cls not in self.table.values():
            return self.holder.functions
        return not issubclass(cls if isinstance(cls, type) else made_by(cls), options(self.base))

    @property
    def named_by_text(self) -> bool:
        """True if a text in place of the object names an existing one."""
        return str in self.bases

    def key_of(self, cls: type) -> str:
        """Return the name of a class in files; empty if it is not in the table."""
        made = (key for key, known in self.table.items() if not isinstance(known, type) and made_by(known) is cls)
        return next((key for key, known in self.table.items() if known is cls), next(made, ""))

    def keys_of(self, word: str) -> dict[str, Member]:
        """Return the keys that a file may have for a type, except `type` and short keys."""
        own = file_keys(self.table[word])
        return {**own, **self.holder.keys(own)} if self.holder is not None and self.holds(self.table[word]) else own

    @property
    def named(self) -> bool:
        """True if every member is named, so that several form a mapping from name to object."""
        holder = self.holder
        return self.by_name or all(
            "name" in members(holder.owner if holder is not None and self.holds(cls) else cls) for cls in self.table.values()
        )


class Families:
    """The families of a kind of file, found by annotation."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._by_base = {frozenset(options(family.base)): family for family in families}

    def __iter__(self) -> Iterator[Family]:
        return iter(self._by_base.values())

    def of(self, hint: Any) -> Family | None:
        """Return the family of an annotation without marks; None if there is none."""
        try:
            return self._by_base.get(frozenset(options(hint)))
        except TypeError:  # an unhashable annotation
            return None

    def named(self, hint: Any) -> bool:
        """True if objects with this annotation have names, so that several form a mapping."""
        family, cls = self.of(hint), hint
        return family.named if family is not None else is_dataclass(hint) and "name" in members(cls)
