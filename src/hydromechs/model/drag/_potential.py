"""Potential damping: power radiated as waves by a body near the surface (Fossen 2011, sec. 6.4: D_P)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hydromechs.errors import Fault
from hydromechs.geometry import Origin
from hydromechs.values import Array, Matrix6, Scalar, Vector6, floats, is_finite, matrix

from ._damping import Coefficients, DragElement, Referred, to_frame, unfit


@dataclass(frozen=True, slots=True, kw_only=True)
class PotentialDamping(DragElement):
    """Radiation damping F = −B V_r, with B at the oscillation frequency of the body.

    In strip theory, b = ρ g² Ā² / ω³ per length, where Ā is the amplitude ratio of radiated waves and motion. Damping
    vanishes about half a wavelength below the surface.
    """

    damping: Vector6 | Matrix6
    """Damping B: a diagonal (6 numbers) or a symmetric matrix (6 rows of 6) [N·s/m, N·s/rad, N·m·s/rad]."""
    origin: Origin = field(default_factory=Origin)
    """Point and axes on the body to which B refers; defaults to the body frame."""

    def __post_init__(self) -> None:
        value = tuple(self.damping)
        convert = matrix if any(hasattr(v, "__len__") for v in value) else floats
        object.__setattr__(self, "damping", convert(value, 6, "drag.damping"))

    @property
    def _matrix(self) -> Array:
        B = np.array(self.damping)
        return B if B.ndim == 2 else np.diag(B)

    def numbers(self, density: Scalar) -> Any:
        numbers = Coefficients(np.array(self.damping), np.zeros(6), (), np.zeros(0))
        return numbers if self.origin == Origin() else Referred(self.origin.R, np.array(self.origin.xyz), numbers)

    def matrix(self, V_r: Array, density: Scalar) -> Array:
        X = to_frame(self.origin.R, np.array(self.origin.xyz))
        return X.T @ self._matrix @ X

    def problems(self, label: str) -> Iterator[Fault]:
        B = self._matrix
        if not is_finite(tuple(B.ravel().tolist())):
            yield unfit(label, "damping", self.damping, "must be finite")
        elif abs(B - B.T).max() > 1e-9 * abs(B).max() or np.linalg.eigvalsh(B).min() < -1e-9 * abs(B).max():
            yield unfit(label, "damping", self.damping, "must be symmetric, without negative eigenvalues that add energy")
