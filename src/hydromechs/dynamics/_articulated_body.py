"""Articulated-body forward dynamics of a forest (McMillan, Orin and McGhee 1995, Table I; McMillan 1994, Tables 13-18)."""

from collections.abc import Mapping

import numpy as np

from hydromechs.model import Model, RigidBody
from hydromechs.spatial import cross, force_cross, skew
from hydromechs.values import Array

from ._kinematics import Balance
from ._sweeps import inward, outward, world_acceleration


def rigid_bias(rigid: RigidBody, V: Array) -> Array:
    """Return β_i = −(ω × (ω × h), ω × Ī ω), the velocity-dependent force of a rigid body, shape (6,).

    This force corresponds to true accelerations (McMillan, Orin and McGhee 1995, Table I).
    """
    w = V[3:]
    return -np.concatenate([cross(w, cross(w, rigid.first_moment)), cross(w, rigid.matrix[3:, 3:] @ w)])


def velocity_force(inertia: Array, V: Array) -> Array:
    """Return −V ×* (I V), the velocity-dependent force of a body with any 6×6 inertia, shape (6,).

    The force corresponds to derivatives of velocity components. With I = [[A, B], [Bᵀ, D]] it is −(ω × p, v × p + ω × l), where
    p = A v + B ω and l = Bᵀ v + D ω. Most terms cancel for a body with its centre of mass on a coordinate axis and diagonal A
    and D, such as a cylinder along an axis. With B ω = ω × h

        v × p + ω × l = v × (A − a) v + ω × (D − d) ω + h × (ω × v)

    for any numbers a and d. The values that give the fewest nonzero entries in A − a and D − d are used. I is the rigid, added
    or total inertia and V (6,) is the velocity relative to any non-accelerating observer.
    """
    h = None if inertia.dtype == object else _moment_along_axis(inertia)
    if h is None:
        return -force_cross(V, inertia @ V)
    v, w = V[:3], V[3:]
    a, d = np.diag(inertia)[:3], np.diag(inertia)[3:]
    moment = cross(v, _less_common(a) * v) + cross(w, _less_common(d) * w) + cross(h, cross(w, v))
    return -np.concatenate([cross(w, a * v + cross(w, h)), moment])


def _moment_along_axis(inertia: Array) -> Array | None:
    """Return h, shape (3,), if A and D are diagonal, B = −h̃ and h has at most one nonzero entry; otherwise None."""
    A, B, D = inertia[:3, :3], inertia[:3, 3:], inertia[3:, 3:]
    h = np.array([B[1, 2], B[2, 0], B[0, 1]])
    plain = all(np.array_equal(M, np.diag(np.diag(M))) for M in (A, D)) and np.array_equal(B, -skew(h))
    return h if plain and np.count_nonzero(h) <= 1 else None


def _less_common(values: Array) -> Array:
    """Return three numbers minus their most frequent value, shape (3,)."""
    return values - max(values, key=lambda x: np.count_nonzero(values == x))


def articulated_body(model: Model, b: Balance, tau: Array, armature: Array | None = None) -> Array:
    """Return the accelerations v̇ (nv,) for given joint forces.

    The algorithm uses the force balance of a link, with the gravity-biased acceleration a' = a − g (eqs. 5, 8, 29):

        f_i = I_i^H a'_i − F_i + Σ f_outboard = I*_i a'_i − β*_i

    The sweeps `inward` and `outward` propagate this balance from body to body. `armature` is the additional inertia of geared
    rotors at each degree of freedom, which is part of m*, shape (nv,), or None.
    """
    return articulated_body_with_motions(model, b, tau, armature, {})[0]


def articulated_body_with_motions(
    model: Model, b: Balance, tau: Array, armature: Array | None, given: Mapping[int, Array]
) -> tuple[Array, Array]:
    """Return the accelerations v̇ of a mechanism with prescribed motion of some joints, and the required forces.

    For its parent and its children, a body with a prescribed joint is rigidly attached and has the known acceleration ϕ_i v̇_i.
    The force along the joint is

        τ_i = ϕ_iᵀ (I*_i a'_i − β*_i) + J_i v̇_i        (J_i: geared rotors)

    `given` contains the prescribed v̇ (n,) of joints, keyed by the index of the carried body. Entries of τ (nv,) at these
    joints have no effect. The results are v̇ (nv,) and all joint forces (nv,), equal to τ at joints without prescribed motion.
    """
    everyone = range(model.nb)
    swept = inward(
        model, b.kin, b.bias, tau, dict(enumerate(b.inertia)), dict(enumerate(b.force)), armature, given, members=everyone
    )
    world = {-1: world_acceleration(model)}
    vdot, a = outward(model, b.kin, b.bias, swept.gains, swept.parts, world, given, members=everyone)
    forces = list(tau)
    for i, acceleration in given.items():
        at = model.v_slices[i]
        along = b.kin.subspaces[i].T @ (swept.inertia[i] @ a[i] - swept.force[i])
        forces[at] = along if armature is None else along + armature[at] * acceleration
    return vdot, np.array(forces)
