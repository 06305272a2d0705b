"""Ctrl-C while a run goes on: it waits until the state is whole."""

from __future__ import annotations

import signal
import threading
from types import FrameType

__all__ = ["Interrupt"]


class Interrupt:
    """While it is entered, the first Ctrl-C is kept for the run to ask for; a second one interrupts at once, as always.

    Where Ctrl-C does something else already, or this is not the main thread, nothing changes.
    """

    def __init__(self) -> None:
        self.asked = False
        """Whether Ctrl-C was pressed."""
        self._installed = False

    def __enter__(self) -> Interrupt:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._press)
            self._installed = True
        return self

    def __exit__(self, *error: object) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            signal.default_int_handler(number, frame)
        self.asked = True
