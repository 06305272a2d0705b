"""Ways to find the added mass of a body from its parts."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hydromechs._lazy import import_extra
from hydromechs.geometry import Box, Capsule, Cylinder, Ellipsoid, Integrals, Placed, Sphere, Triangles
from hydromechs.model import added_mass, total_added_mass
from hydromechs.spatial import Path, Turn, rpy_from_matrix
from hydromechs.values import Array

from ._panels import MESH, panel_added_mass
from ._parts import SolidPart
from ._tables import LAST, cylinder_source, tabled_box, tabled_cylinder

EXACT, TABLED, FITTED, MESHED, TOGETHER = 0.01, 0.05, 0.15, 0.3, 0.3
"""Likely error, over the value: of an ellipsoid, of a table, of a box beyond the table or an ellipsoid in place of a capsule,
of an ellipsoid in place of a mesh; and what the parts of a body do to each other's flow, which shapes know nothing of."""


class AddedMassGuess(NamedTuple):
    """Added mass of a body, and how sure it is."""

    elements: tuple[Any, ...]
    """Elements of `hydromechs.added_mass`."""
    matrix: Array
    """Their sum about the body origin, linear first [kg, kg·m, kg·m²], shape (6, 6)."""
    spread: Array
    """Likely error of the diagonal [kg, kg·m²], shape (6,)."""
    how: str
    """How it was found, in words."""


class AddedMassMethod(abc.ABC):
    """A way to find added mass."""

    @abc.abstractmethod
    def of(self, parts: Sequence[SolidPart], density: float) -> AddedMassGuess:
        """Added mass of parts that are one body, in water of `density` [kg/m³]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FromShapes(AddedMassMethod):
    """Added mass part by part; parts add up.

    Exact for ellipsoids, from tables for boxes and cylinders, which go to plates, discs and strips, and Lamb's ellipsoid of the
    same volume and the same ratios of second moments for capsules and meshes.
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
    """All parts of a body together by boundary elements, far from surface and bed. It needs the extra `mesh`."""

    count: int = 2500
    """Most panels of the finer of two meshes; twice as many take four to eight times as long."""

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or not 400 <= self.count <= 20_000:
            raise ValueError(f"FromPanels.count is {self.count!r}, must be an integer from 400 to 20000")

    def of(self, parts: Sequence[SolidPart], density: float) -> AddedMassGuess:
        found = panel_added_mass(_joined(parts), self.count)
        matrix = density * found.matrix
        how = f"boundary elements, {found.number} panels"
        return AddedMassGuess((_matrix(matrix),), matrix, _spread(matrix, EXACT, found.uncertainty), how)


def fitted_ellipsoid(whole: Integrals) -> added_mass.ShapeAddedMass:
    """The ellipsoid with the volume, the principal axes and the ratios of second moments of a solid, in body axes."""
    second, R = np.linalg.eigh(whole.second)
    R = R * np.sign(np.linalg.det(R))
    axes = np.sqrt(second)
    axes *= (whole.volume / (4.0 / 3.0 * np.pi * np.prod(axes))) ** (1.0 / 3.0)
    place = whole.center.tolist(), rpy_from_matrix(R).tolist()
    return added_mass.ShapeAddedMass(shape=Ellipsoid(axes=tuple(axes.tolist())).at(*place))


def _spread(matrix: Array, own: float, largest: float) -> Array:
    """Likely error of the diagonal: a part `own` of each entry, and a part `largest` of the largest one of its block."""
    d = np.diag(matrix)
    return np.hypot(own * d, largest * np.repeat([d[:3].max(), d[3:].max()], 3))


def _of_part(part: SolidPart, density: float) -> tuple[Any, float, str]:
    """Element of one part, its likely error, and how it was found."""
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
    return fitted_ellipsoid(part.integrals()), MESHED, f"{part.name}, Lamb's ellipsoid of its volume and second moments"


def _placed(diagonal: Array, R: Array, p: Array) -> added_mass.Matrix:
    """A diagonal about the centre of a part in its axes, as a matrix about the body origin."""
    return _matrix(np.asarray(Path((Turn(R, p),)).inertia_back(np.diag(diagonal)), dtype=float))


def _matrix(M: Array) -> added_mass.Matrix:
    """An element of a symmetric matrix."""
    return added_mass.Matrix(tuple(tuple(row) for row in (0.5 * (M + M.T)).tolist()))


def _joined(parts: Sequence[SolidPart]) -> Triangles:
    """The surface around all parts, in body axes, without what is inside of another part."""
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
