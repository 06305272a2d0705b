"""A slack heavy line of which a vehicle lifts the more the higher it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from hydromechs.model import Model
from hydromechs.model.component import Action, Component, Now, Output, Slot, Values, Wrench
from hydromechs.values import Finite, NotNegative, Vector3, check_fields

__all__ = ["LiftedLine"]

NUMBERS = ("weight", "x", "y", "z", "height")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftedLine(Component):
    """The end of a slack line that hangs down from a vehicle to the ground, or to where it floats.

        F = −w (h − h₀) ẑ   at the place where it is fastened, with the height h of that place

    Its numbers are held inputs "weight", "x", "y", "z" and "height": they can be changed during a run, and be identified. What
    hangs at h₀ belongs to the weight of the vehicle.
    """

    kind = "lifted_line"
    refers = MappingProxyType({"body": "body"})

    name: str
    """Name in files and recordings, as "tether"."""
    body: str
    """Name of the body that it is fastened to."""
    weight: NotNegative
    """w, weight in water per length [N/m]."""
    place: Vector3 = (0.0, 0.0, 0.0)
    """Where it is fastened, in the body's axes [m], shape (3,)."""
    height: Finite = 0.0
    """h₀, height of that place at which the line pulls with nothing [m]."""

    outputs = (Output("lifted_weight", "N", "weight of what is lifted of the line, besides that at its reference height"),)

    def __post_init__(self) -> None:
        check_fields(self)

    def check(self, model: Model) -> None:
        """The body must be there."""
        model.body_index(self.body)

    def inputs(self, model: Model) -> Sequence[Slot]:
        """Its numbers."""
        values = (self.weight, *self.place, self.height)
        units = ("N/m", "m", "m", "m", "m")
        return [Slot(name, value, unit, held=True) for name, value, unit in zip(NUMBERS, values, units, strict=True)]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """The weight, at its place."""
        k = now.model.body_index(self.body)
        down = np.asarray(now.model.world.down)
        r = np.array([u["x"], u["y"], u["z"]])
        lifted = u["weight"] * (-(down @ (now.p_WB[k] + now.R_WB[k] @ r)) - u["height"])
        f = now.R_WB[k].T @ (lifted * down)
        return Action(forces=[Wrench(k, np.concatenate([f, np.cross(r, f)]))], record={"lifted_weight": lifted})
