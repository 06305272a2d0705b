"""Inputs of a plant along trials: currents, gusts and recorded motions as they are at each step, and where they bend in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.integrators import rounding, slack
from hydromechs.simulation import InitialInstant, Plant
from hydromechs.values import nearest

from ._samples import Trial


class Timeline(NamedTuple):
    """Parts of the steps of all trials, one after the other; most steps are one part."""

    inputs: np.ndarray
    """Inputs of the plant with its own numbers, shape (parts, nu)."""
    begins: np.ndarray
    """When the part begins [s], shape (parts,)."""
    lengths: np.ndarray
    """How long it is [s], shape (parts,)."""
    first: np.ndarray
    """Of each trial, the first part of each of its steps, and after the last of them its end, shape (n, most + 1)."""
    steps: tuple[int, ...]
    """Steps of each trial."""


def motion_names(plant: Plant, trial: Trial) -> dict[str, str]:
    """Joints whose motion a trial gives, by the names of the components that move them."""
    timed = [name.removeprefix("timed.").removesuffix(".motion") for name in plant.layout.data if name.startswith("timed.")]
    for joint in trial.motions:
        if joint not in timed:
            raise KeyError(
                f"trial {trial.name!r} gives the motion of {joint!r}, but the plant has no recorded motion of that joint to "
                f"replace{nearest(joint, timed)}; give the plant one: motions.Recorded"
            )
    return {f"{joint}.motion": joint for joint in trial.motions}


def timeline(plant: Plant, trials: Sequence[Trial], h: float) -> Timeline:
    """Inputs of all trials; steps within which a current, gusts or a motion of the plant bend are cut there.

    Motions that trials give are cubic over each part.
    """
    steps = tuple(int(np.ceil((t.end - t.start) / h - 1e-9)) for t in trials)
    rows: list[np.ndarray] = []
    begins: list[float] = []
    lengths: list[float] = []
    first = np.zeros((len(trials), max(steps) + 1), dtype=int)
    for j, trial in enumerate(trials):
        names = motion_names(plant, trial)
        flow, until = plant.flow(), -np.inf
        given = InitialInstant(plant, trial.start, trial.q, trial.v, {}).inputs()
        row = given
        for k in range(steps[j]):
            first[j, k] = len(rows)
            t, end = trial.start + k * h, trial.start + (k + 1) * h
            near = slack(end, h)
            whole = True
            while t < end - near:
                if until <= t + near:
                    data, until = plant.data(flow, t + max(1e-9 * h, rounding(t)), {}, replaced=names)
                    row = np.concatenate([given, data])
                ends = end if until >= end - near else until
                length = h if whole and ends == end else ends - t
                rows.append(_moved(plant, trial, row, t, length))
                begins.append(t)
                lengths.append(length)
                t, whole = ends, False
        first[j, steps[j] :] = len(rows)
    return Timeline(np.array(rows), np.array(begins), np.array(lengths), first, steps)


def _moved(plant: Plant, trial: Trial, row: np.ndarray, t: float, length: float) -> np.ndarray:
    """Inputs with the motions of a trial from a time on, shape (nu,)."""
    if not trial.motions:
        return row
    out = row.copy()
    for joint, motion in trial.motions.items():
        here, there = motion.now(t), motion.now(t + length)
        jerk = (there.acceleration - here.acceleration) / length
        out[plant.layout.data[f"timed.{joint}.motion"][0]] = (t, here.position, here.velocity, here.acceleration, jerk)
    return out
