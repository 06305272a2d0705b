"""Decoupled dynamics of a vehicle and what it carries (thesis 7.5.2): the base does not feel the arm.

The base is the one body without a parent, with all that is fixed to it. Its acceleration is known when the arm's is computed:
given by a separate model of the vehicle, or from the vehicle's own equation, in which the arm's reaction is left out. Cheaper
than the full dynamics by the base's force, its articulated inertia and a 6×6 solve, and wrong by what the arm does to the base.
"""

from __future__ import annotations

import numpy as np

from hydromechs.errors import UnsupportedFeature
from hydromechs.spatial import ldl

from ._articulated_body import FREE, _gain, _reflect, shifted
from ._kinematics import Kinematics

__all__ = ["arm_dynamics", "base_bodies", "decoupled_dynamics"]


def base_bodies(model) -> tuple[int, ...]:
    """The base and the bodies that are fixed to it, by index; an error if there is not one base.

    Args:
        model: The mechanism.
    """
    roots = [model.body_names[i] for i in range(model.nb) if model.parent[i] < 0]
    if len(roots) > 1:
        raise UnsupportedFeature(
            f"{model.name} has {len(roots)} bodies without a parent ({', '.join(roots)}); decoupled dynamics needs one base "
            "that carries all others"
        )
    base = [0]
    for i in range(1, model.nb):
        if model.bodies[i].joint.nv == 0 and model.parent[i] in base:
            base.append(i)
    return tuple(base)


def arm_dynamics(model, kin: Kinematics, bias, tau, inertia, force, vdot_base, armature=None):
    """Accelerations v̇ of all joints for a given acceleration of the base, by articulated bodies.

    Args:
        model: The mechanism.
        kin: Its kinematics.
        bias: As in `articulated_body`.
        tau: As in `articulated_body`; the entries of the base's joint do not matter.
        inertia: As in `articulated_body`; the base's do not matter.
        force: As in `articulated_body`; the base's do not matter.
        vdot_base: v̇ of the base's joint, shape (n,), n = 6 for a free base.
        armature: As in `articulated_body`.

    Returns:
        v̇ with the base's as given, shape (nv,).
    """
    base, a = base_bodies(model), {}
    for i in base:
        a_bar = _arriving(model, kin, bias, a, i)
        a[i] = a_bar if i else a_bar + kin.subspaces[0] @ vdot_base
    out = _solved(model, kin, bias, tau, inertia, force, armature, [i for i in range(model.nb) if i not in base], a)
    return np.array([*vdot_base, *out])


def decoupled_dynamics(model, kin: Kinematics, bias, tau, inertia, force, armature=None):
    """Accelerations v̇ with a base that does not feel what it carries: neither reaction nor weight.

    The base's own equation, I_0^H a'_0 = ϕ τ_0 + F_0, then `arm_dynamics` with its acceleration.

    Args:
        model: The mechanism.
        kin: Its kinematics.
        bias: As in `articulated_body`.
        tau: As in `articulated_body`.
        inertia: As in `articulated_body`.
        force: As in `articulated_body`.
        armature: As in `articulated_body`.

    Returns:
        v̇, shape (nv,).
    """
    base, a = base_bodies(model), {}
    out = _solved(model, kin, bias, tau, inertia, force, armature, base, a)
    out += _solved(model, kin, bias, tau, inertia, force, armature, [i for i in range(model.nb) if i not in base], a)
    return np.array(out)


def _arriving(model, kin: Kinematics, bias, a: dict, i: int):
    """ā_i = X a'_p + ζ_i, shape (6,)."""
    world = np.concatenate([-model.world.gravity_vector, np.zeros(3)])
    parent = model.parent[i]
    return kin.paths[i].motion(shifted(world if parent < 0 else a[parent], bias[i].swing)) + bias[i].own


def _solved(model, kin: Kinematics, bias, tau, inertia, force, armature, members, a: dict) -> list:
    """v̇ of some bodies' joints by the recursions of `articulated_body`, which end at them.

    What the members pass on to bodies that are none is left out; `a` has the accelerations a' of those that carry members
    and gets the members'.
    """
    I_star = {i: np.zeros((6, 6)) if inertia[i] is None else inertia[i] for i in members}
    beta_star = {i: force[i] for i in members}
    joint: dict = {}
    for i in reversed(members):
        parent, path, phi, rows = model.parent[i], kin.paths[i], kin.subspaces[i], model.free_rows[i]
        I, beta = I_star[i], beta_star[i]
        if phi.shape[1]:
            n, tau_i, geared = I @ phi, tau[model.v_slices[i]], None if armature is None else armature[model.v_slices[i]]
            m_star, tau_star = phi.T @ n, tau_i + phi.T @ beta
            if geared is not None and any(geared):
                m_star, rows = m_star + np.diag(geared), None
            factor = ldl(m_star)
            gain = _gain(n, factor, phi, rows) if rows != FREE else None
            joint[i] = (gain, factor, tau_star)
        if parent not in I_star:
            continue
        if phi.shape[1] == 0:
            N, passed = I, beta - I @ bias[i].own
        elif rows == FREE:
            N, passed = np.zeros((6, 6)), -(phi @ tau_i)
        else:
            N = _reflect(I, gain, n, rows)
            passed = beta - N @ bias[i].own - gain @ tau_star
            if rows is not None:  # along its own motion a joint passes on nothing but its force
                own = phi @ tau_i
                passed = np.array([-own[k] if k in rows else passed[k] for k in range(6)])
        seen = path.inertia_back(N)
        I_star[parent] = I_star[parent] + seen
        beta_star[parent] = beta_star[parent] + path.force_back(passed) - seen[:, :3] @ bias[i].swing

    out: list = []
    for i in members:
        a[i] = a_bar = _arriving(model, kin, bias, a, i)
        if i not in joint:
            continue
        gain, factor, tau_star = joint[i]
        if gain is None:  # ϕ = 1: m*⁻¹ nᵀ = 1
            a[i] = factor.solve(tau_star)
            out.extend(a[i] - a_bar)
        else:
            vdot_i = factor.solve(tau_star) - gain.T @ a_bar
            a[i] = a_bar + kin.subspaces[i] @ vdot_i
            out.extend(vdot_i)
    return out
