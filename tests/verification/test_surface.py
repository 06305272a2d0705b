"""Bodies at the free surface: wet volume, its centre and its energy, in any pose."""

import math

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import geometry
from hydromechs.compiler import jacobian_program, trace
from hydromechs.geometry import Box, Cylinder, Ellipsoid, Origin
from hydromechs.hydro import HullCell, crossing, hull_cells, hull_length, immersion, wetting

EPS = np.finfo(float).eps


def cell_of(shape, origin=Origin()):  # noqa: B008
    return HullCell(shape=shape, origin=origin, weight=1.0)


BOX = cell_of(Box(size=(0.8, 0.5, 0.3)))
CYLINDER = cell_of(Cylinder(radius=0.12, length=0.6))
BALL = cell_of(Ellipsoid(axes=(0.2, 0.2, 0.2)))
EGG = cell_of(Ellipsoid(axes=(0.4, 0.25, 0.15)))
CELLS = {"box": BOX, "cylinder": CYLINDER, "ball": BALL, "egg": EGG}
TILTED = Origin((0.1, -0.3, 0.2), (0.4, -0.7, 1.2))


def directions(n, seed=0):
    v = np.random.default_rng(seed).normal(size=(n, 3))
    return [*np.eye(3), *-np.eye(3), *(v / np.linalg.norm(v, axis=1, keepdims=True))]


def reference(cell, n, x, points=400):
    """Wet part and head of a cell by midpoint quadrature over two coordinates, the third (or the disc) exactly."""
    u = (np.arange(points) + 0.5) / points * 2 - 1
    shape = cell.shape
    if isinstance(shape, Box):
        extents = np.sort(np.abs(shape.half_size * n))
        y = x + extents[0] * u[:, None] + extents[1] * u[None, :]
        c = extents[2]
        wet = np.clip(0.5 + y / (2 * c), 0, 1)
        head = np.where(y > c, y, np.clip(y + c, 0, None) ** 2 / (4 * c))
        return wet.mean(), head.mean()
    if isinstance(shape, Cylinder):
        a, b = 0.5 * shape.length * abs(n[2]), max(shape.radius * math.hypot(n[0], n[1]), 1e-9)
        y = x + a * u[:, None]
        s = np.cos(np.pi * (np.arange(points) + 0.5) / points)[None, :]  # disc points by their density 2/π √(1 − s²)
        weight = 2 * (1 - s**2) / points
        return (((y + b * s) > 0) * weight).sum() / points, (np.maximum(y + b * s, 0) * weight).sum() / points
    b = math.sqrt(np.sum((np.array(shape.axes) * n) ** 2))
    density = 0.75 * (1 - u**2) * 2 / points
    return ((x + b * u > 0) * density).sum(), (np.maximum(x + b * u, 0) * density).sum()


@pytest.mark.parametrize("s", [-1.2, -1.0, -0.6, 0.0, 0.3, 0.9, 1.0, 5.0])
def test_spherical_cap(s):
    """Volume π h² (3r − h)/3 of a cap of height h, and its centroid 3 (2r − h)²/(4 (3r − h)) from the centre."""
    r, c, n = 0.2, np.array([0.3, -0.1, 0.5]), np.array([0.48, 0.6, 0.64])
    cell = cell_of(Ellipsoid(axes=(r, r, r)), Origin(tuple(c)))
    wet = immersion((cell,), n, s * r - c @ n)
    h = min(max(r + s * r, 0.0), 2 * r)
    fraction = np.pi * h**2 * (3 * r - h) / 3 / (4 / 3 * np.pi * r**3)
    offset = 0.75 * (2 * r - h) ** 2 / (3 * r - h)
    assert wet.fraction == pytest.approx(fraction, abs=20 * EPS)
    np.testing.assert_allclose(wet.moment, fraction * (c + offset * n), rtol=0, atol=20 * EPS)


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("rounding", [0.02, 0.002])
def test_wet_part_against_quadrature(name, rounding, monkeypatch):
    """Wet part and head in tilted poses.

    Rounding the extents by δ ≤ ε s each moves a point's depth by Σ δ|u| at most, 1.5 ε s in the mean; with the density of
    depth below 1/(2 max extent) ≤ √3/(2 s) the wet part moves by 1.3 ε at most; a disc's density is 4/π higher.
    """
    for module in ("_box", "_cylinder"):
        monkeypatch.setattr(f"hydromechs.geometry.{module}.ROUNDING", rounding)
    cell = CELLS[name]
    for n in directions(25):
        for x in (-0.33, -0.1, 0.0, 0.04, 0.12, 0.2):
            wet, head = reference(cell, n, x)
            ours = immersion((cell,), n, x)
            limit = {"box": 1.3, "cylinder": 1.7}.get(name, 0.0) * rounding
            # quadrature: kinks 1/400² for the box; steps 1/400 for the others
            assert ours.fraction == pytest.approx(wet, abs=limit + (1e-4 if name == "box" else 0.003))
            assert ours.head == pytest.approx(head, abs=0.15 * limit + 1e-5)


@pytest.mark.parametrize("name", CELLS)
def test_all_comes_from_one_energy(name):
    """Wet part ∂P/∂x and moment ∂P/∂n by central differences, so buoyancy conserves energy; n need not be a unit vector."""
    cell = CELLS[name]
    cells, step = ((type(cell)(**{**_fields(cell), "origin": TILTED})),), 1e-5
    for n in directions(20, seed=1):
        for depth in (-0.2, -0.05, 0.0, 0.1, 0.3):
            wet = immersion(cells, n, depth)
            by_depth = (immersion(cells, n, depth + step).head - immersion(cells, n, depth - step).head) / (2 * step)
            by_n = [
                (immersion(cells, n + e, depth).head - immersion(cells, n - e, depth).head) / (2 * step)
                for e in step * np.eye(3)
            ]
            # truncation step²/6 P''', P''' < 1/(ε s)² = 1/(0.02·0.12)²; rounding 1e3 eps/step (cancellation in the box)
            tolerance = step**2 / 6 / 0.0024**2 + 1e3 * EPS / step
            assert wet.fraction == pytest.approx(by_depth, abs=tolerance)
            np.testing.assert_allclose(wet.moment, by_n, rtol=0, atol=tolerance)


def _fields(cell):
    return {name: getattr(cell, name) for kind in type(cell).__mro__ for name in getattr(kind, "__slots__", ())}


@pytest.mark.parametrize("name", CELLS)
def test_wet_part_is_smooth(name):
    """No jump in the wet part or its slope: halving the step halves the largest change of the slope where it is steepest."""
    cell = CELLS[name]
    for n in directions(2, seed=2)[2::2]:

        def change(points, n=n):
            x = np.linspace(-0.7, 0.7, points)
            f = np.array([immersion((cell,), n, s).fraction for s in x])
            assert f[0] == pytest.approx(0.0, abs=1e-12) and f[-1] == pytest.approx(1.0, abs=1e-12)
            assert np.diff(f).min() > -1e-12
            return np.abs(np.diff(np.diff(f) / np.diff(x))).max()

        # a jump in the slope would stay as it is; a slope with a square-root end (the disc) shrinks by √2 at least
        assert change(4001) < change(1001) / 1.9


def test_upright_box_and_lying_cylinder():
    """Half way up the wet part of a box is linear in depth; a cylinder that lies wets a segment of its circle."""
    for x in (-0.05, 0.0, 0.1):
        # rounded edges reach 2·0.02·0.15 from the faces, height grows by (0.02)²/2
        ours = immersion((BOX,), np.array([0.0, 0.0, 1.0]), x)
        assert ours.fraction == pytest.approx(0.5 + x / 0.3, abs=2e-4)
        ours = immersion((CYLINDER,), np.array([0.6, -0.8, 0.0]), x)
        s = x / 0.12
        segment = 1 - (math.acos(s) - s * math.sqrt(1 - s * s)) / np.pi
        assert ours.fraction == pytest.approx(segment, abs=1e-3)  # (0.02)² of the radius and of the length
        centre = 0.12 * 2 / (3 * np.pi) * (1 - s * s) ** 1.5
        np.testing.assert_allclose(ours.moment, centre * np.array([0.6, -0.8, 0.0]), rtol=0, atol=0.12 * 1e-3)


def test_metacentre_of_a_barge():
    """A box of beam B afloat at draught T and tilted by φ: the centre of buoyancy moves sideways by B²/(12 T) φ."""
    L, B, H, T = 2.0, 0.8, 0.5, 0.2
    cell = cell_of(Box(size=(L, B, H)))
    phi = 1e-3
    wet = immersion((cell,), np.array([0.0, math.sin(phi), math.cos(phi)]), T - H / 2)
    assert wet.fraction == pytest.approx(T / H, rel=1e-3)
    assert wet.moment[1] / wet.fraction == pytest.approx(B**2 / (12 * T) * phi, rel=2e-3)  # rounding: (0.02)² terms
    assert wet.moment[2] / wet.fraction == pytest.approx(H / 2 - T / 2, rel=1e-3)


def test_hull_of_several_shapes():
    """Weights by volume; all moved so that the centroid is the centre of buoyancy, which is also the moment when fully wet."""
    body = hm.Body(
        name="rov",
        hydro=hm.Hydro(volume=0.02, buoyancy_center=(0.05, -0.02, -0.1)),
        shapes=[
            geometry.Box(size=(0.6, 0.4, 0.2)).at((0.0, 0.0, -0.2)),
            geometry.Capsule(radius=0.05, length=0.5).at((0.0, 0.2, 0.1), (0.3, 0.5, 0.0)),
            geometry.Mesh(file="hull.stl"),
        ],
    )
    cells = hull_cells(body)
    box, capsule = 0.6 * 0.4 * 0.2, np.pi * 0.05**2 * 0.5 + 4 / 3 * np.pi * 0.05**3
    assert len(cells) == 4 and cells[0].weight == pytest.approx(box / (box + capsule), rel=4 * EPS)
    assert sum(cell.weight for cell in cells) == pytest.approx(1.0, rel=4 * EPS)
    np.testing.assert_allclose(np.array(cells[1].origin.xyz) - cells[0].origin.xyz, [0.0, 0.2, 0.3], rtol=0, atol=4 * EPS)
    for n in directions(3):
        wet = immersion(cells, n, 30.0)
        assert wet.fraction == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(wet.moment, (0.05, -0.02, -0.1), rtol=0, atol=1e-12)
        assert wet.head == pytest.approx(30.0 + n @ (0.05, -0.02, -0.1), rel=1e-12)
        dry = immersion(cells, n, -30.0)
        assert abs(dry.fraction) < 1e-12 and np.abs(dry.moment).max() < 1e-12 and abs(dry.head) < 1e-12


def test_capsule_against_points():
    """A capsule in tilted poses against 200 000 random points.

    Four standard errors are 0.0045; the round ends are 0.4 of the volume, and the depths of a half ball and of the ellipsoid
    that stands for it are distributed alike to 0.03, so 0.012; 0.6 · 1.7 ε s/r would add 0.02 for the rounding, of which 0.002 is seen.
    """
    rng = np.random.default_rng(3)
    r, half = 0.1, 0.1
    points = rng.uniform(-1, 1, (600_000, 3)) * [r, r, half + r]
    beyond = np.maximum(np.abs(points[:, 2]) - half, 0.0)
    points = points[points[:, 0] ** 2 + points[:, 1] ** 2 + beyond**2 < r**2][:200_000]
    body = hm.Body(name="float", hydro=hm.Hydro(volume=0.01), shapes=[geometry.Capsule(radius=r, length=2 * half)])
    for n in directions(10):
        for x in (-0.15, -0.08, 0.0, 0.05):
            inside = points @ n + x > 0
            wet = immersion(hull_cells(body), n, x)
            assert wet.fraction == pytest.approx(inside.mean(), abs=0.0045 + 0.012 + 0.002)
            np.testing.assert_allclose(wet.moment, (points * inside[:, None]).mean(axis=0), rtol=0, atol=0.2 * 0.0185)


def test_hull_without_shapes():
    """A sphere of the displaced volume at the centre of buoyancy; nothing for what feels no water; else an error."""
    (cell,) = hull_cells(hm.Body(name="a", hydro=hm.Hydro(volume=4 / 3 * np.pi * 8, buoyancy_center=(1, 2, 3))))
    assert cell.shape.axes == pytest.approx((2.0, 2.0, 2.0), rel=4 * EPS) and cell.origin.xyz == (1.0, 2.0, 3.0)
    assert hull_cells(hm.Body(name="a")) == hull_cells(hm.Body(name="a", hydro=hm.Hydro())) == ()
    drag = hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.1), coefficient=0.5)
    with pytest.raises(ValueError, match="body 'wire' has neither shapes nor a volume"):
        hull_cells(hm.Body(name="wire", hydro=hm.Hydro(drag=drag)))
    plate = geometry.Box(size=(1.0, 1.0, 0.1)).at((0.0, 0.0, 0.4))
    (cell,) = hull_cells(hm.Body(name="fin", hydro=hm.Hydro(drag=drag), shapes=[plate]))
    assert cell.origin.xyz == (0.0, 0.0, 0.4)


def test_traced_is_the_same_and_has_finite_slopes():
    """Also fully wet, fully dry, and with axes along the vertical, where arcsines and roots have no slope of their own."""
    cells = (BOX, CYLINDER, EGG)

    def function(n, depth):
        return tuple(immersion(cells, n, depth[0]))

    program = trace(function, {"n": (3,), "depth": (1,)}, outputs=("fraction", "moment", "head"))
    slopes = [jacobian_program(program, ("n", "depth"), output=name) for name in ("fraction", "moment", "head")]
    for n in directions(4):
        for depth in (-5.0, -0.1, 0.0, 0.07, 5.0):
            for ours, floats in zip(program(n, np.array([depth])), function(n, np.array([depth])), strict=True):
                np.testing.assert_allclose(ours, floats, rtol=0, atol=1e-11)
            for slope in slopes:
                for part in slope(n, np.array([depth])):
                    assert np.isfinite(np.asarray(part, dtype=float)).all()


@pytest.mark.parametrize("name", [*CELLS, "all"])
def test_rate_of_the_wet_part(name):
    """Against differences of the wet part along a motion in depth and direction, also where it is dry or fully wet (zero)."""
    cells = tuple(type(c)(**{**_fields(c), "origin": TILTED}) for c in CELLS.values()) if name == "all" else (CELLS[name],)
    rng, step = np.random.default_rng(4), 1e-6
    largest = 0.0
    for n in directions(20, seed=3):
        for depth in (-2.0, -0.2, -0.05, 0.0, 0.1, 0.3, 2.0):
            n_rate, depth_rate = np.cross(rng.normal(size=3), n), rng.normal()
            ours = wetting(cells, n, depth, n_rate, depth_rate)
            later, earlier = (immersion(cells, n + s * n_rate, depth + s * depth_rate).fraction for s in (step, -step))
            # truncation step²/6 over (ε s)³, rounding of the box 1e3 eps/step
            assert ours == pytest.approx((later - earlier) / (2 * step), abs=step**2 / 6 / 0.0024**3 * 100 + 1e3 * EPS / step)
            largest = max(largest, abs(ours))
            if abs(depth) == 2.0:
                assert abs(ours) < 1e-10
    assert largest > 1.0


def test_rate_is_the_waterplane_over_the_volume():
    """A ball and an upright box that sink at 1 m/s."""
    assert wetting((BALL,), np.array([0.0, 0.0, 1.0]), 0.05, np.zeros(3), 1.0) == pytest.approx(
        np.pi * (0.2**2 - 0.05**2) / (4 / 3 * np.pi * 0.2**3), rel=1e-12
    )
    assert wetting((BOX,), np.array([0.0, 0.0, 1.0]), 0.05, np.zeros(3), 1.0) == pytest.approx(1.0 / 0.3, rel=2 * 0.02**2)


@pytest.mark.parametrize("rate", [-1e3, -2.0, -0.1, -1e-9, 0.0, 1e-9, 0.1, 2.0, 1e3])
def test_crossings_lose(rate):
    """Fast: push ẇ on entry, none on exit, loss ½|ẇ|; slow: push ẇ/2 and no loss; push − ẇ/2 = loss ≥ 0 always."""
    push, loss = crossing(hull_length((BALL,)), rate, 9.81)
    assert loss >= 0.0 and push - 0.5 * rate == pytest.approx(loss, abs=1e-12 * abs(rate))
    slow = 0.1 * math.sqrt(9.81 / (4 / 3 * np.pi * 0.2**3) ** (1 / 3))
    assert loss == pytest.approx(0.5 * rate**2 / math.hypot(rate, slow), rel=1e-12)
    assert push == pytest.approx(max(rate, 0.0), abs=0.16 * slow)  # max of x (1 − x/√(1 + x²))/2 is 0.150
    if abs(rate) == 1e3:
        assert push == pytest.approx(max(rate, 0.0), abs=1e-3)
