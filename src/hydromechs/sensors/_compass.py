"""Compass."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.model import Model, World
from hydromechs.values import Array

from ._noise import PERFECT, Noise
from ._sensor import Aid, Channel, FrameMotion


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
