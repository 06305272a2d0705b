"""Moving steps of a joint, and how a sequence of steps becomes transformations and a motion subspace at a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs.spatial import Path, Screw, Shift, Turn, quaternion_matrix
from hydromechs.values import Array, Scalar

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


class RevoluteStep(NamedTuple):
    """Screw about coordinate `axis` by `angle + sign · q[iq]`, along it by `distance`."""

    axis: int
    sign: float
    distance: float
    angle: float
    iq: int
    iv: int


class PrismaticStep(NamedTuple):
    """Screw along coordinate `axis` by `distance + sign · q[iq]`, about it by a constant angle."""

    axis: int
    sign: float
    distance: float
    cos: float
    sin: float
    iq: int
    iv: int


class HelicalStep(NamedTuple):
    """Screw about coordinate `axis` by `angle + sign · q[iq]`, along it by `distance + sign · advance · q[iq]`."""

    axis: int
    sign: float
    advance: float
    distance: float
    angle: float
    iq: int
    iv: int


class SlideStep(NamedTuple):
    """Translation by `direction · q[iq]`, for a prismatic joint along no coordinate axis."""

    direction: tuple[float, float, float]
    iq: int
    iv: int


class BallStep(NamedTuple):
    """Rotation by the quaternion q[iq:iq+4]."""

    iq: int
    iv: int


class FreeStep(NamedTuple):
    """Translation by q[iq:iq+3], then rotation by the quaternion q[iq+3:iq+7]."""

    iq: int
    iv: int


MOVING = (RevoluteStep, PrismaticStep, HelicalStep, SlideStep, BallStep, FreeStep)
"""Steps that move."""


def transformation(step: Any, q: Array | Sequence[Scalar]) -> Any:
    """The transformation that a step is at configuration `q` (nq,), floats or symbols."""
    match step:
        case RevoluteStep():
            angle = step.sign * q[step.iq] + step.angle
            return Screw(step.axis, step.distance, np.cos(angle), np.sin(angle))
        case PrismaticStep():
            return Screw(step.axis, step.sign * q[step.iq] + step.distance, step.cos, step.sin)
        case HelicalStep():
            turned = step.sign * q[step.iq]
            angle = turned + step.angle
            return Screw(step.axis, step.advance * turned + step.distance, np.cos(angle), np.sin(angle))
        case SlideStep():
            return Shift(np.array([d * q[step.iq] for d in step.direction]))
        case BallStep():
            return Turn(quaternion_matrix(q[step.iq : step.iq + 4]))
        case FreeStep():
            return Turn(quaternion_matrix(q[step.iq + 3 : step.iq + 7]), q[step.iq : step.iq + 3])
    return step


def step_axes(step: Any) -> list[list[float]]:
    """Motion vectors of a moving step in the frame right after it, one of shape (6,) for each of its velocities."""
    unit = np.eye(6).tolist()
    match step:
        case RevoluteStep():
            return [[step.sign * x for x in unit[3 + step.axis]]]
        case PrismaticStep():
            return [[step.sign * x for x in unit[step.axis]]]
        case HelicalStep():
            return [[step.sign * (step.advance * x + y) for x, y in zip(unit[step.axis], unit[3 + step.axis], strict=True)]]
        case SlideStep():
            return [[*step.direction, 0.0, 0.0, 0.0]]
        case BallStep():
            return unit[3:]
        case FreeStep():
            return unit
    return []


def motion_subspace(steps: Sequence[Any], transformations: Sequence[Any]) -> Array:
    """S in V = X V_parent + S v, in axes of the body at its origin, shape (6, n).

    Args:
        steps: Steps of the joint.
        transformations: The same steps at a configuration.
    """
    columns: list = []
    for step, X in zip(steps, transformations, strict=True):
        columns = [Path((X,)).motion(c) for c in columns] + [np.array(c) for c in step_axes(step)]
    return np.stack(columns, axis=1) if columns else np.zeros((6, 0))


def free_rows(steps: Sequence[Any]) -> tuple[int, ...] | None:
    """Components of the body's motion that are the joint's own velocities up to sign, or None if the subspace is general."""
    moving = [s for s in steps if isinstance(s, MOVING)]
    if not moving:
        return ()
    if len(moving) > 1 or steps[-1] is not moving[0] or isinstance(moving[0], SlideStep | HelicalStep):
        return None
    return tuple(int(np.flatnonzero(axis)[0]) for axis in step_axes(moving[0]))
