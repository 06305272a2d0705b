"""Guidance, navigation and control: controllers that scenarios name."""

from ._pose_control import FollowPath, HoldPose
from ._reference import JointMotion, Waypoints

__all__ = ["FollowPath", "HoldPose", "JointMotion", "Waypoints"]
