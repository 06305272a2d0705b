"""Marks in field annotations, such as `Annotated[str, Ref("frame")]`: how files represent a field if its type is not enough."""

from __future__ import annotations

from typing import NamedTuple


class Ref(NamedTuple):
    """The text is the name of another object; `Reader.check_names` reports names that do not exist."""

    what: str
    """Kind of object, such as "frame"."""


class Pattern(NamedTuple):
    """The text must match a regular expression."""

    regex: str
    """Regular expression that the whole text must match."""
    must: str
    """Form of the text, as an imperative: "write it as 'Y|r|v'"."""


class Degrees(NamedTuple):
    """Angles in radians; a file may give them in degrees under the key with the suffix "_deg"."""


class Inline(NamedTuple):
    """The keys of the object appear among those of its owner, not in a separate mapping."""


class ByName(NamedTuple):
    """The object may be given by its name elsewhere in the file."""


class Required(NamedTuple):
    """The key is required in files, although the field has a default in Python."""


class Hidden(NamedTuple):
    """The field does not appear in files."""
