"""Hydrodynamics of single bodies: added mass, drag, lift, damping, buoyancy."""

from hydromechs.model import added_mass_matrix

from ._added_mass import added_mass_bias
from ._drag import drag_wrench
from ._terms import (
    Motion,
    added_inertias,
    added_mass,
    body_motions,
    displaced_mass,
    total_buoyancy,
    water_potential,
    water_wrench,
    water_wrenches,
)

__all__ = [
    "Motion",
    "added_inertias",
    "added_mass",
    "added_mass_bias",
    "added_mass_matrix",
    "body_motions",
    "displaced_mass",
    "drag_wrench",
    "total_buoyancy",
    "water_potential",
    "water_wrench",
    "water_wrenches",
]
