"""Shared parts of readers of robot descriptions: repair of inertias, shapes, assembly of the model."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

import numpy as np

from hydromechs.errors import Fault, ModelError
from hydromechs.geometry import SHAPES, Box, Mesh, Origin
from hydromechs.model import Body, BodyShape, Coupling, Inertia, Loop, Model, Role, World, joints
from hydromechs.spatial import axis_rotation, matrix_from_rpy, tensor_matrix
from hydromechs.values import plain

from ._imported import Findings
from ._pose import Pose
from ._robot_files import Missing, RobotFiles
from ._xml import Element

Row3: TypeAlias = tuple[float, float, float]
Row6: TypeAlias = tuple[float, float, float, float, float, float]
WATER = 1000.0
"""Density assumed for a body without a tensor [kg/m³]."""
DENSEST = 25_000.0
"""Mean density of a robot in its bounding cube above which the units are probably wrong; osmium has 22,600 [kg/m³]."""
LIGHTEST = 1e-4
"""Mean density of a robot in its bounding cube below which the units are probably wrong; a kite is denser [kg/m³]."""
LOCKED = "held fixed at this position, without a drive"
"""Action in the note on a joint whose limits are equal."""


@dataclass(frozen=True, slots=True)
class Link:
    """Body to be added to a model, with its element in the file."""

    body: Body
    element: Element


def tensor_of(I: np.ndarray) -> Row6:
    """Return xx yy zz xy xz yz of a symmetric matrix, shape (6,)."""
    return I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]


def locked_joint(placement: Origin, axis: Sequence[float], *, angle: float = 0.0, slide: float = 0.0) -> joints.Fixed:
    """Return the fixed joint of a body whose joint is locked at an angle [rad] or a displacement [m]."""
    if not angle and not slide:
        return joints.Fixed(placement=placement)
    a = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    R = matrix_from_rpy(placement.rpy)
    return joints.Fixed(placement=Pose(np.asarray(placement.xyz) + slide * (R @ a), R @ axis_rotation(a, angle)).origin)


def inertia_of(findings: Findings, at: Element, owner: str, mass: float, com: Row3, tensor: Row6, rpy: Row3) -> Inertia:
    """Return the inertia of a body; impossible values are repaired with a note.

    The mass is in kg, the centre of mass in body axes [m]. The tensor about the centre of mass is xx yy zz xy xz yz
    [kg·m²], in axes rotated by rpy [rad] relative to the body axes.
    """
    if mass < 0.0:
        findings.fault(at, f"{owner}: mass is {plain(mass)} kg, must be at least 0", mass, "set the mass of the link")
        return Inertia(mass=0.0)
    I = tensor_matrix(tensor)
    if any(rpy):
        R = matrix_from_rpy(rpy)
        I = R @ I @ R.T
    if mass == 0.0:
        if any(tensor) or any(com):
            what = f"mass 0 with the tensor {plain(tensor)} kg·m²"
            findings.note("repaired", at, owner, what, "the tensor is also ignored: the link has no inertia")
        return Inertia(mass=0.0)
    moments, axes = np.linalg.eigh(I)
    if moments[0] < -1e-9 * np.abs(moments).max() or moments[0] + moments[1] < moments[2] * (1.0 - 1e-9):
        second = np.maximum(0.5 * moments.sum() - moments, 0.0)  # ∫ x² dm along each axis, which cannot be negative
        mended = second.sum() - second
        what = f"principal moments of inertia {plain(tuple(map(float, moments)))} kg·m², which are physically impossible"
        if mended.max() <= 1e-15 * mass:  # a radius of gyration of 30 nm: the rounding of a point mass
            findings.note("repaired", at, owner, what, "set to 0: a point mass")
            return Inertia(mass=mass, com=com, tensor=(0.0,) * 6)
        done = f"replaced by the nearest possible moments, {plain(tuple(map(float, mended)))}"
        findings.note("repaired", at, owner, what, done)
        I = axes @ np.diag(mended) @ axes.T
    return Inertia(mass=mass, com=com, tensor=tensor_of(I))


def _hold_empty_joints(
    findings: Findings, links: list[Link], elements: Mapping[str, Element], names: Mapping[str, str]
) -> list[Link]:
    """Return the links with moving joints fixed if they carry no mass, with notes. Children may precede their parents."""
    children: dict[str | None, list[Link]] = {}
    for link in links:
        children.setdefault(link.body.parent, []).append(link)
    heavy: set[str] = set()
    by_name = {link.body.name: link for link in links}
    for link in links:
        if link.body.inertia.mass > 0.0:
            name: str | None = link.body.name
            while name is not None and name not in heavy:
                heavy.add(name)
                name = by_name[name].body.parent
    out = []
    for link in links:
        body = link.body
        if body.name not in heavy and body.joint.nv:
            joint = f"joint {names.get(body.name, body.name)!r}"
            what = f"a {body.joint.kind} joint that moves no mass (child link {body.name!r})"
            findings.note("repaired", elements.get(body.name, link.element), joint, what, "held fixed at its zero position")
            placement = body.joint.parts[0].placement
            body = replace(body, joint=joints.Fixed(placement=placement))
        out.append(Link(body, link.element))
    return out


def assembled(
    findings: Findings,
    links: list[Link],
    *,
    at: Element,
    name: str,
    world: World,
    loops: Sequence[Loop | Coupling] = (),
    carriers: Mapping[str, Element] = MappingProxyType({}),
    joint_names: Mapping[str, str] = MappingProxyType({}),
) -> Model:
    """Return the model of several links; errors in a body have the line of its link. Earlier errors are raised first.

    Joints that carry no mass are fixed; `carriers` and `joint_names` contain element and name of the joint that carries
    each link. If a joint would move no inertia, its point masses and thin rods receive the inertia of a sphere of water.
    Both repairs are noted.
    """
    findings.raise_faults()
    links = _hold_empty_joints(findings, links, carriers, joint_names)
    repaired: set[str] = set()
    while True:
        try:
            return Model(name=name, bodies=tuple(link.body for link in links), loops=tuple(loops), world=world)
        except ModelError as error:
            if not _with_tensors(findings, links, error.faults, repaired):
                for fault in error.faults:
                    of_body = fault.path[:1] == ("bodies",) and len(fault.path) > 1
                    findings.fault(links[fault.path[1]].element if of_body else at, fault.text, fault.value)
                findings.raise_faults()


def _with_tensors(findings: Findings, links: list[Link], faults: Sequence[Fault], repaired: set[str]) -> bool:
    """Give point masses and thin rods carried by faulty bodies the inertia of a sphere; return True if any were found.

    `repaired`: names of links with this repair, each at most once.
    """
    faulty = {f.path[1] for f in faults if len(f.path) > 2 and f.path[0] == "bodies" and f.path[2] != "name"}
    parents: dict[str | None, str | None] = {link.body.name: link.body.parent for link in links}
    carried: dict[str | None, bool] = {None: False} | {links[i].body.name: True for i in faulty}
    found = False
    for i, link in enumerate(links):
        body, path = link.body, list[str | None]()
        above: str | None = body.name
        while above not in carried:
            carried[above] = False
            path.append(above)
            above = parents.get(above)
        carried |= dict.fromkeys(path, carried[above])
        if carried[body.name] and body.inertia.mass > 0.0 and body.name not in repaired:
            mass, I = body.inertia.mass, tensor_matrix(body.inertia.tensor)
            moments = np.linalg.eigvalsh(I)
            if moments[0] > 1e-12 * moments[2]:
                continue
            radius = math.cbrt(mass / WATER * 3.0 / (4.0 * math.pi))
            moment = 0.4 * mass * radius**2
            what = f"mass {plain(mass)} kg with principal moments {plain(tuple(map(float, moments)))} kg·m²"
            done = f"{moment:.4g} kg·m² added, the inertia of a sphere of water, because a joint would move no inertia"
            findings.note("repaired", link.element, f"link {body.name!r}", what, done)
            inertia = replace(body.inertia, tensor=tensor_of(I + moment * np.eye(3)))
            links[i], found = Link(replace(body, inertia=inertia), link.element), True
            repaired.add(body.name)
    return found


def units_note(findings: Findings, model: Model, at: Element) -> None:
    """Add a note if mass and size of a model are incompatible, for example 3 t within 3 cm or 1 g within 10 m."""
    mass = sum(body.inertia.mass for body in model.bodies)
    size = max(_reach(model), max((_size(body) for body in model.bodies), default=0.0))
    density = mass / size / size / size if size else 0.0
    if not density or LIGHTEST <= density <= DENSEST:
        return
    heavy = density > DENSEST
    meant = "masses are in grams, or lengths are not in metres" if heavy else "lengths are in millimetres"
    what = f"{plain(mass)} kg within {size:.3g} m, {'denser than any metal' if heavy else 'lighter than air'}"
    findings.note("assumed", at, f"robot {model.name!r}", what, f"read as kg and m; check whether {meant}")


def world_note(findings: Findings, at: Element, world: World, *, gravity: bool, water: bool) -> None:
    """Add notes on world properties that a file does not specify, with the assumed values."""
    taken = {} if gravity else {"gravity": f"{plain(world.gravity)} m/s²"}
    taken |= {} if water else {"the density of the water": f"{plain(world.water_density)} kg/m³"}
    if taken:
        findings.note("assumed", at, "world", f"the file does not specify {' and '.join(taken)}", ", ".join(taken.values()))


def _reach(model: Model) -> float:
    """Return the length of the longest chain of joint positions in the model [m]."""
    reach: dict[str, float] = {}
    for body in model.bodies:
        start = reach.get(body.parent, 0.0) if body.parent else 0.0
        steps = sum(math.hypot(*p.placement.xyz) for p in body.joint.parts if isinstance(p.placement, Origin))
        reach[body.name] = start + (steps if body.parent else 0.0)
    return max(reach.values(), default=0.0)


def _size(body: Body) -> float:
    """Return the maximum size of shapes, visuals and inertia of a body [m]; a mesh is assumed to be large enough."""
    lengths = [0.0]
    if body.inertia.mass:
        lengths.append(math.sqrt(12.0 * max(body.inertia.tensor[:3]) / body.inertia.mass))
    lengths += [1.0 if isinstance(s.shape, Mesh) else 2.0 * float(s.shape.half_size.max()) for s in body.shapes]
    return max(lengths)


COLLISION: tuple[Role, ...] = ("contact", "wetting")
"""Roles of a collision shape in a third-party file; visuals are separate shapes."""
PLACEHOLDER = 0.1
"""Edge length of the box that replaces a missing mesh on a link without shapes [m]."""
PLACEHOLDERS = "or ignore it with placeholders=True (--placeholders)"
"""Last remedy in the message about a missing mesh."""
SIZES: dict[str, dict[str, int]] = {
    "box": {"size": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
}
"""Shapes that URDF and SDF share, with the number of values per size."""


class ShapeReader(ABC):
    """Visuals and collisions of one link; each format implements access to sizes, poses and colours."""

    known: ClassVar[Mapping[str, Mapping[str, int]]] = SIZES
    """Supported shapes with their sizes, as in `SIZES`."""
    visual: ClassVar[tuple[str, ...]]
    """Elements that a visual may contain."""
    collision: ClassVar[tuple[str, ...]]
    """Elements that a collision may contain."""

    def __init__(self, findings: Findings, files: RobotFiles, owner: str) -> None:
        self.findings, self.files, self.owner = findings, files, owner

    @abstractmethod
    def place(self, element: Element) -> Origin:
        """Return the pose of a visual or collision on its body."""

    @abstractmethod
    def look(self, element: Element) -> dict[str, Any]:
        """Return colour and opacity of a visual as fields of `BodyShape`."""

    @abstractmethod
    def size(self, shape: Element, key: str) -> tuple[str, Element]:
        """Return the text of a size and the element that contains it."""

    @abstractmethod
    def mesh(self, shape: Element) -> tuple[str, str | None]:
        """Return the file of a mesh and the text of its scale."""

    def read(self, link: Element) -> tuple[tuple[BodyShape, ...], tuple[BodyShape, ...]]:
        """Return the contact shapes and the visuals; contact shapes define the size of a box that replaces a missing mesh."""
        solids = [self._collision(element) for element in link.all("collision")]
        solid = tuple(shape for shape in solids if shape is not None)
        looks = [self._visual(element, solid) for element in link.all("visual")]
        return solid, tuple(shape for shape in looks if shape is not None)

    def _visual(self, element: Element, solids: Sequence[BodyShape]) -> BodyShape | None:
        """Return the shape of a visual; None without a volume.

        A missing mesh is replaced by a grey box, as large as the largest of `solids`, with a note.
        """
        self.findings.unknown(element, self.visual, self.owner)
        read = self._geometry(element)
        if read is None:
            return None
        shape, sizes = read
        look = {"origin": self.place(element), "roles": ("appearance",), **self.look(element)}
        try:
            return BodyShape(shape=self._built(shape, sizes), **look)
        except Missing as missing:
            what = f"mesh {sizes['file']!r}"
            self.findings.left_out(shape, self.owner, what, f"{missing}; a grey box is shown instead")
            box = max((_box_of(solid, look["origin"]) for solid in solids), key=lambda box: math.prod(box[0]), default=None)
            size, origin = box or ((PLACEHOLDER,) * 3, look["origin"])
            grey = {"color": (0.5, 0.5, 0.5), "style": "placeholder"}
            return BodyShape(**(look | grey | {"shape": Box(size=size), "origin": origin}))

    def _collision(self, element: Element) -> BodyShape | None:
        """Return a contact shape; None with an error or a note."""
        f = self.findings
        f.unknown(element, self.collision, self.owner)
        read = self._geometry(element)
        if read is None:
            return None
        shape, sizes = read
        origin = self.place(element)
        if shape.tag == "ellipsoid":
            f.left_out(shape, self.owner, f"a collision ellipsoid of {plain(sizes['axes'])} m")
            return None
        try:
            return BodyShape(shape=self._built(shape, sizes), origin=origin, roles=COLLISION)
        except Missing as missing:
            if f.options.placeholders:
                done = f"{missing}; the link has no replacement shape"
                f.left_out(shape, self.owner, f"mesh {sizes['file']!r}", done)
            else:
                f.fault(shape, f"{self.owner}: {missing}", sizes["file"], PLACEHOLDERS)
            return None

    def _geometry(self, parent: Element) -> tuple[Element, dict[str, Any]] | None:
        """Return the shape in an element and the fields of its class [m]; None with a note or an error if no shape is valid."""
        f, owner = self.findings, self.owner
        geometry = parent.first("geometry")
        found = [] if geometry is None else geometry.children
        if not found or found[0].tag == "empty":
            f.left_out(parent, owner, f"a <{parent.tag}> without a shape", "no effect")
            return None
        shape = found[0]
        for other in found[1:]:
            f.left_out(other, owner, f"a second shape <{other.tag}> in one <{parent.tag}>", "the first is used")
        if shape.tag == "mesh":
            file, scale = self.mesh(shape)
            row = f.numbers(scale, 3, shape, f"{owner}: mesh scale", (1.0, 1.0, 1.0))
            if not all(row):
                f.left_out(shape, owner, f"mesh {file!r} with scale {plain(row)}", "this shape has no volume")
                return None
            return shape, {"file": file, "scale": row}
        if shape.tag not in self.known:
            f.left_out(shape, owner, f"<{shape.tag}> in a <{parent.tag}>", "not a supported shape")
            return None
        sizes: dict[str, Any] = {}
        for key, n in self.known[shape.tag].items():
            text, at = self.size(shape, key)
            row = f.numbers(text, n, at, f"{owner}: {shape.tag} {key} [m]", (1.0,) * n)
            sizes[key] = row if n > 1 else row[0]
        if min(min(size) if isinstance(size, tuple) else size for size in sizes.values()) <= 0.0:
            shown = ", ".join(f"{key} {plain(size)} m" for key, size in sizes.items())
            f.left_out(shape, owner, f"a {shape.tag} with {shown}", "this shape has no volume")
            return None
        return shape, {"axes": sizes["radii"]} if shape.tag == "ellipsoid" else sizes

    def _built(self, shape: Element, sizes: Mapping[str, Any]) -> Any:
        """Return the shape with its sizes; raise `Missing` if a mesh file is missing."""
        if shape.tag == "mesh":
            return Mesh(file=str(self.files.find(sizes["file"], shape.file)), scale=sizes["scale"])
        return SHAPES[shape.tag](**sizes)


def _box_of(solid: BodyShape, origin: Origin) -> tuple[tuple[float, float, float], Origin]:
    """Return edge lengths and pose of the bounding box of a shape; for a mesh, a small box at `origin`."""
    if isinstance(solid.shape, Mesh):
        return (PLACEHOLDER,) * 3, origin
    x, y, z = (2.0 * solid.shape.half_size).tolist()
    return (x, y, z), solid.origin
