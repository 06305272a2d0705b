"""Moving steps of the joints, and how a sequence of steps becomes transformations and a motion subspace at a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs.spatial import (
    TURN_SERIES,
    Path,
    Screw,
    Shift,
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
from hydromechs.values import Array, Scalar

from ._moving import MovingStep

__all__ = [
    "BallStep",
    "FreeStep",
    "HelicalStep",
    "PrismaticStep",
    "RevoluteStep",
    "SlideStep",
    "free_rows",
    "motion_subspace",
    "transformation",
]

SMALL = 0.0625
"""θ² below which the series of `TURN_SERIES` is exact to rounding."""
UNIT = np.eye(6)
BALL_BRACKETS = np.array([[cross(a, b) for b in np.eye(3)] for a in np.eye(3)]).transpose(2, 0, 1)
FREE_BRACKETS = np.array([[motion_cross(a, b) for b in UNIT] for a in UNIT]).transpose(2, 0, 1)
"""[k, i, j] of e_i × e_j."""


class _Revolute(NamedTuple):
    axis: int
    sign: float
    distance: float
    angle: float
    iq: int
    iv: int


class RevoluteStep(_Revolute, MovingStep):
    """Screw about coordinate `axis` by `angle + sign · q`, along it by `distance`."""

    __slots__ = ()
    nq = nv = 1

    @property
    def rows(self) -> tuple[int, ...]:  # type: ignore[override]
        """Turns about the axis."""
        return (3 + self.axis,)

    def transformation(self, q: Array) -> Screw:
        """A screw."""
        angle = self.sign * q[0] + self.angle
        return Screw(self.axis, self.distance, np.cos(angle), np.sin(angle))

    def subspace(self, q: Array) -> Array:
        """Turns about the axis."""
        return np.array([[self.sign * x] for x in UNIT[3 + self.axis].tolist()])

    def velocity(self, q: Array, v: Array) -> Array:
        """Turns about the axis."""
        return np.array([self.sign * v[0] if k == 3 + self.axis else 0.0 for k in range(6)])


class _Prismatic(NamedTuple):
    axis: int
    sign: float
    distance: float
    cos: float
    sin: float
    iq: int
    iv: int


class PrismaticStep(_Prismatic, MovingStep):
    """Screw along coordinate `axis` by `distance + sign · q`, about it by a constant angle."""

    __slots__ = ()
    nq = nv = 1

    @property
    def rows(self) -> tuple[int, ...]:  # type: ignore[override]
        """Moves along the axis."""
        return (self.axis,)

    def transformation(self, q: Array) -> Screw:
        """A screw."""
        return Screw(self.axis, self.sign * q[0] + self.distance, self.cos, self.sin)

    def subspace(self, q: Array) -> Array:
        """Moves along the axis."""
        return np.array([[self.sign * x] for x in UNIT[self.axis].tolist()])

    def velocity(self, q: Array, v: Array) -> Array:
        """Moves along the axis."""
        return np.array([self.sign * v[0] if k == self.axis else 0.0 for k in range(6)])


class _Helical(NamedTuple):
    axis: int
    sign: float
    advance: float
    distance: float
    angle: float
    iq: int
    iv: int


class HelicalStep(_Helical, MovingStep):
    """Screw about coordinate `axis` by `angle + sign · q`, along it by `distance + sign · advance · q`."""

    __slots__ = ()
    nq = nv = 1

    def transformation(self, q: Array) -> Screw:
        """A screw."""
        turned = self.sign * q[0]
        angle = turned + self.angle
        return Screw(self.axis, self.advance * turned + self.distance, np.cos(angle), np.sin(angle))

    def subspace(self, q: Array) -> Array:
        """Turns about the axis and moves along it."""
        along, about = UNIT[self.axis].tolist(), UNIT[3 + self.axis].tolist()
        return np.array([[self.sign * (self.advance * x + y)] for x, y in zip(along, about, strict=True)])

    def velocity(self, q: Array, v: Array) -> Array:
        """Turns about the axis and moves along it."""
        about = np.array([self.sign * v[0] if k == self.axis else 0.0 for k in range(3)])
        return np.concatenate([self.advance * about, about])


class _Slide(NamedTuple):
    direction: tuple[float, float, float]
    iq: int
    iv: int


class SlideStep(_Slide, MovingStep):
    """Translation by `direction · q`, for a prismatic joint along no coordinate axis."""

    __slots__ = ()
    nq = nv = 1

    def transformation(self, q: Array) -> Shift:
        """A shift."""
        return Shift(np.array([d * q[0] for d in self.direction]))

    def subspace(self, q: Array) -> Array:
        """Moves along the direction."""
        return np.array([[x] for x in (*self.direction, 0.0, 0.0, 0.0)])

    def velocity(self, q: Array, v: Array) -> Array:
        """Moves along the direction."""
        return np.array([*(d * v[0] for d in self.direction), 0.0, 0.0, 0.0])


class _Place(NamedTuple):
    iq: int
    iv: int


class BallStep(_Place, MovingStep):
    """Rotation by the quaternion q."""

    __slots__ = ()
    nq, nv, rows, quaternion, turning = 4, 3, (3, 4, 5), 0, (0, 1, 2, 3)

    def transformation(self, q: Array) -> Turn:
        """A turn."""
        return Turn(quaternion_matrix(q))

    def subspace(self, q: Array) -> Array:
        """All turns."""
        return UNIT[:, 3:]

    def velocity(self, q: Array, v: Array) -> Array:
        """Turns with v."""
        return np.concatenate([np.zeros(3), v])

    def brackets(self, q: Array) -> Array:
        """ω × ω'."""
        return BALL_BRACKETS

    def retract(self, q: Array, u: Array) -> Array:
        """q ⊗ exp(u / 2)."""
        return quaternion_product(q, quaternion_exp(u))

    def chart_rate(self, q: Array, u: Array, v: Array) -> Array:
        """Exponential coordinates."""
        return turning_rate(u, v)

    def difference(self, q: Array, q_other: Array) -> Array:
        """The shorter way."""
        return turn_between(q, q_other)[0]


class FreeStep(_Place, MovingStep):
    """Translation by q[:3], then rotation by the quaternion q[3:]."""

    __slots__ = ()
    nq, nv, rows, quaternion, turning = 7, 6, (0, 1, 2, 3, 4, 5), 3, (3, 4, 5, 6)

    def transformation(self, q: Array) -> Turn:
        """A turn after a translation."""
        return Turn(quaternion_matrix(q[3:]), q[:3])

    def subspace(self, q: Array) -> Array:
        """All motions."""
        return UNIT

    def velocity(self, q: Array, v: Array) -> Array:
        """Moves with v."""
        return v

    def brackets(self, q: Array) -> Array:
        """V × V'."""
        return FREE_BRACKETS

    def integrate(self, q: Array, v: Array, dt: Scalar) -> Array:
        """The exponential of SE(3), p + R J_l(φ) u dt with φ = ω dt, J_l = 1 + (1 − cos φ)/φ² φ̃ + (φ − sin φ)/φ³ φ̃²."""
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
        """u = J_l⁻¹(φ) Rᵀ (p_other − p), J_l⁻¹ = 1 − ½ φ̃ + c φ̃², c = (1 − (θ/2) cot(θ/2))/θ², θ = |φ|."""
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
        """The position moves in the axes before the joint, the orientation turns by the exponential map."""
        return np.concatenate([q[:3] + u[:3], quaternion_product(q[3:], quaternion_exp(u[3:]))])

    def chart_rate(self, q: Array, u: Array, v: Array) -> Array:
        """R (u, v, w), and the rate of exponential coordinates."""
        return np.concatenate([quaternion_matrix(q[3:]) @ v[:3], turning_rate(u[3:], v[3:])])

    def difference(self, q: Array, q_other: Array) -> Array:
        """The way in the axes before the joint, and the shorter turn."""
        return np.concatenate([q_other[:3] - q[:3], turn_between(q[3:], q_other[3:])[0]])


def transformation(step: Any, q: Array | Sequence[Scalar]) -> Any:
    """The transformation that a step is at configuration `q` (nq,), floats or symbols."""
    return step.transformation(np.asarray(q[step.at_q])) if isinstance(step, MovingStep) else step


def motion_subspace(steps: Sequence[Any], transformations: Sequence[Any], q: Array | Sequence[Scalar]) -> Array:
    """S in V = X V_parent + S v, in axes of the body at its origin, shape (6, n).

    Args:
        steps: Steps of the joint.
        transformations: The same steps at the configuration.
        q: Configuration, shape (nq,).
    """
    columns: list = []
    for step, X in zip(steps, transformations, strict=True):
        columns = [Path((X,)).motion(c) for c in columns]
        if isinstance(step, MovingStep):
            columns += list(step.subspace(np.asarray(q[step.at_q])).T)
    return np.stack(columns, axis=1) if columns else np.zeros((6, 0))


def free_rows(steps: Sequence[Any]) -> tuple[int, ...] | None:
    """Components of the body's motion that are the joint's own velocities up to sign, or None if the subspace is general."""
    moving = [s for s in steps if isinstance(s, MovingStep)]
    if not moving:
        return ()
    return None if len(moving) > 1 or steps[-1] is not moving[0] else moving[0].rows
