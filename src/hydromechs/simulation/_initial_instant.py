"""Initial instant of a run, which is passed to components."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from hydromechs import dynamics
from hydromechs.model import Model
from hydromechs.model.component import Now, WaterNow
from hydromechs.values import Array

from ._layout import Layout
from ._plant import Plant
from ._water import Water, fluid_at


class InitialInstant(Now):
    """Initial instant of a run.

    Open parameters, bodies and water are computed on demand, because most components need none of them and a rollout starts
    in thousands of worlds.

    `parameters`: values of open parameters, keyed by name; omitted parameters have their values in the model.
    """

    def __init__(self, plant: Plant, t: float, q: Array, v: Array, parameters: Mapping[str, Any]) -> None:
        self._plant, self._parameters = plant, parameters
        self.t, self.q, self.v = t, q, v

    @cached_property
    def _inputs(self) -> Array:
        """Inputs of the plant with run data; commands and held inputs, which are set later, are 0."""
        plant = self._plant
        data, _ = plant.data(plant.flow(), self.t, self._parameters)
        return np.concatenate([np.zeros(plant.layout.size - len(data)), data])

    @cached_property
    def plant(self) -> Plant:
        """Plant with the values of its open parameters."""
        return self._plant.opened(self._inputs)

    @cached_property
    def model(self) -> Model:  # type: ignore[override]  # computed on request
        """Model with the values of its open parameters."""
        return self.plant.model

    @cached_property
    def kin(self) -> dynamics.Kinematics:
        """Kinematics of the bodies."""
        return dynamics.kinematics(self.model, self.q, self.v)

    @cached_property
    def water(self) -> WaterNow:  # type: ignore[override]  # as above
        """Undisturbed water."""
        return Water(self.plant, self.t, self.kin, self._inputs, fluid_at)

    @cached_property
    def _layout(self) -> Layout:
        """Layout whose initial states use the values of open parameters of components."""
        return self.plant.laid_out() if self._plant.opens_components else self._plant.layout

    def states(self) -> Array:
        """Return the initial internal states of the components, shape (n,)."""
        return self._layout.start(self._layout.state_slots, self)

    def inputs(self) -> Array:
        """Return the initial commands and held inputs, shape (n,)."""
        return self._layout.start(self._layout.input_slots, self)

    def check(self) -> None:
        """Raise `ValueError` if a run cannot start at this instant."""
        (self.plant if self._plant.opens_components else self._plant).check_start(self)
