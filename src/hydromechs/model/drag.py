"""Drag, damping and lift elements of a body. The data are here, the equations in `hydromechs.hydro`.

Positions and directions are in body axes from the body origin unless an element has an `origin` of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hydromechs.values import floats, matrix, number

from ._placement import Origin

__all__ = ["Box", "Cylinder", "Damping", "Ellipsoid", "Foil", "Sphere"]

COUPLED_TERM = re.compile(r"([XYZKMN])\|([uvwpqr])\|([uvwpqr])")
"""A cross-coupled damping coefficient in Fossen's notation, as Y|r|v."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cylinder:
    """Pressure drag of a cylinder by strip theory (McMillan, Orin and McGhee 1995, eqs. 17-22)."""

    start: tuple[float, float, float]
    """Centre of one end face [m], shape (3,)."""
    end: tuple[float, float, float]
    """Centre of the other end face [m], shape (3,)."""
    radius: float
    """Radius [m]."""
    coefficient: float
    """Drag coefficient of the side, on the projected area 2·radius·length."""
    end_coefficient: float | None = None
    """Drag coefficient of the end faces, on the area π·radius²; the side's where it is None, 0 for open ends."""
    points: int = 4
    """Gauss points along the axis."""

    def __post_init__(self):
        object.__setattr__(self, "start", floats(self.start, 3, "drag.start"))
        object.__setattr__(self, "end", floats(self.end, 3, "drag.end"))
        object.__setattr__(self, "radius", number(self.radius, "drag.radius"))
        object.__setattr__(self, "coefficient", number(self.coefficient, "drag.coefficient"))
        if self.end_coefficient is not None:
            object.__setattr__(self, "end_coefficient", number(self.end_coefficient, "drag.end_coefficient"))

    @classmethod
    def along(cls, axis: str, start: float, end: float, **fields) -> Cylinder:
        """A cylinder on the body's `axis` ("x", "y" or "z") from `start` to `end` [m]; `fields` are the others of the class."""
        if axis not in ("x", "y", "z"):
            raise ValueError(f"axis is {axis!r}, must be 'x', 'y' or 'z'")

        def on(s: float) -> tuple[float, float, float]:
            return s if axis == "x" else 0.0, s if axis == "y" else 0.0, s if axis == "z" else 0.0

        return cls(start=on(start), end=on(end), **fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Pressure drag of a rectangular solid, face pair by face pair."""

    size: tuple[float, float, float]
    """Edge lengths along x, y, z of its frame [m], shape (3,)."""
    coefficients: tuple[float, float, float]
    """Drag coefficients for flow along x, y, z, each on the area of that face, shape (3,)."""
    origin: Origin = field(default_factory=Origin)
    """Centre and axes on the body."""
    points: int = 4
    """Gauss points along each edge of a face."""

    def __post_init__(self):
        object.__setattr__(self, "size", floats(self.size, 3, "drag.size"))
        object.__setattr__(self, "coefficients", floats(self.coefficients, 3, "drag.coefficients"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sphere:
    """Drag of a sphere, through its centre."""

    radius: float
    """Radius [m]."""
    coefficient: float
    """Drag coefficient on the area π·radius²."""
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Centre [m], shape (3,)."""

    def __post_init__(self):
        object.__setattr__(self, "radius", number(self.radius, "drag.radius"))
        object.__setattr__(self, "coefficient", number(self.coefficient, "drag.coefficient"))
        object.__setattr__(self, "center", floats(self.center, 3, "drag.center"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ellipsoid:
    """Drag of an ellipsoid, through its centre; it does not resist rotation about its centre."""

    axes: tuple[float, float, float]
    """Semi-axes along x, y, z of its frame [m], shape (3,)."""
    coefficients: tuple[float, float, float]
    """Drag coefficients for flow along x, y, z, each on the projected area of that direction, shape (3,)."""
    origin: Origin = field(default_factory=Origin)
    """Centre and axes on the body."""

    def __post_init__(self):
        object.__setattr__(self, "axes", floats(self.axes, 3, "drag.axes"))
        object.__setattr__(self, "coefficients", floats(self.coefficients, 3, "drag.coefficients"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Damping:
    """Damping about the body origin in Fossen's form, with positive numbers for forces that oppose motion.

    F = −(D ν + Q (|ν| ∘ ν) + cross terms), e.g. the term "Y|r|v": c adds −c |r| v to Y.
    """

    linear: tuple = (0.0,) * 6
    """D: a diagonal (6,) or a matrix (6, 6) [N·s/m, N·s/rad, N·m·s/rad]."""
    quadratic: tuple = (0.0,) * 6
    """Q: a diagonal (6,) or a matrix (6, 6) [N·s²/m², N·s²/rad², N·m·s²/rad²]."""
    coupled: tuple[tuple[str, float], ...] = ()
    """Cross-coupled terms as pairs (name, coefficient), name as in "Y|r|v"."""

    def __post_init__(self):
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

    area: float
    """Planform area [m²]."""
    lift_slope: float
    """Slope of the lift coefficient at zero angle of attack [1/rad]."""
    drag_parallel: float
    """Drag coefficient at zero angle of attack."""
    drag_normal: float
    """Drag coefficient at 90° angle of attack."""
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Centre of pressure [m], shape (3,)."""
    chord: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """Direction from trailing to leading edge, shape (3,)."""
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """Direction across the foil, perpendicular to the chord, shape (3,)."""

    def __post_init__(self):
        for name in ("area", "lift_slope", "drag_parallel", "drag_normal"):
            object.__setattr__(self, name, number(getattr(self, name), f"drag.{name}"))
        for name in ("position", "chord", "normal"):
            object.__setattr__(self, name, floats(getattr(self, name), 3, f"drag.{name}"))
