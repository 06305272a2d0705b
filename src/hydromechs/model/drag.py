"""Drag, damping and lift elements of a body. The data are here, the equations in `hydromechs.hydro`.

Positions and directions are in body axes from the body origin unless an element has an `origin` of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from hydromechs.geometry import Origin, Placed
from hydromechs.registry import Hidden, Pattern
from hydromechs.values import (
    Bound,
    Finite,
    Matrix6,
    NotNegative,
    Positive,
    Vector3,
    Vector6,
    convert_fields,
    floats,
    matrix,
    number,
    whole,
)

from ._refers import own_shape, solid_of

__all__ = ["Damping", "Foil", "ShapeDrag"]

Coefficients = Annotated[tuple[float, float, float], Bound(least=0.0, size=3)]
"""Drag coefficients for three directions."""
Points = Annotated[int, Bound(least=1, most=64, whole=True)]
"""Gauss points."""
COUPLED_TERM = re.compile(r"([XYZKMN])\|([uvwpqr])\|([uvwpqr])")
"""A cross-coupled damping coefficient in Fossen's notation, as Y|r|v."""
Term = Annotated[str, Pattern(COUPLED_TERM.pattern, "write it as 'Y|r|v' (one of XYZKMN, then two of uvwpqr)")]
"""The name of a cross-coupled damping coefficient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeDrag:
    """Pressure drag of a cylinder, box, sphere or ellipsoid.

    A cylinder is cut into strips (McMillan, Orin and McGhee 1995, eqs. 17-22), a box is taken face pair by face pair. Spheres
    and ellipsoids feel the flow at their centre, and do not resist rotation about it.
    """

    shape: str | Placed
    """Name of a shape of the body, or a shape of its own."""
    coefficient: NotNegative | Coefficients
    """Drag coefficient on projected area [-]: of the side of a cylinder (2·radius·length), of a sphere; of a box or ellipsoid
    one for all directions, or three for flow along x, y, z of the shape, shape (3,)."""
    end_coefficient: NotNegative | None = None
    """Drag coefficient of the end faces of a cylinder, on their area [-]; defaults to that of the side, 0 for open ends."""
    points: Points = 4
    """Gauss points along a cylinder, or along each edge of a face of a box, 1 to 64."""
    placed: Annotated[Placed | None, Hidden()] = field(default=None, repr=False)
    """The shape of the body that `shape` names; set by the body."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", own_shape(self.shape, "drag"))
        row = hasattr(self.coefficient, "__len__") and not isinstance(self.coefficient, str)
        given: Any = self.coefficient
        given = floats(given, 3, "drag.coefficient") if row else number(given, "drag.coefficient")
        object.__setattr__(self, "coefficient", given)
        if self.end_coefficient is not None:
            object.__setattr__(self, "end_coefficient", number(self.end_coefficient, "drag.end_coefficient"))
        object.__setattr__(self, "points", whole(self.points, "drag.points", least=None))

    @property
    def solid(self) -> Placed:
        """The shape on the body."""
        return solid_of(self)

    @property
    def coefficients(self) -> tuple[Any, Any, Any]:
        """Coefficients for flow along x, y, z of the shape [-], shape (3,)."""
        c: Any = self.coefficient
        return c if isinstance(c, tuple) else (c, c, c)


@dataclass(frozen=True, slots=True, kw_only=True)
class Damping:
    """Damping about `origin` in Fossen's form; positive coefficients oppose motion.

    F = −(D ν + Q (|ν| ∘ ν) + cross terms). For example, the term "Y|r|v": c adds −c |r| v to Y. ν and F refer to the point and
    axes of `origin`.
    """

    linear: Vector6 | Matrix6 = (0.0,) * 6
    """D, positive: a diagonal (6 numbers) or a matrix (6 rows of 6) [N·s/m, N·s/rad, N·m·s/rad]."""
    quadratic: Vector6 | Matrix6 = (0.0,) * 6
    """Q, positive: a diagonal (6 numbers) or a matrix (6 rows of 6) [N·s²/m², N·s²/rad², N·m·s²/rad²]."""
    coupled: tuple[tuple[Term, Finite], ...] = ()
    """Coupled terms by name: "Y|r|v" with c adds −c |r| v to Y [SI]."""
    origin: Origin = field(default_factory=Origin)
    """Point and axes on the body to which the coefficients refer; defaults to the body frame."""

    def __post_init__(self) -> None:
        for name in ("linear", "quadratic"):
            value = tuple(getattr(self, name))
            nested = any(not isinstance(v, int | float) and hasattr(v, "__len__") for v in value)
            convert = matrix if nested else floats
            object.__setattr__(self, name, convert(value, 6, f"drag.{name}"))
        pairs = self.coupled.items() if isinstance(self.coupled, Mapping) else self.coupled
        for name, _ in pairs:
            if not isinstance(name, str) or not COUPLED_TERM.fullmatch(name):
                raise ValueError(f"drag.coupled has {name!r}; write a term as 'Y|r|v' (one of XYZKMN, then two of uvwpqr)")
        object.__setattr__(self, "coupled", tuple((str(name), number(c, f"drag.coupled {name}")) for name, c in pairs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Foil:
    """Lift and drag of a thin symmetric foil at its centre of pressure."""

    area: Positive
    """Planform area [m²]."""
    lift_slope: NotNegative
    """Slope of the lift coefficient at zero angle of attack [1/rad]."""
    drag_parallel: NotNegative
    """Drag coefficient at zero angle of attack [-]."""
    drag_normal: NotNegative
    """Drag coefficient at 90° angle of attack [-]."""
    position: Vector3 = (0.0, 0.0, 0.0)
    """Centre of pressure [m], shape (3,)."""
    chord: Vector3 = (1.0, 0.0, 0.0)
    """Direction from trailing to leading edge [-], shape (3,)."""
    normal: Vector3 = (0.0, 0.0, 1.0)
    """Direction across the foil, perpendicular to the chord [-], shape (3,)."""

    def __post_init__(self) -> None:
        convert_fields(self, "drag")


DragElement = ShapeDrag | Damping | Foil
"""An element of drag."""
