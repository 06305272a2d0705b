"""Calls that run where a condition holds, and calls that are repeated: what straight-line programs cannot express.

On lanes the code runs if one lane needs it, and each lane keeps its own result, so that no world disturbs another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.values import Array

from ._callee import Argument, Callee, OperationCount
from ._program import Program

if TYPE_CHECKING:
    from ._c_calls import CFunctions
    from ._llvm_text import Module


@dataclass(frozen=True, eq=False)
class When(Callee):
    """A program that runs where a condition is not 0. Elsewhere its results are the values given for them."""

    program: Program
    """Program to run."""

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """Condition, inputs of the program, and a value for each of its results."""
        kept = (Argument(f"kept_{a.name}", a.shape) for a in self.outputs)
        return Argument("condition", ()), *self.program.inputs, *kept

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """Results."""
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
        """A branch that all lanes share, and a selection lane by lane."""
        from ._llvm_flow import when_text

        return when_text(name, self, module.name(self.program), module.lanes)

    def c(self, functions: CFunctions, *, overlapping: bool) -> list[str]:
        n, count = len(self.program.inputs), len(self.outputs)
        given = [f"a{1 + k}" for k in range(n)] + [f"r{k}" for k in range(count)]
        copies = [f"    {_copied(f'a{1 + n + k}', f'r{k}', a.size)}" for k, a in enumerate(self.outputs)]
        run = f"    {functions.name(self.program)}({', '.join(given)});"
        return ["if (a0[0] != 0) {", run, "} else {", *copies, "}"]


@dataclass(frozen=True, eq=False)
class Iterate(Callee):
    """A program that is repeated on its own results until it reports that it is done.

    The first inputs of the program are its state. Its outputs are the state after one pass, and `done`, not 0 if that state is
    final. A lane that is done keeps its bits while others continue.
    """

    program: Program
    """One pass."""
    times: int
    """Maximum number of passes."""

    @property
    def states(self) -> int:
        """Number of arrays of the state."""
        return len(self.program.outputs) - 1

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """Initial state, then what does not change."""
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
        """Return the final state and the number of passes."""
        state: list[Any] = list(arrays[: self.states])
        fixed = arrays[self.states :]
        passes, done = 0, np.array(0.0)
        while passes < self.times and np.ravel(done)[0] == 0.0:
            *state, done = self.program(*state, *fixed)
            passes += 1
        return *(np.array(x, dtype=float) for x in state), np.array(float(passes))

    def llvm(self, name: str, module: Module) -> str:
        from ._llvm_flow import iterate_text

        return iterate_text(name, self, module.name(self.program), module.lanes)

    def c(self, functions: CFunctions, *, overlapping: bool) -> list[str]:
        """A loop that ends when it is done."""
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


def _copied(source: str, to: str, size: int) -> str:
    """A loop in C that copies an array."""
    return f"for (int i = 0; i < {size}; ++i) {to}[i] = {source}[i];"
