"""Programs as LLVM IR: one emitter for 1, 4 or 8 lanes, with equal operations for scalars and vectors.

A module contains three functions:

* `eval(in..., out...)` (one lane only) takes pointers to the entries of each argument.
* `loop(table, begin, end)` evaluates the worlds begin..end of arrays. `table` contains address and stride (in numbers) of each
  argument. A partial last block repeats its last world, which stores equal results twice but needs no mask.
* `objects(self, arguments, n)` (one lane only) is a built-in function of Python. If every argument is a contiguous NumPy array
  of float64 with the correct shape, it evaluates the program and returns True. Otherwise it only returns False.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ._callee import Callee
from ._llvm import LIBRARY, native_lanes
from ._llvm_loop import VECTORS, loop_text, transposed
from ._llvm_objects import objects_text
from ._llvm_rolled import rolled_module
from ._llvm_sincos import double, sincos_text
from ._operations import FLAGS, KINDS, Intrinsic, Kind, Library, Lines, OfPair
from ._program import Packed, Program
from ._rolled import Rolled
from ._short_waits import ABREAST, OneLane, short_waits

STRETCH = 32
"""Number of consecutive operations on one lane that LLVM may reorder; annotations separate these groups."""

INTRINSICS = [way.name for k in KINDS.values() if isinstance(way := k.dialects["llvm"], Intrinsic)]
"""Names of LLVM intrinsics."""


def packed_width(count: int) -> int:
    """Return the number of lanes of the function that evaluates `count` points: 1, 2, 4, or 8 if a register is wide enough."""
    return next((width for width in (1, 2, 4) if count <= width), native_lanes())


class Module:
    """Functions that programs of one module call, each defined once, keyed by name.

    A callee takes pointers to packed arrays, whose entries contain the values of all lanes. If a function of one lane evaluates
    several points on lanes, a nested module contains the functions for that number of lanes. For `rarely_called` programs,
    compile time matters more than run time. `fused` is false for machines without fused multiply-add.
    """

    def __init__(self, lanes: int, rarely_called: bool = False, fused: bool = True) -> None:
        self.lanes, self.rarely_called, self.fused = lanes, rarely_called, fused
        self.type = "double" if lanes == 1 else f"<{lanes} x double>"
        self.parts: list[str] = []
        self.names: dict[object, str] = {}
        self.steps = 0
        self.wider: dict[int, Module] = {}
        self.common: dict[str, str] = {}

    def ordered(self, program: Program) -> OneLane:
        """Return a program with its operations ordered for this number of lanes."""
        return short_waits(program) if self.lanes == 1 and not self.rarely_called else OneLane(program, {})

    def wide(self, lanes: int) -> Module:
        """Return the module of functions for another number of lanes."""
        module = self.wider.setdefault(lanes, Module(lanes, self.rarely_called, self.fused))
        module.common = self.common
        return module

    def name(self, callee: Callee) -> str:
        """Return the name of a callee in the module; the first call adds the text of the callee."""
        return self._named(callee.key, lambda name: callee.llvm(name, self))

    def name_at_points(self, program: Program, shared: tuple[bool, ...]) -> str:
        """Return the name of a program with several points on lanes; `shared` arguments have one value for all lanes."""
        return self._named((program, shared), lambda name: self.packed(name, program, shared))

    def _named(self, key: object, text: Callable[[str], str]) -> str:
        if key not in self.names:
            self.names[key] = name = f"@callee{len(self.names)}x{self.lanes}"
            self.parts.append(text(name))
        return self.names[key]

    def once(self, name: str, text: Callable[[], str]) -> None:
        """Add a definition that several callees share, if missing."""
        if name not in self.common:
            self.common[name] = text()

    def step(self, program: Program, shared: tuple[bool, ...]) -> str:
        """Return the name of a program as an inlined function whose results may overwrite its arguments."""
        self.steps += 1
        name = f"@step{self.steps}x{self.lanes}"
        self.parts.append(self.packed(name, program, shared, noalias="", attributes="alwaysinline nounwind"))
        return name

    def table(self, values: list[str]) -> str:
        """Add an array of constants; return its name."""
        name = f"@constants{len(self.parts)}x{self.lanes}"
        row = ", ".join(f"double {x}" for x in values)
        self.parts.append(f"{name} = internal constant [{len(values)} x double] [{row}], align 64\n")
        return name

    def packed(
        self,
        name: str,
        program: Program,
        shared: tuple[bool, ...] = (),
        noalias: str = "noalias ",
        attributes: str = f"noinline {VECTORS}",
    ) -> str:
        """Return the text of a program as a function of packed arrays."""
        program, abreast = self.ordered(program)
        e = Emitter(program, self, abreast)
        n = len(program.inputs)

        def load(argument: int, entry: int) -> str:
            if shared and shared[argument]:
                value = e.new(f"load double, ptr {e.place(f'%p{argument}', entry, 'double')}, align 8")
                return e.vector([value] * self.lanes, e.type, 1)
            return e.new(f"load {e.type}, ptr {e.place(f'%p{argument}', entry)}, align 8")

        def source(argument: int, entry: int) -> str:
            return "" if shared and shared[argument] else e.place(f"%p{argument}", entry)

        value = e.operations(load, source)
        for k, places in enumerate(program.results):
            for entry in e.copied(places, f"%p{n + k}"):
                e.lines.append(f"  store {e.type} {value(places[entry])}, ptr {e.place(f'%p{n + k}', entry)}, align 8")
        signature = ", ".join(f"ptr {noalias}%p{k}" for k in range(n + len(program.outputs)))
        body = "\n".join([*e.allocas, *e.lines])
        return f"define internal void {name}({signature}) {attributes} {{\n{body}\n  ret void\n}}\n"

    def text(self) -> list[str]:
        """Return all functions, preceded by declarations of the LLVM intrinsics and C functions that they use."""
        modules = [self, *self.wider.values()]
        declared = [line for module in modules for line in module._declarations()]
        own = [part for module in modules for part in (sincos_text(module.type, module.lanes, module.fused), *module.parts)]
        return [*dict.fromkeys(declared), *own, *self.common.values()]

    def _declarations(self) -> list[str]:
        suffix = "f64" if self.lanes == 1 else f"v{self.lanes}f64"
        T = self.type
        declared = [f"declare {T} @llvm.{f}.{suffix}({T})" for f in INTRINSICS]
        declared += ["declare double @llvm.fabs.f64(double)", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"]
        declared += [f"declare double @{f}({', '.join(['double'] * n)})" for f, n in LIBRARY.items()]
        declared += ["declare ptr @malloc(i64)", "declare void @free(ptr)"]
        declared += ["declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"]
        declared += ["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"]
        declared += ["declare void @llvm.codeview.annotation(metadata)", '!0 = !{!"order"}']
        integers = T.replace("double", "i64")
        declared.append(f"declare {integers} @llvm.ctlz.{suffix.replace('f', 'i')}({integers}, i1)")
        return [*declared, f"declare {T} @llvm.fma.{suffix}({T}, {T}, {T})"]


class Results(NamedTuple):
    """Names of the results of a call."""

    load: list[Callable[[int], str]]
    """Function for each result that returns the name of an entry."""
    at: list[str]
    """Name of the packed array of each result; empty if points on lanes are interleaved."""
    callee: Callee


class Emitter:
    """Writer of a program's operations as lines of IR; groups in `abreast` become one vector operation, see `OneLane`."""

    def __init__(
        self, program: Program, module: Module, abreast: Mapping[tuple[str, int], tuple[int, ...]] = MappingProxyType({})
    ) -> None:
        self.abreast = abreast
        self.program, self.module, self.lanes, self.type = program, module, module.lanes, module.type
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.fresh = 0
        numbers = {"zero": 0.0, "one": 1.0, "minus_one": -1.0}
        flags = FLAGS if self.lanes == 1 else f"{FLAGS} reassoc"  # on one lane, sums are already ordered
        self.words = {"flags": flags, "bits": self.bits, **{name: self.constant(x) for name, x in numbers.items()}}
        self.called: dict[int, Results] = {}  # keyed by the index of the call
        self.origin: dict[str, tuple[str, int, int, int]] = {}  # results of wide calls: buffer, entry, lanes, lane

    def buffer(self, size: int, kind: str = "") -> str:
        """Allocate a packed array on the stack; return its name."""
        name = f"%buffer{len(self.allocas)}"
        self.allocas.append(f"  {name} = alloca [{max(1, size)} x {kind or self.type}], align 64")
        return name

    def place(self, pointer: str, entry: int, kind: str = "") -> str:
        """Return the address of an entry of a packed array."""
        return self.new(f"getelementptr inbounds {kind or self.type}, ptr {pointer}, i64 {entry}") if entry else pointer

    def call_function(self, callee: Callee, arguments: Sequence[Sequence[str]], given: Sequence[str] = ()) -> Results:
        """Call a function of packed arrays, given the entry names of each argument; `given` names packed arrays, or is ""."""
        name = self.module.name(callee)
        there = [*given, *[""] * (len(callee.inputs) + len(callee.outputs) - len(given))]
        buffers = [x or self.buffer(a.size) for a, x in zip((*callee.inputs, *callee.outputs), there, strict=True)]
        for row, at, x in zip(arguments, buffers, there, strict=False):
            for entry, value in enumerate(() if x else row):
                self.lines.append(f"  store {self.type} {value}, ptr {self.place(at, entry)}, align 8")
        self.lines.append(f"  call void {name}({', '.join(f'ptr {b}' for b in buffers)})")

        def loaded(at: str) -> Callable[[int], str]:
            return lambda entry: self.new(f"load {self.type}, ptr {self.place(at, entry)}, align 8")

        results = buffers[len(arguments) :]
        return Results([loaded(at) for at in results], results, callee)

    def call_packed(self, callee: Packed, arguments: Sequence[Sequence[str]]) -> Results:
        """Evaluate points in parallel on lanes if this function has one lane, otherwise sequentially."""
        program, count = callee.program, callee.points
        rows = [
            [
                row if same else row[k * a.size : (k + 1) * a.size]
                for row, a, same in zip(arguments, program.inputs, callee.shared, strict=True)
            ]
            for k in range(count)
        ]
        width = packed_width(count) if self.lanes == 1 else 1
        if width == 1:
            points = [self.call_function(program, row).load for row in rows]
        else:
            points = []
            for first in range(0, count, width):
                points += self.call_wide(callee, rows[first : first + width], width)

        def gathered(k: int, size: int) -> Callable[[int], str]:
            return lambda entry: points[entry // size][k](entry % size)

        return Results([gathered(k, a.size) for k, a in enumerate(program.outputs)], [], callee)

    def call_wide(
        self, callee: Packed, rows: Sequence[Sequence[Sequence[str]]], width: int
    ) -> list[list[Callable[[int], str]]]:
        """Evaluate up to `width` points by one call of a function with `width` lanes; unused lanes repeat the last point."""
        program, wide = callee.program, self.module.wide(width)
        name, T = wide.name_at_points(program, callee.shared), wide.type
        lanes = [*rows, *[rows[-1]] * (width - len(rows))]
        buffers = []
        for k, a in enumerate(program.inputs):
            values = [[row[k][entry] for row in lanes] for entry in range(a.size)]
            if values and not callee.shared[k] and all(x.startswith("0x") for lane in values for x in lane):
                buffers.append(wide.table([x for lane in values for x in lane]))
                continue
            if callee.shared[k]:
                buffers.append(self.buffer(a.size, "double"))
                for entry, (value, *_) in enumerate(values):
                    at = self.place(buffers[-1], entry, "double")
                    self.lines.append(f"  store double {value}, ptr {at}, align 8")
                continue
            buffers.append(self.buffer(a.size, T))
            for entry, scalars in enumerate(values):
                value = self.vector(scalars, T, len(rows))
                self.lines.append(f"  store {T} {value}, ptr {self.place(buffers[-1], entry, T)}, align 8")
        buffers += [self.buffer(a.size, T) for a in program.outputs]
        self.lines.append(f"  call void {name}({', '.join(f'ptr {b}' for b in buffers)})")

        def loaded(at: str, lane: int) -> Callable[[int], str]:
            def load(entry: int) -> str:
                value = self.new(f"load double, ptr {self.place(at, entry * width + lane, 'double')}, align 8")
                self.origin[value] = (at, entry, width, lane)
                return value

            return load

        return [[loaded(at, lane) for at in buffers[len(program.inputs) :]] for lane in range(len(rows))]

    def vector(self, scalars: list[str], kind: str, count: int) -> str:
        """Return a vector of scalars, the first `count` of which differ; results of wide calls are loaded as one vector."""
        at = self.origin.get(scalars[0])
        if at and all(self.origin.get(x) == (*at[:2], len(scalars), k) for k, x in enumerate(scalars[:count])):
            return self.new(f"load {kind}, ptr {self.place(at[0], at[1], kind)}, align 8")
        if all(x.startswith("0x") for x in scalars):
            return "<" + ", ".join(f"double {x}" for x in scalars) + ">"
        if len(set(scalars)) == 1:
            one = self.new(f"insertelement {kind} poison, double {scalars[0]}, i32 0")
            return self.new(f"shufflevector {kind} {one}, {kind} poison, <{len(scalars)} x i32> zeroinitializer")
        out = "poison"
        for lane, x in enumerate(scalars):
            out = self.new(f"insertelement {kind} {out}, double {x}, i32 {lane}")
        return out

    def entry(self, table: str, n: int, index: str) -> str:
        """Return the table entry at an index that is clamped to the valid range; NaN returns NaN."""
        T, zero = self.type, self.constant(0.0)
        inside = self.compare("ogt", index, zero)  # NaN goes to 0
        low = self.new(f"select {self.bits} {inside}, {T} {index}, {T} {zero}")
        top = self.constant(n - 1.0)
        beyond = self.compare("ogt", low, top)
        held = self.new(f"select {self.bits} {beyond}, {T} {top}, {T} {low}")
        integers = "i64" if self.lanes == 1 else f"<{self.lanes} x i64>"
        whole = self.new(f"fptosi {T} {held} to {integers}")
        out = "poison"
        for lane in range(self.lanes):
            k = whole if self.lanes == 1 else self.new(f"extractelement {integers} {whole}, i32 {lane}")
            x = self.new(f"load double, ptr {self.new(f'getelementptr inbounds double, ptr {table}, i64 {k}')}, align 8")
            out = x if self.lanes == 1 else self.new(f"insertelement {T} {out}, double {x}, i32 {lane}")
        bad = self.compare("uno", index, index)
        return self.new(f"select {self.bits} {bad}, {T} {index}, {T} {out}")

    def new(self, text: str) -> str:
        """Write a line that defines a new value; return the name of the value."""
        self.fresh += 1
        name = f"%t{self.fresh}"
        self.lines.append(f"  {name} = {text}")
        return name

    def constant(self, value: float) -> str:
        text = double(value)
        return text if self.lanes == 1 else "<" + ", ".join([f"double {text}"] * self.lanes) + ">"

    def operations(self, load: Callable[[int, int], str], source: Callable[[int, int], str]) -> Callable[[int], str]:
        """Write all operations; return a function from the index of a value to its name.

        Inputs and results of calls are loaded on first use. `load` writes the load of an input entry, (argument, entry).
        `source` returns the address of an input entry if entries are contiguous, as callees require, otherwise "".
        """
        operations, calls = self.program.operations, self.program.calls
        names: list[str] = [""] * len(operations)
        pairs: dict[str, str] = {}
        found: dict[tuple[str, int], str] = {}  # results of grouped operations, keyed by kind and operand
        done = 0
        self.called.clear()

        def value(place: int) -> str:
            op = operations[place]
            if op.kind == "result" and self.called[op.a].at:  # loaded at each use, not kept across calls
                return self.called[op.a].load[op.value[0]](op.value[1])
            if not names[place]:
                names[place] = load(*op.value) if op.kind == "input" else self.called[op.a].load[op.value[0]](op.value[1])
            return names[place]

        def whole(row: Sequence[int]) -> str:
            """Return the address of an argument of a call that is already contiguous in memory, otherwise ""."""
            first = operations[row[0]] if row else None
            if first is None or first.kind not in ("input", "result") or self.run(row, 0) < len(row):
                return ""
            if first.kind == "input":
                return source(*first.value)
            at = self.called[first.a].at
            return self.place(at[first.value[0]], first.value[1]) if at else ""

        for k, op in enumerate(operations):
            match op.kind:
                case "const":
                    names[k] = self.constant(op.value)
                case "input" | "result":
                    continue
                case "call":
                    callee, places = calls[op.value]
                    given = [whole(row) if callee.reads_in_place else "" for row in places]
                    rows = [() if x else [value(p) for p in row] for row, x in zip(places, given, strict=True)]
                    self.called[k] = callee.llvm_call(self, rows, given)
                case kind:
                    row = self.abreast.get((ABREAST.get(kind, ""), op.a))
                    if row is None:
                        b = value(op.b) if op.b >= 0 else ""
                        names[k] = self.computed(KINDS[kind], value(op.a), b, pairs)
                    else:
                        if (kind, op.a) not in found:
                            for name, results in self.vectors(kind, [value(x) for x in row]).items():
                                found |= {(name, x): y for x, y in zip(row, results, strict=True)}
                        names[k] = found[kind, op.a]
                    done += 1
                    if self.lanes == 1 and done % STRETCH == 0:
                        self.lines.append("  call void @llvm.codeview.annotation(metadata !0)")
        return value

    def run(self, row: Sequence[int], begin: int) -> int:
        """Return the number of contiguous entries from `begin` in one input or result of a call, at least 1."""
        operations = self.program.operations
        first = operations[row[begin]]
        if first.kind not in ("input", "result"):
            return 1
        n = 1
        while begin + n < len(row):
            op = operations[row[begin + n]]
            if (op.kind, op.a, op.value) != (first.kind, first.a, (first.value[0], first.value[1] + n)):
                break
            n += 1
        return n

    def copied(self, row: Sequence[int], target: str) -> list[int]:
        """Copy contiguous results of a loop over bodies; return the entries that remain to be stored."""
        left: list[int] = []
        begin = 0
        while begin < len(row):
            first, n = self.program.operations[row[begin]], self.run(row, begin)
            if first.kind == "result" and self.called[first.a].callee.copies_results and n >= 8:
                source = self.place(self.called[first.a].at[first.value[0]], first.value[1])
                size = f"i64 {8 * self.lanes * n}, i1 false"
                self.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {self.place(target, begin)}, ptr {source}, {size})")
            else:
                left += range(begin, begin + n)
            begin += n
        return left

    def vectors(self, kind: str, operands: list[str]) -> dict[str, list[str]]:
        """Compute sines and cosines, or square roots, of several numbers by one vector operation; return result names."""
        n = packed_width(len(operands))
        T = self.module.wide(n).type
        x = self.vector([*operands, *[operands[-1]] * (n - len(operands))], T, len(operands))
        if kind == "sqrt":
            found = {kind: self.new(f"call {T} @llvm.sqrt.v{n}f64({T} {x})")}
        else:
            both = self.new(f"call {{{T}, {T}}} @sincos{n}({T} {x})")
            found = {name: self.new(f"extractvalue {{{T}, {T}}} {both}, {k}") for k, name in enumerate(("sin", "cos"))}
        lanes = range(len(operands))
        return {name: [self.new(f"extractelement {T} {y}, i32 {lane}") for lane in lanes] for name, y in found.items()}

    def computed(self, kind: Kind, a: str, b: str, pairs: dict[str, str]) -> str:
        """Write an operation of the table; `pairs` contains the sines and cosines computed so far, keyed by angle."""
        T = self.type
        way: Lines | Intrinsic | Library | OfPair = kind.dialects["llvm"]
        match way:
            case Lines(text):
                values: list[str] = []
                for line in text:
                    values.append(self.new(line.format(*values, T=T, a=a, b=b, **self.words)))
                return values[-1]
            case Intrinsic(name):
                return self.new(f"call {T} @llvm.{name}.{self.suffix}({T} {a})")
            case OfPair(place):
                if a not in pairs:
                    pairs[a] = self.new(f"call {{{T}, {T}}} @sincos{self.lanes}({T} {a})")
                return self.new(f"extractvalue {{{T}, {T}}} {pairs[a]}, {place}")
            case Library(name):
                return self.library(name, [a, b][: kind.arity])

    @property
    def suffix(self) -> str:
        return "f64" if self.lanes == 1 else f"v{self.lanes}f64"

    @property
    def bits(self) -> str:
        return "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"

    def compare(self, how: str, a: str, b: str) -> str:
        return self.new(f"fcmp {how} {self.type} {a}, {b}")

    def library(self, name: str, arguments: list[str]) -> str:
        """Call a C library function for each lane."""
        if self.lanes == 1:
            return self.new(f"call double @{name}({', '.join(f'double {a}' for a in arguments)})")
        out = "poison"
        for lane in range(self.lanes):
            scalars = [self.new(f"extractelement {self.type} {a}, i32 {lane}") for a in arguments]
            y = self.new(f"call double @{name}({', '.join(f'double {s}' for s in scalars)})")
            out = self.new(f"insertelement {self.type} {out}, double {y}, i32 {lane}")
        return out

    def load(self, pointers: list[str], entry: int) -> str:
        """Load an entry of an argument in all lanes, from one pointer per lane."""
        out = "poison"
        for lane, pointer in enumerate(pointers):
            at = self.new(f"getelementptr inbounds double, ptr {pointer}, i64 {entry}") if entry else pointer
            x = self.new(f"load double, ptr {at}, align 8")
            out = x if self.lanes == 1 else self.new(f"insertelement {self.type} {out}, double {x}, i32 {lane}")
        return out

    def store(self, value: str, pointers: list[str], entry: int) -> None:
        for lane, pointer in enumerate(pointers):
            at = self.new(f"getelementptr inbounds double, ptr {pointer}, i64 {entry}") if entry else pointer
            x = value if self.lanes == 1 else self.new(f"extractelement {self.type} {value}, i32 {lane}")
            self.lines.append(f"  store double {x}, ptr {at}, align 8")

    def body(self, pointers: list[list[str]]) -> None:
        """Write loads, operations and stores; `pointers` contains one pointer per lane for each input and output."""
        n, loaded = self.lanes, dict[tuple[int, int], list[str]]()

        def load(argument: int, entry: int) -> str:
            first = entry - entry % n
            if n == 1 or first + n > self.program.inputs[argument].size:
                return self.load(pointers[argument], entry)
            if (argument, first) not in loaded:
                at = [self.place(p, first, "double") for p in pointers[argument]]
                rows = [self.new(f"load {self.type}, ptr {p}, align 8") for p in at]
                loaded[argument, first] = transposed(self.new, rows)
            return loaded[argument, first][entry - first]

        def source(argument: int, entry: int) -> str:
            return self.place(pointers[argument][0], entry, "double") if n == 1 else ""

        value = self.operations(load, source)
        for row in self.program.results:
            for place in row:  # results may overwrite arguments, so load all values before the first store
                if n > 1 or self.program.operations[place].kind != "result":
                    value(place)
        for places, to in zip(self.program.results, pointers[len(self.program.inputs) :], strict=True):
            whole = len(places) - len(places) % n if n > 1 else 0
            for first in range(0, whole, n):
                rows = transposed(self.new, [value(place) for place in places[first : first + n]])
                for entries, pointer in zip(rows, to, strict=True):
                    self.lines.append(f"  store {self.type} {entries}, ptr {self.place(pointer, first, 'double')}, align 8")
            for entry in self.copied(places, to[0]) if n == 1 else range(whole, len(places)):
                self.store(value(places[entry]), to, entry)


def llvm_text(program: Program | Rolled, lanes: int, rarely_called: bool = False) -> str:
    """Return the IR of a program or loop for a number of lanes; `rarely_called` favours short compile time over speed."""
    if isinstance(program, Rolled):
        return rolled_module(program, Module(lanes, rarely_called))
    arguments = [*program.inputs, *program.outputs]
    module = Module(lanes, rarely_called)
    names = [f"%p{k}" for k in range(len(arguments))]
    parts: list[str] = []
    if lanes == 1:
        ordered, abreast = module.ordered(program)
        e = Emitter(ordered, module, abreast)
        e.body([[n] for n in names])
        # results may overwrite arguments, so load all values before the first store
        signature, body = ", ".join(f"ptr {n}" for n in names), "\n".join([*e.allocas, *e.lines])
        parts.append(f"define void @eval({signature}) noinline nounwind {{\n{body}\n  ret void\n}}\n")
        parts.append(objects_text(arguments, len(program.inputs)))
    parts.append(loop_text(Emitter(program, module), len(arguments)))
    return "\n".join([*module.text(), *parts, ""])


def packed_text(program: Program | Rolled, lanes: int, rarely_called: bool = False, fused: bool = True) -> str:
    """Return the IR of a program or loop as `packed(given)`, with the addresses of packed arguments, inputs first."""
    module = Module(lanes, rarely_called, fused)
    name, count = module.name(program), len(program.inputs) + len(program.outputs)
    lines = [f"define void @packed(ptr noalias %given) {VECTORS} {{"]
    for k in range(count):
        lines.append(f"  %a{k} = getelementptr inbounds ptr, ptr %given, i64 {k}")
        lines.append(f"  %p{k} = load ptr, ptr %a{k}")
    lines += [f"  call void {name}({', '.join(f'ptr %p{k}' for k in range(count))})", "  ret void", "}", ""]
    return "\n".join([*module.text(), *lines])
