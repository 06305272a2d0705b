"""A vehicle with thrusters, as controllers see it: where it is in the state, and the commands that give a wrench."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydromechs.actuation import Allocator, Thruster, allocation_matrix
from hydromechs.model import Model, joints
from hydromechs.simulation import Simulation

__all__ = ["Push", "Vehicle"]


class Push(NamedTuple):
    """Commands that give a wrench."""

    commands: dict[str, float]
    """Commands of the thrusters, by name."""
    wrench: np.ndarray
    """The wrench that they give in steady state, in body axes [N, N·m], shape (6,)."""
    saturated: bool
    """Whether a thruster is at a limit."""


class Vehicle:
    """A body with a free joint and the thrusters on it.

    Args:
        simulation: The simulation that it is in.
        body: Its name; the first free body unless given.
    """

    def __init__(self, simulation: Simulation, body: str | None) -> None:
        model = simulation.model
        free = [b.name for b in model.bodies if isinstance(b.joint, joints.Free)]
        name = body or (free[0] if free else None)
        if name is None or name not in free:
            raise ValueError(
                f"pose control needs a body with a free joint, got {name!r}; there are {', '.join(free) or 'none'}"
            )
        self.name = name
        """Its name."""
        self.body = model.body_index(name)
        """Index of its body."""
        self.q, self.v = model.q_slices[self.body], model.v_slices[self.body]
        """Its places in q and v."""
        rigid = fixed_to(model, self.body)
        parts = simulation.plant.components
        self.thrusters = [c for c in parts if isinstance(c, Thruster) and model.locate(c.frame).body in rigid]
        """The thrusters on it, or on bodies fixed to it."""
        if not self.thrusters:
            raise ValueError(f"pose control needs thrusters on {name!r} or on bodies fixed to it; there are none")
        self.limits = np.array([t.curve.limits for t in self.thrusters])
        """Lowest and highest thrust of each [N], shape (nt, 2)."""
        self.B = allocation_matrix(model, self.thrusters, name)
        """Wrench per thrust [1, m], shape (6, nt)."""
        self._allocator = Allocator(self.B, self.limits[:, 0], self.limits[:, 1])

    def push(self, wrench: np.ndarray) -> Push:
        """Commands for a wrench in body axes [N, N·m], shape (6,), as near as the thrusters come to it."""
        given = self._allocator(wrench)
        pairs = zip(self.thrusters, given.forces.tolist(), strict=True)
        commands = {t.name: t.curve.inverse(force) for t, force in pairs}
        return Push(commands, self.B @ given.forces, bool(given.saturated.any()))

    @property
    def reach(self) -> np.ndarray:
        """Highest force or moment along each axis alone, either way, with none about the others [N, N·m], shape (6,)."""
        most = np.minimum(-self.limits[:, 0], self.limits[:, 1])
        shares = np.abs(np.linalg.pinv(self.B, rcond=1e-9)) / most[:, None]
        reached = np.abs(np.diag(self.B @ np.linalg.pinv(self.B, rcond=1e-9)))
        return np.where(reached > 1e-6, 1.0 / np.maximum(shares.max(axis=0), 1e-300), 0.0)


def fixed_to(model: Model, body: int) -> set[int]:
    """Indices of a body and of those that are fixed to it."""
    out = {body}
    for i in range(model.nb):
        if model.bodies[i].joint.nv == 0 and model.parent[i] in out:
            out.add(i)
    return out
