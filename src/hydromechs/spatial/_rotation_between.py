"""The rotation vector from one orientation to another, and its rate."""

from __future__ import annotations

import numpy as np

from hydromechs.values import Array, Scalar

from ._choice import where
from ._rotation import cross, quaternion_product

TURN_SERIES = (1.0 / 12.0, 1.0 / 720.0, 1.0 / 30240.0, 1.0 / 1209600.0, 1.0 / 47900160.0)
"""(1 − (θ/2) cot(θ/2))/θ² in powers of θ²; cut off, it is exact to 1e-9 at θ = 1 and to 1e-15 at 0.25."""


def rotation_between(a: Array, b: Array) -> Array:
    """Rotation vector that leads from one unit quaternion to another, in the axes of the first [rad], shape (3,)."""
    return turn_between(a, b)[0]


def turn_between(a: Array, b: Array) -> tuple[Array, Scalar]:
    """Rotation vector (3,) that leads from one unit quaternion to another, in the axes of the first, and (θ/2) cot(θ/2).

    With a⁻¹ b = (w, ε), w = cos(θ/2) and |ε| = sin(θ/2) the vector is θ ε/|ε|. θ comes from tan(θ/4) = |ε|/(1 + w), halved
    twice more by tan(α/2) = tan α/(1 + √(1 + tan² α)), and the series of the arc tangent, which ends at rounding for
    tan(θ/16) < 0.2. So it is smooth at θ = 0, where θ/|ε| is not divided out, and needs no function that lanes would have to
    compute one by one.
    """
    w, x, y, z = quaternion_product(np.array([a[0], -a[1], -a[2], -a[3]]), b)
    sign = where(w >= 0.0, 1.0, -1.0)
    w = sign * w
    square = x * x + y * y + z * z
    scale = 1.0 / (np.sqrt(w * w + square) + w)
    for _ in range(2):
        scale = scale / (1.0 + np.sqrt(1.0 + square * scale * scale))
    tangent = square * scale * scale
    series = 0.0
    for k in reversed(range(12)):
        series = series * tangent + (-1.0) ** k / (2.0 * k + 1.0)
    factor = (16.0 * sign) * scale * series
    return np.array([factor * x, factor * y, factor * z]), 8.0 * scale * series * w


def turning_rate(u: Array, w: Array) -> Array:
    """Rate of the exponential coordinates u of an orientation that turns with ω, shape (3,).

    u̇ = ω + ½ u × ω + c u × (u × ω), c = (1 − (θ/2) cot(θ/2))/θ², θ = |u|, the inverse of the derivative of the exponential map.
    """
    square = u @ u
    c = TURN_SERIES[-1]
    for coefficient in reversed(TURN_SERIES[:-1]):
        c = c * square + coefficient
    across = cross(u, w)
    return w + 0.5 * across + c * cross(u, across)
