"""Merging of programs that differ only in constants, and constant folding after the trace."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hydromechs.values import Array

from ._callee import Argument
from ._operations import KINDS
from ._program import Operation, Program


class Hoisted(NamedTuple):
    """Program split into two parts."""

    before: Program
    """Program from the hoisted input to the numbers that the remaining program needs."""
    after: Program
    """Remaining program, with these numbers in place of the input."""


def hoist(program: Program, name: str) -> Hoisted:
    """Move all operations that depend only on the input `name`, which is known in advance, out of a program."""
    names = [a.name for a in program.inputs]
    if name not in names:
        raise KeyError(f"there is no input {name!r}; available: {', '.join(names)}")
    given = names.index(name)
    early: list[bool] = []  # True if the value depends only on the input or on constants
    for op in program.operations:
        match op.kind:
            case "const":
                early.append(True)
            case "input":
                early.append(op.value[0] == given)
            case "call" | "result":
                early.append(False)
            case _:
                early.append(all(early[k] for k in (op.a, op.b) if k >= 0))
    wanted: dict[int, int] = {}  # from the index of an early value to its number

    def number(place: int) -> None:
        if early[place] and program.operations[place].kind != "const":
            wanted.setdefault(place, len(wanted))

    for place, op in enumerate(program.operations):
        if not early[place]:
            for k in (op.a, op.b):
                if k >= 0:
                    number(k)
    for call in program.calls:
        for row in call.arguments:
            for place in row:
                number(place)
    for row in program.results:
        for place in row:
            number(place)
    size = (len(wanted),)
    places = {-1: -1}
    kept: list[Operation] = []
    for place, op in enumerate(program.operations):
        if early[place] and op.kind != "const" and place not in wanted:
            continue
        places[place] = len(kept)
        if place in wanted:
            kept.append(Operation("input", value=(given, wanted[place])))
        else:
            kept.append(op._replace(a=places[op.a], b=places[op.b]))
    inputs = tuple(Argument(a.name, size) if k == given else a for k, a in enumerate(program.inputs))
    after = replace(program.with_operations(kept, places), inputs=inputs)
    places, kept = {-1: -1}, []
    for place, op in enumerate(program.operations):
        if early[place]:
            places[place] = len(kept)
            value = (0, op.value[1]) if op.kind == "input" else op.value
            kept.append(Operation(op.kind, places[op.a], places[op.b], value))
    row = tuple(places[p] for p in wanted)
    outputs = (Argument(name, size),)
    before = Program(f"{program.name}_before", (program.inputs[given],), outputs, tuple(kept), (row,), None)
    return Hoisted(before, after)


def merge(programs: Sequence[Program], name: str) -> tuple[Program, Array] | None:
    """Return one program for programs that differ only in constants, and these constants (programs, n); None if impossible.

    The programs must be traces of one function. Constants that differ become entries of the input `name`.
    """
    first = programs[0]
    if any(
        len(p.operations) != len(first.operations) or p.results != first.results or p.calls or p.inputs != first.inputs
        for p in programs
    ):
        return None
    given = [a.name for a in first.inputs].index(name)
    size = first.inputs[given].size
    kept: list[Operation] = []
    values: list[list[float]] = []
    for ops in zip(*(p.operations for p in programs), strict=True):
        if all(op == ops[0] for op in ops):
            kept.append(ops[0])
        elif all(op.kind == "const" for op in ops):
            kept.append(Operation("input", value=(given, size + len(values))))
            values.append([op.value for op in ops])
        else:
            return None
    inputs = tuple(Argument(a.name, (size + len(values),)) if k == given else a for k, a in enumerate(first.inputs))
    table = np.array(values).reshape(len(values), len(programs)).T
    return Program(first.name, inputs, first.outputs, tuple(kept), first.results, None), table


def evaluate_rows(program: Program, rows: Array) -> Array:
    """Return the results (rows, n) of a program without calls, with one input and one output, for inputs (rows, m)."""
    values: list = []
    for op in program.operations:
        match op.kind:
            case "const":
                values.append(np.float64(op.value))
            case "input":
                values.append(rows[:, op.value[1]])
            case kind:
                function = KINDS[kind].floats
                many = function if isinstance(function, np.ufunc) else np.vectorize(function, otypes=[float])
                values.append(many(*[values[k] for k in (op.a, op.b) if k >= 0]))
    out = np.empty((len(rows), program.outputs[0].size))
    for k, place in enumerate(program.results[0]):
        out[:, k] = values[place]
    return out
