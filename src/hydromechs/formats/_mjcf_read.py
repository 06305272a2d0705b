"""Reader of MJCF, the robot descriptions of MuJoCo."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from hydromechs.errors import Fault, ModelError
from hydromechs.model import Body, Frame, Model, World, joints
from hydromechs.spatial import tensor_matrix

from ._imported import Findings, Imported
from ._mjcf_actuators import read_actuators, set_damping_ratios
from ._mjcf_document import Document, Item, free_name
from ._mjcf_equality import STATIC, Equalities, Place
from ._mjcf_geoms import NOTHING, Geom, Mass, geom_hydro, geom_shapes, read_geom, summed
from ._mjcf_joints import BodyJoint, read_joints
from ._mjcf_mesh import Mesh, read_meshes
from ._mjcf_pose import Settings, euler_rotation, pose_of, read_settings, turned_to
from ._pose import IDENTITY, Pose
from ._robot_files import RobotFiles
from ._robot_parts import units_note, world_note
from ._xml import Element

WORLD = "worldbody"
"""Name of the body that contains static geometry."""


def read_mjcf(root: Element, findings: Findings, files: RobotFiles) -> Imported:
    """Return the robot of an MJCF document."""
    document = Document(root, findings, files)
    settings = read_settings(document)
    reader = _Reader(document, settings, read_meshes(document, settings), _colors(document))
    turned = Pose(np.zeros(3), settings.turn)
    for section in document.section("worldbody"):
        document.use(section, "childclass")
        reader.body(section, "world", None, turned, section.attributes.get("childclass", "main"))
    reader.total_mass()
    kinds = {name: part for read in reader.bodies for name, part in _parts(read)}
    components = [c for read in reader.bodies for c in read.joint.components]
    names = {own: name for read in reader.bodies for own, name in read.joint.names.items()}
    actuators, ratios = read_actuators(document, settings, names, kinds, reader)
    components += actuators
    if settings.density and not any(read.body.hydro for read in reader.bodies):
        done = "used as the water density; drag of inertia boxes is ignored (use hydromechs.add_water)"
        findings.note("assumed", document.section("option")[-1], "<option>", f"density={settings.density:g}", done)
    loops = Equalities(document, reader.places(), reader.site_places(), reader.zeros(), reader.add_frame).read()
    document.list_the_rest()
    if not reader.bodies:
        findings.fault(root, "the file has no body", None, "add a body to <worldbody>")
    findings.raise_faults()
    world = World(
        axes="NED" if settings.down else "ENU",
        gravity=settings.gravity,
        **({"water_density": settings.density} if settings.density else {}),
    )
    world_note(findings, root, world, gravity=settings.gravity_told, water=bool(settings.density))
    name = root.attributes.get("model", "").strip() or "MuJoCo Model"
    try:
        model = Model(name=name, bodies=tuple(read.body for read in reader.bodies), loops=tuple(loops), world=world)
    except ModelError as error:
        raise ModelError(findings.source, [_located(fault, reader.bodies, root) for fault in error.faults]) from None
    units_note(findings, model, root)
    return findings.finish(
        model, components=tuple(set_damping_ratios(model, components, ratios)), format="MJCF", joint_bodies=names
    )


def _located(fault: Fault, bodies: list[_Read], root: Element) -> Fault:
    """Return an error of the model with the line of its body, or of the whole file."""
    if len(fault.path) > 1 and fault.path[0] == "bodies" and isinstance(fault.path[1], int):
        return replace(fault, line=bodies[fault.path[1]].element.line)
    return replace(fault, line=root.line)


def _colors(document: Document) -> dict[str, tuple[float, ...]]:
    """Return the colours of materials (red, green, blue, opacity), keyed by name."""
    out = {}
    for section in document.section("asset"):
        for element in section.all("material"):
            item = document.item(element)
            out[item.text("name")] = item.row("rgba", 4, 4) or (1.0, 1.0, 1.0, 1.0)
    return out


@dataclass(slots=True, kw_only=True)
class _Read:
    body: Body
    element: Element
    joint: BodyJoint
    mass: Mass
    moves: bool = False
    """True if the body can move in the world."""
    place: Pose = IDENTITY
    """Frame of the body in the world, at the zero position of the file."""


def _parts(read: _Read) -> list[tuple[str, joints.Joint]]:
    parts, name = read.body.joint.parts, read.body.name
    return [(name if len(parts) == 1 else f"{name}.{k + 1}", part) for k, part in enumerate(parts)]


@dataclass(slots=True)
class _Inside:
    """Contents of a body, including nested frames."""

    geoms: list[Geom] = field(default_factory=list)
    sites: list[tuple[Item, Pose]] = field(default_factory=list)
    joints: list[Item] = field(default_factory=list)
    bodies: list[tuple[Element, Pose, str]] = field(default_factory=list)
    inertial: Item | None = None


class _Reader:
    def __init__(
        self, document: Document, settings: Settings, meshes: dict[str, Mesh], colors: dict[str, tuple[float, ...]]
    ) -> None:
        self.document, self.settings, self.meshes, self.colors = document, settings, meshes, colors
        self.bodies: list[_Read] = []
        named = [e.attributes["name"] for e in document.root.walk() if e.tag == "body" and "name" in e.attributes]
        self.taken: set[str] = {"world", *named}
        self.seen: set[str] = set()
        self.joint_lines: dict[str, int] = {}
        self.unnamed = 0
        self.frames: dict[str, tuple[_Read, Frame]] = {}
        self.ground: _Read | None = None

    def body(self, element: Element, name: str, parent: _Read | None, pose: Pose, childclass: str) -> None:
        """Read a body and its descendants, given the pose on the parent and the enclosing default class."""
        inside = _Inside()
        self._collect(element, IDENTITY, childclass, inside)
        is_world = element.tag == "worldbody"
        if is_world:
            name = self._free_name(WORLD)
            inside.inertial, inside.joints = None, []
        joint = read_joints(inside.joints, name, pose, self.settings)
        if parent is not None and isinstance(joint.joint, joints.Free):
            words = f"body {name!r} has a free joint, but its parent is {parent.body.name!r}"
            self.document.findings.fault(element, words, None, "move the body into <worldbody>")
            return
        moves = joint.joint.nv > 0 or (parent is not None and parent.moves)
        mass = NOTHING if is_world else self._mass(element, name, inside, moves)
        by = joint.anchor
        mass = mass._replace(com=mass.com - by)
        seen = geom_shapes(inside.geoms, by, self.colors)
        frames = {k: self._frame(item, place.shifted(by)) for k, (item, place) in enumerate(inside.sites)}
        body = Body(
            name=name,
            parent=None if parent is None else parent.body.name,
            joint=joint.joint,
            inertia=mass.inertia(),
            hydro=geom_hydro(inside.geoms, by),
            frames=tuple(frames.values()),
            shapes=seen,
        )
        place = (IDENTITY if parent is None else parent.place) @ pose @ Pose(by, np.eye(3))
        read = _Read(body=body, element=element, joint=joint, mass=mass, moves=moves, place=place)
        self.frames |= {inside.sites[k][0].text("name"): (read, frame) for k, frame in frames.items()}
        if is_world:
            self.ground = read
        if not is_world or body.shapes or body.frames:
            self.bodies.append(read)
        for child, place, inherited in inside.bodies:
            on = pose @ place if is_world else place.shifted(by)
            self.body(child, self._body_name(child), None if is_world else read, on, inherited)

    def _collect(self, element: Element, within: Pose, childclass: str, out: _Inside) -> None:
        """Collect the contents of a body; a <frame> moves its contents."""
        document, settings = self.document, self.settings
        for child in element.children:
            match child.tag:
                case "geom":
                    geom = read_geom(document.item(child, childclass), within, settings, self.meshes)
                    out.geoms += [] if geom is None else [geom]
                case "site":
                    item = document.item(child, childclass)
                    out.sites.append((item, within @ _site_pose(item, settings)))
                case "joint":
                    self._joint_name(child)
                    out.joints.append(document.item(child, childclass))
                case "freejoint":
                    self._joint_name(child)
                    out.joints.append(document.item(child, plain=True))
                case "inertial":
                    out.inertial = document.item(child, plain=True)
                case "replicate":
                    self._replicas(child, within, childclass, out)
                case "frame" | "body":
                    item = document.item(child, plain=True)
                    inherited = item.text("childclass", childclass)
                    place = within @ pose_of(item, settings)
                    if child.tag == "frame":
                        self._collect(child, place, inherited, out)
                    else:
                        if item.flag("mocap"):
                            item.left_out("mocap='true'", "it is static")
                        out.bodies.append((child, place, inherited))

    def _replicas(self, element: Element, within: Pose, childclass: str, out: _Inside) -> None:
        """Collect the copies in a <replicate>.

        Each copy is rotated by the Euler angles relative to the previous copy, and offset in rotated axes.
        """
        item = self.document.item(element, plain=True)
        for name in ("count", "sep"):
            item.text(name)  # used when the copies were made
        inherited = item.text("childclass", childclass)
        offset, angles = (np.array(item.numbers(name, 3, (0.0, 0.0, 0.0))) for name in ("offset", "euler"))
        place = IDENTITY
        for k, replica in enumerate(element.children):
            place = Pose(place.p, euler_rotation(k * angles, self.settings))
            self.document.see(replica)
            self._collect(replica, within @ place, inherited, out)
            place = Pose(place.p + place.R @ offset, place.R)

    # -- names ----------------------------------------------------------------------------------------------------------------

    def _free_name(self, wanted: str) -> str:
        return free_name(wanted, self.taken, "_")

    def _body_name(self, element: Element) -> str:
        name = element.attributes.get("name", "")
        if name and name in self.seen:
            self.document.findings.fault(element, f"two bodies are named {name!r}", name, "rename one of them")
        if name and name != "world":
            self.seen.add(name)
            return name
        self.unnamed += 1
        return self._free_name(f"body_{self.unnamed}")

    def _joint_name(self, element: Element) -> None:
        """Report duplicate joint names, because actuators refer to joints by name."""
        name = element.attributes.get("name", "")
        if name and name in self.joint_lines:
            words = f"two joints are named {name!r}, the first in line {self.joint_lines[name]}"
            self.document.findings.fault(element, words, name, "rename one of them")
        self.joint_lines.setdefault(name, element.line)

    def _frame(self, item: Item, place: Pose) -> Frame:
        """Add a site as a frame; frame names and body names must differ."""
        wanted = item.element.attributes.get("name") or "site"
        name = self._free_name(wanted if wanted not in self.taken else f"{wanted}_site")
        if name != wanted and wanted != "site":
            item.note("repaired", "the name of a body or another frame", f"called {name!r}")
        return Frame(name, place.origin)

    def thrust_frame(self, site: str, direction: np.ndarray) -> str | None:
        """Return the name of a frame at a site, with x along a unit vector in site axes; None if the site does not exist."""
        if site not in self.frames:
            return None
        read, frame = self.frames[site]
        if direction[0] == 1.0:
            return frame.name
        y = np.cross(np.eye(3)[int(np.argmin(np.abs(direction)))], direction)
        y /= np.linalg.norm(y)
        axes = np.column_stack([direction, y, np.cross(direction, y)])
        place = Pose(np.array(frame.origin.xyz), frame.origin.R @ axes)
        new = Frame(self._free_name(f"{frame.name}_thrust"), place.origin)
        read.body = replace(read.body, frames=(*read.body.frames, new))
        return new.name

    # -- loops ----------------------------------------------------------------------------------------------------------------

    def places(self) -> dict[str, Place]:
        """Return the world and all bodies, keyed by name."""
        found = self.bodies if self.ground is None or self.ground in self.bodies else [self.ground, *self.bodies]
        names = {id(read): STATIC if read is self.ground else read.body.name for read in found}
        return {names[id(r)]: Place(r.body.name, Pose(-r.joint.anchor, np.eye(3)), r.place) for r in found}

    def site_places(self) -> dict[str, Place]:
        """Return all sites, keyed by name."""
        return {
            name: Place(read.body.name, Pose(np.array(frame.origin.xyz), frame.origin.R), read.place)
            for name, (read, frame) in self.frames.items()
        }

    def zeros(self) -> dict[str, tuple[str, float]]:
        """Return names in the model and zero positions of joints with one coordinate, keyed by name in the file."""
        out = {}
        for read in self.bodies:
            kinds = dict(_parts(read))
            for own, name in read.joint.names.items():
                if kinds[name].nv == 1:
                    out[own] = name, read.joint.zeros.get(name, 0.0)
        return out

    def add_frame(self, body: str, name: str, place: Pose) -> str:
        """Add a frame to a body, and return the frame name."""
        (read,) = [r for r in (*self.bodies, self.ground) if r is not None and r.body.name == body][:1]
        if read not in self.bodies:
            self.bodies.insert(0, read)
        frame = Frame(self._free_name(name), place.origin)
        read.body = replace(read.body, frames=(*read.body.frames, frame))
        return frame.name

    # -- mass -----------------------------------------------------------------------------------------------------------------

    def _mass(self, element: Element, name: str, inside: _Inside, moves: bool) -> Mass:
        """Return the mass properties of a body by the compiler rules, in body axes about the body origin in the file."""
        settings, rule = self.settings, self.settings.inertiafromgeom
        given = None if inside.inertial is None else self._given_mass(inside.inertial, name)
        if rule == "true" or (rule == "auto" and inside.inertial is None):
            mass = summed(geom.mass for geom in inside.geoms)
        else:
            mass = given or NOTHING
        if not settings.boundmass and not settings.boundinertia and not settings.balanceinertia:
            return mass
        moments, axes = np.linalg.eigh(mass.tensor)
        m = max(mass.mass, settings.boundmass)
        bounded = np.maximum(moments, settings.boundinertia)
        if settings.balanceinertia and bounded[0] + bounded[1] < bounded[2]:
            bounded = np.full(3, bounded.mean())
        if m != mass.mass or (bounded != moments).any():
            what, done = (
                f"mass {mass.mass:g} kg, moments {moments}",
                f"changed by the bounds in <compiler> to mass {m:g} kg, moments {bounded}",
            )
            self.document.findings.note("repaired", element, f"body {name!r}", what, done)
        return Mass(m, mass.com, axes @ np.diag(bounded) @ axes.T)

    def _given_mass(self, item: Item, name: str) -> Mass | None:
        findings, owner = self.document.findings, f"<inertial> of body {name!r}"
        pose = pose_of(item, self.settings)
        mass = item.number("mass", 0.0)
        full, diagonal = item.row("fullinertia", 6, 6), item.row("diaginertia", 3, 3)
        I = np.diag(diagonal or (0.0, 0.0, 0.0)) if full is None else tensor_matrix(full)
        if mass < 0.0 or np.linalg.eigvalsh(I)[0] < -1e-12 * np.abs(I).max():
            shown = f"mass {mass:g} kg, moments {np.linalg.eigvalsh(I)} kg·m²"
            remedy = "correct these values, or delete <inertial> to use the inertia of the geoms"
            findings.fault(item.element, f"{owner}: {shown}, must be at least 0", mass, remedy)
            return None
        if mass == 0.0 and I.any():
            findings.note(
                "repaired", item.element, owner, "moments of inertia without a mass", "set to 0: the body has no inertia"
            )
        return Mass(mass, pose.p, pose.R @ I @ pose.R.T)

    def total_mass(self) -> None:
        """Scale all masses to the total mass that <compiler> specifies."""
        wanted, total = self.settings.settotalmass, sum(read.mass.mass for read in self.bodies)
        if not wanted > 0.0 or not total > 0.0:
            return
        k = wanted / total if total > 1e-12 else np.inf
        if not (1e-12 < wanted < 1e12 and 1e-12 < k < 1e12):
            item = self.document.item(self.document.section("compiler")[-1], plain=True)
            words = f"settotalmass is {wanted:g} kg and the sum of masses is {total:g} kg; both must be from 1e-12 to 1e12 kg"
            item.fault(words, wanted, "correct the masses, or delete settotalmass", of="settotalmass")
            return
        for read in self.bodies:
            read.mass = Mass(k * read.mass.mass, read.mass.com, k * read.mass.tensor)
            read.body = replace(read.body, inertia=read.mass.inertia())


def _site_pose(item: Item, settings: Settings) -> Pose:
    """Return the pose of a site, from end points if it has them."""
    for name in ("type", "size", "rgba", "material", "group"):
        item.text(name)  # appearance; a frame is invisible
    if "fromto" not in item:
        return pose_of(item, settings)
    ends = np.array(item.numbers("fromto", 6, (0.0, 0.0, 1.0, 0.0, 0.0, 0.0))).reshape(2, 3)
    along = ends[0] - ends[1]
    return Pose(ends.mean(axis=0), turned_to(along / max(float(np.linalg.norm(along)), 1e-12)))
