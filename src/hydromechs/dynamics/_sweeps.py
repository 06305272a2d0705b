"""Sweeps of the articulated-body algorithm, inward and outward, over all or some bodies of a forest.

    inward     I*_p += Xᵀ N_i X,   β*_p += Xᵀ (β*_i − N_i ζ_i − n_i m*_i⁻¹ τ*_i)
               n_i = I*_i ϕ_i,  m*_i = ϕ_iᵀ n_i,  τ*_i = τ_i + ϕ_iᵀ β*_i,  N_i = I*_i − n_i m*_i⁻¹ n_iᵀ
               (ζ = X swing + own, so that Xᵀ N ζ = (Xᵀ N X) swing + Xᵀ N own avoids the transformation of swing)
    outward    ā_i = X a'_p + ζ_i,   v̇_i = m*_i⁻¹ (τ*_i − n_iᵀ ā_i),   a'_i = ā_i + ϕ_i v̇_i,   a'_world = −g

The modes η of a flexible link move all its sections k. All modes are eliminated together, with X_k from the carrier of the
link:

    m* = Σ ϕ_kᵀ I*_k ϕ_k,   n = Σ X_kᵀ I*_k ϕ_k,   τ* = τ + Σ ϕ_kᵀ β̂_k,   β̂_k = β*_k − I*_k ζ_k
    I*_p += Σ X_kᵀ I*_k X_k − n m*⁻¹ nᵀ,   β*_p += Σ X_kᵀ β̂_k − n m*⁻¹ τ*,   η̈ = m*⁻¹ (τ* − nᵀ a'_p)

A joint with prescribed acceleration is rigid for its parent, N_i = I*_i, and its acceleration ϕ_i v̇_i is part of ζ_i.

The equations are from McMillan, Orin and McGhee 1995, Table I, and McMillan 1994, Tables 13-18. A joint with n degrees of
freedom has a 6×n matrix ϕ and an n×n matrix m*. A mobile base has a free joint with ϕ = 1 (1995, eq. 10).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.model import Model
from hydromechs.spatial import Path, ldl
from hydromechs.values import Array

from ._kinematics import Bias, Kinematics

FREE = (0, 1, 2, 3, 4, 5)


class Articulated(NamedTuple):
    """Results of the inward sweep for each body; the outward sweep needs `gains` and `parts`."""

    inertia: dict[int, Array]
    """Articulated inertia I* of each body, in body axes at the body's origin, shape (6, 6)."""
    force: dict[int, Array]
    """Articulated bias force β* of each body, shape (6,)."""
    gains: dict[int, Array | None]
    """Gain n m*⁻¹ of each swept body with a joint, shape (6, n); None for a free joint, whose gain is the identity. The gain
    of a flexible link is stored at its first section, in axes of the carrier."""
    parts: dict[int, Array]
    """Vector m*⁻¹ τ* of each swept body with a joint, shape (n,)."""


def inward(
    model: Model,
    kin: Kinematics,
    bias: Sequence[Bias],
    tau: Array,
    inertia: Mapping[int, Array | None],
    force: Mapping[int, Array],
    armature: Array | None = None,
    given: Mapping[int, Array] | None = None,
    *,
    members: Sequence[int],
) -> Articulated:
    """Return articulated inertias and forces of some bodies, computed from the tips inwards.

    `members` are body indices in the order of the model. `inertia` contains I^H (6, 6) or None, and `force` F (6,), of the
    members and of the bodies that carry them. The contribution of a member to a parent without an entry in `inertia` is
    dropped. `armature` (nv,) is the additional inertia of geared rotors at each degree of freedom, which is part of m*. `tau`
    (nv,) contains the joint forces, and `given` the accelerations v̇ (n,) of joints with prescribed motion, keyed by body.
    """
    given = given or {}
    I_star = {i: np.zeros((6, 6)) if I is None else I for i, I in inertia.items()}
    beta_star = dict(force)
    gains: dict[int, Array | None] = {}
    parts: dict[int, Array] = {}
    modes: dict[int, _SharedModes] = {}
    for i in reversed(members):
        if (first := model.owner[i]) in model.sections:
            modes[first] = _shared_modes(modes.get(first), kin.paths[i], bias[i], I_star[i], beta_star[i], kin.subspaces[i])
            if i == first:
                at = model.v_slices[i]
                added = np.zeros(at.stop - at.start) if armature is None else armature[at]
                gains[i], parts[i], reflected, pushed = modes[i].eliminated(tau[at], added)
                I_star[model.parent[i]] = I_star[model.parent[i]] + reflected
                beta_star[model.parent[i]] = beta_star[model.parent[i]] + pushed
            continue
        parent, path, phi, at = model.parent[i], kin.paths[i], kin.subspaces[i], model.v_slices[i]
        if i in given:
            if parent in I_star:
                moved = bias[i]._replace(own=bias[i].own + phi @ given[i])
                seen, push = passed_on(path, moved, I_star[i], beta_star[i], None)
                I_star[parent], beta_star[parent] = I_star[parent] + seen, beta_star[parent] + push
            continue
        rotors = None if armature is None or not any(armature[at]) else armature[at]
        joint = joint_balance(I_star[i], beta_star[i], phi, tau[at], model.free_rows[i], rotors)
        if joint is not None:
            gains[i], parts[i] = joint.gain, joint.part
        if parent in I_star:
            seen, push = passed_on(path, bias[i], I_star[i], beta_star[i], joint)
            I_star[parent], beta_star[parent] = I_star[parent] + seen, beta_star[parent] + push
    return Articulated(I_star, beta_star, gains, parts)


class _SharedModes(NamedTuple):
    """Sums over the sections of a flexible link, in axes of the link's carrier."""

    m: Array
    """Matrix m*, shape (n, n)."""
    n: Array
    """Matrix n = Σ X_kᵀ I*_k ϕ_k, shape (6, n)."""
    tau: Array
    """Vector τ* − τ, shape (n,)."""
    inertia: Array
    """Sum Σ X_kᵀ I*_k X_k, shape (6, 6)."""
    force: Array
    """Sum Σ X_kᵀ β̂_k, shape (6,)."""

    def eliminated(self, tau: Array, armature: Array) -> tuple[Array, Array, Array, Array]:
        """Return the gain n m*⁻¹ (6, n), the vector m*⁻¹ τ* (n,), and the contributions to I* and β* of the carrier."""
        factor, tau_star = ldl(self.m + np.diag(armature)), self.tau + tau
        gain = np.stack([factor.solve(row) for row in self.n])
        seen = [[0.0] * 6 for _ in range(6)]
        for i in range(6):
            for j in range(i, 6):
                seen[i][j] = seen[j][i] = self.inertia[i, j] - gain[i] @ self.n[j]
        return gain, factor.solve(tau_star), np.array(seen), self.force - gain @ tau_star


def _shared_modes(before: _SharedModes | None, path: Path, bias: Bias, I: Array, beta: Array, phi: Array) -> _SharedModes:
    """Add the terms of another section to the sums, if any; return the new sums."""
    swing = path.rotate(bias.swing)
    own = np.concatenate([swing + bias.own[:3], bias.own[3:]])
    across, rest = I @ phi, beta - I @ own
    moved = np.stack([path.force_back(column) for column in across.T], axis=1)
    terms = _SharedModes(phi.T @ across, moved, phi.T @ rest, path.inertia_back(I), path.force_back(rest))
    return terms if before is None else _SharedModes(*(a + b for a, b in zip(before, terms, strict=True)))


class JointBalance(NamedTuple):
    """Force balance along the motion of a body's joint, solved for the joint acceleration."""

    phi: Array
    """Motion subspace ϕ_i, shape (6, n)."""
    rows: tuple[int, ...] | None
    """Components of the body's motion that equal joint velocities; None if no component does."""
    tau: Array
    """Joint force τ_i, shape (n,)."""
    tau_star: Array
    """Vector τ*_i, shape (n,)."""
    across: Array
    """Matrix n_i = I*_i ϕ_i, shape (6, n)."""
    gain: Array | None
    """Gain n_i m*_i⁻¹, shape (6, n); None for a free joint, whose gain is the identity."""
    part: Array
    """Vector m*_i⁻¹ τ*_i, shape (n,)."""


def joint_balance(
    I: Array, beta: Array, phi: Array, tau: Array, rows: tuple[int, ...] | None, armature: Array | None = None
) -> JointBalance | None:
    """Return the force balance along a body's joint, with geared rotors (n,); None if the body is fixed.

    `rows` is as in `Model.free_rows`.
    """
    if not phi.shape[1]:
        return None
    n = I @ phi
    m_star, tau_star = phi.T @ n, tau + phi.T @ beta
    if armature is not None:
        m_star, rows = m_star + np.diag(armature), None
    factor = ldl(m_star)
    gain = None  # n m*⁻¹, with exact ones for the joint's own motion: ϕᵀ n m*⁻¹ = 1
    if rows != FREE:
        gain = np.stack([phi[k] if rows is not None and k in rows else factor.solve(n[k]) for k in range(6)])
    return JointBalance(phi, rows, tau, tau_star, n, gain, factor.solve(tau_star))


def passed_on(path: Path, bias: Bias, I: Array, beta: Array, joint: JointBalance | None) -> tuple[Array, Array]:
    """Return the contribution of a body to I* (6, 6) and β* (6,) of its parent; `joint` is None for a fixed body."""
    if joint is None:
        N, transmitted = I, beta - I @ bias.own
    elif joint.gain is None:
        N, transmitted = np.zeros((6, 6)), -(joint.phi @ joint.tau)
    else:
        N = _reflect(I, joint.gain, joint.across, joint.rows)
        transmitted = beta - N @ bias.own - joint.gain @ joint.tau_star
        if joint.rows is not None:  # along its motion a joint transmits only the joint force
            own = joint.phi @ joint.tau
            transmitted = np.array([-own[k] if k in joint.rows else transmitted[k] for k in range(6)])
    seen = path.inertia_back(N)
    return seen, path.force_back(transmitted) - seen[:, :3] @ bias.swing


def outward(
    model: Model,
    kin: Kinematics,
    bias: Sequence[Bias],
    gains: Mapping[int, Array | None],
    parts: Mapping[int, Array],
    known: Mapping[int, Array],
    given: Mapping[int, Array] | None = None,
    *,
    members: Sequence[int],
) -> tuple[Array, dict[int, Array]]:
    """Return v̇ of some bodies' joints, and a' of these and of the known bodies, computed from the roots outwards.

    `gains` and `parts` are results of `inward`, and `given` and `members` its arguments. Only paths and subspaces in `kin` are
    used. `known` contains a' (6,) of the bodies that carry members and are not members themselves, keyed by index, −1 for the
    world.
    """
    given, a = given or {}, dict(known)
    vdot: list = []
    rates: dict[int, Array] = {}
    for i in members:
        if i in given:
            a[i] = arriving(kin.paths[i], bias[i], a[model.parent[i]]) + kin.subspaces[i] @ given[i]
            vdot.extend(given[i])
            continue
        if (first := model.owner[i]) in model.sections:
            a_parent = a[model.parent[i]]
            if i == first:
                shared = gains[i], parts[i]
                assert shared[0] is not None
                rates[i] = shared[1] - shared[0].T @ a_parent
                vdot.extend(rates[i])
            a[i] = arriving(kin.paths[i], bias[i], a_parent) + kin.subspaces[i] @ rates[first]
            continue
        joint = (gains[i], parts[i]) if i in parts else None
        a[i], vdot_i = accelerated(kin.paths[i], kin.subspaces[i], bias[i], joint, a[model.parent[i]])
        vdot.extend(vdot_i)
    return np.array(vdot), a


def accelerated(
    path: Path, phi: Array, bias: Bias, joint: tuple[Array | None, Array] | None, a_parent: Array
) -> tuple[Array, Array]:
    """Return a' (6,) of one body and v̇ (n,) of its joint, from the gain and part of its `JointBalance`; None if fixed."""
    a_bar = arriving(path, bias, a_parent)
    if joint is None:
        return a_bar, np.zeros(0)
    gain, part = joint
    if gain is None:  # ϕ = 1: m*⁻¹ nᵀ = 1
        return part, part - a_bar
    vdot = part - gain.T @ a_bar
    return a_bar + phi @ vdot, vdot


def world_acceleration(model: Model) -> Array:
    """Return a' of the world, (−g, 0), which replaces separate weight forces, shape (6,)."""
    return np.concatenate([-model.world.gravity_vector, np.zeros(3)])


def arriving(path: Path, bias: Bias, a_parent: Array) -> Array:
    """Return ā_i = X (a'_p + (swing, 0)) + own, the acceleration of a body with zero joint acceleration, shape (6,)."""
    return path.motion(np.concatenate([a_parent[:3] + bias.swing, a_parent[3:]])) + bias.own


def _reflect(I: Array, gain: Array, n: Array, rows: tuple[int, ...] | None) -> Array:
    """Return N = I* − n m*⁻¹ nᵀ, shape (6, 6), with exact zeros in the rows and columns of the joint's motion (eq. 32)."""
    rows = () if rows is None else rows
    N = [[0.0] * 6 for _ in range(6)]
    for i in range(6):
        for j in range(i, 6):
            if i not in rows and j not in rows:
                N[i][j] = N[j][i] = I[i, j] - gain[i] @ n[j]
    return np.array(N)
