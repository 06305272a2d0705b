"""Actuation: thrusters and their allocation, joint drives, joint friction and stops. Commands become forces here."""

from . import drives
from ._allocation import Allocation, Allocator, allocate, allocation_matrix
from ._curves import ForceCurve, ideal_curve, linear_curve, t200_curve
from ._drive_equations import (
    FrictionForce,
    drive_armature,
    drive_force,
    drive_limits,
    drive_rate,
    drive_saturated,
    drive_states,
    friction_force,
    friction_states,
    stop_energy,
    stop_force,
    stop_loss,
)
from ._thruster import Thruster, thruster_rate, thruster_states, thruster_thrust, thruster_wet

__all__ = [
    "Allocation",
    "Allocator",
    "ForceCurve",
    "FrictionForce",
    "Thruster",
    "allocate",
    "allocation_matrix",
    "drive_armature",
    "drive_force",
    "drive_limits",
    "drive_rate",
    "drive_saturated",
    "drive_states",
    "drives",
    "friction_force",
    "friction_states",
    "ideal_curve",
    "linear_curve",
    "stop_energy",
    "stop_force",
    "stop_loss",
    "t200_curve",
    "thruster_rate",
    "thruster_states",
    "thruster_thrust",
    "thruster_wet",
]
