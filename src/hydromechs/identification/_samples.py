"""Recordings of a plant: checks, inputs along the trials, and pieces for multiple shooting (Bock 1983).

A long simulation can depend so strongly on its initial state that it is useless for identification; a short piece does not.
The initial states of all pieces except the first are additional unknowns, and the trajectory must be continuous at the joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from hydromechs.actuation import motions
from hydromechs.integrators import rounding, slack
from hydromechs.simulation import InitialInstant, Plant
from hydromechs.values import nearest

STEEPEST = 1.7
"""Maximum plausible pitch [rad]."""
MAX_OUTSIDE = 0.5
"""Maximum fraction of a channel's samples outside the trial before the trial is rejected."""


class ChannelSamples(NamedTuple):
    """Measurements of one channel in one trial."""

    times: np.ndarray
    """Strictly increasing times [s], shape (m,)."""
    values: np.ndarray
    """Values in the unit of the channel, shape (m,)."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Recording of a plant between a start and an end time."""

    name: str
    """Name of the trial, used in tables and messages."""
    start: float
    """Start time of the simulation [s]."""
    end: float
    """End time of the simulation [s]."""
    q: np.ndarray
    """Estimated initial configuration, shape (nq,)."""
    v: np.ndarray
    """Estimated initial velocity, shape (nv,)."""
    samples: Mapping[str, ChannelSamples]
    """Measurements, keyed by channel name such as "imu.roll"."""
    motions: Mapping[str, motions.Motion] = field(default_factory=dict)
    """Recorded motions of joints, keyed by joint name."""

    def windowed(self) -> Trial:
        """Return the trial without samples before its start and after its end, for a section of a long log."""
        kept = {name: ~outside(self, name) for name in self.samples}
        return replace(self, samples={k: ChannelSamples(*(np.asarray(x)[kept[k]] for x in s)) for k, s in self.samples.items()})


def outside(trial: Trial, channel: str) -> np.ndarray:
    """Return a mask, shape (m,), of the samples of the named channel that lie outside the trial and are therefore ignored."""
    t = np.asarray(trial.samples[channel].times)
    return (t < trial.start) | (t > trial.end)


def check_trial(trial: Trial, channels: Sequence[str]) -> None:
    """Raise an error if samples of a trial are unusable or a channel is not among `channels`."""
    if not trial.start < trial.end:
        raise ValueError(f"trial {trial.name!r} starts at {trial.start:g} s and ends at {trial.end:g} s; set a later end")
    for name, (times, values) in trial.samples.items():
        what = f"trial {trial.name!r}: {name}"
        if name not in channels:
            raise ValueError(f"{what} is not a channel of an instrument{nearest(name, channels)}; correct or remove it")
        t, x = np.asarray(times), np.asarray(values)
        if t.shape != x.shape or t.ndim != 1:
            raise ValueError(f"{what}: times have shape {t.shape} and values {x.shape}; give both shape (m,)")
        if not (np.isfinite(t).all() and np.isfinite(x).all()):
            bad = int((~(np.isfinite(t) & np.isfinite(x))).sum())
            raise ValueError(f"{what}: {bad} of {len(t)} samples are not finite; remove them")
        if (np.diff(t) <= 0.0).any():
            k = int(np.argmax(np.diff(t) <= 0.0)) + 1
            raise ValueError(
                f"{what}: times must increase: {t[k]:g} s follows {t[k - 1]:g} s; remove the repeated or earlier samples"
            )
        out = outside(trial, name)
        if len(t) and out.all():
            raise ValueError(
                f"{what} has samples from {t[0]:g} to {t[-1]:g} s, outside the trial, from "
                f"{trial.start:g} to {trial.end:g} s; correct the times"
            )
        if out.sum() > MAX_OUTSIDE * len(t):
            raise ValueError(
                f"{what}: {out.sum()} of {len(t)} samples, from {t[0]:g} to {t[-1]:g} s, are outside the trial, from "
                f"{trial.start:g} to {trial.end:g} s; convert times to s, or use trial.windowed() for a section of a long log"
            )
        if name.endswith(".pitch") and len(x) and np.percentile(np.abs(x), 90) > STEEPEST:
            raise ValueError(f"{what} is {np.abs(x).max():.4g} rad, above {STEEPEST} rad; convert degrees with np.radians")


class Piece(NamedTuple):
    """Part of a trial that is simulated without interruption."""

    trial: int
    """Index of the trial."""
    first: int
    """Index of the first step of the piece in the trial."""
    steps: int
    node: int
    """Node index of the piece; −1 for the first piece of a trial."""


class Nodes(NamedTuple):
    """States at the starts of the pieces of all trials except the first pieces, in order."""

    q: np.ndarray
    """Configurations, shape (nodes, nq)."""
    x: np.ndarray
    """Velocities and internal states, shape (nodes, nx)."""


class Gaps(NamedTuple):
    """Gaps between the ends of pieces and the nodes at the starts of the next pieces, with derivatives."""

    size: np.ndarray
    """End − node as chart coordinates, velocities and internal states, shape (nodes, w)."""
    by_shared: np.ndarray
    """Derivatives with respect to the shared unknowns, shape (nodes, w, g)."""
    by_before: np.ndarray
    """Derivatives with respect to the start of the previous piece, shape (nodes, w, w): a node, or a free start in the first
    columns."""
    by_node: np.ndarray
    """Derivatives with respect to the node, shape (nodes, w, w)."""


def cut(steps: Sequence[int], every: int | None) -> list[Piece]:
    """Return the pieces of all trials, of about `every` steps; one piece per trial if `every` is None."""
    out: list[Piece] = []
    node = 0
    for j, count in enumerate(steps):
        firsts = [0] if every is None else [k for k in range(0, count, every) if k == 0 or count - k >= 0.5 * every]
        for first, last in zip(firsts, [*firsts[1:], count], strict=True):
            out.append(Piece(j, first, last - first, node if first else -1))
            node += bool(first)
    return out


class Timeline(NamedTuple):
    """Integration intervals of all trials in sequence; most steps consist of one interval."""

    inputs: np.ndarray
    """Plant inputs before the unknowns are inserted, shape (parts, nu)."""
    begins: np.ndarray
    """Start time of each interval [s], shape (parts,)."""
    lengths: np.ndarray
    """Duration of each interval [s], shape (parts,)."""
    first: np.ndarray
    """First interval of each step of each trial, then the end of the trial, shape (n, most + 1)."""
    steps: tuple[int, ...]


def motion_names(plant: Plant, trial: Trial) -> dict[str, str]:
    """Return the joints whose motion a trial prescribes, keyed by the name of the moving component."""
    timed = [name.removeprefix("timed.").removesuffix(".motion") for name in plant.layout.data if name.startswith("timed.")]
    for joint in trial.motions:
        if joint not in timed:
            raise KeyError(
                f"trial {trial.name!r} prescribes the motion of {joint!r}, but the plant has no recorded motion of this "
                f"joint{nearest(joint, timed)}; add motions.Recorded to the plant"
            )
    return {f"{joint}.motion": joint for joint in trial.motions}


def timeline(plant: Plant, trials: Sequence[Trial], h: float) -> Timeline:
    """Return the inputs of all trials. Steps are split where slopes of current, gusts or motions change.

    Recorded motions are approximated by one cubic polynomial over each interval.
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
    """Return the inputs with the motions of a trial from time t [s], shape (nu,)."""
    if not trial.motions:
        return row
    out = row.copy()
    for joint, motion in trial.motions.items():
        here, there = motion.now(t), motion.now(t + length)
        jerk = (there.acceleration - here.acceleration) / length
        out[plant.layout.data[f"timed.{joint}.motion"][0]] = (t, here.position, here.velocity, here.acceleration, jerk)
    return out
