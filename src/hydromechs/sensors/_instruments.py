"""All sensors of one simulation: a routine that is run once for each tick, with errors that a seed decides."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from hydromechs.compiler import Routine, RoutineCode
from hydromechs.contact import Terrain
from hydromechs.model import State
from hydromechs.simulation import Pack, Plant
from hydromechs.values import Array

from ._sampling import SensorNodes
from ._sensor import Sensor
from ._world_inputs import SEEDS, WorldInputs, world_arrays, world_places

NONE: Mapping[str, Array] = MappingProxyType({})
OUTCOME = "outcome"
"""Array with what has arrived: flags, then numbers of samples."""


class Reading(NamedTuple):
    """A measurement that has arrived."""

    sensor: int
    """Number of the sensor."""
    number: int
    """Number of the sample, counted from time 0."""
    time: float
    """Time at which it was measured [s]."""
    value: Array
    """Measurement, shape (n,); NaN where there is nothing."""


class Instruments:
    """The sensors of a plant. What they remember is in an array that the caller keeps.

    Args:
        terrain: Ground that they see besides what the plant can touch.
    """

    def __init__(self, plant: Plant, sensors: Sequence[Sensor], step: float, terrain: Sequence[Terrain] = ()) -> None:
        self.sampling = m = SensorNodes(plant, sensors, step, terrain)
        self.sensors, self.plant, self.seed = m.sensors, plant, plant.seed
        self.pack = Pack({name: x.shape for name, x in m.state.items()})
        """Arrays of what they remember."""
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
        """Return the same sensors with errors of another seed than the plant's; nothing is compiled."""
        out = copy.copy(self)
        out.seed = seed
        return out

    def start(self) -> Array:
        """Return what they remember at the start, shape (pack.size,)."""
        return np.concatenate([np.ravel(x) for x in self.sampling.state.values()])

    def sample(self, memory: Mapping[str, Array], state: State, parameters: Mapping[str, Array] = NONE) -> list[Reading]:
        """Measure with all sensors that are due. Return what has arrived. `memory` is changed.

        Args:
            memory: What they remember, by the names of `pack`.
            state: The true state, at a multiple of the fastest sensor's period.
            parameters: Values of open parameters, by name; the model's for those not named.
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
