"""A model in Pinocchio, dry."""

from __future__ import annotations

from typing import Any

import numpy as np

from hydromechs.hybrid import axis_of, depth_first, joint_parts, placement_pose
from hydromechs.model import Model, joints
from hydromechs.spatial import tensor_matrix

from ._import import import_peer

__all__ = ["PinocchioPeer"]


class PinocchioPeer:
    """Pinocchio's model and data of a mechanism without water."""

    def __init__(self, model: Model) -> None:
        pin = import_peer("pinocchio")
        self.pin = pin
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.concatenate([model.world.gravity_vector, np.zeros(3)]))
        carrier: dict[int, tuple[int, Any]] = {}  # joint and pose on it of each body
        order: list[int] = []
        for i in depth_first(model):
            body = model.bodies[i]
            parent, pose = (0, pin.SE3.Identity()) if model.parent[i] < 0 else carrier[model.parent[i]]
            parts = joint_parts(body.joint)
            pose = pose * pin.SE3(placement_pose(parts[0]))
            if isinstance(parts[0], joints.Fixed):
                joint = parent
            else:
                kind = self._joint(parts[0])
                if len(parts) > 1:
                    composite = pin.JointModelComposite(kind)
                    for part in parts[1:]:
                        composite.addJoint(self._joint(part), pin.SE3(placement_pose(part)))
                    kind = composite
                joint, pose = self.model.addJoint(parent, kind, pose, body.name), pin.SE3.Identity()
                order.append(i)
            m = body.inertia
            self.model.appendBodyToJoint(joint, pin.Inertia(m.mass, np.array(m.com), tensor_matrix(m.tensor)), pose)
            carrier[i] = (joint, pose)
        self.data = self.model.createData()
        # indices of our coordinates in theirs
        self.v_of = np.zeros(model.nv, dtype=int)
        self.q_of = np.zeros(model.nq, dtype=int)
        for joint, i in enumerate(order, start=1):
            iq, iv = self.model.joints[joint].idx_q, self.model.joints[joint].idx_v
            self.v_of[model.v_slices[i]] = iv + np.arange(model.bodies[i].joint.nv)
            at = model.q_slices[i].start
            for part in joint_parts(model.bodies[i].joint):
                where = np.arange(part.nq)
                if isinstance(part, joints.Free | joints.Ball):  # quaternions are (x, y, z, w) there
                    where[-4:] = where[-4:][[3, 0, 1, 2]]
                self.q_of[at : at + part.nq] = iq + where
                at, iq = at + part.nq, iq + part.nq

    def _joint(self, part: joints.Joint) -> Any:
        match part:
            case joints.Free():
                return self.pin.JointModelFreeFlyer()
            case joints.Ball():
                return self.pin.JointModelSpherical()
            case joints.Revolute():
                return self.pin.JointModelRevoluteUnaligned(axis_of(part))
            case joints.Prismatic():
                return self.pin.JointModelPrismaticUnaligned(axis_of(part))
            case joints.Helical():
                return self.pin.JointModelHelicalUnaligned(axis_of(part), part.advance)
        raise TypeError(f"no Pinocchio joint for {part!r}")

    def _to(self, values: np.ndarray, indices: np.ndarray) -> np.ndarray:
        out = np.empty(len(indices))
        out[indices] = values
        return out

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """v̇ by `aba`, shape (nv,)."""
        at = self.v_of
        return np.asarray(self.pin.aba(self.model, self.data, self._to(q, self.q_of), self._to(v, at), self._to(tau, at)))[at]

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        """τ by `rnea`, shape (nv,)."""
        at = self.v_of
        return np.asarray(self.pin.rnea(self.model, self.data, self._to(q, self.q_of), self._to(v, at), self._to(vdot, at)))[at]

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """M by `crba`, shape (nv, nv)."""
        M = np.asarray(self.pin.crba(self.model, self.data, self._to(q, self.q_of)))
        M = np.triu(M) + np.triu(M, 1).T
        return M[np.ix_(self.v_of, self.v_of)]
