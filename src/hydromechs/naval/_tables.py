"""Added mass of boxes and cylinders far from all boundaries, interpolated in tables that were made by boundary elements.

The tables hold ratios to scales that have the right limits for long and for flat solids, so that the ratios change little;
they are interpolated over the logarithm of the ratios of sides; beyond the ends of the tables they go to those limits.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from hydromechs.geometry import Box
from hydromechs.model import added_mass, added_mass_matrix
from hydromechs.values import Array

LONG = 4.0
"""Length over width of a bar from which the ratios of its scales are taken to stay."""
LAST = 1.0 / 16.0
"""Shortest over longest side of a box where the table ends."""
DISC = np.array([0.0, 8.0 / 3.0, 16.0 / 45.0])
"""Ratios across, along and about of a cylinder without length: Lamb's disc."""


def box_scales(size: Sequence[float]) -> Array:
    """Sizes of the added mass along and about the axes of a box [m³, m⁵], shape (6,).

    Along an axis a² b, with the shorter and longer side a ≤ b of the face that meets the flow: a plate. About an axis
    l⁴ k²/(l + k), with the side k along it and the longer l of the others: a plate that turns about a long or a short edge.
    `size` has the edges [m], shape (3,).
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
    """
    return np.array([np.pi * radius**2 * length, radius**3, radius**2 * length**3 + radius**5])


def tabled_box(size: Sequence[float]) -> Array:
    """Added mass along and about the axes of a box in a fluid of density 1 [m³, m⁵], shape (6,).

    With sides a ≥ b ≥ c the table ends at c/a = 1/16. A flatter box is between that and the plate without thickness, in
    proportion to its thickness; a longer bar keeps the ratios of a shorter one with its section. `size` as in `box_scales`.
    """
    table = _tables()
    order = np.argsort(-np.asarray(size), kind="stable")
    a, b, c = np.asarray(size, dtype=float)[order]
    a = min(a, max(c / LAST, LONG * b))
    grid = -np.log2(np.array(table["ratios"]))
    (i, s), (j, t) = _between(grid, -np.log2(b / a)), _between(grid, -np.log2(c / a))
    box = np.log(np.array(table["box"]))
    row = np.exp((1 - s) * ((1 - t) * box[i, j] + t * box[i, j + 1]) + s * ((1 - t) * box[i + 1, j] + t * box[i + 1, j + 1]))
    flat = max(0.0, 1.0 - c / a / LAST)
    plate = added_mass_matrix(added_mass.ShapeAddedMass(shape=Box(size=(a, b, 1e-9 * b)).at()), 1.0)[2, 2] / (a * b**2)
    row[[2, 3, 4]] *= 1.0 - flat + flat * plate / row[2]  # broadside, and about the edges
    out = np.zeros(6)
    out[[*order, *(3 + order)]] = row
    return out * box_scales(size)


def tabled_cylinder(radius: float, length: float) -> Array:
    """Added mass along and about the axes of a cylinder along z, in a fluid of density 1 [m³, m⁵], shape (6,).

    With x = length/diameter the table goes from 1/8 to 16. A flatter one is between that and a disc without thickness, in
    proportion to x; a longer one between that and strips, in proportion to 1/x, and keeps its ratio along the axis.
    """
    table = _tables()
    slenderness, rows = np.array(table["slenderness"]), np.array(table["cylinder"])
    first, last = slenderness[0], slenderness[-1]
    strips = np.array([1.0, rows[-1, 1], np.pi / 12.0])
    x = 0.5 * length / radius
    if x < first:
        ratios = DISC + x / first * (rows[0] - DISC)
    elif x > last:
        ratios = strips + last / x * (rows[-1] - strips)
    else:
        ratios = np.array([np.interp(np.log2(x), np.log2(slenderness), row) for row in rows.T])
    across, along, about = ratios * cylinder_scales(radius, length)
    return np.array([across, across, along, about, about, 0.0])


def cylinder_source(radius: float, length: float) -> str:
    """Where `tabled_cylinder` has its values from, in words."""
    slenderness = _tables()["slenderness"]
    x = 0.5 * length / radius
    if x < slenderness[0]:
        return "between table of boundary elements and disc without thickness"
    return "between table of boundary elements and strips" if x > slenderness[-1] else "table of boundary elements"


@cache
def _tables() -> dict:
    return json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))


def _between(grid: Array, x: float) -> tuple[int, float]:
    """The interval of the grid that holds x, and how far along it, 0 to 1; the nearest end outside."""
    k = int(np.clip(np.searchsorted(grid, x) - 1, 0, len(grid) - 2))
    return k, float(np.clip((x - grid[k]) / (grid[k + 1] - grid[k]), 0.0, 1.0))
