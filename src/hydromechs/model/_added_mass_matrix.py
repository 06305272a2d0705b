"""Added mass from shapes.

All matrices are 6×6, linear first, about the body origin, positive. Formulas by shape:

* sphere: half the displaced mass, no added inertia in rotation (Lamb).
* ellipsoid: Lamb, Hydrodynamics, arts. 114-115. With α₀ = abc ∫₀^∞ dλ/((a²+λ)Δ) and so on, and the displaced mass m,
  the added mass along x is m_A = m α₀/(2 − α₀), and
  the added inertia about x is I_A = m/5 (b²−c²)² (γ₀−β₀) / (2(b²−c²) + (b²+c²)(β₀−γ₀)).
* cylinder: strips with ρπr² per length across the axis; along the axis 8/3 ρr³, the value of a thin disc, half at each end.
* box: published coefficients, see `box_coefficients`.
"""

from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from hydromechs.errors import UnsupportedFeature
from hydromechs.geometry import Box, Cylinder, Ellipsoid, Origin, Placed, Sphere
from hydromechs.spatial import Path, Turn, axis_frame
from hydromechs.values import Array, Scalar

from . import added_mass


@singledispatch
def added_mass_matrix(element: Any, density: Scalar) -> Array:
    """Return the added mass of an element of `hydromechs.added_mass` in water with a density [kg/m³], shape (6, 6)."""
    raise TypeError(f"{element!r} is not an element of added mass; use a class of hydromechs.added_mass")


def total_added_mass(elements: Iterable[Any], density: Scalar) -> Array:
    """Return the summed added mass of several elements of `hydromechs.added_mass`, shape (6, 6)."""
    return sum((added_mass_matrix(element, density) for element in elements), np.zeros((6, 6)))


@added_mass_matrix.register
def _(element: added_mass.Matrix, density: Scalar) -> Array:
    A = np.array(element.matrix)
    return _referred(0.5 * (A + A.T), element.origin)


@added_mass_matrix.register
def _(element: added_mass.Diagonal, density: Scalar) -> Array:
    return _referred(np.diag(element.diagonal), element.origin)


@added_mass_matrix.register
def _(element: added_mass.ShapeAddedMass, density: Scalar) -> Array:
    solid = element.solid
    match shape := solid.shape:
        case Sphere():
            mass = 2.0 / 3.0 * np.pi * shape.radius**3
            return density * _moved(np.diag([mass] * 3 + [0.0] * 3), np.eye(3), solid.origin.xyz)
        case Ellipsoid():
            return density * _moved(np.diag(ellipsoid_coefficients(shape.axes)), solid.origin.R, solid.origin.xyz)
        case Cylinder():
            return added_mass_strips(solid, density)[0]
        case Box():
            return density * _moved(np.diag(box_coefficients(shape.size)), solid.origin.R, solid.origin.xyz)
    raise UnsupportedFeature(f"the added mass of a {shape.word} is unknown; use a sphere, ellipsoid, cylinder or box")


def added_mass_strips(solid: Placed, density: Scalar, count: int = 1, *, points: int = 1) -> list[Array]:
    """Return the added mass of equal segments of a cylinder, starting at the lower end.

    The matrices sum to the added mass of the whole cylinder. With two points, each segment becomes two masses at ±1/√12 of
    the segment length from the middle of the segment, which preserves the moment of inertia. The first and the last segment
    include the end discs. The density is in kg/m³. Matrices are about the body origin in body axes, linear first [kg, kg·m,
    kg·m²], shape (6, 6) each.
    """
    assert isinstance(solid.shape, Cylinder)
    R, foot, start, end = axis_frame(*solid.ends)
    r, length = solid.shape.radius, (end - start) / count
    across = np.pi * r**2 * length / points
    about = across * length**2 / 12.0 if points == 1 else 0.0
    cuts = [start * (1.0 - k / count) + end * (k / count) for k in range(count + 1)]
    away = [0.0] if points == 1 else [-length / 12.0**0.5, length / 12.0**0.5]
    stations = [0.5 * (cuts[k] + cuts[k + 1]) + x for k in range(count) for x in away]
    out = []
    for k, s in enumerate(stations):
        discs = (k == 0) + (k == len(stations) - 1)
        matrix = np.diag([across, across, 0.5 * discs * (8.0 / 3.0 * r**3), about, about, 0.0])
        out.append(density * _moved(matrix, R, foot + s * R[:, 2]))
    return out


def _referred(matrix: Array, origin: Origin) -> Array:
    """Transform a 6×6 matrix from an origin on the body to the body origin; unchanged if these coincide."""
    return matrix if origin == Origin() else _moved(matrix, origin.R, origin.xyz)


def _moved(matrix: Array, R: Array, p: Array | Sequence[float]) -> Array:
    """Transform a 6×6 matrix from a shape's centre and axes to the body origin and axes."""
    return Path((Turn(np.asarray(R), np.asarray(p)),)).inertia_back(matrix)


def ellipsoid_coefficients(axes: Sequence[float]) -> np.ndarray:
    """Return added mass along and inertia about the axes of an ellipsoid, in a fluid of density 1 [m³, m⁵], shape (6,)."""
    from scipy.special import elliprd  # scipy is slow to import, and few models need it

    s = np.array(axes, dtype=float) ** 2
    # ∫₀^∞ dλ / ((a²+λ) Δ) = 2/3 R_D(b², c², a²), Carlson's form
    integral = np.prod(axes) * 2.0 / 3.0 * np.array([elliprd(s[(k + 1) % 3], s[(k + 2) % 3], s[k]) for k in range(3)])
    mass = 4.0 / 3.0 * np.pi * np.prod(axes)
    about = np.zeros(3)
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        if s[i] != s[j]:
            difference = integral[j] - integral[i]
            about[k] = 0.2 * (s[i] - s[j]) ** 2 * difference / (2.0 * (s[i] - s[j]) - (s[i] + s[j]) * difference)
    return mass * np.concatenate([integral / (2.0 - integral), about])


PLATE = (
    (0.0, 1 / 8, 1 / 5, 1 / 4, 1 / 3.17, 1 / 2, 1 / 1.59, 1 / 1.25, 1.0),
    (1.0, 0.934, 0.897, 0.872, 0.840, 0.757, 0.704, 0.642, 0.579),
)
"""Rectangular plate: ratio a/b of short to long side, and added mass divided by ρ π/4 a² b (DNV-RP-C205 App.

D; these and the prisms agree with another program's transcription of DNV-RP-H103 table A-2; the original was not
available).
"""
PRISM = ((0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0), (0.579 * np.pi / 4, 0.68, 0.72, 0.72, 0.76, 0.75, 0.77))
"""Square prism: length along the motion divided by the side a, and added mass divided by ρ a³ (DNV-RP-H103 App.

A; a length of 0 is the plate; the entry at 6 is omitted because copies of the standard disagree on it).
"""
SECTION = ((0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0), (1.0, 1.14, 1.21, 1.36, 1.51, 1.70, 1.98, 2.23))
"""Long beam: depth along the motion divided by width, and added mass per length divided by ρ π (width/2)² (DNV-RP-C205
App. D; two-dimensional boundary elements agree to 1 %)."""
ROTATION = ((0.0, 0.1, 0.2, 0.5, 1.0), (0.125, 0.147, 0.15, 0.15, 0.234))
"""Rotating rectangle: ratio b/a of short to long half side, and added inertia per length divided by ρ π a⁴ (DNV-RP-C205
App. D; two-dimensional boundary elements agree to 3 %)."""


def box_coefficients(size: Sequence[float]) -> np.ndarray:
    """Return added mass along and inertia about the axes of a box, in a fluid of density 1 [m³, m⁵], shape (6,).

    The added mass along an axis is that of a plate with the sides a ≤ b of the face across the axis, PLATE(a/b) π/4 a² b,
    times a growth factor for the depth h of the box along the motion. A square face grows as a square prism, and a long
    face as a two-dimensional section. Between them, the growth is interpolated with a/b. Published values for plates,
    square prisms and long beams are therefore reproduced. The added inertia about an axis is that of two-dimensional
    sections across the axis, ROTATION(b/a) π a⁴ per length, without a correction for the ends, which is large only for
    short boxes.
    """
    out = np.zeros(6)
    for k in range(3):
        short, long = sorted((size[(k + 1) % 3], size[(k + 2) % 3]))
        ratio = short / long
        plate = np.interp(ratio, *PLATE) * np.pi / 4 * short**2 * long
        prism = np.interp(size[k] / np.sqrt(short * long), *PRISM) / PRISM[1][0]
        out[k] = plate * ((1.0 - ratio) * np.interp(size[k] / short, *SECTION) + ratio * prism)
        out[3 + k] = np.interp(ratio, *ROTATION) * np.pi * (0.5 * long) ** 4 * size[k]
    return out
