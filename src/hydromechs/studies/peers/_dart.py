"""A model in DART, with the full 6×6 inertia (rigid and added) of every body."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from hydromechs.hydro import Motion, added_mass
from hydromechs.model import Model, joints
from hydromechs.spatial import quaternion_matrix

from ._common import axis_of, import_peer, joint_parts, placement_pose, swap

__all__ = ["DartPeer"]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence what C++ writes to the terminal."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(fd) for fd in (1, 2)]
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        for fd in (1, 2):
            os.dup2(sink, fd)
        yield
    finally:
        for fd, old in zip((1, 2), saved, strict=True):
            os.dup2(old, fd)
            os.close(old)
        os.close(sink)


class DartPeer:
    """DART's skeleton of a model. Gravity acts on the rigid masses, drag and buoyancy are left out."""

    def __init__(self, model: Model) -> None:
        dartpy = import_peer("dartpy")
        self.dart, self.model = dartpy, model
        self.skeleton = dartpy.dynamics.Skeleton(model.name)
        self.skeleton.setGravity([0.0, 0.0, 0.0])
        self.parts: list[tuple[Any, Any, slice, slice]] = []  # (DART joint, ours, slice of q, slice of v)
        self.nodes: list[Any] = []
        rest = Motion(np.zeros(6), np.zeros(3), np.eye(3), np.zeros(3), 0.0, model.world.water_density)
        for i, body in enumerate(model.bodies):
            node = None if model.parent[i] < 0 else self.nodes[model.parent[i]]
            iq, iv = model.q_slices[i].start, model.v_slices[i].start
            for part in joint_parts(body.joint):
                node = self._add(node, part, slice(iq, iq + part.nq), slice(iv, iv + part.nv))
                iq, iv = iq + part.nq, iv + part.nv
                self._set_inertia(node, np.zeros((6, 6)))
            inertia = body.inertia.matrix
            if body.hydro is not None:
                inertia = inertia + added_mass(body, rest)
            self._set_inertia(node, inertia)
            self.nodes.append(node)

    def _set_inertia(self, node: Any, matrix: np.ndarray) -> None:
        order = [3, 4, 5, 0, 1, 2]
        inertia = self.dart.dynamics.Inertia()
        with _quiet():  # DART warns of every entry that a rigid body would not have
            inertia.setSpatialTensor(matrix[np.ix_(order, order)])
            node.setInertia(inertia)

    def _add(self, parent: Any, part: joints.Joint, q: slice, v: slice) -> Any:
        kind = {
            joints.Free: "Free",
            joints.Fixed: "Weld",
            joints.Ball: "Ball",
            joints.Revolute: "Revolute",
            joints.Prismatic: "Prismatic",
        }
        create = f"create{kind[type(part)]}JointAndBodyNodePair"
        # on the skeleton the first argument is the parent; without one a new root is made
        joint, node = getattr(self.skeleton, create)() if parent is None else getattr(self.skeleton, create)(parent)
        joint.setTransformFromParentBodyNode(self.dart.math.Isometry3(placement_pose(part)))
        if isinstance(part, joints.Revolute | joints.Prismatic):
            joint.setAxis(axis_of(part))
        self.parts.append((joint, part, q, v))
        return node

    @staticmethod
    def _axes(part: joints.Joint) -> np.ndarray:
        """Motion subspace of an elementary joint, angular first, shape (6, n)."""
        match part:
            case joints.Free():
                return np.eye(6)[:, [3, 4, 5, 0, 1, 2]]
            case joints.Ball():
                return np.eye(6)[:, :3]
            case joints.Revolute():
                return np.concatenate([axis_of(part), np.zeros(3)])[:, None]
            case joints.Prismatic():
                return np.concatenate([np.zeros(3), axis_of(part)])[:, None]
        return np.zeros((6, 0))

    def body_accelerations(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        """Time derivative of each body's velocity (the numbers in body axes) in vacuum-like water, shape (nb, 6)."""
        dart = self.dart
        for joint, part, at, _ in self.parts:
            if isinstance(part, joints.Free):
                T = np.eye(4)
                T[:3, :3], T[:3, 3] = quaternion_matrix(q[at][3:]), q[at][:3]
                joint.setPositions(dart.dynamics.FreeJoint.convertToPositions(dart.math.Isometry3(T)))
            elif isinstance(part, joints.Ball):
                joint.setPositions(dart.dynamics.BallJoint.convertToPositions(quaternion_matrix(q[at])))
            elif part.nv:
                joint.setPositions(q[at])
        for joint, part, _, at in self.parts:
            if part.nv:  # whatever DART's velocities are, J q̇ is the relative velocity in the child's axes
                J, S = np.asarray(joint.getRelativeJacobian()), self._axes(part)
                joint.setVelocities(np.linalg.lstsq(J, S @ v[at], rcond=None)[0])
                joint.setForces(J.T @ (S @ tau[at]))
        self.skeleton.clearExternalForces()
        for node, body, F in zip(self.nodes, self.model.bodies, wrench, strict=True):
            weight = body.inertia.mass * self.model.world.gravity_vector
            node.addExtForce(weight, np.array(body.inertia.com), False, True)
            node.addExtForce(F[:3], np.zeros(3), True, True)
            node.addExtTorque(F[3:], True)
        self.skeleton.computeForwardDynamics()
        return np.stack([swap(np.asarray(node.getSpatialAcceleration())) for node in self.nodes])
