"""Limit on the length of programs, and progress reports for long compilations."""

from __future__ import annotations

import logging
import os
import threading
import time
from types import TracebackType

LONGEST = "HYDROMECHS_LONGEST_PROGRAM"
"""Environment variable with the maximum number of lines of LLVM IR per program."""
EVERY = 15.0
"""Interval between progress reports [s]."""

LOG = logging.getLogger("hydromechs.compiler")


def longest_program(usual: int) -> int:
    """Return the maximum number of lines of LLVM IR: the value of `HYDROMECHS_LONGEST_PROGRAM`, or the usual limit."""
    text = os.environ.get(LONGEST, "")
    if not text:
        return usual
    try:
        given = int(text.replace("_", ""))
    except ValueError:
        given = 0
    if given < 1:
        raise ValueError(f"{LONGEST} is {text!r}; set it to a positive number of lines, for example 500000, or unset it")
    return given


class Progress:
    """Progress reports of a long compilation to the logger `hydromechs.compiler`, which prints to stderr by default."""

    def __init__(self, name: str) -> None:
        self.name, self.phase = name, "tracing"
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._report, daemon=True)

    def _report(self) -> None:
        start = time.monotonic()
        while not self._done.wait(EVERY):
            LOG.warning("compiling %s: %.0f s so far, %s", self.name, time.monotonic() - start, self.phase)

    def start(self) -> None:
        """Start the clock if it is not running; loading cached code needs no clock."""
        if self._thread.ident is None:
            self._thread.start()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        if self._thread.ident is not None:
            self._thread.join()
