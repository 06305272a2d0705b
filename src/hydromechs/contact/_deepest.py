"""Deepest points of features in convex fields: edges and discs, each drawn to an anchor.

Each search is a strictly convex problem, solved by passes of Newton's method until it has converged. By the envelope theorem
the gradient of the minimum by the pose is that of the field at the deepest point. One more step of Newton's method, from the
result of the search, carries the derivative of that point, so that the search itself is not differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hydromechs import compiler
from hydromechs.compiler import Program
from hydromechs.spatial import clamp, cross, maximum, minimum, norm, where
from hydromechs.values import Array, Scalar

from ._fields import Field, Value

STILL = (0.0, 0.0, 0.0)
"""Direction where only the value and the gradient of a field are used."""
PASSES = 60
"""Maximum number of passes; of random poses, most of them deep inside, the median for discs is 8, the maximum 40."""
CLOSE = 1e-7
"""Last step over the size of the feature at which a search ends; one more step of Newton's method is taken [-]."""
LEFT = 0.3
"""Part of the slope that may be left at the end of a step across a disc [-]."""
DESCENT = 1e-4
"""Part of the predicted descent that a step across a disc must reach [-]."""
ROUNDING = 1e-15
"""Rounding error of a value over the radius of a disc [-]."""
SECULAR = 8
"""Steps of Newton's method to the multiplier of a disc's rim."""
FAST = 256
"""Programs of searches to keep."""


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


def on_edge(field: Field, edge: Sequence[Scalar | Array], R: Array, p: Array) -> Deepest:
    """Return the point x = y + t u of an edge with the least φ(x) + ½ ρ (t − anchor)², t in 0..1.

    The sum is strictly convex in t, so the point is unique and moves continuously. The shape with the edge has the axes
    R (3, 3) and origin p (3,) in the field's frame.
    """
    start, along, anchor, rho = edge
    y, u = p + R @ np.asarray(start), R @ np.asarray(along)
    t = compiler.iterate(_edge_pass(field), PASSES, 0.5, -1.0, 2.0, 4.0, y, u, anchor, rho)[0][()]
    found = _along(field, y, u, anchor, rho, t)
    t = clamp(t - found.slope / found.bend, 0.0, 1.0)
    x = y + t * u
    found = field(x.tolist(), STILL)
    n = np.array([*found.gradient])
    return Deepest(x, found.value + 0.5 * rho * (t - anchor) * (t - anchor), n, cross(x, n))


def _along(field: Field, y: Array, u: Array, anchor: Scalar, rho: Scalar, t: Scalar) -> Value:
    """Return the sum's value without the anchor's term, and its derivatives by t."""
    v = field((y + t * u).tolist(), u.tolist())
    return v._replace(slope=v.slope + rho * (t - anchor), bend=v.bend + rho)


@lru_cache(FAST)
def _edge_pass(field: Field) -> Program:
    """Return one step to the deepest point of an edge: Newton's method in an interval, with bisection where it is slow.

    State: the point t, the ends of the interval, outside 0..1 until the slope there is known, and the last step.
    """

    def one(t: Scalar, low: Scalar, high: Scalar, last: Scalar, *edge: Array | Scalar) -> tuple[Scalar, ...]:
        y, u, anchor, rho = edge
        v = _along(field, y, u, anchor, rho, t)
        below = v.slope < 0.0
        low, high = where(below, t, low), where(below, high, t)
        step = -v.slope / v.bend
        to = clamp(t + step, 0.0, 1.0)
        fast = where(to > low, to < high, 0.0) * (2.0 * abs(to - t) <= last)
        middle = 0.5 * (maximum(low, 0.0) + minimum(high, 1.0))
        to_end = where(below, t >= 1.0, t <= 0.0)
        new = where(to_end, t, where(fast, to, middle))
        done = maximum(to_end, abs(new - t) <= CLOSE)
        return new, low, high, abs(new - t), done

    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("t", "low", "high", "last"), ())
    shapes |= {"y": (3,), "u": (3,), "anchor": (), "rho": ()}
    return compiler.trace(lambda **given: one(*(x[()] for x in given.values())), shapes, name="edge_pass")


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
    """Return the point x of a disc with the least φ(x) + ½ k |x − anchor|², which is strictly convex in x."""
    height, radius, anchor, rho = rim
    k, a = rho / (8.0 * radius * radius), np.asarray(anchor)
    middle, axes = p + R @ np.array([0.0, 0.0, height]), R[:, :2]
    state = (np.zeros(2), np.zeros(2), 0.0, np.inf, 1.0, 0.0, 1.0, 1.0)
    y = compiler.iterate(_disc_pass(field), PASSES, *state, middle, axes, a, k, radius)[0]
    y = _last_step(_on_disc(field, middle, axes, a, k, y), y, radius)
    x, off = middle + axes @ y, y - a
    found = field(x.tolist(), STILL)
    n = np.array([*found.gradient])
    return Deepest(x, found.value + 0.5 * k * (off @ off), n, cross(x, n))


class _OnDisc(NamedTuple):
    """The sum at a point of a disc."""

    value: Scalar
    """Value [m]."""
    g: Array
    """Gradient, shape (2,)."""
    H: tuple[Scalar, Scalar, Scalar]
    """Second derivatives xx, xy, yy [1/m]."""


def _on_disc(field: Field, middle: Array, axes: Array, a: Array, k: Scalar, y: Array) -> _OnDisc:
    x, off = (middle + axes @ y).tolist(), y - a
    first, second, both = (field(x, u.tolist()) for u in (axes[:, 0], axes[:, 1], axes[:, 0] + axes[:, 1]))
    H = first.bend + k, 0.5 * (both.bend - first.bend - second.bend), second.bend + k
    return _OnDisc(first.value + 0.5 * k * (off @ off), np.array([first.slope, second.slope]) + k * off, H)


@lru_cache(FAST)
def _disc_pass(field: Field) -> Program:
    """Return one step to the deepest point of a disc: Newton's method for a quadratic model on the disc, with line search.

    State: the base point y₀, the step d from it, the slope there along d and the value, the part t of the step that is tried,
    the interval of t, and the last change of t. A trial that descends enough becomes the base point.
    """

    def one(y0: Array, d: Array, slope0: Scalar, value0: Scalar, t: Scalar, *others: Any) -> tuple[Any, ...]:
        low, high, last, middle, axes, a, k, radius = others
        y = y0 + t * d
        here = _on_disc(field, middle, axes, a, k, y)
        slope = here.g @ d
        good = (here.value <= value0 + DESCENT * t * slope0 + ROUNDING * radius) * maximum(
            abs(slope) <= -LEFT * slope0, where(t >= 1.0, slope <= 0.0, 0.0)
        )
        below = slope < 0.0
        low, high = where(below, t, low), where(below, high, t)
        Hxx, Hxy, Hyy = here.H
        to = t - slope / maximum(Hxx * d[0] * d[0] + 2.0 * Hxy * d[0] * d[1] + Hyy * d[1] * d[1], 1e-150)
        fast = where(to > low, to < high, 0.0) * (2.0 * abs(to - t) <= last)
        to = where(fast, to, 0.5 * (low + high))
        new = _least_on_disc(here, y, radius) - y
        done = good * ((new @ new) <= (CLOSE * radius) ** 2)
        pick = lambda one, other: np.array([where(good, a, b) for a, b in zip(one, other, strict=True)])  # noqa: E731
        return (
            pick(y, y0),
            pick(new, d),
            where(good, here.g @ new, slope0),
            where(good, here.value, value0),
            where(good, 1.0, to),
            where(good, 0.0, low),
            where(good, 1.0, high),
            where(good, 1.0, abs(to - t)),
            done,
        )

    shapes: dict[str, tuple[int, ...]] = {"y": (2,), "d": (2,)}
    shapes |= dict.fromkeys(("slope", "value", "t", "low", "high", "last"), ())
    shapes |= {"middle": (3,), "axes": (3, 2), "anchor": (2,), "k": (), "radius": ()}
    return compiler.trace(lambda **given: one(*(x[()] for x in given.values())), shapes, name="disc_pass")


def _least_on_disc(here: _OnDisc, y: Array, radius: Scalar) -> Array:
    """Return the least point of the quadratic model at y on the disc |x| ≤ radius, x = (H + λ)⁻¹ (H y − g), λ ≥ 0.

    Newton's method for 1/|x(λ)| from below λ is monotonic.
    """
    a, b, c = here.H
    q = np.array([a * y[0] + b * y[1], b * y[0] + c * y[1]]) - here.g
    spread = np.sqrt(0.25 * (a - c) * (a - c) + b * b)
    shift = maximum(norm(q) / radius - 0.5 * (a + c) - spread, 0.0)

    def solved(shift: Scalar, q: Array) -> Array:
        a1, c1 = a + shift, c + shift
        return np.array([c1 * q[0] - b * q[1], a1 * q[1] - b * q[0]]) / maximum(a1 * c1 - b * b, 1e-150)

    for _ in range(SECULAR):
        x = solved(shift, q)
        square = x @ x
        size = np.sqrt(square)
        shift = maximum(shift + square / maximum(x @ solved(shift, x), 1e-150) * (size / radius - 1.0), 0.0)
    x = solved(shift, q)
    return x * (radius / maximum(norm(x), radius))


def _last_step(here: _OnDisc, y: Array, radius: Scalar) -> Array:
    """Return y after one more step: along the rim for a point of the rim from which the sum falls outwards, else inside."""
    a, b, c = here.H
    out = here.g @ y
    outer = where(out < 0.0, y @ y > (1.0 - 1e-9) * radius * radius, 0.0)
    along = np.array([-y[1], y[0]])
    bend = a * along[0] * along[0] + 2.0 * b * along[0] * along[1] + c * along[1] * along[1] - out
    turned = y - (here.g @ along) / maximum(bend, 1e-150) * along
    turned = turned * (radius / maximum(norm(turned), 1e-150))
    g, scale = here.g, 1.0 / maximum(a * c - b * b, 1e-150)
    inside = y - scale * np.array([c * g[0] - b * g[1], a * g[1] - b * g[0]])
    inside = inside * (radius / maximum(norm(inside), radius))
    return np.array([where(outer, s, t) for s, t in zip(turned, inside, strict=True)])
