"""Added mass of a body, as a matrix or from shapes. This module contains the data; the formulas are in `hydromechs.hydro`."""

from dataclasses import dataclass, field
from typing import Annotated

from hydromechs.geometry import Origin, Placed
from hydromechs.registry import Hidden
from hydromechs.values import Matrix6, Vector6, convert_fields

from ._body_shape import own_shape, solid_of

__all__ = ["Diagonal", "Matrix", "ShapeAddedMass"]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Full symmetric 6×6 added mass about `origin` and in its axes, positive, linear first."""

    matrix: Matrix6
    """Symmetric added mass, positive, linear first: 6 rows of 6 [kg, kg·m, kg·m²], shape (6, 6)."""
    origin: Origin = field(default_factory=Origin)
    """Point and axes on the body to which the matrix refers; defaults to the body frame."""

    def __post_init__(self) -> None:
        convert_fields(self, "added_mass")


@dataclass(frozen=True, slots=True)
class Diagonal:
    """Diagonal added mass about `origin` and in its axes, positive, linear first."""

    diagonal: Vector6
    """Diagonal of the added mass, positive, linear first [kg, kg·m²], shape (6,)."""
    origin: Origin = field(default_factory=Origin)
    """Point and axes on the body to which the diagonal refers; defaults to the body frame."""

    def __post_init__(self) -> None:
        convert_fields(self, "added_mass")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeAddedMass:
    """Added mass of a sphere, ellipsoid, cylinder or box.

    Exact for spheres and ellipsoids (Lamb). A cylinder uses strip theory across its axis and a thin disc along it.
    Boxes follow published coefficients of plates, prisms and rectangular sections.
    """

    shape: str | Placed
    """Name of a shape of the body, or an inline shape."""
    placed: Annotated[Placed | None, Hidden()] = field(default=None, repr=False)
    """Body shape with the name `shape`; set by the body."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", own_shape(self.shape, "added_mass"))

    @property
    def solid(self) -> Placed:
        """Shape of the element, placed on the body."""
        return solid_of(self)


AddedMassElement = Matrix | Diagonal | ShapeAddedMass
"""Element of added mass."""
