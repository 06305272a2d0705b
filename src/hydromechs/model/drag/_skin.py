"""Skin friction of a hull from the Reynolds number of its length (Fossen 2011, sec. 6.4: D_S)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hydromechs.errors import Fault
from hydromechs.spatial import maximum, shift_motion, shift_wrench
from hydromechs.values import Array, NotNegative, Positive, Scalar, Vector3, convert_fields

from ._damping import DragElement, point_velocity, unfit


@dataclass(frozen=True, slots=True, kw_only=True)
class SkinFriction(DragElement):
    """Friction along the axis of a hull, laminar or turbulent depending on the Reynolds number.

    f = −½ ρ (1 + k) C_F S |u| u,  C_F = max(1.328 / √Re, 0.455 / (log₁₀ Re)^2.58 − 1700 / Re),  Re = |u| l / ν.
    These are flat-plate coefficients: Blasius for laminar flow, and Prandtl and Schlichting with transition at Re = 5·10⁵
    (Schlichting 1979, ch. 21).
    """

    wetted_area: Positive
    """Wetted area S [m²]."""
    length: Positive
    """Length l along the flow [m]."""
    form_factor: NotNegative = 0.0
    """Form factor k [-]."""
    axis: Vector3 = (1.0, 0.0, 0.0)
    """Direction of the flow along the hull [-], shape (3,)."""
    position: Vector3 = (0.0, 0.0, 0.0)
    """Point at which the force acts [m], shape (3,)."""
    viscosity: Positive = 1.0e-6
    """Kinematic viscosity ν of the water [m²/s]."""

    def __post_init__(self) -> None:
        convert_fields(self, "drag")

    @property
    def center(self) -> Array:
        """Point at which the force acts [m], shape (3,)."""
        return np.array(self.position)

    def numbers(self, density: Scalar) -> Any:
        axis = np.array(self.axis) / np.linalg.norm(self.axis)
        scale = 0.5 * density * (1.0 + self.form_factor) * self.wetted_area
        return Friction(axis, self.center, self.length / self.viscosity, scale)

    def matrix(self, V_r: Array, density: Scalar) -> Array:
        """Return ½ ρ (1 + k) C_F S |u| aᵀ a, where a maps V_r to the velocity along the axis at the point."""
        numbers = self.numbers(density)
        a = numbers.axis @ point_velocity(self.center)
        return numbers.resistance(a @ V_r) * np.outer(a, a)

    def problems(self, label: str) -> Iterator[Fault]:
        if not 1e-6 < np.linalg.norm(self.axis) < 1e6:
            yield unfit(label, "axis", self.axis, "must be a nonzero direction")


class Friction(NamedTuple):
    """Coefficients of friction along an axis."""

    axis: Array
    """Unit vector along the flow, shape (3,)."""
    position: Array
    """Point of action of the force [m], shape (3,)."""
    per_speed: Scalar
    """Reynolds number divided by speed, l / ν [s/m]."""
    scale: Scalar
    """Factor ½ ρ (1 + k) S [kg/m]."""

    def resistance(self, u: Scalar) -> Scalar:
        """Return force divided by speed, ½ ρ (1 + k) C_F S |u| [N·s/m]."""
        reynolds = maximum(self.per_speed * abs(u), 1e-12)
        turbulent = maximum(reynolds, 1e3)
        laminar = 1.328 / np.sqrt(reynolds)
        rough = 0.455 * np.exp(-2.58 * np.log(np.log(turbulent) / np.log(10.0))) - 1700.0 / turbulent
        return self.scale * maximum(laminar, rough) * abs(u)

    def wrench(self, V_r: Array) -> Array:
        """Return the wrench about the body origin in body axes [N, N·m], shape (6,)."""
        u = self.axis @ shift_motion(V_r, self.position)[:3]
        return shift_wrench(np.concatenate([-self.resistance(u) * u * self.axis, np.zeros(3)]), self.position)
