"""A model's joints as other codes want them: elementary, with poses from the definition of their parameters."""

import math
from collections.abc import Sequence

import numpy as np

from hydromechs.model import Mdh, Model, joints
from hydromechs.spatial import pose_matrix


def placement_pose(joint: joints.Joint) -> np.ndarray:
    """Pose of a joint frame on its parent before motion, shape (4, 4), independent of our transformations, as their check."""
    placement = joint.placement
    if isinstance(placement, Mdh):
        branch = _rotation(2, placement.branch_theta) @ _translation((0.0, 0.0, placement.branch_d))
        across = _rotation(0, placement.alpha) @ _translation((placement.a, 0.0, 0.0))
        return branch @ across @ _rotation(2, placement.theta) @ _translation((0.0, 0.0, placement.d))
    roll, pitch, yaw = placement.rpy
    return _translation(placement.xyz) @ _rotation(2, yaw) @ _rotation(1, pitch) @ _rotation(0, roll)


def _rotation(axis: int, angle: float) -> np.ndarray:
    """Homogeneous matrix of a rotation about coordinate `axis` by `angle` [rad], shape (4, 4)."""
    c, s = math.cos(angle), math.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    T = np.eye(4)
    T[i, i], T[i, j], T[j, i], T[j, j] = c, -s, s, c
    return T


def _translation(p: Sequence[float]) -> np.ndarray:
    """Homogeneous matrix of a translation by `p` [m], shape (4, 4)."""
    return pose_matrix(np.eye(3), np.array(p))


def swap(V: np.ndarray) -> np.ndarray:
    """Linear first to angular first and back, along the first axis."""
    return np.concatenate([V[3:], V[:3]])


def depth_first(model: Model) -> list[int]:
    """Indices of the bodies with every subtree in a row, as some codes want them."""
    order: list[int] = []
    stack = [i for i in reversed(range(model.nb)) if model.parent[i] < 0]
    while stack:
        order.append(stack.pop())
        stack += [i for i in reversed(range(model.nb)) if model.parent[i] == order[-1]]
    return order
