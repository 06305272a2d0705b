"""Base class of shapes, and shared closed forms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from hydromechs.errors import FieldError, UnsupportedFeature
from hydromechs.spatial import maximum, minimum, norm, positive_part, where
from hydromechs.values import Array, Scalar, check_fields

from ._origin import Origin
from ._triangles import SIDES, Integrals, Triangles

NUDGE = 1e-150
"""Length that is negligible relative to any length above 1e-134 m; its square keeps divisions by a length finite [m]."""
PARALLEL = 1e-12
"""Minimum magnitude of a direction component in a divisor [-]."""
ABOVE = 1e4
"""Initial height of vertical rays [m]."""
UP = np.array([0.0, 0.0, -1.0])
"""Downward direction in a frame whose z axis points up."""
UP.flags.writeable = False


class Strip(NamedTuple):
    """Short piece of a slender shape."""

    z: Scalar
    """Position of the middle of the strip along z [m]."""
    length: Scalar
    """Length along z [m]."""
    width: Scalar
    """Width of the strip across the flow [m]."""


class Face(NamedTuple):
    """Gauss points on a pair of opposite faces."""

    i: tuple[Scalar, ...]
    """Coordinates of the points along the axis that follows the normal in cyclic order [m]."""
    j: tuple[Scalar, ...]
    """Coordinates of the points along the axis that follows axis i in cyclic order [m]."""
    areas: tuple[tuple[Scalar, ...], ...]
    """Area of each point, indexed by i, then j [m²]; the sum is the area of one face."""


LARGEST = 1e9
"""Maximum dimension of a shape [m]; prevents overflow of fifth powers in second moments."""


def _largest(value: Any) -> float:
    """Return the maximum absolute value of a number, a row, or rows of any lengths."""
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return max(map(_largest, value))
    return float(np.abs(np.asarray(value, dtype=float)).max(initial=0.0))


class Cell(NamedTuple):
    """Part of a shape with a closed form for the volume below a plane: an ellipsoid, a cylinder or a box."""

    shape: Shape
    """Shape of the part, which defines `wet` and `wet_rate`."""
    offset: tuple[float, float, float]
    """Centre of the part in the frame of the shape [m], shape (3,); axes are parallel."""
    volume: Scalar
    """Volume of the part [m³]; negative for a hole."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A solid in a local frame, centred at the origin and with the axis along z. An `Origin` places it in a parent frame.

    `distance`, `ray`, `strips`, `faces`, `projected_area`, `wet` and `wet_rate` take floats or symbols, unless a shape
    documents otherwise. An operation that is undefined for a shape raises `UnsupportedFeature`.
    """

    def __post_init__(self) -> None:
        check_fields(self, self.word)
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, (int, float, tuple)) and _largest(value) > LARGEST:
                raise self._wrong(f.name, f"must be at most {LARGEST:g}")

    @classmethod
    def unchecked(cls, **fields: Any) -> Self:
        """Return a shape with the given fields, which may be symbols, without checks."""
        new = object.__new__(cls)
        for name, value in fields.items():
            object.__setattr__(new, name, value)
        return new

    bounded: ClassVar[bool] = True
    """True if the shape has a finite size and volume."""

    @property
    def word(self) -> str:
        """Name of the class in messages, such as "height field"."""
        name = type(self).__name__
        return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()

    def at(self, xyz: Sequence[float] = (0.0, 0.0, 0.0), rpy: Sequence[float] = (0.0, 0.0, 0.0)) -> Placed:
        """Return the shape placed at a position [m], shape (3,), with roll, pitch, yaw [rad], shape (3,)."""
        return Placed(shape=self, origin=Origin(tuple(xyz), tuple(rpy)))  # type: ignore[arg-type]

    def _no(self, what: str) -> UnsupportedFeature:
        return UnsupportedFeature(f"a {self.word} does not support {what}; use another shape")

    def _wrong(self, name: str, must: str) -> FieldError:
        value = getattr(self, name)
        return FieldError(f"{self.word}.{name}", list(value) if isinstance(value, tuple) else value, must)

    def local(self, origin: Origin, p: Array) -> Array:
        """Return a parent point p in the frame of the shape at `origin` [m], shape (3,) each."""
        return origin.R.T @ (p - np.array(origin.xyz))

    def integrals(self) -> Integrals:
        """Return volume, centroid and second moments."""
        raise self._no("volume")

    @property
    def volume(self) -> float:
        """Volume of the solid [m³]."""
        return self.integrals().volume

    def inertia(self, density: float) -> Array:
        """Return the moment of inertia about the centroid [kg·m²], shape (3, 3), for a density [kg/m³]."""
        return self.integrals().inertia(density)

    @property
    def half_size(self) -> Array:
        """Half extents of the bounding box with centre `center` [m], shape (3,)."""
        raise self._no("size")

    @property
    def center(self) -> Array:
        """Centre of the bounding box [m], shape (3,)."""
        return np.zeros(3)

    def inside(self, points: Array) -> Array:
        """Return True for each inside point, for points [m], (n, 3), as an array of shape (n,)."""
        raise self._no("inside")

    def support(self, direction: Array) -> Array:
        """Return the farthest point of the shape along a direction (3,) of any nonzero length [m], shape (3,)."""
        raise self._no("support point")

    def distance(self, x: Array, down: Array = UP) -> tuple[Scalar, Array]:
        """Return the exact signed distance of a point x (3,) from the surface [m], negative inside, and the outward normal.

        If several points are nearest, one of them is used. Only height fields use `down`, shape (3,).
        """
        raise self._no("distance")

    def ray(self, x: Array, direction: Array, down: Array = UP) -> Scalar:
        """Return the distance along a ray from x (3,) to its entry into the solid [m]; infinite without an entry."""
        raise self._no("ray")

    def elevation(self, origin: Origin, x: Array, y: Array, down: Array) -> Array:
        """Return the height of the surface at coordinates x, y of the parent [m], positive up; −inf without a surface.

        Coordinates are numbers or symbols of any shape. The shape has the pose `origin`; `down` (3,) is along z of the
        parent.
        """
        R, start = origin.R, np.array(origin.xyz) + ABOVE * down
        places = np.stack([x, y, np.zeros(np.shape(x))], axis=-1).reshape(-1, 3)
        rays = [self.ray(R.T @ (p - start), R.T @ down, R.T @ down) for p in places]
        return ABOVE - np.array(rays).reshape(np.shape(x))

    def triangulate(self, sides: int = SIDES) -> Triangles:
        """Return the surface as triangles, round parts with `sides` sides; sharp edges have repeated corners, see `merged`."""
        raise self._no("surface of triangles")

    def strips(self, points: int) -> tuple[Strip, ...]:
        """Return strips along z at Gauss points."""
        raise self._no("strips")

    def faces(self, points: int) -> tuple[Face, Face, Face]:
        """Return the pairs of faces across x, y and z, with the specified number of Gauss points along each edge."""
        raise self._no("faces")

    def projected_area(self) -> Array:
        """Return the projected area along x, y and z [m²], shape (3,)."""
        raise self._no("projected area")

    def cells(self) -> tuple[Cell, ...]:
        """Return the parts for intersection with the free surface."""
        raise self._no("wet part in closed form")

    def wet(self, n: Array, x: Scalar) -> tuple[Scalar, Array, Scalar]:
        """Return ∂P/∂x, ∂P/∂n (3,) and P = E[max(x + n·ξ, 0)] for the centre at depth x [m] and n (3,) down.

        ξ is uniform in the shape. ∂P/∂x is the fraction of the volume below the surface, and ∂P/∂n is the first moment of
        this part divided by the volume.
        """
        raise self._no("wet part in closed form")

    def wet_rate(self, n: Array, x: Scalar, n_rate: Array, x_rate: Scalar) -> Scalar:
        """Return the rate of ∂P/∂x of `wet` [1/s] for rates of n [1/s], shape (3,), and of x [m/s]."""
        raise self._no("wet part in closed form")


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A shape placed in a parent frame: on a body, or in the world."""

    shape: Shape
    """Shape in its local frame."""
    origin: Origin = field(default_factory=Origin)
    """Pose of the shape frame in the parent frame."""

    def __post_init__(self) -> None:
        if isinstance(self.shape, Placed) and self.origin == Origin():
            object.__setattr__(self, "origin", self.shape.origin)
            object.__setattr__(self, "shape", self.shape.shape)
        if not isinstance(self.shape, Shape):
            raise FieldError("shape", self.shape, "must be a shape of hydromechs.geometry, such as geometry.Sphere(radius=0.1)")

    @property
    def ends(self) -> tuple[Array, Array]:
        """Centres of the lower and upper end faces of a cylinder, or caps of a capsule, in parent axes [m], shape (3,) each."""
        half = 0.5 * self.shape.length * self.origin.R[:, 2]  # type: ignore[attr-defined]
        return np.array(self.origin.xyz) - half, np.array(self.origin.xyz) + half

    def integrals(self) -> Integrals:
        """Return volume, centroid and second moments in parent axes."""
        return self.shape.integrals().moved(self.origin.R, np.array(self.origin.xyz))

    def inside(self, points: Array) -> Array:
        """Return True for each inside point, for points of the parent [m], (n, 3), as an array of shape (n,)."""
        return self.shape.inside((points - np.array(self.origin.xyz)) @ self.origin.R)

    def support(self, direction: Array) -> Array:
        """Return the farthest point along a nonzero direction (3,), both in parent axes [m], shape (3,)."""
        R = self.origin.R
        return R @ self.shape.support(R.T @ np.asarray(direction)) + self.origin.xyz

    def distance(self, p: Array, down: Array = UP) -> tuple[Scalar, Array]:
        """Return the signed distance of a parent point, and its gradient, in parent axes; see `Shape.distance`."""
        R = self.origin.R
        value, n = self.shape.distance(self.shape.local(self.origin, p), R.T @ down)
        return value, R @ n

    def ray(self, p: Array, direction: Array, down: Array = UP) -> Scalar:
        """Return the distance along a ray to the solid, with the ray in parent axes; see `Shape.ray`."""
        R = self.origin.R
        return self.shape.ray(self.shape.local(self.origin, p), R.T @ direction, R.T @ down)

    def elevation(self, x: Array, y: Array, down: Array) -> Array:
        """Return the height of the surface, positive up, at several coordinates of the parent; see `Shape.elevation`."""
        return self.shape.elevation(self.origin, x, y, down)

    def triangulate(self, sides: int = SIDES) -> Triangles:
        """Return the surface as triangles in parent axes; round parts have `sides` sides."""
        return self.shape.triangulate(sides).moved(self.origin.R, self.origin.xyz)


# -- closed forms --------------------------------------------------------------------------------------------------------


def sphere_distance(x: Array, radius: Scalar) -> tuple[Scalar, Array]:
    """Return the signed distance [m] of a point (3,) from a sphere about the origin, and the outward normal."""
    x = np.array([x[0], x[1], x[2] + NUDGE])  # keeps the normal defined at the centre
    size = norm(x)
    return size - radius, x / size


def box_distance(x: Array | Sequence[Scalar], half: Sequence[Scalar]) -> tuple[Scalar, Array]:
    """Return the signed distance [m] of a point (n,) from the box |x_i| ≤ half_i in n dimensions, and the outward normal.

    The distance is to the nearest point outside the box, and to the nearest face inside the box.
    """
    over = [abs(a) - b for a, b in zip(x, half, strict=True)]
    sign = [1.0 - 2.0 * (a < 0.0) for a in x]
    beyond = [positive_part(a) for a in over]
    size = norm((*beyond, NUDGE))
    deepest = over[0]
    for a in over[1:]:
        deepest = where(a > deepest, a, deepest)
    outside = deepest > 0.0
    free, normal = 1.0, []
    for a, b, s in zip(over, beyond, sign, strict=True):
        nearest = free * (a >= deepest)  # the first, if several are equal
        free = free - nearest
        normal.append(s * where(outside, b / size, nearest))
    return where(outside, size, deepest), np.array(normal)


Interval = tuple[Scalar, Scalar]
"""Interval of the distances along a ray that are inside a solid; empty if the end is below the start."""


def slab(x: Scalar, d: Scalar, half: Scalar) -> Interval:
    """Return the interval of a ray in a slab, |x + r d| ≤ half."""
    d = where(abs(d) < PARALLEL, PARALLEL, d)
    first, second = (-half - x) / d, (half - x) / d
    return minimum(first, second), maximum(first, second)


def pipe(x: Scalar, y: Scalar, dx: Scalar, dy: Scalar, radius: Scalar) -> Interval:
    """Return the interval of a ray in a cylinder, |(x, y) + r (dx, dy)| ≤ radius: a r² + 2 k r + ρ² − R² ≤ 0."""
    a = maximum(dx * dx + dy * dy, PARALLEL**2)
    k = x * dx + y * dy
    inside = k * k - a * (x * x + y * y - radius**2)
    half = np.sqrt(maximum(inside, 0.0))
    return where(inside >= 0.0, (-k - half) / a, math.inf), (-k + half) / a


def ball(x: Array, d: Array, radius: Scalar) -> Interval:
    """Return the interval of a ray in a sphere, |x + r d| ≤ R with unit vector d: −x·d ∓ √(R² − |x⊥|²), x⊥ ⊥ d."""
    along = x @ d
    across = x - along * d
    inside = radius**2 - across @ across
    half = np.sqrt(maximum(inside, 0.0))
    return where(inside >= 0.0, -along - half, math.inf), -along + half


def overlap(*parts: Interval) -> Interval:
    """Return the intersection of several intervals."""
    begin, end = parts[0]
    for a, b in parts[1:]:
        begin, end = maximum(begin, a), minimum(end, b)
    return begin, end


def first_entry(*parts: Interval) -> Scalar:
    """Return the distance along a ray to the first of several parts [m]; infinite from inside a part or without a hit."""
    met = [where((begin <= end) * (begin >= 0.0), begin, math.inf) for begin, end in parts]
    out = met[0]
    for r in met[1:]:
        out = minimum(out, r)
    for begin, end in parts if len(parts) > 1 else ():
        out = where((begin < 0.0) * (end >= 0.0), math.inf, out)
    return out
