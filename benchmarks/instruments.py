"""All sensors of one plant at given states: a routine that runs once for each tick, with errors that a seed decides."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from hydromechs.compiler import Routine, RoutineCode
from hydromechs.contact import Terrain
from hydromechs.integrators import rounding
from hydromechs.model import State
from hydromechs.sensors import Reading, Sensor, SensorNodes
from hydromechs.simulation import SEEDS, Pack, Plant, SensingPlaces
from hydromechs.values import Array

NONE: Mapping[str, Array] = MappingProxyType({})
OUTCOME = "outcome"
"""Array of arrivals: flags, then numbers of samples."""


class Instruments:
    """Sensors of a plant. Their memory is in an array that the caller keeps.

    Args:
        terrain: Ground that they see besides what the plant can touch.
    """

    def __init__(self, plant: Plant, sensors: Sequence[Sensor], step: float, terrain: Sequence[Terrain] = ()) -> None:
        self.sampling = m = SensorNodes(plant, sensors, step, terrain)
        self.sensors, self.plant, self.seed = m.sensors, plant, plant.seed
        self.pack = Pack({name: x.shape for name, x in m.state.items()})
        """Arrays of their memory."""
        n = len(self.sensors)
        sizes = {name: x.size for name, x in m.state.items()} | world_arrays(plant) | {OUTCOME: 2 * n}
        given = {name: x.size for name, x in m.inputs.items()} | {"inputs": plant.layout.size}
        routine = Routine("instruments", sizes, given)
        got = m.add(routine, world_places(routine))
        for k, entries in enumerate((got.fresh, got.number)):
            routine.copy(entries, routine.part(OUTCOME, k * n, n))
        self._inputs, self._given = WorldInputs(plant, step), {name: x[None] for name, x in m.inputs.items()}
        self._code = RoutineCode(routine, 1, 1)
        self._code.compile()

    def seeded(self, seed: int) -> Instruments:
        """Return the same sensors with errors of another seed; nothing is compiled."""
        out = copy.copy(self)
        out.seed = seed
        return out

    def start(self) -> Array:
        """Return the initial memory, shape (pack.size,)."""
        return np.concatenate([np.ravel(x) for x in self.sampling.state.values()])

    def sample(self, memory: Mapping[str, Array], state: State, parameters: Mapping[str, Array] = NONE) -> list[Reading]:
        """Measure with all sensors that are due; return arrivals. `memory` is changed.

        `memory`: what they remember, by the names of `pack`; `state`: the true state, at a multiple of the fastest sensor's
        period; `parameters`: values of open parameters, by name; the model's for those not named.
        """
        m, n = self.sampling, len(self.sensors)
        arrays = {name: memory[name].reshape(1, -1) for name in m.state} | self._inputs.arrays(state, m.period, parameters)
        arrays |= {"seed": np.array([[float(self.seed % SEEDS)]]), "world": np.zeros((1, 1)), OUTCOME: np.zeros((1, 2 * n))}
        given = self._given | {"inputs": arrays.pop("inputs")}
        self._code.run(arrays, given, 1)
        fresh, number = arrays[OUTCOME].reshape(2, n)
        return [
            Reading(i, int(number[i]), number[i] * s.period, memory["sensor received"][m.places[i]].copy())
            for i, s in enumerate(self.sensors)
            if fresh[i]
        ]


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
            parameters: Values of open parameters, by name; defaults to the model's.
        """
        t = float(state.t)
        data, _ = self.plant.data(self._flow, t + max(1e-9 * self.step, rounding(t)), parameters)
        found = {"t": [t], "tick": [round(t / period)], "q": state.q, "x": np.concatenate([state.v, state.internal])}
        found["inputs"] = np.concatenate([state.command, state.held, data])
        return {name: np.array(x, dtype=float).reshape(1, -1) for name, x in found.items()}
