"""Added mass of a body: given as a matrix, or from shapes. The data are here, the formulas in `hydromechs.hydro`."""

from __future__ import annotations

from dataclasses import dataclass, field

from hydromechs.geometry import Origin
from hydromechs.values import Edges, Matrix6, Positive, Vector3, Vector6, convert_fields

__all__ = ["Box", "Cylinder", "Diagonal", "Ellipsoid", "Matrix", "Sphere"]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A full symmetric 6×6 added mass about `origin`, in its axes, positive, linear first."""

    matrix: Matrix6
    """Symmetric added mass, positive, linear first: 6 rows of 6 [kg, kg·m, kg·m²], shape (6, 6)."""
    origin: Origin = field(default_factory=Origin)
    """Point and axes on the body to which the matrix refers; defaults to the body frame."""

    def __post_init__(self) -> None:
        convert_fields(self, "added_mass")


@dataclass(frozen=True, slots=True)
class Diagonal:
    """A diagonal added mass about `origin`, in its axes, positive, linear first."""

    diagonal: Vector6
    """Diagonal of the added mass, positive, linear first [kg, kg·m²], shape (6,)."""
    origin: Origin = field(default_factory=Origin)
    """Point and axes on the body to which the diagonal refers; defaults to the body frame."""

    def __post_init__(self) -> None:
        convert_fields(self, "added_mass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sphere:
    """Half the displaced mass, in all directions."""

    radius: Positive
    """Radius [m]."""
    center: Vector3 = (0.0, 0.0, 0.0)
    """Centre on the body [m], shape (3,)."""

    def __post_init__(self) -> None:
        convert_fields(self, "added_mass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ellipsoid:
    """Lamb's exact values of a triaxial ellipsoid."""

    axes: Edges
    """Semi-axes along x, y, z of its frame [m], shape (3,)."""
    origin: Origin = field(default_factory=Origin)
    """Centre and axes on the body."""

    def __post_init__(self) -> None:
        convert_fields(self, "added_mass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cylinder:
    """Strips across the axis, a thin disc's added mass along it."""

    start: Vector3
    """Centre of one end face [m], shape (3,)."""
    end: Vector3
    """Centre of the other end face [m], shape (3,)."""
    radius: Positive
    """Radius [m]."""

    def __post_init__(self) -> None:
        convert_fields(self, "added_mass")

    @classmethod
    def along(cls, axis: str, start: float, end: float, *, radius: float) -> Cylinder:
        """A cylinder on the body's `axis` ("x", "y" or "z") from `start` to `end` [m], of `radius` [m]."""
        if axis not in ("x", "y", "z"):
            raise ValueError(f"axis is {axis!r}, must be 'x', 'y' or 'z'")

        def on(s: float) -> tuple[float, float, float]:
            return s if axis == "x" else 0.0, s if axis == "y" else 0.0, s if axis == "z" else 0.0

        return cls(start=on(start), end=on(end), radius=radius)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Published coefficients of plates, prisms and rectangular sections, see `hydromechs.hydro`."""

    size: Edges
    """Edge lengths along x, y, z of its frame [m], shape (3,)."""
    origin: Origin = field(default_factory=Origin)
    """Centre and axes on the body."""

    def __post_init__(self) -> None:
        convert_fields(self, "added_mass")


AddedMassElement = Matrix | Diagonal | Sphere | Ellipsoid | Cylinder | Box
"""An element of added mass."""
