"""Repeated steps of a program in one compiled loop: rollouts of worlds on lanes.

`loop(table, begin, end)` marches the worlds begin..end. The table consists of integers in this order:

- the number of steps, and the number of steps between records;
- for each part of the state, address and world stride of the initial values;
- for each input, its address, world stride and step stride;
- for each part of the state, address and world stride of the records, then of the final states;
- the address of the counts of finite steps.

All strides are counted in numbers. If the result of a step is not finite, the world keeps its last state, and the count of
finite steps identifies the step.
"""

from __future__ import annotations

from ._llvm_loop import VECTORS, exchange
from ._llvm_rolled import aligned
from ._llvm_solve import WIDE, Loops
from ._llvm_text import Module
from ._program import Program
from ._rolled import Rolled

ON_STACK = 8192
"""Size of an array above which the array is on the heap, because stacks of threads are small [bytes]."""


def march_text(program: Program | Rolled, n_state: int, lanes: int, seldom: bool = False) -> str:
    """Return the IR of a march; the program is one step, from the parts of the state and other inputs to the new parts."""
    module = Module(lanes, seldom)
    step = module.name(program)
    T = module.type
    mask = "i1" if lanes == 1 else f"<{lanes} x i1>"
    zero, one = ("0.0", "1.0") if lanes == 1 else tuple("<" + ", ".join([f"double {x}"] * lanes) + ">" for x in ("0.0", "1.0"))
    sizes = [a.size for a in program.inputs]
    # with one lane, several entries of the state are checked and stored at a time
    several = WIDE if lanes == 1 else 1
    V = f"<{WIDE} x double>" if lanes == 1 else T
    none = "zeroinitializer" if lanes == 1 else zero
    t = Loops()
    word = iter(range(10_000))

    def number() -> str:
        return t.new(f"load i64, ptr {t.new(f'getelementptr inbounds i64, ptr %table, i64 {next(word)}')}, align 8")

    def pointer() -> str:
        return t.new(f"inttoptr i64 {number()} to ptr")

    blocks: list[str] = []

    def buffer(size: int) -> str:
        entries = max(1, -(-size // several)) * several
        if entries * lanes > ON_STACK:
            blocks.append(t.new(f"call ptr @malloc(i64 {entries * lanes * 8 + 64})"))
            return aligned(t, blocks[-1])
        t.fresh += 1
        t.head.append(f"  %b{t.fresh} = alloca [{entries} x {T}], align 64")
        return f"%b{t.fresh}"

    steps, stride = number(), number()
    starts = [(pointer(), number()) for _ in range(n_state)]
    inputs = [(pointer(), number(), number()) for _ in sizes[n_state:]]
    records = [(pointer(), number()) for _ in range(n_state)]
    ends = [(pointer(), number()) for _ in range(n_state)]
    good = pointer()
    state = [buffer(n) for n in sizes[:n_state]]
    after = [buffer(n) for n in sizes[:n_state]]
    held = [buffer(n) for n in sizes[n_state:]]
    done = buffer(1)
    left, row = t.variable("i64"), t.variable("i64")
    total = t.variable(V)
    for part, n in zip((*state, *after), (*sizes[:n_state], *sizes[:n_state]), strict=True):
        if n % several:  # padding of the last vector remains 0
            t.put(f"store {V} {none}, ptr {t.new(f'getelementptr inbounds {V}, ptr {part}, i64 {n // several}')}, align 8")
    last = t.new("sub i64 %end, 1")

    def worlds(block: str) -> list[str]:
        """Return the worlds on the lanes; the last world is repeated if fewer worlds than lanes remain."""
        here = [t.new(f"add i64 {block}, {lane}") for lane in range(lanes)]
        return [t.new(f"select i1 {t.new(f'icmp slt i64 {w}, {last}')}, i64 {w}, i64 {last}") for w in here]

    def entries(array: str, k: str) -> str:
        return t.new(f"getelementptr inbounds {V}, ptr {array}, i64 {k}")

    def copy(packed: str, which: list[str], outside: str, apart: str, offset: str, size: int, out: bool) -> None:
        """Copy rows of worlds between a packed array and an array in memory."""
        begins = [t.new(f"add i64 {t.new(f'mul i64 {w}, {apart}')}, {offset}") for w in which]
        rows = [t.new(f"getelementptr inbounds double, ptr {outside}, i64 {at}") for at in begins]
        if lanes > 1:
            exchange(t, rows, packed, size, out=out)
            return
        with t.loop("0", str(size)) as k:
            inner, outer = (t.new(f"getelementptr inbounds double, ptr {p}, i64 {k}") for p in (packed, rows[0]))
            source, target = (inner, outer) if out else (outer, inner)
            t.put(f"store double {t.new(f'load double, ptr {source}, align 8')}, ptr {target}, align 8")

    with t.loop("%begin", "%end", lanes) as block:
        here = worlds(block)
        for part, (array, apart), n in zip(state, starts, sizes, strict=False):
            copy(part, here, array, apart, "0", n, out=False)
        t.put(f"store {T} {zero}, ptr {done}, align 8")
        t.put(f"store i64 {stride}, ptr {left}, align 8")
        t.put(f"store i64 0, ptr {row}, align 8")
        with t.loop("0", steps) as k:
            first = t.new(f"icmp eq i64 {k}, 0")
            for part, (array, apart, each), n in zip(held, inputs, sizes[n_state:], strict=True):
                changes = t.new(f"or i1 {first}, {t.new(f'icmp ne i64 {each}, 0')}")
                with t.loop("0", t.new(f"zext i1 {changes} to i64")):
                    copy(part, here, array, apart, t.new(f"mul i64 {k}, {each}"), n, out=False)
            t.put(f"call void {step}({', '.join(f'ptr {p}' for p in (*state, *held, *after))})")
            t.put(f"store {V} {none}, ptr {total}, align 8")
            for part, n in zip(after, sizes, strict=False):
                with t.loop("0", str(-(-n // several))) as j:  # x · 0 is not 0 if x is not finite
                    nought = t.new(f"fmul {V} {t.new(f'load {V}, ptr {entries(part, j)}, align 8')}, {none}")
                    sum_ = t.new(f"fadd {V} {t.new(f'load {V}, ptr {total}, align 8')}, {nought}")
                    t.put(f"store {V} {sum_}, ptr {total}, align 8")
            noughts = t.new(f"load {V}, ptr {total}, align 8")
            if lanes == 1:
                noughts = t.new(f"call reassoc double @llvm.vector.reduce.fadd.v{WIDE}f64(double 0.0, {V} {noughts})")
            taken = t.new(f"load {T}, ptr {done}, align 8")
            number_of = t.new(f"sitofp i64 {k} to double")
            if lanes > 1:
                first_lane = t.new(f"insertelement {T} poison, double {number_of}, i32 0")
                number_of = t.new(f"shufflevector {T} {first_lane}, {T} poison, <{lanes} x i32> zeroinitializer")
            missed = t.new(f"fsub {T} {number_of}, {taken}")  # 0 as long as every step has been taken
            finite = t.new(f"fcmp oeq {T} {t.new(f'fadd {T} {noughts}, {missed}')}, {zero}")
            for new, old, n in zip(after, state, sizes, strict=False):
                with t.loop("0", str(-(-n // several))) as j:
                    x, y = (t.new(f"load {V}, ptr {entries(a, j)}, align 8") for a in (new, old))
                    t.put(f"store {V} {t.new(f'select {mask} {finite}, {V} {x}, {V} {y}')}, ptr {entries(old, j)}, align 8")
            count = t.new(f"fadd {T} {taken}, {one}")
            kept = t.new(f"select {mask} {finite}, {T} {count}, {T} {taken}")
            t.put(f"store {T} {kept}, ptr {done}, align 8")
            remaining = t.new(f"sub i64 {t.new(f'load i64, ptr {left}, align 8')}, 1")
            due = t.new(f"icmp eq i64 {remaining}, 0")
            t.put(f"store i64 {t.new(f'select i1 {due}, i64 {stride}, i64 {remaining}')}, ptr {left}, align 8")
            at_row = t.new(f"load i64, ptr {row}, align 8")
            with t.loop("0", t.new(f"zext i1 {due} to i64")):
                for part, (array, apart), n in zip(state, records, sizes, strict=False):
                    copy(part, here, array, apart, t.new(f"mul i64 {at_row}, {n}"), n, out=True)
            one_more = t.new(f"zext i1 {due} to i64")
            t.put(f"store i64 {t.new(f'add i64 {at_row}, {one_more}')}, ptr {row}, align 8")
        for part, (array, apart), n in zip(state, ends, sizes, strict=False):
            copy(part, here, array, apart, "0", n, out=True)
        copy(done, here, good, "1", "0", 1, out=True)
    for block in blocks:
        t.put(f"call void @free(ptr {block})")
    body = "\n".join([*t.head, *t.lines])
    # Copy loops must remain loops: memcpy would be a distant symbol and prevent the small code model.
    attributes = f'{VECTORS} "no-builtin-memcpy" "no-builtin-memset"'
    text = f"define void @loop(ptr noalias %table, i64 %begin, i64 %end) {attributes} {{\n{body}\n  ret void\n}}\n"
    reduction = f"declare double @llvm.vector.reduce.fadd.v{WIDE}f64(double, <{WIDE} x double>)"
    return "\n".join([*module.text(), *([reduction] if lanes == 1 else []), text])
