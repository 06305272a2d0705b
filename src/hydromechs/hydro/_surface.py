"""Bodies at the free surface: wet fraction and centre of the displaced volume.

The volume is a sum of cells: ellipsoids, cylinders and boxes. With n the unit vector down and x the depth of the centre of a
cell, both in the cell's axes, everything follows from one function, the mean over the cell of the depth of its wet part:

    P(x, n) = E[max(x + n·ξ, 0)],   wet part ∂P/∂x = E[x + n·ξ > 0],   its first moment ∂P/∂n = E[ξ; x + n·ξ > 0],

ξ uniform in the cell. The energy of the displaced water is ρ g V P, so the resulting buoyancy is conservative. n·ξ is
distributed as b u₀ for an ellipsoid, a u₁ + b u₂ for a cylinder, a u₁ + b u₁' + c u₁'' for a box, with u₁ uniform in −1..1,
u₂ the coordinate of a point of the unit disc and u₀ of the unit ball; a, b, c are the half extents seen along n. P is in closed
form for each (`Shape.wet`). Half extents that can vanish are rounded, a = √(a₀² + (ε s)²) with s the smallest half size of the
cell: that keeps P at least twice differentiable. The rate of the wet part follows from its derivatives with respect to x and n,
also in closed form. Forces on the body while that part changes are in `crossing`.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from hydromechs.geometry import Ellipsoid, Origin, Placed, Shape
from hydromechs.model import Body, Hydro
from hydromechs.values import Array, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class HullCell:
    """Part of the displaced volume of a body: an ellipsoid, a cylinder or a box."""

    shape: Shape
    """Shape with the methods `wet` and `wet_rate`."""
    origin: Origin
    """Centre and axes, relative to the body."""
    weight: Scalar
    """Fraction of the displaced volume, 0 to 1; negative for a hole."""


class Immersion(NamedTuple):
    """Wet part of a body."""

    fraction: Scalar
    """Wet fraction of the volume, 0 to 1."""
    moment: Array
    """First moment of the wet part about the body origin, divided by the whole volume, in body axes [m], shape (3,). The
    centre of the wet part is moment/fraction; for a fully wet body, it is the centre of buoyancy."""
    head: Scalar
    """Integral of depth over the wet part, divided by the whole volume [m]; ρ g V times this is the energy of buoyancy."""


class Crossing(NamedTuple):
    """Effects of a changing wet part, as factors on the added mass M_A of the whole body [1/s]."""

    push: Scalar
    """Factor `push` in the force, −push · M_A V_r [1/s]."""
    loss: Scalar
    """Factor `loss` in the dissipated power, loss · V_rᵀ M_A V_r, at least 0 [1/s]."""


def hull_cells(body: Body) -> tuple[HullCell, ...]:
    """Return the cells of a body: its shapes, weighted by volume, with their centroid at the centre of buoyancy.

    All shapes are shifted by the same vector. Overlaps count twice, and meshes are ignored. A capsule consists of a cylinder
    and two ends; each end is an ellipsoid with the volume, centroid and second moments of a hemisphere.

    Without shapes, the hull is a sphere of the displaced volume. Shapes of a body without volume are not shifted. A body
    without hydrodynamics has no cells.
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
    cells = [cell for piece in body.shapes if piece.wetting for cell in _cells(piece)]
    total = sum(cell.weight for cell in cells)
    if not total > 0.0:
        if not displaces:
            raise ValueError(f"body {body.name!r} has neither shapes nor a volume; add a box, a sphere or a cylinder")
        radius = (0.75 * volume / math.pi) ** (1.0 / 3.0)
        return (HullCell(shape=Ellipsoid.unchecked(axes=(radius,) * 3), origin=Origin(center), weight=1.0),)
    centroid = sum(cell.weight / total * np.array(cell.origin.xyz) for cell in cells)
    shift = np.array(center) - centroid if displaces else np.zeros(3)
    return tuple(
        replace(cell, weight=cell.weight / total, origin=Origin(tuple(cell.origin.xyz + shift), cell.origin.rpy))
        for cell in cells
    )


def has_hull(body: Body) -> bool:
    """Return True if shapes of a body, and not only its volume, define the geometry that the surface intersects."""
    return any(_cells(piece) for piece in body.shapes if piece.wetting)


def _cells(piece: Placed) -> list[HullCell]:
    """Return the cells of a shape, with volumes [m³] as weights; empty for a mesh."""
    out = []
    for shape, offset, volume in piece.shape.cells():
        at = piece.origin.xyz if not any(offset) else tuple(piece.origin.xyz + offset[2] * piece.origin.R[:, 2])
        out.append(HullCell(shape=shape, origin=Origin(at, piece.origin.rpy), weight=volume))
    return out


def immersion(cells: tuple[HullCell, ...], down_B: Array, depth: Scalar) -> Immersion:
    """Return the wet part of a body whose origin is at a depth [m] below a plane surface; a body without cells is fully wet."""
    if not cells:
        return Immersion(1.0, np.zeros(3), depth)
    fraction, moment, head = 0.0, np.zeros(3), 0.0
    for cell in cells:
        c, R = np.array(cell.origin.xyz), cell.origin.R
        wet, first, mean = cell.shape.wet(R.T @ down_B, depth + c @ down_B)
        fraction = fraction + cell.weight * wet
        moment = moment + cell.weight * (wet * c + R @ first)
        head = head + cell.weight * mean
    return Immersion(fraction, moment, head)


def wetting(cells: tuple[HullCell, ...], down_B: Array, depth: Scalar, down_rate: Array, depth_rate: Scalar) -> Scalar:
    """Return the rate of change of `Immersion.fraction` [1/s], for rates of `down_B` [1/s] and `depth` [m/s].

    Without rotation, the rate is the sinking speed times the waterplane area, divided by the volume.
    """
    rate = 0.0
    for cell in cells:
        c, R = np.array(cell.origin.xyz), cell.origin.R
        rate = rate + cell.weight * cell.shape.wet_rate(
            R.T @ down_B, depth + c @ down_B, R.T @ down_rate, depth_rate + c @ down_rate
        )
    return rate


def hull_length(cells: tuple[HullCell, ...]) -> Scalar:
    """Return the characteristic length of a body for `crossing`: the edge of a cube with the same volume [m]."""
    return sum(math.copysign(1.0, cell.weight) * cell.shape.cells()[0].volume for cell in cells) ** (1.0 / 3.0)


SLOW = 0.1
"""Rate of the wet fraction divided by √(g/L) at which a crossing is halfway between slow and fast; see `crossing`."""
TINY = 1e-24
"""Regularisation of squared rates that may all be zero [1/s²]."""


def crossing(length: Scalar, wet_rate: Scalar, gravity: Scalar) -> Crossing:
    """Return the factors of force and loss while the wet fraction w of a body changes at the rate ẇ, with added mass w M_A.

    Without an additional force, the work of the added mass is −d(T_f)/dt + ½ ẇ V_rᵀ M_A V_r with T_f = ½ w V_rᵀ M_A V_r, so
    that water entry would create energy. With F = −p(ẇ) M_A V_r, energy changes by

        dT_f/dt + (F_added + F) · V_r = −(p(ẇ) − ẇ/2) V_rᵀ M_A V_r,

    which is never positive if p(ẇ) ≥ ẇ/2. A fast entry has p = ẇ: water is set in motion and stays with the body, with the
    momentum rate d(w M_A V_r)/dt (von Kármán 1929). A fast exit has p = 0: the water left behind keeps its motion. Both
    dissipate ½ |ẇ| V_rᵀ M_A V_r in spray and wake. A slow crossing is reversible, with p = ẇ/2 (Lagrange's equations with
    position-dependent M_A). The transition is

        p(ẇ) = ½ ẇ (1 + ẇ/√(ẇ² + ε²)),   loss ½ ẇ²/√(ẇ² + ε²),   ε = 0.1 √(g/L).

    It is smooth, so an integrator keeps its order when a float reverses. See `hull_length`; g is in m/s².
    """
    root = np.sqrt(wet_rate * wet_rate + SLOW**2 * gravity / length + TINY)
    loss = 0.5 * (wet_rate * wet_rate) / root
    return Crossing(0.5 * wet_rate + loss, loss)
