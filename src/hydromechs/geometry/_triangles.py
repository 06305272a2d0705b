"""Surfaces of triangles, and operations on closed surfaces: integrals, containment, silhouette, convex hull.

The integrals follow from the divergence theorem: a closed mesh is a sum of tetrahedra between its triangles and one point,
with signed volumes. The integrals are therefore exact for a polyhedron of any shape.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hydromechs.values import Array

from ._mesh_checks import read_mesh

SIDES = 32
"""Default number of sides of a round surface."""
PIXELS = 256
"""Number of pixels along the longer side of a silhouette."""
CHUNK = 2_000_000
"""Number of pairs of points and triangles processed together."""


class Integrals(NamedTuple):
    """Mass properties of a solid of unit density."""

    volume: float
    """Volume [m³]."""
    center: Array
    """Centroid [m], shape (3,)."""
    second: Array
    """Second moments ∫ x xᵀ dV about the centroid [m⁵], shape (3, 3)."""

    def moved(self, R: Array, p: Array) -> Integrals:
        """Return the properties of the solid rotated by R, shape (3, 3), then shifted by p [m], shape (3,)."""
        return Integrals(self.volume, R @ self.center + p, R @ self.second @ R.T)

    def inertia(self, density: float) -> Array:
        """Return the moment of inertia about the centroid, tr(S) 1 − S [kg·m²], shape (3, 3), for a density [kg/m³]."""
        return density * (np.trace(self.second) * np.eye(3) - self.second)


@dataclass(frozen=True, slots=True, eq=False)
class Triangles:
    """A surface of triangles whose corners are ordered anticlockwise, seen from outside."""

    vertices: Array
    """Corners [m], shape (nv, 3)."""
    faces: Array
    """Indices of the three corners of each triangle, shape (nf, 3)."""
    name: str = "mesh"
    """Name in messages, such as the path of the mesh file."""

    def moved(self, R: Array, p: Array | tuple[float, ...]) -> Triangles:
        """Return the surface rotated by R, shape (3, 3), then shifted by p [m], shape (3,)."""
        return replace(self, vertices=self.vertices @ np.asarray(R).T + np.asarray(p))

    def scaled(self, scale: Array | tuple[float, ...]) -> Triangles:
        """Return the surface with coordinates multiplied by `scale`, shape (3,); mirroring preserves orientation."""
        faces = self.faces if np.prod(scale) > 0.0 else self.faces[:, ::-1]
        return Triangles(self.vertices * np.asarray(scale), faces, self.name)

    def merged(self) -> Triangles:
        """Return the surface with coincident corners merged, without the triangles that become degenerate."""
        size = np.abs(self.vertices).max(initial=0.0) or 1.0
        _, first, which = np.unique(np.round(self.vertices / (1e-9 * size)), axis=0, return_index=True, return_inverse=True)
        a, b, c = (faces := which.ravel()[self.faces]).T
        return Triangles(self.vertices[first], faces[(a != b) & (b != c) & (c != a)], self.name)

    @property
    def corners(self) -> Array:
        """Corners of each triangle [m], shape (nf, 3, 3)."""
        return self.vertices[self.faces]

    @property
    def area_vectors(self) -> Array:
        """Outward area vectors of the triangles, normal times area [m²], shape (nf, 3)."""
        a, b, c = np.moveaxis(self.corners, 1, 0)
        return 0.5 * np.cross(b - a, c - a)

    def integrals(self) -> Integrals:
        """Return volume, centroid and second moments of a closed surface; the results are meaningless for an open surface.

        V = Σ v,  c = Σ v (a+b+c)/4 / V,  ∫ x xᵀ = Σ v/20 (a aᵀ + b bᵀ + c cᵀ + s sᵀ),  v = a·(b × c)/6,  s = a + b + c
        """
        middle = self.vertices.mean(axis=0)  # a point near the solid avoids cancellation
        x = self.corners - middle
        v = np.einsum("ni,ni->n", x[:, 0], np.cross(x[:, 1], x[:, 2])) / 6.0
        s = x.sum(axis=1)
        volume = float(v.sum())
        first = 0.25 * v @ s
        second = (np.einsum("n,nki,nkj->ij", v, x, x) + np.einsum("n,ni,nj->ij", v, s, s)) / 20.0
        offset = first / volume if volume else first
        return Integrals(volume, middle + offset, second - volume * np.outer(offset, offset))

    def problems(self) -> list[str]:
        """Return the defects that prevent a closed volume (open, folded, inverted), each with a fix."""
        faces, name = self.faces, self.name
        if not len(faces):
            return [f"{name} has no triangles; use another mesh"]
        if not np.isfinite(self.vertices).all():
            return [f"{name} has a vertex that is not finite; export the mesh again"]
        edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        n = len(self.vertices)
        ahead, count = np.unique(edges[:, 0] * n + edges[:, 1], return_counts=True)
        back, count_back = np.unique(edges[:, 1] * n + edges[:, 0], return_counts=True)
        _, at, at_back = np.intersect1d(ahead, back, return_indices=True)
        lonely = ~np.isin(ahead, back)
        twisted = int((count[at] != count_back[at_back]).sum() + (count[lonely] > 1).sum())
        if twisted:
            return [
                f"{name} has inward-facing triangles next to outward-facing ones ({twisted} edges); recalculate the normals "
                "in a mesh editor (Blender: Mesh, Normals, Recalculate Outside)"
            ]
        if lonely.any():
            place = ", ".join(f"{x:.4g}" for x in self.vertices[int(ahead[lonely][0] // n)])
            return [
                f"{name} is open: {int(lonely.sum())} edges have only one triangle, the first at ({place}) m; fill "
                "the holes (Blender: Mesh, Clean Up, Fill Holes), use a closed mesh in `meshes`, or use convex_hull()"
            ]
        volume, size = self.integrals().volume, float(np.prod(np.ptp(self.vertices, axis=0)))
        if volume < 0.0:
            return [f"{name} is inside out, with a volume of {volume:.4g} m³; flip the normals (Blender: Mesh, Normals, Flip)"]
        if volume <= 1e-12 * size or not size:
            return [f"{name} is flat and has no volume; use a mesh of the solid, or a shape with a thickness"]
        return []

    def convex_hull(self) -> Triangles:
        """Return the closed convex hull of the surface; raise `ValueError` if the surface is flat."""
        from scipy.spatial import ConvexHull, QhullError  # scipy is slow to import and rarely needed

        try:
            hull = ConvexHull(self.vertices)
        except (QhullError, ValueError):
            raise ValueError(
                f"{self.name} has no convex hull with a volume, because the mesh is flat, empty or not finite"
            ) from None
        used = np.unique(hull.simplices)
        faces = np.searchsorted(used, hull.simplices)
        out = Triangles(self.vertices[used], faces, f"the convex hull of {self.name}")
        inward = np.einsum("ni,ni->n", out.area_vectors, hull.equations[:, :3]) < 0.0
        faces[inward] = faces[inward, ::-1]
        return out

    def inside(self, points: Array) -> Array:
        """Return True for each point inside the closed surface, from the solid angle; points [m] (n, 3), result (n,)."""
        out = np.zeros(len(points), dtype=bool)
        step = max(1, CHUNK // max(1, len(self.faces)))
        for at in range(0, len(points), step):
            x = self.corners[None] - points[at : at + step, None, None]
            r = np.linalg.norm(x, axis=-1)
            a, b, c = np.moveaxis(x, 2, 0)
            top = np.einsum("pni,pni->pn", a, np.cross(b, c))
            ab, bc, ca = (np.einsum("pni,pni->pn", u, w) for u, w in ((a, b), (b, c), (c, a)))
            bottom = r[..., 0] * r[..., 1] * r[..., 2] + ab * r[..., 2] + bc * r[..., 0] + ca * r[..., 1]
            out[at : at + step] = 2.0 * np.arctan2(top, bottom).sum(axis=1) > 2.0 * np.pi
        return out

    def nearest(self, point: Array) -> Array:
        """Return the point of the surface nearest to a point [m], shape (3,) (Ericson 2005, sec. 5.1.5)."""
        a, b, c = np.moveaxis(self.corners, 1, 0)
        ab, ac, p = b - a, c - a, np.asarray(point, dtype=float)

        def dot(u: Array, w: Array) -> Array:
            return np.einsum("ni,ni->n", u, w)

        with np.errstate(divide="ignore", invalid="ignore"):  # degenerate triangles: the nearest edge decides
            d = [dot(edge, p - corner) for corner in (a, b, c) for edge in (ab, ac)]
            va, vb, vc = d[2] * d[5] - d[4] * d[3], d[4] * d[1] - d[0] * d[5], d[0] * d[3] - d[2] * d[1]
            inner = a + ab * (vb / (va + vb + vc))[:, None] + ac * (vc / (va + vb + vc))[:, None]
            flat = (va >= 0.0) & (vb >= 0.0) & (vc >= 0.0) & (va + vb + vc > 0.0)
            near = [inner[flat]]
            for start, edge in ((a, ab), (a, ac), (b, c - b)):
                t = np.clip(np.nan_to_num(dot(edge, p - start) / dot(edge, edge)), 0.0, 1.0)
                near.append(start + t[:, None] * edge)
        all_near = np.concatenate(near)
        return np.asarray(all_near[np.argmin(np.square(all_near - p).sum(axis=1))])

    def ray(self, point: Array, direction: Array) -> float:
        """Return the distance along a ray to the first triangle hit from outside [m]; infinite if there is none.

        The ray has an origin [m] and a unit direction, shape (3,) each.
        """
        a, b, c = np.moveaxis(self.corners, 1, 0)
        d, edge, other, start = np.asarray(direction, dtype=float), b - a, c - a, np.asarray(point, dtype=float) - a
        across = np.cross(d, other)
        size = np.einsum("ni,ni->n", edge, across)
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.einsum("ni,ni->n", start, across) / size
            w = np.cross(start, edge) @ d / size
            r = np.einsum("ni,ni->n", other, np.cross(start, edge)) / size
            met = (size > 0.0) & (u >= 0.0) & (w >= 0.0) & (u + w <= 1.0) & (r >= 0.0)
        return float(r[met].min(initial=np.inf))

    def silhouette(self, axis: int) -> float:
        """Return the projected area along coordinate axis 0, 1 or 2 from pixels [m²]."""
        i, j = (axis + 1) % 3, (axis + 2) % 3
        x = self.corners[:, :, [i, j]]
        low = x.min(axis=(0, 1))
        pixel = np.ptp(x.reshape(-1, 2), axis=0).max() / PIXELS
        x = (x - low) / pixel - 0.5  # centres of pixels are at integers
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
    """Return twice the signed areas of the planar triangles a, b, p, shape (n,)."""
    u, w = b - a, p - a
    return u[:, 0] * w[:, 1] - u[:, 1] * w[:, 0]


def read_triangles(path: str | Path) -> Triangles:
    """Return the triangles of all parts of a mesh file, with coincident corners merged; for errors, see `read_mesh`."""
    from trimesh.util import concatenate  # importing it takes 0.25 s, and it is rarely needed

    path = Path(path)
    mesh = concatenate(read_mesh(path))
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    faces = np.asarray(mesh.faces, dtype=int)
    a, b, c = faces.T
    return Triangles(np.asarray(mesh.vertices, dtype=float), faces[(a != b) & (b != c) & (c != a)], path.name)


def joined(parts: Iterable[Triangles]) -> Triangles:
    """Return one surface that joins several surfaces."""
    parts = list(parts)
    starts = np.cumsum([0, *(len(p.vertices) for p in parts)])
    if not parts:
        return Triangles(np.zeros((0, 3)), np.zeros((0, 3), dtype=int))
    faces = [p.faces + start for p, start in zip(parts, starts, strict=False)]
    return Triangles(np.concatenate([p.vertices for p in parts]), np.concatenate(faces))


def quads(n: int, m: int, *, closed: bool = False) -> Array:
    """Return the triangles of a grid of n × m points, row-major; `closed` connects the last column to the first."""
    i, j = np.meshgrid(np.arange(n - 1), np.arange(m if closed else m - 1), indexing="ij")
    a, b = i * m + j, i * m + (j + 1) % m
    c, d = a + m, b + m
    return np.stack([np.stack([a, c, d], axis=-1), np.stack([a, d, b], axis=-1)], axis=2).reshape(-1, 3)


def grid(x: Array, y: Array, z: Array) -> Triangles:
    """Return a surface of heights (nx, ny) over grid lines (nx,) and (ny,) [m], with outward normals towards +z."""
    X, Y = np.meshgrid(x, y, indexing="ij")
    return Triangles(np.stack([X.ravel(), Y.ravel(), z.ravel()], axis=1), quads(len(x), len(y)))


def revolved(profile: Array | list[tuple[float, float]], sides: int = SIDES, *, sharp: bool = False) -> Triangles:
    """Return the surface of revolution of a profile about z: radius and z of points (n, 2) [m], outside on the right.

    A `sharp` profile contains each corner twice, so that shading keeps sharp edges.
    """
    points = np.asarray(profile, dtype=float)
    if sharp:
        points = np.concatenate([points[:1], np.repeat(points[1:-1], 2, axis=0), points[-1:]])
    r, z = points.T
    angle = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    corners = np.concatenate([r[:, None, None] * ring, np.broadcast_to(z[:, None, None], (len(r), sides, 1))], axis=2)
    return Triangles(corners.reshape(-1, 3), quads(len(r), sides, closed=True)[:, ::-1])
