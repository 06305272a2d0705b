"""Revolute joints."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hydromechs.spatial import Screw, Turn
from hydromechs.values import Array

from ._moving import MovingStep
from ._one_axis import OneAxis, about_axis, axis_turn

UNIT = np.eye(6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revolute(OneAxis):
    """Rotation about an axis of the joint frame: q = angle [rad]."""

    kind = "revolute"

    def steps(self, iq: int, iv: int) -> tuple:
        before, k, sign, last, after = about_axis(self)
        return (*before, RevoluteStep(k, sign, last.distance, math.atan2(last.sin, last.cos), iq, iv), *after)


class _Revolute(NamedTuple):
    axis: int
    sign: float
    distance: float
    angle: float
    iq: int
    iv: int


class RevoluteStep(_Revolute, MovingStep):
    """Screw about coordinate `axis` by `angle + sign · q`, and along this axis by `distance`."""

    __slots__ = ()
    nq = nv = 1

    @property
    def rows(self) -> tuple[int, ...]:  # type: ignore[override]
        """Index in V_J of the angular velocity about the axis."""
        return (3 + self.axis,)

    def transformation(self, q: Array) -> Screw:
        angle = self.sign * q[0] + self.angle
        return Screw(self.axis, self.distance, np.cos(angle), np.sin(angle))

    def subspace(self, q: Array) -> Array:
        return np.array([[self.sign * x] for x in UNIT[3 + self.axis].tolist()])

    def velocity(self, q: Array, v: Array) -> Array:
        return np.array([self.sign * v[0] if k == 3 + self.axis else 0.0 for k in range(6)])

    def turn(self, q: Array) -> Array:
        return axis_turn(self.axis, self.sign * q[0] + self.angle)

    def without_axis(self) -> tuple[tuple, MovingStep, tuple]:
        """Return a rotation about z between two rotations of the axes."""
        k = self.axis
        P = np.eye(3)[:, [(k + 1) % 3, (k + 2) % 3, k]]  # takes z to the axis
        return (Turn(P, np.zeros(3)),), self._replace(axis=2), (Turn(P.T, np.zeros(3)),)

    def without_offset(self) -> tuple[MovingStep, float]:
        return self._replace(angle=0.0), self.sign * self.angle
