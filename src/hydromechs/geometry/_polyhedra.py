"""Solids bounded by triangles: convex hulls of points, and mesh files."""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Annotated

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.registry import Hidden
from hydromechs.spatial import clamp, norm, where
from hydromechs.values import Array, Bound, Scalar, Vector3

from ._shape import PARALLEL, UP, Cell, Shape, first_entry, overlap
from ._triangles import SIDES, Integrals, Triangles, read_triangles

COPLANAR = 1e-9
"""Maximum of 1 − cosine of the angle between coplanar faces."""

Points = Annotated[tuple[tuple[float, float, float], ...], Bound(size=3, rows=0)]
"""Rows of three finite numbers."""


class Polyhedron(Shape):
    """A solid bounded by triangles, with operations on its closed `surface`."""

    surface: Triangles

    def integrals(self) -> Integrals:
        return self.surface.integrals()

    @property
    def center(self) -> Array:
        return 0.5 * (self.surface.vertices.min(axis=0) + self.surface.vertices.max(axis=0))

    @property
    def half_size(self) -> Array:
        return np.asarray(0.5 * np.ptp(self.surface.vertices, axis=0))

    def inside(self, points: Array) -> Array:
        return self.surface.inside(points)

    def support(self, direction: Array) -> Array:
        return np.asarray(self.surface.vertices[np.argmax(self.surface.vertices @ np.asarray(direction))])

    def triangulate(self, sides: int = SIDES) -> Triangles:
        return self.surface

    def cells(self) -> tuple[Cell, ...]:
        """Return an empty tuple, because the free surface cannot intersect these solids."""
        return ()


@dataclass(frozen=True, kw_only=True)
class Convex(Polyhedron):
    """Convex hull of points."""

    points: Points
    """Points, at least four, not all in one plane [m], shape (n, 3)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.points) < 4:
            raise self._wrong("points", "must contain at least four points")
        try:
            _ = self.surface
        except ValueError:
            raise self._wrong("points", "must not be in one plane") from None

    @cached_property
    def surface(self) -> Triangles:  # type: ignore[override]
        """Surface of the convex hull."""
        return Triangles(np.array(self.points), np.zeros((0, 3), dtype=int), "convex").convex_hull()

    @cached_property
    def planes(self) -> tuple[Array, Array]:
        """Outward normals (m, 3) and distances from the origin (m,) [m] of the faces; coplanar triangles are one face."""
        areas = self.surface.area_vectors
        sizes = np.linalg.norm(areas, axis=1)
        order = np.argsort(-sizes)
        normals = areas[order] / sizes[order, None]
        offsets = np.einsum("ni,ni->n", normals, self.surface.corners[order, 0])
        kept: list[int] = []
        for k, n in enumerate(normals):
            if all(n @ normals[j] < 1.0 - COPLANAR for j in kept):
                kept.append(k)
        return normals[kept], offsets[kept]

    def inner_edges(self, inset: float) -> list[tuple[Array, Array]]:
        """Return the edges of the solid with faces moved inwards by `inset` [m], as pairs of end points (3,) [m]."""
        from scipy.spatial import HalfspaceIntersection  # scipy is slow to import and rarely needed

        normals, offsets = self.planes
        offsets = offsets - inset
        middle = self.surface.vertices.mean(axis=0)
        if np.any(normals @ middle >= offsets):
            raise ValueError(f"convex shape: its edges cannot be moved inwards by {inset:g} m; make it thicker")
        corners = HalfspaceIntersection(np.column_stack([normals, -offsets]), middle).intersections
        near = 1e-9 * float(np.ptp(corners, axis=0).max())
        on = np.abs(corners @ normals.T - offsets) < near
        edges = []
        for i, j in combinations(range(len(normals)), 2):
            shared = corners[on[:, i] & on[:, j]]
            along = np.cross(normals[i], normals[j])
            if len(shared) >= 2 and np.ptp(shared @ along) > near * float(np.linalg.norm(along)):
                edges.append((shared[np.argmin(shared @ along)], shared[np.argmax(shared @ along)]))
        return edges

    def distance(self, x: Array, down: Array = UP) -> tuple[Scalar, Array]:
        """Return signed distance and normal: inside from the nearest face; outside from the nearest face, edge or corner."""
        surface = self.surface
        normals = surface.area_vectors / np.linalg.norm(surface.area_vectors, axis=1, keepdims=True)
        deepest: Scalar = -np.inf
        face = normals[0]
        square: Scalar = np.inf
        near = np.zeros(3)
        for (a, b, c), n in zip(surface.corners, normals, strict=True):
            height = n @ x - float(n @ a)
            nearer = height > deepest
            deepest, face = where(nearer, height, deepest), np.array([where(nearer, n[k], face[k]) for k in range(3)])
            within: Scalar = 1.0
            for start, end in ((a, b), (b, c), (c, a)):
                inward = np.cross(n, end - start)
                within = within * (inward @ x - float(inward @ start) >= 0.0)
            better = within * (height * height < square)
            square = where(better, height * height, square)
            near = np.array([where(better, x[k] - height * n[k], near[k]) for k in range(3)])
        edges = {tuple(sorted(pair)) for f in surface.faces.tolist() for pair in ((f[0], f[1]), (f[1], f[2]), (f[2], f[0]))}
        for i, j in sorted(edges):
            start, edge = surface.vertices[i], surface.vertices[j] - surface.vertices[i]
            t = clamp((edge @ x - float(edge @ start)) / float(edge @ edge), 0.0, 1.0)
            at = start + t * edge
            away = (x[0] - at[0]) ** 2 + (x[1] - at[1]) ** 2 + (x[2] - at[2]) ** 2
            better = away < square
            square = where(better, away, square)
            near = np.array([where(better, at[k], near[k]) for k in range(3)])
        outside = deepest > 0.0
        size = norm((x[0] - near[0], x[1] - near[1], x[2] - near[2], 1e-150))
        normal = np.array([where(outside, (x[k] - near[k]) / size, face[k]) for k in range(3)])
        return where(outside, size, deepest), normal

    def ray(self, x: Array, direction: Array, down: Array = UP) -> Scalar:
        """Return the distance along a ray; a point of the ray is inside if it is below the planes of all faces."""
        surface = self.surface
        parts = []
        for n, corner in zip(surface.area_vectors, surface.corners[:, 0], strict=True):
            n = n / np.linalg.norm(n)
            height, rate = n @ x - float(n @ corner), n @ direction
            rate = where(abs(rate) < PARALLEL, PARALLEL, rate)
            r = -height / rate
            parts.append((where(rate < 0.0, r, -np.inf), where(rate < 0.0, np.inf, r)))
        return first_entry(overlap(*parts))

    def projected_area(self) -> Array:
        return np.asarray(0.5 * np.abs(self.surface.area_vectors).sum(axis=0))


@dataclass(frozen=True, kw_only=True)
class Mesh(Polyhedron):
    """A mesh file: OBJ, STL, GLB, or DAE with `hydromechs[collada]`. `distance` and `ray` accept only numbers, not symbols."""

    file: str
    """Path of the mesh, relative to the model file."""
    scale: Vector3 = (1.0, 1.0, 1.0)
    """Scale along x, y, z, not 0 [-], shape (3,)."""
    folder: Annotated[str, Hidden()] = field(default="", compare=False)
    """Base folder of the path; for a loaded model, the folder of the model file."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.file, str) or not self.file.strip():
            raise FieldError("mesh.file", self.file, "must be the path of a mesh")
        if 0.0 in self.scale:
            raise self._wrong("scale", "must not be 0; use -1 for a mirror image")

    @property
    def path(self) -> Path:
        """Path of the mesh file."""
        return Path(self.folder) / self.file

    @cached_property
    def surface(self) -> Triangles:  # type: ignore[override]
        """Scaled triangles of the file; `problems` lists the defects that prevent a closed solid."""
        return read_triangles(self.path).scaled(self.scale)

    @cached_property
    def _closed(self) -> Triangles:
        problems = self.surface.problems()
        if problems:
            raise ValueError("; ".join(problems))
        return self.surface

    def integrals(self) -> Integrals:
        """Return volume, centroid and second moments; raise `ValueError` if the mesh is open, folded, inverted or flat."""
        return self._closed.integrals()

    def inside(self, points: Array) -> Array:
        return self._closed.inside(points)

    def distance(self, x: Array, down: Array = UP) -> tuple[Scalar, Array]:
        """Return signed distance and normal at a numeric point."""
        x = self._numbers(x, "distance")
        away = x - self._closed.nearest(x)
        size = float(np.linalg.norm(away))
        sign = -1.0 if bool(self._closed.inside(x[None])[0]) else 1.0
        return sign * size, sign * away / (size or 1.0)

    def ray(self, x: Array, direction: Array, down: Array = UP) -> Scalar:
        """Return the distance along a numeric ray."""
        x = self._numbers(x, "ray")
        return np.inf if bool(self._closed.inside(x[None])[0]) else self._closed.ray(x, direction)

    def _numbers(self, x: Array, what: str) -> Array:
        try:
            return np.array(x, dtype=float)
        except (TypeError, ValueError):
            raise self._no(f"compiled {what} (file {self.file!r})") from None

    def projected_area(self) -> Array:
        """Return the projected area along x, y and z from pixels [m²], shape (3,)."""
        return np.array([self.surface.silhouette(k) for k in range(3)])
