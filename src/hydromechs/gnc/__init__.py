"""Guidance, navigation and control: controllers that scenarios name."""

from ._carry import CarryLoad
from ._lqr import LoopMargins, LqrDesign, loop_margins, servo_lqr
from ._pose_control import FollowPath, HoldPose
from ._reference import JointMotion, Waypoints
from ._speed_control import LqrSpeed
from ._speed_path import LqrFollowPath, LqrHoldPose

__all__ = [
    "CarryLoad",
    "FollowPath",
    "HoldPose",
    "JointMotion",
    "LoopMargins",
    "LqrDesign",
    "LqrFollowPath",
    "LqrHoldPose",
    "LqrSpeed",
    "Waypoints",
    "loop_margins",
    "servo_lqr",
]
