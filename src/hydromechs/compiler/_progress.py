"""Long compilations: the length at which a program is rejected, and reports while one is compiled."""

from __future__ import annotations

import logging
import os
import threading
import time
from types import TracebackType

__all__ = ["Progress", "longest_program"]

LONGEST = "HYDROMECHS_LONGEST_PROGRAM"
"""Environment variable: number of lines of LLVM IR up to which programs are compiled."""
EVERY = 15.0
"""Time between two reports [s]."""

LOG = logging.getLogger("hydromechs.compiler")


def longest_program(usual: int) -> int:
    """Number of lines of LLVM IR up to which programs are compiled.

    Args:
        usual: The limit unless the environment variable `HYDROMECHS_LONGEST_PROGRAM` gives another.
    """
    text = os.environ.get(LONGEST, "")
    if not text:
        return usual
    try:
        given = int(text.replace("_", ""))
    except ValueError:
        given = 0
    if given < 1:
        raise ValueError(f"{LONGEST} is {text!r}, must be a number of lines above 0, as 500000; correct it or unset it")
    return given


class Progress:
    """Reports a compilation that takes long, to the log `hydromechs.compiler`, which Python prints to stderr by default.

    Args:
        name: Name of the program.
    """

    def __init__(self, name: str) -> None:
        self.name, self.phase = name, "tracing"
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._report, daemon=True)

    def _report(self) -> None:
        start = time.monotonic()
        while not self._done.wait(EVERY):
            LOG.warning("compiling %s: %.0f s so far, %s", self.name, time.monotonic() - start, self.phase)

    def __enter__(self) -> Progress:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        self._thread.join()
