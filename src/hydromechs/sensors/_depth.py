"""Pressure sensor as a depth gauge."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.model import Model, World
from hydromechs.values import Array

from ._noise import PERFECT, Noise
from ._sensor import Aid, Channel, FrameMotion


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
