"""Equations of motion put together."""

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

__all__ = [
    "BodyMotion",
    "Energy",
    "bias_acceleration",
    "energy",
    "forward_dynamics",
    "frame_pose",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "kinematics",
    "mass_matrix",
    "momentum",
]
