"""Interface of functions that a program can call; each kind provides its text for every language."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.values import Array

if TYPE_CHECKING:
    from ._c_calls import CFunctions
    from ._llvm_text import Emitter, Module, Results


class Argument(NamedTuple):
    """A named input or output array."""

    name: str
    shape: tuple[int, ...]
    """Shape; entries are flattened row-major."""

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class OperationCount:
    """Operation counts of a program, by the rules of the papers; a difference is an addition, a sine and a cosine are two."""

    multiplications: int = 0
    divisions: int = 0
    square_roots: int = 0
    additions: int = 0
    sines_cosines: int = 0
    others: int = 0
    """Everything else except changes of sign and absolute values: comparisons, exponentials..."""

    def __add__(self, other: OperationCount) -> OperationCount:
        return OperationCount(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def times(self, n: int) -> OperationCount:
        """Return the operations of `n` runs."""
        return OperationCount(*(n * getattr(self, f.name) for f in fields(self)))

    @property
    def papers(self) -> tuple[int, int]:
        """[multiplications with divisions and square roots, additions], as in the papers' tables."""
        return self.multiplications + self.divisions + self.square_roots, self.additions


class Callee(abc.ABC):
    """A function of arrays that programs call; also a program itself."""

    reads_in_place: ClassVar[bool] = False
    """True if machine code may pass arguments in place; otherwise they are copied into separate arrays."""
    copies_results: ClassVar[bool] = False
    """True if machine code copies adjacent results as one block."""

    if TYPE_CHECKING:  # fields in some classes, properties in others

        @property
        def inputs(self) -> tuple[Argument, ...]:
            """Arguments."""

        @property
        def outputs(self) -> tuple[Argument, ...]:
            """Results."""

    @abc.abstractmethod
    def __call__(self, *arrays: Any) -> tuple[Array, ...]:
        """Return the results for floats."""

    @abc.abstractmethod
    def llvm(self, name: str, module: Module) -> str:
        """Return its definition as LLVM IR, a function of packed arrays."""

    @abc.abstractmethod
    def c(self, functions: CFunctions, *, overlapping: bool) -> list[str]:
        """Return its statements in C on a0, a1, ... (arguments) and r0, r1, ... (results), which may be `overlapping`."""

    def llvm_call(self, emitter: Emitter, arguments: Sequence[Sequence[str]], given: Sequence[str]) -> Results:
        """Write a call as LLVM IR, from the entries of each argument by name; `given`: their packed arrays, or ""."""
        return emitter.call_function(self, arguments, given)

    @property
    def inline(self) -> bool:
        """True if CUDA inlines it."""
        return False

    @property
    def key(self) -> object:
        """Key; callees with equal keys share one function."""
        return self

    def label(self) -> str:
        """Return its text in a program; it includes everything that changes the results."""
        return repr(self)

    def count(self) -> OperationCount:
        """Operation counts; 0 if the papers do not count it."""
        return OperationCount()


@dataclass(frozen=True)
class Table(Callee):
    """A table of constants; called with an index, it gives that entry, clamped to the ends, NaN for NaN."""

    values: tuple[float, ...]
    inputs = (Argument("index", (1,)),)
    """Inputs."""
    outputs = (Argument("entry", (1,)),)
    """Outputs."""

    def __call__(self, index: ArrayLike) -> tuple[Array]:
        x = float(np.ravel(index)[0])
        return (np.array([x if math.isnan(x) else self.values[int(min(max(x, 0.0), len(self.values) - 1.0))]]),)

    @property
    def key(self) -> bytes:
        """Bits of the entries: 0 and -0 differ."""
        return np.array(self.values).tobytes()

    @property
    def inline(self) -> bool:
        return True

    def llvm(self, name: str, module: Module) -> str:
        from ._llvm_sincos import constants_text

        return constants_text(name, self.values)

    def llvm_call(self, emitter: Emitter, arguments: Sequence[Sequence[str]], given: Sequence[str]) -> Results:
        from ._llvm_text import Results

        value = emitter.entry(emitter.module.name(self), len(self.values), arguments[0][0])
        return Results([lambda entry: value], [], self)

    def c(self, functions: CFunctions, *, overlapping: bool) -> list[str]:
        real, f = functions.real, functions.suffix
        name = functions.constants("table", real, self.values)
        last, zero = functions.literal(len(self.values) - 1.0), functions.literal(0.0)
        return [f"const {real} x = a0[0];", f"r0[0] = x != x ? x : {name}[(int)fmin{f}(fmax{f}(x, {zero}), {last})];"]
