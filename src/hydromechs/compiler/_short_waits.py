"""Order of sums and operations for one world at a time, where latency and not throughput limits a core.

On lanes, every operation processes many worlds, and the core is busy. On one lane, most operations wait for another operation,
so that run time depends on the longest chain of operations and on independent operations to execute meanwhile. A core looks
ahead by a few hundred operations; independent operations must therefore be nearby in the code. LLVM instead minimises live
values, and orders the terms of a sum by nesting depth instead of availability.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ._program import Operation, Program

SUMS = ("add", "sub", "neg")
LATENCY = {"add": 3, "sub": 3, "mul": 3, "neg": 1, "abs": 1, "div": 13, "sqrt": 20, "sin": 45, "cos": 45, "call": 100} | {
    "min": 6,
    "max": 6,
    "const": 0,
    "input": 0,
    "result": 4,
}
"""Approximate latency on current processors [cycles]; C library functions, without an entry, have a latency of 20."""
FUSED = 4
"""Latency of a fused multiply-add [cycles]."""
PORTS = {"product": 2, "sum": 2, "root": 1, "other": 4}
"""Number of operations of each kind that can start per cycle."""
PORT_OF = {"mul": "product", "add": "sum", "sub": "sum", "div": "root", "sqrt": "root"}
"""Kind of each operation; all other operations are of the kind "other"."""
AHEAD = 32
"""Maximum number of ready operations of a kind that are searched."""
REGISTERS = 28
"""Number of live values above which operations that need no additional register have priority."""


ABREAST = {"sin": "sine", "cos": "sine", "sqrt": "root"}
"""Slow operations, several of which a vector operation computes in the time of one."""
APART = 12
"""Maximum difference between the availability of grouped operands [cycles], below the latency of each operation."""


class OneLane(NamedTuple):
    """Program for one world at a time."""

    program: Program
    abreast: dict[tuple[str, int], tuple[int, ...]]
    """Groups of operations computed by one vector operation, from (kind, such as "sine", and index of an operand) to the
    indices of all operands, two to four. All operands precede the first operation of the group."""


def short_waits(program: Program) -> OneLane:
    """Return the program, which may have calls, with sums and operations reordered for short waits."""
    return _ordered(*on_time(program))


def _abreast(operations: Sequence[Operation], known: Sequence[int]) -> dict[tuple[str, int], tuple[int, ...]]:
    """Return groups of up to four operations for one vector operation, whose operands are available at similar times."""
    groups: dict[str, list[list[int]]] = {what: [[]] for what in ABREAST.values()}
    taken: set[tuple[str, int]] = set()  # sine and cosine of an angle are one operation
    for op in sorted((op for op in operations if op.kind in ABREAST), key=lambda op: known[op.a]):
        what = ABREAST[op.kind]
        if (what, op.a) not in taken:
            taken.add((what, op.a))
            rows = groups[what]
            if len(rows[-1]) == 4 or (rows[-1] and known[op.a] - known[rows[-1][0]] > APART):
                rows.append([])
            rows[-1].append(op.a)
    return {(what, x): tuple(row) for what, rows in groups.items() for row in rows if len(row) > 1 for x in row}


def _operands(program: Program, k: int) -> list[int]:
    op = program.operations[k]
    if op.kind == "call":
        return [x for row in program.calls[op.value].arguments for x in row]
    return [x for x in (op.a, op.b) if x >= 0]


class _Term(NamedTuple):
    """Term of a sum: a value, or a product that is not yet computed."""

    known: int
    """Time at which the value, or both factors, are available [cycles]."""
    rank: int
    """Tie-breaker for terms that are available simultaneously."""
    sign: int
    """Sign of the term, 1 or −1."""
    a: int
    """Index of the value or of the first factor."""
    b: int
    """Index of the second factor; −1 for a value."""


class _Builder:
    """List of operations, with the times at which results are available."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.known: list[int] = []

    def put(self, op: Operation, latency: int) -> int:
        ready = max((self.known[x] for x in (op.a, op.b) if x >= 0), default=0)
        self.operations.append(op)
        self.known.append(ready + latency)
        return len(self.operations) - 1

    def value(self, term: _Term) -> _Term:
        """Compute a term; return the term as a value."""
        if term.b < 0:
            return term
        place = self.put(Operation("mul", term.a, term.b), LATENCY["mul"])
        return _Term(self.known[place], term.rank, term.sign, place, -1)

    def added(self, x: _Term, y: _Term, rank: int) -> _Term:
        """Return the sum of two terms, of which x is available first; one product is fused with the sum."""
        if x.b >= 0 and y.b < 0:
            x, y = y, x
        x, product = self.value(x), y.b >= 0
        y = self.value(y)
        if x.sign == y.sign:
            op, sign = Operation("add", x.a, y.a), x.sign
        else:
            op, sign = Operation("sub", *((x.a, y.a) if x.sign > 0 else (y.a, x.a))), 1
        place = self.put(op, 0)
        factors = self.operations[y.a]
        ready = max(self.known[k] for k in ((x.a, factors.a, factors.b) if product else (x.a, y.a)))
        self.known[place] = ready + (FUSED if product else LATENCY["add"])
        return _Term(self.known[place], rank, sign, place, -1)


def on_time(program: Program) -> tuple[Program, list[int]]:
    """Return the program with terms of sums added in the order of their availability, and these times [cycles].

    Sums without other uses are first merged into the sum that contains them. Then the two earliest terms are added repeatedly,
    with a product and a sum fused to one operation, until one term remains (as in Huffman coding).
    """
    operations = program.operations
    uses: Counter[int] = Counter(x for k in range(len(operations)) for x in _operands(program, k))
    uses.update(x for row in program.results for x in row)
    once = {x for op in operations if op.kind in SUMS for x in (op.a, op.b) if x >= 0 and uses[x] == 1}
    inner = {x for x in once if operations[x].kind in SUMS}
    factors = {x for x in once if operations[x].kind == "mul"}
    made, place = _Builder(), {-1: -1}

    def terms(k: int) -> list[_Term]:
        left, out = [(k, 1)], list[_Term]()
        while left:
            x, sign = left.pop()
            op = operations[x]
            if x == k or x in inner:
                if op.b >= 0:
                    left.append((op.b, -sign if op.kind == "sub" else sign))
                left.append((op.a, -sign if op.kind == "neg" else sign))
            elif x in factors:
                a, b = place[op.a], place[op.b]
                out.append(_Term(max(made.known[a], made.known[b]), len(out), sign, a, b))
            else:
                out.append(_Term(made.known[place[x]], len(out), sign, place[x], -1))
        return out

    for k, op in enumerate(operations):
        if k in inner or k in factors:
            continue
        if op.kind in SUMS:
            found = terms(k)
            rank = len(found)
            heapq.heapify(found)
            while len(found) > 1:
                first = heapq.heappop(found)
                heapq.heapreplace(found, made.added(first, found[0], rank))
                rank += 1
            total = made.value(found[0])
            place[k] = total.a if total.sign > 0 else made.put(Operation("neg", total.a), LATENCY["neg"])
        elif op.kind in ("const", "input"):
            place[k] = made.put(op, 0)
        else:
            place[k] = made.put(op._replace(a=place[op.a], b=place[op.b]), LATENCY.get(op.kind, 20))
            if op.kind == "call":
                arguments = (made.known[place[x]] for x in _operands(program, k))
                made.known[place[k]] = LATENCY["call"] + max(arguments, default=0)
    return program.with_operations(made.operations, place), made.known


def _ordered(program: Program, when: Sequence[int]) -> OneLane:
    """Reorder the operations from the end: each cycle takes operations that must start in this cycle at the latest.

    The candidates with the longest preceding chain are selected, up to the number that the core can start per cycle. If too
    many values are live, operations that end at least as many lives as they start have priority.
    """
    operations = program.operations
    free = [k for k, op in enumerate(operations) if op.kind in ("const", "input")]
    uses: Counter[int] = Counter(x for k in range(len(operations)) for x in _operands(program, k))
    uses.update(x for row in program.results for x in row)
    product: dict[int, int] = {}  # index of the product that is fused with each sum
    for k, op in enumerate(operations):
        if op.kind in ("add", "sub"):
            single = [x for x in (op.b, op.a) if operations[x].kind == "mul" and uses[x] == 1]
            if single:
                product[k] = single[0]
    hidden, known = set(product.values()), set(free)
    computed = [k for k in range(len(operations)) if k not in hidden and k not in known]
    needs: list[tuple[int, ...]] = [()] * len(operations)
    for k in computed:
        found = _operands(program, k)
        if k in product:
            found = [x for x in found if x != product[k]] + _operands(program, product[k])
        needs[k] = tuple({x for x in found if x not in known})
    abreast = _abreast(operations, when)
    for k in computed:
        operands = abreast.get((ABREAST.get(operations[k].kind, ""), operations[k].a), needs[k])
        needs[k] = tuple(x for x in operands if x not in known)
    latency = [FUSED if k in product else LATENCY.get(op.kind, 20) for k, op in enumerate(operations)]
    depth, left = [0] * len(operations), [0] * len(operations)
    for k in computed:
        depth[k] = latency[k] + max((depth[x] for x in needs[k]), default=0)
        for x in needs[k]:
            left[x] += 1
    ports = ["product" if k in product else PORT_OF.get(op.kind, "other") for k, op in enumerate(operations)]
    ready: dict[str, list[tuple[int, int]]] = {port: [] for port in PORTS}  # (−depth, −index), sorted
    waiting = [(0, k) for k in computed if not left[k]]  # (cycle, index), a heap
    begin = [0] * len(operations)
    alive: set[int] = set()
    backward: list[int] = []
    cycle = 0
    while waiting or any(ready.values()):
        while waiting and waiting[0][0] <= cycle:
            k = heapq.heappop(waiting)[1]
            insort(ready[ports[k]], (-depth[k], -k))
        at_hand = dict(PORTS)
        while True:
            best: tuple[int, int, int] | None = None
            for port, row in ready.items():
                for minus_depth, minus_k in row[:AHEAD] if at_hand[port] else ():
                    more = -1 if -minus_k in alive else 0
                    for x in needs[-minus_k]:
                        more += x not in alive
                    crowded = more if more > 0 and len(alive) + more > REGISTERS else 0
                    if best is None or (crowded, minus_depth, minus_k) < best:
                        best = (crowded, minus_depth, minus_k)
                    if not crowded:
                        break
            if best is None:
                break
            k = -best[2]
            ready[ports[k]].remove(best[1:])
            at_hand[ports[k]] -= 1
            backward.append(k)
            alive.discard(k)
            alive.update(needs[k])
            for x in needs[k]:
                left[x] -= 1
                begin[x] = max(begin[x], cycle + latency[x])
                if not left[x]:
                    heapq.heappush(waiting, (begin[x], x))
        cycle += 1
    order = free
    for k in reversed(backward):
        order += (product[k], k) if k in product else (k,)
    place = {-1: -1, **{k: i for i, k in enumerate(order)}}
    moved = [operations[k]._replace(a=place[operations[k].a], b=place[operations[k].b]) for k in order]
    rows = {(what, place[x]): tuple(place[y] for y in row) for (what, x), row in abreast.items()}
    return OneLane(program.with_operations(moved, place), rows)
