"""Conditional and repeated calls as LLVM IR: a branch that all lanes share, and a selection lane by lane."""

from __future__ import annotations

from collections.abc import Sequence

from ._flow import Iterate, When
from ._llvm_rows import VECTORS
from ._llvm_solve import Loops


class _Lanes(Loops):
    """Lines with loops over entries of packed arrays.

    Args:
        lanes: Worlds per vector operation.
    """

    def __init__(self, lanes: int) -> None:
        super().__init__()
        self.lanes = lanes
        self.type, self.bits = ("double", "i1") if lanes == 1 else (f"<{lanes} x double>", f"<{lanes} x i1>")
        self.zero, self.one = (f"{x}" if lanes == 1 else "<" + ", ".join([f"double {x}"] * lanes) + ">" for x in ("0.0", "1.0"))

    def array(self, size: int) -> str:
        """A packed array on the stack."""
        self.fresh += 1
        self.head.append(f"  %a{self.fresh} = alloca [{max(1, size)} x {self.type}], align 64")
        return f"%a{self.fresh}"

    def load(self, at: str) -> str:
        """A value of all lanes."""
        return self.new(f"load {self.type}, ptr {at}, align 8")

    def is_set(self, at: str) -> str:
        """Which lanes hold something other than 0; NaN counts."""
        return self.new(f"fcmp une {self.type} {self.load(at)}, {self.zero}")

    def any(self, mask: str) -> str:
        """True if one lane is set."""
        if self.lanes == 1:
            return mask
        bits = self.new(f"bitcast {self.bits} {mask} to i{self.lanes}")
        return self.new(f"icmp ne i{self.lanes} {bits}, 0")

    def select(self, mask: str, yes: str, no: str, to: str, size: int) -> None:
        """Entries of one array where the mask is set, else of another."""
        if not size:
            return
        with self.loop("0", str(size)) as k:
            a, b, c = (self.new(f"getelementptr inbounds {self.type}, ptr {p}, i64 {k}") for p in (yes, no, to))
            one = self.new(f"select {self.bits} {mask}, {self.type} {self.load(a)}, {self.type} {self.load(b)}")
            self.put(f"store {self.type} {one}, ptr {c}, align 8")

    def copy(self, source: str, to: str, size: int) -> None:
        """Entries of one array to another."""
        if size:
            self.put(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {8 * self.lanes * size}, i1 false)")

    def call(self, function: str, pointers: Sequence[str]) -> None:
        """Call a function of packed arrays."""
        self.put(f"call void {function}({', '.join(f'ptr {p}' for p in pointers)})")

    def text(self, name: str, count: int) -> str:
        """The function, with `count` arguments."""
        signature = ", ".join(f"ptr noalias %p{k}" for k in range(count))
        body = "\n".join([*self.head, *self.lines])
        return f"define internal void {name}({signature}) noinline {VECTORS} {{\n{body}\n  ret void\n}}\n"


def when_text(name: str, when: When, function: str, lanes: int) -> str:
    """`name(condition, inputs..., kept..., results...)` of packed arrays."""
    t = _Lanes(lanes)
    n, outputs = len(when.program.inputs), when.outputs
    given = [f"%p{1 + k}" for k in range(n)]
    kept, results = ([f"%p{1 + n + i * len(outputs) + k}" for k in range(len(outputs))] for i in (0, 1))
    mask = t.is_set("%p0")
    t.put(f"br i1 {t.any(mask)}, label %run, label %keep")
    t.lines.append("run:")
    t.call(function, [*given, *results])
    for a, no, to in zip(outputs, kept, results, strict=True):
        if lanes > 1:
            t.select(mask, to, no, to, a.size)
    t.put("br label %end")
    t.lines.append("keep:")
    for a, no, to in zip(outputs, kept, results, strict=True):
        t.copy(no, to, a.size)
    t.put("br label %end")
    t.lines.append("end:")
    return t.text(name, 1 + n + 2 * len(outputs))


def iterate_text(name: str, iterate: Iterate, function: str, lanes: int) -> str:
    """`name(state..., fixed..., final state..., passes)` of packed arrays."""
    t = _Lanes(lanes)
    program, states = iterate.program, iterate.states
    n, sizes = len(program.inputs), [a.size for a in program.outputs[:-1]]
    fixed, final, passes = [f"%p{k}" for k in range(states, n)], [f"%p{n + k}" for k in range(states)], f"%p{n + states}"
    after, done, open_ = [t.array(size) for size in sizes], t.array(1), t.array(1)
    for k, size in enumerate(sizes):
        t.copy(f"%p{k}", final[k], size)
    t.put(f"store {t.type} {t.one}, ptr {open_}, align 8")
    t.put(f"store {t.type} {t.zero}, ptr {passes}, align 8")
    with t.loop("0", str(iterate.times)) as counter:
        label = counter[1:]
        t.put(f"br i1 {t.any(t.is_set(open_))}, label %pass{label}, label %end")
        t.lines.append(f"pass{label}:")
        t.call(function, [*final, *fixed, *after, done])
        mask = t.is_set(open_)
        for new, old, size in zip(after, final, sizes, strict=True):
            t.select(mask, new, old, old, size)
        count = t.new(f"fadd {t.type} {t.load(passes)}, {t.load(open_)}")
        t.put(f"store {t.type} {count}, ptr {passes}, align 8")
        left = t.new(f"select {t.bits} {t.is_set(done)}, {t.type} {t.zero}, {t.type} {t.load(open_)}")
        t.put(f"store {t.type} {left}, ptr {open_}, align 8")
    t.put("br label %end")
    t.lines.append("end:")
    return t.text(name, n + states + 1)
