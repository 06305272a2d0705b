"""Conversion of a model to MuJoCo, through MJCF."""

from typing import Any, NamedTuple

import numpy as np

from hydromechs._lazy import import_extra
from hydromechs.errors import UnsupportedFeature
from hydromechs.formats import robot_text
from hydromechs.hybrid import placement_pose
from hydromechs.model import Model, joints
from hydromechs.spatial import quaternion_from_matrix

from ._coordinates import CoordinateMap, FreeJoint


class InMujoco(NamedTuple):
    """Model in MuJoCo."""

    model: Any
    coordinates: CoordinateMap
    """Conversion between q, v, tau of HydroMechs and qpos, qvel, qfrc of MuJoCo."""
    lost: tuple[str, ...]
    """Features missing from the MuJoCo model, in particular water, as texts."""


def to_mujoco(model: Model) -> InMujoco:
    """Convert a mechanism to a `mujoco.MjModel`, to the extent that MJCF can represent it.

    The result contains bodies, joints with damping, friction and limits, collision shapes, visuals, frames as sites, and
    gravity. The initial state is the key frame "start" if the order of bodies allows it. Inertias are dry, because MuJoCo
    has no added mass. Joints are named after the body that they carry, as in `model.joint_parts`. A model contains no
    actuators, springs and armature; those of an imported file are in `import_file(...).components`.

    MuJoCo orders bodies by contiguous subtrees. The linear velocity of a free joint is in world axes. Quaternions are
    (w, x, y, z), as in HydroMechs. `coordinates` converts between both.

    Args:
        model: The mechanism, without helical joints, custom joints and free joints on a body.

    Raises:
        ModuleNotFoundError: MuJoCo is not installed; install the extra `mujoco`.
        UnsupportedFeature: MuJoCo rejects a part of the model.
    """
    mujoco = import_extra("mujoco", "mujoco", "to_mujoco")
    text, lost = robot_text(model, ".xml")
    try:
        there = mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        raise UnsupportedFeature(f"MuJoCo rejects {model.name!r}: {str(error).strip()}") from error
    q_of, v_of, free = np.zeros(model.nq, dtype=int), np.zeros(model.nv, dtype=int), []
    for part in model.joint_parts.values():
        joint = there.joint(part.name)
        q_of[part.q] = joint.qposadr[0] + np.arange(part.joint.nq)
        v_of[part.v] = joint.dofadr[0] + np.arange(part.joint.nv)
        if isinstance(part.joint, joints.Free):
            place = placement_pose(part.joint)
            turn = quaternion_from_matrix(place[:3, :3])
            free.append(FreeJoint(q=part.q, v=part.v, p=place[:3, 3], quaternion=turn))
    return InMujoco(there, CoordinateMap(model=model, q_of=q_of, v_of=v_of, in_world=tuple(free)), lost)
