"""Interface of functions that a program can call; each kind of function provides its text in every language."""

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
    """Named input or output array."""

    name: str
    shape: tuple[int, ...]
    """Shape of the array; entries are flattened row-major."""

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class OperationCount:
    """Operation counts of a program by the rules of the papers: a difference is an addition; sine and cosine count as two."""

    multiplications: int = 0
    divisions: int = 0
    square_roots: int = 0
    additions: int = 0
    sines_cosines: int = 0
    others: int = 0
    """Number of all other operations, such as comparisons and exponentials, without changes of sign and absolute values."""

    def __add__(self, other: OperationCount) -> OperationCount:
        return OperationCount(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def times(self, n: int) -> OperationCount:
        """Return the operation count of `n` runs."""
        return OperationCount(*(n * getattr(self, f.name) for f in fields(self)))

    @property
    def papers(self) -> tuple[int, int]:
        """Multiplications with divisions and square roots, and additions, as in tables of the papers."""
        return self.multiplications + self.divisions + self.square_roots, self.additions


class Callee(abc.ABC):
    """Function of arrays that programs call; a program is also a callee."""

    reads_in_place: ClassVar[bool] = False
    """True if machine code may pass arguments in place; otherwise they are copied to separate arrays."""
    copies_results: ClassVar[bool] = False
    """True if machine code copies adjacent results as one block."""

    if TYPE_CHECKING:  # fields in some classes and properties in others

        @property
        def inputs(self) -> tuple[Argument, ...]:
            """Arguments of the function."""

        @property
        def outputs(self) -> tuple[Argument, ...]:
            """Results of the function."""

    @abc.abstractmethod
    def __call__(self, *arrays: Any) -> tuple[Array, ...]:
        """Return the results for floats."""

    @abc.abstractmethod
    def llvm(self, name: str, module: Module) -> str:
        """Return the definition of the function as LLVM IR, a function of packed arrays."""

    @abc.abstractmethod
    def c(self, functions: CFunctions, *, overlapping: bool) -> list[str]:
        """Return the C statements, with arguments a0, a1, ... and results r0, r1, ..., which may be `overlapping`."""

    def llvm_call(self, emitter: Emitter, arguments: Sequence[Sequence[str]], given: Sequence[str]) -> Results:
        """Write a call as LLVM IR from the entry names of each argument; `given` names their packed arrays, or is ""."""
        return emitter.call_function(self, arguments, given)

    @property
    def inline(self) -> bool:
        """True if CUDA inlines the function."""
        return False

    @property
    def read_entries(self) -> frozenset[tuple[int, int]] | None:
        """Arguments' entries, as (argument, entry), that it reads; None for all."""
        return None

    @property
    def key(self) -> object:
        """Key of the function; callees with equal keys share one function."""
        return self

    def label(self) -> str:
        """Return the text of the function in a program, which includes everything that changes the results."""
        return repr(self)

    def count(self) -> OperationCount:
        """Return the operation count; 0 if the papers do not count the function."""
        return OperationCount()


@dataclass(frozen=True)
class Table(Callee):
    """Table of constants: an index returns the entry, clamped to the valid range, and NaN returns NaN."""

    values: tuple[float, ...]
    inputs = (Argument("index", (1,)),)
    """Index into the table."""
    outputs = (Argument("entry", (1,)),)
    """Table entry."""

    def __call__(self, index: ArrayLike) -> tuple[Array]:
        x = float(np.ravel(index)[0])
        return (np.array([x if math.isnan(x) else self.values[int(min(max(x, 0.0), len(self.values) - 1.0))]]),)

    @property
    def key(self) -> bytes:
        """Bits of the entries, which distinguish 0 from -0."""
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
