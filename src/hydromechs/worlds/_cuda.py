"""Worlds on a GPU: arrays of CuPy with the worlds fastest, one thread per world, many steps per launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hydromechs.compiler import Compiled, CudaKernel, CudaMarch, import_cupy
from hydromechs.integrators import Stepper

from ._target import Marched, Target

__all__ = ["Cuda"]

BLOCK = 64
"""Threads per block."""


class Cuda(Target):
    """A GPU. Its arrays are CuPy's, which PyTorch, JAX and others take by DLPack without a copy.

    Args:
        stepper: One step.
        worlds: How many.
        precision: "float32" or "float64".
    """

    def __init__(self, stepper: Stepper, worlds: int, precision: str) -> None:
        self.stepper, self.worlds, self.precision = stepper, worlds, precision
        if precision not in ("float32", "float64"):
            raise ValueError(f"precision is {precision!r}, must be 'float32' or 'float64'")
        self._cupy = import_cupy()
        model = stepper.model
        numbers = 1 + model.nq + model.nv + stepper.nz + sum(a.size for a in stepper.inputs)
        needed, free = numbers * np.dtype(precision).itemsize * worlds, int(self._cupy.cuda.runtime.memGetInfo()[0])
        if needed > free:
            raise MemoryError(
                f"{worlds} worlds need {needed / 2**30:.3g} GiB, and {free / 2**30:.3g} GiB of the GPU are free; take at most "
                f"{free * worlds // max(1, needed)} worlds, or precision='float32'"
            )
        self.kernel = CudaMarch(stepper.march.traced, 3, precision, block=BLOCK)
        """Many steps of all worlds."""
        self.number, self.q, self.x = self.zeros(), self.zeros(model.nq), self.zeros(model.nv + stepper.nz)
        self.inputs = [self.zeros(*a.shape) for a in stepper.inputs]
        self._stuck = self._cupy.zeros(worlds, bool)
        self._laws: dict[int, CudaKernel] = {}
        self._grid: tuple[tuple[float, float], list[Any]] | None = None

    @property
    def frozen(self) -> np.ndarray:
        """Worlds that stay where they are, shape (worlds,); a copy."""
        return self._cupy.asnumpy(self._stuck)

    def freeze(self, which: np.ndarray, frozen: bool) -> None:
        """See `Target.freeze`."""
        self._stuck[self._cupy.asarray(which)] = frozen

    def zeros(self, *shape: int) -> Any:
        """See `Target.zeros`."""
        return self._cupy.moveaxis(self._cupy.zeros((*shape, self.worlds), self.precision), -1, 0)

    def repeated(self, array: Any, steps: int) -> Any:
        """See `Target.repeated`."""
        out = self._cupy.moveaxis(self._cupy.empty((steps, *array.shape[1:], self.worlds), self.precision), -1, 0)
        out[...] = array[:, None]
        return out

    def put(self, array: Any, which: np.ndarray, values: np.ndarray) -> None:
        """See `Target.put`."""
        array[self._cupy.asarray(which)] = self._cupy.asarray(values, dtype=self.precision)

    def take(self, array: Any, due: np.ndarray | None, new: Any) -> None:
        """See `Target.take`."""
        mask = ~self._stuck if due is None else self._cupy.asarray(due) & ~self._stuck
        array[...] = self._cupy.where(mask[:, None], new, array)

    def get(self, array: Any) -> np.ndarray:
        """See `Target.get`."""
        return self._cupy.asnumpy(array).astype(float)

    def array(self, values: Any) -> Any:
        """See `Target.array`."""
        if not isinstance(values, self._cupy.ndarray) and hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
            values = self._cupy.from_dlpack(values)
        return self._cupy.asarray(values, dtype=self.precision)

    def index(self, which: np.ndarray) -> Any:
        """See `Target.index`."""
        return self._cupy.asarray(which)

    def stack(self, parts: Sequence[Any], axis: int) -> Any:
        """See `Target.stack`."""
        return parts[0] if len(parts) == 1 else self._cupy.concatenate(parts, axis=axis)

    def law(self, code: Compiled, arrays: Sequence[Any]) -> list[Any]:
        """See `Target.law`."""
        if id(code) not in self._laws:
            self._laws[id(code)] = CudaKernel(code.traced, self.precision)
        return list(self._laws[id(code)](*arrays))

    def march(self, inputs: Sequence[Any], step: float, offset: float, steps: int, stride: int | None) -> Marched:
        """See `Target.march`."""
        if self._grid is None or self._grid[0] != (step, offset):
            self._grid = (step, offset), [self._cupy.full(1, value, self.precision) for value in (step, offset)]
        records, good = self.kernel(
            [self.number, self.q, self.x], [*self._grid[1], *inputs], self._stuck, steps, 0 if stride is None else stride
        )
        self._stuck |= good < steps
        return Marched(records[1], records[2], good)

    def part(self, which: np.ndarray, inputs: Sequence[Any], t: float, h: float) -> np.ndarray:
        """See `Target.part`."""
        cupy, rows = self._cupy, self._cupy.asarray(which)
        state = [cupy.zeros(len(which), self.precision), *(cupy.asfortranarray(a[rows]) for a in (self.q, self.x))]
        grid = [cupy.full(1, value, self.precision) for value in (h, t)]
        _, good = self.kernel(state, [*grid, *inputs], cupy.zeros(len(which), bool), 1)
        self.q[rows], self.x[rows] = state[1], state[2]
        return cupy.asnumpy(good) >= 1
