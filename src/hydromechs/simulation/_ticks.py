"""Where a run looks up from compiled code, and when."""

from __future__ import annotations

import math
import time

from hydromechs.values import positive

__all__ = ["Ticks", "is_multiple", "next_multiple"]


class Ticks:
    """Where a run looks up from compiled code: ticks of the controller, watched events, progress, the clock."""

    def __init__(self, sim, t_end: float, progress, real_time: float | None):
        self.sim, self.t_end, self.progress = sim, t_end, progress
        self.pace = None if real_time is None else positive(real_time, "real_time")
        self.late = 0
        self.t_start, self.clock = sim._t, time.perf_counter()
        self.told = self.clock
        pace = (
            max(1, round(0.01 / sim.step_size)) * sim.step_size if self.pace else None
        )  # whole steps: the numbers stay the same
        looks = [x for x in (sim.period, sim.record if sim.events else None, pace) if x]
        self.looks = looks or [100.0 * sim.record]

    def next(self) -> float:
        """Time of the next look [s]."""
        sim, t = self.sim, self.sim._t
        return min(self.t_end, *(next_multiple(t, interval, sim.step_size) for interval in self.looks))

    def look(self) -> None:
        """Tell of progress; wait for the clock."""
        now = time.perf_counter()
        if self.pace is not None:
            ahead = self.clock + (self.sim._t - self.t_start) / self.pace - now
            if ahead > 0.0:
                time.sleep(ahead)
            elif ahead < -1e-3:
                self.late += 1
        if self.progress is not None and now - self.told > 0.1:
            self.told = now
            self.progress(self.sim._t)


def is_multiple(t: float, period: float, step: float) -> bool:
    """Whether a time is a multiple of a period, within rounding."""
    return abs(t - round(t / period) * period) < 1e-6 * step


def next_multiple(t: float, period: float, step: float) -> float:
    """The next multiple of a period after a time."""
    return (math.floor(t / period + 1e-6 * step / period) + 1) * period
