"""The course of a walking machine's body: a straight line or an arc at a constant speed, with a gentle start and end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.values import Array, number, positive


class CoursePoint(NamedTuple):
    """Where the body should be over the ground."""

    xy: Array
    """Place in the world [m], shape (2,)."""
    yaw: float
    """Heading: rotation about z of the world [rad]."""


class Course:
    """Where the body should be at any time: velocity in its own axes and rate of turn are constant, but at start and end.

    Args:
        velocity: Ahead and sideways along x and y of the body [m/s], shape (2,).
        turn_rate: About z [rad/s].
        distance: After which it stops [m]; goes on unless given.
        ramp: Time to get to speed, and to stop [s].
    """

    def __init__(self, velocity: Sequence[float], turn_rate: float, distance: float | None, ramp: float) -> None:
        if len(velocity) != 2:
            raise FieldError("velocity", list(velocity), "must be two numbers: ahead and sideways [m/s]")
        self.velocity = np.array([number(x, "velocity") for x in velocity])
        self.turn_rate, self.ramp = number(turn_rate, "turn_rate"), positive(ramp, "ramp")
        speed = float(np.linalg.norm(self.velocity))
        if distance is not None and speed == 0.0:
            raise FieldError("distance", distance, "must be left out where the velocity is 0")
        self.end = np.inf if distance is None else max(positive(distance, "distance") / speed, self.ramp) + self.ramp
        """Time at which it stands [s]."""

    def _gone(self, t: float) -> float:
        """Time at full speed that makes the same way [s]."""
        r = self.ramp
        up = min(max(t, 0.0), r)
        gone = 0.5 * up * up / r + max(min(t, self.end - r) - r, 0.0)
        down = min(max(t - (self.end - r), 0.0), r)
        return gone + down - 0.5 * down * down / r

    def at(self, t: float, start: Array) -> CoursePoint:
        """Where the body should be.

        Args:
            t: Time since the walk began [s].
            start: x, y [m] and heading [rad] at the beginning, shape (3,).
        """
        s, w, yaw = self._gone(t), self.turn_rate, float(start[2])
        if abs(w * s) < 1e-9:
            moved = s * self.velocity
        else:  # ∫ R(w s) v ds
            sine, versine = math.sin(w * s) / w, (1.0 - math.cos(w * s)) / w
            moved = np.array([[sine, -versine], [versine, sine]]) @ self.velocity
        c, sn = math.cos(yaw), math.sin(yaw)
        return CoursePoint(start[:2] + np.array([[c, -sn], [sn, c]]) @ moved, yaw + w * s)
