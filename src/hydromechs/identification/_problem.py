"""Least-squares problem over trials and all their unknowns, with exact derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from hydromechs.simulation import Plant
from hydromechs.values import floats

from ._instruments import OWN, Instrument, Outputs
from ._samples import Gaps, Nodes, Trial, check_trial, cut, timeline
from ._sensitivity import InternalStarts, SensitiveState, Sensitivities
from ._unknowns import JointOffset, Unknown, opened

BLOCK = 32
"""Number of steps whose channels are computed together."""
Corrected = Callable[[np.ndarray, np.ndarray, SensitiveState], SensitiveState]
"""Callback that receives trial indices, step numbers and the states after these steps, and returns corrected states."""


class Evaluated(NamedTuple):
    """Residuals of one trial with derivatives and times."""

    residual: np.ndarray
    """Residuals (simulated − measured)/deviation with robust weights, shape (m,)."""
    by_shared: np.ndarray
    """Derivatives with respect to the shared unknowns, shape (m, g)."""
    by_own: np.ndarray
    """Derivatives with respect to the unknowns of the trial, shape (m, l)."""
    by_nodes: np.ndarray
    """Derivatives with respect to the concatenated nodes of the trial, shape (m, nodes w)."""
    channel: np.ndarray
    """Channel index of each residual, shape (m,)."""
    times: np.ndarray
    """Time of each residual [s], shape (m,)."""
    error: np.ndarray
    """Simulated − measured values, in the units of the channels, shape (m,)."""


class Problem:
    """Unknowns of a plant and its trials, with residuals and derivatives.

    Arguments of the methods: `shared`, the unknowns shared by all trials, shape (g,); `own`, the unknowns of each trial, shape
    (n, l); `nodes`, the states at the starts of all pieces except the first of each trial.

    Arguments of the class: `unknowns` of the plant; `start`, standard deviations of the initial chart coordinates and
    velocities, shape (2 nv,), 0 for exact values; `step` of the integration [s]; `shooting_interval`, the length of the pieces
    into which trials are cut [s], which defaults to the whole trial.
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
        shooting_interval: float | None = None,
    ) -> None:
        if shooting_interval is not None and not shooting_interval >= step:
            raise ValueError(f"shooting_interval is {shooting_interval!r} s, below the step of {step:g} s; increase it")
        self.plant, self.h = opened(plant, unknowns), step
        self.every = None if shooting_interval is None else round(shooting_interval / step)
        self.unknowns = [u.on(plant) for u in unknowns]
        model = self.plant.model
        self.start_deviation = np.array(floats(start, 2 * model.nv, "start"))
        owners: dict[int, Unknown] = {}
        for u in self.unknowns:
            for k in u.places(self.plant):
                if k in owners:
                    names = f"{u.labels()[0]!r} and {owners[k].labels()[0]!r}"
                    raise ValueError(f"{names} denote the same number; remove one of these unknowns")
                owners[k] = u
        self.columns = dict.fromkeys(owners)
        self.dynamics = Sensitivities(self.plant, list(self.columns))
        self.outputs = Outputs(model, instruments, self.dynamics.nx)
        self.wide = model.nv + self.dynamics.nx
        self._layout()
        self.take(trials)

    def of(self, trials: Sequence[Trial]) -> Problem:
        """Return the same problem for other trials, with shared compiled programs."""
        other = copy(self)
        other.take(trials)
        return other

    def take(self, trials: Sequence[Trial]) -> None:
        """Replace the trials."""
        if not trials:
            raise ValueError("no trials are given; pass at least one identification.Trial(...)")
        self.trials = list(trials)
        for trial in self.trials:
            check_trial(trial, self.outputs.names)
        self.timeline = timeline(self.plant, self.trials, self.h)
        self.internal_starts = InternalStarts(self.dynamics, self.trials)
        self.pieces = cut(self.timeline.steps, self.every)
        self.node_trials = np.array([p.trial for p in self.pieces if p.node >= 0], dtype=int)

    def compile(self) -> None:
        """Compile the machine code now, so that worker processes find it in the cache."""
        nothing = np.zeros((len(self.trials), len(self.own_deviation)))
        nodes = Nodes(*(x[self.node_trials] for x in self.starts(self.guess, nothing)[:2]))
        self.run(self.guess, nothing, nodes, range(len(self.pieces)), [1] * len(self.pieces), derivatives=True)

    # -- unknowns ------------------------------------------------------------------------------------------------------

    def _layout(self) -> None:
        self.labels: list[str] = []
        rows: list[tuple[float, float, float, float]] = []  # guess, deviation, lower and upper bound
        self.slices: list[slice] = []
        for u in self.unknowns:
            theta = u.start(self.plant)
            self.slices.append(slice(len(rows), len(rows) + len(theta)))
            self.labels += u.labels()
            rows += zip(theta, u.deviations(), *u.bounds(), strict=True)
        self.instrument_places: list[tuple[int, int]] = []  # column, index among the instruments' parameters
        self.delays: dict[int, int] = {}
        for i, instrument in enumerate(self.outputs.instruments):
            places = [(f"place {a}", instrument.place) for a in "xyz"]
            for k, (what, deviation) in enumerate([("turn", instrument.turn), *places, ("delay", instrument.delay)]):
                if deviation and k < OWN:
                    self.instrument_places.append((len(rows), OWN * i + k))
                elif deviation:
                    self.delays[i] = len(rows)
                if deviation:
                    self.labels.append(f"{instrument.name}.{what}")
                    rows.append((0.0, deviation, -np.inf, np.inf))
        self.guess, self.deviation, self.lower, self.upper = np.array(rows, dtype=float).reshape(-1, 4).T.copy()
        self.weight = np.where(np.isfinite(self.deviation), self.deviation, np.inf) ** -2.0
        self.free_start = np.flatnonzero(self.start_deviation)
        self.offsets = [c for c, (_, channel) in enumerate(self.outputs.channels) if channel.offset]
        self.own_deviation = np.concatenate(
            [self.start_deviation[self.free_start], [self.outputs.channels[c][1].offset for c in self.offsets]]
        )
        names = self.plant.model.coordinate_names[1]  # of velocities, and of the chart's coordinates
        names = (*names, *(f"rate of {n}" for n in names))
        self.own_labels = [f"start of {names[k]}" for k in self.free_start]
        self.own_labels += [f"offset of {self.outputs.names[c]}" for c in self.offsets]

    def within(self, shared: np.ndarray) -> np.ndarray:
        """Return the shared unknowns clipped to the bounds, shape (g,)."""
        return np.clip(shared, self.lower, self.upper)

    def inputs(self, shared: np.ndarray, parts: np.ndarray | slice = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """Return inputs of the selected parts of the timeline, shape (parts, nu), and ∂p/∂θ, shape (np, g)."""
        inputs = self.timeline.inputs[parts].copy()
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

    # -- simulation and residuals
    # ---------------------------------------------------------------------------------------------------------

    def simulate(
        self,
        shared: np.ndarray,
        own: np.ndarray,
        nodes: Nodes | None = None,
        *,
        derivatives: bool = True,
        corrected: Corrected | None = None,
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return channels of all pieces, shape (steps + 1, pieces, channels), and their derivatives, (..., g + starts).

        `corrected` is called after each step and returns the states from which the simulation continues, without derivatives.
        """
        if derivatives and corrected is not None:
            raise ValueError("derivatives are unavailable with corrected; set derivatives=False")
        steps = [p.steps for p in self.pieces]
        everything = range(len(self.pieces))
        return self.run(shared, own, nodes, everything, steps, derivatives=derivatives, corrected=corrected)[:2]

    def starts(self, shared: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return initial states q (n, nq) and x (n, nx) of the trials and ∂/∂(shared, free start), (n, nv + nx, g + ns)."""
        model, n, g, ns = self.plant.model, len(self.trials), len(shared), len(self.free_start)
        nv = model.nv
        moved = np.zeros((n, 2 * nv))
        moved[:, self.free_start] = own[:, :ns]
        S = np.zeros((n, nv + self.dynamics.nx, g + ns))
        S[:, self.free_start, g + np.arange(ns)] = 1.0
        for u, at in zip(self.unknowns, self.slices, strict=True):
            if isinstance(u, JointOffset):
                dof = model.joint_part(u.joint).v.start
                moved[:, dof] += shared[at][0]
                S[:, dof, at.start] = 1.0
        q0, v0 = np.stack([t.q for t in self.trials]), np.stack([t.v for t in self.trials])
        q, S[:, :nv] = self.dynamics.moved(q0, np.ascontiguousarray(moved[:, :nv]), S[:, :nv])
        v = v0 + moved[:, nv:]
        inputs, P = self.inputs(shared, self.timeline.first[:, 0])
        P = np.concatenate([P, np.zeros((len(P), ns))], axis=1)
        z, S[:, 2 * nv :] = self.internal_starts(q, v, inputs, S[:, : 2 * nv], P)
        return q, np.concatenate([v, z], axis=1), S

    def run(
        self,
        shared: np.ndarray,
        own: np.ndarray,
        nodes: Nodes | None,
        chosen: Sequence[int],
        steps: Sequence[int],
        *,
        derivatives: bool,
        corrected: Corrected | None = None,
    ) -> tuple[np.ndarray, np.ndarray | None, SensitiveState]:
        """Simulate selected pieces for given numbers of steps; return channels, derivatives and final states."""
        g, ns = len(shared), len(self.free_start)
        inputs, P = self.inputs(shared)
        pieces = [self.pieces[p] for p in chosen]
        trial, first = np.array([p.trial for p in pieces]), np.array([p.first for p in pieces])
        later = np.array([p.node for p in pieces]) >= 0
        n = len(pieces)
        k = g + (self.wide if len(self.node_trials) else ns) if derivatives else 0
        q0, x0, S0 = self.starts(shared, own)
        q, x, S = q0[trial], x0[trial], np.zeros((n, self.wide, k))
        if k:
            S[~later, :, : g + ns] = S0[trial[~later]]
        if nodes is not None and later.any():
            at = [p.node for p in pieces if p.node >= 0]
            q[later], x[later] = nodes.q[at], nodes.x[at]
            if k:
                S[later, :, g : g + self.wide] = np.eye(self.wide)
        at_state = SensitiveState(q, x, S)
        P_all = np.zeros((n, len(P), k))
        if k:
            P_all[:, :, :g] = P
        own_numbers = np.zeros(OWN * len(self.outputs.instruments))
        for column, place in self.instrument_places:
            own_numbers[place] = shared[column]
        lengths = np.array(steps)
        most = int(lengths.max())
        values = np.zeros((most + 1, n, len(self.outputs.names)))
        slopes = np.zeros((most + 1, n, len(self.outputs.names), k)) if k else None
        ends = SensitiveState(np.zeros_like(q), np.zeros_like(x), np.zeros_like(S))
        waiting: list[SensitiveState] = []
        live = np.arange(n)
        for i in range(most + 1):
            waiting.append(at_state)
            goes_on = lengths[live] > i
            if len(waiting) == BLOCK or not goes_on.all():
                self._seen(waiting, live, own_numbers, values, slopes, i + 1 - len(waiting))
                waiting = []
            if not goes_on.all():  # finished pieces cost nothing
                for end, now in zip(ends, at_state, strict=True):
                    end[live[~goes_on]] = now[~goes_on]
                live, at_state = live[goes_on], SensitiveState(*(x[goes_on] for x in at_state))
            if len(live):
                at_state = self._stepped(at_state, trial[live], first[live] + i, inputs, P_all)
                if corrected is not None:
                    at_state = corrected(trial[live], first[live] + i + 1, at_state)
        return values, slopes, ends

    def _stepped(
        self, at: SensitiveState, trial: np.ndarray, step: np.ndarray, inputs: np.ndarray, P: np.ndarray
    ) -> SensitiveState:
        """Return the states of trials after one step each; steps are split at times with a change in the slope of inputs."""
        line = self.timeline
        part, end = line.first[trial, step], line.first[trial, step + 1]
        out = self.dynamics.step(line.begins[part], at, inputs[part], P[: len(part)], line.lengths[part])
        for _ in range(1, int((end - part).max())):
            part = part + 1
            more = np.flatnonzero(part < end)
            now = SensitiveState(*(x[more] for x in out))
            p = part[more]
            found = self.dynamics.step(line.begins[p], now, inputs[p], P[: len(p)], line.lengths[p])
            for whole, x in zip(out, found, strict=True):
                whole[more] = x
        return out

    def _seen(
        self,
        states: Sequence[SensitiveState],
        live: np.ndarray,
        own_numbers: np.ndarray,
        values: np.ndarray,
        slopes: np.ndarray | None,
        first: int,
    ) -> None:
        """Write channels and derivatives of several steps of the unfinished pieces to the rows starting at `first`."""
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

    def joined(
        self,
        shared: np.ndarray,
        own: np.ndarray,
        nodes: Nodes | None = None,
        *,
        until: Sequence[float] | None = None,
        derivatives: bool = True,
    ) -> tuple[list[Evaluated], Gaps | None]:
        """Return the residuals of all trials with derivatives, and the gaps between pieces; None without gaps.

        `until` requires trials of one piece; samples later than `until` [s] are ignored.
        """
        steps = [p.steps for p in self.pieces]
        if until is not None:  # no longer than necessary
            early = -min([0.0, *(float(shared[k]) for k in self.delays.values())])
            last = [int(np.ceil((t + early - x.start) / self.h)) + 1 for t, x in zip(until, self.trials, strict=True)]
            steps = [max(1, min(k, most)) for k, most in zip(last, steps, strict=True)]
        values, slopes, ends = self.run(shared, own, nodes, range(len(self.pieces)), steps, derivatives=derivatives)
        found = [
            self.residuals(j, values, slopes, shared, own, [p for p, x in enumerate(self.pieces) if x.trial == j], until)
            for j in range(len(self.trials))
        ]
        return found, self._gaps(nodes, ends, len(shared)) if nodes is not None and len(nodes.q) and derivatives else None

    def residuals(
        self,
        j: int,
        values: np.ndarray,
        slopes: np.ndarray | None,
        shared: np.ndarray,
        own: np.ndarray,
        pieces: Sequence[int],
        until: Sequence[float] | None = None,
    ) -> Evaluated:
        """Return the residuals of trial j within its simulated pieces.

        `values` contains channels, shape (steps + 1, simulated pieces, channels). `pieces` maps each piece of the trial to its
        index in `values`, or −1 if it was not simulated. Samples later than `until` [s] are ignored.
        """
        trial, g, ns, h = self.trials[j], len(shared), len(self.free_start), self.h
        mine = [p for p in self.pieces if p.trial == j]
        firsts, ends = np.array([p.first for p in mine]), mine[-1].first + mine[-1].steps
        batch = np.array(pieces)
        nodes = len(mine) - 1
        rows, by_shared, by_own, by_nodes, which, when, errors = [], [], [], [], [], [], []
        for c, name in enumerate(self.outputs.names):
            if name not in trial.samples:
                continue
            instrument, channel = self.outputs.channels[c]
            delay = shared[self.delays[instrument]] if instrument in self.delays else 0.0
            last = trial.end if until is None else min(trial.end, until[j])
            times, measured = trial.samples[name]
            place = np.clip((times - delay - trial.start) / h, 0.0, ends - 1e-9)
            keep = (times >= trial.start) & (times <= last)
            keep &= batch[np.searchsorted(firsts, place.astype(int), side="right") - 1] >= 0
            times, measured, place = times[keep], measured[keep], place[keep]
            asked, step = (times - delay - trial.start) / h, place.astype(int)
            part = place - step
            piece = np.searchsorted(firsts, step, side="right") - 1
            k, b = step - firsts[piece], batch[piece]
            low, high = values[k, b, c], values[k + 1, b, c]
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
            d = (1.0 - part)[:, None] * slopes[k, b, c] + part[:, None] * slopes[k + 1, b, c]
            ds, dl = d[:, :g].copy(), np.zeros((len(times), ns + len(self.offsets)))
            dl[:, :ns] = np.where(piece[:, None] == 0, d[:, g : g + ns], 0.0)
            dn = np.zeros((len(times), nodes, self.wide))
            for i in range(nodes):
                dn[piece == i + 1, i] = d[piece == i + 1, g : g + self.wide]
            if instrument in self.delays:
                ds[:, self.delays[instrument]] -= np.where(asked == place, (high - low) / h, 0.0)
            if c in self.offsets:
                dl[:, ns + self.offsets.index(c)] = 1.0
            by_shared.append(ds * factor)
            by_own.append(dl * factor)
            by_nodes.append(dn.reshape(len(times), nodes * self.wide) * factor)
        if not rows:
            raise ValueError(f"trial {trial.name!r} has no samples of {', '.join(self.outputs.names)}; add one")
        none = np.zeros((sum(map(len, rows)), 0))
        ds, dl, dn = (np.concatenate(x) if x else none for x in (by_shared, by_own, by_nodes))
        channels, times, error = (np.concatenate(x) for x in (which, when, errors))
        return Evaluated(np.concatenate(rows), ds, dl, dn, channels, times, error)

    def _gaps(self, nodes: Nodes, ends: SensitiveState, g: int) -> Gaps:
        """Return the gaps between the ends of pieces and the nodes at the starts of the next pieces."""
        nv = self.plant.model.nv
        before = [p - 1 for p, piece in enumerate(self.pieces) if piece.node >= 0]
        u, slopes, by_u = self.dynamics.between(nodes.q, ends.q[before], ends.S[before][:, :nv])
        size = np.concatenate([u, ends.x[before] - nodes.x], axis=1)
        by_all = np.concatenate([slopes, ends.S[before][:, nv:]], axis=1)
        by_node = np.tile(-np.eye(self.wide), (len(before), 1, 1))
        by_node[:, :nv, :nv] = by_u
        by_before = np.zeros((len(before), self.wide, self.wide))
        by_before[..., : by_all.shape[2] - g] = by_all[..., g:]
        return Gaps(size, by_all[..., :g], by_before, by_node)

    def moved_nodes(self, nodes: Nodes, change: np.ndarray) -> Nodes:
        """Return the nodes after a change of chart coordinates, velocities and internal states, shape (nodes, w)."""
        nv = self.plant.model.nv
        nothing = np.zeros((len(change), nv, 0))
        q, _ = self.dynamics.moved(nodes.q, np.ascontiguousarray(change[:, :nv]), nothing)
        return Nodes(q, nodes.x + change[:, nv:])


def _huber(u: np.ndarray, c: float) -> tuple[np.ndarray, np.ndarray]:
    """Return r with r² = u² for |u| ≤ c and r² = 2 c |u| − c² beyond, and dr/du, shape (m,) each."""
    size = np.abs(u)
    far = size > c
    if not far.any():
        return u, np.ones_like(u)
    r = np.where(far, np.sqrt(np.maximum(2.0 * c * size - c * c, 0.0)), size)
    return np.sign(u) * r, np.where(far, c / np.maximum(r, 1e-300), 1.0)
