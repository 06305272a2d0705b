"""Wrench of drag, damping and lift elements about the body origin.

Strips: McMillan, Orin and McGhee 1995, eqs. 17-22. Damping: Fossen 2011, sec. 6.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from hydromechs.errors import UnsupportedFeature
from hydromechs.geometry import Box, Cylinder, Ellipsoid, Origin, Sphere
from hydromechs.model import drag
from hydromechs.spatial import axis_frame, norm, shift_motion, shift_wrench
from hydromechs.values import Array, Scalar


@singledispatch
def drag_wrench(element: Any, V_r: Array, density: Scalar) -> Array:
    """Wrench of an element of `hydromechs.drag` about the body origin in body axes [N, N·m], shape (6,).

    Args:
        element: The element.
        V_r: Velocity relative to the fluid, in body axes [m/s, rad/s], shape (6,).
        density: Density of the water [kg/m³].
    """
    raise TypeError(f"{element!r} is not an element of hydromechs.drag")


def drag_numbers(element: Any, density: Scalar, points: int = 1) -> Any:
    """Return the coefficients of an element of `hydromechs.drag`: an object with `wrench(V_r)`.

    Args:
        element: The element.
        density: Density of the water [kg/m³].
        points: Minimum number of Gauss points along a cylinder.
    """
    match element:
        case drag.ShapeDrag():
            return _shape_numbers(element, density, points)
        case drag.Damping():
            names = tuple(name for name, _ in element.coupled)
            coupled = np.array([c for _, c in element.coupled])
            numbers = Coefficients(np.array(element.linear), np.array(element.quadratic), names, coupled)
            here = element.origin == Origin()
            return numbers if here else Referred(element.origin.R, np.array(element.origin.xyz), numbers)
        case drag.Foil():
            c = np.array(element.chord) / np.linalg.norm(element.chord)
            n = np.array(element.normal) / np.linalg.norm(element.normal)
            slope, parallel, growth = element.lift_slope, element.drag_parallel, element.drag_normal - element.drag_parallel
            return Lift(c, n, np.array(element.position), slope, parallel, growth, 0.5 * density * element.area)
    raise TypeError(f"{element!r} is not an element of hydromechs.drag")


def _shape_numbers(element: drag.ShapeDrag, density: Scalar, points: int) -> Any:
    """Coefficients of the drag of a shape."""
    solid = element.solid
    R, center = solid.origin.R, np.array(solid.origin.xyz)
    match shape := solid.shape:
        case Cylinder():
            return _strips(element, density, max(points, element.points))
        case Box():
            faces = shape.faces(element.points)
            stations = tuple(faces[(k + 2) % 3].i for k in range(3))
            scales = tuple(-0.5 * density * c for c in element.coefficients)
            return Faces(R, center, stations, tuple(face.areas for face in faces), scales)
        case Sphere():
            return Round(-0.5 * density * element.coefficient * np.pi * shape.radius**2, center)
        case Ellipsoid():
            return Oval(R, center, shape.projected_area() * np.array(element.coefficients), -0.5 * density)
    raise UnsupportedFeature(f"the drag of a {shape.word} is unknown; use a cylinder, box, sphere or ellipsoid")


class Strips(NamedTuple):
    """Strip theory: each disc at s along the axis e feels its velocity across the axis (eqs. 17-21),

        v(s) = v_r + ω × (c + s e),   f = −ρ C_D r ∫ |vⁿ| vⁿ ds,   n = c × f − ρ C_D r ∫ |vⁿ| s e × vⁿ ds,

    by Gauss quadrature, c the middle of the axis; the end faces together feel the velocity along it,
    f_e = −½ ρ C_e π r² |v_e| v_e (eq. 22). Shear drag is left out, as in the papers. Gauss points lie in pairs at ±s with one
    weight, which share s ω, and add up their forces before the weight and the lever are applied.
    """

    R: Array
    """Axes of the cylinder, the third along it, shape (3, 3)."""
    middle: Array
    """c [m], shape (3,)."""
    stations: tuple[Scalar, ...]
    """s of the pairs of Gauss points [m]."""
    weights: tuple[Scalar, ...]
    """−ρ C_D r times the weight of each point of a pair [kg/m]."""
    levers: tuple[Scalar, ...]
    """The same times s [kg]."""
    single: Scalar
    """−ρ C_D r times the weight of the Gauss point in the middle, 0 if there is none [kg/m]."""
    face: Scalar
    """−½ ρ C_e π r² [kg/m]."""

    def wrench(self, V_r: Array, excess: Sequence[Array] | None = None) -> Array:
        """Wrench about the body origin in body axes, shape (6,).

        Args:
            V_r: Velocity relative to the mean of the water along the axis, shape (6,).
            excess: Velocity of the water minus that mean, in the middle and at each pair of stations, first at s, then at −s,
                in body axes [m/s], shape (3,) each; None for uniform water.
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
    """|v| v of a vector in a plane."""
    size = norm((v1, v2))
    return size * v1, size * v2


def _strips(element: drag.ShapeDrag, density: Scalar, count: int) -> Strips:
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


class Faces(NamedTuple):
    """Face pair by face pair: the pair across axis k feels the velocity normal to it at every point (x_i, x_j),

        v_k(x) = v_k + ω_i x_j − ω_j x_i,   f_k = −½ ρ C_k ∬ |v_k(x)| v_k(x) dx_i dx_j,   n = ∬ x × df,

    by Gauss quadrature along the strips of both directions. Like the cylinder's, it is pressure drag from the normal
    velocity alone (independence principle), on one face area per pair, so C_k is the usual coefficient of a box.
    """

    R: Array
    """Axes of the box, shape (3, 3)."""
    center: Array
    """Its centre [m], shape (3,)."""
    stations: tuple[tuple[Scalar, ...], ...]
    """Gauss points along each axis [m]."""
    areas: tuple[tuple[tuple[Scalar, ...], ...], ...]
    """Weights of the Gauss points of the faces across each axis, by the next axis and the one after [m²]."""
    scales: tuple[Scalar, ...]
    """−½ ρ C_k [kg/m³]."""

    def wrench(self, V_r: Array, gradient: Array | None = None) -> Array:
        """Wrench about the body origin in body axes, shape (6,).

        Args:
            V_r: Velocity relative to the water at the centre, shape (6,).
            gradient: ∂v_i/∂x_j of the water's velocity in body axes [1/s], shape (3, 3); None for uniform water.
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


class Round(NamedTuple):
    """A sphere: f = −½ ρ C π r² |v| v at the centre."""

    scale: Scalar
    """−½ ρ C π r² [kg/m]."""
    center: Array
    """Centre [m], shape (3,)."""

    def wrench(self, V_r: Array) -> Array:
        """Wrench about the body origin in body axes, shape (6,)."""
        v = shift_motion(V_r, self.center)[:3]
        return shift_wrench(np.concatenate([self.scale * norm(v) * v, np.zeros(3)]), self.center)


class Oval(NamedTuple):
    """An ellipsoid: f_k = −½ ρ C_k A_k |v| v_k at the centre, with the projected areas A_x = π b c and so on."""

    R: Array
    """Axes of the ellipsoid, shape (3, 3)."""
    center: Array
    """Centre [m], shape (3,)."""
    areas: Array
    """C_k A_k [m²], shape (3,)."""
    scale: Scalar
    """−½ ρ [kg/m³]."""

    def wrench(self, V_r: Array) -> Array:
        """Wrench about the body origin in body axes, shape (6,)."""
        v = self.R.T @ shift_motion(V_r, self.center)[:3]
        f = self.R @ ((self.scale * norm(v)) * (self.areas * v))
        return shift_wrench(np.concatenate([f, np.zeros(3)]), self.center)


class Coefficients(NamedTuple):
    """F = −(D ν + Q (|ν| ∘ ν) + coupled terms), ν relative to the fluid (Fossen 2011, sec. 6.4)."""

    linear: Array
    """D, shape (6,) or (6, 6)."""
    quadratic: Array
    """Q, shape (6,) or (6, 6)."""
    names: tuple[str, ...]
    """Coupled terms, as "Y|r|v"."""
    coupled: Array
    """Their coefficients, one each."""

    def wrench(self, V_r: Array) -> Array:
        """Wrench about the body origin in body axes, shape (6,)."""
        quadratic = abs(V_r) * V_r
        F = -(_times(self.linear, V_r) + _times(self.quadratic, quadratic))
        for name, coefficient in zip(self.names, self.coupled, strict=True):
            row = "XYZKMN".index(name[0])
            first, second = ("uvwpqr".index(name[k]) for k in (2, 4))
            term = coefficient * abs(V_r[first]) * V_r[second]
            F = np.array([F[k] - term if k == row else F[k] for k in range(6)])
        return F


class Referred(NamedTuple):
    """Coefficients that refer to a point and axes on the body."""

    R: Array
    """Axes to which they refer, shape (3, 3)."""
    point: Array
    """Point to which they refer [m], shape (3,)."""
    numbers: Coefficients
    """The coefficients."""

    def wrench(self, V_r: Array) -> Array:
        """Wrench about the body origin in body axes, shape (6,)."""
        V = shift_motion(V_r, self.point)
        F = self.numbers.wrench(np.concatenate([self.R.T @ V[:3], self.R.T @ V[3:]]))
        return shift_wrench(np.concatenate([self.R @ F[:3], self.R @ F[3:]]), self.point)


def _times(A: Array, values: Array) -> Array:
    """A diagonal (6,) or a matrix (6, 6) times a vector (6,)."""
    return A @ values if A.ndim == 2 else A * values


class Lift(NamedTuple):
    """Lift and drag in the plane of chord c and normal n, with u = c · v, w = n · v, U² = u² + w², sin α = w/U:

        C_L = a sin α cos α,  C_D = C_0 + (C_90 − C_0) sin² α,
        f = ½ ρ A (C_L U (w c − u n) − C_D U (u c + w n))

    valid for all angles of attack, linear in small ones; lift does no work. Flow along the span is without effect.
    """

    chord: Array
    """c, shape (3,)."""
    normal: Array
    """n, shape (3,)."""
    position: Array
    """Centre of pressure [m], shape (3,)."""
    slope: Scalar
    """a [1/rad]."""
    parallel: Scalar
    """C_0 [-]."""
    growth: Scalar
    """C_90 − C_0 [-]."""
    scale: Scalar
    """½ ρ A [kg/m]."""

    def wrench(self, V_r: Array) -> Array:
        """Wrench about the body origin in body axes, shape (6,)."""
        v = shift_motion(V_r, self.position)[:3]
        u, w = self.chord @ v, self.normal @ v
        U = np.sqrt(u * u + w * w + 1e-300)  # finite at rest
        lift = self.slope * u * w / U
        resistance = self.parallel * U + self.growth * w * w / U
        f = self.scale * (lift * w - resistance * u) * self.chord - self.scale * (lift * u + resistance * w) * self.normal
        return shift_wrench(np.concatenate([f, np.zeros(3)]), self.position)


def _of_element(element: Any, V_r: Array, density: Scalar) -> Array:
    return drag_numbers(element, density).wrench(V_r)


def _of_numbers(numbers: Any, V_r: Array, density: Scalar) -> Array:
    return numbers.wrench(V_r)


for _kind in (drag.ShapeDrag, drag.Damping, drag.Foil):
    drag_wrench.register(_kind, _of_element)
for _numbers in (Strips, Faces, Round, Oval, Coefficients, Referred, Lift):
    drag_wrench.register(_numbers, _of_numbers)
