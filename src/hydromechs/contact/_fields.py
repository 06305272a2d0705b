"""Fields of convex solids: convex functions of a point, negative inside the solid, with derivatives along a line.

A contact force derives from a potential only if the penetration depth is continuous. The field of a box, cylinder or hull
is therefore the largest signed distance to its faces, smoothed over a band ε where two distances are nearly equal. The same
formula applies outside, at the surface and deep inside. Across the middle of a solid, the force reverses smoothly within
the band.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from hydromechs.geometry import Box, Capsule, Convex, Cylinder, Plane, Shape, Sphere
from hydromechs.spatial import clamp, maximum, minimum, where
from hydromechs.values import Array, Scalar

TINY = 1e-36
"""Regularisation under square roots [m²]."""
BLUNT = 0.05
"""Ratio of δ to the radius of a round shape; the field is smooth on the axis, with gradient 1 − δ²/2 on the surface."""
THIN = 1e-9
"""Maximum difference from the largest face distance at which other faces contribute, deep inside [m]."""


class Value(NamedTuple):
    """Value of a field at a point y + t u of a line, with derivatives."""

    value: Scalar
    """Field [m]."""
    gradient: Sequence[Scalar]
    """Gradient, shape (3,)."""
    slope: Scalar
    """Derivative with respect to t, gradient · u [m]."""
    bend: Scalar
    """Second derivative with respect to t, at least 0 [m]."""
    turn: Sequence[Scalar]
    """Derivative of the gradient with respect to t, shape (3,)."""


Field: TypeAlias = Callable[[Sequence[Scalar], Sequence[Scalar]], Value]
"""Function that evaluates a field at a point x with a direction u, in the frame of the shape."""


@lru_cache(256)  # equal shapes share the programs that search in their field
def field_of(shape: Shape, band: float, exact: bool = False) -> Field:
    """Return the field of a shape.

    Args:
        band: Width ε over which faces are blended [m].
        exact: Distance outside the edges, for features with a large radius.
    """
    combined = _exact if exact else _largest
    match shape:
        case Plane():
            return lambda x, u: Value(x[2], (0.0, 0.0, 1.0), u[2], 0.0, (0.0, 0.0, 0.0))
        case Sphere():
            return lambda x, u: _round(x, u, shape.radius)
        case Capsule():
            half = 0.5 * shape.length
            return lambda x, u: _around_axis(x, u, half, shape.radius)
        case Box():
            half_size = [float(h) for h in shape.half_size]
            return lambda x, u: combined([_axis(x, u, k, half_size[k], band) for k in range(3)], band)
        case Cylinder():
            r, h = shape.radius, 0.5 * shape.length
            return lambda x, u: combined([_round((x[0], x[1], 0.0), (u[0], u[1], 0.0), r), _axis(x, u, 2, h, band)], band)
        case Convex():
            normals, offsets = shape.planes
            return lambda x, u: combined([_plane(x, u, n, d) for n, d in zip(normals, offsets, strict=True)], band)
    raise TypeError(f"a {shape.word} has no field; use a box, cylinder, sphere, capsule or convex hull")


def _round(x: Sequence[Scalar], u: Sequence[Scalar], radius: float) -> Value:
    """Return √(|x|² + δ²) − √(R² + δ²), the distance from a sphere, smooth at the centre and 0 on the sphere [m]."""
    small = (BLUNT * radius) ** 2
    size = np.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + small)
    n = [a / size for a in x]
    slope = n[0] * u[0] + n[1] * u[1] + n[2] * u[2]
    bend = maximum(u[0] * u[0] + u[1] * u[1] + u[2] * u[2] - slope * slope, 0.0) / size
    turn = [(a - b * slope) / size for a, b in zip(u, n, strict=True)]
    return Value(size - math.sqrt(radius**2 + small), n, slope, bend, turn)


def _around_axis(x: Sequence[Scalar], u: Sequence[Scalar], half: float, radius: float) -> Value:
    """Return the distance from a capsule, from the nearest point of its axis |z| ≤ half [m]."""
    beyond = x[2] - clamp(x[2], -half, half)
    return _round((x[0], x[1], beyond), (u[0], u[1], u[2] * (beyond != 0.0)), radius)


def _axis(x: Sequence[Scalar], u: Sequence[Scalar], k: int, half: float, band: float) -> Value:
    """Return |x_k| − half, rounded within a band about x_k = 0 [m]."""
    c = clamp(x[k], -band, band)
    w = c / band
    gradient: list[Scalar] = [0.0, 0.0, 0.0]
    turn: list[Scalar] = [0.0, 0.0, 0.0]
    gradient[k], turn[k] = w, (x[k] * x[k] < band * band) * (u[k] / band)
    return Value(w * x[k] + 0.5 * (band - c * w) - half, gradient, w * u[k], turn[k] * u[k], turn)


def _plane(x: Sequence[Scalar], u: Sequence[Scalar], n: Array, d: float) -> Value:
    slope = sum(float(n[k]) * u[k] for k in range(3))
    return Value(sum(float(n[k]) * x[k] for k in range(3)) - float(d), n.tolist(), slope, 0.0, (0.0, 0.0, 0.0))


def _largest(parts: Sequence[Value], band: float) -> Value:
    """Return the blended maximum of fields; for two fields it is max(a, b) + (ε − |a − b|)₊²/(4 ε)."""
    out = parts[0]
    for b in parts[1:]:
        difference = out.value - b.value
        c = clamp(difference, -band, band)
        w = c / band
        first = 0.5 + 0.5 * w
        steeper = out.slope - b.slope
        change = (difference * difference < band * band) * (steeper * (0.5 / band))
        out = Value(
            b.value + first * difference + 0.25 * (band - c * w),
            [y + first * (x - y) for x, y in zip(out.gradient, b.gradient, strict=True)],
            b.slope + first * steeper,
            b.bend + first * (out.bend - b.bend) + change * steeper,
            [
                y + first * (x - y) + change * (g - h)
                for x, y, g, h in zip(out.turn, b.turn, out.gradient, b.gradient, strict=True)
            ],
        )
    return out


def _exact(parts: Sequence[Value], band: float) -> Value:
    """Return the larger of the blended field and the distance from edges rounded by ε.

    The distance is ‖(parts + ε)₊‖ − ε. Deep inside, this is the largest part, which is below the blended field. The distance
    from an edge between faces that are not orthogonal is not Euclidean, but such an edge touches through its own feature.
    """
    top = parts[0].value
    for part in parts[1:]:
        top = maximum(top, part.value)
    level = minimum(top, -band) - THIN
    beyond = [maximum(part.value - level, 0.0) for part in parts]
    size = np.sqrt(sum(b * b for b in beyond) + TINY)
    weights = [b / size for b in beyond]
    slope = sum(w * part.slope for w, part in zip(weights, parts, strict=True))
    square = sum((b > 0.0) * (part.slope * part.slope) for b, part in zip(beyond, parts, strict=True))
    bend = sum(w * part.bend for w, part in zip(weights, parts, strict=True)) + maximum(square - slope * slope, 0.0) / size
    gradient = [sum(w * part.gradient[k] for w, part in zip(weights, parts, strict=True)) for k in range(3)]
    rates = [(b > 0.0) * part.slope / size for b, part in zip(beyond, parts, strict=True)]
    turn = [
        sum(w * part.turn[k] + rate * part.gradient[k] for w, rate, part in zip(weights, rates, parts, strict=True))
        - slope / size * gradient[k]
        for k in range(3)
    ]
    smooth = _largest(parts, band)
    outside = size + level > smooth.value
    pick = lambda a, b: where(outside, a, b)  # noqa: E731
    return Value(
        pick(size + level, smooth.value),
        [pick(a, b) for a, b in zip(gradient, smooth.gradient, strict=True)],
        pick(slope, smooth.slope),
        pick(bend, smooth.bend),
        [pick(a, b) for a, b in zip(turn, smooth.turn, strict=True)],
    )
