"""Bullet engine: bodies carry the part of added mass that a rigid body can represent; schemes iterate the remainder."""

import math
import os
import tempfile
import weakref
from collections.abc import Callable, Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from hydromechs.contact import Material, Terrain
from hydromechs.geometry import Box, Capsule, Cylinder, HeightField, Placed, Plane, Shape, Sphere
from hydromechs.model import Model, joints
from hydromechs.spatial import cross, pose_matrix, quaternion_from_matrix, quaternion_matrix, rpy_from_matrix, skew
from hydromechs.values import Array

from ._engine import Engine, Touch, quiet
from ._scene import Scene, friction_of, height_rows, placement_pose, spring_of

TERRAIN: Mapping[type[Shape], tuple[str, Callable[[Any], dict[str, Any]]]] = {
    Plane: ("PLANE", lambda shape: {}),
    Box: ("BOX", lambda shape: dict(halfExtents=[0.5 * a for a in shape.size])),
    Cylinder: ("CYLINDER", lambda shape: dict(radius=shape.radius, height=shape.length)),
    Capsule: ("CAPSULE", lambda shape: dict(radius=shape.radius, height=shape.length)),
    Sphere: ("SPHERE", lambda shape: dict(radius=shape.radius)),
}
"""Bullet type and size of each static shape except height fields."""
GROUND, BODY = 1, 2
"""Collision groups of ground and bodies."""


class _Tree:
    """Bullet multibody: a root body with its tree."""

    def __init__(self, uid: int, root: int, links: dict[int, int]) -> None:
        self.uid, self.root, self.links = uid, root, links
        self.of_link = {link: body for body, link in links.items()}
        """Index of the HydroMechs body for each Bullet link."""
        self.com, self.turn = np.zeros(3), np.eye(3)
        """Position and axes of the inertial frame of the free base, in axes of the HydroMechs body."""
        self.origin = np.eye(4)
        """Pose of the frame of the free joint in the world, shape (4, 4)."""


JOINTS: Mapping[type[joints.Joint], str] = {
    joints.Free: "floating",
    joints.Fixed: "fixed",
    joints.Revolute: "continuous",
    joints.Prismatic: "prismatic",
}
"""URDF joint types, keyed by joint class."""


class BulletEngine(Engine):
    """Bullet engine, using multibodies of pybullet."""

    name = "bullet"
    module = "pybullet"
    joint_types = JOINTS
    takes_stiffness = True
    hint = " (wheels for Python 3.11 only)"

    def faults(self, model: Model, scene: Scene) -> list[str]:
        """Return unsupported features: joints of several parts, free joints on other bodies, and shapes."""
        out = scene.others((*TERRAIN, HeightField), "Bullet")
        for i, body in enumerate(model.bodies):
            parts = body.joint.parts
            if len(parts) > 1:
                out.append(
                    f"body {body.name!r} has a joint of several parts, which Bullet does not support; use another engine"
                )
            elif isinstance(parts[0], joints.Free) and model.parent[i] >= 0:
                out.append(
                    f"body {body.name!r} has a free joint on another body, which Bullet does not support; use another engine"
                )
        return out

    def carries(self, model: Model, added: Array) -> Array:
        """Return mass and moments of inertia at the centre of mass: the largest values that leave a non-negative remainder."""
        out = np.zeros_like(added)
        for i, body in enumerate(model.bodies):
            c = np.array(body.inertia.com)
            X = np.eye(6)  # from velocity at the origin to velocity at the centre of mass
            X[:3, 3:] = -skew(c)
            inverse = np.linalg.inv(X)
            M = inverse.T @ added[i] @ inverse
            mass = max(float(np.linalg.eigvalsh(M[:3, :3])[0]), 0.0)
            turning = max(float(np.linalg.eigvalsh(M[3:, 3:])[0]), 0.0)
            out[i] = X.T @ np.diag([mass] * 3 + [turning] * 3) @ X
        return out

    # -- building -----------------------------------------------------------------------------------------------------------

    def load(self, model: Model, scene: Scene, carried: Array, armature: Array) -> None:
        self._p, self._model, self._scene = self.library(), model, scene
        p = self._p
        client = p.connect(p.DIRECT)
        weakref.finalize(self, p.disconnect, client)
        self._at = dict(physicsClientId=client)
        p.setGravity(0, 0, 0, **self._at)
        self._trees = [self._add_tree(i, carried) for i in range(model.nb) if model.parent[i] < 0]
        self._free = [tree for tree in self._trees if isinstance(model.bodies[tree.root].joint, joints.Free)]
        self._dofs = [
            (tree, link, model.q_slices[i].start, model.v_slices[i].start)
            for tree in self._trees
            for i, link in tree.links.items()
            if link >= 0 and model.bodies[i].joint.nv
        ]
        self._grounds = {self._add_solid(solid): solid.name for solid in scene.solids}
        self._filter(scene)
        self._known: tuple[Array, Array] | None = None
        self._kept: int | None = None

    def _add_tree(self, root: int, carried: Array) -> _Tree:
        p, model = self._p, self._model
        members = [root]
        for i in range(root + 1, model.nb):
            if model.parent[i] in members:
                members.append(i)
        free = isinstance(model.bodies[root].joint, joints.Free)
        text = self._urdf(root, members, free, carried)
        with tempfile.NamedTemporaryFile("w", suffix=".urdf", delete=False, encoding="utf-8") as file:
            file.write(text)
        try:
            flags = p.URDF_USE_INERTIA_FROM_FILE | p.URDF_USE_SELF_COLLISION
            with quiet():  # Bullet warns of links without mass
                uid = p.loadURDF(file.name, useFixedBase=not free, flags=flags, **self._at)
        finally:
            os.unlink(file.name)
        named = {p.getJointInfo(uid, j, **self._at)[12].decode(): j for j in range(p.getNumJoints(uid, **self._at))}
        links = {i: named.get(f"b{i}", -1) for i in members}
        tree = _Tree(uid, root, links)
        for link in range(-1, len(named)):
            rest = dict(linearDamping=0, angularDamping=0, jointDamping=0, maxJointVelocity=1e9, restitution=0)
            p.changeDynamics(uid, link, **rest, **self._at)
        for link in range(len(named)):
            p.setJointMotorControl2(uid, link, p.VELOCITY_CONTROL, force=0, **self._at)
        if free:
            info = p.getDynamicsInfo(uid, -1, **self._at)
            tree.com, tree.turn = np.array(info[3]), quaternion_matrix(np.roll(info[4], 1))
            tree.origin = placement_pose(model.bodies[root].joint.parts[0])
        return tree

    def _urdf(self, root: int, members: list[int], free: bool, carried: Array) -> str:
        model = self._model
        lines = ['<robot name="tree">']
        if not free:
            lines.append('<link name="base"><inertial><mass value="0"/><inertia ixx="0" iyy="0" izz="0"/></inertial></link>')
        for i in members:
            body = model.bodies[i]
            lines += [f'<link name="b{i}">', self._inertial(i, carried[i])]
            lines += [_collision(piece.shape) for piece in self._scene.pieces_of(i)]
            lines.append("</link>")
            if free and i == root:
                continue
            joint = body.joint.parts[0]
            kind = JOINTS[type(joint)]
            parent = "base" if i == root else f"b{model.parent[i]}"
            axis = joint.unit_axis if isinstance(joint, joints.OneAxis) else (1.0, 0.0, 0.0)
            limit = '<limit lower="1" upper="-1" effort="1e12" velocity="1e9"/>' if kind == "prismatic" else ""
            lines.append(
                f'<joint name="j{i}" type="{kind}"><parent link="{parent}"/><child link="b{i}"/>'
                f"{_origin(placement_pose(joint))}<axis xyz={_words(axis)}/>{limit}</joint>"
            )
        return "\n".join([*lines, "</robot>"])

    def _inertial(self, i: int, carried: Array) -> str:
        m = self._model.bodies[i].inertia
        total = m.matrix + carried
        mass = float(total[0, 0])
        c = np.array(m.com)
        central = total[3:, 3:] - mass * (c @ c * np.eye(3) - np.outer(c, c))
        xx, yy, zz, xy, xz, yz = (float(central[a]) for a in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        tensor = f'ixx="{xx!r}" iyy="{yy!r}" izz="{zz!r}" ixy="{xy!r}" ixz="{xz!r}" iyz="{yz!r}"'
        return f'<inertial><origin xyz={_words(c)}/><mass value="{mass!r}"/><inertia {tensor}/></inertial>'

    def _add_solid(self, solid: Terrain) -> int:
        p, (at, R) = self._p, (solid.origin.xyz, solid.origin.R)
        if isinstance(solid.shape, HeightField):
            made, (at, R) = self._height_field(solid.shape)
        else:
            kind, size = TERRAIN[type(solid.shape)]
            made = dict(shapeType=getattr(p, f"GEOM_{kind}"), **size(solid.shape))
        uid = p.createMultiBody(
            0, p.createCollisionShape(**made, **self._at), basePosition=list(at), baseOrientation=_xyzw(R), **self._at
        )
        p.changeDynamics(uid, -1, lateralFriction=friction_of(solid.material), restitution=0, **self._at)
        self._soften(uid, -1, solid.material)
        p.setCollisionFilterGroupMask(uid, -1, GROUND, BODY, **self._at)
        return uid

    def _height_field(self, field: HeightField) -> tuple[dict[str, Any], tuple[Any, Array]]:
        """Create a height field of triangles; Bullet puts the mean of its minimum and maximum height at the origin."""
        rows, R, at = height_rows(field, self._model.world.down[2])
        dx, dy = field.spacing
        shape = dict(
            shapeType=self._p.GEOM_HEIGHTFIELD,
            meshScale=[dx, dy, 1.0],
            heightfieldData=rows.ravel().tolist(),
            numHeightfieldRows=rows.shape[1],
            numHeightfieldColumns=rows.shape[0],
        )
        middle = 0.5 * float(rows.min() + rows.max())
        return shape, (at - middle * np.array(self._model.world.down), R)

    def _filter(self, scene: Scene) -> None:
        p = self._p
        where = {body: (tree.uid, link) for tree in self._trees for body, link in tree.links.items()}
        for uid, link in where.values():
            p.setCollisionFilterGroupMask(uid, link, BODY, 0, **self._at)
            p.changeDynamics(uid, link, lateralFriction=1.0, **self._at)
        for body in scene.grounded:
            p.setCollisionFilterGroupMask(*where[body], BODY, GROUND, **self._at)
        for a, b, material in scene.meeting:  # Bullet multiplies the coefficients of both
            (one, first), (two, second) = where[a], where[b]
            p.setCollisionFilterPair(one, two, first, second, 1, **self._at)
            for uid, link in (where[a], where[b]):
                p.changeDynamics(uid, link, lateralFriction=math.sqrt(friction_of(material)), **self._at)
            self._soften(*where[a if b in scene.grounded else b], material)

    def _soften(self, uid: int, link: int, material: Material) -> None:
        """Set contact stiffness and damping on one body of each pair, as Bullet combines both bodies in series."""
        stiffness, damping = spring_of(material)
        self._p.changeDynamics(uid, link, contactStiffness=stiffness, contactDamping=damping, **self._at)

    # -- running ------------------------------------------------------------------------------------------------------------

    def put(self, q: Array, v: Array) -> None:
        """Set the state, unless it is unchanged: setting it would reset contacts."""
        if (
            not self._scene.pieces
            or self._known is None
            or not (np.array_equal(q, self._known[0]) and np.array_equal(v, self._known[1]))
        ):
            self._set(q, v)
        self._q, self._v = q.copy(), v.copy()

    def _set(self, q: Array, v: Array) -> None:
        p, model = self._p, self._model
        for tree in self._free:
            moves = v[model.v_slices[tree.root]]
            R, origin = self._pose(tree, q)
            place, axes = origin + R @ tree.com, R @ tree.turn
            p.resetBasePositionAndOrientation(tree.uid, place.tolist(), _xyzw(axes), **self._at)
            linear = R @ (moves[:3] + cross(moves[3:], tree.com))
            p.resetBaseVelocity(tree.uid, linear.tolist(), (R @ moves[3:]).tolist(), **self._at)
        for tree, link, iq, iv in self._dofs:
            p.resetJointState(tree.uid, link, float(q[iq]), float(v[iv]), **self._at)

    def _pose(self, tree: _Tree, q: Array) -> tuple[Array, Array]:
        here = q[self._model.q_slices[tree.root]]
        R_0, p_0 = tree.origin[:3, :3], tree.origin[:3, 3]
        return R_0 @ quaternion_matrix(here[3:]), p_0 + R_0 @ here[:3]

    def state(self) -> tuple[Array, Array]:
        p, model = self._p, self._model
        q, v = np.zeros(model.nq), np.zeros(model.nv)
        for tree in self._free:
            place, turned = p.getBasePositionAndOrientation(tree.uid, **self._at)
            linear, angular = (np.array(x) for x in p.getBaseVelocity(tree.uid, **self._at))
            R = quaternion_matrix((turned[3], *turned[:3])) @ tree.turn.T
            r, R_0, p_0 = R @ tree.com, tree.origin[:3, :3], tree.origin[:3, 3]
            here = R_0.T @ (np.array(place) - r - p_0)
            q[model.q_slices[tree.root]] = np.concatenate([here, quaternion_from_matrix(R_0.T @ R)])
            v[model.v_slices[tree.root]] = np.concatenate([R.T @ (linear - cross(angular, r)), R.T @ angular])
        for tree, link, iq, iv in self._dofs:
            q[iq], v[iv] = p.getJointState(tree.uid, link, **self._at)[:2]
        self._known = q, v
        return q.copy(), v.copy()

    def apply(self, force: Array, inertia: Array | None = None) -> None:
        """Store the force for the step, as Bullet clears forces after each step."""
        self._force = force

    def _push(self) -> None:
        p, model = self._p, self._model
        for tree in self._free:
            F = self._force[model.v_slices[tree.root]]
            R, origin = self._pose(tree, self._q)
            p.applyExternalForce(tree.uid, -1, (R @ F[:3]).tolist(), origin.tolist(), p.WORLD_FRAME, **self._at)
            p.applyExternalTorque(tree.uid, -1, (R @ F[3:]).tolist(), p.WORLD_FRAME, **self._at)
        for tree, link, _, iv in self._dofs:
            p.setJointMotorControl2(tree.uid, link, p.TORQUE_CONTROL, force=float(self._force[iv]), **self._at)

    def step(self, h: float) -> None:
        self._p.setPhysicsEngineParameter(fixedTimeStep=h, numSubSteps=0, **self._at)
        self._push()
        self._h = h
        self._before = self._rates()
        self._p.stepSimulation(**self._at)
        self._known = None

    def _rates(self) -> list[tuple[Array, Array]]:
        rates = (self._p.getBaseVelocity(tree.uid, **self._at) for tree in self._free)
        return [(np.array(linear), np.array(angular)) for linear, angular in rates]

    def acceleration(self) -> Array:
        """Return v̇ at the start of the step; for a base, R v̇ = a_c − α × r − ω × (ω × r) − ω × v_o from the mass centre."""
        model, out = self._model, np.zeros(self._model.nv)
        for tree, (v_0, w), (v_1, w_1) in zip(self._free, self._before, self._rates(), strict=True):
            R, _ = self._pose(tree, self._q)
            r, alpha = R @ tree.com, (w_1 - w) / self._h
            v_o = v_0 - cross(w, r)
            a = (v_1 - v_0) / self._h - cross(alpha, r) - cross(w, cross(w, r)) - cross(w, v_o)
            out[model.v_slices[tree.root]] = np.concatenate([R.T @ a, R.T @ alpha])
        for tree, link, _, iv in self._dofs:
            rate = self._p.getJointState(tree.uid, link, **self._at)[1]
            out[iv] = (rate - self._v[iv]) / self._h
        return out

    def touches(self) -> list[Touch]:
        out = []
        trees = {tree.uid: tree for tree in self._trees}
        for c in self._p.getContactPoints(**self._at):
            _, one, two, first, second, place, opposite, normal, _, size, along, t_1, across, t_2 = c[:14]
            if size <= 0.0:
                continue
            force = size * np.array(normal) + along * np.array(t_1) + across * np.array(t_2)  # on the first
            if one not in trees:
                one, two, first, second, force = two, one, second, first, -force
                place, opposite = opposite, place
            other = trees[two].of_link[second] if two in trees else None
            name = self._grounds[two] if other is None else self._model.body_names[other]
            places = np.array(place), np.array(opposite)
            out.append(Touch(trees[one].of_link[first], other, name, places[0], force, float(size), places[1]))
        return out

    def save(self) -> Any:
        """Return the state and, during contact, Bullet's complete contact state."""
        kept = None
        if self._scene.pieces and self._p.getContactPoints(**self._at):
            if self._kept is not None:
                self._p.removeState(self._kept, **self._at)
            kept = self._kept = self._p.saveState(**self._at)
        return self._q.copy(), self._v.copy(), kept

    def restore(self, saved: Any) -> None:
        q, v, kept = saved
        if kept is not None:
            self._p.restoreState(stateId=kept, **self._at)
        self._set(q, v)
        self._q, self._v = q, v


def _words(x: Any) -> str:
    return quoteattr(" ".join(repr(float(a)) for a in x))


def _xyzw(R: Array) -> list[float]:
    w, *xyz = quaternion_from_matrix(R).tolist()
    return [*xyz, w]


def _origin(T: Array) -> str:
    return f"<origin xyz={_words(T[:3, 3])} rpy={_words(rpy_from_matrix(T[:3, :3]))}/>"


def _collision(piece: Placed) -> str:
    shape = piece.shape
    sizes = {key: np.atleast_1d(getattr(shape, key)) for key in ("size", "radius", "length") if hasattr(shape, key)}
    what = " ".join(f"{key}={_words(size)}" for key, size in sizes.items())
    place = _origin(pose_matrix(piece.origin.R, piece.origin.xyz))
    return f"<collision>{place}<geometry><{shape.word} {what}/></geometry></collision>"
