"""Wave drift damping: the increase of the mean wave force with forward speed (Fossen 2011, sec. 6.4: D_W)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hydromechs.errors import Fault
from hydromechs.values import Array, Finite, NotNegative, Positive, Scalar, Vector3, convert_fields

from ._damping import Coefficients, DragElement, Referred, point_velocity, unfit


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveDriftDamping(DragElement):
    """Drift damping of a vessel at the surface in waves along an axis: f = −a² (ω² ∂F/∂ω + 4 ω F) / g · u (Aranha 1994).

    F(ω) is the mean drift force in regular waves of unit amplitude on the stationary vessel. Forward speed
    shifts the wave frequency to the frequency of encounter.
    """

    drift: NotNegative
    """Mean drift force F at the wave frequency divided by amplitude squared [N/m²]."""
    slope: Finite = 0.0
    """Derivative ∂F/∂ω [N·s/(rad·m²)]."""
    frequency: Positive
    """Wave frequency ω [rad/s]."""
    amplitude: NotNegative
    """Wave amplitude a [m]; H / √8 for a sea state with significant wave height H."""
    axis: Vector3 = (1.0, 0.0, 0.0)
    """Direction of the motion along the waves, in body axes [-], shape (3,)."""
    position: Vector3 = (0.0, 0.0, 0.0)
    """Point at which the force acts [m], shape (3,)."""
    gravity: Positive = 9.81
    """Gravitational acceleration g [m/s²]."""

    def __post_init__(self) -> None:
        convert_fields(self, "drag")

    @property
    def damping(self) -> float:
        """Force divided by speed, a² (ω² ∂F/∂ω + 4 ω F) / g [N·s/m]."""
        w = self.frequency
        return self.amplitude**2 * (w * w * self.slope + 4.0 * w * self.drift) / self.gravity

    @property
    def _along(self) -> Array:
        return np.array(self.axis) / np.linalg.norm(self.axis)

    def numbers(self, density: Scalar) -> Any:
        D = np.zeros((6, 6))
        D[:3, :3] = self.damping * np.outer(self._along, self._along)
        return Referred(np.eye(3), np.array(self.position), Coefficients(D, np.zeros(6), (), np.zeros(0)))

    def matrix(self, V_r: Array, density: Scalar) -> Array:
        a = self._along @ point_velocity(np.array(self.position))
        return self.damping * np.outer(a, a)

    def problems(self, label: str) -> Iterator[Fault]:
        if not 1e-6 < np.linalg.norm(self.axis) < 1e6:
            yield unfit(label, "axis", self.axis, "must be a nonzero direction")
        elif self.damping < 0.0:
            least = -4.0 * self.drift / self.frequency
            yield unfit(label, "slope", self.slope, f"must be at least {least:.4g}, so that drift adds no energy")
