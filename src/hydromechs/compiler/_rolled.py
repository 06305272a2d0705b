"""Loops over the rows of a table, each of which runs a program: large trees, body by body.

The kind in a row selects the program, and the other entries of the row are addresses of the program's arguments. A sweep over
five thousand bodies thus consists of code for a few kinds of bodies and a table of integers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.values import Array

from ._callee import Argument, Callee
from ._program import Program

if TYPE_CHECKING:
    from ._c_calls import CFunctions
    from ._llvm_text import Module

ROW = "row"
"""Name of the implicit column of every table that contains the row number."""
NUMBERS = "numbers"
"""Name of the array of constants."""


class Address(NamedTuple):
    """Address of a program's argument: entry `shift + stride · table[row, column]` of an array."""

    array: str
    """Name of an input, an output or a working array, or `NUMBERS`."""
    column: str | None = None
    """Column of the table, or `ROW` for the row number; None for a fixed address."""
    stride: int = 1
    """Number of entries per unit of the column."""
    shift: int = 0
    """Number of entries before the address."""


@dataclass(frozen=True, eq=False)
class Stage:
    """Programs for one part of a row; the kind of the row selects the program."""

    programs: tuple[Program | Rolled, ...]
    """Programs, one per kind. A program may write to addresses that it reads, because it reads all inputs before it writes.
    A loop as a program requires a sweep that runs once."""
    places: tuple[tuple[Address, ...], ...]
    """Addresses of the inputs and outputs of each program."""
    column: str | None = None
    """Column with the kind of each row; None for a single program."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """Stages that run in order, row by row."""

    stages: tuple[Stage, ...]
    """Stages of each row, in order."""
    backward: bool = False
    """True if the sweep starts at the last row."""
    once: bool = False
    """True if the stages run once instead of for every row; no address may then have a column."""


@dataclass(frozen=True, eq=False, repr=False)
class Rolled(Callee):
    """Sweeps over the rows of a table, as a function of arrays."""

    name: str
    """Name of the function, a valid identifier."""
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    """Results; entries that no program writes are 0 if the result is in `cleared`, otherwise undefined."""
    columns: tuple[str, ...]
    """Names of the columns of the table."""
    table: np.ndarray
    """Entries of the table, integers, shape (rows, columns)."""
    numbers: np.ndarray
    """Constants that programs read, equal on all lanes, shape (n,)."""
    work: Mapping[str, int]
    """Sizes of the working arrays, keyed by name; entries are undefined until written."""
    sweeps: tuple[Sweep, ...]
    """Sweeps in the order of execution."""
    cleared: tuple[str, ...] = field(default=())
    """Names of outputs that are set to 0 at the start."""
    reads_in_place = True
    copies_results = True

    def __str__(self) -> str:
        """Return the programs as text, with the hash of the tables."""
        tables = hashlib.sha256(np.ascontiguousarray(self.table).tobytes() + self.numbers.tobytes()).hexdigest()
        lines = [
            f"rolled {self.name} {self.inputs} {self.outputs} {self.columns} {self.table.shape} {dict(self.work)} {tables}"
        ]
        for sweep in self.sweeps:
            lines.append(f"sweep backward {sweep.backward} once {sweep.once} cleared {self.cleared}")
            for stage in sweep.stages:
                lines.append(f"stage {stage.column}")
                lines += [
                    f"{places}\n{program.hash if isinstance(program, Rolled) else program}"
                    for program, places in zip(stage.programs, stage.places, strict=True)
                ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Rolled({self.name}, {len(self.table)} rows, {self.hash})"

    @cached_property
    def hash(self) -> str:
        """SHA-256 hash of programs and tables."""
        return hashlib.sha256(str(self).encode()).hexdigest()

    def __call__(self, *arrays: ArrayLike) -> tuple[Array, ...]:
        """Evaluate the loop for float arguments, program by program, which is slow; for verification."""
        memory: dict[str, Any] = {a.name: np.array(x, dtype=float).ravel() for a, x in zip(self.inputs, arrays, strict=True)}
        memory |= {a.name: np.full(a.size, 0.0 if a.name in self.cleared else np.nan) for a in self.outputs}
        memory |= {name: np.full(size, np.nan) for name, size in self.work.items()} | {NUMBERS: self.numbers}
        rows = [{ROW: i, **dict(zip(self.columns, row, strict=True))} for i, row in enumerate(self.table.tolist())]
        for sweep in self.sweeps:
            for row in [{}] if sweep.once else reversed(rows) if sweep.backward else rows:
                for stage in sweep.stages:
                    kind = 0 if stage.column is None else row[stage.column]
                    program, places = stage.programs[kind], stage.places[kind]
                    at = [(p.array, p.shift + (0 if p.column is None else p.stride * row[p.column])) for p in places]
                    given = [memory[x][k : k + a.size].copy() for (x, k), a in zip(at, program.inputs, strict=False)]
                    results = program(*given)
                    for (x, k), y in zip(at[len(program.inputs) :], results, strict=True):
                        memory[x][k : k + y.size] = y.ravel()
        return tuple(memory[a.name].reshape(a.shape) for a in self.outputs)

    def llvm(self, name: str, module: Module) -> str:
        from ._llvm_rolled import rolled_text

        return rolled_text(name, self, module)

    def c(self, functions: CFunctions, *, overlapping: bool) -> list[str]:
        from ._c_calls import rolled_body

        return rolled_body(functions, self)
