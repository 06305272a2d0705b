"""Symmetric positive semidefinite systems by elimination with full (diagonal) pivoting, for floats."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.values import Array


class PivotedSolution(NamedTuple):
    """A solution of A x = b."""

    x: Array
    """One solution: unknowns that can have any value are 0, shape (n,)."""
    rank: float
    """Number of pivots that were taken."""
    pivot: float
    """The last of them over the first: about the inverse of the condition number."""


def pivoted_solve(A: ArrayLike, b: ArrayLike, tolerance: float = 1e-12, least: float = 0.0) -> PivotedSolution:
    """A solution of A x = b for a symmetric positive semidefinite matrix and b in its range.

    The largest diagonal entry that is left is the next pivot; elimination ends where it falls below `tolerance` times the
    first or is not above `least`, and the unknowns that are left are set to 0.

    Args:
        A: Matrix, shape (n, n).
        b: Right-hand side, shape (n,).
        tolerance: Pivot over the first one below which a row depends on those before.
        least: Pivot up to which a row is nothing but rounding, for matrices whose scale is known.
    """
    n = np.size(b)
    M = np.column_stack([np.reshape(A, (n, n)), np.ravel(b)]).astype(float)
    order, rank, first, last = np.arange(n), 0, 0.0, 0.0
    for k in range(n):
        p = k + int(np.argmax(np.diag(M[k:, k:n])))
        size = M[p, p]
        first = size if k == 0 else first
        if not (size > tolerance * first and size > least):
            break
        M[[k, p]], order[[k, p]] = M[[p, k]], order[[p, k]]
        M[:, [k, p]] = M[:, [p, k]]
        M[k + 1 :] -= np.outer(M[k + 1 :, k] / M[k, k], M[k])
        rank, last = k + 1, size
    x = np.zeros(n)
    for k in reversed(range(rank)):
        x[order[k]] = (M[k, -1] - M[k, k + 1 : rank] @ x[order[k + 1 : rank]]) / M[k, k]
    with np.errstate(all="ignore"):
        return PivotedSolution(x, float(rank), float(np.float64(last) / first))
