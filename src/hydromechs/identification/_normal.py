"""Linear subproblem of one step: bounded least squares over all unknowns with continuity constraints."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import bmat, csc_matrix, identity
from scipy.sparse.linalg import splu

from ._problem import Evaluated, Problem
from ._samples import Gaps, Nodes

RIDGE = 1e-14
"""Regularisation of the diagonally scaled normal matrix, which keeps undetermined unknowns unchanged."""
PASSES = 4
"""Maximum number of active-set iterations per bound; nondegenerate problems need fewer."""


class Point(NamedTuple):
    """Values of all unknowns."""

    shared: np.ndarray
    """Values of the unknowns shared by all trials, shape (g,)."""
    own: np.ndarray
    """Values of the unknowns of each trial, shape (n, l)."""
    nodes: Nodes
    """States at the starts of all pieces except the first of each trial."""


class Step(NamedTuple):
    """Solution of the linear subproblem."""

    change: np.ndarray
    """Changes of all unknowns, shape (size,)."""
    push: np.ndarray
    """Lagrange multipliers of the continuity constraints, shape (gaps,)."""
    side: np.ndarray
    """Active bounds: 1 for upper, −1 for lower, 0 for a free unknown, shape (size,)."""


@dataclass(frozen=True, eq=False)
class Normal:
    """Minimise ½ δᵀ H δ + bᵀ δ subject to C δ + d = 0 and bounds on δ = (shared, own of trial 1, nodes of trial 1, ...)."""

    H: np.ndarray
    """Normal matrix JᵀJ including priors, shape (size, size)."""
    b: np.ndarray
    """Gradient Jᵀr including priors, shape (size,)."""
    C: np.ndarray
    """Derivatives of the gaps with respect to δ, shape (gaps, size)."""
    d: np.ndarray
    """Gaps between consecutive pieces, shape (gaps,)."""
    trials: tuple[slice, ...]
    """Indices of the unknowns and nodes of each trial in δ."""
    lower: np.ndarray
    """Lower bounds on δ, at most 0, shape (size,)."""
    upper: np.ndarray
    """Upper bounds on δ, at least 0, shape (size,)."""

    def step(self, damping: float) -> Step:
        """Return the change within the bounds, computed by an active-set method (Nocedal and Wright 2006, 16.5).

        On the path to the minimum with some unknowns held, the first bound reached also holds its unknown. At the minimum, the
        unknown with the largest inward multiplier is released, until there is none.
        Levenberg-Marquardt damping is relative to the diagonal of H; the closure of gaps is reduced accordingly, so that steps
        become as short as necessary.
        """
        pinned, size = self.lower == self.upper, self._size
        change, side = np.zeros(len(self.b)), np.where(pinned, 1, 0)
        push = np.zeros(len(self.d))
        for _ in range(1 + PASSES * int(np.isfinite([self.lower, self.upper]).sum())):
            held = side != 0
            known = np.where(held, change, 0.0)
            top, foot = -self.b - self.H @ known, -self.d / (1.0 + damping) - self.C @ known
            moved, pushed = self._solved(top[:, None], foot[:, None], damping, held)
            least, push = known + moved[:, 0], pushed[:, 0]
            way = least - change
            room = np.where(way > 0.0, self.upper, self.lower) - change
            part = np.divide(room, way, out=np.full(len(way), np.inf), where=~held & (way != 0.0))
            first = int(np.argmin(part))
            if part[first] < 1.0:
                change = np.clip(change + part[first] * way, self.lower, self.upper)
                side[first] = 1 if way[first] > 0.0 else -1
                change[first] = self.upper[first] if way[first] > 0.0 else self.lower[first]
                continue
            change = least
            slope = (self.H @ change + self.b + self.C.T @ push) / size + damping * size * change
            inward = np.where(pinned, 0.0, side * slope)
            if not (inward > 0.0).any():
                break
            side[np.argmax(inward)] = 0
        return Step(change, push, side)

    def promised(self, change: np.ndarray) -> float:
        """Return the cost reduction that the linear problem predicts for a change of all unknowns, shape (size,)."""
        return -float(self.b @ change + 0.5 * change @ (self.H @ change))

    def covariance_times(self, columns: np.ndarray, held: np.ndarray) -> np.ndarray:
        """Return the covariance of all unknowns times columns, shape (size, n), given the mask `held`, shape (size,)."""
        return self._solved(columns, np.zeros((len(self.d), columns.shape[1])), 0.0, held)[0]

    @property
    def _size(self) -> np.ndarray:
        """Square roots of the diagonal of H, with 1 in place of 0, shape (size,)."""
        size = np.sqrt(np.diag(self.H))
        return np.where(size > 0.0, size, 1.0)

    def _solved(self, top: np.ndarray, foot: np.ndarray, damping: float, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve (H + damping) x + Cᵀ y = top and C x = foot for x and y, with x = 0 for held entries."""
        free, x = np.flatnonzero(~held), np.zeros_like(top)
        scale = 1.0 / self._size[free, None]
        H, n, top = scale * self.H[np.ix_(free, free)] * scale.T, len(free), scale * top[free]
        if not len(self.d):
            x[free] = scale * np.linalg.solve(H + (damping + RIDGE) * np.eye(n), top)
            return x, foot
        C = self.C[:, free] * scale.T
        rows = 1.0 / np.abs(C).max(axis=1)[:, None]
        C = csc_matrix(rows * C)
        K = bmat([[csc_matrix(H) + (damping + RIDGE) * identity(n), C.T], [C, None]], format="csc")
        try:
            found = splu(K).solve(np.concatenate([top, rows * foot]))
        except RuntimeError as error:  # no nonzero pivots remain
            raise np.linalg.LinAlgError(str(error)) from None
        x[free] = scale * found[:n]
        return x, rows * found[n:]


def normal(problem: Problem, at: Point, found: list[Evaluated], gaps: Gaps | None, *, fixed: bool) -> Normal:
    """Return the linear problem around a point with its gaps between pieces; `fixed` excludes the shared unknowns."""
    g, l, w = 0 if fixed else len(at.shared), len(problem.own_deviation), problem.wide
    counts = np.bincount(problem.node_trials, minlength=len(problem.trials))
    ends = g + np.cumsum(l + w * counts)
    trials = tuple(slice(int(end - l - w * k), int(end)) for end, k in zip(ends, counts, strict=True))
    H, b = np.zeros((ends[-1], ends[-1])), np.zeros(ends[-1])
    lower, upper = np.full(ends[-1], -np.inf), np.full(ends[-1], np.inf)
    own_weight = problem.own_deviation**-2.0
    if g:
        weight = problem.weight
        H[:g, :g] = np.diag(weight)
        b[:g] = weight * (at.shared - problem.guess)
        lower[:g], upper[:g] = problem.lower - at.shared, problem.upper - at.shared
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
        return Normal(H, b, np.zeros((0, len(b))), np.zeros(0), trials, lower, upper)
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
    return Normal(H, b, C.reshape(-1, len(b)), gaps.size.ravel(), trials, lower, upper)
