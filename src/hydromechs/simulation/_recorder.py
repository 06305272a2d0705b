"""Recorder of a run, which collects states, computes the other recorded variables and writes samples in blocks."""

import math
import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from hydromechs.compiler import Compiled
from hydromechs.integrators import Point, rounding
from hydromechs.recording import MemoryRecorder, RecordingWriter

from . import _energy_ledger
from ._observe import coordinates, schema
from ._plant import Plant
from ._watches import EnergyWatch, FreeForces

BLOCK = 1024
"""Number of samples per block."""
LARGE = 1e9
"""Size of a recording in memory above which a warning is issued [bytes]."""
FLUSH = 1.0
"""Wall time after which samples are written even if the block is not full [s]."""


class Recorder:
    """Recorder of one run.

    `observer`: program of all recorded variables from (t, q, x, inputs). `every`: time between two samples [s]. `path`: folder
    on disk; None to record in memory. `attrs`: attributes of the recording. `signals`: units of the signals of blocks, keyed
    by signal. `energy_ledger`: initial energy ledger, as in `State`.
    """

    def __init__(
        self,
        plant: Plant,
        observer: Compiled,
        every: float,
        path: str | os.PathLike[str] | None,
        attrs: Mapping[str, Any],
        signals: Mapping[str, str],
        energy_ledger: np.ndarray,
    ) -> None:
        self.plant, self.observer, self.every, self._begin = plant, observer, every, energy_ledger
        own = {"model": plant.model.name, "axes": plant.model.world.axes, "seed": plant.seed}
        if plant.layout.commands:
            units = zip(plant.layout.commands, plant.layout.input_slots, strict=False)
            own["command_units"] = {name: slot.unit for name, slot in units}
        own["joint_units"] = {name: part.joint.unit for name, part in plant.model.joint_parts.items() if part.joint.nq == 1}
        own |= {"signal_units": dict(signals)} if signals else {}
        self.variables = schema(plant, signals)
        contents = (self.variables, coordinates(plant, signals), own | dict(attrs))
        self.sink = MemoryRecorder(*contents) if path is None else RecordingWriter(path, *contents)
        """Destination of the samples, which receives blocks."""
        self.in_memory = path is None
        """True if the samples are stored in memory."""
        self._size = 0 if path else 8 * sum(math.prod(len(contents[1][d]) for d in v.dims[1:]) for v in self.variables)
        self.free_forces = FreeForces(plant.group_names)
        """Monitor of constraint forces that were set to 0 in the samples."""
        self.energy = EnergyWatch(plant.layout.causes)
        """Monitor of unexplained energy in the samples."""
        self.signal = np.full(len(signals), np.nan)
        """Current values of the signals, shape (ns,)."""
        self._rows: list[tuple[np.ndarray, ...]] = []
        self._count, self._flushed = 0, time.perf_counter()
        self._newest: float | None = None

    def size_warning(self, duration: float) -> list[str]:
        """Return a warning if a recording of `duration` [s] needs much memory."""
        size = self._size * duration / self.every
        text = f"the recording needs {size / 1e9:.2g} GB of memory; use run(..., path='run.zarr') to write it to disk"
        return [text] if size > LARGE else []

    def sample(self, at: Point, inputs: np.ndarray) -> None:
        """Add a point with its inputs, shape (nu,), unless the point is already recorded."""
        if not self._has(at.t):
            self.rows(np.array([at.t]), at.q[None], at.x[None], inputs)

    @property
    def empty(self) -> bool:
        """True if the recording has no samples yet."""
        return self._newest is None

    def _has(self, t: float) -> bool:
        """True if the time of the newest sample is `t` [s]."""
        return self._newest is not None and abs(t - self._newest) <= max(1e-9, rounding(t))

    def renew(self, t: float, inputs: np.ndarray) -> None:
        """Update inputs, shape (nu,), and signals of the newest sample to current values if its time is `t` [s]."""
        if self._has(t):
            times, q, x, _, _ = self._newest_row()
            self._rows.append((times, q, x, inputs.copy(), self.signal))

    def _newest_row(self) -> tuple[np.ndarray, ...]:
        """Remove and return the newest sample, which is not written before the end of the run."""
        last = self._rows.pop()
        if len(last[0]) > 1:
            self._rows.append((*(a[:-1] for a in last[:3]), *last[3:]))
        return (*(a[-1:] for a in last[:3]), *last[3:])

    def rows(self, times: np.ndarray, q: np.ndarray, x: np.ndarray, inputs: np.ndarray) -> None:
        """Add samples with the same inputs at `times` [s], shape (n,); `q` has shape (n, nq), `x` has shape (n, nv + nz)."""
        self._rows.append((np.array(times), np.array(q), np.array(x), inputs.copy(), self.signal))
        self._count += len(times)
        self._newest = float(times[-1])

    def take(self, times: np.ndarray, q: np.ndarray, x: np.ndarray, inputs: np.ndarray, signals: np.ndarray) -> None:
        """Add samples with individual inputs, shape (n, nu), and signals, shape (n, ns); omit the first if already recorded."""
        first = 1 if len(times) and self._has(times[0]) else 0
        if first:
            self._newest_row()
            self._count -= 1
        self._rows += [(times[k : k + 1], q[k : k + 1], x[k : k + 1], inputs[k], signals[k]) for k in range(len(times))]
        self._count += len(times)
        self._newest = float(times[-1]) if len(times) else self._newest

    def commit(self) -> bool:
        """If the block is full or `FLUSH` has elapsed, write all samples except the newest, and return True."""
        due = self._count >= BLOCK or time.perf_counter() - self._flushed > FLUSH
        if due and self._rows:
            newest = self._newest_row()
            self._count -= 1
            self.flush()
            self._rows, self._count = [newest], 1
        return due

    def flush(self) -> None:
        """Compute the recorded variables of all collected samples, and write them."""
        self._flushed = time.perf_counter()
        if not self._count:
            return
        times, q, x = (np.concatenate([row[k] for row in self._rows]) for k in range(3))
        counts = [len(row[0]) for row in self._rows]
        inputs, signal = (np.repeat([row[k] for row in self._rows], counts, axis=0) for k in (3, 4))
        self._rows, self._count = [], 0
        with np.errstate(all="ignore"):  # the last samples before a run diverges may be huge
            block = self._block(times, q, x, inputs, signal)
            self.energy.update(times, block)
        self.sink.append(block)
        if self.plant.constrained:
            self.free_forces.look(times, block["constraint_free"])

    def _block(
        self, times: np.ndarray, q: np.ndarray, x: np.ndarray, inputs: np.ndarray, signal: np.ndarray
    ) -> dict[str, np.ndarray]:
        layout, nv = self.plant.layout, self.plant.model.nv
        names = [a.name for a in self.observer.recipe.outputs]
        got = dict(zip(names, self.observer([times, q, x, inputs]), strict=True))
        got["orientation"] = self.plant.orientations(got["R_WB"], q)
        na, nh = len(layout.commands), len(layout.held)
        got |= {"time": times, "q": q, "v": x[:, :nv], "internal_state": x[:, nv:]}
        got |= {"command": inputs[:, :na], "held_input": inputs[:, na : na + nh], "signal": signal}
        got["work"], got["energy_residual"] = _energy_ledger.audited(layout, self._begin, x, got)
        return {name: got[name] for name in ["time", *(v.name for v in self.variables)]}

    def close(self, attrs: Mapping[str, Any]) -> None:
        """Finish the recording. `attrs`: attributes that are known only at the end."""
        self.flush()
        self.sink.close(attrs)
