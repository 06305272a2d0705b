"""Tracing of functions: one call with symbols, and conversion of the returned expressions to a program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import casadi
import numpy as np

from hydromechs.errors import UnsupportedFeature

from ._callee import Argument, Callee
from ._operations import KINDS
from ._program import Call, Operation, Program
from ._symbol import TAPE, Site, column, symbols

Rows: TypeAlias = Sequence[tuple[int, ...]]
"""Indices of the entries of several arrays."""

BY_CODE = {getattr(casadi, code): kind for kind in KINDS.values() for code in kind.casadi}
"""Operations, keyed by CasADi code."""


COMMUTES = frozenset(kind.name for kind in KINDS.values() if kind.commutes)
"""Names of commutative operations."""


def trace(
    function: Callable[..., Any], shapes: Mapping[str, tuple[int, ...]], *, name: str = "", outputs: tuple[str, ...] = ()
) -> Program:
    """Return the program of a NumPy function that takes named arrays of given shapes and returns an array or a tuple.

    By default, results are named result0, result1, ...
    """
    inputs = {key: symbols(key, shape) for key, shape in shapes.items()}
    results, sites = _traced(function, inputs)
    names = outputs or tuple(f"result{k}" for k in range(len(results)))
    outcomes = dict(zip(names, results, strict=True))
    if sites:
        columns, expressions = [column(x) for x in inputs.values()], [column(y) for y in results]
        given, wanted = (tuple(Argument(k, x.shape) for k, x in arrays.items()) for arrays in (inputs, outcomes))
        return program_with_calls(name or "program", columns, expressions, given, wanted, sites)
    return program_between(name or "program", inputs, outcomes)


def _traced(function: Callable[..., Any], inputs: Mapping[str, Any]) -> tuple[tuple[Any, ...], list[Site]]:
    token = TAPE.set([])
    try:
        results, sites = function(**inputs), TAPE.get()
    finally:
        TAPE.reset(token)
    results = tuple(results) if isinstance(results, tuple) else (results,)
    return tuple(np.asarray(y) for y in results), sites or []


def read_by(function: Callable[..., Any], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, bool]:
    """Return True for each argument of a NumPy function that affects the results; arguments are those of `trace`."""
    inputs = {key: symbols(key, shape) for key, shape in shapes.items()}
    results, sites = _traced(function, inputs)
    read = {x.element_hash() for x in free_symbols([*map(column, results), *(x for site in sites for x in site.arguments)])}
    return {key: any(x.sx.element_hash() in read for x in np.ravel(array)) for key, array in inputs.items()}


def free_symbols(expressions: Sequence[casadi.SX], known: Sequence[casadi.SX] = ()) -> list[casadi.SX]:
    """Return the symbols in columns of expressions that are not among the known symbols."""
    own = {x.element_hash() for x in casadi.symvar(casadi.vertcat(casadi.SX(0, 1), *known))}
    return [x for x in casadi.symvar(casadi.vertcat(casadi.SX(0, 1), *expressions)) if x.element_hash() not in own]


def program_between(name: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Program:
    """Return the program from named symbols, `inputs`, to named expressions, `outputs`, without calls."""
    columns, expressions = [column(x) for x in inputs.values()], [column(y) for y in outputs.values()]
    given, wanted = (tuple(Argument(k, np.shape(x)) for k, x in arrays.items()) for arrays in (inputs, outputs))
    names, n = identifiers([*inputs, *outputs]), len(inputs)
    compiled = casadi.Function(name, columns, casadi.cse(expressions), names[:n], names[n:])
    return program_of(compiled, given, wanted)


def program_with_calls(
    name: str,
    columns: list[casadi.SX],
    expressions: list[casadi.SX],
    inputs: tuple[Argument, ...],
    outputs: tuple[Argument, ...],
    sites: Sequence[Site],
) -> Program:
    """Return the program from symbols to expressions with results of calls; each input and output is one column."""
    given = [*columns, *(y for site in sites for y in site.results)]
    wanted = casadi.cse([*expressions, *(x for site in sites for x in site.arguments)])
    return program_of(casadi.Function(name, given, wanted), inputs, outputs, sites)


def identifiers(names: list[str]) -> list[str]:
    """Return distinct names that CasADi accepts: letters, digits and single underscores."""
    out: list[str] = []
    for name in names:
        plain = re.sub(r"[\W_]+", "_", name, flags=re.ASCII).strip("_") or "x"
        plain = plain if plain[0].isalpha() else f"x{plain}"
        out.append(plain if plain not in out else f"{plain}x{len(out)}")
    return out


def program_of(
    function: casadi.Function, inputs: tuple[Argument, ...], outputs: tuple[Argument, ...], sites: Sequence[Site] = ()
) -> Program:
    """Return the flat operations of a CasADi SX function with dense columns as inputs and outputs.

    Instructions of CasADi reuse work slots, whereas every value of a program has its own index. Equal operations are merged
    (also a + b with b + a), and squares and divisions by a common number become products. Results of calls are additional
    inputs of the function, after those of the program, and arguments of calls are additional outputs.
    """
    builder = _Builder()
    slots: dict[int, int] = {}
    results: list[list[int]] = [[-1] * function.size1_out(k) for k in range(function.n_out())]
    answers = [(s, k) for s, site in enumerate(sites) for k in range(len(site.results))]
    # Python methods of CasADi only forward to these functions, at some cost
    read = casadi._casadi  # type: ignore[attr-defined]
    code, operands, place = read.Function_instruction_id, read.Function_instruction_input, read.Function_instruction_output
    for i in range(function.n_instructions()):
        op, at_in, at_out = code(function, i), operands(function, i), place(function, i)
        if op == casadi.OP_OUTPUT:
            results[at_out[0]][at_out[1]] = slots[at_in[0]]
        elif op == casadi.OP_INPUT:
            if at_in[0] < len(inputs):
                slots[at_out[0]] = builder.add("input", value=(at_in[0], at_in[1]))
            else:
                site, answer = answers[at_in[0] - len(inputs)]
                slots[at_out[0]] = builder.add("result", value=(site, answer, at_in[1]))
        elif op == casadi.OP_CONST:
            slots[at_out[0]] = builder.constant(function.instruction_constant(i))
        else:
            slots[at_out[0]] = builder.from_casadi(op, [slots[k] for k in at_in])
    own = [tuple(row) for row in results[: len(outputs)]]
    if not sites:
        return builder.finish(function, inputs, outputs, own)
    taken = iter(results[len(outputs) :])
    calls = [(site.callee, tuple(tuple(next(taken)) for _ in site.arguments)) for site in sites]
    return builder.finish_with_calls(function.name(), inputs, outputs, own, calls)


class _Builder:
    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.place: dict[Operation, int] = {}

    def add(self, kind: str, a: int = -1, b: int = -1, value: Any = None) -> int:
        if b < a and kind in COMMUTES:
            a, b = b, a
        operation = Operation(kind, a, b, value)
        place = self.place.setdefault(operation, len(self.operations))
        if place == len(self.operations):
            self.operations.append(operation)
        return place

    def constant(self, value: float) -> int:
        return self.add("const", value=float(value))

    def negated(self, a: int) -> int:
        op = self.operations[a]
        if op.kind == "const":
            return self.constant(-op.value)
        return op.a if op.kind == "neg" else self.add("neg", a)

    def from_casadi(self, op: int, at: list[int]) -> int:
        a, b = at[0], at[-1]
        if op in SIMPLER:
            return SIMPLER[op](self, a, b)
        if op in BY_CODE:
            kind = BY_CODE[op]
            return self.add(kind.name, a, b if kind.arity == 2 else -1)
        raise UnsupportedFeature(f"CasADi operation {op} is not supported; rewrite the function with simpler operations")

    def divided(self, a: int, b: int) -> int:
        """Return a / b as a product with 1 / b, which all quotients by b share."""
        if self.operations[b].kind == "const":
            return self.product(a, self.constant(1.0 / self.operations[b].value))
        inverse = self.add("div", self.constant(1.0), b)
        return self.product(a, inverse)

    def product(self, a: int, b: int) -> int:
        for x, y in ((a, b), (b, a)):
            if self.operations[x].kind == "neg":
                return self.negated(self.product(self.operations[x].a, y))
            if self.operations[x].kind == "const":
                if self.operations[x].value == 1.0:
                    return y
                if self.operations[x].value == -1.0:
                    return self.negated(y)
        return self.add("mul", a, b)

    def sum(self, a: int, b: int, minus: bool) -> int:
        if self.operations[b].kind == "neg":
            b, minus = self.operations[b].a, not minus
        if not minus and self.operations[a].kind == "neg":
            a, b, minus = b, self.operations[a].a, True
        if minus and self.operations[a].kind == "neg":  # −x − y = −(x + y)
            return self.negated(self.sum(self.operations[a].a, b, minus=False))
        return self.add("sub" if minus else "add", a, b)

    def closure(self, wanted: Iterable[int], needed: list[bool]) -> list[int]:
        """Mark all operations that the given operations need, including themselves; return the newly marked ones in order."""
        found: list[int] = []
        fresh = list(wanted)
        while fresh:
            k = fresh.pop()
            if k >= 0 and not needed[k]:
                needed[k] = True
                found.append(k)
                fresh += (self.operations[k].a, self.operations[k].b)
        return sorted(found)

    def finish(
        self, function: casadi.Function, inputs: tuple[Argument, ...], outputs: tuple[Argument, ...], results: Rows
    ) -> Program:
        """Remove operations that no result needs, and renumber the others."""
        needed = [False] * len(self.operations)
        self.closure([p for row in results for p in row], needed)
        number: dict[int, int] = {-1: -1}
        kept: list[Operation] = []
        for k, op in enumerate(self.operations):
            if needed[k]:
                number[k] = len(kept)
                kept.append(Operation(op.kind, number[op.a], number[op.b], op.value))
        places = tuple(tuple(number[p] for p in row) for row in results)
        return Program(function.name(), inputs, outputs, tuple(kept), places, function)

    def finish_with_calls(
        self,
        name: str,
        inputs: tuple[Argument, ...],
        outputs: tuple[Argument, ...],
        results: Rows,
        calls: Sequence[tuple[Callee, Rows]],
    ) -> Program:
        """Return the program of `finish` in segments: operations for the arguments of a call, the call, ..., the results."""
        needed = [False] * len(self.operations)
        self.closure([p for row in results for p in row], needed)
        alive = [False] * len(calls)
        answers: list[list[int]] = [[] for _ in calls]
        for k, op in enumerate(self.operations):
            if op.kind == "result":
                answers[op.value[0]].append(k)
        for s in reversed(range(len(calls))):
            alive[s] = any(needed[k] for k in answers[s])
            if alive[s]:
                self.closure([p for row in calls[s][1] for p in row], needed)
        number: dict[int, int] = {-1: -1}
        kept: list[Operation] = []
        sites: list[Call] = []
        at_call: dict[int, int] = {}
        done = [False] * len(self.operations)

        def stretch(wanted: Rows) -> tuple[tuple[int, ...], ...]:
            for k in self.closure([p for row in wanted for p in row], done):
                op = self.operations[k]
                number[k] = len(kept)
                if op.kind == "result":
                    kept.append(Operation("result", at_call[op.value[0]], -1, op.value[1:]))
                else:
                    kept.append(Operation(op.kind, number[op.a], number[op.b], op.value))
            return tuple(tuple(number[p] for p in row) for row in wanted)

        for s, (callee, wanted) in enumerate(calls):
            if alive[s]:
                sites.append(Call(callee, stretch(wanted)))
                at_call[s] = len(kept)
                kept.append(Operation("call", value=len(sites) - 1))
        places = stretch(results)
        return Program(name, inputs, outputs, tuple(kept), places, None, tuple(sites))


SIMPLER: dict[int, Callable[[_Builder, int, int], int]] = {
    casadi.OP_SQ: lambda builder, a, b: builder.add("mul", a, a),
    casadi.OP_TWICE: lambda builder, a, b: builder.add("add", a, a),
    casadi.OP_INV: lambda builder, a, b: builder.add("div", builder.constant(1.0), a),
    casadi.OP_DIV: _Builder.divided,
    casadi.OP_NEG: lambda builder, a, b: builder.negated(a),
    casadi.OP_ADD: lambda builder, a, b: builder.sum(a, b, minus=False),
    casadi.OP_SUB: lambda builder, a, b: builder.sum(a, b, minus=True),
    casadi.OP_MUL: _Builder.product,
}
"""Operations that are simplified or replaced, keyed by CasADi code."""
