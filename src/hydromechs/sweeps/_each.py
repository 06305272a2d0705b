"""A function of many items, by an engine: for work that is no run of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hydromechs.compiler import fingerprint

from ._engines import ATTEMPTS, Local, SweepEngine
from ._runner import Task

Found = TypeVar("Found")


@dataclass(frozen=True)
class _Each:
    """Calls a function for the items of a task; what it raises is handed on."""

    function: Callable[..., Any]

    @property
    def identity(self) -> str:
        """See `Work.identity`."""
        return fingerprint(repr(self.function))[:32]

    def __call__(self, task: Task) -> list[tuple[Any, Exception | None]]:
        """See `Work`."""
        out: list[tuple[Any, Exception | None]] = []
        for item in task.values:
            try:
                out.append((self.function(*item), None))
            except Exception as error:
                out.append((None, error))
        return out


def each(
    function: Callable[..., Found],
    items: Sequence[tuple[Any, ...]],
    *,
    engine: SweepEngine | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Found]:
    """Results of a function for each item, in the order of the items, whoever computes them. What it raises is raised.

    Args:
        function: What is called, with an item's parts as arguments; a function of a module, or an object that can be pickled.
        items: The items.
        engine: Engine that calls it. Defaults to processes of this machine.
        progress: Called with the number of items that are done.
    """
    found: dict[int, Found] = {}
    tasks = [Task((k,), (tuple(item),), (0,)) for k, item in enumerate(items)]
    with (engine or Local()).started(_Each(function)) as workers:
        for task, outcomes in workers.outcomes(tasks):
            if outcomes is None:
                raise RuntimeError(
                    f"{ATTEMPTS} workers died of {task.values[0]!r}: out of memory, or a crash in compiled code?"
                )
            ((value, error),) = outcomes
            if error is not None:
                raise error
            found[task.runs[0]] = value
            if progress is not None:
                progress(len(found))
    return [found[k] for k in range(len(items))]
