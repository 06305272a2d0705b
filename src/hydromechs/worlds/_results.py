"""Result of a rollout."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np


class Rollout(NamedTuple):
    """Trajectories of worlds; batch dimensions are first."""

    t: np.ndarray
    """Times of the start and every recorded step [s], shape (rows + 1,), or (..., rows + 1) if worlds have separate times.
    """
    q: np.ndarray
    """Configurations, shape (..., rows + 1, nq)."""
    v: np.ndarray
    """Velocities, shape (..., rows + 1, nv)."""
    good: np.ndarray
    """Number of steps with finite results, after which a diverged world stops, shape (...)."""
    internal: np.ndarray
    """Internal states of the components of a plant, and their work [J], shape (..., rows + 1, nz)."""
    command: np.ndarray
    """Commands of a plant at the end [unit of the actuator], shape (..., na)."""
    memory: np.ndarray
    """Memory of the controller at the end, shape (..., nm)."""
    readings: Mapping[str, np.ndarray] = MappingProxyType({})
    """Last measurement of each sensor at times `t`, keyed by name, shape (..., rows + 1, n); NaN before the first."""

    def __repr__(self) -> str:
        worlds, good = self.good.size, self.good
        steps = f"{good.min()} to {good.max()}" if worlds and good.min() < good.max() else f"{good.max(initial=0)}"
        of = f"{worlds} worlds" if self.good.ndim else "one world"
        begin, end = self.t[..., 0].min(), self.t[..., -1].max()
        return f"<Rollout of {of}: {self.t.shape[-1]} rows from t = {begin:g} to {end:g} s, {steps} good steps>"
