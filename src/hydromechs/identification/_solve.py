"""Levenberg-Marquardt method for problems in which trials have shared and separate unknowns."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ._normal import Normal, Point, normal
from ._problem import Evaluated, Problem
from ._samples import Gaps, Nodes

SLOW = 3
"""Number of consecutive steps with negligible improvement after which a search stops."""
JOINED = 1e-7
"""Maximum gap between pieces that counts as zero, in SI units."""
FIRM = 2.0
"""Penalty factor on gaps relative to the Lagrange multipliers, large enough for an exact penalty function."""


class Solution(NamedTuple):
    """Result of a search."""

    at: Point
    cost: float
    """Cost: half the sum of squares including priors."""
    evaluated: list[Evaluated]
    normal: Normal
    side: np.ndarray
    """Active bounds of the shared unknowns: 1 for upper, −1 for lower, 0 for a free unknown, shape (g,)."""
    gap: float
    """Largest gap between consecutive pieces [rad, m, rad/s, m/s]; 0 if each trial is one piece."""
    iterations: int
    reason: str
    """Reason why the search stopped."""
    converged: bool
    """True if no significant further improvement was possible."""


class _Tried(NamedTuple):
    """Evaluation of the problem at one point."""

    at: Point
    found: list[Evaluated]
    gaps: Gaps | None
    cost: float

    def dear(self, price: np.ndarray) -> float:
        """Return the cost including a penalty on gaps."""
        return self.cost + (0.0 if self.gaps is None else float(price @ np.abs(self.gaps.size.ravel())))

    @property
    def gap(self) -> float:
        """Largest gap between consecutive pieces [rad, m, rad/s, m/s]."""
        return 0.0 if self.gaps is None else float(np.abs(self.gaps.size).max())


def solve(
    problem: Problem,
    *,
    shared: np.ndarray | None = None,
    own: np.ndarray | None = None,
    nodes: Nodes | None = None,
    fixed: bool = False,
    until: Sequence[float] | None = None,
    most: int = 40,
    gain: float = 1e-4,
    progress: Callable[[int, float, float], None] | None = None,
) -> Solution:
    """Minimise the squares of residuals and priors within bounds, subject to continuity between pieces.

    Args:
        problem: Unknowns and measurements of all trials.
        shared: Initial values of the shared unknowns; defaults to the prior values.
        own: Initial values of the unknowns of each trial; defaults to 0.
        nodes: Initial estimates of the states at the starts of pieces; required if trials have several pieces.
        fixed: True to keep the shared unknowns at their initial values.
        until: Time in each trial after which samples are ignored [s].
        most: Maximum number of iterations.
        gain: Minimum relative cost reduction that a full Gauss-Newton step must predict for the search to continue. The
            search also stops after three consecutive steps that each reduced the cost by less than a tenth of `gain`. It
            stops only if the pieces of trials are continuous.
        progress: Called after each iteration with its number, the cost and the damping.
    """
    n, l = len(problem.trials), len(problem.own_deviation)
    nq, nx = problem.plant.model.nq, problem.dynamics.nx
    none = Nodes(np.zeros((0, nq)), np.zeros((0, nx)))
    start = Point(
        problem.within(problem.guess if shared is None else shared),
        np.zeros((n, l)) if own is None else own.copy(),
        none if nodes is None else nodes,
    )
    if len(start.nodes.q) != len(problem.node_trials):
        raise ValueError(f"{len(start.nodes.q)} nodes are given; pass {len(problem.node_trials)} nodes")
    now = _tried(problem, start, until, fixed)
    if not np.isfinite(now.cost):
        names = [t.name for t, e in zip(problem.trials, now.found, strict=False) if not np.isfinite(e.residual).all()]
        raise ValueError(
            f"trials cannot be simulated to their ends with the prior values: {', '.join(names) or 'all'}; use "
            "a smaller step, other prior values, or pieces (shooting_interval)"
        )
    damping, reason = 1e-3, ""
    converged, i, slow = False, 0, 0
    price = np.zeros(0 if now.gaps is None else now.gaps.size.size)
    for i in range(1, most + 1):
        linear = normal(problem, now.at, now.found, now.gaps, fixed=fixed)
        whole, push, side = linear.step(0.0)
        price = np.maximum(price, FIRM * np.abs(push))
        joined = now.gap <= JOINED
        promised = linear.promised(whole) + float(price @ np.abs(linear.d))
        settled = np.count_nonzero(_held(problem, now.at, side, fixed)) == np.count_nonzero(side)
        if promised <= gain * now.cost and joined and settled:
            reason, converged = f"another step would save {promised / max(now.cost, 1e-300):.1e} of the cost", True
            break
        better = None
        while damping < 1e9:
            tried = _tried(problem, _moved(problem, now.at, linear.step(damping).change, fixed), until, fixed)
            if tried.dear(price) < now.dear(price):
                better = tried
                break
            damping *= 10.0
        if better is None:
            reason, converged = "no step reduces the cost", joined
            break
        gained = 1.0 - better.dear(price) / now.dear(price)
        now, damping = better, max(damping / 10.0, 1e-9)
        if progress is not None:
            progress(i, now.cost, damping)
        slow = slow + 1 if gained < 0.1 * gain and now.gap <= JOINED else 0
        if slow == SLOW:
            reason, converged = f"the last {SLOW} steps each reduced the cost by less than {0.1 * gain:.1e} of its value", True
            break
    linear = normal(problem, now.at, now.found, now.gaps, fixed=fixed)
    last = linear.step(0.0)
    if not reason:
        left = linear.promised(last.change) / max(now.cost, 1e-300)
        reason = f"the maximum of {most} iterations was reached; another one would save {left:.1e} of the cost"
    if not converged and now.gap > JOINED:
        reason += f"; pieces of trials are discontinuous with a largest gap of {now.gap:.1e}"
    held = _held(problem, now.at, last.side, fixed)
    return Solution(now.at, now.cost, now.found, linear, held, now.gap, i, reason, converged)


def _held(problem: Problem, at: Point, side: np.ndarray, fixed: bool) -> np.ndarray:
    """Return the active bound of each shared unknown: 1 for upper, −1 for lower, 0 for a free unknown, shape (g,)."""
    g = len(at.shared)
    if fixed:
        return np.zeros(g, dtype=int)
    return np.where(at.shared == np.where(side[:g] > 0, problem.upper, problem.lower), side[:g], 0)


def _tried(problem: Problem, at: Point, until: Sequence[float] | None, fixed: bool) -> _Tried:
    """Evaluate residuals, gaps and cost; the cost is infinite if a trial cannot be simulated to its end."""
    try:
        with np.errstate(all="ignore"):
            found, gaps = problem.joined(*at, until=until)
    except np.linalg.LinAlgError:
        return _Tried(at, [], None, np.inf)
    prior = 0.0 if fixed else float(np.sum(problem.weight * (at.shared - problem.guess) ** 2))
    total = sum(float(e.residual @ e.residual) for e in found) + prior + float(np.sum((at.own / problem.own_deviation) ** 2))
    numbers = [x for e in found for x in (e.by_own, e.by_shared, e.by_nodes)] + ([] if gaps is None else [*gaps])
    whole = np.isfinite(total) and all(np.isfinite(x).all() for x in numbers)
    return _Tried(at, found, gaps, 0.5 * total if whole else np.inf)


def _moved(problem: Problem, at: Point, change: np.ndarray, fixed: bool) -> Point:
    n, l = at.own.shape
    g = 0 if fixed else len(at.shared)
    shared = at.shared
    if not fixed:
        shared = problem.within(shared + change[:g])
        shared = np.where(change[:g] == problem.lower - at.shared, problem.lower, shared)  # exactly on the bound
        shared = np.where(change[:g] == problem.upper - at.shared, problem.upper, shared)
    own, moves, at_change = at.own.copy(), [], g
    for j, count in enumerate(np.bincount(problem.node_trials, minlength=n)):
        own[j] += change[at_change : at_change + l]
        at_change += l
        moves.append(change[at_change : at_change + count * problem.wide].reshape(-1, problem.wide))
        at_change += count * problem.wide
    nodes = problem.moved_nodes(at.nodes, np.concatenate(moves)) if len(at.nodes.q) else at.nodes
    return Point(shared, own, nodes)
