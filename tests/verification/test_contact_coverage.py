"""Contacts that probes cannot represent are reported before the run; convex shapes meet with their whole surface."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import geometry
from hydromechs.cli._check import check_file
from hydromechs.contact import (
    BodyContact,
    DryFriction,
    Material,
    NonlinearContact,
    Terrain,
    contact_pairs,
    unrepresented_contacts,
)
from hydromechs.hybrid import Hybrid

SOFT = Material(
    law=NonlinearContact(stiffness=2e4, damping_factor=0.5),
    friction=DryFriction(static=0.5, kinetic=0.5, stiffness=1e4, damping=200.0),
)
FLOOR = Terrain(name="floor", material=SOFT, shape=geometry.Plane.through((0, 0, 0), (0, 0, 1)))
PLINTH = Terrain(name="plinth", material=SOFT, origin=hm.Origin((0, 0, -0.2)), shape=geometry.Box(size=(0.4, 0.4, 0.4)))
CUBE = geometry.Box(size=(0.4, 0.4, 0.4))
WHEEL = geometry.Cylinder(radius=0.2, length=0.1)
UNTOUCHED = hm.BodyShape(shape=CUBE, roles=("wetting", "appearance"))


def body(name: str, *shapes: hm.geometry.Shape | hm.geometry.Placed, **joint) -> hm.Body:
    inertia = hm.Inertia(mass=8.0, tensor=(0.1, 0.12, 0.1, 0, 0, 0))
    return hm.Body(name=name, joint=hm.joints.Free(**joint), inertia=inertia, shapes=shapes)


def model(*bodies: hm.Body) -> hm.Model:
    return hm.Model(name="test", bodies=bodies, world=hm.World(axes="ENU"))


def warned(mechanism: hm.Model, *solids: Terrain) -> list[str]:
    """Warnings about one body on terrain, or about all bodies among each other."""
    names = mechanism.body_names
    parts = solids or [BodyContact(bodies=(names[0], names[1]), material=SOFT)]
    pairs = contact_pairs(mechanism, parts)
    return unrepresented_contacts(mechanism, pairs)


def wavy(height: float) -> Terrain:
    grid = np.linspace(-2.0, 2.0, 41)
    heights = height * np.cos(2.0 * np.pi * grid / 0.8)
    return Terrain(
        name="ripples",
        material=SOFT,
        shape=geometry.HeightField(x=tuple(grid), y=(-2.0, 0.0, 2.0), heights=tuple((h, h, h) for h in heights)),
    )


FILE = """hydromechs_scenario: 2
name: crate on ripples
models:
  crate: {model: crate.yaml, position: [0, 0, 2.2]}
materials:
  soft: {law: {type: nonlinear, stiffness: 20000, damping_factor: 0.5}}
terrain:
  ripples: PLACE
run: {duration: 1}
"""


@pytest.mark.parametrize(
    "shape, solid, words",
    [
        (CUBE, wavy(0.1), ["box 'thing'", "height field 'ripples'", "0.1 m high"]),
        (geometry.Cylinder(radius=0.2, length=0.1), wavy(0.1), ["cylinder 'thing'", "height field 'ripples'", "square"]),
        (geometry.Cylinder(radius=0.2, length=0.6), wavy(0.1), ["cylinder 'thing'", "height field 'ripples'", "stand"]),
        (geometry.Capsule(radius=0.05, length=0.9), wavy(0.1), ["capsule 'thing'", "height field 'ripples'", "0.225 m apart"]),
    ],
)
def test_a_shape_that_terrain_can_enter_is_reported(shape, solid, words):
    (text,) = warned(model(body("thing", shape)), solid)
    assert all(word in text for word in words), text


@pytest.mark.parametrize("solid", [FLOOR, PLINTH, Terrain(name="rock", material=SOFT, shape=geometry.Sphere(radius=1.0))])
@pytest.mark.parametrize(
    "shape", [CUBE, geometry.Sphere(radius=0.2), geometry.Capsule(radius=0.1, length=0.9), WHEEL, UNTOUCHED]
)
def test_a_shape_that_touches_everywhere_is_not_reported(shape, solid):
    assert warned(model(body("thing", shape, geometry.Sphere(radius=0.01))), solid) == []


def test_a_smooth_height_field_is_not_reported():
    assert warned(model(body("thing", CUBE)), wavy(0.001)) == []


def test_two_bodies_touch_everywhere():
    for first, second in itertools.combinations((CUBE, WHEEL, geometry.Capsule(radius=0.1, length=2.0)), 2):
        assert warned(model(body("a", first), body("b", second))) == []


def test_pairs_with_the_same_defect_share_a_message():
    fields = [replace(wavy(0.1), name=f"field {k}") for k in range(9)]
    (text,) = warned(model(body("thing", CUBE)), *fields)
    assert "'field 5'" in text and "'field 6'" not in text and "and 3 more pairs" in text


def test_a_crate_stays_on_a_plinth_of_its_size_as_in_mujoco():
    start = {"position": (0.0, 0.0, 0.2)}
    sim = hm.Simulation(model(body("crate", CUBE, **start)), components=[PLINTH], record=0.1)
    run = sim.run(1.0)
    sunk = 8.0 * 9.81 / 2e4
    assert float(run.recording.position.sel(body="crate", xyz="z")[-1]) == pytest.approx(0.2 - 0.5 * sunk, abs=0.5 * sunk)
    assert run.messages == []

    pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    whole = Hybrid(engine="mujoco").simulation(sim.plant, step=1e-3).run(0.5)
    assert float(whole.recording.position.sel(body="crate", xyz="z")[-1]) == pytest.approx(0.2, abs=2e-3)


def test_a_hull_stands_in_mujoco_and_is_named_elsewhere():
    """MuJoCo gets the same hull; engines that do not support hulls name the shape."""
    pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    hull = geometry.Convex(points=tuple(itertools.product((-0.1, 0.3), (-0.2, 0.2), (-0.2, 0.2))))
    sim = hm.Simulation(model(body("crate", hull, position=(0.0, 0.0, 0.2))), components=[PLINTH], record=0.1)
    for run in (sim.run(0.5), Hybrid(engine="mujoco").simulation(sim.plant, step=1e-3).run(0.5)):
        np.testing.assert_allclose(run.recording.position.sel(body="crate")[-1], [0, 0, 0.2], atol=5e-3)
    with pytest.raises(hm.UnsupportedFeature, match="shape crate.1 is a convex, which Bullet does not support"):
        Hybrid(engine="bullet").simulation(sim.plant, step=1e-3)


def test_check_and_run_report_it(tmp_path, capsys):
    ground = wavy(0.1)
    hm.save(model(body("crate", CUBE)), tmp_path / "crate.yaml")
    rows = [list(row) for row in ground.shape.heights]
    field = f"{{type: height_field, x: {list(ground.shape.x)}, y: {list(ground.shape.y)}, heights: {rows}, material: soft}}"
    (tmp_path / "mission.yaml").write_text(FILE.replace("PLACE", field))
    from rich.console import Console

    assert check_file(str(tmp_path / "mission.yaml"), Console())
    said = capsys.readouterr().err
    assert "warning" in said and "'crate'" in said and "'ripples'" in said
    sim = hm.Simulation(model(body("crate", CUBE, position=(0.0, 0.0, 2.0))), components=[ground], record=0.1)
    assert any("'crate'" in m and "'ripples'" in m for m in sim.run(0.01).messages)
