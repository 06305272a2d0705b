"""Short names of controllers, as scenario files have them."""

from __future__ import annotations

from hydromechs.control import (
    CarryLoad,
    CartesianMotion,
    ComputedTorque,
    FollowPath,
    HoldPose,
    JointControl,
    JointTrajectory,
    LqrFollowPath,
    LqrHoldPose,
    LqrSpeed,
    Serpenoid,
    TaskPriority,
)
from hydromechs.simulation import Controller
from hydromechs.walking import AlternatingSupport, ArticulatedDrive, Walk

from ._together import Together

__all__ = ["CONTROLLERS"]

CONTROLLERS: dict[str, type[Controller]] = {
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
    "walk": Walk,
    "serpenoid": Serpenoid,
    "alternating_support": AlternatingSupport,
    "articulated_drive": ArticulatedDrive,
    "together": Together,
}
"""Controllers of the library by name."""
