"""The equations of motion in closed form,  M(q) v̇ + C(q, v) v + D + N + F = τ + Jᵀ w,  for any tree in moving water.

From, Pettersen and Gravdahl 2010, eq. (31), with body Jacobians in place of recursions. It costs more than the articulated-body
algorithm, O(n³); use it for the matrices: control design, passivity, analysis. In still water
F = 0.
"""

from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from hydromechs import dynamics, hydro
from hydromechs.model import Hydro, Model
from hydromechs.spatial import cross, ldl
from hydromechs.values import Array

from . import _arguments as arguments
from ._balance import WaterOptions, in_water, total_inertias
from ._constraints import with_loops


class ClosedForm(NamedTuple):
    """The terms of  M v̇ + C v + D + N + F = τ,  with M = M_RB + M_A and C = C_RB + C_A."""

    M_RB: Array
    """Inertia matrix of the bodies, shape (..., nv, nv)."""
    M_A: Array
    """Added mass, shape (..., nv, nv)."""
    C_RB: Array
    """Coriolis matrix of the bodies; Ṁ_RB − 2 C_RB is skew, shape (..., nv, nv)."""
    C_A: Array
    """Coriolis matrix of the added mass, with the momentum M_A V_r; Ṁ_A − 2 C_A is skew, shape (..., nv, nv)."""
    D: Array
    """Damping force due to the velocity relative to the water, shape (..., nv)."""
    N: Array
    """Restoring force: weight, and buoyancy in water at rest, shape (..., nv)."""
    F: Array
    """Inertia forces of a current due to its velocity and acceleration, in addition to C and D; zero in still water, shape
    (..., nv).
    """

    @property
    def M(self) -> Array:
        """Inertia matrix with added mass, shape (..., nv, nv)."""
        return self.M_RB + self.M_A

    @property
    def C(self) -> Array:
        """Coriolis matrix with added mass; Ṁ − 2C is skew, shape (..., nv, nv)."""
        return self.C_RB + self.C_A


class _Bodies(NamedTuple):
    model: Model
    q: Array
    """Configuration, shape (nq,)."""
    v: Array
    """Velocity, shape (nv,)."""
    kin: dynamics.Kinematics
    jacobians: tuple[dynamics.BodyJacobian, ...]
    motions: list[hydro.WetMotion]
    added: list[Array | None]
    """Added mass of each body, shape (6, 6), or None."""
    inertia: list[Array | None]
    """Rigid-body plus added inertia, shape (6, 6), or None."""
    carried: list[Array]
    """Velocity of the water at each body in its axes, shape (3,)."""


def _bodies(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    fluid_velocity: ArrayLike | None = None,
    fluid_acceleration: ArrayLike | None = None,
) -> _Bodies:
    """Check the arguments; return Jacobians, inertias and relative motions of all bodies."""
    model, q, v = arguments.state(model, q, v)
    v_f = arguments.fluid(model, fluid_velocity, "fluid_velocity")
    a_f = arguments.fluid(model, fluid_acceleration, "fluid_acceleration")
    gravity = model.world.gravity_vector
    kin = dynamics.kinematics(model, q, v)
    jacobians = dynamics.body_jacobians(model, kin, v)
    rows_v, rows_a = (np.broadcast_to(x, (model.nb, 3)) for x in (v_f, a_f))
    carried = [R.T @ u for R, u in zip(kin.R_WB, rows_v, strict=True)]
    relative = [np.concatenate([V[:3] - u, V[3:]]) for V, u in zip(kin.V, carried, strict=True)]
    motions = hydro.body_motions(model, kin, relative, [R.T @ (a - gravity) for R, a in zip(kin.R_WB, rows_a, strict=True)])
    added = hydro.added_inertias(model, motions)
    return _Bodies(model, q, v, kin, jacobians, motions, added, total_inertias(model.rigid, added), carried)


def _rigid_momenta(b: _Bodies) -> list[Array | None]:
    """I V of each body, shape (6,), or None."""
    return [None if rigid is None else rigid.matrix @ V for rigid, V in zip(b.model.rigid, b.kin.V, strict=True)]


def _added_momenta(b: _Bodies) -> list[Array | None]:
    """I^A V_r of each body, shape (6,), or None."""
    return [None if M_A is None else M_A @ motion.velocity for M_A, motion in zip(b.added, b.motions, strict=True)]


def _coriolis_matrix(b: _Bodies) -> Array:
    """C with added mass, shape (nv, nv)."""
    pairs = zip(_rigid_momenta(b), _added_momenta(b), strict=True)
    momenta = [a if r is None else r if a is None else r + a for r, a in pairs]
    return dynamics.coriolis_matrix(b.model, b.jacobians, b.inertia, momenta)


def coriolis_matrix(model: Model, q: ArrayLike, v: ArrayLike, *, fluid_velocity: ArrayLike | None = None) -> Array:
    """C(q, v) with added mass, in the factorisation for which Ṁ − 2C is skew, shape (nv, nv).

        C = Σ J_iᵀ ((I_i + I^A_i) J̇_i + B_i J_i),   B = −[[0, p̂], [p̂, l̂]],   (p, l) = I_i V_i + I^A_i V_r,i

    With custom added mass that depends on the configuration, Ṁ has a part that C does not include.

    `model`, `q`, `v` and `fluid_velocity` are those of `forward_dynamics`. Ṁ − 2C is skew even in a current, where `flow_force`
    adds to C v.
    """
    return _coriolis_matrix(_bodies(model, q, v, fluid_velocity))


def coriolis_matrix_lagrange(model: Model, q: ArrayLike, v: ArrayLike, *, fluid_velocity: ArrayLike | None = None) -> Array:
    """C(q, v) with added mass, according to Lagrange's equations in quasi-velocities, shape (nv, nv).

        C_ij = Σ_k ∂_k M_ij v_k − ½ Σ_l ∂_i M_jl v_l + Σ_k c^k_ij (M v)_k − Σ J_iᵀ B(I^A_i (u_i, 0)) J_i

    The last sum is that of ∂_i a_j − ∂_j a_i − Σ_k c^k_ij a_k with a = Σ J_iᵀ I^A_i (u_i, 0), where the water's velocity u_i at
    a body is held in its axes: the momentum inside the added mass is that relative to the water.

    C v is that of `coriolis_matrix`; Ṁ − 2C is not skew. `model`, `q`, `v` and `fluid_velocity` are those of
    `forward_dynamics`.
    """
    b = _bodies(model, q, v, fluid_velocity)
    C = dynamics.coriolis_matrix_lagrange(model, b.kin, b.jacobians, b.inertia, b.v)
    carried = zip(b.added, b.carried, strict=True)
    drift = [None if M_A is None else -dynamics.momentum_matrix(M_A[:, :3] @ u) for M_A, u in carried]
    return C + dynamics.matrix_from_jacobians(model, b.jacobians, drift)


def closed_form(model: Model, q: ArrayLike, v: ArrayLike, **water: Unpack[WaterOptions]) -> ClosedForm:
    """The matrices and forces of  M v̇ + C v + D + N + F = τ.

    Water that moves with u at a body, in body axes, with acceleration a_f, mass m_f displaced at b, adds (V_r = V − (u, 0))

        F = Σ J_iᵀ (I^A (ω × u − a_f, 0) − B(I^A V_r) (u, 0) − m_f (a_f, b × a_f))

    so that the added-mass terms contain only relative motion: I^A d/dt V_r + V_r ×* (I^A V_r). If all roots are free and the
    current is uniform and steady, then M v̇ + C v + F = M v̇_r + C(q, v_r) v_r with v_r = v − (Rᵀ u, 0, …).

    `model`, `q`, `v` and, in `water`, `fluid_velocity` and `fluid_acceleration` are those of `forward_dynamics`.
    """
    b = _bodies(model, q, v, **water)
    rigid = [None if body is None else body.matrix for body in b.model.rigid]
    return ClosedForm(
        dynamics.mass_matrix_from_jacobians(b.model, b.jacobians, rigid),
        dynamics.mass_matrix_from_jacobians(b.model, b.jacobians, b.added),
        dynamics.coriolis_matrix(b.model, b.jacobians, rigid, _rigid_momenta(b)),
        dynamics.coriolis_matrix(b.model, b.jacobians, b.added, _added_momenta(b)),
        *_forces(b),
    )


def _forces(b: _Bodies) -> list[Array]:
    """D, N and F of `closed_form`, shape (nv,) each."""
    terms = zip(*(_body_terms(b, i) for i in range(b.model.nb)), strict=True)
    return [dynamics.transposed_times(b.model, b.jacobians, wrenches) for wrenches in terms]


def _body_terms(b: _Bodies, i: int) -> tuple[Array | None, Array | None, Array | None]:
    """Contributions of one body to D, N and F on the left-hand side, in its axes about its origin, shape (6,) or None each."""
    body, rigid, motion, M_A = b.model.bodies[i], b.model.rigid[i], b.motions[i], b.added[i]
    down = b.kin.R_WB[i].T @ b.model.world.gravity_vector
    weight = None if rigid is None else -np.concatenate([rigid.mass * down, cross(rigid.first_moment, down)])
    if body.hydro is None or M_A is None:
        return None, weight, None
    still = motion._replace(a_fg=-down)
    viscous, static = hydro.viscous_wrench(body, still), hydro.total_buoyancy(body, still)
    moving = hydro.total_buoyancy(body, motion) - static
    if not isinstance(body.hydro, Hydro):  # the part of a custom force that remains at zero velocity is restoring
        at_rest = hydro.viscous_wrench(body, still._replace(velocity=0.0 * motion.velocity))
        moving = moving + hydro.viscous_wrench(body, motion) - viscous
        viscous, static = viscous - at_rest, static + at_rest
    u = np.concatenate([b.carried[i], np.zeros(3)])
    turning = cross(b.kin.V[i][3:], b.carried[i]) - (motion.a_fg - still.a_fg)
    flow = M_A[:, :3] @ turning - dynamics.momentum_matrix(M_A @ motion.velocity) @ u - moving
    return -viscous, -static if weight is None else weight - static, flow


def flow_force(model: Model, q: ArrayLike, v: ArrayLike, **water: Unpack[WaterOptions]) -> Array:
    """F in M v̇ + C v + D + g + F = τ: the effect of moving water beyond C and D, zero in still water, shape (nv,).

    Use the same `fluid_velocity` in `coriolis_matrix` and `damping_force`. `model`, `q`, `v` and `water` are those of
    `closed_form`.
    """
    b = _bodies(model, q, v, **water)
    return dynamics.transposed_times(model, b.jacobians, [_body_terms(b, i)[2] for i in range(model.nb)])


def damping_matrix(model: Model, q: ArrayLike, v: ArrayLike, *, fluid_velocity: ArrayLike | None = None) -> Array:
    """D(q, v) with D v = `damping_force` in still water, shape (nv, nv).

        D = Σ J_iᵀ D_i(V_r,i) J_i,     D_i V_r,i = −(drag, damping and lift of body i)

    The part due to drag is symmetric and positive semi-definite, that due to lift is skew; that of Fossen's damping follows
    from its coefficients. In a current D_i is that of the velocity relative to the water, but it multiplies v: `damping_force`
    is then D v − Σ J_iᵀ D_i (u_i, 0), with u_i the velocity of the water at body i in its axes. If all roots are
    free and the current is uniform, this is D v_r with v_r as in `closed_form`.

    `model`, `q`, `v` and `fluid_velocity` are those of `forward_dynamics`; custom hydrodynamics needs a method
    `damping_matrix(body, motion)`.
    """
    b = _bodies(model, q, v, fluid_velocity)
    pairs = zip(model.bodies, b.motions, strict=True)
    matrices = [None if body.hydro is None else hydro.viscous_matrix(body, motion) for body, motion in pairs]
    return dynamics.matrix_from_jacobians(model, b.jacobians, matrices)


def closed_form_dynamics(
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, wrench: ArrayLike | None = None, **water: Unpack[WaterOptions]
) -> Array:
    """Accelerations for given joint forces by the closed form,  v̇ = M⁻¹ (τ + Σ Jᵀ w − C v − D − N − F),  with M = LDLᵀ.

    `model`, `q`, `v`, `tau`, `wrench`, `water` and the result are those of `forward_dynamics`.
    """
    b = _bodies(model, q, v, **water)
    D, N, F = _forces(b)
    rest = arguments.torques(model, tau) - _coriolis_matrix(b) @ b.v - D - N - F
    external = arguments.wrenches(model, wrench)
    if external is not None:
        rest = rest + dynamics.transposed_times(model, b.jacobians, external)
    M = dynamics.mass_matrix_from_jacobians(model, b.jacobians, b.inertia)
    vdot = ldl(M).solve(rest)
    return with_loops(b.model, b.q, b.v, M, vdot) if b.model.loops else vdot


def damping_force(model: Model, q: ArrayLike, v: ArrayLike, *, fluid_velocity: ArrayLike | None = None) -> Array:
    """D(q, v): hydrodynamic damping as a generalised force on the left-hand side; D · v ≥ 0 in still water, shape (nv,).

    `model`, `q`, `v` and `fluid_velocity` are those of `forward_dynamics`.
    """
    model, q, v = arguments.state(model, q, v)
    kin, motions = in_water(model, q, v, arguments.fluid(model, fluid_velocity, "fluid_velocity"), np.zeros(3))
    wrenches = []
    for body, motion in zip(model.bodies, motions, strict=True):
        F = np.zeros(6)
        if isinstance(body.hydro, Hydro):
            F = hydro.viscous_wrench(body, motion)
        elif body.hydro is not None:  # the part of a custom force that depends on the velocity
            F = hydro.viscous_wrench(body, motion) - hydro.viscous_wrench(body, motion._replace(velocity=0.0 * motion.velocity))
        wrenches.append(-F)
    return dynamics.generalized_force(model, kin, wrenches)


def restoring_force(model: Model, q: ArrayLike) -> Array:
    """g(q): weight and buoyancy in still water as a left-hand generalised force of a `model` at `q` (nq,), shape (nv,)."""
    model = arguments.model_of(model)
    kin, motions = in_water(model, arguments.configuration(model, q), np.zeros(model.nv), np.zeros(3), np.zeros(3))
    wrenches = []
    for body, motion, rigid in zip(model.bodies, motions, model.rigid, strict=True):
        F = np.zeros(6)
        if rigid is not None:  # the weight, −m (−g) at the centre of mass
            F = -np.concatenate([rigid.mass * motion.a_fg, cross(rigid.first_moment, motion.a_fg)])
        if isinstance(body.hydro, Hydro):
            F = F + hydro.total_buoyancy(body, motion)
        elif body.hydro is not None:
            F = F + hydro.viscous_wrench(body, motion)
        wrenches.append(-F)
    return dynamics.generalized_force(model, kin, wrenches)


def velocity_coupling(model: Model, q: Array, v: Array) -> Array:
    """K with d/dt δ = δv + K δ for a displacement δ in tangent coordinates: −[v, ·] of each joint's own group, shape (nv, nv).

    A displacement exp(δ) relative to a moving frame changes with the frame's velocity: δ̇ = δv − v × δ for a free
    joint, δ̇ = δv − ω × δ for a ball, δ̇ = δv for the others.
    """
    rows: list[list[Any]] = [[0.0] * model.nv for _ in range(model.nv)]
    for step in dynamics.moving_steps(model):
        c = step.brackets(np.asarray(q[step.at_q]))
        if c is not None:
            own = v[step.at_v]
            for k in range(step.nv):
                for j in range(step.nv):
                    rows[step.iv + k][step.iv + j] = -(own @ c[k, :, j])
    return np.array(rows).reshape(model.nv, model.nv)
