"""The examples in docs/model_file.md are models, its programs run, and the tables of keys are those of the entries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.key_tables import documentation_table, renewed

import hydromechs as hm
from hydromechs.formats import dumps, loads, model_json_schema, scenario_json_schema
from hydromechs.scenario import CONTROLLERS

DOCS = Path(__file__).parents[2] / "docs"
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


def test_every_entry_has_its_table():
    """But controllers, which have their own pages, and parts that are shorthand elsewhere."""
    text = "".join((DOCS / name).read_text(encoding="utf-8") for name in FILES)
    told = {word for names in re.findall(r"<!-- keys: ([\w., ]+) -->", text) for word in names.split(", ")}
    elsewhere = (
        "block.",
        "gait.",
        "support_gait.",
        "task.",
        "component.",
        "engine.",
        "scheme.",
        "integrator.",
        "profile.uniform",
    )
    others = {name for name in scenario_json_schema()["$defs"] if not name.startswith(elsewhere)} - told
    assert others == {"Origin", "Phase", "friction.none", "stops.none", "surface.free"} - told
    defined = {name for name in model_json_schema()["$defs"] if not name.startswith("solid.")}  # keys of "shape."
    assert defined - told == {"Frame", "placement.origin"}  # an origin has the same keys


def test_words_of_rows_and_of_kinds():
    """A list of pairs of texts, and a key that only one of two kinds has."""
    assert "| `bodies` | list |" in documentation_table("ContactKeys")
    assert "| `bodies` | 2 texts |" in documentation_table("component.body_contact")
    motions = documentation_table("motion.sine", "motion.recorded")
    assert "| `pieces` | `recorded` | rows of 5 numbers | required |" in motions
    assert "| `period` | `sine` | number > 0 | required |" in motions


def test_every_controller_of_the_library_is_named():
    page = (DOCS / "scenario_file.md").read_text(encoding="utf-8")
    (names,) = re.findall(r"`type` is a \[controller of the library\]\(controllers.md\) \((.*?)\)", page, flags=re.DOTALL)
    assert re.findall(r"`(\w+)`", names) == list(CONTROLLERS)


def test_a_new_class_gets_its_table():
    """Key, value, default and meaning are those of the dataclass."""
    assert documentation_table("Gusts").splitlines() == [
        "| key | value | default | meaning |",
        "|---|---|---|---|",
        "| `sigma` | 3 numbers ≥ 0 | required | Standard deviation along each world axis [m/s]. |",
        "| `time_constant` | number > 0 | required | Time in which the correlation falls to 1/e [s]. |",
        "| `interval` | number > 0 | required | Time between samples, a whole number of steps [s]; the samples have the exact "
        "correlation, whatever it is. |",
    ]
    with pytest.raises(KeyError, match="no class 'Gust'"):
        documentation_table("Gust")
