"""Sums in the order in which fused multiply-adds take them, for machines whose compiler keeps the order of a sum."""

from __future__ import annotations

from collections import Counter

from ._program import Operation, Program

SUMS = ("add", "sub", "neg")


def fused_sums(program: Program) -> Program:
    """The same program with every sum as a chain that ends with its products, ((c + a b) + d e) + f g.

    (a b + d e) + f g takes a product and two fused operations, but (a b + d e) + (f g + h i) two products, two fused operations
    and a sum. Terms that nothing else needs are flattened into their sum first; those known first come first.
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
            found = sorted(terms(k, 1), key=lambda term: (operations[term[0]].kind == "mul", term[0]))
            first = next((term for term in found if term[1] > 0), found[0])
            found.remove(first)
            total, negative = place[first[0]], first[1] < 0
            for x, sign in found:
                total = put("sub" if (sign < 0) != negative else "add", total, place[x])
            place[k] = put("neg", total) if negative else total
        else:
            place[k] = len(kept)
            kept.append(op._replace(a=place[op.a], b=place[op.b]))
    calls = tuple(
        call._replace(arguments=tuple(tuple(place[x] for x in row) for row in call.arguments)) for call in program.calls
    )
    results = tuple(tuple(place[x] for x in row) for row in program.results)
    return Program(program.name, program.inputs, program.outputs, tuple(kept), results, None, calls)
