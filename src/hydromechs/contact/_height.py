"""Height of the ground below many points at once, for those who plan where to step."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hydromechs.geometry import HeightField
from hydromechs.values import Array

from ._distance import ray_distance
from .terrain import Plane, Terrain

__all__ = ["ground_height"]

ABOVE = 1e4
"""Height from which solids are looked at [m]."""


def ground_height(solids: Iterable[Terrain], x: Array, y: Array, down: Array) -> Array:
    """Height UP of the highest solid at places [m], shaped as `x`; −inf where there is none.

    Args:
        solids: The terrain.
        x: Places in the world [m], any shape.
        y: Places in the world [m], shaped alike.
        down: Unit vector down, along z of the world, shape (3,).
    """
    x, y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
    out = np.full(x.shape, -np.inf)
    for solid in solids:
        shape = solid.solid.shape
        if isinstance(shape, HeightField):
            out = np.maximum(out, shape.heights_at(x, y))
        else:
            out = np.maximum(out, _others(solid, x, y, np.asarray(down)))
    return out


def _others(solid: Terrain, x: Array, y: Array, down: Array) -> Array:
    up = -down
    if isinstance(solid, Plane):
        n = np.array(solid.normal)
        if n @ up <= 0.0:
            return np.full(x.shape, -np.inf)
        # n · (p − point) = 0 with p = (x, y, ·)
        across = n[0] * (x - solid.point[0]) + n[1] * (y - solid.point[1])
        return np.asarray(up[2] * solid.point[2] - across / (n @ up))
    rays = [ray_distance(solid, np.array([a, b, 0.0]) + ABOVE * up, down, down) for a, b in zip(x.flat, y.flat, strict=True)]
    return ABOVE - np.array(rays, dtype=float).reshape(x.shape)
