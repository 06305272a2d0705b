"""Order of a program's operations and sums, for machines with few registers and fused multiply-adds."""

from __future__ import annotations

from collections import Counter

from ._program import Operation, Program


def short_lives(program: Program) -> list[int]:
    """Return an order of the operations with few live values, for machines with registers and without a stack.

    Operands precede the results that need them. The operand that needs more registers comes first (Sethi and Ullman 1970, whose
    count is exact for trees and a heuristic for other graphs), or alternatively the deeper operand. The best of these orders
    and the original order is then improved. An operation that is not the last use of any operand moves down to its first use.
    An operation that is the last use of two operands moves up to the first position at which both are available.
    """
    operations = program.operations
    needs = [{x for x in (op.a, op.b) if x >= 0 and operations[x].kind != "const"} for op in operations]
    for k, op in enumerate(operations):
        if op.kind == "call":
            needs[k] = {x for row in program.calls[op.value].arguments for x in row if operations[x].kind != "const"}
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
    return _after_calls(program, best)


def _visited(program: Program, needs: list[set[int]], rank: list[int]) -> list[int]:
    """Return operations in the order in which results need them, operands of higher rank first."""
    order, seen = [], set()
    stack = [(k, False) for row in reversed(program.results) for k in reversed(row)]
    while stack:
        k, ready = stack.pop()
        if ready:
            order.append(k)
        elif k not in seen and program.operations[k].kind not in ("const", "input"):
            seen.add(k)
            stack.append((k, True))
            stack += [(x, False) for x in sorted(needs[k], key=lambda x: (rank[x], -x))]  # the last operand is popped first
    return order


def _last_uses(needs: list[set[int]], order: list[int]) -> dict[int, int]:
    return {x: k for k in order for x in needs[k]}


def _sunk(needs: list[set[int]], order: list[int]) -> list[int]:
    """Return `order` with operations that end the life of no operand moved to just before their first use."""
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
    """Return `order` with each operation that is the last use of two operands moved to just after the later operand."""
    last, step = _last_uses(needs, order), 0.5 / max(1, len(order))
    position = {k: float(i) for i, k in enumerate(order)}
    for k in order:
        computed = [position[x] for x in needs[k] if x in position]
        if computed and sum(last[x] == k for x in needs[k]) == 2:
            position[k] = max(computed) + step
    return sorted(order, key=position.__getitem__)


def most_alive(needs: list[set[int]], order: list[int]) -> int:
    """Return the maximum number of simultaneously live values, including inputs."""
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


def _after_calls(program: Program, order: list[int]) -> list[int]:
    """Return `order` with few values alive at calls of functions.

    Operations on results of calls move up to the last call that they need: sums replace results. Those that a call needs move
    down to the first call that needs them, all others after the last call.
    """
    calls = [
        k
        for k in order
        if program.operations[k].kind == "call" and not program.calls[program.operations[k].value].callee.inline
    ]
    last = 2 * len(calls)
    key = {k: 2 * i + 1 for i, k in enumerate(calls)}  # operations between calls have the even numbers
    for k in order:
        if k not in key and (earlier := [key[x] for x in _operands(program, k) if x in key]):
            key[k] = (max(earlier) + 1) // 2 * 2
    fixed = frozenset(key)
    for k in reversed(order):
        wanted = key.setdefault(k, last) // 2 * 2
        for x in _operands(program, k):
            if x not in fixed:
                key[x] = min(key.get(x, last), wanted)
    return sorted(order, key=key.__getitem__)


def _operands(program: Program, k: int) -> list[int]:
    op = program.operations[k]
    if op.kind == "call":
        return [x for row in program.calls[op.value].arguments for x in row]
    return [x for x in (op.a, op.b) if x >= 0]


SUMS = ("add", "sub", "neg")


def fused_sums(program: Program) -> Program:
    """Return the program with every sum as a chain that ends with its products, ((c + a b) + d e) + f g.

    The chain (a b + d e) + f g needs one product and two fused operations, whereas (a b + d e) + (f g + h i) needs two
    products, two fused operations and a sum. Sums without other uses are first merged into the sum that contains them. Terms
    that are available earlier come first, but results of calls before all others, so that sums replace them.
    """
    operations = program.operations
    uses: Counter[int] = Counter()
    for op in operations:
        uses.update(k for k in (op.a, op.b) if k >= 0)
    for call in program.calls:
        uses.update(k for row in call.arguments for k in row)
    uses.update(k for row in program.results for k in row)
    inner = {
        x
        for op in operations
        if op.kind in SUMS
        for x in (op.a, op.b)
        if x >= 0 and operations[x].kind in SUMS and uses[x] == 1
    }
    last_call = [0] * len(operations)  # number of the last call that a value needs; 0 for none
    calls = 0
    for k, op in enumerate(operations):
        calls += op.kind == "call"
        last_call[k] = calls if op.kind == "call" else max((last_call[x] for x in (op.a, op.b) if x >= 0), default=0)
    never = calls + 1
    kept: list[Operation] = []
    place: dict[int, int] = {-1: -1}

    def put(kind: str, a: int, b: int = -1) -> int:
        kept.append(Operation(kind, a, b))
        return len(kept) - 1

    def terms(k: int, sign: int) -> list[tuple[int, int]]:
        op, out = operations[k], []
        for x, s in ((op.a, -sign if op.kind == "neg" else sign), (op.b, -sign if op.kind == "sub" else sign)):
            if x >= 0:
                out += terms(x, s) if x in inner else [(x, s)]
        return out

    for k, op in enumerate(operations):
        if k in inner:
            continue
        if op.kind in SUMS:
            found = sorted(
                terms(k, 1), key=lambda term: (last_call[term[0]] or never, operations[term[0]].kind == "mul", term[0])
            )
            called = last_call[found[0][0]] > 0
            first = found[0] if called else next((term for term in found if term[1] > 0), found[0])
            found.remove(first)
            total, negative = place[first[0]], first[1] < 0
            for x, sign in found:
                total = put("sub" if (sign < 0) != negative else "add", total, place[x])
            place[k] = put("neg", total) if negative else total
        else:
            place[k] = len(kept)
            kept.append(op._replace(a=place[op.a], b=place[op.b]))
    return program.with_operations(kept, place)
