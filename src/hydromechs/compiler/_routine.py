"""A routine: calls one after another on arrays in memory, some of them where a condition holds, some repeated.

A program is a straight line of scalar operations. A routine puts programs together into something that runs for a long time: a
whole mission. Each call reads stretches of named arrays and writes stretches back. Nothing is compiled for the routine itself:
it becomes a list of integers, which one sequencer in machine code follows for every routine (`_llvm_sequencer`). So a change of
one program compiles that program only.

On lanes a call runs if one lane needs it. A lane whose condition is 0 keeps its numbers to the last bit.
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
    """Number of the first entry."""
    size: int

    def overlaps(self, other: Entries) -> bool:
        """True if an entry belongs to both."""
        return (
            self.array == other.array and self.start < other.start + other.size and other.start < self.start + self.size
        ) and min(self.size, other.size) > 0


Pieces: TypeAlias = tuple[Entries, ...]
"""Stretches that together hold an argument."""


@dataclass(frozen=True, eq=False)
class CallNode:
    """A call of a program."""

    recipe: Recipe
    inputs: tuple[Pieces, ...]
    outputs: tuple[Pieces, ...]
    """Where its results go; they may be where its arguments are."""


@dataclass(frozen=True, eq=False)
class CopyNode:
    """Entries of one stretch to another."""

    source: Entries
    target: Entries


@dataclass(frozen=True, eq=False)
class WhenNode:
    """A part that runs where a condition is not 0."""

    condition: Entries
    """One number; NaN counts as set."""
    body: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class RepeatNode:
    """A part that is repeated as long as a condition is not 0."""

    condition: Entries
    """One number; a lane where it is 0 keeps its numbers while others continue."""
    times: int
    """Maximum number of passes."""
    body: tuple[Node, ...]
    """One pass."""


class StepPlaces(NamedTuple):
    """Where steps find their numbers."""

    n: Entries
    """Number of the last point on the grid."""
    part: Entries
    """Time since then [s]."""
    q: Entries
    x: Entries
    """Velocity and internal states, right after q."""
    inputs: Entries
    h: Entries
    """Step [s]."""
    alive: Entries
    """Not 0 unless the next step is not finite."""
    goal: Entries
    """Two numbers: n and part of the time to reach."""


@dataclass(frozen=True, eq=False)
class StepsNode:
    """Steps of an integrator on the grid of multiples of its step, to a goal; a shorter step to and from a point off the grid.

    Times are n h + part. A step whose result is not finite is not taken: `alive` becomes 0, and the world stays there.
    """

    recipe: Recipe
    """One step: (n, q, x, h, offset, inputs) to (n, q, x), with the time offset + n h."""
    places: StepPlaces


@dataclass(frozen=True, eq=False)
class SampleNode:
    """A row of the records of a run: the present values of some arrays."""


Node: TypeAlias = CallNode | CopyNode | WhenNode | RepeatNode | StepsNode | SampleNode


@dataclass(eq=False)
class Routine:
    """Arrays, and what is done with them in one pass.

    r = Routine("mission", state={"n": 1, "q": 7}, inputs={"h": 1}, sampled=("n", "q"))
    with r.when(r["due"]):
        r.call(recipe, [r["n"], r["q"]], [r["command"]])
    """

    name: str
    state: Mapping[str, int]
    """Sizes of the arrays that are kept from pass to pass and from run to run, by name."""
    inputs: Mapping[str, int] = field(default_factory=dict)
    """Sizes of the arrays that are given for a run and do not change in it."""
    sampled: tuple[str, ...] = ()
    """Arrays of the state that a `SampleNode` records."""
    work: dict[str, int] = field(default_factory=dict)
    """Sizes of working arrays, which are 0 when a run begins; see `scratch`."""
    body: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._open = [self.body]

    def __getitem__(self, name: str) -> Entries:
        """The whole of an array."""
        for sizes in (self.state, self.inputs, self.work):
            if name in sizes:
                return Entries(name, 0, sizes[name])
        raise KeyError(name)

    def part(self, name: str, start: int, size: int) -> Entries:
        """Entries of an array."""
        whole = self[name]
        if not 0 <= start <= start + size <= whole.size:
            raise ValueError(f"{self.name}: entries {start} to {start + size} of {name}, which has {whole.size}")
        return Entries(name, start, size)

    def scratch(self, name: str, size: int) -> Entries:
        """A new working array; its name gets a number if there is one of this name."""
        key = name if name not in self.work else f"{name} {len(self.work)}"
        self.work[key] = size
        return Entries(key, 0, size)

    def call(
        self, recipe: Recipe, inputs: Sequence[Entries | Sequence[Entries]], outputs: Sequence[Entries | Sequence[Entries]]
    ) -> None:
        """Call a program on inputs (one stretch or several per argument), with a place for each result."""
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


def recipes_of(nodes: Sequence[Node]) -> dict[int, Recipe]:
    """All that a routine calls, by the id of its recipe."""
    found: dict[int, Recipe] = {}
    for node in nodes:
        match node:
            case CallNode() | StepsNode():
                found[id(node.recipe)] = node.recipe
            case WhenNode() | RepeatNode():
                found |= recipes_of(node.body)
    return found
