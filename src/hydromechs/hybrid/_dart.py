"""DART engine: the 6×6 inertia of each body includes added mass."""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from hydromechs.geometry import Box, Capsule, Cylinder, Ellipsoid, Placed, Plane, Shape, Sphere
from hydromechs.model import Model, joints
from hydromechs.spatial import pose_matrix, quaternion_from_matrix, quaternion_matrix
from hydromechs.values import Array

from ._engine import Engine, Touch, quiet
from ._scene import Scene, friction_of, placement_pose, swap

THICK = 50.0
"""Edge length of the box that represents a plane [m]."""
SHAPES: Mapping[type[Shape], Callable[[Any, Any], Any]] = {
    Plane: lambda dart, shape: dart.BoxShape([THICK * 10, THICK * 10, THICK]),
    Box: lambda dart, shape: dart.BoxShape(np.array(shape.size)),
    Cylinder: lambda dart, shape: dart.CylinderShape(shape.radius, shape.length),
    Capsule: lambda dart, shape: dart.CapsuleShape(shape.radius, shape.length),
    Sphere: lambda dart, shape: dart.SphereShape(shape.radius),
    Ellipsoid: lambda dart, shape: dart.EllipsoidShape(2.0 * shape.half_size),
}
"""Functions from `dartpy.dynamics` and a shape to a DART shape; a plane is the top face of a large box."""
ONE = np.ones((1, 1))
JOINTS: Mapping[type[joints.Joint], str] = {
    joints.Free: "Free",
    joints.Fixed: "Weld",
    joints.Ball: "Ball",
    joints.Revolute: "Revolute",
    joints.Prismatic: "Prismatic",
}
"""DART joint names, keyed by joint class."""


class DartEngine(Engine):
    """DART engine, with one skeleton for the mechanism and one for the terrain."""

    name = "dart"
    module = "dartpy"
    joint_types = JOINTS

    def faults(self, model: Model, scene: Scene) -> list[str]:
        """Return unsupported features: height fields, which dartpy lacks, and other shapes."""
        return scene.others(tuple(SHAPES), "dartpy")

    def carries(self, model: Model, added: Array) -> Array:
        return added

    def load(self, model: Model, scene: Scene, carried: Array, armature: Array) -> None:
        self._dart = dart = self.library()
        inertias = np.stack([body.inertia.matrix for body in model.bodies]) + carried
        self._tree = DartTree(dart, model, inertias)
        self._world = dart.simulation.World()
        self._world.setGravity([0.0, 0.0, 0.0])
        self._world.addSkeleton(self._tree.skeleton)
        self._solids: dict[str, tuple[int | None, str]] = {}
        self._cone: Callable[[], Any] | None = None
        if scene.pieces:
            self._add_scene(model, scene)

    def _add_scene(self, model: Model, scene: Scene) -> None:
        dart, nodes = self._dart, self._tree.nodes
        # FCL, the default, does not support capsules
        solver = self._world.getConstraintSolver()
        solver.setCollisionDetector(dart.collision.BulletCollisionDetector())
        # the default has a friction pyramid, up to √2 stronger than the cone; releases before 6.20 have no alternative
        self._cone = getattr(dart.constraint, "NsgsFrictionSolver", None)
        for piece in scene.pieces:
            mu = max([friction_of(s.material) for s in scene.solids] + [friction_of(m) for *_, m in scene.meeting])
            self._give(nodes[piece.body], piece.shape, mu)
            self._solids[nodes[piece.body].getName()] = (piece.body, model.body_names[piece.body])
        ground = dart.dynamics.Skeleton("terrain")
        ground.setMobile(False)
        still = []
        for solid in scene.solids:
            _, node = ground.createWeldJointAndBodyNodePair()
            node.setName(f"//{solid.name}")
            self._give(node, solid, friction_of(solid.material))
            self._solids[f"//{solid.name}"] = (None, solid.name)
            still.append(node)
        self._world.addSkeleton(ground)
        self._tree.skeleton.enableSelfCollisionCheck()
        met = {frozenset((a, b)) for a, b, _ in scene.meeting}
        rule = self._world.getConstraintSolver().getCollisionOption().collisionFilter
        bodies = sorted({piece.body for piece in scene.pieces})
        for k, a in enumerate(bodies):
            for b in bodies[k + 1 :]:
                if frozenset((a, b)) not in met:
                    rule.addBodyNodePairToBlackList(nodes[a], nodes[b])
            if a not in scene.grounded:
                for node in still:
                    rule.addBodyNodePairToBlackList(nodes[a], node)

    def _give(self, node: Any, solid: Placed, mu: float) -> None:
        made = node.createShapeNode(SHAPES[type(solid.shape)](self._dart.dynamics, solid.shape))
        made.setRelativeTransform(self._dart.math.Isometry3(_pose(solid)))
        made.createCollisionAspect()
        made.createDynamicsAspect()
        made.getDynamicsAspect().setFrictionCoeff(mu)
        made.getDynamicsAspect().setRestitutionCoeff(0.0)

    def put(self, q: Array, v: Array) -> None:
        """Set the state and the matrices that convert accelerations to HydroMechs coordinates."""
        self._tree.put(q, v)
        self._maps: list[tuple[Array, Array, Any]] = []
        for part in self._tree.moving:
            rate = np.array(part.joint.getVelocities())
            turning = 0.0
            if part.ours.nv > 1:
                turning = part.axes.T @ (np.asarray(part.joint.getRelativeJacobianTimeDeriv()) @ rate)
            self._maps.append((part.rates(), rate, turning))

    def state(self) -> tuple[Array, Array]:
        return self._tree.state()

    def apply(self, force: Array, inertia: Array | None = None) -> None:
        self._tree.set_forces(force)

    def step(self, h: float) -> None:
        """Call `World.step` with a new contact solver, as an old one warm-starts from forces that are not part of the state."""
        if self._cone is not None:
            self._world.getConstraintSolver().setBoxedLcpSolver(self._cone())
        self._world.setTimeStep(h)
        self._h = h
        self._world.step(True)

    def acceleration(self) -> Array:
        """Return v̇ = B q̈ + Sᵀ J̇ q̇ of the last step."""
        out = np.zeros(self._tree.model.nv)
        for part, (B, rate, turning) in zip(self._tree.moving, self._maps, strict=True):
            change = (np.asarray(part.joint.getVelocities()) - rate) / self._h
            out[part.v] = B @ change + turning
        return out

    def touches(self) -> list[Touch]:
        """Return contacts with nonzero force from the last collision result."""
        out = []
        for contact in self._world.getLastCollisionResult().getContacts():
            force = np.array(contact.force)
            touching = (contact.collisionObject1, contact.collisionObject2)
            first, second = (c.getShapeFrame().asShapeNode().getBodyNodePtr().getName() for c in touching)
            (one, _), (two, name) = self._solids[first], self._solids[second]
            if one is None and two is not None:
                one, two, name, force = two, None, self._solids[first][1], -force
            normal = abs(float(force @ np.array(contact.normal)))
            if one is not None and normal > 0.0:
                out.append(Touch(one, two, name, np.array(contact.point), force, normal))
        return out

    def save(self) -> Any:
        skeleton = self._tree.skeleton
        return np.array(skeleton.getPositions()), np.array(skeleton.getVelocities())

    def restore(self, saved: Any) -> None:
        self._tree.skeleton.setPositions(saved[0])
        self._tree.skeleton.setVelocities(saved[1])


def _pose(solid: Placed) -> Array:
    """Return the pose of a DART shape, shape (4, 4)."""
    R, p = solid.origin.R, np.array(solid.origin.xyz)
    return pose_matrix(R, p - 0.5 * THICK * R[:, 2] if isinstance(solid.shape, Plane) else p)


class _Part(NamedTuple):
    joint: Any
    ours: joints.Joint
    q: slice
    v: slice
    axes: Array
    """Motion subspace S, angular first, shape (6, n)."""

    def rates(self) -> Array:
        """Return B in v = B q̇, shape (n, n), for DART rates q̇; J q̇ = S v is the relative velocity in axes of the child."""
        if self.ours.nv == 1:
            return ONE
        return self.axes.T @ np.asarray(self.joint.getRelativeJacobian())


class DartTree:
    """DART skeleton of a mechanism, with conversion between coordinates of DART and HydroMechs.

    `inertias` are about body origins in body axes, linear first, shape (nb, 6, 6).
    """

    def __init__(self, dartpy: ModuleType, model: Model, inertias: Array) -> None:
        self.dart, self.model = dartpy, model
        self.skeleton = dartpy.dynamics.Skeleton(model.name)
        self.skeleton.setGravity([0.0, 0.0, 0.0])
        self.nodes: list[Any] = []
        """DART body nodes, in the order of the model."""
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
        """Movable joints."""

    def _set_inertia(self, node: Any, matrix: Array) -> None:
        order = [3, 4, 5, 0, 1, 2]
        inertia = self.dart.dynamics.Inertia()
        with quiet():  # DART warns about every entry that a rigid body cannot have
            inertia.setSpatialTensor(matrix[np.ix_(order, order)])
            node.setInertia(inertia)

    def _add(self, parent: Any, part: joints.Joint, q: slice, v: slice) -> Any:
        create = f"create{JOINTS[type(part)]}JointAndBodyNodePair"
        # on the skeleton the first argument is the parent; without a parent a new root is created
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
        """Return configuration (nq,) and velocity (nv,)."""
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
