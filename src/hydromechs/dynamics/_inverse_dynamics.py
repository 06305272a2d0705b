"""Inverse dynamics of a forest by recursive Newton-Euler (thesis App. B.2, extended to trees, mobile bases and water)."""

from __future__ import annotations

import numpy as np

from ._articulated_body import rigid_bias
from ._generalized_force import generalized_force
from ._kinematics import Kinematics

__all__ = ["accelerations", "inverse_dynamics"]


def accelerations(model, kin: Kinematics, vdot, world) -> list:
    """Accelerations a_i = X a_p + ϕ_i v̇_i + ζ_i of all bodies, each of shape (6,).

    Args:
        model: The mechanism.
        kin: Its kinematics.
        vdot: v̇, shape (nv,).
        world: Acceleration of the world, (−g, 0) for accelerations biased by gravity, shape (6,).
    """
    a: list = []
    for i, (parent, path, phi) in enumerate(zip(model.parent, kin.paths, kin.subspaces, strict=True)):
        a_i = path.motion(world if parent < 0 else a[parent]) + kin.zeta[i]
        if phi.shape[1]:
            a_i = a_i + phi @ vdot[model.v_slices[i]]
        a.append(a_i)
    return a


def inverse_dynamics(model, kin: Kinematics, vdot, added_inertia, wrench):
    """Joint forces that give the accelerations v̇.

        f_i = (I_i + I_i^A) a'_i − β_i − F_i + Σ Xᵀ f_outboard,     τ_i = ϕ_iᵀ f_i

    Args:
        model: The mechanism.
        kin: Its kinematics.
        vdot: v̇, shape (nv,).
        added_inertia: As in `articulated_body`.
        wrench: F, as in `articulated_body`.

    Returns:
        τ, shape (nv,).
    """
    a = accelerations(model, kin, vdot, np.concatenate([-model.world.gravity_vector, np.zeros(3)]))
    force: list = []
    for i, rigid in enumerate(model.rigid):
        f = -wrench[i]
        if rigid is not None:
            f = f + rigid.matrix @ a[i] - rigid_bias(rigid, kin.V[i])
        if added_inertia[i] is not None:
            f = f + added_inertia[i] @ a[i]
        force.append(f)
    return generalized_force(model, kin, force)
