"""The ground as a walking machine knows it: heights, how even it is below a foot, and feet that are below it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hydromechs.contact import Pair, Terrain, ground_height
from hydromechs.simulation import Simulation
from hydromechs.values import Array

RING = np.array([[np.cos(a), np.sin(a)] for a in np.arange(6) * np.pi / 3.0])
"""Six directions, shape (6, 2)."""


class Ground:
    """All terrain that the machine of a simulation can touch.

    Args:
        simulation: The simulation.
    """

    def __init__(self, simulation: Simulation) -> None:
        touched = [c.solid for c in simulation.plant.components if isinstance(c, Pair)]
        solids = {solid.name: solid for solid in touched if isinstance(solid, Terrain)}
        self.solids = list(solids.values())
        """The terrain."""
        if not self.solids:
            raise ValueError("there is no ground to walk on: nothing of the machine can touch terrain; add terrain")
        self.down = np.asarray(simulation.model.world.down, dtype=float)
        """Unit vector down, shape (3,)."""
        self.up = -float(self.down[2])
        """Height UP per z of the world, 1 or −1."""

    def height(self, at: Array) -> Array:
        """Height UP of the ground [m], shape (...), at places in the world [m], shape (..., 2)."""
        return ground_height(self.solids, at[..., 0], at[..., 1], self.down)

    def pads(self, at: Array, radius: float) -> tuple[Array, Array]:
        """Height on which a pad comes to rest at places [m], and how uneven it is below it [m], shape (...) each.

        Args:
            at: Places in the world [m], shape (..., 2).
            radius: Of the pad [m].
        """
        here = self.height(at)
        if not radius:
            return here, np.zeros(here.shape)
        rim = self.height(at[..., None, :] + radius * RING)
        return np.maximum(here, rim.mean(axis=-1)), np.ptp(np.concatenate([here[..., None], rim], axis=-1), axis=-1)

    def refuse_buried(self, names: Sequence[str], feet: Array, foot_height: float, allowed: float) -> None:
        """Refuse a start with a foot below the ground.

        Args:
            names: Names of the feet.
            feet: Their origins in the world [m], shape (n, 3).
            foot_height: Of the origins above their soles [m].
            allowed: Depth that may be [m].
        """
        deep = self.height(feet[:, :2]) + foot_height - self.up * feet[:, 2]
        k = int(np.argmax(deep))
        if deep[k] > allowed:
            raise ValueError(f"foot {names[k]!r} is {deep[k]:.3f} m below the ground at the start; start the machine higher")
