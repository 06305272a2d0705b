"""What the water adds to the equations of motion of each body."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydromechs.model import Hydro
from hydromechs.spatial import cross

from ._added_mass import added_mass_bias, added_mass_matrix
from ._drag import drag_wrench

__all__ = ["HydroTerms", "Motion", "added_mass", "displaced_mass", "hydro_terms", "total_buoyancy", "water_wrench"]


class Motion(NamedTuple):
    """Motion of one body and of the water around it, in body axes at the body origin."""

    velocity: object
    """Velocity relative to the water V_r [m/s, rad/s], shape (6,)."""
    a_fg: object
    """Acceleration of the water less that of gravity, a_f − g [m/s²], shape (3,)."""
    R_WB: object
    """Axes in the world, shape (3, 3)."""
    p_WB: object
    """Origin in the world [m], shape (3,)."""
    depth: object
    """Depth of the origin below the world's origin, positive down [m]."""
    density: object
    """Density of the water [kg/m³]."""


class HydroTerms(NamedTuple):
    """What the water adds to the equations of motion, one entry per body, in its frame."""

    added_inertia: tuple
    """I^A [kg, kg·m, kg·m²], shape (6, 6), or None for a body that the water does not touch."""
    wrench: tuple
    """All of the water's force but −I^A a' [N, N·m], shape (6,)."""


def displaced_mass(body, density):
    """Mass of the displaced water [kg] and its first moment about the body origin in body axes [kg·m], shape (3,).

    Zero for a body with hydrodynamics of the user's own.
    """
    if not isinstance(body.hydro, Hydro):
        return 0.0, np.zeros(3)
    mass = density * body.hydro.volume
    return mass, mass * np.array(body.hydro.buoyancy_center)


def total_buoyancy(body, motion: Motion):
    """Buoyancy and fluid acceleration, f = m_f (a_f − g) at the centre of buoyancy (seed 000 eqs. 23-27), shape (6,)."""
    mass, _ = displaced_mass(body, motion.density)
    f = mass * motion.a_fg
    return np.concatenate([f, cross(np.array(body.hydro.buoyancy_center), f)])


def added_mass(body, motion: Motion):
    """Added mass of a body about its origin [kg, kg·m, kg·m²], shape (6, 6)."""
    if not isinstance(body.hydro, Hydro):
        return np.asarray(body.hydro.added_mass(body, motion))
    total = np.zeros((6, 6))
    for element in body.hydro.added_mass:
        total = total + added_mass_matrix(element, motion.density)
    return total


def water_wrench(body, motion: Motion):
    """Drag and total buoyancy of a body about its origin [N, N·m], shape (6,)."""
    if not isinstance(body.hydro, Hydro):
        return np.asarray(body.hydro.wrench(body, motion))
    F = total_buoyancy(body, motion)
    for element in body.hydro.drag:
        F = F + drag_wrench(element, motion.velocity, motion.density)
    return F


def hydro_terms(model, kin, velocities, a_fg) -> HydroTerms:
    """Added inertia and wrench of every body.

    Args:
        model: The mechanism.
        kin: Its kinematics (poses).
        velocities: Velocity of each body relative to the water in body axes, shape (6,) each.
        a_fg: Acceleration of the water less that of gravity in the axes of each body, shape (3,) each.
    """
    inertias, wrenches = [], []
    for i, body in enumerate(model.bodies):
        if body.hydro is None:
            inertias.append(None)
            wrenches.append(np.zeros(6))
            continue
        depth = model.world.down @ kin.p_WB[i]
        motion = Motion(velocities[i], a_fg[i], kin.R_WB[i], kin.p_WB[i], depth, model.world.water_density)
        M_A = added_mass(body, motion)
        inertias.append(M_A)
        wrenches.append(added_mass_bias(M_A, velocities[i], a_fg[i]) + water_wrench(body, motion))
    return HydroTerms(tuple(inertias), tuple(wrenches))
