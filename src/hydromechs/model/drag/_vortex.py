"""Damping by vortices shed in the cross-flow of a long hull (Fossen 2011, sec. 6.4: D_M, eqs. 6.91-6.92)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from hydromechs.errors import Fault
from hydromechs.spatial import shift_wrench
from hydromechs.values import Array, Bound, NotNegative, Positive, Scalar, Vector3, convert_fields, whole

from ._damping import DragElement, point_velocity, unfit

Points = Annotated[int, Bound(least=1, most=64, whole=True)]
"""Number of Gauss points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VortexDamping(DragElement):
    """Cross-flow drag of a hull by strips, in one direction: f = −½ ρ h C ∫ |v(s)| v(s) ds along its axis.

    The velocity along `normal` at s is v(s); C is the two-dimensional coefficient of the section (Hoerner). Use one element
    for sway and yaw, another for heave and pitch.
    """

    coefficient: NotNegative
    """Two-dimensional drag coefficient C of the section [-]."""
    height: Positive
    """Height h of the section, such as the draught, perpendicular to the cross-flow and the axis [m]."""
    length: Positive
    """Length of the hull along its axis [m]."""
    axis: Vector3 = (1.0, 0.0, 0.0)
    """Direction of the hull axis [-], shape (3,)."""
    normal: Vector3 = (0.0, 1.0, 0.0)
    """Direction of the cross-flow, perpendicular to the axis [-], shape (3,)."""
    position: Vector3 = (0.0, 0.0, 0.0)
    """Middle of the hull [m], shape (3,)."""
    points: Points = 4
    """Number of Gauss points along the axis, 1 to 64 [-]."""

    def __post_init__(self) -> None:
        convert_fields(self, "drag")
        object.__setattr__(self, "points", whole(self.points, "drag.points", least=None))

    @property
    def center(self) -> Array:
        """Middle of the hull [m], shape (3,)."""
        return np.array(self.position)

    def strips(self) -> tuple[Array, list[Array], Array]:
        """Return the unit vector across the axis, strip positions [m] and strip lengths [m], shapes (3,), (n, 3), (n,)."""
        axis, normal = (np.array(x) / np.linalg.norm(x) for x in (self.axis, self.normal))
        s, weights = np.polynomial.legendre.leggauss(self.points)
        return normal, [self.center + 0.5 * self.length * k * axis for k in s], 0.5 * self.length * weights

    def wrench(self, V_r: Array, density: Scalar) -> Array:
        normal, points, lengths = self.strips()
        F = np.zeros(6)
        for x, length in zip(points, lengths, strict=True):
            v = normal @ point_velocity(x) @ V_r
            f = (-0.5 * density * self.height * self.coefficient * length) * (abs(v) * v) * normal
            F = F + shift_wrench(np.concatenate([f, np.zeros(3)]), x)
        return F

    def matrix(self, V_r: Array, density: Scalar) -> Array:
        """Return ½ ρ h C ∫ |v(s)| aᵀ a ds, where a maps V_r to the velocity across the axis at s."""
        normal, points, lengths = self.strips()
        total = np.zeros((6, 6))
        for x, length in zip(points, lengths, strict=True):
            a = normal @ point_velocity(x)
            total = total + (0.5 * density * self.height * self.coefficient * length * abs(a @ V_r)) * np.outer(a, a)
        return total

    def problems(self, label: str) -> Iterator[Fault]:
        axis, normal = np.array(self.axis), np.array(self.normal)
        lengths = float(np.linalg.norm(axis) * np.linalg.norm(normal))
        if not 1e-6 < lengths < 1e6 or abs(axis @ normal) > 1e-6 * lengths:
            yield unfit(label, "normal", self.normal, f"must be nonzero and perpendicular to the nonzero axis {self.axis}")
