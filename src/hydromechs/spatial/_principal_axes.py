"""Principal axes of a symmetric 3×3 matrix of floats, to the same bits on every machine."""

from __future__ import annotations

import math

import numpy as np

from hydromechs.values import Array

SWEEPS = 12
"""Maximum number of sweeps; the off-diagonal part converges quadratically, so that 4 to 6 are taken."""


def principal_axes(S: Array) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and eigenvectors, by cyclic Jacobi rotations (Golub & Van Loan 2013, sec. 8.5.2).

    LAPACK's routines use other kernels on other processors and differ in the last bits; constants of compiled programs that
    follow from principal axes would, too.

    Args:
        S: Symmetric matrix of floats, shape (3, 3).

    Returns:
        Eigenvalues in rising order, shape (3,), and the eigenvectors as columns in the same order, shape (3, 3).
    """
    A = np.asarray(S, dtype=float).tolist()
    V = np.eye(3).tolist()
    for _ in range(SWEEPS):
        if A[0][1] == A[0][2] == A[1][2] == 0.0:
            break
        for p, q in ((0, 1), (0, 2), (1, 2)):
            _rotate(A, V, p, q)
    values = [A[0][0], A[1][1], A[2][2]]
    order = sorted(range(3), key=values.__getitem__)
    return np.array([values[i] for i in order]), np.array([[row[i] for i in order] for row in V])


def _rotate(A: list[list[float]], V: list[list[float]], p: int, q: int) -> None:
    """Make A[p][q] zero by a rotation in the plane of p and q, and apply it to the columns of V."""
    if abs(A[p][q]) <= 1e-300 + 1e-17 * math.sqrt(abs(A[p][p] * A[q][q])):
        A[p][q] = A[q][p] = 0.0
        return
    ratio = (A[q][q] - A[p][p]) / (2.0 * A[p][q])
    t = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = t * c
    for row in (*A, *V):  # columns
        row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
    A[p], A[q] = (
        [c * x - s * y for x, y in zip(A[p], A[q], strict=True)],
        [s * x + c * y for x, y in zip(A[p], A[q], strict=True)],
    )
    A[p][q] = A[q][p] = 0.0
