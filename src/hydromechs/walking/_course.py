"""Course of a walking machine's body: a straight line or an arc at a constant speed, with a gentle start and end."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.spatial import clamp, maximum, minimum, where
from hydromechs.values import Array, Scalar, number, positive


class CoursePoint(NamedTuple):
    """Reference pose of the body over the ground."""

    xy: Array
    """Position in the world [m], shape (2,)."""
    yaw: Scalar
    """Heading: rotation about z of the world [rad]."""


class Course:
    """Reference motion of the body: constant velocity in its own axes and rate of turn, except at start and end.

    Args:
        velocity: Forward and sideways along x and y of the body [m/s], shape (2,).
        turn_rate: Rate of turn about z [rad/s].
        distance: Distance after which it stops [m]; if omitted, it continues.
        ramp: Time to accelerate, and to stop [s].
    """

    def __init__(self, velocity: Sequence[float], turn_rate: float, distance: float | None, ramp: float) -> None:
        if len(velocity) != 2:
            raise FieldError("velocity", list(velocity), "must be two numbers: forward and sideways [m/s]")
        self.velocity = np.array([number(x, "velocity") for x in velocity])
        self.turn_rate, self.ramp = number(turn_rate, "turn_rate"), positive(ramp, "ramp")
        speed = float(np.linalg.norm(self.velocity))
        if distance is not None and speed == 0.0:
            raise FieldError("distance", distance, "must be omitted where the velocity is 0")
        self.end = np.inf if distance is None else max(positive(distance, "distance") / speed, self.ramp) + self.ramp
        """Time at which it has stopped [s]."""

    def _gone(self, t: Scalar) -> Scalar:
        """Time at full speed for the same distance [s]."""
        r = self.ramp
        up = clamp(t, 0.0, r)
        if not np.isfinite(self.end):
            return 0.5 * up * up / r + maximum(t - r, 0.0)
        gone = 0.5 * up * up / r + maximum(minimum(t, self.end - r) - r, 0.0)
        down = clamp(t - (self.end - r), 0.0, r)
        return gone + down - 0.5 * down * down / r

    def at(self, t: Scalar, start: Array) -> CoursePoint:
        """Return the pose of the body at t [s] from its start x, y [m] and heading [rad], shape (3,); numbers or symbols."""
        s, w, yaw = self._gone(t), self.turn_rate, start[2]
        moved = s * self.velocity
        if w != 0.0:  # ∫ R(w s) v ds
            straight = abs(w * s) < 1e-9
            sine = where(straight, s, np.sin(w * s) / w)
            versine = where(straight, 0.0, (1.0 - np.cos(w * s)) / w)
            moved = np.array([[sine, -versine], [versine, sine]]) @ self.velocity
        c, sn = np.cos(yaw), np.sin(yaw)
        return CoursePoint(start[:2] + np.array([[c, -sn], [sn, c]]) @ moved, yaw + w * s)
