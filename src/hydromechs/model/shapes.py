"""Shapes of bodies, for contact and for the free surface."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from hydromechs.geometry import Origin
from hydromechs.values import Bound, Edges, Positive, Vector3, convert_fields

__all__ = ["Box", "Capsule", "Cylinder", "Mesh", "Shape", "Sphere"]

Color = Annotated[tuple[float, float, float], Bound(least=0.0, most=1.0, size=3)]
"""Red, green and blue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What all shapes share."""

    name: str = field(default="", compare=False)
    """Name, unique on the body; one by its type if omitted."""
    origin: Origin = field(default_factory=Origin)
    """Shape frame on the body; the body's frame if left out."""
    color: Color | None = None
    """Red, green, blue, each 0 to 1 [-], shape (3,); the viewer's choice if left out."""
    contact: bool = True
    """Whether the shape takes part in contact; the free surface cuts it in any case."""

    def __post_init__(self) -> None:
        convert_fields(self, "shape")
        if not isinstance(self.contact, bool):
            raise ValueError(f"shape.contact must be true or false, got {self.contact!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Box(Shape):
    """A box about its centre."""

    size: Edges
    """Edge lengths along x, y, z [m], shape (3,)."""
    kind = "box"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sphere(Shape):
    """A sphere about its centre."""

    radius: Positive
    """Radius [m]."""
    kind = "sphere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cylinder(Sphere):
    """A cylinder about its centre, along z of its frame."""

    length: Positive
    """Length along z [m]; of a capsule, between the centres of its caps."""
    kind = "cylinder"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capsule(Cylinder):
    """A cylinder with round caps, along z of its frame."""

    kind = "capsule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mesh(Shape):
    """A mesh file."""

    file: str
    """Path of the mesh, relative to the model file."""
    scale: Vector3 = (1.0, 1.0, 1.0)
    """Scale along x, y, z, not 0 [-], shape (3,)."""
    kind = "mesh"
