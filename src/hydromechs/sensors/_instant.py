"""True motion of a plant at one instant, the input of sensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from hydromechs import dynamics
from hydromechs.contact import Pair, Terrain
from hydromechs.model import Model
from hydromechs.model.component import Component, FrameNow, Now, Values
from hydromechs.simulation import Evaluation, Plant, evaluate
from hydromechs.spatial import cross, quaternion_exp, quaternion_matrix
from hydromechs.values import Array, Scalar


class Before(NamedTuple):
    """Values stored by a sensor at the last measurement."""

    time: Scalar
    """Time since the last measurement [s]; 0 before the first."""
    kept: Array
    """Result of `Sensor.keep`, shape (n,)."""


NOTHING_BEFORE = Before(0.0, np.zeros(0))
"""Stored values of a sensor without memory."""
NONE: Mapping[str, Before] = MappingProxyType({})


class MountedFrame(FrameNow):
    """Frame of a sensor, rotated by the mounting error.

    `name`: name of the frame; `turn`: mounting error as a rotation vector in frame axes [rad], shape (3,).
    """

    def __init__(self, instant: Instant, name: str, turn: Array) -> None:
        super().__init__(instant.now, name)
        self.instant = instant
        self.R_B = self.R_B @ quaternion_matrix(quaternion_exp(turn))

    @property
    def rate(self) -> Array:
        """Angular velocity in frame axes [rad/s], shape (3,)."""
        return self.R_B.T @ self.now.V[self.body][3:]

    @property
    def specific_force(self) -> Array:
        """Specific force of the frame origin in frame axes (acceleration minus gravity) [m/s²], shape (3,).

        f = R_BSᵀ (v̇ + ω × v + ω̇ × p + ω × (ω × p) − R_WBᵀ g)
        """
        V, a, p = self.now.V[self.body], self.instant.acceleration[self.body], self.p_B
        v, w = V[:3], V[3:]
        g = self.now.R_WB[self.body].T @ self.now.model.world.gravity_vector
        return self.R_B.T @ (a[:3] + cross(w, v) + cross(a[3:], p) + cross(w, cross(w, p)) - g)


class Instant:
    """True quantities of a plant at one instant.

    `misalignment`: mounting errors as rotation vectors [rad], keyed by sensor name, with missing entries for aligned sensors;
    `terrain`: visible ground; `before`: values stored at the last measurement, keyed by sensor name.
    """

    def __init__(
        self,
        plant: Plant,
        t: Scalar,
        q: Array,
        v: Array,
        z: Array,
        inputs: Array,
        misalignment: Mapping[str, Array],
        terrain: Sequence[Terrain] = (),
        before: Mapping[str, Before] = NONE,
    ) -> None:
        self._before = before
        self._plant, self._z, self._inputs, self._turns = plant.opened(inputs), z, inputs, misalignment
        self._e: Evaluation = evaluate(plant, t, q, v, z, inputs)
        self.now: Now = self._e.now
        """Time, kinematics and water at this instant."""
        opened = {solid.name: solid for solid in terrain_of(self._plant)} if plant.parameters else {}
        self.terrain = tuple(opened.get(solid.name, solid) for solid in terrain)
        """Visible terrain."""

    @property
    def model(self) -> Model:
        """Model of the mechanism."""
        return self.now.model

    @property
    def acceleration(self) -> Array:
        """Time derivatives of the velocity components of each body [m/s², rad/s²], shape (nb, 6)."""
        return self._e.acceleration

    def mount(self, sensor: str, frame: str) -> MountedFrame:
        """Return the frame of a sensor including the mounting error.

        `sensor`: name of the sensor; `frame`: name of the frame or body.
        """
        return MountedFrame(self, frame, self._turns.get(sensor, np.zeros(3)))

    def before(self, sensor: str) -> Before:
        """Return the values stored by the named sensor at its last measurement."""
        return self._before.get(sensor, NOTHING_BEFORE)

    def contact_force(self, body: int) -> Array:
        """Return the sum of all contact forces on a body in body axes [N], shape (3,)."""
        return self._e.forces["contact"][body][:3] if "contact" in self._e.forces else np.zeros(3)

    @property
    def component_names(self) -> list[str]:
        """Names of the plant components."""
        return [c.name for c in self._plant.components]

    def component(self, name: str) -> tuple[Component | None, Values, Values]:
        """Return the named component, or None, with states and inputs keyed by their names in the component."""
        if name not in self.component_names:
            return None, {}, {}
        k = self.component_names.index(name)
        return self._plant.components[k], *self._plant.layout.of_component(k, self._z, self._inputs)

    def transmitted(self, body: int) -> Array:
        """Return the joint wrench that the parent exerts on a body, in body axes about its origin [N, N·m], shape (6,).

        f_i = I_i V̇_i + V_i ×* I_i V_i − F_i + Σ Xᵀ f_j over the children j; F_i contains all other forces on body i.
        """
        e, model = self._e, self.model
        inertia = [body.inertia.matrix for body in model.bodies]  # separate for each body, even if it is fixed to another
        own = [I @ e.acceleration[i] - dynamics.velocity_force(I, self.now.V[i]) for i, I in enumerate(inertia)]
        total = [f - sum((F[i] for F in e.forces.values()), e.constraint_wrench[i]) for i, f in enumerate(own)]
        for i in range(model.nb - 1, body, -1):
            parent = model.parent[i]
            if parent >= 0:
                total[parent] = total[parent] + self.now.kin.paths[i].force_back(total[i])
        return total[body]


def terrain_of(plant: Plant, others: Sequence[Terrain] = ()) -> tuple[Terrain, ...]:
    """Return the terrain in contact pairs of a plant and other terrain; for equal names, the first is used."""
    touched = [c.solid for c in plant.components if isinstance(c, Pair) and isinstance(c.solid, Terrain)]
    return tuple({solid.name: solid for solid in [*reversed(touched), *reversed(list(others))]}.values())
