"""Levenberg-Marquardt for problems in which trials share some unknowns and have others of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ._problem import Evaluated, Problem

__all__ = ["Solution", "solve"]


SLOW = 3
"""Steps in a row that gain next to nothing after which a search ends."""


class Solution(NamedTuple):
    """Where the search ended."""

    shared: np.ndarray
    """What all trials share, shape (g,)."""
    own: np.ndarray
    """What each trial has of its own, shape (n, l)."""
    cost: float
    """½ of the sum of squares, priors included."""
    evaluated: list[Evaluated]
    """Residuals there."""
    hessian: np.ndarray
    """JᵀJ with priors of (shared, own of trial 1, ...), shape (g + n l, g + n l)."""
    iterations: int
    """How many."""
    reason: str
    """Why it ended."""
    converged: bool
    """Whether nothing was left to gain."""


def solve(
    problem: Problem,
    *,
    shared: np.ndarray | None = None,
    own: np.ndarray | None = None,
    fixed: bool = False,
    until: Sequence[float] | None = None,
    most: int = 40,
    gain: float = 1e-4,
    told: Callable[[int, float, float], None] | None = None,
) -> Solution:
    """Least squares of residuals and priors.

    Args:
        problem: What is unknown, and what was measured.
        shared: Where to begin; the problem's guess unless given.
        own: The same of what trials have of their own; 0 unless given.
        fixed: Whether what is shared stays as it is.
        until: Time of each trial after which samples do not count [s].
        most: Highest number of iterations.
        gain: The search ends where a whole step of Gauss and Newton promises less than this part of the cost, or where three
            steps have gained less than a tenth of it each.
        told: Called after each iteration with its number, the cost and the damping.
    """
    theta = problem.guess.copy() if shared is None else shared.copy()
    n, l = len(problem.trials), len(problem.own_deviation)
    local = np.zeros((n, l)) if own is None else own.copy()
    g = 0 if fixed else len(theta)
    weight = np.where(np.isfinite(problem.deviation), 1.0 / problem.deviation, 0.0)
    own_weight = 1.0 / problem.own_deviation

    def cost_of(theta: np.ndarray, local: np.ndarray, found: list[Evaluated]) -> float:
        prior = 0.0 if fixed else float(np.sum((weight * (theta - problem.guess)) ** 2))
        total = sum(float(e.residual @ e.residual) for e in found) + prior + float(np.sum((own_weight * local) ** 2))
        return 0.5 * total if np.isfinite(total) else np.inf

    def tried_at(theta: np.ndarray, local: np.ndarray) -> tuple[list[Evaluated], float]:
        """Residuals and cost, infinite where a trial cannot be simulated to its end."""
        try:
            with np.errstate(all="ignore"):
                found = problem.evaluate(theta, local, until=until)
        except np.linalg.LinAlgError:
            return [], np.inf
        whole = all(np.isfinite(e.by_own).all() and np.isfinite(e.by_shared).all() for e in found)
        return found, cost_of(theta, local, found) if whole else np.inf

    found, cost = tried_at(theta, local)
    if not np.isfinite(cost):
        raise ValueError("trials cannot be simulated to their ends with what is taken for known before; take a smaller step")
    damping, reason = 1e-3, "the number of iterations is used up"
    converged, i, slow = False, 0, 0
    for i in range(1, most + 1):
        H, b = _normal(found, theta, local, problem.guess, weight, own_weight, g)
        promised = 0.5 * float(b @ np.linalg.solve(H, b))
        if promised <= gain * cost:
            reason, converged = f"another step promises {promised / max(cost, 1e-300):.1e} of the cost", True
            break
        improved = False
        while damping < 1e9:
            A = H + damping * np.diag(np.diag(H))
            change = -np.linalg.solve(A, b)
            new = theta.copy()
            if g:
                new = np.clip(theta + change[:g], problem.lower, problem.upper)
            new_local = local + change[g:].reshape(n, l)
            tried, value = tried_at(new, new_local)
            if value < cost:
                improved = True
                break
            damping *= 10.0
        if not improved:
            reason, converged = "no step lowers the cost further", True
            break
        gained = (cost - value) / cost
        theta, local, cost = new, new_local, value
        damping = max(damping / 10.0, 1e-9)
        found = tried
        if told is not None:
            told(i, cost, damping)
        slow = slow + 1 if gained < 0.1 * gain else 0
        if slow == SLOW:
            reason, converged = f"the last {SLOW} steps gained less than {0.1 * gain:.1e} of the cost", True
            break
    H, _ = _normal(found, theta, local, problem.guess, weight, own_weight, g)
    return Solution(theta, local, cost, found, H, i, reason, converged)


def _normal(
    found: list[Evaluated],
    theta: np.ndarray,
    local: np.ndarray,
    guess: np.ndarray,
    weight: np.ndarray,
    own_weight: np.ndarray,
    g: int,
) -> tuple[np.ndarray, np.ndarray]:
    """JᵀJ and Jᵀr with priors."""
    n, l = local.shape
    size = g + n * l
    H, b = np.zeros((size, size)), np.zeros(size)
    if g:
        H[:g, :g] = np.diag(weight**2)
        b[:g] = weight**2 * (theta - guess)
    for j, e in enumerate(found):
        at = slice(g + j * l, g + (j + 1) * l)
        H[at, at] = e.by_own.T @ e.by_own + np.diag(own_weight**2)
        b[at] = e.by_own.T @ e.residual + own_weight**2 * local[j]
        if g:
            H[:g, :g] += e.by_shared.T @ e.by_shared
            b[:g] += e.by_shared.T @ e.residual
            H[:g, at] = e.by_shared.T @ e.by_own
            H[at, :g] = H[:g, at].T
    return H, b
