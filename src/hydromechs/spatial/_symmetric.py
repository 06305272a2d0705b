"""Small symmetric matrices: LDLᵀ factorisation, semidefinite systems, and principal axes."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.values import Array, Scalar

from ._rotation import Vector


class Ldl(NamedTuple):
    """Factors of A = L D Lᵀ with a unit lower triangular matrix L."""

    lower: tuple[tuple[Scalar, ...], ...]
    """Row i contains the entries of row i of L left of its diagonal."""
    inverse_diagonal: tuple[Scalar, ...]
    """Inverse diagonal entries 1 / D[i]."""

    def solve(self, b: Vector) -> Array:
        """Return the solution x of A x = b, shape (n,), by forward substitution, scaling and back substitution."""
        return self.back(self.forward(b) * np.array(self.inverse_diagonal))

    def forward(self, b: Vector) -> Array:
        """Return L⁻¹ b, shape (n,)."""
        x = list(b)
        for i in range(len(x)):
            for k in range(i):
                x[i] = x[i] - self.lower[i][k] * x[k]
        return np.array(x)

    def back(self, b: Vector) -> Array:
        """Return L⁻ᵀ b, shape (n,)."""
        x = list(b)
        for i in reversed(range(len(x))):
            for k in range(i + 1, len(x)):
                x[i] = x[i] - self.lower[k][i] * x[k]
        return np.array(x)


def ldl(A: Array | Sequence[Vector]) -> Ldl:
    """Factorise a symmetric positive definite matrix of floats or symbols, shape (n, n); only the lower triangle is read.

    d_j = a_jj − Σ_k l_jk² d_k,      l_ij = (a_ij − Σ_k l_ik d_k l_jk) / d_j
    """
    n = len(A)
    L: list[list[Scalar]] = [[None] * i for i in range(n)]
    scaled: list[list[Scalar]] = [[None] * i for i in range(n)]  # l_ik d_k
    inverse = []
    for j in range(n):
        d = A[j][j]
        for k in range(j):
            d = d - L[j][k] * scaled[j][k]
        inverse.append(1.0 / d)
        for i in range(j + 1, n):
            a = A[i][j]
            for k in range(j):
                a = a - scaled[i][k] * L[j][k]
            scaled[i][j] = a
            L[i][j] = a * inverse[j]
    return Ldl(tuple(map(tuple, L)), tuple(inverse))


class PivotedSolution(NamedTuple):
    """Solution of A x = b."""

    x: Array
    """Solution vector; undetermined unknowns are 0, shape (n,)."""
    rank: float
    """Number of pivots used."""
    pivot: float
    """Ratio of the last pivot to the first, approximately the inverse of the condition number."""


def pivoted_solve(A: ArrayLike, b: ArrayLike, tolerance: float = 1e-12, least: float = 0.0) -> PivotedSolution:
    """Return a solution of A x = b for a symmetric positive semidefinite matrix (n, n) and b (n,) in its range.

    The largest remaining diagonal entry is the next pivot. Elimination ends when this entry falls below `tolerance` times the
    first pivot or does not exceed `least`, the known size of rounding errors. The remaining unknowns are set to 0.
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


SWEEPS = 12
"""Maximum number of sweeps; the off-diagonal part converges quadratically, and 4 to 6 sweeps are typical."""


def principal_axes(S: Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues (3,) of S (3, 3) in ascending order and its eigenvectors as columns (3, 3).

    Cyclic Jacobi rotations (Golub & Van Loan 2013, sec. 8.5.2) give the same bits on every processor. LAPACK does not, so that
    constants of compiled programs would differ.
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
    """Set A[p][q] to zero by a rotation in the plane of axes p and q, and apply the rotation to the columns of V."""
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
