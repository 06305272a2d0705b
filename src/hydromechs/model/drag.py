"""Drag, damping and lift elements of a body. The data are here, the equations in `hydromechs.hydro`.

Positions and directions are in body axes from the body origin unless an element has an `origin` of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from hydromechs.geometry import Origin
from hydromechs.registry import Pattern
from hydromechs.values import (
    Bound,
    Edges,
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
)

__all__ = ["Box", "Cylinder", "Damping", "Ellipsoid", "Foil", "Sphere"]

Coefficients = Annotated[tuple[float, float, float], Bound(least=0.0, size=3)]
"""Drag coefficients for three directions."""
Points = Annotated[int, Bound(least=1, most=64, whole=True)]
"""Gauss points."""
COUPLED_TERM = re.compile(r"([XYZKMN])\|([uvwpqr])\|([uvwpqr])")
"""A cross-coupled damping coefficient in Fossen's notation, as Y|r|v."""
Term = Annotated[str, Pattern(COUPLED_TERM.pattern, "write it as 'Y|r|v' (one of XYZKMN, then two of uvwpqr)")]
"""The name of a cross-coupled damping coefficient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cylinder:
    """Pressure drag of a cylinder by strip theory (McMillan, Orin and McGhee 1995, eqs. 17-22)."""

    start: Vector3
    """Centre of one end face [m], shape (3,)."""
    end: Vector3
    """Centre of the other end face [m], shape (3,)."""
    radius: Positive
    """Radius [m]."""
    coefficient: NotNegative
    """Drag coefficient of the side, on the projected area 2·radius·length [-]."""
    end_coefficient: NotNegative | None = None
    """Drag coefficient of the end faces, on the area π·radius² [-]; the side's if left out, 0 for open ends."""
    points: Points = 4
    """Gauss points along the axis, 1 to 64."""

    def __post_init__(self) -> None:
        convert_fields(self, "drag")

    @classmethod
    def along(cls, axis: str, start: float, end: float, **fields: Any) -> Cylinder:
        """A cylinder on the body's `axis` ("x", "y" or "z") from `start` to `end` [m]; `fields` are the others of the class."""
        if axis not in ("x", "y", "z"):
            raise ValueError(f"axis is {axis!r}, must be 'x', 'y' or 'z'")

        def on(s: float) -> tuple[float, float, float]:
            return s if axis == "x" else 0.0, s if axis == "y" else 0.0, s if axis == "z" else 0.0

        return cls(start=on(start), end=on(end), **fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Pressure drag of a rectangular solid, face pair by face pair."""

    size: Edges
    """Edge lengths along x, y, z of its frame [m], shape (3,)."""
    coefficients: Coefficients
    """Drag coefficients for flow along x, y, z, each on the area of that face [-], shape (3,)."""
    origin: Origin = field(default_factory=Origin)
    """Centre and axes on the body."""
    points: Points = 4
    """Gauss points along each edge of a face, 1 to 64."""

    def __post_init__(self) -> None:
        convert_fields(self, "drag")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sphere:
    """Drag of a sphere, through its centre."""

    radius: Positive
    """Radius [m]."""
    coefficient: NotNegative
    """Drag coefficient on the area π·radius² [-]."""
    center: Vector3 = (0.0, 0.0, 0.0)
    """Centre [m], shape (3,)."""

    def __post_init__(self) -> None:
        convert_fields(self, "drag")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ellipsoid:
    """Drag of an ellipsoid, through its centre; it does not resist rotation about its centre."""

    axes: Edges
    """Semi-axes along x, y, z of its frame [m], shape (3,)."""
    coefficients: Coefficients
    """Drag coefficients for flow along x, y, z, each on the projected area of that direction [-], shape (3,)."""
    origin: Origin = field(default_factory=Origin)
    """Centre and axes on the body."""

    def __post_init__(self) -> None:
        convert_fields(self, "drag")


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


DragElement = Cylinder | Box | Sphere | Ellipsoid | Damping | Foil
"""An element of drag."""
