"""LDLᵀ factorization of small symmetric positive definite matrices, without square roots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.values import Array, Scalar

from ._rotation import Vector


class Ldl(NamedTuple):
    """Factors of A = L D Lᵀ, L unit lower triangular."""

    lower: tuple[tuple[Scalar, ...], ...]
    """Row i holds the entries of row i of L left of its diagonal."""
    inverse_diagonal: tuple[Scalar, ...]
    """1 / D[i]."""

    def solve(self, b: Vector) -> Array:
        """x with A x = b, shape (n,): forward, scale, back."""
        return self.back(self.forward(b) * np.array(self.inverse_diagonal))

    def forward(self, b: Vector) -> Array:
        """L⁻¹ b, shape (n,)."""
        x = list(b)
        for i in range(len(x)):
            for k in range(i):
                x[i] = x[i] - self.lower[i][k] * x[k]
        return np.array(x)

    def back(self, b: Vector) -> Array:
        """L⁻ᵀ b, shape (n,)."""
        x = list(b)
        for i in reversed(range(len(x))):
            for k in range(i + 1, len(x)):
                x[i] = x[i] - self.lower[k][i] * x[k]
        return np.array(x)


def ldl(A: Array | Sequence[Vector]) -> Ldl:
    """Factorize a symmetric positive definite matrix of floats or symbols, shape (n, n); only the lower triangle is read.

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
