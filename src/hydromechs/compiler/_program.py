"""A straight-line program: named inputs and outputs, and a flat list of scalar operations in between."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

__all__ = ["Argument", "Operation", "OperationCount", "Program"]


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
    """One scalar operation; its value is known by its place in the list.

    `kind` is "const" (`value`), "input" (`value` is (argument, entry)), or an operation on the earlier values `a` and `b`.
    """

    kind: str
    a: int = -1
    b: int = -1
    value: object = None


@dataclass(frozen=True)
class OperationCount:
    """What a program does, as the papers count it."""

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
    """Everything else but changes of sign and absolute values: comparisons, exponentials..."""

    @property
    def papers(self) -> tuple[int, int]:
        """[multiplications with divisions and square roots, additions], as in the papers' tables."""
        return self.multiplications + self.divisions + self.square_roots, self.additions


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
    """Operations, each of earlier ones."""
    results: tuple[tuple[int, ...], ...]
    """For each output, the places of its entries in `operations`, row-major."""
    casadi_function: object = field(repr=False)
    """The same as a CasADi function of flat arguments, for derivatives and optimal control."""

    def __str__(self) -> str:
        """The program as text, one operation a line."""
        names = [f"{a.name}{list(a.shape)}" for a in self.inputs]
        lines = [f"{self.name}({', '.join(names)}) -> {', '.join(f'{a.name}{list(a.shape)}' for a in self.outputs)}"]
        for k, op in enumerate(self.operations):
            match op.kind:
                case "const":
                    right = repr(op.value)
                case "input":
                    right = f"{self.inputs[op.value[0]].name}[{op.value[1]}]"
                case _:
                    right = f"{op.kind} %{op.a}" + (f" %{op.b}" if op.b >= 0 else "")
            lines.append(f"  %{k} = {right}")
        for argument, places in zip(self.outputs, self.results, strict=True):
            lines += [f"  {argument.name}[{k}] = %{p}" for k, p in enumerate(places)]
        return "\n".join(lines)

    @property
    def hash(self) -> str:
        """SHA-256 of inputs, operations and outputs."""
        return hashlib.sha256(str(self).encode()).hexdigest()

    def count(self) -> OperationCount:
        """Number of operations by kind."""
        kinds = [op.kind for op in self.operations]
        free = {"const", "input", "neg", "abs"}
        known = {"mul", "div", "sqrt", "add", "sub", "sin", "cos"}
        return OperationCount(
            multiplications=kinds.count("mul"),
            divisions=kinds.count("div"),
            square_roots=kinds.count("sqrt"),
            additions=kinds.count("add") + kinds.count("sub"),
            sines_cosines=kinds.count("sin") + kinds.count("cos"),
            others=sum(k not in free | known for k in kinds),
        )

    def __call__(self, *arrays) -> tuple[np.ndarray, ...]:
        """Results for float arguments, by CasADi's virtual machine: slow, for checks."""
        flat = self.casadi_function.call([np.ravel(a) for a in arrays])
        return tuple(np.array(y).reshape(a.shape) for y, a in zip(flat, self.outputs, strict=True))
