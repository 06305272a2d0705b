"""Rigid-body inertia and the spatial cross products, linear first, about the body origin."""

from __future__ import annotations

import numpy as np

from hydromechs.values import Array, Scalar

from ._rotation import Vector, cross, skew


def motion_cross(V: Vector, W: Vector) -> Array:
    """V × W for two motions V = (v, ω), W = (u, η): (ω × u + v × η, ω × η), shape (6,) (Featherstone 2008, sec. 2.9)."""
    v, w = V[:3], V[3:]
    return np.concatenate([cross(w, W[:3]) + cross(v, W[3:]), cross(w, W[3:])])


def force_cross(V: Vector, h: Vector) -> Array:
    """V ×* h for a motion V = (v, ω) and a momentum or force h = (p, l): (ω × p, v × p + ω × l), shape (6,)."""
    v, w = V[:3], V[3:]
    return np.concatenate([cross(w, h[:3]), cross(v, h[:3]) + cross(w, h[3:])])


def tensor_matrix(tensor: Vector) -> Array:
    """3×3 matrix of the six numbers xx yy zz xy xz yz (the off-diagonal entries themselves, not their negatives)."""
    xx, yy, zz, xy, xz, yz = tensor
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def rigid_inertia(mass: Scalar, com: Vector, tensor_com: Array) -> Array:
    """6×6 inertia of a rigid body about its origin, [kg, kg·m, kg·m²] (McMillan, Orin & McGhee 1995, eq. 4, blocks swapped).

        I = [[m 1, −h̃], [h̃, Ī]],   h = m s,   Ī = I_c + m (|s|² 1 − s sᵀ)

    with the centre of mass s [m], shape (3,), and the moment of inertia I_c about it [kg·m²], shape (3, 3), in body axes.
    """
    s = np.asarray(com)
    h = skew(mass * s)
    square = s[0] * s[0] + s[1] * s[1] + s[2] * s[2]  # not by BLAS, whose bits depend on the processor
    origin = tensor_com + mass * (square * np.eye(3) - np.outer(s, s))
    return np.concatenate([np.concatenate([mass * np.eye(3), -h], axis=1), np.concatenate([h, origin], axis=1)])
