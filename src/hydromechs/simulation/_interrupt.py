"""Ctrl-C and SIGTERM during a run: the run stops at its next sample, where the state is complete."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupt:
    """Defers the first Ctrl-C until the run checks for it. A second one interrupts at once.

    It handles every signal that raises `KeyboardInterrupt`: SIGINT, unless the program handles or ignores it, and SIGTERM
    within `sigterm_interrupts`. Outside the main thread it changes nothing.
    """

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        """Signal that was received, or None."""
        self._taken: dict[signal.Signals, Any] = {}

    @property
    def asked(self) -> bool:
        """True if the run should stop."""
        return self.signal is not None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.getsignal(number)
                if handler in (signal.default_int_handler, _terminate):
                    signal.signal(number, self._receive)
                    self._taken[number] = handler
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._taken.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            signal.default_int_handler(number, frame)
        self.signal = signal.Signals(number)


def _terminate(number: int, frame: FrameType | None) -> None:
    """Raise `KeyboardInterrupt` with the signal as its attribute."""
    stop = KeyboardInterrupt()
    stop.signal = signal.Signals(number)  # type: ignore[attr-defined]
    raise stop


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """Make SIGTERM raise `KeyboardInterrupt`, as Ctrl-C does, with the attribute `signal`.

    A program that handles or ignores SIGTERM keeps its own setting. Outside the main thread nothing changes.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
