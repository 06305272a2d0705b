"""The model file as pydantic classes: which keys there are, of which type and unit. Values are judged by `hydromechs.model`.

Where a file may write one of several things (a joint by its `type`, an element by its `shape`), the class is picked from
the data first and then checked alone, so that a fault is told once and in the terms of what was meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, Union

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

__all__ = ["CHOICES", "TAGS", "BodyEntry", "Header", "ModelFile", "WorldEntry", "json_schema"]

TAGS: dict[str, type | None] = {}
"""Class of each variant by the tag that pydantic puts into the place of an error; None for one that is no mapping."""
CHOICES: dict[str, tuple[str, str]] = {}
"""Key that decides and what is said where no variant fits, by the group of variants."""
MARK = "\0"
"""First character of a tag, so that it cannot be taken for a key."""
COUPLED_PATTERN = r"^[XYZKMN]\|[uvwpqr]\|[uvwpqr]$"
"""A cross-coupled damping term."""


class Entry(BaseModel):
    """A mapping with known keys only and no conversions."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _version(value):
    if type(value) is not int or value != 1:
        raise PydanticCustomError("version", "must be 1, the version of the file format that this program reads")
    return value


def _shaped(rows: int, columns: int = 0) -> Callable:
    """A check that a value is a list of `rows` items, or of `rows` lists of `columns` items."""
    must = f"must be {rows} rows of {columns} numbers" if columns else f"must be a list of {rows} numbers"

    def check(value):
        if not isinstance(value, list):
            raise PydanticCustomError("array", must)
        if len(value) != rows:
            raise PydanticCustomError("array", f"{must}, has {len(value)}")
        for i, row in enumerate(value if columns else ()):
            if not isinstance(row, list) or len(row) != columns:
                raise PydanticCustomError("array", f"{must}, row {i + 1} has {len(row) if isinstance(row, list) else 'none'}")
        return value

    return check


def _numbers(n: int):
    return Annotated[list[Number], Field(min_length=n, max_length=n), BeforeValidator(_shaped(n))]


def _choice(group: str, pick: Callable[[object], str | None], must: str, key: str = "", **variants):
    """One of several `variants`: `pick` names it, `must` is said where it names none, `key` is the key that decides."""
    for name, kind in variants.items():
        TAGS[f"{MARK}{group}:{name}"] = kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None

    def tag(value) -> str | None:
        name = pick(value)
        return f"{MARK}{group}:{name}" if name in variants else None

    members = tuple(Annotated[kind, Tag(f"{MARK}{group}:{name}")] for name, kind in variants.items())
    CHOICES[group] = (key, must)
    return Annotated[
        Union[members],  # noqa: UP007 built from a tuple
        Discriminator(tag, custom_error_type="choice", custom_error_message=group),
    ]


def _value_of(key: str) -> Callable[[object], str | None]:
    """A pick by the text under `key`."""

    def pick(value):
        name = value.get(key) if isinstance(value, dict) else None
        return name if isinstance(name, str) else None

    return pick


Number = Annotated[float, Field(allow_inf_nan=False)]
Pair = _numbers(2)
Vector3 = _numbers(3)
Vector4 = _numbers(4)
Vector6 = _numbers(6)
Row6 = Annotated[list[Number], Field(min_length=6, max_length=6)]
Matrix6 = Annotated[list[Row6], Field(min_length=6, max_length=6), BeforeValidator(_shaped(6, 6))]


class WorldEntry(Entry):
    """Axes, gravity and water."""

    axes: Literal["NED", "ENU"] = Field("NED", description="World axes: NED (z down) or ENU (z up).")
    gravity: Number = Field(9.81, description="Acceleration of gravity, along 'down' of the axes [m/s²].")
    water_density: Number = Field(1025.0, description="Density of the water [kg/m³].")


class OriginEntry(Entry):
    """A frame by position and roll, pitch, yaw: R = Rz(yaw) Ry(pitch) Rx(roll)."""

    xyz: Vector3 = Field([0.0, 0.0, 0.0], description="Position in the axes of the parent [m].")
    rpy: Vector3 = Field([0.0, 0.0, 0.0], description="Roll, pitch, yaw [rad].")


class BranchEntry(Entry):
    """Screw along the parent's z before the other parameters, where a parent carries several bodies."""

    d: Number = Field(0.0, description="Distance along the parent's z [m].")
    theta: Number = Field(0.0, description="Angle about the parent's z [rad].")


class MdhEntry(Entry):
    """A joint frame by Craig's modified Denavit-Hartenberg parameters: x screw (a, alpha), then z screw (d, theta)."""

    a: Number = Field(0.0, description="Distance along the parent's x [m].")
    alpha: Number = Field(0.0, description="Angle about the parent's x [rad].")
    d: Number = Field(0.0, description="Distance along z [m]; a prismatic joint adds its position.")
    theta: Number = Field(0.0, description="Angle about z [rad]; a revolute joint adds its position.")
    branch: BranchEntry = Field(None, description="Screw along the parent's z before the other parameters; none if left out.")


class JointEntry(Entry):
    """What all joints share."""

    model_config = ConfigDict(json_schema_extra={"not": {"required": ["origin", "mdh"]}})

    origin: OriginEntry = Field(None, description="Joint frame on the parent; the parent's frame if left out. Not with mdh.")
    mdh: MdhEntry = Field(None, description="Joint frame by modified Denavit-Hartenberg parameters. Not with origin.")


class FixedEntry(JointEntry):
    """No motion."""

    type: Literal["fixed"] = Field(description="Kind of joint.")


class FreeEntry(JointEntry):
    """Six degrees of freedom."""

    type: Literal["free"] = Field(description="Kind of joint.")
    position: Vector3 = Field([0.0, 0.0, 0.0], description="Initial position in the joint frame [m].")
    orientation: Vector4 = Field([1.0, 0.0, 0.0, 0.0], description="Initial unit quaternion (w, x, y, z), body to joint frame.")
    velocity: Vector6 = Field([0.0] * 6, description="Initial velocity in body axes, linear first [m/s, rad/s].")


class BallEntry(JointEntry):
    """Three rotations."""

    type: Literal["ball"] = Field(description="Kind of joint.")
    orientation: Vector4 = Field([1.0, 0.0, 0.0, 0.0], description="Initial unit quaternion (w, x, y, z), body to joint frame.")
    velocity: Vector3 = Field([0.0, 0.0, 0.0], description="Initial angular velocity in body axes [rad/s].")
    damping: Number = Field(0.0, description="Viscous friction, data for joint drives [N·m·s/rad].")
    friction: Number = Field(0.0, description="Coulomb friction, data for joint drives [N·m].")


class OneAxisEntry(JointEntry):
    """One coordinate along or about an axis."""

    axis: Vector3 = Field([0.0, 0.0, 1.0], description="Axis in the joint frame, need not be unit; z with mdh [-].")
    limits: Pair = Field(None, description="Lower and upper position, data for joint stops [rad or m]; none if left out.")
    damping: Number = Field(0.0, description="Viscous friction, data for joint drives [N·m·s/rad or N·s/m].")
    friction: Number = Field(0.0, description="Coulomb friction, data for joint drives [N·m or N].")
    position: Number = Field(0.0, description="Initial position [rad or m].")
    velocity: Number = Field(0.0, description="Initial velocity [rad/s or m/s].")


class RevoluteEntry(OneAxisEntry):
    """Rotation about an axis."""

    type: Literal["revolute"] = Field(description="Kind of joint.")


class PrismaticEntry(OneAxisEntry):
    """Translation along an axis."""

    type: Literal["prismatic"] = Field(description="Kind of joint.")


_PARTS = {"free": FreeEntry, "revolute": RevoluteEntry, "prismatic": PrismaticEntry, "ball": BallEntry}
Part = _choice(
    "part",
    _value_of("type"),
    "must be one of free, revolute, prismatic, ball (not fixed: give the next part an origin; not composite: list its parts)",
    key="type",
    **_PARTS,
)


class CompositeEntry(Entry):
    """Several joints in a row as one joint."""

    type: Literal["composite"] = Field(description="Kind of joint.")
    parts: Annotated[list[Part], Field(min_length=1)] = Field(description="Joints from the parent outwards, at least one.")


Joint = _choice(
    "joint",
    _value_of("type"),
    "must be one of free, fixed, revolute, prismatic, ball, composite",
    key="type",
    **_PARTS,
    fixed=FixedEntry,
    composite=CompositeEntry,
)


class InertiaEntry(Entry):
    """Mass properties of a rigid body."""

    mass: Number = Field(description="Mass [kg].")
    com: Vector3 = Field([0.0, 0.0, 0.0], description="Centre of mass from the body origin, in body axes [m].")
    tensor: Vector6 = Field([0.0] * 6, description="Moment of inertia about the centre of mass: xx yy zz xy xz yz [kg·m²].")


class AlongEntry(Entry):
    """A cylinder that lies on an axis of the body."""

    radius: Number = Field(description="Radius [m].")
    axis: Literal["x", "y", "z"] = Field(description="Body axis on which the cylinder lies.")
    from_: Number = Field(alias="from", description="Coordinate of one end face on that axis [m].")
    to: Number = Field(description="Coordinate of the other end face on that axis [m].")


class EndsEntry(Entry):
    """A cylinder between two points."""

    radius: Number = Field(description="Radius [m].")
    start: Vector3 = Field(description="Centre of one end face, in body axes [m].")
    end: Vector3 = Field(description="Centre of the other end face, in body axes [m].")


class AddedMatrixEntry(Entry):
    """Added mass as a matrix about the body origin."""

    matrix: Matrix6 = Field(description="Symmetric added mass, positive, linear first [kg, kg·m, kg·m²], 6 rows of 6.")


class AddedDiagonalEntry(Entry):
    """Added mass as a diagonal about the body origin."""

    diagonal: Vector6 = Field(description="Diagonal of the added mass, positive, linear first [kg, kg·m²].")


class AddedSphereEntry(Entry):
    """Added mass of a sphere."""

    shape: Literal["sphere"] = Field(description="Shape of the element.")
    radius: Number = Field(description="Radius [m].")
    center: Vector3 = Field([0.0, 0.0, 0.0], description="Centre, in body axes [m].")


class AddedEllipsoidEntry(Entry):
    """Added mass of an ellipsoid."""

    shape: Literal["ellipsoid"] = Field(description="Shape of the element.")
    axes: Vector3 = Field(description="Semi-axes along x, y, z of its frame [m].")
    origin: OriginEntry = Field(None, description="Centre and axes on the body; the body's frame if left out.")


class AddedBoxEntry(Entry):
    """Added mass of a box."""

    shape: Literal["box"] = Field(description="Shape of the element.")
    size: Vector3 = Field(description="Edge lengths along x, y, z of its frame [m].")
    origin: OriginEntry = Field(None, description="Centre and axes on the body; the body's frame if left out.")


class AddedAlongEntry(AlongEntry):
    """Added mass of a cylinder on a body axis."""

    shape: Literal["cylinder"] = Field(description="Shape of the element.")


class AddedEndsEntry(EndsEntry):
    """Added mass of a cylinder between two points."""

    shape: Literal["cylinder"] = Field(description="Shape of the element.")


class _DragOfCylinder(Entry):
    """What both ways to place a cylinder share."""

    shape: Literal["cylinder"] = Field(description="Shape of the element.")
    coefficient: Number = Field(description="Drag coefficient of the side, on the projected area [-].")
    end_coefficient: Number = Field(None, description="Drag coefficient of the end faces [-]; the side's if left out.")
    points: int = Field(4, description="Gauss points along the axis, 1 to 64.")


class DragAlongEntry(AlongEntry, _DragOfCylinder):
    """Drag of a cylinder on a body axis."""


class DragEndsEntry(EndsEntry, _DragOfCylinder):
    """Drag of a cylinder between two points."""


class DragBoxEntry(Entry):
    """Drag of a box."""

    shape: Literal["box"] = Field(description="Shape of the element.")
    size: Vector3 = Field(description="Edge lengths along x, y, z of its frame [m].")
    coefficients: Vector3 = Field(description="Drag coefficients for flow along x, y, z, each on the area of that face [-].")
    origin: OriginEntry = Field(None, description="Centre and axes on the body; the body's frame if left out.")
    points: int = Field(4, description="Gauss points along each edge of a face, 1 to 64.")


class DragSphereEntry(Entry):
    """Drag of a sphere."""

    shape: Literal["sphere"] = Field(description="Shape of the element.")
    radius: Number = Field(description="Radius [m].")
    coefficient: Number = Field(description="Drag coefficient on the area π·radius² [-].")
    center: Vector3 = Field([0.0, 0.0, 0.0], description="Centre, in body axes [m].")


class DragEllipsoidEntry(Entry):
    """Drag of an ellipsoid."""

    shape: Literal["ellipsoid"] = Field(description="Shape of the element.")
    axes: Vector3 = Field(description="Semi-axes along x, y, z of its frame [m].")
    coefficients: Vector3 = Field(description="Drag coefficients for flow along x, y, z, each on the projected area [-].")
    origin: OriginEntry = Field(None, description="Centre and axes on the body; the body's frame if left out.")


class FoilEntry(Entry):
    """Lift and drag of a thin foil."""

    shape: Literal["foil"] = Field(description="Shape of the element.")
    area: Number = Field(description="Planform area [m²].")
    lift_slope: Number = Field(description="Slope of the lift coefficient at zero angle of attack [1/rad].")
    drag_parallel: Number = Field(description="Drag coefficient at zero angle of attack [-].")
    drag_normal: Number = Field(description="Drag coefficient at 90° angle of attack [-].")
    position: Vector3 = Field([0.0, 0.0, 0.0], description="Centre of pressure, in body axes [m].")
    chord: Vector3 = Field([1.0, 0.0, 0.0], description="Direction from trailing to leading edge, in body axes [-].")
    normal: Vector3 = Field([0.0, 0.0, 1.0], description="Direction across the foil, perpendicular to the chord [-].")


def _rows(value) -> str | None:
    """Diagonal or matrix?"""
    return "matrix" if isinstance(value, list) and any(isinstance(v, list) for v in value) else "diagonal"


Damping6 = _choice("damping", _rows, "must be 6 numbers or 6 rows of 6 numbers", diagonal=Vector6, matrix=Matrix6)


class DampingEntry(Entry):
    """Damping about the body origin: F = −(D ν + Q (|ν| ∘ ν) + coupled terms). At least one key."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    linear: Damping6 = Field([0.0] * 6, description="D, positive: diagonal or 6 rows of 6 [N·s/m, N·m·s/rad, ...].")
    quadratic: Damping6 = Field([0.0] * 6, description="Q, positive: diagonal or 6 rows of 6 [N·s²/m², N·m·s²/rad², ...].")
    coupled: dict[Annotated[str, Field(pattern=COUPLED_PATTERN)], Number] = Field(
        {},
        description="Coupled terms: 'Y|r|v' with c adds −c |r| v to Y [SI].",
        json_schema_extra={"additionalProperties": False},
    )


def _element(value) -> str | None:
    """Which element of added mass or drag a mapping means."""
    if not isinstance(value, dict):
        return None
    shape = value.get("shape")
    if shape == "cylinder":
        return "cylinder_along" if value.keys() & {"axis", "from", "to"} else "cylinder_ends"
    if "shape" in value:
        return shape if isinstance(shape, str) else None
    if value.keys() & {"linear", "quadratic", "coupled"}:
        return "damping"
    return next((key for key in ("matrix", "diagonal") if key in value), None)


def _one_or_many(group: str, element):
    pick = lambda value: {dict: "one", list: "many"}.get(type(value))  # noqa: E731
    return _choice(f"{group} list", pick, "must be one element {...} or a list of them", one=element, many=list[element])


AddedMass = _one_or_many(
    "added mass",
    _choice(
        "added mass",
        _element,
        "must be one of sphere, ellipsoid, cylinder, box; or give 'matrix' or 'diagonal' and no shape",
        key="shape",
        matrix=AddedMatrixEntry,
        diagonal=AddedDiagonalEntry,
        sphere=AddedSphereEntry,
        ellipsoid=AddedEllipsoidEntry,
        box=AddedBoxEntry,
        cylinder_along=AddedAlongEntry,
        cylinder_ends=AddedEndsEntry,
    ),
)
Drag = _one_or_many(
    "drag",
    _choice(
        "drag",
        _element,
        "must be one of cylinder, box, sphere, ellipsoid, foil; or give 'linear', 'quadratic' or 'coupled' and no shape",
        key="shape",
        box=DragBoxEntry,
        sphere=DragSphereEntry,
        ellipsoid=DragEllipsoidEntry,
        foil=FoilEntry,
        damping=DampingEntry,
        cylinder_along=DragAlongEntry,
        cylinder_ends=DragEndsEntry,
    ),
)


class HydroEntry(Entry):
    """What the water does to a body."""

    volume: Number = Field(0.0, description="Displaced volume [m³].")
    buoyancy_center: Vector3 = Field([0.0, 0.0, 0.0], description="Centre of buoyancy, in body axes [m].")
    added_mass: AddedMass = Field([], description="Added mass, one element or a list whose matrices add up [kg, kg·m, kg·m²].")
    drag: Drag = Field([], description="Drag and damping, one element or a list whose wrenches add up [N, N·m].")


class ShapeEntry(Entry):
    """What all shapes share."""

    origin: OriginEntry = Field(None, description="Shape frame on the body; the body's frame if left out.")
    color: Vector3 = Field(None, description="Red, green, blue, each 0 to 1 [-]; the viewer's choice if left out.")
    contact: bool = Field(True, description="Whether it takes part in contact; otherwise it is for display only.")


class BoxEntry(ShapeEntry):
    """A box about its centre."""

    shape: Literal["box"] = Field(description="Kind of shape.")
    size: Vector3 = Field(description="Edge lengths along x, y, z [m].")


class SphereEntry(ShapeEntry):
    """A sphere."""

    shape: Literal["sphere"] = Field(description="Kind of shape.")
    radius: Number = Field(description="Radius [m].")


class CylinderEntry(ShapeEntry):
    """A cylinder about its centre, along z of its frame."""

    shape: Literal["cylinder"] = Field(description="Kind of shape.")
    radius: Number = Field(description="Radius [m].")
    length: Number = Field(description="Length along z [m].")


class CapsuleEntry(ShapeEntry):
    """A cylinder with round caps, along z of its frame."""

    shape: Literal["capsule"] = Field(description="Kind of shape.")
    radius: Number = Field(description="Radius [m].")
    length: Number = Field(description="Length along z between the centres of the caps [m].")


class MeshEntry(ShapeEntry):
    """A mesh file."""

    shape: Literal["mesh"] = Field(description="Kind of shape.")
    file: str = Field(description="Path of the mesh, relative to the model file.")
    scale: Vector3 = Field([1.0, 1.0, 1.0], description="Scale along x, y, z [-].")


Shape = _choice(
    "shape",
    _value_of("shape"),
    "must be one of box, cylinder, sphere, capsule, mesh",
    key="shape",
    box=BoxEntry,
    cylinder=CylinderEntry,
    sphere=SphereEntry,
    capsule=CapsuleEntry,
    mesh=MeshEntry,
)


class BodyEntry(Entry):
    """One rigid body and the joint that carries it."""

    name: str = Field(description="Name, unique in the model; not 'world'.")
    parent: str | None = Field(None, description="Name of the parent body; the world if left out, null or 'world'.")
    joint: Joint = Field(description="How the body moves on its parent.")
    inertia: InertiaEntry = Field(None, description="Mass properties; none for a frame that only carries others.")
    hydro: HydroEntry = Field(None, description="What the water does to it; a dry body if left out.")
    frames: dict[str, OriginEntry] = Field({}, description="Named frames on the body, names unique in the model [m, rad].")
    shapes: list[Shape] = Field([], description="Shapes for display and contact.")


class Header(Entry):
    """All of a model file but its bodies."""

    hydromechs: Annotated[Literal[1], BeforeValidator(_version)] = Field(description="Version of the file format: 1.")
    name: str = Field(description="Name of the model.")
    description: str = Field("", description="What it is, for people.")
    world: WorldEntry = Field(None, description="The surroundings: axes, gravity and water.")
    sources: dict[str, str] = Field({}, description="Where numbers come from: what, and its source.")


class ModelFile(Header):
    """A mechanism in water: a tree (or several) of rigid bodies with joints, inertia and hydrodynamic data."""

    model_config = ConfigDict(title="HydroMechs model file, version 1")

    bodies: Annotated[list[BodyEntry], Field(min_length=1)] = Field(description="Bodies, in any order; at least one.")


def json_schema() -> dict:
    """JSON Schema (2020-12) of the model file, for editors and other programs."""
    schema = ModelFile.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_tidy(schema)}


def _tidy(node, named: bool = True):
    """Without the titles of fields, which repeat their keys, and without defaults of null, which mean "left out".

    `named` tells a schema from a table of schemas by name, where `title` and `default` could be names.
    """
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    tables = ("properties", "$defs", "patternProperties")
    out = {key: _tidy(value, not named or key not in tables) for key, value in node.items()}
    if named:
        if "properties" not in out:
            out.pop("title", None)
        if out.get("default", 0) is None:
            del out["default"]
    return out
