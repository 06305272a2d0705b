"""Run a sweep: an executor simulates the runs that are missing in the store."""

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
    """"compiling", "starting workers" or "running"."""
    done: int
    """Number of stored runs."""
    runs: int
    """Number of runs of the sweep."""
    failed: int
    """Number of runs stored as failed."""
    remaining: float | None = None
    """Estimated time until the end [s]; None if unknown."""


@dataclass(frozen=True, kw_only=True)
class SweepResult:
    """Result of a sweep."""

    folder: Path
    """Folder of the store."""
    runs: int
    """Number of runs of the sweep."""
    new: int
    """Number of runs in this call; the others were already stored."""
    failed: int
    """Number of failed runs; the store has the reason of each."""
    wall_time: float
    """Duration of this call [s]."""

    @property
    def dataset(self) -> xarray.Dataset:
        """The results; see `load_results`."""
        return load_results(self.folder)


def run_sweep(
    sweep: ParameterSweep,
    folder: str | os.PathLike[str],
    *,
    executor: Executor | None = None,
    replace: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> SweepResult:
    """Run a sweep into a folder. A folder of the same sweep is resumed: runs that are in it are not run again.

    The store is the same, byte for byte, for any executor, any number of workers and any interruption.

    `folder`: destination; `executor`: where the runs are simulated; defaults to processes on this machine; `replace`: replace
    the results of another sweep; `progress`: called regularly.
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
    """Yield blocks with the rows of their runs, in the order in which they finish.

    If a block kills its workers, each of its runs is repeated on its own; runs that kill a worker again have failed.
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
        reason = f"its worker died, {2 * ATTEMPTS} times: out of memory, or a crash in compiled or external code?"
        found[task.runs[0]] = failed_row(sweep, reason) if rows is None else rows[0]
        block = task.runs[0] // store.block
        if all(run in found for run in store.blocks[block]):
            yield block, [found[run] for run in store.blocks[block]]
