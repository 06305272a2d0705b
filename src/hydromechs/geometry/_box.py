"""Boxes with sharp or rounded edges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Annotated

import numpy as np

from hydromechs.spatial import clamp, maximum
from hydromechs.values import Array, Bound, Edges, Scalar

from ._shape import UP, Cell, Face, Interval, Shape, ball, box_distance, first_entry, overlap, pipe, slab
from ._triangles import SIDES, Integrals, Triangles, joined, quads

ROUNDING = 0.02
"""Regularisation ε of half extents that can vanish, relative to the minimum half size; the error of the wet part is below
1.3 ε [-]."""

Size = Annotated[float, Bound(least=0.0)]
"""Nonnegative length [m]."""


@cache
def gauss(points: int) -> tuple[list[float], list[float]]:
    """Return nodes and weights of Gauss quadrature on [−1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return nodes.tolist(), weights.tolist()


@dataclass(frozen=True, kw_only=True)
class Box(Shape):
    """A box centred at the origin."""

    size: Edges
    """Edge lengths along x, y, z [m], shape (3,)."""
    rounding: Size = 0.0
    """Radius of the edges, up to half of the shortest edge [m]; drag and free surface assume sharp edges."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rounding > 0.5 * min(self.size):
            raise self._wrong("rounding", f"must be at most {0.5 * min(self.size):g}, half of the shortest edge")

    @property
    def half_size(self) -> Array:
        return 0.5 * np.array(self.size)

    def integrals(self) -> Integrals:
        """Return volume, centroid and second moments, as sums over the inner box, the sides, the edges and the corners."""
        r, h = self.rounding, self.half_size
        a = h - r
        whole = 8.0 * math.prod(a.tolist()) + 4.0 / 3.0 * math.pi * r**3
        second = np.zeros(3)
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            whole += 8.0 * r * a[j] * a[k] + 2.0 * math.pi * r**2 * a[i]
            disc = (
                math.pi * r**2 * a[i] ** 2 + 8.0 / 3.0 * r**3 * a[i] + 0.25 * math.pi * r**4
            )  # ∫ x² of a disc cut into quarters that are moved apart
            second[i] = (
                8.0 / 3.0 * a[j] * a[k] * h[i] ** 3  # inner box and the sides across i
                + 8.0 / 3.0 * r * (a[j] + a[k]) * a[i] ** 3  # sides across j and k
                + 2.0 * (a[j] + a[k]) * disc  # edges along j and k
                + 2.0 / 3.0 * math.pi * r**2 * a[i] ** 3  # edges along i
                + 4.0 / 3.0 * math.pi * r**3 * a[i] ** 2
                + math.pi * r**4 * a[i]
                + 4.0 / 15.0 * math.pi * r**5  # corners
            )
        return Integrals(float(whole), np.zeros(3), np.diag(second))

    def inside(self, points: Array) -> Array:
        over = np.abs(points) - self.half_size
        if not self.rounding:
            return np.all(over <= 0.0, axis=1)
        return np.square(np.maximum(over + self.rounding, 0.0)).sum(axis=1) <= self.rounding**2

    def support(self, direction: Array) -> Array:
        d = np.asarray(direction) / np.linalg.norm(direction)
        return np.where(d < 0.0, -1.0, 1.0) * (self.half_size - self.rounding) + self.rounding * d

    def distance(self, x: Array, down: Array = UP) -> tuple[Scalar, Array]:
        """Return signed distance and normal; rounded edges offset the surface of the inner box by the radius."""
        half = [0.5 * a for a in self.size]
        if not self.rounding:
            return box_distance(x, half)
        value, n = box_distance(x, [h - self.rounding for h in half])
        return value - self.rounding, n

    def ray(self, x: Array, direction: Array, down: Array = UP) -> Scalar:
        """Return the distance along a ray; a rounded box consists of three boxes, twelve cylinders and eight spheres."""
        d, r, half = direction, self.rounding, [0.5 * a for a in self.size]

        def within(sizes: list[float]) -> Interval:
            return overlap(*(slab(x[i], d[i], sizes[i]) for i in range(3)))

        if not r:
            return first_entry(within(half))
        inner = [h - r for h in half]
        parts = [within([half[i] if i == k else inner[i] for i in range(3)]) for k in range(3)]
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            for a, b in product((-inner[i], inner[i]), (-inner[j], inner[j])):
                parts.append(overlap(pipe(x[i] - a, x[j] - b, d[i], d[j], r), slab(x[k], d[k], inner[k])))
        parts += [ball(x - np.array(corner), d, r) for corner in product(*((-a, a) for a in inner))]
        return first_entry(*parts)

    def triangulate(self, sides: int = SIDES) -> Triangles:
        half, r = self.half_size, self.rounding
        # each face is a grid with denser lines at its edges; points move to the distance `rounding` from the inner box
        steps = np.sin(np.linspace(0.0, np.pi / 2, 4)) if r else np.array([1.0])
        parts = []
        for axis in range(3):
            a, b = (axis + 1) % 3, (axis + 2) % 3
            for sign in (-1.0, 1.0):
                lines = []
                for k in (a, b):
                    ends = half[k] - r + r * steps if r else np.array([half[k]])
                    lines.append(np.concatenate([-ends[::-1], ends]))
                n = len(lines[0])
                points = np.zeros((n * n, 3))
                points[:, a], points[:, b] = (m.ravel() for m in np.meshgrid(*lines, indexing="ij"))
                points[:, axis] = sign * half[axis]
                if r:
                    core = np.clip(points, r - half, half - r)
                    out = points - core
                    points = core + r * out / np.linalg.norm(out, axis=1, keepdims=True)
                faces = quads(n, n)
                parts.append(Triangles(points, faces if sign > 0 else faces[:, ::-1]))
        return joined(parts)

    def faces(self, points: int) -> tuple[Face, Face, Face]:
        nodes, weights = gauss(points)
        half = [0.5 * edge for edge in self.size]
        stations = [tuple(h * node for node in nodes) for h in half]
        out = []
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            face = half[i] * half[j]
            out.append(Face(stations[i], stations[j], tuple(tuple(face * a * b for b in weights) for a in weights)))
        return out[0], out[1], out[2]

    def projected_area(self) -> Array:
        """Return the areas of the faces without rounded corners [m²], shape (3,)."""
        x, y, z = self.size
        return np.array([y * z, x * z, x * y]) - (4.0 - math.pi) * self.rounding**2

    def cells(self) -> tuple[Cell, ...]:
        x, y, z = (0.5 * s for s in self.size)
        return (Cell(self, (0.0, 0.0, 0.0), 8.0 * math.prod((x, y, z))),)

    def wet(self, n: Array, x: Scalar) -> tuple[Scalar, Array, Scalar]:
        """Return ∂P/∂x, ∂P/∂n and P = Σ ± (x ± a ± b ± c)₊⁴/(24 · 8abc); the leading sign is the product of the other signs."""
        half, a = self._extents(n)
        reach = a[0] + a[1] + a[2]
        y = clamp(x, -reach, reach)
        quartic = cubic = 0.0
        by: list = [0.0, 0.0, 0.0]
        for signs in product((1.0, -1.0), repeat=3):
            sign = math.prod(signs)
            z = maximum(y + signs[0] * a[0] + signs[1] * a[1] + signs[2] * a[2], 0.0)
            third = z * z * z
            cubic = cubic + sign * third
            quartic = quartic + sign * (third * z)
            by = [by[k] + (sign * signs[k]) * third for k in range(3)]
        scale = 1.0 / (48.0 * (a[0] * a[1] * a[2]))
        P = 0.25 * scale * quartic
        first = np.array([(scale * by[k] - P / a[k]) / a[k] * half[k] ** 2 * n[k] for k in range(3)])
        return scale * cubic, first, P + maximum(x - reach, 0.0)

    def wet_rate(self, n: Array, x: Scalar, n_rate: Array, x_rate: Scalar) -> Scalar:
        """Return the time derivative of ∂P/∂x = Σ ± (x ± a ± b ± c)₊³/(48 abc)."""
        half, a = self._extents(n)
        a_rate = half**2 * n * n_rate / a
        reach = a[0] + a[1] + a[2]
        y = clamp(x, -reach, reach)
        cubic = change = 0.0
        for signs in product((1.0, -1.0), repeat=3):
            sign = math.prod(signs)
            z = maximum(y + signs[0] * a[0] + signs[1] * a[1] + signs[2] * a[2], 0.0)
            cubic = cubic + sign * (z * z * z)
            along = x_rate + signs[0] * a_rate[0] + signs[1] * a_rate[1] + signs[2] * a_rate[2]
            change = change + (3.0 * sign) * (z * z) * along
        scale = 1.0 / (48.0 * (a[0] * a[1] * a[2]))
        return scale * (change - cubic * (a_rate[0] / a[0] + a_rate[1] / a[1] + a_rate[2] / a[2]))

    def _extents(self, n: Array) -> tuple[Array, Array]:
        """Return the half edges and the half extents along n, regularised because these can vanish."""
        half = np.array(tuple(0.5 * s for s in self.size))
        return half, np.sqrt((half * n) ** 2 + (ROUNDING * min(0.5 * s for s in self.size)) ** 2)
