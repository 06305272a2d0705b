"""Rays against closed forms, and against the first sign change of the signed distance along them."""

import math

import numpy as np
import pytest
import scipy.optimize

import hydromechs as hm
from hydromechs import geometry
from hydromechs.contact import LinearContact, Material, Terrain

GROUND = Material(law=LinearContact(stiffness=1e4, damping=1e2))
DOWN = np.array([0.0, 0.0, 1.0])
FRAME = hm.Origin((0.5, -0.3, 3.0), (0.4, -0.7, 1.1))
AXIS = np.linspace(-10.0, 10.0, 9)
HILLS = tuple(tuple(float(-4.0 + 0.8 * math.sin(0.5 * x + 0.3) * math.cos(0.4 * y)) for y in AXIS) for x in AXIS)
SOLIDS = {
    "plane": Terrain(name="g", material=GROUND, shape=geometry.Plane.through((0, 0, 3), (0.2, -0.1, -1.0))),
    "sphere": Terrain(name="g", material=GROUND, shape=geometry.Sphere(radius=1.2).at((0.5, -0.3, 3.0))),
    "box": Terrain(name="g", material=GROUND, origin=FRAME, shape=geometry.Box(size=(1.0, 2.0, 1.5))),
    "cylinder": Terrain(name="g", material=GROUND, origin=FRAME, shape=geometry.Cylinder(radius=0.8, length=1.6)),
    "height_field": Terrain(name="g", material=GROUND, shape=geometry.HeightField(x=tuple(AXIS), y=tuple(AXIS), heights=HILLS)),
}


def unit(x):
    return np.asarray(x, dtype=float) / np.linalg.norm(x)


@pytest.mark.parametrize("degrees", [0.0, 60.0, 85.0, 89.0, 89.9])
@pytest.mark.parametrize("ground", ["plane", "height_field", "box"])
def test_level_ground_at_grazing_angles(degrees, ground):
    """r = h / cos; nothing for a ray that rises, or that starts below."""
    solid = {
        "plane": Terrain(name="g", material=GROUND, shape=geometry.Plane.through((0, 0, 4), (0, 0, -2))),
        "height_field": Terrain(
            name="g", material=GROUND, shape=geometry.HeightField(x=(-9, 9), y=(-9, 9), heights=((-4.0, -4.0),) * 2)
        ),
        "box": Terrain(name="g", material=GROUND, origin=hm.Origin((0, 0, 5)), shape=geometry.Box(size=(1e5, 1e5, 2))),
    }[ground]
    a = math.radians(degrees)
    b = np.array([0.6 * math.sin(a), -0.8 * math.sin(a), math.cos(a)])
    assert solid.ray(np.zeros(3), b, DOWN) == pytest.approx(4.0 / math.cos(a), rel=1e-12)
    assert solid.ray(np.zeros(3), b * (1, 1, -1), DOWN) == math.inf
    assert solid.ray(5.0 * DOWN, b, DOWN) == math.inf


@pytest.mark.parametrize("part", [0.0, 0.5, 0.999, 1.0 - 1e-9, 1.0 + 1e-9, 1.001, 1.3])
def test_a_sphere_is_met_within_its_radius(part):
    """A ray that passes the centre at a distance d < R comes to it after L − √(R² − d²); one at d > R misses it."""
    R, L = 6.0, 20.0
    d = part * R
    b = unit([0.3, -0.5, 0.7])
    aside = unit(np.cross(b, [1.0, 0.0, 0.0]))
    solid = Terrain(name="g", material=GROUND, shape=geometry.Sphere(radius=R).at(tuple(L * b + d * aside)))
    expected = L - math.sqrt(R**2 - d**2) if part < 1.0 else math.inf
    assert solid.ray(np.zeros(3), b, DOWN) == pytest.approx(expected, rel=1e-9)
    assert solid.ray(np.zeros(3), -b, DOWN) == math.inf


def test_an_upright_cylinder_and_a_box_along_their_axes():
    box = Terrain(name="g", material=GROUND, origin=hm.Origin((0, 0, 5)), shape=geometry.Box(size=(2, 2, 2)))
    post = Terrain(name="g", material=GROUND, origin=hm.Origin((0, 0, 5)), shape=geometry.Cylinder(radius=1.0, length=2.0))
    for solid in (box, post):
        assert solid.ray(np.array([0.4, 0.3, 0.0]), DOWN, DOWN) == pytest.approx(4.0, rel=1e-12)
        assert solid.ray(np.array([1.1, 0.3, 0.0]), DOWN, DOWN) == math.inf
        assert solid.ray(np.array([-3.0, 0.0, 5.0]), np.array([1.0, 0.0, 0.0]), DOWN) == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize("name", SOLIDS)
def test_rays_end_at_the_first_sign_change_of_the_distance(name):
    """By bisection between samples 0.02 m apart; rays that pass the surface at less than 0.01 m decide nothing."""
    solid, random, met = SOLIDS[name], np.random.default_rng(3), 0
    for _ in range(40):
        p = random.uniform(-1.5, 1.5, 3) - (0.0, 0.0, 0.5)
        b = unit(FRAME.xyz + random.uniform(-1.3, 1.3, 3) - p)
        gap = lambda r, p=p, b=b: float(solid.distance(p + r * b, DOWN)[0])  # noqa: E731
        way = np.arange(0.0, 6.0, 0.02)
        gaps = np.array([gap(r) for r in way])
        if gaps[0] <= 0.0 or -0.01 < gaps.min() < 0.01:
            continue
        found = float(solid.ray(p, b, DOWN))
        inside = np.flatnonzero(gaps < 0.0)
        if not inside.size:
            assert found > way[-1]
            continue
        k, met = inside[0], met + 1
        assert found == pytest.approx(scipy.optimize.brentq(gap, way[k - 1], way[k], xtol=1e-13), rel=1e-9)
    assert met >= 10
