"""A slack heavy line; the lifted part grows with the height of the vehicle."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from hydromechs.model import Model
from hydromechs.model.component import Action, Component, Now, Output, Slot, Values, Wrench
from hydromechs.values import Checked, Finite, NotNegative, Vector3

NUMBERS = ("weight", "x", "y", "z", "height")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftedLine(Checked, Component):
    """End of a slack line that hangs from a vehicle to the ground, or to the depth at which it floats.

        F = −w (h − h₀) ẑ   at the attachment point, whose height is h

    Its parameters are held inputs "weight", "x", "y", "z" and "height": they can be changed during a run, and identified. The
    weight that hangs at h₀ is part of the vehicle's weight.
    """

    kind = "lifted_line"
    refers = MappingProxyType({"body": "body"})

    name: str
    """Name in files and recordings, such as "tether"."""
    body: str
    """Name of the body to which it is attached."""
    weight: NotNegative
    """w, weight in water per length [N/m]."""
    place: Vector3 = (0.0, 0.0, 0.0)
    """Attachment point in body axes [m], shape (3,)."""
    height: Finite = 0.0
    """h₀, height of the attachment point at which the line exerts no force [m]."""

    outputs = (Output("lifted_weight", "N", "weight of the lifted part of the line, minus that at its reference height"),)

    def check(self, model: Model) -> None:
        model.body_index(self.body)

    def inputs(self, model: Model) -> Sequence[Slot]:
        values = (self.weight, *self.place, self.height)
        units = ("N/m", "m", "m", "m", "m")
        return [Slot(name, value, unit, setting=True) for name, value, unit in zip(NUMBERS, values, units, strict=True)]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        k = now.model.body_index(self.body)
        down = np.asarray(now.model.world.down)
        r = np.array([u["x"], u["y"], u["z"]])
        lifted = u["weight"] * (-(down @ (now.p_WB[k] + now.R_WB[k] @ r)) - u["height"])
        f = now.R_WB[k].T @ (lifted * down)
        return Action(forces=[Wrench(k, np.concatenate([f, np.cross(r, f)]))], record={"lifted_weight": lifted})
