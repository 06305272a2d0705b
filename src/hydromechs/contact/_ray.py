"""Where a ray meets terrain: closed forms, and safe steps over height fields."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from hydromechs.spatial import maximum, minimum, where
from hydromechs.values import Array, Scalar

from . import terrain
from ._distance import height_and_slopes

__all__ = ["ray_distance"]

PARALLEL = 1e-12
"""Least size of a component of a ray's direction that is divided by."""
STEPS = 12
"""Steps over a height field that cannot pass through it, before Newton's method takes over."""
NEWTON = 4
"""Steps of Newton's method."""
MET = 1e-6
"""Part of the distance that the last step may leave open over a height field."""


@singledispatch
def ray_distance(solid: terrain.Terrain, p: Array, b: Array, down: Array) -> Scalar:
    """Distance along a ray to the point where it enters a solid [m], infinite where it does not or starts inside.

    Args:
        solid: The terrain.
        p: Start of the ray, in world axes [m], shape (3,).
        b: Its direction, a unit vector in world axes, shape (3,).
        down: Unit vector down, constant, shape (3,).
    """
    raise TypeError(f"{solid!r} stops no rays; planes, height fields, boxes, spheres and cylinders do")


@ray_distance.register
def _(solid: terrain.Plane, p: Array, b: Array, down: Array) -> Scalar:
    """n·(p − p₀) / −n·b."""
    n = np.array(solid.normal) / np.linalg.norm(solid.normal)
    gap, closing = n @ p - float(n @ solid.point), -(n @ b)
    return where((gap >= 0.0) * (closing > PARALLEL), gap / maximum(closing, PARALLEL), math.inf)


@ray_distance.register
def _(solid: terrain.Sphere, p: Array, b: Array, down: Array) -> Scalar:
    """With x from the centre and x⊥ its part across the ray: −x·b − √(R² − |x⊥|²)."""
    x = p - np.array(solid.center)
    along = x @ b
    across = x - along * b
    inside = solid.radius**2 - across @ across
    return _entry(inside >= 0.0, -along - np.sqrt(maximum(inside, 0.0)))


@ray_distance.register
def _(solid: terrain.Box, p: Array, b: Array, down: Array) -> Scalar:
    """The ray is in the box where it is between all three pairs of faces."""
    x, d = solid.origin.R.T @ (p - np.array(solid.origin.xyz)), solid.origin.R.T @ b
    return _common([_slab(x[i], d[i], 0.5 * solid.size[i]) for i in range(3)])


@ray_distance.register
def _(solid: terrain.Cylinder, p: Array, b: Array, down: Array) -> Scalar:
    """Between its ends and within its radius: a r² + 2 k r + ρ² − R² ≤ 0."""
    x, d = solid.origin.R.T @ (p - np.array(solid.origin.xyz)), solid.origin.R.T @ b
    a = maximum(d[0] * d[0] + d[1] * d[1], PARALLEL**2)
    k = x[0] * d[0] + x[1] * d[1]
    inside = k * k - a * (x[0] * x[0] + x[1] * x[1] - solid.radius**2)
    half = np.sqrt(maximum(inside, 0.0))
    entry = _common([((-k - half) / a, (-k + half) / a), _slab(x[2], d[2], 0.5 * solid.length)])
    return where(inside >= 0.0, entry, math.inf)


@ray_distance.register
def _(solid: terrain.HeightField, p: Array, b: Array, down: Array) -> Scalar:
    """Steps of height over the ground / steepest approach that its slopes allow, never too long; then Newton's method."""
    (x_least, x_most), (y_least, y_most) = solid.slopes
    steepest = down @ b + maximum(x_least * b[0], x_most * b[0]) + maximum(y_least * b[1], y_most * b[1])
    fastest = maximum(steepest, PARALLEL)
    r: Scalar = 0.0
    for k in range(STEPS + NEWTON):
        x = p + r * b
        h, hx, hy, *_ = height_and_slopes(solid, x)
        above = -(down @ x) - h
        closing = fastest if k < STEPS else maximum(down @ b + hx * b[0] + hy * b[1], 0.1 * fastest)
        step = above / closing
        r = r + step
        if k == 0:
            starts = above >= 0.0
    return _entry(starts * (steepest > PARALLEL) * (abs(step) <= MET * r), r)


def _entry(meets: Scalar, r: Scalar) -> Scalar:
    """r where the ray meets the solid ahead."""
    return where(meets * (r >= 0.0), r, math.inf)


def _slab(x: Scalar, d: Scalar, half: float) -> tuple[Scalar, Scalar]:
    """From where to where along the ray |x + r d| ≤ half."""
    d = where(abs(d) < PARALLEL, PARALLEL, d)
    first, second = (-half - x) / d, (half - x) / d
    return minimum(first, second), maximum(first, second)


def _common(parts: Sequence[tuple[Scalar, Scalar]]) -> Scalar:
    """Where the part that all parts of a ray have in common begins, if there is one."""
    begin, end = parts[0]
    for a, b in parts[1:]:
        begin, end = maximum(begin, a), minimum(end, b)
    return _entry(begin <= end, begin)
