"""Recordings of a plant, and what must be right with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from hydromechs.actuation import motions
from hydromechs.values import nearest

STEEPEST = 1.7
"""Largest pitch that is believed [rad]."""
MAX_OUTSIDE = 0.5
"""Part of a channel's samples that may be outside the trial."""


class ChannelSamples(NamedTuple):
    """What a channel measured in a trial."""

    times: np.ndarray
    """Times [s], shape (m,), rising."""
    values: np.ndarray
    """Values in the channel's unit, shape (m,)."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A recording of the plant, and where it begins."""

    name: str
    """Name, for tables."""
    start: float
    """Time at which the simulation of it begins [s]."""
    end: float
    """Time at which it ends [s]."""
    q: np.ndarray
    """Guess of the configuration at the start, shape (nq,)."""
    v: np.ndarray
    """Guess of the velocity at the start, shape (nv,)."""
    samples: Mapping[str, ChannelSamples]
    """What was measured, by channel, as "imu.roll"."""
    motions: Mapping[str, motions.Motion] = field(default_factory=dict)
    """Motion of joints that the plant has given, by name."""

    def windowed(self) -> Trial:
        """The trial with those samples alone that lie within it: a part of a long log."""
        kept = {name: ~outside(self, name) for name in self.samples}
        return replace(self, samples={k: ChannelSamples(*(np.asarray(x)[kept[k]] for x in s)) for k, s in self.samples.items()})


def outside(trial: Trial, channel: str) -> np.ndarray:
    """Which samples of a channel, by its name, lie before the trial or after it and do not count, shape (m,)."""
    t = np.asarray(trial.samples[channel].times)
    return (t < trial.start) | (t > trial.end)


def check_trial(trial: Trial, channels: Sequence[str]) -> None:
    """Reject a trial with samples that cannot be used, or not of one of the instruments' `channels`, with the remedy."""
    if not trial.start < trial.end:
        raise ValueError(f"trial {trial.name!r} starts at {trial.start:g} s and ends at {trial.end:g} s; it must end later")
    for name, (times, values) in trial.samples.items():
        what = f"trial {trial.name!r}: {name}"
        if name not in channels:
            raise ValueError(f"{what} is not a channel of an instrument{nearest(name, channels)}")
        t, x = np.asarray(times), np.asarray(values)
        if t.shape != x.shape or t.ndim != 1:
            raise ValueError(f"{what}: times have the shape {t.shape} and values {x.shape}, must be the same and (m,)")
        if not (np.isfinite(t).all() and np.isfinite(x).all()):
            bad = int((~(np.isfinite(t) & np.isfinite(x))).sum())
            raise ValueError(f"{what}: {bad} of {len(t)} samples are not finite; leave them out")
        if (np.diff(t) <= 0.0).any():
            k = int(np.argmax(np.diff(t) <= 0.0)) + 1
            raise ValueError(f"{what}: times do not rise: {t[k]:g} s follows {t[k - 1]:g} s; remove samples that are not later")
        out = outside(trial, name)
        if len(t) and out.all():
            raise ValueError(
                f"{what} has samples from {t[0]:g} to {t[-1]:g} s, but the trial goes from {trial.start:g} to {trial.end:g} s"
            )
        if out.sum() > MAX_OUTSIDE * len(t):
            raise ValueError(
                f"{what}: {out.sum()} of {len(t)} samples, which go from {t[0]:g} to {t[-1]:g} s, are outside the trial, from "
                f"{trial.start:g} to {trial.end:g} s; are times in ms? of a long log, trial.windowed() keeps what is within"
            )
        if name.endswith(".pitch") and len(x) and np.percentile(np.abs(x), 90) > STEEPEST:
            raise ValueError(f"{what} is {np.abs(x).max():.4g} rad; is it in degrees? np.radians makes it right")
