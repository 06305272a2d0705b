"""Families: tables that map type names in files to classes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from ._members import Member, file_keys, made_by, members, options


class Holder(NamedTuple):
    """Class with a field for a family member; in files, one mapping contains the keys of both."""

    owner: Any
    field: str
    base: Any
    functions: bool = False
    """True if files may also name functions."""

    def keys(self, own: Mapping[str, Member]) -> dict[str, Member]:
        """Return the keys of the holder, except the keys `own` of the member, which take precedence."""
        return {key: member for key, member in file_keys(self.owner).items() if key not in own and key != self.field}


class Shorthand(NamedTuple):
    """Short file keys that expand to other keys."""

    keys: Mapping[str, Mapping[str, Member]] = MappingProxyType({})
    expand: Callable[[str, dict[str, Any]], dict[str, Any]] = lambda word, values: values
    """Function of the type and the values of the short keys that returns the expanded values."""
    instead: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    """Short keys that replace a required key, keyed by type."""
    shorten: Callable[[Any], tuple[str, dict[str, Any], tuple[str, ...]] | None] = lambda thing: None
    """Function that returns the type of a member, its short keys, and the fields that these replace; None without short
    keys.
    """


@dataclass(frozen=True, kw_only=True, eq=False)
class Family:
    """Set of classes from which a file selects one by `type`."""

    name: str
    """Name of the family, such as "joint"."""
    base: Any
    """Annotation of the fields that contain a member: a base class, or a union of classes."""
    table: Mapping[str, Any]
    """Classes, or functions that create members, keyed by type name in files."""
    default: str = ""
    """Default type if a file omits `type`; empty if `type` is required."""
    open_to_users: bool = False
    """True if a file may name a class by its import path or by an entry point of an installed package."""
    note: str = ""
    """Text that messages append to the list of types."""
    presets: Mapping[str, tuple[Any, Mapping[str, Any]]] = field(default_factory=dict)
    """Class and field values of predefined members, keyed by `device`, which files give instead of `type`."""
    type_field: str = ""
    """Field that contains the type, if one class implements several types."""
    known: tuple[str, ...] = ()
    """Fields determined by the location of a member in a file, such as `joint`."""
    by_name: bool = False
    """True if files list members in a mapping keyed by name, although some members derive their names from other fields."""
    holder: Holder | None = None
    """Class that wraps members not derived from the base, as a block wraps a controller; None if there are no such members.
    """
    shorthand: Shorthand = field(default_factory=lambda: Shorthand())
    """Short file keys that expand to other keys."""

    @property
    def must(self) -> str:
        """Permitted types, as text for messages."""
        custom = ", or 'file.py:Name' for a custom type" if self.open_to_users else ""
        return f"must be one of {', '.join(self.table)}{custom}{self.note}"

    @property
    def bases(self) -> tuple:
        """Classes from which a custom class must derive."""
        return (*options(self.base), *(() if self.holder is None else (self.holder.base,)))

    def holds(self, cls: Any) -> bool:
        """True if the holder wraps the objects of a class or function."""
        if self.holder is None:
            return False
        if not isinstance(cls, type) and cls not in self.table.values():
            return self.holder.functions
        return not issubclass(cls if isinstance(cls, type) else made_by(cls), options(self.base))

    @property
    def named_by_text(self) -> bool:
        """True if a text instead of an object names an existing object."""
        return str in self.bases

    def key_of(self, cls: type) -> str:
        """Return the type name of a class in files; empty if the table does not contain the class."""
        made = (key for key, known in self.table.items() if not isinstance(known, type) and made_by(known) is cls)
        return next((key for key, known in self.table.items() if known is cls), next(made, ""))

    def keys_of(self, word: str) -> dict[str, Member]:
        """Return the file keys of a type, except `type` and short keys."""
        own = file_keys(self.table[word])
        return {**own, **self.holder.keys(own)} if self.holder is not None and self.holds(self.table[word]) else own

    @property
    def named(self) -> bool:
        """True if every member is named, so that files list members in a mapping keyed by name."""
        holder = self.holder
        return self.by_name or all(
            "name" in members(holder.owner if holder is not None and self.holds(cls) else cls) for cls in self.table.values()
        )


class Families:
    """Families of one kind of file, selected by annotation."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._by_base = {frozenset(options(family.base)): family for family in families}

    def __iter__(self) -> Iterator[Family]:
        return iter(self._by_base.values())

    def of(self, hint: Any) -> Family | None:
        """Return the family of an annotation without marks, or None."""
        try:
            return self._by_base.get(frozenset(options(hint)))
        except TypeError:  # an unhashable annotation
            return None

    def named(self, hint: Any) -> bool:
        """True if objects with this annotation have names, so that files list them in a mapping keyed by name."""
        family, cls = self.of(hint), hint
        return family.named if family is not None else is_dataclass(hint) and "name" in members(cls)
