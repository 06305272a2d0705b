"""Line that only pulls: the elastic catenary between its ends at every instant, without inertia or drag.

It is valid if the line moves slowly, so that drag and inertia are small compared with its weight. Compare with a `Tether` to
verify this.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.model import Model
from hydromechs.model.component import Action, Component, FastMode, Mobility, Now, Output, Slot, Values, mode_of
from hydromechs.spatial import clamp, maximum, norm, where
from hydromechs.values import Positive

from ._cable import Cable
from ._catenary import catenary_pull
from ._ends import TopPoint, check_ends, point_mobility, too_short

LEAST_WEIGHT = 1e-3
"""Minimum ratio of weight in water to dry weight for a hanging line [-]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HangingLine(Component):
    """A cable from a frame of a body to a point of a ship or of another body, in its static hanging shape."""

    refers = MappingProxyType({"frame": "frame or body"})
    outputs = (
        Output(
            "hanging_tension", "N", "tension of the hanging line at its lower and upper end", ("lower", "upper"), "line_end"
        ),
    )

    name: str
    """Name, unique among the components."""
    frame: str
    """Frame or body at its lower end."""
    top: TopPoint
    """Its upper end."""
    cable: Cable
    """Cable properties, of which mass, diameter and axial stiffness are used."""
    length: Positive
    """Initial unstretched length [m]."""
    shortest: Positive | None = None
    """Unstretched length at which hauling in stops [m]; the step limit is evaluated there.

    Defaults to half of the initial length.
    """

    def __post_init__(self) -> None:
        check_ends(self, f"hanging line {self.name!r}")

        if self.lengths[0] > self.length:
            raise FieldError(
                f"hanging line {self.name!r}: shortest", self.shortest, f"must not exceed its length, {self.length:g} m"
            )

    def check(self, model: Model) -> None:
        model.locate(self.frame)
        self.top.check(model)
        world = model.world
        weight = self.cable.weight(world.water_density, world.gravity)
        if abs(weight) <= LEAST_WEIGHT * self.cable.mass * world.gravity:
            raise ValueError(
                f"hanging line {self.name!r} has a weight in water of {weight:.3g} N/m and has no definite hanging shape; "
                "use a Tether, or change its mass or diameter"
            )

    def check_start(self, now: Now) -> None:
        fault = too_short(now, self.frame, self.top, self.length)
        if fault:
            raise ValueError(f"hanging line {self.name!r} {fault}")

    def inputs(self, model: Model) -> list[Slot]:
        """Its unstretched length [m], an input."""
        return [Slot("length", self.length, "m", limits=self.lengths, frozen_in_trim=True)]

    @property
    def lengths(self) -> tuple[float, float]:
        """Minimum and maximum unstretched length [m]."""
        return self.length / 2.0 if self.shortest is None else self.shortest, 1e3 * self.length

    def act(self, now: Now, z: Values, u: Values) -> Action:
        bottom, top, world = now.frame(self.frame), self.top.now(now), now.model.world
        heavy = self.cable.weight(world.water_density, world.gravity)  # below 0 it floats, and hangs upwards
        up = where(heavy < 0.0, 1.0, -1.0) * world.down
        weight = maximum(abs(heavy), LEAST_WEIGHT * self.cable.mass * maximum(world.gravity, 1.0))
        r = top.p - bottom.p
        height = up @ r
        across = r - height * up
        far = norm(across)
        e = across / maximum(far, 1e-9 * self.length)
        H, V_A, V_B = catenary_pull(far, height, clamp(u["length"], *self.lengths), weight, self.cable.axial_stiffness)
        pull, back = H * e + V_A * up, -H * e - V_B * up
        return Action(
            forces=[bottom.force(pull), *([top.frame.force(back)] if top.frame else [])],
            record={"hanging_tension": np.array([norm([H, V_A]), norm([H, V_B])])},
        )

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        moves = point_mobility(model, mobility, self.frame) + self.top.mobility(model, mobility)
        return [mode_of(f"hanging line {self.name!r}", self.cable.axial_stiffness / self.lengths[0], 0.0, moves)]
