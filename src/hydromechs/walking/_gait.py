"""Courses and gaits: the timing of swings, and the steps of frame walkers. Custom gaits derive from `Gait`, `SupportGait`."""

import abc
import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.registry import Described
from hydromechs.spatial import clamp, maximum, minimum, where
from hydromechs.values import Array, Finite, NotNegative, Positive, Scalar, not_negative, number, positive


class CoursePoint(NamedTuple):
    """Reference pose of the body over the ground."""

    xy: Array
    """Position in the world [m], shape (2,)."""
    yaw: Scalar
    """Heading: rotation about z of the world [rad]."""


class Course:
    """Reference motion of the body: constant velocity in its own axes and constant turn rate, except at start and end.

    Args:
        velocity: Forward and sideways along x and y of the body [m/s], shape (2,).
        turn_rate: Turn rate about z [rad/s].
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
        """Time to cover the same distance at full speed [s]."""
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


class Gait(Described, abc.ABC):
    """Periodic timing of the leg swings. For a custom gait, derive a class with `offsets`.

    A leg swings for the fraction 1 − duty of each period and is in stance for the rest.

    Args:
        period: Time of a full cycle [s].
        duty: Fraction of the period in which each leg is in stance, above 0 and below 1 [-].
    """

    least_duty: ClassVar[float] = 0.0
    """Minimum duty with which enough feet are on the ground."""

    def __init__(self, *, period: Positive, duty: float) -> None:
        self.period = positive(period, "period")
        self.duty = number(duty, "duty")
        if not (self.least_duty <= self.duty < 1.0 and self.duty > 0.0):
            raise FieldError("duty", duty, f"must be at least {self.least_duty:.3g} for {type(self).__name__}, > 0 and < 1")

    @abc.abstractmethod
    def offsets(self, places: Array) -> Array:
        """Return the phase, 0 to 1, (n,), at which each leg starts to swing; `places`: feet in body axes (n, 3)."""

    def progress(self, t: Scalar, offsets: Array) -> Array:
        """Return the swing progress of each leg at t [s], 0 to 1; below 0 in stance, shape (n,).

        It is compiled: a custom class must use NumPy and `hydromechs.spatial.where` here, and must not branch on values.
        """
        swing = 1.0 - self.duty
        out = []
        for offset in offsets:
            phase = (t / self.period - offset) % 1.0
            out.append(where((phase < swing) * (t >= offset * self.period), phase / swing, -1.0))
        return np.array(out)

    @property
    def swing_time(self) -> float:
        """Swing time [s]."""
        return (1.0 - self.duty) * self.period

    @property
    def stance_time(self) -> float:
        """Stance time [s]."""
        return self.duty * self.period


def around(places: Array) -> Array:
    """Return the rank of the feet around the body, 0 to n − 1, shape (n,)."""
    angles = np.arctan2(places[:, 1], places[:, 0])
    return np.argsort(np.argsort(np.mod(angles + 1e-9, 2.0 * np.pi)))


class Tripod(Gait):
    """Alternating gait: the legs form two groups of every second leg around the body, which swing alternately.

    Args:
        duty: Fraction of the period in which each leg is in stance, at least 1/2 [-].
    """

    least_duty = 0.5

    def __init__(self, *, period: Positive = 4.0, duty: float = 0.6) -> None:
        super().__init__(period=period, duty=duty)

    def offsets(self, places: Array) -> Array:
        """Alternate between 0 and 1/2."""
        return 0.5 * (around(places) % 2)


class Wave(Gait):
    """Wave gait: one leg after the other, from the rear to the front on one side, then on the other.

    It is the most stable and slowest gait.

    Args:
        duty: Fraction of the period in which each leg is in stance; with six legs at least 5/6 [-].
    """

    least_duty = 0.75

    def __init__(self, *, period: Positive = 12.0, duty: float = 0.86) -> None:
        super().__init__(period=period, duty=duty)

    def offsets(self, places: Array) -> Array:
        """Return k/n for the k-th leg."""
        n = len(places)
        if self.duty < 1.0 - 1.0 / n:
            raise FieldError("duty", self.duty, f"must be at least {1.0 - 1.0 / n:.4g} for a wave of {n} legs")
        order = sorted(range(n), key=lambda k: (places[k, 1] < -1e-6, places[k, 0]))
        out = np.empty(n)
        out[order] = np.arange(n) / n
        return out


GAITS: dict[str, type[Gait]] = {"tripod": Tripod, "wave": Wave}
"""Gaits by their names in scenario files."""


class Step(NamedTuple):
    """One step of one half."""

    stride: float
    """Stride of a half over the ground in a steady walk, from behind the other half to ahead of it [m]; 0 to stay in place."""
    turn: float
    """Rotation of the half from the heading of the half in stance [rad]."""


class SupportGait(Described):
    """Equal, alternating steps of both halves. For a custom gait, derive a class with `step`.

    Args:
        stride: Stride, see `Step` [m].
        turn_deg: Rotation of each step [degrees].
        lift: Time to raise the legs of a half [s].
        move: Time in which it moves forward [s].
        lower: Time to lower its legs [s].
        shift: Time in which all legs are in stance [s].
    """

    def __init__(
        self,
        *,
        stride: NotNegative = 0.4,
        turn_deg: Finite = 0.0,
        lift: Positive = 1.0,
        move: Positive = 2.0,
        lower: Positive = 1.0,
        shift: NotNegative = 0.5,
    ) -> None:
        self.stride, self.turn = not_negative(stride, "stride"), math.radians(number(turn_deg, "turn_deg"))
        self.lift, self.move, self.lower = positive(lift, "lift"), positive(move, "move"), positive(lower, "lower")
        self.shift = not_negative(shift, "shift")

    @property
    def period(self) -> float:
        """Time of one step [s]."""
        return self.lift + self.move + self.lower + self.shift

    def step(self, number: int) -> Step:
        """Return the next step.

        A controller requests the first 1000 steps during preparation, and then repeats the last one.

        `number`: count of earlier steps; in step 0 the second half moves, in step 1 the first, and so on.
        """
        return Step(self.stride, self.turn)
