"""The equations of motion in closed form,  M(q) v̇ + C(q, v) v + D + N + F = τ + Jᵀ w,  for any tree in moving water.

From, Pettersen and Gravdahl 2010, eq. (31), with body Jacobians in place of recursions. It costs more than the
articulated-body algorithm, O(n³), and is there for what needs the matrices: control design, passivity, analysis. In still
water F = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hydromechs import dynamics, hydro
from hydromechs.model import Hydro, Model
from hydromechs.spatial import cross, ldl
from hydromechs.values import Array

from . import _arguments as arguments

__all__ = ["ClosedForm", "closed_form", "closed_form_dynamics", "coriolis_matrix", "coriolis_matrix_lagrange"]


class ClosedForm(NamedTuple):
    """The terms of  M v̇ + C v + D + N + F = τ."""

    M: Array
    """Inertia matrix with added mass, shape (nv, nv)."""
    C: Array
    """Coriolis matrix; Ṁ − 2C is skew; with V_r in the added part, shape (nv, nv)."""
    D: Array
    """Damping force by the velocity relative to the water, shape (nv,)."""
    N: Array
    """Restoring force: weight, and buoyancy in water at rest, shape (nv,)."""
    F: Array
    """What a current adds beside C and D: its inertia forces by velocity and acceleration; zero in still water, shape (nv,)."""


class _Bodies(NamedTuple):
    kin: dynamics.Kinematics
    jacobians: tuple[dynamics.BodyJacobian, ...]
    motions: list[hydro.Motion]
    added: list[Array | None]
    """Added mass of each body, shape (6, 6), or None."""
    inertia: list[Array | None]
    """Rigid and added, shape (6, 6), or None."""
    carried: list[Array]
    """Velocity of the water at each body in its axes, shape (3,)."""


def _bodies(model: Model, q: Array, v: Array, v_f: Array, a_f: Array) -> _Bodies:
    """Jacobians, inertias and relative motions of all bodies."""
    gravity = model.world.gravity_vector
    kin = dynamics.kinematics(model, q, v)
    jacobians = dynamics.body_jacobians(model, kin, v)
    rows_v, rows_a = (np.broadcast_to(x, (model.nb, 3)) for x in (v_f, a_f))
    carried = [R.T @ u for R, u in zip(kin.R_WB, rows_v, strict=True)]
    relative = [np.concatenate([V[:3] - u, V[3:]]) for V, u in zip(kin.V, carried, strict=True)]
    motions = hydro.body_motions(model, kin, relative, [R.T @ (a - gravity) for R, a in zip(kin.R_WB, rows_a, strict=True)])
    added = hydro.added_inertias(model, motions)
    inertia = []
    for rigid, M_A in zip(model.rigid, added, strict=True):
        I = None if rigid is None else rigid.matrix
        inertia.append(I if M_A is None else M_A if I is None else I + M_A)
    return _Bodies(kin, jacobians, motions, added, inertia, carried)


def _momenta(model: Model, b: _Bodies) -> list[Array | None]:
    """I V of each body with its added mass's I^A V_r, shape (6,) each, or None."""
    out: list[Array | None] = []
    for rigid, M_A, V, motion in zip(model.rigid, b.added, b.kin.V, b.motions, strict=True):
        h = None if rigid is None else rigid.matrix @ V
        if M_A is not None:
            h = M_A @ motion.velocity if h is None else h + M_A @ motion.velocity
        out.append(h)
    return out


def coriolis_matrix(model: Model, q: ArrayLike, v: ArrayLike, *, fluid_velocity: ArrayLike | None = None) -> Array:
    """C(q, v) with added mass, of the factorisation for which Ṁ − 2C is skew, shape (nv, nv).

        C = Σ J_iᵀ ((I_i + I^A_i) J̇_i + B_i J_i),   B = −[[0, p̂], [p̂, l̂]],   (p, l) = I_i V_i + I^A_i V_r,i

    With added mass that depends on the configuration (a user's own), Ṁ has a part that C does not know.

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        fluid_velocity: As in `forward_dynamics`; Ṁ − 2C is skew in a current too, but there C v is not all: see `closed_form`.
    """
    model, q, v, v_f, a_f = _arguments(model, q, v, fluid_velocity, None)
    b = _bodies(model, q, v, v_f, a_f)
    return dynamics.coriolis_matrix(model, b.jacobians, b.inertia, _momenta(model, b))


def coriolis_matrix_lagrange(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """C(q, v) with added mass, as Lagrange's equations in quasi-velocities give it, shape (nv, nv).

        C_ij = Σ_k ∂_k M_ij v_k − ½ Σ_l ∂_i M_jl v_l + Σ_k c^k_ij (M v)_k

    C v is that of `coriolis_matrix` in still water; Ṁ − 2C is not skew.

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
    """
    model, q, v, v_f, a_f = _arguments(model, q, v, None, None)
    b = _bodies(model, q, v, v_f, a_f)
    return dynamics.coriolis_matrix_lagrange(model, b.jacobians, b.inertia, v)


def closed_form(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    fluid_velocity: ArrayLike | None = None,
    fluid_acceleration: ArrayLike | None = None,
) -> ClosedForm:
    """The matrices and forces of  M v̇ + C v + D + N + F = τ.

    Water that moves with u at a body, in body axes, with acceleration a_f, mass m_f displaced at b, adds (V_r = V − (u, 0))

        F = Σ J_iᵀ (I^A (ω × u − a_f, 0) − B(I^A V_r) (u, 0) − m_f (a_f, b × a_f))

    so that inside I^A all is relative: I^A d/dt V_r + V_r ×* (I^A V_r). If all roots are free and the current is uniform and
    steady, then M v̇ + C v + F = M v̇_r + C(q, v_r) v_r with v_r = v − (Rᵀ u, 0, …).

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        fluid_velocity: As in `forward_dynamics`.
        fluid_acceleration: As in `forward_dynamics`.
    """
    model, q, v, v_f, a_f = _arguments(model, q, v, fluid_velocity, fluid_acceleration)
    return _terms(model, _bodies(model, q, v, v_f, a_f))


def _terms(model: Model, b: _Bodies) -> ClosedForm:
    """As `closed_form`, from what is known of the bodies."""
    damping: list[Array | None] = []
    restoring: list[Array | None] = []
    flow: list[Array | None] = []
    for i, (body, rigid, motion) in enumerate(zip(model.bodies, model.rigid, b.motions, strict=True)):
        down = b.kin.R_WB[i].T @ model.world.gravity_vector
        still = motion._replace(a_fg=-down)
        weight = None if rigid is None else -np.concatenate([rigid.mass * down, cross(rigid.first_moment, down)])
        if body.hydro is None:
            for terms, term in zip((damping, restoring, flow), (None, weight, None), strict=True):
                terms.append(term)
            continue
        viscous, static = hydro.viscous_wrench(body, motion), hydro.total_buoyancy(body, still)
        moving = hydro.total_buoyancy(body, motion) - static
        if not isinstance(body.hydro, Hydro):  # of a user's own force, what is left at rest is restoring
            rest = hydro.viscous_wrench(body, motion._replace(velocity=0.0 * motion.velocity))
            at_rest = hydro.viscous_wrench(body, still._replace(velocity=0.0 * motion.velocity))
            viscous, static, moving = viscous - rest, static + at_rest, moving + rest - at_rest
        damping.append(-viscous)
        restoring.append(-static if weight is None else weight - static)
        M_A, u = b.added[i], np.concatenate([b.carried[i], np.zeros(3)])
        turning = cross(b.kin.V[i][3:], b.carried[i]) - (motion.a_fg - still.a_fg)
        flow.append(M_A[:, :3] @ turning - dynamics.momentum_matrix(M_A @ motion.velocity) @ u - moving)
    return ClosedForm(
        dynamics.mass_matrix_from_jacobians(model, b.jacobians, b.inertia),
        dynamics.coriolis_matrix(model, b.jacobians, b.inertia, _momenta(model, b)),
        *(dynamics.transposed_times(model, b.jacobians, terms) for terms in (damping, restoring, flow)),
    )


def closed_form_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    fluid_velocity: ArrayLike | None = None,
    fluid_acceleration: ArrayLike | None = None,
    wrench: ArrayLike | None = None,
) -> Array:
    """Accelerations for given joint forces, by the closed form:  v̇ = M⁻¹ (τ + Σ Jᵀ w − C v − D − N − F),  M solved by LDLᵀ.

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        tau: Generalised force dual to `v`, shape (nv,).
        fluid_velocity: As in `forward_dynamics`.
        fluid_acceleration: As in `forward_dynamics`.
        wrench: As in `forward_dynamics`.

    Returns:
        v̇, the time derivative of the numbers in `v`, shape (nv,).
    """
    model, q, v, v_f, a_f = _arguments(model, q, v, fluid_velocity, fluid_acceleration)
    tau = arguments.array(tau, ((model.nv,),), "tau", "generalised force")
    b = _bodies(model, q, v, v_f, a_f)
    terms = _terms(model, b)
    rest = tau - terms.C @ v - terms.D - terms.N - terms.F
    if wrench is not None:
        external = arguments.array(wrench, ((model.nb, 6),), "wrench", "on each body in its axes about its origin")
        rest = rest + dynamics.transposed_times(model, b.jacobians, external)
    return ldl(terms.M).solve(rest)


def _arguments(
    model: Model, q: ArrayLike, v: ArrayLike, fluid_velocity: ArrayLike | None, fluid_acceleration: ArrayLike | None
) -> tuple[Model, Array, Array, Array, Array]:
    """Checked arguments: model, q, v and the water's velocity and acceleration in world axes."""
    model = arguments.model_of(model)
    return (
        model,
        arguments.configuration(model, q),
        arguments.array(v, ((model.nv,),), "v", "velocity"),
        arguments.fluid(model, fluid_velocity, "fluid_velocity"),
        arguments.fluid(model, fluid_acceleration, "fluid_acceleration"),
    )
