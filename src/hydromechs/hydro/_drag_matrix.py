"""Damping matrices of drag, damping and lift elements: D with F = −D V_r for the wrench F of `drag_wrench`.

A force that opposes the velocity a V_r of a point or strip along some directions (the rows of a), f = −k |a V_r| a V_r, has
D = k |a V_r| aᵀ a: symmetric and positive semi-definite. Lift adds a skew part, which does no work. Fossen's damping is what
its coefficients say.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from hydromechs.errors import UnsupportedFeature
from hydromechs.model import Origin, drag
from hydromechs.spatial import axis_frame, norm, skew
from hydromechs.values import Array, Scalar

__all__ = ["drag_matrix"]


@singledispatch
def drag_matrix(element: Any, V_r: Array, density: Scalar) -> Array:
    """Damping matrix of an element of `hydromechs.drag` about the body origin in body axes [N·s/m, N·s, N·m·s], shape (6, 6).

    Args:
        element: The element.
        V_r: Velocity relative to the fluid, in body axes [m/s, rad/s], shape (6,).
        density: Density of the water [kg/m³].
    """
    raise UnsupportedFeature(
        f"{element!r} has no damping matrix; register one with hydromechs.hydro.drag_matrix.register, or use damping_force"
    )


@drag_matrix.register
def _(element: drag.Cylinder, V_r: Array, density: Scalar) -> Array:
    """ρ C_D r ∫ |vⁿ| aᵀ a ds, a the two directions across the axis at s, and ½ ρ C_e π r² |v_e| aᵀ a along it."""
    R, foot, start, end = axis_frame(element.start, element.end)
    nodes, weights = np.polynomial.legendre.leggauss(element.points)
    total = np.zeros((6, 6))
    for node, weight in zip(nodes, weights, strict=True):
        s = float(0.5 * (start + end) + 0.5 * (end - start) * node)
        a = R[:, :2].T @ _point(foot + s * R[:, 2])
        scale = density * element.coefficient * element.radius * float(0.5 * (end - start) * weight)
        total = total + (scale * norm(a @ V_r)) * (a.T @ a)
    ends = element.coefficient if element.end_coefficient is None else element.end_coefficient
    along = R[:, 2] @ _point(foot)
    return total + (0.5 * density * ends * np.pi * element.radius**2 * abs(along @ V_r)) * np.outer(along, along)


@drag_matrix.register
def _(element: drag.Box, V_r: Array, density: Scalar) -> Array:
    """½ ρ C_k ∬ |v_k(x)| aᵀ a dx_i dx_j of each pair of faces, a the direction across them at x."""
    c, R = np.array(element.origin.xyz), element.origin.R
    nodes, weights = np.polynomial.legendre.leggauss(element.points)
    total = np.zeros((6, 6))
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        half_i, half_j = 0.5 * element.size[i], 0.5 * element.size[j]
        for node_i, weight_i in zip(nodes, weights, strict=True):
            for node_j, weight_j in zip(nodes, weights, strict=True):
                x = c + R[:, i] * float(half_i * node_i) + R[:, j] * float(half_j * node_j)
                a = R[:, k] @ _point(x)
                scale = 0.5 * density * element.coefficients[k] * float(half_i * half_j * weight_i * weight_j)
                total = total + (scale * abs(a @ V_r)) * np.outer(a, a)
    return total


@drag_matrix.register
def _(element: drag.Sphere, V_r: Array, density: Scalar) -> Array:
    """½ ρ C π r² |v| aᵀ a."""
    a = _point(np.array(element.center))
    return (0.5 * density * element.coefficient * np.pi * element.radius**2 * norm(a @ V_r)) * (a.T @ a)


@drag_matrix.register
def _(element: drag.Ellipsoid, V_r: Array, density: Scalar) -> Array:
    """½ ρ |v| aᵀ diag(C_k A_k) a in the axes of the ellipsoid."""
    x, y, z = element.axes
    a = element.origin.R.T @ _point(np.array(element.origin.xyz))
    areas = np.pi * np.array([y * z, x * z, x * y]) * np.array(element.coefficients)
    return (0.5 * density * norm(a @ V_r)) * (a.T @ (areas[:, None] * a))


@drag_matrix.register
def _(element: drag.Damping, V_r: Array, density: Scalar) -> Array:
    """D + Q diag(|ν|) + coupled terms; symmetric only where the coefficients are."""
    origin = element.origin
    X = None if origin == Origin() else _to_frame(origin.R, np.array(origin.xyz))
    V_r = V_r if X is None else X @ V_r
    linear, quadratic = (A if A.ndim == 2 else np.diag(A) for A in map(np.array, (element.linear, element.quadratic)))
    out = [[linear[i, j] + quadratic[i, j] * abs(V_r[j]) for j in range(6)] for i in range(6)]
    for name, coefficient in element.coupled:
        row = "XYZKMN".index(name[0])
        first, second = ("uvwpqr".index(name[k]) for k in (2, 4))
        out[row][second] = out[row][second] + coefficient * abs(V_r[first])
    return np.array(out) if X is None else X.T @ np.array(out) @ X


@drag_matrix.register
def _(element: drag.Foil, V_r: Array, density: Scalar) -> Array:
    """½ ρ A aᵀ [[C_D U, −C_L U], [C_L U, C_D U]] a, a the directions of chord and normal: drag symmetric, lift skew."""
    c = np.array(element.chord) / np.linalg.norm(element.chord)
    n = np.array(element.normal) / np.linalg.norm(element.normal)
    a = np.stack([c, n]) @ _point(np.array(element.position))
    u, w = a @ V_r
    U = np.sqrt(u * u + w * w + 1e-300)  # finite at rest
    lift = element.lift_slope * u * w / U
    resistance = element.drag_parallel * U + (element.drag_normal - element.drag_parallel) * w * w / U
    return (0.5 * density * element.area) * (a.T @ np.array([[resistance, -lift], [lift, resistance]]) @ a)


def _to_frame(R: Array, x: Array) -> Array:
    """Return the matrix from the velocity of a body to that of its frame at x with axes R, in these axes, shape (6, 6)."""
    return np.concatenate([R.T @ _point(x), np.concatenate([np.zeros((3, 3)), R.T], axis=1)])


def _point(x: Array) -> Array:
    """[1, −x̂]: takes the velocity of a body to that of its point x, shape (3, 6)."""
    return np.concatenate([np.eye(3), -skew(x)], axis=1)
