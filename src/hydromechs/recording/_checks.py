"""Checks of recordings: limits for statistics of quantities."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from hydromechs.registry import Pattern
from hydromechs.values import Pair, finite, floats

from ._quantities import angle_difference, period_of, samples_of, unit_of

if TYPE_CHECKING:
    import xarray

STATISTICS: dict[str, tuple[str, Callable[[np.ndarray], float]]] = {
    "last": ("last value of {}", lambda x: x[-1]),
    "min": ("minimum of {}", np.min),
    "max": ("maximum of {}", np.max),
    "mean": ("mean of {}", np.mean),
    "rms": ("root mean square of {}", lambda x: np.sqrt(np.mean(x * x))),
    "max_abs": ("maximum |{}|", lambda x: np.max(np.abs(x))),
}
"""Statistics of checks, keyed by name: description, and function of the samples."""
HOW = ("target", "after", "before", "mean_of")
"""Fields of a check that are arguments of `statistic_of`."""


def statistic_of(
    time: np.ndarray,
    samples: np.ndarray,
    statistic: str,
    *,
    target: float = 0.0,
    after: float = 0.0,
    before: float | None = None,
    mean_of: Pair | None = None,
    period: float | None = None,
) -> tuple[float, np.ndarray]:
    """Return a statistic of a recorded quantity (NaN without samples), and the samples that it includes, shape (n,).

    Differences of angles wrap around: 359° minus a target of 1° is −2°.

    Args:
        time: Times [s], shape (n,).
        samples: Samples of the quantity, shape (n,); see `samples_of`.
        statistic: One of `STATISTICS`.
        target: Value subtracted from the quantity [unit of the quantity].
        after: Samples before this time are ignored [s].
        before: Samples at and after this time are ignored [s]. Defaults to no limit.
        mean_of: Interval [s] over which the mean of the quantity is also subtracted; optional.
        period: Period of an angle that wraps around [unit of the angle], from `period_of`; None for other quantities.
    """
    if mean_of is not None:
        then = samples[(time >= mean_of[0]) & (time < mean_of[1])]
        near = 0.0 if period is None or not then.size else float(then[0])  # a mean of angles needs a reference angle
        target += near + float(np.mean(angle_difference(then - near, period))) if then.size else math.nan
    x = angle_difference(samples[(time >= after) & (time < (math.inf if before is None else before))] - target, period)
    return float(STATISTICS[statistic][1](x)) if x.size else math.nan, x


class CheckResult(NamedTuple):
    """Result of a check."""

    name: str
    passed: bool
    """True if the value is within its limits; False if the run diverged."""
    value: float
    """Value of the statistic; NaN without samples, or if the run diverged."""
    limit: str
    """Limits as text, such as "below 0.3"."""
    text: str
    """Statistic and quantity as text."""
    quantity: str = ""
    """Quantity of the check, such as "position.vehicle.x"."""
    unit: str = ""
    """Unit of value and limits; empty if the recording specifies no unit."""

    def unjudged(self) -> CheckResult:
        """Return the result for a run that diverged: not passed, without a value."""
        return self._replace(passed=False, value=math.nan, text=f"{self.text}; not evaluated, because the run diverged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Condition on a recording: limits for a statistic of a quantity minus a target."""

    name: str
    """Name of the check."""
    quantity: str
    """Recorded quantity, such as "position.vehicle.x", "q.elbow" or "tilt_deg.vehicle"; "contact_force.*" is the sum over
    all contacts."""
    target: float = 0.0
    """Value subtracted from the quantity [unit of the quantity]."""
    statistic: Annotated[str, Pattern("|".join(STATISTICS), f"must be one of {', '.join(STATISTICS)}")] = "last"
    """Statistic of the samples: "last", "min", "max", "mean", "rms" or "max_abs"."""
    after: float = 0.0
    """Samples before this time are ignored [s]."""
    before: float | None = None
    """Samples at and after this time are ignored [s]. Defaults to no limit."""
    mean_of: Pair | None = None
    """Start and end [s] of an interval over which the mean of the quantity is also subtracted; optional."""
    below: float | None = None
    """Upper limit; the statistic must be less [unit of the quantity]."""
    above: float | None = None
    """Lower limit; the statistic must be greater [unit of the quantity]."""

    def __post_init__(self) -> None:
        label = f"check {self.name!r}"
        if self.statistic not in STATISTICS:
            raise ValueError(f"{label}: statistic is {self.statistic!r}, must be one of {', '.join(STATISTICS)}")
        if self.below is None and self.above is None:
            raise ValueError(f"{label} has no limit; give below, above or both")
        for key in ("target", "after", "before", "below", "above"):
            value = getattr(self, key)
            if value is not None:
                object.__setattr__(self, key, finite(value, f"{label}: {key}"))
        if self.below is not None and self.above is not None and not self.above < self.below:
            raise ValueError(f"{label}: above is {self.above:g}, must be less than below ({self.below:g}); swap them")
        if self.mean_of is not None:
            start, end = floats(self.mean_of, 2, f"{label}: mean_of")
            object.__setattr__(self, "mean_of", (start, end))
            if not start < end:
                raise ValueError(f"{label}: mean_of starts at {start:g} s and ends at {end:g} s; swap them")
        if self.before is not None and not self.after < self.before:
            raise ValueError(f"{label}: after is {self.after:g} s, must be earlier than before ({self.before:g} s); swap them")

    def judge(self, dataset: xarray.Dataset) -> CheckResult:
        """Evaluate the check on a recording."""
        result = self.judge_samples(dataset["time"].values, samples_of(dataset, self.quantity))
        return result._replace(unit=unit_of(dataset, self.quantity))

    def judge_samples(self, time: np.ndarray, samples: np.ndarray) -> CheckResult:
        """Evaluate the check on samples of its quantity, shape (n,), recorded at `time` [s], shape (n,)."""
        how = {key: getattr(self, key) for key in HOW}
        value, x = statistic_of(time, samples, self.statistic, period=period_of(self.quantity), **how)
        return self.results([value], self._why_nothing(time, x))[0]

    def results(self, values: Sequence[float], note: str = "") -> list[CheckResult]:
        """Return one result for each value of the statistic; `note` is appended to the text."""
        x, limit, text = np.asarray(values, dtype=float), self.limit, self.text + note
        rows = zip(self.passes(x).tolist(), x.tolist(), strict=True)
        return [CheckResult(self.name, *row, limit, text, self.quantity) for row in rows]

    def passes(self, values: np.ndarray) -> np.ndarray:
        """Return True for each value of the statistic within the limits."""
        passed = np.isfinite(values)
        if self.below is not None:
            passed &= values < self.below
        if self.above is not None:
            passed &= values > self.above
        return passed

    def over(self, start: float) -> bool:
        """True if the check applies only to times before `start` [s], as may be the case in a resumed run."""
        return self.before is not None and self.before <= start

    def _why_nothing(self, time: np.ndarray, x: np.ndarray) -> str:
        if x.size:
            missing = int(np.count_nonzero(np.isnan(x)))
            return f"; {missing} of {x.size} samples are not numbers; check whether the component was off" if missing else ""
        if time.size and self.over(float(time[0])):
            return "; the run started later"
        ended = not time.size or time[-1] < self.after
        return "; the run ended earlier" if ended else "; there is no sample in this interval; record more often"

    @property
    def text(self) -> str:
        """Statistic and quantity of the check as text."""
        off = f" - {self.target:g}" if self.target > 0.0 else f" + {-self.target:g}" if self.target else ""
        text = STATISTICS[self.statistic][0].format(self.quantity + off) + (f" after {self.after:g} s" if self.after else "")
        text += "" if self.before is None else f" before {self.before:g} s"
        return text + ("" if self.mean_of is None else f", minus its mean from {self.mean_of[0]:g} s to {self.mean_of[1]:g} s")

    @property
    def limit(self) -> str:
        """Limits of the statistic as text."""
        both = (("above", self.above), ("below", self.below))
        return " and ".join(f"{word} {value:g}" for word, value in both if value is not None)
