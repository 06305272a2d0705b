"""Message of a run for constraint forces that are undetermined and were set to 0, once for each group."""

from collections.abc import Sequence

import numpy as np


class FreeForces:
    """Samples of `constraint_free`, condensed to intervals.

    Args:
        groups: Names of the groups of constraints.
    """

    def __init__(self, groups: Sequence[str]) -> None:
        self._groups = tuple(groups)
        self._spans: list[list[list[float]]] = [[] for _ in groups]  # of each group: its first interval and its last
        self._count = [0] * len(self._groups)
        self._most, self._last = np.zeros(len(self._groups)), np.zeros(len(self._groups))
        self._t = -np.inf

    def look(self, times: np.ndarray, free: np.ndarray) -> None:
        """Process samples in order of time: numbers of forces that were set to 0, shape (n, groups)."""
        self._most = np.maximum(self._most, free.max(axis=0, initial=0.0))
        before = np.concatenate([self._last[None], free[:-1]])
        for k, spans in enumerate(self._spans):
            for i in np.flatnonzero((free[:, k] > 0.0) != (before[:, k] > 0.0)):
                if free[i, k] > 0.0:
                    spans[:] = [*spans[:1], [float(times[i]), np.inf]]
                    self._count[k] += 1
                else:
                    spans[-1][1] = float(times[i])
        self._last, self._t = free[-1], float(times[-1])

    def messages(self) -> list[str]:
        """Return one line for each group with undetermined forces."""
        out = []
        for name, spans, count, most in zip(self._groups, self._spans, self._count, self._most, strict=True):
            if not spans:
                continue
            times = [f"{begin:g} s to {min(end, self._t):g} s" for begin, end in spans]
            when = times[0] if count == 1 else f"{times[0]}, {count} times, the last {times[-1]}"
            out.append(
                f"t = {when}: directions held by the constraints {name} are dependent; up to {most:.0f} of their "
                "force components are undetermined and were set to 0 (constraint_free in the recording)"
            )
        return out
