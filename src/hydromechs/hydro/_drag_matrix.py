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
from hydromechs.geometry import Box, Cylinder, Origin
from hydromechs.model import drag
from hydromechs.spatial import axis_frame, norm, skew
from hydromechs.values import Array, Scalar


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
def _(element: drag.ShapeDrag, V_r: Array, density: Scalar) -> Array:
    match element.solid.shape:
        case Cylinder() as shape:
            return _cylinder(element, shape, V_r, density)
        case Box() as shape:
            return _box(element, shape, V_r, density)
    return _round(element, V_r, density)


def _cylinder(element: drag.ShapeDrag, shape: Cylinder, V_r: Array, density: Scalar) -> Array:
    """ρ C_D r ∫ |vⁿ| aᵀ a ds, a the two directions across the axis at s, and ½ ρ C_e π r² |v_e| aᵀ a along it."""
    R, foot, start, end = axis_frame(*element.solid.ends)
    side: Any = element.coefficient
    total = np.zeros((6, 6))
    for strip in shape.strips(element.points):
        a = R[:, :2].T @ _point(foot + (0.5 * (start + end) + strip.z) * R[:, 2])
        total = total + (density * side * shape.radius * strip.length * norm(a @ V_r)) * (a.T @ a)
    ends = side if element.end_coefficient is None else element.end_coefficient
    along = R[:, 2] @ _point(foot)
    return total + (0.5 * density * ends * shape.projected_area()[2] * abs(along @ V_r)) * np.outer(along, along)


def _box(element: drag.ShapeDrag, shape: Box, V_r: Array, density: Scalar) -> Array:
    """½ ρ C_k ∬ |v_k(x)| aᵀ a dx_i dx_j of each pair of faces, a the direction across them at x."""
    c, R = np.array(element.solid.origin.xyz), element.solid.origin.R
    total = np.zeros((6, 6))
    for k, face in enumerate(shape.faces(element.points)):
        i, j = (k + 1) % 3, (k + 2) % 3
        for x_i, row in zip(face.i, face.areas, strict=True):
            for x_j, area in zip(face.j, row, strict=True):
                a = R[:, k] @ _point(c + R[:, i] * x_i + R[:, j] * x_j)
                total = total + (0.5 * density * element.coefficients[k] * area * abs(a @ V_r)) * np.outer(a, a)
    return total


def _round(element: drag.ShapeDrag, V_r: Array, density: Scalar) -> Array:
    """½ ρ |v| aᵀ diag(C_k A_k) a of a sphere or an ellipsoid, in its axes."""
    a = element.solid.origin.R.T @ _point(np.array(element.solid.origin.xyz))
    areas = element.solid.shape.projected_area() * np.array(element.coefficients)
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
