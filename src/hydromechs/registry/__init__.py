"""One description per class: its dataclass fields. They define how files are read, written, specified and documented.

A `Family` maps names in files to classes. `Reader`, `Writer` and `json_schema` walk over the annotations of the
fields; no class has a separate entry. Marks in an annotation specify what a type cannot express: `Ref`, `Pattern`,
`Degrees`, `Inline`, `Required`, `Hidden`.
"""

from ._code import installed_parts, is_ours, loaded_files, module_kept, reference_to
from ._family import Families, Family, Holder, Shorthand
from ._members import (
    MISSING,
    ByName,
    Degrees,
    Described,
    Hidden,
    Inline,
    Member,
    Pattern,
    Ref,
    Required,
    dotted,
    members,
    options,
    show,
    suggestion,
)
from ._paths import (
    SECTIONS,
    Item,
    Keys,
    NumberAt,
    View,
    edited,
    edits_of,
    follow,
    is_factor,
    located,
    part,
    paths,
    replaced,
    replaced_all,
    scaled,
    value,
)
from ._reader import BROKEN, Reader
from ._schema import json_schema
from ._writer import Writer

__all__ = [
    "BROKEN",
    "MISSING",
    "SECTIONS",
    "ByName",
    "Degrees",
    "Described",
    "Families",
    "Family",
    "Hidden",
    "Holder",
    "Inline",
    "Item",
    "Keys",
    "Member",
    "NumberAt",
    "Pattern",
    "Reader",
    "Ref",
    "Required",
    "Shorthand",
    "View",
    "Writer",
    "dotted",
    "edited",
    "edits_of",
    "follow",
    "installed_parts",
    "is_factor",
    "is_ours",
    "json_schema",
    "loaded_files",
    "located",
    "members",
    "module_kept",
    "options",
    "part",
    "paths",
    "reference_to",
    "replaced",
    "replaced_all",
    "scaled",
    "show",
    "suggestion",
    "value",
]
