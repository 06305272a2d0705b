"""Strapdown navigation on SE(3): filter state, motion and error models, and layout of the covariance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.spatial import cross, norm, quaternion_exp, quaternion_matrix, quaternion_product
from hydromechs.values import Array, Scalar

STATES = {"p": slice(0, 3), "v": slice(3, 6), "q": slice(6, 10), "bg": slice(10, 13), "ba": slice(13, 16), "c": slice(16, 19)}
"""Slices of x, shape (19,): position and velocity in the world, quaternion, gyroscope and accelerometer biases, current."""
ERRORS = {"p": slice(0, 3), "v": slice(3, 6), "q": slice(6, 9), "bg": slice(9, 12), "ba": slice(12, 15), "c": slice(15, 18)}
"""Slices of the same quantities in the error δ, shape (18,); the orientation error is a rotation vector in IMU axes."""


def plus(x: Array, error: Array) -> Array:
    """Return x ⊞ δ, shape (19,), for state `x` (19,) and error δ (18,): sums, and q ⊗ exp(δθ/2) for the orientation."""
    return np.concatenate([x[:6] + error[:6], _turned(x[6:10], error[6:9]), x[10:] + error[9:]])


def _turned(q: Array, turn: Array) -> Array:
    """Return q ⊗ exp(½ turn), normalised to remove accumulated rounding errors, shape (4,)."""
    after = quaternion_product(q, quaternion_exp(turn))
    return after / norm(after)


def difference(a: Array, b: Array) -> Array:
    """Return δ = a ⊟ b such that b ⊞ δ = a, to second order in the rotation, shape (18,)."""
    back = b[6:10] * np.array([1.0, -1.0, -1.0, -1.0])
    turn = quaternion_product(back, a[6:10])
    return np.concatenate([a[:6] - b[:6], 2.0 * turn[1:] * turn[0], a[10:] - b[10:]])


def moved(x: Array, f: Array, w: Array, dt: Scalar, gravity: Array, decay: float) -> Array:
    """Return the state after a time dt with constant specific force and angular velocity.

        a = R (f − b_a) + g,   p + v dt + ½ a dt²,   v + a dt,   q ⊗ exp(½ (ω − b_g) dt),   c e^(−dt/T)

    R is evaluated at the middle of the step.

    `x`: state, shape (19,); `f`: measured specific force [m/s²], shape (3,); `w`: measured angular velocity [rad/s], shape
    (3,); `dt`: time step [s]; `gravity`: gravity in world axes [m/s²], shape (3,); `decay`: 1/T of the current [1/s].
    """
    p, v, q, bg, ba, c = (x[at] for at in STATES.values())
    turn = (w - bg) * dt
    a = quaternion_matrix(quaternion_product(q, quaternion_exp(0.5 * turn))) @ (f - ba) + gravity
    after = _turned(q, turn)
    return np.concatenate([p + dt * v + (0.5 * dt * dt) * a, v + dt * a, after, bg, ba, c * np.exp(-decay * dt)])


class Believed(NamedTuple):
    """Estimated motion of a frame fixed to the IMU; see `sensors.FrameMotion`."""

    p: Array
    """Origin of the frame in the world [m], shape (3,)."""
    R: Array
    """Axes of the frame in the world, shape (3, 3)."""
    v: Array
    """Velocity of the frame origin in world axes [m/s], shape (3,)."""
    v_water: Array
    """Water velocity in world axes [m/s], shape (3,)."""

    @staticmethod
    def at(x: Array, w: Array, p_IS: Array, R_IS: Array) -> Believed:
        """Return the motion of a frame S fixed to the IMU.

        `x`: state, shape (19,); `w`: measured angular velocity in IMU axes [rad/s], shape (3,); `p_IS`: position of S from the
        IMU, in IMU axes [m], shape (3,); `R_IS`: axes of S in IMU axes, shape (3, 3).
        """
        p, v, q, bg, _, c = (x[at] for at in STATES.values())
        R = quaternion_matrix(q)
        return Believed(p + R @ p_IS, R @ R_IS, v + R @ cross(w - bg, p_IS), c)


def of_body(x: Array, w: Array, p_BI: Array, q_BI: Array) -> tuple[Array, Array, Array]:
    """Return position (3,), quaternion (4,) and velocity (6,) of the body that carries the IMU.

    `x`: state, shape (19,); `w`: measured angular velocity in IMU axes [rad/s], shape (3,); `p_BI`: IMU origin in body axes
    [m], shape (3,); `q_BI`: quaternion of the IMU axes in body axes, shape (4,).
    """
    p, v, q, bg, _, _ = (x[at] for at in STATES.values())
    turn = quaternion_product(q, q_BI * np.array([1.0, -1.0, -1.0, -1.0]))
    R = quaternion_matrix(turn)
    w_B = quaternion_matrix(q_BI) @ (w - bg)
    return p - R @ p_BI, turn, np.concatenate([R.T @ v - cross(w_B, p_BI), w_B])


class Clone(NamedTuple):
    """Cloned errors at the time of a sample in transit."""

    aid: int
    """Index of the sensor."""
    copy: int
    """Index of the state copy; 0 is the present state."""
    places: Array
    """Covariance index of each of the 18 errors; -1 if the sensor does not observe the error."""


class Covariance:
    """Layout of the upper triangle of P in a flat array.

    The errors are ordered as follows: present errors (position, velocity, attitude, water current if estimated, gyroscope and
    accelerometer biases), clones of the errors observed by sensors with latency, biases of aids. The array contains the
    triangle of the present errors, then covariances of all other errors with the present errors, then the remaining entries.

    `current`: True if the water current is estimated; `observed`: indices, among 18, of the errors observed by each sensor;
    `slots`: maximum number of samples in transit of each sensor; `biases`: number of biases of aids.
    """

    def __init__(self, *, current: bool, observed: Sequence[Sequence[int]], slots: Sequence[int], biases: int) -> None:
        self.present = np.full(18, -1)
        """Covariance index of each of the 18 errors; -1 if the filter does not estimate the error."""
        names = [name for name in ("p", "v", "q", "c", "bg", "ba") if name != "c" or current]
        order = [k for name in names for k in range(18)[ERRORS[name]]]
        self.present[order] = np.arange(len(order))
        self.head = n = len(order)
        """Number of errors at the present time, without clones and biases of aids."""
        self.moving = 12 if current else 9
        """Number of errors at the present time that change during propagation."""
        self.clones: list[Clone] = []
        copy = 1
        for aid, (seen, count) in enumerate(zip(observed, slots, strict=True)):
            for _ in range(count):
                places = np.full(18, -1)
                places[list(seen)] = n + np.arange(len(seen))
                self.clones.append(Clone(aid, copy, places))
                n, copy = n + len(seen), copy + 1
        self.copies = copy
        """Number of copies of the state, including the present state."""
        self.biases = np.arange(n, n + biases)
        """Covariance indices of the biases of aids."""
        self.n = n + biases
        """Total number of errors."""
        self.size = self.n * (self.n + 1) // 2
        """Number of entries of the flat array."""

    @property
    def identity(self) -> str:
        """Text that identifies the layout."""
        return f"{self.present.tolist()} {[(c.aid, c.copy, c.places.tolist()) for c in self.clones]} {self.n} {self.copies}"

    def at(self, i: int, j: int) -> int:
        """Return the index of entry (i, j) of P in the flat array."""
        i, j = min(i, j), max(i, j)
        h = self.head
        corner = h * (h + 1) // 2
        if j < h:
            return i * h - i * (i - 1) // 2 + j - i
        if i < h:
            return corner + (j - h) * h + i
        i, j, m = i - h, j - h, self.n - h
        return corner + h * m + i * m - i * (i - 1) // 2 + j - i

    def matrix(self, flat: Array) -> Array:
        """Return P, shape (n, n), from the flat array of floats or symbols."""
        return np.array([[flat[self.at(i, j)] for j in range(self.n)] for i in range(self.n)]).reshape(self.n, self.n)

    def flat(self, P: Array) -> Array:
        """Return the flat array, shape (size,), from P."""
        out = np.zeros(self.size, dtype=np.asarray(P).dtype)
        for i in range(self.n):
            for j in range(i, self.n):
                out[self.at(i, j)] = P[i, j]
        return out

    def clones_of(self, aid: int) -> list[Clone]:
        """Return the clones of a sensor, newest sample first."""
        return [c for c in self.clones if c.aid == aid]
