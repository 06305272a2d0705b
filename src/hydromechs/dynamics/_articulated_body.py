"""Articulated-body forward dynamics of a forest (seed 000 Table I, thesis Tables 13-18, seed 002 appendix)."""

from __future__ import annotations

import numpy as np

from hydromechs.spatial import cross, force_cross, ldl

from ._kinematics import Kinematics

__all__ = ["articulated_body", "rigid_bias", "velocity_force"]

FREE = (0, 1, 2, 3, 4, 5)


def rigid_bias(rigid, V):
    """β_i = −(ω × (ω × h), ω × Ī ω), the velocity-dependent force of a rigid body for true accelerations (Table I), shape (6,).

    Args:
        rigid: Inertia of the body with those fixed to it.
        V: Its velocity, of which only ω counts, shape (6,).
    """
    w = V[3:]
    return -np.concatenate([cross(w, cross(w, rigid.first_moment)), cross(w, rigid.matrix[3:, 3:] @ w)])


def velocity_force(inertia, V):
    """−V ×* (I V), the velocity-dependent force of a body with any 6×6 inertia, for derivatives of numbers, shape (6,).

    Args:
        inertia: Rigid, added or total inertia of the body, shape (6, 6).
        V: Its velocity relative to any observer who does not accelerate, shape (6,).
    """
    return -force_cross(V, inertia @ V)


def articulated_body(model, kin: Kinematics, bias, tau, inertia, force, armature=None):
    """Accelerations v̇ for given joint forces.

    The force balance of a link, with the acceleration biased by gravity, a' = a − g (eqs. 5, 8, 29):

        f_i = I_i^H a'_i − F_i + Σ f_outboard = I*_i a'_i − β*_i

    Backward:  n_i = I*_i ϕ_i,  m*_i = ϕ_iᵀ n_i,  τ*_i = τ_i + ϕ_iᵀ β*_i,  N_i = I*_i − n_i m*_i⁻¹ n_iᵀ
               I*_p += Xᵀ N_i X,   β*_p += Xᵀ (β*_i − N_i ζ_i − n_i m*_i⁻¹ τ*_i)
               (with ζ = X swing + own, Xᵀ N ζ = (Xᵀ N X) swing + Xᵀ N own, which spares the transformation of swing)
    Forward:   ā_i = X a'_p + ζ_i,   v̇_i = m*_i⁻¹ (τ*_i − n_iᵀ ā_i),   a'_i = ā_i + ϕ_i v̇_i,   a'_world = −g

    A joint of n degrees of freedom has a 6×n ϕ and an n×n m*. A mobile base is a free joint, ϕ = 1 (eq. 10).

    Args:
        model: The mechanism.
        kin: Its kinematics.
        bias: Bias acceleration of each body, `kin.zeta` or `kin.c`.
        tau: Joint forces τ, shape (nv,).
        inertia: I^H of each body, rigid and added, in its own frame, shape (6, 6) each, or None.
        force: F on each body in its own frame, all but gravity, joints and −I^H a'; with the velocity-dependent
            force that belongs to the chosen acceleration (`rigid_bias` or `velocity_force`), shape (6,) each.
        armature: Inertia of geared rotors that each degree of freedom feels besides, added to m*, shape (nv,); None for none.

    Returns:
        v̇, shape (nv,).
    """
    nb = model.nb
    I_star = [np.zeros((6, 6)) if I is None else I for I in inertia]
    beta_star = list(force)
    joint: list = [None] * nb
    for i in reversed(range(nb)):
        parent, path = model.parent[i], kin.paths[i]
        I, beta, phi = I_star[i], beta_star[i], kin.subspaces[i]
        if phi.shape[1] == 0:
            N, transmitted = I, beta - I @ bias[i].own
        else:
            n, tau_i, rows = I @ phi, tau[model.v_slices[i]], model.free_rows[i]
            m_star, tau_star = phi.T @ n, tau_i + phi.T @ beta
            if armature is not None and any(armature[model.v_slices[i]]):
                m_star, rows = m_star + np.diag(armature[model.v_slices[i]]), None
            factor = ldl(m_star)
            gain = _gain(n, factor, phi, rows) if rows != FREE else None
            joint[i] = (gain, factor, tau_star)
            if parent >= 0 and rows == FREE:
                N, transmitted = np.zeros((6, 6)), -(phi @ tau_i)
            elif parent >= 0:
                N = _reflect(I, gain, n, rows)
                transmitted = beta - N @ bias[i].own - gain @ tau_star
                if rows is not None:  # along its own motion a joint passes on nothing but its force
                    own = phi @ tau_i
                    transmitted = np.array([-own[k] if k in rows else transmitted[k] for k in range(6)])
        if parent >= 0:
            seen = path.inertia_back(N)
            I_star[parent] = I_star[parent] + seen
            beta_star[parent] = beta_star[parent] + path.force_back(transmitted) - seen[:, :3] @ bias[i].swing

    world = np.concatenate([-model.world.gravity_vector, np.zeros(3)])
    a: list = [None] * nb
    vdot: list = []
    for i in range(nb):
        parent, phi = model.parent[i], kin.subspaces[i]
        a_bar = kin.paths[i].motion(shifted(world if parent < 0 else a[parent], bias[i].swing)) + bias[i].own
        if joint[i] is None:
            a[i] = a_bar
            continue
        gain, factor, tau_star = joint[i]
        if gain is None:  # ϕ = 1: m*⁻¹ nᵀ = 1
            a[i] = factor.solve(tau_star)
            vdot.extend(a[i] - a_bar)
        else:
            vdot_i = factor.solve(tau_star) - gain.T @ a_bar
            a[i] = a_bar + phi @ vdot_i
            vdot.extend(vdot_i)
    return np.array(vdot)


def shifted(a, swing):
    """a + (swing, 0), shape (6,)."""
    return np.concatenate([a[:3] + swing, a[3:]])


def _gain(n, factor, phi, rows):
    """n m*⁻¹, shape (6, n), with the exact ones of the joint's own motion: ϕᵀ n m*⁻¹ = 1."""
    return np.stack([phi[k] if rows is not None and k in rows else factor.solve(n[k]) for k in range(6)])


def _reflect(I, gain, n, rows):
    """N = I* − n m*⁻¹ nᵀ, with exact zeros in the rows and columns of the joint's own motion (eq. 32), shape (6, 6)."""
    rows = () if rows is None else rows
    N = [[0.0] * 6 for _ in range(6)]
    for i in range(6):
        for j in range(i, 6):
            if i not in rows and j not in rows:
                N[i][j] = N[j][i] = I[i, j] - gain[i] @ n[j]
    return np.array(N)
