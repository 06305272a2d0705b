"""Constraint between two frames that are joined in some of their six relative directions: grasps and loops."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from hydromechs.model import Coupling, Loop, Model, frame_error, held_directions
from hydromechs.model.component import Constraint
from hydromechs.spatial import cross, norm
from hydromechs.values import Array, Scalar

from ._jacobian import jacobian, jacobian_derivative_times_velocity


class Joined(Protocol):
    """Properties of a grasp or loop that the constraint equations use."""

    @property
    def holder(self) -> str:
        """Frame or body that holds the other frame."""

    @property
    def held(self) -> str:
        """Held frame or body."""

    @property
    def rows(self) -> tuple[int, ...]:
        """Indices of the held directions, in the axes of the holder's frame: translations x y z, then rotations about x y z."""


class JoinedRows(NamedTuple):
    """Two joined frames as a constraint J v̇ + bias = 0 in the c held directions."""

    J: Array
    """Jacobian: J v is the velocity of the held frame minus that of the holder, in the holder's axes, shape (c, nv)."""
    bias: Array
    """Bias acceleration J̇ v, shape (c,)."""
    error: Array
    """Position and angle errors between the frames along the held directions [m, rad], shape (c,)."""
    facing: Scalar
    """Cosine of the held angle between the frames; if negative, the frames face away from each other."""
    directions: Array
    """Held directions D in the holder's axes, shape (c, 6): forces λ give the force and moment Dᵀ λ on the held frame."""


def joined_gap(model: Model, kin: Any, joined: Joined) -> tuple[Array, Array]:
    """Return position [m] (3,) and axes (3, 3) of the held frame in the holder's frame."""
    a, p_a, R_a = model.locate(joined.holder)
    b, p_b, R_b = model.locate(joined.held)
    R_WA, R_WB = kin.R_WB[a] @ R_a, kin.R_WB[b] @ R_b
    apart = kin.p_WB[b] + kin.R_WB[b] @ p_b - kin.p_WB[a] - kin.R_WB[a] @ p_a
    return R_WA.T @ apart, R_WA.T @ R_WB


def joined_rows(model: Model, kin: Any, joined: Joined) -> JoinedRows:
    """Return the constraint of two joined frames; `kin` is relative to an observer at rest in the world.

    With T = R_Aᵀ R_B and V_A at the position of B, V_rel = T V_B − V_A and d/dt (T V_B) = T V̇_B + ω_rel × T V_B. The reference
    point on A moves relative to A with v_rel, which adds ω_A × v_rel to d/dt V_A.
    """
    p, T = joined_gap(model, kin, joined)
    (a, p_a, R_a), (b, p_b, R_b) = model.locate(joined.holder), model.locate(joined.held)

    def turned(R: Array, V: Array) -> Array:
        return np.concatenate([R @ V[:3], R @ V[3:]])

    def moving(i: int, point: Array) -> Array:
        return np.concatenate([kin.V[i][:3] + cross(kin.V[i][3:], point), kin.V[i][3:]])

    at = p_a + R_a @ p  # compared at the held frame, which moves relative to the holder in free directions
    J_a, J_b = jacobian(model, kin, a, at), jacobian(model, kin, b, p_b)
    S = T @ R_b.T
    J = np.concatenate([S @ J_b[:3] - R_a.T @ J_a[:3], S @ J_b[3:] - R_a.T @ J_a[3:]])
    V_b, V_a = turned(S, moving(b, p_b)), turned(R_a.T, moving(a, at))
    w = V_b[3:] - V_a[3:]
    carried = np.concatenate([cross(w, V_b[:3]) - cross(V_a[3:], V_b[:3] - V_a[:3]), cross(w, V_b[3:])])
    bias_a = jacobian_derivative_times_velocity(model, kin, a, at)
    bias_b = jacobian_derivative_times_velocity(model, kin, b, p_b)
    bias = turned(S, bias_b) - turned(R_a.T, bias_a) + carried
    error, facing = frame_error(p, T, joined.rows)
    rows = list(joined.rows)
    D, rate = held_directions(T, w, rows)
    if sum(k >= 3 for k in rows) == 1:
        return JoinedRows(D @ J, D @ bias + rate, error[rows], facing, D)
    return JoinedRows(J[rows], bias[rows], error[rows], facing, D)


def joined_dofs(model: Model, joined: Joined) -> tuple[int, ...]:
    """Return the degrees of freedom that move the holder or the held frame, as sorted indices into v."""
    out: set[int] = set()
    for name in (joined.holder, joined.held):
        body = model.locate(name).body
        while body >= 0:
            out |= set(range(model.nv)[model.v_slices[body]])
            body = model.parent[body]
    return tuple(sorted(out))


def joined_misfit(rows: JoinedRows, joined: Joined) -> tuple[Scalar, Scalar]:
    """Return the distance error [m] and angle error [rad] of two joined frames, from their constraint."""
    at = dict(zip(joined.rows, rows.error, strict=True))
    sine = norm([at.get(k, 0.0) for k in range(3, 6)])
    return norm([at.get(k, 0.0) for k in range(3)]), np.arctan2(sine, rows.facing)


def joined_constraint(model: Model, kin: Any, joined: Any, active: Scalar = 1.0) -> tuple[Constraint, Array]:
    """Return the constraint of a grasp or loop, and the directions of its forces as in `JoinedRows`."""
    rows = joined_rows(model, kin, joined)
    constraint = Constraint(
        J=rows.J,
        bias=rows.bias,
        error=rows.error,
        active=active,
        stabilisation=joined.stabilisation,
        apart=joined_misfit(rows, joined),
        tolerance=joined.tolerance,
        between=(joined.holder, joined.held),
        dofs=joined_dofs(model, joined),
    )
    return constraint, rows.directions


def loop_constraint(model: Model, kin: Any, q: Array, v: Array, loop: Loop | Coupling) -> Constraint:
    """Return the constraint of a model loop at a configuration q (nq,) and velocity v (nv,); `kin` is as in `joined_rows`."""
    if isinstance(loop, Loop):
        return joined_constraint(model, kin, loop)[0]
    joint, of = model.joint_parts[loop.joint], model.joint_parts[loop.of]
    value, slope, curvature = loop.values(q[of.q.start])
    at, at_of = joint.v.start, of.v.start
    error = q[joint.q.start] - value
    return Constraint(
        J=np.array([[1.0 if k == at else -slope if k == at_of else 0.0 for k in range(model.nv)]]),
        bias=np.array([-curvature * v[at_of] * v[at_of]]),
        error=np.array([error]),
        active=1.0,
        stabilisation=loop.stabilisation,
        apart=(np.sqrt(error * error), 0.0),
        tolerance=loop.tolerance,
        between=(loop.joint, loop.of),
        dofs=(min(at, at_of), max(at, at_of)),
    )
