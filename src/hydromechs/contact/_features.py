"""Features of convex solids that touch the fields of other solids: edges and rims, with anchors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.geometry import Box, Capsule, Convex, Cylinder, Shape, Sphere
from hydromechs.values import Array

INSET = 0.03
"""Ratio of edge radius to the smallest dimension of a shape."""
BAND = 1.17
"""Ratio of the blending band of faces to the edge radius; with this value, contact at sharp edges is at the true edge."""
BIAS = 0.25
"""Ratio of the bias ρ to the edge radius; an inclined edge whose end is deeper than its middle by ρ/8 touches at the end."""
SIDES = 4
"""Number of anchors of a rim; with at least 3, the energy of a rolling disc does not depend on its angle."""


class Edge(NamedTuple):
    """Straight edge or axis with a radius, and a bias towards an anchor."""

    start: tuple[float, float, float]
    """Start point in the frame of the shape [m]."""
    along: tuple[float, float, float]
    """Vector from the start to the end [m]."""
    anchor: float
    """Position of the anchor along the edge, from 0 at the start to 1 at the end."""
    bias: float
    """Bias ρ: the depth decreases by ½ ρ (t − anchor)² [m]."""


class Rim(NamedTuple):
    """Disc of a cylinder, perpendicular to z, with a rounding radius and a bias towards an anchor on the rim."""

    height: float
    """Position along z [m]."""
    radius: float
    """Radius of the disc [m]."""
    anchor: tuple[float, float]
    """Anchor on the rim [m]."""
    bias: float
    """Bias ρ: the depth decreases by ρ |x − anchor|²/(16 radius²), at most ρ/4 [m]."""


class Features(NamedTuple):
    """Features of one shape."""

    edges: tuple[Edge, ...]
    rims: tuple[Rim, ...]
    radius: float
    """Rounding radius of edges [m]."""
    rim_radius: float
    """Rounding radius of rims [m]."""
    weight: float
    """Fraction of the contact law for each edge; about four edges carry a flat face."""


def rounding_of(shape: Shape) -> float:
    """Return the radius of the edges of a shape [m]."""
    if isinstance(shape, Box) and shape.rounding:
        return shape.rounding
    return INSET * 2.0 * float(np.min(shape.half_size))


def features_of(shape: Shape) -> Features:
    """Return the features of a convex shape; other shapes have no features."""
    match shape:
        case Capsule():
            ends = _edge((0.0, 0.0, -0.5 * shape.length), (0.0, 0.0, 0.5 * shape.length))
            return Features(tuple(_anchored(*ends, shape.radius * INSET, (0.0, 1.0))), (), shape.radius, 0.0, 0.5)
        case Sphere():
            return Features(
                tuple(_anchored(*_edge(np.zeros(3), np.zeros(3)), shape.radius * INSET, (0.5,))), (), shape.radius, 0, 1
            )
        case Box():
            r = rounding_of(shape)
            inner = shape.half_size - r
            edges = []
            for k in range(3):
                i, j = (k + 1) % 3, (k + 2) % 3
                for a, b in itertools.product((-1.0, 1.0), repeat=2):
                    start = np.zeros(3)
                    start[i], start[j], start[k] = a * inner[i], b * inner[j], -inner[k]
                    end = start.copy()
                    end[k] = inner[k]
                    edges += _anchored(*_edge(start, end), r, (0.5,))
            return Features(tuple(edges), (), r, 0.0, 0.25)
        case Convex():
            r = rounding_of(shape)
            edges = [e for a, b in shape.inner_edges(r) for e in _anchored(*_edge(a, b), r, (0.5,))]
            return Features(tuple(edges), (), r, 0.0, 0.25)
        case Cylinder():
            r = rounding_of(shape)
            disc, half = shape.radius - r, 0.5 * shape.length
            turns = [2.0 * np.pi * k / SIDES for k in range(SIDES)]
            rims = [
                Rim(side * (half - r), disc, (disc * float(np.cos(a)), disc * float(np.sin(a))), BIAS * r)
                for side in (-1.0, 1.0)
                for a in turns
            ]
            reach = half - shape.radius  # of the axis of the capsule inside, which meets the round sides of other shapes
            axis = [(0.0, 0.0, -reach), (0.0, 0.0, reach)]
            edges = _anchored(*_edge(*axis), r, (0.0, 1.0)) if reach > 0.0 else []
            return Features(tuple(edges), tuple(rims), shape.radius, r, 0.5)
    return Features((), (), 0.0, 0.0, 0.0)


def _edge(start: Sequence[float] | Array, end: Sequence[float] | Array) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return tuple(map(float, start)), tuple(float(b) - float(a) for a, b in zip(start, end, strict=True))


def _anchored(start: tuple[float, ...], along: tuple[float, ...], r: float, anchors: Sequence[float]) -> list[Edge]:
    return [Edge(start, along, anchor, BIAS * r) for anchor in anchors]  # type: ignore[arg-type]  # three numbers
