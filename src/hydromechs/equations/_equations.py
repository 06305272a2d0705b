"""Equations of motion of a model with its hydrodynamics, as functions of its state.

Each function consists of NumPy operations, which compute results for floats and are traced for symbols.
"""

from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from hydromechs import dynamics, hydro
from hydromechs.hydro import WetMotion
from hydromechs.model import Model, Place
from hydromechs.spatial import pose_matrix
from hydromechs.values import Array, Scalar

from . import _arguments as arguments
from ._balance import FlowOptions, balance, in_water, prepared, total_inertias
from ._constraints import with_loops


class BodyMotion(NamedTuple):
    """Poses and velocities of all bodies."""

    X_WB: Array
    """Pose of each body in the world, shape (nb, 4, 4)."""
    V_WB_B: Array
    """Velocity of each body in its own axes at its origin [m/s, rad/s], shape (nb, 6)."""


class Energy(NamedTuple):
    """Energies of bodies and water."""

    kinetic_body: Scalar
    """Kinetic energy ½ Σ Vᵀ I V of the bodies, V relative to the world [J]."""
    kinetic_fluid: Scalar
    """Kinetic energy ½ Σ V_rᵀ I^A V_r of the water, V_r relative to the undisturbed water [J]."""
    potential: Scalar
    """Potential energy of gravity and buoyancy, zero at the world's origin [J]."""

    @property
    def total(self) -> Scalar:
        """Total energy [J]."""
        return self.kinetic_body + self.kinetic_fluid + self.potential


def forward_dynamics(model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, **flow: Unpack[FlowOptions]) -> Array:
    """Return the accelerations for given joint forces, by the articulated-body algorithm in water, including loop forces.

    Joint damping, friction and limits of the model are not included; add them to `tau`.

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        tau: Generalised force dual to `v`, shape (nv,).
        flow: `fluid_velocity` [m/s] and `fluid_acceleration` [m/s²] of the water in world axes, shape (3,) or (nb, 3) each,
            and `wrench` on each body in its axes about its origin [N, N·m], shape (nb, 6); each is zero if omitted.

    Returns:
        Time derivative v̇ of the components of `v`, shape (nv,).
    """
    model, b, tau = prepared(model, q, v, tau, flow)
    vdot = dynamics.articulated_body(model, b, tau)
    if not model.loops:
        return vdot
    return with_loops(model, np.asarray(q), np.asarray(v), dynamics.mass_matrix(model, b.kin, b.inertia), vdot)


def inverse_dynamics(model: Model, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, **flow: Unpack[FlowOptions]) -> Array:
    """Return the generalised force that produces `vdot`, the time derivative of the components of `v`, shape (nv,).

    The force accounts for loop forces and is not unique: joint forces that do equal work on motions with closed loops are
    equivalent.

    `model`, `q`, `v` and the options `flow` are those of `forward_dynamics`.
    """
    model, q, v = arguments.state(model, q, v)
    vdot = arguments.array(vdot, ((model.nv,),), "vdot", "acceleration")
    if not model.wet:
        external = arguments.dry(model, **flow)
        return dynamics.rigid_inverse_dynamics(model, dynamics.kinematics(model, q, v), vdot, external)
    return dynamics.inverse_dynamics(model, balance(model, q, v, **flow)[0], vdot)


def mass_matrix(model: Model, q: ArrayLike) -> Array:
    """Return the joint-space inertia matrix with added mass of a `model` at the configuration `q` (nq,), shape (nv, nv)."""
    model = arguments.model_of(model)
    kin, motions = in_water(model, arguments.configuration(model, q), np.zeros(model.nv), np.zeros(3), np.zeros(3))
    return dynamics.mass_matrix(model, kin, total_inertias(model.rigid, hydro.added_inertias(model, motions)))


def kinematics(model: Model, q: ArrayLike, v: ArrayLike) -> BodyMotion:
    """Return poses and velocities of all bodies of a `model` at the configuration `q` (nq,) with the velocity `v` (nv,)."""
    model, q, v = arguments.state(model, q, v)
    kin = dynamics.kinematics(model, q, v)
    poses = [pose_matrix(R, p) for R, p in zip(kin.R_WB, kin.p_WB, strict=True)]
    return BodyMotion(np.stack(poses), np.stack(kin.V))


def _place(model: Model, name: str, point: ArrayLike) -> Place:
    """Return body, position and axes of a point of a body or frame, with the axes of that body or frame."""
    i, p, R = model.locate(name)
    return Place(i, p + R @ arguments.point(point), R)


def frame_pose(model: Model, q: ArrayLike, name: str) -> Array:
    """Return the pose in the world of the body or frame `name` of a `model` at the configuration `q` (nq,), shape (4, 4)."""
    model = arguments.model_of(model)
    i, p, R = model.locate(name)
    kin = dynamics.kinematics(model, arguments.configuration(model, q), np.zeros(model.nv))
    return pose_matrix(kin.R_WB[i] @ R, kin.p_WB[i] + kin.R_WB[i] @ p)


def jacobian(model: Model, q: ArrayLike, name: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Return J with V = J v, the velocity of a point in the axes of its body or frame, linear first, shape (6, nv).

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
        name: Name of a body or frame.
        point: Position in the axes of that body or frame [m], shape (3,).
    """
    model = arguments.model_of(model)
    i, p, R = _place(model, name, point)
    kin = dynamics.kinematics(model, arguments.configuration(model, q), np.zeros(model.nv))
    J = dynamics.jacobian(model, kin, i, p)
    return np.concatenate([R.T @ J[:3], R.T @ J[3:]])


def bias_acceleration(model: Model, q: ArrayLike, v: ArrayLike, name: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Return J̇ v of `jacobian`, so that d/dt V = J v̇ + J̇ v, shape (6,).

    `model`, `q`, `name` and `point` are those of `jacobian`; `v` is the velocity, shape (nv,).
    """
    model, q, v = arguments.state(model, q, v)
    i, p, R = _place(model, name, point)
    kin = dynamics.kinematics(model, q, v)
    a = dynamics.jacobian_derivative_times_velocity(model, kin, i, p)
    return np.concatenate([R.T @ a[:3], R.T @ a[3:]])


def _moving(
    model: Model, q: ArrayLike, v: ArrayLike, fluid_velocity: ArrayLike | None
) -> tuple[dynamics.Kinematics, list[WetMotion], list[tuple[list[Array | None], list[Array]]]]:
    """Return kinematics, motions in the water, and inertias and velocities of the bodies and of the surrounding water."""
    model, q, v = arguments.state(model, q, v)
    kin = dynamics.kinematics(model, q, v)
    _, motions = in_water(model, q, v, arguments.fluid(model, fluid_velocity, "fluid_velocity"), np.zeros(3))
    bodies = [None if r is None else r.matrix for r in model.rigid], list(kin.V)
    water = hydro.added_inertias(model, motions), [m.velocity for m in motions]
    return kin, motions, [bodies, water]


def energy(model: Model, q: ArrayLike, v: ArrayLike, *, fluid_velocity: ArrayLike | None = None) -> Energy:
    """Return the kinetic energy of bodies and water, and the potential energy of gravity and buoyancy [J].

    Custom hydrodynamics contributes to the potential energy by its optional method `potential_energy(body, motion)`.

    `model`, `q`, `v` and `fluid_velocity` are those of `forward_dynamics`.
    """
    kin, motions, moving = _moving(model, q, v, fluid_velocity)
    masses = [0.0 if r is None else r.mass for r in model.rigid]
    moments = [np.zeros(3) if r is None else r.first_moment for r in model.rigid]
    poses = list(zip(kin.R_WB, kin.p_WB, strict=True))
    potential = dynamics.potential_energy(masses, moments, poses, model.world.gravity_vector)
    for body, motion, moves in zip(model.bodies, motions, model.moves, strict=True):
        if body.hydro is not None and moves:
            potential = potential + hydro.water_potential(body, motion)
    of_bodies, of_water = (dynamics.kinetic_energy(*parts) for parts in moving)
    return Energy(of_bodies, of_water, potential)


def momentum(model: Model, q: ArrayLike, v: ArrayLike, *, fluid_velocity: ArrayLike | None = None) -> Array:
    """Return the momentum of bodies and water (Kirchhoff's impulse) in world axes about the world's origin, shape (6,).

    Without external forces, a steady current conserves the linear part; it conserves the angular part only about an origin that
    drifts with the water.

    `model`, `q`, `v` and `fluid_velocity` are those of `forward_dynamics`.
    """
    kin, _, (bodies, water) = _moving(model, q, v, fluid_velocity)
    return dynamics.momentum(*bodies, kin) + dynamics.momentum(*water, kin)


def integrate(model: Model, q: ArrayLike, v: ArrayLike, dt: ArrayLike) -> Array:
    """Return the configuration of a `model` after motion from `q` (nq,) with constant velocity `v` (nv,) for `dt` [s]."""
    model, q, v = arguments.state(model, q, v)
    return dynamics.integrate(model, q, v, arguments.array(dt, ((),), "dt", "time step")[()])


def difference(model: Model, q0: ArrayLike, q: ArrayLike) -> Array:
    """Return the velocity that leads from `q0` to `q` in unit time, shape (nv,).

    The result satisfies integrate(q0, difference(q0, q), 1) = q. Orientations take the shorter rotation, at most π, so that
    quaternions agree except for their sign.

    Args:
        model: The mechanism.
        q0: Initial configuration, shape (nq,).
        q: Final configuration, shape (nq,).
    """
    model = arguments.model_of(model)
    return dynamics.displacement(model, arguments.configuration(model, q0, "q0"), arguments.configuration(model, q))
