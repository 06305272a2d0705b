"""What stands still in the world and can be touched: planes, height fields, boxes, cylinders, spheres. In world axes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hydromechs.model import Origin
from hydromechs.values import floats, is_finite, positive

from ._law import Material

__all__ = ["Box", "Cylinder", "HeightField", "Plane", "Sphere", "Terrain"]


@dataclass(frozen=True, kw_only=True)
class Terrain:
    """What all terrain shares."""

    name: str
    """Name, unique in a scene."""
    material: Material
    """How it meets what touches it."""

    def __post_init__(self):
        if not (isinstance(self.name, str) and self.name):
            raise ValueError(f"terrain name is {self.name!r}, must be a text")
        if not isinstance(self.material, Material):
            raise ValueError(f"terrain {self.name!r}: material is {self.material!r}, must be a Material")

    def _vector(self, name: str) -> None:
        """Make a field a tuple of three finite floats."""
        value = floats(getattr(self, name), 3, f"terrain {self.name!r}: {name}")
        object.__setattr__(self, name, value)
        if not is_finite(value):
            raise ValueError(f"terrain {self.name!r}: {name} is {value}, must be finite")

    def _size(self, name: str) -> None:
        """Make a field a float above 0."""
        object.__setattr__(self, name, positive(getattr(self, name), f"terrain {self.name!r}: {type(self).__name__}.{name}"))


@dataclass(frozen=True, kw_only=True)
class Plane(Terrain):
    """A half space: solid on the side away from the normal."""

    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """A point of the plane [m], shape (3,)."""
    normal: tuple[float, float, float]
    """Direction out of the solid, of any length but 0, shape (3,): (0, 0, -1) is a floor in NED, (0, 0, 1) in ENU."""

    def __post_init__(self):
        super().__post_init__()
        self._vector("point")
        self._vector("normal")
        if not any(self.normal):
            raise ValueError(f"terrain {self.name!r}: normal is zero; give the direction out of the solid")


@dataclass(frozen=True, kw_only=True)
class HeightField(Terrain):
    """A surface given by its height over a grid, smooth in between (quadratic splines through the heights).

    At an edge the surface has no curvature across it; outside the grid the edge goes on level along the outward direction.
    """

    x: tuple[float, ...]
    """Grid along x of the world, evenly spaced, rising [m], shape (nx,), nx at least 2."""
    y: tuple[float, ...]
    """Grid along y of the world, evenly spaced, rising [m], shape (ny,), ny at least 2."""
    heights: tuple[tuple[float, ...], ...]
    """Height UP, against `world.down`, from the mean surface of the water (so below 0 under water) [m], shape (nx, ny)."""

    def __post_init__(self):
        super().__post_init__()
        for name in ("x", "y"):
            value = tuple(getattr(self, name))
            value = floats(value, len(value), f"terrain {self.name!r}: {name}")
            steps = np.diff(value)
            if len(value) < 2 or not is_finite(value) or not np.all(steps > 0.0):
                raise ValueError(f"terrain {self.name!r}: {name} must have two or more finite, rising numbers")
            if np.ptp(steps) > 1e-6 * steps.mean():
                spread = f"{steps.min():g} to {steps.max():g} m"
                raise ValueError(f"terrain {self.name!r}: {name} has spacings from {spread}, must be evenly spaced")
            object.__setattr__(self, name, value)
        nx, ny = len(self.x), len(self.y)
        if len(self.heights) != nx:
            raise ValueError(f"terrain {self.name!r}: heights has {len(self.heights)} rows, must have {nx}, one for each x")
        rows = tuple(floats(row, ny, f"terrain {self.name!r}: heights row {i}") for i, row in enumerate(self.heights))
        if not is_finite(rows):
            raise ValueError(f"terrain {self.name!r}: heights must be finite")
        object.__setattr__(self, "heights", rows)

    @cached_property
    def spacing(self) -> tuple[float, float]:
        """Distance between grid lines along x and y [m]."""
        return tuple((a[-1] - a[0]) / (len(a) - 1) for a in (self.x, self.y))

    @cached_property
    def coefficients(self) -> tuple[float, ...]:
        """Coefficients of quadratic B-splines with a ring around the grid, row-major [m], shape ((nx + 2) (ny + 2),)."""
        return tuple(_spline_coefficients(_spline_coefficients(np.array(self.heights)).T).T.ravel().tolist())


@dataclass(frozen=True, kw_only=True)
class Box(Terrain):
    """A box about its centre."""

    size: tuple[float, float, float]
    """Edge lengths along x, y, z of its frame [m], shape (3,)."""
    origin: Origin = field(default_factory=Origin)
    """Its centre and axes in the world."""

    def __post_init__(self):
        super().__post_init__()
        self._vector("size")
        if min(self.size) <= 0.0:
            raise ValueError(f"terrain {self.name!r}: size is {self.size}, must be above 0")


@dataclass(frozen=True, kw_only=True)
class Sphere(Terrain):
    """A sphere."""

    radius: float
    """Radius [m]."""
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Centre [m], shape (3,)."""

    def __post_init__(self):
        super().__post_init__()
        self._size("radius")
        self._vector("center")


@dataclass(frozen=True, kw_only=True)
class Cylinder(Terrain):
    """A cylinder about its centre, along z of its frame."""

    radius: float
    """Radius [m]."""
    length: float
    """Length along z [m]."""
    origin: Origin = field(default_factory=Origin)
    """Its centre and axes in the world."""

    def __post_init__(self):
        super().__post_init__()
        self._size("radius")
        self._size("length")


def _spline_coefficients(h: np.ndarray) -> np.ndarray:
    """c of shape (n + 2, ...) with (c_{i−1} + 6 c_i + c_{i+1}) / 8 = h_i, the ends continued straight (c_{−1} = 2 c_0 − c_1).

    At an end that leaves c_0 = h_0, so the system is tridiagonal and diagonally dominant: plain elimination.
    """
    n = len(h)
    c = np.array(h, dtype=float)
    pivot = np.ones(n)
    for i in range(1, n - 1):  # rows of 1, 6, 1 with 8 h; the first and the last row are c = h
        above = 0.0 if i == 1 else 1.0 / pivot[i - 1]
        pivot[i] = 6.0 - above
        c[i] = 8.0 * h[i] - (c[0] if i == 1 else above * c[i - 1])
    for i in range(n - 2, 0, -1):
        c[i] = (c[i] - c[i + 1]) / pivot[i]
    return np.concatenate([[2.0 * c[0] - c[1]], c, [2.0 * c[-1] - c[-2]]])
