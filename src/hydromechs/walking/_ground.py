"""The ground as a walking machine knows it: heights, evenness below a foot, and buried feet."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from hydromechs.compiler import Program, call, trace
from hydromechs.contact import Pair, Terrain, ground_height
from hydromechs.simulation import Simulation, Site
from hydromechs.spatial import maximum, minimum, where
from hydromechs.values import Array, Scalar

from ._drives import first_largest

RING = np.array([[np.cos(a), np.sin(a)] for a in np.arange(6) * np.pi / 3.0])
"""Six directions, shape (6, 2)."""


class Ground:
    """All terrain that the machine of a simulation can touch."""

    def __init__(self, simulation: Simulation | Site) -> None:
        touched = [c.solid for c in simulation.plant.components if isinstance(c, Pair)]
        solids = {solid.name: solid for solid in touched if isinstance(solid, Terrain)}
        self.solids = list(solids.values())
        """The terrain."""
        if not self.solids:
            raise ValueError("there is no ground to walk on: the machine can touch no terrain; add terrain")
        self.down = np.asarray(simulation.model.world.down, dtype=float)
        """Unit vector down, shape (3,)."""
        self.up = -float(self.down[2])
        """Height UP per z of the world, 1 or −1."""

    def __getstate__(self) -> dict[str, Any]:
        """Set up everything except the program."""
        return {name: x for name, x in self.__dict__.items() if name != "program"}

    @cached_property
    def program(self) -> Program:
        """Return the height UP of the ground [m] at a place [m] (2,)."""
        return trace(lambda at: ground_height(self.solids, at[0], at[1], self.down), {"at": (2,)}, name="ground")

    def height(self, at: Array) -> Array:
        """Return heights UP of the ground [m], shape (...), at places in the world [m] (..., 2), of floats or symbols."""
        if at.dtype != object:
            return ground_height(self.solids, at[..., 0], at[..., 1], self.down)
        return np.array([call(self.program, row)[0][()] for row in at.reshape(-1, 2)]).reshape(at.shape[:-1])

    def pad(self, at: Array, radius: float) -> tuple[Scalar, Scalar]:
        """Return the height at which a pad of a radius [m] settles at a place (2,) [m], and the unevenness below it [m]."""
        here = self.height(at)[()]
        if not radius:
            return here, 0.0
        rim = self.height(at + radius * RING)
        low = high = here
        for x in rim:
            low, high = minimum(low, x), maximum(high, x)
        return maximum(here, rim.sum() / len(rim)), high - low

    def depths(self, feet: Array, foot_height: float) -> Array:
        """Return depths of feet (origins (n, 3) [m]) below ground [m], shape (n,); `foot_height`: origins above soles [m]."""
        return self.height(feet[:, :2]) + foot_height - self.up * feet[:, 2]


def buried_stops(names: Sequence[str], depths: Array, allowed: float) -> dict[str, tuple[Scalar, ...]]:
    """Stop with "buried NAME" for the deepest foot that is below the ground by more than is allowed [m]."""
    deepest, _ = first_largest(depths)
    rows = zip(names, depths, deepest, strict=True)
    return {f"buried {name}": (where(depth > allowed, own, 0.0), depth) for name, depth, own in rows}


def buried_text(name: str, depth: float, *_: float) -> str:
    """Return the message for a foot that is below the ground at the start, by its depth [m]."""
    return f"foot {name!r} is {depth:.3f} m below the ground at the start; start the machine higher"
