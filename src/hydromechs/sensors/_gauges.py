"""Gauges of one number: compass, depth gauge, tachometer of a thruster, contact switch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.actuation import Thruster
from hydromechs.errors import FieldError
from hydromechs.model import Model, World
from hydromechs.model.component import Component
from hydromechs.spatial import norm, where
from hydromechs.values import Array, NotNegative, Positive, nearest

from ._instant import Instant
from ._sensor import PERFECT, Aid, Channel, FrameMotion, Mounted, Noise, Sensor


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthGauge(Aid):
    """Depth of its frame's origin below the mean surface, without wave pressure."""

    noise: Noise = PERFECT
    """Errors of the depth [m]."""

    def channels(self, model: Model) -> Sequence[Channel]:
        return [Channel("depth", "m", self.noise)]

    def expected(self, place: FrameMotion, world: World) -> Array:
        """down · p."""
        return np.array([world.down @ place.p])


@dataclass(frozen=True, slots=True, kw_only=True)
class Compass(Aid):
    """Heading of its frame's x axis: the angle from the world's x axis to its horizontal part, towards y."""

    angular = True
    shows = "attitude"

    noise: Noise = PERFECT
    """Errors of the heading [rad]."""

    def channels(self, model: Model) -> Sequence[Channel]:
        return [Channel("heading", "rad", self.noise)]

    def expected(self, place: FrameMotion, world: World) -> Array:
        """atan2(x_y, x_x) of the x axis in the world."""
        x = place.R[:, 0]
        return np.array([np.arctan2(x[1], x[0])])


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactSwitch(Mounted):
    """1 while the contact force on the body of its frame exceeds a threshold, otherwise 0."""

    threshold: NotNegative = 1.0
    """Force above which it closes [N]."""

    def channels(self, model: Model) -> Sequence[Channel]:
        return [Channel("closed", "1", PERFECT)]

    def read(self, instant: Instant) -> Array:
        """|Σ contact forces on the body| > threshold."""
        force = norm(instant.contact_force(instant.mount(self.name, self.frame).body))
        return np.array([where(force > self.threshold, 1.0, 0.0)])
