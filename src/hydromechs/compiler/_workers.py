"""Threads that share the worlds of a batch, safe against interruption of the calling thread at any instruction.

A signal handler can raise an exception between any two instructions of the main thread, so every change is one atomic step. A
part of the work is one object, put into a queue in one step. The worker or the interrupted owner, whichever takes its `claim`,
decides in one step whether it is done. The part itself keeps all memory that it uses alive.
"""

import os
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue


class _Part:
    def __init__(self, work: Callable[[int, int], None], begin: int, end: int, keep: object) -> None:
        self.work, self.begin, self.end, self.keep = work, begin, end, keep
        self.claim, self.done = threading.Lock(), threading.Lock()
        self.done.acquire()
        self.finished = False


def _serve(queue: SimpleQueue[_Part | None]) -> None:
    while True:
        part = queue.get()
        if part is None:
            return
        if part.claim.acquire(blocking=False):
            try:
                part.work(part.begin, part.end)
            finally:
                part.finished = True
                part.done.release()
        del part  # keep nothing alive while waiting


class Workers:
    """Threads, in addition to the calling one, that wait for parts of batches."""

    def __init__(self, count: int) -> None:
        self.process = os.getpid()
        """Process in which the threads live."""
        self._queue: SimpleQueue[_Part | None] = SimpleQueue()
        for _ in range(count):
            threading.Thread(target=_serve, args=(self._queue,), name="hydromechs", daemon=True).start()
        weakref.finalize(self, _stop, self._queue, count)

    def share(self, work: Callable[[int, int], None], bounds: list[tuple[int, int]], keep: object) -> None:
        """Call `work` with the bounds of all ranges, the first in this thread; even after an error, no thread is left working.

        Objects in `keep` live until all threads are done.
        """
        parts = [_Part(work, *b, keep) for b in bounds[1:]]
        broken = True
        try:
            for part in parts:
                self._queue.put(part)
            work(*bounds[0])
            broken = False
        finally:
            waiting = None
            for part in parts:
                if broken and part.claim.acquire(blocking=False):
                    continue  # not started, and now claimed
                while not part.finished:
                    try:
                        part.done.acquire()
                    except BaseException as signal:
                        waiting = signal
            if waiting is not None:
                raise waiting


def _stop(queue: SimpleQueue[_Part | None], count: int) -> None:
    for _ in range(count):
        queue.put(None)
