"""What the water adds to the equations of motion of each body."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydromechs.model import Hydro, added_mass_matrix
from hydromechs.spatial import cross

from ._added_mass import fluid_acceleration_force
from ._drag import drag_wrench

__all__ = [
    "Motion",
    "added_inertias",
    "added_mass",
    "body_motions",
    "displaced_mass",
    "total_buoyancy",
    "viscous_wrench",
    "water_potential",
    "water_wrench",
]


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


def body_motions(model, kin, velocities, a_fg) -> list[Motion]:
    """Motion of every body.

    Args:
        model: The mechanism.
        kin: Its kinematics (poses).
        velocities: Velocity of each body relative to the water in body axes, shape (6,) each.
        a_fg: Acceleration of the water less that of gravity in the axes of each body, shape (3,) each.
    """
    down, density = model.world.down, model.world.water_density
    return [Motion(V, a, R, p, down @ p, density) for V, a, R, p in zip(velocities, a_fg, kin.R_WB, kin.p_WB, strict=True)]


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


def water_potential(body, motion: Motion):
    """Potential energy of the water's conservative forces on a body, zero at the world's origin [J].

    For hydrodynamics of the user's own it is what its method `potential_energy(body, motion)` says, 0 without that method.
    """
    if isinstance(body.hydro, Hydro):
        mass, moment = displaced_mass(body, motion.density)
        return -motion.a_fg @ (mass * (motion.R_WB.T @ motion.p_WB) + moment)
    potential = getattr(body.hydro, "potential_energy", None)
    return 0.0 if potential is None else potential(body, motion)


def added_mass(body, motion: Motion):
    """Added mass of a body about its origin [kg, kg·m, kg·m²], shape (6, 6)."""
    if not isinstance(body.hydro, Hydro):
        M_A = _shaped(body, body.hydro.added_mass(body, motion), (6, 6), "added_mass")
        if M_A.dtype != object and not np.allclose(M_A, M_A.T, rtol=1e-9, atol=1e-12 * np.abs(M_A).max()):
            raise ValueError(f"body {body.name!r}: {type(body.hydro).__name__}.added_mass must return a symmetric matrix")
        return M_A
    total = np.zeros((6, 6))
    for element in body.hydro.added_mass:
        total = total + added_mass_matrix(element, motion.density)
    return total


def viscous_wrench(body, motion: Motion):
    """Drag, damping and lift of a body about its origin [N, N·m], shape (6,); all of a user's own wrench."""
    if not isinstance(body.hydro, Hydro):
        return _shaped(body, body.hydro.wrench(body, motion), (6,), "wrench")
    F = np.zeros(6)
    for element in body.hydro.drag:
        F = F + drag_wrench(element, motion.velocity, motion.density)
    return F


def _shaped(body, value, shape: tuple[int, ...], method: str) -> np.ndarray:
    """What a user's method returned, as an array of the right shape."""
    out = np.asarray(value)
    if out.shape != shape:
        raise ValueError(f"body {body.name!r}: {type(body.hydro).__name__}.{method} must return shape {shape}, got {out.shape}")
    return out


def added_inertias(model, motions: list[Motion]) -> list:
    """I^A of every body, shape (6, 6) each, or None for a body that the water does not touch."""
    return [None if b.hydro is None else added_mass(b, m) for b, m in zip(model.bodies, motions, strict=True)]


def water_wrench(body, motion: Motion, M_A):
    """All of the water's force on a body but −M_A a' and −V_r ×* (M_A V_r) [N, N·m], shape (6,).

    Args:
        body: The body.
        motion: Its motion.
        M_A: Its added mass, shape (6, 6).
    """
    displaced = displaced_mass(body, motion.density)
    return fluid_acceleration_force(M_A, displaced, motion.a_fg) + viscous_wrench(body, motion)
