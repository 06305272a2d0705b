"""Arrays of a routine that hold the state of a world, and the inputs of a plant at a state."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from hydromechs.compiler import Routine
from hydromechs.integrators import rounding
from hydromechs.model import State
from hydromechs.simulation import Plant, SensingPlaces
from hydromechs.values import Array

NONE: Mapping[str, Array] = MappingProxyType({})
SEEDS = 2**53
"""Number of different seeds."""


def world_arrays(plant: Plant) -> dict[str, int]:
    """Sizes of the arrays of a routine that hold the state of a world, by name."""
    model, layout = plant.model, plant.layout
    return {"t": 1, "tick": 1, "q": model.nq, "x": model.nv + layout.nz, "seed": 1, "world": 1}


def world_places(routine: Routine) -> SensingPlaces:
    """Places of the state of a world in a routine with `world_arrays` and `inputs`."""
    return SensingPlaces(*(routine[name] for name in SensingPlaces._fields))


class WorldInputs:
    """Inputs of a plant at a state of a simulation."""

    def __init__(self, plant: Plant, step: float) -> None:
        self.plant, self.step = plant, step
        self._flow = plant.flow()

    def arrays(self, state: State, period: float, parameters: Mapping[str, Array] = NONE) -> dict[str, Array]:
        """Return arrays by the names of `world_arrays`, and `inputs`, shape (1, n) each, but for seed and world.

        Args:
            period: Time between two ticks [s].
            parameters: Values of open parameters, by name; the model's for those not named.
        """
        t = float(state.t)
        data, _ = self.plant.data(self._flow, t + max(1e-9 * self.step, rounding(t)), parameters)
        found = {"t": [t], "tick": [round(t / period)], "q": state.q, "x": np.concatenate([state.v, state.internal])}
        found["inputs"] = np.concatenate([state.command, state.held, data])
        return {name: np.array(x, dtype=float).reshape(1, -1) for name, x in found.items()}
