"""The JSON Schema states units and separates good files from bad ones."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from hydromechs.errors import ModelError
from hydromechs.formats import dumps, loads, model_json_schema
from hydromechs.model import World, joints
from hydromechs.registry import members
from hydromechs.scenario import FAMILIES

RICH = (Path(__file__).parent / "rich.yaml").read_text()

VALIDATOR = jsonschema.Draft202012Validator(model_json_schema())


def test_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(model_json_schema())
    assert model_json_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert model_json_schema()["title"] == "HydroMechs model file, version 2"


def entries() -> list[tuple[str, str, dict]]:
    whole = model_json_schema()
    tables = {"file": whole, **whole["$defs"]}
    return [(name, key, field) for name, table in tables.items() for key, field in table["properties"].items()]


def test_every_field_has_a_description_with_its_unit():
    texts = "hydromechs_model name description world sources bodies parent joint inertia hydro shapes type axes"
    no_unit = f"{texts} origin placement parts orientation points file loops flexible water holder held free joint of axis matrix roles style shape buoyancy".split()
    for name, key, field in entries():
        assert field.get("description"), f"{name}.{key}"
        assert key in no_unit or "[" in field["description"], f"{name}.{key} has no unit"


def test_every_key_of_a_part_has_a_description():
    """Inherited arguments have that of the base class."""
    parts = [(name, part) for family in FAMILIES for name, part in family.table.items()]
    found = {(name, key): member.text for name, part in parts for key, member in members(part).items()}
    assert [place for place, text in found.items() if not text] == []
    assert found["lqr_hold_pose", "bandwidth"] == found["lqr_speed", "bandwidth"]


def test_good_files_are_valid():
    validator = VALIDATOR
    for text in (RICH, dumps(loads(RICH))):
        assert list(validator.iter_errors(yaml.safe_load(text))) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("hydromechs_model: 2", "hydromechs_model: 3"),
        ("name: rich", "nam: rich"),
        ("mass: 1862.9", "mass: heavy"),
        ("com: [0, 0, 0.1]", "com: [0, 0]"),
        ("type: ball", "type: bal"),
        ("type: foil", "type: wing"),
        ("from: [0, -1, 0], to", "to"),
        ("from: [0, 0, 0.5]", "from: [0, 0, 0.5], axis: x"),
        ("joint: fixed\n", "joint: fixd\n"),
        ("alpha_deg: 90", "alpha_deg: 90, alpha: 1"),
        ("- {type: revolute, axis: [1, 0, 0]}", "- {type: fixed}"),
        ("placement: mdh", "placement: dh"),
        ('"Y|r|v"', '"Yrv"'),
        ("[0.5, 0, 0, 0, 5, 0]", "[0.5, 0, 0, 0, 5]"),
        ("limits: [0, 1]", "limits: null"),
        ("points: 5", "points: 5.5"),
        ("axes: ENU", "axes: NWU"),
    ],
)
def test_bad_files_are_not_valid_for_schema_and_reader(old, new):
    assert RICH.count(old) == 1
    text = RICH.replace(old, new)
    assert not VALIDATOR.is_valid(yaml.safe_load(text))
    with pytest.raises(ModelError):
        loads(text)


def test_defaults_and_bounds_are_those_of_the_classes():
    defs = model_json_schema()["$defs"]
    assert defs["World"]["properties"]["water_density"]["default"] == World().water_density
    assert defs["joint.free"]["properties"]["orientation"]["default"] == list(joints.Free().orientation)
    assert "default" not in defs["joint.revolute"]["properties"]["limits"]
    assert defs["Inertia"]["properties"]["mass"]["minimum"] == 0
    assert defs["drag.shape"]["properties"]["points"] | {"description": ""} == {
        "type": "integer",
        "default": 4,
        "minimum": 1,
        "maximum": 64,
        "description": "",
    }
    assert defs["solid.sphere"]["properties"]["radius"]["exclusiveMinimum"] == 0
    assert "mass" in defs["Inertia"]["required"]
