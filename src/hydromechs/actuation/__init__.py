"""Actuation: thrusters and their allocation, drives, friction and stops of joints. Commands become forces here."""

from collections.abc import Mapping

from hydromechs.model.component import Component

from . import drives, motions
from ._allocation import Allocation, Allocator, allocate, allocation_matrix
from ._curves import ForceCurve, ideal_curve, linear_curve, t200_curve
from ._external import ExternalWrench
from ._joint_motion import JointMotion
from ._losses import JointFriction, JointStops
from ._spring import JointRotor, JointSpring
from ._thruster import Thruster

__all__ = [
    "TYPES",
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

TYPES: Mapping[str, type[Component]] = {
    "thruster": Thruster,
    **drives.TYPES,
    "joint_motion": JointMotion,
    "joint_friction": JointFriction,
    "joint_stops": JointStops,
    "joint_spring": JointSpring,
    "joint_rotor": JointRotor,
    "external_wrench": ExternalWrench,
}
"""Component classes, keyed by their names in files."""
