"""Cylinders, tubes and capsules."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hydromechs.spatial import clamp, maximum, norm
from hydromechs.values import Array, Positive, Scalar

from ._box import ROUNDING, Size, gauss
from ._ellipsoid import Ellipsoid
from ._origin import Origin
from ._shape import NUDGE, UP, Cell, Placed, Shape, Strip, ball, box_distance, first_entry, overlap, pipe, slab, sphere_distance
from ._triangles import SIDES, Integrals, Triangles, revolved

INSIDE = 1.0 - 1e-12
"""Bound on the argument of arcsines, at which the slope is still finite."""


def _between(cls: Any, start: Sequence[float], end: Sequence[float], fields: dict[str, Any]) -> Placed:
    length = math.dist(start, end)
    if not length:
        raise ValueError(f"both ends of the {cls.__name__.lower()} are at {list(start)}; separate the ends")
    middle = [0.5 * (a + b) for a, b in zip(start, end, strict=True)]
    direction = [b - a for a, b in zip(start, end, strict=True)]
    return Placed(shape=cls(length=length, **fields), origin=Origin.pointing(middle, direction))


@dataclass(frozen=True, kw_only=True)
class Cylinder(Shape):
    """A cylinder or tube along z, centred at the origin."""

    radius: Positive
    """Radius [m]."""
    length: Positive
    """Length along z [m]."""
    bore: Size = 0.0
    """Radius of an axial hole, below `radius`; for a tube or a ring [m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bore >= self.radius:
            raise self._wrong("bore", f"must be below the radius of {self.radius:g}")

    @classmethod
    def between(cls, start: Sequence[float], end: Sequence[float], **fields: Any) -> Placed:
        """Return a cylinder between the centres of two end faces [m], shape (3,) each; `fields`: radius, optional bore."""
        return _between(cls, start, end, fields)

    @classmethod
    def along(cls, axis: str, start: float, end: float, **fields: Any) -> Placed:
        """Return a cylinder along axis "x", "y" or "z" from `start` to `end` [m]; `fields`: radius, optional bore."""
        if axis not in ("x", "y", "z"):
            raise ValueError(f"axis is {axis!r}, must be 'x', 'y' or 'z'")
        first, last = ([s if axis == a else 0.0 for a in "xyz"] for s in (start, end))
        return _between(cls, first, last, fields)

    def integrals(self) -> Integrals:
        r, b, l = self.radius, self.bore, self.length
        volume = math.pi * (r**2 - b**2) * l
        across = (r**2 + b**2) / 4.0
        return Integrals(volume, np.zeros(3), volume * np.diag([across, across, l**2 / 12.0]))

    @property
    def half_size(self) -> Array:
        return np.array([self.radius, self.radius, 0.5 * self.length])

    def inside(self, points: Array) -> Array:
        rho = np.hypot(points[:, 0], points[:, 1])
        return (rho <= self.radius) & (rho >= self.bore) & (np.abs(points[:, 2]) <= 0.5 * self.length)

    def support(self, direction: Array) -> Array:
        across = float(np.hypot(direction[0], direction[1]))
        out = self.radius * np.asarray(direction[:2]) / across if across else np.array([self.radius, 0.0])
        return np.array([*out, math.copysign(0.5 * self.length, direction[2])])

    def distance(self, x: Array, down: Array = UP) -> tuple[Scalar, Array]:
        """Return signed distance and normal, computed for a rectangle in the plane of radial and axial coordinates."""
        x0 = x[0] + NUDGE
        rho = norm((x0, x[1]))
        wall = self.radius if not self.bore else 0.5 * (self.radius - self.bore)
        from_wall = rho if not self.bore else rho - 0.5 * (self.radius + self.bore)
        value, (n_rho, n_z) = box_distance((from_wall, x[2]), (wall, 0.5 * self.length))
        return value, np.array([n_rho * x0 / rho, n_rho * x[1] / rho, n_z])

    def ray(self, x: Array, direction: Array, down: Array = UP) -> Scalar:
        """Return the distance along a ray to the outer surface, the end faces or the bore."""
        d = direction
        whole = overlap(pipe(x[0], x[1], d[0], d[1], self.radius), slab(x[2], d[2], 0.5 * self.length))
        if not self.bore:
            return first_entry(whole)
        into, out = pipe(x[0], x[1], d[0], d[1], self.bore)
        before, behind = overlap(whole, (-math.inf, into)), overlap(whole, (out, math.inf))
        return first_entry(before, behind)

    def triangulate(self, sides: int = SIDES) -> Triangles:
        r, b, h = self.radius, self.bore, 0.5 * self.length
        if b:
            return revolved([(b, -h), (r, -h), (r, h), (b, h), (b, -h)], sides, sharp=True)
        return revolved([(0.0, -h), (r, -h), (r, h), (0.0, h)], sides, sharp=True)

    def strips(self, points: int) -> tuple[Strip, ...]:
        half = 0.5 * self.length
        return tuple(Strip(half * x, half * w, 2.0 * self.radius) for x, w in zip(*gauss(points), strict=True))

    def projected_area(self) -> Array:
        side = 2.0 * self.radius * self.length
        return np.array([side, side, np.pi * (self.radius**2 - self.bore**2)])

    def cells(self) -> tuple[Cell, ...]:
        """Return the solid cylinder, and the bore as a hole."""
        half, middle = 0.5 * self.length, (0.0, 0.0, 0.0)
        volume = 2.0 * math.pi * self.radius**2 * half
        if not self.bore:
            return (Cell(self, middle, volume),)
        whole, hole = (Cylinder(radius=r, length=self.length) for r in (self.radius, self.bore))
        return Cell(whole, middle, volume), Cell(hole, middle, -2.0 * math.pi * self.bore**2 * half)

    def wet(self, n: Array, x: Scalar) -> tuple[Scalar, Array, Scalar]:
        """Return ∂P/∂x, ∂P/∂n and P without a bore; with F₁(y) = E[max(y + b u₂, 0)] of a disc and its integral F₂:

        P = (F₂(x + a) − F₂(x − a))/2a,   ∂P/∂x = (F₁(x + a) − F₁(x − a))/2a
        """
        half, r = 0.5 * self.length, self.radius
        a, b = self._extents(n)
        y = clamp(x, -(a + b), a + b)
        (low1, low2, low_b), (high1, high2, high_b) = _disc(y - a, b), _disc(y + a, b)
        scale = 0.5 / a
        P = scale * (high2 - low2)
        P_a = scale * (high1 + low1) - P / a
        P_b = scale * (high_b - low_b)
        first = np.array([P_b / b * r**2 * n[0], P_b / b * r**2 * n[1], P_a / a * half**2 * n[2]])
        return scale * (high1 - low1), first, P + maximum(x - (a + b), 0.0)

    def wet_rate(self, n: Array, x: Scalar, n_rate: Array, x_rate: Scalar) -> Scalar:
        """Return the time derivative of (F₁(x + a) − F₁(x − a))/2a from the derivatives `_disc_rates`."""
        half, r = 0.5 * self.length, self.radius
        a, b = self._extents(n)
        a_rate = half**2 * n[2] * n_rate[2] / a
        b_rate = r**2 * (n[0] * n_rate[0] + n[1] * n_rate[1]) / b
        y = clamp(x, -(a + b), a + b)
        (low_y, low_b), (high_y, high_b) = _disc_rates((y - a) / b), _disc_rates((y + a) / b)
        wet = 0.5 / a * (_disc(y + a, b)[0] - _disc(y - a, b)[0])
        change = high_y * (x_rate + a_rate) - low_y * (x_rate - a_rate) + (high_b - low_b) * b_rate
        return (0.5 * change - wet * a_rate) / a

    def _extents(self, n: Array) -> tuple[Scalar, Scalar]:
        """Return the half extents of axis and disc along n, regularised because they can vanish."""
        half, r = 0.5 * self.length, self.radius
        small = (ROUNDING * min(half, r)) ** 2
        return np.sqrt(half**2 * n[2] * n[2] + small), np.sqrt(r**2 * (n[0] * n[0] + n[1] * n[1]) + small)


def _disc(y: Scalar, b: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return F₁ = b g₁, F₂ = b² g₂ and ∂F₂/∂b = 2 b g₂ − y g₁ at s = y/b; with c = √(1 − s²) and −1 ≤ s ≤ 1

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


def _disc_rates(s: Scalar) -> tuple[Scalar, Scalar]:
    """Return ∂F₁/∂y and ∂F₁/∂b at s = y/b, see `_disc`.

    ∂F₁/∂y = 1/2 + (asin s + s c)/π is the fraction of the disc below y, and ∂F₁/∂b = 2/3 c³/π.
    """
    s = clamp(s, -INSIDE, INSIDE)
    c = np.sqrt(1.0 - s * s)
    return 0.5 + (np.arcsin(s) + s * c) / math.pi, (2.0 / 3.0 / math.pi) * (c * c * c)


@dataclass(frozen=True, kw_only=True)
class Capsule(Shape):
    """A cylinder along z with hemispherical caps, centred at the origin."""

    radius: Positive
    """Radius [m]."""
    length: Positive
    """Length along z between the centres of the caps [m]."""

    @classmethod
    def between(cls, start: Sequence[float], end: Sequence[float], **fields: Any) -> Placed:
        """Return a capsule between the centres of two caps [m], shape (3,) each; `fields`: radius."""
        return _between(cls, start, end, fields)

    def integrals(self) -> Integrals:
        r, l = self.radius, self.length
        tube, round_ = math.pi * r**2 * l, 4.0 / 3.0 * math.pi * r**3
        across = tube * r**2 / 4.0 + round_ * r**2 / 5.0
        # each hemisphere: r²/5 about the flat face, centroid at 3r/8, offset l/2
        along = tube * l**2 / 12.0 + round_ * (r**2 / 5.0 + 2.0 * 0.5 * l * 3.0 * r / 8.0 + l**2 / 4.0)
        return Integrals(tube + round_, np.zeros(3), np.diag([across, across, along]))

    @property
    def half_size(self) -> Array:
        return np.array([self.radius, self.radius, 0.5 * self.length + self.radius])

    def inside(self, points: Array) -> Array:
        beyond = np.maximum(np.abs(points[:, 2]) - 0.5 * self.length, 0.0)
        return np.square(points[:, :2]).sum(axis=1) + beyond**2 <= self.radius**2

    def support(self, direction: Array) -> Array:
        d = np.asarray(direction) / np.linalg.norm(direction)
        return self.radius * d + np.array([0.0, 0.0, math.copysign(0.5 * self.length, d[2])])

    def distance(self, x: Array, down: Array = UP) -> tuple[Scalar, Array]:
        """Return signed distance and normal of a sphere at the nearest point of the axis."""
        half = 0.5 * self.length
        return sphere_distance(np.array([x[0], x[1], x[2] - clamp(x[2], -half, half)]), self.radius)

    def ray(self, x: Array, direction: Array, down: Array = UP) -> Scalar:
        """Return the distance along a ray to the cylindrical part or to the caps."""
        d, half = direction, 0.5 * self.length
        tube = overlap(pipe(x[0], x[1], d[0], d[1], self.radius), slab(x[2], d[2], half))
        caps = [ball(x - np.array([0.0, 0.0, z]), d, self.radius) for z in (-half, half)]
        return first_entry(tube, *caps)

    def triangulate(self, sides: int = SIDES) -> Triangles:
        angle = np.linspace(-np.pi / 2, 0.0, sides // 4 + 1)
        low = np.stack([self.radius * np.cos(angle), self.radius * np.sin(angle) - 0.5 * self.length], axis=1)
        return revolved(np.concatenate([low, low[::-1] * [1.0, -1.0]]), sides)

    def projected_area(self) -> Array:
        side = 2.0 * self.radius * self.length + np.pi * self.radius**2
        return np.array([side, side, np.pi * self.radius**2])

    def cells(self) -> tuple[Cell, ...]:
        """Return a cylinder and two ellipsoids; each ellipsoid has the volume, centroid and second moments of a hemisphere."""
        r, half = self.radius, 0.5 * self.length
        # a hemisphere has its centroid at 3/8 r from its plane and second moment r²/5 about the plane; an ellipsoid (half
        # axis)²/5
        end = Ellipsoid(axes=(r, r, r * math.sqrt(1.0 - 5.0 * 9.0 / 64.0)))
        caps = [Cell(end, (0.0, 0.0, side * (half + 0.375 * r)), 2.0 / 3.0 * math.pi * r**3) for side in (-1.0, 1.0)]
        barrel = Cell(Cylinder(radius=r, length=self.length), (0.0, 0.0, 0.0), 2.0 * math.pi * r**2 * half)
        return barrel, *caps
