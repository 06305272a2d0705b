"""Guards of events in compiled code: at each tick and sample, they check whether a quantity crossed its level."""

from collections.abc import Mapping, Sequence

import numpy as np

from hydromechs.compiler import Entries, Routine
from hydromechs.recording import angle_difference, period_of
from hydromechs.spatial import where
from hydromechs.values import Array, Scalar

from ._events import Event
from ._programs import PlantPrograms
from ._quantities_now import QuantitiesNow

IN_PYTHON = ("time", "work", "energy_residual", "orientation")
"""Quantities without a compiled guard: instants, and those that need the start or the past of a run."""


class Guards:
    """Guards of events, except those of `IN_PYTHON`.

    Args:
        events: Events of a mission; others are ignored.
        signals: Signals of its controllers, name to unit.
    """

    def __init__(self, programs: PlantPrograms, events: Sequence[Event], signals: Mapping[str, str]) -> None:
        self.events = [e for e in events if e.quantity.partition(".")[0] not in IN_PYTHON]
        """Events with compiled guards."""
        self._quantities = QuantitiesNow(programs, [e.quantity for e in self.events], signals)

    def add(self, r: Routine, t: Entries, parts: Mapping[str, Entries], last: Entries, paused: Entries) -> None:
        """Add a check at the present instant; see `QuantitiesNow.call`."""
        identity = repr([(e.level, e.direction, period_of(e.quantity)) for e in self.events])
        self._quantities.call(r, t, parts, self._look, {"last": last, "paused": paused}, "guards", identity)

    def _look(self, t: Scalar, values: Sequence[Scalar], last: Array, paused: Array) -> tuple[Array, Array]:
        """True if a guard crossed 0 since the last check; then the world pauses, and the last values stay."""
        out, now = paused[0], []
        for e, value, before in zip(self.events, values, last, strict=True):
            period = period_of(e.quantity)
            off = angle_difference(value - e.level, period)
            rising = where(before < 0.0, where(off >= 0.0, 1.0, 0.0), 0.0)
            falling = where(before > 0.0, where(off <= 0.0, 1.0, 0.0), 0.0)
            crossed = {"rising": rising, "falling": falling, "either": rising + falling}[e.direction]
            if period is not None:
                crossed = where(abs(off - before) > 0.5 * period, 0.0, crossed)
            out = where(crossed != 0.0, 1.0, out)
            now.append(off)
        return np.array([where(out != 0.0, a, b) for a, b in zip(last, now, strict=True)]), np.array([out])
