"""Observers and operator: any number of people watch; one has the controls and can hand them over."""

import threading


class Seats:
    """Seats of a station. The first one has the controls; free controls go to whoever takes them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: dict[str, str] = {}
        self._asking: list[str] = []
        self._pilot: str | None = None
        self._count = 0

    def join(self, seat: str) -> str:
        """Add a seat; return its name."""
        with self._lock:
            self._count += 1
            self._all[seat] = f"operator {self._count}"
            if self._pilot is None:
                self._pilot = seat
            return self._all[seat]

    def leave(self, seat: str) -> None:
        """Remove a seat; its controls go to the first who asked, or are free."""
        with self._lock:
            self._all.pop(seat, None)
            self._asking = [s for s in self._asking if s != seat]
            self._hand_over(seat)

    def _hand_over(self, seat: str) -> None:
        """Release the controls of a seat to the first who asked, or to nobody."""
        if self._pilot == seat:
            self._pilot = self._asking.pop(0) if self._asking else None

    def steers(self, seat: str) -> bool:
        """True if a seat has the controls."""
        return self._pilot == seat

    def ask(self, seat: str) -> None:
        """Take the controls if they are free, else ask for them."""
        with self._lock:
            if seat not in self._all or seat == self._pilot:
                return
            if self._pilot is None:
                self._pilot = seat
                self._asking = [s for s in self._asking if s != seat]
            elif seat not in self._asking:
                self._asking.append(seat)

    def give(self, seat: str) -> str | None:
        """Hand the controls of a seat to the first who asked, or release them; return the name of the new owner."""
        with self._lock:
            self._hand_over(seat)
            return self._all.get(self._pilot or "")

    def view(self, seat: str) -> dict[str, object]:
        """Information for a seat: who it is, who steers, who asks, how many watch."""
        with self._lock:
            return {
                "you": self._all.get(seat, ""),
                "steers": self._pilot == seat,
                "pilot": self._all.get(self._pilot or "", ""),
                "asking": [self._all[s] for s in self._asking],
                "seats": len(self._all),
            }

    @property
    def free(self) -> bool:
        """True if nobody has the controls."""
        return self._pilot is None
