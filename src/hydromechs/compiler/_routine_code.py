"""Routines in machine code: words for the sequencer, and runs of many worlds on lanes and threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from hydromechs.values import Array

from ._backend import Form
from ._backends import NATIVE
from ._cache import cached, fingerprint, source_hash
from ._compiled import MachineCode, Recipe
from ._llvm_sequencer import COUNTERS, Op, RunTable, sequencer_text
from ._routine import (
    CallNode,
    CopyNode,
    Entries,
    Node,
    Pieces,
    RepeatNode,
    Routine,
    SampleNode,
    StepsNode,
    WhenNode,
    recipes_of,
)

ALIGNED = 8
"""Alignment of arrays in the workspace in entries, a cache line on one lane."""


class PackedCode(MachineCode):
    """Program compiled as a function of packed arrays."""

    @property
    def _arguments(self) -> int:
        return 0

    def form(self, lanes: int) -> Form:
        return Form(lanes, rarely=self.recipe.rarely_called, packed=True)

    def address(self, lanes: int) -> int:
        """Return the address of the machine code for a number of lanes."""
        return self.code(lanes).address


@cache
def _sequencer(lanes: int) -> Any:
    form = Form(lanes)
    key = fingerprint(source_hash(), "sequencer", lanes, *NATIVE.versions())
    return NATIVE.load(cached(key, lambda: NATIVE.build(sequencer_text(lanes), Form(lanes, state=0))), 0, form)


class Workspace(NamedTuple):
    """Layout of the workspace of a routine."""

    offsets: Mapping[str, int]
    scratch: int
    """First entry of the slice for arguments and results of one call."""
    size: int


class _Call(NamedTuple):
    """Prepared call with fixed arrays."""

    arrays: list[Array]
    table: Array
    counts: Array
    kept: tuple[Any, ...]


class RoutineCode:
    """Routine in machine code on 1, 4 or 8 lanes and several threads; routines may share `codes`, keyed by `Recipe.key`."""

    def __init__(self, routine: Routine, lanes: int, threads: int, codes: dict[object, PackedCode] | None = None) -> None:
        self.routine, self.lanes, self.threads = routine, lanes, threads
        self.codes = {} if codes is None else codes
        for key, recipe in recipes_of(routine.body).items():
            if key not in self.codes:
                self.codes[key] = PackedCode(recipe, lanes, 1)
        self._last: _Call | None = None
        self._runner = _Runner(Recipe(routine.name, None, (), (), None), lanes, threads)

    def compile(self) -> None:
        """Compile all programs immediately."""
        _ = self._words

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder(self.routine, self.lanes, self.codes)

    @cached_property
    def _words(self) -> tuple[Array, Array]:
        words, pointers = self._encoder.encoded()
        return np.array(words, dtype=np.int64), np.array(pointers, dtype=np.int64)

    def run(
        self, state: Mapping[str, Array], inputs: Mapping[str, Array], passes: int, records: Mapping[str, Array] | None = None
    ) -> Array:
        """Run a number of passes in place. Return the number of recorded rows in each world, shape (worlds,).

        `state` contains the arrays of the state, contiguous, shape (worlds, size) each, which receive the state after the last
        pass. `inputs` contains the arrays for the run, shape (worlds or 1, size) each. `records` contains an array for the rows
        of each sampled array, shape (worlds, rows, size), with enough rows for all samples.
        """
        arrays = [state[name] for name in self.routine.state] + [inputs[name] for name in self.routine.inputs]
        arrays += [] if records is None else [records[name] for name in self.routine.sampled]
        last = self._last
        if last is None or len(last.arrays) != len(arrays) or any(a is not b for a, b in zip(last.arrays, arrays, strict=True)):
            last = self._call(arrays, state, inputs, records)
            self._last = (
                last if len(last.counts) == 1 else None
            )  # kept for many short calls; arrays of many worlds are released
        last.counts[:] = 0
        last.table[RunTable.PASSES] = passes
        if len(last.counts) and passes:
            self._runner.run(last.table, len(last.counts), (last, self.codes))
        return last.counts.copy()

    def _call(
        self,
        arrays: list[Array],
        state: Mapping[str, Array],
        inputs: Mapping[str, Array],
        records: Mapping[str, Array] | None,
    ) -> _Call:
        words, pointers = self._words
        offsets = self._encoder.layout.offsets
        worlds = len(next(iter(state.values())))
        rows: list[int] = []
        for name, size in (*self.routine.state.items(), *self.routine.inputs.items()):
            own = name in self.routine.state
            x = state[name] if own else inputs[name]
            wanted = (worlds, size)
            if x.dtype != np.float64 or not x.flags.c_contiguous or (x.shape != wanted and (own or x.shape != (1, size))):
                raise ValueError(f"{name} must be contiguous float64 of shape {wanted}, got {x.dtype} {x.shape}")
            rows += (x.ctypes.data, size if len(x) == worlds else 0, offsets[name], size, 3 if own else 1)
        recorded: list[int] = []
        for name, x in ((name, records[name]) for name in self.routine.sampled) if records is not None else ():
            if x.dtype != np.float64 or not x.flags.c_contiguous or x.shape != (worlds, x.shape[1], self.routine.state[name]):
                raise ValueError(f"records of {name} must be contiguous float64 of shape (worlds, rows, size)")
            recorded += (x.ctypes.data, x.shape[1] * x.shape[2], offsets[name], x.shape[2])
        count = np.zeros(worlds, dtype=np.int64)
        table = np.zeros(RunTable.SIZE, dtype=np.int64)
        lists = [np.array([*x, 0], dtype=np.int64) for x in (rows, recorded)]
        table[RunTable.WORDS], table[RunTable.ENTRIES] = words.ctypes.data, self._encoder.layout.size
        table[RunTable.ARRAYS : RunTable.ARRAYS + 2] = len(rows) // 5, lists[0].ctypes.data
        table[RunTable.SAMPLED : RunTable.SAMPLED + 2] = len(recorded) // 4, lists[1].ctypes.data
        table[RunTable.ROWS] = count.ctypes.data
        table[RunTable.POINTERS : RunTable.POINTERS + 2] = len(pointers) - 1, pointers.ctypes.data
        return _Call(arrays, table, count, (lists, words, pointers))


class _Runner(MachineCode):
    """Sequencer whose worlds are shared by threads."""

    def __init__(self, recipe: Recipe, lanes: int, threads: int) -> None:
        super().__init__(recipe, lanes, threads)
        self.share, self.single_lanes = lanes, lanes

    @property
    def _arguments(self) -> int:
        return 0

    def form(self, lanes: int) -> Form:
        return Form(lanes)

    def code(self, lanes: int) -> Any:
        return _sequencer(lanes)


class Encoder:
    """Encoder that writes a routine as words of the sequencer."""

    def __init__(self, routine: Routine, lanes: int, codes: Mapping[object, PackedCode]) -> None:
        self.routine, self.lanes, self.codes = routine, lanes, codes
        self.words: list[int] = []
        self.pointers: list[int] = []
        self.counters = 0
        offsets, at = {}, 0
        for name, size in (*routine.state.items(), *routine.inputs.items(), *routine.work.items()):
            offsets[name] = at
            at += -(-max(size, 1) // ALIGNED) * ALIGNED
        needed = max((_scratch(recipe) for recipe in recipes_of(routine.body).values()), default=0)
        self.layout = Workspace(offsets, at, at + needed)

    def encoded(self) -> tuple[list[int], list[int]]:
        """Return words and the offsets of all arguments; both lists end with one additional number."""
        self.nodes(self.routine.body)
        return [*self.words, Op.END], [*self.pointers, 0]

    def at(self, stretch: Entries) -> int:
        """Return the offset of a slice in the workspace."""
        return self.layout.offsets[stretch.array] + stretch.start

    def nodes(self, nodes: Sequence[Node]) -> None:
        """Append the words of nodes."""
        for node in nodes:
            match node:
                case CallNode():
                    self.call(node)
                case CopyNode():
                    self.words += (Op.MOVE, self.at(node.source), self.at(node.target), node.source.size)
                case WhenNode():
                    self.words += (Op.WHEN, self.at(node.condition), -1)
                    place = len(self.words) - 1
                    self.nodes(node.body)
                    self.words.append(Op.POP)
                    self.words[place] = len(self.words)
                case RepeatNode():
                    self.repeat(node)
                case StepsNode():
                    self.steps(node)
                case SampleNode():
                    self.words.append(Op.SAMPLE)

    def repeat(self, node: RepeatNode) -> None:
        """Append the words of a repetition."""
        counter, self.counters = self.counters, self.counters + 1
        if counter >= COUNTERS:
            raise ValueError(f"the routine has more than {COUNTERS} repetitions; combine or remove some")
        self.words += (Op.RESET, counter)
        back = len(self.words)
        self.words += (Op.WHILE, self.at(node.condition), counter, node.times, -1)
        place = len(self.words) - 1
        self.nodes(node.body)
        self.words += (Op.AGAIN, back)
        self.words[place] = len(self.words)

    def call(self, node: CallNode) -> None:
        """Append the words of a call: slices of an argument are joined, and results pass through the scratch slice."""
        recipe, free = node.recipe, self.layout.scratch
        first = len(self.pointers)
        for pieces, a in zip(node.inputs, recipe.inputs, strict=True):
            if len(_joined(pieces)) <= 1:
                self.pointers.append(self.at(pieces[0]) if pieces else free)
                continue
            self.pointers.append(free)
            for p in pieces:
                self.words += (Op.MOVE, self.at(p), free, p.size)
                free += p.size
            free = _aligned(free)
            assert sum(p.size for p in pieces) == a.size
        moves: list[int] = []
        for pieces, a in zip(node.outputs, recipe.outputs, strict=True):
            self.pointers.append(free)
            at = free
            for p in _joined(pieces):
                moves += (Op.MOVE, at, self.at(p), p.size)
                at += p.size
            free = _aligned(free + a.size)
        self.words += (Op.CALL, self.codes[recipe.key].address(self.lanes), first)
        self.words += moves

    def steps(self, node: StepsNode) -> None:
        """Append the words of integration steps, whose results are contiguous, so that one check and one copy suffice."""
        recipe, first, p = node.recipe, len(self.pointers), node.places
        begin = self.layout.scratch
        number, size, offset, unused, after = begin, begin + 1, begin + 2, begin + 3, begin + ALIGNED
        self.pointers += (number, self.at(p.q), self.at(p.x), size, offset, self.at(p.inputs))
        self.pointers += (unused, after, after + p.q.size)
        code = self.codes[recipe.key].address(self.lanes)
        places = (self.at(p.n), self.at(p.part), self.at(p.goal), self.at(p.h), number, size, offset)
        self.words += (Op.STEPS, code, first, *places, after, p.q.size + p.x.size, self.at(p.q), self.at(p.alive))


def _scratch(recipe: Recipe) -> int:
    return sum(_aligned(a.size + 1) for a in (*recipe.inputs, *recipe.outputs)) + 2 * ALIGNED


def _aligned(k: int) -> int:
    return -(-k // ALIGNED) * ALIGNED


def _joined(pieces: Pieces) -> list[Entries]:
    out: list[Entries] = []
    for p in pieces:
        if out and out[-1].array == p.array and out[-1].start + out[-1].size == p.start:
            out[-1] = Entries(p.array, out[-1].start, out[-1].size + p.size)
        else:
            out.append(p)
    return out
