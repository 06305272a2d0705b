"""A function of many items, by an engine: for work that is no run of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from hydromechs.compiler import fingerprint

from ._engines import ATTEMPTS, Local, SweepEngine
from ._runner import Task

Found = TypeVar("Found")


class _Each:
    """Calls a function for the items of a task; what it raises is handed on."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    @property
    def identity(self) -> str:
        """See `Work.identity`."""
        return fingerprint(repr(self.function))[:32]

    def __call__(self, task: Task) -> list[_Outcome]:
        """See `Work`."""
        return [self._called(item) for item in task.values]

    def _called(self, item: Sequence[Any]) -> _Outcome:
        try:
            return _Outcome(self.function(*item), None)
        except Exception as error:
            return _Outcome(None, error)


class _Outcome(NamedTuple):
    found: Any
    error: Exception | None


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
