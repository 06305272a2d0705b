"""Conditional and repeated calls, which straight-line programs cannot express.

On lanes, the code runs if any lane needs the result. Each lane keeps its own result, so that worlds remain independent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.values import Array

from ._c_calls import CFunctions
from ._callee import Argument, Callee, OperationCount
from ._llvm_loop import VECTORS
from ._llvm_solve import Loops
from ._llvm_text import Module
from ._program import Program


@dataclass(frozen=True, eq=False)
class When(Callee):
    """Program that runs if a condition is not 0; otherwise given values become its results."""

    program: Program

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """Condition, inputs of the program, and an alternative value for each result."""
        kept = (Argument(f"kept_{a.name}", a.shape) for a in self.outputs)
        return Argument("condition", ()), *self.program.inputs, *kept

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """Results of the program."""
        return self.program.outputs

    def __repr__(self) -> str:
        return f"when {self.program.hash}"

    def count(self) -> OperationCount:
        return self.program.count()

    def __call__(self, condition: ArrayLike, *arrays: ArrayLike) -> tuple[Array, ...]:
        n = len(self.program.inputs)
        if np.ravel(condition)[0] != 0.0:
            return self.program(*arrays[:n])
        return tuple(np.array(x, dtype=float) for x in arrays[n:])

    def llvm(self, name: str, module: Module) -> str:
        return when_text(name, self, module.name(self.program), module.lanes)

    def c(self, functions: CFunctions, *, overlapping: bool) -> list[str]:
        n, count = len(self.program.inputs), len(self.outputs)
        given = [f"a{1 + k}" for k in range(n)] + [f"r{k}" for k in range(count)]
        copies = [f"    {_copied(f'a{1 + n + k}', f'r{k}', a.size)}" for k, a in enumerate(self.outputs)]
        run = f"    {functions.name(self.program)}({', '.join(given)});"
        return ["if (a0[0] != 0) {", run, "} else {", *copies, "}"]


@dataclass(frozen=True, eq=False)
class Iterate(Callee):
    """Program that is repeated on its own results until the program reports completion.

    The first inputs of the program are the state. The outputs are the state after one pass, and `done`, which is nonzero for a
    final state. A finished lane keeps its state bit for bit while other lanes continue.
    """

    program: Program
    """Program of one pass."""
    times: int
    """Maximum number of passes."""

    @property
    def states(self) -> int:
        """Number of arrays in the state."""
        return len(self.program.outputs) - 1

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """Initial state, followed by constant inputs."""
        return self.program.inputs

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """Final state and number of passes."""
        return *self.program.outputs[:-1], Argument("passes", ())

    def __repr__(self) -> str:
        return f"iterate {self.times} {self.program.hash}"

    def count(self) -> OperationCount:
        return self.program.count().times(self.times)

    def __call__(self, *arrays: ArrayLike) -> tuple[Array, ...]:
        state: list[Any] = list(arrays[: self.states])
        fixed = arrays[self.states :]
        passes, done = 0, np.array(0.0)
        while passes < self.times and np.ravel(done)[0] == 0.0:
            *state, done = self.program(*state, *fixed)
            passes += 1
        return *(np.array(x, dtype=float) for x in state), np.array(float(passes))

    def llvm(self, name: str, module: Module) -> str:
        return iterate_text(name, self, module.name(self.program), module.lanes)

    def c(self, functions: CFunctions, *, overlapping: bool) -> list[str]:
        """Return a loop that ends when the program is done."""
        program, n, real = self.program, self.states, functions.real
        sizes = [a.size for a in program.outputs[:-1]]
        given = [f"r{k}" for k in range(n)] + [f"a{k}" for k in range(n, len(program.inputs))]
        given += [f"s{k}" for k in range(n)] + ["&done"]
        return [
            *(f"{real} s{k}[{max(1, size)}];" for k, size in enumerate(sizes)),
            f"{real} done = 0;",
            "int pass = 0;",
            *(_copied(f"a{k}", f"r{k}", size) for k, size in enumerate(sizes)),
            f"for (; pass < {self.times} && !(done != 0); ++pass) {{",
            f"    {functions.name(program)}({', '.join(given)});",
            *(f"    {_copied(f's{k}', f'r{k}', size)}" for k, size in enumerate(sizes)),
            "}",
            f"r{n}[0] = ({real})pass;",
        ]


TYPICAL = 8
"""Passes of a repeated program that `typical_operations` counts."""


def typical_operations(program: Program) -> int:
    """Return the number of operations of a program in a typical call: conditional programs do not run."""
    plain = {"input", "constant", "result", "call"}
    own = sum(op.kind not in plain for op in program.operations)
    for call in program.calls:
        callee = call.callee
        if isinstance(callee, Program):
            own += typical_operations(callee)
        elif isinstance(callee, Iterate):
            own += TYPICAL * typical_operations(callee.program)
    return own


def _copied(source: str, to: str, size: int) -> str:
    return f"for (int i = 0; i < {size}; ++i) {to}[i] = {source}[i];"


class _Lanes(Loops):
    """Lines of IR with loops over entries of packed arrays, for a number of worlds (lanes) per vector operation."""

    def __init__(self, lanes: int) -> None:
        super().__init__()
        self.lanes = lanes
        self.type, self.bits = ("double", "i1") if lanes == 1 else (f"<{lanes} x double>", f"<{lanes} x i1>")
        self.zero, self.one = (f"{x}" if lanes == 1 else "<" + ", ".join([f"double {x}"] * lanes) + ">" for x in ("0.0", "1.0"))

    def array(self, size: int) -> str:
        """Allocate a packed array on the stack; return its name."""
        self.fresh += 1
        self.head.append(f"  %a{self.fresh} = alloca [{max(1, size)} x {self.type}], align 64")
        return f"%a{self.fresh}"

    def load(self, at: str) -> str:
        """Load a value of all lanes."""
        return self.new(f"load {self.type}, ptr {at}, align 8")

    def is_set(self, at: str) -> str:
        """Return the mask of lanes with a nonzero value; NaN counts as nonzero."""
        return self.new(f"fcmp une {self.type} {self.load(at)}, {self.zero}")

    def any(self, mask: str) -> str:
        """Return a bit that is set if any lane of the mask is set."""
        if self.lanes == 1:
            return mask
        bits = self.new(f"bitcast {self.bits} {mask} to i{self.lanes}")
        return self.new(f"icmp ne i{self.lanes} {bits}, 0")

    def select(self, mask: str, yes: str, no: str, to: str, size: int) -> None:
        """Copy entries of one array if the mask is set, otherwise of another array."""
        if not size:
            return
        with self.loop("0", str(size)) as k:
            a, b, c = (self.new(f"getelementptr inbounds {self.type}, ptr {p}, i64 {k}") for p in (yes, no, to))
            one = self.new(f"select {self.bits} {mask}, {self.type} {self.load(a)}, {self.type} {self.load(b)}")
            self.put(f"store {self.type} {one}, ptr {c}, align 8")

    def copy(self, source: str, to: str, size: int) -> None:
        """Copy entries of one array to another."""
        if size:
            self.put(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {8 * self.lanes * size}, i1 false)")

    def call(self, function: str, pointers: Sequence[str]) -> None:
        """Call a function of packed arrays."""
        self.put(f"call void {function}({', '.join(f'ptr {p}' for p in pointers)})")

    def text(self, name: str, count: int) -> str:
        """Return the function with `count` arguments."""
        signature = ", ".join(f"ptr noalias %p{k}" for k in range(count))
        body = "\n".join([*self.head, *self.lines])
        return f"define internal void {name}({signature}) noinline {VECTORS} {{\n{body}\n  ret void\n}}\n"


def when_text(name: str, when: When, function: str, lanes: int) -> str:
    """Return the function `name(condition, inputs..., kept..., results...)` of packed arrays."""
    t = _Lanes(lanes)
    n, outputs = len(when.program.inputs), when.outputs
    given = [f"%p{1 + k}" for k in range(n)]
    kept, results = ([f"%p{1 + n + i * len(outputs) + k}" for k in range(len(outputs))] for i in (0, 1))
    mask = t.is_set("%p0")
    t.put(f"br i1 {t.any(mask)}, label %run, label %keep")
    t.lines.append("run:")
    t.call(function, [*given, *results])
    for a, no, to in zip(outputs, kept, results, strict=True):
        if lanes > 1:
            t.select(mask, to, no, to, a.size)
    t.put("br label %end")
    t.lines.append("keep:")
    for a, no, to in zip(outputs, kept, results, strict=True):
        t.copy(no, to, a.size)
    t.put("br label %end")
    t.lines.append("end:")
    return t.text(name, 1 + n + 2 * len(outputs))


def iterate_text(name: str, iterate: Iterate, function: str, lanes: int) -> str:
    """Return the function `name(state..., fixed..., final state..., passes)` of packed arrays."""
    t = _Lanes(lanes)
    program, states = iterate.program, iterate.states
    n, sizes = len(program.inputs), [a.size for a in program.outputs[:-1]]
    fixed, final, passes = [f"%p{k}" for k in range(states, n)], [f"%p{n + k}" for k in range(states)], f"%p{n + states}"
    after, done, open_ = [t.array(size) for size in sizes], t.array(1), t.array(1)
    for k, size in enumerate(sizes):
        t.copy(f"%p{k}", final[k], size)
    t.put(f"store {t.type} {t.one}, ptr {open_}, align 8")
    t.put(f"store {t.type} {t.zero}, ptr {passes}, align 8")
    with t.loop("0", str(iterate.times)) as counter:
        label = counter[1:]
        t.put(f"br i1 {t.any(t.is_set(open_))}, label %pass{label}, label %end")
        t.lines.append(f"pass{label}:")
        t.call(function, [*final, *fixed, *after, done])
        mask = t.is_set(open_)
        for new, old, size in zip(after, final, sizes, strict=True):
            t.select(mask, new, old, old, size)
        count = t.new(f"fadd {t.type} {t.load(passes)}, {t.load(open_)}")
        t.put(f"store {t.type} {count}, ptr {passes}, align 8")
        left = t.new(f"select {t.bits} {t.is_set(done)}, {t.type} {t.zero}, {t.type} {t.load(open_)}")
        t.put(f"store {t.type} {left}, ptr {open_}, align 8")
    t.put("br label %end")
    t.lines.append("end:")
    return t.text(name, n + states + 1)
