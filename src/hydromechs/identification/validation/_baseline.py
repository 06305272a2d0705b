"""Free decay, and a baseline prediction from statics: at rest, the vector from total weight to total buoyancy is upright.

    d(q) = d_0 + Σ (ρ V_i b_i − m_i c_i)   in axes of the vehicle
    roll = atan2(d_y, d_z),   pitch = atan2(−d_x, √(d_y² + d_z²))

with the moving bodies i of the model and three numbers d_0 for all parts fixed to the vehicle. World axes with
z up; for z down the vector points the other way.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs import equations
from hydromechs.actuation import motions

from .. import ChannelSamples
from ._campaign import Campaign, RecordedTrial


class StaticBalance:
    """The quasi-static balance of a campaign's vehicle."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign, self.model = campaign, campaign.plant.model
        self.channels = campaign.study.baseline
        self._moments = {r.trial.name: self._moment(r) for r in campaign.trials}

    def _moment(self, recorded: RecordedTrial) -> np.ndarray:
        """Σ (ρ V b − m c) of all bodies but the one that floats, at the samples of the first channel, shape (m, 3)."""
        model, trial = self.model, recorded.trial
        times = trial.samples[self.channels[0]].times
        q = np.zeros((len(times), model.nq))
        q[:, model.joint_part(self.campaign.base).q] = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
        for joint, motion in trial.motions.items():
            q[:, model.joint_part(joint).q] = np.array([[motion.now(float(t)).position] for t in times])
        X, _ = equations.compile(model).kinematics(q, np.zeros((len(times), model.nv)))
        out = np.zeros((len(times), 3))
        for i, body in enumerate(model.bodies):
            if body.name == self.campaign.base:
                continue
            p, R = X[:, i, :3, 3], X[:, i, :3, :3]
            out -= body.inertia.mass * (p + R @ np.array(body.inertia.com, dtype=float))
            if body.hydro is not None:
                water = model.world.water_density * body.hydro.volume
                out += water * (p + R @ np.array(body.hydro.buoyancy_center, dtype=float))
        return -out * model.world.down[2]  # for z down the vector points the other way

    def angles(self, recorded: RecordedTrial, fixed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Roll and pitch at the samples of the first channel [rad], shape (m,) each."""
        d = self._moments[recorded.trial.name] + fixed
        return np.arctan2(d[:, 1], d[:, 2]), np.arctan2(-d[:, 0], np.hypot(d[:, 1], d[:, 2]))

    def errors(self, recorded: RecordedTrial, fixed: np.ndarray, *, offsets: bool) -> np.ndarray:
        """Return errors of roll and pitch [rad], shape (2, m); with offsets, minus their mean before the motion starts."""
        measured = [recorded.trial.samples[name] for name in self.channels]
        found = np.stack([a - s.values for a, s in zip(self.angles(recorded, fixed), measured, strict=True)])
        if offsets:
            t = measured[0].times
            found = found - found[:, (t >= recorded.trial.start) & (t <= recorded.begins)].mean(axis=1, keepdims=True)
        return found

    def fit(self, trials: Sequence[RecordedTrial], *, offsets: bool) -> np.ndarray:
        """Fit the three fixed numbers [kg·m], shape (3,), to trials of one weight; `offsets` first removes constant errors."""
        from scipy.optimize import least_squares

        def residuals(fixed: np.ndarray) -> np.ndarray:
            rows = [self.errors(r, fixed, offsets=offsets) for r in trials]
            return np.concatenate([row.ravel() / np.sqrt(row.shape[1]) for row in rows])

        return np.asarray(least_squares(residuals, [0.0, 0.0, 0.3]).x)


STILL = 0.02
"""Maximum distance of a joint from its final position [rad]."""
PERIODS, CLEAR, LARGE = 1.5, 5.0, math.radians(0.1)
"""Minimum number of periods, ratio of amplitude to residual, and amplitude [rad] for an oscillation to be detected."""
FREQUENCIES, RATES = np.geomspace(0.5, 8.0, 60), np.array([0.0, 0.1, 0.2, 0.4, 0.8])
"""Initial frequency [rad/s] and decay rate [1/s] of the search."""


class Decay(NamedTuple):
    """An oscillation a + b t + A e^(−σt) cos(ωt + φ) in a signal."""

    frequency: float
    """ω [rad/s]."""
    ratio: float
    """Damping ratio σ/√(ω² + σ²) [-]."""
    amplitude: float
    """Amplitude A at its start, in the signal's unit."""
    left: float
    """Root mean square of the residual."""

    @property
    def detected(self) -> bool:
        """True if it is large enough and clearly above its residual."""
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
    """Return the oscillation of a signal from `start` to `end` [s]; None for too short a record."""
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
