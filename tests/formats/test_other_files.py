"""Files that are something else, names that promise something else, and very large files."""

from __future__ import annotations

import gc
import warnings

import pytest

import hydromechs as hm
from hydromechs.errors import ModelError, ScenarioError, UnsupportedFeature
from hydromechs.formats import dumps, is_scenario_file, load_file, load_scenario_file, loads
from hydromechs.model import tree_faults


@pytest.mark.parametrize("name", ["x.json", "model.stl"])
def test_names_that_promise_another_format_are_rejected(tmp_path, name):
    model = hm.load("sinking_chain")
    with pytest.raises(UnsupportedFeature, match=rf"{name}' ends in '\.\w+', but a model is written as YAML; .* '\.yaml'"):
        hm.save(model, tmp_path / name)
    with pytest.raises(UnsupportedFeature, match="a scenario is written as YAML"):
        hm.save_scenario(hm.load_scenario("sinking_chain"), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x.yaml", "x.YML", "x"])
def test_names_of_yaml_files_are_taken(tmp_path, name):
    hm.save(hm.load("sinking_chain"), tmp_path / name)
    assert load_file(tmp_path / name) == hm.load("sinking_chain")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('<?xml version="1.0"?>\n<!-- <sdf> -->\n<robot name="r">\n  <link name="a"/>\n</robot>\n', "a URDF file"),
        ('<sdf version="1.9"><model name="m"/></sdf>', "an SDF file"),
        ("<mujoco>\n  <worldbody/>\n</mujoco>\n", r"an MJCF file \(MuJoCo\)"),
        ("<thing/>", "an XML file"),
        ("solid hull\n  facet normal 0 0 1\n", r"a mesh \(STL\)"),
    ],
)
def test_other_formats_are_named(tmp_path, text, what):
    path = tmp_path / "file.yaml"
    path.write_text(text)
    with pytest.raises(
        ModelError, match=rf"file\.yaml.*\n.*line 1: this is {what}, not a HydroMechs model file.* 'hydromechs_model: 2'"
    ):
        hm.load(path)
    with pytest.raises(ScenarioError, match=rf"this is {what}, not a HydroMechs scenario file.* 'hydromechs_scenario: 2'"):
        load_scenario_file(path)


def test_the_old_key_with_the_new_version_is_named(tmp_path):
    path = tmp_path / "old.yaml"
    path.write_text("hydromechs: 2\nname: x\n")
    with pytest.raises(ModelError, match=r"line 1: .*'hydromechs'.*write hydromechs_model: 2"):
        hm.load(path)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("name: Tümmler".encode("latin-1"), "line 1: a byte is not UTF-8; save the file as UTF-8"),
        ("hydromechs_scenario: 2\nname: Tümmler".encode("latin-1"), "line 2: byte 0xfc is not UTF-8; save the file as UTF-8"),
        ("name: x".encode("utf-16"), "the file is UTF-16; save it as UTF-8"),
        (b"\x89PNG\r\n\0\0\xff", "this is not a text file"),
    ],
)
def test_bytes_that_are_not_utf_8_are_reported_with_the_file_and_the_remedy(tmp_path, raw, words):
    path = tmp_path / "odd.yaml"
    path.write_bytes(raw)
    assert is_scenario_file(path) == (b"scenario" in raw)
    for load in (hm.load, load_scenario_file):
        with pytest.raises((ModelError, ScenarioError)) as error:
            load(path)
        assert str(path) in str(error.value)
        assert words in str(error.value)


def test_what_a_file_reports_that_it_is(tmp_path):
    for text, answer in (
        ("hydromechs_scenario: 2\n", True),
        ("# x\n'hydromechs_scenario': 1", True),
        ("hydromechs_model: 2", False),
    ):
        (tmp_path / "f.yaml").write_text(text)
        assert is_scenario_file(tmp_path / "f.yaml") is answer
    assert not is_scenario_file(tmp_path)
    assert not is_scenario_file("a\0b")


def bodies(n: int, parent: str = "b{}") -> str:
    """A file with a tree of n bodies."""
    line = "  b{}: {{parent: {}, joint: revolute, inertia: {{mass: 1, tensor: [1, 1, 1, 0, 0, 0]}}}}\n"
    rows = [line.format(i, parent.format(i // 3) if i else "world") for i in range(n)]
    return "hydromechs_model: 2\nname: big\nbodies:\n" + "".join(rows)


def test_messages_about_many_bodies_do_not_grow_with_the_square_of_their_number():
    sizes = {n: sum(len(f.text) for f in tree_faults([(f"b{i}", "no") for i in range(n)], [[]] * n)) for n in (200, 2000)}
    assert sizes[2000] < 11 * sizes[200]
    with pytest.raises(ModelError) as error:
        loads(bodies(300, "none"))
    assert max(map(len, error.value.problems)) < 600


def test_large_files_are_read_without_garbage_collection():
    """Each would look at all nodes so far: the time would grow with more than the size of the file."""
    full = []
    watch = lambda phase, info: full.append(info["generation"]) if phase == "start" else None  # noqa: E731
    text = bodies(1500)
    gc.callbacks.append(watch)
    try:
        model = loads(text)
    finally:
        gc.callbacks.remove(watch)
    assert model.nb == 1500
    assert len(full) <= 3  # when it is switched on again
    assert gc.isenabled()


def test_bodies_without_inertia_are_found_in_one_pass():
    """A mass matrix of 3000 joints would take 72 MB, the Jacobians of all bodies 432 MB."""
    text = bodies(3000).replace("mass: 1, tensor: [1, 1, 1, 0, 0, 0]", "mass: 0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ModelError, match="body 'b2999': its revolute joint moves no inertia"):
            loads(text)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "{type: box, size: [1, 1, 0.2], rounding: 0.2}",
            "shapes.part.rounding is 0.2, must be at most 0.1",
        ),
        ("{type: cylinder, radius: 0.1, length: 1, bore: 0.1}", "shapes.part.bore is 0.1, must be below the radius of 0.1"),
        ("{type: sphere, radius: 1, opacity: 2}", "shapes.part.opacity is 2"),
        ("{type: sphere, radius: 1, style: rudder}", "shapes.part.style is 'rudder'"),
        ("{type: cone, radius: 1}", "shapes.part.type is 'cone'"),
    ],
)
def test_looks_that_cannot_be(tmp_path, given, said):
    file = tmp_path / "seen.yaml"
    file.write_text(f"hydromechs_model: 2\nname: seen\nbodies:\n  hull:\n    joint: fixed\n    shapes: {{part: {given}}}\n")
    with pytest.raises(ModelError) as caught:
        load_file(file)
    assert said in str(caught.value)


def test_a_mesh_is_found_beside_its_file(tmp_path):
    """The model remembers the folder; it is no part of what is saved or compared."""
    (tmp_path / "hull.stl").write_text("solid hull\nendsolid hull\n")
    file = tmp_path / "seen.yaml"
    file.write_text(
        "hydromechs_model: 2\nname: seen\nbodies:\n  hull:\n    joint: fixed\n    shapes: {hull: {type: mesh, file: hull.stl}}\n"
    )
    model = load_file(file)
    assert model.bodies[0].shapes[0].shape.folder == str(tmp_path)
    assert loads(dumps(model)) == model


@pytest.mark.parametrize("name", ["nowhere.yaml", "nowhere.urdf"])
def test_a_file_that_cannot_be_written_is_named(tmp_path, name):
    """It, and not the temporary one; here a folder is in its place."""
    (tmp_path / name).mkdir()
    with pytest.raises(OSError) as e:
        hm.save(hm.load("sinking_chain"), tmp_path / name)
    assert str(e.value) == f"{str(tmp_path / name)!r} cannot be written: Is a directory"
    assert [p.name for p in tmp_path.iterdir()] == [name]
