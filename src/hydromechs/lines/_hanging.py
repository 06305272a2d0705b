"""Lines without inertia: the elastic catenary, and a slack heavy line whose lifted length grows with height."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.model import Model
from hydromechs.model.component import Action, Component, FastMode, Mobility, Now, Output, Slot, Values, Wrench, mode_of
from hydromechs.spatial import clamp, maximum, norm, where
from hydromechs.values import Checked, Finite, NotNegative, Positive, Vector3

from ._catenary import catenary_pull
from ._ends import TopPoint, check_ends, point_mobility, too_short
from ._mechanics import Cable

LEAST_WEIGHT = 1e-3
"""Minimum ratio of weight in water to weight in air for a hanging line [-]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HangingLine(Component):
    """A cable in static equilibrium from a frame of a body to a point of a ship or of another body."""

    refers = MappingProxyType({"frame": "frame or body"})
    outputs = (
        Output(
            "hanging_tension", "N", "tension of the hanging line at its lower and upper end", ("lower", "upper"), "line_end"
        ),
    )

    name: str
    """Name, unique among the components."""
    frame: str
    """Frame or body at the lower end of the line."""
    top: TopPoint
    """Upper end of the line."""
    cable: Cable
    """Cable properties; the model uses mass, diameter and axial stiffness."""
    length: Positive
    """Initial unstretched length [m]."""
    shortest: Positive | None = None
    """Unstretched length at which hauling in stops [m]; advice on the step size assumes this length.

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
                f"hanging line {self.name!r} has a weight in water of {weight:.3g} N/m and no unique hanging shape; "
                "use a Tether, or change its mass or diameter"
            )

    def check_start(self, now: Now) -> None:
        fault = too_short(now, self.frame, self.top, self.length)
        if fault:
            raise ValueError(f"hanging line {self.name!r} {fault}")

    def inputs(self, model: Model) -> list[Slot]:
        """Return the unstretched length [m] as an input."""
        return [Slot("length", self.length, "m", limits=self.lengths, frozen_in_trim=True)]

    @property
    def lengths(self) -> tuple[float, float]:
        """Minimum and maximum unstretched length [m]."""
        return self.length / 2.0 if self.shortest is None else self.shortest, 1e3 * self.length

    def act(self, now: Now, z: Values, u: Values) -> Action:
        bottom, top, world = now.frame(self.frame), self.top.now(now), now.model.world
        heavy = self.cable.weight(world.water_density, world.gravity)  # a negative weight floats and hangs upwards
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


NUMBERS = ("weight", "x", "y", "z", "height")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftedLine(Checked, Component):
    """Lifted end of a slack line that hangs from a vehicle down to the ground, or down to the floating depth of the line.

        F = −w (h − h₀) ẑ at the attachment point with height h

    The parameters are setting inputs "weight", "x", "y", "z" and "height", which can be changed during a run, and identified.
    The weight of the line at height h₀ is included in the weight of the vehicle.
    """

    kind = "lifted_line"
    refers = MappingProxyType({"body": "body"})

    name: str
    """Name of the component in files and recordings, such as "tether"."""
    body: str
    """Name of the body that carries the attachment point."""
    weight: NotNegative
    """Weight in water per length w [N/m]."""
    place: Vector3 = (0.0, 0.0, 0.0)
    """Attachment point in body axes [m], shape (3,)."""
    height: Finite = 0.0
    """Height h₀ of the attachment point at which the line exerts no force [m]."""

    outputs = (Output("lifted_weight", "N", "weight of the lifted part of the line, minus its value at the reference height"),)

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
