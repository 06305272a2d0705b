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

LEVEL = 2.0
"""Cells beyond the grid's edge from which on a height field is level."""
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
    """ExternalTerms: the distance from the nearest point of the box. Inside: from the nearest face."""
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
    h, hx, hy, hxx, hxy, hyy = height_and_slopes(solid, p)
    above = -(down @ p) - h
    cosine = 1.0 / np.sqrt(1.0 + hx * hx + hy * hy)
    bend = -above * cosine * cosine
    gx = bend * (hx * hxx + hy * hxy) - hx
    gy = bend * (hx * hxy + hy * hyy) - hy
    return above * cosine, cosine * (np.array([gx, gy, 0.0]) - down)


def height_and_slopes(solid: terrain.HeightField, p: Array) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]:
    """Height h of the ground at a point's x and y [m], and its derivatives h_x, h_y [-], h_xx, h_xy, h_yy [1/m].

    Args:
        solid: The ground.
        p: The point in world axes [m], shape (3,).
    """
    (x0, dx), (y0, dy) = ((a[0], s) for a, s in zip((solid.x, solid.y), solid.spacing, strict=True))
    u = clamp((p[0] - x0) / dx, -LEVEL, len(solid.x) - 1.0 + LEVEL)  # it is level there, so holding it makes no kink
    w = clamp((p[1] - y0) / dy, -LEVEL, len(solid.y) - 1.0 + LEVEL)
    i, j = floor(u), floor(w)
    row = len(solid.y) + 2.0 * terrain.RINGS
    at = (i + terrain.RINGS) * row + (j + terrain.RINGS)
    c = [[lookup(solid.coefficients, at + (a * row + b)) for a in (-1, 0, 1, 2)] for b in (-1, 0, 1, 2)]
    along_x = [_cubic(four, u - i) for four in c]  # value, slope, curvature by x at four y
    h, hy, hyy = _cubic([a[0] for a in along_x], w - j)
    hx, hxy, _ = _cubic([a[1] for a in along_x], w - j)
    hxx, _, _ = _cubic([a[2] for a in along_x], w - j)
    return h, hx / dx, hy / dy, hxx / (dx * dx), hxy / (dx * dy), hyy / (dy * dy)


def _cubic(c: Sequence[Scalar], t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Value, slope and curvature at t in [0, 1] of the cubic B-spline with the coefficients at −1, 0, 1 and 2."""
    back, ahead = c[0] - 2.0 * c[1] + c[2], c[1] - 2.0 * c[2] + c[3]  # curvatures at 0 and 1
    turn = ahead - back
    slope = 0.5 * (c[2] - c[0])
    value = c[1] + back / 6.0 + t * (slope + t * (0.5 * back + t * (turn / 6.0)))
    return value, slope + t * (back + 0.5 * t * turn), back + t * turn


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
