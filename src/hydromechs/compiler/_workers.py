"""Threads that share the worlds of a batch, robust to an interrupt of the calling thread at any instruction.

A signal handler can raise an exception between any two instructions of the main thread. Every change is therefore one atomic
step. A part of the work is one object, which is put into a queue in one step. Either a worker or the interrupted owner acquires
the `claim` of the part, which decides in one step whether the part is executed. The part holds references to all memory that it
uses.
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
        del part  # hold no references while waiting


class Workers:
    """Threads, in addition to the calling thread, that wait for parts of batches."""

    def __init__(self, count: int) -> None:
        self.process = os.getpid()
        """Process that owns the threads."""
        self._queue: SimpleQueue[_Part | None] = SimpleQueue()
        for _ in range(count):
            threading.Thread(target=_serve, args=(self._queue,), name="hydromechs", daemon=True).start()
        weakref.finalize(self, _stop, self._queue, count)

    def share(self, work: Callable[[int, int], None], bounds: list[tuple[int, int]], keep: object) -> None:
        """Call `work` with the bounds of all ranges, the first range in this thread, and wait for all threads.

        Even after an error, no thread continues to work. Objects in `keep` are referenced until all threads have finished.
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
