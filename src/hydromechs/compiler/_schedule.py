"""The order of a program's operations, for machines on which every value takes a register until its last use."""

from __future__ import annotations

from ._program import Program


def short_lives(program: Program) -> list[int]:
    """An order of the operations in which few values are alive at once, for machines with registers and no stack.

    Operands are visited before the results that need them, the more demanding one first (Sethi and Ullman 1970, whose count is
    exact for trees and a guess here), or the deeper one first. The better of these orders and the program's own is improved:
    an operation that is the last use of none of its operands moves down to where it is needed, one that is the last of two
    moves up to where it can be computed.
    """
    operations = program.operations
    needs = [{x for x in (op.a, op.b) if x >= 0 and operations[x].kind != "const"} for op in operations]
    registers, depth = [0] * len(operations), [0] * len(operations)
    for k, operands in enumerate(needs):
        counts = sorted((registers[x] for x in operands), reverse=True)
        registers[k] = max([n + i for i, n in enumerate(counts)], default=1)
        depth[k] = 1 + max((depth[x] for x in operands), default=0)
    computed = [k for k, op in enumerate(operations) if op.kind not in ("const", "input")]
    orders = [computed, *(_visited(program, needs, rank) for rank in (registers, depth))]
    order = best = min(orders, key=lambda order: most_alive(needs, order))
    for _ in range(4):
        for move in (_sunk, _raised):
            order = move(needs, order)
            best = min(best, order, key=lambda order: most_alive(needs, order))
    return best


def _visited(program: Program, needs: list[set[int]], rank: list[int]) -> list[int]:
    """Operations in the order in which results need them, operands of higher rank first."""
    order, seen = [], set()
    stack = [(k, False) for row in reversed(program.results) for k in reversed(row)]
    while stack:
        k, ready = stack.pop()
        if ready:
            order.append(k)
        elif k not in seen and program.operations[k].kind not in ("const", "input"):
            seen.add(k)
            stack.append((k, True))
            stack += [(x, False) for x in sorted(needs[k], key=lambda x: (rank[x], -x))]  # the last is popped first
    return order


def _last_uses(needs: list[set[int]], order: list[int]) -> dict[int, int]:
    """Of each value, the operation that uses it last."""
    return {x: k for k in order for x in needs[k]}


def _sunk(needs: list[set[int]], order: list[int]) -> list[int]:
    """`order` with operations that end no operand's life moved to right before their first use."""
    last, step = _last_uses(needs, order), 0.5 / max(1, len(order))
    position = {k: float(i) for i, k in enumerate(order)}
    first: dict[int, float] = {}
    for k in reversed(order):
        if k in first and not any(last[x] == k for x in needs[k]):
            position[k] = first[k] - step
        for x in needs[k]:
            first[x] = min(first.get(x, len(order)), position[k])
    return sorted(order, key=position.__getitem__)


def _raised(needs: list[set[int]], order: list[int]) -> list[int]:
    """`order` with operations that end the lives of two operands moved to right after the later of them."""
    last, step = _last_uses(needs, order), 0.5 / max(1, len(order))
    position = {k: float(i) for i, k in enumerate(order)}
    for k in order:
        computed = [position[x] for x in needs[k] if x in position]
        if computed and sum(last[x] == k for x in needs[k]) == 2:
            position[k] = max(computed) + step
    return sorted(order, key=position.__getitem__)


def most_alive(needs: list[set[int]], order: list[int]) -> int:
    """Maximum number of values, including inputs, that are alive at once."""
    last = _last_uses(needs, order)
    born: set[int] = set()
    alive = most = 0
    for k in order:
        fresh = {x for x in (*needs[k], k) if x not in born}
        born |= fresh
        alive += len(fresh)
        most = max(most, alive)
        alive -= sum(last[x] == k for x in needs[k]) + (k not in last)
    return most
