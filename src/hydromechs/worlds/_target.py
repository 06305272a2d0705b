"""Where worlds live: their state and inputs in arrays of one machine, and the compiled steps that move them."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs.compiler import Compiled
from hydromechs.integrators import FixedStep, Stepper

__all__ = ["Cpu", "Marched", "Target"]


class Marched(NamedTuple):
    """What a march has given."""

    q: Any
    """Configurations after every `stride` steps, shape (worlds, rows, nq)."""
    x: Any
    """Velocities and internal states there, shape (worlds, rows, nv + nz)."""
    good: Any
    """Number of steps that were taken, shape (worlds,)."""


class Target(abc.ABC):
    """Arrays of worlds and the code that moves them."""

    stepper: Stepper
    """One step."""
    worlds: int
    """How many."""
    number: Any
    """Number of the present point of each world, shape (worlds,)."""
    q: Any
    """Configurations, shape (worlds, nq)."""
    x: Any
    """Velocities and internal states, shape (worlds, nv + nz)."""
    inputs: list[Any]
    """Inputs of the stepper, held, shape (worlds, ...) each."""

    @property
    @abc.abstractmethod
    def frozen(self) -> np.ndarray:
        """Worlds that stay where they are, shape (worlds,)."""

    @abc.abstractmethod
    def freeze(self, which: np.ndarray, frozen: bool) -> None:
        """Freeze worlds, or let them go.

        Args:
            which: Numbers of the worlds, or booleans, shape (worlds,).
            frozen: Whether they stay where they are.
        """

    @abc.abstractmethod
    def repeated(self, array: Any, steps: int) -> Any:
        """The same numbers for every step, shape (worlds, steps, ...); a new array.

        Args:
            array: One of its arrays.
            steps: How many.
        """

    @abc.abstractmethod
    def zeros(self, *shape: int) -> Any:
        """A new array of shape (worlds, *shape)."""

    @abc.abstractmethod
    def put(self, array: Any, which: np.ndarray, values: np.ndarray) -> None:
        """Write rows of some worlds.

        Args:
            array: One of its arrays, or a part of one.
            which: Numbers of the worlds.
            values: The rows, shape (len(which), ...).
        """

    @abc.abstractmethod
    def take(self, array: Any, due: np.ndarray | None, new: Any) -> None:
        """Take over rows of the worlds that are due and not frozen.

        Args:
            array: One of its arrays, or a part of one.
            due: Which worlds, shape (worlds,); all if None.
            new: An array of this machine, of the same shape.
        """

    @abc.abstractmethod
    def get(self, array: Any) -> np.ndarray:
        """An array as NumPy has it; of the CPU's arrays, the array itself.

        Args:
            array: One of its arrays, or a part of one.
        """

    @abc.abstractmethod
    def array(self, values: Any) -> Any:
        """Numbers that a caller gave, on this machine.

        Args:
            values: An array of this machine, or what NumPy takes.
        """

    @abc.abstractmethod
    def index(self, which: np.ndarray) -> Any:
        """Numbers of worlds as its arrays take them.

        Args:
            which: The numbers.
        """

    @abc.abstractmethod
    def stack(self, parts: Sequence[Any], axis: int) -> Any:
        """Arrays one after another along an axis.

        Args:
            parts: The arrays.
            axis: The axis.
        """

    @abc.abstractmethod
    def law(self, code: Compiled, arrays: Sequence[Any]) -> list[Any]:
        """Results of a control law, or of another program, for worlds.

        Args:
            code: The law.
            arrays: Its arguments, of shape (worlds, ...).
        """

    @abc.abstractmethod
    def march(self, inputs: Sequence[Any], step: float, offset: float, steps: int, stride: int | None) -> Marched:
        """Take steps in all worlds that are not frozen, in place; those whose next step is not finite freeze.

        Args:
            inputs: Of the stepper, shape (worlds or 1, ...), held, or (worlds or 1, steps, ...).
            step: Step [s].
            offset: Time of point 0 [s].
            steps: How many.
            stride: Steps from one record to the next; None for no records.
        """

    @abc.abstractmethod
    def part(self, which: np.ndarray, inputs: Sequence[Any], t: float, h: float) -> np.ndarray:
        """A part of a step in some worlds, in place; which of them have taken it, shape (len(which),).

        Args:
            which: Numbers of the worlds.
            inputs: Of the stepper, held, their rows, shape (len(which), ...) each.
            t: Time at its beginning [s].
            h: Its length [s].
        """


class Cpu(Target):
    """Lanes and threads of this machine.

    Args:
        stepper: One step.
        worlds: How many.
    """

    def __init__(self, stepper: Stepper, worlds: int) -> None:
        self.stepper, self.worlds = stepper, worlds
        model = stepper.model
        self.number, self.q, self.x = self.zeros(), self.zeros(model.nq), self.zeros(model.nv + stepper.nz)
        self.inputs = [self.zeros(*a.shape) for a in stepper.inputs]
        self._stuck = np.zeros(worlds, dtype=bool)

    @property
    def frozen(self) -> np.ndarray:
        """See `Target.frozen`; the array itself."""
        return self._stuck

    def freeze(self, which: np.ndarray, frozen: bool) -> None:
        """See `Target.freeze`."""
        self._stuck[which] = frozen

    def repeated(self, array: np.ndarray, steps: int) -> np.ndarray:
        """See `Target.repeated`."""
        return np.repeat(array[:, None], steps, axis=1)

    def zeros(self, *shape: int) -> np.ndarray:
        """See `Target.zeros`."""
        return np.zeros((self.worlds, *shape))

    def put(self, array: np.ndarray, which: np.ndarray, values: np.ndarray) -> None:
        """See `Target.put`."""
        array[which] = values

    def take(self, array: np.ndarray, due: np.ndarray | None, new: np.ndarray) -> None:
        """See `Target.take`."""
        moves = ~self._stuck if due is None else due & ~self._stuck
        array[moves] = new[moves]

    def get(self, array: np.ndarray) -> np.ndarray:
        """See `Target.get`."""
        return array

    def array(self, values: Any) -> np.ndarray:
        """See `Target.array`."""
        return np.asarray(values, dtype=float)

    def index(self, which: np.ndarray) -> np.ndarray:
        """See `Target.index`."""
        return which

    def stack(self, parts: Sequence[np.ndarray], axis: int) -> np.ndarray:
        """See `Target.stack`."""
        return np.concatenate(parts, axis=axis)

    def law(self, code: Compiled, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """See `Target.law`."""
        return code(arrays)

    def march(self, inputs: Sequence[np.ndarray], step: float, offset: float, steps: int, stride: int | None) -> Marched:
        """See `Target.march`."""
        if isinstance(self.stepper.method, FixedStep):
            state = [self.number, self.q, self.x]
            # a step of NaN is not finite, and so not taken
            h = np.where(self._stuck, np.nan, step) if self._stuck.any() else np.array([step])
            done = self.stepper.march(
                state, [h, np.array([offset]), *inputs], steps, stride=steps + 1 if stride is None else stride, ends=state
            )
            path = Marched(done.records[1], done.records[2], done.good)
        else:
            record = steps if stride is None else stride
            march = self.stepper.propagator.march
            got = march(offset, self.number, self.q, self.x, list(inputs), step, steps, record)
            stuck = self._stuck
            good = np.where(stuck, 0.0, got.good)
            got.q[stuck], got.x[stuck] = self.q[stuck, None], self.x[stuck, None]
            self.q[:], self.x[:] = got.q[:, -1], got.x[:, -1]
            self.number += np.floor(good)
            path = Marched(got.q, got.x, good)
        self._stuck |= path.good < steps
        return path

    def part(self, which: np.ndarray, inputs: Sequence[np.ndarray], t: float, h: float) -> np.ndarray:
        """See `Target.part`."""
        path = self.stepper.propagator.march(t, 0, self.q[which], self.x[which], list(inputs), h, 1, 1)
        self.q[which], self.x[which] = path.q[:, -1], path.x[:, -1]
        return path.good >= 1.0
