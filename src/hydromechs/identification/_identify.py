"""Estimation of unknown plant parameters from recordings, with uncertainties and undetermined directions."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hydromechs import registry
from hydromechs.model import Model
from hydromechs.simulation import Plant

from ._instruments import Instrument
from ._problem import Evaluated, Problem
from ._samples import Nodes, Trial, outside
from ._sensitivity import SensitiveState
from ._solve import Solution, solve
from ._unknowns import Unknown, derived

WEAK = 1.0
"""Information of the data, relative to the prior, below which a direction counts as undetermined."""
MAX_VARIANCE_GAIN = 1e10
"""Ratio of variances with all other unknowns free and fixed (variance inflation) above which an unknown is undetermined."""
NAMED = 0.3
"""Minimum component of an unknown in a direction at which the unknown is listed."""
LAGS = 20
"""Maximum lag of the autocorrelation of the residuals, in samples."""
NOTED = 0.05
"""Fraction of samples outside the trial above which a note is added for the channel."""


class Found(NamedTuple):
    """Estimate of one unknown value."""

    name: str
    value: float
    """Estimated value, in the unit of the unknown."""
    deviation: float
    """Standard deviation, valid if deviations and correlation times of the channels are correct; NaN at an active bound."""
    clustered: float
    """Standard deviation from the scatter between trials, robust to model errors within a trial; NaN for too few trials."""
    before: float
    """Prior estimate."""
    deviation_before: float
    """Prior standard deviation; inf without prior information."""
    bound: str = ""
    """Active bound, "lower" or "upper", or empty. The deviations of other estimates assume that this value is exact."""


class Direction(NamedTuple):
    """Unknowns that the data cannot distinguish or determine."""

    information: float
    """Information of the data along the direction, relative to the prior; 0 if the data contain none."""
    parts: tuple[tuple[str, float], ...]
    """Names and components of the unknowns, in units of their prior deviations."""

    @property
    def text(self) -> str:
        """Unknowns with their components, as text."""
        return " ".join(f"{part:+.2f} {name}" for name, part in self.parts)


class Whiteness(NamedTuple):
    """Statistics of the residuals of one channel."""

    channel: str
    rms: float
    """Root mean square of the residuals, in the unit of the channel."""
    correlation: float
    """Correlation of consecutive residuals; 0 for white noise."""
    time: float
    """Correlation time of the residuals [s]: sum of the correlations up to the first negative one."""


class States(NamedTuple):
    """States at the starts of the pieces of one trial."""

    trial: str
    times: np.ndarray
    """Start times of the pieces [s], shape (pieces,)."""
    q: np.ndarray
    """Configurations at the starts, shape (pieces, nq)."""
    x: np.ndarray
    """Velocities and internal states at the starts, shape (pieces, nx)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Identification:
    """Result of an identification: estimates, covariances and diagnostics."""

    problem: Problem
    solution: Solution

    @property
    def converged(self) -> bool:
        """True if the search converged; `solution.reason` states why it stopped."""
        return self.solution.converged

    @cached_property
    def _sensitive(self) -> np.ndarray:
        """Covariance of all unknowns with the free coordinates shared by all trials, shape (size, g)."""
        linear, g = self.solution.normal, len(self.problem.guess)
        held = np.zeros(len(linear.b), dtype=bool)
        held[:g] = self.solution.side != 0
        return linear.covariance_times(np.eye(len(linear.b), g), held)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Covariance of the free coordinates shared by all trials; 0 at active bounds, shape (g, g)."""
        return self._sensitive[: len(self.problem.guess)]

    @cached_property
    def clustered_covariance(self) -> np.ndarray:
        """Covariance from the scatter between trials, H⁻¹ (Σ g_j g_jᵀ) H⁻¹ n/(n−1), shape (g, g)."""
        s, g, n = self.solution, len(self.problem.guess), len(self.problem.trials)
        scores = np.zeros((n, len(s.normal.b)))
        for score, part, e in zip(scores, s.normal.trials, s.evaluated, strict=True):
            score[:g] = e.by_shared.T @ e.residual
            score[part] = np.concatenate([e.by_own, e.by_nodes], axis=1).T @ e.residual
        moved = scores @ self._sensitive
        return moved.T @ moved * (n / (n - 1) if n > 1 else math.nan)

    @cached_property
    def correlations(self) -> np.ndarray:
        """Correlation matrix of the free coordinates; rows of the identity at active bounds, shape (g, g)."""
        held = self.solution.side != 0
        scale = np.where(held, 1.0, np.sqrt(np.diag(self.covariance)))
        return self.covariance / np.outer(scale, scale) + np.diag(np.where(held, 1.0, 0.0))

    @cached_property
    def found(self) -> tuple[Found, ...]:
        """Estimates of all unknowns, in the units of the unknowns."""
        out = []
        problem, shared, side = self.problem, self.solution.at.shared, self.solution.side
        information = np.diag(self.solution.normal.H)[: len(shared)]
        undetermined = (information == 0.0) | (np.diag(self.covariance) * information > MAX_VARIANCE_GAIN)
        for u, at in zip(problem.unknowns, problem.slices, strict=True):
            slopes, first = derived(u.shown, shared[at]), derived(u.shown, problem.guess[at])
            now, before = u.shown(shared[at]), u.shown(problem.guess[at])
            spread, between = (
                np.sqrt(np.diag(slopes @ c[at, at] @ slopes.T)) for c in (self.covariance, self.clustered_covariance)
            )
            spread[(slopes[:, undetermined[at]] != 0.0).any(axis=1)] = math.inf
            known = np.sqrt(np.sum((np.where(first == 0.0, 0.0, first * problem.deviation[at])) ** 2, axis=1))
            for k, name in u.reported():
                sides = side[at][slopes[k] != 0.0]
                if len(sides) and sides.all():
                    held = "upper" if sides[0] > 0 else "lower"
                    out.append(Found(name, now[k], math.nan, math.nan, before[k], known[k], held))
                else:
                    out.append(Found(name, now[k], spread[k], between[k], before[k], known[k]))
        for k in range(problem.slices[-1].stop if problem.slices else 0, len(shared)):
            own, among = (math.sqrt(c[k, k]) for c in (self.covariance, self.clustered_covariance))
            out.append(Found(problem.labels[k], shared[k], own, among, problem.guess[k], problem.deviation[k]))
        return tuple(out)

    @cached_property
    def directions(self) -> tuple[Direction, ...]:
        """Directions with less information from the data than from the prior, weakest first, without unknowns at bounds."""
        problem, g = self.problem, len(self.problem.guess)
        free = np.flatnonzero(self.solution.side == 0)
        if not len(free):
            return ()
        known = np.isfinite(problem.deviation)
        shared = self.solution.at.shared
        large = np.ones(g)
        for u, at in zip(problem.unknowns, problem.slices, strict=True):
            large[at] = u.sizes(shared[at])
        scale = np.where(known, problem.deviation, large)
        covariance = self.covariance[np.ix_(free, free)]
        deviation = np.sqrt(np.diag(covariance))
        # Correlations inverted by eigenvalues: elimination would lose the weakest information among rounding errors.
        spread, axes = np.linalg.eigh(covariance / np.outer(deviation, deviation))
        rows = (scale[free] / deviation)[:, None] * axes
        inverse = (rows / np.maximum(spread, np.finfo(float).eps)) @ rows.T
        values, vectors = np.linalg.eigh(inverse - np.diag(np.where(known, 1.0, 0.0)[free]))
        out = []
        for value, part in zip(values, vectors.T, strict=True):
            vector = np.zeros(g)
            vector[free] = part
            if value < WEAK:
                vector = vector * np.sign(vector[np.argmax(np.abs(vector))])
                order = sorted(range(g), key=lambda k: -abs(vector[k]))
                parts = tuple((problem.labels[k], float(vector[k])) for k in order if abs(vector[k]) >= NAMED)
                out.append(Direction(max(float(value), 0.0), parts))
        return tuple(out)

    @cached_property
    def whiteness(self) -> tuple[Whiteness, ...]:
        """Residual statistics of each channel over all trials."""
        out = []
        for c, name in enumerate(self.problem.outputs.names):
            kept = [(e.error[e.channel == c], e.times[e.channel == c]) for e in self.solution.evaluated]
            kept = [(r, t) for r, t in kept if len(r) > LAGS + 1]
            if not kept:
                continue
            rows = [r for r, _ in kept]
            square = sum(float(r @ r) for r in rows)
            gap = float(np.mean([np.diff(t).mean() for _, t in kept]))
            lags = [sum(float(r[k:] @ r[:-k]) for r in rows) / square for k in range(1, LAGS + 1)]
            positive = next((k for k, x in enumerate(lags) if x <= 0.0), LAGS)
            rms = math.sqrt(square / sum(map(len, rows)))
            out.append(Whiteness(name, rms, lags[0], gap * (0.5 + sum(lags[:positive]))))
        return tuple(out)

    @cached_property
    def states(self) -> tuple[States, ...]:
        """States at the starts of the pieces of each trial; the first is the start of the trial."""
        problem, s = self.problem, self.solution
        q, x, _ = problem.starts(s.at.shared, s.at.own)
        out = []
        for j, trial in enumerate(problem.trials):
            mine = [p for p in problem.pieces if p.trial == j]
            later = [p.node for p in mine[1:]]
            times = np.array([trial.start + p.first * problem.h for p in mine])
            parts = (np.concatenate([q[j : j + 1], s.at.nodes.q[later]]), np.concatenate([x[j : j + 1], s.at.nodes.x[later]]))
            out.append(States(trial.name, times, *parts))
        return tuple(out)

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about the recordings: channels with many samples outside the trial."""
        out = []
        for trial in self.problem.trials:
            for name in trial.samples:
                gone = outside(trial, name)
                if gone.sum() > NOTED * len(gone):
                    said = f"{gone.sum()} of {len(gone)} samples of {name} are outside the trial and are ignored"
                    out.append(f"trial {trial.name!r}: {said}")
        return tuple(out)

    def summary(self) -> str:
        """Return estimates, convergence, undetermined directions and notes as text."""
        s = self.solution
        ended = "converged" if s.converged else "NOT converged, best result shown,"
        lines = [f"{ended} after {s.iterations} iterations: {s.reason}"]
        width = max((len(row.name) for row in self.found), default=0)
        for row in self.found:
            how = f"held at its {row.bound} bound" if row.bound else f"± {row.deviation:.2g}"
            lines.append(f"{row.name:<{width}}  {row.value:12.6g} {how}  (before {row.before:.6g})")
        lines += [f"not determined by the data: {d.text}" for d in self.directions]
        return "\n".join([*lines, *self.notes])

    def values(self) -> dict[str, Any]:
        """Return the values of open parameters (arrays), held inputs and surface height, keyed by name."""
        problem, layout = self.problem, self.problem.plant.layout
        inputs = problem.inputs(self.solution.at.shared, slice(1))[0][0]
        out = {name: layout.array(f"parameter.{name}", inputs) for name in problem.plant.parameters}
        first = len(layout.commands)
        place = problem.plant.surface_place
        out |= {} if place is None else {"surface_height": float(inputs[place])}
        return out | {name: float(inputs[first + k]) for k, name in enumerate(layout.held)}

    def plant(self) -> Plant:
        """Return the plant with the estimates in its model, components and environment, and without open parameters."""
        plant, found = self.problem.plant, self.values()
        parameters = {path: np.array(found[path], dtype=float) for path in plant.parameters}
        return registry.replaced_all(replace(plant, parameters=()), parameters, checked=False)

    def model(self) -> Model:
        """Return the mechanism with the estimates."""
        return self.plant().model


def identify(
    plant: Plant,
    trials: Sequence[Trial],
    instruments: Sequence[Instrument],
    unknowns: Sequence[Unknown],
    *,
    start: Sequence[float] | None = None,
    step: float = 0.02,
    most: int = 40,
    gain: float = 1e-4,
    before: Sequence[float] | None = None,
    shooting_interval: float | None = None,
    progress: Callable[[int, float, float], None] | None = None,
) -> Identification:
    """Estimate unknowns of a plant from recordings by least squares, with exact derivatives of the simulation.

    Args:
        plant: Recorded plant; the motion of measured joints is prescribed.
        trials: Recordings of the plant.
        instruments: Instruments that measured the recordings.
        unknowns: Values to estimate, for example
            `identification.Positive(name="hull.hydro.drag.0.linear", index=(0,), deviation=1.0)`.
        start: Standard deviations of the initial states of the trials, chart coordinates then velocities, shape (2 nv,).
            A value of 0 marks an exact coordinate. Defaults to exact initial states.
        step: Step of the Runge-Kutta method [s].
        most: Maximum number of iterations.
        gain: Minimum relative cost reduction that a full step must predict for the search to continue.
        before: End times of a first fit that changes only the initial states of the trials [s]. Use it if the initial states
            are poorly known.
        shooting_interval: Length of the pieces into which trials are cut [s]. The initial state of each piece is estimated,
            subject to continuity. Use it for long records of unstable or chaotic plants, whose simulation over a whole
            trial diverges from any initial guess. Defaults to the whole trial.
        progress: Called after each iteration with its number, the cost and the damping.

    Raises:
        UnsupportedFeature: The equations contain parts without derivatives, such as grasps or height tables.
    """
    begin = [0.0] * (2 * plant.model.nv) if start is None else start
    problem = Problem(plant, trials, instruments, unknowns, start=begin, step=step, shooting_interval=shooting_interval)
    own, nodes = None, None
    if len(problem.node_trials):
        if before is not None:
            raise ValueError("before requires trials simulated in one piece; omit before or shooting_interval")
        own, nodes = first_nodes(problem, problem.within(problem.guess))
    elif before is not None:
        own = solve(problem, fixed=True, until=before, most=8, gain=1e-2).at.own
    solution = solve(problem, own=own, nodes=nodes, most=most, gain=gain, progress=progress)
    return Identification(problem=problem, solution=solution)


TIMES = 8
"""Maximum number of corrections of the start of a piece."""
DAMPING = 1e-2
"""Damping of the first correction, relative to the information of the samples about each coordinate."""
ENOUGH = 1e-2
"""Minimum relative reduction of the sum of squares for another correction."""


def first_nodes(problem: Problem, shared: np.ndarray) -> tuple[np.ndarray, Nodes]:
    """Estimate the unknowns of each trial, shape (n, l), and the nodes, with the shared unknowns fixed.

    Each piece is simulated from the end of the previous one; then damped Gauss-Newton steps fit the start of the piece to its
    samples. Coordinates without information remain unchanged. Internal states also remain unchanged: samples of a body
    contain so little information about them that a linear step is unreliable.
    """
    own = np.zeros((len(problem.trials), len(problem.own_deviation)))
    count = len(problem.node_trials)
    nodes = Nodes(np.zeros((count, problem.plant.model.nq)), np.zeros((count, problem.dynamics.nx)))
    of_trial = [[p for p, piece in enumerate(problem.pieces) if piece.trial == j] for j in range(len(problem.trials))]
    for r in range(max(map(len, of_trial))):
        chosen = [pieces[r] for pieces in of_trial if len(pieces) > r]
        own, nodes, ends = _corrected(problem, shared, own, nodes, chosen)
        for row, p in enumerate(chosen):
            following = problem.pieces[p + 1] if p + 1 < len(problem.pieces) else None
            if following is not None and following.node >= 0:
                nodes.q[following.node], nodes.x[following.node] = ends.q[row], ends.x[row]
    return own, nodes


def _corrected(
    problem: Problem, shared: np.ndarray, own: np.ndarray, nodes: Nodes, chosen: list[int]
) -> tuple[np.ndarray, Nodes, SensitiveState]:
    """Fit the start of one piece of each trial to its samples; return the starts and ends of these pieces."""
    pieces = [problem.pieces[p] for p in chosen]
    ns, moving = len(problem.free_start), 2 * problem.plant.model.nv
    deviation = problem.own_deviation[:ns]
    damping = np.full(len(pieces), DAMPING)
    now = _seen(problem, shared, own, nodes, chosen)
    for _ in range(TIMES):
        own_tried, moves = own.copy(), np.zeros((len(nodes.q), problem.wide))
        for row, piece in enumerate(pieces):
            e = now.found[row]
            if piece.node < 0:
                J, residual = np.concatenate([e.by_own[:, :ns], np.diag(1.0 / deviation)]), own[piece.trial, :ns] / deviation
                own_tried[piece.trial, :ns] += _step(J, np.concatenate([e.residual, residual]), damping[row])
            else:
                k = piece.node - int(np.searchsorted(problem.node_trials, piece.trial))
                J = e.by_nodes[:, k * problem.wide : k * problem.wide + moving]
                moves[piece.node, :moving] = _step(J, e.residual, damping[row])
        nodes_tried = problem.moved_nodes(nodes, moves) if len(nodes.q) else nodes
        tried = _seen(problem, shared, own_tried, nodes_tried, chosen)
        better = tried.cost < now.cost
        gained = np.where(better, now.cost - tried.cost, 0.0) > ENOUGH * now.cost
        for row, piece in enumerate(pieces):
            if better[row] and piece.node < 0:
                own[piece.trial] = own_tried[piece.trial]
            elif better[row]:
                nodes.q[piece.node], nodes.x[piece.node] = nodes_tried.q[piece.node], nodes_tried.x[piece.node]
        damping = np.where(better, 0.1 * damping, 10.0 * damping)
        now = _better(now, tried, better)
        if not gained.any() and better.any():
            break
    return own, nodes, now.ends


class _Seen(NamedTuple):
    """Simulation of one piece of each trial."""

    found: list[Evaluated]
    cost: np.ndarray
    """Sum of squares of each trial, shape (n,)."""
    ends: SensitiveState


def _better(a: _Seen, b: _Seen, second: np.ndarray) -> _Seen:
    found = [y if better else x for x, y, better in zip(a.found, b.found, second, strict=True)]
    for old, new in zip(a.ends, b.ends, strict=True):
        old[second] = new[second]
    return _Seen(found, np.where(second, b.cost, a.cost), a.ends)


def _seen(problem: Problem, shared: np.ndarray, own: np.ndarray, nodes: Nodes, chosen: list[int]) -> _Seen:
    steps = [problem.pieces[p].steps for p in chosen]
    with np.errstate(all="ignore"):
        values, slopes, ends = problem.run(shared, own, nodes, chosen, steps, derivatives=True)
        found = []
        for row, p in enumerate(chosen):
            j = problem.pieces[p].trial
            places = [row if k == p else -1 for k, piece in enumerate(problem.pieces) if piece.trial == j]
            found.append(problem.residuals(j, values, slopes, shared, own, places))
    ns = len(problem.free_start)
    prior = [
        np.sum((own[piece.trial, :ns] / problem.own_deviation[:ns]) ** 2) if piece.node < 0 else 0.0
        for piece in (problem.pieces[p] for p in chosen)
    ]
    cost = np.array([float(e.residual @ e.residual) for e in found]) + prior
    return _Seen(found, np.where(np.isfinite(cost), cost, np.inf), ends)


def _step(J: np.ndarray, residual: np.ndarray, damping: float) -> np.ndarray:
    """Return a damped Gauss-Newton step, shape (k,), 0 for coordinates without information."""
    size = np.sqrt(np.sum(J * J, axis=0))
    if not np.isfinite(size).all():
        return np.zeros_like(size)
    scaled = J / np.where(size > 0.0, size, 1.0)
    found = np.linalg.solve(scaled.T @ scaled + damping * np.eye(len(size)), scaled.T @ residual)
    return -found / np.where(size > 0.0, size, 1.0)
