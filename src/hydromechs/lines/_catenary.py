"""The elastic catenary: a line that hangs between two points, in closed form, for floats or symbols.

With the unstretched length L, the weight w per length and the axial stiffness EA as units, h = H/(wL), v = V/(wL), k = wL/EA:

    x/L = h (asinh(v/h) − asinh((v − 1)/h)) + h k
    z/L = √(h² + v²) − √(h² + (v − 1)²) + (v − ½) k

H is the horizontal tension, V the vertical tension at the end B, which lies x away and z higher than the end A (Irvine 1981).
The two are the gradient of a convex function of (h, v), the complementary energy: Newton's method with a bound on its steps
finds the solution, and a fixed number of them can be traced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hydromechs.spatial import clamp, maximum, where
from hydromechs.values import Array, Scalar

__all__ = ["CatenaryPull", "catenary_pull", "catenary_shape", "hanging_chain"]

STEPS = 14
"""Newton steps; 12 reach rounding for lines from slack to stretched by a third, at any slope."""
NEAREST = 1e-4
"""Horizontal distance below which the ends count as this far apart, in lengths of the line."""


class CatenaryPull(NamedTuple):
    """Forces at the ends of a hanging line."""

    H: Scalar
    """Horizontal tension, the same everywhere [N]."""
    V_A: Scalar
    """Vertical tension at A, where it is the line's pull upwards; below 0 where the line hangs down from A [N]."""
    V_B: Scalar
    """Vertical tension at B, where it is the line's pull downwards [N]."""


def catenary_pull(x: Scalar, z: Scalar, length: Scalar, weight: float, stiffness: float, steps: int = STEPS) -> CatenaryPull:
    """Tension at the ends of a line that hangs between A and B.

    Args:
        x: Horizontal distance of B from A, at least 0 [m].
        z: Height of B over A [m].
        length: Unstretched length L [m].
        weight: Weight in water per unstretched length w, above 0 [N/m].
        stiffness: EA [N].
        steps: Newton steps.
    """
    k = weight * length / stiffness
    X, Z = maximum(x / length, NEAREST), z / length
    slack = (1.0 - Z * Z) / (X * X) - 1.0
    lam = np.sqrt(maximum(3.0 * slack, 0.04))  # Jonkman's guess (2007), and that of a spring where the line is stretched more
    grown = np.exp(-2.0 * lam)
    apart = np.sqrt(X * X + Z * Z)
    spring = maximum(apart - 1.0, 0.0) / (k * apart)
    taut = spring * X > X / (2.0 * lam)
    u = np.log(where(taut, spring * X, X / (2.0 * lam)))
    v = where(taut, 0.5 + spring * Z, 0.5 * (Z * (1.0 + grown) / (1.0 - grown) + 1.0))
    for _ in range(steps):
        h = np.exp(u)
        r1, r2 = np.sqrt(h * h + v * v), np.sqrt(h * h + (v - 1.0) * (v - 1.0))
        spread = _log_sum(v, r1, h) - _log_sum(v - 1.0, r2, h)
        e_x = h * spread + h * k - X
        e_z = r1 - r2 + (v - 0.5) * k - Z
        x_h, x_v = spread - v / r1 + (v - 1.0) / r2 + k, h * (1.0 / r1 - 1.0 / r2)
        z_v = v / r1 - (v - 1.0) / r2 + k
        det = x_h * z_v - x_v * x_v
        u = u - clamp((z_v * e_x - x_v * e_z) / (det * h), -1.5, 1.5)
        v = v - clamp((x_h * e_z - x_v * e_x) / det, -1.0, 1.0)
    unit = weight * length
    return CatenaryPull(unit * np.exp(u), unit * (v - 1.0), unit * v)


def _log_sum(v: Scalar, r: Scalar, h: Scalar) -> Scalar:
    """asinh(v/h) with r = √(h² + v²), without cancellation."""
    size = np.log((abs(v) + r) / h)
    return where(v > 0.0, size, -size)


def catenary_shape(pull: CatenaryPull, s: Array, weight: float, stiffness: float) -> tuple[Array, Array]:
    """Horizontal distance from A and height over A at places along a line [m], shapes (n,) and (n,).

    Args:
        pull: What `catenary_pull` gives, floats.
        s: Unstretched length from A [m], shape (n,).
        weight: Weight in water per unstretched length [N/m].
        stiffness: EA [N].
    """
    V = pull.V_A + weight * s
    x = pull.H / weight * (np.arcsinh(V / pull.H) - np.arcsinh(pull.V_A / pull.H)) + pull.H * s / stiffness
    stretched = (pull.V_A * s + 0.5 * weight * s * s) / stiffness
    return x, (np.hypot(pull.H, V) - np.hypot(pull.H, pull.V_A)) / weight + stretched


def hanging_chain(x: float, z: float, rests: Array, weights: Array, stiffness: float) -> tuple[Array, Array]:
    """Places of the masses between the segments of a chain that hangs between A and B, as `catenary_shape`, floats.

    Segment k has the tension (H, V_A + the weights below it). The height of the last one over A grows with V_A, and where that
    is z, its distance from A grows with H: bisection finds both. Where it is too far even for H = 0, the chain is folded: both
    halves hang straight down, and the segment between them is slack.

    Args:
        x: Horizontal distance of B from A, above 0 [m].
        z: Height of B over A [m].
        rests: Unstretched lengths of the segments [m], shape (n + 1,).
        weights: Of the masses, in water [N], shape (n,).
        stiffness: EA [N].
    """
    carried = np.concatenate([[0.0], np.cumsum(weights)])

    def spans(H: float, V: float) -> tuple[Array, Array]:
        up = V + carried
        each = rests * (1.0 / np.sqrt(H * H + up * up) + 1.0 / stiffness)
        return H * each, up * each

    def vertical(H: float) -> float:
        most = 10.0 * stiffness + carried[-1]
        return _root(lambda V: float(spans(H, V)[1].sum()) - z, -most, most)

    def beyond(u: float) -> float:
        return float(spans(np.exp(u), vertical(np.exp(u)))[0].sum()) - x

    lowest, highest = float(np.log(1e-9 * carried[-1])), float(np.log(10.0 * stiffness))
    if beyond(lowest) >= 0.0:
        return _folded(x, z, rests, weights, stiffness)
    H = float(np.exp(_root(beyond, lowest, highest)))
    across, up = spans(H, vertical(H))
    return np.cumsum(across)[:-1], np.cumsum(up)[:-1]


def _folded(x: float, z: float, rests: Array, weights: Array, stiffness: float) -> tuple[Array, Array]:
    """The masses of a chain whose halves hang straight down, the slack segment as short as can be, see `hanging_chain`."""
    n = len(weights)

    def hung(rests: Array, weights: Array) -> Array:
        """Depths of masses below the end that they hang from."""
        return np.cumsum(rests * (1.0 + np.cumsum(weights[::-1])[::-1] / stiffness))

    halves = [(-hung(rests[:k], weights[:k]), z - hung(rests[:k:-1], weights[k:][::-1])[::-1]) for k in range(n + 1)]

    def stretched(k: int) -> float:
        low, high = halves[k]
        return float(np.hypot(x, (high[0] if k < n else z) - (low[-1] if k else 0.0)) / rests[k])

    low, high = halves[min(range(n + 1), key=stretched)]
    return np.repeat([0.0, x], [len(low), len(high)]), np.concatenate([low, high])


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that grows is 0, by bisection to rounding."""
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return middle
        low, high = (middle, high) if f(middle) < 0.0 else (low, middle)
