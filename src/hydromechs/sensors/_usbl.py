"""Acoustic positioning with an ultra-short baseline."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.model import Model, World
from hydromechs.spatial import maximum, norm
from hydromechs.values import Array, NotNegative, Vector3

from ._noise import PERFECT
from ._sensor import Aid, Channel, Errors, FrameMotion


@dataclass(frozen=True, slots=True, kw_only=True)
class Usbl(Aid):
    """Position of a transponder at its frame, from a transceiver at rest: accurate in range, less so in bearing.

    z = r + u n_r + |r| (1 − u uᵀ) n_b,   r = p − p_T,  u = r/|r|,  n_r ~ N(0, range_sigma²),  n_b ~ N(0, bearing_sigma² 1)
    """

    draws = 4

    transceiver: Vector3 = (0.0, 0.0, 0.0)
    """Position of the transceiver p_T, in world axes [m], shape (3,)."""
    range_sigma: NotNegative = 0.0
    """Standard deviation of the range [m]."""
    bearing_sigma: NotNegative = 0.0
    """Standard deviation of the bearing in each of the two directions across [rad]."""

    def channels(self, model: Model) -> Sequence[Channel]:
        """Position from the transceiver in world axes."""
        return [Channel(x, "m", PERFECT) for x in "xyz"]

    def expected(self, place: FrameMotion, world: World) -> Array:
        """r = p − p_T."""
        return place.p - np.array(self.transceiver)

    def measured(self, true: Array, bias: Array, normals: Array, errors: Errors) -> Array:
        """Add errors along and across the line of sight."""
        distance = norm(true)
        u = true / maximum(distance, 1e-9)
        across = normals[1:] - u * (u @ normals[1:])
        return true + self.range_sigma * normals[0] * u + distance * self.bearing_sigma * across

    def covariance(self, measured: Array, errors: Errors) -> Array:
        """σ_r² u uᵀ + (|r| σ_b)² (1 − u uᵀ), shape (3, 3)."""
        distance = norm(measured)
        u = measured / maximum(distance, 1e-9)
        along = np.outer(u, u)
        return self.range_sigma**2 * along + (distance * self.bearing_sigma) ** 2 * (np.eye(3) - along)
