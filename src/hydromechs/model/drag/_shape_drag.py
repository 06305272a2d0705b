"""Pressure drag of shapes; cylinders use strips (McMillan, Orin and McGhee 1995, eqs. 17-22)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np

from hydromechs.errors import Fault, UnsupportedFeature
from hydromechs.geometry import Box, Cylinder, Ellipsoid, Placed, Sphere, Triangles
from hydromechs.model._body_shape import own_shape, solid_of
from hydromechs.registry import Hidden
from hydromechs.spatial import axis_frame, norm, shift_motion, shift_wrench
from hydromechs.values import Array, Bound, NotNegative, Scalar, floats, number, whole

from ._damping import DragElement, point_velocity, unfit

Coefficients = Annotated[tuple[float, float, float], Bound(least=0.0, size=3)]
"""Drag coefficients for motion along three axes."""
Points = Annotated[int, Bound(least=1, most=64, whole=True)]
"""Number of Gauss points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeDrag(DragElement):
    """Pressure drag of a cylinder, box, sphere or ellipsoid.

    A cylinder is divided into strips (McMillan, Orin and McGhee 1995, eqs. 17-22), a box into pairs of faces. Spheres and
    ellipsoids use the velocity at the centre, and do not resist rotation about it.
    """

    shape: str | Placed
    """Name of a shape of the body, or an inline shape."""
    coefficient: NotNegative | Coefficients
    """Drag coefficient on projected area [-]: for the side of a cylinder (2·radius·length) or for a sphere, one number. For
    a box or ellipsoid, one number for all directions, or three for motion along x, y, z of the shape, shape (3,)."""
    end_coefficient: NotNegative | None = None
    """Drag coefficient of the end faces of a cylinder, on face area [-]; defaults to the coefficient of the side; 0 for
    open ends."""
    points: Points = 4
    """Number of Gauss points along a cylinder, or along each edge of a face of a box, 1 to 64 [-]."""
    placed: Annotated[Placed | None, Hidden()] = field(default=None, repr=False)
    """Body shape with the name `shape`; set by the body."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", own_shape(self.shape, "drag"))
        object.__setattr__(self, "coefficient", number_or_row(self.coefficient, "drag.coefficient"))
        if self.end_coefficient is not None:
            object.__setattr__(self, "end_coefficient", number(self.end_coefficient, "drag.end_coefficient"))
        object.__setattr__(self, "points", whole(self.points, "drag.points", least=None))

    @property
    def solid(self) -> Placed:
        """Shape of the element, placed on the body."""
        return solid_of(self)

    @property
    def coefficients(self) -> tuple[Any, Any, Any]:
        """Drag coefficients for motion along x, y, z of the shape [-], shape (3,)."""
        c: Any = self.coefficient
        return c if isinstance(c, tuple) else (c, c, c)

    @property
    def center(self) -> Array:
        return np.array(self.solid.origin.xyz)

    def numbers(self, density: Scalar, points: int = 1) -> Any:
        """Return the coefficients for the shape; a cylinder has at least `points` Gauss points."""
        solid = self.solid
        match shape := solid.shape:
            case Cylinder():
                return _strips(self, density, max(points, self.points))
            case Box():
                faces = shape.faces(self.points)
                stations = tuple(faces[(k + 2) % 3].i for k in range(3))
                scales = tuple(-0.5 * density * c for c in self.coefficients)
                return Faces(solid.origin.R, self.center, stations, tuple(face.areas for face in faces), scales)
            case Sphere():
                return Round(-0.5 * density * self.coefficient * np.pi * shape.radius**2, self.center)
            case Ellipsoid():
                return Oval(solid.origin.R, self.center, shape.projected_area() * np.array(self.coefficients), -0.5 * density)
        raise UnsupportedFeature(f"the drag of a {shape.word} is unknown; use a cylinder, box, sphere or ellipsoid")

    def matrix(self, V_r: Array, density: Scalar) -> Array:
        match self.solid.shape:
            case Cylinder() as shape:
                return _cylinder_matrix(self, shape, V_r, density)
            case Box() as shape:
                return _box_matrix(self, shape, V_r, density)
        return _round_matrix(self, V_r, density)

    def surface(self) -> Triangles:
        return self.solid.triangulate()

    def problems(self, label: str) -> Iterator[Fault]:
        if not isinstance(self.shape, Placed) and self.placed is None:
            return
        word, kind = self.solid.shape.word, type(self.solid.shape)
        if isinstance(self.coefficient, tuple) and kind in (Cylinder, Sphere):
            yield unfit(label, "coefficient", self.coefficient, f"must be one number for a {word}")
        if self.end_coefficient is not None and kind is not Cylinder:
            yield unfit(label, "end_coefficient", self.end_coefficient, f"which does not apply to a {word}", "remove it")


def number_or_row(given: Any, label: str) -> float | tuple[float, ...]:
    """Return one number, or a tuple of three numbers, as floats."""
    row = hasattr(given, "__len__") and not isinstance(given, str)
    return floats(given, 3, label) if row else number(given, label)


class Strips(NamedTuple):
    """Strip theory: the force on each disc at s along the axis e depends on the velocity normal to the axis (eqs. 17-21),

        v(s) = v_r + ω × (c + s e),   f = −ρ C_D r ∫ |vⁿ| vⁿ ds,   n = c × f − ρ C_D r ∫ |vⁿ| s e × vⁿ ds,

    by Gauss quadrature, where c is the middle of the axis. The velocity along the axis acts on both end faces together, f_e
    = −½ ρ C_e π r² |v_e| v_e (eq. 22). Shear drag is neglected, as in the papers. Gauss points are in pairs at ±s with
    equal weights, which share s ω. The forces of a pair are added before the weight and the lever are applied.
    """

    R: Array
    """Axes of the cylinder, the third along its length, shape (3, 3)."""
    middle: Array
    """Middle c of the axis [m], shape (3,)."""
    stations: tuple[Scalar, ...]
    """Positions s of the pairs of Gauss points [m]."""
    weights: tuple[Scalar, ...]
    """Factors −ρ C_D r times the weight of each point of a pair [kg/m]."""
    levers: tuple[Scalar, ...]
    """Entries of `weights` times s [kg]."""
    single: Scalar
    """Factor −ρ C_D r times the weight of the Gauss point in the middle, 0 without such a point [kg/m]."""
    face: Scalar
    """Factor −½ ρ C_e π r² [kg/m]."""

    def wrench(self, V_r: Array, excess: Sequence[Array] | None = None) -> Array:
        """Return the wrench about the body origin in body axes, shape (6,).

        V_r (6,) is relative to the mean velocity of the water along the axis. `excess` is the velocity of the water minus
        this mean, in the middle and at each pair of stations (first at s, then at −s), in body axes [m/s], shape (3,) each;
        None for uniform water.
        """
        v = self.R.T @ shift_motion(V_r, self.middle)[:3]
        w = self.R.T @ V_r[3:]
        flow = [v] * (1 + 2 * len(self.stations)) if excess is None else [v - self.R.T @ more for more in excess]
        d1, d2 = _pressure(flow[0][0], flow[0][1])
        f1, f2, n1, n2 = self.single * d1, self.single * d2, 0.0, 0.0
        for k, (s, weight, lever) in enumerate(zip(self.stations, self.weights, self.levers, strict=True)):
            u1, u2 = s * w[1], s * w[0]
            (a1, a2, _), (b1, b2, _) = flow[2 * k + 1], flow[2 * k + 2]
            above = _pressure(a1 + u1, a2 - u2)
            below = _pressure(b1 - u1, b2 + u2)
            f1, f2 = f1 + weight * (above[0] + below[0]), f2 + weight * (above[1] + below[1])
            n1, n2 = n1 - lever * (above[1] - below[1]), n2 + lever * (above[0] - below[0])
        f_e = self.face * (abs(v[2]) * v[2])
        along = self.R @ np.array([f1, f2, f_e])
        about = self.R @ np.array([n1, n2, 0.0])
        return shift_wrench(np.concatenate([along, about]), self.middle)


def _pressure(v1: Scalar, v2: Scalar) -> tuple[Scalar, Scalar]:
    size = norm((v1, v2))
    return size * v1, size * v2


def _strips(element: ShapeDrag, density: Scalar, count: int) -> Strips:
    shape, side = element.solid.shape, element.coefficient
    assert isinstance(shape, Cylinder) and not isinstance(side, tuple)
    R, foot, start, end = axis_frame(*element.solid.ends)
    pressed = -density * side * shape.radius
    points = [(strip.z, pressed * strip.length) for strip in shape.strips(count)]
    pairs = [(s, weight) for s, weight in points if s > 0.0]
    ends = side if element.end_coefficient is None else element.end_coefficient
    return Strips(
        R=R,
        middle=foot + 0.5 * (start + end) * R[:, 2],
        stations=tuple(s for s, _ in pairs),
        weights=tuple(weight for _, weight in pairs),
        levers=tuple(weight * s for s, weight in pairs),
        single=points[len(pairs)][1] if len(points) % 2 else 0.0,
        face=-0.5 * density * ends * shape.projected_area()[2],
    )


def _cylinder_matrix(element: ShapeDrag, shape: Cylinder, V_r: Array, density: Scalar) -> Array:
    """Return ρ C_D r ∫ |vⁿ| aᵀ a ds plus ½ ρ C_e π r² |v_e| aᵀ a; rows of a are directions across and along the axis at s."""
    R, foot, start, end = axis_frame(*element.solid.ends)
    side: Any = element.coefficient
    total = np.zeros((6, 6))
    for strip in shape.strips(element.points):
        a = R[:, :2].T @ point_velocity(foot + (0.5 * (start + end) + strip.z) * R[:, 2])
        total = total + (density * side * shape.radius * strip.length * norm(a @ V_r)) * (a.T @ a)
    ends = side if element.end_coefficient is None else element.end_coefficient
    along = R[:, 2] @ point_velocity(foot)
    return total + (0.5 * density * ends * shape.projected_area()[2] * abs(along @ V_r)) * np.outer(along, along)


class Faces(NamedTuple):
    """Drag of pairs of faces: the force on the pair across axis k depends on the normal velocity at every point (x_i, x_j),

        v_k(x) = v_k + ω_i x_j − ω_j x_i,   f_k = −½ ρ C_k ∬ |v_k(x)| v_k(x) dx_i dx_j,   n = ∬ x × df,

    by Gauss quadrature along the strips of both directions. As for the cylinder, only the normal velocity causes pressure
    drag (independence principle). Each pair counts as one face area, so that C_k is the usual coefficient of a box.
    """

    R: Array
    """Axes of the box, shape (3, 3)."""
    center: Array
    """Centre of the box [m], shape (3,)."""
    stations: tuple[tuple[Scalar, ...], ...]
    """Gauss points along each axis [m]."""
    areas: tuple[tuple[tuple[Scalar, ...], ...], ...]
    """Weights of the Gauss points of the faces across each axis, indexed by the next two axes in cyclic order [m²]."""
    scales: tuple[Scalar, ...]
    """Factors −½ ρ C_k [kg/m³]."""

    def wrench(self, V_r: Array, gradient: Array | None = None) -> Array:
        """Return the wrench about the body origin in body axes, shape (6,).

        V_r (6,) is relative to the water at the centre. `gradient` is ∂v_i/∂x_j of the water velocity in body axes [1/s],
        shape (3, 3); None for uniform water.
        """
        v = self.R.T @ shift_motion(V_r, self.center)[:3]
        w = self.R.T @ V_r[3:]
        G = None if gradient is None else self.R.T @ gradient @ self.R
        force: list = [0.0, 0.0, 0.0]
        moment: list = [0.0, 0.0, 0.0]
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            total = about_i = about_j = 0.0
            by_i, by_j = (w[j], w[i]) if G is None else (w[j] + G[k, i], w[i] - G[k, j])  # gradients of v_k
            for x_i, row in zip(self.stations[i], self.areas[k], strict=True):
                v_strip = v[k] - by_i * x_i
                strip = 0.0
                for x_j, area in zip(self.stations[j], row, strict=True):
                    v_k = v_strip + by_j * x_j
                    d = abs(v_k) * v_k * area
                    strip = strip + d
                    about_i = about_i + x_j * d
                total = total + strip
                about_j = about_j - x_i * strip
            force[k] = self.scales[k] * total
            moment[i] = moment[i] + self.scales[k] * about_i
            moment[j] = moment[j] + self.scales[k] * about_j
        return shift_wrench(np.concatenate([self.R @ np.array(force), self.R @ np.array(moment)]), self.center)


def _box_matrix(element: ShapeDrag, shape: Box, V_r: Array, density: Scalar) -> Array:
    """Return ½ ρ C_k ∬ |v_k(x)| aᵀ a dx_i dx_j of each pair of faces, where a is the direction across the faces at x."""
    c, R = np.array(element.solid.origin.xyz), element.solid.origin.R
    total = np.zeros((6, 6))
    for k, face in enumerate(shape.faces(element.points)):
        i, j = (k + 1) % 3, (k + 2) % 3
        for x_i, row in zip(face.i, face.areas, strict=True):
            for x_j, area in zip(face.j, row, strict=True):
                a = R[:, k] @ point_velocity(c + R[:, i] * x_i + R[:, j] * x_j)
                total = total + (0.5 * density * element.coefficients[k] * area * abs(a @ V_r)) * np.outer(a, a)
    return total


class Round(NamedTuple):
    """Coefficients of a sphere: f = −½ ρ C π r² |v| v at the centre."""

    scale: Scalar
    """Factor −½ ρ C π r² [kg/m]."""
    center: Array
    """Centre [m], shape (3,)."""

    def wrench(self, V_r: Array) -> Array:
        """Return the wrench about the body origin in body axes [N, N·m], shape (6,)."""
        v = shift_motion(V_r, self.center)[:3]
        return shift_wrench(np.concatenate([self.scale * norm(v) * v, np.zeros(3)]), self.center)


class Oval(NamedTuple):
    """Coefficients of an ellipsoid: f_k = −½ ρ C_k A_k |v| v_k at the centre, with projected areas A_x = π b c etc."""

    R: Array
    """Axes of the ellipsoid, shape (3, 3)."""
    center: Array
    """Centre [m], shape (3,)."""
    areas: Array
    """Drag areas C_k A_k [m²], shape (3,)."""
    scale: Scalar
    """Factor −½ ρ [kg/m³]."""

    def wrench(self, V_r: Array) -> Array:
        """Return the wrench about the body origin in body axes [N, N·m], shape (6,)."""
        v = self.R.T @ shift_motion(V_r, self.center)[:3]
        f = self.R @ ((self.scale * norm(v)) * (self.areas * v))
        return shift_wrench(np.concatenate([f, np.zeros(3)]), self.center)


def _round_matrix(element: ShapeDrag, V_r: Array, density: Scalar) -> Array:
    """Return ½ ρ |v| aᵀ diag(C_k A_k) a of a sphere or an ellipsoid, where the rows of a are the shape axes."""
    a = element.solid.origin.R.T @ point_velocity(np.array(element.solid.origin.xyz))
    areas = element.solid.shape.projected_area() * np.array(element.coefficients)
    return (0.5 * density * norm(a @ V_r)) * (a.T @ (areas[:, None] * a))
