"""Rotation matrices, roll-pitch-yaw angles, rotation vectors and quaternions (w, x, y, z), from body to world.

Arrays contain floats or symbols of a single world.
"""

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.values import Array, Scalar

from ._choice import where

Vector: TypeAlias = Array | Sequence[Scalar]
"""Sequence of floats or symbols."""

SNAP = 1e-15
"""Magnitude below which a cosine or sine is set to 0: at multiples of 90° such a value is a rounding error."""

TINY = 1e-300
"""Offset negligible against the square of any number above 1e-142; it keeps square roots and divisions finite at 0."""


def norm(a: Vector) -> Scalar:
    """Return the Euclidean length of a vector."""
    total = a[0] * a[0]
    for x in a[1:]:
        total = total + x * x
    return np.sqrt(total)


def cross(a: Vector, b: Vector) -> Array:
    """Return the cross product a × b of two 3-vectors, shape (3,)."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def skew(a: Vector) -> Array:
    """Return the matrix ã with ã b = a × b, shape (3, 3)."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def cos_sin(angle: float) -> tuple[float, float]:
    """Return the cosine and sine of a constant angle [rad], exact for multiples of 90°."""
    c, s = math.cos(angle), math.sin(angle)
    if abs(c) < SNAP:
        return 0.0, math.copysign(1.0, s)
    if abs(s) < SNAP:
        return math.copysign(1.0, c), 0.0
    return c, s


def planar_rotation(axis: int, c: Scalar, s: Scalar) -> Array:
    """Return the rotation matrix about coordinate axis 0, 1 or 2 from cosine and sine, child to parent, shape (3, 3)."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = [[0.0] * 3 for _ in range(3)]
    R[axis][axis] = 1.0
    R[i][i], R[i][j] = c, -s
    R[j][i], R[j][j] = s, c
    return np.array(R)


def axis_rotation(axis: ArrayLike, angle: float) -> Array:
    """Return the rotation matrix for a constant `angle` [rad] about a unit 3-vector `axis` (Rodrigues), shape (3, 3)."""
    c, s = cos_sin(angle)
    a = np.asarray(axis, dtype=float)
    return c * np.eye(3) + s * skew(a) + (1.0 - c) * np.outer(a, a)


def matrix_from_rpy(rpy: Vector) -> Array:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll), the order of URDF and Fossen, for angles [rad], shape (3, 3)."""
    roll, pitch, yaw = ((np.cos(a), np.sin(a)) if hasattr(a, "where") else cos_sin(float(a)) for a in rpy)
    return planar_rotation(2, *yaw) @ planar_rotation(1, *pitch) @ planar_rotation(0, *roll)


def rpy_from_matrix(R: Array) -> Array:
    """Return roll, pitch and yaw [rad] of a rotation matrix of floats, shape (3,); roll is 0 at pitch ±90°."""
    across = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], across)
    if across < 1e-12:
        return np.array([0.0, pitch, math.atan2(-R[0, 1], R[1, 1])])
    yaw = math.atan2(R[1, 0], R[0, 0])
    # computing roll from the remaining rotation makes the angles reproduce R near ±90°, where yaw is ill-conditioned
    left = (planar_rotation(2, *cos_sin(yaw)) @ planar_rotation(1, *cos_sin(pitch))).T @ R
    return np.array([math.atan2(left[2, 1], left[1, 1]), pitch, yaw])


def quaternion_matrix(quaternion: Vector) -> Array:
    """Return R(η, ε) = I + 2 η ε̃ + 2 ε̃² of a unit quaternion (η, ε), body to world, shape (3, 3)."""
    w, x, y, z = quaternion
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return np.array(
        [
            [1.0 - (yy + zz), xy - wz, xz + wy],
            [xy + wz, 1.0 - (xx + zz), yz - wx],
            [xz - wy, yz + wx, 1.0 - (xx + yy)],
        ]
    )


def quaternion_from_matrix(R: ArrayLike) -> Array:
    """Return unit quaternions (..., 4), w ≥ 0, of matrices (..., 3, 3), by Shepperd's method. Symbols require one matrix."""
    if np.asarray(R).dtype == object:
        return _traced_quaternion(*np.ravel(R))
    R = np.asarray(R, dtype=float)
    if R.ndim == 2:
        return _one_quaternion(*R.ravel().tolist())
    rows = np.empty((*R.shape[:-2], 4, 4))  # row k is 4 q_k q
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    rows[..., 0, 0], rows[..., 1, 1] = 1.0 + xx + yy + zz, 1.0 + xx - yy - zz
    rows[..., 2, 2], rows[..., 3, 3] = 1.0 - xx + yy - zz, 1.0 - xx - yy + zz
    for k, (i, j) in enumerate(((2, 1), (0, 2), (1, 0)), start=1):
        rows[..., 0, k] = rows[..., k, 0] = R[..., i, j] - R[..., j, i]
        rows[..., i + 1, j + 1] = rows[..., j + 1, i + 1] = R[..., i, j] + R[..., j, i]
    largest = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(rows, largest[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(q[..., :1] < 0.0, -q, q)


def _products(
    xx: Scalar, xy: Scalar, xz: Scalar, yx: Scalar, yy: Scalar, yz: Scalar, zx: Scalar, zy: Scalar, zz: Scalar
) -> tuple[tuple[Scalar, ...], ...]:
    return (
        (1.0 + xx + yy + zz, zy - yz, xz - zx, yx - xy),
        (zy - yz, 1.0 + xx - yy - zz, xy + yx, xz + zx),
        (xz - zx, xy + yx, 1.0 - xx + yy - zz, yz + zy),
        (yx - xy, xz + zx, yz + zy, 1.0 - xx - yy + zz),
    )


def _traced_quaternion(*entries: Scalar) -> Array:
    """Return `quaternion_from_matrix` of a single matrix of symbols."""
    best, *others = _products(*entries)
    size = best[0]
    for k, row in enumerate(others, start=1):
        larger = row[k] > size
        best = tuple(where(larger, x, y) for x, y in zip(row, best, strict=True))
        size = where(larger, row[k], size)
    length = np.sqrt(sum(x * x for x in best))
    return np.array([x / where(best[0] >= 0.0, length, -length) for x in best])


def _one_quaternion(*entries: float) -> Array:
    """Return `quaternion_from_matrix` of a single matrix with Python floats, ten times as fast."""
    rows = _products(*entries)
    q = rows[max(range(4), key=lambda k: rows[k][k])]
    size = math.hypot(*q) if q[0] >= 0.0 else -math.hypot(*q)
    return np.array([x / size for x in q])


def quaternion_product(a: Vector, b: Vector) -> Array:
    """Return the Hamilton product a ⊗ b, shape (4,)."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return np.array(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ]
    )


def quaternion_exp(phi: Vector) -> Array:
    """Return exp(φ/2) of a rotation vector φ [rad] (3,): (cos |φ|/2, φ/|φ| sin |φ|/2), shape (4,); also exact at φ = 0."""
    half = 0.5 * np.sqrt(phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2] + TINY)
    scale = 0.5 * np.sin(half) / half
    return np.array([np.cos(half), scale * phi[0], scale * phi[1], scale * phi[2]])


def axis_frame(start: ArrayLike, end: ArrayLike) -> tuple[Array, Array, float, float]:
    """Return axes, foot and ends of the line from `start` to `end` [m], shape (3,) each.

    Returns:
        Rotation matrix with the line's direction as its third column, exact for coordinate axes, shape (3, 3); foot of the
        perpendicular from the body origin to the line [m], shape (3,); signed distances of start and end from that foot [m].
    """
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    e = (end - start) / np.linalg.norm(end - start)
    n1 = np.eye(3)[int(np.argmax(np.abs(e))) - 1]  # the coordinate axis that cyclically precedes the nearest
    n1 = n1 - (n1 @ e) * e
    n1 = n1 / np.linalg.norm(n1)
    R = np.array([n1, cross(e, n1), e]).T
    foot = start - (start @ e) * e
    return R, foot, float(start @ e), float(end @ e)


TURN_SERIES = (1.0 / 12.0, 1.0 / 720.0, 1.0 / 30240.0, 1.0 / 1209600.0, 1.0 / 47900160.0)
"""Series of (1 − (θ/2) cot(θ/2))/θ² in powers of θ²; after truncation it is exact to 1e-9 at θ = 1 and to 1e-15 at 0.25."""


def rotation_between(a: Array, b: Array) -> Array:
    """Return the rotation vector from one unit quaternion to another, in the axes of the first [rad], shape (3,)."""
    return turn_between(a, b)[0]


def turn_between(a: Array, b: Array) -> tuple[Array, Scalar]:
    """Return the rotation vector (3,) [rad] from unit quaternion a to b, in the axes of a, and (θ/2) cot(θ/2).

    With a⁻¹ b = (w, ε), w = cos(θ/2) and |ε| = sin(θ/2), the vector is θ ε/|ε|. θ is computed from tan(θ/4) = |ε|/(1 +
    w). The angle is then halved twice by tan(α/2) = tan α/(1 + √(1 + tan² α)). The arc tangent of the result, tan(θ/16) <
    0.2, is a series truncated at rounding error. The computation is smooth at θ = 0, because it avoids the quotient
    θ/|ε|, and calls no function that would be evaluated lane by lane.
    """
    w, x, y, z = quaternion_product(np.array([a[0], -a[1], -a[2], -a[3]]), b)
    sign = where(w >= 0.0, 1.0, -1.0)
    w = sign * w
    square = x * x + y * y + z * z
    scale = 1.0 / (np.sqrt(w * w + square) + w)
    for _ in range(2):
        scale = scale / (1.0 + np.sqrt(1.0 + square * scale * scale))
    tangent = square * scale * scale
    series = 0.0
    for k in reversed(range(12)):
        series = series * tangent + (-1.0) ** k / (2.0 * k + 1.0)
    factor = (16.0 * sign) * scale * series
    return np.array([factor * x, factor * y, factor * z]), 8.0 * scale * series * w


def turning_rate(u: Array, w: Array) -> Array:
    """Return the rate of the exponential coordinates u of an orientation that rotates with ω [rad/s], shape (3,).

    u̇ = ω + ½ u × ω + c u × (u × ω), c = (1 − (θ/2) cot(θ/2))/θ², θ = |u|. This is the inverse of the derivative of the
    exponential map.
    """
    square = u @ u
    c = TURN_SERIES[-1]
    for coefficient in reversed(TURN_SERIES[:-1]):
        c = c * square + coefficient
    across = cross(u, w)
    return w + 0.5 * across + c * cross(u, across)
