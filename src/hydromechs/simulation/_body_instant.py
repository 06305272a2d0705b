"""Hydrodynamic forces, powers and energies of one body at one instant, separated by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hydromechs import dynamics, hydro
from hydromechs.model import Hydro, RigidBody
from hydromechs.spatial import cross
from hydromechs.values import Array, Scalar

if TYPE_CHECKING:
    from ._plant import Plant


class BodyWater(NamedTuple):
    """Hydrodynamic wrenches on one body in body axes about its origin [N, N·m], shape (6,) each, and their powers."""

    drag: Array
    """Drag, damping and lift; for custom hydrodynamics, the total force."""
    added_mass: Array
    """Added-mass force."""
    buoyancy: Array
    """Buoyancy in unaccelerated water."""
    fluid_acceleration: Array
    """Froude-Krylov force due to the acceleration of the displaced water in waves and gusts."""
    power: dict[str, Scalar]
    """Power [W], keyed by cause: "drag", "water", "surface"."""


def water_on_body(plant: Plant, gravity: Array, body: Any, motion: hydro.WetMotion, V: Array, a: Array) -> BodyWater:
    """Return hydrodynamic forces on a body, and their powers.

    `body`: body with its `hydro`. `V`: velocity of the body in body axes [m/s, rad/s], shape (6,). `a`: acceleration a' of the
    body as in the recursions [m/s², rad/s²], shape (6,).
    """
    drag = hydro.viscous_wrench(body, motion)
    still = moved = np.zeros(6)
    if isinstance(body.hydro, Hydro):
        still = hydro.still_buoyancy(body, motion, motion.R_WB.T @ gravity)
        moved = hydro.froude_krylov_force(body, motion, motion.R_WB.T @ gravity) if plant.flows else moved
    power: dict[str, Scalar] = {"drag": hydro.viscous_power(body, motion, drag)}
    if motion.around is None:
        carried = V - motion.velocity
        added = _added_mass_force(hydro.added_mass(body, motion), a, motion)
        added = added + hydro.crossing_wrench(body, motion)
        drawn = drag @ carried + added @ carried
    else:
        added, drawn = hydro.added_mass_reaction(body, motion, a)
        drawn = drawn + drag @ V - power["drag"]
    if "surface" in plant.layout.causes:
        # not computed from the force: a missing or wrong force leaves a residual
        power["surface"] = -hydro.crossing_loss(body, motion)
    if "water" in plant.layout.causes:
        # if waves move the surface, buoyancy has no potential and all of it counts as work
        power["water"] = (still + moved if plant.waves_move_surface else moved) @ V + drawn
    return BodyWater(drag, added, still, moved, power)


def energies_of(
    plant: Plant,
    gravity: Array,
    body: Any,
    rigid: RigidBody | None,
    motion: hydro.WetMotion | None,
    V: Array,
    R: Array,
    p: Array,
) -> tuple[Scalar, Scalar, Scalar]:
    """Return the kinetic energy of a body, the kinetic energy of its added mass, and the potential energy [J].

    `body`: body with its `hydro`. `rigid`: inertia of the body and of bodies fixed to it, or None. `motion`: motion of the
    body in water; None if the body is dry or cannot move. `V`: velocity of the body in body axes [m/s, rad/s], shape (6,).
    `R`: rotation matrix from body to world, shape (3, 3). `p`: origin of the body in the world [m], shape (3,).
    """
    kinetic: Scalar = 0.0
    fluid: Scalar = 0.0
    potential: Scalar = 0.0
    if rigid is not None:
        kinetic = dynamics.kinetic_energy([rigid.matrix], [V])
        potential = dynamics.potential_energy([rigid.mass], [rigid.first_moment], [(R, p)], gravity)
    if motion is not None and body.hydro is not None:
        fluid = hydro.fluid_energy(body, motion)
        still = motion._replace(a_fg=motion.R_WB.T @ -gravity)
        if isinstance(body.hydro, Hydro) and not plant.waves_move_surface:  # all work of a custom force counts as drag
            potential = potential + hydro.water_potential(body, still)
    return kinetic, fluid, potential


def weight_of(mass: Scalar, com: Array, gravity_B: Array) -> Array:
    """Return the weight of a body in body axes about its origin [N, N·m], shape (6,).

    `mass`: mass of the body [kg]. `com`: centre of mass in body axes [m], shape (3,). `gravity_B`: acceleration of gravity in
    body axes [m/s²], shape (3,).
    """
    f = mass * gravity_B
    return np.concatenate([f, cross(com, f)])


def _added_mass_force(M_A: Array, a: Array, motion: hydro.WetMotion) -> Array:
    """Return −M_A V̇_r − V_r ×* (M_A V_r) in uniform water [N, N·m], shape (6,).

    For an observer drifting with the water, a is V̇ − g of the components of V_r, so that V̇_r = a − (a_f − g).
    """
    relative = a - np.concatenate([motion.a_fg, np.zeros(3)])
    return -(M_A @ relative) + dynamics.velocity_force(M_A, motion.velocity)
