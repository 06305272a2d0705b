"""Actuation: thrusters and their allocation, drives, friction and stops of joints. Commands become forces here."""

from . import drives, motions
from ._allocation import Allocation, Allocator, allocate, allocation_matrix
from ._curves import ForceCurve, ideal_curve, linear_curve, t200_curve
from ._external import ExternalWrench
from ._friction import JointFriction
from ._joint_motion import JointMotion
from ._spring import JointRotor, JointSpring
from ._stops import JointStops
from ._thruster import Thruster

__all__ = [
    "Allocation",
    "Allocator",
    "ExternalWrench",
    "ForceCurve",
    "JointFriction",
    "JointMotion",
    "JointRotor",
    "JointSpring",
    "JointStops",
    "Thruster",
    "allocate",
    "allocation_matrix",
    "drives",
    "ideal_curve",
    "linear_curve",
    "motions",
    "t200_curve",
]
