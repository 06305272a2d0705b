"""Spheres and ellipsoids."""

import math
from dataclasses import dataclass

import numpy as np

from hydromechs.spatial import clamp, maximum, norm
from hydromechs.values import Array, Edges, Positive, Scalar

from ._shape import NUDGE, UP, Cell, Shape, ball, first_entry, sphere_distance
from ._triangles import SIDES, Integrals, Triangles, revolved

NEWTON = 10
"""Number of Newton steps to the nearest point of an ellipsoid; six give full accuracy for axis ratios up to 100."""


@dataclass(frozen=True, kw_only=True)
class Ellipsoid(Shape):
    """An ellipsoid centred at the origin."""

    axes: Edges
    """Semi-axes along x, y, z [m], shape (3,)."""

    def integrals(self) -> Integrals:
        """Return volume, centroid and second moments, V = 4/3 π abc and V a²/5 etc."""
        volume = 4.0 / 3.0 * math.pi * math.prod(self.axes)
        return Integrals(volume, np.zeros(3), np.diag(volume * np.square(self.axes) / 5.0))

    @property
    def half_size(self) -> Array:
        return np.array(self.axes)

    def inside(self, points: Array) -> Array:
        return np.square(points / self.half_size).sum(axis=1) <= 1.0

    def support(self, direction: Array) -> Array:
        """Return the farthest point A² d/|A d|, where A contains the semi-axes."""
        stretched = self.half_size * direction
        return np.asarray(self.half_size * stretched / np.linalg.norm(stretched))

    def distance(self, x: Array, down: Array = UP) -> tuple[Scalar, Array]:
        """Return signed distance and normal from the nearest point a_i² x_i/(t + a_i²), with Σ (a_i x_i/(t + a_i²))² = 1.

        Newton's method for 1/√Σ = 1 converges monotonically from the initial value below (Moré and Sorensen 1983). The
        variable u = t + a_min² avoids cancellation.
        """
        a = self.axes
        least = min(a) ** 2
        more = [e * e - least for e in a]
        y = [abs(c) + NUDGE for c in x]
        u = a[0] * y[0] - more[0]
        for k in (1, 2):
            u = maximum(u, a[k] * y[k] - more[k])
        for _ in range(NEWTON):
            terms = [a[k] * y[k] / (u + more[k]) for k in range(3)]
            square = terms[0] * terms[0] + terms[1] * terms[1] + terms[2] * terms[2]
            slope = sum(terms[k] * terms[k] / (u + more[k]) for k in range(3))
            u = u + square / slope * (np.sqrt(square) - 1.0)
        n = np.array([y[k] / (u + more[k]) for k in range(3)])
        size = norm(n)
        sign = np.array([1.0 - 2.0 * (c < 0.0) for c in x])
        return (u - least) * size, sign * n / size

    def ray(self, x: Array, direction: Array, down: Array = UP) -> Scalar:
        """Return the distance along a ray, computed for the unit sphere after scaling."""
        x, d = x / np.array(self.axes), direction / np.array(self.axes)
        size = norm(d)
        begin, end = ball(x, d / size, 1.0)
        return first_entry((begin / size, end / size))

    def triangulate(self, sides: int = SIDES) -> Triangles:
        angle = np.linspace(-np.pi / 2, np.pi / 2, sides // 2 + 1)
        return revolved(np.stack([np.cos(angle), np.sin(angle)], axis=1), sides).scaled(self.axes)

    def projected_area(self) -> Array:
        a, b, c = self.axes
        return np.pi * np.array([b * c, a * c, a * b])

    def cells(self) -> tuple[Cell, ...]:
        return (Cell(self, (0.0, 0.0, 0.0), 4.0 / 3.0 * math.pi * math.prod(self.axes)),)

    def wet(self, n: Array, x: Scalar) -> tuple[Scalar, Array, Scalar]:
        squares = np.array(self.axes) ** 2
        b = np.sqrt(squares @ (n * n))
        wet, P_b, P = ellipsoid_wet(x, b)
        return wet, (P_b / b) * (squares * n), P

    def wet_rate(self, n: Array, x: Scalar, n_rate: Array, x_rate: Scalar) -> Scalar:
        squares = np.array(self.axes) ** 2
        b = np.sqrt(squares @ (n * n))
        return ellipsoid_wetting(x, b, x_rate, (squares * n) @ n_rate / b)


@dataclass(frozen=True, kw_only=True)
class Sphere(Shape):
    """A sphere centred at the origin."""

    radius: Positive
    """Radius [m]."""

    @property
    def _ellipsoid(self) -> Ellipsoid:
        return Ellipsoid.unchecked(axes=(self.radius,) * 3)

    def integrals(self) -> Integrals:
        return self._ellipsoid.integrals()

    @property
    def half_size(self) -> Array:
        return np.full(3, self.radius)

    def inside(self, points: Array) -> Array:
        return self._ellipsoid.inside(points)

    def support(self, direction: Array) -> Array:
        return np.asarray(self.radius * np.asarray(direction) / np.linalg.norm(direction))

    def distance(self, x: Array, down: Array = UP) -> tuple[Scalar, Array]:
        return sphere_distance(x, self.radius)

    def ray(self, x: Array, direction: Array, down: Array = UP) -> Scalar:
        return first_entry(ball(x, direction, self.radius))

    def triangulate(self, sides: int = SIDES) -> Triangles:
        return self._ellipsoid.triangulate(sides)

    def projected_area(self) -> Array:
        return np.array([np.pi * self.radius**2] * 3)

    def cells(self) -> tuple[Cell, ...]:
        return (Cell(self._ellipsoid, (0.0, 0.0, 0.0), 4.0 / 3.0 * math.pi * self.radius**3),)


def ellipsoid_wet(x: Scalar, b: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return ∂P/∂x, ∂P/∂b and P of an ellipsoid at depth x [m] with vertical half extent b [m], b² = Σ (b_k n_k)².

    ∂P/∂x = (1 + s)² (2 − s)/4,   ∂P/∂b = 3/16 (1 − s²)²,   P = b (1 + s)³ (3 − s)/16,   s = x/b in −1..1
    """
    s = clamp(x / b, -1.0, 1.0)
    P = b * ((1.0 + s) ** 3 * (3.0 - s) * 0.0625) + maximum(x - b, 0.0)
    return 0.25 * (1.0 + s) ** 2 * (2.0 - s), 0.1875 * (1.0 - s * s) ** 2, P


def ellipsoid_wetting(x: Scalar, b: Scalar, x_rate: Scalar, b_rate: Scalar) -> Scalar:
    """Return the time derivative of ∂P/∂x of `ellipsoid_wet` [1/s]: ¾ (1 − s²) ds/dt, s = x/b, rates of x and b [m/s]."""
    s = clamp(x / b, -1.0, 1.0)
    return 0.75 * (1.0 - s * s) * (x_rate - s * b_rate) / b
