"""Executors, which run the blocks of a sweep in this process or in several processes on this machine."""

import abc
import contextlib
import multiprocessing
import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from ._runner import Task

ATTEMPTS = 2
"""Number of workers that a task may kill before the task is abandoned."""
NEEDED = ("hydromechs.sweeps._runner", "hydromechs.simulation", "hydromechs.integrators", "xarray", "llvmlite.binding")
"""Modules that a worker imports."""


class Work(Protocol):
    """Work that every worker receives; a copied or unpickled object starts without state."""

    @property
    def identity(self) -> str:
        """Identifier of the work."""

    def __call__(self, task: Task) -> list[Any]:
        """Return the results of each run of a task, in order; errors of a run are part of its results."""


class Workers(abc.ABC):
    """Available workers."""

    count: int
    """Number of workers."""

    @abc.abstractmethod
    def outcomes(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, list[Any] | None]]:
        """Yield tasks with their results as tasks finish; the results are None if a task killed `ATTEMPTS` workers."""


class Executor(abc.ABC):
    """Executor of a sweep or campaign."""

    @abc.abstractmethod
    def started(self, work: Work) -> AbstractContextManager[Workers]:
        """Return a context in which workers are available; raise `ValueError` if no workers can be started."""


# -- this process -------------------------------------------------------------------------------------------------------------


class _Alone(Workers):
    count = 1

    def __init__(self, work: Work) -> None:
        self.work = work

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, list[Any] | None]]:
        for task in tasks:
            yield task, self.work(task)


@dataclass(frozen=True)
class Serial(Executor):
    """Executor that simulates runs sequentially in this process, for debugging."""

    @contextlib.contextmanager
    def started(self, work: Work) -> Iterator[Workers]:
        yield _Alone(work)


# -- processes of this machine ------------------------------------------------------------------------------------------------


def _serve(connection: Connection) -> None:
    """Run tasks in a worker process until the connection is closed."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent process
    with contextlib.suppress(EOFError, OSError):
        work: Work = connection.recv()
        while True:
            connection.send(work(connection.recv()))


def _context() -> Any:
    """Return a process context that forks workers from a server process with all modules imported.

    Forks of this process would keep pipes open.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():  # Windows
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hydromechs.sweeps", *NEEDED])
    return context


class _Process:
    """Worker process and its task."""

    def __init__(self, work: Work) -> None:
        context = _context()
        self.connection, end = context.Pipe()
        self.process = context.Process(target=_serve, args=(end,), daemon=True)
        self.process.start()
        end.close()
        self.connection.send(work)
        self.task: Task | None = None

    def give(self, task: Task) -> None:
        self.task = task
        with contextlib.suppress(OSError):  # it is dead; `outcomes` notices
            self.connection.send(task)

    def stop(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.join()


class _Processes(Workers):
    def __init__(self, work: Work, count: int) -> None:
        self.work, self.count = work, count
        self.all = [_Process(work) for _ in range(count)]

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, list[Any] | None]]:
        left, deaths = deque(tasks), dict[Task, int]()
        for worker in self.all:
            if left:
                worker.give(left.popleft())
        while busy := {worker.connection: worker for worker in self.all if worker.task is not None}:
            for connection in wait(list(busy)):
                worker = busy[connection]
                task, rows = worker.task, None
                assert task is not None
                try:
                    rows = worker.connection.recv()
                    worker.task = None
                except (EOFError, OSError):  # it died
                    worker.stop()
                    self.all.remove(worker)
                    worker = _Process(self.work)
                    self.all.append(worker)
                    deaths[task] = deaths.get(task, 0) + 1
                    if deaths[task] < ATTEMPTS:
                        left.appendleft(task)
                if left:
                    worker.give(left.popleft())
                if rows is not None or deaths.get(task, 0) >= ATTEMPTS:
                    yield task, rows

    def stop(self) -> None:
        """Terminate all processes."""
        for worker in self.all:
            worker.stop()


@dataclass(frozen=True)
class Local(Executor):
    """Executor with processes on this machine."""

    workers: int | None = None
    """Number of processes. Defaults to one process per core."""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers is {self.workers}, must be at least 1")

    @contextlib.contextmanager
    def started(self, work: Work) -> Iterator[Workers]:
        workers = _Processes(work, self.workers or os.cpu_count() or 1)
        try:
            yield workers
        finally:
            workers.stop()
