"""Quantities at one instant: forces by cause, accelerations, rates of internal states, powers and energies.

One function of plant, time, state and inputs computes all of them; a trace keeps only the required parts.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs import dynamics, equations, hydro
from hydromechs.equations import Response, constrained
from hydromechs.model import Model
from hydromechs.model.component import Action, Now
from hydromechs.spatial import ldl
from hydromechs.values import Array, Scalar

from ._actions import Each, acting_together
from ._body_instant import energies_of, water_on_body, weight_of
from ._plant import Plant
from ._rolled_plant import WATER_FORCES
from ._water import MotionAt, Water, fluid_at


class Evaluation(NamedTuple):
    """Quantities of a plant at one instant."""

    vdot: Array
    """Acceleration v̇ [m/s², rad/s², ...], shape (nv,)."""
    zdot: Array
    """Rates of the internal states, and powers of the causes [W], shape (nz,)."""
    tau: Array
    """Joint forces of drives, friction, stops and prescribed motions [N, N·m], shape (nv,)."""
    forces: dict[str, Array]
    """Wrench on each body in body axes about its origin [N, N·m], shape (nb, 6), keyed by label.

    The labels are "drag" (drag, damping and lift; all of custom hydrodynamics), "added_mass" (−M_A V̇_r − V_r ×* M_A V_r; at a
    free surface, plus the force due to the change of M_A), "buoyancy" (in still water), "fluid_acceleration" (Froude-Krylov
    force in waves and gusts), "weight", and the labels of components.
    """
    added_mass: Array
    """Added inertia M_A of each body in body axes about its origin, linear first [kg, kg·m, kg·m²], shape (nb, 6, 6)."""
    outputs: tuple[dict[str, Scalar | Array], ...]
    """Recorded values of each component."""
    now: Now
    """Poses, velocities and water passed to components."""
    acceleration: Array
    """Time derivatives of the velocity components of each body in body axes [m/s², rad/s²], shape (nb, 6)."""
    constraint_wrench: Array
    """Wrench of all constraints on each body in body axes about its origin [N, N·m], shape (nb, 6)."""
    constraint_free: Array
    """Number of undetermined constraint forces in each group, which are set to 0, shape (ng,)."""
    constraint_pivot: Array
    """Ratio of the smallest to the largest pivot in the scaled system of each group, approximately its inverse condition
    number [-], shape (ng,)."""
    fluid_velocity: Array
    """Velocity of the undisturbed water at each body, in world axes [m/s], shape (nb, 3)."""
    elastic_energy: Scalar
    """Energy stored in components [J]."""
    kinetic_energy_body: Scalar
    """Kinetic energy of the bodies and geared rotors [J]."""
    kinetic_energy_fluid: Scalar
    """Kinetic energy ½ Σ V_rᵀ M_A V_r of the water that moves with the bodies [J]."""
    potential_energy: Scalar
    """Potential energy of weight and buoyancy, zero at the origin of the world [J]; of weight only if waves move the surface.
    """


class Acted(NamedTuple):
    """Actions of components at one instant."""

    actions: list[Action]
    """Action of each component."""
    power: dict[str, Scalar]
    """Power [W], keyed by cause; the entries of the water are still 0."""
    pushed: dict[str, list[Array]]
    """Wrenches on bodies in body axes [N, N·m], keyed by label, shape (6,) each."""
    joint: list[Scalar]
    """Joint force of each degree of freedom [N, N·m]."""
    rates: list[Scalar]
    """Rates of the internal states."""
    elastic: Scalar
    """Energy stored in components [J]."""


def acted(plant: Plant, now: Now, z: Array, inputs: Array, which: Collection[int] | None = None) -> Acted:
    """Return the actions of components at one instant. `which`: indices of the components; defaults to all."""
    layout, nv = plant.layout, now.model.nv
    numbers = range(len(plant.components)) if which is None else which
    given = [layout.of_component(k, z, inputs) for k in numbers]
    actions = acting_together([plant.components[k] for k in numbers], now, given)
    _check_armature(plant, numbers, actions)
    out = Acted(
        actions,
        dict.fromkeys(layout.causes, 0.0),
        {label: [np.zeros(6) for _ in range(now.model.nb)] for label in plant.labels},
        [0.0] * nv,
        [],
        0.0,
    )
    for k, action in zip(numbers, actions, strict=True):
        c = plant.components[k]
        for body, F in action.forces:
            out.pushed[c.label][body] = out.pushed[c.label][body] + F
        for dofs, tau in action.joint_forces:
            for i, x in zip(range(nv)[dofs], tau, strict=True):
                out.joint[i] = out.joint[i] + x
        if c.cause in out.power:
            out.power[c.cause] = out.power[c.cause] + _power(action, now.kin, now.v)
        out.rates.extend(action.rates[s.name] for s in c.states(now.model))
        if action.energy is not None:
            out = out._replace(elastic=out.elastic + action.energy)
    return out


def derivative(
    plant: Plant,
    t: Scalar,
    q: Array,
    u: Array,
    v: Array,
    z: Array,
    inputs: Array,
    motion: MotionAt = fluid_at,
    each: Each | None = None,
) -> Array:
    """Return ẏ of y = (u, v, z) in the chart around q, shape (2 nv + nz,).

    `q`: configuration at the centre of the chart, shape (nq,). `u`: coordinates in the chart, shape (nv,).
    """
    here = dynamics.retract(plant.model, q, u)
    e = evaluate(plant, t, here, v, z, inputs, motion, each)
    return np.concatenate([dynamics.chart_rate(plant.model, here, u, v), e.vdot, e.zdot])


def evaluate(
    plant: Plant, t: Scalar, q: Array, v: Array, z: Array, inputs: Array, motion: MotionAt = fluid_at, each: Each | None = None
) -> Evaluation:
    """Return forces, accelerations, rates, powers and energies at one instant."""
    plant = plant.opened(inputs)
    model, nb = plant.model, plant.model.nb
    kin = dynamics.kinematics(model, q, v)
    water = Water(plant, t, kin, inputs, motion)
    now = Now(model, t, q, v, kin, water, each)
    done = acted(plant, now, z, inputs)
    pushed, power = done.pushed, done.power

    # accelerations
    wrench = np.stack([sum((rows[i] for rows in pushed.values()), np.zeros(6)) for i in range(nb)])
    tau, outputs = np.array(done.joint), [dict(action.record) for action in done.actions]
    moved = _mechanics(plant, model, now, water, done.actions, outputs, tau, wrench, power)
    return Evaluation(
        **{**moved, "forces": {**moved["forces"], **{label: np.stack(rows) for label, rows in pushed.items()}}},
        zdot=np.array([*done.rates, *power.values()]),
        outputs=tuple(outputs),
        now=now,
        elastic_energy=done.elastic,
    )


def _mechanics(
    plant: Plant,
    model: Model,
    now: Now,
    water: Water,
    actions: Sequence[Action],
    outputs: Sequence[dict[str, Any]],
    tau: Array,
    wrench: Array,
    power: dict[str, Scalar],
) -> dict[str, Any]:
    """Return the mechanical fields of an `Evaluation`; its `forces` are only those of water and weight.

    Powers are added to `power`, and forces of constraints and motions to `outputs`.
    """
    q, v, kin, nb = now.q, now.v, now.kin, model.nb
    nonuniform = water.motions(model)
    b, motions = equations.balance(model, q, v, water.U, water.rate, wrench, water.surface(), nonuniform)
    if plant.constrained and not plant.given_motion:  # the forces of constraints need the factors of M in any case
        M, rest, needed = _joint_inertia(plant, model, kin, b), np.zeros(model.nv), tau
        if motions is None:
            bias = dynamics.rigid_inverse_dynamics(model, kin, rest, b.wrench)
        else:
            bias = dynamics.inverse_dynamics(model, b, rest)
        vdot = ldl(M).solve(tau - bias)
    else:
        vdot, needed = _accelerations(plant, model, b, actions, tau)
        M = _joint_inertia(plant, model, kin, b) if plant.constrained else np.zeros((0, 0))
    held = Response(np.zeros(model.nv), np.zeros(0), np.ones(0), ())
    pulled = [np.zeros(6) for _ in range(nb)]
    if plant.constrained:
        rows = [row for action in actions for row in action.constraints]
        held = constrained(M, v, vdot, rows, plant.groups, plant.given_dofs)
        vdot = vdot + held.change
        pull = sum((row.J.T @ force for row, force in zip(rows, held.forces, strict=True)), np.zeros(model.nv))
        for dof in plant.given_dofs:
            needed[dof] = needed[dof] + M[dof] @ held.change - pull[dof]
        forces = iter(held.forces)
        for c, action, out in zip(plant.components, actions, outputs, strict=True):
            for row in action.constraints:
                force = next(forces)
                out |= row.record(force)
                for body, F in row.wrenches(force):
                    pulled[body] = pulled[body] + F
                power[c.cause] = power[c.cause] + force @ (row.J @ v)

    for c, action, out in zip(plant.components, actions, outputs, strict=True):
        for joint in action.motions:
            own = needed[joint.dofs] - tau[joint.dofs]
            out |= joint.record(own)
            power[c.cause] = power[c.cause] + own @ v[joint.dofs]

    # hydrodynamic forces by cause
    of_water = _water_forces(plant, model, kin, b, motions, vdot, power)
    kinetic, fluid, potential = _energies(plant, model, kin, motions, v)
    return dict(
        vdot=vdot,
        tau=needed,
        forces=of_water,
        added_mass=np.stack(_added_masses(model, motions)),
        acceleration=np.stack(dynamics.accelerations(model, kin, kin.c, vdot, np.zeros(6))),
        kinetic_energy_body=kinetic,
        kinetic_energy_fluid=fluid,
        potential_energy=potential,
        constraint_wrench=np.stack(pulled),
        constraint_free=held.free,
        constraint_pivot=held.pivot,
        fluid_velocity=np.stack([water.U] * nb if nonuniform is None else [_seen_by(m) for m in nonuniform]),
    )


def _seen_by(motion: hydro.WetMotion) -> Array:
    """Return the velocity of the water around a body in world axes [m/s], shape (3,); zero for a dry body."""
    return np.zeros(3) if motion.around is None else motion.R_WB @ (motion.around.V - motion.velocity)[:3]


def _accelerations(
    plant: Plant, model: Model, b: dynamics.Balance, actions: Sequence[Action], tau: Array
) -> tuple[Array, Array]:
    """Return v̇ without constraints, and all joint forces, including those of prescribed motions, shape (nv,) each."""
    if not plant.given_motion:
        return dynamics.articulated_body(model, b, tau, plant.armature), tau
    known: dict[int, Scalar] = {}
    for moved in (moved for action in actions for moved in action.motions):
        known |= zip(range(model.nv)[moved.dofs], moved.vdot, strict=True)
    given = {i: np.array([known[dof] for dof in range(model.nv)[model.v_slices[i]]]) for i in plant.given_motion}
    return dynamics.articulated_body_with_motions(model, b, tau, plant.armature, given)


def _added_masses(model: Model, motions: Sequence[hydro.WetMotion] | None) -> list[Array]:
    """Return the added inertia of each body [kg, kg·m, kg·m²], shape (6, 6) each; zero for a dry body."""
    if motions is None:
        return [np.zeros((6, 6)) for _ in model.bodies]
    return [hydro.added_mass(body, motion) for body, motion in zip(model.bodies, motions, strict=True)]


def _check_armature(plant: Plant, numbers: Collection[int], actions: Sequence[Action]) -> None:
    """Raise `ValueError` unless rotor inertias are constant, because the equations do not include their changes."""
    for k, action in zip(numbers, actions, strict=True):
        c, first = plant.components[k], plant.first_actions[k]
        now, then = ([np.asarray(inertia) for _, inertia in a.armature] for a in (action, first))
        if len(now) != len(then) or any(x.dtype == object or x != y for x, y in zip(now, then, strict=True)):
            raise ValueError(
                f"component {c.name!r} ({type(c).__name__}): the armature changes with time, state, inputs or open "
                "parameters; return a constant armature"
            )


def _power(action: Action, kin: dynamics.Kinematics, v: Array) -> Scalar:
    """Return the power of a component in the energy balance [W]."""
    if action.power is not None:
        return action.power
    total: Scalar = 0.0
    for body, F in action.forces:
        total = total + F @ kin.V[body]
    for dofs, tau in action.joint_forces:
        total = total + tau @ v[dofs]
    return total


def inertia_matrix(plant: Plant, t: Scalar, q: Array, v: Array, inputs: Array) -> Array:
    """Return the joint-space inertia with added mass of wet parts and geared rotors, shape (nv, nv)."""
    plant = plant.opened(inputs)
    model = plant.model
    kin = dynamics.kinematics(model, q, v)
    water = Water(plant, t, kin, inputs, fluid_at)
    b, _ = equations.balance(model, q, v, water.U, water.rate, None, water.surface(), water.motions(model))
    return _joint_inertia(plant, model, kin, b)


def _joint_inertia(plant: Plant, model: Model, kin: dynamics.Kinematics, b: dynamics.Balance) -> Array:
    """Return the joint-space inertia with added mass and geared rotors, shape (nv, nv)."""
    M = dynamics.mass_matrix(model, kin, b.inertia)
    return M if plant.armature is None else M + np.diag(plant.armature)


def _water_forces(
    plant: Plant,
    model: Model,
    kin: dynamics.Kinematics,
    b: dynamics.Balance,
    motions: Sequence[hydro.WetMotion] | None,
    vdot: Array,
    power: dict[str, Scalar],
) -> dict[str, Array]:
    """Return forces of water and weight on each body [N, N·m], keyed by label, shape (nb, 6); add their powers to `power`."""
    drag, added, buoyancy, moved = ([np.zeros(6) for _ in range(model.nb)] for _ in range(4))
    if motions is not None:
        world = np.concatenate([-model.world.gravity_vector, np.zeros(3)])
        a = dynamics.accelerations(model, b.kin, b.bias, vdot, world)
        for i, (body, motion) in enumerate(zip(model.bodies, motions, strict=True)):
            if body.hydro is None:
                continue
            on = water_on_body(plant, model.world.gravity_vector, body, motion, kin.V[i], a[i])
            drag[i], added[i], buoyancy[i], moved[i] = on.drag, on.added_mass, on.buoyancy, on.fluid_acceleration
            if model.moves[i]:
                for cause, value in on.power.items():
                    if cause in power:
                        power[cause] = power[cause] + value
    bodies = zip(model.bodies, kin.R_WB, strict=True)
    weight = [weight_of(x.inertia.mass, np.array(x.inertia.com), R.T @ model.world.gravity_vector) for x, R in bodies]
    return dict(zip(WATER_FORCES, map(np.stack, (drag, added, buoyancy, moved, weight)), strict=True))


def _energies(
    plant: Plant, model: Model, kin: dynamics.Kinematics, motions: Sequence[hydro.WetMotion] | None, v: Array
) -> tuple[Scalar, Scalar, Scalar]:
    """Return the kinetic energy of bodies and rotors, the kinetic energy of the water, and the potential energy [J]."""
    kinetic: Scalar = 0.0
    fluid: Scalar = 0.0
    potential: Scalar = 0.0
    each: Sequence[hydro.WetMotion | None] = [None] * model.nb if motions is None else motions
    for body, rigid, motion, moves, V, R, p in zip(
        model.bodies, model.rigid, each, model.moves, kin.V, kin.R_WB, kin.p_WB, strict=True
    ):
        own = energies_of(plant, model.world.gravity_vector, body, rigid, motion if moves else None, V, R, p)
        kinetic, fluid, potential = kinetic + own[0], fluid + own[1], potential + own[2]
    if plant.armature is not None:
        kinetic = kinetic + 0.5 * np.sum(plant.armature * v * v)
    return kinetic, fluid, potential
