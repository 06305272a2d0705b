"""Tachometer of a thruster."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.actuation import Thruster
from hydromechs.errors import FieldError
from hydromechs.model import Model
from hydromechs.model.component import Component
from hydromechs.spatial import where
from hydromechs.values import Array, Positive, nearest

from ._instant import Instant
from ._noise import PERFECT, Noise
from ._sensor import Channel, Sensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Tachometer(Sensor):
    """Shaft speed of a thruster, n = n_max sign(x) √(|x|/F): the thrust x at rest goes with the speed squared."""

    thruster: str
    """Name of the thruster."""
    full_speed: Positive
    """n_max, speed at the maximum forward thrust F [rad/s]."""
    noise: Noise = PERFECT
    """Errors of the speed [rad/s]."""

    def check_beside(self, components: Sequence[Component]) -> None:
        thrusters = [part.name for part in components if isinstance(part, Thruster)]
        if self.thruster not in thrusters:
            raise ValueError(f"sensor {self.name!r}: no thruster {self.thruster!r}{nearest(self.thruster, thrusters)}")

    def channels(self, model: Model) -> Sequence[Channel]:
        return [Channel("speed", "rad/s", self.noise)]

    def read(self, instant: Instant) -> Array:
        """Return the speed from the lagged thrust, or from the command without a lag."""
        thruster, z, u = instant.component(self.thruster)
        if not isinstance(thruster, Thruster):
            must = f"must be the name of a thruster{nearest(self.thruster, instant.component_names)}"
            raise FieldError(f"sensor {self.name!r}.thruster", self.thruster, must)
        x = z["thrust"] if thruster.time_constant else thruster.curve.steady(u[""])
        size = np.sqrt(abs(x) / thruster.curve.limits[1])
        return np.array([self.full_speed * where(x >= 0.0, size, -size)])
