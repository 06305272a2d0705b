"""What stands still in the world and can be touched: planes, height fields, boxes, cylinders, spheres. In world axes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

from hydromechs import geometry
from hydromechs.errors import FieldError
from hydromechs.geometry import Origin, Placed
from hydromechs.model import Model
from hydromechs.model.component import Action, Component, Now, Values
from hydromechs.registry import ByName, Inline
from hydromechs.values import Bound, Edges, Positive, Rising, Vector3, check_fields

from ._law import Material

__all__ = ["Box", "Cylinder", "HeightField", "Plane", "Sphere", "Terrain"]

Heights = Annotated[tuple[tuple[float, ...], ...], Bound(size=0, rows=0)]
"""Rows of finite numbers."""


@dataclass(frozen=True, kw_only=True)
class Terrain(Component):
    """Something that stands still and can be touched: a part from which contacts are derived. What all terrain shares."""

    kind = "terrain"

    name: str
    """Name, unique in a scene."""
    material: Annotated[Material, ByName()]
    """How it meets what touches it."""

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name):
            raise FieldError("terrain.name", self.name, "must be a text that is not empty")
        if not isinstance(self.material, Material):
            raise FieldError(f"terrain {self.name!r}.material", self.material, "must be a Material")
        check_fields(self, f"terrain {self.name!r}")
        _ = self.solid

    @property
    def acts(self) -> bool:
        """Contacts act in its place."""
        return False

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Nothing."""
        return Action()

    def owns(self, model: Model, component: Component) -> bool:
        """True of contacts with it."""
        return component is self or getattr(component, "solid", None) is self

    @property
    def solid(self) -> Placed:
        """Its shape in the world."""
        try:
            return self._placed()
        except FieldError as e:
            raise FieldError(f"terrain {self.name!r}.{e.field}", e.value, e.must) from None

    def _placed(self) -> Placed:
        raise TypeError(f"{type(self).__name__} has no shape; use a plane, height field, box, sphere or cylinder")


@dataclass(frozen=True, kw_only=True)
class Plane(Terrain):
    """A half space: solid on the side away from the normal."""

    point: Vector3 = (0.0, 0.0, 0.0)
    """A point of the plane, in world axes [m], shape (3,)."""
    normal: Vector3
    """Direction out of the solid, of any length but 0 [-], shape (3,): [0, 0, -1] is a floor in NED, [0, 0, 1] in ENU."""

    def _placed(self) -> Placed:
        return geometry.Plane.through(self.point, self.normal)


@dataclass(frozen=True, kw_only=True)
class HeightField(Terrain):
    """A surface given by its height over a grid, smooth in between and beyond (cubic splines through the heights).

    At an edge the surface has no curvature across it. Outside the grid it levels out within two cells, which adds half of what
    a straight continuation would, and goes on level. Slope and curvature are continuous everywhere.
    """

    x: Rising
    """Grid along x of the world, evenly spaced, rising [m], shape (nx,), nx at least 2."""
    y: Rising
    """Grid along y of the world, evenly spaced, rising [m], shape (ny,), ny at least 2."""
    heights: Heights
    """Height UP from the mean surface of the water, so below 0 under water: a row for each x [m], shape (nx, ny)."""

    @cached_property
    def surface(self) -> geometry.HeightField:
        """Its shape, which keeps the coefficients of its splines."""
        return geometry.HeightField(x=self.x, y=self.y, heights=self.heights)

    def _placed(self) -> Placed:
        return Placed(shape=self.surface)

    @property
    def spacing(self) -> tuple[float, float]:
        """Distance between grid lines along x and y [m]."""
        return self.surface.spacing


@dataclass(frozen=True, kw_only=True)
class Box(Terrain):
    """A box about its centre."""

    size: Edges
    """Edge lengths along x, y, z of its frame [m], shape (3,)."""
    origin: Annotated[Origin, Inline()] = field(default_factory=Origin)
    """Its centre and axes in the world."""

    def _placed(self) -> Placed:
        return Placed(shape=geometry.Box(size=self.size), origin=self.origin)


@dataclass(frozen=True, kw_only=True)
class Sphere(Terrain):
    """A sphere."""

    radius: Positive
    """Radius [m]."""
    center: Vector3 = (0.0, 0.0, 0.0)
    """Centre in world axes [m], shape (3,)."""

    def _placed(self) -> Placed:
        return geometry.Sphere(radius=self.radius).at(self.center)


@dataclass(frozen=True, kw_only=True)
class Cylinder(Terrain):
    """A cylinder about its centre, along z of its frame."""

    radius: Positive
    """Radius [m]."""
    length: Positive
    """Length along z [m]."""
    origin: Annotated[Origin, Inline()] = field(default_factory=Origin)
    """Its centre and axes in the world."""

    def _placed(self) -> Placed:
        return Placed(shape=geometry.Cylinder(radius=self.radius, length=self.length), origin=self.origin)
