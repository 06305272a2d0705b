"""CUDA kernels, one thread per world, with arrays of CuPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._backend import Arrays, Backend, Form, Marcher
from ._program import Program
from ._rolled import Rolled

if TYPE_CHECKING:  # others come when they are used: the table of back ends must stay quick to import
    from ._compiled import Compiled
    from ._march import March

BLOCK = 64
"""Threads per block."""


class Cuda(Backend):
    """A GPU. Its arrays are CuPy's, which PyTorch, JAX and others take by DLPack without a copy."""

    key = "cuda"
    about = "a GPU (needs CuPy)"
    target = "cuda"
    precisions = ("float64", "float32")

    def source(self, program: Program | Rolled, form: Form, precision: str = "float64") -> str:
        """The kernel; see `Backend.source`."""
        from ._cuda import cuda_text
        from ._cuda_march import cuda_march_text

        if form.state is None:
            return cuda_text(self._straight(program), precision, block=BLOCK)
        return cuda_march_text(self._straight(program), form.state, precision, block=BLOCK)

    def unavailable(self) -> str:
        from ._cuda import import_cupy

        try:
            import_cupy()
        except ModuleNotFoundError as error:
            return str(error)
        return ""

    def arrays(self, precision: str) -> CudaArrays:
        return CudaArrays(precision)

    def caller(self, code: Compiled, precision: str) -> Callable[[Sequence[Any]], list[Any]]:
        from ._cuda import CudaKernel

        kernel = CudaKernel(code.traced, precision)
        return lambda arrays: list(kernel(*arrays))

    def marcher(self, march: March, precision: str) -> Marcher:
        from ._cuda_march import CudaMarch

        return CudaMarch(march.traced, march.n_state, precision, block=BLOCK)


class CudaArrays(Arrays):
    """Arrays of CuPy with the worlds fastest, so that neighbouring threads read neighbouring numbers.

    Args:
        precision: "float32" or "float64".
    """

    on_host = False

    def __init__(self, precision: str) -> None:
        from ._cuda import import_cupy

        self.precision = precision
        self._cupy = import_cupy()

    def check_memory(self, numbers: int, worlds: int) -> None:
        needed = numbers * np.dtype(self.precision).itemsize * worlds
        free = int(self._cupy.cuda.runtime.memGetInfo()[0])
        if needed > free:
            raise MemoryError(
                f"{worlds} worlds need {needed / 2**30:.3g} GiB, and {free / 2**30:.3g} GiB of the GPU are free; take at most "
                f"{free * worlds // max(1, needed)} worlds, or precision='float32'"
            )

    def zeros(self, worlds: int, *shape: int) -> Any:
        return self._cupy.moveaxis(self._cupy.zeros((*shape, worlds), self.precision), -1, 0)

    def mask(self, worlds: int) -> Any:
        return self._cupy.zeros(worlds, bool)

    def full(self, value: float) -> Any:
        return self._cupy.full(1, value, self.precision)

    def repeated(self, array: Any, steps: int) -> Any:
        out = self._cupy.moveaxis(self._cupy.empty((steps, *array.shape[1:], len(array)), self.precision), -1, 0)
        out[...] = array[:, None]
        return out

    def put(self, array: Any, which: np.ndarray, values: np.ndarray) -> None:
        array[self._cupy.asarray(which)] = self._cupy.asarray(values, dtype=self.precision)

    def take(self, array: Any, moves: Any, new: Any) -> None:
        array[...] = self._cupy.where(moves[:, None], new, array)

    def get(self, array: Any) -> np.ndarray:
        return self._cupy.asnumpy(array).astype(float)

    def seen(self, mask: Any) -> np.ndarray:
        """See `Arrays.seen`; a copy."""
        return self._cupy.asnumpy(mask)

    def array(self, values: Any) -> Any:
        if not isinstance(values, self._cupy.ndarray) and hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
            values = self._cupy.from_dlpack(values)
        return self._cupy.asarray(values, dtype=self.precision)

    def index(self, which: np.ndarray) -> Any:
        return self._cupy.asarray(which)

    def rows(self, array: Any, which: Any) -> Any:
        return self._cupy.asfortranarray(array[which])

    def stack(self, parts: Sequence[Any], axis: int) -> Any:
        return parts[0] if len(parts) == 1 else self._cupy.concatenate(parts, axis=axis)
