"""Deepest points of features in convex fields: edges and discs, each with a bias towards an anchor.

Each search is a strictly convex problem, solved by Newton's method until convergence. By the envelope theorem, the
gradient of the minimum with respect to the pose is the gradient of the field at the deepest point. One more Newton step
from the result provides the derivative of this point, so that the search itself is not differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hydromechs import compiler
from hydromechs.compiler import Program
from hydromechs.spatial import clamp, cross, maximum, minimum, norm, where
from hydromechs.values import Array, Scalar

from ._fields import Field

STILL = (0.0, 0.0, 0.0)
"""Zero direction, for evaluations that use only the value and the gradient of a field."""
PASSES = 100
"""Maximum number of iterations; for discs in random poses, mostly deep inside, the median is 8 to 12, the maximum 60."""
STEPS = 2
"""Number of steps for every edge; the search continues only on edges that may touch. Boxes are fastest with 2."""
CLOSE = 1e-8
"""Ratio of step to feature size below which a search ends."""
LEFT = 0.3
"""Fraction of the initial slope that may remain at the end of a step across a disc."""
DESCENT = 1e-4
"""Fraction of the predicted descent that a step across a disc must reach."""
ROUNDING = 1e-15
"""Rounding error of a value, relative to the radius of a disc."""
SECULAR = 8
"""Number of Newton steps for the multiplier of the rim of a disc; with 5, a few searches in 1,000 do not converge."""
FAST = 256
"""Number of cached search programs."""


class Deepest(NamedTuple):
    """Deepest point of a feature, in the frame of the field."""

    point: Array
    """Position x [m], shape (3,)."""
    value: Scalar
    """Sum of the field and the bias term at x [m]."""
    gradient: Array
    """Derivative of the value with respect to translation of the feature, shape (3,)."""
    moment: Array
    """Derivative with respect to rotation about the frame origin, x × gradient for a fixed point [m], shape (3,)."""


def on_edge(field: Field, edge: Sequence[Scalar | Array], R: Array, p: Array, reach: Scalar) -> Deepest:
    """Return the point x = y + t u of an edge that minimises φ(x) + ½ ρ (t − anchor)², t from 0 to 1.

    The sum is strictly convex in t, so the point is unique and moves continuously. R (3, 3) and p (3,) [m] are the pose of the
    shape with the edge in the frame of the field. Above `reach` [m], the value is an upper bound.
    """
    start, along, anchor, rho = edge
    y, u = p + R @ np.asarray(start), R @ np.asarray(along)
    t = compiler.call(_edge_search(field), y, u, anchor, rho, reach)[0][()]
    v, off = field((y + t * u).tolist(), u.tolist()), t - anchor
    more = _if_small(clamp(t - (v.slope + rho * off) / (v.bend + rho), 0.0, 1.0) - t, CLOSE)
    x = y + (t + more) * u
    n = np.array([*v.gradient]) + more * np.array([*v.turn])
    off = off + more
    return Deepest(x, v.value + more * v.slope + rho * (0.5 * off * off), n, cross(x, n))


def _if_small(x: Scalar, close: Scalar) -> Scalar:
    """Return the last Newton step of a converged search, which provides the derivative of the point, otherwise 0."""
    return where(abs(x) <= 10.0 * close, x, 0.0)


def _along(field: Field, y: Array, u: Array, anchor: Scalar, rho: Scalar, t: Scalar) -> _End:
    """Return the sum at t and its derivatives with respect to t."""
    v, off = field((y + t * u).tolist(), u.tolist()), t - anchor
    return _End(t, v.value + 0.5 * rho * off * off, v.slope + rho * off, v.bend + rho)


class _End(NamedTuple):
    """End of an interval on an edge, with the sum and its derivatives."""

    t: Scalar
    value: Scalar
    slope: Scalar
    bend: Scalar


def _cut(low: _End, high: _End) -> tuple[Scalar, Scalar]:
    """Return the intersection t of the tangents at both ends, and the value there, a lower bound of the sum [m]."""
    width = high.t - low.t
    rise = high.value - low.value - high.slope * width
    along = clamp(rise / minimum(low.slope - high.slope, -1e-150), 0.0, width)
    return low.t + along, maximum(low.value + low.slope * along, high.value - high.slope * (width - along))


def _next(low: _End, high: _End, last: _End) -> tuple[Scalar, Scalar]:
    """Return the next t from Newton's method or from the intersection of tangents, and its distance from the last t."""
    step = last.slope / last.bend
    to = last.t - step
    new = where(where(to > low.t, to < high.t, 0.0), to, where(abs(step) <= CLOSE, last.t, _cut(low, high)[0]))
    return new, abs(new - last.t)


def _narrowed(low: _End, high: _End, middle: _End) -> tuple[_End, _End]:
    """Return the part of the interval that contains the deepest point."""
    below = middle.slope < 0.0
    left = _End(*(where(below, a, b) for a, b in zip(middle, low, strict=True)))
    return left, _End(*(where(below, b, a) for a, b in zip(middle, high, strict=True)))


@lru_cache(FAST)
def _edge_search(field: Field) -> Program:
    """Return the program that finds t: values at both ends, fixed steps, then further steps if the edge may touch."""

    def of(y: Array, u: Array, anchor: Scalar, rho: Scalar, reach: Scalar) -> Scalar:
        first, last = _along(field, y, u, anchor, rho, 0.0), _along(field, y, u, anchor, rho, 1.0)
        low, high = first, last
        flatter = abs(first.slope) < abs(last.slope)
        t, change = _next(low, high, _End(*(where(flatter, a, b) for a, b in zip(first, last, strict=True))))
        for _ in range(STEPS):
            middle = _along(field, y, u, anchor, rho, t)
            low, high = _narrowed(low, high, middle)
            t, change = _next(low, high, middle)
        at_end = maximum(first.slope >= 0.0, last.slope <= 0.0)
        t = where(at_end, 1.0 * (first.slope < 0.0), t)
        open_ = (1.0 - at_end) * (change > CLOSE) * (_cut(low, high)[1] < reach)
        return compiler.when(open_, _edge_rest(field), [t, *low, *high, y, u, anchor, rho], [t])[0][()]

    return _traced(of, y=(3,), u=(3,), anchor=(), rho=(), reach=())


@lru_cache(FAST)
def _edge_rest(field: Field) -> Program:
    """Return the program that continues a search until convergence, with bisection if convergence is slow."""

    def one(width: Scalar, t: Scalar, *others: Any) -> tuple[Scalar, ...]:
        low, high, (y, u, anchor, rho) = _End(*others[:4]), _End(*others[4:8]), others[8:]
        middle = _along(field, y, u, anchor, rho, t)
        low, high = _narrowed(low, high, middle)
        t, change = _next(low, high, middle)
        size = high.t - low.t
        slow = where(change > CLOSE, 2.0 * size > width, 0.0)
        return where(slow, 2.0 * size, size), where(slow, 0.5 * (low.t + high.t), t), *low, *high, change <= CLOSE

    ends: dict[str, Any] = {f"{end}_{name}": () for end in ("low", "high") for name in _End._fields}
    shapes = {"t": ()} | ends | {"y": (3,), "u": (3,), "anchor": (), "rho": ()}
    step = _traced(one, width=(), **shapes)
    return _traced(lambda *given: compiler.iterate(step, PASSES, 4.0, *given)[1], **shapes)


def _traced(function: Callable[..., Any], **shapes: tuple[int, ...]) -> Program:
    """Return the traced program of a function whose arguments have the given shapes; shape () is a scalar."""
    return compiler.trace(lambda **given: function(*(x[()] for x in given.values())), shapes, name="deepest")


def on_rim_above_plane(field: Field, rim: Sequence[Scalar | Array], R: Array, p: Array) -> Deepest:
    """Return the point x of a disc that minimises φ(x) + ½ k |x − anchor|² above a plane: anchor − n_t/k, projected."""
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
    """Return the point x of a disc that minimises φ(x) + ½ k |x − anchor|², which is strictly convex in x."""
    height, radius, anchor, rho = rim
    k, a = rho / (8.0 * radius * radius), np.asarray(anchor)
    middle, axes = p + R @ np.array([0.0, 0.0, height]), R[:, :2]
    state = (np.zeros(2), np.zeros(2), 0.0, np.inf, 1.0, 0.0, 1.0, 1.0)
    y = compiler.iterate(_disc_pass(field), PASSES, *state, middle, axes, a, k, radius)[0]
    here = _on_disc(field, middle, axes, a, k, y)
    more, off = np.array([_if_small(x, CLOSE * radius) for x in _last_step(here, y, radius) - y]), y - a
    x = middle + axes @ (y + more)
    n = here.n + here.turns @ more
    off = off + more
    value = here.value - 0.5 * k * ((y - a) @ (y - a)) + 0.5 * k * (off @ off) + here.n @ (axes @ more)
    return Deepest(x, value, n, cross(x, n))


class _OnDisc(NamedTuple):
    """Sum at a point of a disc, with its derivatives."""

    value: Scalar
    """Value [m]."""
    g: Array
    """Gradient, shape (2,)."""
    H: tuple[Scalar, Scalar, Scalar]
    """Second derivatives xx, xy, yy [1/m]."""
    n: Array
    """Gradient of the field, shape (3,)."""
    turns: Array
    """Derivative of the field gradient with respect to the point of the disc [1/m], shape (3, 2)."""


def _on_disc(field: Field, middle: Array, axes: Array, a: Array, k: Scalar, y: Array) -> _OnDisc:
    x, off = (middle + axes @ y).tolist(), y - a
    first, second = field(x, axes[:, 0].tolist()), field(x, axes[:, 1].tolist())
    turns = np.array([first.turn, second.turn]).T
    H = first.bend + k, axes[:, 0] @ turns[:, 1], second.bend + k
    g = np.array([first.slope, second.slope]) + k * off
    return _OnDisc(first.value + 0.5 * k * (off @ off), g, H, np.array([*first.gradient]), turns)


@lru_cache(FAST)
def _disc_pass(field: Field) -> Program:
    """Return the state after one step towards the deepest point of a disc: Newton's method on the disc with line search.

    The state contains the base point y₀, the step d from y₀, slope and value at y₀, the trial fraction t of the step, the
    interval of t, and the last change of t. A trial with sufficient descent becomes the base point.
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

    numbers = dict.fromkeys(("slope", "value", "t", "low", "high", "last"), ())
    return _traced(one, y=(2,), d=(2,), **numbers, middle=(3,), axes=(3, 2), anchor=(2,), k=(), radius=())


def _least_on_disc(here: _OnDisc, y: Array, radius: Scalar) -> Array:
    """Return the minimum of the quadratic model at y on the disc |x| ≤ radius, x = (H + λ)⁻¹ (H y − g), λ ≥ 0.

    Newton's method for 1/|x(λ)| is monotonic from below λ. It starts at the multiplier for y, which converges to λ.
    """
    a, b, c = here.H
    q = np.array([a * y[0] + b * y[1], b * y[0] + c * y[1]]) - here.g
    spread = np.sqrt(0.25 * (a - c) * (a - c) + b * b)
    least = maximum(norm(q) / radius - 0.5 * (a + c) - spread, 0.0)
    shift = maximum(-(here.g @ y) / (radius * radius), least)

    def solved(shift: Scalar, q: Array) -> Array:
        a1, c1 = a + shift, c + shift
        return np.array([c1 * q[0] - b * q[1], a1 * q[1] - b * q[0]]) / maximum(a1 * c1 - b * b, 1e-150)

    for _ in range(SECULAR):
        x = solved(shift, q)
        square = x @ x
        size = np.sqrt(square)
        shift = maximum(shift + square / maximum(x @ solved(shift, x), 1e-150) * (size / radius - 1.0), least)
    x = solved(shift, q)
    return x * (radius / maximum(norm(x), radius))


def _last_step(here: _OnDisc, y: Array, radius: Scalar) -> Array:
    """Return y after one more step, along the rim if y is on the rim and the sum decreases outwards, otherwise inside."""
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
