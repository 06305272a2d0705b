"""Controllers: pose, speed, joints, tools, loads, task priorities; references and inverse kinematics."""

from ._admittance import Admittance
from ._carry import CarryLoad
from ._cartesian import CartesianMotion, ToolLoop
from ._inverse_kinematics import Tool, damped_inverse, reach_pose
from ._joint_control import ComputedTorque, JointControl
from ._lqr import LoopMargins, LqrDesign, loop_margins, servo_lqr
from ._pose_control import FollowPath, HoldPose
from ._reference import JointTrajectory, Waypoints
from ._serpenoid import Serpenoid
from ._speed_control import LqrSpeed, SpeedLoop
from ._speed_path import LqrFollowPath, LqrHoldPose, speeds_towards
from ._task_priority import (
    TASKS,
    KinematicTask,
    ManipulabilityTask,
    PostureTask,
    TaskPriority,
    ToolTask,
    VehicleTask,
    prioritised,
)
from ._tool_path import ToolPath
from ._vehicle import Vehicle

__all__ = [
    "TASKS",
    "Admittance",
    "CarryLoad",
    "CartesianMotion",
    "ComputedTorque",
    "FollowPath",
    "HoldPose",
    "JointControl",
    "JointTrajectory",
    "KinematicTask",
    "LoopMargins",
    "LqrDesign",
    "LqrFollowPath",
    "LqrHoldPose",
    "LqrSpeed",
    "ManipulabilityTask",
    "PostureTask",
    "Serpenoid",
    "SpeedLoop",
    "TaskPriority",
    "Tool",
    "ToolLoop",
    "ToolPath",
    "ToolTask",
    "Vehicle",
    "VehicleTask",
    "Waypoints",
    "damped_inverse",
    "loop_margins",
    "prioritised",
    "reach_pose",
    "servo_lqr",
    "speeds_towards",
]
