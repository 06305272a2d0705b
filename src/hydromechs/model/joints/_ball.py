"""Ball joints."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from hydromechs.spatial import Turn, cross, quaternion_exp, quaternion_matrix, quaternion_product, turn_between, turning_rate
from hydromechs.values import Array, Bound, NotNegative, Vector3, Vector4

from ._joint import Coordinates, Problem, SteppedJoint, unit_problems
from ._moving import MovingStep, StepPlace

Stiffness = Annotated[tuple[float, float, float], Bound(least=0.0, size=3)]
"""Stiffness about three axes, each at least 0."""
Angle = Annotated[float, Bound(above=0.0, below=math.pi)]
"""Angle between 0 and π."""
UNIT = np.eye(6)
BRACKETS = np.array([[cross(a, b) for b in np.eye(3)] for a in np.eye(3)]).transpose(2, 0, 1)
"""Cross products of the unit vectors: entry [k, i, j] is component k of e_i × e_j, shape (3, 3, 3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ball(SteppedJoint):
    """Three rotations: q is the quaternion from body to joint frame, v the angular velocity in body axes."""

    orientation: Vector4 = (1.0, 0.0, 0.0, 0.0)
    """Initial unit quaternion (w, x, y, z), body to joint frame, shape (4,)."""
    velocity: Vector3 = (0.0, 0.0, 0.0)
    """Initial angular velocity in body axes [rad/s], shape (3,)."""
    damping: NotNegative = 0.0
    """Viscous friction coefficient, used by joint friction in simulations [N·m·s/rad]."""
    friction: NotNegative = 0.0
    """Coulomb friction, used by joint friction in simulations [N·m]."""
    stiffness: Stiffness = (0.0, 0.0, 0.0)
    """Spring stiffness about x, y and z of the body towards the zero orientation, at least 0 [N·m/rad], shape (3,)."""
    limit: Angle | None = None
    """Maximum rotation from the zero orientation, above 0 and below π [rad]; unlimited if omitted."""

    kind = "ball"
    neutral_q = (1.0, 0.0, 0.0, 0.0)
    velocities = 3
    quaternion = 0

    @property
    def initial_q(self) -> tuple[float, ...]:
        return self.orientation

    @property
    def initial_v(self) -> tuple[float, ...]:
        return self.velocity

    @property
    def coordinates(self) -> tuple[Coordinates, ...]:
        return (Coordinates(("qw", "qx", "qy", "qz"), "quaternion w, x, y, z"),)

    @property
    def rates(self) -> tuple[Coordinates, ...]:
        return (Coordinates(("p", "q", "r"), "angular velocity p, q, r in axes of the body", "rad/s"),)

    def steps(self, iq: int, iv: int) -> tuple:
        return (*self.placement.steps(2), BallStep(iq, iv))

    def random_q(self, rng: np.random.Generator, n: int) -> Array:
        q = rng.normal(size=(n, 4))
        return q / np.linalg.norm(q, axis=1, keepdims=True)

    def problems(self, where: str) -> Iterator[Problem]:
        yield from unit_problems(self.orientation)


class BallStep(StepPlace, MovingStep):
    """Rotation by the quaternion q."""

    __slots__ = ()
    nq, nv, rows, quaternion, turning = 4, 3, (3, 4, 5), 0, (0, 1, 2, 3)

    def transformation(self, q: Array) -> Turn:
        return Turn(quaternion_matrix(q))

    def subspace(self, q: Array) -> Array:
        return UNIT[:, 3:]

    def velocity(self, q: Array, v: Array) -> Array:
        return np.concatenate([np.zeros(3), v])

    def brackets(self, q: Array) -> Array:
        return BRACKETS

    def retract(self, q: Array, u: Array) -> Array:
        return quaternion_product(q, quaternion_exp(u))

    def chart_rate(self, q: Array, u: Array, v: Array) -> Array:
        return turning_rate(u, v)

    def difference(self, q: Array, q_other: Array) -> Array:
        return turn_between(q, q_other)[0]

    def turn(self, q: Array) -> Array:
        return q
