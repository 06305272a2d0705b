"""Loops over the rows of a table as LLVM IR; see `Rolled`.

The code of a sweep contains every program of its stages once, in a switch over the kind of the row. Working arrays are on the
heap, because arrays of thousands of bodies on eight lanes exceed the stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._llvm_loop import VECTORS, exchange
from ._llvm_objects import objects_text
from ._llvm_solve import Loops
from ._program import Program
from ._rolled import NUMBERS, ROW, Address, Rolled, Stage, Sweep

if TYPE_CHECKING:
    from ._llvm_text import Module

AHEAD = 6
"""Number of rows between a row and the row whose constants are prefetched."""


def rolled_text(name: str, rolled: Rolled, module: Module) -> str:
    """Return the function `name(in..., out...)` of packed arrays."""
    table = np.ascontiguousarray(rolled.table, dtype=np.int32)
    constants = np.ascontiguousarray(rolled.numbers, dtype=np.float64)
    names = {"table": f"{name}.table", NUMBERS: f"{name}.numbers"}
    module.parts += [_bytes(names["table"], table.tobytes()), _bytes(names[NUMBERS], constants.tobytes())]
    t = Loops()
    arrays = {a.name: f"%p{k}" for k, a in enumerate((*rolled.inputs, *rolled.outputs))} | {NUMBERS: names[NUMBERS]}
    begin = 0
    places: dict[str, int] = {}
    for key, size in rolled.work.items():
        places[key], begin = begin, begin + -(-size // 8) * 8
    entry = 8 * module.lanes
    block = t.new(f"call ptr @malloc(i64 {begin * entry + 64})") if begin else ""
    if begin:
        first = aligned(t, block)
        for key, at in places.items():
            arrays[key] = t.new(f"getelementptr inbounds {module.type}, ptr {first}, i64 {at}")
    for a in rolled.outputs:
        if a.name in rolled.cleared:
            t.put(f"call void @llvm.memset.p0.i64(ptr {arrays[a.name]}, i8 0, i64 {a.size * entry}, i1 false)")
    for sweep in rolled.sweeps:
        _sweep(t, rolled, sweep, arrays, names["table"], module)
    if begin:
        t.put(f"call void @free(ptr {block})")
    signature = ", ".join(f"ptr %p{k}" for k in range(len(rolled.inputs) + len(rolled.outputs)))
    body = "\n".join([*t.head, *t.lines])
    return f"define internal void {name}({signature}) noinline {VECTORS} {{\n{body}\n  ret void\n}}\n"


def aligned(t: Loops, block: str) -> str:
    """Return the first address in a block of memory that is aligned to a cache line."""
    address = t.new(f"ptrtoint ptr {block} to i64")
    above = t.new(f"add i64 {address}, 63")
    return t.new(f"inttoptr i64 {t.new(f'and i64 {above}, -64')} to ptr")


def _bytes(name: str, data: bytes) -> str:
    text = "\\" + data.hex("\\") if data else "\\00"
    return f'{name} = internal constant [{max(1, len(data))} x i8] c"{text}", align 64\n'


def _sweep(t: Loops, rolled: Rolled, sweep: Sweep, arrays: dict[str, str], table: str, module: Module) -> None:
    if sweep.once:
        for stage in sweep.stages:
            _stage(t, stage, {}, arrays, module)
        return
    n = len(rolled.table)
    with t.loop("0", str(n)) as count:
        row = t.new(f"sub i64 {n - 1}, {count}") if sweep.backward else count
        used = {p.column for stage in sweep.stages for places in stage.places for p in places}
        used |= {stage.column for stage in sweep.stages}
        start = t.new(f"mul i64 {row}, {len(rolled.columns)}")
        values = {ROW: row}
        for k, column in enumerate(rolled.columns):
            if column in used:
                at = t.new(f"getelementptr inbounds i32, ptr {table}, i64 {t.new(f'add i64 {start}, {k}')}")
                values[column] = t.new(f"sext i32 {t.new(f'load i32, ptr {at}, align 4')} to i64")
        _prefetch(t, rolled, sweep, row, arrays, table)
        for stage in sweep.stages:
            _stage(t, stage, values, arrays, module)


def _prefetch(t: Loops, rolled: Rolled, sweep: Sweep, row: str, arrays: dict[str, str], table: str) -> None:
    """Prefetch the constants of a later row, because constants of a large tree do not fit into the caches."""
    n = len(rolled.table)
    ahead = t.new(f"add i64 {row}, {-AHEAD if sweep.backward else AHEAD}")
    inside = t.new(f"icmp ult i64 {ahead}, {n}")
    there = t.new(f"select i1 {inside}, i64 {ahead}, i64 {row}")
    start = t.new(f"mul i64 {there}, {len(rolled.columns)}")
    sizes: dict[str, int] = {}
    for stage in sweep.stages:
        for program, places in zip(stage.programs, stage.places, strict=True):
            for a, p in zip(program.inputs, places, strict=False):
                if p.array == NUMBERS and p.column not in (None, ROW):
                    sizes[p.column] = max(sizes.get(p.column, 0), a.size)
    for column, size in sizes.items():
        k = t.new(f"add i64 {start}, {rolled.columns.index(column)}")
        at = t.new(f"load i32, ptr {t.new(f'getelementptr inbounds i32, ptr {table}, i64 {k}')}, align 4")
        first = t.new(f"getelementptr double, ptr {arrays[NUMBERS]}, i64 {t.new(f'sext i32 {at} to i64')}")
        for entry in range(0, size, 8):
            line = t.new(f"getelementptr double, ptr {first}, i64 {entry}")
            t.put(f"call void @llvm.prefetch.p0(ptr {line}, i32 0, i32 3, i32 1)")


def _stage(t: Loops, stage: Stage, values: dict[str, str], arrays: dict[str, str], module: Module) -> None:
    if stage.column is None:
        _step(t, stage.programs[0], stage.places[0], values, arrays, module)
        return
    t.fresh += 1
    label = f"kind{t.fresh}"
    cases = " ".join(f"i64 {k}, label %{label}.{k}" for k in range(len(stage.programs)))
    t.put(f"switch i64 {values[stage.column]}, label %{label}.end [{cases}]")
    for k, (program, places) in enumerate(zip(stage.programs, stage.places, strict=True)):
        t.lines.append(f"{label}.{k}:")
        _step(t, program, places, values, arrays, module)
        t.put(f"br label %{label}.end")
    t.lines.append(f"{label}.end:")


def _step(
    t: Loops,
    program: Program | Rolled,
    places: Sequence[Address],
    values: dict[str, str],
    arrays: dict[str, str],
    module: Module,
) -> None:
    if isinstance(program, Rolled):
        name = module.name(program)
    else:
        shared = tuple(p.array == NUMBERS for p in places[: len(program.inputs)]) if module.lanes > 1 else ()
        name = module.step(program, shared)
    pointers = []
    for p in places:
        kind = "double" if p.array == NUMBERS else module.type
        at = arrays[p.array]
        if p.column is not None:
            k = values[p.column] if p.stride == 1 else t.new(f"mul i64 {values[p.column]}, {p.stride}")
            at = t.new(f"getelementptr inbounds {kind}, ptr {at}, i64 {k}")
        if p.shift:
            at = t.new(f"getelementptr inbounds {kind}, ptr {at}, i64 {p.shift}")
        pointers.append(f"ptr {at}")
    t.put(f"call void {name}({', '.join(pointers)})")


def rolled_module(rolled: Rolled, module: Module) -> str:
    """Return the IR of a module, as `llvm_text` does for a program."""
    name, lanes = module.name(rolled), module.lanes
    arguments = [*rolled.inputs, *rolled.outputs]
    parts: list[str] = []
    if lanes == 1:
        signature = ", ".join(f"ptr %p{k}" for k in range(len(arguments)))
        parts.append(f"define void @eval({signature}) nounwind {{\n  call void {name}({signature})\n  ret void\n}}\n")
        parts.append(objects_text(arguments, len(rolled.inputs)))
    parts.append(_worlds(rolled, name, lanes))
    return "\n".join([*module.text(), *parts, ""])


def _worlds(rolled: Rolled, name: str, lanes: int) -> str:
    """Return `loop`, which processes blocks of worlds; on lanes, worlds are packed before and unpacked after each block."""
    t = Loops()
    arguments = [*rolled.inputs, *rolled.outputs]

    def number(k: int) -> str:
        return t.new(f"load i64, ptr {t.new(f'getelementptr inbounds i64, ptr %table, i64 {k}')}, align 8")

    outside = [(t.new(f"inttoptr i64 {number(2 * k)} to ptr"), number(2 * k + 1)) for k in range(len(arguments))]

    def row(k: int, world: str) -> str:
        return t.new(f"getelementptr inbounds double, ptr {outside[k][0]}, i64 {t.new(f'mul i64 {world}, {outside[k][1]}')}")

    if lanes == 1:
        with t.loop("%begin", "%end") as world:
            t.put(f"call void {name}({', '.join(f'ptr {row(k, world)}' for k in range(len(arguments)))})")
    else:
        sizes = [max(1, a.size) * 8 * lanes for a in arguments]
        block = t.new(f"call ptr @malloc(i64 {sum(sizes) + 64})")
        first = aligned(t, block)
        packed = [t.new(f"getelementptr inbounds i8, ptr {first}, i64 {sum(sizes[:k])}") for k in range(len(sizes))]
        last = t.new("sub i64 %end, 1")
        n = len(rolled.inputs)
        with t.loop("%begin", "%end", lanes) as begin:
            worlds = [begin]
            for lane in range(1, lanes):
                here = t.new(f"add i64 {begin}, {lane}")
                worlds.append(t.new(f"select i1 {t.new(f'icmp slt i64 {here}, {last}')}, i64 {here}, i64 {last}"))
            rows = [[row(k, world) for world in worlds] for k in range(len(arguments))]
            for k in range(n):
                exchange(t, rows[k], packed[k], arguments[k].size, out=False)
            t.put(f"call void {name}({', '.join(f'ptr {p}' for p in packed)})")
            for k in range(n, len(arguments)):
                exchange(t, rows[k], packed[k], arguments[k].size, out=True)
        t.put(f"call void @free(ptr {block})")
    body = "\n".join([*t.head, *t.lines])
    return f"define void @loop(ptr noalias %table, i64 %begin, i64 %end) {VECTORS} {{\n{body}\n  ret void\n}}\n"
