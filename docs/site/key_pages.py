"""Page of the keys of all files: every class, and every type by family, from the schemas. A new type needs no change here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from key_tables import key_table

from hydromechs.formats import model_json_schema, scenario_json_schema
from hydromechs.identification.validation import validation_json_schema
from hydromechs.sweeps import sweep_json_schema

FILES: dict[str, Callable[[], dict[str, Any]]] = {
    "Model file": model_json_schema,
    "Scenario file": scenario_json_schema,
    "Sweep file": sweep_json_schema,
    "Validation file": validation_json_schema,
}
"""Schema of each kind of file."""


def page() -> str:
    """Markdown of the page."""
    text = (
        "# Keys of all files\n\nKeys, values and defaults of every type that a file can name, by kind of file and family. "
        "`hydromechs schema` prints the same for editors.\n"
    )
    return text + "".join(f"\n## {title}\n{_tables(schema())}" for title, schema in FILES.items())


def _tables(schema: dict[str, Any]) -> str:
    """Table of the file itself, of each class, and of each type of each family."""
    families: dict[str, list[str]] = defaultdict(list)
    for name in schema["$defs"]:
        family, dot, _ = name.partition(".")
        families[family if dot else "Classes"].append(name)
    text = f"\n{key_table([schema])}"
    for family, names in families.items():
        text += f"\n### {'Classes' if family == 'Classes' else f'Types of {family}'}\n"
        for name in names:
            found = schema["$defs"][name]
            text += f"\n#### {name}\n\n{found.get('description', '')}\n\n{key_table([found])}"
    return text
