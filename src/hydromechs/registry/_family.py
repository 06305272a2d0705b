"""Families: tables from the names in files to classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any

from ._members import Member, file_keys, made_by, members, options

__all__ = ["Families", "Family"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Family:
    """Classes between which a file chooses by `type`."""

    name: str
    """Name of the family, as "joint"."""
    base: Any
    """Annotation of the fields that hold a member: a base class, or a union of classes."""
    table: Mapping[str, Any]
    """Class by the name that a file has for it, or a function that makes a member."""
    default: str = ""
    """Type if a file has none; empty if it must have one."""
    open_to_users: bool = False
    """True if a file may name a class by its import path or by an entry point of an installed package."""
    note: str = ""
    """What a message adds to the list of types."""
    presets: Mapping[str, tuple[Any, Mapping[str, Any]]] = field(default_factory=dict)
    """Class and values of ready members, which a file names by `device` instead of `type`."""
    type_field: str = ""
    """Field of the members that holds the type, if one class has several."""
    known: tuple[str, ...] = ()
    """Fields that follow from where a member is in a file, as `joint`."""
    by_name: bool = False
    """True if several make a mapping from name to object although some members derive their names from other fields."""
    holder: Any = None
    """Class that holds members which are not of the base, as a block holds a controller; the keys of both appear together."""
    held: tuple[str, Any] = ("", None)
    """Field in which it holds them, and their base class."""
    short: Callable[[Any], tuple[str, dict[str, Any]] | None] = lambda thing: None
    """Returns type and keys of a member that a function of the table makes; None if there is none."""
    chosen: str = ""
    """Field of the base whose class the type chooses, and whose keys are among those of the base; empty if the type chooses the
    class of the object itself."""
    short_keys: Mapping[str, Mapping[str, Member]] = field(default_factory=dict)
    """Keys that stand for others, by type, see `expand`."""
    expand: Callable[[str, dict[str, Any]], dict[str, Any]] = lambda word, values: values
    """Returns the keys that short keys stand for: arguments are the type and the values of the short keys."""
    instead: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """Short keys in place of a key that a file must have otherwise, by type."""

    @property
    def must(self) -> str:
        """Types that are allowed, for messages."""
        custom = ", or 'file.py:Name' for a custom type" if self.open_to_users else ""
        return f"must be one of {', '.join(self.table)}{custom}{self.note}"

    @property
    def bases(self) -> tuple:
        """Classes of which a custom class must be derived."""
        return options(self.base) if self.holder is None else (*options(self.base), self.held[1])

    def holds(self, cls: Any) -> bool:
        """True if members of a class are put into a holder.

        Args:
            cls: The class, or a function.
        """
        return self.holder is not None and not (isinstance(cls, type) and issubclass(cls, options(self.base)))

    @property
    def owner(self) -> Any:
        """Class of the object that holds the one whose class the type chooses."""
        return self.bases[-1]

    @property
    def named_by_text(self) -> bool:
        """True if a text in place of the object is the name of one that exists elsewhere."""
        return str in self.bases

    def key_of(self, cls: type) -> str:
        """Return the name that files have for a class; empty if it is not in the table.

        Args:
            cls: The class.
        """
        made = (key for key, known in self.table.items() if not isinstance(known, type) and made_by(known) is cls)
        return next((key for key, known in self.table.items() if known is cls), next(made, ""))

    def keys_of(self, word: str) -> dict[str, Member]:
        """Return the keys that a file may have for a type but `type` itself, without short ones.

        Args:
            word: The type.
        """
        if not self.chosen:
            return file_keys(self.table[word])
        own = {key: member for key, member in file_keys(self.owner).items() if key != self.chosen}
        return {**file_keys(self.table[word]), **own}

    @property
    def named(self) -> bool:
        """True if every member has a name, so that several of them make a mapping from name to object."""
        classes = [self.owner] if self.chosen else self.table.values()
        return self.by_name or all("name" in members(cls) for cls in classes)


class Families:
    """The families of a kind of file, found by annotation.

    Args:
        families: The families.
    """

    def __init__(self, families: Iterable[Family]) -> None:
        self._by_base = {frozenset(options(family.base)): family for family in families}

    def __iter__(self) -> Iterator[Family]:
        return iter(self._by_base.values())

    def of(self, hint: Any) -> Family | None:
        """Return the family of an annotation; None if it is not one of a family.

        Args:
            hint: The annotation, without marks.
        """
        try:
            return self._by_base.get(frozenset(options(hint)))
        except TypeError:  # an annotation that has no hash
            return None

    def named(self, hint: Any) -> bool:
        """True if objects of an annotation have names, so that several make a mapping.

        Args:
            hint: The annotation of one object.
        """
        family, cls = self.of(hint), hint
        return family.named if family is not None else is_dataclass(hint) and "name" in members(cls)
