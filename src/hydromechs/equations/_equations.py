"""The equations of motion put together: dynamics and hydrodynamics of a model, as functions of its state.

Each function is written in NumPy operations: floats give numbers, arrays of symbols leave a trace.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydromechs import dynamics, hydro
from hydromechs.spatial import cross, pose_matrix

from . import _arguments as arguments

__all__ = [
    "Balance",
    "BodyMotion",
    "Energy",
    "balance",
    "bias_acceleration",
    "energy",
    "forward_dynamics",
    "frame_pose",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "kinematics",
    "mass_matrix",
    "momentum",
]


class BodyMotion(NamedTuple):
    """Where the bodies are and how they move."""

    X_WB: np.ndarray
    """Pose of each body in the world, shape (nb, 4, 4)."""
    V_WB_B: np.ndarray
    """Velocity of each body in its own axes at its origin [m/s, rad/s], shape (nb, 6)."""


class Energy(NamedTuple):
    """Energies of bodies and water."""

    kinetic_body: object
    """½ Σ Vᵀ I V of the bodies, V in the world [J]."""
    kinetic_fluid: object
    """½ Σ V_rᵀ I^A V_r of the water, V_r relative to the undisturbed water [J]."""
    potential: object
    """Gravity and buoyancy, zero at the world's origin [J]."""

    @property
    def total(self):
        """Sum of all [J]."""
        return self.kinetic_body + self.kinetic_fluid + self.potential


def _in_water(model, q, v, fluid_velocity, fluid_acceleration, surface=None):
    """Kinematics, and the motion of every body and of the water around it.

    A uniform fluid is carried along the chains, as in the papers; else each body turns its own into its axes. `surface` is
    the free surface at each body, None where the water has no end.
    """
    gravity = model.world.gravity_vector
    uniform = fluid_velocity.ndim == 1
    kin = dynamics.kinematics(model, q, v, fluid_velocity if uniform else np.zeros(3))
    velocities = list(kin.V)
    if not uniform:
        for i, R in enumerate(kin.R_WB):
            velocities[i] = velocities[i] - np.concatenate([R.T @ fluid_velocity[i], np.zeros(3)])
    if fluid_acceleration.ndim == 1:
        a_fg = dynamics.world_vector(model, kin, fluid_acceleration - gravity)
    else:
        a_fg = [R.T @ (fluid_acceleration[i] - gravity) for i, R in enumerate(kin.R_WB)]
    return kin, hydro.body_motions(model, kin, velocities, a_fg, surface)


class Balance(NamedTuple):
    """What the recursions need of every body."""

    kin: dynamics.Kinematics
    bias: tuple
    """Bias accelerations, shape (6,) each."""
    inertia: list
    """Rigid and added inertia, shape (6, 6) each, or None."""
    force: list
    """All forces but gravity, joints and inertia times acceleration, shape (6,) each."""
    motions: list | None
    """Motion of each body in the water; None for a dry mechanism."""


def balance(model, q, v, fluid_velocity, fluid_acceleration, wrench, surface=None) -> Balance:
    """Kinematics, inertias and forces (the water's and the caller's) of all bodies.

    A dry mechanism needs no linear velocities with the papers' true accelerations. In water they are known anyway, and
    with derivatives of numbers as accelerations the velocity products of rigid and added inertia are one: −V ×* (I + I^A) V.
    """
    v_f = arguments.fluid(model, fluid_velocity, "fluid_velocity")
    a_f = arguments.fluid(model, fluid_acceleration, "fluid_acceleration")
    if all(body.hydro is None for body in model.bodies):
        kin, motions = dynamics.kinematics(model, q, v), None
        bias, inertia = kin.zeta, [None if r is None else r.matrix for r in model.rigid]
        force = [np.zeros(6) if r is None else dynamics.rigid_bias(r, V) for r, V in zip(model.rigid, kin.V, strict=True)]
    else:
        kin, motions = _in_water(model, q, v, v_f, a_f, surface)
        bias, inertia, force = kin.c, [], []
        for i, (body, motion, rigid) in enumerate(zip(model.bodies, motions, model.rigid, strict=True)):
            H, F = None if rigid is None else rigid.matrix, np.zeros(6)
            if body.hydro is not None:
                M_A = hydro.added_mass(body, motion)
                F = hydro.water_wrench(body, motion, M_A)
                if v_f.ndim == 1:  # the observer drifts along: one velocity for both inertias
                    H = M_A if H is None else H + M_A
                    F = F + dynamics.velocity_force(H, kin.V[i])
                else:  # seen from the world, the water's velocity turns in body axes
                    carried = kin.V[i][:3] - motion.velocity[:3]
                    F = F + dynamics.velocity_force(M_A, motion.velocity) - M_A[:, :3] @ cross(kin.V[i][3:], carried)
                    if H is not None:
                        F = F + dynamics.velocity_force(H, kin.V[i])
                    H = M_A if H is None else H + M_A
            elif H is not None:
                F = dynamics.velocity_force(H, kin.V[i])
            inertia.append(H)
            force.append(F)
    if wrench is not None:
        external = arguments.array(wrench, ((model.nb, 6),), "wrench", "on each body in its axes about its origin")
        force = [F + external[i] for i, F in enumerate(force)]
    return Balance(kin, bias, inertia, force, motions)


def forward_dynamics(model, q, v, tau, *, fluid_velocity=None, fluid_acceleration=None, wrench=None):
    """Accelerations for given joint forces, by the articulated-body algorithm in water.

    Joint damping, friction and limits of the model are not part of it; they belong in `tau`.

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        tau: Generalised force dual to `v`, shape (nv,).
        fluid_velocity: Velocity of the water in world axes [m/s], shape (3,) or (nb, 3); still if None.
        fluid_acceleration: Acceleration of the water in world axes [m/s²], shape (3,) or (nb, 3); zero if None.
        wrench: External wrench on each body in its axes about its origin [N, N·m], shape (nb, 6); none if None.

    Returns:
        v̇, the time derivative of the numbers in `v`, shape (nv,).
    """
    model = arguments.model_of(model)
    q = arguments.configuration(model, q)
    v = arguments.array(v, ((model.nv,),), "v", "velocity")
    tau = arguments.array(tau, ((model.nv,),), "tau", "generalised force")
    b = balance(model, q, v, fluid_velocity, fluid_acceleration, wrench)
    return dynamics.articulated_body(model, b.kin, b.bias, tau, b.inertia, b.force)


def inverse_dynamics(model, q, v, vdot, *, fluid_velocity=None, fluid_acceleration=None, wrench=None):
    """Generalised force that gives the accelerations `vdot`, shape (nv,).

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        vdot: Time derivative of the numbers in `v`, shape (nv,).
        fluid_velocity: As in `forward_dynamics`.
        fluid_acceleration: As in `forward_dynamics`.
        wrench: As in `forward_dynamics`.
    """
    model = arguments.model_of(model)
    q = arguments.configuration(model, q)
    v = arguments.array(v, ((model.nv,),), "v", "velocity")
    vdot = arguments.array(vdot, ((model.nv,),), "vdot", "acceleration")
    if all(body.hydro is None for body in model.bodies):
        arguments.fluid(model, fluid_velocity, "fluid_velocity")  # no effect, but no nonsense either
        arguments.fluid(model, fluid_acceleration, "fluid_acceleration")
        if wrench is not None:
            wrench = arguments.array(wrench, ((model.nb, 6),), "wrench", "on each body in its axes about its origin")
        return dynamics.rigid_inverse_dynamics(model, dynamics.kinematics(model, q, v), vdot, wrench)
    b = balance(model, q, v, fluid_velocity, fluid_acceleration, wrench)
    return dynamics.inverse_dynamics(model, b.kin, b.bias, vdot, b.inertia, b.force)


def mass_matrix(model, q):
    """Joint-space inertia matrix with added mass, shape (nv, nv).

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
    """
    model = arguments.model_of(model)
    kin, motions = _in_water(model, arguments.configuration(model, q), np.zeros(model.nv), np.zeros(3), np.zeros(3))
    inertia = []
    for rigid, M_A in zip(model.rigid, hydro.added_inertias(model, motions), strict=True):
        I = None if rigid is None else rigid.matrix
        inertia.append(I if M_A is None else M_A if I is None else I + M_A)
    return dynamics.mass_matrix(model, kin, inertia)


def kinematics(model, q, v) -> BodyMotion:
    """Poses and velocities of all bodies.

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
    """
    model = arguments.model_of(model)
    v = arguments.array(v, ((model.nv,),), "v", "velocity")
    kin = dynamics.kinematics(model, arguments.configuration(model, q), v)
    poses = [pose_matrix(R, p) for R, p in zip(kin.R_WB, kin.p_WB, strict=True)]
    return BodyMotion(np.stack(poses), np.stack(kin.V))


def _place(model, name: str, point):
    """Body index, point on the body (3,) and axes on the body (3, 3) of a point of the body or frame called `name`."""
    point = arguments.point(point)
    if name in model.frames:
        i, frame = model.frames[name]
        return i, np.array(frame.origin.xyz) + frame.origin.R @ point, frame.origin.R
    if name not in model.body_names:
        names = ", ".join([*model.body_names, *model.frames])
        raise KeyError(f"no body or frame {name!r} in {model.name}; there are {names}")
    return model.body_index(name), point, np.eye(3)


def frame_pose(model, q, name: str):
    """Pose in the world of a body or a named frame, shape (4, 4).

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
        name: Name of a body or frame.
    """
    model = arguments.model_of(model)
    i, p, R = _place(model, name, np.zeros(3))
    kin = dynamics.kinematics(model, arguments.configuration(model, q), np.zeros(model.nv))
    return pose_matrix(kin.R_WB[i] @ R, kin.p_WB[i] + kin.R_WB[i] @ p)


def jacobian(model, q, name: str, point=(0.0, 0.0, 0.0)):
    """J with V = J v, the velocity of a point in the axes of its body or frame, linear first, shape (6, nv).

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


def bias_acceleration(model, q, v, name: str, point=(0.0, 0.0, 0.0)):
    """J̇ v of `jacobian`, so that d/dt V = J v̇ + J̇ v, shape (6,).

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        name: Name of a body or frame.
        point: Position in the axes of that body or frame [m], shape (3,).
    """
    model = arguments.model_of(model)
    i, p, R = _place(model, name, point)
    v = arguments.array(v, ((model.nv,),), "v", "velocity")
    kin = dynamics.kinematics(model, arguments.configuration(model, q), v)
    a = dynamics.jacobian_derivative_times_velocity(model, kin, i, p)
    return np.concatenate([R.T @ a[:3], R.T @ a[3:]])


def _inertias_and_velocities(model, q, v, fluid_velocity):
    """Kinematics in the world, (inertia, velocity) lists of the bodies and of the water, and the motions."""
    q = arguments.configuration(model, q)
    v = arguments.array(v, ((model.nv,),), "v", "velocity")
    v_f = arguments.fluid(model, fluid_velocity, "fluid_velocity")
    _, motions = _in_water(model, q, v, v_f, np.zeros(3))
    kin = dynamics.kinematics(model, q, v)
    rigid = [None if r is None else r.matrix for r in model.rigid]
    water = (hydro.added_inertias(model, motions), [m.velocity for m in motions])
    return kin, (rigid, kin.V), water, motions


def energy(model, q, v, *, fluid_velocity=None) -> Energy:
    """Kinetic energy of bodies and water, potential energy of gravity and buoyancy [J].

    Hydrodynamics of a user's own counts in the potential by its method `potential_energy(body, motion)`, if it has one.

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        fluid_velocity: As in `forward_dynamics`.
    """
    model = arguments.model_of(model)
    kin, bodies, water, motions = _inertias_and_velocities(model, q, v, fluid_velocity)
    masses = [0.0 if r is None else r.mass for r in model.rigid]
    moments = [np.zeros(3) if r is None else r.first_moment for r in model.rigid]
    potential = dynamics.potential_energy(masses, moments, kin, model.world.gravity_vector)
    for body, motion, moves in zip(model.bodies, motions, model.moves, strict=True):
        if body.hydro is not None and moves:
            potential = potential + hydro.water_potential(body, motion)
    return Energy(dynamics.kinetic_energy(*bodies), dynamics.kinetic_energy(*water), potential)


def momentum(model, q, v, *, fluid_velocity=None):
    """Momentum of bodies and water (Kirchhoff's impulse) in world axes about the world's origin, shape (6,).

    In a steady current the linear part is conserved without external forces; the angular part only about an origin that
    drifts with the water.

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        fluid_velocity: As in `forward_dynamics`.
    """
    model = arguments.model_of(model)
    kin, bodies, water, _ = _inertias_and_velocities(model, q, v, fluid_velocity)
    return dynamics.momentum(*bodies, kin) + dynamics.momentum(*water, kin)


def integrate(model, q, v, dt):
    """Configuration after moving with the constant velocity `v` for `dt`, on the manifold, shape (nq,).

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        dt: Time [s].
    """
    model = arguments.model_of(model)
    v = arguments.array(v, ((model.nv,),), "v", "velocity")
    dt = arguments.array(dt, ((),), "dt", "time step")[()]
    return dynamics.integrate(model, arguments.configuration(model, q), v, dt)
