"""Shared parts of readers of robot descriptions: repair of inertias, assembly of the model."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from hydromechs.errors import Fault, ModelError
from hydromechs.geometry import Mesh, Origin
from hydromechs.model import Body, Inertia, Model, World, joints
from hydromechs.spatial import axis_rotation, matrix_from_rpy, tensor_matrix
from hydromechs.values import plain

from ._imported import Findings
from ._pose import Pose
from ._xml import Element

Row3: TypeAlias = tuple[float, float, float]
Row6: TypeAlias = tuple[float, float, float, float, float, float]
WATER = 1000.0
"""Density assumed for a body without a tensor [kg/m³]."""
DENSEST = 25_000.0
"""Mean density of a robot in its bounding cube above which its units are probably wrong; osmium has 22,600 [kg/m³]."""
LIGHTEST = 1e-4
"""Mean density below which its units are probably wrong; a kite has more [kg/m³]."""
LOCKED = "held fixed there; it has no drive"
"""Note on a joint whose limits are equal."""


@dataclass(frozen=True, slots=True)
class Link:
    """A body to be added to a model, with its element in the file."""

    body: Body
    element: Element


def tensor_of(I: np.ndarray) -> Row6:
    """xx yy zz xy xz yz of a symmetric matrix, shape (6,)."""
    return I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]


def locked_joint(placement: Origin, axis: Sequence[float], *, angle: float = 0.0, slide: float = 0.0) -> joints.Fixed:
    """Return the fixed joint of a body whose joint with one coordinate is locked, at an angle [rad] or a slide [m]."""
    if not angle and not slide:
        return joints.Fixed(placement=placement)
    a = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    R = matrix_from_rpy(placement.rpy)
    return joints.Fixed(placement=Pose(np.asarray(placement.xyz) + slide * (R @ a), R @ axis_rotation(a, angle)).origin)


def inertia_of(findings: Findings, at: Element, owner: str, mass: float, com: Row3, tensor: Row6, rpy: Row3) -> Inertia:
    """Return the inertia of a body; impossible values are repaired, with a note.

    The mass is in kg, the centre in the body's axes [m]. The tensor about it is xx yy zz xy xz yz [kg·m²], in axes
    rotated by rpy [rad] from the body's.
    """
    if mass < 0.0:
        findings.fault(at, f"{owner}: mass is {plain(mass)} kg, must be at least 0", mass, "give its mass")
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
        what = f"principal moments of inertia {plain(tuple(map(float, moments)))} kg·m², which no body can have"
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
    """Return the links; hold moving joints that carry no mass, with notes. Parents may follow their children."""
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
            what = f"a {body.joint.kind} joint that carries no mass (link {body.name!r})"
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
    carriers: Mapping[str, Element] = MappingProxyType({}),
    joint_names: Mapping[str, str] = MappingProxyType({}),
) -> Model:
    """Return the model of some links; errors in a body have the line of its link. Earlier errors are raised first.

    Joints that carry no mass are held fixed; `carriers` and `joint_names` are those of the joint that carries each link. If
    a joint would move no inertia, point masses and thin rods that it carries get the inertia of a sphere of water. Both
    repairs are noted.
    """
    findings.raise_faults()
    links = _hold_empty_joints(findings, links, carriers, joint_names)
    while True:
        try:
            return Model(name=name, bodies=tuple(link.body for link in links), world=world)
        except ModelError as error:
            if not _with_tensors(
                findings, links, error.faults
            ):  # one joint is reported at a time, so this may take many rounds
                for fault in error.faults:
                    of_body = fault.path[:1] == ("bodies",) and len(fault.path) > 1
                    findings.fault(links[fault.path[1]].element if of_body else at, fault.text, fault.value)
                findings.raise_faults()


def _with_tensors(findings: Findings, links: list[Link], faults: Sequence[Fault]) -> bool:
    """Give point masses and thin rods carried by faulty bodies the inertia of a sphere; return True if there were any."""
    faulty = {f.path[1] for f in faults if len(f.path) > 2 and f.path[0] == "bodies" and f.path[2] != "name"}
    parents = {link.body.name: link.body.parent for link in links}
    roots, found = {links[i].body.name for i in faulty}, False
    for i, link in enumerate(links):
        body, above, seen = link.body, link.body.name, set()
        while above is not None and above not in roots and above not in seen:
            seen.add(above)
            above = parents.get(above)  # type: ignore[assignment]
        if above in roots and body.inertia.mass > 0.0:
            mass, I = body.inertia.mass, tensor_matrix(body.inertia.tensor)
            moments = np.linalg.eigvalsh(I)
            if moments[0] > 1e-12 * moments[2]:
                continue
            radius = math.cbrt(mass / WATER * 3.0 / (4.0 * math.pi))
            moment = 0.4 * mass * radius**2
            what = f"mass {plain(mass)} kg with principal moments {plain(tuple(map(float, moments)))} kg·m²"
            done = f"that of a sphere of water, {moment:.4g} kg·m², added: a joint would move no inertia"
            findings.note("repaired", link.element, f"link {body.name!r}", what, done)
            inertia = replace(body.inertia, tensor=tensor_of(I + moment * np.eye(3)))
            links[i], found = Link(replace(body, inertia=inertia), link.element), True
    return found


def units_note(findings: Findings, model: Model, at: Element) -> None:
    """Add a note if mass and size are incompatible: 3 t within 3 cm, 1 g within 10 m."""
    mass = sum(body.inertia.mass for body in model.bodies)
    size = max(_reach(model), max((_size(body) for body in model.bodies), default=0.0))
    density = mass / size / size / size if size else 0.0
    if not density or LIGHTEST <= density <= DENSEST:
        return
    heavy = density > DENSEST
    meant = "in grams, or lengths in another unit than metres" if heavy else "or are lengths in millimetres"
    what = f"{plain(mass)} kg within {size:.3g} m, {'denser than any metal' if heavy else 'lighter than air'}"
    findings.note("assumed", at, f"robot {model.name!r}", what, f"read as kg and m; are masses {meant}?")


def world_note(findings: Findings, at: Element, world: World, *, gravity: bool, water: bool) -> None:
    """Add notes on properties of the world that a file does not specify, with the assumed values."""
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
    """Return the maximum size of the shapes, visuals and inertia of a body [m]; a mesh is assumed to be large enough."""
    lengths = [0.0]
    if body.inertia.mass:
        lengths.append(math.sqrt(12.0 * max(body.inertia.tensor[:3]) / body.inertia.mass))
    lengths += [1.0 if isinstance(s.shape, Mesh) else 2.0 * float(s.shape.half_size.max()) for s in body.shapes]
    return max(lengths)
