"""The joint with six degrees of freedom."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hydromechs.spatial import (
    TURN_SERIES,
    Turn,
    cross,
    motion_cross,
    quaternion_exp,
    quaternion_matrix,
    quaternion_product,
    turn_between,
    turning_rate,
    where,
)
from hydromechs.values import Array, Scalar, Vector3, Vector4, Vector6

from ._joint import Coordinates, Problem, SteppedJoint, unit_problems
from ._moving import MovingStep, StepPlace

SMALL = 0.0625
"""Limit of θ² below which the series of `TURN_SERIES` is exact up to rounding."""
UNIT = np.eye(6)
BRACKETS = np.array([[motion_cross(a, b) for b in UNIT] for a in UNIT]).transpose(2, 0, 1)
"""Cross products of the unit vectors: entry [k, i, j] is component k of e_i × e_j, shape (3, 3, 3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Free(SteppedJoint):
    """Six degrees of freedom: q is position in parent axes and quaternion, v is velocity in body axes, linear first."""

    position: Vector3 = (0.0, 0.0, 0.0)
    """Initial position in the joint frame [m], shape (3,)."""
    orientation: Vector4 = (1.0, 0.0, 0.0, 0.0)
    """Initial unit quaternion (w, x, y, z), body to joint frame, shape (4,)."""
    velocity: Vector6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    """Initial velocity in body axes, linear first [m/s, rad/s], shape (6,)."""

    kind = "free"
    neutral_q = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    velocities = 6
    quaternion = 3

    @property
    def initial_q(self) -> tuple[float, ...]:
        return (*self.position, *self.orientation)

    @property
    def initial_v(self) -> tuple[float, ...]:
        return self.velocity

    @property
    def coordinates(self) -> tuple[Coordinates, ...]:
        turn = Coordinates(("qw", "qx", "qy", "qz"), "quaternion w, x, y, z")
        return Coordinates(("x", "y", "z"), "position x, y, z", "m"), turn

    @property
    def rates(self) -> tuple[Coordinates, ...]:
        return (
            Coordinates(("u", "v", "w"), "velocity u, v, w in axes of the body", "m/s"),
            Coordinates(("p", "q", "r"), "angular velocity p, q, r in axes of the body", "rad/s"),
        )

    def steps(self, iq: int, iv: int) -> tuple:
        return (*self.placement.steps(2), FreeStep(iq, iv))

    def random_q(self, rng: np.random.Generator, n: int) -> Array:
        q = rng.normal(size=(n, 7))
        q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
        return q

    def problems(self, where: str) -> Iterator[Problem]:
        yield from unit_problems(self.orientation)


class FreeStep(StepPlace, MovingStep):
    """Translation by q[:3], then rotation by the quaternion q[3:]."""

    __slots__ = ()
    nq, nv, rows, quaternion, turning = 7, 6, (0, 1, 2, 3, 4, 5), 3, (3, 4, 5, 6)

    def transformation(self, q: Array) -> Turn:
        return Turn(quaternion_matrix(q[3:]), q[:3])

    def subspace(self, q: Array) -> Array:
        return UNIT

    def velocity(self, q: Array, v: Array) -> Array:
        return v

    def brackets(self, q: Array) -> Array:
        return BRACKETS

    def integrate(self, q: Array, v: Array, dt: Scalar) -> Array:
        """Return the configuration p + R J_l(φ) u dt, R exp(φ̃) with φ = ω dt: the exponential map of SE(3).

        J_l = 1 + (1 − cos φ)/φ² φ̃ + (φ − sin φ)/φ³ φ̃².
        """
        u, phi = v[:3] * dt, v[3:] * dt
        turn = quaternion_exp(phi)
        # |φ|² as in `norm`, which keeps φ = 0 finite; there the two factors are 1/2 and irrelevant
        square = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2] + 1e-300
        sinc_half = 2.0 * np.sin(0.5 * np.sqrt(square)) / np.sqrt(square)
        first = 0.5 * sinc_half * sinc_half
        second = (1.0 - np.sin(np.sqrt(square)) / np.sqrt(square)) / square
        across = cross(phi, u)
        moved = u + first * across + second * cross(phi, across)
        return np.concatenate([q[:3] + quaternion_matrix(q[3:]) @ moved, quaternion_product(q[3:], turn)])

    def displacement(self, q: Array, q_other: Array) -> Array:
        """Return the velocity (u, φ) with u = J_l⁻¹(φ) Rᵀ (p_other − p) and the rotation vector φ, shape (6,).

        J_l⁻¹ = 1 − ½ φ̃ + c φ̃² with c = (1 − (θ/2) cot(θ/2))/θ² and θ = |φ|.
        """
        phi, half_cot = turn_between(q[3:], q_other[3:])
        d = quaternion_matrix(q[3:]).T @ (q_other[:3] - q[:3])
        square = phi @ phi
        series: Scalar = 0.0
        for coefficient in reversed(TURN_SERIES):
            series = series * square + coefficient
        c = where(square < SMALL, series, (1.0 - half_cot) / (square + 1e-300))
        across = cross(phi, d)
        return np.concatenate([d - 0.5 * across + c * cross(phi, across), phi])

    def retract(self, q: Array, u: Array) -> Array:
        """Move the position in the axes before the joint, and rotate the orientation with the exponential map."""
        return np.concatenate([q[:3] + u[:3], quaternion_product(q[3:], quaternion_exp(u[3:]))])

    def chart_rate(self, q: Array, u: Array, v: Array) -> Array:
        """Return R (u, v, w) and the rate of the exponential coordinates, shape (6,)."""
        return np.concatenate([quaternion_matrix(q[3:]) @ v[:3], turning_rate(u[3:], v[3:])])

    def difference(self, q: Array, q_other: Array) -> Array:
        """Return the displacement in the axes before the joint, and the rotation vector of the shorter rotation, shape (6,)."""
        return np.concatenate([q_other[:3] - q[:3], turn_between(q[3:], q_other[3:])[0]])

    def turn(self, q: Array) -> Array:
        return q[3:]
