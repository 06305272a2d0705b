"""Force-torque sensor in a joint."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.model import Model
from hydromechs.spatial import cross
from hydromechs.values import Array

from ._instant import Instant
from ._noise import PERFECT, Noise
from ._sensor import Channel, Mounted


@dataclass(frozen=True, slots=True, kw_only=True)
class ForceTorque(Mounted):
    """Wrench on the body of its frame through its joint from its parent, about the frame's origin in its axes.

    It includes weight, buoyancy, drag and inertia of all bodies that the joint carries, and of held loads.
    """

    force: Noise = PERFECT
    """Errors of the force [N]."""
    torque: Noise = PERFECT
    """Errors of the torque [N·m]."""

    def check(self, model: Model) -> None:
        Mounted.check(self, model)
        body = model.locate(self.frame).body
        if model.parent[body] < 0 and model.bodies[body].joint.nv == 6:
            raise ValueError(
                f"sensor {self.name!r}: body {model.body_names[body]!r} has no parent, so no wrench goes through its joint; "
                "mount it on the body outboard of the wrist"
            )

    def channels(self, model: Model) -> Sequence[Channel]:
        """Force, then torque."""
        force = [Channel(x, "N", self.force) for x in "XYZ"]
        return force + [Channel(x, "N m", self.torque) for x in "KMN"]

    def read(self, instant: Instant) -> Array:
        """(R_BSᵀ f, R_BSᵀ (n − p × f)) of the wrench (f, n) through the joint."""
        place = instant.mount(self.name, self.frame)
        F = instant.transmitted(place.body)
        f, n = F[:3], F[3:]
        return np.concatenate([place.R_B.T @ f, place.R_B.T @ (n - cross(place.p_B, f))])
