"""Joints that stand far beyond their limits, because assumed stops yield under load: a run reports that once."""

import math
from typing import Any

import numpy as np

from ._plant import Plant

FAR = 0.05
"""Share of its travel by which a joint goes beyond a limit before a message."""


class SoftStops:
    """Checks of joints whose stops have assumed numbers, from the model's limits and inertia."""

    def __init__(self, plant: Plant) -> None:
        assumed: list[Any] = [c for c in plant.components if getattr(c, "assumed", False)]
        parts = [(c, plant.model.joint_part(c.joint)) for c in assumed]
        self._joints = [(c, part) for c, part in parts if part.joint.nv == 1]
        self._at = [part.q.start for _, part in self._joints]
        self._lower = np.array([c.lower for c, _ in self._joints])
        self._upper = np.array([c.upper for c, _ in self._joints])
        travel = self._upper - self._lower
        self._allowed = FAR * np.where(np.isfinite(travel), travel, 1.0)

    def look(self, q: np.ndarray) -> list[str]:
        """Return messages for a configuration, shape (nq,); of each joint once."""
        if not self._joints:
            return []
        beyond = np.maximum(self._lower - q[self._at], q[self._at] - self._upper)
        said = []
        for k in np.flatnonzero(beyond > self._allowed):
            c, part = self._joints[k]
            unit = part.joint.unit
            limit = self._upper[k] if q[self._at[k]] > self._upper[k] else self._lower[k]
            stiff = f"{c.stiffness:.3g} {'N m' if unit == 'rad' else 'N'}/{unit}"
            said.append(
                f"joint {c.joint!r} is {beyond[k]:.3g} {unit} beyond its limit of {limit:.4g} {unit}: the stop that limits "
                f"have by default, {stiff}, yields; give it stops"
            )
            self._allowed[k] = math.inf
        return said
