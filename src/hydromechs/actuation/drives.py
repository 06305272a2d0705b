"""Drives, friction and stops: components that act in a joint."""

from collections.abc import Mapping

from ._drive import Drive, Servo, Torque
from ._losses import FrictionForce, JointFriction, JointStops
from ._motor import Hydraulic, Motor

__all__ = ["TYPES", "Drive", "FrictionForce", "Hydraulic", "JointFriction", "JointStops", "Motor", "Servo", "Torque"]

TYPES: Mapping[str, type[Drive]] = {"torque": Torque, "servo": Servo, "motor": Motor, "hydraulic": Hydraulic}
"""Drive classes, keyed by their names in files."""
