"""Stops of a run in compiled code: for the controller, events, progress, real time."""

import time
from collections.abc import Callable, Iterable

from hydromechs.integrators import MOST_STEPS, next_multiple
from hydromechs.values import positive

PACE = 0.01
"""Time between two checks of the wall clock of a run in real time [s]."""
PROGRESS = 0.1
"""Seconds between two reports of progress."""
MISSED = 1e-3
"""Delay above which a deadline counts as missed [s]."""
MOST_SAMPLES = 1e9
"""Maximum number of samples of a recording."""


def size_faults(duration: float, step: float, record: float) -> list[tuple[str, str]]:
    """Return the time of a run that makes it endless, and the reason.

    `duration`: how long to simulate [s]; `record`: time between two samples [s].
    """
    out = []
    for key, value, what, most, remedy in (
        ("step", step, "steps", MOST_STEPS, "take longer steps"),
        ("record", record, "samples", MOST_SAMPLES, "record less often"),
    ):
        if duration > most * value:
            each = f"{key} is {value:g} s: a run of {duration:g} s has more than {most:g} {what}"
            out.append((key, f"{each}; {remedy}, or simulate a shorter time"))
    return out


class Clock:
    """Stops of one run.

    Args:
        t: Time at the start [s].
        periods: Times between stops of controller, events and recording [s].
        progress: Called regularly with the time reached [s]; None for no calls.
        real_time: Pace of a run in real time, 1 as fast as the wall clock; None for maximum speed.
    """

    def __init__(
        self, t: float, step: float, periods: Iterable[float], progress: Callable[[float], None] | None, real_time: float | None
    ) -> None:
        self.t_start, self.step, self.progress = t, step, progress
        self.pace = None if real_time is None else positive(real_time, "real_time")
        self.late = 0
        """Missed deadlines of a run in real time."""
        self.periods = list(periods)
        if self.pace:
            self.periods.append(max(1, round(PACE / step)) * step)  # whole steps: the numbers stay the same
        self.started = self.reported = time.perf_counter()

    @property
    def wall_time(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    def next(self, t: float, until: float) -> float:
        """Time of the next stop after a time, at the latest that of another [s]."""
        return min(until, *(next_multiple(t, period, self.step) for period in self.periods))

    def look(self, t: float) -> None:
        """Report the time reached, `t` [s]; wait for the wall clock."""
        now = time.perf_counter()
        if self.pace is not None:
            ahead = self.started + (t - self.t_start) / self.pace - now
            if ahead > 0.0:
                time.sleep(ahead)
            elif ahead < -MISSED:
                self.late += 1
        if self.progress is not None and now - self.reported > PROGRESS:
            self.reported = now
            self.progress(t)
