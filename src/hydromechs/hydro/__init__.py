"""Hydrodynamics of single bodies: added mass, drag, lift, damping, buoyancy, the free surface; currents and waves."""

from hydromechs.model import added_mass_matrix

from ._added_mass import fluid_acceleration_force
from ._current import FlowSegment, FluidMotion, UniformFlow, fluid_motion, profile_factor, profile_slope
from ._drag import drag_wrench
from ._drag_matrix import drag_matrix
from ._environment import (
    Current,
    DepthTable,
    Environment,
    FreeSurface,
    Gusts,
    JonswapSea,
    PiersonMoskowitzSea,
    PowerLaw,
    RegularWave,
    Uniform,
)
from ._surface import BoxCell, Cell, CylinderCell, EllipsoidCell, Immersion, hull_cells, immersion
from ._terms import (
    LocalSurface,
    Motion,
    added_inertias,
    added_mass,
    body_motions,
    displaced_mass,
    total_buoyancy,
    viscous_matrix,
    viscous_wrench,
    water_potential,
    water_wrench,
)
from ._waves import WaveComponents, WaveMotion, sea_spectrum, wave_components, wave_motion, wavenumber

__all__ = [
    "BoxCell",
    "Cell",
    "Current",
    "CylinderCell",
    "DepthTable",
    "EllipsoidCell",
    "Environment",
    "FlowSegment",
    "FluidMotion",
    "FreeSurface",
    "Gusts",
    "Immersion",
    "JonswapSea",
    "LocalSurface",
    "Motion",
    "PiersonMoskowitzSea",
    "PowerLaw",
    "RegularWave",
    "Uniform",
    "UniformFlow",
    "WaveComponents",
    "WaveMotion",
    "added_inertias",
    "added_mass",
    "added_mass_matrix",
    "body_motions",
    "displaced_mass",
    "drag_matrix",
    "drag_wrench",
    "fluid_acceleration_force",
    "fluid_motion",
    "hull_cells",
    "immersion",
    "profile_factor",
    "profile_slope",
    "sea_spectrum",
    "total_buoyancy",
    "viscous_matrix",
    "viscous_wrench",
    "water_potential",
    "water_wrench",
    "wave_components",
    "wave_motion",
    "wavenumber",
]
