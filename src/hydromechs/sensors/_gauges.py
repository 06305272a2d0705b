"""Single-channel sensors: compass, depth gauge, thruster tachometer, contact switch."""

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
    """Depth of the frame origin below the mean surface, without wave pressure."""

    noise: Noise = PERFECT
    """Errors of the depth [m]."""

    def channels(self, model: Model) -> Sequence[Channel]:
        return [Channel("depth", "m", self.noise)]

    def expected(self, place: FrameMotion, world: World) -> Array:
        """Return the depth, down · p [m]."""
        return np.array([world.down @ place.p])


@dataclass(frozen=True, slots=True, kw_only=True)
class Compass(Aid):
    """Heading of the frame's x axis: angle of its horizontal projection from world x, positive towards world y."""

    angular = True
    shows = "attitude"

    noise: Noise = PERFECT
    """Errors of the heading [rad]."""

    def channels(self, model: Model) -> Sequence[Channel]:
        return [Channel("heading", "rad", self.noise)]

    def expected(self, place: FrameMotion, world: World) -> Array:
        """Return the heading atan2(x_y, x_x) of the x axis in the world [rad]."""
        x = place.R[:, 0]
        return np.array([np.arctan2(x[1], x[0])])


@dataclass(frozen=True, slots=True, kw_only=True)
class Tachometer(Sensor):
    """Shaft speed of a thruster, n = n_max sign(x) √(|x|/F), as the bollard thrust x is proportional to n |n|."""

    thruster: str
    """Name of the thruster."""
    full_speed: Positive
    """Speed n_max at the maximum forward thrust F [rad/s]."""
    noise: Noise = PERFECT
    """Errors of the speed [rad/s]."""

    def check_beside(self, components: Sequence[Component]) -> None:
        thrusters = [part.name for part in components if isinstance(part, Thruster)]
        if self.thruster not in thrusters:
            raise ValueError(f"sensor {self.name!r}: no thruster is named {self.thruster!r}{nearest(self.thruster, thrusters)}")

    def channels(self, model: Model) -> Sequence[Channel]:
        return [Channel("speed", "rad/s", self.noise)]

    def read(self, instant: Instant) -> Array:
        """Return the shaft speed computed from the lagged thrust, or from the command for thrusters without lag."""
        thruster, z, u = instant.component(self.thruster)
        if not isinstance(thruster, Thruster):
            must = f"must be the name of a thruster{nearest(self.thruster, instant.component_names)}"
            raise FieldError(f"sensor {self.name!r}.thruster", self.thruster, must)
        x = z["thrust"] if thruster.time_constant else thruster.curve.steady(u[""])
        size = np.sqrt(abs(x) / thruster.curve.limits[1])
        return np.array([self.full_speed * where(x >= 0.0, size, -size)])


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactSwitch(Mounted):
    """Contact switch: 1 while the contact force on the body of the frame exceeds a threshold, else 0."""

    threshold: NotNegative = 1.0
    """Contact force above which the switch closes [N]."""

    def channels(self, model: Model) -> Sequence[Channel]:
        return [Channel("closed", "1", PERFECT)]

    def read(self, instant: Instant) -> Array:
        """Return 1 if |Σ contact forces on the body| > threshold, else 0."""
        force = norm(instant.contact_force(instant.mount(self.name, self.frame).body))
        return np.array([where(force > self.threshold, 1.0, 0.0)])
