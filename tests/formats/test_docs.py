"""The examples in docs/model_file.md are models, its programs run, and the tables of keys are those of the entries."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from docs.key_tables import documentation_table, key_table, renewed

import hydromechs as hm
from hydromechs.formats import dumps, loads, model_json_schema, scenario_json_schema
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
PROGRAMS = [text for kind, _, text in BLOCKS if kind == "python"]


@pytest.mark.parametrize("text", MODELS)
def test_model(text):
    model = loads(text)
    assert loads(dumps(model)) == model


@pytest.mark.parametrize("text", PROGRAMS)
@pytest.mark.skipif(not hasattr(hm, "load"), reason="hm.load is not there yet")
def test_program(text):
    exec(compile(text, "docs/model_file.md", "exec"), {"__name__": "docs"})


def test_every_key_of_the_schema_is_explained():
    whole = model_json_schema()
    keys = {key for table in (whole, *whole["$defs"].values()) for key in table["properties"]}
    assert {key for key in keys if not re.search(rf"[`{{, ]{key}\b", DOC)} == set()
    assert len(MODELS) >= 4
    assert len(PROGRAMS) == 2


FILES = ("model_file.md", "scenario_file.md")


@pytest.mark.parametrize("name", FILES)
def test_tables_are_those_of_the_entries(name):
    """To renew, write `docs.key_tables.renewed(text)` into the file."""
    text = (DOCS / name).read_text(encoding="utf-8")
    assert renewed(text) == text
    assert text.count("<!-- keys: ") == text.count("<!-- end -->") > 8


def test_the_page_of_all_keys_has_every_type():
    """The site makes it from the schemas. Pages beside it explain types in their context."""
    page = key_pages.page()
    for title, schema in key_pages.FILES.items():
        part = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
        assert re.findall(r"^#### ([\w.]+)$", part, re.MULTILINE) == sorted(schema()["$defs"])
        for name, found in schema()["$defs"].items():
            assert found["description"] in part and key_table([found]) in part, name


def test_tables_of_pages_are_of_types_that_exist():
    """Every table of a page; together they have all classes that several types share."""
    text = "".join((DOCS / name).read_text(encoding="utf-8") for name in FILES)
    shown = {word for names in re.findall(r"<!-- keys: ([\w., ]+) -->", text) for word in names.split(", ")}
    defined = {*model_json_schema()["$defs"], *scenario_json_schema()["$defs"], "Model", "Scenario"}
    assert shown <= defined
    assert {name for name in defined - shown if "." not in name} == {"Frame", "Phase"}  # explained in sentences


def test_words_of_rows_and_of_kinds():
    """A list of pairs of texts, and a key that only one of two kinds has."""
    assert "| `bodies` | list |" in documentation_table("ContactKeys")
    assert "| `bodies` | 2 texts |" in documentation_table("component.body_contact")
    motions = documentation_table("motion.sine", "motion.recorded")
    assert "| `pieces` | `recorded` | rows of 5 numbers | required |" in motions
    assert "| `period` | `sine` | number > 0 | required |" in motions


def test_controllers_that_a_page_names_exist():
    page = (DOCS / "scenario_file.md").read_text(encoding="utf-8")
    (names,) = re.findall(r"`type` is a \[controller of the library\]\(controllers.md\) \((.*?)\)", page, flags=re.DOTALL)
    assert set(re.findall(r"`(\w+)`", names)) <= set(CONTROLLERS)


def test_a_new_class_gets_its_table():
    """Key, value, default and meaning are those of the dataclass."""
    assert documentation_table("Gusts").splitlines() == [
        "| key | value | default | meaning |",
        "|---|---|---|---|",
        "| `sigma` | 3 numbers ≥ 0 | required | Standard deviation along each world axis [m/s]. |",
        "| `time_constant` | number > 0 | required | Time in which the correlation falls to 1/e [s]. |",
        "| `interval` | number > 0 | required | Time between samples, an integer multiple of the step [s]; samples have the exact "
        "correlation for any interval. |",
    ]
    with pytest.raises(KeyError, match="no class 'Gust'"):
        documentation_table("Gust")
