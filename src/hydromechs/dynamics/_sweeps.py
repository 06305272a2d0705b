"""The two sweeps of the articulated-body algorithm, over all bodies of a forest or over some of them.

    inward     I*_p += Xᵀ N_i X,   β*_p += Xᵀ (β*_i − N_i ζ_i − n_i m*_i⁻¹ τ*_i)
               n_i = I*_i ϕ_i,  m*_i = ϕ_iᵀ n_i,  τ*_i = τ_i + ϕ_iᵀ β*_i,  N_i = I*_i − n_i m*_i⁻¹ n_iᵀ
               (with ζ = X swing + own, Xᵀ N ζ = (Xᵀ N X) swing + Xᵀ N own, which spares the transformation of swing)
    outward    ā_i = X a'_p + ζ_i,   v̇_i = m*_i⁻¹ (τ*_i − n_iᵀ ā_i),   a'_i = ā_i + ϕ_i v̇_i,   a'_world = −g

(McMillan, Orin and McGhee 1995, Table I; McMillan 1994, Tables 13-18.) A joint of n degrees of freedom has a 6×n ϕ and an n×n
m*. A mobile base is a free joint, ϕ = 1 (eq. 10 of 1995).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.model import Model
from hydromechs.spatial import Ldl, Path, ldl
from hydromechs.values import Array

from ._kinematics import Bias, Kinematics

__all__ = ["Articulated", "arriving", "inward", "outward", "world_acceleration"]

FREE = (0, 1, 2, 3, 4, 5)


class Articulated(NamedTuple):
    """What the inward sweep leaves at each body; the outward sweep needs the last two."""

    inertia: dict[int, Array]
    """I* of each body: its articulated inertia, in its axes at its origin, shape (6, 6)."""
    force: dict[int, Array]
    """β* of each body, shape (6,)."""
    gains: dict[int, Array | None]
    """n m*⁻¹ of each swept body that has a joint, shape (6, n); None for a free joint, for which it is 1."""
    parts: dict[int, Array]
    """m*⁻¹ τ* of each swept body that has a joint, shape (n,)."""


def inward(
    model: Model,
    kin: Kinematics,
    bias: Sequence[Bias],
    tau: Array,
    inertia: Mapping[int, Array | None],
    force: Mapping[int, Array],
    armature: Array | None = None,
    *,
    members: Sequence[int],
) -> Articulated:
    """Articulated inertias and forces of some bodies, from the tips inwards.

    What a member passes on to a parent without an entry in `inertia` is left out.

    Args:
        model: The mechanism.
        kin: Its kinematics.
        bias: Bias acceleration of each body.
        tau: Joint forces, shape (nv,).
        inertia: I^H of the members and of bodies that carry them, by index, shape (6, 6) each, or None.
        force: F of the same bodies, shape (6,) each.
        armature: Inertia of geared rotors that each degree of freedom feels in addition, part of m*, shape (nv,), or None.
        members: Bodies to sweep over, by index, in the order of the model.
    """
    I_star = {i: np.zeros((6, 6)) if I is None else I for i, I in inertia.items()}
    beta_star = dict(force)
    gains: dict[int, Array | None] = {}
    parts: dict[int, Array] = {}
    for i in reversed(members):
        parent, path, phi, rows = model.parent[i], kin.paths[i], kin.subspaces[i], model.free_rows[i]
        I, beta = I_star[i], beta_star[i]
        if phi.shape[1]:
            n, tau_i = I @ phi, tau[model.v_slices[i]]
            m_star, tau_star = phi.T @ n, tau_i + phi.T @ beta
            if armature is not None and any(armature[model.v_slices[i]]):
                m_star, rows = m_star + np.diag(armature[model.v_slices[i]]), None
            factor = ldl(m_star)
            gain = gains[i] = None if rows == FREE else _gain(n, factor, phi, rows)
            parts[i] = factor.solve(tau_star)
        if parent not in I_star:
            continue
        if not phi.shape[1]:
            N, transmitted = I, beta - I @ bias[i].own
        elif gain is None:
            N, transmitted = np.zeros((6, 6)), -(phi @ tau_i)
        else:
            N = _reflect(I, gain, n, rows)
            transmitted = beta - N @ bias[i].own - gain @ tau_star
            if rows is not None:  # along its own motion a joint passes on nothing but its force
                own = phi @ tau_i
                transmitted = np.array([-own[k] if k in rows else transmitted[k] for k in range(6)])
        seen = path.inertia_back(N)
        I_star[parent] = I_star[parent] + seen
        beta_star[parent] = beta_star[parent] + path.force_back(transmitted) - seen[:, :3] @ bias[i].swing
    return Articulated(I_star, beta_star, gains, parts)


def outward(
    model: Model,
    kin: Kinematics,
    bias: Sequence[Bias],
    gains: Mapping[int, Array | None],
    parts: Mapping[int, Array],
    known: Mapping[int, Array],
    *,
    members: Sequence[int],
) -> tuple[Array, dict[int, Array]]:
    """v̇ of some bodies' joints, and a' of the bodies, from the roots outwards.

    Args:
        model: The mechanism.
        kin: Its kinematics, of which paths and subspaces count.
        bias: Bias acceleration of each body.
        gains: What `inward` gave.
        parts: What `inward` gave.
        known: a' of the bodies that carry members and are not members themselves, by index, −1 for the world, shape (6,) each.
        members: Bodies to sweep over, by index, in the order of the model.

    Returns:
        v̇ of the members' joints, and a' of the members and of the bodies known before.
    """
    a = dict(known)
    vdot: list = []
    for i in members:
        a[i] = a_bar = arriving(kin.paths[i], bias[i], a[model.parent[i]])
        if i not in parts:
            continue
        gain = gains[i]
        if gain is None:  # ϕ = 1: m*⁻¹ nᵀ = 1
            a[i] = parts[i]
            vdot.extend(a[i] - a_bar)
        else:
            vdot_i = parts[i] - gain.T @ a_bar
            a[i] = a_bar + kin.subspaces[i] @ vdot_i
            vdot.extend(vdot_i)
    return np.array(vdot), a


def world_acceleration(model: Model) -> Array:
    """a' of the world: −g, so that weights need no forces of their own, shape (6,).

    Args:
        model: The mechanism.
    """
    return np.concatenate([-model.world.gravity_vector, np.zeros(3)])


def arriving(path: Path, bias: Bias, a_parent: Array) -> Array:
    """ā_i = X (a'_p + (swing, 0)) + own, the acceleration of a body without that of its joint, shape (6,).

    Args:
        path: Transformation from the parent's frame.
        bias: Bias acceleration of the body.
        a_parent: a' of the parent, shape (6,).
    """
    return path.motion(np.concatenate([a_parent[:3] + bias.swing, a_parent[3:]])) + bias.own


def _gain(n: Array, factor: Ldl, phi: Array, rows: tuple[int, ...] | None) -> Array:
    """n m*⁻¹, shape (6, n), with the exact ones of the joint's own motion: ϕᵀ n m*⁻¹ = 1."""
    return np.stack([phi[k] if rows is not None and k in rows else factor.solve(n[k]) for k in range(6)])


def _reflect(I: Array, gain: Array, n: Array, rows: tuple[int, ...] | None) -> Array:
    """N = I* − n m*⁻¹ nᵀ, with exact zeros in the rows and columns of the joint's own motion (eq. 32), shape (6, 6)."""
    rows = () if rows is None else rows
    N = [[0.0] * 6 for _ in range(6)]
    for i in range(6):
        for j in range(i, 6):
            if i not in rows and j not in rows:
                N[i][j] = N[j][i] = I[i, j] - gain[i] @ n[j]
    return np.array(N)
