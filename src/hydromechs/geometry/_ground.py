"""Unbounded shapes: planes and height fields."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.spatial import clamp, floor, lookup, maximum, where
from hydromechs.values import Array, Bound, Rising, Scalar

from ._origin import Origin
from ._shape import PARALLEL, UP, Placed, Shape
from ._triangles import SIDES, Triangles, grid

MAX_HEIGHTS = 250_000
"""Maximum number of heights in a field. Heights are constants of the machine code, whose compile time grows with their
number."""
RINGS = 4
"""Number of rings of coefficients around the grid of a height field: the transition to level ground, and two for the spline."""
LEVEL = 2.0
"""Distance from the edge of the grid beyond which a height field is level [cells]."""
STEPS = 12
"""Number of conservative steps along a ray over a height field before Newton's method starts."""
NEWTON = 4
"""Number of Newton steps."""
MET = 1e-6
"""Relative tolerance of the distance along a ray to a height field."""

Heights = Annotated[tuple[tuple[float, ...], ...], Bound(size=0, rows=0)]
"""Rows of finite numbers."""


@dataclass(frozen=True, kw_only=True)
class Plane(Shape):
    """A half space: solid below z = 0 of the local frame, whose z axis points out of the solid."""

    bounded = False

    @classmethod
    def through(cls, point: Sequence[float], normal: Sequence[float]) -> Placed:
        """Return the plane through a point [m] with an outward normal of any nonzero length; (0, 0, −1) is a floor in NED."""
        if not any(normal):
            raise FieldError("plane.normal", list(normal), "must not be zero; set the direction out of the solid")
        return Placed(shape=cls(), origin=Origin.pointing(point, normal))

    def local(self, origin: Origin, p: Array) -> Array:
        """Return (0, 0, z) with the height of a parent point above the plane, z = n · p − n · p₀."""
        n = origin.R[:, 2]
        return np.array([0.0, 0.0, n @ p - n @ np.array(origin.xyz)])

    def inside(self, points: Array) -> Array:
        return np.asarray(points[:, 2] <= 0.0)

    def distance(self, x: Array, down: Array = UP) -> tuple[Scalar, Array]:
        return x[2], np.array([0.0, 0.0, 1.0])

    def ray(self, x: Array, direction: Array, down: Array = UP) -> Scalar:
        """Return the distance along a ray, z/−d_z."""
        gap, closing = x[2], -direction[2]
        return where((gap >= 0.0) * (closing > PARALLEL), gap / maximum(closing, PARALLEL), math.inf)

    def elevation(self, origin: Origin, x: Array, y: Array, down: Array) -> Array:
        """Return the heights with n · (p − p₀) = 0; −inf below an overhang."""
        n, p, up = origin.R[:, 2], origin.xyz, -float(down[2])
        if n[2] * up <= 0.0:
            return np.full(np.shape(x), -np.inf)
        return np.asarray(up * p[2] - (n[0] * (x - p[0]) + n[1] * (y - p[1])) / (n[2] * up))


@dataclass(frozen=True, kw_only=True)
class HeightField(Shape):
    """A surface of heights over a grid, with cubic-spline interpolation and extrapolation.

    The curvature across an edge of the grid is zero. Outside the grid, the surface becomes level within two cells, in which
    the height changes by half of the linear extrapolation. Slope and curvature are continuous everywhere.
    """

    bounded = False

    x: Rising
    """Grid lines along x, evenly spaced, increasing [m], shape (nx,), nx at least 2."""
    y: Rising
    """Grid lines along y, evenly spaced, increasing [m], shape (ny,), ny at least 2."""
    heights: Heights
    """Heights above the mean water surface, positive up and negative under water: one row per x [m], shape (nx, ny)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("x", "y"):
            steps = np.diff(getattr(self, name))
            if not len(steps):
                raise self._wrong(name, "must contain at least two numbers")
            if np.ptp(steps) > 1e-6 * steps.mean():
                spread = f"{steps.min():g} to {steps.max():g} m"
                raise self._wrong(name, f"must be evenly spaced, but has spacings from {spread}")
        sizes = [len(row) for row in self.heights]
        if sum(sizes) > MAX_HEIGHTS:
            must = f"but must have at most {MAX_HEIGHTS} heights; resample or crop the field"
            raise FieldError(f"{self.word}.heights", f"{len(sizes)} rows", must)
        if len(sizes) != len(self.x):
            raise self._wrong("heights", f"must contain {len(self.x)} rows, one per x, but contains {len(sizes)}")
        for i, size in enumerate(sizes):
            if size != len(self.y):
                must = f"must contain {len(self.y)} numbers, one per y, but contains {size}"
                raise FieldError(f"{self.word}.heights", list(self.heights[i]), f"{must} in row {i}")

    @cached_property
    def spacing(self) -> tuple[float, float]:
        """Distance between grid lines along x and y [m]."""
        x, y = self.x, self.y
        return (x[-1] - x[0]) / (len(x) - 1), (y[-1] - y[0]) / (len(y) - 1)

    @cached_property
    def coefficients(self) -> tuple[float, ...]:
        """Cubic B-spline coefficients with rings around the grid, row-major [m], shape ((nx + 2 rings) (ny + 2 rings),)."""
        return tuple(_spline_coefficients(_spline_coefficients(np.array(self.heights)).T).T.ravel().tolist())

    @cached_property
    def slopes(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Bounds of the slopes along x and y [-]: extreme differences of coefficients divided by the spacing."""
        c = np.reshape(self.coefficients, (len(self.x) + 2 * RINGS, -1))
        steps = [np.diff(c, axis=axis) / spacing for axis, spacing in enumerate(self.spacing)]
        return (float(steps[0].min()), float(steps[0].max())), (float(steps[1].min()), float(steps[1].max()))

    def inside(self, points: Array) -> Array:
        return np.asarray(points[:, 2] <= self.heights_at(points[:, 0], points[:, 1]))

    def distance(self, x: Array, down: Array = UP) -> tuple[Scalar, Array]:
        """Return the distance from the tangent plane at the point below, (z − h)/√(1 + h_x² + h_y²), and its gradient.

        Away from the surface the norm of the gradient differs from 1 by about distance · curvature · slope.
        """
        h, hx, hy, hxx, hxy, hyy = self.height_and_slopes(x)
        above = -(down @ x) - h
        cosine = 1.0 / np.sqrt(1.0 + hx * hx + hy * hy)
        bend = -above * cosine * cosine
        gx = bend * (hx * hxx + hy * hxy) - hx
        gy = bend * (hx * hxy + hy * hyy) - hy
        return above * cosine, cosine * (np.array([gx, gy, 0.0]) - down)

    def ray(self, x: Array, direction: Array, down: Array = UP) -> Scalar:
        """Return the distance along a ray, by conservative steps of height / steepest approach, then Newton's method."""
        b = direction
        (x_least, x_most), (y_least, y_most) = self.slopes
        steepest = down @ b + maximum(x_least * b[0], x_most * b[0]) + maximum(y_least * b[1], y_most * b[1])
        fastest = maximum(steepest, PARALLEL)
        r: Scalar = 0.0
        for k in range(STEPS + NEWTON):
            p = x + r * b
            h, hx, hy, *_ = self.height_and_slopes(p)
            above = -(down @ p) - h
            closing = fastest if k < STEPS else maximum(down @ b + hx * b[0] + hy * b[1], 0.1 * fastest)
            step = above / closing
            r = r + step
            if k == 0:
                starts = above >= 0.0
        meets = starts * (steepest > PARALLEL) * (abs(step) <= MET * r)
        return where(meets * (r >= 0.0), r, math.inf)

    def triangulate(self, sides: int = SIDES) -> Triangles:
        """Return the surface over the grid as triangles, with z up."""
        return grid(np.array(self.x), np.array(self.y), np.array(self.heights))

    def height_and_slopes(self, p: Array) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]:
        """Return the height h at x and y of a point (3,) [m], and its derivatives h_x, h_y [-], h_xx, h_xy, h_yy [1/m]."""
        (x0, dx), (y0, dy) = ((a[0], s) for a, s in zip((self.x, self.y), self.spacing, strict=True))
        u = clamp((p[0] - x0) / dx, -LEVEL, len(self.x) - 1.0 + LEVEL)  # the surface is level there, so clamping causes no kink
        w = clamp((p[1] - y0) / dy, -LEVEL, len(self.y) - 1.0 + LEVEL)
        i, j = floor(u), floor(w)
        row = len(self.y) + 2.0 * RINGS
        at = (i + RINGS) * row + (j + RINGS)
        c = [[lookup(self.coefficients, at + (a * row + b)) for a in (-1, 0, 1, 2)] for b in (-1, 0, 1, 2)]
        along_x = [_cubic(four, u - i) for four in c]  # value, slope, curvature by x at four y
        h, hy, hyy = _cubic([a[0] for a in along_x], w - j)
        hx, hxy, _ = _cubic([a[1] for a in along_x], w - j)
        hxx, _, _ = _cubic([a[2] for a in along_x], w - j)
        return h, hx / dx, hy / dy, hxx / (dx * dx), hxy / (dx * dy), hyy / (dy * dy)

    def elevation(self, origin: Origin, x: Array, y: Array, down: Array) -> Array:
        """Return the heights; the frame of the field equals the parent frame."""
        if np.asarray(x).dtype != object:
            return self.heights_at(x, y)
        heights = [self.height_and_slopes(np.array([a, b, 0.0]))[0] for a, b in zip(np.ravel(x), np.ravel(y), strict=True)]
        return np.array(heights).reshape(np.shape(x))

    def heights_at(self, x: Array, y: Array) -> Array:
        """Return the heights Σ B(u) B(w) c at x and y, arrays of equal shape [m]."""
        c = np.reshape(self.coefficients, (len(self.x) + 2 * RINGS, len(self.y) + 2 * RINGS))
        (ix, bx), (iy, by) = (_splines(a, line, s) for a, line, s in zip((x, y), (self.x, self.y), self.spacing, strict=True))
        h = np.zeros(np.shape(x))
        for k in range(4):
            for j in range(4):
                h += bx[k] * by[j] * c[ix + k, iy + j]
        return h


def _cubic(c: Sequence[Scalar], t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return value, slope and curvature at t in [0, 1] of the cubic B-spline with coefficients at −1, 0, 1 and 2."""
    back, ahead = c[0] - 2.0 * c[1] + c[2], c[1] - 2.0 * c[2] + c[3]  # curvatures at 0 and 1
    turn = ahead - back
    slope = 0.5 * (c[2] - c[0])
    value = c[1] + back / 6.0 + t * (slope + t * (0.5 * back + t * (turn / 6.0)))
    return value, slope + t * (back + 0.5 * t * turn), back + t * turn


def _spline_coefficients(h: Array) -> Array:
    """Return spline coefficients c, shape (n + 2 rings, ...), with (c_{i−1} + 4 c_i + c_{i+1}) / 6 = h_i.

    At each end, coefficients are extrapolated linearly for one interval (c_{−1} = 2 c_0 − c_1), then constant (c_{−2} =
    c_{−3} = … = c_{−1}). This gives c_0 = h_0, so that the system is tridiagonal and diagonally dominant, and needs no
    pivoting.
    """
    n = len(h)
    c = np.array(h, dtype=float)
    pivot = np.ones(n)
    for i in range(1, n - 1):  # rows of 1, 4, 1 with 6 h; the first and the last row are c = h
        above = 0.0 if i == 1 else 1.0 / pivot[i - 1]
        pivot[i] = 4.0 - above
        c[i] = 6.0 * h[i] - (c[0] if i == 1 else above * c[i - 1])
    for i in range(n - 2, 0, -1):
        c[i] = (c[i] - c[i + 1]) / pivot[i]
    return np.concatenate([[2.0 * c[0] - c[1]] * RINGS, c, [2.0 * c[-1] - c[-2]] * RINGS])


def _splines(at: Array, grid: tuple[float, ...], spacing: float) -> tuple[Array, tuple[Array, ...]]:
    """Return the index of the first of four coefficients at t, and the cubic B-splines of these four."""
    u = np.clip((at - grid[0]) / spacing, -LEVEL, len(grid) - 1.0 + LEVEL)
    i = np.floor(u)
    t = u - i
    return (i + RINGS - 1).astype(int), (
        (1.0 - t) ** 3 / 6.0,
        (3.0 * t**3 - 6.0 * t**2 + 4.0) / 6.0,
        (-3.0 * t**3 + 3.0 * t**2 + 3.0 * t + 1.0) / 6.0,
        t**3 / 6.0,
    )
