"""Added mass of boxes and cylinders far from all boundaries, interpolated in tables that were made by boundary elements.

The tables hold ratios to scales that have the right limits for long and for flat solids, so that the ratios change little;
they are interpolated over the logarithm of the ratios of sides, and kept beyond the ends of the tables.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from hydromechs.values import Array

__all__ = ["box_scales", "cylinder_scales", "tabled_box", "tabled_cylinder"]


def box_scales(size: Sequence[float]) -> Array:
    """Sizes of the added mass along and about the axes of a box [m³, m⁵], shape (6,).

    Along an axis a² b, with the shorter and longer side a ≤ b of the face that meets the flow: a plate. About an axis
    l⁴ k²/(l + k), with the side k along it and the longer l of the others: a plate that turns about a long or a short edge.

    Args:
        size: Edges [m], shape (3,).
    """
    out = np.zeros(6)
    for k in range(3):
        short, long = sorted((size[(k + 1) % 3], size[(k + 2) % 3]))
        out[k] = short**2 * long
        out[3 + k] = long**4 * size[k] ** 2 / (long + size[k])
    return out


def cylinder_scales(radius: float, length: float) -> Array:
    """Sizes of the added mass across, along and about an axis across a cylinder [m³, m³, m⁵], shape (3,).

    Across: strips π r² L. Along: a disc, r³. About: strips of a long one and a disc, r² L³ + r⁵.

    Args:
        radius: Radius [m].
        length: Length [m].
    """
    return np.array([np.pi * radius**2 * length, radius**3, radius**2 * length**3 + radius**5])


def tabled_box(size: Sequence[float]) -> Array:
    """Added mass along and about the axes of a box in a fluid of density 1 [m³, m⁵], shape (6,).

    Args:
        size: Edges [m], shape (3,).
    """
    table = _tables()
    order = np.argsort(-np.asarray(size), kind="stable")
    a, b, c = np.asarray(size)[order]
    grid = -np.log2(np.array(table["ratios"]))
    (i, s), (j, t) = _between(grid, -np.log2(b / a)), _between(grid, -np.log2(c / a))
    box = np.log(np.array(table["box"]))
    row = (1 - s) * ((1 - t) * box[i, j] + t * box[i, j + 1]) + s * ((1 - t) * box[i + 1, j] + t * box[i + 1, j + 1])
    out = np.zeros(6)
    out[[*order, *(3 + order)]] = np.exp(row)
    return out * box_scales(size)


def tabled_cylinder(radius: float, length: float) -> Array:
    """Added mass along and about the axes of a cylinder along z, in a fluid of density 1 [m³, m⁵], shape (6,).

    Args:
        radius: Radius [m].
        length: Length [m].
    """
    table = _tables()
    grid = np.log2(np.array(table["slenderness"]))
    rows = np.array(table["cylinder"])
    at = np.log2(0.5 * length / radius)
    across, along, about = np.array([np.interp(at, grid, row) for row in rows.T]) * cylinder_scales(radius, length)
    return np.array([across, across, along, about, about, 0.0])


@cache
def _tables() -> dict:
    return json.loads(Path(__file__).with_name("tables.json").read_text())


def _between(grid: Array, x: float) -> tuple[int, float]:
    """The interval of the grid that holds x, and how far along it, 0 to 1; the nearest end outside."""
    k = int(np.clip(np.searchsorted(grid, x) - 1, 0, len(grid) - 2))
    return k, float(np.clip((x - grid[k]) / (grid[k + 1] - grid[k]), 0.0, 1.0))
