"""Generalised force of wrenches on bodies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hydromechs.model import Model
from hydromechs.values import Array

from ._kinematics import Kinematics


def generalized_force(model: Model, kin: Kinematics, wrenches: Sequence[Array]) -> Array:
    """Σ J_iᵀ F_i of wrenches F (6,) on all bodies, in their own frames, from the tips to the roots, shape (nv,)."""
    force = list(wrenches)
    tau: list = [None] * model.nb
    for i in reversed(range(model.nb)):
        tau[i] = kin.subspaces[i].T @ force[i]
        if model.parent[i] >= 0:
            force[model.parent[i]] = force[model.parent[i]] + kin.paths[i].force_back(force[i])
    return np.concatenate(tau)
