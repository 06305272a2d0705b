"""Writer of a model as SDF. The first comment of the file lists features that SDF cannot store.

Added mass is written as `<fluid_added_mass>`, damping in Fossen's form as the hydrodynamics plugin of
Gazebo. The volume is not written, because Gazebo computes it from the collision shapes.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hydromechs.errors import UnsupportedFeature
from hydromechs.geometry import Convex, Ellipsoid, Mesh, Origin, Placed
from hydromechs.model import Body, BodyShape, Hydro, Model, drag, element_word, joints, total_added_mass
from hydromechs.spatial import quaternion_matrix

from ._pose import Pose
from ._xml_write import NED_IN_ENU, RobotText, RobotWriter, Tag, file_text, lost_details, numbers, origin_after, plain_origin

AXES = "xyzpqr"
JOINTS: Mapping[type[joints.Joint], str] = {
    joints.Free: "",
    joints.Fixed: "fixed",
    joints.Revolute: "revolute",
    joints.Prismatic: "prismatic",
    joints.Helical: "screw",
    joints.Ball: "ball",
}
"""Joint types in an SDF; a free body has no joint."""


class SdfWriter(RobotWriter):
    """Writer of one model as SDF. Composite joints must be two rotations about one point; custom joints are not supported."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.plugins: list[Tag] = []
        self.taken: set[str] = {"world"}
        self.names = {name: self._new_name(name) for name in (*model.body_names, *model.frames)}
        """Names of links and frames in the file."""
        self.tag = Tag("model", {"name": _plain_name(model.name)})

    def text(self, notes: Iterable[str]) -> RobotText:
        model = self.model
        for body in model.bodies:
            self._link(body)
        for body in model.bodies:
            self._joint(body)
        for body in model.bodies:
            for frame in body.frames:
                tag = self.tag.add("frame", name=self.names[frame.name], attached_to=self.names[body.name])
                tag.add("pose", numbers((*frame.origin.xyz, *frame.origin.rpy)))
        self.tag.children += self.plugins
        self.lost += lost_details(model, shape_colors=False)
        root = Tag("sdf", {"version": "1.9"}, [self.tag])
        world = (
            f"gravity {model.world.gravity:g} m/s^2, water of {model.world.water_density:g} kg/m^3: properties of an SDF world"
        )
        return file_text(model, root, "an SDF", [world, *self.lost], notes)

    def _new_name(self, name: str) -> str:
        """Return an unused name; links, joints and frames must have different names."""
        plain = _plain_name(name)
        if plain != name:
            self.lost.append(f"the name {name!r}, which names another model in an SDF or is reserved; replaced by {plain!r}")
        while plain in self.taken:
            plain += "_"
        self.taken.add(plain)
        return plain

    def _link(self, body: Body) -> None:
        link = self.tag.add("link", name=self.names[body.name])
        first = body.joint.parts[0]
        at = plain_origin(first.placement)
        if isinstance(first, joints.Free):
            x = np.array(first.orientation)
            at = origin_after(at, Pose(np.array(first.position), quaternion_matrix(x / np.linalg.norm(x))).origin)
        relative: dict[str, str] = {"relative_to": self.names[body.parent]} if body.parent else {}
        if body.parent is None and self.model.world.axes == "NED":
            at = origin_after(NED_IN_ENU, at)
        link.add("pose", numbers((*at.xyz, *at.rpy)), **relative)
        if not body.inertia.mass:
            free = "; its free root, unless it is read with base='free'" if isinstance(first, joints.Free) else ""
            self.lost.append(f"body {body.name!r} has no mass, which Gazebo rejects{free}")
        inertial = link.add("inertial")
        inertial.add("pose", numbers((*body.inertia.com, 0.0, 0.0, 0.0)))
        inertial.add("mass", numbers([body.inertia.mass]))
        tensor = inertial.add("inertia")
        for key, moment in zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), body.inertia.tensor, strict=True):
            tensor.add(key, numbers([moment]))
        self._water(body, inertial)
        for k, shape in enumerate(shape for shape in body.shapes if shape.appearance):
            self._visual(link, body, shape, k)
        for k, shape in enumerate(shape for shape in body.shapes if shape.contact):
            if isinstance(shape.shape, Convex) or not shape.shape.bounded:
                self.lost.append(f"body {body.name!r}: contact of the {shape.shape.word}")
                continue
            tag = link.add("collision", name=f"collision_{k + 1}")
            tag.add("pose", numbers((*shape.origin.xyz, *shape.origin.rpy)))
            tag.add("geometry").children.append(_geometry(shape))
        if any(shape.wetting and not shape.contact for shape in body.shapes):
            self.lost.append(f"body {body.name!r}: a shape without the role 'contact'")

    def _water(self, body: Body, inertial: Tag) -> None:
        h = body.hydro
        if not isinstance(h, Hydro):
            self.without_water(body)
            return
        A = total_added_mass(h.added_mass, self.model.world.water_density)
        if A.any():
            tag = inertial.add("fluid_added_mass")
            for i in range(6):
                for j in range(i, 6):
                    tag.add(AXES[i] + AXES[j], numbers([A[i, j]]))
        if h.volume:
            self.lost.append(f"body {body.name!r}: volume {h.volume:g} m^3 with centre {h.buoyancy_center}")
        for element in h.drag:
            if isinstance(element, drag.Damping) and element.origin == Origin():
                self.plugins.append(_damping(self.names[body.name], element))
            else:
                kind, word = type(element).__name__.lower(), element_word(element)
                self.lost.append(f"body {body.name!r}: drag element {kind}" + (f" of the {word}" if word != kind else ""))

    def _visual(self, link: Tag, body: Body, look: BodyShape, k: int) -> None:
        if look.style == "propeller" or isinstance(look.shape, Convex) or not look.shape.bounded:
            what = "propeller" if look.style == "propeller" else look.shape.word
            self.lost.append(f"body {body.name!r}: the appearance of a {what}")
            return
        tag = link.add("visual", name=f"visual_{k + 1}")
        tag.add("pose", numbers((*look.origin.xyz, *look.origin.rpy)))
        tag.add("geometry").children.append(_geometry(look))
        if look.color is not None:
            tag.add("material").add("diffuse", numbers((*look.color, 1.0)))
        if look.opacity != 1.0:
            tag.add("transparency", numbers([1.0 - look.opacity]))

    def _joint(self, body: Body) -> None:
        parts = body.joint.parts
        part: Any = parts[0]
        if isinstance(part, joints.Free) and body.parent is None and len(parts) == 1:
            if any(part.velocity):
                self.lost.append(f"body {body.name!r}: initial joint velocity {part.velocity}")
            return
        kind = joints.foreign(JOINTS, part, f"body {body.name!r}", "an SDF", "write the model as .yaml")
        if len(parts) == 2 and all(isinstance(p, joints.Revolute) for p in parts) and parts[1].placement == Origin():
            kind = "universal"
        elif len(parts) > 1 or not kind:
            names = ", ".join(p.kind for p in parts)
            raise UnsupportedFeature(
                f"body {body.name!r}: an SDF has no joint with the parts {names}; write the model as .yaml"
            )
        joint = self.tag.add("joint", name=self._new_name(f"{self.names[body.name]}_joint"), type_=kind)
        joint.add("parent", self.names[body.parent] if body.parent else "world")
        joint.add("child", self.names[body.name])
        if kind == "screw":
            joint.add("screw_thread_pitch", numbers([part.pitch]))
        if any(p.initial_q != p.neutral_q or any(p.initial_v) for p in parts):
            self.lost.append(f"body {body.name!r}: the initial position of the joint")
        if isinstance(part, joints.Ball) and (part.damping or part.friction or any(part.stiffness) or part.limit is not None):
            self.lost.append(f"body {body.name!r}: friction, stiffness and limit of the ball joint")
        for k, p in enumerate(parts):
            if isinstance(p, joints.OneAxis):
                axis = joint.add("axis" if k == 0 else "axis2")
                axis.add("xyz", numbers(p.axis))
                if p.limits is not None:
                    limit = axis.add("limit")
                    limit.add("lower", numbers([p.limits[0]]))
                    limit.add("upper", numbers([p.limits[1]]))
                if p.damping or p.friction:
                    dynamics = axis.add("dynamics")
                    dynamics.add("damping", numbers([p.damping]))
                    dynamics.add("friction", numbers([p.friction]))


def _plain_name(name: str) -> str:
    """Return a name without parts that SDF reserves or interprets as a nested model."""
    name = name.replace("::", ".")
    return f"{name}_" if name == "world" or (name.startswith("__") and name.endswith("__")) else name


def _damping(link: str, element: drag.Damping) -> Tag:
    """Write the hydrodynamics plugin of Gazebo, whose coefficients have Fossen's signs."""
    plugin = Tag("plugin", {"filename": "gz-sim-hydrodynamics-system", "name": "gz::sim::systems::Hydrodynamics"})
    plugin.add("link_name", link)
    plugin.add("disable_added_mass", "true")
    forces, speeds = "xyzkmn", "UVWPQR"
    for given, suffix in ((element.linear, ""), (element.quadratic, "abs")):
        M = np.array(given)
        M = np.diag(M) if M.ndim == 1 else M
        for i, j in zip(*np.nonzero(M), strict=True):
            plugin.add(forces[i] + speeds[j] + (suffix + speeds[j] if suffix else ""), numbers([-M[i, j]]))
    for name, c in element.coupled:
        force, first, second = name.split("|")
        plugin.add(f"{force.lower()}{second.upper()}abs{first.upper()}", numbers([-c]))
    return plugin


def _geometry(thing: Placed) -> Tag:
    shape = thing.shape
    tag = Tag(shape.word)
    if isinstance(shape, Mesh):
        tag.add("uri", shape.file)
        tag.add("scale", numbers(shape.scale))
    elif isinstance(shape, Ellipsoid):
        tag.add("radii", numbers(shape.axes))
    else:
        for key in ("size", "radius", "length"):
            value = getattr(shape, key, None)
            if value is not None:
                tag.add(key, numbers(value if isinstance(value, tuple) else [value]))
    return tag
