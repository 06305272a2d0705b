"""Tables of the keys of files in the documentation, from the JSON Schema of their classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def key_table(schemas: Iterable[dict[str, Any]]) -> str:
    """The Markdown table of the keys of a class, or of several that are alike: key, value, default, meaning.

    With several schemas, a column lists which of them have a key.
    """
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    schemas = list(schemas)
    for schema in schemas:
        for row in _rows(schema):
            rows.setdefault(row, []).append(_label(schema))
    head = ["key", "of", "value", "default", "meaning"]
    others = {key: ", ".join(dict.fromkeys(of)) if len(of) < len(schemas) else "all" for key, of in rows.items()}
    lines = [[f"`{row[0]}`", of, *row[1:]] for row, of in others.items()]
    if len(schemas) == 1:
        head, lines = [head[0], *head[2:]], [[line[0], *line[2:]] for line in lines]
    return (
        "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *lines])
        .replace("| --- ", "|---")
        .replace("|--- |", "|---|")
    )


def _label(schema: dict[str, Any]) -> str:
    """What a file calls a class: its type, or the first key that it must have."""
    tag = schema.get("x-label") or schema["properties"].get("type", {}).get("const")
    return f"`{tag or [*schema.get('required', ()), *schema['properties']][0]}`"


def _rows(schema: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    out = []
    for key, value in schema["properties"].items():
        if "const" in value and key in ("shape", "type"):
            continue
        default = "required" if key in schema.get("required", ()) else _shown(value.get("default"))
        out.append((key, _words(value).replace("|", "\\|"), default, value.get("description", "").replace("|", "\\|")))
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
    """Allowed values in few words."""
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{x}`" for x in schema.get("enum", [schema.get("const")]))
    choices = schema.get("oneOf", schema.get("anyOf", []))
    if choices:
        return " or ".join(dict.fromkeys(_words(s) for s in choices if "x-short" not in s))
    kind, items = schema.get("type"), schema.get("items") or [*schema.get("prefixItems", ()), {}][0]
    if kind in ("number", "integer"):
        signs = {"exclusiveMinimum": ">", "minimum": "≥", "exclusiveMaximum": "<", "maximum": "≤"}
        limits = [f"{sign} {schema[key]:g}" for key, sign in signs.items() if key in schema]
        return f"{'number' if kind == 'number' else 'integer'} {', '.join(limits)}".strip()
    if kind == "array":
        n = schema.get("minItems") if schema.get("minItems") == schema.get("maxItems") else None
        if not items:
            return "list"
        inner = _words(items)
        if items.get("type") == "array":
            return f"{n} rows of {inner}" if n else f"rows of {inner}"
        many = inner.replace("number", "numbers", 1).replace("text", "texts", 1)
        return f"{n} {many}" if n else many if many != inner else f"list of {inner.replace('mapping', 'mappings')}"
    return {"string": "text", "boolean": "true or false", "null": "null"}.get(str(kind), "mapping")
