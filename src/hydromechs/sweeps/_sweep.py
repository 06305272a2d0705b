"""Execution of a sweep: an executor simulates the runs that are missing from the store."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ._definition import VALUE_ERRORS, ParameterSweep
from ._executors import ATTEMPTS, Executor, Local, Workers
from ._runner import FAILED, Row, Runner, Task, failed_row
from ._store import SweepStore, load_results

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Progress of a sweep."""

    phase: str
    """Phase: "compiling", "starting workers" or "running"."""
    done: int
    """Number of stored runs."""
    runs: int
    """Total number of runs of the sweep."""
    failed: int
    """Number of stored runs that failed."""
    remaining: float | None = None
    """Estimated remaining wall time [s]; None if unknown."""


@dataclass(frozen=True, kw_only=True)
class SweepResult:
    """Result of a sweep."""

    folder: Path
    """Folder of the store."""
    runs: int
    """Total number of runs of the sweep."""
    new: int
    """Number of runs simulated in this call; the other runs were already stored."""
    failed: int
    """Number of failed runs; the store contains the reasons."""
    wall_time: float
    """Wall time of this call [s]."""

    @property
    def dataset(self) -> xarray.Dataset:
        """Results of the sweep; see `load_results`."""
        return load_results(self.folder)


def run_sweep(
    sweep: ParameterSweep,
    folder: str | os.PathLike[str],
    *,
    executor: Executor | None = None,
    replace: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> SweepResult:
    """Run a sweep and store its results in a folder. Only missing runs of a stored sweep are simulated.

    The bytes of the store do not depend on the executor, the number of workers or interruptions.

    `folder`: folder of the store. `executor`: executor of the runs; defaults to processes on this machine. `replace`: True
    to replace the results of another sweep. `progress`: function called regularly with the progress.
    """
    begun = time.perf_counter()
    store = SweepStore(folder, sweep)
    with store.opened(replace=replace):
        done = store.done()
        have, failed = sum(len(block) for block, d in zip(store.blocks, done, strict=True) if d), store.failed()
        left = [k for k, d in enumerate(done) if not d]
        new = 0

        def report(phase: str, remaining: float | None = None) -> None:
            if progress is not None:
                progress(Progress(phase=phase, done=have + new, runs=sweep.runs, failed=failed, remaining=remaining))

        if left:
            runner = Runner(sweep)
            report("starting workers")
            with (executor or Local()).started(runner) as workers:
                report("compiling")
                with contextlib.suppress(*VALUE_ERRORS):  # such a run has failed, and is stored as failed
                    runner.compile(sweep.table[left[0] * store.block])
                first = time.perf_counter()
                report("running")
                for block, rows in _blocks(workers, store, left):
                    store.write(block, rows)
                    new += len(rows)
                    failed += sum(row.status == FAILED for row in rows)
                    report("running", (time.perf_counter() - first) * (sweep.runs - have - new) / new)
    wall = time.perf_counter() - begun
    return SweepResult(folder=Path(folder), runs=sweep.runs, new=new, failed=failed, wall_time=wall)


def _task(sweep: ParameterSweep, runs: Sequence[int]) -> Task:
    return Task(tuple(runs), tuple(sweep.table[i] for i in runs), tuple(sweep.run_seed(i) for i in runs))


def _blocks(workers: Workers, store: SweepStore, left: Sequence[int]) -> Iterator[tuple[int, list[Row]]]:
    """Yield block numbers with the rows of their runs, in order of completion.

    If a block kills its workers, each of its runs is repeated separately; runs that kill a worker again fail.
    """
    sweep = store.sweep
    tasks = [_task(sweep, store.blocks[k]) for k in left]
    deadly = []
    for task, rows in workers.outcomes(tasks):
        if rows is None:
            deadly.append(task)
        else:
            yield task.runs[0] // store.block, rows
    alone = [_task(sweep, [run]) for task in deadly for run in task.runs]
    found: dict[int, Row] = {}
    for task, rows in workers.outcomes(alone) if alone else ():
        reason = f"the worker died {2 * ATTEMPTS} times; check free memory, and external code for crashes"
        found[task.runs[0]] = failed_row(sweep, reason) if rows is None else rows[0]
        block = task.runs[0] // store.block
        if all(run in found for run in store.blocks[block]):
            yield block, [found[run] for run in store.blocks[block]]
