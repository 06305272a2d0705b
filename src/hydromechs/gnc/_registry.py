"""Short names of controllers, as scenario files have them."""

from __future__ import annotations

from hydromechs.simulation import Controller

from ._carry import CarryLoad
from ._cartesian import CartesianMotion
from ._joint_control import ComputedTorque, JointControl
from ._pose_control import FollowPath, HoldPose
from ._reference import JointMotion
from ._serpenoid import Serpenoid
from ._speed_control import LqrSpeed
from ._speed_path import LqrFollowPath, LqrHoldPose
from ._task_priority import TaskPriority
from ._together import Together
from .walking import AlternatingSupport, ArticulatedDrive, Walk

__all__ = ["CONTROLLERS"]

CONTROLLERS: dict[str, type[Controller]] = {
    "hold_pose": HoldPose,
    "follow_path": FollowPath,
    "lqr_speed": LqrSpeed,
    "lqr_hold_pose": LqrHoldPose,
    "lqr_follow_path": LqrFollowPath,
    "joint_motion": JointMotion,
    "joint_control": JointControl,
    "computed_torque": ComputedTorque,
    "cartesian_motion": CartesianMotion,
    "task_priority": TaskPriority,
    "carry_load": CarryLoad,
    "walk": Walk,
    "serpenoid": Serpenoid,
    "alternating_support": AlternatingSupport,
    "articulated_drive": ArticulatedDrive,
    "together": Together,
}
"""Controllers of the library by name."""
