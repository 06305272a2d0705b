"""`hm.distance` against coal, a certificate by support points, and differences of configurations."""

import itertools

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import compiler
from hydromechs.equations._gjk import core_of, nearest
from hydromechs.geometry import Box, Capsule, Convex, Cylinder, Ellipsoid, HeightField, Placed, Plane, Sphere
from hydromechs.spatial import matrix_from_rpy

RNG = np.random.default_rng(3)
SHAPES = {
    "box": Box(size=(0.4, 0.3, 0.2)),
    "hull": Convex(points=tuple(map(tuple, 0.2 * RNG.normal(size=(12, 3))))),
    "sphere": Sphere(radius=0.2),
    "capsule": Capsule(radius=0.1, length=0.4),
    "cylinder": Cylinder(radius=0.15, length=0.3),
    "ellipsoid": Ellipsoid(axes=(0.3, 0.2, 0.1)),
}
POLYTOPES = ("box", "hull")
COUNT = 1000
SMALL = 1e-6
"""Distance [m] below which coal and we may call the same poses touching or apart."""


def poses():
    """Axes and origins of random poses in which about half of the pairs overlap; the same for each pair of shapes."""
    rng = np.random.default_rng(3)
    R = np.stack([matrix_from_rpy(rpy) for rpy in rng.uniform(-np.pi, np.pi, size=(COUNT, 3))])
    return R, 0.25 * rng.normal(size=(COUNT, 3))


def solve(a, b, R, p):
    """Distance, normal and nearest points of two shapes by the compiled kernel."""
    first, second = (core_of(Placed(shape=SHAPES[name])) for name in (a, b))
    outputs = {"distance": (), "normal": (3,), "first": (3,), "second": (3,)}
    kernel = compiler.compile_function(
        "gjk", lambda R, p: tuple(nearest(first, second, R, p)), {"R": (3, 3), "p": (3,)}, outputs, lanes=8
    )
    return kernel([R, p])


def coal_shape(coal, shape):
    match shape:
        case Box():
            return coal.Box(*shape.size)
        case Sphere():
            return coal.Sphere(shape.radius)
        case Capsule():
            return coal.Capsule(shape.radius, shape.length)
        case Cylinder():
            return coal.Cylinder(shape.radius, shape.length)
        case Ellipsoid():
            return coal.Ellipsoid(*shape.axes)
    hull = shape.surface.convex_hull()
    points, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for x in hull.vertices:
        points.append(x)
    for face in hull.faces:
        faces.append(coal.Triangle(*map(int, face)))
    return coal.Convex(points, faces)


def by_coal(coal, a, b, R, p):
    first, second = (coal_shape(coal, SHAPES[name]) for name in (a, b))
    request = coal.DistanceRequest()
    request.enable_signed_distance, request.gjk_tolerance, request.gjk_max_iterations = True, 1e-12, 1000
    out = np.empty(len(p))
    for k in range(len(p)):
        result = coal.DistanceResult()
        coal.distance(first, coal.Transform3s(R[k], p[k]), second, coal.Transform3s(), request, result)
        out[k] = result.min_distance
    return out


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations_with_replacement(SHAPES, 2)))
def test_against_coal(a, b):
    """1e-9 m for polytopes. For smooth shapes 1e-7 m, unless coal's distance is below a proven lower bound.

    The nearest points bound the distance from above, and the supports along any normal from below. In one of several
    thousand poses, an ellipsoid and a shape with edges are up to 2e-7 m apart from the lower bound.
    """
    R, p = poses()
    d, n, x, y = solve(a, b, R, p)
    apart = d > SMALL
    support = [
        n[k] @ (R[k] @ SHAPES[a].support(-R[k].T @ n[k]) + p[k] - SHAPES[b].support(n[k])) if apart[k] else d[k]
        for k in range(COUNT)
    ]
    certified = d - np.array(support)
    polytopes = a in POLYTOPES and b in POLYTOPES
    assert np.abs(certified[apart]).max() < (1e-10 if polytopes else 2e-8)
    np.testing.assert_allclose(np.linalg.norm(x - y, axis=1)[apart], d[apart], atol=1e-14)
    coal = pytest.importorskip("coal", reason="coal is not installed; run `pip install coal`")
    reference = by_coal(coal, a, b, R, p)
    assert not np.any((d > SMALL) & (reference < -SMALL)) and not np.any((d <= 0.0) & (reference > SMALL))
    below = apart & (reference < np.array(support) - 1e-9)  # coal stopped early: a wrong distance
    assert below.mean() < (0.0 if polytopes else 0.3) + 1e-9
    both = apart & ~below
    assert np.abs(d - reference)[both].max() < (1e-9 if polytopes else 1e-7)


ARM = hm.Model(
    name="arm",
    bodies=[
        hm.Body(name="base", inertia=hm.Inertia(mass=9.0, tensor=(1, 1, 1, 0, 0, 0)), shapes=[SHAPES["box"]]),
        hm.Body(
            name="hand",
            parent="base",
            joint=hm.joints.Revolute(placement=hm.Origin((0.6, 0.1, 0.2), (0.3, 0.2, 0.1))),
            inertia=hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0)),
            shapes=[SHAPES["ellipsoid"].at((0.5, 0, 0)), SHAPES["capsule"].at((0.0, 0.0, 0.6))],
        ),
    ],
)
WALL = SHAPES["hull"].at((0.3, 2.4, -0.2), (0.4, 0.1, 0.2))
FLOOR = Plane.through((0, 0, 3.0), (0.1, 0.0, -1.0))


@pytest.mark.parametrize(("a", "b"), [("base", "hand"), ("hand", "base"), ("hand", WALL), (WALL, "hand"), ("hand", FLOOR)])
def test_gradient(a, b):
    """Central differences; the normal of a smooth shape is known to the root of the distance's tolerance."""
    rng, step = np.random.default_rng(1), 1e-5
    q = np.stack([hm.integrate(ARM, ARM.neutral()[0], rng.normal(size=ARM.nv) * 0.3, 1.0) for _ in range(20)])
    found = hm.distance(ARM, q, a, b)
    assert found.value.min() > 0.0 and found.gradient.shape == (20, ARM.nv)
    np.testing.assert_allclose(np.linalg.norm(found.points[:, 0] - found.points[:, 1], axis=1), found.value, atol=1e-12)
    np.testing.assert_allclose(found.points[:, 0] - found.points[:, 1], found.value[:, None] * found.normal, atol=1e-12)
    for k, one in enumerate(q):
        moved = [[hm.integrate(ARM, one, s * e, 1.0) for e in step * np.eye(ARM.nv)] for s in (1.0, -1.0)]
        ahead, behind = (hm.distance(ARM, np.array(rows), a, b).value for rows in moved)
        np.testing.assert_allclose(found.gradient[k], (ahead - behind) / (2 * step), atol=1e-6)


def test_single_calls_equal_batches():
    q = ARM.neutral()[0]
    one, two = hm.distance(ARM, q, "hand", "base"), hm.distance(ARM, np.stack([q, q]), "hand", "base")
    for x, y in zip(one, two, strict=True):
        np.testing.assert_allclose(x, y[1], atol=1e-14)


def test_overlap():
    """A capsule in a box: no gradient if their cores overlap; below a plane the depth is exact."""
    near = FLOOR.origin.R[:, 2] * -0.3
    below = hm.integrate(ARM, ARM.neutral()[0], np.array([0, 0, 3.5, 0, 0, 0, 0]), 1.0)
    assert hm.distance(ARM, below, "base", FLOOR).value < -0.3 and np.linalg.norm(near) > 0
    inside = hm.distance(ARM, ARM.neutral()[0], "base", SHAPES["capsule"].at())
    assert inside.value == -0.1 and not inside.gradient.any()


def test_errors_name_the_remedy():
    q = ARM.neutral()[0]
    with pytest.raises(ValueError, match="select two bodies"):
        hm.distance(ARM, q, "hand", "hand")
    with pytest.raises(hm.UnsupportedFeature, match="pass the plane as the second"):
        hm.distance(ARM, q, FLOOR, "hand")
    ground = HeightField(x=(0, 1), y=(0, 1), heights=((0, 0), (0, 0)))
    with pytest.raises(hm.UnsupportedFeature, match="height field is not convex"):
        hm.distance(ARM, q, "hand", Placed(shape=ground))
    with pytest.raises(KeyError, match="elbow"):
        hm.distance(ARM, q, "elbow", "hand")
