"""Tables of keys for the documentation, from the schemas of the files."""

from __future__ import annotations

import re
from typing import Any

from hydromechs.registry import key_table

from . import _scenario_entries  # noqa: F401 the entries
from ._entries import ENTRIES
from ._read import model_json_schema

MARKED = re.compile(r"<!-- keys: ([\w., ]+) -->\n.*?<!-- end -->", re.DOTALL)
"""A table in a Markdown text, between the comments that name its classes."""


def renewed(text: str) -> str:
    """Return a Markdown text with its tables written again.

    They are between `<!-- keys: Thruster -->` and `<!-- end -->`; several names make one table.
    """
    return MARKED.sub(lambda m: f"<!-- keys: {m[1]} -->\n{documentation_table(*m[1].split(', '))}<!-- end -->", text)


def documentation_table(*kinds: str) -> str:
    """Return the Markdown table of the keys of a class, or of several that are alike: key, value, default, meaning.

    Args:
        kinds: Names of classes, as "Inertia"; with the family where files choose by type, as "drag.box"; "Model" for a model
            file. With several names, a column lists which of them have a key.
    """
    model = model_json_schema()
    known = {"Model": model, **model["$defs"]}
    missing = [name for name in kinds if name not in known and name not in ENTRIES]
    if missing:
        raise KeyError(f"no class {missing[0]!r}; there are {', '.join(sorted([*known, *ENTRIES]))}")
    return key_table(known[name] if name in known else _entry_schema(name) for name in kinds)


def _entry_schema(name: str) -> dict[str, Any]:
    kind = ENTRIES[name].kind
    label = None if kind is None else kind.wrap or (kind.tag and kind.tag[1])
    return {**ENTRIES[name].model_json_schema(by_alias=True), "x-label": label}
