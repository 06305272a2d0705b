"""Guidance, navigation and control: sensors, filters, and controllers that scenarios name."""

from . import navigation, sensors, walking
from ._carry import CarryLoad
from ._cartesian import CartesianMotion, ToolLoop
from ._give_way import GiveWay
from ._inverse_kinematics import Tool, damped_inverse, reach_pose
from ._joint_control import ComputedTorque, JointControl
from ._lqr import LoopMargins, LqrDesign, loop_margins, servo_lqr
from ._navigated import Navigated
from ._pack import Pack
from ._pose_control import FollowPath, HoldPose
from ._reference import JointMotion, Waypoints
from ._registry import CONTROLLERS
from ._serpenoid import Serpenoid
from ._speed_control import LqrSpeed, SpeedLoop
from ._speed_path import LqrFollowPath, LqrHoldPose, speeds_towards
from ._task_priority import TaskPriority, prioritised
from ._together import Together
from ._tool_path import ToolPath
from ._vehicle import Vehicle
from .navigation import ErrorStateFilter, Navigation
from .walking import AlternatingSupport, ArticulatedDrive, Walk

__all__ = [
    "CONTROLLERS",
    "AlternatingSupport",
    "ArticulatedDrive",
    "CarryLoad",
    "CartesianMotion",
    "ComputedTorque",
    "ErrorStateFilter",
    "FollowPath",
    "GiveWay",
    "HoldPose",
    "JointControl",
    "JointMotion",
    "LoopMargins",
    "LqrDesign",
    "LqrFollowPath",
    "LqrHoldPose",
    "LqrSpeed",
    "Navigated",
    "Navigation",
    "Pack",
    "Serpenoid",
    "SpeedLoop",
    "TaskPriority",
    "Together",
    "Tool",
    "ToolLoop",
    "ToolPath",
    "Vehicle",
    "Walk",
    "Waypoints",
    "damped_inverse",
    "loop_margins",
    "navigation",
    "prioritised",
    "reach_pose",
    "sensors",
    "servo_lqr",
    "speeds_towards",
    "walking",
]
