"""MuJoCo engine: the joint-space added inertia is added to the mass matrix before constraints are solved."""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from hydromechs.contact import Material
from hydromechs.geometry import Box, Capsule, Convex, Cylinder, Ellipsoid, HeightField, Placed, Plane, Shape, Sphere
from hydromechs.model import Inertia, Model, joints
from hydromechs.spatial import cross, quaternion_from_matrix, quaternion_matrix
from hydromechs.values import Array

from ._engine import Engine, Touch
from ._scene import Scene, friction_of, height_rows, placement_pose, spring_of

BEFORE = ("mj_kinematics", "mj_comPos", "mj_camlight", "mj_flex", "mj_tendon", "mj_makeM")
"""Stages of a step up to the mass matrix."""
AFTER = (
    "mj_factorM",
    "mj_collision",
    "mj_makeConstraint",
    "mj_island",
    "mj_projectConstraint",
    "mj_transmission",
    "mj_fwdVelocity",
    "mj_fwdActuation",
    "mj_fwdAcceleration",
    "mj_fwdConstraint",
)
"""Stages of a step from the mass matrix to the accelerations."""
SLIDING = 0.1
"""Maximum fraction of the sliding speed lost per step inside the friction cone."""
STICKING = 100.0
"""Friction stiffness relative to normal stiffness; with `SLIDING`, contacts creep at force / (10 (C + K h))."""
UNSEEN = {"contype": 0, "conaffinity": 0}
"""Collision settings of geoms that collide only in explicit pairs."""
GEOMS: Mapping[type[Shape], tuple[str, Callable[[Any], Sequence[float] | Array]]] = {
    Plane: ("PLANE", lambda shape: (0.0, 0.0, 1.0)),
    Box: ("BOX", lambda shape: 0.5 * np.array(shape.size)),
    Cylinder: ("CYLINDER", lambda shape: (shape.radius, 0.5 * shape.length, 0.0)),
    Capsule: ("CAPSULE", lambda shape: (shape.radius, 0.5 * shape.length, 0.0)),
    Sphere: ("SPHERE", lambda shape: (shape.radius, 0.0, 0.0)),
    Ellipsoid: ("ELLIPSOID", lambda shape: shape.axes),
}
"""MuJoCo type and size functions of geoms, keyed by shape class."""
LEAST = 1e-4
"""Minimum impedance; the maximum is 1 minus this value."""
JOINTS: Mapping[type[joints.Joint], Callable[[Any, Any, np.ndarray], list[tuple[Any, np.ndarray]]]] = {
    joints.Fixed: lambda kind, part, R: [],
    joints.Free: lambda kind, part, R: [*((kind.mjJNT_SLIDE, R[:, k]) for k in range(3)), (kind.mjJNT_BALL, R[:, 2])],
    joints.Ball: lambda kind, part, R: [(kind.mjJNT_BALL, R[:, 2])],
    joints.Revolute: lambda kind, part, R: [(kind.mjJNT_HINGE, R @ part.unit_axis)],
    joints.Prismatic: lambda kind, part, R: [(kind.mjJNT_SLIDE, R @ part.unit_axis)],
}
"""Functions from MuJoCo joint types, a joint, and joint axes on the body (3, 3) to MuJoCo joints and axes."""


class MuJoCoEngine(Engine):
    """MuJoCo engine, run stage by stage to modify the mass matrix in between; otherwise a step equals `mj_step`."""

    name = "mujoco"
    module = "mujoco"
    joint_types = JOINTS
    takes_inertia = True
    takes_rotors = True
    takes_stiffness = True

    def faults(self, model: Model, scene: Scene) -> list[str]:
        return scene.others((*GEOMS, Convex, HeightField), "MuJoCo")

    def carries(self, model: Model, added: Array) -> Array:
        """Return zero, as the joint-space inertia includes all added mass."""
        return np.zeros_like(added)

    def load(self, model: Model, scene: Scene, carried: Array, armature: Array) -> None:
        self._mj = mj = self.library()
        self._tree = tree = MujocoTree(mj, model)
        off = mj.mjtDisableBit
        tree.spec.option.gravity = [0.0, 0.0, 0.0]
        tree.spec.option.disableflags = int(off.mjDSBL_WARMSTART) | int(off.mjDSBL_EULERDAMP)
        tree.spec.option.cone = mj.mjtCone.mjCONE_ELLIPTIC
        tree.spec.option.impratio = STICKING
        self._names: dict[str, tuple[int | None, str]] = {}
        self._pairs: list[tuple[Material, float]] = []
        self._add_scene(model, scene)
        self._model = m = tree.compile()
        m.dof_armature[tree.v_of] = armature
        self._data = mj.MjData(m)
        self._stages = [[getattr(mj, name) for name in names] for names in (BEFORE, AFTER)]
        rows = np.repeat(np.arange(m.nv), m.M_rownnz)
        self._rows, self._columns = rows, np.array(m.M_colind)
        self._order = np.argsort(tree.v_of)  # our index of each of its degrees of freedom
        self._geoms = [self._names.get(m.geom(i).name, (None, "")) for i in range(m.ngeom)]
        self._inertia: Array | None = None
        m.body_invweight0[1:, 0] = 1.0  # unit of R of a contact: the sum over both bodies; 0 for the world
        self._material_step = 0.0

    def _add_scene(self, model: Model, scene: Scene) -> None:
        tree = self._tree
        for piece in scene.pieces:
            tree.handles[piece.body].add_geom(name=f"/{piece.name}", **self._plain(piece.shape), **UNSEEN)
            self._names[f"/{piece.name}"] = (piece.body, model.body_names[piece.body])
        for solid in scene.solids:
            shape = solid.shape
            geom = self._height_field(model, solid.name, shape) if isinstance(shape, HeightField) else self._plain(solid)
            tree.spec.worldbody.add_geom(name=f"//{solid.name}", **geom, **UNSEEN)
            self._names[f"//{solid.name}"] = (None, solid.name)
            for body in sorted(scene.grounded):
                for piece in scene.pieces_of(body):
                    self._let_touch(f"/{piece.name}", f"//{solid.name}", solid.material, 1.0)
        for a, b, material in scene.meeting:
            for first in scene.pieces_of(a):
                for second in scene.pieces_of(b):
                    self._let_touch(f"/{first.name}", f"/{second.name}", material, 2.0)

    def _let_touch(self, first: str, second: str, material: Material, weight: float) -> None:
        """Allow contact between two geoms; `weight` is the sum of the MuJoCo weights of their bodies (see `load`)."""
        mu = friction_of(material)
        how = dict(friction=[mu, mu, 0.0, 0.0, 0.0], condim=3 if mu else 1)
        self._tree.spec.add_pair(geomname1=first, geomname2=second, **how)
        self._pairs.append((material, weight))

    def _plain(self, solid: Placed) -> dict[str, Any]:
        """Return the geom of a static shape."""
        if isinstance(solid.shape, Convex):
            name = f"hull {len(self._tree.spec.meshes)}"
            self._tree.spec.add_mesh(name=name, uservert=solid.shape.surface.vertices.ravel().tolist())
            geom: dict[str, Any] = dict(type=self._mj.mjtGeom.mjGEOM_MESH, meshname=name)
        else:
            kind, size = GEOMS[type(solid.shape)]
            geom = dict(type=getattr(self._mj.mjtGeom, f"mjGEOM_{kind}"), size=list(size(solid.shape)))
        return dict(**geom, pos=solid.origin.xyz, quat=quaternion_from_matrix(solid.origin.R))

    def _height_field(self, model: Model, name: str, field: HeightField) -> dict[str, Any]:
        """Create a height field of triangles with z up; y is reversed if world z is down."""
        rows, R, middle = height_rows(field, model.world.down[2])
        low, high = float(rows.min()), float(rows.max())
        span, base = max(high - low, 1e-6), 1.0
        half = [0.5 * (grid[-1] - grid[0]) for grid in (field.x, field.y)]
        self._tree.spec.add_hfield(
            name=f"//{name}",
            size=[*half, span, base],
            nrow=rows.shape[0],
            ncol=rows.shape[1],
            userdata=((rows - low) / span).ravel().tolist(),
        )
        place = dict(pos=middle - low * np.array(model.world.down), quat=quaternion_from_matrix(R))
        return dict(type=self._mj.mjtGeom.mjGEOM_HFIELD, hfieldname=f"//{name}", **place)

    def put(self, q: Array, v: Array) -> None:
        tree, d = self._tree, self._data
        self._B, self._bias = tree.rates(q), tree.rates_bias(q, v)
        d.qpos[tree.q_of] = q
        d.qvel[tree.v_of] = self._B @ v

    def state(self) -> tuple[Array, Array]:
        q = self._data.qpos[self._tree.q_of]
        return q, self._tree.rates(q).T @ self._data.qvel[self._tree.v_of]

    def apply(self, force: Array, inertia: Array | None = None) -> None:
        """Set force and added inertia: −M_A v̇ = −M_A Bᵀ (q̈ − Ḃ v)."""
        B = self._B
        self._inertia = None
        if inertia is not None:
            turned = B @ inertia @ B.T
            force = force + inertia @ (B.T @ self._bias)
            self._inertia = turned[np.ix_(self._order, self._order)][self._rows, self._columns]
        self._data.qfrc_applied[self._tree.v_of] = B @ force

    def _soften(self, h: float) -> None:
        """Give contacts the stiffness K and damping C of their materials for steps of length h [s].

        MuJoCo solves a + R f = −b v − k r, where r is the gap and a its acceleration. Spring and damper at the end of the step,
        f = −K (r + h v₁) − C v₁ with v₁ = v + h a, correspond to 1/R = h (K h + C), b = 1/h, k = K R. The friction model is
        convex: it separates surfaces that slide with v_t by μ h b_t v_t. Therefore b_t of friction is a tenth of b.

            R = weight (1 − d)/d,    k = −solref₀/d,    b = −solref₁/d,    impedance d
        """
        m, self._material_step = self._model, h
        for i, (material, weight) in enumerate(self._pairs):
            K, C = spring_of(material)
            R = 1.0 / (h * (K * h + C))
            d = float(np.clip(weight / (weight + R), LEAST, 1.0 - LEAST))
            m.pair_solref[i], m.pair_solreffriction[i], m.pair_solimp[i, :2] = (
                (-d * K * R, -d / h),
                (-d * K * R, -SLIDING * d / h),
                d,
            )

    def step(self, h: float) -> None:
        """Run the stages of a step, then `mj_Euler`."""
        m, d = self._model, self._data
        m.opt.timestep = h
        if h != self._material_step:
            self._soften(h)
        self._before = d.qvel.copy()
        for stage in self._stages[0]:
            stage(m, d)
        if self._inertia is not None:
            d.M[:] += self._inertia
        for stage in self._stages[1]:
            stage(m, d)
        self._h = h
        self._mj.mj_Euler(m, d)

    def acceleration(self) -> Array:
        """Return v̇ = Bᵀ (q̈ − Ḃ v) of the last step."""
        rate = (self._data.qvel - self._before)[self._tree.v_of] / self._h
        return self._B.T @ (rate - self._bias)

    def touches(self) -> list[Touch]:
        m, d, out = self._model, self._data, []
        for i in range(d.ncon):
            contact = d.contact[i]
            result = np.zeros(6)
            self._mj.mj_contactForce(m, d, i, result)
            if result[0] <= 0.0:
                continue
            force = np.array(contact.frame).reshape(3, 3).T @ result[:3]  # on the second
            (one, _), (two, name) = self._geoms[contact.geom1], self._geoms[contact.geom2]
            if one is None and two is not None:
                one, two, name, force = two, None, self._geoms[contact.geom1][1], -force
            if one is not None:
                out.append(Touch(one, two, name, np.array(contact.pos), -force, float(result[0])))
        return out

    def save(self) -> Any:
        """Return positions and velocities, the only data that persist between steps."""
        return self._data.qpos.copy(), self._data.qvel.copy()

    def restore(self, saved: Any) -> None:
        self._data.qpos[:], self._data.qvel[:] = saved


class MujocoTree:
    """MuJoCo specification of a mechanism without water, contacts or limits, with conversion of coordinates.

    A free joint consists of three slides and a ball; its linear velocities are in axes of the joint frame.
    """

    def __init__(self, mujoco: ModuleType, model: Model) -> None:
        self.mujoco, self.ours = mujoco, model
        self.spec = mujoco.MjSpec()
        self.spec.compiler.degree = False
        self.spec.compiler.autolimits = False
        self.handles: list[Any] = []
        """MuJoCo bodies, in the order of the model."""
        self.names: list[tuple[str, int, int]] = []
        """MuJoCo joints, in the order of the model: name, number of coordinates, number of degrees of freedom."""
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
        """Compile the MuJoCo model, and find the indices of HydroMechs coordinates in it."""
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
        """Add an elementary joint to a MuJoCo body, with axes R (3, 3) and position p (3,) [m] on the body."""
        kind = self.mujoco.mjtJoint
        for k, (type_, axis) in enumerate(JOINTS[type(part)](kind, part, R)):
            handle.add_joint(name=f"{name}/{k}", type=type_, axis=axis, pos=p)
            self.names.append((f"{name}/{k}", *((4, 3) if type_ == kind.mjJNT_BALL else (1, 1))))

    def rates(self, q: np.ndarray) -> np.ndarray:
        """Return the orthogonal matrix B with q̇_MuJoCo = B v, shape (nv, nv)."""
        B = np.eye(self.ours.nv)
        for q_at, k in self._free:
            B[k : k + 3, k : k + 3] = quaternion_matrix(q[q_at][3:])
        return B

    def rates_bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return Ḃ v, shape (nv,)."""
        out = np.zeros(self.ours.nv)
        for q_at, k in self._free:
            out[k : k + 3] = quaternion_matrix(q[q_at][3:]) @ cross(v[k + 3 : k + 6], v[k : k + 3])
        return out


def _give_inertia(handle: Any, inertia: Inertia) -> None:
    """Set mass and inertia in axes that differ from the body axes.

    If the principal axes equal the body axes at the origin, MuJoCo stores only the diagonal of the mass matrix, which excludes
    added mass. The axes of a diagonal tensor are therefore permuted: x, y, z along y, z, x of the body.
    """
    handle.mass, handle.ipos, handle.explicitinertial = inertia.mass, inertia.com, True
    xx, yy, zz, *products = inertia.tensor
    if any(products):
        handle.fullinertia = inertia.tensor
    else:
        handle.inertia, handle.iquat = (yy, zz, xx), (0.5, 0.5, 0.5, 0.5)
