"""Kinematics of a tool, and its inverse: configurations for a given pose."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hydromechs.compiler import Compiled, compile_function
from hydromechs.dynamics import jacobian as body_jacobian
from hydromechs.dynamics import kinematics
from hydromechs.model import Model, State
from hydromechs.spatial import quaternion_from_matrix, rotation_between
from hydromechs.values import Array

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
"""Directions of a tool in the world: along and about the world's axes."""


class ToolPose(NamedTuple):
    """A frame of the mechanism at one state."""

    R: Array
    """Its axes in the world, shape (3, 3)."""
    p: Array
    """Its origin in the world [m], shape (3,)."""
    J: Array
    """Jacobian of its velocity in world axes, J v = (ṗ, ω), shape (6, nv)."""


class Tool:
    """A frame or body of a mechanism whose motion is controlled."""

    def __init__(self, model: Model, frame: str) -> None:
        self.model, self.frame, self._place = model, frame, model.locate(frame)
        self.body = self._place.body
        """Index of its body."""

    def pose(self, q: Array) -> ToolPose:
        """Return its pose at a configuration, in NumPy operations, shape (nq,)."""
        place, kin = self._place, kinematics(self.model, q, np.zeros(self.model.nv))
        R = kin.R_WB[place.body]
        J = body_jacobian(self.model, kin, place.body, place.p)  # in body axes
        return ToolPose(R @ place.R, kin.p_WB[place.body] + R @ place.p, np.concatenate([R @ J[:3], R @ J[3:]]))

    @cached_property
    def _code(self) -> Compiled:
        outputs = {"R": (3, 3), "p": (3,), "J": (6, self.model.nv)}
        return compile_function("tool", self.pose, {"q": (self.model.nq,)}, outputs)

    def __call__(self, q: np.ndarray) -> ToolPose:
        """Return its pose at a configuration of floats, by machine code, shape (nq,)."""
        return ToolPose(*self._code.single_results(np.asarray(q, dtype=float)))

    @property
    def chain(self) -> list[str]:
        """Return the joints with one degree of freedom between the tool and the root, root first."""
        out, body = [], self.body
        while body >= 0:
            name = self.model.body_names[body]
            if self.model.bodies[body].joint.nv == 1:
                out.append(name)
            body = self.model.parent[body]
        return out[::-1]


def pose_off(pose: ToolPose, position: Array, R: Array | None) -> Array:
    """Return the error of a pose in world axes: position, and the rotation vector to the wanted axes (or 0), shape (6,)."""
    turn = np.zeros(3)
    if R is not None:
        turn = pose.R @ rotation_between(quaternion_from_matrix(pose.R), quaternion_from_matrix(R))
    return np.concatenate([position - pose.p, turn])


def reach_pose(
    model: Model,
    frame: str,
    position: Sequence[float],
    *,
    axes: np.ndarray | None = None,
    state: State | None = None,
    joints: Sequence[str] | None = None,
    tolerance: float = 1e-10,
    steps: int = 200,
) -> tuple[np.ndarray, float]:
    """Return a configuration that brings a frame to a position, and the remaining error [m, rad].

    By damped Newton steps (Levenberg, Marquardt) from a state; joints stay within the model's limits. If the position is out of
    reach, the result is a local minimum of the error.

    Args:
        frame: Name of the frame.
        position: Wanted position, in world axes [m], shape (3,).
        axes: Wanted axes in the world, shape (3, 3); if omitted, any.
        state: Initial guess; defaults to the model's initial state. All but `joints` stay as they are there.
        joints: Names of the joints that move; defaults to all with one degree of freedom between the frame and the root.
        tolerance: Error at which the search stops [m, rad].
        steps: Maximum number of steps.
    """
    tool = Tool(model, frame)
    names = tool.chain if joints is None else list(joints)
    parts = [model.joint_part(name) for name in names]
    iq, iv = [p.q.start for p in parts], [p.v.start for p in parts]
    limits = np.array([getattr(p.joint, "limits", None) or (-np.inf, np.inf) for p in parts])
    rows = list(range(3 if axes is None else 6))
    q = np.array((model.initial() if state is None else state).q, dtype=float)
    target = np.asarray(position, dtype=float)
    pose = tool(q)
    off = pose_off(pose, target, axes)[rows]
    damping = 1e-3
    for _ in range(steps):
        if np.linalg.norm(off) < tolerance or damping > 1e12:
            break
        J = pose.J[rows][:, iv]
        slope = J.T @ off
        held = ((q[iq] <= limits[:, 0]) & (slope < 0.0)) | ((q[iq] >= limits[:, 1]) & (slope > 0.0))
        J = np.where(held, 0.0, J)  # joints at a limit that would move further stay there
        step = np.linalg.solve(J.T @ J + damping * np.eye(len(iv)), J.T @ off)
        step *= min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
        tried = q.copy()
        tried[iq] = np.clip(q[iq] + step, limits[:, 0], limits[:, 1])
        there = tool(tried)
        left = pose_off(there, target, axes)[rows]
        if np.linalg.norm(left) < np.linalg.norm(off):
            q, pose, off, damping = tried, there, left, max(0.2 * damping, 1e-15)
        else:
            damping *= 8.0
    return q, float(np.linalg.norm(off))
