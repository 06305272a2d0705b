"""Guidance, navigation and control: controllers that scenarios name."""

from ._carry import CarryLoad
from ._cartesian import CartesianMotion
from ._inverse_kinematics import damped_inverse, reach_pose
from ._joint_control import ComputedTorque, JointControl
from ._lqr import LoopMargins, LqrDesign, loop_margins, servo_lqr
from ._pose_control import FollowPath, HoldPose
from ._reference import JointMotion, Waypoints
from ._registry import CONTROLLERS
from ._speed_control import LqrSpeed
from ._speed_path import LqrFollowPath, LqrHoldPose
from ._task_priority import TaskPriority, prioritised
from ._together import Together

__all__ = [
    "CONTROLLERS",
    "CarryLoad",
    "CartesianMotion",
    "ComputedTorque",
    "FollowPath",
    "HoldPose",
    "JointControl",
    "JointMotion",
    "LoopMargins",
    "LqrDesign",
    "LqrFollowPath",
    "LqrHoldPose",
    "LqrSpeed",
    "TaskPriority",
    "Together",
    "Waypoints",
    "damped_inverse",
    "loop_margins",
    "prioritised",
    "reach_pose",
    "servo_lqr",
]
