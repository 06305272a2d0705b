"""Everything that happens in one instant: forces by cause, accelerations, rates of internal states, powers and energies.

One function of the plant, the time, the state and the inputs; what of it is needed, the trace keeps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydromechs import actuation, compiler, contact, dynamics, hydro
from hydromechs.equations import balance
from hydromechs.model import Hydro
from hydromechs.spatial import cross, ldl, norm

from ._plant import Plant

__all__ = ["Evaluation", "Water", "derivative", "evaluate", "inertia_matrix", "water_at"]


class Water(NamedTuple):
    """Motion of the undisturbed water: of all bodies alike, or one row per body."""

    velocity: object
    """In world axes [m/s], shape (3,) or (nb, 3)."""
    acceleration: object
    """Of the water's particles [m/s²], shaped alike."""
    surface: list | None
    """The free surface at each body, a `hydro.LocalSurface`; None where the water has no end."""
    gradient: list | None
    """∂v_i/∂x_j at each body [1/s], shape (3, 3) each; None where it is uniform."""


class Evaluation(NamedTuple):
    """What holds in one instant. Wrenches are on each body in its axes about its origin [N, N·m], shape (nb, 6)."""

    vdot: object
    """v̇, shape (nv,)."""
    zdot: object
    """Rates of the internal states, shape (nz,)."""
    tau: object
    """Joint forces of drives, friction and stops, shape (nv,)."""
    actuator_force: object
    """Thrust of thrusters [N] and force of drives [N·m or N], shape (na,)."""
    saturated: object
    """1 for a drive at a limit, else 0, shape (nd,)."""
    drag: object
    """Drag, damping and lift; all of a user's own hydrodynamics."""
    added_mass: object
    """−M_A V̇_r − V_r ×* M_A V_r."""
    buoyancy: object
    """Buoyancy and the force of the undisturbed water's acceleration."""
    weight: object
    """Weight."""
    contact: object
    """Contact."""
    thrust: object
    """Thrusters."""
    external: object
    """The caller's."""
    grasp_force: object
    """Force of each holder on what it holds, in the holder's axes [N, N·m], shape (ng, 6)."""
    grasp_error: object
    """Distance [m] and angle [rad] by which each grasp is off, shape (ng, 2)."""
    grasp_free: object
    """Number of force components of grasps that could have any value and are set to 0."""
    grasp_pivot: object
    """Smallest pivot over the largest of the grasps' system, about its inverse condition number; 1 without grasps."""
    contact_force: object
    """Normal force of each contact [N], shape (nc,)."""
    contact_gap: object
    """Distance of each contact, below 0 where it touches [m], shape (nc,)."""
    fluid_velocity: object
    """Of the undisturbed water at each body, in world axes [m/s], shape (nb, 3)."""
    elastic_energy: object
    """Stored in contacts, stops and sticking friction [J]."""
    kinetic_energy_body: object
    """Of the bodies and geared rotors [J]."""
    kinetic_energy_fluid: object
    """½ Σ V_rᵀ M_A V_r of the water that moves with the bodies [J]."""
    potential_energy: object
    """Of weight and buoyancy, zero at the world's origin; of weight alone where waves move the free surface [J]."""


def water_at(plant: Plant, t, points, flow, motion) -> Water:
    """The undisturbed water around the bodies.

    Args:
        plant: What is simulated.
        t: Time [s].
        points: Origin of each body in the world [m], shape (3,) each.
        flow: Current and gusts: velocity, slope and the time that they are given at, shape (7,); empty without.
        motion: The motion of the water at a point, as `hydro.fluid_motion` but for plant, p, t, velocity, rate.
    """
    U, rate = np.zeros(3), np.zeros(3)
    if plant.streams:
        rate = np.array(flow[3:6])
        U = np.array(flow[:3]) + rate * (t - flow[6])
    down = plant.model.world.down
    surface = plant.environment.surface is not None
    if plant.uniform:
        return Water(U, rate, [hydro.LocalSurface(0.0, down)] * plant.model.nb if surface else None, None)
    v, a, eta, G = [], [], [], []
    for body, p in zip(plant.model.bodies, points, strict=True):
        dry = body.hydro is None and not any(plant.model.frames[x.frame][1] in body.frames for x in plant.thrusters)
        here = (np.zeros(3), np.zeros(3), 0.0, np.zeros((3, 3))) if dry else motion(plant, p, t, U, rate)
        for rows, row in zip((v, a, eta, G), here, strict=True):
            rows.append(row)
    local = [hydro.LocalSurface(e, _below(plant, a_i)) for e, a_i in zip(eta, a, strict=True)] if surface else None
    return Water(np.stack(v), np.stack(a), local, G)


def _below(plant: Plant, acceleration):
    """Unit vector into the water across its surface, along g − a_f: in waves the surface lies across that."""
    if not plant.environment.waves:
        return plant.model.world.down
    n = plant.model.world.gravity_vector - acceleration
    return n / norm(n)


def fluid_at(plant: Plant, p, t, U, rate):
    """Velocity (3,), acceleration (3,), elevation and velocity gradient (3, 3) of the undisturbed water at a point."""
    down, profile, waves = plant.model.world.down, plant.environment.profile, plant.waves
    if waves is None:
        waves = hydro.wave_components(hydro.Environment(), plant.model.world.gravity, 0)
    current = plant.environment.current
    carried = np.zeros(3) if current is None else np.array(current.velocity)
    here = hydro.fluid_motion(profile, waves, down, p, t, U, rate, carried)
    shear = hydro.profile_slope(profile, down @ p) * np.asarray(U)
    return (
        here.velocity,
        here.acceleration,
        here.elevation,
        np.outer(shear, down) + hydro.wave_motion(waves, down, p - carried * t, t).gradient,
    )


def derivative(plant: Plant, t, q, u, v, z, inputs, motion=fluid_at):
    """ẏ of y = (u, v, z) in the chart around q, shape (2 nv + nz,).

    Args:
        plant: What is simulated.
        t: Time [s].
        q: Configuration at the centre of the chart, shape (nq,).
        u: Coordinates in the chart, shape (nv,).
        v: Velocity, shape (nv,).
        z: Internal states, shape (nz,).
        inputs: As `plant.input_names` names them, shape (nu,).
        motion: Motion of the water at a point, see `water_at`.
    """
    here = dynamics.retract(plant.model, q, u)
    e = evaluate(plant, t, here, v, z, inputs, motion)
    return np.concatenate([dynamics.chart_rate(plant.model, here, u, v), e.vdot, e.zdot])


def evaluate(plant: Plant, t, q, v, z, inputs, motion=fluid_at) -> Evaluation:
    """Forces, accelerations, rates, powers and energies of one instant.

    Args:
        plant: What is simulated.
        t: Time [s].
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        z: Internal states, shape (nz,).
        inputs: As `plant.input_names` names them, shape (nu,).
        motion: Motion of the water at a point, see `water_at`.
    """
    model = plant.model
    nb, down = model.nb, model.world.down
    na, nf = len(plant.actuator_names), 7 if plant.streams else 0
    kin = dynamics.kinematics(model, q, v)
    water = water_at(plant, t, kin.p_WB, inputs[na : na + nf], motion)
    z_left, zdot = list(z), []
    power = dict.fromkeys(plant.causes, 0.0)

    # thrusters push along x of their frames
    thrust, forces = [np.zeros(6) for _ in range(nb)], []
    for thruster, target in zip(plant.thrusters, inputs, strict=False):
        i, frame = model.frames[thruster.frame]
        d, p = frame.origin.R[:, 0], np.array(frame.origin.xyz)
        velocity = d @ (kin.V[i][:3] + cross(kin.V[i][3:], p))
        flow, away = water.velocity if water.velocity.ndim == 1 else water.velocity[i], kin.R_WB[i] @ p
        if water.gradient is not None:  # from the body's origin to the thruster
            flow = flow + water.gradient[i] @ away
        advance = velocity - d @ (kin.R_WB[i].T @ flow)
        x = target
        if actuation.thruster_states(thruster):
            x = z_left.pop(0)
            zdot.append(actuation.thruster_rate(thruster, x, target))
        T = actuation.thruster_thrust(thruster, x, advance)
        if water.surface is not None:  # in the air a propeller gives nothing
            T = T * actuation.thruster_wet(thruster, down @ (kin.p_WB[i] + away) + water.surface[i].elevation)
        thrust[i] = thrust[i] + np.concatenate([T * d, T * np.cross(p, d)])
        forces.append(T)
        power["thrusters"] = power["thrusters"] + T * velocity

    # drives, friction and stops of joints
    tau, saturated, elastic = [0.0] * model.nv, [], 0.0
    commands = iter(inputs[len(plant.thrusters) : na])
    for joint in plant.drives:
        iq, iv = _joint_at(model, joint)
        x = [z_left.pop(0) for _ in actuation.drive_states(joint.drive)]
        at = (joint.drive, next(commands), q[iq], v[iv], x)
        f = actuation.drive_force(*at)
        zdot += actuation.drive_rate(*at)
        saturated.append(actuation.drive_saturated(*at))
        forces.append(f)
        tau[iv] = tau[iv] + f
        power["drives"] = power["drives"] + f * v[iv]
    for joint in plant.joints:
        iq, iv = _joint_at(model, joint)
        if joint.friction:
            s = z_left.pop(0) if actuation.friction_states(joint.friction) else 0.0
            friction = actuation.friction_force(joint.friction, v[iv], s)
            zdot += [friction.s_rate] if actuation.friction_states(joint.friction) else []
            tau[iv] = tau[iv] + friction.tau
            elastic = elastic + friction.stored
            power["friction"] = power["friction"] - friction.loss
        if joint.stops:
            tau[iv] = tau[iv] + actuation.stop_force(joint.stops, q[iq], v[iv])
            elastic = elastic + actuation.stop_energy(joint.stops, q[iq])
            power["friction"] = power["friction"] - actuation.stop_loss(joint.stops, q[iq], v[iv])

    # contacts
    touching, normal, gaps = [np.zeros(6) for _ in range(nb)], [], []
    for pair in plant.contacts:
        a, b = pair.body, pair.other
        X_B, V_B = (None, None) if b is None else ((kin.R_WB[b], kin.p_WB[b]), kin.V[b])
        s = np.array([z_left.pop(0) for _ in range(3)])
        c = contact.contact_wrench(pair, (kin.R_WB[a], kin.p_WB[a]), kin.V[a], X_B, V_B, s, down)
        touching[a] = touching[a] + c.wrench_A
        if b is not None:
            touching[b] = touching[b] + c.wrench_B
        zdot += list(c.s_rate)
        elastic = elastic + c.stored
        power["contact"] = power["contact"] - c.loss
        normal.append(c.normal_force)
        gaps.append(c.gap)

    # wrenches of the caller
    external = [np.zeros(6) for _ in range(nb)]
    for k, name in enumerate(plant.external):
        i, F = model.body_index(name), np.array(inputs[na + nf + 6 * k : na + nf + 6 * k + 6])
        external[i] = external[i] + F
        power["external"] = power["external"] + F @ kin.V[i]

    wrench = np.stack([thrust[i] + touching[i] + external[i] for i in range(nb)])
    b = balance(model, q, v, water.velocity, water.acceleration, wrench, water.surface)
    tau = np.array(tau)
    vdot = dynamics.articulated_body(model, b.kin, b.bias, tau, b.inertia, b.force, plant.armature)
    held = None
    if plant.grasps:
        held = _held(plant, kin, b, v, vdot, inputs[na + nf + 6 * len(plant.external) :])
        vdot = held.vdot
        power["grasps"] = held.power

    # the water's forces by cause
    drag, added, buoyancy = ([np.zeros(6) for _ in range(nb)] for _ in range(3))
    if plant.wet:
        world = np.concatenate([-model.world.gravity_vector, np.zeros(3)])
        a = dynamics.accelerations(model, b.kin, b.bias, vdot, world)
        for i, (body, motion_i) in enumerate(zip(model.bodies, b.motions, strict=True)):
            if body.hydro is None:
                continue
            drag[i] = hydro.viscous_wrench(body, motion_i)
            if isinstance(body.hydro, Hydro):
                buoyancy[i] = hydro.total_buoyancy(body, motion_i)
            M_A = hydro.added_mass(body, motion_i)
            added[i] = _added_mass_force(M_A, a[i], motion_i, kin.V[i], water.velocity.ndim == 1)
            if model.moves[i]:
                power["drag"] = power["drag"] + drag[i] @ motion_i.velocity
                if "water" in power:
                    G = None if water.gradient is None else water.gradient[i]
                    given = _water_power(plant, body, motion_i, kin.V[i], drag[i], added[i], M_A, G)
                    power["water"] = power["water"] + given
    zdot = np.array([*zdot, *power.values()])
    kinetic, fluid, potential = _energies(plant, kin, b.motions, v)
    rows = water.velocity if water.velocity.ndim == 2 else np.stack([water.velocity] * nb)
    weight = [_weight(model, i, kin.R_WB[i]) for i in range(nb)]
    return Evaluation(
        vdot, zdot, tau, _row(forces), _row(saturated), np.stack(drag), np.stack(added), np.stack(buoyancy), np.stack(weight),
        np.stack(touching), np.stack(thrust), np.stack(external),
        np.zeros((0, 6)) if held is None else held.forces, np.zeros((0, 2)) if held is None else held.errors,
        0.0 if held is None else held.free, 1.0 if held is None else held.pivot, _row(normal), _row(gaps), rows, elastic,
        kinetic, fluid, potential,
    )  # fmt: skip


def inertia_matrix(plant: Plant, t, q, v, inputs) -> np.ndarray:
    """Joint-space inertia with the added mass of what is wet now and with geared rotors, for floats, shape (nv, nv).

    Args:
        plant: What is simulated.
        t: Time [s].
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        inputs: As `plant.input_names` names them, shape (nu,).
    """
    na = len(plant.actuator_names)
    kin = dynamics.kinematics(plant.model, q, v)
    water = water_at(plant, t, kin.p_WB, inputs[na : na + 7], fluid_at)
    b = balance(plant.model, q, v, water.velocity, water.acceleration, None, water.surface)
    M = np.array(dynamics.mass_matrix(plant.model, kin, b.inertia), dtype=float)
    return M if plant.armature is None else M + np.diag(plant.armature)


class _Held(NamedTuple):
    """What grasps do."""

    vdot: object
    forces: object
    errors: object
    free: object
    pivot: object
    power: object


def _held(plant: Plant, kin, balance, v, vdot, closed) -> _Held:
    """Accelerations with all grasps that hold: v̇ + M⁻¹ Jᵀ λ with J v̇ + J̇ v = −2 α J v − α² error.

    M⁻¹ = L⁻ᵀ D⁻¹ L⁻¹ and W = L⁻¹ Jᵀ as in `dynamics.closed_chain_dynamics`; blocks of separate trees are zeros that fold away.
    The system Wᵀ D⁻¹ W λ = … is solved with full pivoting, so arms may be singular. A grasp that does not hold has λ = 0.
    """
    model = plant.model
    M = dynamics.mass_matrix(model, kin, balance.inertia)
    factor = ldl(M if plant.armature is None else M + np.diag(plant.armature))
    rows, rhs, flags, errors, counts = [], [], [], [], []
    for grasp, flag in zip(plant.grasps, closed, strict=True):
        g = contact.grasp_rows(model, kin, grasp)
        alpha = grasp.stabilisation
        wanted = g.bias + 2.0 * alpha * (g.J @ v) + alpha**2 * g.error
        rows += list(g.J)
        rhs += [-flag * (row @ vdot + w) for row, w in zip(g.J, wanted, strict=True)]
        flags += [flag] * len(wanted)
        counts.append(len(wanted))
        errors.append(np.array(contact.grasp_misfit(g, grasp)) * flag)
    W = np.stack([factor.forward(row) for row in rows], axis=1)
    scaled = W * np.array(factor.inverse_diagonal)[:, None]
    n = len(rhs)
    A = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            A[i][j] = A[j][i] = W[:, i] @ scaled[:, j] * (1.0 if i == j else flags[i] * flags[j])
    lam, rank, pivot = compiler.solve_semidefinite(np.array(A), np.array(rhs))  # 0 for grasps that are open
    forces, at = [], 0
    for grasp, c in zip(plant.grasps, counts, strict=True):
        known = dict(zip(grasp.rows, lam[at : at + c], strict=True))
        forces.append(np.array([known.get(k, 0.0) for k in range(6)]))
        at += c
    power = sum((x * (row @ v) for x, row in zip(lam, rows, strict=True)), 0.0)
    return _Held(vdot + factor.back(scaled @ lam), np.stack(forces), np.stack(errors), n - rank, pivot, power)


def _energies(plant: Plant, kin, motions, v):
    """Kinetic energy of bodies and rotors, kinetic energy of the water, potential energy [J]."""
    model = plant.model
    inertias = [None if r is None else r.matrix for r in model.rigid]
    kinetic, fluid = dynamics.kinetic_energy(inertias, kin.V), 0.0
    if plant.armature is not None:
        kinetic = kinetic + 0.5 * np.sum(plant.armature * v * v)
    masses = [0.0 if r is None else r.mass for r in model.rigid]
    moments = [np.zeros(3) if r is None else r.first_moment for r in model.rigid]
    potential = dynamics.potential_energy(masses, moments, kin, model.world.gravity_vector)
    for body, motion, moves in zip(model.bodies, motions, model.moves, strict=True) if motions else ():
        if body.hydro is not None and moves:
            fluid = fluid + 0.5 * (motion.velocity @ (hydro.added_mass(body, motion) @ motion.velocity))
            still = motion._replace(a_fg=motion.R_WB.T @ -model.world.gravity_vector)
            if isinstance(body.hydro, Hydro) and not plant.waves_move_surface:  # all of a user's own work is booked as drag
                potential = potential + hydro.water_potential(body, still)
    return kinetic, fluid, potential


def _row(values) -> np.ndarray:
    return np.array(values) if len(values) else np.zeros(0)


def _joint_at(model, joint) -> tuple[int, int]:
    """Places of a joint of one degree of freedom in q and v."""
    i = model.body_index(joint.joint)
    return model.q_slices[i].start, model.v_slices[i].start


def _weight(model, i: int, R):
    """Weight of a body in its axes about its origin, shape (6,)."""
    body = model.bodies[i]
    f = body.inertia.mass * (R.T @ model.world.gravity_vector)
    return np.concatenate([f, cross(np.array(body.inertia.com), f)])


def _added_mass_force(M_A, a, motion, V, uniform: bool):
    """−M_A V̇_r − V_r ×* (M_A V_r), shape (6,); a is V̇ − g, so V̇_r = a − (a_f − g) + ω × v_f in body axes.

    With a uniform flow the acceleration is that of the numbers in V_r, seen by an observer who drifts along.
    """
    carried = np.zeros(3) if uniform else cross(V[3:], V[:3] - motion.velocity[:3])
    relative = a - np.concatenate([motion.a_fg - carried, np.zeros(3)])
    return -(M_A @ relative) + dynamics.velocity_force(M_A, motion.velocity)


def _water_power(plant: Plant, body, motion, V, drag, added, M_A, gradient):
    """Power of the moving water on one body: what its forces give beyond the loss to drag and −dT_f/dt, T_f = ½ V_rᵀ M_A V_r.

    Below the surface the force of added mass gives F · V = −dT_f/dt + F · (V − V_r) − V_rᵀ M_A (G v_r, 0): the forces carry
    the water's acceleration Dv_f/Dt, T_f changes with that along the body's path. At a free surface M_A changes too; there
    F · V is taken whole, and the change of T_f is added afterwards. Where waves move the surface, buoyancy has no potential
    and is taken whole too.
    """
    carried = V - motion.velocity
    power = drag @ carried
    if isinstance(body.hydro, Hydro):
        gravity = motion.R_WB.T @ plant.model.world.gravity_vector
        moved = (
            motion
            if plant.environment.surface is not None and plant.environment.waves
            else motion._replace(a_fg=motion.a_fg + gravity)
        )
        power = power + hydro.total_buoyancy(body, moved) @ V
    if plant.environment.surface is not None:
        return power + added @ V
    power = power + added @ carried
    if gradient is not None:
        G = motion.R_WB.T @ gradient @ motion.R_WB
        power = power - (M_A @ motion.velocity)[:3] @ (G @ motion.velocity[:3])
    return power
