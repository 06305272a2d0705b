"""Gaussian elimination with partial pivots as LLVM IR: a loop, not straight-line code, for systems of any size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

WIDE = 8
"""Columns that are eliminated at once."""


class Loops:
    """Lines of IR with counted loops; counters are in memory, and LLVM moves them into registers."""

    def __init__(self) -> None:
        self.head: list[str] = []
        self.lines: list[str] = []
        self.fresh = 0

    def new(self, text: str) -> str:
        """A line that defines a new value; its name."""
        self.fresh += 1
        self.lines.append(f"  %w{self.fresh} = {text}")
        return f"%w{self.fresh}"

    def put(self, line: str) -> None:
        """A line that defines nothing."""
        self.lines.append(f"  {line}")

    def variable(self, kind: str) -> str:
        """A place in memory for a scalar."""
        self.fresh += 1
        self.head.append(f"  %v{self.fresh} = alloca {kind}, align 8")
        return f"%v{self.fresh}"

    @contextmanager
    def loop(self, begin: str, end: str, step: int = 1) -> Iterator[str]:
        """A loop with a counter from `begin` up to, not including, `end`."""
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


def solve_text(name: str, n: int, lanes: int) -> str:
    """`name(A, b, x)`: x = A⁻¹ b of packed arrays, lane by lane, in scratch memory on the stack.

    Rows are padded to whole vectors. Elimination starts at the vector that holds the pivot's column; what it spoils left of
    that column is not read again. A singular matrix gives inf or NaN.
    """
    width = -(-(n + 1) // WIDE) * WIDE
    vector = f"<{WIDE} x double>"
    t = Loops()
    t.head.append(f"  %M = alloca [{n * width} x double], align 64")

    def at(i: str, j: str) -> str:
        row = t.new(f"mul i64 {i}, {width}")
        return t.new(f"getelementptr inbounds double, ptr %M, i64 {t.new(f'add i64 {row}, {j}')}")

    def packed(array: str, k: str, lane: str) -> str:
        first = t.new(f"mul i64 {k}, {lanes}")
        return t.new(f"getelementptr inbounds double, ptr {array}, i64 {t.new(f'add i64 {first}, {lane}')}")

    def load(pointer: str, kind: str = "double") -> str:
        return t.new(f"load {kind}, ptr {pointer}, align 8")

    best, row = t.variable("double"), t.variable("i64")
    with t.loop("0", str(lanes)) as lane:
        with t.loop("0", str(n)) as i:
            with t.loop("0", str(n)) as j:
                k = t.new(f"add i64 {t.new(f'mul i64 {i}, {n}')}, {j}")
                t.put(f"store double {load(packed('%p0', k, lane))}, ptr {at(i, j)}, align 8")
            t.put(f"store double {load(packed('%p1', i, lane))}, ptr {at(i, str(n))}, align 8")
        with t.loop("0", str(n)) as k:
            after = t.new(f"add i64 {k}, 1")
            t.put(f"store double {t.new(f'call double @llvm.fabs.f64(double {load(at(k, k))})')}, ptr {best}, align 8")
            t.put(f"store i64 {k}, ptr {row}, align 8")
            with t.loop(after, str(n)) as i:
                size = t.new(f"call double @llvm.fabs.f64(double {load(at(i, k))})")
                larger = t.new(f"fcmp ogt double {size}, {load(best)}")
                new_best = t.new(f"select i1 {larger}, double {size}, double {load(best)}")
                new_row = t.new(f"select i1 {larger}, i64 {i}, i64 {load(row, 'i64')}")
                t.put(f"store double {new_best}, ptr {best}, align 8")
                t.put(f"store i64 {new_row}, ptr {row}, align 8")
            pivot, start = load(row, "i64"), t.new(f"and i64 {k}, -{WIDE}")
            with t.loop(start, str(width), WIDE) as j:
                here, there = at(k, j), at(pivot, j)
                x, y = load(here, vector), load(there, vector)
                t.put(f"store {vector} {y}, ptr {here}, align 8")
                t.put(f"store {vector} {x}, ptr {there}, align 8")
            inverse = t.new(f"fdiv double 1.0, {load(at(k, k))}")
            with t.loop(after, str(n)) as i:
                factor = t.new(f"fmul double {load(at(i, k))}, {inverse}")
                one = t.new(f"insertelement {vector} poison, double {factor}, i32 0")
                all_ = t.new(f"shufflevector {vector} {one}, {vector} poison, <{WIDE} x i32> zeroinitializer")
                with t.loop(start, str(width), WIDE) as j:
                    product = t.new(f"fmul contract {vector} {all_}, {load(at(k, j), vector)}")
                    left = t.new(f"fsub contract {vector} {load(at(i, j), vector)}, {product}")
                    t.put(f"store {vector} {left}, ptr {at(i, j)}, align 8")
        with t.loop("0", str(n)) as back:
            k = t.new(f"sub i64 {n - 1}, {back}")
            t.put(f"store double {load(at(k, str(n)))}, ptr {best}, align 8")
            with t.loop(t.new(f"add i64 {k}, 1"), str(n)) as j:
                known = t.new(f"fmul double {load(at(k, j))}, {load(packed('%p2', j, lane))}")
                t.put(f"store double {t.new(f'fsub double {load(best)}, {known}')}, ptr {best}, align 8")
            t.put(f"store double {t.new(f'fdiv double {load(best)}, {load(at(k, k))}')}, ptr {packed('%p2', k, lane)}, align 8")
    body = "\n".join([*t.head, *t.lines])
    signature = "ptr noalias %p0, ptr noalias %p1, ptr noalias %p2"
    return f"define internal void {name}({signature}) noinline nounwind {{\n{body}\n  ret void\n}}\n"
