"""Functions that programs call in C and CUDA, each defined once as a function of arrays, and loops over rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ._callee import Argument, Callee
from ._program import Call, Operation, Program
from ._rolled import NUMBERS, ROW, Address, Rolled, Stage

FAST_MEMORY = 48 * 1024
"""Maximum shared memory of a block for arguments and results of functions [bytes]."""
SMALLEST_FLOAT = float(np.finfo(np.float32).tiny)


def c_literal(value: float, real: str) -> str:
    """Return a constant of type `real`, "double" or "float", exact or rounded.

    A nonzero number that is too small for a float becomes the smallest normal number instead of zero, because such numbers
    prevent divisions by the square root of zero.
    """
    if math.isnan(value):
        return "NAN"
    if real == "float" and value and abs(value) < SMALLEST_FLOAT:
        value = math.copysign(SMALLEST_FLOAT, value)
    with np.errstate(over="ignore"):
        rounded = np.float32(value) if real == "float" else np.float64(value)
    if np.isinf(rounded):
        return "INFINITY" if rounded > 0 else "(-INFINITY)"
    text = str(rounded)  # the shortest text that converts back to the same number
    text = text if "." in text or "e" in text else f"{text}.0"
    text = f"{text}f" if real == "float" else text
    return f"({text})" if text.startswith("-") else text


REALS = {"double": np.float64, "float": np.float32}
"""NumPy types of the floating-point types of C."""


class Placed(NamedTuple):
    """Function whose arguments and results are in part in shared memory."""

    name: str
    fast: Mapping[tuple[int, int], int]
    """Places in shared memory, by array and entry; results follow arguments."""
    slow: tuple[int, ...]
    """Arrays that the function takes by address."""


class CFunctions:
    """Functions that programs call, named on first use, for numbers of type `real`; options as in `c_body`.

    `block`: threads of a block; functions that a program calls often get arguments and results in shared memory; 0 for none.
    """

    def __init__(
        self,
        real: str,
        *,
        cuda: bool = False,
        sincos: str | None = None,
        own: Mapping[str, str] | None = None,
        block: int = 0,
    ) -> None:
        self.real, self.cuda, self.sincos, self.own, self.block = real, cuda, sincos, own, block
        self.fast_numbers = 0
        """Numbers of a thread in shared memory."""
        self._placed: dict[object, Placed] = {}
        self.suffix = "f" if real == "float" else ""
        """Suffix of C library functions for this type."""
        self.device = "static __device__" if cuda else "static"
        """Prefix of function definitions."""
        self.text: list[str] = []
        """Function definitions, with callees before callers."""
        self._names: dict[object, str] = {}

    def name(self, callee: Callee, *, overlapping: bool = False) -> str:
        """Return the name of a callee's C function, which takes arrays of arguments, followed by arrays of results.

        Results may overlap arguments if `overlapping`.
        """
        key = callee.key, overlapping
        if key not in self._names:
            body = callee.c(self, overlapping=overlapping)
            alike = self._function("", callee, body)  # equal programs share one function
            if alike not in self._names:
                self._names[alike] = name = f"hm_call{len(self._names)}"
                self.text.append(self._function(name, callee, body))
            self._names[key] = self._names[alike]
        return self._names[key]

    def placed(self, callee: Callee, often: bool) -> Placed:
        """Return the function of a callee, with numbers in shared memory if programs call it often and there is room."""
        if not (often and self.block and isinstance(callee, Program) and not callee.inline):
            return Placed(self.name(callee), {}, tuple(range(len(callee.inputs) + len(callee.outputs))))
        key = callee.key, "fast"
        if key not in self._placed:
            n, read = len(callee.inputs), callee.read_entries
            if callee.calls:
                callee.c(self, overlapping=False)  # its own callees come first
            entries = sorted(read) + [(n + k, j) for k, a in enumerate(callee.outputs) for j in range(a.size)]
            room = FAST_MEMORY // (self.block * np.dtype(REALS[self.real]).itemsize) - self.fast_numbers
            fast = {entry: self.fast_numbers + k for k, entry in enumerate(entries[:room])}
            self.fast_numbers += len(fast)
            slow = sorted({i for i, _ in entries[room:]})
            names = [f"a{k}" for k in range(n)] + [f"r{k}" for k in range(len(callee.outputs))]
            given = [f"{'const ' if i < n else ''}{self.real} *{names[i]}" for i in slow]
            body = callee.c(self, overlapping=False, fast=fast)
            text = "\n".join(f"    {line}" for line in (*(f"(void){names[i]};" for i in slow), *body))
            name = f"hm_call{len(self._names)}"
            self._names[key] = name
            self._placed[key] = Placed(name, fast, tuple(slow))
            self.text.append(f"{self.device} __noinline__ void {name}({', '.join(given) or 'void'})\n{{\n{text}\n}}")
        return self._placed[key]

    def fast(self, number: int) -> str:
        """Return the expression of a number in shared memory."""
        return f"hm_fast[{number * self.block} + threadIdx.x]"

    @property
    def fast_memory(self) -> list[str]:
        """Definition of the shared memory."""
        return [f"static __shared__ {self.real} hm_fast[{self.fast_numbers * self.block}];"] if self.fast_numbers else []

    def _function(self, name: str, callee: Callee, body: Sequence[str]) -> str:
        how = self.device
        if self.cuda:
            how += " __forceinline__" if callee.inline else " __noinline__"
        given = [f"const {self.real} *a{k}" for k in range(len(callee.inputs))]
        given += [f"{self.real} *r{k}" for k in range(len(callee.outputs))]
        unused = [f"(void)a{k};" for k in range(len(callee.inputs))] + [f"(void)r{k};" for k in range(len(callee.outputs))]
        text = "\n".join(f"    {line}" for line in (*unused, *body))
        return f"{how} void {name}({', '.join(given)})\n{{\n{text}\n}}"

    def literal(self, value: float) -> str:
        """Return a number as a constant."""
        return c_literal(value, self.real)

    def once(self, name: str, text: Callable[[], str]) -> str:
        """Add a definition that several callees share, if missing; return the name of the definition."""
        if name not in self._names:
            self._names[name] = name
            self.text.append(text())
        return name

    def constants(self, name: str, kind: str, values: Sequence[float]) -> str:
        """Write an array of constants of type `kind` ("int", "float" or "double"); return its name, which contains `name`."""
        name = f"hm_{name}{len(self.text)}"
        entries = ", ".join(str(int(x)) if kind == "int" else c_literal(x, kind) for x in values)
        if self.cuda and not all(map(math.isfinite, values)):  # nvrtc has no constant for infinity, so write the bits
            bits, of = ("unsigned long long", np.uint64) if kind == "double" else ("unsigned int", np.uint32)
            entries = ", ".join(f"{x}u{'ll' if kind == 'double' else ''}" for x in np.array(values, dtype=REALS[kind]).view(of))
            self.text.append(f"{self.device} const {bits} {name}_bits[{len(values)}] = {{{entries}}};")
            return f"((const {kind} *){name}_bits)"
        self.text.append(f"{self.device} const {kind} {name}[{len(values)}] = {{{entries}}};")
        return name


def rolled_body(functions: CFunctions, rolled: Rolled) -> list[str]:
    """Return the statements of a loop with arguments a0, a1, ... and results r0, r1, ..."""
    real = functions.real
    arrays = {a.name: f"a{k}" for k, a in enumerate(rolled.inputs)} | {a.name: f"r{k}" for k, a in enumerate(rolled.outputs)}
    arrays |= {name: f"w{k}" for k, name in enumerate(rolled.work)}
    if rolled.numbers.size:
        arrays[NUMBERS] = functions.constants("numbers", real, rolled.numbers.tolist())
    lines = [f"{real} {arrays[name]}[{max(1, size)}];" for name, size in rolled.work.items()]
    for a in rolled.outputs:
        if a.name in rolled.cleared:
            lines.append(f"for (int i = 0; i < {a.size}; ++i) {arrays[a.name]}[i] = 0;")
    rows, width = len(rolled.table), len(rolled.columns)
    table = functions.constants("table", "int", rolled.table.ravel().tolist()) if rolled.table.size else ""
    index = {ROW: "row"} | {column: f"{table}[row * {width} + {k}]" for k, column in enumerate(rolled.columns)}
    for sweep in rolled.sweeps:
        inside = [line for stage in sweep.stages for line in _stage(functions, stage, arrays, index)]
        if sweep.once:
            lines += inside
        else:
            order = f"int row = {rows - 1}; row >= 0; --row" if sweep.backward else f"int row = 0; row < {rows}; ++row"
            lines += [f"for ({order}) {{", *(f"    {line}" for line in inside), "}"]
    return lines


def _stage(functions: CFunctions, stage: Stage, arrays: dict[str, str], index: dict[str, str]) -> list[str]:
    calls = []
    for program, places in zip(stage.programs, stage.places, strict=True):
        pointers = ", ".join(_pointer(p, arrays, index) for p in places)
        calls.append(f"{functions.name(program, overlapping=True)}({pointers});")
    if stage.column is None:
        return calls[:1]
    return [f"switch ({index[stage.column]}) {{", *(f"case {k}: {call} break;" for k, call in enumerate(calls)), "}"]


def _pointer(place: Address, arrays: dict[str, str], index: dict[str, str]) -> str:
    column = "" if place.column is None else f" + {place.stride} * {index[place.column]}"
    return f"{arrays[place.array]}{column}" + (f" + {place.shift}" if place.shift else "")


def as_program(rolled: Rolled) -> Program:
    """Return a program that only calls a loop over bodies."""
    operations = [Operation("input", value=(k, i)) for k, a in enumerate(rolled.inputs) for i in range(a.size)]
    given = _places(rolled.inputs, 0)
    call = len(operations)
    operations.append(Operation("call", value=0))
    results = _places(rolled.outputs, len(operations))
    operations += [Operation("result", call, value=(k, i)) for k, a in enumerate(rolled.outputs) for i in range(a.size)]
    return Program(rolled.name, rolled.inputs, rolled.outputs, tuple(operations), results, None, (Call(rolled, given),))


def _places(arguments: Sequence[Argument], first: int) -> tuple[tuple[int, ...], ...]:
    out = []
    for a in arguments:
        out.append(tuple(range(first, first + a.size)))
        first += a.size
    return tuple(out)
