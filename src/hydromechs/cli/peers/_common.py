"""What the adapters share."""

from __future__ import annotations

import numpy as np

from hydromechs.model import joints
from hydromechs.spatial import Path, pose_matrix

__all__ = ["axis_of", "depth_first", "joint_parts", "placement_pose", "swap"]


def joint_parts(joint) -> tuple:
    """The elementary joints of a joint."""
    return joint.parts if isinstance(joint, joints.Composite) else (joint,)


def placement_pose(joint) -> np.ndarray:
    """Pose of a joint frame on its parent before motion, shape (4, 4)."""
    return pose_matrix(*Path(joint.placement.steps(2)).pose())


def axis_of(joint) -> np.ndarray:
    """Unit axis of a revolute or prismatic joint in its frame, shape (3,)."""
    return np.array(joint.axis) / np.linalg.norm(joint.axis)


def swap(V: np.ndarray) -> np.ndarray:
    """Linear first to angular first and back, along the first axis."""
    return np.concatenate([V[3:], V[:3]])


def depth_first(model) -> list[int]:
    """Indices of the bodies with every subtree in a row, as some codes want them."""
    order: list[int] = []
    stack = [i for i in reversed(range(model.nb)) if model.parent[i] < 0]
    while stack:
        order.append(stack.pop())
        stack += [i for i in reversed(range(model.nb)) if model.parent[i] == order[-1]]
    return order
