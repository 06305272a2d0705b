"""Walkers, wheels, snakes and umbilicals of the library against the numbers and the topology that they were made from."""

from math import cos, pi, sin

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import library
from hydromechs.equations import kinematics
from hydromechs.spatial import tensor_matrix


def body(model, name):
    return model.bodies[model.body_index(name)]


def place(model, q, name):
    """Origin of a frame or body in the world [m]."""
    at = model.locate(name)
    X = kinematics(model, q, np.zeros(model.nv)).X_WB[at.body]
    return X[:3, :3] @ at.p + X[:3, 3]


@pytest.mark.parametrize(
    ("name", "bodies", "freedom"),
    [
        ("aquarobot", 28, 45),
        ("osu_hexapod", 19, 24),
        ("dante", 10, 16),
        ("k2t", 10, 23),
        ("waav", 9, 18),
        ("dual_arm_redundant", 15, 20),
    ],
)
def test_bodies_and_degrees_of_freedom(name, bodies, freedom):
    model = hm.load(name)
    assert (model.nb, model.nv) == (bodies, freedom)
    assert any(text.startswith("estimated") for _, text in model.sources)
    assert any("published" in text for _, text in model.sources)


def test_trees_that_are_no_stars_branch_beyond_the_root():
    for name, inner in (("dante", "inner"), ("k2t", "upper"), ("waav", "front")):
        model = hm.load(name)
        assert model.parent.count(model.body_index(inner)) >= 2
    assert body(hm.load("dante"), "inner").joint.nv == 2
    assert isinstance(body(hm.load("waav"), "rear").joint, hm.joints.Ball)


LEG = {  # mass, centre of mass, tensor about the link origin (xx, yy, zz, xy) as published
    "hip1": (5.03, (0.1, 0, 0), (0.02, 0.07, 0.13, 0)),
    "knee1_1": (32.61, (0.2, 0.06, 0), (0.22, 3.6, 3.7, -0.39)),
    "knee2_1": (35.81, (0.3, 0, 0), (0.18, 4.0, 4.0, 0)),
    "foot1": (10.14, (0.015, 0, 0), (0.164, 0.084, 0.084, 0)),
}
MENDED = {"hip1": (1, 0, 0, 0), "foot1": (0, 1, 1, 0)}
"""Moments that the source has too small for any body."""


@pytest.mark.parametrize("name", list(LEG))
def test_aquarobot_links_have_the_published_inertia_about_their_origins(name):
    mass, com, published = LEG[name]
    b = body(hm.load("aquarobot"), name)
    assert (b.inertia.mass, b.inertia.com) == (mass, com)
    c = np.array(com)
    I = tensor_matrix(b.inertia.tensor) + mass * (c @ c * np.eye(3) - np.outer(c, c))
    found = np.array([I[0, 0], I[1, 1], I[2, 2], I[0, 1]])
    kept = ~np.array(MENDED.get(name, (0, 0, 0, 0)), dtype=bool)
    np.testing.assert_allclose(found[kept], np.array(published)[kept], atol=1e-5)
    xx, yy, zz = np.sort(np.diag(tensor_matrix(b.inertia.tensor)))
    assert zz <= xx + yy


def test_two_published_tensors_belong_to_no_body():
    for name in MENDED:
        mass, com, (xx, yy, zz, _) = LEG[name]
        c2 = mass * com[0] ** 2
        moments = np.sort([xx, yy - c2, zz - c2])
        assert moments[2] > moments[0] + moments[1]


def test_aquarobot_stands_as_suzuki_has_it():
    """Feet on a circle of 1.0897 m, ankles 0.9457 m below the body, soles 0.03 m lower; legs every 60°."""
    model = hm.load("aquarobot")
    q = model.initial().q
    for k in range(6):
        a = k * pi / 3
        np.testing.assert_allclose(place(model, q, f"foot{k + 1}"), [1.0897 * cos(a), 1.0897 * sin(a), -0.9457], atol=1e-4)
        assert place(model, q, f"sole{k + 1}")[2] == pytest.approx(-0.9757, abs=1e-4)
    assert sum(b.inertia.mass for b in model.bodies[:25]) == pytest.approx(711.82, abs=0.01)


@pytest.mark.parametrize("name", ["osu_hexapod", "dante", "waav"])
def test_land_machines_start_on_the_ground(name):
    model = hm.load(name)
    assert all(b.hydro is None for b in model.bodies)
    q = model.initial().q
    kin = kinematics(model, q, np.zeros(model.nv))
    for b, X in zip(model.bodies, kin.X_WB, strict=True):
        for shape in (s for s in b.shapes if s.contact):
            low = (X[:3, :3] @ np.array(shape.origin.xyz) + X[:3, 3])[2] - shape.shape.radius
            assert low == pytest.approx(0.0, abs=1e-3)


def test_motors_of_aquarobot_are_the_published_ones():
    plant = hm.load_plant("aquarobot")
    found = {c.name: c for c in plant.components if isinstance(c, hm.drives.Drive)}
    assert len(found) == 21 and not any(name.startswith("foot") for name in found)
    motor = found["knee1_4"]
    assert (motor.torque_constant, motor.back_emf, motor.resistance, motor.rotor_inertia) == (99.0, 100.2676, 1.1, 148.5)


def test_ankle_damping_and_limits_are_in_the_plant():
    plant = hm.load_plant("aquarobot")
    names = {c.name for c in plant.components}
    assert {f"foot{k}.friction" for k in range(1, 7)} | {f"foot{k}.stops" for k in range(1, 7)} <= names


def test_snake_and_umbilical():
    snake = library.snake(6)
    assert (snake.nb, snake.nv) == (6, 11)
    assert np.allclose(place(snake, snake.initial().q, "tail") - place(snake, snake.initial().q, "head"), [1.8, 0, 0])
    weight = sum(b.inertia.mass - snake.world.water_density * b.hydro.volume for b in snake.bodies)
    assert abs(weight) < 1e-9
    line = library.umbilical(7, length=21.0, mass_per_length=0.5)
    assert line.nv == 21 and sum(b.inertia.mass for b in line.bodies) == pytest.approx(10.5)
    np.testing.assert_allclose(place(line, line.initial().q, "end"), [0, 0, 21.0], atol=1e-12)
    for bad in (0, 2.5, True):
        with pytest.raises(ValueError, match="n is .*must be an integer of at least 1"):
            library.snake(bad)
