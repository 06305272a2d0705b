"""What stands still in the world and can be touched: planes, height fields, boxes, cylinders, spheres. In world axes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.model import Model, Origin
from hydromechs.model.component import Action, Component, Now, Values
from hydromechs.registry import ByName, Inline
from hydromechs.values import Array, Bound, Edges, Positive, Rising, Vector3, check_fields

from ._law import Material

__all__ = ["Box", "Cylinder", "HeightField", "Plane", "Sphere", "Terrain"]

RINGS = 4
"""Rings of coefficients around the grid of a height field: where it levels out, and two beyond for the spline there."""

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

    def _wrong(self, name: str, must: str) -> FieldError:
        """The error of a field that is not as it must be."""
        value = getattr(self, name)
        return FieldError(f"terrain {self.name!r}.{name}", list(value) if isinstance(value, tuple) else value, must)


@dataclass(frozen=True, kw_only=True)
class Plane(Terrain):
    """A half space: solid on the side away from the normal."""

    point: Vector3 = (0.0, 0.0, 0.0)
    """A point of the plane, in world axes [m], shape (3,)."""
    normal: Vector3
    """Direction out of the solid, of any length but 0 [-], shape (3,): [0, 0, -1] is a floor in NED, [0, 0, 1] in ENU."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not any(self.normal):
            raise self._wrong("normal", "must not be zero; give the direction out of the solid")


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

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("x", "y"):
            steps = np.diff(getattr(self, name))
            if not len(steps):
                raise self._wrong(name, "must have two or more numbers")
            if np.ptp(steps) > 1e-6 * steps.mean():
                spread = f"{steps.min():g} to {steps.max():g} m"
                raise self._wrong(name, f"must be evenly spaced, but has spacings from {spread}")
        sizes = [len(row) for row in self.heights]
        if len(sizes) != len(self.x):
            raise self._wrong("heights", f"must have {len(self.x)} rows, one for each x, has {len(sizes)}")
        for i, size in enumerate(sizes):
            if size != len(self.y):
                must = f"must have {len(self.y)} numbers, one for each y, has {size}"
                raise FieldError(f"terrain {self.name!r}.heights", list(self.heights[i]), f"{must} in row {i}")

    @cached_property
    def spacing(self) -> tuple[float, float]:
        """Distance between grid lines along x and y [m]."""
        x, y = self.x, self.y
        return (x[-1] - x[0]) / (len(x) - 1), (y[-1] - y[0]) / (len(y) - 1)

    @cached_property
    def coefficients(self) -> tuple[float, ...]:
        """Coefficients of cubic B-splines with rings around the grid, row-major [m], shape ((nx + 2 rings) (ny + 2 rings),)."""
        return tuple(_spline_coefficients(_spline_coefficients(np.array(self.heights)).T).T.ravel().tolist())

    @cached_property
    def slopes(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Bounds of the slope along x and along y [-]: least and greatest step between coefficients, per spacing."""
        c = np.reshape(self.coefficients, (len(self.x) + 2 * RINGS, -1))
        steps = [np.diff(c, axis=axis) / spacing for axis, spacing in enumerate(self.spacing)]
        return (float(steps[0].min()), float(steps[0].max())), (float(steps[1].min()), float(steps[1].max()))


@dataclass(frozen=True, kw_only=True)
class Box(Terrain):
    """A box about its centre."""

    size: Edges
    """Edge lengths along x, y, z of its frame [m], shape (3,)."""
    origin: Annotated[Origin, Inline()] = field(default_factory=Origin)
    """Its centre and axes in the world."""


@dataclass(frozen=True, kw_only=True)
class Sphere(Terrain):
    """A sphere."""

    radius: Positive
    """Radius [m]."""
    center: Vector3 = (0.0, 0.0, 0.0)
    """Centre in world axes [m], shape (3,)."""


@dataclass(frozen=True, kw_only=True)
class Cylinder(Terrain):
    """A cylinder about its centre, along z of its frame."""

    radius: Positive
    """Radius [m]."""
    length: Positive
    """Length along z [m]."""
    origin: Annotated[Origin, Inline()] = field(default_factory=Origin)
    """Its centre and axes in the world."""


def _spline_coefficients(h: Array) -> Array:
    """c of shape (n + 2 rings, ...) with (c_{i−1} + 4 c_i + c_{i+1}) / 6 = h_i.

    The ends go on straight for one (c_{−1} = 2 c_0 − c_1), and level from there (c_{−2} = c_{−3} = … = c_{−1}). At an end
    that leaves c_0 = h_0, so the system is tridiagonal and diagonally dominant: plain elimination.
    """
    n = len(h)
    c = np.array(h, dtype=float)
    pivot = np.ones(n)
    for i in range(1, n - 1):  # rows of 1, 4, 1 with 6 h; the first and the last row are c = h
        above = 0.0 if i == 1 else 1.0 / pivot[i - 1]
        pivot[i] = 4.0 - above
        c[i] = 6.0 * h[i] - (c[0] if i == 1 else above * c[i - 1])
    for i in range(n - 2, 0, -1):
        c[i] = (c[i] - c[i + 1]) / pivot[i]
    return np.concatenate([[2.0 * c[0] - c[1]] * RINGS, c, [2.0 * c[-1] - c[-2]] * RINGS])
