"""One instant of a plant whose mechanism is a large tree, by loops over its bodies that steps and recordings call."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hydromechs import compiler, dynamics, equations, hydro
from hydromechs.compiler import Argument, Rolled
from hydromechs.equations import After, BodyNow
from hydromechs.errors import UnsupportedFeature
from hydromechs.model.component import Now
from hydromechs.values import Array, Scalar

from ._body_instant import energies_of, water_on_body, weight_of

if TYPE_CHECKING:
    from ._plant import Plant
    from ._water import Water

__all__ = ["WATER_FORCES", "Mechanics", "RolledPlant", "rolled_plant"]

WATER_FORCES = ("drag", "added_mass", "buoyancy", "weight")
"""Labels of forces that do not come from components."""
OF_WATER = ("drag", "water")
"""Causes of work that the loops book."""


class Mechanics(NamedTuple):
    """How the mechanism moves under given forces; see `Evaluation`."""

    vdot: Array
    """v̇, shape (nv,)."""
    forces: dict[str, Array]
    """Wrenches of water and weight by label, shape (nb, 6)."""
    added_mass: Array
    """M_A of each body, shape (nb, 6, 6)."""
    acceleration: Array
    """Derivative of the numbers in the velocity of each body, shape (nb, 6)."""
    kinetic_body: Scalar
    """Of the bodies and geared rotors [J]."""
    kinetic_fluid: Scalar
    """Of the water that moves with the bodies [J]."""
    potential: Scalar
    """Of weight and buoyancy [J]."""
    constraint_wrench: Array
    """Of all constraints on each body, shape (nb, 6)."""
    constraint_free: Array
    """See `Evaluation`, shape (ng,)."""
    constraint_pivot: Array
    """See `Evaluation`, shape (ng,)."""


def rolled_plant(plant: Plant) -> RolledPlant | None:
    """The loops of a plant if it is compiled that way: asked for, or large and of a kind that can be; else None.

    Args:
        plant: What is simulated.
    """
    reasons = {
        "open parameters": bool(plant.parameters),
        "constraints": plant.constrained,
        "a free surface": plant.environment.surface is not None,
    }
    against = [what for what, there in reasons.items() if there]
    if plant.form == "rolled" and against:
        raise UnsupportedFeature(f"{plant.model.name}: a plant with {' and '.join(against)} cannot be rolled; leave form out")
    form = "specialised" if against else equations.form_of(plant.model, plant.form, ())
    return RolledPlant(plant) if form == "rolled" else None


class RolledPlant:
    """The loops of a plant.

    Args:
        plant: What is simulated.
    """

    def __init__(self, plant: Plant) -> None:
        self.plant = plant

    @cached_property
    def tree(self) -> equations.RolledTree:
        """The bodies, by kinds."""
        return equations.RolledTree(self.plant.model, self.plant.armature)

    def kinematics(self, q: Array, v: Array) -> dynamics.Kinematics:
        """Poses and velocities of all bodies; the other fields are empty.

        Args:
            q: Configuration, shape (nq,).
            v: Velocity, shape (nv,).
        """
        R, p, V = compiler.call(self._poses, q, v)
        return dynamics.Kinematics((), (), tuple(V), (), (), tuple(R), tuple(p))

    def mechanics(self, now: Now, water: Water, tau: Array, wrench: Array, power: dict[str, Scalar]) -> Mechanics:
        """Accelerations, forces of the water and energies; the powers of the water are added to `power`.

        Args:
            now: The instant.
            water: The undisturbed water.
            tau: Joint forces, shape (nv,).
            wrench: Wrenches of components on each body, shape (nb, 6).
            power: Power by cause [W].
        """
        plant, nb = self.plant, self.plant.model.nb
        given = self._given(water, wrench)
        vdot, *totals = compiler.call(self._rates, now.q, now.v, tau, *given.values())
        for cause, value in zip(self._booked, totals[0] if totals else (), strict=True):
            power[cause] = power[cause] + value
        given.pop("wrench", None)
        *rows, M_A, rate, totals_now = compiler.call(self._instant, now.q, now.v, vdot, *given.values())
        kinetic, fluid, potential = totals_now
        if plant.armature is not None:
            kinetic = kinetic + 0.5 * np.sum(plant.armature * now.v * now.v)
        return Mechanics(
            vdot=vdot,
            forces=dict(zip(WATER_FORCES, rows, strict=True)),
            added_mass=M_A,
            acceleration=rate,
            kinetic_body=kinetic,
            kinetic_fluid=fluid,
            potential=potential,
            constraint_wrench=np.zeros((nb, 6)),
            constraint_free=np.zeros(0),
            constraint_pivot=np.ones(0),
        )

    # -- what is called -------------------------------------------------------------------------------------------------------

    @property
    def _booked(self) -> tuple[str, ...]:
        return tuple(cause for cause in OF_WATER if cause in self.plant.layout.causes)

    def _given(self, water: Water, wrench: Array) -> dict[str, Array]:
        """Optional arguments of the loops."""
        given: dict[str, Array] = {}
        if self.plant.wet and self.plant.flows:
            given |= {"fluid_velocity": water.velocity, "fluid_acceleration": water.acceleration}
            if not self.plant.uniform:
                wet = [body.hydro is not None for body in self.plant.model.bodies]
                rows = [water.at(i).gradient if here else np.zeros((3, 3)) for i, here in enumerate(wet)]
                given["gradient"] = np.stack(rows)
        if self.plant.labels:
            given["wrench"] = wrench
        return given

    @property
    def _extra(self) -> tuple[Argument, ...]:
        """The same as arguments."""
        nb = self.plant.model.nb
        shape = (3,) if self.plant.uniform else (nb, 3)
        flows = self.plant.wet and self.plant.flows
        fluid = [Argument(x, shape) for x in ("fluid_velocity", "fluid_acceleration")] if flows else []
        fluid += [Argument("gradient", (nb, 3, 3))] if flows and not self.plant.uniform else []
        return (*fluid, *([Argument("wrench", (nb, 6))] if self.plant.labels else []))

    @cached_property
    def _poses(self) -> Rolled:
        return self.tree.poses()

    @cached_property
    def _rates(self) -> Rolled:
        return self.tree.forward_dynamics(self._extra, After(self._powers, {}, self._booked) if self._booked else None)

    @cached_property
    def _instant(self) -> Rolled:
        rows: dict[str, tuple[int, ...]] = {f"force_{label}": (6,) for label in WATER_FORCES}
        rows |= {"M_A": (6, 6), "rate": (6,)}
        extra = tuple(a for a in self._extra if a.name != "wrench")
        return self.tree.instant(extra, After(self._observed, rows, ("kinetic_body", "kinetic_fluid", "potential")))

    def _gradient(self, now: BodyNow) -> Array | None:
        return None if self.plant.uniform or "water" not in self.plant.layout.causes else now.gradient

    def _powers(self, now: BodyNow) -> Mapping[str, Scalar]:
        """Powers of the water on a body by cause [W]."""
        if now.body.hydro is None or not now.acting.moves:
            return dict.fromkeys(self._booked, 0.0)
        gravity = self.plant.model.world.gravity_vector
        return water_on_body(self.plant, gravity, now.body, now.motion, now.V, now.a, self._gradient(now)).power

    def _observed(self, now: BodyNow) -> Mapping[str, Array | Scalar]:
        """All that is recorded of a body."""
        plant, gravity, motion = self.plant, self.plant.model.world.gravity_vector, now.motion
        drag = added = buoyancy = np.zeros(6)
        M_A = np.zeros((6, 6))
        if now.body.hydro is not None:
            on = water_on_body(plant, gravity, now.body, motion, now.V, now.a, self._gradient(now))
            drag, added, buoyancy = on.drag, on.added_mass, on.buoyancy
            M_A = hydro.added_mass(now.body, motion)
        moving = motion if plant.wet and now.acting.moves else None
        kinetic, fluid, potential = energies_of(
            plant, gravity, now.body, now.acting.rigid, moving, now.V, motion.R_WB, motion.p_WB
        )
        return {
            "force_drag": drag,
            "force_added_mass": added,
            "force_buoyancy": buoyancy,
            "force_weight": weight_of(now.acting.mass, now.acting.com, motion.R_WB.T @ gravity),
            "M_A": M_A,
            "rate": now.rate,
            "kinetic_body": kinetic,
            "kinetic_fluid": fluid,
            "potential": potential,
        }
