"""Inertia of a rigid body as moments of its mass: cheaper to transform than a 6×6 matrix, and partly transferable.

The moments are m = ∫ dm, h = ∫ r dm and Σ = ∫ r rᵀ dm. A transformation changes six numbers of Σ, three of h and none of m.
Force and moment follow from these moments without the moments of inertia: with Ω = α̃ + ω̃ ω̃ every point has the acceleration
r̈ = a + Ω r, and

    f = ∫ r̈ dm = m a + Ω h,      n = ∫ r × r̈ dm = h × a + ∫ r × Ω r dm       (McMillan 1994, B.9-B.18)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs.model import RigidBody
from hydromechs.spatial import cross, symmetric_matrix
from hydromechs.values import Array, Scalar


class PseudoInertia(NamedTuple):
    """Moments of a mass distribution about the origin of a frame."""

    mass: Scalar
    """Mass m [kg]."""
    first: Array
    """First moment h = ∫ r dm [kg·m], shape (3,)."""
    second: Array
    """Second moment Σ = ∫ r rᵀ dm [kg·m²], symmetric, shape (3, 3)."""

    @property
    def matrix(self) -> Array:
        """Inertia matrix [[m 1, −h̃], [h̃, tr Σ 1 − Σ]], shape (6, 6)."""
        m, (x, y, z), S = self.mass, self.first, self.second
        return np.array(
            [
                [m, 0.0, 0.0, 0.0, z, -y],
                [0.0, m, 0.0, -z, 0.0, x],
                [0.0, 0.0, m, y, -x, 0.0],
                [0.0, -z, y, S[1, 1] + S[2, 2], -S[0, 1], -S[0, 2]],
                [z, 0.0, -x, -S[0, 1], S[0, 0] + S[2, 2], -S[1, 2]],
                [-y, x, 0.0, -S[0, 2], -S[1, 2], S[0, 0] + S[1, 1]],
            ]
        )

    def plus(self, other: PseudoInertia) -> PseudoInertia:
        """Return the sum of two mass distributions about the same frame."""
        second = symmetric_matrix(lambda i, j: self.second[i, j] + other.second[i, j])
        return PseudoInertia(self.mass + other.mass, self.first + other.first, second)


def pseudo_inertia(rigid: RigidBody) -> PseudoInertia:
    """Return the moments of a `RigidBody` (a body with the bodies fixed to it): Σ = ½ tr Ī 1 − Ī."""
    D = rigid.matrix[3:, 3:]
    half = 0.5 * (D[0, 0] + D[1, 1] + D[2, 2])
    return PseudoInertia(rigid.mass, rigid.first_moment, symmetric_matrix(lambda i, j: half - D[i, i] if i == j else -D[i, j]))


def axis_part(J: PseudoInertia, axis: int) -> tuple[PseudoInertia, PseudoInertia]:
    """Return the mass on a coordinate axis with the same m, h_k and Σ_kk, and the remainder without these three moments.

    A mass on the axis k (0, 1 or 2) of a revolute joint does not move when the joint rotates, so that it can be assigned to the
    inboard body. About a frame on that axis, three of the ten numbers of a link become constants of the inboard link and exact
    zeros of the link itself.
    """
    on_axis = [[float(i == axis and j == axis) for j in range(3)] for i in range(3)]
    first, second = np.diag(on_axis) * J.first, np.array(on_axis) * J.second
    rest_first = np.array([0.0 if i == axis else J.first[i] for i in range(3)])
    rest_second = symmetric_matrix(lambda i, j: 0.0 if i == j == axis else J.second[i, j])
    return PseudoInertia(J.mass, first, second), PseudoInertia(0.0, rest_first, rest_second)


def moved_back(steps: Sequence[Any], J: PseudoInertia) -> PseudoInertia:
    """Return moments about the parent's frame from moments about the child's frame; `steps` lead from parent to child.

    A rotation gives R h and R Σ Rᵀ. A shift gives h + m p and Σ + h pᵀ + p hᵀ + m p pᵀ.
    """
    m, h, S = J
    for step in reversed(steps):
        h, S, p = step.rotate_back(h), step.rotate_symmetric_back(S), step.p
        S = _shifted(m, h, S, p)
        h = np.array([h[i] + m * p[i] for i in range(3)])
    return PseudoInertia(m, h, S)


def _shifted(m: Scalar, h: Array, S: Array, p: Array) -> Array:
    """Return Σ + h pᵀ + p hᵀ + m p pᵀ, shape (3, 3)."""
    return symmetric_matrix(lambda i, j: S[i, j] + _outer(h, p, i, j) + m * (p[i] * p[j]))


def _outer(h: Array, p: Array, i: int, j: int) -> Scalar:
    """Return (h pᵀ + p hᵀ)_ij."""
    return h[i] * (p[i] + p[i]) if i == j else h[i] * p[j] + h[j] * p[i]


def spin_matrix(w: Array, alpha: Array) -> Array:
    """Return Ω = α̃ + ω̃ ω̃ [1/s²], shape (3, 3): a point at r has the acceleration a + Ω r."""
    (x, y, z), (a, b, c) = w, alpha
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return np.array([[-(yy + zz), xy - c, xz + b], [xy + c, -(xx + zz), yz - a], [xz - b, yz + a, -(xx + yy)]])


def moment_of_spin(w: Array, Omega: Array, J: PseudoInertia, a: Array) -> Array:
    """Return the moment n = h × a + ∫ r × Ω r dm on a rigid body about its frame's origin [N·m], shape (3,).

    The origin has the acceleration a [m/s²]. The integral is (∫ r × Ω r dm)_x = (Ω Σ)_zy − (Ω Σ)_yz and cyclic permutations,
    with Ω_zz − Ω_yy = ω_z² − ω_y².
    """
    S, hxa = J.second, cross(J.first, a)
    out = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        gyroscopic = (w[k] * w[k] - w[j] * w[j]) * S[j, k]
        n = hxa[i] + gyroscopic + Omega[k, j] * S[j, j] - Omega[j, k] * S[k, k]
        out.append(n + Omega[k, i] * S[i, j] - Omega[j, i] * S[i, k])
    return np.array(out)
