"""Helical joints."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hydromechs.spatial import Screw
from hydromechs.values import Array, Finite

from ._moving import MovingStep
from ._one_axis import OneAxis, about_axis, axis_turn

UNIT = np.eye(6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Helical(OneAxis):
    """Rotation about an axis of the joint frame that advances along it like a screw: q = angle [rad]."""

    pitch: Finite
    """Advance along the axis per turn [m]; negative for a left-hand thread."""

    kind = "helical"

    @property
    def advance(self) -> float:
        """Advance along the axis per angle [m/rad]."""
        return self.pitch / (2.0 * math.pi)

    def steps(self, iq: int, iv: int) -> tuple:
        before, k, sign, last, after = about_axis(self)
        return (*before, HelicalStep(k, sign, self.advance, last.distance, math.atan2(last.sin, last.cos), iq, iv), *after)


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
        turned = self.sign * q[0]
        angle = turned + self.angle
        return Screw(self.axis, self.advance * turned + self.distance, np.cos(angle), np.sin(angle))

    def subspace(self, q: Array) -> Array:
        """Rotations about the axis with translation along it."""
        along, about = UNIT[self.axis].tolist(), UNIT[3 + self.axis].tolist()
        return np.array([[self.sign * (self.advance * x + y)] for x, y in zip(along, about, strict=True)])

    def velocity(self, q: Array, v: Array) -> Array:
        about = np.array([self.sign * v[0] if k == self.axis else 0.0 for k in range(3)])
        return np.concatenate([self.advance * about, about])

    def turn(self, q: Array) -> Array:
        return axis_turn(self.axis, self.sign * q[0] + self.angle)
