"""What sensors have measured along a rollout."""

from __future__ import annotations

import numpy as np

from ._plant import PlantRun
from ._source import Run


class Seen:
    """What sensors have measured at the recorded times of a rollout.

    Args:
        run: What happens around the steps.
        record: Steps from one to the next.
    """

    def __init__(self, run: Run, rows: int, record: int) -> None:
        self.run = run if isinstance(run, PlantRun) and run.sensing is not None else None
        self.rows, self.record = rows, record
        now = {} if self.run is None or self.run.sensing is None else self.run.sensing.readings
        self.readings = {name: np.full((len(x), rows, x.shape[1]), np.nan) for name, x in now.items()}
        """By name, shape (worlds, rows, n)."""

    def keep(self, first: int, last: int) -> None:
        """Keep what holds from one step to before another: sensors look at their own times only."""
        rows = slice(-(-first // self.record), -(-last // self.record))
        if self.run is not None and self.run.sensing is not None:
            for name, x in self.run.sensing.readings.items():
                self.readings[name][:, rows] = x[:, None]

    def end(self) -> None:
        """Keep what holds at the end."""
        if self.run is not None:
            self.run.measure()
            self.keep((self.rows - 1) * self.record, (self.rows - 1) * self.record + 1)
