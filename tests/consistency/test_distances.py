"""Distances: against points scattered over the surfaces, against differences, against an analytic ground; floats and traces."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

import hydromechs as hm
from hydromechs import geometry
from hydromechs.compiler import jacobian_program, trace
from hydromechs.contact import (
    Contact,
    DryFriction,
    LinearContact,
    Material,
    NonlinearContact,
    Pair,
    PointProbe,
    Segment,
    Terrain,
    contact_wrench,
)
from hydromechs.spatial import quaternion_matrix

EPS = np.finfo(float).eps
DOWN = np.array([0.0, 0.0, 1.0])
ROUGH = Material(
    law=NonlinearContact(stiffness=2e4, damping_factor=0.4, exponent=1.5),
    friction=DryFriction(static=0.9, kinetic=0.6, stiffness=1e4, damping=40.0),
)
HARD = Material(law=LinearContact(stiffness=1e4, damping=300.0), friction=ROUGH.friction)
ORIGIN = hm.Origin((0.3, -0.4, 0.5), (0.4, -0.7, 1.1))
COMMON = dict(name="thing", material=ROUGH)


def hills(x, y):
    """A smooth ground."""
    return -3.0 + 0.4 * np.sin(1.1 * x + 0.3) * np.cos(0.8 * y) + 0.1 * x


def ground(n=33, **fields):
    x, y = np.linspace(-2.0, 2.5, n), np.linspace(-1.5, 1.5, n - 4)
    return Terrain(shape=geometry.HeightField(x=x, y=y, heights=hills(x[:, None], y)), **COMMON | fields)


SOLIDS = {
    "plane": Terrain(shape=geometry.Plane.through((0.1, 0.2, 0.3), (0.3, -0.5, -2.0)), **COMMON),
    "sphere": Terrain(shape=geometry.Sphere(radius=0.8).at((0.1, 0.2, -0.3)), **COMMON),
    "box": Terrain(origin=ORIGIN, shape=geometry.Box(size=(1.0, 0.6, 1.6)), **COMMON),
    "cylinder": Terrain(origin=ORIGIN, shape=geometry.Cylinder(radius=0.5, length=1.4), **COMMON),
    "flat cylinder": Terrain(origin=ORIGIN, shape=geometry.Cylinder(radius=0.9, length=0.3), **COMMON),
    "height field": ground(),
    "box of a body": hm.geometry.Placed(shape=hm.geometry.Box(size=(0.4, 1.1, 0.7)), origin=ORIGIN),
    "sphere of a body": hm.geometry.Placed(shape=hm.geometry.Sphere(radius=0.7), origin=ORIGIN),
    "cylinder of a body": hm.geometry.Placed(shape=hm.geometry.Cylinder(radius=0.4, length=1.3), origin=ORIGIN),
    "capsule of a body": hm.geometry.Placed(shape=hm.geometry.Capsule(radius=0.4, length=1.1), origin=ORIGIN),
}
EXACT = [name for name in SOLIDS if name != "height field"]


def grid(*ends, step=0.02):
    """Points of a rectangular grid that reaches the ends, at most `step` apart."""
    axes = [np.linspace(a, b, int(np.ceil((b - a) / step)) + 1) for a, b in ends]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(ends))


def surface(solid, step=0.02):
    """Points over the surface of a solid, every one of it within `step` of one of them, and a test of being inside."""
    o, solid = solid.origin, solid.shape
    turn = grid((0.0, 2 * np.pi), step=step)[:, 0]
    if hasattr(solid, "size"):
        half = 0.5 * np.array(solid.size)
        cube = grid(*((-1.0, 1.0),) * 2, step=step / half.max())
        faces = [np.insert(cube, k, s, axis=1) * half for k in range(3) for s in (-1.0, 1.0)]
        return np.concatenate(faces), o, lambda x: np.all(np.abs(x) < half, axis=-1)
    r = solid.radius
    if isinstance(solid, hm.geometry.Cylinder):
        h = 0.5 * solid.length
        angle, z = grid((0.0, 2 * np.pi), (-h, h), step=step).T
        side = np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=-1)
        rho, angle = grid((0.0, r), (0.0, 2 * np.pi), step=step).T
        ends = [np.stack([rho * np.cos(angle), rho * np.sin(angle), 0 * rho + z], axis=-1) for z in (-h, h)]
        return np.concatenate([side, *ends]), o, lambda x: (np.hypot(x[..., 0], x[..., 1]) < r) & (np.abs(x[..., 2]) < h)
    h = 0.5 * getattr(solid, "length", 0.0)
    latitude, angle = grid((-np.pi / 2, np.pi / 2), (0.0, 2 * np.pi), step=step).T
    ball = r * np.stack([np.cos(latitude) * np.cos(angle), np.cos(latitude) * np.sin(angle), np.sin(latitude)], axis=-1)
    ball[:, 2] += np.where(ball[:, 2] > 0, h, -h)
    z = grid((-h, h), step=step)[:, 0]
    side = np.stack(np.broadcast_arrays(r * np.cos(turn), r * np.sin(turn), z[:, None]), axis=-1).reshape(-1, 3)
    return (
        np.concatenate([ball, side]),
        o,
        lambda x: np.linalg.norm(x - np.clip(x, [0, 0, -h], [0, 0, h]), axis=-1) < r,
    )


@pytest.mark.parametrize("name", [n for n in EXACT if n != "plane"])
def test_distance_is_that_of_the_nearest_of_many_surface_points(name):
    """|φ| ≤ the least distance from points of the surface ≤ |φ| + their spacing (triangle inequality); φ < 0 inside."""
    solid = SOLIDS[name]
    cloud, o, inside = surface(solid)
    assert len(cloud) > 1000
    rng = np.random.default_rng(2)
    signs = set()
    for p in np.array(o.xyz) + rng.uniform(-0.9, 0.9, size=(120, 3)):
        x = o.R.T @ (p - np.array(o.xyz))
        least = np.linalg.norm(cloud - x, axis=-1).min()
        distance, _ = solid.distance(p, DOWN)
        assert abs(distance) - 10 * EPS <= least <= abs(distance) + 0.02
        assert (distance < 0) == inside(x)
        signs.add(bool(inside(x)))
    assert signs == {True, False}


@pytest.mark.parametrize("name", EXACT)
def test_nearest_point_lies_on_the_surface(name):
    """p − φ n is on the surface, and n has length 1: rounding of a dozen operations on lengths of about 2 m."""
    rng = np.random.default_rng(3)
    for p in rng.uniform(-1.5, 1.5, size=(200, 3)):
        distance, n = SOLIDS[name].distance(p, DOWN)
        assert abs(n @ n - 1) < 20 * EPS
        assert abs(SOLIDS[name].distance(p - distance * n, DOWN)[0]) < 40 * EPS


@pytest.mark.parametrize("name", list(SOLIDS))
def test_normal_is_the_gradient_of_the_distance(name):
    """Central differences with h = 1e-5 err by eps · 3/h = 7e-11 and by h²/6 of the third derivative.

    That is at most some 100/m² away from centres; points whose two halves straddle a jump of the gradient are omitted.
    """
    rng = np.random.default_rng(4)
    h, checked = 1e-5, 0
    low, high = ([-3, -2.5, 1.5], [3.5, 2.5, 4.0]) if name == "height field" else ([-1.5] * 3, [1.5] * 3)
    for p in rng.uniform(low, high, size=(150, 3)):
        distance, n = SOLIDS[name].distance(p, DOWN)
        if name != "height field" and distance < -0.9 * getattr(SOLIDS[name], "radius", np.inf):
            continue  # near the centre, where the distance bends sharply
        ahead, back = (np.array([SOLIDS[name].distance(p + s * e, DOWN)[0] for e in h * np.eye(3)]) for s in (1, -1))
        if np.abs(ahead - 2 * distance + back).max() > 1e-7:  # curvature above 1e3/m: across a jump of the gradient
            continue
        np.testing.assert_allclose((ahead - back) / (2 * h), n, rtol=0, atol=1e-8)
        checked += 1
    assert checked > 100


def test_directions_are_finite_where_they_are_not_unique():
    """Centres, axes, edges and corners have some unit normal, floats and traces alike."""
    box, cylinder = SOLIDS["box"], SOLIDS["cylinder"]
    R, o = ORIGIN.R, np.array(ORIGIN.xyz)
    places = [np.zeros(3), np.array([0, 0, 0.7]), np.array([0.5, 0, 0]), np.array([0.5, 0.3, 0.8]), np.array([0.5, 0.3, 0.1])]
    for solid in (box, cylinder, SOLIDS["sphere of a body"], SOLIDS["capsule of a body"]):
        program = trace(lambda p, solid=solid: solid.distance(p, DOWN), dict(p=(3,)))
        for x in places:
            distance, n = solid.distance(o + R @ x, DOWN)
            assert np.isfinite(distance) and abs(n @ n - 1) < 20 * EPS
            assert np.isfinite(np.array(program(o + R @ x)[1])).all()
    cube = hm.geometry.Box(size=(1.0, 1.0, 1.0)).at()  # axes along the world's: three faces equally near, one of them counts
    for p in (np.zeros(3), np.array([0.2, 0.2, -0.2]), np.array([0.5, -0.5, 0.5])):
        assert np.abs(cube.distance(p, DOWN)[1]).sum() == 1.0
    aligned = hm.geometry.Sphere(radius=0.5).at()
    np.testing.assert_array_equal(aligned.distance(np.zeros(3), DOWN)[1], [0, 0, 1])


def test_height_field_goes_through_its_heights():
    """At the nodes the distance of a point on the given height is zero to rounding of the spline's linear system."""
    field = ground(17)
    for i, j in itertools.product(range(0, 17, 3), range(0, 13, 3)):
        p = np.array([field.shape.x[i], field.shape.y[j], -field.shape.heights[i][j]])
        assert abs(field.distance(p, DOWN)[0]) < 50 * EPS * 3.5


def test_height_field_of_a_plane_is_a_plane():
    """A tilted plane is met exactly between the nodes: distance and normal of `Plane`; and the same in ENU."""
    x, y = np.linspace(-1, 2, 5), np.linspace(0, 4, 7)
    field = Terrain(shape=geometry.HeightField(x=x, y=y, heights=0.5 * x[:, None] - 0.3 * y - 2.0), **COMMON)
    rng = np.random.default_rng(5)
    for down in (DOWN, -DOWN):
        plane = Terrain(shape=geometry.Plane.through(2.0 * down, -down - np.array([0.5, -0.3, 0.0])), **COMMON)
        for p in rng.uniform([-1, 0, -3], [2, 4, 3], size=(50, 3)):
            (d1, n1), (d2, n2) = field.distance(p, down), plane.distance(p, down)
            assert d1 == pytest.approx(d2, abs=60 * EPS * 5)
            np.testing.assert_allclose(n1, n2, rtol=0, atol=60 * EPS * 5)


def test_height_field_converges_to_the_surface_between_the_nodes():
    """Cubic splines through the data: the error falls with the fourth power of the spacing away from the edges."""
    rng = np.random.default_rng(6)
    at = rng.uniform([-0.6, -0.4], [1.1, 0.4], size=(400, 2))
    errors = []
    for n in (21, 41, 81):
        field = ground(n)
        miss = [field.distance(np.array([x, y, -hills(x, y)]), DOWN)[0] for x, y in at]
        errors.append(np.abs(miss).max())
    for coarse, fine in itertools.pairwise(errors):
        assert 13.0 < coarse / fine < 20.0
    assert errors[-1] < 2e-7


def test_height_field_levels_out_outside():
    """Two cells outside it is level, higher or lower than the edge by what a straight continuation has in one cell."""
    field = ground()
    dx, dy = field.shape.spacing
    for p, edge, cell in (
        ((9.0, 0.2), (2.5, 0.2), (dx, 0.0)),
        ((-7.0, 0.2), (-2.0, 0.2), (-dx, 0.0)),
        ((0.3, 5.0), (0.3, 1.5), (0.0, dy)),
        ((0.3, 1.5 + 2.0 * dy), (0.3, 1.5), (0.0, dy)),
    ):
        (far, n), (near, m) = (field.distance(np.array([*a, 2.0]), DOWN) for a in (p, edge))
        on_edge = field.distance(np.array([*edge, 2.0 - near / m[2]]), DOWN)[1]
        slope = on_edge[:2] / on_edge[2]  # of the height: the gradient on the surface is c (−h_x, −h_y, −1) with z down
        assert near / -m[2] - far / -n[2] == pytest.approx(slope @ cell, abs=1e-13)
        assert np.all(n[:2][np.array(cell) != 0] == 0.0)


@pytest.mark.parametrize("across", ["x", "y", "corner"])
def test_height_field_has_no_kinks(across):
    """Distance and normal change with the step across borders of patches, edges and where it becomes level: no jumps."""
    field = ground(17)
    way = {"x": np.array([1.0, 0, 0]), "y": np.array([0, 1.0, 0]), "corner": np.array([0.8, 0.6, 0])}[across]
    dx, dy = field.shape.spacing
    places = [(field.shape.x[k], 0.31) for k in (0, 6, 7, -1)] + [(0.31, field.shape.y[k]) for k in (0, 5, -1)]
    places += [
        (field.shape.x[0] - 2 * dx, 0.3),
        (field.shape.x[-1] + dx, 0.3),
        (0.3, field.shape.y[-1] + 2 * dy),
        (field.shape.x[-1], field.shape.y[-1]),
    ]
    for x, y in [
        *places,
        (0.5 * (field.shape.x[6] + field.shape.x[7]), 0.3),
        (0.3, 0.5 * (field.shape.y[4] + field.shape.y[5])),
    ]:
        p = np.array([x, y, 3.0])
        for step in (1e-4, 1e-6):
            (d, n), (e, m) = (field.distance(p + s * step * way, DOWN) for s in (-1, 1))
            assert abs(d - e) < 4 * step
            assert (
                np.abs(n - m).max() < 20 * step
            )  # curvature where it becomes level: slope over a cell, 0.5/0.28 1/m, times offset


CAPSULE = hm.geometry.Capsule(radius=0.1, length=1.2).at((0.1, 0.0, 0.2), (0.3, 0.2, 0.0))
FLOAT_PAIRS = {
    **{name: (PointProbe(position=(0.2, 0.1, -0.3), radius=0.1), solid) for name, solid in SOLIDS.items()},
    "bare point on box": (PointProbe(position=(0.2, 0.1, -0.3)), SOLIDS["box"]),
    "capsule on capsule": (Segment(center=(0.1, 0, 0), direction=(0.6, 0, 0.8), half_length=0.4, radius=0.2), CAPSULE),
    "capsule on ball": (Segment(center=(0.1, 0, 0), direction=(0.6, 0, 0.8), half_length=0.4, radius=0.2), SOLIDS["sphere"]),
}


def arguments(rng, spread):
    """Random poses, velocities and deflections."""
    quaternions = rng.normal(size=(2, 4))
    R_A, R_B = (quaternion_matrix(q / np.linalg.norm(q)) for q in quaternions)
    p_A, p_B = rng.uniform(-spread, spread, size=(2, 3))
    V_A, V_B = rng.normal(size=(2, 6))
    return dict(R_A=R_A, p_A=p_A, V_A=V_A, R_B=R_B, p_B=p_B, V_B=V_B, s=0.003 * rng.normal(size=3))


@pytest.mark.parametrize("name", list(FLOAT_PAIRS))
def test_floats_equal_the_trace(name):
    probe, solid = FLOAT_PAIRS[name]
    on_body = not isinstance(solid, Terrain)
    rng = np.random.default_rng(7)
    shift = np.array([0.0, 0.0, 2.8]) if name == "height field" else np.zeros(3)
    for material in (ROUGH, HARD):
        pair = Pair(name=name, body=0, probe=probe, other=1 if on_body else None, solid=solid, material=material)

        def forces(R_A, p_A, V_A, R_B, p_B, V_B, s, pair=pair, on_body=on_body):
            X_B, V_B = ((R_B, p_B), V_B) if on_body else (None, None)
            contact = contact_wrench(pair, (R_A, p_A), V_A, X_B, V_B, s, DOWN)
            return tuple(np.asarray(x) for x in contact if x is not None)

        names = [n for n in Contact._fields if on_body or n != "wrench_B"]

        touching, program = 0, None
        for _ in range(40):
            given = arguments(rng, 0.6)
            given["p_A"] = given["p_A"] + shift
            program = program or trace(forces, {k: x.shape for k, x in given.items()})
            expected, ours = forces(**given), program(*given.values())
            touching += expected[-3] > 0
            for field, a, b in zip(names, ours, expected, strict=True):
                scale = 1.0 if field in ("gap", "sliding_speed") else 2e4  # forces of up to k · 1 m
                # a few hundred operations
                np.testing.assert_allclose(np.ravel(a), np.ravel(b), rtol=0, atol=200 * EPS * scale, err_msg=field)
        assert touching >= 3


@pytest.mark.parametrize("material", [ROUGH, HARD], ids=["rough", "hard"])
def test_slopes_are_finite_at_rest(material):
    """The Jacobian that implicit integrators take exists at touch, at rest, with no deflection, and in the air."""
    ball = Pair(name="x", body=0, probe=PointProbe(position=(0, 0, 0), radius=0.1), solid=SOLIDS["box"], material=material)

    def force(p, V, s):
        contact = contact_wrench(ball, (np.eye(3), p), V, None, None, s, DOWN)
        return np.concatenate([contact.wrench_A, contact.s_rate])

    slopes = jacobian_program(trace(force, dict(p=(3,), V=(6,), s=(3,))), ("p", "V", "s"))
    R, o = ORIGIN.R, np.array(ORIGIN.xyz)
    for x in (0.6, 0.599, 0.7):
        for J in slopes(o + R @ np.array([x, 0.0, 0.0]), np.zeros(6), np.zeros(3)):
            assert np.isfinite(np.array(J)).all()


@pytest.mark.parametrize("name", ["box", "height field"])
def test_slopes_are_those_of_the_force(name):
    """The Jacobian against central differences in a sliding contact, the height field's table included."""
    solid = SOLIDS[name]
    ball = Pair(name="x", body=0, probe=PointProbe(position=(0, 0, 0), radius=0.1), solid=solid, material=ROUGH)

    def force(p, V, s):
        contact = contact_wrench(ball, (np.eye(3), p), V, None, None, s, DOWN)
        return np.concatenate([contact.wrench_A, contact.s_rate])

    top = np.array(ORIGIN.xyz) + ORIGIN.R @ np.array([0.55, 0.1, -0.2])
    p = top if name == "box" else np.array([0.2, 0.3, -hills(0.2, 0.3) - 0.05])
    V, s = np.array([0.3, -0.2, 0.1, 0.5, -0.7, 0.2]), np.array([0.001, -0.002, 0.003])
    assert contact_wrench(ball, (np.eye(3), p), V, None, None, s, DOWN).normal_force > 10.0
    given = [p, V, s]
    slopes = jacobian_program(trace(force, dict(p=(3,), V=(6,), s=(3,))), ("p", "V", "s"))(*given)
    h = 1e-6
    for k, J in enumerate(slopes):
        columns = []
        for e in h * np.eye(len(given[k])):
            ahead, back = (force(*[x + a * e if i == k else x for i, x in enumerate(given)]) for a in (1, -1))
            columns.append((ahead - back) / (2 * h))
        # rounding eps · 1e3 N / h, and h² times a third derivative of up to k / (10 mm)²
        np.testing.assert_allclose(np.array(J), np.array(columns).T, rtol=0, atol=1e-9 * np.abs(np.array(J)).max() + 1e-4)


def test_two_capsules_meet_where_their_axes_are_nearest():
    """The gap equals a bounded minimum over both axes by SciPy (to its tolerance); also for ends, and parallel axes."""
    rng = np.random.default_rng(8)
    probe = Segment(center=(0.1, -0.2, 0.0), direction=(0.6, 0.0, 0.8), half_length=0.4, radius=0.05)
    pair = Pair(name="x", body=0, probe=probe, other=1, solid=CAPSULE, material=ROUGH)
    o = CAPSULE.origin
    held = 0
    for k in range(60):
        g = arguments(rng, 0.7)
        if k < 5:  # parallel axes
            g["R_A"] = np.eye(3)
            g["R_B"] = np.linalg.qr(np.column_stack([[0.6, 0.0, 0.8], rng.normal(size=(3, 2))]))[0][:, [1, 2, 0]] @ o.R.T
        contact = contact_wrench(pair, (g["R_A"], g["p_A"]), g["V_A"], (g["R_B"], g["p_B"]), g["V_B"], g["s"], DOWN)

        def apart(x, g=g):
            a = g["p_A"] + g["R_A"] @ (np.array(probe.center) + x[0] * np.array(probe.direction))
            b = g["p_B"] + g["R_B"] @ (np.array(o.xyz) + x[1] * o.R[:, 2])
            return (a - b) @ (a - b)

        best = minimize(apart, [0.0, 0.0], bounds=[(-0.4, 0.4), (-0.6, 0.6)], tol=1e-15)
        held += bool(abs(best.x[0]) == 0.4 or abs(best.x[1]) == 0.6)
        assert contact.gap == pytest.approx(np.sqrt(best.fun) - 0.15, abs=1e-6)
    assert 10 < held < 55  # ends and inner points both occurred


def test_capsule_on_a_ball_meets_at_the_nearest_point_of_its_axis():
    ball = Terrain(shape=geometry.Sphere(radius=0.5).at((0.0, 0.0, 1.0)), **COMMON)
    probe = Segment(center=(0.0, 0.0, 0.0), direction=(1.0, 0.0, 0.0), half_length=1.0, radius=0.1)
    pair = Pair(name="x", body=0, probe=probe, solid=ball, material=ROUGH)
    for x, nearest in ((0.3, 0.0), (1.8, 0.8), (-2.0, -1.0)):
        contact = contact_wrench(pair, (np.eye(3), np.array([x, 0.0, 0.0])), np.zeros(6), None, None, np.zeros(3), DOWN)
        assert contact.gap == pytest.approx(np.hypot(nearest, 1.0) - 0.6, abs=4 * EPS)
