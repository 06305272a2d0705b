"""Loop over the worlds of a batch as LLVM IR, and the conversion between rows in memory and lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ._llvm_solve import Loops

if TYPE_CHECKING:
    from ._llvm_text import Emitter


VECTORS = 'nounwind "stackrealign"'
"""Attributes of a function of vectors. LLVM aligns the stack to cache lines only if stackrealign is set before register
allocation. Otherwise spilled vectors may cross cache lines, depending on the initial stack address of the process."""


def transposed(new: Callable[[str], str], rows: Sequence[str]) -> list[str]:
    """Transpose a square block of rows, one per lane, by exchanging entries that differ in one index bit at a time.

    The number of lanes is a power of two. The transposition needs one load or store of a row per lane and a few shuffles.
    Without transposition, a program with many results would need eight times as many stores, and compile time would grow
    with the square of their number.

    `new` writes a line that defines a value and returns the name of the value. `rows` are vectors whose length equals the
    number of rows.
    """
    n, rows = len(rows), list(rows)
    T = f"<{n} x double>"
    for bit in (1 << k for k in range(n.bit_length() - 1)):
        low = ", ".join(f"i32 {n + (j ^ bit) if j & bit else j}" for j in range(n))
        high = ", ".join(f"i32 {n + j if j & bit else j ^ bit}" for j in range(n))
        turned = list(rows)
        for i in range(n):
            if not i & bit:
                for k, mask in ((i, low), (i | bit, high)):
                    turned[k] = new(f"shufflevector {T} {rows[i]}, {T} {rows[i | bit]}, <{n} x i32> <{mask}>")
        rows = turned
    return rows


def exchange(t: Loops, rows: Sequence[str], packed: str, size: int, *, out: bool) -> None:
    """Copy rows of worlds to an array packed by entry, or back if `out`; each lane has one row address, possibly shared."""
    n, T = len(rows), f"<{len(rows)} x double>"

    def block(first: str) -> None:
        """Copy a square block of entries."""
        here = t.new(f"getelementptr inbounds {T}, ptr {packed}, i64 {first}")
        inside = [t.new(f"getelementptr inbounds {T}, ptr {here}, i64 {k}") for k in range(n)]
        outside = [t.new(f"getelementptr inbounds double, ptr {row}, i64 {first}") for row in rows]
        sources, targets = (inside, outside) if out else (outside, inside)
        values = transposed(t.new, [t.new(f"load {T}, ptr {p}, align 8") for p in sources])
        for value, p in zip(values, targets, strict=True):
            t.put(f"store {T} {value}, ptr {p}, align 8")

    if size < n:
        for row_number, row in enumerate(rows):
            for k in range(size):
                inner = t.new(f"getelementptr inbounds double, ptr {packed}, i64 {k * n + row_number}")
                outer = t.new(f"getelementptr inbounds double, ptr {row}, i64 {k}")
                source, target = (inner, outer) if out else (outer, inner)
                t.put(f"store double {t.new(f'load double, ptr {source}, align 8')}, ptr {target}, align 8")
        return
    with t.loop("0", str(size - n + 1), n) as first:
        block(first)
    if size % n:  # the last entries, some of which are copied twice
        block(str(size - n))


FEW = 8192
"""Size of a block of worlds that fits into the first-level cache, of 32 KiB or more [bytes]."""


def loop_text(e: Emitter, n: int) -> str:
    """Return `loop`, which processes blocks of worlds, each lane at its own address; on one lane it calls `eval`."""
    lanes = e.lanes
    attributes = VECTORS if lanes > 1 else "nounwind"
    head = [f"define void @loop(ptr noalias %table, i64 %begin, i64 %end) {attributes} {{", "entry:"]
    for k in range(n):
        head += [
            f"  %ap{k} = getelementptr inbounds i64, ptr %table, i64 {2 * k}",
            f"  %a{k} = load i64, ptr %ap{k}, align 8",
            f"  %sp{k} = getelementptr inbounds i64, ptr %table, i64 {2 * k + 1}",
            f"  %s{k} = load i64, ptr %sp{k}, align 8",
            f"  %b{k} = inttoptr i64 %a{k} to ptr",
        ]
    head += [
        "  %last = sub i64 %end, 1",
        "  %some = icmp slt i64 %begin, %end",
        "  br i1 %some, label %block, label %done",
        "block:",
        "  %i = phi i64 [ %begin, %entry ], [ %next, %block ]",
    ]
    pointers: list[list[str]] = [[] for _ in range(n)]
    for lane in range(lanes):
        world = "%i"
        if lane:
            beyond = e.new(f"add i64 %i, {lane}")
            test = e.new(f"icmp slt i64 {beyond}, %last")
            world = e.new(f"select i1 {test}, i64 {beyond}, i64 %last")
        for k in range(n):
            offset = e.new(f"mul i64 {world}, %s{k}")
            pointers[k].append(e.new(f"getelementptr inbounds double, ptr %b{k}, i64 {offset}"))
    if lanes == 1:
        e.lines.append(f"  call void @eval({', '.join(f'ptr {p[0]}' for p in pointers)})")
    else:
        ahead = _prefetches(e, pointers)
        start = len(e.lines)
        e.body(pointers)
        for k, text in reversed(list(enumerate(ahead))):  # distributed over the block to avoid stalls
            e.lines.insert(start + k * (len(e.lines) - start) // len(ahead), text)
    tail = [
        f"  %next = add i64 %i, {lanes}",
        "  %more = icmp slt i64 %next, %end",
        "  br i1 %more, label %block, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    head[2:2] = e.allocas
    return "\n".join([*head, *e.lines, *tail, ""])


def _prefetches(e: Emitter, pointers: list[list[str]]) -> list[str]:
    """Return lines that prefetch the rows of the next block, to the first-level cache if the rows fit."""
    lines, arguments = [], [*e.program.inputs, *e.program.outputs]
    near = 3 if 8 * e.lanes * sum(a.size for a in arguments) <= FEW else 2
    for k, argument in enumerate(arguments):
        writes = int(k >= len(e.program.inputs))
        step = e.new(f"mul i64 %s{k}, {e.lanes}")
        for pointer in pointers[k]:
            row = e.new(f"getelementptr double, ptr {pointer}, i64 {step}")
            for entry in range(0, argument.size, 8):
                at = e.new(f"getelementptr double, ptr {row}, i64 {entry}")
                lines.append(f"  call void @llvm.prefetch.p0(ptr {at}, i32 {writes}, i32 {near}, i32 1)")
    return lines
