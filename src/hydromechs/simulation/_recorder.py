"""From states to a recording: rows are collected, completed with all that is recorded, and handed on in blocks."""

from __future__ import annotations

import time

import numpy as np

from hydromechs.recording import MemoryRecorder

from ._observe import ENERGIES, coordinates, quaternions, schema

__all__ = ["Recorder"]

BLOCK = 1024
"""Samples that are completed at once."""
FLUSH = 1.0
"""Seconds after which samples are handed on even if the block is not full."""


class Recorder:
    """The recording of one run of a simulation.

    Args:
        sim: The simulation.
        make: Makes the sink from (schema, coords, attrs); in memory if None.
        attrs: Attributes of the recording.
        log: Messages of the run.
    """

    def __init__(self, sim, make, attrs: dict, log):
        self.sim, self.log, plant = sim, log, sim.plant
        own = {
            "model": plant.model.name,
            "axes": plant.model.world.axes,
            "integrator": sim.method.name,
            "step": sim.step_size,
            "seed": plant.seed,
        }
        self.variables = schema(plant)
        self.sink = (make or MemoryRecorder)(self.variables, coordinates(plant), own | attrs)
        self._times: list[np.ndarray] = []
        self._rows: list[tuple] = []
        self._count, self._flushed = 0, time.perf_counter()
        self._orientation: np.ndarray | None = None
        self._start: dict[str, float] | None = None
        self._newest: float | None = None

    def times(self, t: float, t_end: float) -> np.ndarray:
        """Sampling times after t and up to t_end [s]."""
        every = self.sim.record
        first, last = np.floor(t / every + 1e-9) + 1.0, np.floor(t_end / every + 1e-9)
        return np.minimum(np.arange(first, last + 0.5) * every, t_end)

    def sample(self) -> None:
        """The state now, if it is on the grid of samples (the start of a run always is)."""
        inputs, _ = self.sim._inputs()
        self.rows(np.array([self.sim._t]), self.sim._q[None], self.sim._x[None], inputs)

    def last(self) -> None:
        """The state at the end of the run, unless it is recorded already."""
        if self._newest is None or abs(self.sim._t - self._newest) > 1e-9 * max(1.0, abs(self.sim._t)):
            self.sample()

    def rows(self, times: np.ndarray, q: np.ndarray, x: np.ndarray, inputs: np.ndarray) -> None:
        """Take samples with the same inputs.

        Args:
            times: Times [s], shape (n,).
            q: Configurations, shape (n, nq).
            x: Velocities and internal states, shape (n, nv + nz).
            inputs: Inputs, shape (nu,).
        """
        held = (inputs, self.sim._command.copy(), self.sim._saturated())
        self._rows.append((np.array(times), np.array(q), np.array(x), held))
        self._count += len(times)
        self._newest = float(times[-1])

    def commit(self) -> None:
        """Hand samples on if there are many, or if it is time."""
        if self._count >= BLOCK or time.perf_counter() - self._flushed > FLUSH:
            self.flush()

    def flush(self) -> None:
        """Complete the samples so far and hand them on."""
        if not self._count:
            return
        times, q, x = (np.concatenate([row[k] for row in self._rows]) for k in range(3))
        counts = [len(row[0]) for row in self._rows]
        inputs, command, beyond = (np.repeat([row[3][k] for row in self._rows], counts, axis=0) for k in range(3))
        self._rows, self._count = [], 0
        with np.errstate(all="ignore"):  # the last samples before a run diverges may be huge
            block = self._block(times, q, x, inputs, command, beyond)
        self.sink.append(block)
        self._flushed = time.perf_counter()

    def _block(self, times, q, x, inputs, command, beyond) -> dict[str, np.ndarray]:
        """All variables of samples."""
        sim, nv = self.sim, self.sim.model.nv
        names = [a.name for a in sim._observer.recipe.outputs]
        got = dict(zip(names, sim._observer([times, q, x, inputs]), strict=True))
        got["orientation"] = quaternions(got["R_WB"], self._orientation)
        self._orientation = got["orientation"][-1]
        got |= {"time": times, "q": q, "v": x[:, :nv], "internal_state": x[:, nv:], "command": command}
        got["saturated"] = np.concatenate([beyond, got["saturated"]], axis=1)
        causes = sim.plant.causes
        work = x[:, x.shape[1] - len(causes) :].copy()
        if self._start is None:
            self._start = {name: got[name][0] for name in ENERGIES} | {"work": work[0].copy()}
        work -= self._start["work"]
        surface = sim.plant.environment.surface is not None
        if surface and "water" in causes:  # see `_water_power`
            booked = got["kinetic_energy_fluid"] - self._start["kinetic_energy_fluid"]
            work[:, causes.index("water")] += booked
        total = sum(got[name] - self._start[name] for name in ENERGIES)
        got["work"] = work
        got["energy_residual"] = total - work.sum(axis=1)
        return {name: got[name] for name in ["time", *(v.name for v in self.variables)]}

    def close(self, attrs: dict) -> None:
        """Finish.

        Args:
            attrs: Attributes of the recording that are known only now.
        """
        self.sink.close(attrs)

    def dataset(self):
        """The recording as an `xarray.Dataset`."""
        return self.sink.dataset()
