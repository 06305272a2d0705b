"""Lift and drag of fins and rudders."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hydromechs.errors import Fault
from hydromechs.geometry import Box, Triangles
from hydromechs.spatial import shift_motion, shift_wrench
from hydromechs.values import Array, NotNegative, Positive, Scalar, Vector3, convert_fields, plain

from ._damping import DragElement, point_velocity


@dataclass(frozen=True, slots=True, kw_only=True)
class Foil(DragElement):
    """Lift and drag of a thin symmetric foil at the centre of pressure."""

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

    @property
    def center(self) -> Array:
        """Centre of pressure [m], shape (3,)."""
        return np.array(self.position)

    @property
    def directions(self) -> tuple[Array, Array]:
        """Unit vectors along chord and normal, shape (3,) each."""
        return np.array(self.chord) / np.linalg.norm(self.chord), np.array(self.normal) / np.linalg.norm(self.normal)

    def numbers(self, density: Scalar) -> Any:
        c, n = self.directions
        slope, parallel, growth = self.lift_slope, self.drag_parallel, self.drag_normal - self.drag_parallel
        return Lift(c, n, self.center, slope, parallel, growth, 0.5 * density * self.area)

    def matrix(self, V_r: Array, density: Scalar) -> Array:
        """Return ½ ρ A aᵀ [[C_D U, −C_L U], [C_L U, C_D U]] a; rows of a are chord and normal. Drag is symmetric, lift skew."""
        a = np.stack(self.directions) @ point_velocity(self.center)
        u, w = a @ V_r
        U = np.sqrt(u * u + w * w + 1e-300)  # finite at rest
        lift = self.lift_slope * u * w / U
        resistance = self.drag_parallel * U + (self.drag_normal - self.drag_parallel) * w * w / U
        return (0.5 * density * self.area) * (a.T @ np.array([[resistance, -lift], [lift, resistance]]) @ a)

    def surface(self) -> Triangles:
        chord, normal = self.directions
        edge = math.sqrt(self.area)
        R = np.stack([chord, np.cross(normal, chord), normal], axis=1)
        return Box(size=(edge, edge, 0.06 * edge)).triangulate().moved(R, self.position)

    def problems(self, label: str) -> Iterator[Fault]:
        chord, normal = np.array(self.chord), np.array(self.normal)
        lengths = float(np.linalg.norm(chord) * np.linalg.norm(normal))
        if not 1e-6 < lengths < 1e6 or abs(chord @ normal) > 1e-6 * lengths:
            given = f"chord {plain(self.chord)} and normal {plain(self.normal)}"
            yield Fault((), f"{label}: {given} must be nonzero and perpendicular")


class Lift(NamedTuple):
    """Lift and drag in the plane of chord c and normal n, with u = c · v, w = n · v, U² = u² + w², sin α = w/U:

        C_L = a sin α cos α,  C_D = C_0 + (C_90 − C_0) sin² α,
        f = ½ ρ A (C_L U (w c − u n) − C_D U (u c + w n))

    The equations apply to all angles of attack, and lift is linear at small angles. Lift does no work. Flow along the span
    has no effect.
    """

    chord: Array
    """Unit vector c along the chord, shape (3,)."""
    normal: Array
    """Unit vector n normal to the foil, shape (3,)."""
    position: Array
    """Centre of pressure [m], shape (3,)."""
    slope: Scalar
    """Lift slope a [1/rad]."""
    parallel: Scalar
    """Drag coefficient C_0 [-]."""
    growth: Scalar
    """Drag coefficient difference C_90 − C_0 [-]."""
    scale: Scalar
    """Scale ½ ρ A [kg/m]."""

    def wrench(self, V_r: Array) -> Array:
        """Return the wrench about the body origin in body axes [N, N·m], shape (6,)."""
        v = shift_motion(V_r, self.position)[:3]
        u, w = self.chord @ v, self.normal @ v
        U = np.sqrt(u * u + w * w + 1e-300)  # finite at rest
        lift = self.slope * u * w / U
        resistance = self.parallel * U + self.growth * w * w / U
        f = self.scale * (lift * w - resistance * u) * self.chord - self.scale * (lift * u + resistance * w) * self.normal
        return shift_wrench(np.concatenate([f, np.zeros(3)]), self.position)
