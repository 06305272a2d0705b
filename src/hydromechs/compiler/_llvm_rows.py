"""Rows of worlds in memory to lanes and back, as LLVM IR; entry by entry, LLVM emits slow gathers and scatters."""

from collections.abc import Callable, Sequence

from ._llvm_solve import Loops

VECTORS = 'nounwind "stackrealign"'
"""Attributes of a function of vectors. LLVM aligns the stack to lines of the cache only if that is set before it gives out
registers; else vectors that wait there lie across two lines, or not, as the stack happens to begin in a process."""


def transposed(new: Callable[[str], str], rows: Sequence[str]) -> list[str]:
    """Columns of as many rows as there are lanes, a power of two: for each bit, entries that differ in it change places.

    One load or store of a row for each lane and some shuffles, where entry by entry a program with many results takes
    eight times the stores, and LLVM a time that grows with their square.

    `new`: writes a line that defines a value; gives its name; `rows`: vectors of as many doubles as there are rows.
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
    """Copy rows of worlds, one address per lane (some may be equal), into an array packed by entry, or `out` of it."""
    n, T = len(rows), f"<{len(rows)} x double>"

    def block(first: str) -> None:
        """As many entries as there are lanes."""
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
    if size % n:  # the last entries, some of them again
        block(str(size - n))
