"""Prismatic joints."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hydromechs.spatial import Screw, Shift
from hydromechs.values import Array

from ._moving import MovingStep
from ._one_axis import OneAxis, axis_turn, coordinate_axis, split_last

UNIT = np.eye(6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prismatic(OneAxis):
    """Translation along an axis of the joint frame: q = displacement [m]."""

    kind = "prismatic"
    unit = "m"

    def steps(self, iq: int, iv: int) -> tuple:
        along = coordinate_axis(self.axis)
        if along is None:
            return (*self.placement.steps(2), SlideStep(tuple(self.unit_axis), iq, iv))
        k, sign = along
        before, last = split_last(self.placement.steps(k), k)
        return (*before, PrismaticStep(k, sign, last.distance, last.cos, last.sin, iq, iv))


class _Prismatic(NamedTuple):
    axis: int
    sign: float
    distance: float
    cos: float
    sin: float
    iq: int
    iv: int


class PrismaticStep(_Prismatic, MovingStep):
    """Screw along coordinate `axis` by `distance + sign · q`, and about this axis by a constant angle."""

    __slots__ = ()
    nq = nv = 1

    @property
    def rows(self) -> tuple[int, ...]:  # type: ignore[override]
        """Index in V_J of the linear velocity along the axis."""
        return (self.axis,)

    def transformation(self, q: Array) -> Screw:
        return Screw(self.axis, self.sign * q[0] + self.distance, self.cos, self.sin)

    def subspace(self, q: Array) -> Array:
        return np.array([[self.sign * x] for x in UNIT[self.axis].tolist()])

    def velocity(self, q: Array, v: Array) -> Array:
        return np.array([self.sign * v[0] if k == self.axis else 0.0 for k in range(6)])

    def turn(self, q: Array) -> Array:
        return axis_turn(self.axis, np.full(q.shape[1], np.arctan2(self.sin, self.cos)))

    def without_axis(self) -> tuple[tuple, MovingStep, tuple]:
        """Return the constant screw, followed by a translation along a vector."""
        direction = tuple((self.sign * np.eye(3)[self.axis]).tolist())
        return (Screw(self.axis, self.distance, self.cos, self.sin),), SlideStep(direction, self.iq, self.iv), ()


class _Slide(NamedTuple):
    direction: tuple[float, float, float]
    iq: int
    iv: int


class SlideStep(_Slide, MovingStep):
    """Translation by `direction · q`, for a prismatic joint whose axis is not a coordinate axis."""

    __slots__ = ()
    nq = nv = 1

    def transformation(self, q: Array) -> Shift:
        return Shift(np.array([d * q[0] for d in self.direction]))

    def subspace(self, q: Array) -> Array:
        return np.array([[x] for x in (*self.direction, 0.0, 0.0, 0.0)])

    def velocity(self, q: Array, v: Array) -> Array:
        return np.array([*(d * v[0] for d in self.direction), 0.0, 0.0, 0.0])

    def turn(self, q: Array) -> Array:
        return np.array([[1.0], [0.0], [0.0], [0.0]]) * np.ones(q.shape[1])
