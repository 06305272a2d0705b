"""Gaussian elimination as LLVM IR, for systems of any size: partial pivoting, or full pivoting for semidefinite systems."""

from collections.abc import Iterator
from contextlib import contextmanager

WIDE = 8
"""Number of columns processed together."""


class Loops:
    """Lines of IR with counted loops; counters are in memory, which LLVM promotes to registers."""

    def __init__(self) -> None:
        self.head: list[str] = []
        self.lines: list[str] = []
        self.fresh = 0

    def new(self, text: str) -> str:
        """Write a line that defines a new value; return the name of the value."""
        self.fresh += 1
        self.lines.append(f"  %w{self.fresh} = {text}")
        return f"%w{self.fresh}"

    def put(self, line: str) -> None:
        """Write a line that defines no value."""
        self.lines.append(f"  {line}")

    def variable(self, kind: str) -> str:
        """Allocate memory for a scalar."""
        self.fresh += 1
        self.head.append(f"  %v{self.fresh} = alloca {kind}, align 8")
        return f"%v{self.fresh}"

    @contextmanager
    def loop(self, begin: str, end: str, step: int = 1) -> Iterator[str]:
        """Write a loop with a counter from `begin` to `end`, exclusive; yield the name of the counter."""
        at = self.variable("i64")
        self.fresh += 1
        name = f"loop{self.fresh}"
        self.put(f"store i64 {begin}, ptr {at}, align 8")
        self.put(f"br label %{name}.test")
        self.lines.append(f"{name}.test:")
        counter = self.new(f"load i64, ptr {at}, align 8")
        self.put(f"br i1 {self.new(f'icmp slt i64 {counter}, {end}')}, label %{name}.body, label %{name}.end")
        self.lines.append(f"{name}.body:")
        yield counter
        self.put(f"store i64 {self.new(f'add i64 {counter}, {step}')}, ptr {at}, align 8")
        self.put(f"br label %{name}.test")
        self.lines.append(f"{name}.end:")


class Elimination(Loops):
    """Lines of IR that solve A x = b for packed arrays, lane by lane; `%M` on the stack contains A with b as last column.

    Rows are padded to complete vectors.
    """

    def __init__(self, n: int, lanes: int) -> None:
        super().__init__()
        self.n, self.lanes, self.width, self.vector = n, lanes, -(-(n + 1) // WIDE) * WIDE, f"<{WIDE} x double>"
        self.head.append(f"  %M = alloca [{n * self.width} x double], align 64")

    def at(self, i: str, j: str) -> str:
        """Return the address of an entry of the matrix."""
        row = self.new(f"mul i64 {i}, {self.width}")
        return self.new(f"getelementptr inbounds double, ptr %M, i64 {self.new(f'add i64 {row}, {j}')}")

    def packed(self, array: str, k: str, lane: str) -> str:
        """Return the address of an entry of a packed array in one lane."""
        first = self.new(f"mul i64 {k}, {self.lanes}")
        return self.new(f"getelementptr inbounds double, ptr {array}, i64 {self.new(f'add i64 {first}, {lane}')}")

    def load(self, pointer: str, kind: str = "double") -> str:
        """Load a value."""
        return self.new(f"load {kind}, ptr {pointer}, align 8")

    def store(self, value: str, pointer: str, kind: str = "double") -> None:
        """Store a value."""
        self.put(f"store {kind} {value}, ptr {pointer}, align 8")

    def swap(self, a: str, b: str, kind: str) -> None:
        """Swap two values in memory."""
        x, y = self.load(a, kind), self.load(b, kind)
        self.store(y, a, kind)
        self.store(x, b, kind)

    def fill(self, lane: str) -> None:
        """Copy A and b of a lane into the matrix."""
        with self.loop("0", str(self.n)) as i:
            with self.loop("0", str(self.n)) as j:
                k = self.new(f"add i64 {self.new(f'mul i64 {i}, {self.n}')}, {j}")
                self.store(self.load(self.packed("%p0", k, lane)), self.at(i, j))
            self.store(self.load(self.packed("%p1", i, lane)), self.at(i, str(self.n)))

    def subtract(self, factor: str, i: str, k: str, start: str) -> None:
        """Subtract `factor` times row k from row i, from column `start`, one vector at a time."""
        one = self.new(f"insertelement {self.vector} poison, double {factor}, i32 0")
        all_ = self.new(f"shufflevector {self.vector} {one}, {self.vector} poison, <{WIDE} x i32> zeroinitializer")
        with self.loop(start, str(self.width), WIDE) as j:
            product = self.new(f"fmul contract {self.vector} {all_}, {self.load(self.at(k, j), self.vector)}")
            left = self.new(f"fsub contract {self.vector} {self.load(self.at(i, j), self.vector)}, {product}")
            self.store(left, self.at(i, j), self.vector)

    def function(self, name: str, arrays: int) -> str:
        """Return the lines as a function of packed arrays."""
        body = "\n".join([*self.head, *self.lines])
        signature = ", ".join(f"ptr noalias %p{k}" for k in range(arrays))
        return f"define internal void {name}({signature}) noinline nounwind {{\n{body}\n  ret void\n}}\n"


def solve_text(name: str, n: int, lanes: int) -> str:
    """Return the function `name(A, b, x)`, which computes x = A⁻¹ b for packed arrays, lane by lane.

    Elimination starts at the vector that contains the pivot's column. Entries to the left of this vector become invalid and are
    not read again. A singular matrix gives inf or NaN.
    """
    t = Elimination(n, lanes)
    at, packed, load, store = t.at, t.packed, t.load, t.store
    best, row = t.variable("double"), t.variable("i64")
    with t.loop("0", str(lanes)) as lane:
        t.fill(lane)
        with t.loop("0", str(n)) as k:
            after = t.new(f"add i64 {k}, 1")
            store(t.new(f"call double @llvm.fabs.f64(double {load(at(k, k))})"), best)
            store(k, row, "i64")
            with t.loop(after, str(n)) as i:
                size = t.new(f"call double @llvm.fabs.f64(double {load(at(i, k))})")
                larger = t.new(f"fcmp ogt double {size}, {load(best)}")
                new_best = t.new(f"select i1 {larger}, double {size}, double {load(best)}")
                new_row = t.new(f"select i1 {larger}, i64 {i}, i64 {load(row, 'i64')}")
                store(new_best, best)
                store(new_row, row, "i64")
            pivot, start = load(row, "i64"), t.new(f"and i64 {k}, -{WIDE}")
            with t.loop(start, str(t.width), WIDE) as j:
                t.swap(at(k, j), at(pivot, j), t.vector)
            inverse = t.new(f"fdiv double 1.0, {load(at(k, k))}")
            with t.loop(after, str(n)) as i:
                t.subtract(t.new(f"fmul double {load(at(i, k))}, {inverse}"), i, k, start)
        with t.loop("0", str(n)) as back:
            k = t.new(f"sub i64 {n - 1}, {back}")
            store(load(at(k, str(n))), best)
            with t.loop(t.new(f"add i64 {k}, 1"), str(n)) as j:
                known = t.new(f"fmul double {load(at(k, j))}, {load(packed('%p2', j, lane))}")
                store(t.new(f"fsub double {load(best)}, {known}"), best)
            store(t.new(f"fdiv double {load(best)}, {load(at(k, k))}"), packed("%p2", k, lane))
    return t.function(name, 3)


def semidefinite_text(name: str, n: int, lanes: int, tolerance: float, least: float) -> str:
    """Return the function `name(A, b, x, rank, pivot)`, which solves A x = b for packed arrays, lane by lane.

    The largest remaining diagonal entry is the next pivot, with symmetric exchanges. Elimination ends when this entry falls
    below `tolerance` times the first pivot or does not exceed `least`. Unknowns beyond the rank are 0. `pivot` is the ratio of
    the last pivot to the first.
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
