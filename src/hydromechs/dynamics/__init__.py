"""Dynamics of forests of rigid bodies. It knows nothing of water: it takes added inertias and wrenches per body."""

from ._articulated_body import articulated_body, rigid_bias, velocity_force
from ._chart import chart_rate, difference, retract
from ._composite_body import mass_matrix
from ._energy import kinetic_energy, momentum, potential_energy
from ._generalized_force import generalized_force
from ._inverse_dynamics import accelerations, inverse_dynamics
from ._jacobian import jacobian, jacobian_derivative_times_velocity
from ._kinematics import Bias, Kinematics, integrate, kinematics, world_vector

__all__ = [
    "Bias",
    "Kinematics",
    "accelerations",
    "articulated_body",
    "chart_rate",
    "difference",
    "generalized_force",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "jacobian_derivative_times_velocity",
    "kinematics",
    "kinetic_energy",
    "mass_matrix",
    "momentum",
    "potential_energy",
    "retract",
    "rigid_bias",
    "velocity_force",
    "world_vector",
]
