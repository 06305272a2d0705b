"""Drives, friction and stops: components that act in a joint."""

from ._drive import Drive, Servo, Torque
from ._friction import FrictionForce, JointFriction
from ._hydraulic import Hydraulic
from ._motor import Motor
from ._stops import JointStops

__all__ = ["Drive", "FrictionForce", "Hydraulic", "JointFriction", "JointStops", "Motor", "Servo", "Torque"]
