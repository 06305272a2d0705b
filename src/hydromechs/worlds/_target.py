"""Where worlds live: their state and inputs in arrays of one machine, and the compiled steps that move them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs.compiler import Backend, Compiled
from hydromechs.integrators import FixedStep, Stepper, Stretch


class Marched(NamedTuple):
    """Result of a march."""

    q: Any
    """Configurations after every `stride` steps, shape (worlds, rows, nq)."""
    x: Any
    """Velocities and internal states there, shape (worlds, rows, nv + nz)."""
    good: Any
    """Number of steps that were taken, shape (worlds,)."""


class Target:
    """Arrays of worlds and the code that moves them, by one back end.

    Args:
        backend: A back end that runs worlds.
        precision: One of its precisions.
    """

    def __init__(self, stepper: Stepper, worlds: int, backend: Backend, precision: str) -> None:
        if precision not in backend.precisions:
            known = " or ".join(map(repr, backend.precisions))
            raise ValueError(f"precision is {precision!r}; with target {backend.target!r} it must be {known}")
        self.stepper, self.worlds, self.backend, self.precision = stepper, worlds, backend, precision
        self.arrays = a = backend.arrays(precision)
        """Arrays of the machine."""
        model = stepper.model
        a.check_memory(1 + model.nq + model.nv + stepper.nz + sum(x.size for x in stepper.inputs), worlds)
        self.put, self.get, self.array, self.index, self.stack = a.put, a.get, a.array, a.index, a.stack
        self.repeated = a.repeated
        self.number = self.zeros()
        """Number of the present point of each world, shape (worlds,)."""
        self.q = self.zeros(model.nq)
        """Configurations, shape (worlds, nq)."""
        self.x = self.zeros(model.nv + stepper.nz)
        """Velocities and internal states, shape (worlds, nv + nz)."""
        self.inputs = [self.zeros(*x.shape) for x in stepper.inputs]
        """Inputs of the stepper, held, shape (worlds, ...) each."""
        self.kernel: Any = backend.marcher(stepper.march, precision) if isinstance(stepper.method, FixedStep) else None
        """Many steps of all worlds; None for a method that divides its steps or looks back."""
        self._stuck = a.mask(worlds)
        self._laws: dict[int, Callable[[Sequence[Any]], list[Any]]] = {}
        self._grid: tuple[tuple[float, float], list[Any]] = (np.nan, np.nan), []

    @property
    def frozen(self) -> np.ndarray:
        """Worlds that stay where they are, shape (worlds,); the array itself if it is NumPy's, else a copy."""
        return self.arrays.seen(self._stuck)

    def freeze(self, which: np.ndarray, frozen: bool) -> None:
        """Freeze worlds, or let them go.

        Args:
            which: Numbers of the worlds, or booleans, shape (worlds,).
            frozen: True if they stay where they are.
        """
        self._stuck[self.index(which)] = frozen

    def zeros(self, *shape: int) -> Any:
        """A new array of shape (worlds, *shape)."""
        return self.arrays.zeros(self.worlds, *shape)

    def take(self, array: Any, due: np.ndarray | None, new: Any) -> None:
        """Take over rows of the worlds that are due and not frozen.

        Args:
            array: One of its arrays, or a part of one.
            due: Which worlds, shape (worlds,); all if None.
            new: An array of this machine, of the same shape.
        """
        self.arrays.take(array, ~self._stuck if due is None else self.index(due) & ~self._stuck, new)

    def law(self, code: Compiled, arrays: Sequence[Any]) -> list[Any]:
        """Results of a control law, or of another program, for worlds, of arguments of shape (worlds, ...)."""
        if id(code) not in self._laws:
            self._laws[id(code)] = self.backend.caller(code, self.precision)
        return self._laws[id(code)](arrays)

    def march(self, inputs: Sequence[Any], step: float, offset: float, steps: int, stride: int | None) -> Marched:
        """Take steps in all worlds that are not frozen, in place; those whose next step is not finite freeze.

        Args:
            inputs: Of the stepper, shape (worlds or 1, ...), held, or (worlds or 1, steps, ...).
            stride: Steps from one record to the next; None for no records.
        """
        if self.kernel is not None:
            if self._grid[0] != (step, offset):
                self._grid = (step, offset), [self.arrays.full(step), self.arrays.full(offset)]
            state = [self.number, self.q, self.x]
            records, good = self.kernel(state, [*self._grid[1], *inputs], self._stuck, steps, stride or 0)
            path = Marched(records[1], records[2], good)
        else:
            path = self._divided(inputs, step, offset, steps, steps if stride is None else stride)
        self._stuck |= path.good < steps
        return path

    def _divided(self, inputs: Sequence[Any], step: float, offset: float, steps: int, stride: int) -> Marched:
        """The same with a method that divides its steps or looks back, whose arrays are NumPy's."""
        got = self.stepper.propagator.march(Stretch(offset, self.number, self.q, self.x, list(inputs), step, steps, stride))
        stuck = self._stuck
        good = np.where(stuck, 0.0, got.good)
        got.q[stuck], got.x[stuck] = self.q[stuck, None], self.x[stuck, None]
        self.q[:], self.x[:] = got.q[:, -1], got.x[:, -1]
        self.number += np.floor(good)
        return Marched(got.q, got.x, good)

    def part(self, which: np.ndarray, inputs: Sequence[Any], t: float, h: float) -> np.ndarray:
        """A part of a step in some worlds, in place; which of them have taken it, shape (len(which),).

        Args:
            inputs: Of the stepper, held, their rows, shape (len(which), ...) each.
            t: Time at its beginning [s].
            h: Its length [s].
        """
        a, rows = self.arrays, self.index(which)
        q, x = a.rows(self.q, rows), a.rows(self.x, rows)
        if self.kernel is not None:
            state = [a.zeros(len(which)), q, x]
            _, good = self.kernel(state, [a.full(h), a.full(t), *inputs], a.mask(len(which)), 1, 0)
        else:
            path = self.stepper.propagator.march(Stretch(t, 0, q, x, list(inputs), h, 1, 1))
            q, x, good = path.q[:, -1], path.x[:, -1], path.good
        self.q[rows], self.x[rows] = q, x
        return a.get(good) >= 1
