"""Signed distance from solids: terrain in the world, shapes on bodies. Exact, but for height fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch

import numpy as np

from hydromechs.model import Origin, shapes
from hydromechs.spatial import clamp, floor, lookup, norm, where
from hydromechs.values import Array, Scalar

from . import terrain
from ._law import positive

__all__ = ["signed_distance"]

NUDGE = 1e-150
"""Vanishes beside any length above 1e-134 m, and its square keeps divisions by a length finite."""


@singledispatch
def signed_distance(solid: terrain.Terrain | shapes.Shape, p: Array, down: Array) -> tuple[Scalar, Array]:
    """Distance of a point from the surface of a solid, below 0 inside, and its gradient, the unit normal out of the solid.

    It is exact, also outside edges and inside; where the nearest point is not unique one of them is taken. For a height
    field the distance is that from the tangent plane at the point below, (z − h) cos θ, so off the surface the gradient's
    length differs from 1 by about distance · curvature · slope.

    Args:
        solid: Terrain, or a shape of a body.
        p: The point, in the world for terrain, in body axes from the body origin for a shape [m], shape (3,).
        down: Unit vector down, constant, shape (3,).

    Returns:
        The distance [m], and its gradient by `p`, shape (3,).
    """
    raise TypeError(f"{solid!r} cannot be touched; contact knows planes, height fields, boxes, spheres, cylinders, capsules")


@signed_distance.register
def _(solid: terrain.Plane, p: Array, down: Array) -> tuple[Scalar, Array]:
    n = np.array(solid.normal) / np.linalg.norm(solid.normal)
    return n @ p - float(n @ solid.point), n


@signed_distance.register
def _(solid: terrain.Sphere, p: Array, down: Array) -> tuple[Scalar, Array]:
    return _sphere(p - np.array(solid.center), solid.radius)


@signed_distance.register
def _(solid: shapes.Sphere, p: Array, down: Array) -> tuple[Scalar, Array]:
    return _sphere(p - np.array(solid.origin.xyz), solid.radius)


@signed_distance.register(terrain.Box)
@signed_distance.register(shapes.Box)
def _(solid: terrain.Box | shapes.Box, p: Array, down: Array) -> tuple[Scalar, Array]:
    """Outside: the distance from the nearest point of the box. Inside: from the nearest face."""
    return _in_frame(solid.origin, p, lambda x: _corner(x, [0.5 * a for a in solid.size]))


@signed_distance.register(terrain.Cylinder)
@signed_distance.register(shapes.Cylinder)
def _(solid: terrain.Cylinder | shapes.Cylinder, p: Array, down: Array) -> tuple[Scalar, Array]:
    """A rectangle in the coordinates (distance from the axis, along the axis)."""

    def distance(x: Array) -> tuple[Scalar, Array]:
        x0 = x[0] + NUDGE
        rho = norm((x0, x[1]))
        value, (n_rho, n_z) = _corner((rho, x[2]), (solid.radius, 0.5 * solid.length))
        return value, np.array([n_rho * x0 / rho, n_rho * x[1] / rho, n_z])

    return _in_frame(solid.origin, p, distance)


@signed_distance.register
def _(solid: shapes.Capsule, p: Array, down: Array) -> tuple[Scalar, Array]:
    half = 0.5 * solid.length
    return _in_frame(solid.origin, p, lambda x: _sphere(np.array([x[0], x[1], x[2] - clamp(x[2], -half, half)]), solid.radius))


@signed_distance.register
def _(solid: terrain.HeightField, p: Array, down: Array) -> tuple[Scalar, Array]:
    """(z − h) c with c = 1/√(1 + h_x² + h_y²), and its full gradient: −c (h_x, h_y) along x and y, c up, and (z − h) ∇c."""
    (x0, dx), (y0, dy) = ((a[0], s) for a, s in zip((solid.x, solid.y), solid.spacing, strict=True))
    u, in_x = _held((p[0] - x0) / dx, len(solid.x) - 1.0)
    w, in_y = _held((p[1] - y0) / dy, len(solid.y) - 1.0)
    i, j = floor(u + 0.5), floor(w + 0.5)
    t, r = u - i, w - j
    row = len(solid.y) + 2.0
    at = (i + 1.0) * row + (j + 1.0)
    c = [[lookup(solid.coefficients, at + (a * row + b)) for a in (-1, 0, 1)] for b in (-1, 0, 1)]
    along_x = [_quadratic(three, t) for three in c]  # value, slope, curvature by x at three y
    h, hy, hyy = _quadratic([a[0] for a in along_x], r)
    hx, hxy, _ = _quadratic([a[1] for a in along_x], r)
    hxx, _, _ = _quadratic([a[2] for a in along_x], r)
    hx, hy, hxx, hxy, hyy = hx / dx, hy / dy, hxx / (dx * dx), hxy / (dx * dy), hyy / (dy * dy)
    hx, hy = in_x * hx, in_y * hy
    above = -(down @ p) - h
    cosine = 1.0 / np.sqrt(1.0 + hx * hx + hy * hy)
    bend = -above * cosine * cosine
    gx = in_x * (bend * (hx * hxx + hy * hxy)) - hx
    gy = in_y * (bend * (hx * hxy + hy * hyy)) - hy
    return above * cosine, cosine * (np.array([gx, gy, 0.0]) - down)


def _quadratic(c: Sequence[Scalar], t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Value, slope and curvature at t in [−½, ½] of the quadratic B-spline with the three coefficients around t = 0."""
    b, a = 0.5 * (c[2] - c[0]), 0.5 * (c[2] + c[0]) - c[1]
    return c[1] + a * (t * t + 0.25) + b * t, b + (a + a) * t, a + a


def _held(u: Scalar, n: float) -> tuple[Scalar, Scalar]:
    """u held between 0 and n, and the slope of that, 1 or 0."""
    return 0.5 * (abs(u) - abs(u - n) + n), where(u * (n - u) > 0.0, 1.0, 0.0)


def _in_frame(origin: Origin, p: Array, distance: Callable[[Array], tuple[Scalar, Array]]) -> tuple[Scalar, Array]:
    """`distance` in the frame `origin`, the normal turned back."""
    value, n = distance(origin.R.T @ (p - np.array(origin.xyz)))
    return value, origin.R @ n


def _sphere(x: Array, radius: float) -> tuple[Scalar, Array]:
    x = np.array([x[0], x[1], x[2] + NUDGE])  # a direction also at the centre
    size = norm(x)
    return size - radius, x / size


def _corner(x: Array | Sequence[Scalar], half: Sequence[float]) -> tuple[Scalar, Array]:
    """Signed distance and normal of the box |x_i| ≤ half_i in any number of dimensions."""
    over = [abs(a) - b for a, b in zip(x, half, strict=True)]
    sign = [1.0 - 2.0 * (a < 0.0) for a in x]
    beyond = [positive(a) for a in over]
    size = norm((*beyond, NUDGE))
    deepest = over[0]
    for a in over[1:]:
        deepest = where(a > deepest, a, deepest)
    outside = deepest > 0.0
    free, normal = 1.0, []
    for a, b, s in zip(over, beyond, sign, strict=True):
        nearest = free * (a >= deepest)  # the first of equal ones
        free = free - nearest
        normal.append(s * where(outside, b / size, nearest))
    return where(outside, size, deepest), np.array(normal)
