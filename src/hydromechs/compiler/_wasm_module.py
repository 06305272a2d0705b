"""WebAssembly modules with routines, programs and their arrays at fixed addresses, for one world at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs.values import Array

from ._backend import Form
from ._compiled import Recipe
from ._llvm_sequencer import RunTable, sequencer_text
from ._routine import Routine, recipes_of
from ._routine_code import Encoder
from ._wasm import WASM
from ._wasm_link import Linker, words
from ._wasm_math import math_text

RUN = """
define i32 @run(ptr %table, i32 %passes) {{
  %wide = zext i32 %passes to i64
  %p = getelementptr inbounds i64, ptr %table, i64 {passes}
  store i64 %wide, ptr %p, align 8
  %r = getelementptr inbounds i64, ptr %table, i64 {rows}
  %address = load i64, ptr %r, align 8
  %count = inttoptr i64 %address to ptr
  store i64 0, ptr %count, align 8
  call void @loop(ptr %table, i64 0, i64 1)
  %done = load i64, ptr %count, align 8
  %short = trunc i64 %done to i32
  ret i32 %short
}}
"""
"""Function that runs a routine of one world and returns the number of recorded rows."""
MEMORY = """
@heap = global i64 0, align 8
declare i32 @llvm.wasm.memory.size.i32(i32)
declare i32 @llvm.wasm.memory.grow.i32(i32, i32)
define ptr @malloc(i64 %size) nounwind {
  %at = load i64, ptr @heap, align 8
  %more = add i64 %size, 63
  %whole = and i64 %more, -64
  %end = add i64 %at, %whole
  store i64 %end, ptr @heap, align 8
  %pages = call i32 @llvm.wasm.memory.size.i32(i32 0)
  %have = zext i32 %pages to i64
  %needed = lshr i64 %end, 16
  %lacking = icmp uge i64 %needed, %have
  br i1 %lacking, label %grow, label %enough
grow:
  %missing = sub i64 %needed, %have
  %count = trunc i64 %missing to i32
  %plus = add i32 %count, 1
  %old = call i32 @llvm.wasm.memory.grow.i32(i32 0, i32 %plus)
  br label %enough
enough:
  %p = inttoptr i64 %at to ptr
  ret ptr %p
}
define void @free(ptr %p) nounwind {
  %at = ptrtoint ptr %p to i64
  store i64 %at, ptr @heap, align 8
  ret void
}
"""
"""Stack-like memory allocator that starts at `heap`: the last allocated block must be freed first."""


class MemoryPlace(NamedTuple):
    """Address and length of an array of numbers."""

    address: int
    size: int


class PlacedRoutine(NamedTuple):
    """Addresses of the data of a routine."""

    table: int
    """Address of the table, the first argument of the function `run` of the module."""
    arrays: Mapping[str, MemoryPlace]
    """Arrays of state and inputs, keyed by name."""
    records: Mapping[str, MemoryPlace]
    """Records, keyed by name, with the size of one row."""


class PlacedProgram(NamedTuple):
    """Program that is called through the function table."""

    entry: int
    """Index in the function table."""
    arguments: int
    """Address of the list of argument addresses, the only argument."""
    inputs: Mapping[str, MemoryPlace]
    outputs: Mapping[str, MemoryPlace]


class _Entry(NamedTuple):
    """Code of a program, identified by its index in the function table instead of an address."""

    place: int

    def address(self, lanes: int) -> int:
        return self.place


class WasmModule:
    """Module of routines and programs with arrays at fixed addresses, for one world at a time.

    Routines share arrays with equal names. Routines in `separate` have separate state arrays.

    Args:
        routines: Routines, keyed by name.
        programs: Additional programs, keyed by name.
        rows: Number of rows of the records of a routine.
        separate: Names of routines with a separate state.
    """

    def __init__(
        self,
        routines: Mapping[str, Routine],
        programs: Mapping[str, Recipe],
        rows: int,
        separate: Sequence[str] = (),
        progress: Callable[[str], None] = lambda name: None,
    ) -> None:
        recipes: dict[object, Recipe] = {}
        for routine in routines.values():
            recipes |= recipes_of(routine.body)
        recipes |= {r.key: r for r in programs.values()}
        sources: dict[str, str] = {}
        names: dict[object, str] = {}
        for key, recipe in recipes.items():
            progress(recipe.name)
            text = WASM.source(recipe.single_world_program(), Form(packed=True))
            name = hashlib.sha256(text.encode()).hexdigest()
            sources[name], names[key] = text, name
        objects = {name: WASM.object_code(text) for name, text in sources.items()}
        objects["math"] = WASM.object_code(math_text())
        runs = RUN.format(passes=int(RunTable.PASSES), rows=int(RunTable.ROWS))
        objects["memory"] = WASM.object_code(MEMORY)
        objects["sequencer"] = WASM.object_code(sequencer_text(1) + runs)
        self._linker = link = Linker(objects, {name: (name, "packed") for name in sources})
        codes: Any = {key: _Entry(link.entries[name]) for key, name in names.items()}
        self._arrays: dict[str, MemoryPlace] = {}
        self.routines = {
            name: self._placed(routine, codes, rows, f"{name} " if name in separate else "")
            for name, routine in routines.items()
        }
        """Routines, keyed by name."""
        self.programs = {name: self._program(recipe, codes) for name, recipe in programs.items()}
        """Programs, keyed by name."""

    def _new(self, size: int) -> MemoryPlace:
        return MemoryPlace(self._linker.reserve(8 * max(size, 1)), size)

    def _placed(self, routine: Routine, codes: Any, rows: int, before: str) -> PlacedRoutine:
        link, encoder = self._linker, Encoder(routine, 1, codes)
        listed, pointers = encoder.encoded()
        arrays: dict[str, MemoryPlace] = {}
        table_rows: list[int] = []
        for name, size in (*routine.state.items(), *routine.inputs.items()):
            key = f"{before}{name}" if name in routine.state else name
            own = self._arrays.setdefault(key, MemoryPlace(0, size))
            if own.size != size:
                raise ValueError(
                    f"array {name!r} has {own.size} and {size} numbers in two routines; "
                    "use equal sizes or list a routine in separate"
                )
            if not own.address:
                own = self._arrays[key] = self._new(size)
            arrays[name] = own
            table_rows += (own.address, 0, encoder.layout.offsets[name], size, 3 if name in routine.state else 1)
        records = {name: self._new(rows * routine.state[name])._replace(size=routine.state[name]) for name in routine.sampled}
        recorded: list[int] = []
        for name, at in records.items():
            recorded += (at.address, 0, encoder.layout.offsets[name], at.size)
        table = [0] * RunTable.SIZE
        table[RunTable.WORDS], table[RunTable.ENTRIES] = link.put(words(listed)), encoder.layout.size
        table[RunTable.ARRAYS : RunTable.ARRAYS + 2] = len(table_rows) // 5, link.put(words([*table_rows, 0]))
        table[RunTable.SAMPLED : RunTable.SAMPLED + 2] = len(recorded) // 4, link.put(words([*recorded, 0]))
        table[RunTable.ROWS] = link.reserve(8)
        table[RunTable.POINTERS : RunTable.POINTERS + 2] = len(pointers) - 1, link.put(words(pointers))
        return PlacedRoutine(link.put(words(table)), arrays, records)

    def _program(self, recipe: Recipe, codes: Any) -> PlacedProgram:
        inputs = {a.name: self._new(a.size) for a in recipe.inputs}
        outputs = {a.name: self._new(a.size) for a in recipe.outputs}
        addresses = np.array([p.address for p in (*inputs.values(), *outputs.values())], dtype="<u4")
        return PlacedProgram(codes[recipe.key].place, self._linker.put(addresses.tobytes()), inputs, outputs)

    def code(self, values: Mapping[str, Array]) -> bytes:
        """Return the code of the module; `values` contains initial values of arrays, keyed by name."""
        link = self._linker
        for name, x in values.items():
            at = self._arrays[name]
            link.data.append((at.address, np.asarray(x, dtype="<f8").tobytes()))
        heap = link.address("memory", "heap")
        link.data.append((heap, words([-(-link.end // 64) * 64])))
        return link.module({"run": "run"})

    @property
    def heap(self) -> int:
        """Address of the workspace, after all arrays [bytes]."""
        return self._linker.end
