"""Free decay: swing of a vehicle once its arm has stopped, measured and predicted."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from hydromechs.actuation import motions

from .. import ChannelSamples

STILL = 0.02
"""Maximum distance of a joint from its final position [rad]."""
PERIODS, CLEAR, LARGE = 1.5, 5.0, math.radians(0.1)
"""Minimum number of periods, ratio of amplitude to residual, and amplitude [rad] for a swing to be detected."""
FREQUENCIES, RATES = np.geomspace(0.5, 8.0, 60), np.array([0.0, 0.1, 0.2, 0.4, 0.8])
"""Initial frequency [rad/s] and decay rate [1/s] of the search."""


class Decay(NamedTuple):
    """A swing a + b t + A e^(−σt) cos(ωt + φ), in a signal."""

    frequency: float
    """ω [rad/s]."""
    ratio: float
    """Damping ratio σ/√(ω² + σ²) [-]."""
    amplitude: float
    """Amplitude A at its start, in the signal's unit."""
    left: float
    """Root mean square of the residual."""

    @property
    def told(self) -> bool:
        """True if it is clearly above its residual, and not too small."""
        return self.amplitude > max(CLEAR * self.left, LARGE)


def still_from(given: Mapping[str, motions.Motion], start: float, end: float) -> float:
    """Return the time from which no joint moves [s]."""
    times, latest = np.arange(start, end, 0.05), start
    for motion in given.values():
        q = np.array([motion.now(t).position for t in times])
        moves = np.flatnonzero(np.abs(q - q[-1]) > STILL)
        if len(moves):
            latest = max(latest, float(times[moves[-1]]) + 0.1)
    return latest


def decay_of(samples: ChannelSamples, start: float, end: float) -> Decay | None:
    """Return the swing of a signal from `start` to `end` [s]; None if there is too little of it."""
    from scipy.optimize import least_squares

    within = (samples.times >= start) & (samples.times <= end)
    t, x = samples.times[within] - start, samples.values[within]
    if len(t) < 20:
        return None

    def shapes(p: Any) -> np.ndarray:
        fade = np.exp(-p[1] * t)
        return np.stack([np.ones_like(t), t, fade * np.cos(p[0] * t), fade * np.sin(p[0] * t)], axis=1)

    def residual(p: Any) -> np.ndarray:
        S = shapes(p)
        return S @ np.linalg.lstsq(S, x, rcond=None)[0] - x

    first = min(((w, s) for w in FREQUENCIES for s in RATES), key=lambda p: float(np.sum(residual(p) ** 2)))
    found = least_squares(residual, first, bounds=([0.3, -0.05], [10.0, 5.0]))
    w, s = (float(p) for p in found.x)
    if w * (t[-1] - t[0]) < 2.0 * math.pi * PERIODS:
        return None
    a = np.linalg.lstsq(shapes((w, s)), x, rcond=None)[0]
    return Decay(w, s / math.hypot(w, s), float(np.hypot(a[2], a[3])), float(np.sqrt(np.mean(found.fun**2))))
