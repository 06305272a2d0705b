"""Forward kinematics (McMillan, Orin and McGhee 1995, Table I, part I), and energies and momentum of bodies and water."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs.model import Model, MovingStep, motion_subspace, transformation
from hydromechs.spatial import Path, cross, motion_cross, shift_wrench
from hydromechs.values import Array, Scalar


class Bias(NamedTuple):
    """Bias acceleration across a joint: a_i = ⁱX_p (a_p + (swing, 0)) + ϕ_i v̇_i + own."""

    swing: Array
    """Centripetal acceleration of the body's origin as a point of the parent, in the parent's axes [m/s²], shape (3,)."""
    own: Array
    """Acceleration from the joint's own velocity, in the body's axes [m/s², rad/s²], shape (6,)."""


class StepSubspace(NamedTuple):
    """Motion subspace of one moving step, in the axes of the frame after the step."""

    S: Array
    """Matrix S with V_J = S v, shape (6, n)."""
    changes: Array | None
    """Derivatives ∂_k S along the velocities of the step, indexed [k, :, :], shape (n, 6, n); None if S is constant."""
    brackets: Array | None
    """Structure constants c with [e_i, e_j] = Σ_k c^k_ij e_k, indexed [k, i, j], shape (n, n, n); None if all are zero."""


class BodyKinematics(NamedTuple):
    """Kinematics of one body, in body axes at the body's origin; `Kinematics` contains the same fields for all bodies."""

    path: Path
    """Transformation ⁱX_p(i) from the parent's frame to the body's frame."""
    subspace: Array
    """Motion subspace ϕ_i, shape (6, n_i)."""
    V: Array
    """Velocity relative to the observer [m/s, rad/s], shape (6,)."""
    zeta: Bias
    """Bias ζ_i of the true acceleration."""
    c: Bias
    """Bias c_i of the derivative of the components of V_i."""
    R_WB: Array
    """Axes of the body in the world (body to world), shape (3, 3)."""
    p_WB: Array
    """Origin of the body in the world [m], shape (3,)."""
    own: tuple[StepSubspace | None, ...]
    """Motion subspace of each step of the joint; None for constant steps."""


class Kinematics(NamedTuple):
    """Kinematics of a model at (q, v), with one entry per body, in body axes at the body's origin."""

    paths: tuple[Path, ...]
    """Transformation ⁱX_p(i) from the parent's frame to the body's frame."""
    subspaces: tuple[Array, ...]
    """Motion subspace ϕ_i, shape (6, n_i)."""
    V: tuple[Array, ...]
    """Velocity relative to the observer [m/s, rad/s], shape (6,)."""
    zeta: tuple[Bias, ...]
    """Bias ζ_i of the true linear acceleration of the origin and of the angular acceleration (as in the papers)."""
    c: tuple[Bias, ...]
    """Bias c_i of the derivative of the components of V_i (the spatial acceleration)."""
    R_WB: tuple[Array, ...]
    """Axes of the body in the world (body to world), shape (3, 3)."""
    p_WB: tuple[Array, ...]
    """Origin of the body in the world [m], shape (3,)."""
    own: tuple[tuple[StepSubspace | None, ...], ...] = ()
    """Motion subspaces of the steps of each joint; None for constant steps."""


class Balance(NamedTuple):
    """Inputs of the recursions: motion, inertia and forces of every body, each in body axes."""

    kin: Kinematics
    """Kinematics relative to the water if its velocity is uniform."""
    bias: Sequence[Bias]
    """Bias acceleration of each body, `kin.zeta` or `kin.c`."""
    inertia: Sequence[Array | None]
    """Inertia I^H of each body, the sum of rigid and added inertia, shape (6, 6) each, or None."""
    force: Sequence[Array]
    """Force F on each body [N, N·m], shape (6,) each. It excludes gravity, joint forces and −I^H a', and includes the
    velocity-dependent force for the chosen acceleration (`rigid_bias` or `velocity_force`)."""
    wrench: Sequence[Array] | None = None
    """External wrenches included in `force` for a mechanism without water (bias `kin.zeta`) [N, N·m], shape (6,) each."""


def kinematics(model: Model, q: Array, v: Array, observer_velocity: Array | Sequence[Scalar] = (0.0, 0.0, 0.0)) -> Kinematics:
    """Return poses, velocities and bias accelerations of all bodies.

        V_i = ⁱX_p V_p + ϕ_i v_i,       a_i = ⁱX_p a_p + ϕ_i v̇_i + bias (see `Bias`)

    Two definitions of acceleration are available. The bias ζ corresponds to the true acceleration of the body origin (d/dt in
    the world, in body axes), as in the papers. The bias c corresponds to the derivative of the components of V. The two
    accelerations differ by (ω × v, 0). The velocity of the world is minus the velocity of the observer. For an observer that
    drifts with a uniform current, all velocities are therefore relative to the water without additional operations.

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        observer_velocity: Velocity of the non-rotating observer in world axes [m/s], shape (3,).
    """
    world = np.concatenate([-np.asarray(observer_velocity), np.zeros(3)])
    rows: list[BodyKinematics] = []
    for parent, steps in zip(model.parent, model.steps, strict=True):
        if parent < 0:
            rows.append(body_kinematics(steps, q, v, world))
        else:
            at = rows[parent]
            rows.append(body_kinematics(steps, q, v, at.V, (at.R_WB, at.p_WB)))
    return Kinematics(*zip(*rows, strict=True))


def body_kinematics(
    steps: Sequence[Any], q: Array, v: Array, V_parent: Array, pose: tuple[Array, Array] | None = None
) -> BodyKinematics:
    """Return the kinematics of one body from the velocity (6,) and the pose of its parent; the pose is None for the world."""
    path = Path(tuple(transformation(step, q) for step in steps))
    V, zeta, c = _across_joint(steps, path.steps, V_parent, q, v)
    R, p = path.pose()
    if pose is not None:
        R, p = pose[0] @ R, pose[1] + pose[0] @ p
    own = tuple(_own_subspace(step, q) for step in steps)
    return BodyKinematics(path, motion_subspace(steps, path.steps, q), V, zeta, c, R, p, own)


def _own_subspace(step: Any, q: Array) -> StepSubspace | None:
    if not isinstance(step, MovingStep):
        return None
    at = np.asarray(q[step.at_q])
    return StepSubspace(step.subspace(at), step.subspace_changes(at), step.brackets(at))


def _across_joint(
    steps: Sequence[Any], transformations: Sequence[Any], V: Array, q: Array, v: Array
) -> tuple[Array, Bias, Bias]:
    """Return the velocity after a joint and the two bias accelerations across the joint, accumulated over its moving steps.

    The origin of the next frame, at p, has the centripetal acceleration ω × (ω × p) as a point of the previous frame. A step
    that moves with V_J = S v = (v_J, ω_J) in its own axes adds (2 ω × v_J + ω_J × v_J, ω × ω_J) + Ṡ v to ζ, with ω before the
    joint, and V × V_J + Ṡ v to c.
    """
    zeta = c = np.zeros(6)
    swing = None
    stretch: list = []
    for k, (step, X) in enumerate(zip(steps, transformations, strict=True)):
        stretch.append(X)
        moves = isinstance(step, MovingStep)
        if not moves and k + 1 < len(steps):
            continue
        path, w = Path(tuple(stretch)), V[3:]
        p = path.pose()[1]
        across = cross(w, cross(w, p))
        if swing is None:  # centripetal acceleration of the parent's motion
            swing = across
        else:
            zeta = path.motion(zeta + np.concatenate([across, np.zeros(3)]))
        V, c, stretch = path.motion(V), path.motion(c), []
        if not moves:
            continue
        w, at_q, at_v = V[3:], np.asarray(q[step.at_q]), np.asarray(v[step.at_v])
        V_J, S_rate = step.velocity(at_q, at_v), step.subspace_rate(at_q, at_v)
        own = np.concatenate([2.0 * cross(w, V_J[:3]) + cross(V_J[3:], V_J[:3]), cross(w, V_J[3:])])
        zeta, c, V = zeta + own, c + motion_cross(V, V_J), V + V_J  # V × V_J = (V + V_J) × V_J
        if S_rate is not None:
            bent = S_rate @ at_v
            zeta, c = zeta + bent, c + bent
    none = np.zeros(3)
    return V, Bias(none if swing is None else swing, zeta), Bias(none, c)


def world_vector(model: Model, kin: Kinematics, a_W: Array) -> list[Array]:
    """Return a 3-vector in world axes, transformed along the chains to the axes of each body, shape (3,) each."""
    out: list[Array] = []
    for parent, path in zip(model.parent, kin.paths, strict=True):
        out.append(path.rotate(np.asarray(a_W) if parent < 0 else out[parent]))
    return out


def kinetic_energy(inertias: Sequence[Array | None], velocities: Sequence[Array]) -> Scalar:
    """Return ½ Σ Vᵀ I V [J] over all bodies; inertias are (6, 6) or None, velocities are (6,)."""
    total = 0.0
    for inertia, V in zip(inertias, velocities, strict=True):
        if inertia is not None:
            total = total + 0.5 * (V @ (inertia @ V))
    return total


def potential_energy(
    masses: Sequence[Scalar], first_moments: Sequence[Array], poses: Sequence[tuple[Array, Array]], gravity_W: Array
) -> Scalar:
    """Return −Σ g · (m p + R h) [J], zero at the world's origin; displaced water has negative mass.

    `masses` are in kg. `first_moments` are h = m s about the bodies' origins in body axes [kg·m], shape (3,) each. `poses`
    contains axes (3, 3) and origin (3,) [m] in the world. `gravity_W` is in world axes [m/s²], shape (3,).
    """
    total = 0.0
    for m, h, (R, p) in zip(masses, first_moments, poses, strict=True):
        total = total - gravity_W @ (m * p + R @ h)
    return total


def momentum(inertias: Sequence[Array | None], velocities: Sequence[Array], kin: Kinematics) -> Array:
    """Return Σ I V about the world's origin in world axes, linear first [kg·m/s, kg·m²/s], shape (6,).

    With added inertias and velocities relative to the water, the result is Kirchhoff's impulse of the fluid.
    """
    total = np.zeros(6)
    for inertia, V, R, p in zip(inertias, velocities, kin.R_WB, kin.p_WB, strict=True):
        if inertia is not None:
            h = inertia @ V
            total = total + shift_wrench(np.concatenate([R @ h[:3], R @ h[3:]]), p)
    return total
