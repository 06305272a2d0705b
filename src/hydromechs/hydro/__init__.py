"""Hydrodynamics of single bodies: added mass, drag, lift, damping, buoyancy."""

from hydromechs.model import added_mass_matrix

from ._added_mass import fluid_acceleration_force
from ._drag import drag_wrench
from ._terms import (
    Motion,
    added_inertias,
    added_mass,
    body_motions,
    displaced_mass,
    total_buoyancy,
    viscous_wrench,
    water_potential,
    water_wrench,
)

__all__ = [
    "Motion",
    "added_inertias",
    "added_mass",
    "added_mass_matrix",
    "body_motions",
    "displaced_mass",
    "drag_wrench",
    "fluid_acceleration_force",
    "total_buoyancy",
    "viscous_wrench",
    "water_potential",
    "water_wrench",
]
