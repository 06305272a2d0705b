"""Methods that estimate the added mass of a body from its parts.

The added mass of boxes and cylinders far from all boundaries is interpolated in tables from boundary-element solutions. The
tables contain ratios to scales with the correct limits for long and flat solids, so that the ratios vary little. Ratios
are interpolated over the logarithms of aspect ratios; beyond the tables, they approach the limits.
"""

import abc
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hydromechs import spatial
from hydromechs._lazy import import_extra
from hydromechs.geometry import Box, Capsule, Cylinder, Ellipsoid, Integrals, Placed, Sphere, Triangles
from hydromechs.model import added_mass, added_mass_matrix, total_added_mass
from hydromechs.spatial import Turn, rpy_from_matrix
from hydromechs.values import Array

from ._panels import MESH, panel_added_mass
from ._parts import SolidPart

EXACT, TABLED, FITTED, MESHED, TOGETHER = 0.01, 0.05, 0.15, 0.3, 0.3
"""Relative standard uncertainties of an ellipsoid, of a table, of a box beyond the table or an ellipsoid that replaces a
    capsule, of an ellipsoid that replaces a mesh, and of the neglected interaction between parts."""


class AddedMassGuess(NamedTuple):
    """Estimated added mass of a body, with its uncertainty."""

    elements: tuple[Any, ...]
    """Elements of `hydromechs.added_mass`."""
    matrix: Array
    """Sum of the elements about the body origin, linear first [kg, kg·m, kg·m²], shape (6, 6)."""
    spread: Array
    """Standard uncertainty of the diagonal of the matrix [kg, kg·m²], shape (6,)."""
    how: str
    """Description of the method of estimation."""


class AddedMassMethod(abc.ABC):
    """Base class of methods that estimate added mass."""

    @abc.abstractmethod
    def of(self, parts: Sequence[SolidPart], density: float) -> AddedMassGuess:
        """Return the added mass of the parts of one body, in water of `density` [kg/m³]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FromShapes(AddedMassMethod):
    """Sum of the added masses of the parts of a body.

    Values of ellipsoids are exact. Values of boxes and cylinders are from tables, with plates, discs and strips as limits.
    Capsules and meshes are replaced by Lamb's ellipsoid of the same volume and ratios of second moments.
    """

    def of(self, parts: Sequence[SolidPart], density: float) -> AddedMassGuess:
        found = [_of_part(part, density) for part in parts]
        matrix = total_added_mass((element for element, _, _ in found), density)
        worst = max(error for _, error, _ in found)
        hows = list(dict.fromkeys(how for _, _, how in found))
        if len(parts) > 1:
            worst = max(worst, TOGETHER)
            hows.append(f"{len(parts)} parts summed, interaction neglected")
        elements = tuple(element for element, _, _ in found)
        return AddedMassGuess(elements, matrix, _spread(matrix, worst, TABLED), "; ".join(hows))


@dataclass(frozen=True, slots=True, kw_only=True)
class FromPanels(AddedMassMethod):
    """Boundary-element solution for all parts of a body together, far from surface and bed; requires the extra `mesh`."""

    count: int = 2500
    """Maximum number of panels of the finer of two meshes; doubling increases computing time four to eight times."""

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or not 400 <= self.count <= 20_000:
            raise ValueError(f"FromPanels.count is {self.count!r}, must be an integer from 400 to 20000")

    def of(self, parts: Sequence[SolidPart], density: float) -> AddedMassGuess:
        found = panel_added_mass(_joined(parts), self.count)
        matrix = density * found.matrix
        how = f"boundary elements, {found.number} panels"
        return AddedMassGuess((_matrix(matrix),), matrix, _spread(matrix, EXACT, found.uncertainty), how)


def fitted_ellipsoid(whole: Integrals) -> added_mass.ShapeAddedMass:
    """Return the ellipsoid with the volume, principal axes and ratios of second moments of a solid, in body axes."""
    second, R = np.linalg.eigh(whole.second)
    R = R * np.sign(np.linalg.det(R))
    axes = np.sqrt(second)
    axes *= (whole.volume / (4.0 / 3.0 * np.pi * np.prod(axes))) ** (1.0 / 3.0)
    place = whole.center.tolist(), rpy_from_matrix(R).tolist()
    return added_mass.ShapeAddedMass(shape=Ellipsoid(axes=tuple(axes.tolist())).at(*place))


def _spread(matrix: Array, own: float, largest: float) -> Array:
    """Return the uncertainty of the diagonal: fraction `own` of each entry plus `largest` of the largest in its block."""
    d = np.diag(matrix)
    return np.hypot(own * d, largest * np.repeat([d[:3].max(), d[3:].max()], 3))


def _of_part(part: SolidPart, density: float) -> tuple[Any, float, str]:
    """Return the added-mass element of a part, its uncertainty, and a description of the method."""
    R, p = part.origin.R, np.array(part.origin.xyz)
    match shape := part.shape:
        case Sphere() | Ellipsoid():
            own = Placed(shape=shape, origin=part.origin)
            return added_mass.ShapeAddedMass(shape=own), EXACT, f"{part.name}, exact (Lamb)"
        case Box():
            error = TABLED if min(shape.size) >= LAST * max(shape.size) else FITTED
            return _placed(density * tabled_box(shape.size), R, p), error, "box, table of boundary elements"
        case Capsule():
            return fitted_ellipsoid(part.integrals()), FITTED, "capsule, Lamb's ellipsoid"
        case Cylinder(radius=r, length=l):
            return _placed(density * tabled_cylinder(r, l), R, p), TABLED, f"cylinder, {cylinder_source(r, l)}"
    return fitted_ellipsoid(part.integrals()), MESHED, f"{part.name}, Lamb's ellipsoid with the same volume and second moments"


def _placed(diagonal: Array, R: Array, p: Array) -> added_mass.Matrix:
    """Return the matrix about the body origin of a diagonal added mass about the centre of a part, in part axes."""
    return _matrix(np.asarray(spatial.Path((Turn(R, p),)).inertia_back(np.diag(diagonal)), dtype=float))


def _matrix(M: Array) -> added_mass.Matrix:
    return added_mass.Matrix(tuple(tuple(row) for row in (0.5 * (M + M.T)).tolist()))


def _joined(parts: Sequence[SolidPart]) -> Triangles:
    """Return the outer surface of all parts in body axes, without pieces inside other parts."""
    surfaces = [part.surface() for part in parts]
    if len(surfaces) == 1:
        return surfaces[0]
    manifold = import_extra("manifold3d", *MESH)
    total = manifold.Manifold()
    for s in surfaces:
        mesh = manifold.Mesh(s.vertices.astype(np.float32), s.faces.astype(np.uint32))
        total = total + manifold.Manifold(mesh)
    mesh = total.to_mesh()
    return Triangles(
        np.asarray(mesh.vert_properties[:, :3], dtype=float), np.asarray(mesh.tri_verts, dtype=int), "the parts together"
    )


LONG = 4.0
"""Ratio of length to width of a bar above which the ratios to its scales are constant."""
LAST = 1.0 / 16.0
"""Ratio of shortest to longest side of a box at which the table ends."""
DISC = np.array([0.0, 8.0 / 3.0, 16.0 / 45.0])
"""Ratios for a cylinder of zero length (Lamb's disc): across and along the axis, and about a transverse axis."""


def box_scales(size: Sequence[float]) -> Array:
    """Return the scales of the added mass along and about the axes of a box [m³, m⁵], shape (6,).

    The scale along an axis is a² b of a plate, with the sides a ≤ b of the face normal to the flow. The scale about an axis is
    l⁴ k²/(l + k) of a plate that rotates about a long or a short edge, with the side k along the axis and the longer other side
    l. `size` contains the edges [m], shape (3,).
    """
    out = np.zeros(6)
    for k in range(3):
        short, long = sorted((size[(k + 1) % 3], size[(k + 2) % 3]))
        out[k] = short**2 * long
        out[3 + k] = long**4 * size[k] ** 2 / (long + size[k])
    return out


def cylinder_scales(radius: float, length: float) -> Array:
    """Return the added-mass scales of a cylinder: across the axis, along it, about a transverse axis [m³, m³, m⁵], shape (3,).

    The scales are π r² L of strips, r³ of a disc, and r² L³ + r⁵ of strips and a disc.
    """
    return np.array([np.pi * radius**2 * length, radius**3, radius**2 * length**3 + radius**5])


def tabled_box(size: Sequence[float]) -> Array:
    """Return the added mass along and about the axes of a box in a fluid of density 1 [m³, m⁵], shape (6,).

    With sides a ≥ b ≥ c, the table ends at c/a = 1/16. A flatter box is interpolated between the end of the table and an
    infinitely thin plate over its thickness. A longer bar has the ratios of a shorter bar with the same section. `size`
    contains the edges [m], shape (3,).
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
    """Return the added mass along and about the axes of a cylinder along z, in a fluid of density 1 [m³, m⁵], shape (6,).

    The table covers x = length/diameter from 1/8 to 16. A flatter cylinder is interpolated between the table and an infinitely
    thin disc, over x. A longer cylinder is interpolated between the table and strips, over 1/x, with constant ratio along the
    axis.
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
    """Return a description of the source of values from `tabled_cylinder`."""
    slenderness = _tables()["slenderness"]
    x = 0.5 * length / radius
    if x < slenderness[0]:
        return "between table of boundary elements and disc without thickness"
    return "between table of boundary elements and strips" if x > slenderness[-1] else "table of boundary elements"


@cache
def _tables() -> dict:
    return json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))


def _between(grid: Array, x: float) -> tuple[int, float]:
    """Return the grid interval that contains x and the fraction along it, 0 to 1; outside the grid, return the nearest end."""
    k = int(np.clip(np.searchsorted(grid, x) - 1, 0, len(grid) - 2))
    return k, float(np.clip((x - grid[k]) / (grid[k + 1] - grid[k]), 0.0, 1.0))
