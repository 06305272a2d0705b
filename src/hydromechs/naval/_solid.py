"""Closed triangle meshes: their faults, volume, centre, second moments, and the area that they show to a flow.

The integrals follow from the divergence theorem: a closed mesh is a sum of tetrahedra between its triangles and one point,
each with the sign of its volume, so they are exact for the polyhedron whatever its shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hydromechs.geometry import read_mesh
from hydromechs.values import Array

__all__ = ["Integrals", "Solid", "convex_hull", "integrals", "is_inside", "read_solid", "silhouette", "solid_faults"]

PIXELS = 256
"""Pixels along the longer side of a silhouette."""
CHUNK = 2_000_000
"""Pairs of points and triangles that are looked at together."""


@dataclass(frozen=True, slots=True, eq=False)
class Solid:
    """A body bounded by triangles whose corners go round anticlockwise, seen from outside."""

    vertices: Array
    """Corners [m], shape (nv, 3)."""
    faces: Array
    """Numbers of the three corners of each triangle, shape (nf, 3)."""
    name: str = "mesh"
    """What it is, for messages: the path of its file."""

    def moved(self, R: Array, p: Array) -> Solid:
        """The same solid turned by R, shape (3, 3), then shifted by p [m], shape (3,)."""
        return Solid(self.vertices @ np.asarray(R).T + np.asarray(p), self.faces, self.name)

    def scaled(self, scale: Array) -> Solid:
        """The same solid with its coordinates times `scale`, shape (3,); a mirrored one keeps its outside."""
        faces = self.faces if np.prod(scale) > 0.0 else self.faces[:, ::-1]
        return Solid(self.vertices * np.asarray(scale), faces, self.name)

    @property
    def corners(self) -> Array:
        """Corners of each triangle [m], shape (nf, 3, 3)."""
        return self.vertices[self.faces]

    @property
    def area_vectors(self) -> Array:
        """Outward normal of each triangle times its area [m²], shape (nf, 3)."""
        a, b, c = np.moveaxis(self.corners, 1, 0)
        return 0.5 * np.cross(b - a, c - a)


@dataclass(frozen=True, slots=True, eq=False)
class Integrals:
    """What a solid is as a whole."""

    volume: float
    """Volume [m³]."""
    center: Array
    """Centroid [m], shape (3,)."""
    second: Array
    """Second moments ∫ x xᵀ dV about the centroid [m⁵], shape (3, 3)."""


def integrals(solid: Solid) -> Integrals:
    """Volume, centroid and second moments of a closed mesh.

        V = Σ v,  c = Σ v (a+b+c)/4 / V,  ∫ x xᵀ = Σ v/20 (a aᵀ + b bᵀ + c cᵀ + s sᵀ),  v = a·(b × c)/6,  s = a + b + c

    Args:
        solid: The mesh; what comes out means nothing if it is open, see `solid_faults`.
    """
    middle = solid.vertices.mean(axis=0)  # near the solid, so that nothing cancels
    x = solid.corners - middle
    v = np.einsum("ni,ni->n", x[:, 0], np.cross(x[:, 1], x[:, 2])) / 6.0
    s = x.sum(axis=1)
    volume = float(v.sum())
    first = 0.25 * v @ s
    second = (np.einsum("n,nki,nkj->ij", v, x, x) + np.einsum("n,ni,nj->ij", v, s, s)) / 20.0
    offset = first / volume if volume else first
    return Integrals(volume, middle + offset, second - volume * np.outer(offset, offset))


def solid_faults(solid: Solid) -> list[str]:
    """What keeps a mesh from having a volume, each with its remedy: open, folded, inverted; empty for a good one.

    Args:
        solid: The mesh, corners at the same place merged.
    """
    faces, name = solid.faces, solid.name
    if not len(faces):
        return [f"{name} has no triangles; give another mesh"]
    if not np.isfinite(solid.vertices).all():
        return [f"{name} has a corner that is not finite; export it again"]
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    n = len(solid.vertices)
    ahead, count = np.unique(edges[:, 0] * n + edges[:, 1], return_counts=True)
    back, count_back = np.unique(edges[:, 1] * n + edges[:, 0], return_counts=True)
    _, at, at_back = np.intersect1d(ahead, back, return_indices=True)
    lonely = ~np.isin(ahead, back)
    twisted = int((count[at] != count_back[at_back]).sum() + (count[lonely] > 1).sum())
    if twisted:
        return [
            f"{name} has triangles that face in next to triangles that face out ({twisted} edges); let your mesh program "
            "make all normals point out (Blender: Mesh, Normals, Recalculate Outside)"
        ]
    if lonely.any():
        place = ", ".join(f"{x:.4g}" for x in solid.vertices[int(ahead[lonely][0] // n)])
        return [
            f"{name} is open: {int(lonely.sum())} edges have a triangle on one side only, the first at ({place}) m; fill its "
            "holes (Blender: Mesh, Clean Up, Fill Holes), give a closed mesh of the body in `meshes`, or take "
            "hm.naval.convex_hull of it"
        ]
    volume, size = integrals(solid).volume, float(np.prod(np.ptp(solid.vertices, axis=0)))
    if volume < 0.0:
        return [f"{name} is inside out: its volume is {volume:.4g} m³; turn its normals around (Blender: Mesh, Normals, Flip)"]
    if volume <= 1e-12 * size or not size:
        return [f"{name} has no volume: it is flat; give a mesh of the solid, or a shape with a thickness"]
    return []


def read_solid(path: str | Path) -> Solid:
    """Return the triangles of all parts of a mesh file, with coincident corners merged.

    Args:
        path: The file: OBJ, STL, GLB or DAE.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: It is unreadable, or has no triangles.
    """
    from trimesh.util import concatenate  # takes a quarter of a second to import, and few models need it

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no mesh {str(path)!r}; give its folder with `folder`, or the mesh in `meshes`")
    mesh = concatenate(read_mesh(path))
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    faces = np.asarray(mesh.faces, dtype=int)
    a, b, c = faces.T
    return Solid(np.asarray(mesh.vertices, dtype=float), faces[(a != b) & (b != c) & (c != a)], path.name)


def convex_hull(solid: Solid | str | Path) -> Solid:
    """The smallest convex solid around a mesh, which is closed also where the mesh is not.

    Args:
        solid: The mesh, or the path of its file.

    Raises:
        ValueError: It is flat.
    """
    from scipy.spatial import ConvexHull, QhullError

    solid = solid if isinstance(solid, Solid) else read_solid(solid)
    try:
        hull = ConvexHull(solid.vertices)
    except (QhullError, ValueError):
        raise ValueError(f"{solid.name} has no convex hull with a volume: it is flat, empty or not finite") from None
    used = np.unique(hull.simplices)
    faces = np.searchsorted(used, hull.simplices)
    vertices = solid.vertices[used]
    out = Solid(vertices, faces, f"the convex hull of {solid.name}")
    inward = np.einsum("ni,ni->n", out.area_vectors, hull.equations[:, :3]) < 0.0
    faces[inward] = faces[inward, ::-1]
    return out


def is_inside(solid: Solid, points: Array) -> Array:
    """Whether points are inside of a closed mesh, by the solid angle that it fills, shape (n,).

    Args:
        solid: The mesh.
        points: Points [m], shape (n, 3).
    """
    out = np.zeros(len(points), dtype=bool)
    step = max(1, CHUNK // max(1, len(solid.faces)))
    for at in range(0, len(points), step):
        x = solid.corners[None] - points[at : at + step, None, None]
        r = np.linalg.norm(x, axis=-1)
        a, b, c = np.moveaxis(x, 2, 0)
        top = np.einsum("pni,pni->pn", a, np.cross(b, c))
        ab, bc, ca = (np.einsum("pni,pni->pn", u, w) for u, w in ((a, b), (b, c), (c, a)))
        bottom = r[..., 0] * r[..., 1] * r[..., 2] + ab * r[..., 2] + bc * r[..., 0] + ca * r[..., 1]
        out[at : at + step] = 2.0 * np.arctan2(top, bottom).sum(axis=1) > 2.0 * np.pi
    return out


def silhouette(solid: Solid, axis: int) -> float:
    """Area of the shadow of a mesh along a coordinate axis [m²], by pixels.

    Args:
        solid: The mesh.
        axis: The axis, 0, 1 or 2.
    """
    i, j = (axis + 1) % 3, (axis + 2) % 3
    x = solid.corners[:, :, [i, j]]
    low = x.min(axis=(0, 1))
    pixel = np.ptp(x.reshape(-1, 2), axis=0).max() / PIXELS
    x = (x - low) / pixel - 0.5  # centres of pixels are at whole numbers
    first, last = np.ceil(x.min(axis=1)).astype(int), np.floor(x.max(axis=1)).astype(int)
    shape = np.maximum(last - first + 1, 0)
    count = shape.prod(axis=1)
    full = np.zeros((PIXELS + 1, PIXELS + 1), dtype=bool)
    some = np.flatnonzero(count)
    groups = np.split(some, np.flatnonzero(np.diff(np.cumsum(count[some]) // CHUNK)) + 1)
    for of in groups:
        which = np.repeat(of, count[of])
        k = np.arange(which.size) - np.repeat(np.cumsum(count[of]) - count[of], count[of])
        pixels = first[which] + np.stack([k // shape[which, 1], k % shape[which, 1]], axis=1)
        a, b, c = np.moveaxis(x[which], 1, 0)
        sides = np.stack([_turn(a, b, pixels), _turn(b, c, pixels), _turn(c, a, pixels)])
        inside = (sides >= 0.0).all(axis=0) | (sides <= 0.0).all(axis=0)
        full[tuple(pixels[inside].T)] = True
    return float(full.sum() * pixel**2)


def _turn(a: Array, b: Array, p: Array) -> Array:
    """Twice the signed area of the triangles a, b, p in the plane, shape (n,)."""
    u, w = b - a, p - a
    return u[:, 0] * w[:, 1] - u[:, 1] * w[:, 0]
