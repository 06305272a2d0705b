"""What the water does to one body in one instant, by cause: forces, powers and energies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hydromechs import dynamics, hydro
from hydromechs.model import Hydro, RigidBody
from hydromechs.spatial import cross
from hydromechs.values import Array, Scalar

if TYPE_CHECKING:
    from ._plant import Plant

__all__ = ["BodyWater", "energies_of", "water_on_body", "weight_of"]


class BodyWater(NamedTuple):
    """Forces of the water on one body in its axes about its origin [N, N·m], shape (6,) each, and their powers."""

    drag: Array
    """Drag, damping and lift; all of a user's own hydrodynamics."""
    added_mass: Array
    """Of the added mass."""
    buoyancy: Array
    """With the force of the undisturbed water's acceleration."""
    power: dict[str, Scalar]
    """By cause: "drag", "water", "surface" [W]."""


def water_on_body(
    plant: Plant, gravity: Array, body: Any, motion: hydro.Motion, V: Array, a: Array, gradient: Array | None
) -> BodyWater:
    """Forces and powers of the water on a body.

    Args:
        plant: What is simulated.
        gravity: Acceleration of gravity in world axes [m/s²], shape (3,).
        body: The body, with its `hydro`.
        motion: Its motion in the water.
        V: Its velocity in the world in its axes, shape (6,).
        a: a' of the body as the recursions have it, shape (6,).
        gradient: ∂v_i/∂x_j of the water's velocity [1/s], shape (3, 3); None where the water moves alike everywhere.
    """
    drag = hydro.viscous_wrench(body, motion)
    buoyancy = hydro.total_buoyancy(body, motion) if isinstance(body.hydro, Hydro) else np.zeros(6)
    M_A = hydro.added_mass(body, motion)
    added = _added_mass_force(M_A, a, motion, V, plant.uniform)
    power: dict[str, Scalar] = {}
    if "surface" in plant.layout.causes:
        added = added + hydro.crossing_wrench(body, motion)
        # not the power of the force: a force that is missing or wrong leaves a residual
        power["surface"] = -hydro.crossing_loss(body, motion)
    power["drag"] = drag @ motion.velocity
    if "water" in plant.layout.causes:
        power["water"] = _water_power(plant, gravity, body, motion, V, drag, added, M_A, gradient)
    return BodyWater(drag, added, buoyancy, power)


def energies_of(
    plant: Plant,
    gravity: Array,
    body: Any,
    rigid: RigidBody | None,
    motion: hydro.Motion | None,
    V: Array,
    R: Array,
    p: Array,
) -> tuple[Scalar, Scalar, Scalar]:
    """Kinetic energy of a body, kinetic energy of its water, potential energy [J].

    Args:
        plant: What is simulated.
        gravity: Acceleration of gravity in world axes [m/s²], shape (3,).
        body: The body, with its `hydro`.
        rigid: Its inertia with that of bodies fixed to it, or None.
        motion: Its motion in the water; None if it is dry or cannot move.
        V: Its velocity in the world in its axes, shape (6,).
        R: Its axes in the world, shape (3, 3).
        p: Its origin in the world [m], shape (3,).
    """
    kinetic: Scalar = 0.0
    fluid: Scalar = 0.0
    potential: Scalar = 0.0
    if rigid is not None:
        kinetic = dynamics.kinetic_energy([rigid.matrix], [V])
        potential = dynamics.potential_energy([rigid.mass], [rigid.first_moment], [(R, p)], gravity)
    if motion is not None and body.hydro is not None:
        fluid = 0.5 * (motion.velocity @ (hydro.added_mass(body, motion) @ motion.velocity))
        still = motion._replace(a_fg=motion.R_WB.T @ -gravity)
        if isinstance(body.hydro, Hydro) and not plant.waves_move_surface:  # all of a user's own work is booked as drag
            potential = potential + hydro.water_potential(body, still)
    return kinetic, fluid, potential


def weight_of(mass: Scalar, com: Array, gravity_B: Array) -> Array:
    """Weight of a body in its axes about its origin [N, N·m], shape (6,).

    Args:
        mass: Its mass [kg].
        com: Its centre of mass [m], shape (3,).
        gravity_B: Acceleration of gravity in its axes [m/s²], shape (3,).
    """
    f = mass * gravity_B
    return np.concatenate([f, cross(com, f)])


def _added_mass_force(M_A: Array, a: Array, motion: hydro.Motion, V: Array, uniform: bool) -> Array:
    """−M_A V̇_r − V_r ×* (M_A V_r), shape (6,); a is V̇ − g, so V̇_r = a − (a_f − g) + ω × v_f in body axes.

    With a uniform flow the acceleration is that of the numbers in V_r, seen by an observer who drifts along.
    """
    carried = np.zeros(3) if uniform else cross(V[3:], V[:3] - motion.velocity[:3])
    relative = a - np.concatenate([motion.a_fg - carried, np.zeros(3)])
    return -(M_A @ relative) + dynamics.velocity_force(M_A, motion.velocity)


def _water_power(
    plant: Plant,
    gravity_W: Array,
    body: Any,
    motion: hydro.Motion,
    V: Array,
    drag: Array,
    added: Array,
    M_A: Array,
    gradient: Array | None,
) -> Scalar:
    """Power of the moving water on a body: what its forces give beyond the loss to drag and −dT_f/dt, T_f = ½ V_rᵀ M_A V_r.

    The force of added mass gives F · V = −dT_f/dt + F · (V − V_r) − V_rᵀ M_A (G v_r, 0): the forces carry the water's
    acceleration Dv_f/Dt, T_f changes with that along the body's path. At a free surface M_A changes too, and F has the
    force of that; what F · V_r loses there is `hydro.crossing_loss`. Where waves move the surface, buoyancy has no potential
    and is taken whole.
    """
    carried = V - motion.velocity
    power = drag @ carried
    if isinstance(body.hydro, Hydro):
        gravity = motion.R_WB.T @ gravity_W
        moved = motion if plant.waves_move_surface else motion._replace(a_fg=motion.a_fg + gravity)
        power = power + hydro.total_buoyancy(body, moved) @ V
    power = power + added @ carried
    if gradient is not None:
        G = motion.R_WB.T @ gradient @ motion.R_WB
        power = power - (M_A @ motion.velocity)[:3] @ (G @ motion.velocity[:3])
    return power
