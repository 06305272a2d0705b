"""Inertial measurement unit."""

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
    """Three accelerometers and three gyroscopes that integrate from one reading to the next, so that no shock is missed.

        φ = log(R₀ᵀ R),    ω = φ / T,    f = (R₀ exp(φ/2))ᵀ ((v − v₀) / T − g)

    R and v are axes and velocity of its frame in the world, R₀ and v₀ those a period T earlier. So f is the mean specific force
    (acceleration minus gravity) in the axes at mid-interval, and ω the mean rate: the increments Δθ and Δv of real IMUs,
    compensated for coning and sculling (Titterton and Weston 2004), divided by T. The first reading is instantaneous.
    """

    kept = 12

    accelerometer: Noise = PERFECT
    """Errors of the specific force [m/s²]."""
    gyroscope: Noise = PERFECT
    """Errors of the angular velocity [rad/s]."""

    def channels(self, model: Model) -> Sequence[Channel]:
        """Specific force, then angular velocity, in the axes of the frame."""
        force = [Channel(f"f{x}", "m/s^2", self.accelerometer) for x in "xyz"]
        return force + [Channel(f"w{x}", "rad/s", self.gyroscope) for x in "xyz"]

    def keep(self, instant: Instant) -> Array:
        place = instant.mount(self.name, self.frame)
        return np.concatenate([place.v, place.R.ravel()])

    def read(self, instant: Instant) -> Array:
        """Return (f, ω) of the frame's origin, lever arm included."""
        place, (time, kept) = instant.mount(self.name, self.frame), instant.before(self.name)
        known = time > 0.0
        T, v, R = where(known, time, 1.0), kept[:3], kept[3:].reshape(3, 3)
        turn = _rotation_vector(R.T @ place.R)
        halfway = R @ quaternion_matrix(quaternion_exp(0.5 * turn))
        mean = [halfway.T @ ((place.v - v) / T - instant.model.world.gravity_vector), turn / T]
        first = np.concatenate([place.specific_force, place.rate])
        return np.array([where(known, a, b) for a, b in zip(np.concatenate(mean), first, strict=True)])


def _rotation_vector(R: Array) -> Array:
    """Return φ with exp(φ) = R, for less than half a turn, shape (3,)."""
    w = 0.5 * np.sqrt(1.0 + R[0, 0] + R[1, 1] + R[2, 2])
    turn = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4.0 * w)
    return rotation_between(np.array([1.0, 0.0, 0.0, 0.0]), np.array([w, *turn]))
