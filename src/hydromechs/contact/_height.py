"""Height of the ground below many points at once, for those who plan where to step."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hydromechs.values import Array

from ._distance import LEVEL
from ._ray import ray_distance
from .terrain import RINGS, HeightField, Plane, Terrain

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
        out = np.maximum(out, _field(solid, x, y) if isinstance(solid, HeightField) else _others(solid, x, y, np.asarray(down)))
    return out


def _field(solid: HeightField, x: Array, y: Array) -> Array:
    """Σ B(u) B(w) c, as `signed_distance` has it, for arrays."""
    c = np.reshape(solid.coefficients, (len(solid.x) + 2 * RINGS, len(solid.y) + 2 * RINGS))
    (ix, bx), (iy, by) = (_splines(a, grid, s) for a, grid, s in zip((x, y), (solid.x, solid.y), solid.spacing, strict=True))
    h = np.zeros(x.shape)
    for k in range(4):
        for j in range(4):
            h += bx[k] * by[j] * c[ix + k, iy + j]
    return h


def _splines(at: Array, grid: tuple[float, ...], spacing: float) -> tuple[Array, tuple[Array, ...]]:
    """Index of the first of four coefficients, and the cubic B-splines there."""
    u = np.clip((at - grid[0]) / spacing, -LEVEL, len(grid) - 1.0 + LEVEL)
    i = np.floor(u)
    t = u - i
    return (i + RINGS - 1).astype(int), (
        (1.0 - t) ** 3 / 6.0,
        (3.0 * t**3 - 6.0 * t**2 + 4.0) / 6.0,
        (-3.0 * t**3 + 3.0 * t**2 + 3.0 * t + 1.0) / 6.0,
        t**3 / 6.0,
    )


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
