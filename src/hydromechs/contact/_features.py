"""Features of convex solids that touch fields of others: edges with anchors, and rims."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.geometry import Box, Capsule, Convex, Cylinder, Shape, Sphere
from hydromechs.spatial import cross, maximum, norm, where
from hydromechs.values import Array, Scalar

from ._fields import Field, Value

STILL = (0.0, 0.0, 0.0)
"""Direction where only the value and the gradient of a field are used."""
INSET = 0.03
"""Radius of edges over the smallest size of a shape [-]."""
BAND = 1.17
"""Band of blended faces over that radius: with it an edge of another body touches sharp edges where they are [-]."""
BIAS = 0.25
"""ρ over the radius of an edge: an edge at an angle touches at an end, deeper than its middle by ρ/8 [-]."""
NEWTON = 10
"""Steps of Newton's method, safeguarded by an interval, to the deepest point of an edge: of random edges, also deep
inside, 99.95 % are exact to 1e-9 of their length after 10."""
SAMPLES = 32
"""Points of a circle that bracket the deepest one; with 8, far more drops on the edges of a block change the energy."""
SIDES = 4
"""Anchors of a rim; with three or more the energy of a rolling disc does not depend on its angle."""


class Edge(NamedTuple):
    """A straight edge or axis with a radius, drawn to an anchor."""

    start: tuple[float, float, float]
    """One end in the frame of the shape [m]."""
    along: tuple[float, float, float]
    """From there to the other end [m]."""
    anchor: float
    """Place of the anchor, 0 at the start, 1 at the end [-]."""
    bias: float
    """ρ: the depth decreases by ½ ρ (t − anchor)² [m]."""


class Rim(NamedTuple):
    """A disc across z of a cylinder with a radius around it, drawn to an anchor on its rim."""

    height: float
    """Place along z [m]."""
    radius: float
    """Radius of the disc [m]."""
    anchor: tuple[float, float]
    """Anchor on the rim [m]."""
    bias: float
    """ρ: the depth decreases by ρ |x − anchor|²/(16 radius²), at most ρ/4 [m]."""


class Features(NamedTuple):
    """Features of one shape."""

    edges: tuple[Edge, ...]
    rims: tuple[Rim, ...]
    radius: float
    """Radius around edges [m]."""
    rim_radius: float
    """Radius around rims [m]."""
    weight: float
    """Part of the material's law for each edge [-]: about four in all carry a flat face."""


class Deepest(NamedTuple):
    """Deepest point of a feature, in the frame of the field."""

    point: Array
    """Its position x [m], shape (3,)."""
    value: Scalar
    """Field there plus the anchor's term [m]."""
    gradient: Array
    """Derivative of the value by a translation of the feature, shape (3,)."""
    moment: Array
    """Derivative by a rotation about the origin of the frame, x × gradient for a fixed point [m], shape (3,)."""


def rounding_of(shape: Shape) -> float:
    """Return the radius of the edges of a shape [m]."""
    if isinstance(shape, Box) and shape.rounding:
        return shape.rounding
    return INSET * 2.0 * float(np.min(shape.half_size))


def features_of(shape: Shape) -> Features:
    """Return the features of a shape; other shapes have none."""
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
            reach = half - shape.radius  # of the axis of the capsule inside, which meets the round sides of others
            axis = [(0.0, 0.0, -reach), (0.0, 0.0, reach)]
            edges = _anchored(*_edge(*axis), r, (0.0, 1.0)) if reach > 0.0 else []
            return Features(tuple(edges), tuple(rims), shape.radius, r, 0.5)
    return Features((), (), 0.0, 0.0, 0.0)


def _edge(start: Sequence[float] | Array, end: Sequence[float] | Array) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return tuple(map(float, start)), tuple(float(b) - float(a) for a, b in zip(start, end, strict=True))


def _anchored(start: tuple[float, ...], along: tuple[float, ...], r: float, anchors: Sequence[float]) -> list[Edge]:
    return [Edge(start, along, anchor, BIAS * r) for anchor in anchors]  # type: ignore[arg-type]  # three numbers


def on_edge(field: Field, edge: Sequence[Scalar | Array], R: Array, p: Array) -> Deepest:
    """Return the point x = y + t u of an edge with the least φ(x) + ½ ρ (t − anchor)², t in 0..1.

    The sum is strictly convex in t, so the point is unique and moves continuously, and by the envelope theorem the gradient of
    the sum by the pose is that of φ at x. The shape with the edge has the axes R (3, 3) and origin p (3,) in the field's frame.
    """
    start, along, anchor, rho = edge
    y, u = p + R @ np.asarray(start), R @ np.asarray(along)

    def at(t: Scalar) -> Value:
        v = field([y[k] + t * u[k] for k in range(3)], u)
        return v._replace(slope=v.slope + rho * (t - anchor), bend=v.bend + rho)

    first, last = at(0.0).slope, at(1.0).slope
    low, high, t = 0.0, 1.0, 0.5
    for _ in range(NEWTON):
        v = at(t)
        below = v.slope < 0.0
        low, high = where(below, t, low), where(below, high, t)
        step = t - v.slope / v.bend
        t = where(where(below, step < high, step > low), step, 0.5 * (low + high))  # steps from end to end would alternate
    t = where(first >= 0.0, 0.0, where(last <= 0.0, 1.0, t))
    found = at(t)
    x, n = y + t * u, np.array([*found.gradient])
    return Deepest(x, found.value + 0.5 * rho * (t - anchor) * (t - anchor), n, cross(x, n))


def on_rim_above_plane(field: Field, rim: Sequence[Scalar | Array], R: Array, p: Array) -> Deepest:
    """Return the point x of a disc with the least φ(x) + ½ k |x − anchor|² above a plane: the projection of anchor − n_t/k."""
    height, radius, anchor, rho = rim
    k, a = rho / (8.0 * radius * radius), np.asarray(anchor)
    middle = p + R @ np.array([0.0, 0.0, height])
    free = a - R[2, :2] / k
    y = free * (radius / maximum(norm(free), radius))
    x = middle + R[:, :2] @ y
    found, off = field(x.tolist(), STILL), y - a
    n = np.array([*found.gradient])
    return Deepest(x, found.value + 0.5 * k * (off @ off), n, cross(x, n))


def on_rim(field: Field, rim: Sequence[Scalar | Array], R: Array, p: Array) -> Deepest:
    """Return the point of the circle around a disc with the least φ(x) + ½ k |x − anchor|².

    The least of `SAMPLES` points around the circle brackets it between its neighbours; Newton's method follows, with the angle
    2 atan w from that point. Points of the other solid inside the disc are met by the features of that solid.
    """
    height, radius, anchor, rho = rim
    k, a = rho / (8.0 * radius * radius), np.asarray(anchor)
    middle, axes = p + R @ np.array([0.0, 0.0, height]), R[:, :2]
    best: Scalar = np.inf
    c: Scalar = 1.0
    s: Scalar = 0.0
    for j in range(SAMPLES):
        cos, sin = float(np.cos(2.0 * np.pi * j / SAMPLES)), float(np.sin(2.0 * np.pi * j / SAMPLES))
        y = np.array([radius * cos, radius * sin])
        value = field((middle + axes @ y).tolist(), STILL).value + 0.5 * k * ((y - a) @ (y - a))
        less = value < best
        best, c, s = where(less, value, best), where(less, cos, c), where(less, sin, s)

    def at(w: Scalar) -> tuple[Array, Value, Array]:
        size = 1.0 / (1.0 + w * w)
        cos, sin = (1.0 - w * w) * size, 2.0 * w * size
        y = radius * np.array([c * cos - s * sin, s * cos + c * sin])
        along, off = np.array([-y[1], y[0]]), y - a
        v = field((middle + axes @ y).tolist(), (axes @ along).tolist())
        inward = (axes.T @ np.array([*v.gradient]) + k * off) @ y
        turned = v.bend + k * radius * radius - inward
        return y, v._replace(slope=v.slope + k * (off @ along), bend=turned), off

    high = float(np.tan(np.pi / SAMPLES))
    low, w = -high, 0.0
    for _ in range(NEWTON):
        v = at(w)[1]
        below = v.slope < 0.0
        low, high = where(below, w, low), where(below, high, w)
        step = w - 0.5 * (1.0 + w * w) * v.slope / maximum(v.bend, 1e-150)  # dw = ½ (1 + w²) dψ
        w = where(where(below, step < high, step > low), step, 0.5 * (low + high))
    y, found, off = at(w)
    x, n = middle + axes @ y, np.array([*found.gradient])
    return Deepest(x, found.value + 0.5 * k * (off @ off), n, cross(x, n))
