"""Constraints between accelerations, solved together with the dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs import compiler, dynamics
from hydromechs.model import Model
from hydromechs.model.component import Constraint
from hydromechs.spatial import ldl
from hydromechs.values import Array, Scalar

__all__ = ["Solution", "constrained"]


class Solution(NamedTuple):
    """Accelerations and forces that satisfy constraints."""

    vdot: Array
    """v̇, shape (nv,)."""
    free: Scalar
    """Number of forces that could have any value and are set to 0."""
    pivot: Scalar
    """Smallest pivot over the largest, about the inverse condition number."""
    forces: tuple[Array, ...]
    """λ of each constraint, shape (c,); 0 while it is open."""


def constrained(
    model: Model,
    kin: dynamics.Kinematics,
    inertia: Sequence[Array | None],
    armature: Array | None,
    v: Array,
    vdot: Array,
    constraints: Sequence[Constraint],
) -> Solution:
    """Accelerations with all constraints that are active: v̇ + M⁻¹ Jᵀ λ with J v̇ + J̇ v = −2 α J v − α² error.

    M⁻¹ = L⁻ᵀ D⁻¹ L⁻¹ and W = L⁻¹ Jᵀ as in `dynamics.closed_chain_dynamics`; blocks of separate trees are zeros that fold away.
    The system Wᵀ D⁻¹ W λ = … is solved with full pivoting, so arms may be singular.

    Args:
        model: The mechanism.
        kin: Its kinematics.
        inertia: Rigid and added inertia of each body.
        armature: Reflected inertia of each degree of freedom, or None.
        v: Velocity, shape (nv,).
        vdot: Accelerations without constraints, shape (nv,).
        constraints: The rows.
    """
    M = dynamics.mass_matrix(model, kin, inertia)
    factor = ldl(M if armature is None else M + np.diag(armature))
    rows: list[Array] = []
    rhs: list[Scalar] = []
    flags: list[Scalar] = []
    for c in constraints:
        alpha = c.stabilisation
        wanted = c.bias + 2.0 * alpha * (c.J @ v) + alpha**2 * c.error
        rows += list(c.J)
        rhs += [-c.active * (row @ vdot + w) for row, w in zip(c.J, wanted, strict=True)]
        flags += [c.active] * len(wanted)
    W = np.stack([factor.forward(row) for row in rows], axis=1)
    scaled = W * np.array(factor.inverse_diagonal)[:, None]
    n = len(rhs)
    A: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            A[i][j] = A[j][i] = W[:, i] @ scaled[:, j] * (1.0 if i == j else flags[i] * flags[j])
    lam, rank, pivot = compiler.solve_semidefinite(np.array(A), np.array(rhs))
    forces, at = [], 0
    for c in constraints:
        forces.append(lam[at : at + len(c.bias)])
        at += len(c.bias)
    return Solution(vdot + factor.back(scaled @ lam), n - rank, pivot, tuple(forces))
