"""States at which pieces of trials begin, before any fit: along the trials, from what was measured within each piece."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._problem import Evaluated, Problem
from ._samples import Nodes
from ._sensitivity import SensitiveState

TIMES = 8
"""Corrections of a piece."""
DAMPING = 1e-2
"""Of the first of them, relative to what the samples tell of each coordinate."""
ENOUGH = 1e-2
"""Part of the sum of squares that a correction must gain for another one."""


def first_nodes(problem: Problem, shared: np.ndarray) -> tuple[np.ndarray, Nodes]:
    """What trials have of their own, shape (n, l), and the nodes, from a walk along the trials with what is shared as it is.

    Each piece is simulated from where the one before has ended; then its beginning is moved by damped Gauss-Newton steps to
    where its own samples say it was. What they do not tell of it stays, and so do internal states, of which samples of a
    body tell so little that a linear step can send them anywhere.
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
    """Beginnings of one piece of each trial moved to where their samples say they were, and the ends of these pieces."""
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
    """One piece of each trial."""

    found: list[Evaluated]
    """Residuals."""
    cost: np.ndarray
    """Sums of squares, shape (n,)."""
    ends: SensitiveState
    """States at the ends."""


def _better(a: _Seen, b: _Seen, second: np.ndarray) -> _Seen:
    """Of each trial the second where that is better."""
    found = [y if better else x for x, y, better in zip(a.found, b.found, second, strict=True)]
    for old, new in zip(a.ends, b.ends, strict=True):
        old[second] = new[second]
    return _Seen(found, np.where(second, b.cost, a.cost), a.ends)


def _seen(problem: Problem, shared: np.ndarray, own: np.ndarray, nodes: Nodes, chosen: list[int]) -> _Seen:
    """Some pieces, one of each trial."""
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
    """A damped Gauss-Newton step, shape (k,), 0 for what the samples do not tell."""
    size = np.sqrt(np.sum(J * J, axis=0))
    if not np.isfinite(size).all():
        return np.zeros_like(size)
    scaled = J / np.where(size > 0.0, size, 1.0)
    found = np.linalg.solve(scaled.T @ scaled + damping * np.eye(len(size)), scaled.T @ residual)
    return -found / np.where(size > 0.0, size, 1.0)
