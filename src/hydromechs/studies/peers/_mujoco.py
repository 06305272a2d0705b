"""A model in MuJoCo, dry."""

from __future__ import annotations

from typing import Any

import numpy as np

from hydromechs.model import Model, joints
from hydromechs.spatial import quaternion_from_matrix, quaternion_matrix

from ._common import axis_of, import_peer, joint_parts, placement_pose

__all__ = ["MujocoPeer"]


class MujocoPeer:
    """MuJoCo's model and data of a mechanism without water, contacts or limits.

    A free joint is three slides and a ball, whose linear velocities are in the axes of the joint frame.
    """

    def __init__(self, model: Model) -> None:
        mujoco = import_peer("mujoco")
        self.mujoco, self.ours = mujoco, model
        spec = mujoco.MjSpec()
        spec.compiler.degree = False
        spec.compiler.autolimits = False
        spec.option.gravity = model.world.gravity_vector
        spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        handles: list[Any] = []
        self.names: list[tuple[str, int, int]] = []  # joints in our order, with their numbers of coordinates
        for i, body in enumerate(model.bodies):
            parent = spec.worldbody if model.parent[i] < 0 else handles[model.parent[i]]
            parts = joint_parts(body.joint)
            poses = [placement_pose(part) for part in parts]
            zero = np.linalg.multi_dot([np.eye(4), *poses]) if len(poses) > 1 else poses[0]
            handle = parent.add_body(name=body.name, pos=zero[:3, 3], quat=quaternion_from_matrix(zero[:3, :3]))
            for k, part in enumerate(parts):
                # joint frame in the body's frame at zero: the inverse of the placements after it
                after = np.linalg.multi_dot([np.eye(4), np.eye(4), *poses[k + 1 :]])
                R, p = after[:3, :3].T, -after[:3, :3].T @ after[:3, 3]
                self._add(handle, part, R, p, f"{body.name}/{k}")
            m = body.inertia
            handle.mass, handle.ipos, handle.fullinertia, handle.explicitinertial = m.mass, m.com, m.tensor, True
            handles.append(handle)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        # indices of our coordinates in theirs
        self.q_of, self.v_of = np.zeros(model.nq, dtype=int), np.zeros(model.nv, dtype=int)
        iq = iv = 0
        for name, nq, nv in self.names:
            joint = self.model.joint(name)
            self.q_of[iq : iq + nq] = joint.qposadr[0] + np.arange(nq)
            self.v_of[iv : iv + nv] = joint.dofadr[0] + np.arange(nv)
            iq, iv = iq + nq, iv + nv

    def _add(self, handle: Any, part: joints.Joint, R: np.ndarray, p: np.ndarray, name: str) -> None:
        kind = self.mujoco.mjtJoint
        match part:
            case joints.Free():
                todo = [(kind.mjJNT_SLIDE, R[:, k]) for k in range(3)] + [(kind.mjJNT_BALL, R[:, 2])]
            case joints.Ball():
                todo = [(kind.mjJNT_BALL, R[:, 2])]
            case joints.Revolute():
                todo = [(kind.mjJNT_HINGE, R @ axis_of(part))]
            case joints.Prismatic():
                todo = [(kind.mjJNT_SLIDE, R @ axis_of(part))]
            case _:
                todo = []
        for k, (type_, axis) in enumerate(todo):
            handle.add_joint(name=f"{name}/{k}", type=type_, axis=axis, pos=p)
            self.names.append((f"{name}/{k}", *((4, 3) if type_ == kind.mjJNT_BALL else (1, 1))))

    def _set(self, q: np.ndarray, **rates: np.ndarray) -> None:
        """Put our `q` and the named fields, given in MuJoCo's rates, into the data."""
        self.data.qpos[self.q_of] = q
        for name, value in rates.items():
            getattr(self.data, name)[self.v_of] = value

    def _rates(self, q: np.ndarray) -> np.ndarray:
        """B with q̇_MuJoCo = B v, orthogonal, shape (nv, nv)."""
        B = np.eye(self.ours.nv)
        for body, q_at, v_at in zip(self.ours.bodies, self.ours.q_slices, self.ours.v_slices, strict=True):
            if isinstance(body.joint, joints.Free):
                k = v_at.start
                B[k : k + 3, k : k + 3] = quaternion_matrix(q[q_at][3:])
        return B

    def _rates_bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Ḃ v, shape (nv,)."""
        out = np.zeros(self.ours.nv)
        for body, q_at, v_at in zip(self.ours.bodies, self.ours.q_slices, self.ours.v_slices, strict=True):
            if isinstance(body.joint, joints.Free):
                k = v_at.start
                out[k : k + 3] = quaternion_matrix(q[q_at][3:]) @ np.cross(v[k + 3 : k + 6], v[k : k + 3])
        return out

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """v̇ by `mj_forward`, shape (nv,)."""
        B = self._rates(q)
        self._set(q, qvel=B @ v, qfrc_applied=B @ tau)
        self.mujoco.mj_forward(self.model, self.data)
        return B.T @ (self.data.qacc[self.v_of] - self._rates_bias(q, v))

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        """τ by `mj_inverse`, shape (nv,)."""
        B = self._rates(q)
        self._set(q, qvel=B @ v, qacc=B @ vdot + self._rates_bias(q, v))
        self.mujoco.mj_inverse(self.model, self.data)
        return B.T @ self.data.qfrc_inverse[self.v_of]

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """M by `mj_fullM`, shape (nv, nv)."""
        self._set(q, qvel=np.zeros(self.ours.nv))
        self.mujoco.mj_forward(self.model, self.data)
        M = np.zeros((self.model.nv, self.model.nv))
        self.mujoco.mj_fullM(self.model, self.data, M)
        B = self._rates(q)
        return B.T @ M[np.ix_(self.v_of, self.v_of)] @ B
