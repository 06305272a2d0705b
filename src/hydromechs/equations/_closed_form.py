"""Equations of motion in closed form,  M(q) v̇ + C(q, v) v + D + N + F = τ + Jᵀ w,  for any tree in moving water.

The equations are eq. (31) of From, Pettersen and Gravdahl 2010, evaluated with body Jacobians instead of recursions. The cost,
O(n³), exceeds that of the articulated-body algorithm. Use the closed form for its matrices, for example in control design and
passivity analysis. In still water F = 0.
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
    """Terms of  M v̇ + C v + D + N + F = τ,  with M = M_RB + M_A and C = C_RB + C_A."""

    M_RB: Array
    """Inertia matrix of the rigid bodies, shape (..., nv, nv)."""
    M_A: Array
    """Added mass matrix, shape (..., nv, nv)."""
    C_RB: Array
    """Coriolis matrix of the rigid bodies; Ṁ_RB − 2 C_RB is skew-symmetric, shape (..., nv, nv)."""
    C_A: Array
    """Coriolis matrix of the added mass with momentum M_A V_r; Ṁ_A − 2 C_A is skew-symmetric, shape (..., nv, nv)."""
    D: Array
    """Damping force due to the velocity relative to the water [N, N·m], shape (..., nv)."""
    N: Array
    """Restoring force: weight and hydrostatic buoyancy [N, N·m], shape (..., nv)."""
    F: Array
    """Inertia force of a current due to its velocity and acceleration, in addition to C and D [N, N·m], shape (..., nv). It
    is zero in still water."""

    @property
    def M(self) -> Array:
        """Inertia matrix with added mass, shape (..., nv, nv)."""
        return self.M_RB + self.M_A

    @property
    def C(self) -> Array:
        """Coriolis matrix with added mass; Ṁ − 2C is skew-symmetric, shape (..., nv, nv)."""
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
    """Added inertia of each body, shape (6, 6), or None."""
    inertia: list[Array | None]
    """Sum of rigid and added inertia of each body, shape (6, 6), or None."""
    carried: list[Array]
    """Velocity of the water at each body, in body axes [m/s], shape (3,)."""


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
    """Return the momentum I V of each body, shape (6,), or None."""
    return [None if rigid is None else rigid.matrix @ V for rigid, V in zip(b.model.rigid, b.kin.V, strict=True)]


def _added_momenta(b: _Bodies) -> list[Array | None]:
    """Return the added-mass momentum I^A V_r of each body, shape (6,), or None."""
    return [None if M_A is None else M_A @ motion.velocity for M_A, motion in zip(b.added, b.motions, strict=True)]


def _coriolis_matrix(b: _Bodies) -> Array:
    """Return C with added mass, shape (nv, nv)."""
    pairs = zip(_rigid_momenta(b), _added_momenta(b), strict=True)
    momenta = [a if r is None else r if a is None else r + a for r, a in pairs]
    return dynamics.coriolis_matrix(b.model, b.jacobians, b.inertia, momenta)


def coriolis_matrix(model: Model, q: ArrayLike, v: ArrayLike, *, fluid_velocity: ArrayLike | None = None) -> Array:
    """Return C(q, v) with added mass, factorised so that Ṁ − 2C is skew-symmetric, shape (nv, nv).

        C = Σ J_iᵀ ((I_i + I^A_i) J̇_i + B_i J_i),   B = −[[0, p̂], [p̂, l̂]],   (p, l) = I_i V_i + I^A_i V_r,i

    If custom added mass depends on the configuration, Ṁ has a part that C does not include.

    `model`, `q`, `v` and `fluid_velocity` are those of `forward_dynamics`. Ṁ − 2C is skew-symmetric even in a current, which
    adds `flow_force` to C v.
    """
    return _coriolis_matrix(_bodies(model, q, v, fluid_velocity))


def coriolis_matrix_lagrange(model: Model, q: ArrayLike, v: ArrayLike, *, fluid_velocity: ArrayLike | None = None) -> Array:
    """Return C(q, v) with added mass, according to Lagrange's equations in quasi-velocities, shape (nv, nv).

        C_ij = Σ_k ∂_k M_ij v_k − ½ Σ_l ∂_i M_jl v_l + Σ_k c^k_ij (M v)_k − Σ J_iᵀ B(I^A_i (u_i, 0)) J_i

    The last sum is ∂_i a_j − ∂_j a_i − Σ_k c^k_ij a_k with a = Σ J_iᵀ I^A_i (u_i, 0). The velocity u_i of the water at body i
    is constant in body axes for these derivatives, because the added-mass momentum is relative to the water.

    The product C v equals that of `coriolis_matrix`, but Ṁ − 2C is not skew-symmetric. `model`, `q`, `v` and `fluid_velocity`
    are those of `forward_dynamics`.
    """
    b = _bodies(model, q, v, fluid_velocity)
    C = dynamics.coriolis_matrix_lagrange(model, b.kin, b.jacobians, b.inertia, b.v)
    carried = zip(b.added, b.carried, strict=True)
    drift = [None if M_A is None else -dynamics.momentum_matrix(M_A[:, :3] @ u) for M_A, u in carried]
    return C + dynamics.matrix_from_jacobians(model, b.jacobians, drift)


def closed_form(model: Model, q: ArrayLike, v: ArrayLike, **water: Unpack[WaterOptions]) -> ClosedForm:
    """Return the matrices and forces of  M v̇ + C v + D + N + F = τ.

    Let u and a_f be velocity and acceleration of the water at a body, in body axes, and V_r = V − (u, 0). A displaced mass m_f
    at the centre of buoyancy b adds

        F = Σ J_iᵀ (I^A (ω × u − a_f, 0) − B(I^A V_r) (u, 0) − m_f (a_f, b × a_f))

    The added-mass terms therefore contain only relative motion, I^A d/dt V_r + V_r ×* (I^A V_r). If all roots are free and the
    current is uniform and steady, then M v̇ + C v + F = M v̇_r + C(q, v_r) v_r with v_r = v − (Rᵀ u, 0, …).

    `model`, `q`, `v`, and `fluid_velocity` and `fluid_acceleration` in `water`, are those of `forward_dynamics`.
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
    """Return D, N and F of `closed_form`, shape (nv,) each."""
    terms = zip(*(_body_terms(b, i) for i in range(b.model.nb)), strict=True)
    return [dynamics.transposed_times(b.model, b.jacobians, wrenches) for wrenches in terms]


def _body_terms(b: _Bodies, i: int) -> tuple[Array | None, Array | None, Array | None]:
    """Return the contributions of one body to D, N and F, in body axes about the body origin, shape (6,) each, or None."""
    body, rigid, motion, M_A = b.model.bodies[i], b.model.rigid[i], b.motions[i], b.added[i]
    down = b.kin.R_WB[i].T @ b.model.world.gravity_vector
    weight = None if rigid is None else -np.concatenate([rigid.mass * down, cross(rigid.first_moment, down)])
    if body.hydro is None or M_A is None:
        return None, weight, None
    still = motion._replace(a_fg=-down)
    viscous, static = hydro.viscous_wrench(body, still), hydro.total_buoyancy(body, still)
    moving = hydro.total_buoyancy(body, motion) - static
    if not isinstance(body.hydro, Hydro):  # the part of a custom force at zero velocity is the restoring force
        at_rest = hydro.viscous_wrench(body, still._replace(velocity=0.0 * motion.velocity))
        moving = moving + hydro.viscous_wrench(body, motion) - viscous
        viscous, static = viscous - at_rest, static + at_rest
    u = np.concatenate([b.carried[i], np.zeros(3)])
    turning = cross(b.kin.V[i][3:], b.carried[i]) - (motion.a_fg - still.a_fg)
    flow = M_A[:, :3] @ turning - dynamics.momentum_matrix(M_A @ motion.velocity) @ u - moving
    return -viscous, -static if weight is None else weight - static, flow


def flow_force(model: Model, q: ArrayLike, v: ArrayLike, **water: Unpack[WaterOptions]) -> Array:
    """Return F in M v̇ + C v + D + g + F = τ, the effect of moving water beyond C and D, shape (nv,).

    F is zero in still water. Use the same `fluid_velocity` in `coriolis_matrix` and `damping_force`. `model`, `q`, `v` and
    `water` are those of `closed_form`.
    """
    b = _bodies(model, q, v, **water)
    return dynamics.transposed_times(model, b.jacobians, [_body_terms(b, i)[2] for i in range(model.nb)])


def damping_matrix(model: Model, q: ArrayLike, v: ArrayLike, *, fluid_velocity: ArrayLike | None = None) -> Array:
    """Return D(q, v) with D v = `damping_force` in still water, shape (nv, nv).

        D = Σ J_iᵀ D_i(V_r,i) J_i,     D_i V_r,i = −(drag, damping and lift of body i)

    The drag part is symmetric and positive semidefinite, the lift part is skew-symmetric, and the part of Fossen's damping
    depends on its coefficients. In a current, D_i is evaluated at the velocity relative to the water but multiplies v. The
    damping force is then D v − Σ J_iᵀ D_i (u_i, 0), where u_i is the velocity of the water at body i in body axes. If all roots
    are free and the current is uniform, the force equals D v_r with v_r as in `closed_form`.

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
    """Return accelerations for given joint forces by the closed form, v̇ = M⁻¹ (τ + Σ Jᵀ w − C v − D − N − F), with M = LDLᵀ.

    Arguments and result are those of `forward_dynamics`: `model`, `q`, `v`, `tau`, `wrench` and `water`.
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
    """Return the hydrodynamic damping D(q, v) as a generalised force on the left-hand side, shape (nv,).

    In still water, D · v ≥ 0. `model`, `q`, `v` and `fluid_velocity` are those of `forward_dynamics`.
    """
    model, q, v = arguments.state(model, q, v)
    kin, motions = in_water(model, q, v, arguments.fluid(model, fluid_velocity, "fluid_velocity"), np.zeros(3))
    wrenches = []
    for body, motion in zip(model.bodies, motions, strict=True):
        F = np.zeros(6)
        if isinstance(body.hydro, Hydro):
            F = hydro.viscous_wrench(body, motion)
        elif body.hydro is not None:  # the velocity-dependent part of a custom force
            F = hydro.viscous_wrench(body, motion) - hydro.viscous_wrench(body, motion._replace(velocity=0.0 * motion.velocity))
        wrenches.append(-F)
    return dynamics.generalized_force(model, kin, wrenches)


def restoring_force(model: Model, q: ArrayLike) -> Array:
    """Return g(q): weight and buoyancy in still water as a generalised force on the left-hand side, shape (nv,).

    `model` is the mechanism and `q` its configuration, shape (nq,).
    """
    model = arguments.model_of(model)
    kin, motions = in_water(model, arguments.configuration(model, q), np.zeros(model.nv), np.zeros(3), np.zeros(3))
    wrenches = []
    for body, motion, rigid in zip(model.bodies, motions, model.rigid, strict=True):
        F = np.zeros(6)
        if rigid is not None:  # the weight, m g = −m a_fg, at the centre of mass
            F = -np.concatenate([rigid.mass * motion.a_fg, cross(rigid.first_moment, motion.a_fg)])
        if isinstance(body.hydro, Hydro):
            F = F + hydro.total_buoyancy(body, motion)
        elif body.hydro is not None:
            F = F + hydro.viscous_wrench(body, motion)
        wrenches.append(-F)
    return dynamics.generalized_force(model, kin, wrenches)


def velocity_coupling(model: Model, q: Array, v: Array) -> Array:
    """Return K with d/dt δ = δv + K δ for a displacement δ in tangent coordinates, shape (nv, nv).

    K is −[v, ·] in the Lie algebra of each joint. A displacement exp(δ) relative to a moving frame changes with the velocity of
    the frame: δ̇ = δv − v × δ for a free joint, δ̇ = δv − ω × δ for a ball joint, and δ̇ = δv for other joints.
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
