"""Marks in the annotation of a field, as `Annotated[str, Ref("frame")]`: how a file writes it where its type does not tell."""

from __future__ import annotations

from typing import NamedTuple


class Ref(NamedTuple):
    """The text is the name of something else; `Reader.check_names` reports names that do not exist."""

    what: str
    """Kind of thing, as "frame"."""


class Pattern(NamedTuple):
    """The text must match a regular expression."""

    regex: str
    """The expression, for the whole text."""
    must: str
    """Form of the text, as an imperative: "write it as 'Y|r|v'"."""


class Degrees(NamedTuple):
    """Angles in radians; a file may write them in degrees under the key with "_deg" at its end."""


class Inline(NamedTuple):
    """The keys of the object appear among those of its owner, not in a mapping of their own."""


class ByName(NamedTuple):
    """The object may be given by the name that it has elsewhere in the file."""


class Required(NamedTuple):
    """A file must have the key, although the field has a default in Python."""


class Hidden(NamedTuple):
    """The field is not in files."""
