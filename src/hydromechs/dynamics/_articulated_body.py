"""Articulated-body forward dynamics of a forest (seed 000 Table I, thesis Tables 13-18, seed 002 appendix)."""

from __future__ import annotations

import numpy as np

from hydromechs.spatial import cross, ldl

from ._kinematics import Kinematics

__all__ = ["articulated_body", "rigid_bias"]

FREE = (0, 1, 2, 3, 4, 5)


def rigid_bias(rigid, V):
    """β_i = −(ω × (ω × h), ω × Ī ω), the velocity-dependent force of a rigid body (seed 000 Table I), shape (6,).

    Args:
        rigid: Inertia of the body with those fixed to it.
        V: Its velocity, of which only ω counts, shape (6,).
    """
    w = V[3:]
    return -np.concatenate([cross(w, cross(w, rigid.first_moment)), cross(w, rigid.matrix[3:, 3:] @ w)])


def articulated_body(model, kin: Kinematics, tau, added_inertia, wrench):
    """Accelerations v̇ for given joint forces.

    The force balance of a link, with the acceleration biased by gravity, a' = a − g (eqs. 5, 8, 29):

        f_i = I_i^H a'_i − β_i^H + Σ f_outboard = I*_i a'_i − β*_i,     I^H = I + I^A

    Backward:  n_i = I*_i ϕ_i,  m*_i = ϕ_iᵀ n_i,  τ*_i = τ_i + ϕ_iᵀ β*_i,  N_i = I*_i − n_i m*_i⁻¹ n_iᵀ
               I*_p += Xᵀ N_i X,   β*_p += Xᵀ (β*_i − N_i ζ_i − n_i m*_i⁻¹ τ*_i)
    Forward:   ā_i = X a'_p + ζ_i,   v̇_i = m*_i⁻¹ (τ*_i − n_iᵀ ā_i),   a'_i = ā_i + ϕ_i v̇_i,   a'_world = −g

    A joint of n degrees of freedom has a 6×n ϕ and an n×n m*. A mobile base is a free joint, ϕ = 1 (eq. 10); v̇ is the
    time derivative of the numbers in v, so the base's ω × v is in its ζ.

    Args:
        model: The mechanism.
        kin: Its kinematics.
        tau: Joint forces τ, shape (nv,).
        added_inertia: I^A of each body in its own frame, shape (6, 6) each, or None.
        wrench: Force on each body in its own frame besides gravity, inertia and joints, shape (6,) each; with I^A it
            holds all of the fluid's force but −I^A a'.

    Returns:
        v̇, shape (nv,).
    """
    nb = model.nb
    I_star: list = [None] * nb
    beta_star: list = [None] * nb
    for i in range(nb):
        rigid = model.rigid[i]
        I_star[i] = np.zeros((6, 6)) if rigid is None else rigid.matrix
        beta_star[i] = wrench[i] if rigid is None else rigid_bias(rigid, kin.V[i]) + wrench[i]
        if added_inertia[i] is not None:
            I_star[i] = I_star[i] + added_inertia[i]

    joint: list = [None] * nb
    for i in reversed(range(nb)):
        parent, path, zeta = model.parent[i], kin.paths[i], kin.zeta[i]
        I, beta, phi = I_star[i], beta_star[i], kin.subspaces[i]
        if phi.shape[1] == 0:
            N, force = I, beta - I @ zeta
        else:
            n = I @ phi
            factor = ldl(phi.T @ n)
            tau_star = tau[model.v_slices[i]] + phi.T @ beta
            joint[i] = (n, factor, tau_star)
            if parent >= 0:
                gain = np.stack([factor.solve(row) for row in n])  # n m*⁻¹
                N = _reflect(I, gain, n, model.free_rows[i])
                force = beta - N @ zeta - gain @ tau_star
        if parent >= 0:
            I_star[parent] = I_star[parent] + path.inertia_back(N)
            beta_star[parent] = beta_star[parent] + path.force_back(force)

    world = np.concatenate([-model.world.gravity_vector, np.zeros(3)])
    a: list = [None] * nb
    vdot: list = []
    for i in range(nb):
        parent, phi = model.parent[i], kin.subspaces[i]
        a_bar = kin.paths[i].motion(world if parent < 0 else a[parent]) + kin.zeta[i]
        if joint[i] is None:
            a[i] = a_bar
            continue
        n, factor, tau_star = joint[i]
        if model.free_rows[i] == FREE:  # ϕ = 1: m*⁻¹ nᵀ = 1
            a[i] = factor.solve(tau_star)
            vdot.extend(a[i] - a_bar)
        else:
            vdot_i = factor.solve(tau_star - n.T @ a_bar)
            a[i] = a_bar + phi @ vdot_i
            vdot.extend(vdot_i)
    return np.array(vdot)


def _reflect(I, gain, n, rows):
    """N = I* − n m*⁻¹ nᵀ, with exact zeros in the rows and columns of the joint's own motion (eq. 32), shape (6, 6)."""
    rows = () if rows is None else rows
    N = [[0.0] * 6 for _ in range(6)]
    for i in range(6):
        for j in range(i, 6):
            if i not in rows and j not in rows:
                N[i][j] = N[j][i] = I[i, j] - gain[i] @ n[j]
    return np.array(N)
