"""Guidance, navigation and control: sensors, filters, and controllers that scenarios name."""

from . import navigation, sensors
from ._carry import CarryLoad
from ._navigated import Navigated
from ._pose_control import FollowPath, HoldPose
from ._reference import JointMotion, Waypoints
from .navigation import ErrorStateFilter, Navigation

__all__ = [
    "CarryLoad",
    "ErrorStateFilter",
    "FollowPath",
    "HoldPose",
    "JointMotion",
    "Navigated",
    "Navigation",
    "Waypoints",
    "navigation",
    "sensors",
]
