"""Joint-space inertia matrix by composite bodies (thesis App. B.3, Table 27) with full 6×6 body inertias."""

from __future__ import annotations

import numpy as np

from ._kinematics import Kinematics

__all__ = ["mass_matrix"]


def mass_matrix(model, kin: Kinematics, inertia):
    """Joint-space inertia matrix M of the mechanism, fluid included.

        K_i = I_i^H + Σ Xᵀ K_outboard X,    M_ii = ϕ_iᵀ K_i ϕ_i,    M_ji = ϕ_jᵀ (Xᵀ … Xᵀ) K_i ϕ_i  for j inboard of i

    Args:
        model: The mechanism.
        kin: Its kinematics, of which only the configuration counts.
        inertia: I^H of each body, rigid and added, in its own frame, shape (6, 6) each, or None.

    Returns:
        M, symmetric, shape (nv, nv).
    """
    K = [np.zeros((6, 6)) if I is None else I for I in inertia]
    for i in reversed(range(model.nb)):
        if model.parent[i] >= 0:
            K[model.parent[i]] = K[model.parent[i]] + kin.paths[i].inertia_back(K[i])

    rows: list[list] = [[0.0] * model.nv for _ in range(model.nv)]
    for i in range(model.nb):
        for column, force in zip(range(model.nv)[model.v_slices[i]], (K[i] @ kin.subspaces[i]).T, strict=True):
            j = i
            while j >= 0:
                for row, value in zip(range(model.nv)[model.v_slices[j]], kin.subspaces[j].T @ force, strict=True):
                    rows[row][column] = value
                    rows[column][row] = value
                force = kin.paths[j].force_back(force)
                j = model.parent[j]
    return np.array(rows).reshape(model.nv, model.nv)
