"""Worlds on one device: arrays of states and inputs, and compiled steps."""

import abc
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from hydromechs.compiler import Backend, Compiled, CudaAttributes
from hydromechs.integrators import FixedStep, Stepper, Stretch


class Marched(NamedTuple):
    """Result of a series of steps."""

    q: Any
    """Configurations after every `stride` steps, shape (worlds, rows, nq)."""
    x: Any
    """Velocities and internal states after every `stride` steps, shape (worlds, rows, nv + nz)."""
    good: Any
    """Number of completed steps, shape (worlds,)."""
    readings: Mapping[str, np.ndarray] = MappingProxyType({})
    """Last measurement of each sensor after every `stride` steps, keyed by name, shape (worlds, rows, n)."""


class Home(abc.ABC):
    """Arrays of worlds on one device.

    `stepper`: compiled steps. `backend`: back end that runs the worlds. `precision`: number type that the back end
    supports. `step`: step [s]. `offset`: initial time of the worlds [s]. `numbers`: count of numbers per world, for the
    memory check.
    """

    def __init__(
        self, stepper: Stepper, worlds: int, backend: Backend, precision: str, step: float, offset: float, numbers: int
    ) -> None:
        if precision not in backend.precisions:
            known = " or ".join(map(repr, backend.precisions))
            raise ValueError(f"precision is {precision!r}, which target {backend.target!r} does not support; use {known}")
        self.stepper, self.worlds, self.backend, self.precision = stepper, worlds, backend, precision
        self.step, self.offset = step, offset
        self.arrays = a = backend.arrays(precision)
        """Array functions of the device."""
        a.check_memory(numbers, worlds)
        self.put, self.get, self.array, self.index, self.stack = a.put, a.get, a.array, a.index, a.stack
        self._callers: dict[int, Callable[[Sequence[Any]], list[Any]]] = {}

    number: Any
    """Number of steps since each world was reset, shape (worlds,)."""
    q: Any
    """Configurations, shape (worlds, nq)."""
    x: Any
    """Velocities and internal states, shape (worlds, nv + nz)."""
    inputs: list[Any]
    """Constant inputs of the stepper, shape (worlds, ...) each."""

    @property
    def t(self) -> Any:
        """Times of the worlds [s], shape (worlds,)."""
        return self.offset + self.step * self.number

    @property
    @abc.abstractmethod
    def frozen(self) -> np.ndarray:
        """True for stopped worlds, shape (worlds,). The array is a view on the CPU and a copy on other devices."""

    @abc.abstractmethod
    def freeze(self, which: np.ndarray, frozen: bool) -> None:
        """Stop worlds, or let them continue.

        `which`: indices of the worlds, or booleans, shape (worlds,). `frozen`: True to stop the worlds.
        """

    @abc.abstractmethod
    def begin(self, which: np.ndarray) -> None:
        """Set the worlds `which` to the initial time, and let them continue."""

    @abc.abstractmethod
    def attributes(self) -> CudaAttributes:
        """Return the register and local memory usage of the kernel on a GPU."""

    def call(self, code: Compiled, arrays: Sequence[Any]) -> list[Any]:
        """Run a compiled program in all worlds; arguments and results have shape (worlds, ...)."""
        if id(code) not in self._callers:
            self._callers[id(code)] = self.backend.caller(code, self.precision)
        return self._callers[id(code)](arrays)


class Target(Home):
    """Arrays of worlds without blocks; one program takes many steps of all worlds in one call."""

    def __init__(self, stepper: Stepper, worlds: int, backend: Backend, precision: str, step: float, offset: float) -> None:
        model = stepper.model
        numbers = 1 + model.nq + model.nv + stepper.nz + sum(x.size for x in stepper.inputs)
        super().__init__(stepper, worlds, backend, precision, step, offset, numbers)
        a = self.arrays
        self.number, self.q, self.x = a.zeros(worlds), a.zeros(worlds, model.nq), a.zeros(worlds, model.nv + stepper.nz)
        self.inputs = [a.zeros(worlds, *x.shape) for x in stepper.inputs]
        self.kernel: Any = backend.marcher(stepper.march, precision) if isinstance(stepper.method, FixedStep) else None
        """Compiled steps of all worlds; None for an adaptive or multi-step method."""
        self._stuck = a.mask(worlds)
        self._grid = [a.full(step), a.full(offset)]

    @property
    def frozen(self) -> np.ndarray:
        return self.arrays.seen(self._stuck)

    def freeze(self, which: np.ndarray, frozen: bool) -> None:
        self._stuck[self.index(which)] = frozen

    def begin(self, which: np.ndarray) -> None:
        self.put(self.number, which, np.zeros(len(which)))
        self.freeze(which, False)

    def attributes(self) -> CudaAttributes:
        return self.kernel.attributes()

    def march(self, inputs: Sequence[Any], steps: int, stride: int | None) -> Marched:
        """Take steps in place in all worlds that have not stopped; a world stops if its next step is not finite.

        `inputs`: inputs of the stepper, constant, shape (worlds or 1, ...), or per step, shape (worlds or 1, steps, ...).
        `stride`: number of steps between records; None for no records.
        """
        if self.kernel is not None:
            state = [self.number, self.q, self.x]
            records, good = self.kernel(state, [*self._grid, *inputs], self._stuck, steps, stride or 0)
            path = Marched(records[1], records[2], good)
        else:
            path = self._divided(inputs, steps, steps if stride is None else stride)
        self._stuck |= path.good < steps
        return path

    def _divided(self, inputs: Sequence[Any], steps: int, stride: int) -> Marched:
        """Take steps with an adaptive or multi-step method, which uses NumPy arrays."""
        stretch = Stretch(self.offset, self.number, self.q, self.x, list(inputs), self.step, steps, stride)
        got, stuck = self.stepper.propagator.march(stretch), self._stuck
        good = np.where(stuck, 0.0, got.good)
        got.q[stuck], got.x[stuck] = self.q[stuck, None], self.x[stuck, None]
        self.q[:], self.x[:] = got.q[:, -1], got.x[:, -1]
        self.number += np.floor(good)
        return Marched(got.q, got.x, good)

    def part(self, which: np.ndarray, inputs: Sequence[Any], t: float, h: float) -> np.ndarray:
        """Take part of a step in the worlds `which`, in place; return True for worlds that advanced, shape (len(which),).

        `inputs`: constant inputs of the stepper, shape (len(which), ...) each. `t`: initial time [s]. `h`: duration [s].
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
