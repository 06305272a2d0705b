"""A model goes through a file and comes back the same, every field and every bit."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hydromechs import geometry
from hydromechs.errors import ModelError, UnsupportedFeature
from hydromechs.formats import dumps, load_file, loads, save
from hydromechs.library import model_path
from hydromechs.model import Body, Frame, Hydro, Inertia, Mdh, Model, Origin, World, added_mass, drag, joints

RICH = (Path(__file__).parent / "rich.yaml").read_text()
PROFILE = settings(derandomize=True, deadline=None, max_examples=100, database=None, print_blob=True)
SOLID = Inertia(mass=1.0, tensor=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))


def same(a, b) -> bool:
    """Equal to the last bit; repr tells −0 from 0."""
    return a == b and repr(a) == repr(b)


def one(**fields_) -> Model:
    return Model(name="m", bodies=(Body(**{"name": "a", "joint": joints.Free(), "inertia": SOLID} | fields_),))


def test_rich_model():
    model = loads(RICH)
    again = loads(dumps(model))
    assert same(again, model)
    assert dumps(again) == dumps(model)


def test_rich_file_uses_every_field_of_every_class():
    """Each field of each dataclass has a value that is not its default somewhere in the file."""
    used: set[tuple[str, str]] = set()
    classes: dict[str, type] = {}

    def visit(value):
        if is_dataclass(value):
            kind = type(value)
            classes[kind.__module__ + kind.__name__] = kind
            for f in fields(value):
                got = getattr(value, f.name)
                default = f.default if callable(f.default_factory) is False else f.default_factory()
                if repr(got) != repr(default):
                    used.add((kind.__module__ + kind.__name__, f.name))
                visit(got)
        elif isinstance(value, tuple):
            for item in value:
                visit(item)

    visit(loads(RICH))
    unused = {(name, f.name) for name, kind in classes.items() for f in fields(kind)} - used
    shared = [
        "origin",
        "color",
        "opacity",
        "style",
        "roles",
        "folder",
        "name",
        "placement",
        "axis",
        "limits",
        "damping",
        "friction",
        "position",
        "velocity",
    ]
    assert {(n, f) for n, f in unused if f not in shared} == set(), "fields that the rich file leaves at their defaults"
    assert {getattr(added_mass, name) for name in added_mass.__all__} | {joints.Composite} <= set(classes.values())
    families = {drag.DragElement: drag.TYPES, geometry.Shape: geometry.SHAPES, joints.Joint: joints.TYPES}
    for base, table in families.items():  # each row on its own: test_every_row.py
        assert len({kind for kind in classes.values() if issubclass(kind, base)} & set(table.values())) > 2


def test_what_a_file_says_reaches_the_model():
    model = loads(RICH)
    bodies = {b.name: b for b in model.bodies}
    assert model.world == World(axes="ENU", gravity=9.8, water_density=1000.0, kinematic_viscosity=1.2e-6)
    assert model.description == "A model that uses every key\nof the file.\n"
    assert model.sources == (("vehicle.inertia", "published: somebody, 2001"), ("arm mass", "guessed"))
    assert bodies["shoulder"].joint == joints.Revolute(
        placement=Mdh(a=0.2, alpha=1.5707963267948966, d=0.1, theta=0.2, branch_d=0.3, branch_theta=0.4),
        limits=(-1.5, 1.5),
        damping=1.0,
        friction=2.0,
        position=0.5,
        velocity=-0.1,
    )
    hydro = bodies["vehicle"].hydro
    assert hydro.added_mass[4] == added_mass.ShapeAddedMass(
        shape=geometry.Cylinder.between((-0.5, 0, 0), (0.5, 0, 0), radius=0.1)
    )
    assert hydro.drag[2] == drag.ShapeDrag(
        shape=geometry.Cylinder.between((0, -1, 0), (0, 1, 0), radius=0.1), coefficient=1.1, end_coefficient=0, points=3
    )
    assert hydro.drag[1].coupled == (("Y|r|v", 12.0), ("N|v|r", -3.0))
    assert bodies["vehicle"].frames == (Frame("camera", Origin((1, 0, 0.2), (0, 0.5, 0))), Frame("mount"))
    assert bodies["vehicle"].shapes[4].shape == geometry.Mesh(file="hull.stl", scale=(0.001, 0.001, 0.001))
    assert bodies["vehicle"].shapes[1].roles == ("contact", "wetting")
    assert bodies["vehicle"].shapes[4].roles == ("contact", "wetting", "appearance")
    assert bodies["sea_floor"].parent is None
    assert bodies["wrist"].hydro == Hydro()
    assert bodies["tip"].hydro is None


@pytest.mark.parametrize(
    "model",
    [
        one(hydro=Hydro()),
        one(hydro=Hydro(drag=drag.Damping())),
        one(hydro=Hydro(drag=(drag.Damping(), drag.Damping(coupled={"X|u|v": 1.0})))),
        one(
            hydro=Hydro(
                added_mass=(
                    added_mass.ShapeAddedMass(shape=geometry.Cylinder.between((0.0, -0.0, 0.0), (1.0, 0.0, 0.0), radius=1.0)),
                )
            )
        ),
        one(
            hydro=Hydro(
                added_mass=(
                    added_mass.ShapeAddedMass(shape=geometry.Cylinder.between((0.0, 0.0, -0.0), (0.0, 0.0, 1.0), radius=1.0)),
                )
            )
        ),
        one(joint=joints.Free(placement=Mdh())),
        one(joint=joints.Free(placement=Mdh(branch_theta=0.5))),
        one(joint=joints.Revolute(position=-0.0, limits=(-1e-300, 1e16))),
        one(joint=joints.Composite(parts=(joints.Ball(), joints.Prismatic(axis=(1, 2, 3), placement=Origin((1, 0, 0)))))),
        one(
            name="null",
            frames=(Frame("true"), Frame("1e3"), Frame("on"), Frame("a: b"), Frame("#"), Frame("ünïcode 漢字 😀"), Frame('"')),
        ),
        one(shapes=(geometry.Mesh(file="C:\\meshes\\hull one.stl"),)),
        replace(one(), description="several\n\n  lines\nwith indents"),
        replace(one(), description=" not a literal block\nthis one"),
        replace(one(), description="trailing\n\n"),
        replace(one(), sources=(("a", "several\nlines\n"), ("", ""))),
    ],
)
def test_odd_models(model):
    assert same(loads(dumps(model)), model)


@pytest.mark.filterwarnings("ignore:.*if (this is|these are) in (millimetres|degrees), write")
@PROFILE
@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e40, max_value=1e40))
def test_every_float(x):
    model = one(shapes=(geometry.Sphere(radius=1.0).at(xyz=(x, 0.0, -x)),))
    assert same(loads(dumps(model)), model)
    assert yaml.safe_load(dumps(model))["bodies"]["a"] if x else True


@PROFILE
@given(st.text(st.characters(exclude_categories=("Cs", "Cc"))), st.text(" \n\t:#'\"-a\\\r\u2028", max_size=12))
def test_every_text(a, b):
    model = replace(one(), description=a, sources=((b, a + b), ("x" + a[:200], b)) if b != "x" + a[:200] else ())
    assert same(loads(dumps(model)), model)


def test_numbers_are_read_alike_by_yaml_1_1():
    """PyYAML's own loader, which knows YAML 1.1, gets the same numbers from what we write."""
    model = one(inertia=Inertia(mass=1e-07, com=(1e22, 0.5, 3.0)), joint=joints.Fixed())
    entry = yaml.safe_load(dumps(model))["bodies"]["a"]["inertia"]
    assert entry == {"mass": 1e-07, "com": [1e22, 0.5, 3]}


def test_bodies_may_come_in_any_order():
    text = "hydromechs_model: 2\nname: m\nbodies:\n  a: {parent: b, joint: fixed}\n  b: {joint: fixed}\n"
    assert loads(text).body_names == ("b", "a")


def test_custom_hydrodynamics_cannot_be_written():
    class Own:
        def added_mass(self, body, motion): ...

        def wrench(self, body, motion): ...

    with pytest.raises(UnsupportedFeature, match="body 'a': hydro is a Own, which a file cannot represent"):
        dumps(one(hydro=Own()))


def test_half_a_surrogate_pair_cannot_be_written():
    with pytest.raises(UnsupportedFeature, match="surrogate"):
        dumps(replace(one(), description="\ud800"))


def test_save_and_load(tmp_path):
    model = loads(RICH)
    (tmp_path / "hull.stl").write_text("solid")
    path = tmp_path / "mine.yaml"
    save(model, path)
    assert same(load_file(path), model)
    assert same(load_file(str(path)), model)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["hull.stl", "mine.yaml"]


def test_save_names_the_folder_that_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="folder '.*none' for 'x.yaml'"):
        save(load_file(model_path("puma560")), tmp_path / "none" / "x.yaml")


def test_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "mine.yaml"
    path.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        save(one(), path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.yaml"]
    assert path.read_text() == "old"


def test_saved_text_is_readable():
    text = dumps(loads(RICH))
    assert "    inertia: {mass: 1862.9, com: [0, 0, 0.1], tensor: [525.4, 794.2, 691.2, 1.4, 33.4, 2.6]}\n" in text
    assert "            - [0.5, 0, 0, 0, 5, 0]\n" in text
    assert "        - {type: shape, shape: {type: cylinder, radius: 0.1, length: 1, origin: {rpy_deg: [0, 90, 0]}}}\n" in text
    assert "    joint: fixed\n" in text
    assert max(map(len, text.splitlines())) <= 120
    assert "9.81" not in dumps(one()), "defaults are left out"


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.yaml"):
        load_file(tmp_path / "none.yaml")


def test_folder(tmp_path):
    with pytest.raises(ModelError, match="is a folder"):
        load_file(tmp_path)


def test_unreadable_path(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ModelError, match="cannot be read"):
        load_file(tmp_path / "file" / "inner.yaml")
    with pytest.raises(ModelError, match="cannot be read"):
        load_file("a\0b")


def test_bytes_that_are_not_utf_8(tmp_path):
    path = tmp_path / "latin.yaml"
    path.write_bytes("hydromechs_model: 2\nname: Tümmler\n".encode("latin-1"))
    with pytest.raises(ModelError, match=r"line 2: byte 0xfc is not UTF-8; save the file as UTF-8"):
        load_file(path)


def test_byte_order_mark_is_allowed(tmp_path):
    path = tmp_path / "bom.yaml"
    path.write_text(dumps(one()), encoding="utf-8-sig")
    assert load_file(path) == one()


def test_file_name_is_in_the_error(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("hydromechs_model: 2\nname: m\nbodies:\n  a: {joint: revolute}\n")
    with pytest.raises(
        ModelError, match=r"bad\.yaml: 1 problem\(s\)\n  - line 4: body 'a': its revolute joint moves no inertia"
    ):
        load_file(path)


def test_meshes_are_looked_for_next_to_the_file(tmp_path):
    path = tmp_path / "m.yaml"
    save(one(shapes=(geometry.Mesh(file="meshes/hull.stl"),)), path)
    with pytest.raises(ModelError, match=r"line \d+: body 'a': shapes.mesh.file is 'meshes/hull.stl', but .*relative"):
        load_file(path)
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "hull.stl").write_text("solid")
    assert load_file(path).bodies[0].shapes[0].shape.file == "meshes/hull.stl"
    assert loads(path.read_text()) == load_file(path)
    with pytest.raises(ModelError, match="'meshes/hull.stl'"):
        loads(path.read_text(), folder="/nowhere")


def test_mass_is_finite_after_reading_any_notation():
    for text, value in (
        ("1e3", 1e3),
        ("0x10", 16.0),
        ("0o17", 15.0),
        ("+5", 5.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("010", 10.0),
        ("1E-2", 0.01),
    ):
        model = loads(dumps(one()).replace("mass: 1,", f"mass: {text},"))
        assert model.bodies[0].inertia.mass == value
        assert math.isfinite(value)
