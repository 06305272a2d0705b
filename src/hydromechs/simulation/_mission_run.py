"""One world of a compiled mission: between a simulation and the arrays of the compiled loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hydromechs.integrators import Point

from ._mission_march import SAMPLED, GridTime, MissionMarch
from ._recorder import Recorder

SEEDS = 2**53
"""Number of different seeds of random numbers in compiled code."""

if TYPE_CHECKING:
    from ._simulation import Simulation


class MissionRun:
    """A simulation in the compiled loop.

    Args:
        march: The loop, on one lane.
    """

    def __init__(self, simulation: Simulation, march: MissionMarch) -> None:
        self.simulation, self.march = simulation, march
        self.state = march.new(1)
        self.seen: list[tuple[float, np.ndarray]] = []
        """Times [s] and configurations of the samples of the last stretch, and its end."""

    def advance(self, until: float, recorder: Recorder) -> list[str]:
        """Run up to a time at which inputs may change [s], or to a report. Return messages; raise what stops the mission."""
        sim, march, state = self.simulation, self.march, self.state
        at, end = GridTime.of(sim._at.t, march.step), GridTime.of(until, march.step)
        inputs, _ = sim._inputs(sim._at.t)
        nq = len(sim._at.q)
        state["n"][0], state["part"][0] = at
        state["y"][0, :nq], state["y"][0, nq:] = sim._at.q, sim._at.x
        state["inputs"][0], state["control"][0], state["sample"][0] = inputs, sim._controlled, recorder.empty
        state["alive"][0], state["paused"][0], state["reports"][:] = 1.0, 0.0, 0.0
        controller = sim.controller
        if controller is not None:
            march.remember(state, 0, controller.memory)
            state["signals"][0] = sim._signal
        if march.sensing is not None:
            state["seed"][0] = sim.plant.seed % SEEDS
        passes = march.passes(at, end)
        records = {name: np.empty((1, passes, state[name].shape[1])) for name in SAMPLED}
        rows = int(march.run(state, np.array([[end.n, end.part]]), passes, records)[0])
        there = GridTime(float(state["n"][0, 0]), float(state["part"][0, 0]))
        sim._at = Point(there.time(march.step), state["y"][0, :nq].copy(), state["y"][0, nq:].copy())
        na, told = len(sim._command), state["told"].shape[1]
        sim._command, sim._held = state["inputs"][0, :na].copy(), state["inputs"][0, na:told].copy()
        if controller is not None:
            controller.memory, sim._signal = march.memory(state, 0), state["signals"][0].copy()
            controller.signal_values = sim._signal.copy()
        self.seen = []
        if rows:
            got = {name: x[0, :rows] for name, x in records.items()}
            times = got["n"][:, 0] * march.step + got["part"][:, 0]
            own = np.concatenate([got["told"], np.broadcast_to(inputs[told:], (rows, len(inputs) - told))], axis=1)
            recorder.take(times, got["y"][:, :nq], got["y"][:, nq:], own, got["signals"])
            self.seen = list(zip(times.tolist(), got["y"][:, :nq], strict=True))
        self.seen.append((sim._at.t, sim._at.q))
        recorder.signal = sim._signal
        return self._said(there)

    def start(self) -> Point:
        """Return the point at which the last steps began."""
        n, part, *y = self.state["start"][0]
        nq = self.simulation.model.nq
        return Point(GridTime(n, part).time(self.march.step), np.array(y[:nq]), np.array(y[nq:]))

    @property
    def diverged(self) -> bool:
        """True if the next step is not finite."""
        return self.state["alive"][0, 0] == 0.0

    def _said(self, there: GridTime) -> list[str]:
        """Report of the last tick before a time."""
        out = self.simulation._ranges.found(self.state["outside"][0], self.state["extreme"][0])
        every = self.march.sensing_every or self.march.ticking
        if every and self.state["paused"][0, 0]:
            k = there.n + (there.part > 0.0)
            n = there.n // every if self.diverged else -(-k // every) - 1.0
            t = n * every * self.march.step
            out = [f"t = {t:g} s: {text}" for text in [*out, *self.march.texts(t, self.state["reports"][0])]]
        return out
