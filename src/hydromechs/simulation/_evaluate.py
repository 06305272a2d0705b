"""Everything that holds in one instant: forces by cause, accelerations, rates of internal states, powers and energies.

One function of the plant, the time, the state and the inputs; what of it is needed, the trace keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hydromechs import dynamics, equations, hydro
from hydromechs.model import Hydro, Model
from hydromechs.model.component import Action, Now
from hydromechs.spatial import cross
from hydromechs.values import Array, Scalar

from ._constraints import Response, constrained
from ._plant import Plant
from ._water import PointMotion, Water, fluid_at

__all__ = ["Evaluation", "derivative", "evaluate", "inertia_matrix"]

WATER_FORCES = ("drag", "added_mass", "buoyancy", "weight")
"""Labels of forces that do not come from components."""


class Evaluation(NamedTuple):
    """What holds in one instant."""

    vdot: Array
    """v̇, shape (nv,)."""
    zdot: Array
    """Rates of the internal states and powers of the causes, shape (nz,)."""
    tau: Array
    """Joint forces of drives, friction and stops, shape (nv,)."""
    forces: dict[str, Array]
    """Wrench on each body in its axes about its origin by label [N, N·m], shape (nb, 6): "drag" (drag, damping and lift; all of
    a user's own hydrodynamics), "added_mass" −M_A V̇_r − V_r ×* M_A V_r (at a free surface with the force of the change of
    M_A), "buoyancy" (with the force of the undisturbed water's
    acceleration), "weight", and those of components."""
    outputs: tuple[dict[str, Scalar | Array], ...]
    """What each component records."""
    now: Now
    """Poses, velocities and water, as components saw them."""
    acceleration: Array
    """Derivative of the numbers in the velocity of each body [m/s², rad/s²], shape (nb, 6)."""
    constraint_wrench: Array
    """Wrench of all constraints on each body in its axes about its origin [N, N·m], shape (nb, 6)."""
    constraint_free: Array
    """Number of constraint forces of each group that could have any value and are set to 0, shape (ng,)."""
    constraint_pivot: Array
    """Smallest pivot over the largest of each group's scaled system, about its inverse condition number, shape (ng,)."""
    fluid_velocity: Array
    """Of the undisturbed water at each body, in world axes [m/s], shape (nb, 3)."""
    elastic_energy: Scalar
    """Stored in components [J]."""
    kinetic_energy_body: Scalar
    """Of the bodies and geared rotors [J]."""
    kinetic_energy_fluid: Scalar
    """½ Σ V_rᵀ M_A V_r of the water that moves with the bodies [J]."""
    potential_energy: Scalar
    """Of weight and buoyancy, zero at the world's origin; of weight alone where waves move the free surface [J]."""


def derivative(
    plant: Plant,
    t: Scalar,
    q: Array,
    u: Array,
    v: Array,
    z: Array,
    inputs: Array,
    motion: Callable[..., PointMotion] = fluid_at,
) -> Array:
    """ẏ of y = (u, v, z) in the chart around q, shape (2 nv + nz,).

    Args:
        plant: What is simulated.
        t: Time [s].
        q: Configuration at the centre of the chart, shape (nq,).
        u: Coordinates in the chart, shape (nv,).
        v: Velocity, shape (nv,).
        z: Internal states, shape (nz,).
        inputs: As `plant.layout` has them, shape (nu,).
        motion: Motion of the water at a point, see `fluid_at`.
    """
    here = dynamics.retract(plant.model, q, u)
    e = evaluate(plant, t, here, v, z, inputs, motion)
    return np.concatenate([dynamics.chart_rate(plant.model, here, u, v), e.vdot, e.zdot])


def evaluate(
    plant: Plant, t: Scalar, q: Array, v: Array, z: Array, inputs: Array, motion: Callable[..., PointMotion] = fluid_at
) -> Evaluation:
    """Forces, accelerations, rates, powers and energies of one instant.

    Args:
        plant: What is simulated.
        t: Time [s].
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        z: Internal states, shape (nz,).
        inputs: As `plant.layout` has them, shape (nu,).
        motion: Motion of the water at a point, see `fluid_at`.
    """
    layout, model = plant.layout, plant.opened(inputs)
    nb = model.nb
    kin = dynamics.kinematics(model, q, v)
    water = Water(plant, t, kin.p_WB, inputs, motion)
    now = Now(model, t, q, v, kin, water)
    actions = [c.act(now, *layout.of_component(k, z, inputs)) for k, c in enumerate(plant.components)]

    _check_armature(plant, actions)

    # forces and powers of components
    power: dict[str, Scalar] = dict.fromkeys(layout.causes, 0.0)
    pushed = {label: [np.zeros(6) for _ in range(nb)] for label in plant.labels}
    joint = [0.0] * model.nv
    rates: list[Scalar] = []
    elastic: Scalar = 0.0
    for c, action in zip(plant.components, actions, strict=True):
        for body, F in action.forces:
            pushed[c.label][body] = pushed[c.label][body] + F
        for dofs, tau in action.joint_forces:
            for i, x in zip(range(model.nv)[dofs], tau, strict=True):
                joint[i] = joint[i] + x
        if c.cause in power:
            power[c.cause] = power[c.cause] + _power(action, kin, v)
        rates += [action.rates[s.name] for s in c.states(model)]
        if action.energy is not None:
            elastic = elastic + action.energy

    # accelerations
    wrench = np.stack([sum((rows[i] for rows in pushed.values()), np.zeros(6)) for i in range(nb)])
    b = equations.balance(model, q, v, water.velocity, water.acceleration, wrench, water.surface(kin))
    tau = np.array(joint)
    vdot = dynamics.articulated_body(model, b.kin, b.bias, tau, b.inertia, b.force, plant.armature)
    outputs = [dict(action.record) for action in actions]
    held = Response(np.zeros(model.nv), np.zeros(0), np.ones(0), ())
    pulled = [np.zeros(6) for _ in range(nb)]
    if plant.constrained:
        rows = [row for action in actions for row in action.constraints]
        held = constrained(_joint_inertia(plant, model, kin, b), v, vdot, rows, plant.groups)
        vdot = vdot + held.change
        forces = iter(held.forces)
        for c, action, out in zip(plant.components, actions, outputs, strict=True):
            for row in action.constraints:
                force = next(forces)
                out |= row.record(force)
                for body, F in row.wrenches(force):
                    pulled[body] = pulled[body] + F
                power[c.cause] = power[c.cause] + force @ (row.J @ v)

    # the water's forces by cause
    of_water = _water_forces(plant, model, water, kin, b, vdot, power)
    zdot = np.array([*rates, *power.values()])
    kinetic, fluid, potential = _energies(plant, model, kin, b.motions, v)
    velocity = water.velocity
    return Evaluation(
        vdot=vdot,
        zdot=zdot,
        tau=tau,
        forces={**of_water, **{label: np.stack(rows) for label, rows in pushed.items()}},
        outputs=tuple(outputs),
        now=now,
        acceleration=np.stack(dynamics.accelerations(model, kin, kin.c, vdot, np.zeros(6))),
        constraint_wrench=np.stack(pulled),
        constraint_free=held.free,
        constraint_pivot=held.pivot,
        fluid_velocity=velocity if velocity.ndim == 2 else np.stack([velocity] * nb),
        elastic_energy=elastic,
        kinetic_energy_body=kinetic,
        kinetic_energy_fluid=fluid,
        potential_energy=potential,
    )


def _check_armature(plant: Plant, actions: Sequence[Action]) -> None:
    """Rotors must be as at the start: what a change of their inertia would do to the motion is not in the equations."""
    for c, action, first in zip(plant.components, actions, plant.first_actions, strict=True):
        now, then = ([np.asarray(inertia) for _, inertia in a.armature] for a in (action, first))
        if len(now) != len(then) or any(x.dtype == object or x != y for x, y in zip(now, then, strict=True)):
            raise ValueError(
                f"component {c.name!r} ({type(c).__name__}): its armature changes with time, state, inputs or open parameters; "
                "it must be a constant"
            )


def _power(action: Action, kin: dynamics.Kinematics, v: Array) -> Scalar:
    """Power that is booked for a component [W]."""
    if action.power is not None:
        return action.power
    total: Scalar = 0.0
    for body, F in action.forces:
        total = total + F @ kin.V[body]
    for dofs, tau in action.joint_forces:
        total = total + tau @ v[dofs]
    return total


def inertia_matrix(plant: Plant, t: float, q: Array, v: Array, inputs: Array) -> Array:
    """Joint-space inertia with the added mass of what is wet now and with geared rotors, for floats, shape (nv, nv).

    Args:
        plant: What is simulated.
        t: Time [s].
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        inputs: As `plant.layout` has them, shape (nu,).
    """
    model = plant.opened(inputs)
    kin = dynamics.kinematics(model, q, v)
    water = Water(plant, t, kin.p_WB, inputs, fluid_at)
    b = equations.balance(model, q, v, water.velocity, water.acceleration, None, water.surface(kin))
    return np.array(_joint_inertia(plant, model, kin, b), dtype=float)


def _joint_inertia(plant: Plant, model: Model, kin: dynamics.Kinematics, b: equations.Balance) -> Array:
    """Joint-space inertia with added mass and geared rotors, shape (nv, nv)."""
    M = dynamics.mass_matrix(model, kin, b.inertia)
    return M if plant.armature is None else M + np.diag(plant.armature)


def _water_forces(
    plant: Plant,
    model: Model,
    water: Water,
    kin: dynamics.Kinematics,
    b: equations.Balance,
    vdot: Array,
    power: dict[str, Scalar],
) -> dict[str, Array]:
    """Forces of water and weight on each body by label, shape (nb, 6) each; their powers are added to `power`."""
    drag, added, buoyancy = ([np.zeros(6) for _ in range(model.nb)] for _ in range(3))
    if b.motions is not None:
        world = np.concatenate([-model.world.gravity_vector, np.zeros(3)])
        a = dynamics.accelerations(model, b.kin, b.bias, vdot, world)
        for i, (body, motion) in enumerate(zip(model.bodies, b.motions, strict=True)):
            if body.hydro is None:
                continue
            drag[i] = hydro.viscous_wrench(body, motion)
            if isinstance(body.hydro, Hydro):
                buoyancy[i] = hydro.total_buoyancy(body, motion)
            M_A = hydro.added_mass(body, motion)
            added[i] = _added_mass_force(M_A, a[i], motion, kin.V[i], plant.uniform)
            if "surface" in power:
                added[i] = added[i] + hydro.crossing_wrench(body, motion)
            if model.moves[i]:
                power["drag"] = power["drag"] + drag[i] @ motion.velocity
                if "water" in power:
                    G = None if plant.uniform else water.at(i).gradient
                    power["water"] = power["water"] + _water_power(plant, model, i, motion, kin.V[i], drag[i], added[i], M_A, G)
                if "surface" in power:  # not the power of the force: a force that is missing or wrong leaves a residual
                    power["surface"] = power["surface"] - hydro.crossing_loss(body, motion)
    weight = [_weight(model, i, kin.R_WB[i]) for i in range(model.nb)]
    return dict(zip(WATER_FORCES, map(np.stack, (drag, added, buoyancy, weight)), strict=True))


def _energies(
    plant: Plant, model: Model, kin: dynamics.Kinematics, motions: Sequence[hydro.Motion] | None, v: Array
) -> tuple[Scalar, Scalar, Scalar]:
    """Kinetic energy of bodies and rotors, kinetic energy of the water, potential energy [J]."""
    inertias = [None if r is None else r.matrix for r in model.rigid]
    kinetic: Scalar = dynamics.kinetic_energy(inertias, kin.V)
    fluid: Scalar = 0.0
    if plant.armature is not None:
        kinetic = kinetic + 0.5 * np.sum(plant.armature * v * v)
    masses = [0.0 if r is None else r.mass for r in model.rigid]
    moments = [np.zeros(3) if r is None else r.first_moment for r in model.rigid]
    potential: Scalar = dynamics.potential_energy(masses, moments, kin, model.world.gravity_vector)
    for body, motion, moves in zip(model.bodies, motions, model.moves, strict=True) if motions else ():
        if body.hydro is not None and moves:
            fluid = fluid + 0.5 * (motion.velocity @ (hydro.added_mass(body, motion) @ motion.velocity))
            still = motion._replace(a_fg=motion.R_WB.T @ -model.world.gravity_vector)
            if isinstance(body.hydro, Hydro) and not plant.waves_move_surface:  # all of a user's own work is booked as drag
                potential = potential + hydro.water_potential(body, still)
    return kinetic, fluid, potential


def _weight(model: Model, i: int, R: Array) -> Array:
    """Weight of a body in its axes about its origin, shape (6,)."""
    body = model.bodies[i]
    f = body.inertia.mass * (R.T @ model.world.gravity_vector)
    return np.concatenate([f, cross(np.array(body.inertia.com), f)])


def _added_mass_force(M_A: Array, a: Array, motion: hydro.Motion, V: Array, uniform: bool) -> Array:
    """−M_A V̇_r − V_r ×* (M_A V_r), shape (6,); a is V̇ − g, so V̇_r = a − (a_f − g) + ω × v_f in body axes.

    With a uniform flow the acceleration is that of the numbers in V_r, seen by an observer who drifts along.
    """
    carried = np.zeros(3) if uniform else cross(V[3:], V[:3] - motion.velocity[:3])
    relative = a - np.concatenate([motion.a_fg - carried, np.zeros(3)])
    return -(M_A @ relative) + dynamics.velocity_force(M_A, motion.velocity)


def _water_power(
    plant: Plant,
    model: Model,
    i: int,
    motion: hydro.Motion,
    V: Array,
    drag: Array,
    added: Array,
    M_A: Array,
    gradient: Array | None,
) -> Scalar:
    """Power of the moving water on body i: what its forces give beyond the loss to drag and −dT_f/dt, T_f = ½ V_rᵀ M_A V_r.

    The force of added mass gives F · V = −dT_f/dt + F · (V − V_r) − V_rᵀ M_A (G v_r, 0): the forces carry the water's
    acceleration Dv_f/Dt, T_f changes with that along the body's path. At a free surface M_A changes too, and F has the
    force of that; what F · V_r loses there is `hydro.crossing_loss`. Where waves move the surface, buoyancy has no potential
    and is taken whole.
    """
    carried = V - motion.velocity
    power = drag @ carried
    if isinstance(model.bodies[i].hydro, Hydro):
        gravity = motion.R_WB.T @ model.world.gravity_vector
        moved = motion if plant.waves_move_surface else motion._replace(a_fg=motion.a_fg + gravity)
        power = power + hydro.total_buoyancy(model.bodies[i], moved) @ V
    power = power + added @ carried
    if gradient is not None:
        G = motion.R_WB.T @ gradient @ motion.R_WB
        power = power - (M_A @ motion.velocity)[:3] @ (G @ motion.velocity[:3])
    return power
