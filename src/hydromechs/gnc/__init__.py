"""Guidance, navigation and control: controllers that scenarios name."""

from ._carry import CarryLoad
from ._pose_control import FollowPath, HoldPose
from ._reference import JointMotion, Waypoints

__all__ = ["CarryLoad", "FollowPath", "HoldPose", "JointMotion", "Waypoints"]
