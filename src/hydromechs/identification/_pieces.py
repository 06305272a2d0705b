"""Long trials in pieces, each with a start of its own: multiple shooting (Bock 1983).

A simulation over a long time can depend on its start beyond all bounds, and then tells nothing of anything else. Over a short
piece it does not. The states at the beginnings of all pieces but the first are unknowns, too, and the end of each piece must be
the beginning of the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Piece(NamedTuple):
    """A part of a trial that is simulated at once."""

    trial: int
    """Number of the trial."""
    first: int
    """Step of the trial with which it begins."""
    steps: int
    """How many steps it has."""
    node: int
    """Number of the node that it begins at; −1 for the beginning of the trial."""


class Nodes(NamedTuple):
    """States at which pieces begin, of all trials in order."""

    q: np.ndarray
    """Configurations, shape (nodes, nq)."""
    x: np.ndarray
    """Velocities and internal states, shape (nodes, nx)."""


class Gaps(NamedTuple):
    """How far the ends of pieces are from the nodes where the next ones begin, and derivatives."""

    size: np.ndarray
    """End − node, chart coordinates, velocities and internal states, shape (nodes, w)."""
    by_shared: np.ndarray
    """∂/∂ what all trials share, shape (nodes, w, g)."""
    by_before: np.ndarray
    """∂/∂ the beginning of the piece before, a node or in the first columns a free start, shape (nodes, w, w)."""
    by_node: np.ndarray
    """∂/∂ the node, shape (nodes, w, w)."""


def cut(steps: Sequence[int], every: int | None) -> list[Piece]:
    """Trials as pieces of `every` steps, the last of a trial at least half as long as the others; one piece each for None."""
    out: list[Piece] = []
    node = 0
    for j, count in enumerate(steps):
        firsts = [0] if every is None else [k for k in range(0, count, every) if k == 0 or count - k >= 0.5 * every]
        for first, last in zip(firsts, [*firsts[1:], count], strict=True):
            out.append(Piece(j, first, last - first, node if first else -1))
            node += bool(first)
    return out
