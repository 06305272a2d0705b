"""Joints with one coordinate along or about an axis."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hydromechs.geometry import rotation_steps
from hydromechs.spatial import Screw, Shift
from hydromechs.values import Array, Finite, NotNegative, Pair, Vector3, is_finite, plain

from .._placement import Mdh
from ._joint import Coordinates, Problem, SteppedJoint, limit_problems
from ._moving import MovingStep


@dataclass(frozen=True, slots=True, kw_only=True)
class OneAxis(SteppedJoint):
    """Joint with one coordinate along or about an axis."""

    axis: Vector3 = (0.0, 0.0, 1.0)
    """Axis in the joint frame, of any nonzero length; must be z with Denavit-Hartenberg parameters [-], shape (3,)."""
    limits: Pair | None = None
    """Lower and upper position, used by joint stops in simulations [rad or m]; unlimited if omitted."""
    damping: NotNegative = 0.0
    """Viscous friction coefficient, used by joint friction in simulations [N·m·s/rad or N·s/m]."""
    friction: NotNegative = 0.0
    """Coulomb friction, used by joint friction in simulations [N·m or N]."""
    position: Finite = 0.0
    """Initial position [rad or m]."""
    velocity: Finite = 0.0
    """Initial velocity [rad/s or m/s]."""

    neutral_q = (0.0,)

    @property
    def initial_q(self) -> tuple[float, ...]:
        return (self.position,)

    @property
    def initial_v(self) -> tuple[float, ...]:
        return (self.velocity,)

    @property
    def unit_axis(self) -> np.ndarray:
        """Unit vector along the axis, shape (3,)."""
        return np.array(self.axis) / math.sqrt(sum(a * a for a in self.axis))

    @property
    def coordinates(self) -> tuple[Coordinates, ...]:
        return (Coordinates(("",), "displacement" if self.unit == "m" else "angle", self.unit),)

    @property
    def rates(self) -> tuple[Coordinates, ...]:
        return (Coordinates(("",), "speed" if self.unit == "m" else "rate", f"{self.unit}/s"),)

    def random_q(self, rng: np.random.Generator, n: int) -> Array:
        """Return random positions within limits, or within one revolution or 1 m of zero, shape (n, 1)."""
        most = 1.0 if self.unit == "m" else math.pi
        return rng.uniform(*(self.limits or (-most, most)), (n, 1))

    def problems(self, where: str) -> Iterator[Problem]:
        length = float(np.linalg.norm(self.axis))
        if is_finite(self.axis) and not 1e-6 < length < 1e6:
            yield ("axis",), f"joint axis {plain(self.axis)} must be finite, with a length from 1e-6 to 1e6"
        elif isinstance(self.placement, Mdh) and self.axis != (0.0, 0.0, 1.0):
            remedy = "omit axis or use origin"
            yield ("axis",), f"joint axis is {plain(self.axis)}, but a joint placed by mdh moves about z; {remedy}"
        yield from limit_problems(self)


def axis_turn(axis: int, angle: Array) -> Array:
    """Return unit quaternions of rotations by angles [rad], shape (n,), about a coordinate axis, shape (4, n)."""
    rows = [np.cos(0.5 * angle), *(np.zeros(len(angle)) for _ in range(3))]
    rows[1 + axis] = np.sin(0.5 * angle)
    return np.stack(rows)


def coordinate_axis(axis: tuple[float, float, float]) -> tuple[int, float] | None:
    """Return index and sign of the coordinate axis parallel to `axis`; None if no coordinate axis is parallel."""
    nonzero = [k for k in range(3) if axis[k] != 0.0]
    return (nonzero[0], math.copysign(1.0, axis[nonzero[0]])) if len(nonzero) == 1 else None


def split_last(steps: tuple, axis: int) -> tuple[tuple, Screw]:
    """Remove a final screw about `axis` from the constant steps, so that a moving step can include it."""
    if steps and isinstance(steps[-1], Screw) and steps[-1].axis == axis:
        return steps[:-1], steps[-1]
    return steps, Screw(axis, 0.0, 1.0, 0.0)


def _frame_with_z(z: np.ndarray) -> np.ndarray:
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def about_axis(joint: OneAxis) -> tuple[tuple, int, float, Screw, tuple]:
    """Return the motion about a joint axis: steps before, coordinate axis, sign, constant screw, steps after."""
    along = coordinate_axis(joint.axis)
    if along is not None:
        k, sign = along
        before, last = split_last(joint.placement.steps(k), k)
        return before, k, sign, last, ()
    if isinstance(joint.placement, Mdh):
        raise ValueError(f"joint axis is {joint.axis}, but a joint placed by mdh moves about z; omit axis or use origin")
    A = _frame_with_z(joint.unit_axis)  # rotate the axis onto z, move about z, rotate back
    aligned = tuple(s for s in joint.placement.steps(2) if isinstance(s, Shift))
    before, last = split_last((*aligned, *rotation_steps(joint.placement.R @ A, 2)), 2)
    return before, 2, 1.0, last, rotation_steps(A.T, 2)


UNIT = np.eye(6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Helical(OneAxis):
    """Screw motion: rotation about an axis of the joint frame with proportional translation along the axis; q = angle [rad]."""

    pitch: Finite
    """Translation along the axis per turn [m]; negative for a left-hand thread."""

    kind = "helical"

    @property
    def advance(self) -> float:
        """Translation along the axis per angle [m/rad]."""
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
    """Screw about coordinate `axis` by `angle + sign · q`, and along this axis by `distance + sign · advance · q`."""

    __slots__ = ()
    nq = nv = 1

    def transformation(self, q: Array) -> Screw:
        turned = self.sign * q[0]
        angle = turned + self.angle
        return Screw(self.axis, self.advance * turned + self.distance, np.cos(angle), np.sin(angle))

    def subspace(self, q: Array) -> Array:
        """Return the motion subspace of rotation about and translation along the axis, shape (6, 1)."""
        along, about = UNIT[self.axis].tolist(), UNIT[3 + self.axis].tolist()
        return np.array([[self.sign * (self.advance * x + y)] for x, y in zip(along, about, strict=True)])

    def velocity(self, q: Array, v: Array) -> Array:
        about = np.array([self.sign * v[0] if k == self.axis else 0.0 for k in range(3)])
        return np.concatenate([self.advance * about, about])

    def turn(self, q: Array) -> Array:
        return axis_turn(self.axis, self.sign * q[0] + self.angle)
