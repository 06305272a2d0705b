"""Base class of shapes, and closed forms that several shapes use."""

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
"""Negligible relative to any length above 1e-134 m; its square keeps divisions by a length finite."""
PARALLEL = 1e-12
"""Minimum magnitude of a direction component used as a divisor."""
ABOVE = 1e4
"""Height from which vertical rays start [m]."""
UP = np.array([0.0, 0.0, -1.0])
"""Downward direction in a frame whose z axis points up."""
UP.flags.writeable = False


class Strip(NamedTuple):
    """A short piece of a slender shape."""

    z: Scalar
    """Position of its middle along z [m]."""
    length: Scalar
    """Length along z [m]."""
    width: Scalar
    """Width across the flow [m]."""


class Face(NamedTuple):
    """A pair of opposite faces as Gauss points."""

    i: tuple[Scalar, ...]
    """Points along the axis after the faces' normal [m]."""
    j: tuple[Scalar, ...]
    """Points along the axis after that [m]."""
    areas: tuple[tuple[Scalar, ...], ...]
    """Area of each point, by i, then j [m²]; they sum to the area of one face."""


LARGEST = 1e9
"""Largest dimension of a shape [m], so that fifth powers, as in second moments, cannot overflow."""


def _largest(value: Any) -> float:
    """Return the largest absolute value of a number, a row, or rows of any lengths."""
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return max(map(_largest, value))
    return float(np.abs(np.asarray(value, dtype=float)).max(initial=0.0))


class Cell(NamedTuple):
    """A part of a shape with a closed form for its volume below a plane: an ellipsoid, a cylinder or a box."""

    shape: Shape
    """The part; it has `wet` and `wet_rate`."""
    offset: tuple[float, float, float]
    """Its centre in the frame of the shape [m], shape (3,); the axes are parallel."""
    volume: Scalar
    """Its volume [m³]; negative for a hole."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A solid in its own frame: centred, with its axis along z. An `Origin` places it elsewhere.

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
        """Return a shape from all its fields, which may be symbols, without checks."""
        new = object.__new__(cls)
        for name, value in fields.items():
            object.__setattr__(new, name, value)
        return new

    bounded: ClassVar[bool] = True
    """True if it has a finite size and volume."""

    @property
    def word(self) -> str:
        """Name of its class in messages, such as "height field"."""
        name = type(self).__name__
        return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()

    def at(self, xyz: Sequence[float] = (0.0, 0.0, 0.0), rpy: Sequence[float] = (0.0, 0.0, 0.0)) -> Placed:
        """Return the shape at a position [m], shape (3,), with roll, pitch, yaw [rad], shape (3,)."""
        return Placed(shape=self, origin=Origin(tuple(xyz), tuple(rpy)))  # type: ignore[arg-type]

    def _no(self, what: str) -> UnsupportedFeature:
        return UnsupportedFeature(f"a {self.word} has no {what}; use a shape that has one")

    def _wrong(self, name: str, must: str) -> FieldError:
        value = getattr(self, name)
        return FieldError(f"{self.word}.{name}", list(value) if isinstance(value, tuple) else value, must)

    def local(self, origin: Origin, p: Array) -> Array:
        """Return a point p of the parent in the frame of the shape, which is at `origin` there [m], shape (3,) each."""
        return origin.R.T @ (p - np.array(origin.xyz))

    def integrals(self) -> Integrals:
        """Return volume, centroid and second moments."""
        raise self._no("volume")

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        return self.integrals().volume

    def inertia(self, density: float) -> Array:
        """Return the moment of inertia about the centroid [kg·m²], shape (3, 3), for a density [kg/m³]."""
        return self.integrals().inertia(density)

    @property
    def half_size(self) -> Array:
        """Half extents of its bounding box, whose centre is `center` [m], shape (3,)."""
        raise self._no("size")

    @property
    def center(self) -> Array:
        """Centre of its bounding box [m], shape (3,)."""
        return np.zeros(3)

    def inside(self, points: Array) -> Array:
        """Return True for points inside [m], (n, 3), as an array of shape (n,)."""
        raise self._no("inside")

    def support(self, direction: Array) -> Array:
        """Return the point of the shape that is farthest along a direction (3,) of any nonzero length [m], shape (3,)."""
        raise self._no("support point")

    def distance(self, x: Array, down: Array = UP) -> tuple[Scalar, Array]:
        """Return the exact signed distance of a point x (3,) from the surface [m], negative inside, and the outward normal.

        If the nearest point is not unique, one of them is used. Only height fields use `down`, shape (3,).
        """
        raise self._no("distance")

    def ray(self, x: Array, direction: Array, down: Array = UP) -> Scalar:
        """Return the distance along a ray from x (3,) to the point where it enters the solid [m]; infinite if it does not."""
        raise self._no("ray")

    def elevation(self, origin: Origin, x: Array, y: Array, down: Array) -> Array:
        """Return the height of the surface at places x, y of the parent [m], positive up; −inf where there is none.

        Accepts numbers or symbols of any shape. The shape has the frame `origin`; `down` (3,) is along z of the parent.
        """
        R, start = origin.R, np.array(origin.xyz) + ABOVE * down
        places = np.stack([x, y, np.zeros(np.shape(x))], axis=-1).reshape(-1, 3)
        rays = [self.ray(R.T @ (p - start), R.T @ down, R.T @ down) for p in places]
        return ABOVE - np.array(rays).reshape(np.shape(x))

    def triangulate(self, sides: int = SIDES) -> Triangles:
        """Return the surface as triangles, round parts with `sides` sides; sharp edges repeat their corners, see `merged`."""
        raise self._no("surface of triangles")

    def strips(self, points: int) -> tuple[Strip, ...]:
        """Return strips along z at Gauss points."""
        raise self._no("strips")

    def faces(self, points: int) -> tuple[Face, Face, Face]:
        """Return the pairs of faces across x, y and z, with a number of Gauss points along each edge."""
        raise self._no("faces")

    def projected_area(self) -> Array:
        """Return the projected area along x, y and z [m²], shape (3,)."""
        raise self._no("projected area")

    def cells(self) -> tuple[Cell, ...]:
        """Return the parts that a free surface cuts."""
        raise self._no("wet part in closed form")

    def wet(self, n: Array, x: Scalar) -> tuple[Scalar, Array, Scalar]:
        """Return ∂P/∂x, ∂P/∂n (3,) and P = E[max(x + n·ξ, 0)], ξ uniform in the shape, its centre at depth x [m], n (3,) down.

        ∂P/∂x is the fraction of the volume below the surface, ∂P/∂n the first moment of that part over the volume.
        """
        raise self._no("wet part in closed form")

    def wet_rate(self, n: Array, x: Scalar, n_rate: Array, x_rate: Scalar) -> Scalar:
        """Return the rate of ∂P/∂x of `wet` [1/s] for rates of n [1/s], shape (3,), and x [m/s]."""
        raise self._no("wet part in closed form")


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A shape placed in a parent frame: on a body, or in the world."""

    shape: Shape
    """The shape."""
    origin: Origin = field(default_factory=Origin)
    """Frame of the shape in the parent's axes."""

    def __post_init__(self) -> None:
        if isinstance(self.shape, Placed) and self.origin == Origin():
            object.__setattr__(self, "origin", self.shape.origin)
            object.__setattr__(self, "shape", self.shape.shape)
        if not isinstance(self.shape, Shape):
            raise FieldError("shape", self.shape, "must be a shape of hydromechs.geometry, such as geometry.Sphere(radius=0.1)")

    @property
    def ends(self) -> tuple[Array, Array]:
        """Centres of the lower and upper end along z of a cylinder or capsule (of its caps), in the parent's axes [m]."""
        half = 0.5 * self.shape.length * self.origin.R[:, 2]  # type: ignore[attr-defined]
        return np.array(self.origin.xyz) - half, np.array(self.origin.xyz) + half

    def integrals(self) -> Integrals:
        """Return volume, centroid and second moments in the parent's axes."""
        return self.shape.integrals().moved(self.origin.R, np.array(self.origin.xyz))

    def inside(self, points: Array) -> Array:
        """Return True for points of the parent inside [m], (n, 3), as an array of shape (n,)."""
        return self.shape.inside((points - np.array(self.origin.xyz)) @ self.origin.R)

    def support(self, direction: Array) -> Array:
        """Return the point that is farthest along a nonzero direction (3,), both in the parent's axes [m], shape (3,)."""
        R = self.origin.R
        return R @ self.shape.support(R.T @ np.asarray(direction)) + self.origin.xyz

    def distance(self, p: Array, down: Array = UP) -> tuple[Scalar, Array]:
        """Return the signed distance of a point of the parent, and its gradient, in the parent's axes; see `Shape.distance`."""
        R = self.origin.R
        value, n = self.shape.distance(self.shape.local(self.origin, p), R.T @ down)
        return value, R @ n

    def ray(self, p: Array, direction: Array, down: Array = UP) -> Scalar:
        """Return the distance along a ray of the parent to the solid; see `Shape.ray`."""
        R = self.origin.R
        return self.shape.ray(self.shape.local(self.origin, p), R.T @ direction, R.T @ down)

    def elevation(self, x: Array, y: Array, down: Array) -> Array:
        """Return the height of its surface, positive up, at many places of the parent; see `Shape.elevation`."""
        return self.shape.elevation(self.origin, x, y, down)

    def triangulate(self, sides: int = SIDES) -> Triangles:
        """Return the surface as triangles in the parent's axes; round parts have `sides` sides."""
        return self.shape.triangulate(sides).moved(self.origin.R, self.origin.xyz)


# -- closed forms --------------------------------------------------------------------------------------------------------


def sphere_distance(x: Array, radius: Scalar) -> tuple[Scalar, Array]:
    """Return the signed distance of a point (3,) from a sphere about the origin [m], and its normal."""
    x = np.array([x[0], x[1], x[2] + NUDGE])  # keeps the normal defined at the centre
    size = norm(x)
    return size - radius, x / size


def box_distance(x: Array | Sequence[Scalar], half: Sequence[Scalar]) -> tuple[Scalar, Array]:
    """Return the signed distance of a point (n,) from the box |x_i| ≤ half_i in n dimensions [m], and its normal.

    Outside it is the distance to the nearest point, inside to the nearest face.
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
"""Return the interval of a ray that is inside; its end is below its start if it is empty."""


def slab(x: Scalar, d: Scalar, half: Scalar) -> Interval:
    """Return the interval of a ray with |x + r d| ≤ half."""
    d = where(abs(d) < PARALLEL, PARALLEL, d)
    first, second = (-half - x) / d, (half - x) / d
    return minimum(first, second), maximum(first, second)


def pipe(x: Scalar, y: Scalar, dx: Scalar, dy: Scalar, radius: Scalar) -> Interval:
    """Return the interval of a ray with |(x, y) + r (dx, dy)| ≤ radius: a r² + 2 k r + ρ² − R² ≤ 0."""
    a = maximum(dx * dx + dy * dy, PARALLEL**2)
    k = x * dx + y * dy
    inside = k * k - a * (x * x + y * y - radius**2)
    half = np.sqrt(maximum(inside, 0.0))
    return where(inside >= 0.0, (-k - half) / a, math.inf), (-k + half) / a


def ball(x: Array, d: Array, radius: Scalar) -> Interval:
    """Return the interval of a ray with |x + r d| ≤ R, d a unit vector, x⊥ ⊥ d: −x·d ∓ √(R² − |x⊥|²)."""
    along = x @ d
    across = x - along * d
    inside = radius**2 - across @ across
    half = np.sqrt(maximum(inside, 0.0))
    return where(inside >= 0.0, -along - half, math.inf), -along + half


def overlap(*parts: Interval) -> Interval:
    """Return the interval of a ray that is inside all parts."""
    begin, end = parts[0]
    for a, b in parts[1:]:
        begin, end = maximum(begin, a), minimum(end, b)
    return begin, end


def first_entry(*parts: Interval) -> Scalar:
    """Return the distance to the first of several parts along a ray [m]; infinite if it starts inside one or hits none."""
    met = [where((begin <= end) * (begin >= 0.0), begin, math.inf) for begin, end in parts]
    out = met[0]
    for r in met[1:]:
        out = minimum(out, r)
    for begin, end in parts if len(parts) > 1 else ():
        out = where((begin < 0.0) * (end >= 0.0), math.inf, out)
    return out
