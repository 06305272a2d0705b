"""Points at which a body samples non-uniform water.

Each element of drag and added mass samples the water at its own position. The displaced volume (the hull) samples the water
at its strips. A strip is a piece of a hull or cylinder along its longest axis. Its length is at most `STRIP`/k for waves with
wavenumber k, and its width at most `ACROSS`/k.

The mean of a harmonic field over a sphere is its value at the centre, and linear waves are harmonic. A curl-free field exerts
no moment on a sphere. Therefore only the excess of the second moments S₁ ≥ S₂ ≥ S₃ of a strip over a sphere matters. In a
slender strip, the excess is S_e = S₁ − (S₂ + S₃)/2 along the longest axis. Two points at ±√S_e from the centre then reproduce
the mean and the first moment of the field to fourth order in the length of the strip. In a flat strip, the excess is S₁ − S₃
and S₂ − S₃ along two axes, and four points at ±√(S₁ − S₃), ±√(S₂ − S₃) have the same accuracy.

Data for the whole body (added-mass matrices, damping coefficients, custom classes) use the mean over the hull.
All points are determined by the geometry and do not depend on the body frame.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hydromechs.geometry import Box, Cylinder, Origin, Placed, Shape
from hydromechs.model import Body, Hydro, added_mass, added_mass_matrix, added_mass_strips, drag
from hydromechs.spatial import principal_axes
from hydromechs.values import Array, Scalar

from ._environment import Environment, RegularWave
from ._surface import HullCell, has_hull, hull_cells
from ._waves import wavenumber

STRIP = 1.0
"""Largest k L of a strip of length L; two points then integrate a wave to (k L)⁴/4320 = 0.02 %, and a line through them gives
its velocity at the ends to (k L)²/12 = 8 %."""
ACROSS = 2.0
"""Largest k L of a strip of width L across its longest axis."""
ROUND = 0.05
"""Ratio of excess to S₁ below which a strip counts as round, across its longest axis or in all directions."""
SEA = 2.0
"""Ratio of the maximum resolved frequency to the peak frequency; 4/5 of the velocity variance is below it."""

MAX_STRIPS = 1000
"""Maximum number of strips of a hull or cylinder; each has up to four points, with about 100 operations per wave."""

Shares: TypeAlias = tuple[tuple[int, float], ...]
"""Indices of points, and weights of the points in a mean."""


class AddedMassAt(NamedTuple):
    """Added mass, with the points at which it samples the water."""

    matrix: Array
    """Added-mass matrix about the body origin in body axes, linear first [kg, kg·m, kg·m²], shape (6, 6)."""
    shares: Shares
    """Points over which the water is averaged."""


class DragAt(NamedTuple):
    """Drag element, with the points at which it samples the water."""

    numbers: Any
    """Coefficients of the element; see `DragElement.numbers`."""
    shares: Shares
    """Points over which the water is averaged."""
    stations: tuple[Shares, ...] = ()
    """Interpolation of the water at each station of a cylinder, in the order of `Strips.wrench`; empty for other shapes."""


class HullStrip(NamedTuple):
    """Piece of the displaced volume."""

    share: float
    """Fraction of the volume, 0 to 1."""
    center: Array
    """Centre [m], shape (3,)."""
    spread: tuple[Array, ...]
    """Half distances between the points [m], shape (3,) each: one if the strip is slender, two if flat, none if round."""
    shares: Shares
    """Points of the strip; their weights sum to 1."""
    cells: tuple[HullCell, ...] = ()
    """Cells of the strip, relative to its centre; empty without a free surface."""


class WetSampling(NamedTuple):
    """Points at which a body samples the water, as nested tuples of numbers."""

    points: tuple[Array, ...]
    """Positions relative to the body origin in body axes [m], shape (3,) each."""
    mean: Shares
    """Weights of the mean over the hull."""
    hull: tuple[HullStrip, ...]
    """Strips of the displaced volume."""
    added_mass: tuple[AddedMassAt, ...]
    """Added-mass elements; empty for custom hydrodynamics."""
    drag: tuple[DragAt, ...]
    """Drag elements; empty for custom hydrodynamics."""

    @property
    def fixed(self) -> str:
        """Text of all parts that are constants of compiled programs even if numbers of the body are open parameters."""
        hull = [(s.share, s.center.tolist(), [x.tolist() for x in s.spread], s.shares, s.cells) for s in self.hull]
        elements = [a.shares for a in self.added_mass], [(d.shares, d.stations) for d in self.drag]
        return f"{[x.tolist() for x in self.points]} {self.mean} {hull} {elements}"


def strip_wavenumber(environment: Environment, gravity: float) -> float:
    """Return the maximum wavenumber that strips resolve [rad/m]; for a sea, it is at `SEA` times the peak frequency."""
    depth = math.inf if environment.water_depth is None else environment.water_depth
    periods = [w.period if isinstance(w, RegularWave) else w.peak_period / SEA for w in environment.waves]
    return max((wavenumber(2.0 * math.pi / period, gravity, depth) for period in periods), default=0.0)


def sampling(body: Body, nominal: Body, density: Scalar, k: float, *, surface: bool) -> WetSampling:
    """Return the points at which a body samples the water of `density` [kg/m³].

    Args:
        body: Body whose open parameters may be symbols.
        nominal: The same body with numbers only, which determine the number of points.
        density: Density of the water [kg/m³].
        k: Wavenumber that strips resolve, from `strip_wavenumber` [rad/m].
        surface: True if the water has a free surface.
    """
    try:
        return _sampled(body, nominal, density, k, surface=surface)
    except _TooManyStrips as error:
        raise ValueError(
            f"body {nominal.name!r}: waves of {2.0 * math.pi / k:.3g} m require {error} strips of the hull or of a cylinder, "
            f"but the limit is {MAX_STRIPS}; use longer waves, or describe the body by a smaller shape or an ellipsoid"
        ) from None


def _sampled(body: Body, nominal: Body, density: Scalar, k: float, *, surface: bool) -> WetSampling:
    points = _Points()
    hull = _hull(body, nominal, k, points, surface=surface)
    mean = tuple((i, strip.share * w) for strip in hull for i, w in strip.shares)
    if not isinstance(body.hydro, Hydro):
        return WetSampling(tuple(points.found), mean, hull, (), ())
    lumped = np.zeros((6, 6))
    added = []
    known = nominal.hydro if isinstance(nominal.hydro, Hydro) else body.hydro
    for element, given in zip(body.hydro.added_mass, known.added_mass, strict=True):
        if _is_slender(element):
            nodes = _nodes(given.solid, k)  # type: ignore[union-attr]
            matrices = added_mass_strips(element.solid, density, len(nodes), points=len(nodes[0]))  # type: ignore[union-attr]
            for s, matrix in zip([s for piece in nodes for s in piece], matrices, strict=True):
                added.append(AddedMassAt(matrix, ((points.number(_on_axis(element.solid, s)), 1.0),)))  # type: ignore[union-attr]
        elif isinstance(element, added_mass.Matrix | added_mass.Diagonal):
            lumped = lumped + added_mass_matrix(element, density)
        else:
            center = points.number(np.array(element.solid.origin.xyz))
            added.append(AddedMassAt(added_mass_matrix(element, density), ((center, 1.0),)))
    if np.asarray(lumped).dtype == object or np.any(lumped):
        added.append(AddedMassAt(lumped, mean))
    pairs = zip(body.hydro.drag, known.drag, strict=True)
    dragged = [_drag_at(element, given, density, k, points, mean) for element, given in pairs]
    return WetSampling(tuple(points.found), mean, hull, tuple(added), tuple(dragged))


class _TooManyStrips(Exception):
    """Error about a hull or cylinder that is too long for the waves."""


def _within_limit(n: float) -> None:
    if n > MAX_STRIPS:
        raise _TooManyStrips(f"{n:.0f}")


class _Points:
    """Collection of distinct points; elements at the same position share a point."""

    def __init__(self) -> None:
        self.found: list[Array] = []
        self._numbers: dict[tuple[float, ...], int] = {}

    def number(self, x: Array) -> int:
        """Return the index of a point; add new points to the collection."""
        x = np.asarray(x)
        if x.dtype == object:  # open parameters: points that coincide now may differ in the next run
            self.found.append(x)
            return len(self.found) - 1
        key = tuple((np.round(x, 9) + 0.0).tolist())
        if key not in self._numbers:
            self._numbers[key] = len(self.found)
            self.found.append(x)
        return self._numbers[key]


def _is_slender(element: Any) -> bool:
    return type(element) in (added_mass.ShapeAddedMass, drag.ShapeDrag) and isinstance(element.solid.shape, Cylinder)


def _drag_at(element: Any, nominal: Any, density: Scalar, k: float, points: _Points, mean: Shares) -> DragAt:
    if not _is_slender(element):
        center = element.center
        return DragAt(element.numbers(density), mean if center is None else ((points.number(center), 1.0),))
    nodes = [s for piece in _nodes(nominal.solid, k) for s in piece]
    numbers = [points.number(_on_axis(element.solid, s)) for s in nodes]
    strips = element.numbers(density, len(nodes))
    length = element.solid.shape.length

    def between(s: float) -> Shares:
        """Return weights of cubic interpolation between the four nearest points, or of linear interpolation with two points."""
        first = min(max(int(np.searchsorted(nodes, s)) - 2, 0), max(len(nodes) - 4, 0))
        near = range(first, min(first + 4, len(nodes)))
        return tuple((numbers[i], math.prod((s - nodes[j]) / (nodes[i] - nodes[j]) for j in near if j != i)) for i in near)

    shares = tuple((i, 1.0 / len(nodes)) for i in numbers)
    stations = [0.0, *(x / length for s in strips.stations for x in (s, -s))]
    return DragAt(strips, shares, tuple(map(between, stations)))


def _nodes(solid: Placed, k: float) -> list[list[float]]:
    """Return the stations of the points in each piece of a cylinder: distance from the middle divided by the length."""
    assert isinstance(solid.shape, Cylinder)
    length = solid.shape.length
    _within_limit(k * length / STRIP)
    pieces = max(1, math.ceil(k * length / STRIP))
    each = length / pieces
    excess = each**2 / 12.0 - solid.shape.radius**2 / 4.0
    away = math.sqrt(excess) / length if excess > ROUND * each**2 / 12.0 else 0.0
    middles = [(j + 0.5) / pieces - 0.5 for j in range(pieces)]
    return [[middle - away, middle + away] if away else [middle] for middle in middles]


def _on_axis(solid: Placed, s: float) -> Array:
    """Return the point [m], shape (3,), on the axis of a cylinder at station s: distance from the middle over the length."""
    start, end = solid.ends
    return (0.5 - s) * start + (0.5 + s) * end


# -- the displaced volume -----------------------------------------------------------------------------------------------


def _hull(body: Body, nominal: Body, k: float, points: _Points, *, surface: bool) -> tuple[HullStrip, ...]:
    """Return the strips of the displaced volume; they move with the centre of buoyancy if it is an open parameter."""
    own = isinstance(body.hydro, Hydro)
    center = nominal.hydro.buoyancy_center if isinstance(nominal.hydro, Hydro) else nominal.inertia.com
    moved = np.array(body.hydro.buoyancy_center) - np.array(center) if own else np.zeros(3)  # type: ignore[union-attr]
    out = []
    known = surface or has_hull(nominal) or (isinstance(nominal.hydro, Hydro) and nominal.hydro.volume)
    cells = hull_cells(nominal) if known else ()  # none if only the centre of buoyancy is known
    for share, middle, spread, made_of in _strips(cells, np.array(center), k):
        c = middle + moved
        ends = [c + away for away in corners(spread)] if spread else [c]
        shares = tuple((points.number(x), 1.0 / len(ends)) for x in ends)
        out.append(HullStrip(share, c, spread, shares, made_of if surface else ()))
    return tuple(out)


def corners(spread: Sequence[Array]) -> list[Array]:
    """Return the offsets ±a ± b of points with the spread a, b [m], shape (3,) each; empty without spread."""
    out: list[Array] = []
    for a in spread:
        out = [x + y for x in out for y in (-a, a)] if out else [-a, a]
    return out


_Strip: TypeAlias = tuple[float, np.ndarray, tuple[np.ndarray, ...], tuple[HullCell, ...]]


def _strips(cells: tuple[HullCell, ...], center: np.ndarray, k: float) -> list[_Strip]:
    """Return fraction, centre, spread and cells of each strip: one strip for a short hull, otherwise strips of each cell."""
    if not cells:
        return [(1.0, center, (), ())]
    whole, size = _strip(cells)
    if whole is not None and k * size <= STRIP:
        return [whole]
    return [strip for cell in cells for piece in _cut(cell, k) if (strip := _strip([piece])[0]) is not None]


def _strip(cells: Sequence[HullCell]) -> tuple[_Strip | None, float]:
    """Return the strip formed by cells, or None if its axes are undefined; and the length of a line of equal moment."""
    share = sum(cell.weight for cell in cells)
    places = [np.array(cell.origin.xyz) for cell in cells]
    center = np.asarray(sum(cell.weight / share * p for cell, p in zip(cells, places, strict=True)))
    S = np.zeros((3, 3))
    for cell, p in zip(cells, places, strict=True):
        R, d = cell.origin.R, p - center
        own = ((R * _second_moments(cell))[:, None] * R).sum(axis=-1)  # without BLAS, whose bits depend on the processor
        S += cell.weight / share * (own + np.outer(d, d))
    if len(cells) == 1:  # its own axes, which are defined even if moments are equal
        order = np.argsort(_second_moments(cells[0]), kind="stable")
        values, axes = np.array(_second_moments(cells[0]))[order], cells[0].origin.R[:, order]
    else:
        values, axes = principal_axes(S)
    size = math.sqrt(12.0 * values[2])
    spread = _spread(values, axes)
    if len(cells) > 1 and len(spread) == 2 and values[2] - values[1] < ROUND * values[2]:
        return None, size
    at = tuple(
        replace(cell, weight=cell.weight / share, origin=replace(cell.origin, xyz=tuple((cell.origin.xyz - center).tolist())))
        for cell in cells
    )
    return (share, center, spread, at), size


def _spread(values: np.ndarray, axes: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the half distances between points for ascending second moments `values` [m²] along the columns of `axes`."""
    least, middle, most = values
    if middle - least > ROUND * most:
        return math.sqrt(most - least) * axes[:, 2], math.sqrt(middle - least) * axes[:, 1]
    excess = most - 0.5 * (least + middle)
    return (math.sqrt(excess) * axes[:, 2],) if excess > ROUND * most else ()


def _second_moments(cell: HullCell) -> list[float]:
    """Return the mean of ξ_i² over a cell, along the axes of the cell [m²]."""
    found = cell.shape.integrals()
    return np.diag(found.second / found.volume).tolist()


def _cut(cell: HullCell, k: float) -> list[HullCell]:
    """Return the pieces of a cell: a long cylinder is cut across its axis, a large box across all axes, an ellipsoid never."""
    shape = cell.shape
    if isinstance(shape, Cylinder):
        wanted = [0.0, 0.0, k * shape.length / STRIP]
        half = [0.0, 0.0, 0.5 * shape.length]
    elif isinstance(shape, Box):
        half = (0.5 * np.array(shape.size)).tolist()
        longest = int(np.argmax(half))
        wanted = [k * 2.0 * h / (STRIP if i == longest else ACROSS) for i, h in enumerate(half)]
    else:
        return [cell]
    _within_limit(math.prod(max(1.0, x) for x in wanted))
    counts = [max(1, math.ceil(x)) for x in wanted]
    size = [h / n for h, n in zip(half, counts, strict=True)]
    out: list[HullCell] = []
    for place in itertools.product(*map(range, counts)):
        away = cell.origin.R @ [(2 * j + 1 - n) * h for j, n, h in zip(place, counts, size, strict=True)]
        origin = Origin(tuple((np.array(cell.origin.xyz) + away).tolist()), cell.origin.rpy)
        weight = cell.weight / math.prod(counts)
        if isinstance(shape, Cylinder):
            piece: Shape = replace(shape, length=2.0 * size[2])
        else:
            piece = Box(size=(2.0 * size[0], 2.0 * size[1], 2.0 * size[2]))
        out.append(HullCell(shape=piece, weight=weight, origin=origin))
    return out
