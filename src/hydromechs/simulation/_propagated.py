"""Missions whose steps are taken by a propagator: adaptive and block methods, and third-party engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from hydromechs.integrators import NotFinite, Point, is_multiple, next_multiple, reached
from hydromechs.values import Array

from ._mission_march import ASKS, GridTime, MissionMarch

if TYPE_CHECKING:
    from ._mission import Mission
    from ._programs import PlantPrograms


class PropagatedMarch(MissionMarch):
    """The loop of a mission of one world: compiled ticks, and between two of them or samples the steps of a propagator.

    Args:
        mission: As of `MissionMarch`.
        record: Time between two samples [s].
    """

    def __init__(self, programs: PlantPrograms, mission: Mission | None, step: float, record: float) -> None:
        self._set(programs, mission, step)
        self.record = record
        self.propagator = programs.stepper.propagator
        parts = (self.mission, self.sensing)
        self._periods = [record, *(x.period for x in parts if x is not None)]
        self._ticked = 0.0

    def compile(self) -> None:
        self.propagator.compile()
        if self.mission is not None or self.sensing is not None:
            self._tick.compile()

    def grid(self, t: float) -> GridTime:
        return GridTime(0.0, t)

    def ticked(self, state: Mapping[str, Array]) -> float:
        return self._ticked

    @property
    def bare(self) -> PropagatedMarch:
        return self

    def passes(self, at: GridTime, until: GridTime) -> int:
        return 2 + sum(int((until.part - at.part) / period) + 2 for period in self._periods)

    def run(self, state: Mapping[str, Array], until: Array, passes: int, records: Mapping[str, Array] | None = None) -> Array:
        rows, end = 0, float(until[0, 1])
        while state["alive"][0, 0] and not state["paused"][0, 0]:
            t = float(state["part"][0, 0])
            if reached(t, end, self.step):
                break
            if self.tick(state, t):
                self._ticked = t
                if self.python and state["stage"][0, 0] == ASKS:
                    break
            if state["sample"][0, 0] or is_multiple(t, self.record, self.step):
                state["told"][0] = state["inputs"][0, : state["told"].shape[1]]
                for name, x in () if records is None else records.items():
                    x[0, rows] = state[name][0]
                state["sample"][0], rows = 0.0, rows + 1
            stop = min(end, *(next_multiple(t, period, self.step) for period in self._periods))
            self._propagate(state, t, stop)
        return np.array([rows])

    def _propagate(self, state: Mapping[str, Array], t: float, stop: float) -> None:
        """Take the steps of the world to a time [s]."""
        nq = self.plant.model.nq
        y, inputs = state["y"][0], state["inputs"][0]
        try:
            at = self.advanced(Point(t, y[:nq].copy(), y[nq:].copy()), inputs.copy(), stop)
        except NotFinite as failure:
            at, self.reason = failure.at, failure.reason
            state["alive"][0] = 0.0
        state["part"][0], y[:nq], y[nq:] = at.t, at.q, at.x

    def advanced(self, at: Point, inputs: Array, t_end: float) -> Point:
        return self.propagator.advance(at, inputs, t_end, self.step)
