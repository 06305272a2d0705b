"""A straight-line program: named inputs and outputs, and a flat list of scalar operations in between."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.spatial import pivoted_solve
from hydromechs.values import Array

from ._operations import KINDS

if TYPE_CHECKING:
    from ._flow import Iterate, When
    from ._random import Draw
    from ._rolled import Rolled  # made of programs


class Argument(NamedTuple):
    """A named array that goes in or comes out."""

    name: str
    """Its name."""
    shape: tuple[int, ...]
    """Its shape; entries are flattened row-major."""

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)


class Operation(NamedTuple):
    """One scalar operation; its place in the list is the name of its value.

    `kind` is "const" (`value`), "input" (`value` is (argument, entry)), "call" (`value` counts in `calls`), "result"
    of the call at `a` (`value` is (result, entry)), or an operation on the earlier values `a` and `b`.
    """

    kind: str
    a: int = -1
    b: int = -1
    value: Any = None


@dataclass(frozen=True)
class Table:
    """A table of constants; called with an index, it gives the entry there, held at the ends, NaN for NaN."""

    values: tuple[float, ...]
    """Its entries."""
    inputs = (Argument("index", (1,)),)
    """What goes in."""
    outputs = (Argument("entry", (1,)),)
    """What comes out."""

    def __call__(self, index: ArrayLike) -> tuple[Array]:
        """The entry."""
        x = float(np.ravel(index)[0])
        return (np.array([x if math.isnan(x) else self.values[int(min(max(x, 0.0), len(self.values) - 1.0))]]),)


@dataclass(frozen=True)
class Solve:
    """A general system of linear equations A x = b."""

    n: int
    """Number of unknowns."""

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """What goes in."""
        return Argument("A", (self.n, self.n)), Argument("b", (self.n,))

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """What comes out."""
        return (Argument("x", (self.n,)),)

    def __call__(self, A: ArrayLike, b: ArrayLike) -> tuple[Array]:
        """The solution; NaN where there is none, as in machine code."""
        try:
            return (np.linalg.solve(np.reshape(A, (self.n, self.n)), np.ravel(b)),)
        except np.linalg.LinAlgError:
            return (np.full(self.n, np.nan),)


@dataclass(frozen=True)
class SolveSemidefinite:
    """A symmetric positive semidefinite system A x = b with b in the range of A: see `hydromechs.spatial.pivoted_solve`."""

    n: int
    """Number of unknowns."""
    tolerance: float = 1e-12
    """Ratio of a pivot to the first one below which a row counts as dependent on earlier ones."""
    least: float = 0.0
    """Pivot up to which a row counts as rounding."""

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """What goes in."""
        return Argument("A", (self.n, self.n)), Argument("b", (self.n,))

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """What comes out."""
        return Argument("x", (self.n,)), Argument("rank", ()), Argument("pivot", ())

    def __call__(self, A: ArrayLike, b: ArrayLike) -> tuple[Array, ...]:
        """Solution, rank, last pivot over the first."""
        x, rank, pivot = pivoted_solve(A, b, self.tolerance, self.least)
        return x, np.array(rank), np.array(pivot)


class Call(NamedTuple):
    """A call in a program."""

    callee: Callee
    """What is called."""
    arguments: tuple[tuple[int, ...], ...]
    """For each argument, the places of its entries in the program's operations."""


@dataclass(frozen=True)
class OperationCount:
    """Number of operations of a program, as the papers count them."""

    multiplications: int
    """Products of two numbers."""
    divisions: int
    """Quotients."""
    square_roots: int
    """Square roots."""
    additions: int
    """Sums and differences."""
    sines_cosines: int
    """Sines and cosines, each counted once."""
    others: int
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


@dataclass(frozen=True)
class Packed:
    """A program for several points at once, side by side on the lanes of one core."""

    program: Program
    """What is evaluated."""
    count: int
    """Number of points: the first dimension of every result, and of every argument that is not shared."""
    shared: tuple[bool, ...]
    """Which arguments are the same at all points."""

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """What goes in."""
        both = zip(self.program.inputs, self.shared, strict=True)
        return tuple(a if same else Argument(a.name, (self.count, *a.shape)) for a, same in both)

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """What comes out."""
        return tuple(Argument(a.name, (self.count, *a.shape)) for a in self.program.outputs)

    def count_operations(self) -> OperationCount:
        """Operations of all points."""
        return self.program.count().times(self.count)

    def __call__(self, *arrays: Any) -> tuple[Array, ...]:
        """Results, point by point."""
        each = [[x] * self.count if same else x for x, same in zip(arrays, self.shared, strict=True)]
        points = [self.program(*point) for point in zip(*each, strict=True)]
        return tuple(np.stack(rows) for rows in zip(*points, strict=True))


@dataclass(frozen=True, eq=False)
class Program:
    """A traced function."""

    name: str
    """Name of the function, a valid identifier."""
    inputs: tuple[Argument, ...]
    """Arguments."""
    outputs: tuple[Argument, ...]
    """Results."""
    operations: tuple[Operation, ...]
    """Operations; operands come before the operations that use them."""
    results: tuple[tuple[int, ...], ...]
    """For each output, the places of its entries in `operations`, row-major."""
    casadi_function: Any = field(repr=False)
    """The same as a CasADi function of flat arguments, for derivatives and optimal control; None if it has calls."""
    calls: tuple[Call, ...] = ()
    """Calls of other programs and of built-in functions."""

    def __str__(self) -> str:
        """The program as text, one operation per line."""
        names = [f"{a.name}{list(a.shape)}" for a in self.inputs]
        lines = [f"{self.name}({', '.join(names)}) -> {', '.join(f'{a.name}{list(a.shape)}' for a in self.outputs)}"]
        for k, op in enumerate(self.operations):
            match op.kind:
                case "const":
                    right = repr(op.value)
                case "input":
                    right = f"{self.inputs[op.value[0]].name}[{op.value[1]}]"
                case "call":
                    right = f"call {self._callee_text(op.value)} {self.calls[op.value].arguments}"
                case "result":
                    right = f"result %{op.a} {op.value}"
                case _:
                    right = f"{op.kind} %{op.a}" + (f" %{op.b}" if op.b >= 0 else "")
            lines.append(f"  %{k} = {right}")
        for argument, places in zip(self.outputs, self.results, strict=True):
            lines += [f"  {argument.name}[{k}] = %{p}" for k, p in enumerate(places)]
        return "\n".join(lines)

    def _callee_text(self, k: int) -> str:
        match self.calls[k].callee:
            case Program() as callee:
                return f"{callee.name} {callee.hash}"
            case Packed(program, count, shared):
                return f"{count} x {program.name} {shared} {program.hash}"
            case callee:
                return repr(callee)

    @property
    def hash(self) -> str:
        """SHA-256 of inputs, operations and outputs."""
        return hashlib.sha256(str(self).encode()).hexdigest()

    def count(self) -> OperationCount:
        """Number of operations by kind."""
        from ._flow import Iterate, When  # made of programs

        counts = Counter(KINDS[op.kind].count for op in self.operations if op.kind in KINDS)
        own = OperationCount(**{f.name: counts[f.name] for f in fields(OperationCount)})
        for call in self.calls:
            match call.callee:
                case Program() as callee:
                    own = own + callee.count()
                case Packed() | When() | Iterate() as callee:
                    own = own + callee.count_operations()
        return own

    def __call__(self, *arrays: Any) -> tuple[Array, ...]:
        """Results for float arguments, by CasADi's virtual machine: slow, for checks."""
        if self.casadi_function is None:
            return self._interpreted(arrays)
        flat = self.casadi_function.call([np.ravel(a) for a in arrays])
        return tuple(np.array(y).reshape(a.shape) for y, a in zip(flat, self.outputs, strict=True))

    def _interpreted(self, arrays: Sequence[ArrayLike]) -> tuple[Array, ...]:
        """Results of a program with calls, operation by operation."""
        flat = [np.ravel(np.asarray(a, dtype=float)) for a in arrays]

        def called(callee: Callee, arguments: list[list[Any]]) -> list[Array]:
            shaped = [np.reshape(row, a.shape) for row, a in zip(arguments, callee.inputs, strict=True)]
            return [np.ravel(y) for y in callee(*shaped)]

        with np.errstate(all="ignore"):
            results = self.replayed(flat, np.float64, called, lambda kind, *values: KINDS[kind].floats(*values))
        return tuple(np.reshape(row, a.shape) for row, a in zip(results, self.outputs, strict=True))

    def replayed(
        self,
        inputs: Sequence[Any],
        constant: Callable[[float], Any],
        called: Callable[[Callee, list[list[Any]]], Sequence[Any]],
        applied: Callable[..., Any],
    ) -> list[list[Any]]:
        """Entries of the results, with numbers of any kind.

        Args:
            inputs: Entries of each input.
            constant: Makes a number of a float.
            called: Results of what is called, from the entries of its arguments.
            applied: Result of an operation, from its kind and its operands.
        """
        values: list[Any] = []
        for op in self.operations:
            match op.kind:
                case "const":
                    values.append(constant(op.value))
                case "input":
                    values.append(inputs[op.value[0]][op.value[1]])
                case "call":
                    callee, arguments = self.calls[op.value]
                    values.append(called(callee, [[values[p] for p in row] for row in arguments]))
                case "result":
                    values.append(values[op.a][op.value[0]][op.value[1]])
                case kind:
                    values.append(applied(kind, *[values[k] for k in (op.a, op.b) if k >= 0]))
        return [[values[p] for p in row] for row in self.results]


Callee: TypeAlias = "Program | Table | Solve | SolveSemidefinite | Draw | When | Iterate | Packed | Rolled"
"""What a program can call."""
