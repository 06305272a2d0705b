"""Wrench of drag, damping and lift elements about the body origin.

Strips: McMillan, Orin and McGhee 1995, eqs. 17-22. Damping: Fossen 2011, sec. 6.4.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from hydromechs.model import drag
from hydromechs.spatial import axis_frame, norm, shift_motion, shift_wrench
from hydromechs.values import Array, Scalar

__all__ = ["drag_wrench"]


@singledispatch
def drag_wrench(element: Any, V_r: Array, density: Scalar) -> Array:
    """Wrench of an element of `hydromechs.drag` about the body origin in body axes [N, N·m], shape (6,).

    Args:
        element: The element.
        V_r: Velocity relative to the fluid, in body axes [m/s, rad/s], shape (6,).
        density: Density of the water [kg/m³].
    """
    raise TypeError(f"{element!r} is not an element of hydromechs.drag")


@drag_wrench.register
def _(element: drag.Cylinder, V_r: Array, density: Scalar) -> Array:
    """Strip theory: each disc at s along the axis e feels its velocity across the axis (eqs. 17-21),

        v(s) = v_r + ω × (c + s e),   f = −ρ C_D r ∫ |vⁿ| vⁿ ds,   n = c × f − ρ C_D r ∫ |vⁿ| s e × vⁿ ds,

    by Gauss quadrature, c the foot of the perpendicular from the body origin on the axis; the end faces together feel
    the velocity along it, f_e = −½ ρ C_e π r² |v_e| v_e (eq. 22). Shear drag is left out, as in the papers.
    """
    R, foot, start, end = axis_frame(element.start, element.end)
    v = R.T @ shift_motion(V_r, foot)[:3]
    w = R.T @ V_r[3:]
    nodes, weights = np.polynomial.legendre.leggauss(element.points)
    f1 = f2 = n1 = n2 = 0.0
    for node, weight in zip(nodes, weights, strict=True):
        s = float(0.5 * (start + end) + 0.5 * (end - start) * node)
        v1, v2 = v[0] + s * w[1], v[1] - s * w[0]
        scale = norm((v1, v2)) * float(0.5 * (end - start) * weight)
        d1, d2 = scale * v1, scale * v2
        f1, f2 = f1 + d1, f2 + d2
        n1, n2 = n1 - s * d2, n2 + s * d1
    side = -density * element.coefficient * element.radius
    ends = element.coefficient if element.end_coefficient is None else element.end_coefficient
    f_e = -0.5 * density * ends * np.pi * element.radius**2 * (abs(v[2]) * v[2])
    wrench = np.concatenate([R @ np.array([side * f1, side * f2, f_e]), R @ np.array([side * n1, side * n2, 0.0])])
    return shift_wrench(wrench, foot)


@drag_wrench.register
def _(element: drag.Box, V_r: Array, density: Scalar) -> Array:
    """Face pair by face pair: the pair across axis k feels the velocity normal to it at every point (x_i, x_j),

        v_k(x) = v_k + ω_i x_j − ω_j x_i,   f_k = −½ ρ C_k ∬ |v_k(x)| v_k(x) dx_i dx_j,   n = ∬ x × df,

    by Gauss quadrature along the strips of both directions. Like the cylinder's, it is pressure drag from the normal
    velocity alone (independence principle), on one face area per pair, so C_k is the usual coefficient of a box.
    """
    c = np.array(element.origin.xyz)
    R = element.origin.R
    v = R.T @ shift_motion(V_r, c)[:3]
    w = R.T @ V_r[3:]
    nodes, weights = np.polynomial.legendre.leggauss(element.points)
    force: list = [0.0, 0.0, 0.0]
    moment: list = [0.0, 0.0, 0.0]
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        half_i, half_j = 0.5 * element.size[i], 0.5 * element.size[j]
        total = about_i = about_j = 0.0
        for node_i, weight_i in zip(nodes, weights, strict=True):
            x_i = float(half_i * node_i)
            v_strip = v[k] - w[j] * x_i
            strip = 0.0
            for node_j, weight_j in zip(nodes, weights, strict=True):
                x_j = float(half_j * node_j)
                v_k = v_strip + w[i] * x_j
                d = abs(v_k) * v_k * float(half_i * half_j * weight_i * weight_j)
                strip = strip + d
                about_i = about_i + x_j * d
            total = total + strip
            about_j = about_j - x_i * strip
        scale = -0.5 * density * element.coefficients[k]
        force[k] = scale * total
        moment[i] = moment[i] + scale * about_i
        moment[j] = moment[j] + scale * about_j
    return shift_wrench(np.concatenate([R @ np.array(force), R @ np.array(moment)]), c)


@drag_wrench.register
def _(element: drag.Sphere, V_r: Array, density: Scalar) -> Array:
    """f = −½ ρ C π r² |v| v at the centre."""
    v = shift_motion(V_r, element.center)[:3]
    f = -0.5 * density * element.coefficient * np.pi * element.radius**2 * norm(v) * v
    return shift_wrench(np.concatenate([f, np.zeros(3)]), element.center)


@drag_wrench.register
def _(element: drag.Ellipsoid, V_r: Array, density: Scalar) -> Array:
    """f_k = −½ ρ C_k A_k |v| v_k at the centre, with the projected areas A_x = π b c and so on."""
    a, b, c = element.axes
    R, center = element.origin.R, np.array(element.origin.xyz)
    v = R.T @ shift_motion(V_r, center)[:3]
    areas = np.pi * np.array([b * c, a * c, a * b]) * np.array(element.coefficients)
    f = R @ ((-0.5 * density * norm(v)) * (areas * v))
    return shift_wrench(np.concatenate([f, np.zeros(3)]), center)


@drag_wrench.register
def _(element: drag.Damping, V_r: Array, density: Scalar) -> Array:
    """F = −(D ν + Q (|ν| ∘ ν) + coupled terms), ν relative to the fluid (Fossen 2011, sec. 6.4)."""
    quadratic = abs(V_r) * V_r
    F = -(_times(element.linear, V_r) + _times(element.quadratic, quadratic))
    for name, coefficient in element.coupled:
        row = "XYZKMN".index(name[0])
        first, second = ("uvwpqr".index(name[k]) for k in (2, 4))
        term = coefficient * abs(V_r[first]) * V_r[second]
        F = np.array([F[k] - term if k == row else F[k] for k in range(6)])
    return F


def _times(coefficients: Any, values: Array) -> Array:
    """A diagonal (6,) or a matrix (6, 6) times a vector (6,)."""
    A = np.array(coefficients)
    return A @ values if A.ndim == 2 else A * values


@drag_wrench.register
def _(element: drag.Foil, V_r: Array, density: Scalar) -> Array:
    """Lift and drag in the plane of chord c and normal n, with u = c · v, w = n · v, U² = u² + w², sin α = w/U:

        C_L = a sin α cos α,  C_D = C_0 + (C_90 − C_0) sin² α,
        f = ½ ρ A (C_L U (w c − u n) − C_D U (u c + w n))

    valid for all angles of attack, linear in small ones; lift does no work. Flow along the span is without effect.
    """
    c = np.array(element.chord) / np.linalg.norm(element.chord)
    n = np.array(element.normal) / np.linalg.norm(element.normal)
    v = shift_motion(V_r, element.position)[:3]
    u, w = c @ v, n @ v
    U = np.sqrt(u * u + w * w + 1e-300)  # finite at rest
    lift = element.lift_slope * u * w / U
    resistance = element.drag_parallel * U + (element.drag_normal - element.drag_parallel) * w * w / U
    scale = 0.5 * density * element.area
    f = scale * (lift * w - resistance * u) * c - scale * (lift * u + resistance * w) * n
    return shift_wrench(np.concatenate([f, np.zeros(3)]), element.position)
