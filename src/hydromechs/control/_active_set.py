"""Thrust allocation in NumPy operations, for compiled controllers."""

from __future__ import annotations

from functools import partial

import numpy as np

from hydromechs.actuation import Allocation, Allocator
from hydromechs.compiler import iterate, trace, when
from hydromechs.spatial import any_of, clamp, maximum, norm, where
from hydromechs.values import Array, Scalar

SMALL = 1e-10
"""Singular value, over the largest, below which a row counts as dependent on those before."""


def allocated(allocator: Allocator, wrench: Array) -> Allocation:
    """As an `Allocator` does it, of numbers or symbols: these become a program that agrees with it to rounding.

    Args:
        wrench: Wanted wrench [N, N·m], shape (6,).
    """
    if wrench.dtype != object:
        return allocator(wrench)
    a, b = allocator, allocator.weights * wrench
    f = _bounded(a.A, a.lower, a.upper, a.weight, b, a.inverse @ b)
    saturated = [where(x <= low, 1.0, where(x >= high, 1.0, 0.0)) for x, low, high in zip(f, a.lower, a.upper, strict=True)]
    return Allocation(f, wrench - a.B @ f, np.array(saturated))


def _bounded(A: Array, lower: Array, upper: Array, weight: float, b: Array, start: Array) -> Array:
    """Forces within limits that minimise |A f − b|, with the least |f|: `start` if it is within them, shape (n,).

    The active-set method of `Allocator`, with masks: one pass of a loop that is skipped where no limit is exceeded.

    Args:
        A: Weighted wrench per force, shape (m, n).
        lower: Lowest forces, shape (n,).
        upper: Highest forces, shape (n,).
        weight: Weight of |f| while it is decided which thrusters are at a limit.
        b: Weighted wrench, shape (m,).
        start: Solution without limits, shape (n,).
    """
    m, n = A.shape
    shapes = {"f": (n,), "free": (n,), "weight": (1,), "b": (m,)}
    step = trace(partial(_pass, A, lower, upper), shapes, name="active_set", outputs=("f", "free", "weight", "done"))

    def search(b: Array, start: Array) -> Array:
        f = np.array([clamp(x, low, high) for x, low, high in zip(start, lower, upper, strict=True)])
        free = np.array([_within(x, low, high) for x, low, high in zip(f, lower, upper, strict=True)])
        return iterate(step, 50 * n + 1, f, free, np.array([weight]), b)[0]

    within = [where(x >= low, where(x <= high, 1.0, 0.0), 0.0) for x, low, high in zip(start, lower, upper, strict=True)]
    beyond = any_of(np.array([x == 0.0 for x in within]))
    program = trace(search, {"b": (m,), "start": (n,)}, name="bounded_allocation", outputs=("f",))
    return when(beyond, program, [b, start], [start])[0]


def _within(x: Scalar, low: float, high: float) -> Scalar:
    """1 if a force is between its limits, 0 if it is at one."""
    return where(x > low, where(x < high, 1.0, 0.0), 0.0)


def _pass(A: Array, lower: Array, upper: Array, f: Array, free: Array, weight: Array, b: Array) -> tuple[Array, ...]:
    """Solve for the free forces; go there up to the first limit, or free one that wants to leave its limit.

    Where neither is left, the next pass has the weight 0: it shares out the rest by the pseudo-inverse, and is the last.

    Args:
        f: Forces, shape (n,).
        free: 1 for forces that are not held at a limit, shape (n,).
        weight: Weight of |f|, shape (1,).
        b: Weighted wrench, shape (m,).

    Returns:
        The first three after the pass, and 1 if they are final.
    """
    n, size = len(f), float(np.linalg.norm(A, 2)) or 1.0
    held = np.array([where(x != 0.0, 0.0, y) for x, y in zip(free, f, strict=True)])
    solved = _least_squares(A * free, b - A @ held, weight[0], SMALL * size)
    z = np.array([where(x != 0.0, new, old) for x, new, old in zip(free, solved, f, strict=True)])
    walls = [where(x < low, low, high) for x, low, high in zip(z, lower, upper, strict=True)]
    part, first = 2.0, -1.0  # the share of the way to z at which the first limit is met, and whose it is
    for k in range(n):
        beyond = where(z[k] < lower[k], free[k], where(z[k] > upper[k], free[k], 0.0))
        share = where(beyond != 0.0, (walls[k] - f[k]) / where(beyond != 0.0, z[k] - f[k], 1.0), 2.0)
        first, part = where(share < part, float(k), first), where(share < part, share, part)
    met = first >= 0.0
    slope = A.T @ (b - A @ z) - weight[0] * weight[0] * z  # where it is positive the force wants to rise
    tolerance = 1e-13 * size * (norm(b) + size * norm(z))
    most, freed = tolerance, -1.0
    for k in np.flatnonzero(lower < upper).tolist():
        want = where(free[k] != 0.0, 0.0, where(z[k] >= upper[k], -slope[k], slope[k]))
        freed, most = where(want > most, float(k), freed), where(want > most, want, most)
    last = weight[0] == 0.0
    optimal = where(met, 0.0, where(freed >= 0.0, 0.0, 1.0))
    forces, mask = [], []
    for k in range(n):
        on_the_way = where(first == float(k), walls[k], where(free[k] != 0.0, f[k] + part * (z[k] - f[k]), f[k]))
        forces.append(where(last, clamp(z[k], lower[k], upper[k]), where(met, on_the_way, z[k])))
        changed = where(met, where(first == float(k), 0.0, free[k]), where(freed == float(k), 1.0, free[k]))
        mask.append(where(last, free[k], changed))
    return np.array(forces), np.array(mask), np.array([where(optimal, 0.0, weight[0])]), np.asarray(where(last, 1.0, 0.0))


def _least_squares(A: Array, b: Array, weight: Scalar, floor: float) -> Array:
    """The x that minimises |A x − b|² + (weight |x|)², the shortest if there are several, shape (n,).

    Rows give an orthonormal basis V of what can be moved, A = L V; x = Vᵀ y with |L y − b|² + (weight |y|)² minimal. Both
    steps are Gram-Schmidt, which keeps the condition of A and needs no choice of pivots.
    """
    m, n = A.shape
    basis: list[Array] = []
    for row in A:
        rest = row
        for _ in range(2):  # the second time removes the rounding of the first
            for u in basis:
                rest = rest - (u @ rest) * u
        basis.append(_unit(rest, floor)[0])
    columns = [np.array([A[i] @ basis[j] if j <= i else 0.0 for i in range(m)], dtype=object) for j in range(m)]
    columns = [np.concatenate([c, [weight if i == j else 0.0 for i in range(m)]]) for j, c in enumerate(columns)]
    left = np.concatenate([b, np.zeros(m)])
    R, y = np.zeros((m, m), dtype=object), np.zeros(m, dtype=object)
    inverse: list[Scalar] = []
    for j in range(m):
        q, over = _unit(columns[j], floor)
        inverse.append(over)
        for k in range(j + 1, m):
            R[j, k] = q @ columns[k]
            columns[k] = columns[k] - R[j, k] * q
        y[j] = q @ left
        left = left - y[j] * q
    for j in reversed(range(m)):
        y[j] = (y[j] - R[j, j + 1 :] @ y[j + 1 :]) * inverse[j]
    return sum((y[j] * basis[j] for j in range(m)), np.zeros(n))


def _unit(x: Array, floor: float) -> tuple[Array, Scalar]:
    """A vector over its length, and 1 over its length; 0 both if it is shorter than `floor`."""
    size = norm(x)
    inverse = where(size > floor, 1.0 / maximum(size, floor), 0.0)
    return x * inverse, inverse
