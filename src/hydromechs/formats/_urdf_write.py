"""Writer of a model as URDF. The first comment of the file lists features that URDF cannot store.

A joint with several coordinates becomes a series of joints with massless links between them. The world is a separate link
unless the model has one free root and z up; the world of a URDF has z up.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from hydromechs.geometry import Box, Capsule, Cylinder, Mesh, Origin, Placed, Sphere
from hydromechs.model import Body, BodyShape, Model, joints

from ._xml_write import NED_IN_ENU, RobotText, RobotWriter, Tag, file_text, lost_details, numbers, plain_origin

NONE = 1e9
"""Limit that represents an unlimited quantity."""
JOINTS: Mapping[type[joints.Joint], str] = {
    joints.Free: "floating",
    joints.Fixed: "fixed",
    joints.Revolute: "revolute",
    joints.Prismatic: "prismatic",
    joints.Ball: "revolute",
}
"""Joint types in a URDF; a ball joint becomes three joints."""
YAML = "write the model as .yaml"


class UrdfWriter(RobotWriter):
    """Writer of one model as URDF."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.robot = Tag("robot", {"name": model.name})
        self.names = {*model.body_names, *model.frames, "world"}

    def text(self, notes: Iterable[str]) -> RobotText:
        model = self.model
        roots = [body for body in model.bodies if body.parent is None]
        plain = (
            len(roots) == 1
            and isinstance(roots[0].joint, joints.Free)
            and plain_origin(roots[0].joint.placement) == Origin()
            and model.world.axes == "ENU"
            and roots[0].inertia.mass > 0.0  # a massless root would be read as fixed
        )
        base = "world"
        if not plain:
            self.robot.add("link", name="world")
            if model.world.axes == "NED":
                base = self._free_name("world_ned")
                self.robot.add("link", name=base)
                self._joint_tag(base, "world", base, "fixed", NED_IN_ENU)
        for body in model.bodies:
            self._link(body)
            if not (plain and body.parent is None):
                self._joint(body, body.parent or base)
            else:
                self._start(body, body.joint)
            for frame in body.frames:
                self.robot.add("link", name=frame.name)
                self._joint_tag(f"{frame.name}_joint", body.name, frame.name, "fixed", frame.origin)
        if model.frames:
            self.lost.append("frames are massless links")
        self.lost += lost_details(model, shape_colors=False)
        gravity = f"gravity {model.world.gravity:g} m/s^2, water of {model.world.water_density:g} kg/m^3"
        first = f"{gravity}, effort and velocity limits of joints ({NONE:g} if unlimited)"
        return file_text(model, self.robot, "a URDF", [first, *self.lost], notes)

    def _free_name(self, name: str) -> str:
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name

    def _joint_tag(self, name: str, parent: str, child: str, kind: str, origin: Origin) -> Tag:
        joint = self.robot.add("joint", name=name, type_=kind)
        _origin(joint, origin)
        joint.add("parent", link=parent)
        joint.add("child", link=child)
        return joint

    def _joint(self, body: Body, parent: str) -> None:
        """Write the joint of a body; several parts become a series of joints."""
        parts = [piece for part in body.joint.parts for piece in self._pieces(body, part)]
        for k, part in enumerate(parts):
            last = k == len(parts) - 1
            child = body.name if last else self._free_name(f"{body.name}_{k + 1}")
            if not last:
                self.robot.add("link", name=child)
            self._part(body, part, f"{child}_joint", parent, child)
            parent = child

    def _pieces(self, body: Body, part: Any) -> list:
        joints.foreign(JOINTS, part, f"body {body.name!r}", "a URDF", YAML)
        if not isinstance(part, joints.Ball):
            return [part]
        self.lost.append(f"body {body.name!r}: the ball joint becomes three revolute joints about z, y and x")
        if any(part.stiffness) or part.limit is not None:
            self.lost.append(f"body {body.name!r}: stiffness {part.stiffness} and limit {part.limit} of the ball joint")
        axes = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
        return [
            joints.Revolute(
                placement=part.placement if k == 0 else Origin(), axis=axis, damping=part.damping, friction=part.friction
            )
            for k, axis in enumerate(axes)
        ]

    def _start(self, body: Body, part: Any) -> None:
        if part.initial_q != part.neutral_q or any(part.initial_v):
            self.lost.append(f"body {body.name!r}: the joint starts at {part.initial_q} with velocity {part.initial_v}")

    def _part(self, body: Body, part: Any, name: str, parent: str, child: str) -> None:
        origin = plain_origin(part.placement)
        self._start(body, part)
        kind = JOINTS[type(part)]
        slides = kind == "prismatic"
        if kind == "revolute" and part.limits is None:
            kind = "continuous"
        joint = self._joint_tag(name, parent, child, kind, origin)
        if not isinstance(part, joints.OneAxis):
            return
        joint.add("axis", xyz=numbers(part.axis))
        if part.limits is not None or slides:
            lower, upper = part.limits or (-NONE, NONE)
            joint.add("limit", lower=numbers([lower]), upper=numbers([upper]), effort=numbers([NONE]), velocity=numbers([NONE]))
        if part.damping or part.friction:
            joint.add("dynamics", damping=numbers([part.damping]), friction=numbers([part.friction]))

    def _link(self, body: Body) -> None:
        link = self.robot.add("link", name=body.name)
        if body.inertia.mass:
            inertial = link.add("inertial")
            _origin(inertial, Origin(body.inertia.com))
            inertial.add("mass", value=numbers([body.inertia.mass]))
            row = zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), body.inertia.tensor, strict=True)
            inertial.add("inertia", **{key: numbers([x]) for key, x in row})
        for shape in body.shapes:
            if shape.appearance:
                self._visual(link, body, shape)
        for shape in body.shapes:
            if shape.contact:
                self._collision(link, body, shape)
            elif shape.wetting:
                self.lost.append(f"body {body.name!r}: a {shape.shape.word} without the role 'contact'")
        self.without_water(body)

    def _visual(self, link: Tag, body: Body, look: BodyShape) -> None:
        if look.style == "propeller" or not isinstance(look.shape, Mesh | Box | Sphere | Cylinder | Capsule):
            what = "propeller" if look.style == "propeller" else look.shape.word
            self.lost.append(f"body {body.name!r}: the appearance of the {what}")
            return
        for tag in _placed(link, "visual", look):
            if look.color is not None:
                tag.add("material", name="").add("color", rgba=numbers((*look.color, look.opacity)))

    def _collision(self, link: Tag, body: Body, shape: BodyShape) -> None:
        if not isinstance(shape.shape, Mesh | Box | Sphere | Cylinder | Capsule):
            self.lost.append(f"body {body.name!r}: contact of the {shape.shape.word}")
        else:
            _placed(link, "collision", shape)


def _origin(tag: Tag, origin: Origin) -> None:
    if origin != Origin():
        tag.add("origin", xyz=numbers(origin.xyz), rpy=numbers(origin.rpy))


def _placed(link: Tag, name: str, thing: Placed) -> list[Tag]:
    """Write the elements of a link for a shape."""
    out = []
    for origin, geometry in _geometry(thing):
        out.append(link.add(name))
        _origin(out[-1], origin)
        out[-1].add("geometry").children.append(geometry)
    return out


def _geometry(thing: Placed) -> list[tuple[Origin, Tag]]:
    """Return the poses and elements of a shape; a capsule becomes a cylinder and two spheres."""
    match shape := thing.shape:
        case Mesh():
            return [(thing.origin, Tag("mesh", {"filename": shape.file, "scale": numbers(shape.scale)}))]
        case Box():
            return [(thing.origin, Tag("box", {"size": numbers(shape.size)}))]
        case Sphere():
            return [(thing.origin, Tag("sphere", {"radius": numbers([shape.radius])}))]
    assert isinstance(shape, Cylinder | Capsule)  # others are reported as lost
    tube = (thing.origin, Tag("cylinder", {"radius": numbers([shape.radius]), "length": numbers([shape.length])}))
    if isinstance(shape, Cylinder):
        return [tube]
    ball = Tag("sphere", {"radius": numbers([shape.radius])})
    p, z = thing.origin.xyz, thing.origin.R[:, 2] * shape.length / 2.0
    ends = [Origin((p[0] + s * z[0], p[1] + s * z[1], p[2] + s * z[2]), thing.origin.rpy) for s in (1.0, -1.0)]
    return [tube, (ends[0], ball), (ends[1], ball)]
