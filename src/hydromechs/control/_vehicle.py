"""A vehicle with thrusters, as controllers see it: where it is in the state, and the commands that give a wrench."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.actuation import Allocator, Thruster, allocation_matrix
from hydromechs.model import Model, joints
from hydromechs.simulation import Simulation, Site, check_free_in_world
from hydromechs.spatial import any_of
from hydromechs.values import Array, Scalar

from ._active_set import allocated

WAYS = ("surge", "sway", "heave", "roll", "pitch", "yaw")
"""Names of the axes."""

PRECEDENCE = (0, 2, 5, 1, 4, 3)
"""Axes in the order in which thrusters that cannot move all of them apart are used: surge, heave, yaw, sway, pitch, roll."""
LEAST = 0.01
"""Share of the strongest force, or moment, below which an axis counts as not reached."""
ROUNDING = 1e-6
"""Lever that counts as none [m]."""


class Push(NamedTuple):
    """Commands that give a wrench."""

    commands: dict[str, Scalar]
    """Commands of the thrusters, by name."""
    wrench: Array
    """The wrench that they give in steady state, in body axes [N, N·m], shape (6,)."""
    saturated: Scalar
    """1 if a thruster is at a limit, else 0."""


class Vehicle:
    """A body with a free joint and the thrusters on it.

    Args:
        simulation: The simulation that it is in.
        body: Its name; the first free body unless given.
        first: Axes that are to be reached before the others, of 0 to 5 for x, y, z and the turns about them.
    """

    def __init__(self, simulation: Simulation | Site, body: str | None, first: Sequence[int] = ()) -> None:
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
        check_free_in_world(model, self.body)
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
        self.axes = reached_axes(self.B, [*first, *PRECEDENCE])
        """Axes along and about which the thrusters push each without the others, of 0 to 5 in rising order."""
        counted = np.array([float(k in self.axes) for k in range(6)])  # what comes along about all other axes is left as it is
        self._shares = np.linalg.pinv(counted[:, None] * self.B, rcond=1e-9) * counted
        self._allocator = Allocator(self.B, self.limits[:, 0], self.limits[:, 1], weights=counted)

    def push(self, wrench: Array) -> Push:
        """Commands for a wrench in body axes [N, N·m], numbers or symbols, shape (6,), as near as the thrusters come to it."""
        given = allocated(self._allocator, wrench)
        pairs = zip(self.thrusters, given.forces.tolist(), strict=True)
        commands = {t.name: t.curve.inverse(force) for t, force in pairs}
        return Push(commands, self.B @ given.forces, any_of(given.saturated))

    @property
    def given(self) -> np.ndarray:
        """Wrench that the thrusters give for a unit along each axis, with what comes along [1, m, 1/m], shape (6, 6)."""
        return self.B @ self._shares

    @property
    def reach(self) -> np.ndarray:
        """Highest force or moment along each of `axes` alone, either way; 0 for others [N, N·m], shape (6,).

        Of a thruster that pushes one way only, that way counts.
        """
        ways = np.abs(self.limits)
        most = np.where(ways.min(axis=1) > 0.0, ways.min(axis=1), ways.max(axis=1))
        used = (np.abs(self._shares) / most[:, None]).max(axis=0)
        return np.where(used > 0.0, 1.0 / np.where(used > 0.0, used, 1.0), 0.0)


def reached_axes(B: np.ndarray, order: Sequence[int]) -> tuple[int, ...]:
    """Axes that thrusters push along each without the others, in rising order: those whose rows of B are independent.

    An axis counts if what is left of its row, less its part in the span of the rows before it, is above a hundredth of the
    largest row of forces, or of moments.

    Args:
        B: Wrench per thrust [1, m], shape (6, nt).
        order: Axes of 0 to 5, those first that go before others.
    """
    sizes = np.linalg.norm(B, axis=1)
    force = sizes[:3].max()
    largest = np.repeat([force, max(sizes[3:].max(), ROUNDING * force)], 3)
    rows = B / largest[:, None]
    taken: list[int] = []
    span = np.zeros((0, B.shape[1]))
    for k in order:
        left = rows[k] - span.T @ (span @ rows[k])
        size = float(np.linalg.norm(left))
        if k not in taken and size > LEAST:
            taken.append(k)
            span = np.vstack([span, left / size])
    return tuple(sorted(taken))


def pose_notes(vehicle: Vehicle, controlled: Sequence[int], path: np.ndarray) -> list[str]:
    """What to say of places and angles that are not held; a path that leads along nothing else is refused.

    A level vehicle comes to another depth by heave, to another heading by yaw, and over ground by surge or sway.

    Args:
        controlled: Axes that are controlled, of 0 to 5.
        path: Waypoints: position and roll, pitch, heading [m, rad], shape (n, 6).

    Raises:
        ValueError: A waypoint asks for what none of the controlled axes leads to.
    """

    def why(missing: Sequence[int]) -> str:
        names = ", ".join(WAYS[k] for k in missing)
        return f"the thrusters do not reach {names}" if not set(missing) & set(vehicle.axes) else f"{names} is not controlled"

    asked: dict[str, tuple[np.ndarray, Sequence[int]]] = {"roll": (path[:, 3:4], (3,)), "pitch": (path[:, 4:5], (4,))}
    if not path[:, 3:5].any():
        off = path - path[0]
        asked |= {
            "another place over ground": (off[:, :2], (0, 1)),
            "another depth": (off[:, 2:3], (2,)),
            "another heading": (off[:, 5:], (5,)),
        }
    for what, (rows, needed) in asked.items():
        there = np.flatnonzero(rows.any(axis=1))
        if len(there) and not set(needed) & set(controlled):
            raise ValueError(
                f"waypoint {there[0]} asks {vehicle.name!r} for {what}; {why(needed)}: "
                "lead it along what is controlled, or give it more thrusters"
            )
    unreached = [WAYS[k] for k in range(6) if k not in vehicle.axes]
    left_out = [WAYS[k] for k in vehicle.axes if k not in controlled]
    end = "places and angles that need these are not held"
    notes = [f"the thrusters of {vehicle.name!r} do not reach {', '.join(unreached)}: {end}"] if unreached else []
    return notes + ([f"{', '.join(left_out)} of {vehicle.name!r} are not controlled: {end}"] if left_out else [])


def fixed_to(model: Model, body: int) -> set[int]:
    """Indices of a body and of those that are fixed to it."""
    out = {body}
    for i in range(model.nb):
        if model.bodies[i].joint.nv == 0 and model.parent[i] in out:
            out.add(i)
    return out
