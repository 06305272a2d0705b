"""Inertial measurement unit (IMU)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.model import Model
from hydromechs.spatial import quaternion_exp, quaternion_matrix, rotation_between, where
from hydromechs.values import Array

from ._instant import Instant
from ._sensor import PERFECT, Channel, Mounted, Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Imu(Mounted):
    """Inertial measurement unit that integrates between readings, so that no shock is missed.

        φ = log(R₀ᵀ R),    ω = φ / T,    f = (R₀ exp(φ/2))ᵀ ((v − v₀) / T − g)

    R and v are axes and velocity of the frame in the world; R₀ and v₀ are their values one period T earlier. f is the mean
    specific force (acceleration minus gravity) in the axes at mid-interval, and ω is the mean angular velocity. They equal the
    increments Δv and Δθ of real IMUs, compensated for sculling and coning (Titterton and Weston 2004), divided by T. The first
    reading is instantaneous.
    """

    kept = 12

    accelerometer: Noise = PERFECT
    """Errors of the specific force [m/s²]."""
    gyroscope: Noise = PERFECT
    """Errors of the angular velocity [rad/s]."""

    def channels(self, model: Model) -> Sequence[Channel]:
        """Return the channels of specific force, then of angular velocity, in frame axes."""
        force = [Channel(f"f{x}", "m/s^2", self.accelerometer) for x in "xyz"]
        return force + [Channel(f"w{x}", "rad/s", self.gyroscope) for x in "xyz"]

    def keep(self, instant: Instant) -> Array:
        place = instant.mount(self.name, self.frame)
        return np.concatenate([place.v, place.R.ravel()])

    def read(self, instant: Instant) -> Array:
        """Return (f, ω) at the frame origin, including lever-arm effects, shape (6,)."""
        place, (time, kept) = instant.mount(self.name, self.frame), instant.before(self.name)
        known = time > 0.0
        T, v, R = where(known, time, 1.0), kept[:3], kept[3:].reshape(3, 3)
        turn = _rotation_vector(R.T @ place.R)
        halfway = R @ quaternion_matrix(quaternion_exp(0.5 * turn))
        mean = [halfway.T @ ((place.v - v) / T - instant.model.world.gravity_vector), turn / T]
        first = np.concatenate([place.specific_force, place.rate])
        return np.array([where(known, a, b) for a, b in zip(np.concatenate(mean), first, strict=True)])


def _rotation_vector(R: Array) -> Array:
    """Return φ with exp(φ) = R for rotations below 180°, shape (3,)."""
    w = 0.5 * np.sqrt(1.0 + R[0, 0] + R[1, 1] + R[2, 2])
    turn = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4.0 * w)
    return rotation_between(np.array([1.0, 0.0, 0.0, 0.0]), np.array([w, *turn]))
