"""A model as DART's skeleton, with any 6×6 inertia of its bodies."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from hydromechs.model import Model, joints
from hydromechs.spatial import pose_matrix, quaternion_from_matrix, quaternion_matrix
from hydromechs.values import Array

from ._engine import quiet
from ._parts import placement_pose, swap

ONE = np.ones((1, 1))
JOINTS: Mapping[type[joints.Joint], str] = {
    joints.Free: "Free",
    joints.Fixed: "Weld",
    joints.Ball: "Ball",
    joints.Revolute: "Revolute",
    joints.Prismatic: "Prismatic",
}
"""DART's names of our joints."""


class _Part(NamedTuple):
    """An elementary joint."""

    joint: Any
    """DART's."""
    ours: joints.Joint
    """Ours."""
    q: slice
    """Its place in our q."""
    v: slice
    """Its place in our v."""
    axes: Array
    """Its motion subspace S, angular first, shape (6, n)."""

    def rates(self) -> Array:
        """B with v = B q̇, shape (n, n): whatever DART's rates q̇ are, J q̇ = S v is the relative velocity in the child's axes."""
        if self.ours.nv == 1:
            return ONE
        return self.axes.T @ np.asarray(self.joint.getRelativeJacobian())


class DartTree:
    """DART's skeleton of a mechanism, and the way between its coordinates and ours.

    Inertias are about the bodies' origins in their axes, linear first, shape (nb, 6, 6).
    """

    def __init__(self, dartpy: ModuleType, model: Model, inertias: Array) -> None:
        self.dart, self.model = dartpy, model
        self.skeleton = dartpy.dynamics.Skeleton(model.name)
        self.skeleton.setGravity([0.0, 0.0, 0.0])
        self.nodes: list[Any] = []
        """DART's bodies in our order."""
        self.parts: list[_Part] = []
        for i, body in enumerate(model.bodies):
            node: Any = None if model.parent[i] < 0 else self.nodes[model.parent[i]]
            iq, iv = model.q_slices[i].start, model.v_slices[i].start
            for part in body.joint.parts:
                node = self._add(node, part, slice(iq, iq + part.nq), slice(iv, iv + part.nv))
                iq, iv = iq + part.nq, iv + part.nv
                self._set_inertia(node, np.zeros((6, 6)))
            self._set_inertia(node, inertias[i])
            node.setName(body.name)
            self.nodes.append(node)
        self.moving = [part for part in self.parts if part.ours.nv]
        """Joints that move."""

    def _set_inertia(self, node: Any, matrix: Array) -> None:
        order = [3, 4, 5, 0, 1, 2]
        inertia = self.dart.dynamics.Inertia()
        with quiet():  # DART warns of every entry that a rigid body would not have
            inertia.setSpatialTensor(matrix[np.ix_(order, order)])
            node.setInertia(inertia)

    def _add(self, parent: Any, part: joints.Joint, q: slice, v: slice) -> Any:
        create = f"create{JOINTS[type(part)]}JointAndBodyNodePair"
        # on the skeleton the first argument is the parent; without one a new root is made
        joint, node = getattr(self.skeleton, create)() if parent is None else getattr(self.skeleton, create)(parent)
        joint.setTransformFromParentBodyNode(self.dart.math.Isometry3(placement_pose(part)))
        if isinstance(part, joints.OneAxis):
            joint.setAxis(part.unit_axis)
        self.parts.append(_Part(joint, part, q, v, swap(part.subspace(np.array(part.neutral_q)))))
        return node

    def put(self, q: Array, v: Array) -> None:
        """Set configuration (nq,) and velocity (nv,)."""
        dart = self.dart
        for part in self.moving:
            here = q[part.q]
            if isinstance(part.ours, joints.Free):
                T = pose_matrix(quaternion_matrix(here[3:]), here[:3])
                here = dart.dynamics.FreeJoint.convertToPositions(dart.math.Isometry3(T))
            elif isinstance(part.ours, joints.Ball):
                here = dart.dynamics.BallJoint.convertToPositions(quaternion_matrix(here))
            part.joint.setPositions(here)
        for part in self.moving:
            part.joint.setVelocities(np.linalg.solve(part.rates(), v[part.v]) if part.ours.nv > 1 else v[part.v])

    def state(self) -> tuple[Array, Array]:
        """Configuration (nq,) and velocity (nv,)."""
        q, v = np.zeros(self.model.nq), np.zeros(self.model.nv)
        for part in self.moving:
            here = np.asarray(part.joint.getPositions())
            if isinstance(part.ours, joints.Free):
                T = np.asarray(self.dart.dynamics.FreeJoint.convertToTransform(here).matrix())
                here = np.concatenate([T[:3, 3], quaternion_from_matrix(T[:3, :3])])
            elif isinstance(part.ours, joints.Ball):
                here = quaternion_from_matrix(np.asarray(self.dart.dynamics.BallJoint.convertToRotation(here)))
            q[part.q] = here
            v[part.v] = part.rates() @ part.joint.getVelocities()
        return q, v

    def set_forces(self, tau: Array) -> None:
        """Set the generalised force, shape (nv,)."""
        for part in self.moving:
            part.joint.setForces(part.rates().T @ tau[part.v])
