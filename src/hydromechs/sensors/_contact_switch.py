"""Contact switch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.model import Model
from hydromechs.spatial import norm, where
from hydromechs.values import Array, NotNegative

from ._instant import Instant
from ._noise import PERFECT
from ._sensor import Channel, Mounted


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactSwitch(Mounted):
    """1 while contacts push the body of its frame with more than a threshold, else 0."""

    threshold: NotNegative = 1.0
    """Force above which it closes [N]."""

    def channels(self, model: Model) -> Sequence[Channel]:
        return [Channel("closed", "1", PERFECT)]

    def read(self, instant: Instant) -> Array:
        """|Σ contact forces on the body| > threshold."""
        force = norm(instant.contact_force(instant.mount(self.name, self.frame).body))
        return np.array([where(force > self.threshold, 1.0, 0.0)])
