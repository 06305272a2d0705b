"""Every operation of every shape against a second method: Monte Carlo, finite differences, marching, trimesh, closed forms."""

import math

import numpy as np
import pytest
import trimesh

from hydromechs import geometry
from hydromechs.compiler import trace
from hydromechs.errors import FieldError, UnsupportedFeature
from hydromechs.geometry import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    HeightField,
    Mesh,
    Origin,
    Placed,
    Plane,
    Sphere,
    Triangles,
)

EPS = np.finfo(float).eps
CORNERS = ((0.0, 0.0, 0.0), (1.1, 0.1, 0.0), (0.2, 0.9, 0.1), (0.1, 0.3, 0.8), (0.9, 0.8, 0.7), (-0.2, 0.4, 0.3))


@pytest.fixture(scope="session")
def wedge(tmp_path_factory):
    """A closed mesh that is not convex: an L-shaped profile, drawn out."""
    polygon = np.array([(0, 0), (1.0, 0), (1.0, 0.3), (0.4, 0.3), (0.4, 0.8), (0, 0.8)])
    n = len(polygon)
    low, high = np.c_[polygon, np.zeros(n)], np.c_[polygon, np.full(n, 0.5)]
    caps = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    faces = [(c, b, a) for a, b, c in caps] + [(a + n, b + n, c + n) for a, b, c in caps]
    for k in range(n):
        j = (k + 1) % n
        faces += [(k, j, j + n), (k, j + n, k + n)]
    path = tmp_path_factory.mktemp("mesh") / "wedge.stl"
    trimesh.Trimesh(np.concatenate([low, high]), faces).export(path)
    return path


SOLIDS = {
    "sphere": Sphere(radius=0.7),
    "box": Box(size=(1.0, 0.6, 1.6)),
    "rounded box": Box(size=(1.0, 0.6, 1.6), rounding=0.2),
    "cylinder": Cylinder(radius=0.5, length=1.4),
    "tube": Cylinder(radius=0.5, length=1.4, bore=0.3),
    "capsule": Capsule(radius=0.4, length=0.9),
    "ellipsoid": Ellipsoid(axes=(0.9, 0.5, 0.3)),
    "convex": Convex(points=CORNERS),
}
ALL = [*SOLIDS, "mesh"]
CUT = [name for name in SOLIDS if name not in ("convex", "rounded box")]
ORIGIN = Origin((0.3, -0.4, 0.5), (0.4, -0.7, 1.1))


@pytest.fixture(params=ALL)
def solid(request, wedge):
    return Mesh(file=wedge.name, folder=str(wedge.parent)) if request.param == "mesh" else SOLIDS[request.param]


def points_of(solid, n, seed=3):
    """Points in the box around a shape, and whether each is inside."""
    x = solid.center + np.random.default_rng(seed).uniform(-1.0, 1.0, (n, 3)) * solid.half_size
    return x, solid.inside(x)


def directions(n, seed=5):
    d = np.random.default_rng(seed).normal(size=(n, 3))
    return d / np.linalg.norm(d, axis=1, keepdims=True)


def test_integrals_agree_with_monte_carlo(solid):
    n = 60_000
    x, inside = points_of(solid, n)
    box = 8.0 * float(np.prod(solid.half_size))
    part = inside.mean()
    found = solid.integrals()
    # four standard errors of a mean of n samples
    assert found.volume == pytest.approx(part * box, abs=4.0 * box * math.sqrt(part * (1.0 - part) / n) + 1e-12)
    own = x[inside]
    assert np.all(np.abs(own.mean(axis=0) - found.center) <= 4.0 * own.std(axis=0) / math.sqrt(len(own)))
    products = np.einsum("ni,nj->nij", own - found.center, own - found.center)
    error = 4.0 * products.std(axis=0) / math.sqrt(len(own))
    assert np.all(np.abs(products.mean(axis=0) - found.second / found.volume) <= error)
    assert solid.volume == found.volume


def test_inertia_agrees_with_closed_forms_and_trimesh(solid):
    density = 870.0
    fine = solid.triangulate(256).merged()
    other = trimesh.Trimesh(fine.vertices, fine.faces, process=False)
    other.density = density
    inertia = solid.inertia(density)
    # 256 sides are 1e-4 short of a round surface, the rounding of a box has fixed facets of 30°
    tolerance = 3e-2 if getattr(solid, "rounding", 0.0) else 4e-4
    assert inertia == pytest.approx(other.moment_inertia, rel=tolerance, abs=tolerance * np.trace(inertia))
    mass = density * solid.volume
    if isinstance(solid, Sphere):
        assert inertia == pytest.approx(0.4 * mass * solid.radius**2 * np.eye(3))
    if isinstance(solid, Box) and not solid.rounding:
        a, b, c = solid.size
        assert np.diag(inertia) == pytest.approx(mass / 12.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b]))
    if isinstance(solid, Cylinder):
        square = solid.radius**2 + solid.bore**2
        assert inertia[2, 2] == pytest.approx(0.5 * mass * square)
        assert inertia[0, 0] == pytest.approx(mass / 12.0 * (3.0 * square + solid.length**2))


def test_placed_integrals_agree_with_monte_carlo(solid):
    placed = Placed(shape=solid, origin=ORIGIN)
    found = placed.integrals()
    surface = placed.triangulate(256).merged().integrals()
    tolerance = 3e-2 if getattr(solid, "rounding", 0.0) else 4e-4
    assert found.volume == pytest.approx(surface.volume, rel=tolerance)
    assert found.center == pytest.approx(surface.center, abs=1e-3)
    assert found.second == pytest.approx(surface.second, abs=tolerance * np.trace(found.second))
    x = np.random.default_rng(8).uniform(-1.0, 1.5, (3000, 3))
    R = ORIGIN.R
    assert np.array_equal(placed.inside(x), solid.inside((x - ORIGIN.xyz) @ R))


def test_surface_is_closed_and_no_larger_than_the_solid(solid):
    surface = solid.triangulate().merged()
    assert surface.problems() == []
    volume = surface.integrals().volume
    assert 0.96 * solid.volume < volume <= solid.volume * (1.0 + 1e-12) or isinstance(solid, Cylinder)  # a bore is too small
    assert np.abs(surface.vertices - solid.center).max(axis=0) == pytest.approx(solid.half_size)


def test_distance_agrees_with_the_surface(solid):
    surface = solid.triangulate(96).merged()
    x = solid.center + np.random.default_rng(2).uniform(-1.6, 1.6, (60, 3)) * solid.half_size
    inside = solid.inside(x)
    coarse = 0.03 if getattr(solid, "rounding", 0.0) else 8e-4  # sagitta of a facet of 96
    for p, within in zip(x, inside, strict=True):
        value, n = solid.distance(p)
        assert (value < 0.0) == within
        assert abs(value) == pytest.approx(float(np.linalg.norm(p - surface.nearest(p))), abs=coarse)
        assert np.linalg.norm(n) == pytest.approx(1.0, abs=1e-12)
        if not isinstance(solid, Mesh):
            at, _ = solid.distance(p - value * n)  # the nearest point is on the surface
            assert abs(at) < 1e-9


def test_normals_are_gradients_of_the_distance(solid):
    h = 1e-6
    placed = Placed(shape=solid, origin=ORIGIN)
    x = ORIGIN.xyz + np.random.default_rng(9).uniform(-1.3, 1.3, (60, 3))
    off = 0
    for p in x:
        value, n = placed.distance(p)
        slope = np.array([(placed.distance(p + h * e)[0] - placed.distance(p - h * e)[0]) / (2.0 * h) for e in np.eye(3)])
        off += np.abs(slope - n).max() > 1e-5  # a difference across a ridge, where the nearest point jumps
        assert value == placed.shape.distance(ORIGIN.R.T @ (p - ORIGIN.xyz))[0]
    assert off <= 1


def test_support_point_is_farthest_and_on_the_surface(solid):
    placed = Placed(shape=solid, origin=ORIGIN)
    corners = placed.triangulate(128).vertices
    for d in directions(40):
        at = placed.support(d)
        assert at @ d >= (corners @ d).max() - 1e-12
        assert abs(placed.distance(at)[0]) < 1e-12
        assert at @ d <= (corners @ d).max() + 0.03


def test_rays_agree_with_marching_along_distances(solid):
    placed = Placed(shape=solid, origin=ORIGIN)
    middle = placed.integrals().center
    met = 0
    for k, (start, d) in enumerate(zip(middle + 1.8 * directions(60, 1), directions(60, 2), strict=True)):
        d = d if k % 2 else (middle + 0.4 * d - start) / np.linalg.norm(middle + 0.4 * d - start)
        found = placed.ray(start, d)
        r, gap = 0.0, placed.distance(start)[0]
        if gap < 0.0:
            assert found == math.inf
            continue
        for _ in range(4000):  # a step as long as the distance cannot pass the surface
            if not 1e-9 < gap < 8.0:
                break
            r += gap
            gap = placed.distance(start + r * d)[0]
        assert (found == math.inf) == (gap > 1e-6)
        if found < math.inf:
            met += 1
            assert found == pytest.approx(r, abs=2e-6)  # a grazing ray converges slowly
    assert met > 8


@pytest.mark.parametrize("name", SOLIDS)
def test_traced_distances_and_rays_agree_with_floats(name):
    placed = Placed(shape=SOLIDS[name], origin=ORIGIN)
    distance = trace(lambda p: (np.array([placed.distance(p)[0]]), placed.distance(p)[1]), {"p": (3,)})
    ray = trace(lambda p, d: (np.array([placed.ray(p, d)]),), {"p": (3,), "d": (3,)})
    for p, d in zip(np.random.default_rng(4).uniform(-1.5, 1.5, (30, 3)), directions(30), strict=True):
        value, n = placed.distance(p)
        traced_value, traced_n = distance(p)
        assert traced_value[0] == pytest.approx(value, abs=1e-13)
        assert traced_n == pytest.approx(n, abs=1e-12)
        assert ray(p, d)[0][0] == pytest.approx(placed.ray(p, d), abs=1e-12)


def test_projected_area_agrees_with_the_silhouette(solid):
    areas = solid.projected_area()
    fine = solid.triangulate(128)
    # half a pixel of 256 along the outline; a tube's shadow along its axis has two outlines
    tolerance = 0.03 if getattr(solid, "bore", 0.0) else 0.02
    assert areas == pytest.approx([fine.silhouette(k) for k in range(3)], rel=tolerance)


def test_strips_and_faces_add_up():
    rod = Cylinder(radius=0.1, length=1.4)
    strips = rod.strips(4)
    assert sum(s.length for s in strips) == pytest.approx(1.4)
    assert sum(s.length * s.width for s in strips) == pytest.approx(rod.projected_area()[0])
    assert sum(s.length * s.z**6 for s in strips) == pytest.approx(2.0 * 0.7**7 / 7.0)  # exact to degree 7
    box = Box(size=(1.0, 0.6, 1.6))
    for k, face in enumerate(box.faces(3)):
        i, j = (k + 1) % 3, (k + 2) % 3
        areas = np.array(face.areas)
        assert areas.sum() == pytest.approx(box.projected_area()[k])
        moment = np.einsum("ij,i,j->", areas, np.square(face.i), np.square(face.j))
        assert moment == pytest.approx(box.size[i] ** 3 * box.size[j] ** 3 / 144.0)


@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("depth", [-0.45, -0.1, 0.2, 0.5])
def test_wet_part_agrees_with_monte_carlo(name, depth):
    solid, n = SOLIDS[name], 60_000
    x, inside = points_of(solid, n, 6)
    own, down = x[inside], directions(1, 12)[0]
    wet = own @ down + depth > 0.0
    fraction, moment, head = 0.0, np.zeros(3), 0.0
    for cell in solid.cells():
        share = cell.volume / solid.volume
        part, first, mean = cell.shape.wet(down, depth + np.array(cell.offset) @ down)
        fraction, head = fraction + share * part, head + share * mean
        moment = moment + share * (part * np.array(cell.offset) + first)
    # four standard errors, and the rounding of edges
    error = 4.0 * 0.5 / math.sqrt(len(own)) + 0.015
    size = float(solid.half_size.max())
    assert fraction == pytest.approx(wet.mean(), abs=error)
    assert moment == pytest.approx((own * wet[:, None]).mean(axis=0), abs=error * size)
    assert head == pytest.approx(np.maximum(own @ down + depth, 0.0).mean(), abs=error * size)


@pytest.mark.parametrize("name", CUT)
def test_rate_of_the_wet_part_is_its_derivative(name):
    h, n, x = 1e-6, directions(1, 12)[0], 0.11
    n_rate = np.cross([0.3, -0.2, 0.5], n)
    for cell in SOLIDS[name].cells():
        ahead, back = (cell.shape.wet(n + s * h * n_rate, x + s * h * 0.7)[0] for s in (1.0, -1.0))
        assert cell.shape.wet_rate(n, x, n_rate, 0.7) == pytest.approx((ahead - back) / (2.0 * h), rel=1e-6)


def test_cells_have_the_volume_and_moments_of_their_shape():
    for name in CUT:
        whole = SOLIDS[name].integrals()
        assert sum(cell.volume for cell in SOLIDS[name].cells()) == pytest.approx(whole.volume)
        second = sum(
            cell.volume * (cell.shape.integrals().second / cell.shape.volume + np.outer(cell.offset, cell.offset))
            for cell in SOLIDS[name].cells()
            if not getattr(cell.shape, "bore", 0.0)
        )
        if not getattr(SOLIDS[name], "bore", 0.0):
            assert second == pytest.approx(whole.second)


# -- ground --------------------------------------------------------------------------------------------------------------


def hills(x, y):
    return -3.0 + 0.4 * np.sin(1.1 * x + 0.3) * np.cos(0.8 * y) + 0.1 * x


def field(n=65):
    x, y = np.linspace(-2.0, 2.5, n), np.linspace(-1.5, 1.5, n - 8)
    return HeightField(x=x, y=y, heights=hills(x[:, None], y))


def test_plane_through_a_point():
    point, normal = np.array([0.1, 0.2, 0.3]), np.array([0.3, -0.5, -2.0])
    plane = Plane.through(point, normal)
    n = normal / np.linalg.norm(normal)
    for p in np.random.default_rng(1).normal(size=(20, 3)):
        value, out = plane.distance(p)
        assert value == pytest.approx(n @ (p - point), abs=1e-15)
        assert out == pytest.approx(n, abs=1e-15)
        assert bool(plane.inside(p[None])[0]) == (value <= 0.0)
        for d in directions(3):
            away = n @ (p - point) / -(n @ d)
            assert plane.ray(p, d) == (pytest.approx(away) if value >= 0.0 and n @ d < 0.0 else math.inf)


@pytest.mark.parametrize("down", [1.0, -1.0])
def test_height_field_agrees_with_its_function(down):
    """z down as in NED, and z up."""
    solid, d = field(), np.array([0.0, 0.0, down])
    rng = np.random.default_rng(3)
    for p in rng.uniform([-1.5, -1.0, 0.0], [2.0, 1.0, 1.0], (20, 3)):
        p[2] = -down * (hills(p[0], p[1]) + 0.2 * p[2])
        value, n = solid.distance(p, d)
        h = 1e-6
        slope = [(solid.distance(p + h * e, d)[0] - solid.distance(p - h * e, d)[0]) / (2.0 * h) for e in np.eye(3)]
        assert n == pytest.approx(slope, abs=1e-7)
        above = -down * p[2] - hills(p[0], p[1])
        hx, hy = ((hills(p[0] + h * (k == 0), p[1] + h * (k == 1)) - hills(p[0], p[1])) / h for k in (0, 1))
        assert value == pytest.approx(above / math.sqrt(1.0 + hx**2 + hy**2), abs=2e-5)  # the spline between grid lines
        b = np.array([0.2, -0.1, down]) / np.linalg.norm([0.2, -0.1, down])
        start = np.array([p[0], p[1], 0.0])
        at = start + solid.ray(start, b, d) * b
        assert -down * at[2] == pytest.approx(hills(at[0], at[1]), abs=2e-5)
    x, y = rng.uniform(-1.0, 1.0, (2, 50))
    assert solid.heights_at(x, y) == pytest.approx(hills(x, y), abs=2e-5)
    assert [float(solid.height_and_slopes(np.array([a, b, 0.0]))[0]) for a, b in zip(x, y, strict=True)] == pytest.approx(
        solid.heights_at(x, y), abs=1e-13
    )
    assert solid.inside(np.array([[0.3, 0.2, -4.0], [0.3, 0.2, -1.0]])).tolist() == [True, False]
    surface = solid.triangulate()
    assert np.all(surface.area_vectors[:, 2] > 0.0)
    assert surface.vertices[:, 2] == pytest.approx(hills(surface.vertices[:, 0], surface.vertices[:, 1]))


# -- placement and errors -------------------------------------------------------------------------------------------------


def test_origin_pointing_keeps_zeros_exact():
    rng = np.random.default_rng(0)
    for direction in [*np.eye(3), *-np.eye(3), *rng.normal(size=(5, 3)), (1, 2, 0), (0, -1, 2), (3, 0, -1)]:
        d = np.array(direction, dtype=float)
        z = Origin.pointing((1.0, 2.0, 3.0), d).R[:, 2]
        assert z == pytest.approx(d / np.linalg.norm(d), abs=4 * EPS)
        assert np.all(z[d == 0.0] == 0.0)


@pytest.mark.parametrize("kind", [Cylinder, Capsule])
def test_shape_between_two_points(kind):
    start, end = np.array([0.3, -0.2, 0.5]), np.array([0.9, 0.4, -0.1])
    placed = kind.between(start, end, radius=0.1)
    assert np.concatenate(placed.ends) == pytest.approx(np.concatenate([start, end]), abs=4 * EPS)
    assert placed.shape.length == pytest.approx(np.linalg.norm(end - start))
    with pytest.raises(ValueError, match="separate the ends"):
        kind.between(start, start, radius=0.1)


def test_operations_without_meaning_are_unsupported():
    calls = [
        (Plane(), "volume", lambda s: s.volume),
        (Plane(), "size", lambda s: s.half_size),
        (Plane(), "support", lambda s: s.support(np.ones(3))),
        (field(17), "volume", lambda s: s.inertia(1.0)),
        (field(17), "cells", lambda s: s.cells()),
        (Sphere(radius=1.0), "strips", lambda s: s.strips(4)),
        (Capsule(radius=1.0, length=1.0), "faces", lambda s: s.faces(4)),
        (Convex(points=CORNERS), "wet", lambda s: s.wet(np.ones(3), 0.0)),
    ]
    for shape, _, call in calls:
        with pytest.raises(UnsupportedFeature, match=shape.word):
            call(shape)


def test_mesh_has_no_traced_distance(wedge):
    solid = Mesh(file=wedge.name, folder=str(wedge.parent))
    with pytest.raises(UnsupportedFeature, match=r"wedge\.stl"):
        trace(lambda p: (np.array([solid.distance(p)[0]]),), {"p": (3,)})


def test_open_mesh_has_no_volume(tmp_path):
    box = Box(size=(1.0, 2.0, 3.0)).triangulate().merged()
    trimesh.Trimesh(box.vertices, box.faces[1:], process=False).export(tmp_path / "open.stl")
    with pytest.raises(ValueError, match=r"open\.stl is open"):
        _ = Mesh(file="open.stl", folder=str(tmp_path)).volume


@pytest.mark.parametrize(
    ("make", "field_name", "value"),
    [
        (lambda: Sphere(radius=0.0), "radius", 0.0),
        (lambda: Box(size=(1.0, -1.0, 1.0)), "size", [1.0, -1.0, 1.0]),
        (lambda: Box(size=(1.0, 0.4, 1.0), rounding=0.3), "rounding", 0.3),
        (lambda: Cylinder(radius=0.2, length=1.0, bore=0.2), "bore", 0.2),
        (lambda: Convex(points=((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0))), "points", None),
        (lambda: Mesh(file="a.stl", scale=(1.0, 0.0, 1.0)), "scale", [1.0, 0.0, 1.0]),
        (lambda: Mesh(file=" "), "file", " "),
        (lambda: Plane.through((0, 0, 0), (0, 0, 0)), "normal", [0, 0, 0]),
        (lambda: HeightField(x=(0.0, 1.0, 3.0), y=(0.0, 1.0), heights=((0, 0),) * 3), "x", [0.0, 1.0, 3.0]),
        (lambda: HeightField(x=(0.0, 1.0), y=(0.0, 1.0), heights=((0, 0), (0, 0, 0))), "heights", [0.0, 0.0, 0.0]),
    ],
)
def test_wrong_values_name_the_field(make, field_name, value):
    with pytest.raises(FieldError) as error:
        make()
    assert error.value.field == field_name
    assert value is None or error.value.value == value


def test_every_shape_is_named_in_files():
    assert set(geometry.SHAPES.values()) == {Box, Sphere, Cylinder, Capsule, Ellipsoid, Convex, Mesh, Plane, HeightField}


def test_triangles_mirrored_and_merged():
    surface = Box(size=(1.0, 2.0, 3.0)).triangulate()
    assert len(surface.merged().vertices) == 8
    mirrored = surface.merged().scaled((-1.0, 1.0, 1.0))
    assert mirrored.problems() == []
    assert Triangles(surface.vertices, surface.faces[:, ::-1]).merged().problems()[0].startswith("mesh is inside out")


def test_sizes_beyond_all_sense_are_rejected_by_field():
    """Powers of them would overflow."""
    for made, name in (
        (lambda: Sphere(radius=1e300), "radius"),
        (lambda: Cylinder(radius=1.0, length=1e160), "length"),
        (lambda: Box(size=(1.0, 1e10, 1.0)), "size"),
        (lambda: HeightField(x=(0.0, 1.0), y=(0.0, 1.0), heights=((0.0, 0.0), (0.0, -1e200))), "heights"),
    ):
        with pytest.raises(FieldError, match=rf"{name} is .*, must be at most 1e\+09"):
            made()
    assert math.isfinite(Cylinder(radius=1e9, length=1e9).integrals().second.max())
