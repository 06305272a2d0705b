"""Inertial measurement unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.model import Model
from hydromechs.values import Array

from ._instant import Instant
from ._noise import PERFECT, Noise
from ._sensor import Channel, Mounted

__all__ = ["Imu"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imu(Mounted):
    """Three accelerometers and three gyroscopes: specific force (acceleration of its own origin less gravity) and rate."""

    accelerometer: Noise = PERFECT
    """Errors of the specific force [m/s²]."""
    gyroscope: Noise = PERFECT
    """Errors of the angular velocity [rad/s]."""

    def channels(self, model: Model) -> Sequence[Channel]:
        """Specific force, then angular velocity, in the axes of the frame."""
        force = [Channel(f"f{x}", "m/s^2", self.accelerometer) for x in "xyz"]
        return force + [Channel(f"w{x}", "rad/s", self.gyroscope) for x in "xyz"]

    def read(self, instant: Instant) -> Array:
        """(f, ω) of the frame's origin, lever arm included."""
        place = instant.mount(self.name, self.frame)
        return np.concatenate([place.specific_force, place.rate])
