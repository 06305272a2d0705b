"""Inverse dynamics of a forest by recursive Newton-Euler (thesis App. B.2, extended to trees, mobile bases and water)."""

from __future__ import annotations

import numpy as np

from ._articulated_body import shifted
from ._generalized_force import generalized_force
from ._kinematics import Kinematics

__all__ = ["accelerations", "inverse_dynamics"]


def accelerations(model, kin: Kinematics, bias, vdot, world) -> list:
    """Accelerations a_i = X a_p + ϕ_i v̇_i + bias of all bodies, each of shape (6,).

    Args:
        model: The mechanism.
        kin: Its kinematics.
        bias: Bias acceleration of each body, `kin.zeta` or `kin.c`.
        vdot: v̇, shape (nv,).
        world: Acceleration of the world, (−g, 0) for accelerations biased by gravity, shape (6,).
    """
    a: list = []
    for i, (parent, path, phi) in enumerate(zip(model.parent, kin.paths, kin.subspaces, strict=True)):
        a_i = path.motion(shifted(world if parent < 0 else a[parent], bias[i].swing)) + bias[i].own
        if phi.shape[1]:
            a_i = a_i + phi @ vdot[model.v_slices[i]]
        a.append(a_i)
    return a


def inverse_dynamics(model, kin: Kinematics, bias, vdot, inertia, force):
    """Joint forces that give the accelerations v̇.

        f_i = I_i^H a'_i − F_i + Σ Xᵀ f_outboard,     τ_i = ϕ_iᵀ f_i

    Args:
        model: The mechanism.
        kin: Its kinematics.
        bias: As in `articulated_body`.
        vdot: v̇, shape (nv,).
        inertia: As in `articulated_body`.
        force: F, as in `articulated_body`.

    Returns:
        τ, shape (nv,).
    """
    a = accelerations(model, kin, bias, vdot, np.concatenate([-model.world.gravity_vector, np.zeros(3)]))
    balance = [-F if I is None else I @ a_i - F for I, a_i, F in zip(inertia, a, force, strict=True)]
    return generalized_force(model, kin, balance)
