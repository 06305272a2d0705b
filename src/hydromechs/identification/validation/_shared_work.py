"""Fits in separate processes, which report their progress while they run."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing import get_context
from queue import Empty
from typing import Any, NamedTuple, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

OFTEN = 0.25
"""Time between two checks for progress of processes [s]."""


class Iteration(NamedTuple):
    """Progress of a fit."""

    fit: str
    number: int
    """Iterations that are done."""
    cost: float
    """Half the sum of squares."""


Telling = Callable[[Iteration], None]
"""Receiver of the progress of a fit."""


def in_processes(
    work: Callable[[Job, Telling], Result], jobs: Sequence[Job], count: int, telling: Telling
) -> Iterator[tuple[Job, Result]]:
    """Yield jobs and their results as they complete; after a failure, jobs that have not started are dropped.

    `work` is a module-level function, as other processes need it; with a `count` of one, all runs in this process.
    """
    if count == 1:
        for job in jobs:
            yield job, work(job, telling)
        return
    context = get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(count, mp_context=context) as pool:
        told = manager.Queue()
        waiting = {pool.submit(work, job, told.put): job for job in jobs}
        try:
            while waiting:
                done, _ = wait(waiting, timeout=OFTEN, return_when=FIRST_COMPLETED)
                _drain(told, telling)
                for future in done:
                    yield waiting.pop(future), future.result()
        finally:  # where one has failed, the others need not begin
            pool.shutdown(wait=False, cancel_futures=True)


def _drain(told: Any, telling: Telling) -> None:
    while True:
        try:
            telling(told.get_nowait())
        except Empty:
            return
