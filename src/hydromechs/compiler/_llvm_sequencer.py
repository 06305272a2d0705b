"""Sequencer: machine code, written as LLVM IR, that interprets the words of any routine on 1, 4 or 8 lanes.

`loop(table, begin, end)` runs a routine for the worlds begin..end, with one world per lane at a time. The numbers of these
worlds are in one workspace of packed entries; a packed entry contains the values of all lanes. The table consists of the 64-bit
integers listed in `RunTable`. The words are operations of `Op` with their operands. Offsets and sizes are counted in packed
entries of the workspace.

A mask selects the lanes of an operation. Masks form a stack: `WHEN` and `WHILE` push the mask of lanes with a nonzero
condition; `POP` and `AGAIN` pop a mask.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ._llvm_loop import VECTORS, transposed
from ._llvm_solve import WIDE, Loops

DEPTH = 32
"""Maximum number of masks on the stack."""
COUNTERS = 64
"""Maximum number of `WHILE` loops in a routine."""


class RunTable(enum.IntEnum):
    """Indices into the table of a run."""

    WORDS = 0
    """Address of the words."""
    PASSES = 1
    """Number of passes."""
    ENTRIES = 2
    """Size of the workspace [packed entries]."""
    ARRAYS = 3
    """Number of external arrays, then the address of a list with one row for each. A row contains the address, the stride
    between worlds in numbers, the offset in the workspace, the size, and 1 to read, 2 to write or 3 for both."""
    SAMPLED = 5
    """Number of sampled arrays, then the address of a list with one row for each. A row contains the address of the records,
    the stride between worlds in numbers, the offset and the size."""
    ROWS = 7
    """Address of the number of recorded rows, one integer per world."""
    POINTERS = 8
    """Total number of arguments of all calls, then the address of the argument offsets."""
    SIZE = 10
    """Length of the table."""


class Op(enum.IntEnum):
    """Operations of the sequencer, with their operands."""

    END = 0
    """End of a pass."""
    WHEN = 1
    """Start of a conditional block. Operands: condition, word to jump to if no lane remains."""
    POP = 2
    """End of a `WHEN` block."""
    CALL = 3
    """Call of a function. Operands: address of the function, index of its first argument."""
    CHECK = 4
    """Check for finite numbers. Operands: first entry, size, flag. Lanes with a number that is not finite are removed from
    the mask, and their flag becomes 0."""
    MOVE = 5
    """Copy of entries. Operands: source, target, size."""
    RESET = 6
    """Reset of a counter. Operand: counter."""
    WHILE = 7
    """Start of a loop. Operands: condition, counter, maximum of the counter, word to jump to at the end."""
    AGAIN = 8
    """End of a loop. Operand: word to jump back to."""
    STEPS = 9
    """Integration steps. Operands: function, first argument, then the offsets of n, part, goal, h, the step's n, h and
    offset, the results, their size, the target of the results, and alive."""
    SAMPLE = 10
    """Recording of one row."""


class _Sequencer(Loops):
    """Lines of IR on packed entries of a workspace, for a number of worlds (lanes) per vector operation."""

    def __init__(self, lanes: int) -> None:
        super().__init__()
        self.lanes = lanes
        self.T, self.bits = ("double", "i1") if lanes == 1 else (f"<{lanes} x double>", f"<{lanes} x i1>")
        self.integers = "i64" if lanes == 1 else f"<{lanes} x i64>"
        self.full = str((1 << lanes) - 1)

    # -- words and branches ---------------------------------------------------------------------------------------------------

    def word(self, array: str, k: str | int) -> str:
        """Load a 64-bit integer from an array."""
        at = array if k == 0 else self.new(f"getelementptr inbounds i64, ptr {array}, i64 {k}")
        return self.new(f"load i64, ptr {at}, align 8")

    def pointer(self, array: str, k: str | int) -> str:
        """Load an address from an array."""
        return self.new(f"inttoptr i64 {self.word(array, k)} to ptr")

    def label(self, name: str) -> str:
        """Return a new label that starts with `name`."""
        self.fresh += 1
        return f"{name}{self.fresh}"

    def begin(self, label: str) -> None:
        """Start a basic block."""
        self.lines.append(f"{label}:")

    @contextmanager
    def only_if(self, condition: str) -> Iterator[None]:
        """Write lines that run if a condition holds."""
        yes, end = self.label("yes"), self.label("end")
        self.put(f"br i1 {condition}, label %{yes}, label %{end}")
        self.begin(yes)
        yield
        self.put(f"br label %{end}")
        self.begin(end)

    # -- entries and masks ----------------------------------------------------------------------------------------------------

    def entry(self, offset: str) -> str:
        """Return the address of a packed entry of the workspace."""
        return self.new(f"getelementptr inbounds {self.T}, ptr %space, i64 {offset}")

    def load(self, at: str, kind: str = "") -> str:
        """Load a value of all lanes."""
        return self.new(f"load {kind or self.T}, ptr {at}, align 8")

    def store(self, value: str, at: str, kind: str = "") -> None:
        """Store a value of all lanes."""
        self.put(f"store {kind or self.T} {value}, ptr {at}, align 8")

    def same(self, value: float) -> str:
        """Return a constant on all lanes."""
        return f"{value}" if self.lanes == 1 else "<" + ", ".join([f"double {value}"] * self.lanes) + ">"

    def to_byte(self, mask: str) -> str:
        """Convert a mask to an 8-bit integer."""
        n = self.lanes
        number = mask if n == 1 else self.new(f"bitcast {self.bits} {mask} to i{n}")
        return number if n == 8 else self.new(f"zext i{n} {number} to i8")

    def to_mask(self, byte: str) -> str:
        """Convert an 8-bit integer to a mask."""
        n = self.lanes
        number = byte if n == 8 else self.new(f"trunc i8 {byte} to i{n}")
        return number if n == 1 else self.new(f"bitcast i{n} {number} to {self.bits}")

    def top(self) -> str:
        """Return the current mask as an 8-bit integer."""
        at = self.new(f"getelementptr inbounds i8, ptr %masks, i64 {self.new('load i64, ptr %depth, align 8')}")
        return self.new(f"load i8, ptr {at}, align 1")

    def put_top(self, byte: str, rise: int) -> None:
        """Replace the current mask, or push another mask if `rise` is 1."""
        depth = self.new("load i64, ptr %depth, align 8")
        if rise:
            depth = self.new(f"add i64 {depth}, {rise}")
            self.put(f"store i64 {depth}, ptr %depth, align 8")
        self.put(f"store i8 {byte}, ptr {self.new(f'getelementptr inbounds i8, ptr %masks, i64 {depth}')}, align 1")

    def pop(self) -> None:
        """Pop the current mask."""
        depth = self.new(f"sub i64 {self.new('load i64, ptr %depth, align 8')}, 1")
        self.put(f"store i64 {depth}, ptr %depth, align 8")

    def narrowed(self, condition: str) -> str:
        """Return the current mask restricted to lanes with a nonzero condition (an offset), as an 8-bit integer."""
        holds = self.new(f"fcmp une {self.T} {self.load(self.entry(condition))}, {self.same(0.0)}")
        return self.new(f"and i8 {self.top()}, {self.to_byte(holds)}")

    # -- slices ------------------------------------------------------------------------------------------------------------

    def each(self, size: str, line: Callable[[str, str], None]) -> None:
        """Write `line`, a function of counter and item type, for all entries; on one lane an item is a vector of entries."""
        if self.lanes > 1:
            with self.loop("0", size) as k:
                line(k, self.T)
            return
        several = self.new(f"and i64 {size}, {-WIDE}")
        with self.loop("0", several, WIDE) as k:
            line(k, f"<{WIDE} x double>")
        with self.loop(several, size) as k:
            line(k, "double")

    def move(self, source: str, target: str, size: str, byte: str) -> None:
        """Copy entries on the lanes of a mask."""
        a, b = self.entry(source), self.entry(target)

        def at(array: str, k: str) -> str:
            return self.new(f"getelementptr inbounds {self.T}, ptr {array}, i64 {k}")

        everywhere = self.new(f"icmp eq i8 {byte}, {self.full}")
        copy, some, end = self.label("copy"), self.label("some"), self.label("moved")
        self.put(f"br i1 {everywhere}, label %{copy}, label %{some}")
        self.begin(copy)
        self.each(size, lambda k, kind: self.store(self.load(at(a, k), kind), at(b, k), kind))
        self.put(f"br label %{end}")
        self.begin(some)
        if self.lanes > 1:
            mask = self.to_mask(byte)
            with self.loop("0", size) as k:
                new, to = self.load(at(a, k)), at(b, k)
                self.store(self.new(f"select {self.bits} {mask}, {self.T} {new}, {self.T} {self.load(to)}"), to)
        self.put(f"br label %{end}")
        self.begin(end)

    def finite(self, first: str, size: str) -> str:
        """Return the lanes on which all entries are finite, as an 8-bit integer."""
        # x · 0 is not 0 if x is not finite
        sums = {kind: self.variable(kind) for kind in ([self.T] if self.lanes > 1 else [self.T, f"<{WIDE} x double>"])}
        for kind, at in sums.items():
            self.store("zeroinitializer" if "x" in kind else "0.0", at, kind)
        array = self.entry(first)

        def add(k: str, kind: str) -> None:
            zero = "zeroinitializer" if "x" in kind else "0.0"
            x = self.load(self.new(f"getelementptr inbounds {self.T}, ptr {array}, i64 {k}"), kind)
            nought = self.new(f"fmul {kind} {x}, {zero}")
            self.store(self.new(f"fadd {kind} {self.load(sums[kind], kind)}, {nought}"), sums[kind], kind)

        self.each(size, add)
        total = self.load(sums[self.T])
        if self.lanes == 1:
            several = self.load(sums[f"<{WIDE} x double>"], f"<{WIDE} x double>")
            total = self.new(
                f"call reassoc double @llvm.vector.reduce.fadd.v{WIDE}f64(double {total}, <{WIDE} x double> {several})"
            )
        return self.to_byte(self.new(f"fcmp oeq {self.T} {total}, {self.same(0.0)}"))

    def worlds(self) -> list[str]:
        """Return the worlds on the lanes; the last world is repeated if fewer worlds than lanes remain."""
        here = [self.new(f"add i64 %block, {lane}") for lane in range(self.lanes)]
        return [self.new(f"select i1 {self.new(f'icmp slt i64 {w}, %last')}, i64 {w}, i64 %last") for w in here]

    def exchange(self, row: str, out: bool) -> None:
        """Copy an array from the memory of the worlds to the workspace, or back if `out`; `row` is its row in the table."""
        outside, apart, size = self.pointer(row, 0), self.word(row, 1), self.word(row, 3)
        packed = self.entry(self.word(row, 2))
        rows = [
            self.new(f"getelementptr inbounds double, ptr {outside}, i64 {self.new(f'mul i64 {w}, {apart}')}")
            for w in self.worlds()
        ]
        n = self.lanes
        whole = self.new(f"and i64 {size}, {-n}") if n > 1 else size
        if n > 1:
            with self.loop("0", whole, n) as first:
                inside = self.new(f"getelementptr inbounds {self.T}, ptr {packed}, i64 {first}")
                entries = [self.new(f"getelementptr inbounds {self.T}, ptr {inside}, i64 {k}") for k in range(n)]
                beside = [self.new(f"getelementptr inbounds double, ptr {p}, i64 {first}") for p in rows]
                sources, targets = (entries, beside) if out else (beside, entries)
                for value, p in zip(transposed(self.new, [self.load(p) for p in sources]), targets, strict=True):
                    self.store(value, p)
        with self.loop(whole if n > 1 else "0", size) as k:
            for lane, p in enumerate(rows):
                index = k if n == 1 else self.new(f"add i64 {self.new(f'mul i64 {k}, {n}')}, {lane}")
                inner = self.new(f"getelementptr inbounds double, ptr {packed}, i64 {index}")
                outer = self.new(f"getelementptr inbounds double, ptr {p}, i64 {k}")
                source, target = (inner, outer) if out else (outer, inner)
                self.store(self.load(source, "double"), target, "double")

    def sample(self, byte: str) -> None:
        """Record one row for each lane of a mask."""
        count, table = self.word("%table", RunTable.SAMPLED), self.pointer("%table", RunTable.SAMPLED + 1)
        rows = self.pointer("%table", RunTable.ROWS)
        for lane, world in enumerate(self.worlds()):
            bit = self.new(f"and i8 {byte}, {1 << lane}")
            mine = self.new(f"icmp slt i64 {self.new(f'add i64 %block, {lane}')}, %end")
            with self.only_if(self.new(f"and i1 {mine}, {self.new(f'icmp ne i8 {bit}, 0')}")):
                counter = self.new(f"getelementptr inbounds i64, ptr {rows}, i64 {world}")
                number = self.load(counter, "i64")
                with self.loop("0", count) as k:
                    row = self.new(f"getelementptr inbounds i64, ptr {table}, i64 {self.new(f'mul i64 {k}, 4')}")
                    outside, apart, first, size = self.pointer(row, 0), self.word(row, 1), self.word(row, 2), self.word(row, 3)
                    begin = self.new(
                        f"add i64 {self.new(f'mul i64 {world}, {apart}')}, {self.new(f'mul i64 {number}, {size}')}"
                    )
                    target = self.new(f"getelementptr inbounds double, ptr {outside}, i64 {begin}")
                    with self.loop("0", size) as j:
                        index = self.new(f"add i64 {first}, {j}")
                        at = self.new(f"mul i64 {index}, {self.lanes}")
                        inner = self.new(f"getelementptr inbounds double, ptr %space, i64 {self.new(f'add i64 {at}, {lane}')}")
                        outer = self.new(f"getelementptr inbounds double, ptr {target}, i64 {j}")
                        self.store(self.load(inner, "double"), outer, "double")
                self.store(self.new(f"add i64 {number}, 1"), counter, "i64")

    # -- steps ----------------------------------------------------------------------------------------------------------------

    def steps(self, words: Sequence[str], arguments: str) -> None:
        """Write integration steps on the lanes of the current mask until each lane has reached its goal or diverged."""
        function, _, n_, part_, goal_, h_, step_n, step_h, step_offset, after, size, target, alive = words
        call = self.new(f"inttoptr i64 {function} to ptr")
        n_at, part_at, alive_at, h_at = (self.entry(x) for x in (n_, part_, alive, h_))
        goal_n_at, goal_part_at = self.entry(goal_), self.entry(self.new(f"add i64 {goal_}, 1"))
        places = [self.entry(x) for x in (step_n, step_h, step_offset)]
        T, zero, one = self.T, self.same(0.0), self.same(1.0)
        head, body, end = self.label("steps"), self.label("step"), self.label("stepped")
        self.put(f"br label %{head}")
        self.begin(head)
        n, part, h, goal_n, goal_part = (self.load(at) for at in (n_at, part_at, h_at, goal_n_at, goal_part_at))
        before = self.new(f"fcmp olt {T} {n}, {goal_n}")  # full steps remain
        on_goal = self.new(f"fcmp oeq {T} {n}, {goal_n}")
        less = self.new(f"fcmp olt {T} {part}, {goal_part}")
        last = self.new(f"and {self.bits} {on_goal}, {less}")
        moves = self.new(f"fcmp une {T} {self.load(alive_at)}, {zero}")
        left = self.new(f"and {self.bits} {self.new(f'or {self.bits} {before}, {last}')}, {moves}")
        open_ = self.new(f"and i8 {self.top()}, {self.to_byte(left)}")
        self.put(f"br i1 {self.new(f'icmp ne i8 {open_}, 0')}, label %{body}, label %{end}")
        self.begin(body)
        on_grid = self.new(f"fcmp oeq {T} {part}, {zero}")
        full = self.new(f"and {self.bits} {before}, {on_grid}")
        now = self.new(f"fadd {T} {self.new(f'fmul {T} {n}, {h}')}, {part}")
        number = self.new(f"fadd {T} {n}, {one}")
        edge = self.new(f"fmul {T} {number}, {h}")
        there = self.new(f"fadd {T} {self.new(f'fmul {T} {goal_n}, {h}')}, {goal_part}")
        until = self.new(f"select {self.bits} {before}, {T} {edge}, {T} {there}")
        short = self.new(f"fsub {T} {until}, {now}")
        for at, whole, divided in zip(places, (n, h, zero), (zero, short, now), strict=True):
            self.store(self.new(f"select {self.bits} {full}, {T} {whole}, {T} {divided}"), at)
        self.put(f"call void {call}(ptr {arguments})")
        good = self.new(f"and i8 {open_}, {self.finite(after, size)}")
        self.move(after, target, size, good)
        taken = self.to_mask(good)
        new_n = self.new(f"select {self.bits} {before}, {T} {number}, {T} {n}")
        new_part = self.new(f"select {self.bits} {before}, {T} {zero}, {T} {goal_part}")
        self.store(self.new(f"select {self.bits} {taken}, {T} {new_n}, {T} {n}"), n_at)
        self.store(self.new(f"select {self.bits} {taken}, {T} {new_part}, {T} {part}"), part_at)
        lost = self.to_mask(self.new(f"xor i8 {open_}, {good}"))
        self.store(self.new(f"select {self.bits} {lost}, {T} {zero}, {T} {self.load(alive_at)}"), alive_at)
        self.put(f"br label %{head}")
        self.begin(end)


def sequencer_text(lanes: int) -> str:
    """Return the LLVM IR of the sequencer."""
    t = _Sequencer(lanes)
    width = 8 * lanes
    entries, passes = t.word("%table", RunTable.ENTRIES), t.word("%table", RunTable.PASSES)
    pointers, words = t.word("%table", RunTable.POINTERS), t.pointer("%table", RunTable.WORDS)
    offsets = t.pointer("%table", RunTable.POINTERS + 1)
    arrays, rows = t.word("%table", RunTable.ARRAYS), t.pointer("%table", RunTable.ARRAYS + 1)
    size = t.new(f"add i64 {t.new(f'mul i64 {entries}, {width}')}, 64")
    listed = t.new(f"mul i64 {pointers}, 8")
    memory = t.new(f"call ptr @malloc(i64 {t.new(f'add i64 {size}, {listed}')})")
    above = t.new(f"add i64 {t.new(f'ptrtoint ptr {memory} to i64')}, 63")
    t.put(f"%space = inttoptr i64 {t.new(f'and i64 {above}, -64')} to ptr")
    t.put(f"%given = getelementptr inbounds i8, ptr {memory}, i64 {size}")
    t.put("%last = sub i64 %end, 1")
    with t.loop("0", pointers) as k:
        at = t.new(f"getelementptr inbounds ptr, ptr %given, i64 {k}")
        t.put(f"store ptr {t.entry(t.word(offsets, k))}, ptr {at}")

    with t.loop("%begin", "%end", lanes) as block:
        t.put(f"%block = add i64 {block}, 0")
        with t.loop("0", entries) as k:
            t.store("zeroinitializer" if lanes > 1 else "0.0", t.entry(k))
        for out in (False, True):
            if out:
                with t.loop("0", passes):
                    _one_pass(t, words)
            with t.loop("0", arrays) as k:
                row = t.new(f"getelementptr inbounds i64, ptr {rows}, i64 {t.new(f'mul i64 {k}, 5')}")
                concerned = t.new(f"and i64 {t.word(row, 4)}, {2 if out else 1}")
                with t.only_if(t.new(f"icmp ne i64 {concerned}, 0")):
                    t.exchange(row, out)
    t.put(f"call void @free(ptr {memory})")
    head = [
        f"  %masks = alloca [{DEPTH} x i8], align 8",
        f"  %counters = alloca [{COUNTERS} x i64], align 8",
        "  %depth = alloca i64, align 8",
        "  %at = alloca i64, align 8",
    ]
    body = "\n".join([*head, *t.head, *t.lines])
    attributes = f'{VECTORS} "no-builtin-memcpy" "no-builtin-memset"'
    declared = ["declare ptr @malloc(i64)", "declare void @free(ptr)"]
    declared.append(f"declare double @llvm.vector.reduce.fadd.v{WIDE}f64(double, <{WIDE} x double>)")
    function = f"define void @loop(ptr noalias %table, i64 %begin, i64 %end) {attributes} {{\n{body}\n  ret void\n}}\n"
    return "\n".join([*declared, function])


def _one_pass(t: _Sequencer, words: str) -> None:
    t.put("store i64 0, ptr %at, align 8")
    t.put("store i64 0, ptr %depth, align 8")
    t.put(f"store i8 {t.full}, ptr %masks, align 1")
    fetch, end = "fetch", "finished"
    t.put(f"br label %{fetch}")
    t.begin(fetch)
    at = t.new("load i64, ptr %at, align 8")
    here = t.new(f"getelementptr inbounds i64, ptr {words}, i64 {at}")
    cases = " ".join(f"i64 {op.value}, label %op.{op.name}" for op in Op if op is not Op.END)
    t.put(f"switch i64 {t.word(here, 0)}, label %{end} [{cases}]")

    @contextmanager
    def operation(op: Op, operands: int) -> Iterator[list[str]]:
        t.begin(f"op.{op.name}")
        given = [t.word(here, 1 + k) for k in range(operands)]
        t.put(f"store i64 {t.new(f'add i64 {at}, {1 + operands}')}, ptr %at, align 8")
        yield given
        t.put(f"br label %{fetch}")

    def arguments(first: str) -> str:
        return t.new(f"getelementptr inbounds ptr, ptr %given, i64 {first}")

    with operation(Op.WHEN, 2) as (condition, jump):
        left = t.narrowed(condition)
        t.put_top(left, 1)
        with t.only_if(t.new(f"icmp eq i8 {left}, 0")):
            t.pop()
            t.put(f"store i64 {jump}, ptr %at, align 8")
    with operation(Op.POP, 0):
        t.pop()
    with operation(Op.CALL, 2) as (function, first):
        t.put(f"call void {t.new(f'inttoptr i64 {function} to ptr')}(ptr {arguments(first)})")
    with operation(Op.CHECK, 3) as (first, size, flag):
        good, now = t.finite(first, size), t.top()
        t.put_top(t.new(f"and i8 {now}, {good}"), 0)
        lost = t.to_mask(t.new(f"and i8 {now}, {t.new(f'xor i8 {good}, -1')}"))
        place = t.entry(flag)
        t.store(t.new(f"select {t.bits} {lost}, {t.T} {t.same(0.0)}, {t.T} {t.load(place)}"), place)
    with operation(Op.MOVE, 3) as (source, target, size):
        t.move(source, target, size, t.top())
    with operation(Op.RESET, 1) as (counter,):
        t.store("0", t.new(f"getelementptr inbounds i64, ptr %counters, i64 {counter}"), "i64")
    with operation(Op.WHILE, 4) as (condition, counter, limit, jump):
        left = t.narrowed(condition)
        count_at = t.new(f"getelementptr inbounds i64, ptr %counters, i64 {counter}")
        count = t.load(count_at, "i64")
        t.store(t.new(f"add i64 {count}, 1"), count_at, "i64")
        t.put_top(left, 1)
        over = t.new(f"or i1 {t.new(f'icmp eq i8 {left}, 0')}, {t.new(f'icmp sge i64 {count}, {limit}')}")
        with t.only_if(over):
            t.pop()
            t.put(f"store i64 {jump}, ptr %at, align 8")
    with operation(Op.AGAIN, 1) as (back,):
        t.pop()
        t.put(f"store i64 {back}, ptr %at, align 8")
    with operation(Op.STEPS, 13) as given:
        t.steps(given, arguments(given[1]))
    with operation(Op.SAMPLE, 0):
        t.sample(t.top())
    t.begin(end)
