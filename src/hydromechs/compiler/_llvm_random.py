"""Counter-based random numbers as LLVM IR: the same integers on every lane, see `_random.py` for the method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._llvm_rows import transposed
from ._llvm_sincos import constants_text, double
from ._random import DEGREE, KEY_STEPS, MULTIPLIERS, PARTS, ROUNDS, Draw, quantile_table

if TYPE_CHECKING:
    from ._llvm_text import Module

ROW = 8
"""Numbers of a row of the table in memory."""


class _Lines:
    """Lines of a function on a number of lanes.

    Args:
        lanes: Worlds per vector operation.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes, self.lines = lanes, list[str]()
        self.real = "double" if lanes == 1 else f"<{lanes} x double>"
        self.integer = "i64" if lanes == 1 else f"<{lanes} x i64>"

    def new(self, text: str) -> str:
        """Write a line that defines a value; return its name."""
        self.lines.append(f"  %v{len(self.lines)} = {text}")
        return f"%v{len(self.lines) - 1}"

    def whole(self, value: int) -> str:
        """A constant integer on all lanes."""
        return str(value) if self.lanes == 1 else "<" + ", ".join([f"i64 {value}"] * self.lanes) + ">"

    def constant(self, value: float) -> str:
        """A constant on all lanes."""
        return double(value) if self.lanes == 1 else "<" + ", ".join([f"double {double(value)}"] * self.lanes) + ">"

    def do(self, operation: str, a: str, b: str | int) -> str:
        """An operation on integers."""
        return self.new(f"{operation} {self.integer} {a}, {b if isinstance(b, str) else self.whole(b)}")

    def arithmetic(self, operation: str, a: str, b: str | float) -> str:
        """An operation on numbers, without flags: nothing may be fused or reordered."""
        return self.new(f"{operation} {self.real} {a}, {b if isinstance(b, str) else self.constant(b)}")

    def philox(self, counter: list[str], key: list[str]) -> list[str]:
        """Two integers of 64 random bits."""
        c, k = counter, key
        for _ in range(ROUNDS):
            p, q = self.do("mul", c[0], MULTIPLIERS[0]), self.do("mul", c[2], MULTIPLIERS[1])
            high = [self.do("lshr", x, 32) for x in (q, p)]
            mixed = [self.do("xor", self.do("xor", h, x), y) for h, x, y in zip(high, (c[1], c[3]), k, strict=True)]
            low = [self.do("and", x, 0xFFFFFFFF) for x in (q, p)]
            c = [mixed[0], low[0], mixed[1], low[1]]
            k = [self.do("and", self.do("add", x, step), 0xFFFFFFFF) for x, step in zip(k, KEY_STEPS, strict=True)]
        return [self.do("or", c[i], self.do("shl", c[i + 1], 32)) for i in (0, 2)]

    def uniform(self, bits: str) -> str:
        """A number in (0, 1)."""
        x = self.new(f"sitofp {self.integer} {self.do('lshr', bits, 12)} to {self.real}")
        return self.arithmetic("fmul", self.arithmetic("fadd", x, 0.5), 2.0**-52)

    def normal(self, bits: str) -> str:
        """A number of the standard normal distribution."""
        magnitude = self.do("or", self.do("and", bits, 2**63 - 1), 1)
        suffix = "i64" if self.lanes == 1 else f"v{self.lanes}i64"
        zeros = self.new(f"call {self.integer} @llvm.ctlz.{suffix}({self.integer} {magnitude}, i1 true)")
        behind = self.do("shl", self.do("shl", magnitude, zeros), 1)
        row = self.do("add", self.do("mul", self.do("sub", zeros, 1), PARTS), self.do("lshr", behind, 60))
        fraction = self.do("lshr", self.do("shl", behind, 4), 12)
        x = self.new(f"sitofp {self.integer} {fraction} to {self.real}")
        s = self.arithmetic("fsub", self.arithmetic("fmul", x, 2.0**-52), 0.5)
        c = self.coefficients(self.do("mul", row, ROW))
        y = c[DEGREE]
        for k in reversed(range(DEGREE)):
            y = self.arithmetic("fadd", self.arithmetic("fmul", y, s), c[k])
        bare = self.new(f"bitcast {self.real} {y} to {self.integer}")
        signed = self.do("xor", bare, self.do("and", bits, -(2**63)))
        return self.new(f"bitcast {self.integer} {signed} to {self.real}")

    def coefficients(self, first: str) -> list[str]:
        """Rows of the table, one per lane, as columns: whole rows are loaded, as LLVM's gathers are slow."""
        firsts = [first]
        if self.lanes > 1:
            firsts = [self.new(f"extractelement {self.integer} {first}, i32 {lane}") for lane in range(self.lanes)]
        rows = [self.new(f"getelementptr inbounds double, ptr @normal_quantiles, i64 {k}") for k in firsts]
        columns: list[str] = []
        for begin in range(0, DEGREE + 1, self.lanes):
            at = [self.new(f"getelementptr inbounds double, ptr {row}, i64 {begin}") for row in rows]
            columns += transposed(self.new, [self.new(f"load {self.real}, ptr {p}, align 8") for p in at])
        return columns


def draw_text(name: str, draw: Draw, module: Module) -> str:
    """`name(seed, world, stream, tick, numbers)` of packed arrays."""
    if draw.normal:
        module.once("@normal_quantiles", lambda: constants_text("@normal_quantiles", quantile_table().ravel()))
    t = _Lines(module.lanes)
    loaded = [t.new(f"load {t.real}, ptr %p{k}, align 8") for k in range(len(draw.inputs))]
    seed, world, stream, tick = (t.new(f"fptosi {t.real} {x} to {t.integer}") for x in loaded)
    key = [t.do("and", seed, 0xFFFFFFFF), t.do("lshr", seed, 32)]
    tick = t.do("and", tick, 0xFFFFFFFF)
    for i in range(draw.n):
        if i % 2 == 0:
            bits = t.philox([tick, t.whole(i // 2), stream, world], key)
        number = (t.normal if draw.normal else t.uniform)(bits[i % 2])
        at = t.new(f"getelementptr inbounds {t.real}, ptr %p{len(draw.inputs)}, i64 {i}")
        t.lines.append(f"  store {t.real} {number}, ptr {at}, align 8")
    signature = ", ".join(f"ptr noalias %p{k}" for k in range(len(draw.inputs) + 1))
    return f"define internal void {name}({signature}) noinline nounwind {{\n" + "\n".join(t.lines) + "\n  ret void\n}\n"
