"""Shapes of bodies, for display and for contact."""

from __future__ import annotations

from dataclasses import dataclass, field

from hydromechs.values import floats, number

from ._placement import Origin

__all__ = ["Box", "Capsule", "Cylinder", "Mesh", "Shape", "Sphere"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What all shapes share."""

    origin: Origin = field(default_factory=Origin)
    """Shape frame on the body."""
    color: tuple[float, float, float] | None = None
    """Red, green, blue from 0 to 1, shape (3,)."""
    contact: bool = True
    """Whether the shape takes part in contact; otherwise it is for display only."""

    def __post_init__(self):
        if self.color is not None:
            object.__setattr__(self, "color", floats(self.color, 3, "shape.color"))
        if not isinstance(self.contact, bool):
            raise ValueError(f"shape.contact must be true or false, got {self.contact!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Box(Shape):
    """A box about its centre."""

    size: tuple[float, float, float]
    """Edge lengths along x, y, z [m], shape (3,)."""
    kind = "box"

    def __post_init__(self):
        super(Box, self).__post_init__()
        object.__setattr__(self, "size", floats(self.size, 3, "shape.size"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sphere(Shape):
    """A sphere about its centre."""

    radius: float
    """Radius [m]."""
    kind = "sphere"

    def __post_init__(self):
        super(Sphere, self).__post_init__()
        object.__setattr__(self, "radius", number(self.radius, "shape.radius"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cylinder(Sphere):
    """A cylinder about its centre, along z of its frame."""

    length: float
    """Length along z [m]; of a capsule, between the centres of its caps."""
    kind = "cylinder"

    def __post_init__(self):
        super(Cylinder, self).__post_init__()
        object.__setattr__(self, "length", number(self.length, "shape.length"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Capsule(Cylinder):
    """A cylinder with round caps, along z of its frame."""

    kind = "capsule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mesh(Shape):
    """A mesh file."""

    file: str
    """Path as written in the model file, relative to it."""
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Scale along x, y, z, shape (3,)."""
    kind = "mesh"

    def __post_init__(self):
        super(Mesh, self).__post_init__()
        object.__setattr__(self, "scale", floats(self.scale, 3, "shape.scale"))
