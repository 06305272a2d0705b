"""One description per class: its dataclass fields. Files are read, written, specified and documented from them.

A `Family` maps names in files to classes. `Reader`, `Writer`, `json_schema` and `key_table` walk over the annotations of the
fields; no class has an entry of its own. Marks in an annotation say what a type cannot: `Ref`, `Pattern`, `Degrees`, `Inline`,
`Required`, `Hidden`.
"""

from ._code import installed_parts, is_ours, loaded_files, module_kept, reference_to
from ._described import Described
from ._family import Families, Family
from ._marks import ByName, Degrees, Hidden, Inline, Pattern, Ref, Required
from ._members import MISSING, Member, members
from ._reader import BROKEN, Reader
from ._schema import json_schema
from ._tables import key_table, renewed
from ._text import dotted, show, suggestion
from ._writer import Writer

__all__ = [
    "BROKEN",
    "MISSING",
    "ByName",
    "Degrees",
    "Described",
    "Families",
    "Family",
    "Hidden",
    "Inline",
    "Member",
    "Pattern",
    "Reader",
    "Ref",
    "Required",
    "Writer",
    "dotted",
    "installed_parts",
    "is_ours",
    "json_schema",
    "key_table",
    "loaded_files",
    "members",
    "module_kept",
    "reference_to",
    "renewed",
    "show",
    "suggestion",
]
