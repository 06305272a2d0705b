"""The two halves of the articulated-body algorithm for what hangs on one body: inward to it, and outward from it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydromechs.spatial import ldl

from ._articulated_body import _gain, _reflect, shifted

__all__ = ["Branch", "inward", "outward"]


class Branch(NamedTuple):
    """What a branch is for the body that carries it, and what the way back needs."""

    inertia: object
    """Articulated inertia that the carrying body feels, in its axes at its origin, shape (6, 6)."""
    force: object
    """β* that comes with it, shape (6,)."""
    gains: tuple
    """n m*⁻¹ of each body, shape (6, n); None for the carrying body and for bodies that are fixed to their parents."""
    parts: tuple
    """m*⁻¹ τ* of each body, shape (n,), or None."""


def inward(model, kin, bias, tau, inertia, force) -> Branch:
    """The backward sweep of `articulated_body`, up to body 0, which carries all others.

    Args:
        model: The carrying body and its branch.
        kin: Its kinematics.
        bias: Bias acceleration of each body.
        tau: Joint forces, shape (nv,).
        inertia: Of each body, shape (6, 6) each, or None; not asked of body 0.
        force: On each body, shape (6,) each; not asked of body 0.
    """
    I_star = [np.zeros((6, 6)), *(np.zeros((6, 6)) if I is None else I for I in inertia[1:])]
    beta_star = [np.zeros(6), *force[1:]]
    gains: list = [None] * model.nb
    parts: list = [None] * model.nb
    for i in reversed(range(1, model.nb)):
        parent, path, phi = model.parent[i], kin.paths[i], kin.subspaces[i]
        I, beta = I_star[i], beta_star[i]
        if phi.shape[1] == 0:
            N, transmitted = I, beta - I @ bias[i].own
        else:
            n, tau_i, rows = I @ phi, tau[model.v_slices[i]], model.free_rows[i]
            tau_star, factor = tau_i + phi.T @ beta, ldl(phi.T @ n)
            gains[i], parts[i] = _gain(n, factor, phi, rows), factor.solve(tau_star)
            N = _reflect(I, gains[i], n, rows)
            transmitted = beta - N @ bias[i].own - gains[i] @ tau_star
            if rows is not None:  # along its own motion a joint passes on nothing but its force
                own = phi @ tau_i
                transmitted = np.array([-own[k] if k in rows else transmitted[k] for k in range(6)])
        seen = path.inertia_back(N)
        I_star[parent] = I_star[parent] + seen
        beta_star[parent] = beta_star[parent] + path.force_back(transmitted) - seen[:, :3] @ bias[i].swing
    return Branch(I_star[0], beta_star[0], tuple(gains), tuple(parts))


def outward(model, paths, subspaces, bias, branch: Branch, a_0):
    """The forward sweep of `articulated_body` from body 0: v̇ of its branch, shape (nv − nv of body 0,).

    Args:
        model: The carrying body and its branch.
        paths: Transformation from the parent of each body.
        subspaces: Motion subspace of each body.
        bias: Bias acceleration of each body.
        branch: What `inward` gave.
        a_0: Acceleration of body 0 less that of gravity, shape (6,).
    """
    a: list = [a_0] + [None] * (model.nb - 1)
    vdot: list = []
    for i in range(1, model.nb):
        a_bar = paths[i].motion(shifted(a[model.parent[i]], bias[i].swing)) + bias[i].own
        if branch.gains[i] is None:
            a[i] = a_bar
            continue
        vdot_i = branch.parts[i] - branch.gains[i].T @ a_bar
        a[i] = a_bar + subspaces[i] @ vdot_i
        vdot.extend(vdot_i)
    return np.array(vdot)
