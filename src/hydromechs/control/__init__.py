"""Controllers for pose, speed, joints, tools, loads and task priorities, with references and inverse kinematics."""

from collections.abc import Mapping

from hydromechs.simulation import Controller

from ._carry import CarryLoad
from ._cartesian import Admittance, CartesianMotion, ToolLoop, ToolPath
from ._damped_inverse import Tool, damped_inverse, prioritised, reach_pose
from ._lqr import LoopMargins, LqrDesign, loop_margins, servo_lqr
from ._policy import ActionMap, Policy, grips_object, observed_joints, thruster_commands
from ._pose_control import FollowPath, HoldPose
from ._reference import ComputedTorque, JointControl, JointTrajectory, Servos, Waypoints
from ._serpenoid import Serpenoid
from ._speed_control import LqrFollowPath, LqrHoldPose, LqrSpeed, SpeedLoop, speeds_towards
from ._task_priority import TASKS, Asked, KinematicTask, ManipulabilityTask, PostureTask, TaskPriority, ToolTask, VehicleTask
from ._vehicle import Vehicle

__all__ = [
    "TASKS",
    "TYPES",
    "ActionMap",
    "Admittance",
    "Asked",
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
    "Policy",
    "PostureTask",
    "Serpenoid",
    "Servos",
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
    "grips_object",
    "loop_margins",
    "observed_joints",
    "prioritised",
    "reach_pose",
    "servo_lqr",
    "speeds_towards",
    "thruster_commands",
]

TYPES: Mapping[str, type[Controller]] = {
    "hold_pose": HoldPose,
    "follow_path": FollowPath,
    "lqr_speed": LqrSpeed,
    "lqr_hold_pose": LqrHoldPose,
    "lqr_follow_path": LqrFollowPath,
    "joint_motion": JointTrajectory,
    "joint_control": JointControl,
    "computed_torque": ComputedTorque,
    "cartesian_motion": CartesianMotion,
    "task_priority": TaskPriority,
    "carry_load": CarryLoad,
    "serpenoid": Serpenoid,
    "policy": Policy,
}
"""Controller classes, keyed by the type name in files."""
