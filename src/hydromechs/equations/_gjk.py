"""Distance between two convex shapes by support points (Gilbert, Johnson and Keerthi 1988), in passes of fixed structure.

The Minkowski difference of two shapes is the set of all differences of their points. The distance of this set from the origin
equals the distance between the shapes. Each pass adds the support point of the set towards the origin to a simplex of four
corners, and computes the nearest point of the simplex. Candidates are the projections of the origin onto its corners, edges,
faces and interior (15 in total) that are inside these features. Every candidate is a point of the set, so that the distance
never increases, even if the simplex degenerates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from hydromechs import compiler
from hydromechs.compiler import Program
from hydromechs.errors import UnsupportedFeature
from hydromechs.geometry import Box, Capsule, Cylinder, Ellipsoid, Placed, Polyhedron, Sphere
from hydromechs.spatial import cross, maximum, minimum, norm, where
from hydromechs.values import Array, Scalar

PASSES = 200
"""Maximum number of passes; polytopes need about 10, smooth shapes 15 to 40."""
TOLERANCE = 1e-13
"""Error bound of a distance, relative to the size of the shapes, at which the passes end [-]."""
OVERLAP = 1e-14
"""Distance, relative to the size of the shapes, below which the cores overlap [-]; rounding errors are smaller."""
FLAT = 1e-24
"""Squared sine below which three corners are treated as collinear [-]."""


class Core(NamedTuple):
    """Convex shape as all points within a radius of a core."""

    support: Callable[[Array], Array]
    """Support function: the farthest point of the core [m], shape (3,), along a direction (3,); floats or symbols."""
    radius: float
    """Radius of the shape around the core [m]."""
    size: float
    """Upper bound of the distance between points of the shape and the origin of the parent [m]."""


class Nearest(NamedTuple):
    """Nearest points of two convex shapes, in the axes of the second shape's parent."""

    distance: Scalar
    """Distance [m]; if the cores overlap, minus the sum of the radii."""
    normal: Array
    """Unit vector from the second shape to the first; 0 if the cores overlap, shape (3,)."""
    first: Array
    """Nearest point of the first shape [m], shape (3,)."""
    second: Array
    """Nearest point of the second shape [m], shape (3,)."""


def core_of(piece: Placed) -> Core:
    """Return the core of a placed convex shape; a tube is treated as solid, a mesh as its convex hull."""
    shape, R, p = piece.shape, piece.origin.R, np.array(piece.origin.xyz)
    corners: Array | None = None
    radius, axes = 0.0, np.zeros(3)
    match shape:
        case Sphere():
            radius = shape.radius
        case Capsule():
            radius, axes = shape.radius, np.array([0.0, 0.0, 0.5 * shape.length])
        case Box():
            radius, axes = shape.rounding, shape.half_size - shape.rounding
        case Cylinder() | Ellipsoid():
            axes = shape.half_size
        case Polyhedron():
            corners = shape.surface.convex_hull().vertices
            axes = np.abs(corners).max(axis=0)
        case _:
            raise UnsupportedFeature(f"a {shape.word} is not convex and bounded; use bounded convex shapes for distances")

    def support(d: Array) -> Array:
        d = R.T @ d
        if corners is not None:
            return R @ _farthest(corners, d) + p
        if isinstance(shape, Ellipsoid):
            stretched = axes * d
            return R @ (axes * stretched / maximum(norm(stretched), 1e-150)) + p
        if isinstance(shape, Cylinder):
            across = maximum(norm(d[:2]), 1e-150)
            return R @ np.array([axes[0] * d[0] / across, axes[0] * d[1] / across, where(d[2] < 0.0, -axes[2], axes[2])]) + p
        return R @ np.array([where(d[k] < 0.0, -axes[k], axes[k]) if axes[k] else 0.0 for k in range(3)]) + p

    return Core(support, float(radius), float(np.linalg.norm(p) + np.linalg.norm(axes) + radius))


def _farthest(corners: Array, d: Array) -> Array:
    """Return the corner of corners (n, 3) farthest along a direction."""
    best, place = corners[0] @ d, corners[0]
    for corner in corners[1:]:
        reach = corner @ d
        farther = reach > best
        best = maximum(best, reach)
        place = np.array([where(farther, a, b) for a, b in zip(corner, place, strict=True)])
    return place


def nearest(a: Core, b: Core, R: Array, p: Array) -> Nearest:
    """Return the nearest points of two shapes; `R` (3, 3) and `p` (3,) [m] are axes and origin of the first shape's parent."""
    program = _pass(a, b)
    direction = p + 1e-9 * (1.0 + b.size) * np.array(
        [1.0, 0.6, 0.3]
    )  # an arbitrary direction that is nonzero also for equal poses
    first = R @ a.support(-(R.T @ direction)) + p
    difference = first - b.support(direction)
    corners, points = np.stack([difference] * 4), np.stack([first] * 4)
    state = (corners, points, np.array([1.0, 0.0, 0.0, 0.0]), difference)
    corners, points, weights, v, _ = compiler.iterate(program, PASSES, *state, R, p)
    size = norm(v)
    apart = size > OVERLAP * (a.size + b.size)
    scale = where(apart, 1.0 / maximum(size, 1e-150), 0.0)
    n = v * scale
    x = weights @ points
    return Nearest(where(apart, size, 0.0) - (a.radius + b.radius), n, x - a.radius * n, x - v + b.radius * n)


@cache
def _pass(a: Core, b: Core) -> Program:
    """Return one pass as a program.

    Results are the corners of the simplex (4, 3), the corresponding points of the first shape, weights, and the nearest point.
    """

    def one(corners: Array, points: Array, weights: Array, v: Array, R: Array, p: Array) -> tuple[Array, ...]:
        first = R @ a.support(-(R.T @ v)) + p
        new = first - b.support(v)
        square = v @ v
        gap = square - v @ new  # upper bound of |v| times the error of |v|
        least = weights[0]
        for k in (1, 2, 3):
            least = minimum(weights[k], least)
        free: Scalar = 1.0  # the new corner replaces the first corner with the minimum weight
        rows, places = [], []
        for k in range(4):
            here = free * (weights[k] <= least)
            free = free - here
            rows.append([where(here, new[i], corners[k, i]) for i in range(3)])
            places.append([where(here, first[i], points[k, i]) for i in range(3)])
        found, nearer, closest = _nearest_of_simplex(np.array(rows), corners, weights, v)
        size = a.size + b.size
        done = (gap <= TOLERANCE * size * norm(v)) + (square <= (OVERLAP * size) ** 2)
        stop = (done + (1.0 - nearer)) > 0.0
        keep = lambda old, fresh: np.array([where(stop, x, y) for x, y in zip(np.ravel(old), np.ravel(fresh), strict=True)])  # noqa: E731
        return (
            keep(corners, rows).reshape(4, 3),
            keep(points, places).reshape(4, 3),
            keep(weights, found),
            keep(v, closest),
            np.asarray(stop),
        )

    shapes = {"corners": (4, 3), "points": (4, 3), "weights": (4,), "v": (3,), "R": (3, 3), "p": (3,)}
    return compiler.trace(one, shapes, name="gjk_pass")


def _nearest_of_simplex(corners: Array, old: Array, weights: Array, v: Array) -> tuple[Array, Scalar, Array]:
    """Return weights (4,) of the simplex point nearest to the origin, 1 if it is nearer than v, else 0, and the point."""
    best: Scalar = v @ v
    found, closest, nearer = weights, v, 0.0
    for count in (1, 2, 3, 4):
        for face in combinations(range(4), count):
            local, valid = _projection(corners[list(face)])
            x = sum(w * corners[k] for w, k in zip(local, face, strict=True)) if count < 4 else np.zeros(3)
            square = x @ x
            better = valid * (square < best)
            best = where(better, square, best)
            full = [local[face.index(k)] if k in face else 0.0 for k in range(4)]
            found = np.array([where(better, w, u) for w, u in zip(full, found, strict=True)])
            closest = np.array([where(better, a, b) for a, b in zip(x, closest, strict=True)])
            nearer = maximum(nearer, better)
    return found, nearer, closest


def _projection(corners: Array) -> tuple[Sequence[Scalar], Scalar]:
    """Return weights of the projection of the origin onto the span of 1 to 4 corners, and 1 if it is inside, else 0.

    The weights are computed from edges instead of corners. Near convergence the corners of smooth shapes are close together,
    and products of corners would lose accuracy.
    """
    a = corners[0]
    edges = [corner - a for corner in corners[1:]]
    if not edges:
        return [1.0], 1.0
    e = edges[0]
    if len(edges) == 1:
        t = -(a @ e) / maximum(e @ e, 1e-300)
        return [1.0 - t, t], (t > 0.0) * (t < 1.0)
    f, n = edges[1], cross(e, edges[1])
    area = n @ n
    if len(edges) == 2:
        scale = 1.0 / maximum(area, 1e-300)
        v, w = (n @ cross(f, a)) * scale, (n @ cross(a, e)) * scale
        u = 1.0 - v - w
        return [u, v, w], (u > 0.0) * (v > 0.0) * (w > 0.0) * (area > FLAT * (e @ e) * (f @ f))
    g = edges[2]
    volume = n @ g
    solid = volume * volume > FLAT * area * (g @ g)
    scale = -1.0 / where(solid, volume, 1.0)
    v, w, z = (a @ cross(f, g)) * scale, (a @ cross(g, e)) * scale, (a @ n) * scale
    u = 1.0 - v - w - z
    return [u, v, w, z], (u > 0.0) * (v > 0.0) * (w > 0.0) * (z > 0.0) * solid
