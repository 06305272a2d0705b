"""Bodies at the free surface: how much of the displaced volume is wet, and where.

The volume is a sum of cells: ellipsoids, cylinders and boxes. With n the unit vector down and x the depth of the centre of a
cell, both as the cell sees them, all follows from one function, the mean over the cell of the depth where it is wet:

    P(x, n) = E[max(x + n·ξ, 0)],   wet part ∂P/∂x = E[x + n·ξ > 0],   its first moment ∂P/∂n = E[ξ; x + n·ξ > 0],

ξ uniform in the cell. The energy of the displaced water is ρ g V P, so buoyancy from these is conservative. n·ξ is
distributed as b u₀ for an ellipsoid, a u₁ + b u₂ for a cylinder, a u₁ + b u₁' + c u₁'' for a box, with u₁ uniform in −1..1,
u₂ the coordinate of a point of the unit disc and u₀ of the unit ball; a, b, c are the half extents seen along n. P is in closed
form for each. Half extents that can vanish are rounded, a = √(a₀² + (ε s)²) with s the smallest half size of the cell: that
keeps P twice and more differentiable. The rate of the wet part along a motion follows from its derivatives by x and n, also
in closed form. What a body feels while that part changes is in `crossing`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import product
from typing import NamedTuple

import numpy as np

from hydromechs.model import Body, Hydro, Origin, shapes
from hydromechs.model.shapes import Shape
from hydromechs.spatial import clamp, maximum
from hydromechs.values import Array, Scalar

__all__ = [
    "BoxCell",
    "Cell",
    "Crossing",
    "CylinderCell",
    "EllipsoidCell",
    "Immersion",
    "crossing",
    "ellipsoid_wet",
    "ellipsoid_wetting",
    "has_hull",
    "hull_cells",
    "hull_length",
    "immersion",
    "wetting",
]

ROUNDING = 0.02
"""ε: rounding of edges, over the smallest half size of a cell; the wet part is off by less than 1.3 ε."""
INSIDE = 1.0 - 1e-12
"""Arcsines stop here, where their slope is still finite."""
SLOW = 0.1
"""Rate of the wet part over √(g/L) at which a crossing is half way between slow and fast, see `crossing`."""
TINY = 1e-24
"""Added to squares of rates [1/s²] where they may all be zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A part of the displaced volume of a body."""

    origin: Origin
    """Centre and axes on the body."""
    weight: float
    """Part of the displaced volume, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EllipsoidCell(Cell):
    """An ellipsoid, or a sphere."""

    axes: tuple[float, float, float]
    """Half axes along x, y, z of its frame [m], shape (3,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CylinderCell(Cell):
    """A cylinder along z of its frame."""

    radius: float
    """Radius [m]."""
    half_length: float
    """Half of its length [m]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxCell(Cell):
    """A box."""

    half_size: tuple[float, float, float]
    """Half edges along x, y, z of its frame [m], shape (3,)."""


class Immersion(NamedTuple):
    """The wet part of a body."""

    fraction: Scalar
    """Wet part of the volume, 0 to 1."""
    moment: Array
    """Its first moment over the whole volume, from the body origin in body axes [m], shape (3,); the centre of the wet part
    is moment/fraction. Fully wet: the centre of buoyancy."""
    head: Scalar
    """Mean over the volume of the depth where it is wet, of 0 elsewhere [m]; ρ g V times it is the energy of buoyancy."""


class Crossing(NamedTuple):
    """What the change of the wet part does, as factors on the added mass of the whole body [1/s]."""

    push: Scalar
    """The force is −push M_A V_r."""
    loss: Scalar
    """The energy lost in a second is loss V_rᵀ M_A V_r, never below 0."""


def hull_cells(body: Body) -> tuple[Cell, ...]:
    """Cells of a body: its shapes, their weights by volume, moved together so that their centroid is the centre of buoyancy.

    Shapes that overlap count twice there, meshes not at all. A capsule is a cylinder and two half-ball ends, each an ellipsoid
    with the volume, centroid and second moments of the half ball. Without shapes the hull is a sphere of the displaced volume.
    A body without volume keeps its shapes where they are. Nothing comes out for a body that feels no water.

    Args:
        body: The body.
    """
    hydro = body.hydro
    if hydro is None:
        return ()
    volume, center, displaces = 0.0, (0.0, 0.0, 0.0), False  # for custom hydrodynamics
    if isinstance(hydro, Hydro):
        volume, center = hydro.volume, hydro.buoyancy_center
        displaces = not isinstance(volume, float | int) or volume > 0.0  # an open volume is a symbol; plants check its value
        if not (displaces or hydro.drag or hydro.added_mass):
            return ()
    cells = [cell for shape in body.shapes for cell in _cells(shape)]
    total = sum(cell.weight for cell in cells)
    if not total > 0.0:
        if not displaces:
            raise ValueError(
                f"body {body.name!r} has neither shapes nor a volume, so it is not known when it is under water; "
                "give it a box, sphere, cylinder or capsule"
            )
        radius = (0.75 * volume / math.pi) ** (1.0 / 3.0)
        return (EllipsoidCell(origin=Origin(center), weight=1.0, axes=(radius, radius, radius)),)
    centroid = sum(cell.weight / total * np.array(cell.origin.xyz) for cell in cells)
    shift = np.array(center) - centroid if displaces else np.zeros(3)
    return tuple(
        replace(cell, weight=cell.weight / total, origin=Origin(tuple(cell.origin.xyz + shift), cell.origin.rpy))
        for cell in cells
        if cell.weight > 0.0
    )


def has_hull(body: Body) -> bool:
    """True if shapes of a body, not its volume, define the geometry that the surface cuts."""
    return any(cell.weight > 0.0 for shape in body.shapes for cell in _cells(shape))


@singledispatch
def _cells(shape: Shape) -> list[Cell]:
    """Cells of a shape, their weights in m³."""
    return []


@_cells.register
def _(shape: shapes.Box) -> list[Cell]:
    x, y, z = (0.5 * s for s in shape.size)
    return [BoxCell(origin=shape.origin, weight=8.0 * math.prod((x, y, z)), half_size=(x, y, z))]


@_cells.register
def _(shape: shapes.Sphere) -> list[Cell]:
    return [EllipsoidCell(origin=shape.origin, weight=4.0 / 3.0 * math.pi * shape.radius**3, axes=(shape.radius,) * 3)]


@_cells.register
def _(shape: shapes.Cylinder) -> list[Cell]:
    r, half = shape.radius, 0.5 * shape.length
    return [CylinderCell(origin=shape.origin, weight=2.0 * math.pi * r**2 * half, radius=r, half_length=half)]


@_cells.register
def _(shape: shapes.Capsule) -> list[Cell]:
    r, half = shape.radius, 0.5 * shape.length
    # a half ball: centroid 3/8 r from its plane, second moment r²/5 about it, that of an ellipsoid (half axis)²/5 about its own
    axes = (r, r, r * math.sqrt(1.0 - 5.0 * 9.0 / 64.0))
    ends: list[Cell] = [
        EllipsoidCell(
            origin=Origin(tuple(shape.origin.xyz + side * (half + 0.375 * r) * shape.origin.R[:, 2]), shape.origin.rpy),
            weight=2.0 / 3.0 * math.pi * r**3,
            axes=axes,
        )
        for side in (-1.0, 1.0)
    ]
    barrel = CylinderCell(origin=shape.origin, weight=2.0 * math.pi * r**2 * half, radius=r, half_length=half)
    return [barrel, *ends] if half > 0.0 else ends


def immersion(cells: tuple[Cell, ...], down_B: Array, depth: Scalar) -> Immersion:
    """The wet part of a body below a surface that is level around it.

    Args:
        cells: Cells of the body; without any it counts as wet.
        down_B: Unit vector down in body axes, shape (3,).
        depth: Depth of the body origin below the free surface over it [m].
    """
    if not cells:
        return Immersion(1.0, np.zeros(3), depth)
    fraction, moment, head = 0.0, np.zeros(3), 0.0
    for cell in cells:
        c, R = np.array(cell.origin.xyz), cell.origin.R
        wet, first, mean = _wet(cell, R.T @ down_B, depth + c @ down_B)
        fraction = fraction + cell.weight * wet
        moment = moment + cell.weight * (wet * c + R @ first)
        head = head + cell.weight * mean
    return Immersion(fraction, moment, head)


def wetting(cells: tuple[Cell, ...], down_B: Array, depth: Scalar, down_rate: Array, depth_rate: Scalar) -> Scalar:
    """Rate of the wet part of the volume along a motion [1/s], the time derivative of `Immersion.fraction`.

    For a body that does not turn it is the waterplane area over the volume times the speed of sinking.

    Args:
        cells: Cells of the body.
        down_B: Unit vector down in body axes, shape (3,).
        depth: Depth of the body origin below the free surface over it [m].
        down_rate: Rate of `down_B` [1/s], shape (3,).
        depth_rate: Rate of `depth` [m/s].
    """
    rate = 0.0
    for cell in cells:
        c, R = np.array(cell.origin.xyz), cell.origin.R
        rate = rate + cell.weight * _wet_rate(
            cell, R.T @ down_B, depth + c @ down_B, R.T @ down_rate, depth_rate + c @ down_rate
        )
    return rate


def hull_length(cells: tuple[Cell, ...]) -> Scalar:
    """Length of a body that `crossing` takes: of a cube with its volume [m]."""
    return sum(map(_volume, cells)) ** (1.0 / 3.0)


def crossing(length: Scalar, wet_rate: Scalar, gravity: Scalar) -> Crossing:
    """Force and loss while the wet part w of a body changes, with its added mass w M_A.

    Without a force, the work of the added mass is −d(T_f)/dt + ½ ẇ V_rᵀ M_A V_r, T_f = ½ w V_rᵀ M_A V_r: on entry energy
    would come from nowhere. With F = −p(ẇ) M_A V_r energy changes by

        dT_f/dt + (F_added + F) · V_r = −(p(ẇ) − ẇ/2) V_rᵀ M_A V_r,

    which is never above 0 if p(ẇ) ≥ ẇ/2. A fast entry has p = ẇ: water is set in motion and stays with the body, the
    momentum d(w M_A V_r)/dt is what it costs (von Kármán 1929). A fast exit has p = 0: the water that is left keeps its
    motion. Both lose ½ |ẇ| V_rᵀ M_A V_r, to spray and wake. A slow crossing is reversible, p = ẇ/2 (Lagrange's equations
    with M_A of the position). In between

        p(ẇ) = ½ ẇ (1 + ẇ/√(ẇ² + ε²)),   loss ½ ẇ²/√(ẇ² + ε²),   ε = 0.1 √(g/L).

    It has all derivatives, so an integrator keeps its order where a float turns around.

    Args:
        length: L of the body [m], see `hull_length`.
        wet_rate: ẇ [1/s].
        gravity: g [m/s²].
    """
    root = np.sqrt(wet_rate * wet_rate + SLOW**2 * gravity / length + TINY)
    loss = 0.5 * (wet_rate * wet_rate) / root
    return Crossing(0.5 * wet_rate + loss, loss)


def ellipsoid_wet(x: Scalar, b: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """∂P/∂x, ∂P/∂b and P of an ellipsoid whose centre is at depth x and that reaches b up and down, b² = Σ (b_k n_k)².

    ∂P/∂x = (1 + s)² (2 − s)/4,   ∂P/∂b = 3/16 (1 − s²)²,   P = b (1 + s)³ (3 − s)/16,   s = x/b in −1..1
    """
    s = clamp(x / b, -1.0, 1.0)
    P = b * ((1.0 + s) ** 3 * (3.0 - s) * 0.0625) + maximum(x - b, 0.0)
    return 0.25 * (1.0 + s) ** 2 * (2.0 - s), 0.1875 * (1.0 - s * s) ** 2, P


def ellipsoid_wetting(x: Scalar, b: Scalar, x_rate: Scalar, b_rate: Scalar) -> Scalar:
    """Rate of ∂P/∂x of `ellipsoid_wet`, ¾ (1 − s²) ds/dt with s = x/b [1/s]."""
    s = clamp(x / b, -1.0, 1.0)
    return 0.75 * (1.0 - s * s) * (x_rate - s * b_rate) / b


@singledispatch
def _volume(cell: Cell) -> Scalar:
    """Volume of a cell by its size [m³]."""
    raise TypeError(f"{cell!r} is not a cell")


@_volume.register
def _(cell: EllipsoidCell) -> Scalar:
    return 4.0 / 3.0 * math.pi * math.prod(cell.axes)


@_volume.register
def _(cell: CylinderCell) -> Scalar:
    return 2.0 * math.pi * cell.radius**2 * cell.half_length


@_volume.register
def _(cell: BoxCell) -> Scalar:
    return 8.0 * math.prod(cell.half_size)


@singledispatch
def _wet_rate(cell: Cell, n: Array, x: Scalar, n_rate: Array, x_rate: Scalar) -> Scalar:
    """d/dt ∂P/∂x of a cell, see `_wet` [1/s]."""
    raise TypeError(f"{cell!r} is not a cell")


@_wet_rate.register
def _(cell: EllipsoidCell, n: Array, x: Scalar, n_rate: Array, x_rate: Scalar) -> Scalar:
    squares = np.array(cell.axes) ** 2
    b = np.sqrt(squares @ (n * n))
    return ellipsoid_wetting(x, b, x_rate, (squares * n) @ n_rate / b)


@_wet_rate.register
def _(cell: CylinderCell, n: Array, x: Scalar, n_rate: Array, x_rate: Scalar) -> Scalar:
    """Of (F₁(x + a) − F₁(x − a))/2a, with ∂F₁/∂y and ∂F₁/∂b of `_disc_rates`."""
    half, r = cell.half_length, cell.radius
    small = (ROUNDING * min(half, r)) ** 2
    a = np.sqrt(half**2 * n[2] * n[2] + small)
    b = np.sqrt(r**2 * (n[0] * n[0] + n[1] * n[1]) + small)
    a_rate = half**2 * n[2] * n_rate[2] / a
    b_rate = r**2 * (n[0] * n_rate[0] + n[1] * n_rate[1]) / b
    y = clamp(x, -(a + b), a + b)
    (low_y, low_b), (high_y, high_b) = _disc_rates((y - a) / b), _disc_rates((y + a) / b)
    wet = 0.5 / a * (_disc(y + a, b)[0] - _disc(y - a, b)[0])
    change = high_y * (x_rate + a_rate) - low_y * (x_rate - a_rate) + (high_b - low_b) * b_rate
    return (0.5 * change - wet * a_rate) / a


def _disc_rates(s: Scalar) -> tuple[Scalar, Scalar]:
    """∂F₁/∂y = 1/2 + (asin s + s c)/π, the part of the disc below y, and ∂F₁/∂b = 2/3 c³/π at s = y/b, see `_disc`."""
    s = clamp(s, -INSIDE, INSIDE)
    c = np.sqrt(1.0 - s * s)
    return 0.5 + (np.arcsin(s) + s * c) / math.pi, (2.0 / 3.0 / math.pi) * (c * c * c)


@_wet_rate.register
def _(cell: BoxCell, n: Array, x: Scalar, n_rate: Array, x_rate: Scalar) -> Scalar:
    """Of Σ ± (x ± a ± b ± c)₊³/(48 abc)."""
    half = np.array(cell.half_size)
    a = np.sqrt((half * n) ** 2 + (ROUNDING * min(cell.half_size)) ** 2)
    a_rate = half**2 * n * n_rate / a
    reach = a[0] + a[1] + a[2]
    y = clamp(x, -reach, reach)
    cubic = change = 0.0
    for signs in product((1.0, -1.0), repeat=3):
        sign = math.prod(signs)
        z = maximum(y + signs[0] * a[0] + signs[1] * a[1] + signs[2] * a[2], 0.0)
        cubic = cubic + sign * (z * z * z)
        along = x_rate + signs[0] * a_rate[0] + signs[1] * a_rate[1] + signs[2] * a_rate[2]
        change = change + (3.0 * sign) * (z * z) * along
    scale = 1.0 / (48.0 * (a[0] * a[1] * a[2]))
    return scale * (change - cubic * (a_rate[0] / a[0] + a_rate[1] / a[1] + a_rate[2] / a[2]))


@singledispatch
def _wet(cell: Cell, n: Array, x: Scalar) -> tuple[Scalar, Array, Scalar]:
    """∂P/∂x, ∂P/∂n (3,) and P of a cell with its centre at depth x and n down in its own axes."""
    raise TypeError(f"{cell!r} is not a cell")


@_wet.register
def _(cell: EllipsoidCell, n: Array, x: Scalar) -> tuple[Scalar, Array, Scalar]:
    squares = np.array(cell.axes) ** 2
    b = np.sqrt(squares @ (n * n))
    wet, P_b, P = ellipsoid_wet(x, b)
    return wet, (P_b / b) * (squares * n), P


@_wet.register
def _(cell: CylinderCell, n: Array, x: Scalar) -> tuple[Scalar, Array, Scalar]:
    """With F₁(y) = E[max(y + b u₂, 0)] of a disc and F₂ its integral:

    P = (F₂(x + a) − F₂(x − a))/2a,   ∂P/∂x = (F₁(x + a) − F₁(x − a))/2a
    """
    half, r = cell.half_length, cell.radius
    small = (ROUNDING * min(half, r)) ** 2
    a = np.sqrt(half**2 * n[2] * n[2] + small)
    b = np.sqrt(r**2 * (n[0] * n[0] + n[1] * n[1]) + small)
    y = clamp(x, -(a + b), a + b)
    (low1, low2, low_b), (high1, high2, high_b) = _disc(y - a, b), _disc(y + a, b)
    scale = 0.5 / a
    P = scale * (high2 - low2)
    P_a = scale * (high1 + low1) - P / a
    P_b = scale * (high_b - low_b)
    first = np.array([P_b / b * r**2 * n[0], P_b / b * r**2 * n[1], P_a / a * half**2 * n[2]])
    return scale * (high1 - low1), first, P + maximum(x - (a + b), 0.0)


def _disc(y: Scalar, b: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """F₁ = b g₁, F₂ = b² g₂ and ∂F₂/∂b = 2 b g₂ − y g₁ at s = y/b; with c = √(1 − s²) and −1 ≤ s ≤ 1

    g₁ = s/2 + (s asin s + c − c³/3)/π,   g₂ = s²/4 + 1/16 + ((s²/2 + 1/8) asin s + 5/8 s c − s c³/12)/π,

    above that g₁ = s, g₂ = s²/2 + 1/8, below it 0.
    """
    s = clamp(y / b, -INSIDE, INSIDE)
    above = maximum(y / b - 1.0, 0.0)
    c, arc = np.sqrt(1.0 - s * s), np.arcsin(s)
    cube = c * c * c
    g1 = 0.5 * s + (s * arc + c - cube / 3.0) / math.pi + above
    g2 = 0.25 * s * s + 0.0625 + ((0.5 * s * s + 0.125) * arc + 0.625 * s * c - s * cube / 12.0) / math.pi
    g2 = g2 + above * (1.0 + 0.5 * above)
    return b * g1, b * b * g2, 2.0 * b * g2 - y * g1


@_wet.register
def _(cell: BoxCell, n: Array, x: Scalar) -> tuple[Scalar, Array, Scalar]:
    """P = Σ ± (x ± a ± b ± c)₊⁴/(24 · 8abc), the sign of each term the product of its signs; the others are its derivatives."""
    half = np.array(cell.half_size)
    a = np.sqrt((half * n) ** 2 + (ROUNDING * min(cell.half_size)) ** 2)
    reach = a[0] + a[1] + a[2]
    y = clamp(x, -reach, reach)
    quartic = cubic = 0.0
    by: list = [0.0, 0.0, 0.0]
    for signs in product((1.0, -1.0), repeat=3):
        sign = math.prod(signs)
        z = maximum(y + signs[0] * a[0] + signs[1] * a[1] + signs[2] * a[2], 0.0)
        third = z * z * z
        cubic = cubic + sign * third
        quartic = quartic + sign * (third * z)
        by = [by[k] + (sign * signs[k]) * third for k in range(3)]
    scale = 1.0 / (48.0 * (a[0] * a[1] * a[2]))
    P = 0.25 * scale * quartic
    first = np.array([(scale * by[k] - P / a[k]) / a[k] * half[k] ** 2 * n[k] for k in range(3)])
    return scale * cubic, first, P + maximum(x - reach, 0.0)
