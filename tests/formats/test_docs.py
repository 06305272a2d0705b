"""The examples in docs/model_file.md are models, and the page of all keys has every type."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from docs.key_tables import key_table

from hydromechs.formats import dumps, loads, scenario_json_schema
from hydromechs.scenario import CONTROLLERS

DOCS = Path(__file__).parents[2] / "docs"
OWN = [str(DOCS / "site"), str(DOCS)]
sys.path[:0] = OWN
try:
    import key_pages
finally:
    del sys.path[: len(OWN)]
DOC = (DOCS / "model_file.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\S+)( fragment)?\n(.*?)^```$", DOC, re.MULTILINE | re.DOTALL)
MODELS = [text for kind, fragment, text in BLOCKS if kind == "yaml" and not fragment]


@pytest.mark.parametrize("text", MODELS)
def test_model(text):
    model = loads(text)
    assert loads(dumps(model)) == model


def test_the_page_of_all_keys_has_every_type():
    """The site generates it from the schemas."""
    page = key_pages.page()
    for title, schema in key_pages.FILES.items():
        part = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
        assert re.findall(r"^#### ([\w.]+)$", part, re.MULTILINE) == sorted(schema()["$defs"])
        for name, found in schema()["$defs"].items():
            assert found["description"] in part and key_table([found]) in part, name


def table(*kinds: str) -> str:
    """Return the table of the keys of a class of scenario files, or of several that are alike."""
    return key_table(scenario_json_schema()["$defs"][kind] for kind in kinds)


def test_words_of_rows_and_of_kinds():
    """A list of pairs of texts, and a key that only one of two kinds has."""
    assert "| `bodies` | list |" in table("ContactKeys")
    assert "| `bodies` | 2 texts |" in table("component.body_contact")
    motions = table("motion.sine", "motion.recorded")
    assert "| `pieces` | `recorded` | rows of 5 numbers | required |" in motions
    assert "| `period` | `sine` | number > 0 | required |" in motions


def test_the_page_of_controllers_has_all_of_them():
    """Each has a row in the first table."""
    page = (DOCS / "controllers.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)`, `[A-Z]\w+` \|", page, re.MULTILINE)) == set(CONTROLLERS)


def test_a_new_class_gets_its_table():
    """Key, value, default and meaning are those of the dataclass."""
    assert table("Gusts").splitlines() == [
        "| key | value | default | meaning |",
        "|---|---|---|---|",
        "| `sigma` | 3 numbers ≥ 0 | required | Standard deviation along each world axis [m/s]. |",
        "| `time_constant` | number > 0 | required | Time after which the correlation has decreased to 1/e [s]. |",
        "| `interval` | number > 0 | required | Interval between samples, an integer multiple of the step [s]; the correlation of "
        "samples is exact for any interval. |",
    ]
