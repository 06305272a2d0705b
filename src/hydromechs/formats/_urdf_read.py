"""Reader of URDF. Each link becomes a body with the joint that carries it; the dynamics merge fixed bodies.

A URDF does not specify the motion of its root in the world. By default the root is free if it has mass, and fixed if it has no
mass or is named "world". The world of a URDF has z up.
"""

import math
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from hydromechs.actuation import drives
from hydromechs.geometry import Origin
from hydromechs.model import Body, Frame, Inertia, World, joints
from hydromechs.values import plain

from ._imported import Findings, Imported
from ._pose import IDENTITY
from ._robot_files import RobotFiles
from ._robot_parts import LOCKED, Link, ShapeReader, assembled, inertia_of, locked_joint, units_note, world_note
from ._sdf_frames import Frames, Scope
from ._sdf_water import HELD, Water, towards
from ._xml import Element

AnyJoint: TypeAlias = joints.Joint | joints.Composite

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical")
"""Joint types; the last type is an extension of PyBullet."""
NONE = 1e9
"""Magnitude above which a joint limit counts as unlimited [rad or m]."""
ZERO = (0.0, 0.0, 0.0)


def read_urdf(root: Element, findings: Findings, files: RobotFiles) -> Imported:
    """Return the robot of a URDF."""
    return _Urdf(root, findings, files).imported()


class _Urdf:
    def __init__(self, root: Element, findings: Findings, files: RobotFiles) -> None:
        self.root, self.findings, self.files = root, findings, files
        self.materials: dict[str, Element] = {}
        self.links: dict[str, Element] = {}
        self.joints: dict[str, Element] = {}
        self.carried_by: dict[str, str] = {}
        """Joint that carries each link, keyed by link."""
        self.parent: dict[str, str] = {}
        """Parent of each link, keyed by link; roots have no entry."""
        self.components: list[drives.Drive] = []
        self.water = Water(findings, Frames(findings), root.attributes.get("name", "").strip())

    def imported(self) -> Imported:
        """Return the import; raise `ModelError` if the file has errors."""
        f, root = self.findings, self.root
        f.unknown(root, ("link", "joint", "material", "gazebo"), "robot")
        f.unknown_attributes(root, ("name", "version"), "robot")
        for material in root.all("material"):
            self.materials.setdefault(material.attributes.get("name", ""), material)
        self.links = self._named("link")
        self.joints = self._named("joint")
        if not self.links and not f.faults:
            macros = f.source.lower().endswith(".xacro")
            remedy = "load the file that uses these macros" if macros else "add at least one link"
            f.fault(root, f"the robot has no <link>; {remedy}")
        for name, joint in self.joints.items():
            self._connect(name, joint)
        base = self._base()
        f.raise_faults()
        self._read_gazebo()
        f.raise_faults()
        links = [Link(self._body(name, element), element) for name, element in self.links.items() if name != "world"]
        f.raise_faults()
        links = self._on_the_world(links, base)
        at = {link: self.joints[joint] for link, joint in self.carried_by.items()}
        name = root.attributes.get("name", "").strip() or "robot"
        world = World(axes="ENU", **({"water_density": self.water.density} if self.water.present else {}))
        model = assembled(f, links, at=root, name=name, world=world, carriers=at, joint_names=self.carried_by)
        world_note(f, root, world, gravity=False, water=self.water.specified)
        units_note(f, model, root)
        moving = {b.name for b in model.bodies if b.joint.nv}
        components = (*self.water.thrusters(model), *(c for c in self.components if c.joint in moving))
        bodies = {joint: link for link, joint in self.carried_by.items() if link != "world"}
        return f.finish(model, format="URDF", components=components, joint_bodies=bodies)

    def _read_gazebo(self) -> None:
        """Read the plugins for water and thrusters in `<gazebo>`; ignore the rest of these elements with a note."""
        plugins = []
        for gazebo in self.root.all("gazebo"):
            reference = gazebo.attributes.get("reference", "").strip()
            own = gazebo.all("plugin")
            plugins += own
            if own:
                self.findings.unknown(gazebo, ("plugin",), f"gazebo of {reference!r}" if reference else "gazebo")
            else:
                self.findings.left_out(gazebo, "robot", f"<gazebo>{f' reference={reference!r}' if reference else ''}")
        model = Element("model", self.root.line, {}, plugins, file=self.root.file)
        scope = Scope(model, "", None, links=self.links, joints=self.joints)
        self.water.read(scope, [scope])

    def _named(self, tag: str) -> dict[str, Element]:
        """Return links or joints, keyed by name; missing and duplicate names are errors."""
        out: dict[str, Element] = {}
        for element in self.root.all(tag):
            name = element.attributes.get("name", "").strip()
            if not name:
                self.findings.fault(element, f"a <{tag}> has no name", remedy="give it one")
            elif name in out:
                first = out[name].line
                self.findings.fault(element, f"{tag} {name!r} appears twice, first in line {first}", name, "rename one of them")
            else:
                out[name] = element
        return out

    def _connect(self, name: str, joint: Element) -> None:
        ends = {}
        for tag in ("parent", "child"):
            end = joint.first(tag)
            link = "" if end is None else end.attributes.get("link", "").strip()
            if end is None or not link:
                self.findings.fault(joint, f"joint {name!r} has no <{tag} link=.../>", remedy="add it")
            elif link not in self.links:
                known = ", ".join(list(self.links)[:20])
                self.findings.fault(end, f"joint {name!r}: the {tag} link {link!r} does not exist; links are {known}", link)
            else:
                ends[tag] = link
        if len(ends) < 2:
            return
        child = ends["child"]
        if child in self.carried_by:
            other = self.carried_by[child]
            words = f"link {child!r} is the child of two joints, {other!r} (line {self.joints[other].line}) and {name!r}"
            remedy = "a URDF must be a tree; remove one joint, and close the loop with a constraint"
            self.findings.fault(joint, words, child, remedy)
            return
        self.carried_by[child], self.parent[child] = name, ends["parent"]

    def _base(self) -> str:
        """Return the root of the tree; several roots and loops are errors."""
        roots = [name for name in self.links if name not in self.parent]
        if len(roots) > 1 and not self.findings.faults:  # otherwise they follow from joints that connect nothing
            listed = ", ".join(f"{name!r} (line {self.links[name].line})" for name in roots[:10])
            more = ", ..." if len(roots) > 10 else ""
            remedy = "connect these roots with fixed joints to form one tree, or split the file"
            self.findings.fault(self.links[roots[1]], f"the robot has {len(roots)} roots: {listed}{more}", roots, remedy)
        reached: set[str] = set()
        for start in self.links:
            walk: dict[str, None] = {}
            at: str | None = start
            while at is not None and at not in reached and at not in walk:
                walk[at] = None
                at = self.parent.get(at)
            if at is not None and at in walk:
                names = list(walk)[list(walk).index(at) :]
                ring = " → ".join([*reversed(names), names[-1]])
                at_joint = self.joints[self.carried_by[at]]
                remedy = "a URDF must be a tree; remove one joint, and close the loop with a constraint"
                self.findings.fault(at_joint, f"the links {ring} form a loop", names, remedy)
            reached |= walk.keys()
        return roots[0] if roots else ""

    def _on_the_world(self, links: list[Link], base: str) -> list[Link]:
        """Return the links with the root connected to the world; a link named "world" represents the world."""
        f, options = self.findings, self.findings.options
        if base == "world":
            element = self.links["world"]
            for child in element.all("inertial", "visual", "collision"):
                f.left_out(child, "link 'world'", f"<{child.tag}>", "a model has no mass and no shapes fixed to the world")
            return links
        wanted = options.base
        if wanted == "auto":
            wanted = "free" if self._mass_with_fixed(links, base) > 0.0 else "fixed"
            why = "it has mass" if wanted == "free" else "the root has no mass"
            done = f"{wanted} in the world, because {why}; set base='free' or 'fixed' to override"
            f.note("assumed", self.links[base], f"link {base!r}", "the root; a URDF does not specify its motion", done)
        joint = joints.Free() if wanted == "free" else joints.Fixed()
        return [Link(replace(k.body, joint=joint), k.element) if k.body.name == base else k for k in links]

    def _mass_with_fixed(self, links: list[Link], base: str) -> float:
        """Return the mass of the root and of all links fixed to the root [kg]."""
        held, more = set[str](), {base}
        while more:
            held |= more
            more = {k.body.name for k in links if k.body.parent in held and isinstance(k.body.joint, joints.Fixed)} - held
        return sum(k.body.inertia.mass for k in links if k.body.name in held)

    def _body(self, name: str, link: Element) -> Body:
        f, owner = self.findings, f"link {name!r}"
        f.unknown(link, ("inertial", "visual", "collision"), owner)
        f.unknown_attributes(link, ("name",), owner)
        parent = self.parent.get(name)
        solids, looks = _UrdfShapes(self, owner).read(link)
        joint, frames = self._held(name, self._joint(name))
        return Body(
            name=name,
            parent=None if parent == "world" else parent,
            joint=joint,
            inertia=self._inertia(link, owner),
            hydro=self.water.hydro(name, link, solids, IDENTITY),
            frames=frames,
            shapes=(*solids, *looks),
        )

    def _held(self, link: str, joint: AnyJoint) -> tuple[AnyJoint, tuple[Frame, ...]]:
        """Return the joint and frames of a link. A propeller of a thruster is fixed, and carries the frame of the thruster."""
        name = self.carried_by.get(link, "")
        frame = self.water.propellers.get(name)
        if frame is None:
            return joint, ()
        element = self.joints[name]
        axis = np.array(self._axis(element, f"joint {name!r}"))
        self.findings.left_out(element, f"joint {name!r}", "rotation of the propeller", HELD)
        placed = joints.Fixed(placement=joint.parts[0].placement)
        return placed, (Frame(frame, Origin(rpy=towards(axis / np.linalg.norm(axis)))),)

    def _inertia(self, link: Element, owner: str) -> Inertia:
        f = self.findings
        inertial = link.first("inertial")
        for other in link.all("inertial")[1:]:
            f.left_out(other, owner, "a second <inertial>", "the first is used")
        if inertial is None:
            return Inertia(mass=0.0)
        f.unknown(inertial, ("origin", "mass", "inertia"), owner)
        origin = self.origin(inertial, f"{owner}: inertial")
        mass, tensor = inertial.first("mass"), inertial.first("inertia")
        m = 0.0
        row: Any = (0.0,) * 6
        if mass is None:
            f.fault(inertial, f"{owner}: the <inertial> has no <mass value=.../>", remedy="add it")
        else:
            m = f.number(mass.attributes.get("value", ""), mass, f"{owner}: mass", 0.0)
        if tensor is None:
            f.note("repaired", inertial, owner, "no <inertia>", "set to 0: a point mass")
        else:
            keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
            row = tuple(f.number(tensor.attributes.get(k, "0"), tensor, f"{owner}: inertia {k}", 0.0) for k in keys)
            missing = [k for k in keys[:3] if k not in tensor.attributes]
            if missing:
                f.note("repaired", tensor, owner, f"no {', '.join(missing)} in <inertia>", "assumed to be 0")
        return inertia_of(f, inertial, owner, m, origin.xyz, row, origin.rpy)

    def origin(self, parent: Element, label: str) -> Origin:
        """Return the `<origin>` of an element."""
        origin = parent.first("origin")
        if origin is None:
            return Origin()
        f = self.findings
        f.unknown_attributes(origin, ("xyz", "rpy"), label)
        xyz = f.numbers(origin.attributes.get("xyz"), 3, origin, f"{label}: origin xyz [m]", ZERO)
        rpy = f.numbers(origin.attributes.get("rpy"), 3, origin, f"{label}: origin rpy [rad]", ZERO)
        return Origin(xyz, rpy)  # type: ignore[arg-type]

    def _joint(self, link: str) -> joints.Joint | joints.Composite:
        if link not in self.carried_by:
            return joints.Fixed()
        name = self.carried_by[link]
        joint, f, owner = self.joints[name], self.findings, f"joint {name!r}"
        f.unknown(joint, ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic"), owner)
        f.unknown_attributes(joint, ("name", "type"), owner)
        kind = joint.attributes.get("type", "").strip()
        if kind not in JOINT_TYPES:
            f.fault(joint, f"{owner}: type is {kind!r}, must be one of {', '.join(JOINT_TYPES)}", kind)
            return joints.Fixed()
        placement = self.origin(joint, owner)
        mimic = joint.first("mimic")
        if mimic is not None:
            says = ", ".join(f"{k} {v!r}" for k, v in mimic.attributes.items())
            f.left_out(mimic, owner, f"mimic: {says}", "the joint moves independently")
        if kind in ("fixed", "floating"):
            for tag in ("limit", "dynamics") if kind == "floating" else ():
                for child in joint.all(tag):
                    f.left_out(child, owner, f"<{tag}> of a floating joint")
            return joints.Fixed(placement=placement) if kind == "fixed" else joints.Free(placement=placement)
        damping, friction = self._friction(joint, owner)
        if kind == "spherical":
            for limit in joint.all("limit"):
                f.left_out(limit, owner, "<limit> of a spherical joint")
            return joints.Ball(placement=placement, damping=damping, friction=friction)
        axis = self._axis(joint, owner)
        if kind == "planar":
            return self._planar(joint, owner, placement, axis, damping, friction)
        limits, position = self._limits(joint, owner, link, kind)
        if limits is not None and limits[0] == limits[1]:
            return locked_joint(placement, axis, **{"slide" if kind == "prismatic" else "angle": position})
        one = joints.Prismatic if kind == "prismatic" else joints.Revolute
        return one(
            placement=placement,
            axis=axis,  # type: ignore[arg-type]
            limits=limits,
            damping=damping,
            friction=friction,
            position=position,
        )

    def _axis(self, joint: Element, owner: str) -> tuple[float, ...]:
        element = joint.first("axis")
        if element is None:
            return (1.0, 0.0, 0.0)
        axis = self.findings.numbers(element.attributes.get("xyz"), 3, element, f"{owner}: axis xyz", (1.0, 0.0, 0.0))
        if not any(axis):
            self.findings.fault(element, f"{owner}: the axis is {plain(axis)}, must not be zero", axis, "give its direction")
            return (1.0, 0.0, 0.0)
        return axis

    def _friction(self, joint: Element, owner: str) -> tuple[float, float]:
        """Return damping and friction from `<dynamics>`."""
        dynamics, f = joint.first("dynamics"), self.findings
        if dynamics is None:
            return 0.0, 0.0
        f.unknown_attributes(dynamics, ("damping", "friction"), owner)
        out = []
        for key in ("damping", "friction"):
            value = f.number(dynamics.attributes.get(key), dynamics, f"{owner}: {key}", 0.0)
            if value < 0.0:
                f.note("repaired", dynamics, owner, f"{key} {plain(value)}", "set to 0, because it would add energy")
            out.append(max(value, 0.0))
        return out[0], out[1]

    def _limits(self, joint: Element, owner: str, link: str, kind: str) -> tuple[tuple[float, float] | None, float]:
        """Return limits (equal for a locked joint) and initial position of a joint with one axis.

        An effort limit becomes a drive.
        """
        limit, f = joint.first("limit"), self.findings
        if limit is None:
            if kind != "continuous":
                f.note("assumed", joint, owner, f"a {kind} joint without <limit>", "the joint has no stops")
            return None, 0.0
        f.unknown_attributes(limit, ("lower", "upper", "effort", "velocity"), owner)
        lower, upper, effort, velocity = (
            f.number(limit.attributes.get(key), limit, f"{owner}: limit {key}", 0.0)
            for key in ("lower", "upper", "effort", "velocity")
        )
        fast = abs(velocity) if 0.0 < abs(velocity) < NONE else math.inf
        if 0.0 < effort < NONE:
            self.components.append(drives.Torque(joint=link, limit=effort, speed=fast))
        elif effort >= NONE:
            self.components.append(drives.Torque(joint=link))
        elif "effort" in limit.attributes:
            f.left_out(limit, owner, f"effort limit {plain(effort)}", "the joint has no drive")
        if math.isfinite(fast) and not 0.0 < effort < NONE:
            unit = "m/s" if kind == "prismatic" else "rad/s"
            done = "the drive has no effort limit to reduce at this speed" if effort > 0.0 else "the joint has no drive"
            f.left_out(limit, owner, f"velocity limit {plain(velocity)} {unit}", done)
        given = "lower" in limit.attributes or "upper" in limit.attributes
        if kind == "continuous":
            if given and (lower or upper):
                f.left_out(limit, owner, f"limits {plain((lower, upper))} of a continuous joint", "the joint has no stops")
            return None, 0.0
        if lower <= -NONE and upper >= NONE:
            return None, 0.0
        if given and lower == upper:
            f.note("repaired", limit, owner, f"lower {plain(lower)}, upper {plain(upper)}", LOCKED)
            return (lower, upper), lower
        if not lower < upper:
            done = "the joint has no stops"
            f.note("repaired" if given else "assumed", limit, owner, f"lower {plain(lower)}, upper {plain(upper)}", done)
            return None, 0.0
        position = min(max(0.0, lower), upper)
        if position:
            what = f"limits {plain((lower, upper))}, without 0 between them"
            f.note("assumed", limit, owner, what, f"the joint starts at {plain(position)}")
        return (lower, upper), position

    def _planar(
        self, joint: Element, owner: str, placement: Origin, axis: tuple[float, ...], damping: float, friction: float
    ) -> joints.Composite:
        """Return two translations perpendicular to an axis, and a rotation about the axis."""
        for limit in joint.all("limit"):
            self.findings.left_out(limit, owner, "<limit> of a planar joint")
        n = np.array(axis) / np.linalg.norm(axis)
        k = int(np.argmax(np.abs(n)))
        e = np.eye(3)[(k + 1) % 3]
        e = e - (e @ n) * n
        e /= np.linalg.norm(e)
        across = [tuple(map(float, e)), tuple(map(float, np.cross(n, e)))]
        rest: dict[str, Any] = {"damping": damping, "friction": friction}
        return joints.Composite(
            parts=(
                joints.Prismatic(placement=placement, axis=across[0], **rest),  # type: ignore[arg-type]
                joints.Prismatic(axis=across[1], **rest),  # type: ignore[arg-type]
                joints.Revolute(axis=axis, **rest),  # type: ignore[arg-type]
            )
        )


class _UrdfShapes(ShapeReader):
    visual = ("origin", "geometry", "material")
    collision = ("origin", "geometry")

    def __init__(self, reader: _Urdf, owner: str) -> None:
        super().__init__(reader.findings, reader.files, owner)
        self.reader = reader

    def place(self, element: Element) -> Origin:
        return self.reader.origin(element, f"{self.owner}: {element.tag}")

    def size(self, shape: Element, key: str) -> tuple[str, Element]:
        return shape.attributes.get(key, ""), shape

    def mesh(self, shape: Element) -> tuple[str, str | None]:
        scale = shape.attributes.get("scale")
        if scale is not None and len(scale.split()) == 1:  # some files give one scale for all axes
            scale = f"{scale} {scale} {scale}"
        return shape.attributes.get("filename", ""), scale

    def look(self, element: Element) -> dict[str, Any]:
        """Return colour and opacity; a material with only a name refers to a material of the robot."""
        material, f = element.first("material"), self.findings
        if material is None:
            return {}
        if not material.children and material.attributes.get("name", "") in self.reader.materials:
            material = self.reader.materials[material.attributes["name"]]
        color = material.first("color")
        for texture in material.all("texture"):
            f.left_out(
                texture,
                self.owner,
                f"texture {texture.attributes.get('filename', '')!r}",
                "textures are not supported; the material's style or colour is used",
            )
        if color is None:
            return {}
        r, g, b, a = f.numbers(color.attributes.get("rgba"), 4, color, f"{self.owner}: colour rgba", (0.5, 0.5, 0.5, 1.0))
        if not all(0.0 <= x <= 1.0 for x in (r, g, b, a)):
            f.note("repaired", color, self.owner, f"rgba {plain((r, g, b, a))}", "clipped to 0 to 1")
            r, g, b, a = (min(max(x, 0.0), 1.0) for x in (r, g, b, a))
        return {"color": (r, g, b), "opacity": a}
