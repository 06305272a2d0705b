"""Conversion of MJCF geoms: mass and inertia by the rules of MuJoCo, contact shapes, and visuals."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from hydromechs import geometry
from hydromechs.geometry import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere
from hydromechs.model import BodyShape, Hydro, Inertia, added_mass, drag
from hydromechs.spatial import skew

from ._mjcf_document import Item
from ._mjcf_mesh import Mesh
from ._mjcf_pose import Settings, pose_of, turned_to
from ._pose import Pose
from ._robot_parts import COLLISION, PLACEHOLDER, tensor_of

SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
"""Solids, with the number of values in `size`."""
KINDS = (*SIZES, "mesh", "plane", "hfield", "sdf")
FLUID_COEFFICIENTS = (0.5, 0.25, 1.5, 1.0, 1.0)
"""Default coefficients of blunt, slender and angular drag, Kutta lift and Magnus force."""


class Mass(NamedTuple):
    """Mass properties of a part of a body."""

    mass: float
    """Mass [kg]."""
    com: np.ndarray
    """Centre of mass in body axes [m], shape (3,)."""
    tensor: np.ndarray
    """Inertia about the centre of mass in body axes [kg·m²], shape (3, 3)."""

    def inertia(self) -> Inertia:
        """Return the mass properties as an `Inertia`."""
        return Inertia(mass=self.mass, com=tuple(self.com), tensor=tensor_of(self.tensor)) if self.mass else Inertia(mass=0.0)


NOTHING = Mass(0.0, np.zeros(3), np.zeros((3, 3)))


def summed(parts: Iterable[Mass]) -> Mass:
    """Return the combined mass properties of several parts, by the parallel-axis theorem."""
    parts = [part for part in parts if part.mass]
    total = sum(part.mass for part in parts)
    if not total:
        return NOTHING
    com = sum((part.mass * part.com for part in parts), np.zeros(3)) / total
    I = np.zeros((3, 3))
    for part in parts:
        S = skew(part.com - com)
        I = I + part.tensor - part.mass * S @ S
    return Mass(total, com, I)


@dataclass(slots=True, kw_only=True)
class Geom:
    """Geom on a body."""

    item: Item
    kind: str
    """Kind of solid, from `KINDS`."""
    pose: Pose
    """Pose on the body, as in the file."""
    size: tuple[float, ...] = ()
    """Sizes in MuJoCo: radius, half lengths [m]."""
    mesh: Mesh | None = None
    mass: Mass = field(default_factory=lambda: NOTHING)
    """Mass properties of the geom on the body."""


def read_geom(item: Item, within: Pose, settings: Settings, meshes: dict[str, Mesh]) -> Geom | None:
    """Return a geom that is defined in a frame on the body; None if the geom is invalid or cannot be represented."""
    kind = item.word("type", KINDS, "sphere")
    name = item.text("mesh")
    if name and kind != "mesh":
        item.fault(f"a {kind} fitted to the mesh {name!r} is not supported", name, "set the size and the pose of the geom")
        return None
    pose, size = within @ pose_of(item, settings), item.row("size", 1, 3) or ()
    if kind in ("plane", "hfield", "sdf"):
        item.pass_over()
        item.left_out(f"type={kind!r}", "add terrain to a scenario instead (docs/terrain.md)")
        return None
    geom = Geom(item=item, kind=kind, pose=pose, size=size)
    if kind == "mesh":
        if name not in meshes:
            known = ", ".join(meshes) or "none"
            item.fault(f"the mesh {name!r} does not exist in <asset>; available: {known}", name)
            return None
        geom.mesh = meshes[name]
        if not geom.mesh.file:
            geom.kind, geom.mesh, geom.size = "box", None, (0.5 * PLACEHOLDER,) * 3
    elif not _sized(geom, within):
        return None
    geom.mass = _mass(geom, settings)
    return geom


def _sized(geom: Geom, within: Pose) -> bool:
    """Set size and pose of a solid, from end points if it has them; return True if both are valid."""
    item, size, n = geom.item, geom.size, SIZES[geom.kind]
    if "fromto" in item and geom.kind != "sphere":
        row = item.numbers("fromto", 6, ())
        if not row:
            return False
        ends = np.array(row).reshape(2, 3)
        along = ends[0] - ends[1]
        length = float(np.linalg.norm(along))
        if not 1e-12 < length < 1e12:
            item.fault(f"fromto {row} has zero length", row, "move one end", of="fromto")
            return False
        half = 0.5 * length
        size = (size[0], half) if n == 2 and size else (size[0], size[0], half) if size else ()
        geom.pose = within @ Pose(ends.mean(axis=0), turned_to(along / length))
    if len(size) < n or not all(1e-12 < s < 1e12 for s in size[:n]):  # smaller volumes are 0 in floating point
        must = f"must have {n} number(s) above 1e-12 m" + (" (only the radius with fromto)" if n > 1 else "")
        item.fault(f"size of the {geom.kind} is {size}, {must}", size, "set the size in metres", of="size")
        return False
    geom.size = tuple(size[:n])
    return True


def _mass(geom: Geom, settings: Settings) -> Mass:
    """Return the mass properties of a geom on its body, from its mass or its density (default 1000 kg/m³)."""
    item = geom.item
    density, mass = item.number("density", 1000.0), item.row("mass", 1, 1)
    group = item.number("group", 0.0)
    low, high = settings.inertiagrouprange
    if not low <= group <= high:
        return NOTHING
    if item.flag("shellinertia"):
        item.note("assumed", "shellinertia='true'", "assumed to be solid", of="shellinertia")
    if geom.mesh is not None:
        volume, com, unit = geom.mesh.volume, geom.mesh.com, geom.mesh.tensor / geom.mesh.volume
    else:
        solid = _shape(geom)
        volume, com = solid.volume, np.zeros(3)
        unit = solid.inertia(1.0 / volume)
    m = density * volume if mass is None else mass[0]
    if m < 0.0 or not math.isfinite(m):
        item.fault(f"the mass of the geom is {m:g} kg, must be at least 0", m)
        return NOTHING
    R = geom.pose.R
    return Mass(m, geom.pose.p + R @ com, m * R @ unit @ R.T)


def _shape(geom: Geom) -> Shape:
    if geom.mesh is not None:
        return geometry.Mesh(file=geom.mesh.file, scale=geom.mesh.scale)
    if geom.kind == "box":
        return Box(size=tuple(2.0 * s for s in geom.size))  # type: ignore[arg-type]
    if geom.kind == "ellipsoid":
        return Ellipsoid(axes=geom.size)  # type: ignore[arg-type]
    if geom.kind == "sphere":
        return Sphere(radius=geom.size[0])
    kind = Capsule if geom.kind == "capsule" else Cylinder
    return kind(radius=geom.size[0], length=2.0 * geom.size[1])


def geom_shapes(geoms: list[Geom], by: np.ndarray, colors: dict[str, tuple[float, ...]]) -> tuple[BodyShape, ...]:
    """Return the shapes of the geoms of a body, whose origin is offset by `by` from the origin in the file [m], shape (3,).

    Geoms of groups above 2 are not drawn if purely visual geoms exist, as in the viewer of MuJoCo.
    """
    out, hidden = [], []
    for geom in geoms:
        item = geom.item
        types = {item.number(name, 1.0) for name in ("contype", "conaffinity")}
        touches = types != {0.0}
        material = item.text("material")
        if material and material not in colors:
            item.left_out(f"material={material!r}", "this material is not defined", of="material")
        rgba = item.row("rgba", 4, 4) or colors.get(material, (0.5, 0.5, 0.5, 1.0))
        color, opacity = tuple(min(max(c, 0.0), 1.0) for c in rgba[:3]), min(max(rgba[3], 0.0), 1.0)
        if geom.mesh is not None and geom.mesh.file.lower().endswith(".msh"):
            done = "only the mass of the mesh is used, without contact and appearance; save the mesh as STL or OBJ"
            item.left_out("a mesh in the MSH format of MuJoCo", done)
            continue
        if touches and geom.kind == "ellipsoid":
            touches = False
            item.left_out("contact of an ellipsoid", "used only for appearance")
        place = geom.pose.shifted(by).origin
        roles = (*COLLISION, "appearance") if touches else ("appearance",)
        out.append(BodyShape(shape=_shape(geom), origin=place, roles=roles, color=color, opacity=opacity))  # type: ignore[arg-type]
        hidden.append(item.number("group", 0.0) > 2.0)
    if all(shape.contact for shape in out):
        return tuple(out)
    kept = [(s, h) for s, h in zip(out, hidden, strict=True) if s.contact or not h]
    return tuple(replace(s, roles=COLLISION) if h else s for s, h in kept)


def geom_hydro(geoms: list[Geom], by: np.ndarray) -> Hydro | None:
    """Return added mass and drag of geoms with fluidshape="ellipsoid", shifted as in `geom_shapes`; None without such geoms.

    Each geom becomes the equivalent ellipsoid of MuJoCo. Along the axes of the ellipsoid the drag equals that of MuJoCo,
    ρ (C_b A_i + C_s (A_max − A_i)) v², without the usual factor ½; in other directions it differs. The fluid of MuJoCo has no
    buoyancy, and added mass only affects velocity-dependent forces.
    """
    masses, drags = [], []
    for geom in geoms:
        item = geom.item
        if item.word("fluidshape", ("none", "ellipsoid"), "none") == "none":
            continue
        if geom.mesh is not None:
            item.left_out("fluidshape of a mesh", "use hydromechs.add_water")
            continue
        given = item.row("fluidcoef", 1, 5) or ()
        blunt, slender, angular, kutta, magnus = (*given, *FLUID_COEFFICIENTS[len(given) :])
        r, half = geom.size[0], geom.size[-1]
        a, b, c = {"sphere": (r, r, r), "capsule": (r, r, half + r), "cylinder": (r, r, half)}.get(geom.kind, geom.size)
        axes = (a, b, c)
        areas = np.pi * np.array([b * c, a * c, a * b])
        origin = geom.pose.shifted(by).origin
        coefficients = np.maximum(2.0 * (blunt + slender * (areas.max() / areas - 1.0)), 0.0)
        solid = geometry.Placed(shape=Ellipsoid(axes=axes), origin=origin)
        masses.append(added_mass.ShapeAddedMass(shape=solid))
        drags.append(drag.ShapeDrag(shape=solid, coefficient=tuple(coefficients)))
        rest = {"angular drag": angular, "Kutta lift": kutta, "Magnus force": magnus}
        lost = ", ".join(f"{what} {value:g}" for what, value in rest.items() if value)
        done = "added mass and drag of the ellipsoid, without buoyancy"
        item.note("assumed", "fluidshape='ellipsoid'", done)
        if lost:
            item.left_out(f"fluidcoef: {lost}")
    return Hydro(added_mass=tuple(masses), drag=tuple(drags)) if masses else None
