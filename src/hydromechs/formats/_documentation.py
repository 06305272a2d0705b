"""Tables of keys for the documentation, from the entries that read and write them."""

from __future__ import annotations

import re
from typing import Any

from . import _model_entries, _scenario_entries  # noqa: F401 the entries
from ._entries import ENTRIES, Entry

__all__ = ["documentation_table", "renewed"]

MARKED = re.compile(r"<!-- keys: ([\w, ]+) -->\n.*?<!-- end -->", re.DOTALL)
"""A table in a Markdown text, between the comments that say what it is of."""


def renewed(text: str) -> str:
    """A Markdown text with its marked tables written anew.

    Args:
        text: Tables stand between `<!-- keys: Thruster -->` and `<!-- end -->`; several names make one table.
    """
    return MARKED.sub(lambda m: f"<!-- keys: {m[1]} -->\n{documentation_table(*m[1].split(', '))}<!-- end -->", text)


def documentation_table(*kinds: str) -> str:
    """The Markdown table of the keys of an entry, or of several that are alike: key, value, default, meaning.

    Args:
        kinds: Names of entries, which are those of the classes, as "Thruster"; where the same name stands for several things in
            files, with a word before it, as "DragBox". With several names, a column says which of them have a key.
    """
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    for name in kinds:
        if name not in ENTRIES:
            raise KeyError(f"no entry {name!r}; there are {', '.join(sorted(ENTRIES))}")
        kind = ENTRIES[name]
        for row in _rows(kind):
            rows.setdefault(row, []).append(_label(kind))
    head = ["key", "of", "value", "default", "meaning"]
    others = {key: ", ".join(dict.fromkeys(of)) if len(of) < len(kinds) else "all" for key, of in rows.items()}
    lines = [[f"`{row[0]}`", of, *row[1:]] for row, of in others.items()]
    if len(kinds) == 1:
        head, lines = [head[0], *head[2:]], [[line[0], *line[2:]] for line in lines]
    return (
        "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *lines])
        .replace("| --- ", "|---")
        .replace("|--- |", "|---|")
    )


def _label(kind: type[Entry]) -> str:
    """What a file calls an entry: the word that says what it is, or the first key that it must have."""
    tag = None if kind.kind is None else kind.kind.wrap or (kind.kind.tag and kind.kind.tag[1])
    needed = [name for name, field in kind.model_fields.items() if field.is_required()]
    return f"`{tag or [*needed, *kind.model_fields][0]}`"


def _rows(kind: type[Entry]) -> list[tuple[str, str, str, str]]:
    schema = kind.model_json_schema(by_alias=True)
    out = []
    for name, field in kind.model_fields.items():
        key = field.alias or name
        value = schema["properties"][key]
        if "const" in value and key in ("shape", "type"):
            continue
        default = "required" if field.is_required() else _shown(field.default)
        meaning = (field.description or "").replace("|", "\\|")
        out.append((key, _words(value).replace("|", "\\|"), default, meaning))
    return out


def _shown(default: Any) -> str:
    """A default as a file would write it."""
    if default is None or default in ("", [], {}):
        return "–"
    if isinstance(default, list):
        return f"[{', '.join(map(_shown, default))}]"
    if isinstance(default, bool):
        return "true" if default else "false"
    return f"{default:.6g}" if isinstance(default, float) else str(default)


def _words(schema: dict[str, Any]) -> str:
    """What a value must be, in few words."""
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{x}`" for x in schema.get("enum", [schema.get("const")]))
    if "oneOf" in schema or "anyOf" in schema:
        return " or ".join(dict.fromkeys(_words(s) for s in schema.get("oneOf", schema.get("anyOf", []))))
    kind, items = schema.get("type"), schema.get("items", {})
    if kind in ("number", "integer"):
        signs = {"exclusiveMinimum": ">", "minimum": "≥", "exclusiveMaximum": "<", "maximum": "≤"}
        limits = [f"{sign} {schema[key]:g}" for key, sign in signs.items() if key in schema]
        return f"{'number' if kind == 'number' else 'whole number'} {', '.join(limits)}".strip()
    if kind == "array":
        n = schema.get("minItems") if schema.get("minItems") == schema.get("maxItems") else None
        inner = _words(items)
        if items.get("type") == "array":
            return f"{n} rows of {inner}" if n else f"rows of {inner}"
        many = inner.replace("number", "numbers", 1).replace("text", "texts", 1)
        return f"{n} {many}" if n else many if many != inner else f"list of {inner.replace('mapping', 'mappings')}"
    return {"string": "text", "boolean": "true or false", "null": "null"}.get(str(kind), "mapping")
