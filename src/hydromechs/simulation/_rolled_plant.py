"""Loops over the bodies of plants with large trees, which steps and recordings call."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hydromechs import equations
from hydromechs.compiler import Argument, Rolled
from hydromechs.equations import After, BodyNow
from hydromechs.errors import UnsupportedFeature
from hydromechs.values import Array, Scalar

from ._body_instant import energies_of, water_on_body, weight_of

if TYPE_CHECKING:
    from ._plant import Plant

WATER_FORCES = ("drag", "added_mass", "buoyancy", "fluid_acceleration", "weight")
"""Labels of forces that are not caused by components."""
OF_WATER = ("drag", "water")
"""Causes whose work the loops compute."""


def rolled_plant(plant: Plant) -> RolledPlant | None:
    """Return the loops of a plant that is compiled as loops, on request or because of its size; None for other plants."""
    reasons = {
        "open parameters": bool(plant.parameters),
        "constraints": plant.constrained,
        "given motion": bool(plant.given_motion),
        "a free surface": plant.environment.surface is not None,
    }
    against = [what for what, there in reasons.items() if there]
    if plant.form == "rolled" and against:
        raise UnsupportedFeature(f"{plant.model.name}: form 'rolled' does not support {' and '.join(against)}; omit form")
    if plant.form not in (None, "specialised", "rolled"):
        raise ValueError(f"form is {plant.form!r}, must be 'specialised' or 'rolled'; omit it for the default")
    large = plant.form is None and plant.model.nb >= equations.LARGE and not against
    return RolledPlant(plant) if large or plant.form == "rolled" else None


class RolledPlant:
    """Loops over the bodies of a plant."""

    def __init__(self, plant: Plant) -> None:
        self.plant = plant

    @cached_property
    def tree(self) -> equations.RolledTree:
        """Tree of the bodies, grouped by kind."""
        samplings = None if self.plant.uniform else self.plant.samplings(self.plant.model)
        return equations.RolledTree(self.plant.model, self.plant.armature, samplings)

    @property
    def points(self) -> np.ndarray:
        """Points at which nonuniform water is evaluated, in body axes [m], shape (nb, n, 3).

        All bodies have the same number of points, because the last point of a body is repeated.
        """
        rows = [() if s is None else s.points for s in self.plant.samplings(self.plant.model)]
        n = max(1, *map(len, rows))
        return np.array([[*row, *[row[-1] if row else np.zeros(3)] * (n - len(row))] for row in rows], dtype=float)

    @property
    def work_causes(self) -> tuple[str, ...]:
        """Causes whose work the loops compute."""
        return tuple(cause for cause in OF_WATER if cause in self.plant.layout.causes)

    @property
    def extra(self) -> tuple[Argument, ...]:
        """Optional arguments of the loops: motion of the water, its gradient, wrenches of components."""
        nb = self.plant.model.nb
        n = 0 if self.plant.uniform else self.points.shape[1]
        flows = self.plant.wet and self.plant.flows
        fluid = [Argument(x, (nb, 3 * n) if n else (3,)) for x in ("fluid_velocity", "fluid_acceleration")] if flows else []
        fluid += [Argument("gradient", (nb, 9 * n))] if flows and n else []
        return (*fluid, *([Argument("wrench", (nb, 6))] if self.plant.labels else []))

    @cached_property
    def poses(self) -> Rolled:
        """Loops from (q, v) to rotation matrices, origins and velocities of the bodies."""
        return self.tree.poses()

    @cached_property
    def rates(self) -> Rolled:
        """Loops from (q, v, tau, ...) to v̇ and the powers in the energy balance."""
        return self.tree.forward_dynamics(self.extra, After(self._powers, {}, self.work_causes) if self.work_causes else None)

    @cached_property
    def instant(self) -> Rolled:
        """Loops from (q, v, vdot, ...) to forces of water and weight on the bodies, rates of velocities, and energies."""
        rows: dict[str, tuple[int, ...]] = {f"force_{label}": (6,) for label in WATER_FORCES}
        rows["rate"] = (6,)
        if not self.plant.uniform:
            rows["mean_flow"] = (3,)
        extra = tuple(a for a in self.extra if a.name != "wrench")
        return self.tree.instant(extra, After(self._observed, rows, ("kinetic_body", "kinetic_fluid", "potential")))

    def _powers(self, now: BodyNow) -> Mapping[str, Scalar]:
        """Return the powers of the water on a body [W], keyed by cause."""
        if now.body.hydro is None or not now.acting.moves:
            return dict.fromkeys(self.work_causes, 0.0)
        gravity = self.plant.model.world.gravity_vector
        return water_on_body(self.plant, gravity, now.body, now.motion, now.V, now.a).power

    def _observed(self, now: BodyNow) -> Mapping[str, Array | Scalar]:
        plant, gravity, motion = self.plant, self.plant.model.world.gravity_vector, now.motion
        drag = added = buoyancy = moved = np.zeros(6)
        if now.body.hydro is not None:
            on = water_on_body(plant, gravity, now.body, motion, now.V, now.a)
            drag, added, buoyancy, moved = on.drag, on.added_mass, on.buoyancy, on.fluid_acceleration
        moving = motion if plant.wet and now.acting.moves else None
        kinetic, fluid, potential = energies_of(
            plant, gravity, now.body, now.acting.rigid, moving, now.V, motion.R_WB, motion.p_WB
        )
        wet = motion.around is not None
        return {
            "mean_flow": motion.R_WB @ (now.V - motion.velocity)[:3] if wet else np.zeros(3),
            "force_drag": drag,
            "force_added_mass": added,
            "force_buoyancy": buoyancy,
            "force_fluid_acceleration": moved,
            "force_weight": weight_of(now.acting.mass, now.acting.com, motion.R_WB.T @ gravity),
            "rate": now.rate,
            "kinetic_body": kinetic,
            "kinetic_fluid": fluid,
            "potential": potential,
        }
