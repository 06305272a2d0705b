"""Pressure drag of a general body by an integral over its surface (McMillan 1994, eqs. 6.22-6.23)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from hydromechs.errors import Fault
from hydromechs.geometry import Placed, Polyhedron, Triangles
from hydromechs.model._body_shape import own_shape, solid_of
from hydromechs.registry import Hidden
from hydromechs.spatial import positive_part
from hydromechs.values import Array, Bound, NotNegative, Scalar, whole

from ._damping import DragElement, point_velocity, unfit
from ._shape_drag import Coefficients, number_or_row

MAX_POINTS = 3000
"""Maximum number of points on a surface; each point costs about 25 operations."""
Sides = Annotated[int, Bound(least=4, most=64, whole=True)]
"""Number of sides of a round surface."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceDrag(DragElement):
    """Pressure drag of a body of any shape: the normal velocity exerts pressure on each panel facing the flow.

    Panels in the lee of other panels are included. Only the outer surface of a mesh must be closed.
    """

    shape: str | Placed
    """Name of a shape of the body, such as a mesh, or an inline shape."""
    coefficient: NotNegative | Coefficients
    """Drag coefficient [-]; if `reference` is `projected`, optionally three numbers for motion along x, y, z of the shape,
    shape (3,)."""
    reference: Literal["projected", "wetted"] = "projected"
    """Area to which the coefficient refers [-]: `projected` is the area across the motion, as in tables; `wetted` is the
    area of each panel, as in eq. 6.22."""
    sides: Sides = 16
    """Number of sides of a round shape, 4 to 64 [-]; no effect on meshes."""
    points: Literal[1, 3] = 3
    """Number of points on each panel."""
    placed: Annotated[Placed | None, Hidden()] = field(default=None, repr=False)
    """Body shape with the name `shape`; set by the body."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", own_shape(self.shape, "drag"))
        object.__setattr__(self, "coefficient", number_or_row(self.coefficient, "drag.coefficient"))
        object.__setattr__(self, "sides", whole(self.sides, "drag.sides", least=None))

    @property
    def solid(self) -> Placed:
        """Shape of the element, placed on the body."""
        return solid_of(self)

    @property
    def center(self) -> Array:
        """Centroid of the surface [m], shape (3,); meshes can be far from the origin of their axes."""
        solid = self.solid
        if not isinstance(solid.shape, Polyhedron):
            return np.array(solid.origin.xyz)
        mesh = solid.triangulate()
        sizes = np.linalg.norm(mesh.area_vectors, axis=1)
        return np.asarray(sizes @ mesh.corners.mean(axis=1) / sizes.sum())

    def panels(self) -> tuple[Array, Array, Array]:
        """Return points x [m], normals, and areas times coefficients [m²], in body axes, shapes (n, 3), (n, 3), (n,)."""
        solid = self.solid
        mesh = solid.shape.triangulate(self.sides)
        vectors = mesh.area_vectors
        sizes = np.linalg.norm(vectors, axis=1)
        kept = sizes > 1e-12 * sizes.max()
        normals, sizes = vectors[kept] / sizes[kept, None], sizes[kept]
        corners = np.einsum("pc,nck->npk", _rule(self.points), mesh.corners[kept])
        per_panel = np.repeat(sizes * self._factors(normals, sizes) / self.points, self.points)
        x = corners.reshape(-1, 3) @ solid.origin.R.T + np.array(solid.origin.xyz)
        return x, np.repeat(normals @ solid.origin.R.T, self.points, axis=0), per_panel

    def _factors(self, normals: Array, sizes: Array) -> Array:
        """Return the coefficient of each panel: C for wetted areas, otherwise nᵀ S n.

        S is diagonal, such that the drag along each axis of the shape is ½ ρ C_k A_k v², with the projected area A_k.
        """
        if self.reference == "wetted":
            return np.full(len(sizes), self.coefficient)
        c = np.broadcast_to(np.array(self.coefficient, dtype=float), 3)
        upstream = abs(normals)  # both directions of motion along an axis, half each
        projected = 0.5 * sizes @ upstream
        T = 0.5 * np.einsum("n,nk,nj->kj", sizes, upstream**3, normals**2)
        return normals**2 @ np.linalg.solve(T, c * projected)

    def numbers(self, density: Scalar) -> Any:
        x, n, a = self.panels()
        return Panels(np.concatenate([n, np.cross(x, n)], axis=1), -0.5 * density * a)

    def matrix(self, V_r: Array, density: Scalar) -> Array:
        """Return ½ ρ C Σ A (a V)₊ aᵀ a over the panels, with a = n · (velocity of the point)."""
        total = np.zeros((6, 6))
        for x, n, area in zip(*self.panels(), strict=True):
            a = n @ point_velocity(x)
            total = total + (0.5 * density * area * positive_part(a @ V_r)) * np.outer(a, a)
        return total

    def surface(self) -> Triangles:
        return self.solid.triangulate()

    def problems(self, label: str) -> Iterator[Fault]:
        if isinstance(self.coefficient, tuple) and self.reference == "wetted":
            yield unfit(label, "coefficient", self.coefficient, "must be one number for wetted areas")
        if not isinstance(self.shape, Placed) and self.placed is None:
            return
        n = self.points * len(self.solid.shape.triangulate(self.sides).faces)
        if n > MAX_POINTS:
            remedy = "simplify the mesh, or use fewer sides or points"
            yield Fault(("shape",), f"{label}.shape has {n} surface points, the maximum is {MAX_POINTS}; {remedy}")
            return
        if self.reference == "projected" and self.panels()[2].min() < 0.0:
            yield unfit(label, "reference", self.reference, "which gives panels negative drag", "use reference: wetted")


def _rule(points: int) -> Array:
    """Return barycentric coordinates of equally weighted points of a triangle, shape (points, 3)."""
    return np.full((1, 3), 1 / 3) if points == 1 else np.full((3, 3), 1 / 6) + 0.5 * np.eye(3)


class Panels(NamedTuple):
    """The force on each point is along the normal and depends on the normal velocity v_n = n · v + (x × n) · ω:

    df = −½ ρ C A (v_n)₊² n,   dn = x × df      (eqs. 6.22-6.23; (v_n)₊ = v_n if the panel moves into the water, otherwise 0)
    """

    directions: Array
    """Rows (n, x × n) of all points, shape (points, 6)."""
    scales: Array
    """Factors −½ ρ C A [kg/m], shape (points,)."""

    def wrench(self, V_r: Array) -> Array:
        """Return the wrench about the body origin in body axes [N, N·m], shape (6,)."""
        total = np.zeros(6)
        for direction, scale in zip(self.directions, self.scales, strict=True):
            into = positive_part(direction @ V_r)
            total = total + (scale * into * into) * direction
        return total
