"""A model as MuJoCo's tree of bodies and joints, dry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from hydromechs.model import Inertia, Model, joints
from hydromechs.spatial import cross, quaternion_from_matrix, quaternion_matrix

from ._parts import placement_pose

JOINTS: Mapping[type[joints.Joint], Callable[[Any, Any, np.ndarray], list[tuple[Any, np.ndarray]]]] = {
    joints.Fixed: lambda kind, part, R: [],
    joints.Free: lambda kind, part, R: [*((kind.mjJNT_SLIDE, R[:, k]) for k in range(3)), (kind.mjJNT_BALL, R[:, 2])],
    joints.Ball: lambda kind, part, R: [(kind.mjJNT_BALL, R[:, 2])],
    joints.Revolute: lambda kind, part, R: [(kind.mjJNT_HINGE, R @ part.unit_axis)],
    joints.Prismatic: lambda kind, part, R: [(kind.mjJNT_SLIDE, R @ part.unit_axis)],
}
"""MuJoCo's joints and their axes, from its types, our joint and the axes of the joint frame on the body, shape (3, 3)."""


class MujocoTree:
    """MuJoCo's description of a mechanism without water, contacts or limits, and the way between its coordinates and ours.

    A free joint is three slides and a ball, whose linear velocities are in the axes of the joint frame.
    """

    def __init__(self, mujoco: ModuleType, model: Model) -> None:
        self.mujoco, self.ours = mujoco, model
        self.spec = mujoco.MjSpec()
        self.spec.compiler.degree = False
        self.spec.compiler.autolimits = False
        self.handles: list[Any] = []
        """MuJoCo's bodies in our order."""
        self.names: list[tuple[str, int, int]] = []
        """Its joints in our order, with their numbers of coordinates and of degrees of freedom."""
        for i, body in enumerate(model.bodies):
            parent = self.spec.worldbody if model.parent[i] < 0 else self.handles[model.parent[i]]
            parts = body.joint.parts
            poses = [placement_pose(part) for part in parts]
            zero = np.linalg.multi_dot([np.eye(4), *poses]) if len(poses) > 1 else poses[0]
            handle = parent.add_body(name=body.name, pos=zero[:3, 3], quat=quaternion_from_matrix(zero[:3, :3]))
            for k, part in enumerate(parts):
                # joint frame in the body's frame at zero: the inverse of the placements after it
                after = np.linalg.multi_dot([np.eye(4), np.eye(4), *poses[k + 1 :]])
                R, p = after[:3, :3].T, -after[:3, :3].T @ after[:3, 3]
                self.add(handle, part, R, p, f"{body.name}/{k}")
            if body.inertia.mass or any(body.inertia.tensor):
                _give_inertia(handle, body.inertia)
            self.handles.append(handle)
        self._free = [
            (q_at, v_at.start)
            for body, q_at, v_at in zip(model.bodies, model.q_slices, model.v_slices, strict=True)
            if isinstance(body.joint, joints.Free)
        ]

    def compile(self) -> Any:
        """MuJoCo's model; finds the places of our coordinates in its."""
        model, ours = self.spec.compile(), self.ours
        self.q_of, self.v_of = np.zeros(ours.nq, dtype=int), np.zeros(ours.nv, dtype=int)
        iq = iv = 0
        for name, nq, nv in self.names:
            joint = model.joint(name)
            self.q_of[iq : iq + nq] = joint.qposadr[0] + np.arange(nq)
            self.v_of[iv : iv + nv] = joint.dofadr[0] + np.arange(nv)
            iq, iv = iq + nq, iv + nv
        return model

    def add(self, handle: Any, part: joints.Joint, R: np.ndarray, p: np.ndarray, name: str) -> None:
        """Give MuJoCo's body an elementary joint with its frame at R, shape (3, 3), and p [m], shape (3,), on the body."""
        kind = self.mujoco.mjtJoint
        for k, (type_, axis) in enumerate(JOINTS[type(part)](kind, part, R)):
            handle.add_joint(name=f"{name}/{k}", type=type_, axis=axis, pos=p)
            self.names.append((f"{name}/{k}", *((4, 3) if type_ == kind.mjJNT_BALL else (1, 1))))

    def rates(self, q: np.ndarray) -> np.ndarray:
        """B with q̇_MuJoCo = B v, orthogonal, shape (nv, nv)."""
        B = np.eye(self.ours.nv)
        for q_at, k in self._free:
            B[k : k + 3, k : k + 3] = quaternion_matrix(q[q_at][3:])
        return B

    def rates_bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Ḃ v, shape (nv,)."""
        out = np.zeros(self.ours.nv)
        for q_at, k in self._free:
            out[k : k + 3] = quaternion_matrix(q[q_at][3:]) @ cross(v[k + 3 : k + 6], v[k : k + 3])
        return out


def _give_inertia(handle: Any, inertia: Inertia) -> None:
    """Mass and inertia, in axes that are never the body's own.

    Of a body whose principal axes are its own and meet in its origin, MuJoCo keeps the diagonal of the mass matrix alone, and
    added mass has no place. So the axes of a diagonal tensor are named in another order: x, y, z along y, z, x of the body.
    """
    handle.mass, handle.ipos, handle.explicitinertial = inertia.mass, inertia.com, True
    xx, yy, zz, *products = inertia.tensor
    if any(products):
        handle.fullinertia = inertia.tensor
    else:
        handle.inertia, handle.iquat = (yy, zz, xx), (0.5, 0.5, 0.5, 0.5)
