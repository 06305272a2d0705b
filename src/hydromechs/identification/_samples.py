"""Recordings of a plant: checks, inputs along the trials, and pieces for multiple shooting (Bock 1983).

A simulation over a long time can depend so strongly on its start that it is useless for identification; over a short piece it
does not. The initial states of all pieces but the first are also unknowns, and each piece must end where the next one starts.
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
"""Maximum fraction of a channel's samples outside the trial."""


class ChannelSamples(NamedTuple):
    """Measurements of a channel in a trial."""

    times: np.ndarray
    """Increasing times [s], shape (m,)."""
    values: np.ndarray
    """Values in the channel's unit, shape (m,)."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Recording of the plant between a start and an end time."""

    name: str
    """Name, for tables."""
    start: float
    """Start time of its simulation [s]."""
    end: float
    """End time [s]."""
    q: np.ndarray
    """Guess of the configuration at the start, shape (nq,)."""
    v: np.ndarray
    """Guess of the velocity at the start, shape (nv,)."""
    samples: Mapping[str, ChannelSamples]
    """Measurements by channel, such as "imu.roll"."""
    motions: Mapping[str, motions.Motion] = field(default_factory=dict)
    """Motion of joints with prescribed motion, by name."""

    def windowed(self) -> Trial:
        """Return the trial with only the samples within it, for a section of a long log."""
        kept = {name: ~outside(self, name) for name in self.samples}
        return replace(self, samples={k: ChannelSamples(*(np.asarray(x)[kept[k]] for x in s)) for k, s in self.samples.items()})


def outside(trial: Trial, channel: str) -> np.ndarray:
    """Return a mask, shape (m,), of the samples of the named channel that lie outside the trial and are therefore ignored."""
    t = np.asarray(trial.samples[channel].times)
    return (t < trial.start) | (t > trial.end)


def check_trial(trial: Trial, channels: Sequence[str]) -> None:
    """Reject a trial with unusable samples, or without any of the instruments' `channels`, with the remedy."""
    if not trial.start < trial.end:
        raise ValueError(f"trial {trial.name!r} starts at {trial.start:g} s and stops at {trial.end:g} s; set a later end")
    for name, (times, values) in trial.samples.items():
        what = f"trial {trial.name!r}: {name}"
        if name not in channels:
            raise ValueError(f"{what} is not a channel of an instrument{nearest(name, channels)}")
        t, x = np.asarray(times), np.asarray(values)
        if t.shape != x.shape or t.ndim != 1:
            raise ValueError(f"{what}: times have the shape {t.shape} and values {x.shape}; both must be (m,)")
        if not (np.isfinite(t).all() and np.isfinite(x).all()):
            bad = int((~(np.isfinite(t) & np.isfinite(x))).sum())
            raise ValueError(f"{what}: {bad} of {len(t)} samples are not finite; remove them")
        if (np.diff(t) <= 0.0).any():
            k = int(np.argmax(np.diff(t) <= 0.0)) + 1
            raise ValueError(
                f"{what}: times must increase: {t[k]:g} s follows {t[k - 1]:g} s; remove samples that are not later"
            )
        out = outside(trial, name)
        if len(t) and out.all():
            raise ValueError(
                f"{what} has samples from {t[0]:g} to {t[-1]:g} s, but the trial is from {trial.start:g} to {trial.end:g} s"
            )
        if out.sum() > MAX_OUTSIDE * len(t):
            raise ValueError(
                f"{what}: {out.sum()} of {len(t)} samples, from {t[0]:g} to {t[-1]:g} s, are outside the trial, from "
                f"{trial.start:g} to {trial.end:g} s; are times in ms? for a section of a long log use trial.windowed()"
            )
        if name.endswith(".pitch") and len(x) and np.percentile(np.abs(x), 90) > STEEPEST:
            raise ValueError(f"{what} is {np.abs(x).max():.4g} rad; is it in degrees? convert it with np.radians")


class Piece(NamedTuple):
    """Part of a trial that is simulated without interruption."""

    trial: int
    """Index of the trial."""
    first: int
    """Index of its first step in the trial."""
    steps: int
    node: int
    """Index of its first node; −1 for the start of the trial."""


class Nodes(NamedTuple):
    """States at the starts of the pieces of all trials, in order."""

    q: np.ndarray
    """Configurations, shape (nodes, nq)."""
    x: np.ndarray
    """Velocities and internal states, shape (nodes, nx)."""


class Gaps(NamedTuple):
    """Gaps between the ends of pieces and the nodes at which the next ones start, with derivatives."""

    size: np.ndarray
    """End − node, chart coordinates, velocities and internal states, shape (nodes, w)."""
    by_shared: np.ndarray
    """∂/∂ the shared unknowns, shape (nodes, w, g)."""
    by_before: np.ndarray
    """∂/∂ the start of the previous piece, a node or, in the first columns, a free start, shape (nodes, w, w)."""
    by_node: np.ndarray
    """∂/∂ the node, shape (nodes, w, w)."""


def cut(steps: Sequence[int], every: int | None) -> list[Piece]:
    """Return trials as pieces of `every` steps, of which the last is at least half as long; one piece each for None."""
    out: list[Piece] = []
    node = 0
    for j, count in enumerate(steps):
        firsts = [0] if every is None else [k for k in range(0, count, every) if k == 0 or count - k >= 0.5 * every]
        for first, last in zip(firsts, [*firsts[1:], count], strict=True):
            out.append(Piece(j, first, last - first, node if first else -1))
            node += bool(first)
    return out


class Timeline(NamedTuple):
    """Parts of the steps of all trials in sequence; most steps have one part."""

    inputs: np.ndarray
    """Inputs of the plant with its own numbers, shape (parts, nu)."""
    begins: np.ndarray
    """Start of each part [s], shape (parts,)."""
    lengths: np.ndarray
    """Duration [s], shape (parts,)."""
    first: np.ndarray
    """For each trial, the first part of each of its steps, then its end, shape (n, most + 1)."""
    steps: tuple[int, ...]


def motion_names(plant: Plant, trial: Trial) -> dict[str, str]:
    """Joints whose motion a trial prescribes, by the names of the components that move them."""
    timed = [name.removeprefix("timed.").removesuffix(".motion") for name in plant.layout.data if name.startswith("timed.")]
    for joint in trial.motions:
        if joint not in timed:
            raise KeyError(
                f"trial {trial.name!r} gives the motion of {joint!r}, but the plant has no recorded motion of that joint to "
                f"replace{nearest(joint, timed)}; add motions.Recorded to the plant"
            )
    return {f"{joint}.motion": joint for joint in trial.motions}


def timeline(plant: Plant, trials: Sequence[Trial], h: float) -> Timeline:
    """Return the inputs of all trials, with steps cut where slopes of current, gusts or motions change.

    Recorded motions are cubic over each part.
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
    """Return the inputs with the motions of a trial from a time on, shape (nu,)."""
    if not trial.motions:
        return row
    out = row.copy()
    for joint, motion in trial.motions.items():
        here, there = motion.now(t), motion.now(t + length)
        jerk = (there.acceleration - here.acceleration) / length
        out[plant.layout.data[f"timed.{joint}.motion"][0]] = (t, here.position, here.velocity, here.acceleration, jerk)
    return out
