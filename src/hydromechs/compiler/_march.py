"""Marches (repeated steps) of many worlds in machine code, on lanes and threads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.values import Array

from ._backend import Form
from ._compiled import MachineCode, Recipe
from ._program import Program
from ._rolled import Rolled

SMALL_MARCH = 16
"""Number of worlds per thread below which a march is not split, because waking a thread costs about 0.1 ms."""


class MarchResult:
    """Result of a march; the next march with equal buffers overwrites the arrays."""

    def __init__(self, records: list[Array], ends: list[Array], good: Array) -> None:
        self.records = records
        """Parts of the state after every `stride` steps, shape (worlds, rows, ...) each."""
        self.ends = ends
        """Parts of the state after the last finite step, shape (worlds, ...) each."""
        self.good = good
        """Number of steps with finite results, shape (worlds,)."""


class March(MachineCode):
    """Step in machine code, from parts of the state and inputs to new parts, repeated without returning to Python."""

    def __init__(self, recipe: Recipe, lanes: int, threads: int, program: Program | Rolled | None = None) -> None:
        super().__init__(recipe, lanes, threads, program)
        self.n_state = len(recipe.outputs)
        self.share, self.single_lanes = SMALL_MARCH, lanes

    @property
    def _arguments(self) -> int:
        return 0

    def form(self, lanes: int) -> Form:
        return Form(lanes, self.n_state, self.recipe.rarely_called)

    def __call__(
        self,
        state: Sequence[ArrayLike],
        inputs: Sequence[ArrayLike],
        steps: int,
        *,
        stride: int = 1,
        ends: list[Array] | None = None,
    ) -> MarchResult:
        """Take steps; return recorded and final states.

        `state` contains the parts of the state, shape (worlds, ...) each. `inputs` contains other inputs, constant ones of
        shape (worlds or 1, ...) or one per step, shape (worlds or 1, steps, ...). `stride` is the number of steps between
        records; a stride of steps + 1 disables recording. `ends` contains arrays for the last state, which may be those of
        `state`; defaults to new arrays.
        """
        arguments = self.recipe.inputs
        starts = [np.ascontiguousarray(x, dtype=float) for x in state]
        worlds, rows = starts[0].shape[0], steps // stride
        table, keep = [steps, stride], []
        for x, a in zip(starts, arguments, strict=False):
            if x.shape != (worlds, *a.shape):
                raise ValueError(f"{a.name} must have shape {(worlds, *a.shape)}, got {x.shape}")
            table += [x.ctypes.data, a.size]
        for given, a in zip(inputs, arguments[self.n_state :], strict=True):
            x = np.ascontiguousarray(given, dtype=float)
            keep.append(x)
            if x.shape[1:] not in (a.shape, (steps, *a.shape)) or x.shape[0] not in (1, worlds):
                raise ValueError(f"{a.name} must have shape {(worlds, *a.shape)} or {(worlds, steps, *a.shape)}, got {x.shape}")
            driven = x.ndim == len(a.shape) + 2
            table += [x.ctypes.data, 0 if x.shape[0] == 1 < worlds else x.size // max(1, x.shape[0]), a.size if driven else 0]
        records = [np.empty((worlds, rows, *a.shape)) for a in self.recipe.outputs]
        ends = [np.empty((worlds, *a.shape)) for a in self.recipe.outputs] if ends is None else ends
        good = np.zeros(worlds)
        for x, a in zip(records, self.recipe.outputs, strict=True):
            table += [x.ctypes.data, rows * a.size]
        for x, a in zip(ends, self.recipe.outputs, strict=True):
            table += [x.ctypes.data, a.size]
        if worlds:
            arrays = (starts, keep, records, ends, good)
            self.run(np.array([*table, good.ctypes.data], dtype=np.int64), worlds, arrays)
        return MarchResult(records, ends, good)

    def bound(self) -> BoundMarch:
        """Return a march of one world with fixed arrays, for many short calls."""
        return BoundMarch(self)


class BoundMarch:
    """March of one world with fixed arrays; `run` continues from `state` and `inputs` and writes the last state to `state`."""

    def __init__(self, march: March) -> None:
        self.state = [np.zeros((1, *a.shape)) for a in march.recipe.outputs]
        """Parts of the state, shape (1, ...) each."""
        self.inputs = [np.zeros((1, *a.shape)) for a in march.recipe.inputs[march.n_state :]]
        """Other inputs, which are constant, shape (1, ...) each."""
        self.good = np.zeros(1)
        """Number of steps with finite results."""
        table = [0, 0]
        for x in self.state:
            table += [x.ctypes.data, x.size]
        for x in self.inputs:
            table += [x.ctypes.data, x.size, 0]
        for x in (*self.state, *self.state):  # records come first and are empty
            table += [x.ctypes.data, x.size]
        self._table = np.array([*table, self.good.ctypes.data], dtype=np.int64)
        self._address = self._table.ctypes.data
        self._loop = march.code(1).loop

    def run(self, steps: int) -> int:
        """Take steps; return the number of steps with finite results."""
        self._table[:2] = steps, steps + 1
        self._loop(self._address, 0, 1)
        return int(self.good[0])
