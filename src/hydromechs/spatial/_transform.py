"""Rigid-body inertias, spatial cross products, and coordinate transformations as sequences of axial screws, shifts and turns.

All 6-vectors have their linear part first. Their reference point is the origin of the frame in which they are expressed. A
transformation leads from a parent frame to a child frame with origin `p` and axes `R` (child to parent) in the parent frame:

    motion:    V' = X V,     v' = Rᵀ (v + ω × p),   ω' = Rᵀ ω
    force:     F = Xᵀ F',    f = R f',              n = R n' + p × f
    inertia:   I = Xᵀ I' X

There are three kinds of transformations. An axial `Screw` rotates about one coordinate axis and translates along the same axis
(McMillan 1994, App. A); two screws represent one set of modified Denavit-Hartenberg parameters. A `Shift` only translates; a
`Turn` translates and rotates by a general matrix. A `Path` is a sequence of transformations.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.values import Array, Scalar

from ._rotation import Vector, cross, planar_rotation, skew


def shift_motion(V: Array, p: Vector) -> Array:
    """Return the velocity or acceleration at the point `p` of a rigid body: (v + ω × p, ω), shape (6,)."""
    return np.concatenate([V[:3] + cross(V[3:], p), V[3:]])


def shift_wrench(F: Array, p: Vector) -> Array:
    """Return the wrench about O of a wrench `F` about the point P at position `p` from O: (f, n + p × f), shape (6,)."""
    return np.concatenate([F[:3], F[3:] + cross(p, F[:3])])


def shift_inertia(inertia: Array, p: Vector) -> Array:
    """Return the 6×6 inertia about O of an inertia about the point P at position `p` from O, shape (6, 6).

    The result is the symmetric matrix Xᵀ I X with X = [[1, −p̃], [0, 1]]. For I = [[A, B], [Bᵀ, D]] it has the blocks A' = A,
    B' = B − A p̃ and D' = D + p̃ B' − Bᵀ p̃, because p̃ᵀ = −p̃.
    """
    A, B, D = inertia[:3, :3], inertia[:3, 3:], inertia[3:, 3:]
    B2 = B - _times_skew(A, p)
    left = _times_skew(B2.T, p)  # B'ᵀ p̃ = −(p̃ B')ᵀ
    right = _times_skew(B.T, p)
    D2 = symmetric_matrix(lambda i, j: D[i, j] - left[j, i] - right[i, j])
    return _blocks(A, B2, D2)


class Screw(NamedTuple):
    """Rotation about one coordinate axis and translation along the same axis (McMillan 1994, eqs. A.6-A.7)."""

    axis: int
    """Coordinate axis, 0, 1 or 2."""
    distance: Scalar
    """Translation along the axis [m]."""
    cos: Scalar
    """Cosine of the angle about the axis."""
    sin: Scalar
    """Sine of the angle about the axis."""

    @property
    def R(self) -> Array:
        """Rotation matrix from child to parent axes, shape (3, 3)."""
        return planar_rotation(self.axis, self.cos, self.sin)

    @property
    def p(self) -> Array:
        """Origin of the child in the parent [m], shape (3,)."""
        p = [0.0, 0.0, 0.0]
        p[self.axis] = self.distance
        return np.array(p)

    def rotate(self, a: Array) -> Array:
        """Return Rᵀ a: a 3-vector rotated from parent to child axes [4M, 2A] (McMillan 1994, eq. A.9)."""
        i, j = (self.axis + 1) % 3, (self.axis + 2) % 3
        out = [a[0], a[1], a[2]]
        out[i] = self.cos * a[i] + self.sin * a[j]
        out[j] = self.cos * a[j] - self.sin * a[i]
        return np.array(out)

    def rotate_back(self, a: Array) -> Array:
        """Return R a: a 3-vector rotated from child to parent axes [4M, 2A]."""
        return Screw(self.axis, self.distance, self.cos, -self.sin).rotate(a)

    def rotate_symmetric_back(self, block: Array) -> Array:
        """Return R K Rᵀ of a symmetric 3×3 matrix K [8M, 8A].

        With w = (K_jj − K_ii) s − 2 K_ij c the changed entries are

            K_ii + s w,   K_jj − s w,   −(c w + K_ij)

        McMillan 1994, eqs. A.17-A.18, requires [10M, 10A] with s² and s c; for a constant angle these products are constants.
        """
        i, j, k, c, s = (self.axis + 1) % 3, (self.axis + 2) % 3, self.axis, self.cos, self.sin
        K = symmetric_matrix(lambda a, b: block[a, b])
        difference = K[j, j] - K[i, i]
        if isinstance(s, float):
            a, across = difference * (s * s) - K[i, j] * (2.0 * s * c), K[i, j] * (c * c - s * s) - difference * (s * c)
        else:
            w = difference * s - K[i, j] * (c + c)
            a, across = s * w, -(c * w + K[i, j])
        out: list[list[Scalar]] = [[None] * 3 for _ in range(3)]
        out[i][i], out[j][j], out[k][k] = K[i, i] + a, K[j, j] - a, K[k, k]
        out[i][j] = out[j][i] = across
        out[i][k] = out[k][i] = K[i, k] * c - K[j, k] * s
        out[j][k] = out[k][j] = K[i, k] * s + K[j, k] * c
        return np.array(out)

    def rotate_general_back(self, N: Array) -> Array:
        """Return R N Rᵀ of a 3×3 matrix N (McMillan 1994, sec. A.4.2)."""
        i, j, k, c, s = (self.axis + 1) % 3, (self.axis + 2) % 3, self.axis, self.cos, self.sin
        difference, total = N[j, j] - N[i, i], N[i, j] + N[j, i]
        if isinstance(s, float):
            a, b = difference * (s * s) - total * (s * c), difference * (s * c) + total * (s * s)
        else:
            w = difference * s - total * c
            a, b = s * w, c * w + total
        out: list[list[Scalar]] = [[None] * 3 for _ in range(3)]
        out[i][i], out[j][j], out[k][k] = N[i, i] + a, N[j, j] - a, N[k, k]
        out[i][j], out[j][i] = N[i, j] - b, N[j, i] - b
        out[i][k], out[j][k] = N[i, k] * c - N[j, k] * s, N[i, k] * s + N[j, k] * c
        out[k][i], out[k][j] = N[k, i] * c - N[k, j] * s, N[k, i] * s + N[k, j] * c
        return np.array(out)


class Shift(NamedTuple):
    """Pure translation."""

    p: Vector
    """Origin of the child in the parent [m], shape (3,)."""

    @property
    def R(self) -> Array:
        """Rotation matrix from child to parent axes, shape (3, 3)."""
        return np.eye(3)

    def rotate(self, a: Array) -> Array:
        """Return Rᵀ a."""
        return a

    def rotate_back(self, a: Array) -> Array:
        """Return R a."""
        return a

    def rotate_symmetric_back(self, block: Array) -> Array:
        """Return R K Rᵀ of a symmetric 3×3 matrix K."""
        return block

    def rotate_general_back(self, N: Array) -> Array:
        """Return R N Rᵀ of a 3×3 matrix N."""
        return N


class Turn(NamedTuple):
    """Translation, followed by a rotation by a general matrix."""

    R: Array
    """Rotation matrix from child to parent axes, shape (3, 3)."""
    p: Vector = (0.0, 0.0, 0.0)
    """Origin of the child in the parent [m], shape (3,)."""

    def rotate(self, a: Array) -> Array:
        """Return Rᵀ a."""
        return self.R.T @ a

    def rotate_back(self, a: Array) -> Array:
        """Return R a."""
        return self.R @ a

    def rotate_symmetric_back(self, block: Array) -> Array:
        """Return R K Rᵀ of a symmetric 3×3 matrix K."""
        turned = self.rotate_general_back(block)
        return symmetric_matrix(lambda i, j: turned[i, j])

    def rotate_general_back(self, N: Array) -> Array:
        """Return R N Rᵀ of a 3×3 matrix N."""
        return self.R @ N @ self.R.T


class Path(NamedTuple):
    """Sequence of transformations from a parent frame to a child frame."""

    steps: Sequence[Screw | Shift | Turn]
    """Transformations in order from parent to child."""

    def motion(self, V: Array) -> Array:
        """Return X V: a motion vector transformed from the parent frame to the child frame, shape (6,)."""
        for step in self.steps:
            V = shift_motion(V, step.p)
            V = np.concatenate([step.rotate(V[:3]), step.rotate(V[3:])])
        return V

    def rotate(self, a: Array) -> Array:
        """Return Rᵀ a: a 3-vector rotated from parent to child axes, shape (3,)."""
        for step in self.steps:
            a = step.rotate(a)
        return a

    def rotate_back(self, a: Array) -> Array:
        """Return R a: a 3-vector rotated from child to parent axes, shape (3,)."""
        for step in reversed(self.steps):
            a = step.rotate_back(a)
        return a

    def point_back(self, x: Array) -> Array:
        """Return p + R x: a point of the child frame, expressed in the parent frame [m], shape (3,)."""
        for step in reversed(self.steps):
            x = np.asarray(step.p) + step.rotate_back(x)
        return x

    def force_back(self, F: Array) -> Array:
        """Return Xᵀ F: a wrench transformed from the child frame to the parent frame, shape (6,)."""
        for step in reversed(self.steps):
            F = np.concatenate([step.rotate_back(F[:3]), step.rotate_back(F[3:])])
            F = shift_wrench(F, step.p)
        return F

    def inertia_back(self, inertia: Array) -> Array:
        """Return Xᵀ I X: a symmetric 6×6 inertia transformed from the child frame to the parent frame, shape (6, 6)."""
        for step in reversed(self.steps):
            A, D = (step.rotate_symmetric_back(block) for block in (inertia[:3, :3], inertia[3:, 3:]))
            inertia = shift_inertia(_blocks(A, step.rotate_general_back(inertia[:3, 3:]), D), step.p)
        return inertia

    def pose(self) -> tuple[Array, Array]:
        """Return the axes R (3, 3) and the origin p (3,) [m] of the child in the parent frame."""
        R, p = np.eye(3), np.zeros(3)
        for step in self.steps:
            p = p + R @ np.asarray(step.p)
            R = R @ step.R
        return R, p


def pose_matrix(R: Array, p: Vector) -> Array:
    """Return the homogeneous 4×4 pose with axes `R` and origin `p`."""
    return np.array([[*R[0], p[0]], [*R[1], p[1]], [*R[2], p[2]], [0.0, 0.0, 0.0, 1.0]])


def _times_skew(A: Array, p: Vector) -> Array:
    """Return A p̃, row by row: a p̃ = (a × p)ᵀ for a row a, shape (3, 3)."""
    return np.array([cross(A[0], p), cross(A[1], p), cross(A[2], p)])


def symmetric_matrix(entry: Callable[[int, int], Scalar]) -> Array:
    """Return the symmetric 3×3 matrix with the upper triangle `entry(i, j)`; each entry is computed once."""
    xx, xy, xz, yy, yz, zz = (entry(i, j) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _blocks(A: Array, B: Array, D: Array) -> Array:
    """Return the symmetric matrix [[A, B], [Bᵀ, D]], shape (6, 6)."""
    return np.concatenate([np.concatenate([A, B], axis=1), np.concatenate([B.T, D], axis=1)])


def motion_cross(V: Vector, W: Vector) -> Array:
    """Return V × W of two motions V = (v, ω), W = (u, η): (ω × u + v × η, ω × η), shape (6,) (Featherstone 2008, sec. 2.9)."""
    v, w = V[:3], V[3:]
    return np.concatenate([cross(w, W[:3]) + cross(v, W[3:]), cross(w, W[3:])])


def force_cross(V: Vector, h: Vector) -> Array:
    """Return V ×* h of a motion V = (v, ω) and a momentum or force h = (p, l): (ω × p, v × p + ω × l), shape (6,)."""
    v, w = V[:3], V[3:]
    return np.concatenate([cross(w, h[:3]), cross(v, h[:3]) + cross(w, h[3:])])


def tensor_matrix(tensor: Vector) -> Array:
    """Return the 3×3 matrix of the numbers xx yy zz xy xz yz; the off-diagonal entries have the sign of xy, xz and yz."""
    xx, yy, zz, xy, xz, yz = tensor
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def rigid_inertia(mass: Scalar, com: Vector, tensor_com: Array) -> Array:
    """Return the 6×6 inertia of a rigid body about its origin [kg, kg·m, kg·m²].

        I = [[m 1, −h̃], [h̃, Ī]],   h = m s,   Ī = I_c + m (|s|² 1 − s sᵀ)

    Here s is the centre of mass [m], shape (3,), and I_c the moment of inertia about s [kg·m²], shape (3, 3), both in body axes
    (McMillan, Orin & McGhee 1995, eq. 4, with linear and angular blocks exchanged).
    """
    s = np.asarray(com)
    h = skew(mass * s)
    square = s[0] * s[0] + s[1] * s[1] + s[2] * s[2]  # without BLAS, whose bits depend on the processor
    origin = tensor_com + mass * (square * np.eye(3) - np.outer(s, s))
    return np.concatenate([np.concatenate([mass * np.eye(3), -h], axis=1), np.concatenate([h, origin], axis=1)])
