"""Pivoted elimination of symmetric positive semidefinite systems as LLVM IR, with its rank."""

from __future__ import annotations

from ._llvm_solve import WIDE, Elimination


def semidefinite_text(name: str, n: int, lanes: int, tolerance: float, least: float) -> str:
    """`name(A, b, x, rank, pivot)`: A x = b of packed arrays, lane by lane; unknowns beyond the rank are 0.

    The largest diagonal entry that is left is the next pivot (rows and columns are exchanged alike); elimination ends where it
    falls below `tolerance` times the first or is not above `least`. `pivot` is the last one taken over the first.
    """
    t = Elimination(n, lanes)
    at, packed, load, store = t.at, t.packed, t.load, t.store
    t.head.append(f"  %order = alloca [{n} x i64], align 64")

    def place(k: str) -> str:
        return t.new(f"getelementptr inbounds i64, ptr %order, i64 {k}")

    best, row, rank, first, last = (t.variable(kind) for kind in ("double", "i64", "i64", "double", "double"))
    with t.loop("0", str(lanes)) as lane:
        t.fill(lane)
        with t.loop("0", str(n)) as i:
            store(i, place(i), "i64")
        store("0", rank, "i64")
        store("0.0", first)
        store("0.0", last)
        with t.loop("0", str(n)) as k:
            alive = t.new(f"icmp eq i64 {k}, {load(rank, 'i64')}")
            store("-1.0", best)
            store(k, row, "i64")
            with t.loop(k, str(n)) as i:
                size = load(at(i, i))
                larger = t.new(f"fcmp ogt double {size}, {load(best)}")
                store(t.new(f"select i1 {larger}, double {size}, double {load(best)}"), best)
                store(t.new(f"select i1 {larger}, i64 {i}, i64 {load(row, 'i64')}"), row, "i64")
            start = t.new(f"icmp eq i64 {k}, 0")
            store(t.new(f"select i1 {start}, double {load(best)}, double {load(first)}"), first)
            relative = t.new(f"fmul double {load(first)}, {tolerance:.17e}")
            enough = t.new(f"fcmp ogt double {load(best)}, {relative}")
            positive = t.new(f"fcmp ogt double {load(best)}, {least:.17e}")
            going = t.new(f"and i1 {alive}, {t.new(f'and i1 {enough}, {positive}')}")
            after = t.new(f"add i64 {k}, 1")
            store(t.new(f"select i1 {going}, i64 {after}, i64 {load(rank, 'i64')}"), rank, "i64")
            store(t.new(f"select i1 {going}, double {load(best)}, double {load(last)}"), last)
            end = t.new(f"select i1 {going}, i64 {n}, i64 0")
            wide = t.new(f"select i1 {going}, i64 {t.width}, i64 0")
            pivot = load(row, "i64")
            with t.loop("0", t.new(f"select i1 {going}, i64 1, i64 0")):
                t.swap(place(k), place(pivot), "i64")
            with t.loop("0", wide, WIDE) as j:
                t.swap(at(k, j), at(pivot, j), t.vector)
            with t.loop("0", end) as i:
                t.swap(at(i, k), at(i, pivot), "double")
            inverse = t.new(f"fdiv double 1.0, {load(at(k, k))}")
            start = t.new(f"and i64 {k}, -{WIDE}")
            with t.loop(after, end) as i:
                t.subtract(t.new(f"fmul double {load(at(i, k))}, {inverse}"), i, k, start)
        with t.loop("0", str(n)) as k:
            store("0.0", packed("%p2", load(place(k), "i64"), lane))
        found = load(rank, "i64")
        with t.loop("0", found) as back:
            k = t.new(f"sub i64 {t.new(f'sub i64 {found}, 1')}, {back}")
            store(load(at(k, str(n))), best)
            with t.loop(t.new(f"add i64 {k}, 1"), found) as j:
                known = t.new(f"fmul double {load(at(k, j))}, {load(packed('%p2', load(place(j), 'i64'), lane))}")
                store(t.new(f"fsub double {load(best)}, {known}"), best)
            store(t.new(f"fdiv double {load(best)}, {load(at(k, k))}"), packed("%p2", load(place(k), "i64"), lane))
        store(t.new(f"sitofp i64 {found} to double"), packed("%p3", "0", lane))
        store(t.new(f"fdiv double {load(last)}, {load(first)}"), packed("%p4", "0", lane))
    return t.function(name, 5)
