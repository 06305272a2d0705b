"""The course of a walking machine's body: a straight line or an arc at a constant speed, with a gentle start and end."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.spatial import clamp, maximum, minimum, where
from hydromechs.values import Array, Scalar, number, positive


class CoursePoint(NamedTuple):
    """Where the body should be over the ground."""

    xy: Array
    """Place in the world [m], shape (2,)."""
    yaw: Scalar
    """Heading: rotation about z of the world [rad]."""


class Course:
    """Where the body should be at any time: velocity in its own axes and rate of turn are constant, but at start and end.

    Args:
        velocity: Ahead and sideways along x and y of the body [m/s], shape (2,).
        turn_rate: About z [rad/s].
        distance: After which it stops [m]; if omitted, it continues.
        ramp: Time to get to speed, and to stop [s].
    """

    def __init__(self, velocity: Sequence[float], turn_rate: float, distance: float | None, ramp: float) -> None:
        if len(velocity) != 2:
            raise FieldError("velocity", list(velocity), "must be two numbers: ahead and sideways [m/s]")
        self.velocity = np.array([number(x, "velocity") for x in velocity])
        self.turn_rate, self.ramp = number(turn_rate, "turn_rate"), positive(ramp, "ramp")
        speed = float(np.linalg.norm(self.velocity))
        if distance is not None and speed == 0.0:
            raise FieldError("distance", distance, "must be omitted where the velocity is 0")
        self.end = np.inf if distance is None else max(positive(distance, "distance") / speed, self.ramp) + self.ramp
        """Time at which it stands [s]."""

    def _gone(self, t: Scalar) -> Scalar:
        """Time at full speed that makes the same way [s]."""
        r = self.ramp
        up = clamp(t, 0.0, r)
        if not np.isfinite(self.end):
            return 0.5 * up * up / r + maximum(t - r, 0.0)
        gone = 0.5 * up * up / r + maximum(minimum(t, self.end - r) - r, 0.0)
        down = clamp(t - (self.end - r), 0.0, r)
        return gone + down - 0.5 * down * down / r

    def at(self, t: Scalar, start: Array) -> CoursePoint:
        """Pose of the body at t [s] from its start x, y [m] and heading [rad], shape (3,); numbers or symbols."""
        s, w, yaw = self._gone(t), self.turn_rate, start[2]
        moved = s * self.velocity
        if w != 0.0:  # ∫ R(w s) v ds
            straight = abs(w * s) < 1e-9
            sine = where(straight, s, np.sin(w * s) / w)
            versine = where(straight, 0.0, (1.0 - np.cos(w * s)) / w)
            moved = np.array([[sine, -versine], [versine, sine]]) @ self.velocity
        c, sn = np.cos(yaw), np.sin(yaw)
        return CoursePoint(start[:2] + np.array([[c, -sn], [sn, c]]) @ moved, yaw + w * s)
