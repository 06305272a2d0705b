"""Routines: sequences of calls on arrays in memory, some of them conditional or repeated.

A program is a straight-line sequence of scalar operations. A routine combines programs for a long run, such as a mission. Each
call reads and writes slices of named arrays. The routine itself is not compiled: it becomes a list of integers, which a
sequencer in machine code interprets (`_llvm_sequencer`). A change of one program therefore recompiles only that program.

On lanes, a call runs if any lane needs the result. A lane with a condition of 0 keeps its numbers bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ._compiled import Recipe


class Entries(NamedTuple):
    """Slice of consecutive entries of an array."""

    array: str
    start: int
    """Index of the first entry."""
    size: int

    def overlaps(self, other: Entries) -> bool:
        """Return True if two slices overlap."""
        return (
            self.array == other.array and self.start < other.start + other.size and other.start < self.start + self.size
        ) and min(self.size, other.size) > 0


Pieces: TypeAlias = tuple[Entries, ...]
"""Slices that together form one argument."""


@dataclass(frozen=True, eq=False)
class CallNode:
    """Call of a program."""

    recipe: Recipe
    inputs: tuple[Pieces, ...]
    outputs: tuple[Pieces, ...]
    """Slices for the results; they may overlap the arguments."""


@dataclass(frozen=True, eq=False)
class CopyNode:
    """Copy of one slice to another."""

    source: Entries
    target: Entries


@dataclass(frozen=True, eq=False)
class WhenNode:
    """Operations that run if a condition is not 0."""

    condition: Entries
    """Slice of one number; NaN counts as nonzero."""
    body: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class RepeatNode:
    """Operations that repeat while a condition is not 0."""

    condition: Entries
    """Slice of one number; a lane with the value 0 keeps its numbers while other lanes continue."""
    times: int
    """Maximum number of passes."""
    body: tuple[Node, ...]
    """Operations of one pass."""


class StepPlaces(NamedTuple):
    """Slices with the variables of integration steps."""

    n: Entries
    """Index of the last point on the grid."""
    part: Entries
    """Time since the last point on the grid [s]."""
    q: Entries
    x: Entries
    """Velocity and internal states, directly after q in memory."""
    inputs: Entries
    h: Entries
    """Step length [s]."""
    alive: Entries
    """Flag that is nonzero until a step is not finite."""
    goal: Entries
    """Target time as two numbers, n and part."""


@dataclass(frozen=True, eq=False)
class StepsNode:
    """Integration steps to a goal, on the grid of multiples of the step length.

    Steps from and to points off the grid are shorter. Times are n h + part. A step with a result that is not finite is
    discarded: `alive` becomes 0, and the world keeps its state.
    """

    recipe: Recipe
    """Program of one step, (n, q, x, h, offset, inputs) → (n, q, x), at the time offset + n h."""
    places: StepPlaces


@dataclass(frozen=True, eq=False)
class SampleNode:
    """Recording of one row with the current values of the sampled arrays."""


Node: TypeAlias = CallNode | CopyNode | WhenNode | RepeatNode | StepsNode | SampleNode


@dataclass(eq=False)
class Routine:
    """Named arrays, and the operations of one pass.

    r = Routine("mission", state={"n": 1, "q": 7}, inputs={"h": 1}, sampled=("n", "q"))
    with r.when(r["due"]):
        r.call(recipe, [r["n"], r["q"]], [r["command"]])
    """

    name: str
    state: Mapping[str, int]
    """Sizes of the arrays that persist between passes and runs, keyed by name."""
    inputs: Mapping[str, int] = field(default_factory=dict)
    """Sizes of the arrays that are constant during a run, keyed by name."""
    sampled: tuple[str, ...] = ()
    """Names of the state arrays that a `SampleNode` records."""
    work: dict[str, int] = field(default_factory=dict)
    """Sizes of working arrays, keyed by name; their entries are 0 at the start of a run, see `scratch`."""
    body: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._open = [self.body]

    def __getitem__(self, name: str) -> Entries:
        """Return an entire array."""
        for sizes in (self.state, self.inputs, self.work):
            if name in sizes:
                return Entries(name, 0, sizes[name])
        raise KeyError(name)

    def part(self, name: str, start: int, size: int) -> Entries:
        """Return a slice of an array."""
        whole = self[name]
        if not 0 <= start <= start + size <= whole.size:
            raise ValueError(
                f"{self.name}: slice {start} to {start + size} of {name} exceeds its {whole.size} entries; reduce start or size"
            )
        return Entries(name, start, size)

    def scratch(self, name: str, size: int) -> Entries:
        """Return a new working array; a number is appended to a name that already exists."""
        key = name if name not in self.work else f"{name} {len(self.work)}"
        self.work[key] = size
        return Entries(key, 0, size)

    def call(
        self, recipe: Recipe, inputs: Sequence[Entries | Sequence[Entries]], outputs: Sequence[Entries | Sequence[Entries]]
    ) -> None:
        """Call a program on inputs (one or several slices per argument), with slices for each result."""
        given, wanted = (tuple(map(_pieces, rows)) for rows in (inputs, outputs))
        for a, pieces in zip((*recipe.inputs, *recipe.outputs), (*given, *wanted), strict=True):
            size = sum(p.size for p in pieces)
            if size != a.size:
                raise ValueError(f"{self.name}: slices for {a.name} of {recipe.name} have {size} entries; pass {a.size}")
        self._open[-1].append(CallNode(recipe, given, wanted))

    def copy(self, source: Entries, target: Entries) -> None:
        """Copy the entries of one slice to another."""
        if source.size != target.size:
            raise ValueError(
                f"{self.name}: cannot copy {source.size} entries of {source.array} to {target.size} of {target.array}; "
                "use equal sizes"
            )
        self._open[-1].append(CopyNode(source, target))

    def steps(self, recipe: Recipe, places: StepPlaces) -> None:
        """Take integration steps to a goal; see `StepsNode`."""
        if places.x.array != places.q.array or places.x.start != places.q.start + places.q.size:
            raise ValueError(f"{self.name}: x does not follow q; place x directly after q in one array")
        self._open[-1].append(StepsNode(recipe, places))

    def sample(self) -> None:
        """Record one row."""
        self._open[-1].append(SampleNode())

    @contextmanager
    def when(self, condition: Entries) -> Iterator[None]:
        """Add operations that run if a condition holds."""
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
    """Return all recipes that a routine calls, keyed by `Recipe.key`."""
    found: dict[object, Recipe] = {}
    for node in nodes:
        match node:
            case CallNode() | StepsNode():
                found.setdefault(node.recipe.key, node.recipe)
            case WhenNode() | RepeatNode():
                found = recipes_of(node.body) | found
    return found
