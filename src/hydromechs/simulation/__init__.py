"""Equations of motion put together, and compiled."""

from ._equations import (
    BodyMotion,
    Energy,
    bias_acceleration,
    energy,
    forward_dynamics,
    frame_pose,
    integrate,
    inverse_dynamics,
    jacobian,
    kinematics,
    mass_matrix,
    momentum,
)
from ._fossen import damping_force, restoring_force

__all__ = [
    "BodyMotion",
    "Energy",
    "bias_acceleration",
    "damping_force",
    "energy",
    "forward_dynamics",
    "frame_pose",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "kinematics",
    "mass_matrix",
    "momentum",
    "restoring_force",
]
