"""A sequence of steps as transformations and a motion subspace at a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hydromechs.spatial import Path
from hydromechs.values import Array, Scalar

from ._moving import MovingStep


def transformation(step: Any, q: Array | Sequence[Scalar]) -> Any:
    """The transformation that a step is at configuration `q` (nq,), floats or symbols."""
    return step.transformation(np.asarray(q[step.at_q])) if isinstance(step, MovingStep) else step


def motion_subspace(steps: Sequence[Any], transformations: Sequence[Any], q: Array | Sequence[Scalar]) -> Array:
    """S in V = X V_parent + S v of steps with their transformations, in axes of the body at its origin, shape (6, n)."""
    columns: list = []
    for step, X in zip(steps, transformations, strict=True):
        columns = [Path((X,)).motion(c) for c in columns]
        if isinstance(step, MovingStep):
            columns += list(step.subspace(np.asarray(q[step.at_q])).T)
    return np.stack(columns, axis=1) if columns else np.zeros((6, 0))


def free_rows(steps: Sequence[Any]) -> tuple[int, ...] | None:
    """Components of the body's motion that are the joint's own velocities up to sign, or None if the subspace is general."""
    moving = [s for s in steps if isinstance(s, MovingStep)]
    if not moving:
        return ()
    return None if len(moving) > 1 or steps[-1] is not moving[0] else moving[0].rows
