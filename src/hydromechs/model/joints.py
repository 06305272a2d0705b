"""Joints: how a body may move on its parent, and where it is attached.

A joint is data. For the equations it becomes a sequence of *steps* from the parent's frame to the body's frame: constant
transformations and moving ones (`MovingStep`: `RevoluteStep`, `PrismaticStep`, `HelicalStep`, `BallStep`, `FreeStep`, and
`OwnStep` of a user's class), which name their places in the configuration `q` and the velocity `v`. A composition is one joint
with several moving steps and one motion subspace.

Damping, friction, stiffness and limits act in simulations, as friction, springs and stops; forward dynamics takes the joint
force as given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from hydromechs.spatial import Screw, Shift
from hydromechs.values import Bound, Finite, NotNegative, Pair, Vector3, Vector4, Vector6, convert_fields

from ._joint import Joint
from ._own_joint import OwnJoint
from ._placement import Mdh, rotation_steps
from ._steps import BallStep, FreeStep, HelicalStep, PrismaticStep, RevoluteStep, SlideStep

__all__ = ["Ball", "Composite", "Fixed", "Free", "Helical", "Joint", "OwnJoint", "Prismatic", "Revolute"]

Stiffness = Annotated[tuple[float, float, float], Bound(least=0.0, size=3)]
"""Stiffness about three axes."""
Angle = Annotated[float, Bound(above=0.0, below=math.pi)]
"""An angle between 0 and π."""


def _coordinate_axis(axis: tuple[float, float, float]) -> tuple[int, float] | None:
    """Index and sign if `axis` lies along a coordinate axis."""
    nonzero = [k for k in range(3) if axis[k] != 0.0]
    return (nonzero[0], math.copysign(1.0, axis[nonzero[0]])) if len(nonzero) == 1 else None


def _split_last(steps: tuple, axis: int) -> tuple[tuple, Screw]:
    """Take a last screw about `axis` off the constant steps, so that a moving one can absorb it."""
    if steps and isinstance(steps[-1], Screw) and steps[-1].axis == axis:
        return steps[:-1], steps[-1]
    return steps, Screw(axis, 0.0, 1.0, 0.0)


def _unit(axis: tuple[float, float, float]) -> np.ndarray:
    return np.array(axis) / math.sqrt(sum(a * a for a in axis))


def _frame_with_z(axis: tuple[float, float, float]) -> np.ndarray:
    """A rotation matrix whose third column is `axis` made unit."""
    z = _unit(axis)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed(Joint):
    """No motion: the body is merged with its parent for the dynamics and keeps its name, frame and outputs."""

    kind = "fixed"
    neutral_q = ()

    @property
    def initial_q(self) -> tuple[float, ...]:
        """Nothing."""
        return ()

    @property
    def initial_v(self) -> tuple[float, ...]:
        """Nothing."""
        return ()

    def steps(self, iq: int, iv: int) -> tuple:
        """Transformations from the parent, see the module."""
        return self.placement.steps(2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Free(Joint):
    """Six degrees of freedom: q = (position in the parent's axes, quaternion), v = velocity in body axes."""

    position: Vector3 = (0.0, 0.0, 0.0)
    """Initial position in the joint frame [m], shape (3,)."""
    orientation: Vector4 = (1.0, 0.0, 0.0, 0.0)
    """Initial unit quaternion (w, x, y, z), body to joint frame, shape (4,)."""
    velocity: Vector6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    """Initial velocity in body axes, linear first [m/s, rad/s], shape (6,)."""

    kind = "free"
    neutral_q = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        convert_fields(self, "joint")

    @property
    def initial_q(self) -> tuple[float, ...]:
        """Initial configuration, shape (7,)."""
        return (*self.position, *self.orientation)

    @property
    def initial_v(self) -> tuple[float, ...]:
        """Initial velocity, shape (6,)."""
        return self.velocity

    def steps(self, iq: int, iv: int) -> tuple:
        """Transformations from the parent, see the module."""
        return (*self.placement.steps(2), FreeStep(iq, iv))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ball(Joint):
    """Three rotations: q = quaternion body to joint frame, v = angular velocity in body axes."""

    orientation: Vector4 = (1.0, 0.0, 0.0, 0.0)
    """Initial unit quaternion (w, x, y, z), body to joint frame, shape (4,)."""
    velocity: Vector3 = (0.0, 0.0, 0.0)
    """Initial angular velocity in body axes [rad/s], shape (3,)."""
    damping: NotNegative = 0.0
    """Viscous friction, data for joint drives [N·m·s/rad]."""
    friction: NotNegative = 0.0
    """Coulomb friction, data for joint drives [N·m]."""
    stiffness: Stiffness = (0.0, 0.0, 0.0)
    """Of a spring about x, y and z of the body to its zero orientation, not below 0 [N·m/rad], shape (3,)."""
    limit: Angle | None = None
    """Largest angle by which it can turn from its zero orientation, above 0 and below π [rad]; none if left out."""

    kind = "ball"
    neutral_q = (1.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        convert_fields(self, "joint")

    @property
    def initial_q(self) -> tuple[float, ...]:
        """Initial configuration, shape (4,)."""
        return self.orientation

    @property
    def initial_v(self) -> tuple[float, ...]:
        """Initial velocity, shape (3,)."""
        return self.velocity

    def steps(self, iq: int, iv: int) -> tuple:
        """Transformations from the parent, see the module."""
        return (*self.placement.steps(2), BallStep(iq, iv))


@dataclass(frozen=True, slots=True, kw_only=True)
class _OneAxis(Joint):
    """A joint with one coordinate along or about an axis."""

    axis: Vector3 = (0.0, 0.0, 1.0)
    """Axis in the joint frame, of any length; z with Denavit-Hartenberg parameters [-], shape (3,)."""
    limits: Pair | None = None
    """Lower and upper position, data for joint stops [rad or m]; none if left out."""
    damping: NotNegative = 0.0
    """Viscous friction, data for joint drives [N·m·s/rad or N·s/m]."""
    friction: NotNegative = 0.0
    """Coulomb friction, data for joint drives [N·m or N]."""
    position: Finite = 0.0
    """Initial position [rad or m]."""
    velocity: Finite = 0.0
    """Initial velocity [rad/s or m/s]."""

    neutral_q = (0.0,)

    def __post_init__(self) -> None:
        convert_fields(self, "joint")

    @property
    def initial_q(self) -> tuple[float, ...]:
        """Initial configuration, shape (1,)."""
        return (self.position,)

    @property
    def initial_v(self) -> tuple[float, ...]:
        """Initial velocity, shape (1,)."""
        return (self.velocity,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revolute(_OneAxis):
    """Rotation about an axis of the joint frame: q = angle [rad]."""

    kind = "revolute"

    def steps(self, iq: int, iv: int) -> tuple:
        """Transformations from the parent, see the module."""
        before, k, sign, last, after = _about_axis(self)
        return (*before, RevoluteStep(k, sign, last.distance, math.atan2(last.sin, last.cos), iq, iv), *after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Helical(_OneAxis):
    """Rotation about an axis of the joint frame that advances along it, as a screw does: q = angle [rad]."""

    pitch: Finite
    """Advance along the axis per turn [m]; below 0 for a left-hand thread."""

    kind = "helical"

    @property
    def advance(self) -> float:
        """Advance along the axis per angle [m/rad]."""
        return self.pitch / (2.0 * math.pi)

    def steps(self, iq: int, iv: int) -> tuple:
        """Transformations from the parent, see the module."""
        before, k, sign, last, after = _about_axis(self)
        return (*before, HelicalStep(k, sign, self.advance, last.distance, math.atan2(last.sin, last.cos), iq, iv), *after)


def _about_axis(joint: Revolute | Helical) -> tuple[tuple, int, float, Screw, tuple]:
    """How to move about a joint's axis: steps before, coordinate axis, sense, constant screw to absorb, steps after."""
    along = _coordinate_axis(joint.axis)
    if along is not None:
        k, sign = along
        before, last = _split_last(joint.placement.steps(k), k)
        return before, k, sign, last, ()
    if isinstance(joint.placement, Mdh):
        raise ValueError(f"joint axis is {joint.axis}, but a joint placed by mdh moves about z; leave axis out or use origin")
    A = _frame_with_z(joint.axis)  # turn the axis onto z, move about z, turn back
    aligned = tuple(s for s in joint.placement.steps(2) if isinstance(s, Shift))
    before, last = _split_last((*aligned, *rotation_steps(joint.placement.R @ A, 2)), 2)
    return before, 2, 1.0, last, rotation_steps(A.T, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prismatic(_OneAxis):
    """Translation along an axis of the joint frame: q = displacement [m]."""

    kind = "prismatic"
    unit = "m"

    def steps(self, iq: int, iv: int) -> tuple:
        """Transformations from the parent, see the module."""
        along = _coordinate_axis(self.axis)
        if along is None:
            return (*self.placement.steps(2), SlideStep(tuple(_unit(self.axis)), iq, iv))
        k, sign = along
        before, last = _split_last(self.placement.steps(k), k)
        return (*before, PrismaticStep(k, sign, last.distance, last.cos, last.sin, iq, iv))


CompositePart = Revolute | Prismatic | Helical | Ball | Free | OwnJoint
"""A joint that can be a part of a composite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Composite:
    """Several joints in a row as one joint with one 6×n motion subspace: universal, cylindrical, planar..."""

    parts: tuple[CompositePart, ...]
    """Joints from the parent outwards, at least one; the body's frame is that of the last part."""

    kind = "composite"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))

    @property
    def neutral_q(self) -> tuple[float, ...]:
        """Configuration at rest, shape (nq,)."""
        return tuple(x for part in self.parts for x in part.neutral_q)

    @property
    def initial_q(self) -> tuple[float, ...]:
        """Initial configuration, shape (nq,)."""
        return tuple(x for part in self.parts for x in part.initial_q)

    @property
    def initial_v(self) -> tuple[float, ...]:
        """Initial velocity, shape (nv,)."""
        return tuple(x for part in self.parts for x in part.initial_v)

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return sum(part.nq for part in self.parts)

    @property
    def nv(self) -> int:
        """Number of velocity coordinates."""
        return sum(part.nv for part in self.parts)

    def steps(self, iq: int, iv: int) -> tuple:
        """Transformations from the parent, see the module."""
        out: tuple = ()
        for part in self.parts:
            out += part.steps(iq, iv)
            iq, iv = iq + part.nq, iv + part.nv
        return out
