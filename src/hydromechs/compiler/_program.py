"""Straight-line programs: named inputs and outputs, and a flat list of scalar operations."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.values import Array

from ._callee import Argument, Callee, OperationCount
from ._operations import KINDS

if TYPE_CHECKING:
    from ._c_calls import CFunctions
    from ._llvm_text import Emitter, Module, Results

SMALL = 120
"""Maximum number of operations of a program that CUDA inlines."""


class Operation(NamedTuple):
    """One scalar operation, whose index in the list identifies its value.

    `kind` is "const" (`value` is the constant), "input" (`value` is (argument, entry)), "call" (`value` is an index into
    `calls`), "result" of the call at `a` (`value` is (result, entry)), or an operation on the earlier values `a` and `b`.
    """

    kind: str
    a: int = -1
    b: int = -1
    value: Any = None


class Call(NamedTuple):
    """Call of a function in a program."""

    callee: Callee
    arguments: tuple[tuple[int, ...], ...]
    """Indices of the entries of each argument among the operations of the program."""


@dataclass(frozen=True)
class Packed(Callee):
    """Program evaluated at several points in parallel on the lanes of one core."""

    program: Program
    points: int
    """Number of points, the first dimension of every result and of every argument that is not shared."""
    shared: tuple[bool, ...]
    """True for each argument that is equal at all points."""

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """Inputs of all points; shared arguments occur once."""
        both = zip(self.program.inputs, self.shared, strict=True)
        return tuple(a if same else Argument(a.name, (self.points, *a.shape)) for a, same in both)

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """Outputs of all points."""
        return tuple(Argument(a.name, (self.points, *a.shape)) for a in self.program.outputs)

    def count(self) -> OperationCount:
        return self.program.count().times(self.points)

    def __call__(self, *arrays: Any) -> tuple[Array, ...]:
        each = [[x] * self.points if same else x for x, same in zip(arrays, self.shared, strict=True)]
        points = [self.program(*point) for point in zip(*each, strict=True)]
        return tuple(np.stack(rows) for rows in zip(*points, strict=True))

    def label(self) -> str:
        return f"{self.points} x {self.program.name} {self.shared} {self.program.hash}"

    def llvm(self, name: str, module: Module) -> str:
        raise TypeError(f"{self.program.name} at several points is not a separate function")

    def llvm_call(self, emitter: Emitter, arguments: Sequence[Sequence[str]], given: Sequence[str]) -> Results:
        return emitter.call_packed(self, arguments)

    def c(self, functions: CFunctions, *, overlapping: bool) -> list[str]:
        function, lines = functions.name(self.program), []
        both = list(zip(self.program.inputs, self.shared, strict=True))
        for p in range(self.points):
            given = [f"a{k}" if same else f"a{k} + {p * a.size}" for k, (a, same) in enumerate(both)]
            given += [f"r{k} + {p * a.size}" for k, a in enumerate(self.program.outputs)]
            lines.append(f"{function}({', '.join(given)});")
        return lines


@dataclass(frozen=True, eq=False)
class Program(Callee):
    """Traced function as a list of operations."""

    name: str
    """Name of the function, a valid identifier."""
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    operations: tuple[Operation, ...]
    """Operations in an order in which operands precede the operations that use them."""
    results: tuple[tuple[int, ...], ...]
    """Indices of the entries of each output in `operations`, row-major."""
    casadi_function: Any = field(repr=False)
    """CasADi function of flat arguments for derivatives and optimal control; None if the program has calls."""
    calls: tuple[Call, ...] = ()
    """Calls of other programs and of built-in functions."""
    reads_in_place = True

    def with_operations(self, operations: Sequence[Operation], place: Mapping[int, int]) -> Program:
        """Return the program with other operations; `place` contains new indices of results and of arguments of calls."""
        calls = tuple(c._replace(arguments=tuple(tuple(place[x] for x in row) for row in c.arguments)) for c in self.calls)
        results = tuple(tuple(place[x] for x in row) for row in self.results)
        return Program(self.name, self.inputs, self.outputs, tuple(operations), results, None, calls)

    def unpacked(self) -> Program:
        """Return the program with one call per point instead of calls at several points."""
        operations: list[Operation] = []
        calls: list[Call] = []
        place, sites = {-1: -1}, dict[int, list[int]]()

        def put(callee: Callee, arguments: Sequence[Sequence[int]]) -> int:
            calls.append(Call(callee, tuple(tuple(place[x] for x in row) for row in arguments)))
            operations.append(Operation("call", value=len(calls) - 1))
            return len(operations) - 1

        for k, op in enumerate(self.operations):
            call = self.calls[op.value] if op.kind == "call" else None
            if call is None and op.a in sites:
                packed = self.calls[self.operations[op.a].value].callee
                point, entry = divmod(op.value[1], packed.outputs[op.value[0]].size // len(sites[op.a]))
                operations.append(Operation("result", sites[op.a][point], value=(op.value[0], entry)))
            elif call is None:
                operations.append(op._replace(a=place[op.a], b=place[op.b]))
            elif isinstance(packed := call.callee, Packed):
                sites[k] = []
                for p in range(packed.points):
                    rows = zip(call.arguments, packed.program.inputs, packed.shared, strict=True)
                    point = [row if same else row[a.size * p : a.size * (p + 1)] for row, a, same in rows]
                    sites[k].append(put(packed.program, point))
            else:
                put(call.callee, call.arguments)
            place[k] = len(operations) - 1
        results = tuple(tuple(place[x] for x in row) for row in self.results)
        return Program(self.name, self.inputs, self.outputs, tuple(operations), results, None, tuple(calls))

    def __str__(self) -> str:
        """Return the program as text with one operation per line."""
        names = [f"{a.name}{list(a.shape)}" for a in self.inputs]
        lines = [f"{self.name}({', '.join(names)}) -> {', '.join(f'{a.name}{list(a.shape)}' for a in self.outputs)}"]
        for k, op in enumerate(self.operations):
            match op.kind:
                case "const":
                    right = repr(op.value)
                case "input":
                    right = f"{self.inputs[op.value[0]].name}[{op.value[1]}]"
                case "call":
                    right = f"call {self.calls[op.value].callee.label()} {self.calls[op.value].arguments}"
                case "result":
                    right = f"result %{op.a} {op.value}"
                case _:
                    right = f"{op.kind} %{op.a}" + (f" %{op.b}" if op.b >= 0 else "")
            lines.append(f"  %{k} = {right}")
        for argument, places in zip(self.outputs, self.results, strict=True):
            lines += [f"  {argument.name}[{k}] = %{p}" for k, p in enumerate(places)]
        return "\n".join(lines)

    def label(self) -> str:
        return f"{self.name} {self.hash}"

    @cached_property
    def hash(self) -> str:
        """SHA-256 hash of inputs, operations and outputs."""
        return hashlib.sha256(str(self).encode()).hexdigest()

    def count(self) -> OperationCount:
        counts = Counter(KINDS[op.kind].count for op in self.operations if op.kind in KINDS)
        own = OperationCount(**{f.name: counts[f.name] for f in fields(OperationCount)})
        return sum((call.callee.count() for call in self.calls), own)

    def shares(self) -> tuple[OperationCount, ...]:
        """Return the operations that the last output needs, each counted at the first output that needs it, without calls.

        If the other outputs are intermediate quantities of the last output, the counts are those of each intermediate quantity.
        """
        last, known, out = self._needed(self.results[-1]), set[int](), []
        for row in self.results:
            fresh = (self._needed(row) & last) - known
            counts = Counter(KINDS[self.operations[k].kind].count for k in fresh if self.operations[k].kind in KINDS)
            out.append(OperationCount(**{f.name: counts[f.name] for f in fields(OperationCount)}))
            known |= fresh
        return tuple(out)

    def _needed(self, wanted: Sequence[int]) -> set[int]:
        found, fresh = set[int](), list(wanted)
        while fresh:
            k = fresh.pop()
            if k >= 0 and k not in found:
                found.add(k)
                fresh += (self.operations[k].a, self.operations[k].b)
        return found

    def __call__(self, *arrays: Any) -> tuple[Array, ...]:
        """Evaluate the program for float arguments by the virtual machine of CasADi, which is slow; for verification."""
        passes_over_nan = any(op.kind in ("min", "max") for op in self.operations)  # CasADi uses fmin and fmax of C
        if self.casadi_function is None or (passes_over_nan and any(np.isnan(a).any() for a in arrays)):
            return self._interpreted(arrays)
        flat = self.casadi_function.call([np.ravel(a) for a in arrays])
        return tuple(np.array(y).reshape(a.shape) for y, a in zip(flat, self.outputs, strict=True))

    def _interpreted(self, arrays: Sequence[ArrayLike]) -> tuple[Array, ...]:
        flat = [np.ravel(np.asarray(a, dtype=float)) for a in arrays]

        def called(callee: Callee, arguments: list[list[Any]]) -> list[Array]:
            shaped = [np.reshape(row, a.shape) for row, a in zip(arguments, callee.inputs, strict=True)]
            return [np.ravel(y) for y in callee(*shaped)]

        with np.errstate(all="ignore"):
            results = self.replayed(flat, np.float64, called, lambda kind, *values: KINDS[kind].floats(*values))
        return tuple(np.reshape(row, a.shape) for row, a in zip(results, self.outputs, strict=True))

    @property
    def inline(self) -> bool:
        return len(self.operations) <= SMALL

    @cached_property
    def read_entries(self) -> frozenset[tuple[int, int]]:
        """Arguments' entries, as (argument, entry), that it reads."""
        return frozenset(op.value for op in self.operations if op.kind == "input")

    def without_unread(self) -> Program:
        """Return the same program without operations whose results no result needs: arguments of calls that are not read."""
        reads = [call.callee.read_entries for call in self.calls]
        needed, fresh = set[int](), [k for row in self.results for k in row]
        while fresh:
            k = fresh.pop()
            if k < 0 or k in needed:
                continue
            needed.add(k)
            op = self.operations[k]
            fresh += (op.a, op.b)
            if op.kind == "call":
                read = reads[op.value]
                for i, row in enumerate(self.calls[op.value].arguments):
                    fresh += [p for j, p in enumerate(row) if read is None or (i, j) in read]
        place = {-1: -1} | dict.fromkeys(range(len(self.operations)), 0)
        kept = [Operation("const", value=0.0)]
        for k, op in enumerate(self.operations):
            if k in needed:
                place[k] = len(kept)
                kept.append(op._replace(a=place[op.a], b=place[op.b]))
        return self.with_operations(kept, place)

    def llvm(self, name: str, module: Module) -> str:
        return module.packed(name, self)

    def c(
        self, functions: CFunctions, *, overlapping: bool, fast: Mapping[tuple[int, int], int] = MappingProxyType({})
    ) -> list[str]:
        """See `Callee.c`. `fast`: see `Placed`."""
        from ._c_text import c_body
        from ._schedule import fused_sums, short_lives

        program, n = fused_sums(self.unpacked().without_unread()) if functions.cuda else self, len(self.inputs)

        def at(array: int, entry: int) -> str:
            if (array, entry) in fast:
                return functions.fast(fast[array, entry])
            return f"a{array}[{entry}]" if array < n else f"r{array - n}[{entry}]"

        return c_body(
            program,
            functions.real,
            at,
            lambda k, entry, text: f"{at(n + k, entry)} = {text};",
            order=None if overlapping else short_lives(program),
            sincos=functions.sincos,
            functions=functions,
            own=functions.own,
        )

    def replayed(
        self,
        inputs: Sequence[Any],
        constant: Callable[[float], Any],
        called: Callable[[Callee, list[list[Any]]], Sequence[Any]],
        applied: Callable[..., Any],
    ) -> list[list[Any]]:
        """Return the entries of the results for entries of each input of any numeric type.

        `constant` converts a float. `called` and `applied` return the results of calls and operations.
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
