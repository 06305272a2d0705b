"""Many trials and all that is unknown of them as one problem of least squares, with exact derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hydromechs.actuation import motions
from hydromechs.hydro import UniformFlow
from hydromechs.simulation import Beginning, Plant
from hydromechs.values import floats

from ._instruments import OWN, Instrument, Outputs
from ._sensitivity import SensitiveState, Sensitivities
from ._unknowns import JointOffset, Unknown, opened

__all__ = ["Problem", "Samples", "Trial"]


BLOCK = 32
"""Steps whose channels are found at once."""


class Samples(NamedTuple):
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
    samples: Mapping[str, Samples]
    """What was measured, by channel, as "imu.roll"."""
    motions: Mapping[str, motions.Motion] = field(default_factory=dict)
    """Motion of joints that the plant has given, by name."""


class Evaluated(NamedTuple):
    """Residuals of one trial and their derivatives, and the trajectory they come from."""

    residual: np.ndarray
    """(simulated − measured)/deviation, as it counts, shape (m,)."""
    by_shared: np.ndarray
    """∂/∂ what all trials share, shape (m, g)."""
    by_own: np.ndarray
    """∂/∂ what the trial has of its own, shape (m, l)."""
    channel: np.ndarray
    """Number of the channel of each residual, shape (m,)."""
    times: np.ndarray
    """Time of each residual [s], shape (m,)."""
    error: np.ndarray
    """Simulated − measured, in the channels' units, shape (m,)."""


class Problem:
    """What is unknown of a plant and its trials, and what the data say of it.

    Args:
        plant: What was recorded.
        trials: The recordings.
        instruments: What measured.
        unknowns: What is to be found of the plant.
        start: Standard deviations of the guesses of the start, of the chart's coordinates and the velocities, shape (2 nv,);
            0 where the guess is exact.
        step: Step of the integration [s].
    """

    def __init__(
        self,
        plant: Plant,
        trials: Sequence[Trial],
        instruments: Sequence[Instrument],
        unknowns: Sequence[Unknown],
        *,
        start: Sequence[float],
        step: float,
    ) -> None:
        self.plant, self.trials, self.unknowns, self.h = opened(plant, unknowns), list(trials), list(unknowns), step
        model = self.plant.model
        self.start_deviation = np.array(floats(start, 2 * model.nv, "start"))
        places = [k for u in self.unknowns for k in u.places(self.plant)]
        self.columns = dict.fromkeys(places)
        self.dynamics = Sensitivities(self.plant, list(self.columns))
        self.outputs = Outputs(model, instruments, self.dynamics.nx)
        self._layout()
        self._inputs = self._given()

    def compile(self) -> None:
        """Make the machine code now, for other processes to find in the cache."""
        nothing = np.zeros((len(self.trials), len(self.own_deviation)))
        self.steps, steps = [1] * len(self.trials), self.steps
        self.simulate(self.guess, nothing)
        self.steps = steps

    # -- what is unknown ------------------------------------------------------------------------------------------------------

    def _layout(self) -> None:
        """Names, guesses and deviations of all free coordinates."""
        self.labels: list[str] = []
        shared: list[float] = []
        deviations: list[float] = []
        lower: list[float] = []
        upper: list[float] = []
        self.slices: list[slice] = []
        for u in self.unknowns:
            theta = u.start(self.plant)
            self.slices.append(slice(len(shared), len(shared) + len(theta)))
            self.labels += u.labels()
            shared += list(theta)
            deviations += list(u.deviations())
            low, high = u.bounds()
            lower += list(low)
            upper += list(high)
        self.instrument_places: list[tuple[int, int]] = []  # column, place among the instruments' own numbers
        self.delays: dict[int, int] = {}
        for i, instrument in enumerate(self.outputs.instruments):
            own = [("turn", instrument.turn, 0)] if instrument.turn else []
            own += [(f"place {a}", instrument.place, 1 + k) for k, a in enumerate("xyz") if instrument.place]
            for what, deviation, k in own:
                self.instrument_places.append((len(shared), OWN * i + k))
                self.labels.append(f"{instrument.name}.{what}")
                shared.append(0.0)
                deviations.append(deviation)
            if instrument.delay:
                self.delays[i] = len(shared)
                self.labels.append(f"{instrument.name}.delay")
                shared.append(0.0)
                deviations.append(instrument.delay)
        more = len(shared) - len(lower)
        self.guess, self.deviation = np.array(shared), np.array(deviations)
        self.lower, self.upper = np.array(lower + [-np.inf] * more), np.array(upper + [np.inf] * more)
        self.free_start = np.flatnonzero(self.start_deviation)
        self.offsets = [c for c, (_, channel) in enumerate(self.outputs.channels) if channel.offset]
        self.own_deviation = np.concatenate(
            [self.start_deviation[self.free_start], [self.outputs.channels[c][1].offset for c in self.offsets]]
        )
        names = [*model_names(self.plant), *(f"rate of {n}" for n in self.plant.model.coordinate_names[1])]
        self.own_labels = [f"start of {names[k]}" for k in self.free_start]
        self.own_labels += [f"offset of {self.outputs.names[c]}" for c in self.offsets]

    def _given(self) -> np.ndarray:
        """Inputs of all trials at each step with the plant's own numbers, shape (steps, n, nu)."""
        layout, h = self.plant.layout, self.h
        self.steps = [int(np.ceil((t.end - t.start) / h - 1e-9)) for t in self.trials]
        n, most = len(self.trials), max(self.steps)
        out = np.zeros((most, n, layout.size))
        for j, trial in enumerate(self.trials):
            flow = UniformFlow(self.plant.environment, self.plant.seed)
            data, _ = self.plant.data(flow, trial.start, {})
            now = Beginning(self.plant, trial.start, trial.q, trial.v, {})
            out[:, j] = np.concatenate([layout.start(layout.input_slots, now), data])
            for joint, motion in trial.motions.items():
                at = layout.data[f"timed.{joint}.motion"][0]
                for k in range(most):
                    t = trial.start + k * h
                    here, there = motion.now(t), motion.now(t + h)
                    jerk = (there.acceleration - here.acceleration) / h
                    out[k, j, at] = (t, here.position, here.velocity, here.acceleration, jerk)
        return out

    def inputs(self, shared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Inputs of all trials, shape (steps, n, nu), and ∂p/∂θ, shape (np, g)."""
        inputs = self._inputs.copy()
        places = list(self.columns)
        P = np.zeros((len(places), len(shared)))
        for u, at in zip(self.unknowns, self.slices, strict=True):
            theta = shared[at]
            where = u.places(self.plant)
            values, slopes = u.values(theta), u.derivatives(theta)
            for k, place in enumerate(where):
                inputs[..., place] = inputs[..., place] + values[k] if u.adds else values[k]
                P[places.index(place), at] += slopes[k]
        return inputs, P

    # -- what follows ---------------------------------------------------------------------------------------------------------

    def simulate(
        self, shared: np.ndarray, own: np.ndarray, *, derivatives: bool = True
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Channels of all trials at each step, shape (steps + 1, n, channels), and their derivatives, (..., g + starts).

        Args:
            shared: What all trials share, shape (g,).
            own: What each trial has of its own, shape (n, l).
            derivatives: Whether to find them.
        """
        model, n, g, nv = self.plant.model, len(self.trials), len(shared), self.plant.model.nv
        inputs, P = self.inputs(shared)
        ns = len(self.free_start)
        k = g + ns if derivatives else 0
        moved = np.zeros((n, 2 * nv))
        moved[:, self.free_start] = own[:, :ns]
        q0, v0 = np.stack([t.q for t in self.trials]), np.stack([t.v for t in self.trials])
        S = np.zeros((n, nv + self.dynamics.nx, k))
        for u, at in zip(self.unknowns, self.slices, strict=True):
            if isinstance(u, JointOffset):
                dof = model.joint_part(u.joint).v.start
                moved[:, dof] += shared[at][0]
                if k:
                    S[:, dof, at.start] = 1.0
        if k:
            S[:, self.free_start, g + np.arange(ns)] = 1.0
        q, S[:, :nv] = self.dynamics.moved(q0, np.ascontiguousarray(moved[:, :nv]), S[:, :nv])
        x = np.concatenate([v0 + moved[:, nv:], np.zeros((n, self.dynamics.nx - nv))], axis=1)
        at_state = SensitiveState(q, x, S)
        P_all = np.zeros((n, len(P), k))
        if k:
            P_all[:, :, :g] = P
        own_numbers = np.zeros(OWN * len(self.outputs.instruments))
        for column, place in self.instrument_places:
            own_numbers[place] = shared[column]
        most = max(self.steps)
        values = np.zeros((most + 1, n, len(self.outputs.names)))
        slopes = np.zeros((most + 1, n, len(self.outputs.names), k)) if k else None
        t0 = np.array([t.start for t in self.trials])
        waiting: list[SensitiveState] = []
        steps, live = np.array(self.steps), np.arange(n)
        for i in range(most + 1):
            waiting.append(at_state)
            goes_on = steps[live] > i
            if len(waiting) == BLOCK or not goes_on.all():
                self._seen(waiting, live, own_numbers, values, slopes, i + 1 - len(waiting))
                waiting = []
            if not goes_on.all():  # trials that have ended cost nothing more
                live, at_state = live[goes_on], SensitiveState(*(x[goes_on] for x in at_state))
            if len(live):
                now, given = t0[live] + i * self.h, inputs[i, live]
                at_state = self.dynamics.step(now, at_state, given, P_all[: len(live)], self.h)
        return values, slopes

    def _seen(
        self,
        states: Sequence[SensitiveState],
        live: np.ndarray,
        own_numbers: np.ndarray,
        values: np.ndarray,
        slopes: np.ndarray | None,
        first: int,
    ) -> None:
        """Put the channels of some steps of the trials that go on, and their derivatives, into the rows from `first` on."""
        count, n, channels = len(states), len(live), len(self.outputs.names)
        seen = self.outputs(np.concatenate([s.q for s in states]), np.concatenate([s.x for s in states]), own_numbers)
        rows = slice(first, first + count)
        values[rows, live] = seen.values.reshape(count, n, channels)
        if slopes is None:
            return
        found = (seen.by_state @ np.concatenate([s.S for s in states])).reshape(count, n, channels, -1)
        own = seen.by_own.reshape(count, n, channels, -1)
        for column, place in self.instrument_places:
            found[..., column] += own[..., place]
        slopes[rows, live] = found

    def evaluate(
        self, shared: np.ndarray, own: np.ndarray, *, until: Sequence[float] | None = None, derivatives: bool = True
    ) -> list[Evaluated]:
        """Residuals of all trials, and their derivatives.

        Args:
            shared: What all trials share, shape (g,).
            own: What each trial has of its own, shape (n, l).
            until: Time of each trial after which samples do not count [s]; all count unless given.
            derivatives: Whether to find them.
        """
        values, slopes = self.simulate(shared, own, derivatives=derivatives)
        g, ns, h = len(shared), len(self.free_start), self.h
        out = []
        for j, trial in enumerate(self.trials):
            rows, by_shared, by_own, which, when, errors = [], [], [], [], [], []
            for c, name in enumerate(self.outputs.names):
                if name not in trial.samples:
                    continue
                instrument, channel = self.outputs.channels[c]
                delay = shared[self.delays[instrument]] if instrument in self.delays else 0.0
                last = trial.end if until is None else min(trial.end, until[j])
                times, measured = trial.samples[name]
                keep = (times >= trial.start) & (times <= last)
                times, measured = times[keep], measured[keep]
                asked = (times - delay - trial.start) / h
                place = np.clip(asked, 0.0, self.steps[j] - 1e-9)
                k = place.astype(int)
                part = place - k
                low, high = values[k, j, c], values[k + 1, j, c]
                found = low + part * (high - low)
                if c in self.offsets:
                    found = found + own[j, ns + self.offsets.index(c)]
                error = found - measured
                if channel.quantity in ("roll", "yaw"):
                    error = (error + np.pi) % (2.0 * np.pi) - np.pi
                rate = (len(times) - 1) / max(times[-1] - times[0], h) if len(times) > 1 else 0.0
                thinned = 1.0 / np.sqrt(1.0 + 2.0 * rate * channel.correlation)
                counted, weight = _huber(error / channel.deviation, channel.outlier)
                rows.append(counted * thinned)
                errors.append(error)
                factor = (weight * thinned / channel.deviation)[:, None]
                which.append(np.full(len(times), c))
                when.append(times)
                if slopes is None:
                    continue
                d = (1.0 - part)[:, None] * slopes[k, j, c] + part[:, None] * slopes[k + 1, j, c]
                ds, dl = d[:, :g].copy(), np.concatenate([d[:, g:], np.zeros((len(times), len(self.offsets)))], axis=1)
                if instrument in self.delays:
                    ds[:, self.delays[instrument]] -= np.where(asked == place, (high - low) / h, 0.0)
                if c in self.offsets:
                    dl[:, ns + self.offsets.index(c)] = 1.0
                by_shared.append(ds * factor)
                by_own.append(dl * factor)
            nothing = np.zeros((sum(map(len, rows)), 0))
            if not rows:
                raise ValueError(f"trial {trial.name!r} has no samples of {', '.join(self.outputs.names)}")
            out.append(
                Evaluated(
                    np.concatenate(rows),
                    np.concatenate(by_shared) if by_shared else nothing,
                    np.concatenate(by_own) if by_own else nothing,
                    np.concatenate(which),
                    np.concatenate(when),
                    np.concatenate(errors),
                )
            )
        return out


def _huber(u: np.ndarray, c: float) -> tuple[np.ndarray, np.ndarray]:
    """r with r² = u² for |u| ≤ c and 2 c |u| − c² beyond, and dr/du, shape (m,) each."""
    size = np.abs(u)
    far = size > c
    if not far.any():
        return u, np.ones_like(u)
    r = np.where(far, np.sqrt(np.maximum(2.0 * c * size - c * c, 0.0)), size)
    return np.sign(u) * r, np.where(far, c / np.maximum(r, 1e-300), 1.0)


def model_names(plant: Plant) -> list[str]:
    """Names of the chart's coordinates: those of the velocities."""
    return list(plant.model.coordinate_names[1])
