"""Contacts that probes cannot represent are reported before the run; the remedies that the messages give work."""

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
from hydromechs.recording import structured

SOFT = Material(
    law=NonlinearContact(stiffness=2e4, damping_factor=0.5),
    friction=DryFriction(static=0.5, kinetic=0.5, stiffness=1e4, damping=200.0),
)
FLOOR = Terrain(name="floor", material=SOFT, shape=geometry.Plane.through((0, 0, 0), (0, 0, 1)))
PLINTH = Terrain(name="plinth", material=SOFT, origin=hm.Origin((0, 0, -0.2)), shape=geometry.Box(size=(0.4, 0.4, 0.4)))
CUBE = hm.geometry.Box(size=(0.4, 0.4, 0.4))
UNTOUCHED = hm.BodyShape(shape=CUBE, roles=("wetting", "appearance"))
FEET = [hm.geometry.Sphere(radius=0.05).at((x, y, -0.15)) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
SHORT = hm.geometry.Capsule(radius=0.1, length=0.2)
SIDEWAYS = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
"""Turns the axis of a cylinder into the horizontal plane."""


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


@pytest.mark.parametrize(
    "shape, solid, words",
    [
        (CUBE, PLINTH, ["box 'thing'", "box 'plinth'", "corners", "edges"]),
        (
            CUBE,
            Terrain(name="rock", material=SOFT, shape=geometry.Sphere(radius=1.0)),
            ["box 'thing'", "sphere 'rock'", "corners"],
        ),
        (CUBE, wavy(0.1), ["box 'thing'", "height field 'ripples'", "0.1 m high"]),
        (hm.geometry.Cylinder(radius=0.2, length=0.1), FLOOR, ["cylinder 'thing'", "plane 'floor'", "square"]),
        (hm.geometry.Cylinder(radius=0.2, length=0.6), FLOOR, ["cylinder 'thing'", "plane 'floor'", "stand"]),
        (hm.geometry.Capsule(radius=0.1, length=0.9), PLINTH, ["capsule 'thing'", "box 'plinth'", "0.3 m apart"]),
    ],
)
def test_a_shape_that_terrain_can_enter_is_reported(shape, solid, words):
    (text,) = warned(model(body("thing", shape)), solid)
    assert all(word in text for word in words), text


@pytest.mark.parametrize(
    "shape, solid",
    [
        (CUBE, FLOOR),
        (CUBE, wavy(0.001)),
        (hm.geometry.Sphere(radius=0.2), PLINTH),
        (hm.geometry.Capsule(radius=0.1, length=0.9), FLOOR),
        (hm.geometry.Capsule(radius=0.1, length=0.9), Terrain(name="rock", material=SOFT, shape=geometry.Sphere(radius=1.0))),
        (SHORT, PLINTH),
        (UNTOUCHED, PLINTH),
    ],
)
def test_a_shape_whose_probes_cover_it_is_not_reported(shape, solid):
    touching = model(body("thing", shape, hm.geometry.Sphere(radius=0.01)))
    assert warned(touching, solid) == []


def test_two_bodies_are_reported_where_neither_covers_its_surface():
    wheel, pole = hm.geometry.Cylinder(radius=0.2, length=0.1), hm.geometry.Capsule(radius=0.1, length=2.0)
    for first, second, parts in ((CUBE, CUBE, 1), (CUBE, pole, 2), (wheel, CUBE, 2)):
        (text,) = warned(model(body("a", first), body("b", second)))
        assert "'a'" in text and "'b'" in text and text.count("so ") == parts
    for first, second in ((CUBE, hm.geometry.Sphere(radius=0.1)), (pole, pole), (SHORT, CUBE), (wheel, SHORT)):
        assert warned(model(body("a", first), body("b", second))) == []


def test_pairs_with_the_same_defect_share_a_message():
    boxes = [replace(PLINTH, name=f"stone {k}") for k in range(9)]
    (text,) = warned(model(body("thing", CUBE)), *boxes)
    assert "'stone 5'" in text and "'stone 6'" not in text and "and 3 more pairs" in text


def test_a_crate_falls_through_a_plinth_and_the_run_reports_it():
    """The remedies hold: spheres carry the crate, and so does an engine with whole shapes."""
    start = {"position": (0.0, 0.0, 0.2)}
    sim = hm.Simulation(model(body("crate", CUBE, **start)), components=[PLINTH], record=0.1)
    run = sim.run(0.5)
    assert float(run.recording.position.sel(body="crate", xyz="z")[-1]) < -0.5  # the defect that is reported
    (text,) = [m for m in run.messages if "'crate'" in m]
    assert "'plinth'" in text and text in structured(run.recording, "messages")

    standing = model(body("crate", UNTOUCHED, *FEET, **start))
    run = hm.Simulation(standing, components=[PLINTH], record=0.1).run(0.5)
    sunk = (8.0 * 9.81 / 4.0 / 2e4) ** (1.0 / SOFT.law.exponent)
    assert float(run.recording.position.sel(body="crate", xyz="z")[-1]) == pytest.approx(0.2 - sunk, abs=sunk)  # it rings
    assert run.messages == []

    pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    whole = Hybrid(engine="mujoco").simulation(sim.plant, step=1e-3).run(0.5)
    assert float(whole.recording.position.sel(body="crate", xyz="z")[-1]) == pytest.approx(0.2, abs=2e-3)
    assert not any("'plinth'" in m for m in whole.messages)


def test_a_wheel_rolls_and_a_drum_stands_after_the_remedy():
    roll = {"position": (0.0, 0.0, 0.15), "orientation": SIDEWAYS, "velocity": (0.5, 0, 0, 0, 0, -0.5 / 0.15)}
    wheel, capsule = hm.geometry.Cylinder(radius=0.15, length=0.1), hm.geometry.Capsule(radius=0.15, length=0.1)
    x = []
    for shape in (wheel, capsule):
        run = hm.Simulation(model(body("wheel", shape, **roll)), components=[FLOOR], record=0.1).run(1.0)
        x.append(float(run.recording.position.sel(body="wheel", xyz="x")[-1]))
        assert any("square" in m for m in run.messages) == (shape is wheel)
    assert x[0] < 0.3 and x[1] == pytest.approx(0.5, abs=1e-6)

    lean = {"position": (0.0, 0.0, 0.25), "orientation": (np.cos(0.01), np.sin(0.01), 0.0, 0.0)}
    drum, case = hm.geometry.Cylinder(radius=0.15, length=0.5), hm.geometry.Box(size=(0.3, 0.3, 0.5))
    for shape, height in ((drum, 0.15), (case, 0.25)):
        run = hm.Simulation(model(body("drum", shape, **lean)), components=[FLOOR], record=0.1).run(2.5)
        assert float(run.recording.position.sel(body="drum", xyz="z")[-1]) == pytest.approx(height, abs=3e-3)
        assert any("stand" in m for m in run.messages) == (shape is drum)


FILE = """hydromechs_scenario: 2
name: crate on plinth
models:
  crate: {model: crate.yaml, position: [0, 0, 0.2]}
materials:
  soft: {law: {type: nonlinear, stiffness: 20000, damping_factor: 0.5}}
terrain:
  plinth: {type: box, size: [0.4, 0.4, 0.4], material: soft}
run: {duration: 1}
"""


def test_check_reports_it(tmp_path, capsys):
    hm.save(model(body("crate", CUBE)), tmp_path / "crate.yaml")
    (tmp_path / "mission.yaml").write_text(FILE)
    from rich.console import Console

    assert check_file(str(tmp_path / "mission.yaml"), Console())
    said = capsys.readouterr().err
    assert "warning" in said and "'crate'" in said and "'plinth'" in said
