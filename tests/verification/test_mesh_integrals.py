"""Volumes, centres and second moments of closed meshes against closed forms; what is wrong with a mesh is named."""

from itertools import pairwise
from math import pi

import numpy as np
import pytest

from hydromechs import Origin, geometry
from hydromechs.geometry import Triangles, read_triangles
from hydromechs.naval import SolidPart
from hydromechs.naval._parts import part_of, read_mesh_of, union
from hydromechs.spatial import matrix_from_rpy

TILT, AWAY = matrix_from_rpy((0.3, -0.7, 1.9)), np.array([3.0, -50.0, 0.4])
POSE = Origin((0.4, -1.3, 2.2), (0.5, -0.2, 2.7))


def prism(n, radius, length):
    """A prism over a regular polygon about z."""
    turn = 2 * pi * np.arange(n) / n
    ring = radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    ends = [np.column_stack([ring, np.full(n, z)]) for z in (-length / 2, length / 2)]
    vertices = np.concatenate([*ends, [[0, 0, -length / 2], [0, 0, length / 2]]])
    k, ahead = np.arange(n), (np.arange(n) + 1) % n
    rows = [(k, ahead, n + ahead), (k, n + ahead, n + k), (ahead, k, 0 * k + 2 * n), (n + k, n + ahead, 0 * k + 2 * n + 1)]
    return Triangles(vertices, np.concatenate([np.stack(row, axis=1) for row in rows]))


def close(found, volume, second):
    """To 1e-9 of the closed form, turned and shifted as the mesh was: 50 m away costs four digits of sixteen."""
    assert found.volume == pytest.approx(volume, rel=1e-9)
    np.testing.assert_allclose(found.center, AWAY, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.second, TILT @ np.diag(second) @ TILT.T, rtol=0, atol=1e-9 * max(second))


def test_a_box_has_its_closed_form_tilted_and_away():
    a, b, c = size = (0.7, 1.1, 0.3)
    part = SolidPart(shape=geometry.Box(size=size), origin=Origin(), name="box")
    V = a * b * c
    close(part.surface().moved(TILT, AWAY).integrals(), V, V / 12 * np.square(size))


@pytest.mark.parametrize("n", [3, 5, 40])
def test_a_prism_has_its_closed_form(n):
    r, l = 0.45, 1.7
    area = n / 2 * r**2 * np.sin(2 * pi / n)
    second = area * r**2 / 12 * (2 + np.cos(2 * pi / n))  # of a regular polygon, ∫ x² dA
    V = area * l
    close(prism(n, r, l).moved(TILT, AWAY).integrals(), V, (second * l, second * l, V * l**2 / 12))


def test_round_parts_converge_to_their_closed_forms():
    """Polyhedra inside a round solid lack volume in proportion to the square of their edges: halving gives a quarter."""
    import trimesh

    lack = []
    for n in (2, 3, 4):
        mesh = trimesh.creation.icosphere(subdivisions=n)
        solid = Triangles(mesh.vertices * (0.5, 0.8, 2.0), mesh.faces)
        lack.append(1 - solid.integrals().volume / (4 / 3 * pi * 0.5 * 0.8 * 2.0))
    # the square of the edges, to the next order
    np.testing.assert_allclose([lack[0] / lack[1], lack[1] / lack[2]], 4.0, rtol=0.03)
    # extrapolated to edges of length 0 (Romberg): the closed form to 1e-6
    once = [fine - (coarse - fine) / 3 for coarse, fine in pairwise(lack)]
    assert abs(once[1] + (once[1] - once[0]) / 15) < 1e-6


@pytest.mark.parametrize(
    "part",
    [
        SolidPart(shape=geometry.Box(size=(1.0, 2.0, 0.5)), origin=POSE, name=""),
        SolidPart(shape=geometry.Ellipsoid(axes=(1.0, 2.0, 0.5)), origin=POSE, name=""),
        SolidPart(shape=geometry.Cylinder(radius=0.3, length=2.0), origin=POSE, name=""),
        SolidPart(shape=geometry.Capsule(radius=0.3, length=2.0), origin=POSE, name=""),
    ],
    ids=lambda part: part.shape.word,
)
def test_parts_agree_with_points_inside_of_them(part):
    """Closed forms, inside test and surface of each part agree: by many points, and by the mesh of its surface."""
    rng = np.random.default_rng(3)
    x = part.points(rng, 200_000)
    whole = part.integrals()
    scale = np.sqrt(np.diag(whole.second) / whole.volume)
    # five standard errors of a mean
    assert (np.abs(x.mean(axis=0) - whole.center) < 5 * scale / np.sqrt(len(x))).all()
    found = np.cov(x.T, bias=True)
    np.testing.assert_allclose(found, whole.second / whole.volume, atol=10 * scale.max() ** 2 / np.sqrt(len(x)))
    surface = part.surface()
    assert not surface.problems()
    assert surface.integrals().volume == pytest.approx(whole.volume, rel=1e-12)
    np.testing.assert_allclose(surface.integrals().center, whole.center, atol=1e-12)
    inside = surface.inside(x[:500])
    assert inside.mean() > 0.93  # all but those in the shell between the round surface and its triangles


def test_what_parts_share_counts_once():
    """Two boxes that overlap by a known box; and two balls by a lens."""
    a = SolidPart(shape=geometry.Box(size=(1.0, 1.0, 1.0)), origin=Origin(), name="")
    b = SolidPart(shape=geometry.Box(size=(1.0, 1.0, 1.0)), origin=Origin((0.75, 0.0, 0.0)), name="")
    whole, shared, error = union((a, b))
    assert abs(whole.volume - 1.75) < 5 * error * 1.75
    np.testing.assert_allclose(whole.center, [0.375, 0.0, 0.0], atol=0.01)
    assert abs(shared - 0.25 / 1.75) < 0.02
    far = SolidPart(shape=geometry.Box(size=(1.0, 2.0, 1.0)), origin=Origin((0.0, 5.0, 0.0)), name="")
    whole, shared, error = union((a, far))
    assert (whole.volume, shared, error) == (3.0, 0.0, 0.0)
    np.testing.assert_allclose(whole.center, [0.0, 10.0 / 3.0, 0.0], rtol=1e-15)


def test_silhouettes():
    """The shadow of a tilted box is half the sum of its faces' shadows; of two boxes behind each other it is that of one."""
    solid = SolidPart(shape=geometry.Box(size=(0.5, 1.0, 2.0)).at((1.0, 2.0, 3.0), (0.4, 0.9, -0.3)), name="").surface()
    shadow = 0.5 * np.abs(solid.area_vectors).sum(axis=0)
    # pixels along the edges: 1/256 of the size
    np.testing.assert_allclose([solid.silhouette(k) for k in range(3)], shadow, rtol=5e-3)
    behind = solid.moved(np.eye(3), np.array([9.0, 0.0, 0.0]))
    both = Triangles(np.concatenate([solid.vertices, behind.vertices]), np.concatenate([solid.faces, behind.faces + 8]))
    assert both.silhouette(0) == pytest.approx(shadow[0], rel=5e-3)
    assert both.silhouette(1) == pytest.approx(2 * shadow[1], rel=0.03)


def test_errors_of_meshes_are_named():
    good = prism(7, 1.0, 2.0)
    assert good.problems() == []
    cases = {
        "is open: 3 edges": Triangles(good.vertices, good.faces[1:], "hull.stl"),
        "is inside out": Triangles(good.vertices, good.faces[:, ::-1], "hull.stl"),
        "inward-facing triangles next to outward-facing ones (3 edges)": Triangles(
            good.vertices, np.concatenate([good.faces[:1, ::-1], good.faces[1:]]), "hull.stl"
        ),
        "is flat": Triangles(good.vertices * (1, 1, 0), good.faces, "hull.stl"),
        "not finite": Triangles(good.vertices * (1, np.nan, 1), good.faces, "hull.stl"),
        "no triangles": Triangles(good.vertices, good.faces[:0], "hull.stl"),
    }
    for words, solid in cases.items():
        (fault,) = solid.problems()
        assert words in fault and fault.startswith("hull.stl")
    assert good.scaled(np.array([1.0, -1.0, 1.0])).problems() == []  # a mirrored mesh keeps its outside
    with pytest.raises(ValueError, match="hull.stl has no convex hull"):
        cases["is flat"].convex_hull()
    hull = cases["is open: 3 edges"].convex_hull()
    assert hull.problems() == []
    assert hull.integrals().volume == pytest.approx(good.integrals().volume, rel=1e-12)


def test_mesh_files(tmp_path):
    """STL has no shared corners: they are merged. Scale and origin of the shape hold."""
    solid = prism(9, 0.2, 0.6)
    lines = ["solid x"]
    for a, b, c in solid.corners:
        lines += [
            "facet normal 0 0 0",
            "outer loop",
            *(f"vertex {x[0]!r} {x[1]!r} {x[2]!r}" for x in (a.tolist(), b.tolist(), c.tolist())),
        ]
        lines += ["endloop", "endfacet"]
    (tmp_path / "hull.stl").write_text("\n".join([*lines, "endsolid x"]))
    read = read_triangles(tmp_path / "hull.stl")
    assert len(read.vertices) == len(solid.vertices)
    part = part_of(geometry.Placed(shape=geometry.Mesh(file="hull.stl", scale=(2.0, -1.0, 1.0)), origin=POSE), tmp_path)
    assert part.integrals().volume == pytest.approx(2 * solid.integrals().volume, rel=1e-6)
    np.testing.assert_allclose(part.integrals().center, POSE.xyz, atol=1e-6)
    with pytest.raises(FileNotFoundError, match="set the folder of the mesh"):
        read_mesh_of(tmp_path / "none.stl")
