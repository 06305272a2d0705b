"""True motion of a plant at one instant, as input of sensors."""

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
    """Values that a sensor kept at its last measurement."""

    time: Scalar
    """Time since then [s]; 0 if there was none."""
    kept: Array
    """Result of `Sensor.keep`, shape (n,)."""


NOTHING_BEFORE = Before(0.0, np.zeros(0))
"""Values of a sensor that keeps nothing."""
NONE: Mapping[str, Before] = MappingProxyType({})


class MountedFrame(FrameNow):
    """Frame of a sensor, rotated by its mounting error.

    `name`: name of the frame; `turn`: mounting error, a rotation vector in the frame's axes [rad], shape (3,).
    """

    def __init__(self, instant: Instant, name: str, turn: Array) -> None:
        super().__init__(instant.now, name)
        self.instant = instant
        self.R_B = self.R_B @ quaternion_matrix(quaternion_exp(turn))

    @property
    def rate(self) -> Array:
        """Angular velocity in its own axes [rad/s], shape (3,)."""
        return self.R_B.T @ self.now.V[self.body][3:]

    @property
    def specific_force(self) -> Array:
        """Acceleration of its origin less gravity, in its own axes [m/s²], shape (3,).

        f = R_BSᵀ (v̇ + ω × v + ω̇ × p + ω × (ω × p) − R_WBᵀ g)
        """
        V, a, p = self.now.V[self.body], self.instant.acceleration[self.body], self.p_B
        v, w = V[:3], V[3:]
        g = self.now.R_WB[self.body].T @ self.now.model.world.gravity_vector
        return self.R_B.T @ (a[:3] + cross(w, v) + cross(a[3:], p) + cross(w, cross(w, p)) - g)


class Instant:
    """True quantities at one instant.

    `misalignment`: mounting error of each sensor, a rotation vector [rad], by its name; none for those not named; `terrain`:
    visible ground; `before`: values that sensors kept at their last measurement, by their names.
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
        """Time, kinematics and water."""
        opened = {solid.name: solid for solid in terrain_of(self._plant)} if plant.parameters else {}
        self.terrain = tuple(opened.get(solid.name, solid) for solid in terrain)
        """Visible properties of the ground."""

    @property
    def model(self) -> Model:
        """The mechanism."""
        return self.now.model

    @property
    def acceleration(self) -> Array:
        """Rates of the components in the velocity of each body [m/s², rad/s²], shape (nb, 6)."""
        return self._e.acceleration

    def mount(self, sensor: str, frame: str) -> MountedFrame:
        """Return the frame of a sensor, with its mounting error.

        `sensor`: name of the sensor; `frame`: name of the frame.
        """
        return MountedFrame(self, frame, self._turns.get(sensor, np.zeros(3)))

    def before(self, sensor: str) -> Before:
        """Return the values that the sensor of this name kept at its last measurement."""
        return self._before.get(sensor, NOTHING_BEFORE)

    def contact_force(self, body: int) -> Array:
        """Return the sum of all contact forces on a body in its axes [N], shape (3,)."""
        return self._e.forces["contact"][body][:3] if "contact" in self._e.forces else np.zeros(3)

    @property
    def component_names(self) -> list[str]:
        """Names of the components of the plant."""
        return [c.name for c in self._plant.components]

    def component(self, name: str) -> tuple[Component | None, Values, Values]:
        """Return a component of the plant, or None, with its states and inputs by their names in the component."""
        if name not in self.component_names:
            return None, {}, {}
        k = self.component_names.index(name)
        return self._plant.components[k], *self._plant.layout.of_component(k, self._z, self._inputs)

    def transmitted(self, body: int) -> Array:
        """Return the wrench on a body through its joint from its parent, in its axes about its origin [N, N·m], shape (6,).

        f_i = I_i V̇_i + V_i ×* I_i V_i − F_i + Σ Xᵀ f_j over its children j; F_i are all other forces on the body.
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
    """Return the terrain of a plant that can be touched, and other terrain; of two with the same name, the first is used."""
    touched = [c.solid for c in plant.components if isinstance(c, Pair) and isinstance(c.solid, Terrain)]
    return tuple({solid.name: solid for solid in [*reversed(touched), *reversed(list(others))]}.values())
