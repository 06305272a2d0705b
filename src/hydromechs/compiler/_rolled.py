"""A loop over the rows of a table, each of which runs a program: large trees, body by body.

The kind in a row selects the program; its other entries are the addresses of the program's arguments. So a sweep over five
thousand bodies consists of code for a few kinds of bodies and a table of integers.
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
"""Implicit column of every table: the row number."""
NUMBERS = "numbers"
"""The array of constants."""


class Address(NamedTuple):
    """Address of an argument of a program: entry `shift + stride · table[row, column]` of an array."""

    array: str
    """Name of an input, of an output or of a working array, or `NUMBERS`."""
    column: str | None = None
    """Column of the table; `ROW` for the row number; None without a column."""
    stride: int = 1
    """Entries per unit of the column."""
    shift: int = 0
    """Entries in front."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One of several programs for each row."""

    programs: tuple[Program | Rolled, ...]
    """Programs by kind. They may read and write the same place: each reads all inputs before it writes.
    A loop among them requires a sweep that runs once."""
    places: tuple[tuple[Address, ...], ...]
    """For each program, the addresses of its inputs, then of its outputs."""
    column: str | None = None
    """Column with the kind of each row; None if there is one program only."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """Stages that run in order for every row, row by row."""

    stages: tuple[Stage, ...]
    """Operations for each row."""
    backward: bool = False
    """True if the last row comes first."""
    once: bool = False
    """True if it runs once instead of for every row; then no address refers to a column."""


@dataclass(frozen=True, eq=False, repr=False)
class Rolled(Callee):
    """Sweeps over the rows of a table, as a function of arrays."""

    name: str
    """Name of the function, a valid identifier."""
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    """Results; entries that no program writes are 0 if in `cleared`, else undefined."""
    columns: tuple[str, ...]
    """Columns of the table."""
    table: np.ndarray
    """Integers, shape (rows, columns)."""
    numbers: np.ndarray
    """Constants that programs read, equal on all lanes, shape (n,)."""
    work: Mapping[str, int]
    """Working arrays and their sizes; their entries are undefined until written."""
    sweeps: tuple[Sweep, ...]
    """Operations in order."""
    cleared: tuple[str, ...] = field(default=())
    """Outputs that are set to 0 first."""
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
        """SHA-256 of programs and tables."""
        return hashlib.sha256(str(self).encode()).hexdigest()

    def __call__(self, *arrays: ArrayLike) -> tuple[Array, ...]:
        """Evaluate for float arguments, program by program: slow, for checks."""
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
