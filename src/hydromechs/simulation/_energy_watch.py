"""Unexplained energy that a run gains or loses, reported once at its end."""

from collections.abc import Mapping, Sequence

import numpy as np

from hydromechs.recording import STORED_ENERGIES

SHARE = 0.02
"""Unexplained energy above which it is reported, as a fraction of the energy exchanged."""
ROUNDING = 1e-8
"""Unexplained energy below which it may be rounding error, as a fraction of the maximum stored energy."""
PASSIVE = "contact"
"""Cause that stores and dissipates energy but supplies none: its work is never positive."""


class EnergyWatch:
    """Monitors the energy residual and the work of contacts over the samples of a run.

    The energy exchanged is the sum of the ranges of all stored energies and works, plus the initial kinetic energy. Net changes
    are not suitable: those of a bouncing ball return to zero.

    Args:
        causes: Names of the causes of work.
    """

    def __init__(self, causes: Sequence[str]) -> None:
        self._passive = list(causes).index(PASSIVE) if PASSIVE in causes else None
        self._low, self._high, self._start = np.zeros(0), np.zeros(0), 0.0
        self._first: tuple[float, float] | None = None  # residual and work of contacts in the first sample
        self._last = (0.0, 0.0)  # time and residual of the newest sample
        self._residual, self._supplied = 0.0, 0.0
        self._jump = (0.0, 0.0, 0.0)  # largest change of the residual between samples, its start and end time

    def update(self, times: np.ndarray, block: Mapping[str, np.ndarray]) -> None:
        """Process samples in order of time: variables of the recording by name, shape (n, ...) each."""
        stored = [block[name] for name in STORED_ENERGIES]
        work = block.get("work", np.zeros((len(times), 0)))  # a mechanism without forces has no work
        columns = np.column_stack([*stored, work])
        residual = block["energy_residual"]
        passive = np.zeros(len(times)) if self._passive is None else work[:, self._passive]
        if self._first is None:
            self._first, self._last = (residual[0], passive[0]), (times[0], residual[0])
            self._low = self._high = columns[0]
            self._start = float(sum(block[name][0] for name in STORED_ENERGIES if name.startswith("kinetic")))
        self._low = np.minimum(self._low, columns.min(axis=0))
        self._high = np.maximum(self._high, columns.max(axis=0))
        since = residual - self._first[0]
        self._residual = max((self._residual, since.max(), since.min()), key=abs)
        self._supplied = max(self._supplied, float((passive - self._first[1]).max()))
        before = np.concatenate([[self._last[1]], residual[:-1]])
        k = int(np.argmax(np.abs(residual - before)))
        if abs(residual[k] - before[k]) > abs(self._jump[0]):
            self._jump = (residual[k] - before[k], float(times[k - 1]) if k else self._last[0], float(times[k]))
        self._last = (float(times[-1]), residual[-1])

    def messages(self, remedy: str, damped: bool = False) -> list[str]:
        """Return warnings about unexplained energy; none if it is small or if values are no longer finite.

        `remedy`: advice, as an imperative; `damped`: True for a method with intended numerical damping: losses are not
        reported.
        """
        if self._first is None or not np.isfinite([self._residual, self._supplied, *self._low, *self._high]).all():
            return []
        exchanged = float((self._high - self._low).sum()) + self._start
        stored = len(STORED_ENERGIES)
        large = float(np.abs([self._low[:stored], self._high[:stored]]).max(initial=0.0))
        limit = max(SHARE * exchanged, ROUNDING * large)
        share = f"of the {exchanged:.3g} J exchanged (limit {100 * SHARE:g} %)"
        out = []
        if abs(self._residual) > limit and not (damped and self._residual < 0.0):
            goes = "appear without a cause" if self._residual > 0.0 else "disappear without a cause"
            out.append(
                f"energy residual: {abs(self._residual):.3g} J {goes}, {100 * abs(self._residual) / exchanged:.2g} % {share}, "
                f"mostly from t = {self._jump[1]:g} s to {self._jump[2]:g} s; {remedy}"
            )
        if self._supplied > limit:
            out.append(
                f"contacts supply {self._supplied:.3g} J, {100 * self._supplied / exchanged:.2g} % {share}, "
                f"although they can only store and dissipate energy; {remedy}"
            )
        return out
