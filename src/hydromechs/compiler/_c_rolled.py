"""Loops over the rows of a table in C and CUDA: see `Rolled`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._callee import Argument
from ._program import Call, Operation, Program
from ._rolled import NUMBERS, ROW, Address, Rolled, Stage

if TYPE_CHECKING:
    from ._c_calls import CFunctions


def rolled_body(functions: CFunctions, rolled: Rolled) -> list[str]:
    """Return the statements of a loop; arguments are a0, a1, ..., results r0, r1, ..."""
    real = functions.real
    arrays = {a.name: f"a{k}" for k, a in enumerate(rolled.inputs)} | {a.name: f"r{k}" for k, a in enumerate(rolled.outputs)}
    arrays |= {name: f"w{k}" for k, name in enumerate(rolled.work)}
    if rolled.numbers.size:
        arrays[NUMBERS] = functions.constants("numbers", real, rolled.numbers.tolist())
    lines = [f"{real} {arrays[name]}[{max(1, size)}];" for name, size in rolled.work.items()]
    for a in rolled.outputs:
        if a.name in rolled.cleared:
            lines.append(f"for (int i = 0; i < {a.size}; ++i) {arrays[a.name]}[i] = 0;")
    rows, width = len(rolled.table), len(rolled.columns)
    table = functions.constants("table", "int", rolled.table.ravel().tolist()) if rolled.table.size else ""
    index = {ROW: "row"} | {column: f"{table}[row * {width} + {k}]" for k, column in enumerate(rolled.columns)}
    for sweep in rolled.sweeps:
        inside = [line for stage in sweep.stages for line in _stage(functions, stage, arrays, index)]
        if sweep.once:
            lines += inside
        else:
            order = f"int row = {rows - 1}; row >= 0; --row" if sweep.backward else f"int row = 0; row < {rows}; ++row"
            lines += [f"for ({order}) {{", *(f"    {line}" for line in inside), "}"]
    return lines


def _stage(functions: CFunctions, stage: Stage, arrays: dict[str, str], index: dict[str, str]) -> list[str]:
    calls = []
    for program, places in zip(stage.programs, stage.places, strict=True):
        pointers = ", ".join(_pointer(p, arrays, index) for p in places)
        calls.append(f"{functions.name(program, overlapping=True)}({pointers});")
    if stage.column is None:
        return calls[:1]
    return [f"switch ({index[stage.column]}) {{", *(f"case {k}: {call} break;" for k, call in enumerate(calls)), "}"]


def _pointer(place: Address, arrays: dict[str, str], index: dict[str, str]) -> str:
    column = "" if place.column is None else f" + {place.stride} * {index[place.column]}"
    return f"{arrays[place.array]}{column}" + (f" + {place.shift}" if place.shift else "")


def as_program(rolled: Rolled) -> Program:
    """Return a program that calls a loop and does nothing else."""
    operations = [Operation("input", value=(k, i)) for k, a in enumerate(rolled.inputs) for i in range(a.size)]
    given = _places(rolled.inputs, 0)
    call = len(operations)
    operations.append(Operation("call", value=0))
    results = _places(rolled.outputs, len(operations))
    operations += [Operation("result", call, value=(k, i)) for k, a in enumerate(rolled.outputs) for i in range(a.size)]
    return Program(rolled.name, rolled.inputs, rolled.outputs, tuple(operations), results, None, (Call(rolled, given),))


def _places(arguments: Sequence[Argument], first: int) -> tuple[tuple[int, ...], ...]:
    out = []
    for a in arguments:
        out.append(tuple(range(first, first + a.size)))
        first += a.size
    return tuple(out)
