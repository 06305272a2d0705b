"""What a body looks like. For the eye only: nothing here touches, floats or weighs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from hydromechs.geometry import Origin
from hydromechs.registry import Hidden
from hydromechs.values import Bound, Edges, Positive, Vector3, convert_fields

from .shapes import Color

__all__ = ["Box", "Capsule", "Cylinder", "Ellipsoid", "Mesh", "Role", "Sphere", "Thruster", "Visual"]

Part = Annotated[float, Bound(least=0.0, most=1.0)]
"""A number from 0 to 1."""
Size = Annotated[float, Bound(least=0.0)]
"""A length that may be 0."""
Role = Literal["hull", "float", "frame", "thruster", "housing", "glass", "link", "joint", "gripper", "tool", "load"]
"""What a part is; the viewer has a colour for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visual:
    """What all looks share."""

    origin: Origin = field(default_factory=Origin)
    """Frame of the shape on the body; the body's frame if left out."""
    color: Color | None = None
    """Red, green, blue, each 0 to 1 [-], shape (3,); that of the role if left out."""
    opacity: Part = 1.0
    """0 is not seen, 1 is solid [-]."""
    role: Role = "hull"
    """What the part is; gives its colour."""

    def __post_init__(self) -> None:
        convert_fields(self, "visual")


@dataclass(frozen=True, slots=True, kw_only=True)
class Box(Visual):
    """A box about its centre."""

    size: Edges
    """Edge lengths along x, y, z [m], shape (3,)."""
    rounding: Size = 0.0
    """Radius of its edges, up to half of the shortest one [m]."""
    kind = "box"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sphere(Visual):
    """A sphere about its centre."""

    radius: Positive
    """Radius [m]."""
    kind = "sphere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ellipsoid(Visual):
    """An ellipsoid about its centre."""

    axes: Edges
    """Half lengths along x, y, z [m], shape (3,)."""
    kind = "ellipsoid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cylinder(Visual):
    """A cylinder about its centre, along z of its frame."""

    radius: Positive
    """Radius [m]."""
    length: Positive
    """Length along z [m]."""
    bore: Size = 0.0
    """Radius of a hole along z, below the radius: a tube or a ring [m]."""
    kind = "cylinder"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capsule(Visual):
    """A cylinder with round caps about its centre, along z of its frame."""

    radius: Positive
    """Radius [m]."""
    length: Positive
    """Length along z between the centres of its caps [m]."""
    kind = "capsule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thruster(Visual):
    """A duct with a propeller, along x of its frame: give it the origin of the thruster's frame. It turns in a replay."""

    radius: Positive
    """Outer radius of the duct [m]."""
    length: Positive
    """Length of the duct [m]."""
    role: Role = "thruster"
    """What the part is; gives its colour."""
    kind = "thruster"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mesh(Visual):
    """A mesh file: OBJ, STL, GLB, or DAE with `hydromechs[collada]`. Its colours are used by default.

    A missing or unreadable file is drawn as a grey box, with a warning.
    """

    file: str
    """Path of the mesh, relative to the model file."""
    scale: Vector3 = (1.0, 1.0, 1.0)
    """Scale along x, y, z, not 0 [-], shape (3,)."""
    folder: Annotated[str, Hidden()] = field(default="", compare=False)
    """Folder that the path starts from; of a model that was loaded, that of its file."""
    kind = "mesh"
