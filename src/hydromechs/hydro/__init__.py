"""Hydrodynamics of single bodies: added mass, drag, lift, damping, buoyancy."""

from ._added_mass import added_mass_bias, added_mass_matrix
from ._drag import drag_wrench
from ._terms import HydroTerms, Motion, added_mass, displaced_mass, hydro_terms, total_buoyancy, water_wrench

__all__ = [
    "HydroTerms",
    "Motion",
    "added_mass",
    "added_mass_bias",
    "added_mass_matrix",
    "displaced_mass",
    "drag_wrench",
    "hydro_terms",
    "total_buoyancy",
    "water_wrench",
]
