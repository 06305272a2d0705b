"""Acoustic sensors: Doppler velocity log (DVL) and ultra-short-baseline (USBL) positioning."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from hydromechs.model import Model, World
from hydromechs.spatial import maximum, norm, where
from hydromechs.values import Array, Bound, NotNegative, Positive, Scalar, Vector3

from ._instant import Instant
from ._sensor import PERFECT, Aid, Channel, Errors, FrameMotion, Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Dvl(Aid):
    """Doppler velocity log with four beams tilted from the frame's z axis towards (±1, ±1), each measuring along-beam velocity.

    y_k = b_k · Rᵀ v   over ground, if the beam meets terrain between `nearest` and `range`
    y_k = b_k · Rᵀ (v − v_water)   through the water otherwise, if water tracking is enabled

    The z axis of the frame must point to the ground.
    """

    shows = "velocity"

    noise: Noise = PERFECT
    """Errors of the along-beam velocity over ground [m/s]."""
    water_noise: Noise | None = None
    """Errors of the along-beam velocity through the water [m/s]; None disables water tracking."""
    range: Positive = 50.0
    """Maximum along-beam distance for bottom tracking [m]."""
    nearest: NotNegative = 0.05
    """Minimum along-beam distance for bottom tracking [m]."""
    tilt: Annotated[float, Bound(above=0.0, below=1.5)] = math.radians(22.5)
    """Angle between beams and z axis of the frame [rad]."""

    @property
    def beams(self) -> Array:
        """Unit vectors of the beams in frame axes, shape (4, 3)."""
        s, c, h = math.sin(self.tilt), math.cos(self.tilt), math.sqrt(0.5)
        return np.array([[s * h * i, s * h * j, c] for i, j in ((1, 1), (1, -1), (-1, -1), (-1, 1))])

    def channels(self, model: Model) -> Sequence[Channel]:
        """Return along-beam velocities over ground, then through the water if water tracking is enabled."""
        out = [Channel(f"bottom_{k}", "m/s", self.noise) for k in (1, 2, 3, 4)]
        if self.water_noise is not None:
            out += [Channel(f"water_{k}", "m/s", self.water_noise) for k in (1, 2, 3, 4)]
        return out

    def expected(self, place: FrameMotion, world: World) -> Array:
        """Return expected velocities along all beams, over ground and, if enabled, through the water."""
        ground = self.beams @ (place.R.T @ place.v)
        if self.water_noise is None:
            return ground
        return np.concatenate([ground, self.beams @ (place.R.T @ (place.v - place.v_water))])

    def read(self, instant: Instant) -> Array:
        """Return the beam velocities [m/s]; NaN for beams without a lock."""
        place = instant.mount(self.name, self.frame)
        y = self.expected(place, instant.model.world)
        distances = [self.distance(instant, place, b) for b in self.beams]
        locks = [(d <= self.range) * (d >= self.nearest) for d in distances]
        out = [where(lock, x, math.nan) for lock, x in zip(locks, y[:4], strict=True)]
        out += [where(lock, math.nan, x) for lock, x in zip(locks, y[4:], strict=False)]
        return np.array(out)

    def distance(self, instant: Instant, place: FrameMotion, beam: Array) -> Scalar:
        """Return the distance to the ground along a beam (3,), a unit vector in frame axes [m]; inf if it misses the ground."""
        nearest: Scalar = math.inf
        for solid in instant.terrain:
            r = solid.ray(place.p, place.R @ beam, instant.model.world.down)
            nearest = where(r < nearest, r, nearest)
        return nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class Usbl(Aid):
    """USBL fix: position of a transponder at the frame from a stationary transceiver, with range and bearing errors.

    z = r + u n_r + |r| (1 − u uᵀ) n_b,   r = p − p_T,  u = r/|r|,  n_r ~ N(0, range_sigma²),  n_b ~ N(0, bearing_sigma² 1)
    """

    draws = 4

    transceiver: Vector3 = (0.0, 0.0, 0.0)
    """Position p_T of the transceiver in world axes [m], shape (3,)."""
    range_sigma: NotNegative = 0.0
    """Standard deviation of the range [m]."""
    bearing_sigma: NotNegative = 0.0
    """Standard deviation of the bearing in each of the two transverse directions [rad]."""

    def channels(self, model: Model) -> Sequence[Channel]:
        """Return the three components of the position relative to the transceiver, in world axes."""
        return [Channel(x, "m", PERFECT) for x in "xyz"]

    def expected(self, place: FrameMotion, world: World) -> Array:
        """Return the position relative to the transceiver, r = p − p_T."""
        return place.p - np.array(self.transceiver)

    def measured(self, true: Array, bias: Array, normals: Array, errors: Errors) -> Array:
        """Return the position with errors along and across the line of sight."""
        distance = norm(true)
        u = true / maximum(distance, 1e-9)
        across = normals[1:] - u * (u @ normals[1:])
        return true + self.range_sigma * normals[0] * u + distance * self.bearing_sigma * across

    def covariance(self, measured: Array, errors: Errors) -> Array:
        """Return the covariance σ_r² u uᵀ + (|r| σ_b)² (1 − u uᵀ), shape (3, 3)."""
        distance = norm(measured)
        u = measured / maximum(distance, 1e-9)
        along = np.outer(u, u)
        return self.range_sigma**2 * along + (distance * self.bearing_sigma) ** 2 * (np.eye(3) - along)
