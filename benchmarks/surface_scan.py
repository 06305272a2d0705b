"""Predictions of one trial over heights of the free surface, with the predicted and with the measured heave.

A raised arm leaves the water by centimetres, so an error in heave moves the attitude as much as an error in the height of
the surface does. The two columns of the scan tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hydromechs.actuation import motions
from hydromechs.identification import SensitiveState, SurfaceHeight, solve
from hydromechs.identification.validation import Campaign, RecordedTrial, ValidationStudy, read_campaign
from hydromechs.identification.validation._validate import blinded, channels_of, errors_of, fit
from hydromechs.spatial import quaternion_matrix

__all__ = ["SurfaceRow", "predicted_over_heights", "scan_surface"]


class SurfaceRow(NamedTuple):
    """Errors of a trial at one height of the surface."""

    height: float
    """Height of the surface [m]."""
    fitted: bool
    """True if the fit found this height."""
    predicted: dict[str, float]
    """Root mean square error of each judged channel, as in a prediction."""
    measured_heave: dict[str, float]
    """The same with the height of the vehicle and its rate as measured, all else predicted."""


def scan_surface(
    study: ValidationStudy,
    data: str | Path,
    trial: str,
    heights: Sequence[float],
    *,
    progress: Callable[[int, float, float], None] | None = None,
) -> list[SurfaceRow]:
    """Fit without the motion of a trial, then predict the trial with the fitted and with other heights of the surface.

    Args:
        study: What to do; its unknowns include `surface_height`.
        data: Folder of the logs.
        trial: Name of the trial.
        heights: Heights of the surface besides the fitted one [m].
        progress: Called after each iteration of the fit with its number, the cost and the damping.
    """
    campaign = read_campaign(study, data)
    chosen = next((r for r in campaign.trials if r.trial.name == trial), None)
    if chosen is None:
        raise ValueError(f"{data} has no trial {trial!r}; it has {', '.join(r.trial.name for r in campaign.trials)}")
    found = fit(campaign, [r for r in campaign.trials if r.group != chosen.group], progress=progress)
    return predicted_over_heights(campaign, chosen, found.solution.at.shared, heights)


def predicted_over_heights(
    campaign: Campaign, recorded: RecordedTrial, shared: np.ndarray, heights: Sequence[float]
) -> list[SurfaceRow]:
    """Predict a trial with the fitted and with other heights of the surface, everything else as fitted.

    Args:
        campaign: The trials and what they are of.
        shared: What a fit has found, shape (g,).
        heights: Heights of the surface besides the fitted one [m].
    """
    study = campaign.study
    problem = campaign.problem_of([blinded(recorded)])
    places = [at.start for u, at in zip(problem.unknowns, problem.slices, strict=True) if isinstance(u, SurfaceHeight)]
    if not places:
        raise ValueError(f"{study.name}: surface_height is not among its unknowns; add it: {{type: surface_height}}")
    heave = _measured_heave(campaign, recorded)
    fitted = float(shared[places[0]])
    rows = []
    for height in sorted({fitted, *heights}):
        tried = shared.copy()
        tried[places[0]] = height
        own = solve(problem, shared=tried, fixed=True, until=[recorded.begins], most=20, gain=1e-4).at.own
        errors = []
        for corrected in (None, heave):
            values, _ = problem.simulate(tried, own, derivatives=False, corrected=corrected)
            errors.append(errors_of(study, recorded, channels_of(problem, 0, values, own)))
        rows.append(SurfaceRow(height, height == fitted, *errors))
    return rows


def _measured_heave(
    campaign: Campaign, recorded: RecordedTrial
) -> Callable[[np.ndarray, np.ndarray, SensitiveState], SensitiveState]:
    """Return a function that puts the vehicle at its measured height and rate after each step; smoothed as joints are."""
    name = next((x for x in recorded.trial.samples if x.endswith(".z")), None)
    if name is None:
        raise ValueError(f"{recorded.trial.name}: no instrument measures z, the height of {campaign.base!r}; name its channel")
    heights = motions.Recorded.of(*recorded.trial.samples[name], smoothing=campaign.study.smoothing)
    part = campaign.plant.model.joint_part(campaign.base)
    z, turn, speed = part.q.start + 2, slice(part.q.start + 3, part.q.stop), slice(part.v.start, part.v.start + 3)

    def corrected(trials: np.ndarray, steps: np.ndarray, at: SensitiveState) -> SensitiveState:
        q, x = at.q.copy(), at.x.copy()
        for k, step in enumerate(steps):
            now = heights.now(recorded.trial.start + campaign.study.step * step)
            up = quaternion_matrix(q[k, turn])[2]  # in body axes
            q[k, z] = now.position
            x[k, speed] += (now.velocity - up @ x[k, speed]) * up
        return SensitiveState(q, x, at.S)

    return corrected
