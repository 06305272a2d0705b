"""Tables of keys for the documentation, from the schemas of the files."""

from __future__ import annotations

from hydromechs import registry
from hydromechs.registry import key_table

from ._read import model_json_schema
from ._scenario_read import scenario_json_schema


def renewed(text: str) -> str:
    """Return a Markdown text with its tables written again.

    They are between `<!-- keys: Thruster -->` and `<!-- end -->`; several names make one table.
    """
    return registry.renewed(text, documentation_table)


def documentation_table(*kinds: str) -> str:
    """Return the Markdown table of the keys of a class, or of several that are alike: key, value, default, meaning.

    Args:
        kinds: Names of classes, as "Inertia"; with the family where files choose by type, as "drag.box"; "Model" for a model
            file, "Scenario" for a scenario file. With several names, a column lists which of them have a key.
    """
    model, scenario = model_json_schema(), scenario_json_schema()
    known = {"Model": model, "Scenario": scenario, **scenario["$defs"], **model["$defs"]}
    missing = [name for name in kinds if name not in known]
    if missing:
        raise KeyError(f"no class {missing[0]!r}; there are {', '.join(sorted(known))}")
    return key_table(known[name] for name in kinds)
