"""The linear problem of one step: least squares of all unknowns, under the condition that pieces of trials join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import bmat, csc_matrix, identity
from scipy.sparse.linalg import splu

from ._pieces import Gaps, Nodes
from ._problem import Evaluated, Problem

__all__ = ["Normal", "Point", "normal"]

RIDGE = 1e-14
"""Added to squares that are scaled to 1, so that unknowns of which nothing is known at all stay where they are."""


class Point(NamedTuple):
    """Values of all unknowns."""

    shared: np.ndarray
    """What all trials share, shape (g,)."""
    own: np.ndarray
    """What each trial has of its own, shape (n, l)."""
    nodes: Nodes
    """States at which pieces begin that do not begin a trial."""


@dataclass(frozen=True, eq=False)
class Normal:
    """½ δᵀ H δ + bᵀ δ to be least under C δ + d = 0; δ changes (shared, own of trial 1, its nodes, own of trial 2, ...)."""

    H: np.ndarray
    """JᵀJ with priors, shape (size, size)."""
    b: np.ndarray
    """Jᵀr with priors, shape (size,)."""
    C: np.ndarray
    """Derivatives of the gaps, shape (gaps, size)."""
    d: np.ndarray
    """The gaps, shape (gaps,)."""
    trials: tuple[slice, ...]
    """Where each trial's own unknowns and nodes are."""

    def step(self, damping: float) -> tuple[np.ndarray, np.ndarray]:
        """The change, shape (size,), and what the conditions push with, shape (gaps,).

        Args:
            damping: Of Levenberg and Marquardt, relative to the diagonal of H; gaps are closed by as much less, so that steps
                get as short as it takes.
        """
        change, push = self._solved(-self.b[:, None], -self.d[:, None] / (1.0 + damping), damping)
        return change[:, 0], push[:, 0]

    def promised(self, change: np.ndarray) -> float:
        """By how much the cost falls if the problem is as linear as it is taken for.

        Args:
            change: Of all unknowns, shape (size,).
        """
        return -float(self.b @ change + 0.5 * change @ (self.H @ change))

    def covariance_times(self, columns: np.ndarray) -> np.ndarray:
        """The covariance of all unknowns under the conditions times some columns, shape (size, n).

        Args:
            columns: Shape (size, n).
        """
        return self._solved(columns, np.zeros((len(self.d), columns.shape[1])), 0.0)[0]

    def _solved(self, top: np.ndarray, foot: np.ndarray, damping: float) -> tuple[np.ndarray, np.ndarray]:
        """(x, y) with (H + damping) x + Cᵀ y = top and C x = foot."""
        size = np.sqrt(np.diag(self.H))
        scale = (1.0 / np.where(size > 0.0, size, 1.0))[:, None]
        H, n = scale * self.H * scale.T, len(size)
        if not len(self.d):
            return scale * np.linalg.solve(H + (damping + RIDGE) * np.eye(n), scale * top), foot
        rows = 1.0 / np.abs(self.C * scale.T).max(axis=1)[:, None]
        C = csc_matrix(rows * self.C * scale.T)
        K = bmat([[csc_matrix(H) + (damping + RIDGE) * identity(n), C.T], [C, None]], format="csc")
        try:
            found = splu(K).solve(np.concatenate([scale * top, rows * foot]))
        except RuntimeError as error:  # no pivot is left
            raise np.linalg.LinAlgError(str(error)) from None
        return scale * found[:n], rows * found[n:]


def normal(problem: Problem, at: Point, found: list[Evaluated], gaps: Gaps | None, *, fixed: bool) -> Normal:
    """The linear problem around a point.

    Args:
        problem: What is unknown, and what was measured.
        at: The point.
        found: Residuals there.
        gaps: Gaps between pieces there.
        fixed: Whether what is shared stays as it is.
    """
    g, l, w = 0 if fixed else len(at.shared), len(problem.own_deviation), problem.wide
    counts = np.bincount(problem.node_trials, minlength=len(problem.trials))
    ends = g + np.cumsum(l + w * counts)
    trials = tuple(slice(int(end - l - w * k), int(end)) for end, k in zip(ends, counts, strict=True))
    H, b = np.zeros((ends[-1], ends[-1])), np.zeros(ends[-1])
    own_weight = problem.own_deviation**-2.0
    if g:
        weight = problem.weight
        H[:g, :g] = np.diag(weight)
        b[:g] = weight * (at.shared - problem.guess)
    for j, (part, e) in enumerate(zip(trials, found, strict=True)):
        J = np.concatenate([e.by_own, e.by_nodes], axis=1)
        first = slice(part.start, part.start + l)
        H[part, part] = J.T @ J
        b[part] = J.T @ e.residual
        H[first, first] += np.diag(own_weight)
        b[first] += own_weight * at.own[j]
        if g:
            H[:g, :g] += e.by_shared.T @ e.by_shared
            b[:g] += e.by_shared.T @ e.residual
            H[:g, part] = e.by_shared.T @ J
            H[part, :g] = H[:g, part].T
    if gaps is None:
        return Normal(H, b, np.zeros((0, len(b))), np.zeros(0), trials)
    C = np.zeros((len(gaps.size), w, len(b)))
    C[..., :g] = gaps.by_shared[..., :g]
    ns, before = len(problem.free_start), -1
    for k, j in enumerate(problem.node_trials):
        node = trials[j].start + l + w * (k - int(np.searchsorted(problem.node_trials, j)))
        C[k, :, node : node + w] = gaps.by_node[k]
        if j != before:
            C[k, :, trials[j].start : trials[j].start + ns] = gaps.by_before[k, :, :ns]
        else:
            C[k, :, node - w : node] = gaps.by_before[k]
        before = j
    return Normal(H, b, C.reshape(-1, len(b)), gaps.size.ravel(), trials)
