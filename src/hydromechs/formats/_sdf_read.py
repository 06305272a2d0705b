"""Reader of SDF: worlds, nested models, frames, joints, `<fluid_added_mass>`, and plugins of Gazebo for water.

Each link becomes a body with the axes and origin of the link. If the joint axis does not pass through this origin, the body
origin is on the axis, with a note. The frame "NAME_origin" is then at the link origin.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from hydromechs.actuation import JointSpring, drives
from hydromechs.model import Body, Direction, Frame, Inertia, Loop, Origin, World, joints
from hydromechs.model.component import Component
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix, rpy_from_matrix
from hydromechs.values import plain

from ._imported import Findings, Imported
from ._pose import IDENTITY, Pose
from ._robot_files import Missing, RobotFiles
from ._robot_parts import LOCKED, Link, assembled, inertia_of, locked_joint, units_note, world_note
from ._sdf_frames import Frames, Scope, merged, pose_of, scope_of
from ._sdf_shapes import SdfShapes
from ._sdf_water import HELD, Water, towards
from ._xml import Element, is_true, parse_xml, read_bytes

TYPES = ("revolute", "continuous", "prismatic", "fixed", "ball", "universal", "revolute2", "screw", "gearbox")
NONE = 1e9
"""Magnitude above which a joint limit counts as unlimited [rad or m]."""
JOINTS: dict[str, type[joints.OneAxis]] = {
    "revolute": joints.Revolute,
    "continuous": joints.Revolute,
    "prismatic": joints.Prismatic,
    "screw": joints.Helical,
}
"""Joints with one axis, keyed by type in the file."""
CLOSING: dict[str, tuple[Direction, ...]] = {
    "fixed": (),
    "revolute": ("rx",),
    "continuous": ("rx",),
    "prismatic": ("x",),
    "ball": ("rx", "ry", "rz"),
    "universal": ("rx", "ry"),
    "revolute2": ("rx", "ry"),
}
"""Free directions of joints that close a loop, in a frame whose x axis is the first joint axis and y axis the second."""
GROUND = "ground"
"""Name of the body in the world to which loops are attached."""
INCLUDES = 8
"""Maximum nesting of included files."""


@dataclass(slots=True, eq=False)
class Edge:
    """Joint of the file: the link `parent`, or "world", carries the link `child`; all names are full names.

    The joint frame and axes, shape (3,) each, are in the world. The sense is −1 if parent and child are swapped.
    """

    scope: Scope
    name: str
    element: Element
    kind: str
    parent: str
    child: str
    frame: Pose
    axes: list[np.ndarray] = field(default_factory=list)
    sense: float = 1.0


def read_sdf(root: Element, findings: Findings, files: RobotFiles) -> Imported:
    """Return the robots of an SDF."""
    return _Sdf(root, findings, files).imported()


class _Sdf:
    def __init__(self, root: Element, findings: Findings, files: RobotFiles) -> None:
        self.root, self.findings, self.files = root, findings, files
        self.frames = Frames(findings)
        self.links: dict[str, tuple[Scope, Element]] = {}
        self.scopes: list[Scope] = []
        self.carried: dict[str, Edge] = {}
        """Joint that carries each link, keyed by link."""
        self.closing: list[Edge] = []
        """Joints that close loops."""
        self.loop_frames: dict[str, list[Frame]] = {}
        """End frames of loops on each body."""
        self.origin: dict[str, Pose] = {}
        """Frame of each body in the world."""
        self.components: list[Component] = []
        self.missing: dict[str, str] = {}
        """Included models that were not found, with reasons."""
        version = root.attributes.get("version", "1.12").split(".")
        self.version = tuple(int(x) for x in version[:2] if x.isdigit()) or (1, 12)

    def imported(self) -> Imported:
        """Return the import; raise `ModelError` if the file has errors."""
        f = self.findings
        world, name = self._world()
        self._include(world, 0)
        top = scope_of(world, "", None, f)
        only = self._flatten_single(top)
        self._collect(top)
        if not self.links and self.missing:
            for uri, why in self.missing.items():
                f.fault(self.root, f"the file has no <link>, and the model {uri!r} in an <include> is missing: {why}")
        elif not self.links:
            f.fault(self.root, "the file has no <link>; add at least one <model> with links")
        elif self.missing:
            missing = ", ".join(map(repr, self.missing))
            remedy = "set the folders of these models with packages= (--package NAME=FOLDER) or folders= (--folder)"
            f.headlines.append(f"included models are missing: {missing}; {remedy}")
        f.raise_faults()
        water = Water(f, self.frames, only)
        water.read(top, self.scopes)
        edges = [edge for scope in self.scopes for edge in self._edges(scope)]
        f.raise_faults()
        for edge in edges:
            self._attach(edge)
        loops = [loop for edge in self.closing for loop in self._loop(edge)]
        links = [Link(self._body(name, water), element) for name, (_, element) in self.links.items()]
        if "world" in self.loop_frames:
            ground = Body(name=self._ground, joint=joints.Fixed(), frames=tuple(self.loop_frames["world"]))
            links.append(Link(ground, self.root))
        f.raise_faults()
        held = {link: edge.element for link, edge in self.carried.items()}
        names = {link: edge.name for link, edge in self.carried.items()}
        around = self._environment(world, water)
        model = assembled(f, links, at=world, name=name, world=around, loops=loops, carriers=held, joint_names=names)
        units_note(f, model, self.root)
        moving = set(model.joint_parts)
        named = [(c, c.joints if isinstance(c, JointSpring) else (getattr(c, "joint", None),)) for c in self.components]
        in_joints = [c for c, names in named if names == (None,) or moving.issuperset(names)]
        bodies = {edge.name: link for link, edge in self.carried.items()}
        return f.finish(model, format="SDF", components=(*water.thrusters(model), *in_joints), joint_bodies=bodies)

    def _world(self) -> tuple[Element, str]:
        """Return the element that contains the models, and the name of the resulting model."""
        f, root = self.findings, self.root
        f.unknown(root, ("world", "model", "include"), "the file")
        worlds = root.all("world")
        for other in worlds[1:]:
            f.left_out(other, f"world {other.attributes.get('name', '')!r}", "a second <world>", "the first is used")
        if worlds:
            return worlds[0], worlds[0].attributes.get("name", "").strip() or "world"
        models = root.all("model", "include")
        for other in models[1:]:
            f.left_out(other, "the file", f"a second <{other.tag}> outside <world>", "the first is used")
        top = Element("world", root.line, {}, models[:1], file=root.file)
        return top, (models[0].attributes.get("name", "").strip() if models else "") or "robot"

    def _include(self, element: Element, depth: int) -> None:
        """Replace each `<include>` of a world or model with the included model."""
        f = self.findings
        out = []
        for child in element.children:
            if child.tag == "include":
                model = self._included(child, depth)
                merge = is_true(child.attributes.get("merge", "")) and element.tag == "model"
                if model is not None and merge and model.attributes.get("placement_frame", "").strip():
                    what = f"merge='true' of the include of {model.attributes.get('name')!r}, which has a placement_frame"
                    f.left_out(child, "include", what, "imported as a separate model, with links named MODEL::LINK")
                    out.append(model)
                elif model is not None and merge:
                    out += merged(model)
                else:
                    out += [model] if model is not None else []
            else:
                out.append(child)
                if child.tag == "model":
                    self._include(child, depth)
        element.children = out
        f.raise_faults()

    def _included(self, include: Element, depth: int) -> Element | None:
        f = self.findings
        uri = include.text_of("uri")
        owner = f"include of {uri!r}"
        inside = f"{uri.rstrip('/')}/model.sdf"
        for name in (uri, inside) if "/" in uri else (uri, inside, f"model://{inside}"):  # Gazebo also finds bare names
            try:
                path = self.files.find(name, include.file)
            except Missing as missing:
                why = str(missing)
                continue
            if depth >= INCLUDES:
                f.fault(
                    include,
                    f"{owner}: more than {INCLUDES} levels of nested files",
                    uri,
                    "write the contents of nested files in full",
                )
                return None
            self.files.included.add(str(path))
            root = parse_xml(read_bytes(path), str(path))
            model = root.first("model")
            if root.tag != "sdf" or model is None:
                f.left_out(include, owner, f"a file that begins with <{root.tag}>", "this file has no <model>")
                return None
            self._include(model, depth + 1)
            return self._renamed(include, model)
        f.left_out(include, owner, "a model in another file", f"{why}; the links of this model are missing")
        self.missing[uri] = why
        return None

    def _renamed(self, include: Element, model: Element) -> Element:
        """Return the included model with name and pose from the `<include>`."""
        if name := include.text_of("name"):
            model.attributes["name"] = name
        for tag in ("pose", "static"):
            given = include.first(tag)
            if given is not None:
                model.children = [given, *(c for c in model.children if c.tag != tag)]
        model.children += include.all("plugin")
        known = ("uri", "name", "pose", "static", "plugin")
        self.findings.unknown(include, known, f"include of {model.attributes.get('name')!r}")
        return model

    def _flatten_single(self, top: Scope) -> str:
        """Return the model name and remove it from link names, if the file has only one model."""
        if len(top.models) != 1 or top.links:
            return ""
        ((name, only),) = top.models.items()
        _rename(only, "")
        return name

    def _collect(self, scope: Scope) -> None:
        """Record all links, and note the ignored elements of a scope."""
        f = self.findings
        self.scopes.append(scope)
        owner = f"model {scope.name!r}" if scope.name else ("world" if scope.parent is None else "model")
        known = ["link", "joint", "frame", "model", "pose", "static", "plugin"]
        if scope.parent is None:
            known += ["gravity"]
        f.unknown(scope.element, known, owner)
        for name, link in scope.links.items():
            if name == "world":
                f.note("repaired", link, "link 'world'", "a link with the reserved name 'world'", "treated as the world itself")
            else:
                self.links[scope.full(name)] = (scope, link)
        for model in scope.models.values():
            self._collect(model)

    def _environment(self, world: Element, water: Water) -> World:
        gravity = world.first("gravity")
        g = 9.8
        if gravity is not None:
            x, y, z = self.findings.numbers(gravity.text, 3, gravity, "world: gravity [m/s²]", (0.0, 0.0, -9.8))
            if x or y or z > 0.0:
                what = f"gravity {plain((x, y, z))} m/s²"
                self.findings.left_out(gravity, "world", what, "assumed along −z, with the same magnitude")
            g = math.hypot(x, y, z)
        out = World(axes="ENU", gravity=g, water_density=water.density)
        world_note(self.findings, world, out, gravity=gravity is not None, water=water.specified)
        return out

    # -- joints ---------------------------------------------------------------------------------------------------------------

    def _edges(self, scope: Scope) -> list[Edge]:
        f, out = self.findings, []
        for name, element in scope.joints.items():
            full, kind = scope.full(name), element.attributes.get("type", "").strip()
            ends = []
            for tag in ("parent", "child"):
                end = element.first(tag)
                if end is None or not end.text:
                    f.fault(element, f"joint {full!r} has no <{tag}>", remedy="add it")
                else:
                    ends.append(self.frames.link(scope, end.text, end))
            if kind not in TYPES:
                f.fault(element, f"joint {full!r}: type is {kind!r}, must be one of {', '.join(TYPES)}", kind)
            if len(ends) < 2 or None in ends or kind not in TYPES:
                continue
            if kind == "gearbox":
                f.left_out(element, f"joint {full!r}", "a gearbox", "the joints of the gearbox move independently")
                continue
            turned = ends[1] == "world"
            first, second = (str(end) for end in (ends[::-1] if turned else ends))
            edge = Edge(scope, full, element, kind, first, second, self.frames.pose(scope, name, element))
            edge.sense = -1.0 if turned else 1.0
            edge.axes = [self._axis(edge, axis) for axis in element.all("axis", "axis2")]
            out.append(edge)
        return out

    def _axis(self, edge: Edge, axis: Element) -> np.ndarray:
        """Return a joint axis in world axes, shape (3,)."""
        f, owner = self.findings, f"joint {edge.name!r}"
        xyz = axis.first("xyz")
        a = np.array(f.numbers(None if xyz is None else xyz.text, 3, axis, f"{owner}: axis xyz", (0.0, 0.0, 1.0)))
        length = float(np.linalg.norm(a))
        if not length:
            f.fault(axis, f"{owner}: the axis is {plain(tuple(map(float, a)))}, must not be zero", None, "give its direction")
            return np.array([0.0, 0.0, 1.0])
        expressed = "" if xyz is None else xyz.attributes.get("expressed_in", "").strip()
        old = axis.first("use_parent_model_frame")
        in_model = old is not None and is_true(old.text)
        if expressed:
            R = self.frames.pose(edge.scope, expressed, xyz or axis).R
        elif in_model or (old is None and self.version < (1, 5)):
            R = self.frames.model_pose(edge.scope).R
        else:
            R = edge.frame.R
        return R @ (a / length)

    def _attach(self, edge: Edge) -> None:
        """Add a joint to the tree, or to the loops if its child already has a joint."""
        if edge.child not in self.carried and not self._above(edge.parent, edge.child):
            self.carried[edge.child] = edge
        elif edge.parent != "world" and edge.parent not in self.carried and not self._above(edge.child, edge.parent):
            edge.parent, edge.child, edge.sense = edge.child, edge.parent, -1.0
            self.carried[edge.child] = edge
            words = f"link {edge.parent!r} already has another joint"
            self.findings.note("repaired", edge.element, f"joint {edge.name!r}", words, "parent and child are swapped")
        else:
            self.closing.append(edge)

    @property
    def _ground(self) -> str:
        return GROUND if GROUND not in self.links else f"{GROUND}_"

    def _loop(self, edge: Edge) -> list[Loop]:
        """Return the loop that a joint closes, with frames on both links; empty with a note if it is unsupported."""
        f, owner = self.findings, f"joint {edge.name!r}"
        axes, n = edge.axes, {"fixed": 0, "ball": 0, "universal": 2, "revolute2": 2}.get(edge.kind, 1)
        words = f"a {edge.kind} joint between {edge.parent!r} and {edge.child!r}, which closes a loop"
        if len(axes) < n:
            f.fault(
                edge.element,
                f"{owner}: the joint has {len(axes)} axes, but a {edge.kind} joint requires {n}",
                None,
                "add <axis>",
            )
            return []
        if edge.kind not in CLOSING or (n == 2 and abs(axes[0] @ axes[1]) > 1e-9):
            f.left_out(
                edge.element, owner, words, "the loop is open, because a loop joint requires perpendicular axes and no screw"
            )
            return []
        for axis in edge.element.all("axis", "axis2"):
            lost = [tag for tag in ("limit", "dynamics") if axis.first(tag) is not None]
            if lost:
                f.left_out(axis, owner, f"{' and '.join(lost)} of {words}", "it moves freely")
        R = edge.frame.R
        if n == 1:
            R = matrix_from_rpy(towards(axes[0]))
        elif n == 2:
            R = np.stack([axes[0], axes[1], np.cross(axes[0], axes[1])], axis=1)
        ends = [edge.parent, edge.child] if edge.sense > 0 else [edge.child, edge.parent]  # the first axis is on the parent
        names = []
        for link, end in zip(ends, ("parent", "child"), strict=True):
            names.append(f"{edge.name}_{end}")
            place = self._body_pose(link).inverse @ Pose(edge.frame.p, R)
            self.loop_frames.setdefault(link, []).append(Frame(names[-1], place.origin))
        return [Loop(name=edge.name, holder=names[0], held=names[1], free=CLOSING[edge.kind])]

    def _above(self, link: str, other: str) -> bool:
        """True if `other` equals `link`, or carries it directly or indirectly."""
        while link != other:
            if link not in self.carried:
                return False
            link = self.carried[link].parent
        return True

    def _body_pose(self, name: str) -> Pose:
        """Return the world frame of a body: the link frame, moved to the joint axis if its origin is not on the axis."""
        if name == "world":
            return IDENTITY
        if name not in self.origin:
            scope, element = self.links[name]
            pose = self.frames.pose(scope, name.split("::")[-1], element)
            edge = self.carried.get(name)
            if edge is not None and edge.kind in ("revolute", "continuous", "ball", "universal", "revolute2", "screw"):
                away = edge.frame.p - pose.p
                if edge.kind in ("revolute", "continuous", "screw") and edge.axes:
                    away = away - (away @ edge.axes[0]) * edge.axes[0]
                if np.linalg.norm(away) > 1e-12 * max(1.0, float(np.linalg.norm(pose.p))):
                    pose = Pose(pose.p + away, pose.R)
            self.origin[name] = pose
        return self.origin[name]

    def _joint(self, name: str) -> joints.Joint | joints.Composite:
        edge, f = self.carried.get(name), self.findings
        pose = self._body_pose(name)
        if edge is None:
            scope = self.links[name][0]
            held = self._static(scope) or f.options.base == "fixed"
            if not held and f.options.base == "auto" and not self._heavy(name):
                held = True
                f.note("assumed", self.links[name][1], f"link {name!r}", "a root without mass", "fixed in the world")
            if held:
                return joints.Fixed(placement=pose.origin)
            x, y, z = map(float, pose.p)
            w, i, j, k = map(float, quaternion_from_matrix(pose.R))
            return joints.Free(position=(x, y, z), orientation=(w, i, j, k))
        owner = f"joint {edge.name!r}"
        f.unknown(edge.element, ("parent", "child", "pose", "axis", "axis2", "screw_thread_pitch", "thread_pitch"), owner)
        there = self._body_pose(edge.parent).inverse @ pose
        placement = there.origin
        axes = [tuple(map(float, edge.sense * (pose.R.T @ a))) for a in edge.axes]
        if edge.kind == "fixed":
            return joints.Fixed(placement=placement)
        if edge.kind == "ball":
            return joints.Ball(placement=placement)
        wanted = 2 if edge.kind in ("universal", "revolute2") else 1
        elements = edge.element.all("axis", "axis2")
        if len(axes) < wanted:
            f.fault(
                edge.element,
                f"{owner}: the joint has {len(axes)} axes, but a {edge.kind} joint requires {wanted}",
                None,
                "add <axis>",
            )
            return joints.Fixed()
        if wanted == 2:
            pairs = list(zip(axes, elements, strict=True))
            order = pairs if edge.sense > 0 else pairs[::-1]
            parts = [
                joints.Revolute(placement=placement if k == 0 else Origin(), axis=a, **self._one(edge, e, f"{name}.{k + 1}"))  # type: ignore[arg-type]
                for k, (a, e) in enumerate(order[:2])
            ]
            return joints.Composite(parts=tuple(parts))
        rest: dict[str, Any] = {"placement": placement, "axis": axes[0], **self._one(edge, elements[0], name)}
        pitch = self._pitch(edge) if edge.kind == "screw" else 0.0
        low, high = rest.get("limits", (-math.inf, math.inf))
        if low == high:
            turned = {"slide": low} if edge.kind == "prismatic" else {"angle": low, "slide": pitch * low / math.tau}
            return locked_joint(placement, axes[0], **turned)
        rest |= {"pitch": pitch} if edge.kind == "screw" else {}
        return JOINTS[edge.kind](**rest)

    def _heavy(self, name: str) -> bool:
        """True if a link, or a link fixed to it directly or indirectly, has mass."""
        waiting = [name]
        for link in waiting:
            inertial = self.links[link][1].first("inertial")
            if inertial is None or self.findings.child_number(inertial, "mass", f"link {link!r}", 1.0) > 0.0:
                return True
            waiting += self._fixed.get(link, ())
        return False

    @cached_property
    def _fixed(self) -> dict[str, list[str]]:
        """Links fixed to each link, once all joints are attached."""
        out: dict[str, list[str]] = {}
        for link, edge in self.carried.items():
            if edge.kind == "fixed":
                out.setdefault(edge.parent, []).append(link)
        return out

    def _pitch(self, edge: Edge) -> float:
        """Return the advance of a screw per turn [m]."""
        f, owner = self.findings, f"joint {edge.name!r}"
        if edge.element.first("screw_thread_pitch") is not None:
            return f.child_number(edge.element, "screw_thread_pitch", owner, 0.0, "screw_thread_pitch [m]")
        if edge.element.first("thread_pitch") is None:
            f.note("assumed", edge.element, owner, "a screw without a pitch", "set to 1 m per turn")
            return 1.0
        per_metre = f.child_number(edge.element, "thread_pitch", owner, 1.0, "thread_pitch [rad/m]")
        return -2.0 * math.pi / per_metre if per_metre else 0.0

    def _one(self, edge: Edge, axis: Element, name: str) -> dict[str, Any]:
        f, owner = self.findings, f"joint {edge.name!r}"
        f.unknown(axis, ("xyz", "limit", "dynamics", "use_parent_model_frame"), owner)
        limit, dynamics = axis.first("limit"), axis.first("dynamics")
        out: dict[str, Any] = {}
        if limit is not None:
            f.unknown(limit, ("lower", "upper", "effort", "velocity"), owner)
            lower, upper, effort, velocity = (
                self._limit(limit, key, owner, default)
                for key, default in (("lower", -math.inf), ("upper", math.inf), ("effort", math.inf), ("velocity", math.inf))
            )
            fast = velocity if 0.0 < velocity < NONE else math.inf
            if 0.0 < effort < NONE:
                self.components.append(drives.Torque(joint=name, limit=effort, speed=fast))
            elif math.isfinite(fast):
                f.left_out(limit, owner, f"velocity limit {plain(velocity)}", "the joint has no drive")
            if edge.kind != "continuous" and lower < upper and (lower > -NONE or upper < NONE):
                low, high = max(lower, -NONE), min(upper, NONE)
                out["limits"] = (low, high)
                out["position"] = min(max(0.0, low), high)
                if out["position"]:
                    what = f"limits {plain((low, high))}, without 0 between them"
                    f.note("assumed", limit, owner, what, f"the joint starts at {plain(out['position'])}")
            elif lower == upper and edge.kind in ("revolute", "prismatic", "screw"):
                f.note("repaired", limit, owner, f"lower {plain(lower)}, upper {plain(upper)}", LOCKED)
                out["limits"] = (lower, upper)
            elif edge.kind != "continuous" and lower >= upper:
                f.note("repaired", limit, owner, f"lower {plain(lower)}, upper {plain(upper)}", "the joint has no stops")
        if dynamics is not None:
            f.unknown(dynamics, ("damping", "friction", "spring_reference", "spring_stiffness"), owner)
            for key in ("damping", "friction"):
                value = f.child_number(dynamics, key, owner, 0.0)
                if value < 0.0:
                    f.note("repaired", dynamics, owner, f"{key} {plain(value)}", "set to 0, because it would add energy")
                out[key] = max(value, 0.0)
            stiffness = f.child_number(dynamics, "spring_stiffness", owner, 0.0)
            if stiffness > 0.0:
                rest = f.child_number(dynamics, "spring_reference", owner, 0.0)
                self.components.append(JointSpring(joints=(name,), stiffness=stiffness, rest=rest))
            elif stiffness:
                f.left_out(dynamics, owner, f"spring of {plain(stiffness)}", "a negative stiffness would drive the joint away")
        return out

    def _limit(self, limit: Element, key: str, owner: str, default: float) -> float:
        text = limit.text_of(key).strip()
        if text.lower().lstrip("+-") in ("inf", "infinity"):
            return -math.inf if text.startswith("-") else math.inf
        return self.findings.child_number(limit, key, owner, default)

    def _static(self, scope: Scope | None) -> bool:
        while scope is not None:
            if is_true(scope.element.text_of("static")):
                return True
            scope = scope.parent
        return False

    # -- bodies ---------------------------------------------------------------------------------------------------------------

    def _body(self, name: str, water: Water) -> Body:
        f, owner = self.findings, f"link {name!r}"
        scope, element = self.links[name]
        f.unknown(element, ("pose", "inertial", "visual", "collision", "gravity", "self_collide", "kinematic"), owner)
        self._switches(element, owner)
        link, pose = self.frames.pose(scope, name.split("::")[-1], element), self._body_pose(name)
        shift = pose.inverse @ link
        edge = self.carried.get(name)
        held = water.propellers.get(edge.name) if edge is not None else None
        joint = self._joint(name)
        frames = []
        if np.abs(shift.p).max() > 0.0:
            frames.append(Frame(f"{name}_origin", shift.origin))
            what = "the joint axis does not pass through the link origin"
            done = f"the body origin is moved to the joint axis; the link origin is frame {name + '_origin'!r}"
            f.note("repaired", element, owner, what, done)
        if held is not None and edge is not None:
            joint = joints.Fixed(placement=joint.parts[0].placement)
            thrust = edge.axes[0] if edge.axes else edge.frame.R[:, 2]
            frames.append(Frame(held, Origin(_row((pose.inverse @ edge.frame).p), towards(pose.R.T @ thrust))))
            if np.abs(shift.p).max() > 0.0:
                what = f"the joint axis is {np.linalg.norm(shift.p):.3g} m from the origin of the propeller's link"
                done = "the thrust acts on the axis; Gazebo applies it at the origin of the link"
                f.note("assumed", edge.element, f"joint {edge.name!r}", what, done)
            f.left_out(edge.element, f"joint {edge.name!r}", "rotation of the propeller", HELD)
        for frame, attached in scope.frames.items():
            if self.frames.link(scope, frame, attached) == name:
                there = pose.inverse @ self.frames.pose(scope, frame, attached)
                frames.append(Frame(scope.full(frame), there.origin))
        frames += self.loop_frames.get(name, [])
        solids, looks = SdfShapes(f, self.files, owner, shift).read(element)
        return Body(
            name=name,
            parent=None if edge is None or edge.parent == "world" else edge.parent,
            joint=joint,
            inertia=self._inertia(element, owner, shift),
            hydro=water.hydro(name, element, solids, shift),
            frames=tuple(frames),
            shapes=(*solids, *looks),
        )

    def _switches(self, link: Element, owner: str) -> None:
        """Add notes on properties of a link that bodies cannot represent, unless they have default values."""
        for tag, usual in (("gravity", ("1", "true")), ("self_collide", ("0", "false")), ("kinematic", ("0", "false"))):
            for child in link.all(tag):
                if child.text.strip().lower() not in usual:
                    self.findings.left_out(child, owner, f"<{tag}>{child.text}</{tag}>")

    def _inertia(self, link: Element, owner: str, shift: Pose) -> Inertia:
        f = self.findings
        inertial = link.first("inertial")
        if inertial is None:
            f.note("assumed", link, owner, "no <inertial>", "a mass of 1 kg and 1 kg·m² about each axis, as SDFormat specifies")
            return Inertia(mass=1.0, com=_row(shift.p), tensor=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
        f.unknown(inertial, ("pose", "mass", "inertia", "fluid_added_mass"), owner)
        if is_true(inertial.attributes.get("auto", "")):
            f.left_out(
                inertial,
                owner,
                "auto='true', which requests an inertia from the collision shapes",
                "the numbers in the file are used",
            )
        m = f.child_number(inertial, "mass", owner, 1.0)
        tensor = inertial.first("inertia") or Element("inertia", inertial.line)
        moments = {"ixx": 1.0, "iyy": 1.0, "izz": 1.0, "ixy": 0.0, "ixz": 0.0, "iyz": 0.0}
        row = [f.child_number(tensor, key, owner, moment) for key, moment in moments.items()]
        at = shift @ pose_of(inertial, f, f"{owner}: inertial")
        rpy = _row(rpy_from_matrix(at.R)) if not np.array_equal(at.R, np.eye(3)) else (0.0, 0.0, 0.0)
        return inertia_of(f, inertial, owner, m, _row(at.p), tuple(row), rpy)  # type: ignore[arg-type]


def _rename(scope: Scope, name: str) -> None:
    scope.name = name
    for own, model in scope.models.items():
        _rename(model, scope.full(own))


def _row(a: Any) -> tuple[float, float, float]:
    x, y, z = map(float, a)
    return x, y, z
