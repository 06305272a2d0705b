"""The elastic catenary: closed form of a line that hangs between two points, for floats or symbols.

With the unstretched length L, the weight w per length and the axial stiffness EA as units, h = H/(wL), v = V/(wL), k = wL/EA:

    x/L = h (asinh(v/h) − asinh((v − 1)/h)) + h k
    z/L = √(h² + v²) − √(h² + (v − 1)²) + (v − ½) k

H is the horizontal tension and V the vertical tension at end B, at horizontal distance x from end A and height z above it
(Irvine 1981). Let 2λ be the difference of the two asinh. Then x/L = h (2λ + k) and z/L = (v − ½) (2 tanh λ + k).
Elimination of h and v gives one equation in λ:

    S(λ) = (a z/L)² + (b x/L)² = 1,    a = 2 tanh λ/(2 tanh λ + k),    b = 2 sinh λ/(2λ + k)

Both a and b increase from 0 with λ, so that a unique solution exists at any distance. No terms cancel for large EA.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hydromechs.spatial import clamp, maximum, minimum, where
from hydromechs.values import Array, Scalar


class CatenaryPull(NamedTuple):
    """Forces at the ends of a hanging line."""

    H: Scalar
    """Horizontal tension, constant along the line [N]."""
    V_A: Scalar
    """Vertical tension at A, positive if the line pulls A upwards; negative if the line hangs down from A [N]."""
    V_B: Scalar
    """Vertical tension at B, positive if the line pulls B downwards [N]."""


STEPS = 6
"""Number of Newton steps; five reach rounding errors, see docs/notes/tethers.md."""
NEAREST = 1e-9
"""Ratio of horizontal distance to line length below which H is proportional to the distance [-]."""
ROUNDED = 4e-15
"""Tolerance of S − 1 [-]."""


def catenary_pull(x: Scalar, z: Scalar, length: Scalar, weight: float, stiffness: float, steps: int = STEPS) -> CatenaryPull:
    """Return the forces at the ends of a line that hangs between A and B.

    `x`: horizontal distance of B from A, at least 0 [m]; `z`: height of B above A [m]; `length`: unstretched length L [m];
    `weight`: weight w in water per unstretched length, above 0 [N/m]; `stiffness`: EA [N].
    """
    k = weight * length / stiffness
    X, Z = maximum(x / length, NEAREST), z / length
    apart = np.sqrt(X * X + Z * Z)
    low, high = minimum(k / (2.4 * apart), 1.0), 2.0 * maximum(np.log((2.0 + k) / X), 1.0) + 2.0
    lam = clamp(_guess(X, Z, apart, k), low, high)
    for _ in range(steps):
        S, step = _step(lam, X, Z, k)
        low, high = where(S < 1.0, lam, low), where(S < 1.0, high, lam)
        there = lam + step
        middle = where(high < 1.0, np.sqrt(low * high), 0.5 * (low + high))
        there = where(there > low, where(there < high, there, middle), middle)
        lam = where(abs(S - 1.0) < ROUNDED, lam, there)
    unit = weight * length
    c = Z / (2.0 * np.tanh(lam) + k)
    return CatenaryPull(unit * minimum(x / length, X) / (2.0 * lam + k), unit * (c - 0.5), unit * (c + 0.5))


def _guess(X: Scalar, Z: Scalar, apart: Scalar, k: Scalar) -> Scalar:
    """Return an estimate of λ, within a factor of 2.4 of the solution, or of 20 for nearly vertical lines.

    For small λ, apart + X² λ²/(6 apart) = 1 + k/(2λ). For large λ, e^λ/(2λ + k) X = √(1 − a² Z²), with a for tanh λ = 1.
    """
    cube, more, pull = X * X / (6.0 * apart), apart - 1.0, 0.5 * k
    root = (pull / cube) ** (1.0 / 3.0)
    slack = np.sqrt(maximum(-more, 0.0) / cube) + root
    few = where(more > 0.0, minimum(pull / maximum(more, 1e-300), root), slack)
    hung = 2.0 * Z / (2.0 + k)
    y = np.sqrt(maximum(1.0 - hung * hung, 1e-4)) / X
    many = np.log(y + 2.0) + 1.0
    for _ in range(2):
        many = np.log(y * (2.0 * many + k) + 1.0)
    return where(few < 1.0, few, minimum(few, many))


def _step(lam: Scalar, X: Scalar, Z: Scalar, k: Scalar) -> tuple[Scalar, Scalar]:
    """Return S(λ), and a Newton step in λ.

    The step uses a nearly linear function: 1/√S of coth λ if stretch dominates, and ln(b² X²/(1 − a² Z²)) of λ if shape
    dominates. The function with the larger change is used.
    """
    t, s = np.tanh(lam), np.sinh(lam)
    stretched, spread = 2.0 * t + k, 2.0 * lam + k
    a, b = 2.0 * t / stretched, 2.0 * s / spread
    up, across = Z * Z * a * a, X * X * b * b
    S, rest = up + across, 1.0 - up
    by_stretch = Z * Z * a * (2.0 * k * (1.0 - t * t)) / (stretched * stretched)  # half of the rate of up
    by_shape = 1.0 / t - 2.0 / spread  # half of the rate of ln across
    root = np.sqrt(S)
    plain = S * (1.0 - root) / (by_stretch + across * by_shape)  # step in λ for 1/√S
    r = clamp(plain / maximum(1.0 - plain / t, 1e-9), -0.999999, 0.999999)
    taut = where(abs(r) < 0.1, r * (1.0 + r * r / 3.0), 0.5 * np.log((1.0 + r) / (1.0 - r)))  # atanh: the same in coth λ
    left = maximum(rest, 1e-16)
    shaped = -0.5 * np.log(across / left) / (by_shape + by_stretch / left)
    return S, where(rest * by_shape > by_stretch, shaped, taut)


def catenary_shape(pull: CatenaryPull, s: Array, weight: float, stiffness: float) -> tuple[Array, Array]:
    """Return the horizontal distance from A and the height above A of points along a line [m], shape (n,) each.

    `pull`: result of `catenary_pull` as floats; `s`: unstretched length from A [m], shape (n,); `weight`: weight in water per
    unstretched length [N/m]; `stiffness`: EA [N].
    """
    V_A, V = pull.V_A, pull.V_A + weight * s
    far = max(pull.H, 1e-12 * weight * float(np.max(s)))  # V/H remains finite if the line hangs straight down
    both = np.hypot(pull.H, V) + np.hypot(pull.H, V_A)
    half = weight * s / both  # tanh of half of the difference of the two asinh, which does not cancel in a straight line
    spread = np.where(half < 0.5, 2.0 * np.arctanh(np.minimum(half, 0.5)), np.arcsinh(V / far) - np.arcsinh(V_A / far))
    stretched = (V_A * s + 0.5 * weight * s * s) / stiffness
    return pull.H / weight * spread + pull.H * s / stiffness, half * (V + V_A) / weight + stretched


def hanging_chain(x: float, z: float, rests: Array, weights: Array, stiffness: float) -> tuple[Array, Array]:
    """Return the positions of the masses of a chain that hangs between A and B, as floats; see `catenary_shape`.

    The tension in segment k is (H, V_A + sum of the weights below it). The height of the upper end increases with V_A. At
    height z, the distance of the upper end increases with H. Bisection finds both. If the distance is too large even for H
    = 0, the chain is folded: both halves hang straight down, and the segment between the halves is slack.

    B is at horizontal distance x > 0 from A and height z above A [m]. `rests` are the unstretched lengths of the segments [m],
    shape (n + 1,), `weights` the weights of the masses in water [N], shape (n,), and `stiffness` is EA [N].
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
    """Return the positions of a chain whose halves hang straight down, with the shortest slack segment, see `hanging_chain`."""
    n = len(weights)

    def hung(rests: Array, weights: Array) -> Array:
        """Return the depths of masses below the end that carries them."""
        return np.cumsum(rests * (1.0 + np.cumsum(weights[::-1])[::-1] / stiffness))

    halves = [(-hung(rests[:k], weights[:k]), z - hung(rests[:k:-1], weights[k:][::-1])[::-1]) for k in range(n + 1)]

    def stretched(k: int) -> float:
        low, high = halves[k]
        return float(np.hypot(x, (high[0] if k < n else z) - (low[-1] if k else 0.0)) / rests[k])

    low, high = halves[min(range(n + 1), key=stretched)]
    return np.repeat([0.0, x], [len(low), len(high)]), np.concatenate([low, high])


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    """Return the zero of an increasing function, by bisection to rounding error."""
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return middle
        low, high = (middle, high) if f(middle) < 0.0 else (low, middle)
