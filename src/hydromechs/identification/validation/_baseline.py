"""Free decay, and a baseline prediction from statics: in equilibrium, the vector from weight to buoyancy is upright.

    d(q) = d_0 + Σ (ρ V_i b_i − m_i c_i)   in axes of the vehicle
    roll = atan2(d_y, d_z),   pitch = atan2(−d_x, √(d_y² + d_z²))

The sum is over the moving bodies i of the model; d_0 contains three values for all parts fixed to the vehicle. The world
axis z is up; for z down, the vector changes sign.
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
    """Quasi-static balance of the vehicle of a campaign."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign, self.model = campaign, campaign.plant.model
        self.channels = campaign.study.baseline
        self._moments = {r.trial.name: self._moment(r) for r in campaign.trials}

    def _moment(self, recorded: RecordedTrial) -> np.ndarray:
        """Return Σ (ρ V b − m c) of all bodies except the free one, at the times of the first channel [kg·m], shape (m, 3)."""
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
        """Return roll and pitch at the samples of the first channel [rad], shape (m,) each."""
        d = self._moments[recorded.trial.name] + fixed
        return np.arctan2(d[:, 1], d[:, 2]), np.arctan2(-d[:, 0], np.hypot(d[:, 1], d[:, 2]))

    def errors(self, recorded: RecordedTrial, fixed: np.ndarray, *, offsets: bool) -> np.ndarray:
        """Return errors of roll and pitch [rad], shape (2, m); `offsets` subtracts their mean before the motion."""
        measured = [recorded.trial.samples[name] for name in self.channels]
        found = np.stack([a - s.values for a, s in zip(self.angles(recorded, fixed), measured, strict=True)])
        if offsets:
            t = measured[0].times
            found = found - found[:, (t >= recorded.trial.start) & (t <= recorded.begins)].mean(axis=1, keepdims=True)
        return found

    def fit(self, trials: Sequence[RecordedTrial], *, offsets: bool) -> np.ndarray:
        """Fit the fixed moments [kg·m], shape (3,), to trials of equal weight; `offsets` first removes constant errors."""
        from scipy.optimize import least_squares

        def residuals(fixed: np.ndarray) -> np.ndarray:
            rows = [self.errors(r, fixed, offsets=offsets) for r in trials]
            return np.concatenate([row.ravel() / np.sqrt(row.shape[1]) for row in rows])

        return np.asarray(least_squares(residuals, [0.0, 0.0, 0.3]).x)


STILL = 0.02
"""Maximum distance of a joint from its final position at which it counts as stopped [rad]."""
PERIODS, CLEAR, LARGE = 1.5, 5.0, math.radians(0.1)
"""Minimum number of periods [-], amplitude-to-residual ratio [-] and amplitude [rad] of a detected oscillation."""
FREQUENCIES, RATES = np.geomspace(0.5, 8.0, 60), np.array([0.0, 0.1, 0.2, 0.4, 0.8])
"""Initial frequency [rad/s] and decay rate [1/s] of the fit."""


class Decay(NamedTuple):
    """Oscillation a + b t + A e^(−σt) cos(ωt + φ) in a signal."""

    frequency: float
    """Frequency ω [rad/s]."""
    ratio: float
    """Damping ratio σ/√(ω² + σ²) [-]."""
    amplitude: float
    """Amplitude A at the start, in the unit of the signal."""
    left: float
    """Root mean square of the residual, in the unit of the signal."""

    @property
    def detected(self) -> bool:
        """True if the amplitude is large enough and clearly above the residual."""
        return self.amplitude > max(CLEAR * self.left, LARGE)


def still_from(given: Mapping[str, motions.Motion], start: float, end: float) -> float:
    """Return the time after which no joint moves [s]."""
    times, latest = np.arange(start, end, 0.05), start
    for motion in given.values():
        q = np.array([motion.now(t).position for t in times])
        moves = np.flatnonzero(np.abs(q - q[-1]) > STILL)
        if len(moves):
            latest = max(latest, float(times[moves[-1]]) + 0.1)
    return latest


def decay_of(samples: ChannelSamples, start: float, end: float) -> Decay | None:
    """Return the oscillation of a signal from `start` to `end` [s]; None if the record is too short."""
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
