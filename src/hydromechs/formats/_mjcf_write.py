"""Writer of a model as MJCF. The first comment of the file lists features that MJCF cannot store.

Body frames are unchanged. In HydroMechs the parts of a composite joint are in series, T_1 J_1 T_2 J_2... In MJCF all parts are
relative to the body frame at zero, T_1 T_2 ..., so that axes and anchors are transformed to this frame.
"""

import os
from collections.abc import Iterable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs.errors import UnsupportedFeature
from hydromechs.geometry import Box, Capsule, Cylinder, Ellipsoid, Mesh, Origin, Sphere
from hydromechs.model import Body, BodyShape, Coupling, Model, joints
from hydromechs.spatial import quaternion_from_matrix, quaternion_matrix, quaternion_product

from ._pose import IDENTITY, Pose
from ._xml import DEEPEST
from ._xml_write import RobotText, RobotWriter, Tag, file_text, lost_details, numbers, plain_origin

JOINTS: Mapping[type[joints.Joint], str] = {
    joints.Free: "free",
    joints.Fixed: "",
    joints.Revolute: "hinge",
    joints.Prismatic: "slide",
    joints.Ball: "ball",
}
"""Joint types in an MJCF; a fixed body has no joint."""
DECODED = (".stl", ".obj", ".msh")
"""Suffixes of meshes that MuJoCo can read."""
MUJOCO_DEEPEST = 499
"""Maximum nesting depth of a file in MuJoCo."""
LEAST = 1e-14
"""Minimum principal moment that MuJoCo accepts in `fullinertia` [kg·m²]."""
CLOSE = 1e-9
"""Relative margin between a moment and the sum of the other moments, required by rounding in MuJoCo."""


class MjcfWriter(RobotWriter):
    """Writer of one model as MJCF, with joints in `JOINTS`; free joints must be on the world."""

    loops = True

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.root = Tag("mujoco", {"model": model.name})
        self.meshes: dict[tuple[str, tuple[float, ...]], str] = {}

    def text(self, notes: Iterable[str]) -> RobotText:
        model, world = self.model, self.model.world
        self.root.add("compiler", angle="radian", inertiafromgeom="false", autolimits="true")
        self.root.add("option", gravity=numbers(world.gravity_vector))
        asset = self.root.add("asset")
        tags: dict[str | None, Tag] = {None: self.root.add("worldbody")}
        for body in model.bodies:
            tags[body.name] = self._body(tags[body.parent], body)
        for (file, scale), name in self.meshes.items():
            asset.add("mesh", name=name, file=file, scale=numbers(scale))
        if not self.meshes:
            self.root.children.remove(asset)
        if model.loops:
            self._equalities(tags)
        start = model.initial()
        order, depth = self._walk()
        if depth > MUJOCO_DEEPEST:
            raise UnsupportedFeature(
                f"the file would nest {depth} levels, one for each body of a chain; MuJoCo reads at most {MUJOCO_DEEPEST}; "
                "write the model as .yaml"
            )
        if depth > DEEPEST:
            self.lost.append(f"nesting: the file has {depth} levels, of which HydroMechs reads at most {DEEPEST}")
        if order != list(model.body_names):
            self.lost.append(
                "the order of bodies, and therefore of q and v (in the file, children follow their parent); the initial state"
            )
        elif model.nq:
            q, v = self._theirs(start.q, start.v)
            moving = {"qvel": numbers(v)} if v.any() else {}
            self.root.add("keyframe").add("key", name="start", qpos=numbers(q), **moving)
        self.lost += lost_details(model, shape_colors=True)
        if world.axes == "NED":
            self.lost.append("axes NED: gravity points along z of this file")
        self.lost.insert(0, f"water of {world.water_density:g} kg/m^3")
        return file_text(model, self.root, "an MJCF", self.lost, notes)

    def _equalities(self, tags: Mapping[str | None, Tag]) -> None:
        """Write loops as equalities, which are soft in MuJoCo: ball joints between sites, rigid joints, and couplings."""
        section = self.root.add("equality")
        for loop in self.model.loops:
            if isinstance(loop, Coupling):
                row = (*loop.coefficients, *(0.0,) * 5)
                if any(row[5:]):
                    self.lost.append(f"coupling {loop.name!r}: coefficients beyond the fourth power")
                section.add("joint", name=loop.name, joint1=loop.joint, joint2=loop.of, polycoef=numbers(row[:5]))
                continue
            kind = {(): "weld", ("rx", "ry", "rz"): "connect"}.get(loop.free)
            if kind is None:
                self.lost.append(f"loop {loop.name!r}: open in the file, because the loop is neither a ball joint nor rigid")
                continue
            for body in {loop.holder, loop.held} - set(self.model.frames):
                tags[body].add("site", name=body)
            section.add(kind, name=loop.name, site1=loop.holder, site2=loop.held)
        if not section.children:
            self.root.children.remove(section)

    def _walk(self) -> tuple[list[str], int]:
        """Return the names of bodies in file order, and the nesting depth of the file."""
        names, deepest, waiting = [], 0, [(1, self.root)]
        while waiting:
            level, tag = waiting.pop()
            deepest = max(deepest, level)
            names += [tag.attributes["name"]] if tag.name == "body" else []
            waiting += ((level + 1, child) for child in reversed(tag.children))
        return names, deepest

    def _theirs(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates in MuJoCo: free joints relative to the world, with linear velocity in world axes."""
        q, v = q.copy(), v.copy()
        for part in self.model.joint_parts.values():
            if isinstance(part.joint, joints.Free):
                q[part.q] = _in_world(part.joint, q[part.q])
                v[part.v][:3] = quaternion_matrix(q[part.q][3:]) @ v[part.v][:3]
        return q, v

    def _body(self, parent: Tag, body: Body) -> Tag:
        tag = parent.add("body", name=body.name)
        self._joint(tag, body)
        inertia = body.inertia
        if inertia.mass > 0.0:
            tag.add("inertial", pos=numbers(inertia.com), mass=repr(inertia.mass), **self._moments(body))
        elif body.joint.nv:
            self.lost.append(f"body {body.name!r}: zero mass, which MuJoCo rejects for a moving body")
        for shape in body.shapes:
            self._geom(tag, body, shape)
        for frame in body.frames:
            tag.add("site", name=frame.name, **_placed(_pose(frame.origin)))
        self.without_water(body)
        return tag

    def _moments(self, body: Body) -> dict[str, str]:
        """Return the attributes of the inertia of a body about the centre of mass, with moments that MuJoCo accepts.

        Principal moments are written if the conversion from the tensor in MuJoCo might exceed the bounds.
        """
        xx, yy, zz, xy, xz, yz = body.inertia.tensor
        w, axes = np.linalg.eigh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        if w[0] > 2.0 * LEAST and w[0] + w[1] - w[2] > CLOSE * w[2]:
            return {"fullinertia": numbers(body.inertia.tensor)}
        given = np.maximum(w, LEAST)
        given[2] = min(given[2], given[0] + given[1])
        if np.abs(given - w).max() > CLOSE * w[2]:
            moments = f"principal moments ({numbers(w)}) kg m^2, which MuJoCo rejects: replaced by ({numbers(given)})"
            self.lost.append(f"body {body.name!r}: {moments}")
        axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
        return {"quat": numbers(quaternion_from_matrix(axes)), "diaginertia": numbers(given)}

    def _joint(self, tag: Tag, body: Body) -> None:
        parts = body.joint.parts
        for part in parts:
            joints.foreign(JOINTS, part, f"body {body.name!r}", "an MJCF", "write the model as .yaml")
        if any(isinstance(part, joints.Free) for part in parts):
            self._free(tag, body)
            return
        places = [_pose(plain_origin(part.placement)) for part in parts]
        # from the frame of a part to that of the body, at zero
        *rests, whole = accumulate(reversed(places), lambda after, place: place @ after, initial=IDENTITY)
        tag.attributes |= _placed(whole)
        rows: list[tuple[Any, Pose]] = list(zip(parts, reversed(rests), strict=True))
        for k, (part, rest) in enumerate(rows):
            if isinstance(part, joints.Fixed):
                continue
            name = f"{body.name}.{k + 1}" if len(parts) > 1 else body.name
            anchor = -rest.R.T @ rest.p
            fields = {"name": name, "pos": numbers(anchor), "damping": repr(part.damping), "frictionloss": repr(part.friction)}
            if isinstance(part, joints.Ball):
                if not np.array_equal(rest.R, np.eye(3)):
                    raise UnsupportedFeature(f"body {body.name!r}: MJCF has no ball joint before a rotated part; write .yaml")
                fields |= {"type": "ball", "range": numbers((0.0, part.limit))} if part.limit else {"type": "ball"}
                fields |= {"stiffness": repr(part.stiffness[0])} if any(part.stiffness) else {}
                if len(set(part.stiffness)) > 1:
                    self.lost.append(
                        f"body {body.name!r}: stiffness {part.stiffness} of the ball joint; the first value is used"
                    )
            else:
                fields |= {"type": JOINTS[type(part)], "axis": numbers(rest.R.T @ part.unit_axis)}
                fields |= {"range": numbers(part.limits)} if part.limits else {}
            tag.add("joint", **fields)

    def _free(self, tag: Tag, body: Body) -> None:
        (part, *more) = body.joint.parts
        if more or body.parent is not None:
            raise UnsupportedFeature(f"body {body.name!r}: an MJCF supports free joints only on the world; write a .yaml file")
        assert isinstance(part, joints.Free)
        if plain_origin(part.placement) != Origin():
            self.lost.append(f"body {body.name!r}: the placement of the free joint; positions are relative to the world origin")
        start = _in_world(part, np.array(part.initial_q))
        tag.attributes |= {"pos": numbers(start[:3]), "quat": numbers(start[3:])}
        tag.add("freejoint", name=body.name)

    def _geom(self, tag: Tag, body: Body, thing: BodyShape) -> None:
        fields = _placed(_pose(thing.origin)) | ({} if thing.contact else {"contype": "0", "conaffinity": "0"})
        if thing.color is not None:
            fields["rgba"] = numbers((*thing.color, thing.opacity))
        what = f"body {body.name!r}: shape {thing.name!r}"
        match shape := thing.shape:
            case _ if thing.style == "propeller":
                self.lost.append(f"{what}, the appearance of a propeller")
                return
            case Mesh():
                file = str(Path(os.path.abspath(shape.folder)) / shape.file) if shape.folder else shape.file
                if Path(file).suffix.lower() not in DECODED:
                    self.lost.append(f"{what}, the mesh {file!r}; MuJoCo reads only {', '.join(DECODED)}")
                    return
                name = self.meshes.setdefault((file, shape.scale), f"mesh_{len(self.meshes) + 1}")
                fields |= {"type": "mesh", "mesh": name}
            case Box():
                fields |= {"type": "box", "size": numbers(0.5 * s for s in shape.size)}
            case Ellipsoid():
                fields |= {"type": "ellipsoid", "size": numbers(shape.axes)}
            case Cylinder() | Capsule():
                fields |= {"type": shape.word, "size": numbers((shape.radius, 0.5 * shape.length))}
            case Sphere():
                fields |= {"type": "sphere", "size": numbers((shape.radius,))}
            case _:
                self.lost.append(f"{what}, a {shape.word}")
                return
        tag.add("geom", **fields)


def _in_world(joint: joints.Free, q: np.ndarray) -> np.ndarray:
    """Return position and quaternion of a free joint relative to the world, shape (7,)."""
    frame = plain_origin(joint.placement)
    if frame == Origin():
        return q
    turn = quaternion_product(quaternion_from_matrix(frame.R), q[3:])
    return np.concatenate([np.array(frame.xyz) + frame.R @ q[:3], turn])


def _pose(origin: Origin) -> Pose:
    return Pose(np.array(origin.xyz), origin.R)


def _placed(pose: Pose) -> dict[str, str]:
    """Return the attributes of a pose; empty for the identity."""
    out = {"pos": numbers(pose.p)} if pose.p.any() else {}
    return out if np.array_equal(pose.R, np.eye(3)) else out | {"quat": numbers(quaternion_from_matrix(pose.R))}
