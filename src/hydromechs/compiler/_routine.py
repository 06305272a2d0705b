"""A routine: a sequence of calls on arrays in memory, some of them conditional or repeated.

A program is a straight line of scalar operations. A routine combines programs into a long-running whole, such as a mission.
Each call reads and writes slices of named arrays. The routine itself is not compiled: it becomes a list of integers, which one
sequencer in machine code interprets (`_llvm_sequencer`). So a change of one program recompiles only that program.

On lanes a call runs if any lane needs it. A lane whose condition is 0 keeps its numbers to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ._compiled import Recipe


class Entries(NamedTuple):
    """Consecutive entries of an array."""

    array: str
    start: int
    """Index of the first entry."""
    size: int

    def overlaps(self, other: Entries) -> bool:
        """True if they overlap."""
        return (
            self.array == other.array and self.start < other.start + other.size and other.start < self.start + self.size
        ) and min(self.size, other.size) > 0


Pieces: TypeAlias = tuple[Entries, ...]
"""Slices that together form an argument."""


@dataclass(frozen=True, eq=False)
class CallNode:
    """A call of a program."""

    recipe: Recipe
    inputs: tuple[Pieces, ...]
    outputs: tuple[Pieces, ...]
    """Targets of its results; they may overlap its arguments."""


@dataclass(frozen=True, eq=False)
class CopyNode:
    """A copy of one slice to another."""

    source: Entries
    target: Entries


@dataclass(frozen=True, eq=False)
class WhenNode:
    """Operations that run if a condition is not 0."""

    condition: Entries
    """One number; NaN counts as nonzero."""
    body: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class RepeatNode:
    """Operations that repeat while a condition is not 0."""

    condition: Entries
    """One number; a lane where it is 0 keeps its numbers while others continue."""
    times: int
    """Maximum number of passes."""
    body: tuple[Node, ...]
    """One pass."""


class StepPlaces(NamedTuple):
    """Slices with the variables of steps."""

    n: Entries
    """Number of the last point on the grid."""
    part: Entries
    """Time since then [s]."""
    q: Entries
    x: Entries
    """Velocity and internal states, directly after q."""
    inputs: Entries
    h: Entries
    """Step [s]."""
    alive: Entries
    """Nonzero until a step is not finite."""
    goal: Entries
    """Two numbers: n and part of the target time."""


@dataclass(frozen=True, eq=False)
class StepsNode:
    """Steps of an integrator on the grid of multiples of its step to a goal; steps from and to points off it are shorter.

    Times are n h + part. A step whose result is not finite is discarded: `alive` becomes 0, and the world keeps its state.
    """

    recipe: Recipe
    """One step: (n, q, x, h, offset, inputs) to (n, q, x), with the time offset + n h."""
    places: StepPlaces


@dataclass(frozen=True, eq=False)
class SampleNode:
    """A row of the records of a run: the current values of some arrays."""


Node: TypeAlias = CallNode | CopyNode | WhenNode | RepeatNode | StepsNode | SampleNode


@dataclass(eq=False)
class Routine:
    """Arrays, and the operations of one pass.

    r = Routine("mission", state={"n": 1, "q": 7}, inputs={"h": 1}, sampled=("n", "q"))
    with r.when(r["due"]):
        r.call(recipe, [r["n"], r["q"]], [r["command"]])
    """

    name: str
    state: Mapping[str, int]
    """Sizes of the arrays that persist between passes and runs, by name."""
    inputs: Mapping[str, int] = field(default_factory=dict)
    """Sizes of the arrays that are constant during a run."""
    sampled: tuple[str, ...] = ()
    """Arrays of the state that a `SampleNode` records."""
    work: dict[str, int] = field(default_factory=dict)
    """Sizes of working arrays, which are 0 at the start of a run; see `scratch`."""
    body: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._open = [self.body]

    def __getitem__(self, name: str) -> Entries:
        """Return a whole array."""
        for sizes in (self.state, self.inputs, self.work):
            if name in sizes:
                return Entries(name, 0, sizes[name])
        raise KeyError(name)

    def part(self, name: str, start: int, size: int) -> Entries:
        """Return a slice of an array."""
        whole = self[name]
        if not 0 <= start <= start + size <= whole.size:
            raise ValueError(f"{self.name}: entries {start} to {start + size} of {name}, which has {whole.size}")
        return Entries(name, start, size)

    def scratch(self, name: str, size: int) -> Entries:
        """Return a new working array; its name is numbered if it is not unique."""
        key = name if name not in self.work else f"{name} {len(self.work)}"
        self.work[key] = size
        return Entries(key, 0, size)

    def call(
        self, recipe: Recipe, inputs: Sequence[Entries | Sequence[Entries]], outputs: Sequence[Entries | Sequence[Entries]]
    ) -> None:
        """Call a program on inputs (one or several slices per argument), with a slice for each result."""
        given, wanted = (tuple(map(_pieces, rows)) for rows in (inputs, outputs))
        for a, pieces in zip((*recipe.inputs, *recipe.outputs), (*given, *wanted), strict=True):
            size = sum(p.size for p in pieces)
            if size != a.size:
                raise ValueError(f"{self.name}: {a.name} of {recipe.name} has {a.size} entries, got {size}")
        self._open[-1].append(CallNode(recipe, given, wanted))

    def copy(self, source: Entries, target: Entries) -> None:
        """Copy entries."""
        if source.size != target.size:
            raise ValueError(f"{self.name}: {source.size} entries of {source.array} to {target.size} of {target.array}")
        self._open[-1].append(CopyNode(source, target))

    def steps(self, recipe: Recipe, places: StepPlaces) -> None:
        """Take steps to a goal; see `StepsNode`."""
        if places.x.array != places.q.array or places.x.start != places.q.start + places.q.size:
            raise ValueError(f"{self.name}: x must follow q in one array")
        self._open[-1].append(StepsNode(recipe, places))

    def sample(self) -> None:
        """Record a row."""
        self._open[-1].append(SampleNode())

    @contextmanager
    def when(self, condition: Entries) -> Iterator[None]:
        """Add operations that run where a condition holds."""
        with self._inside() as body:
            yield
        self._open[-1].append(WhenNode(condition, tuple(body)))

    @contextmanager
    def repeat(self, condition: Entries, times: int) -> Iterator[None]:
        """Add operations that repeat while a condition holds, at most `times` times."""
        with self._inside() as body:
            yield
        self._open[-1].append(RepeatNode(condition, times, tuple(body)))

    @contextmanager
    def _inside(self) -> Iterator[list[Node]]:
        body: list[Node] = []
        self._open.append(body)
        try:
            yield body
        finally:
            self._open.pop()


def _pieces(given: Entries | Sequence[Entries]) -> Pieces:
    return (given,) if isinstance(given, Entries) else tuple(given)


def recipes_of(nodes: Sequence[Node]) -> dict[object, Recipe]:
    """Return all recipes that a routine calls, by `Recipe.key`."""
    found: dict[object, Recipe] = {}
    for node in nodes:
        match node:
            case CallNode() | StepsNode():
                found.setdefault(node.recipe.key, node.recipe)
            case WhenNode() | RepeatNode():
                found = recipes_of(node.body) | found
    return found
