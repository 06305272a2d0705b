"""The examples in docs/model_file.md are models, and its programs run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hydromechs as hm
from hydromechs.formats import dumps, json_schema, loads

DOC = (Path(__file__).parents[2] / "docs" / "model_file.md").read_text(encoding="utf-8")
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
    whole = json_schema()
    keys = {key for table in (whole, *whole["$defs"].values()) for key in table["properties"]}
    assert {key for key in keys if not re.search(rf"[`{{, ]{key}\b", DOC)} == set()
    assert len(MODELS) >= 4
    assert len(PROGRAMS) == 2
