"""Courses and gaits: timing of swings, and steps of frame walkers. Derive custom gaits from `Gait` or `SupportGait`."""

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
    """Planar reference pose of the body."""

    xy: Array
    """Position in the world [m], shape (2,)."""
    yaw: Scalar
    """Heading: rotation about world z [rad]."""


class Course:
    """Reference motion of the body: constant velocity in body axes and constant turn rate, except at start and end.

    Args:
        velocity: Velocity along body x and y [m/s], shape (2,).
        turn_rate: Turn rate about z [rad/s].
        distance: Distance after which the motion stops [m]; if omitted, it does not stop.
        ramp: Duration of acceleration and of deceleration [s].
    """

    def __init__(self, velocity: Sequence[float], turn_rate: float, distance: float | None, ramp: float) -> None:
        if len(velocity) != 2:
            raise FieldError("velocity", list(velocity), "must be two numbers: forward and sideways [m/s]")
        self.velocity = np.array([number(x, "velocity") for x in velocity])
        self.turn_rate, self.ramp = number(turn_rate, "turn_rate"), positive(ramp, "ramp")
        speed = float(np.linalg.norm(self.velocity))
        if distance is not None and speed == 0.0:
            raise FieldError("distance", distance, "must be omitted if the velocity is 0")
        self.end = np.inf if distance is None else max(positive(distance, "distance") / speed, self.ramp) + self.ramp
        """Time at which the motion has stopped [s]."""

    def _gone(self, t: Scalar) -> Scalar:
        """Return the time in which the same distance is covered at full speed [s]."""
        r = self.ramp
        up = clamp(t, 0.0, r)
        if not np.isfinite(self.end):
            return 0.5 * up * up / r + maximum(t - r, 0.0)
        gone = 0.5 * up * up / r + maximum(minimum(t, self.end - r) - r, 0.0)
        down = clamp(t - (self.end - r), 0.0, r)
        return gone + down - 0.5 * down * down / r

    def at(self, t: Scalar, start: Array) -> CoursePoint:
        """Return the body pose at time t [s] for a start x, y [m] and heading [rad], shape (3,), as numbers or symbols."""
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
    """Periodic timing of leg swings. For a custom gait, derive a class that implements `offsets`.

    A leg swings for the fraction 1 − duty of each period and is in stance for the rest.

    Args:
        period: Duration of a full cycle [s].
        duty: Duty factor [-], the fraction of the period in which each leg is in stance; above 0 and below 1.
    """

    least_duty: ClassVar[float] = 0.0
    """Minimum duty factor with enough feet on the ground [-]."""

    def __init__(self, *, period: Positive, duty: float) -> None:
        self.period = positive(period, "period")
        self.duty = number(duty, "duty")
        if not (self.least_duty <= self.duty < 1.0 and self.duty > 0.0):
            raise FieldError(
                "duty", duty, f"must be at least {self.least_duty:.3g} for {type(self).__name__}, above 0 and below 1"
            )

    @abc.abstractmethod
    def offsets(self, places: Array) -> Array:
        """Return the phase, 0 to 1, at which each leg starts to swing, shape (n,), for feet `places` in body axes (n, 3)."""

    def progress(self, t: Scalar, offsets: Array) -> Array:
        """Return the swing progress of each leg at time t [s], 0 to 1, or negative in stance, shape (n,).

        The method is compiled: a custom class must use NumPy and `hydromechs.spatial.where` and must not branch on values.
        """
        swing = 1.0 - self.duty
        out = []
        for offset in offsets:
            phase = (t / self.period - offset) % 1.0
            out.append(where((phase < swing) * (t >= offset * self.period), phase / swing, -1.0))
        return np.array(out)

    @property
    def swing_time(self) -> float:
        """Duration of a swing [s]."""
        return (1.0 - self.duty) * self.period

    @property
    def stance_time(self) -> float:
        """Duration of a stance [s]."""
        return self.duty * self.period


def around(places: Array) -> Array:
    """Return the rank of each foot in counterclockwise order around the body, 0 to n − 1, shape (n,)."""
    angles = np.arctan2(places[:, 1], places[:, 0])
    return np.argsort(np.argsort(np.mod(angles + 1e-9, 2.0 * np.pi)))


class Tripod(Gait):
    """Alternating gait: two groups, each of every second leg around the body, swing alternately.

    Args:
        duty: Duty factor [-], the fraction of the period in which each leg is in stance; at least 1/2.
    """

    least_duty = 0.5

    def __init__(self, *, period: Positive = 4.0, duty: float = 0.6) -> None:
        super().__init__(period=period, duty=duty)

    def offsets(self, places: Array) -> Array:
        """Return 0 and 1/2 alternately around the body."""
        return 0.5 * (around(places) % 2)


class Wave(Gait):
    """Wave gait: legs swing one after the other from rear to front, first on one side, then on the other.

    This is the slowest and most stable gait.

    Args:
        duty: Duty factor [-], the fraction of the period in which each leg is in stance; at least 5/6 for six legs.
    """

    least_duty = 0.75

    def __init__(self, *, period: Positive = 12.0, duty: float = 0.86) -> None:
        super().__init__(period=period, duty=duty)

    def offsets(self, places: Array) -> Array:
        """Return k/n for the k-th leg of the wave."""
        n = len(places)
        if self.duty < 1.0 - 1.0 / n:
            raise FieldError("duty", self.duty, f"must be at least {1.0 - 1.0 / n:.4g} for a wave of {n} legs")
        order = sorted(range(n), key=lambda k: (places[k, 1] < -1e-6, places[k, 0]))
        out = np.empty(n)
        out[order] = np.arange(n) / n
        return out


GAITS: dict[str, type[Gait]] = {"tripod": Tripod, "wave": Wave}
"""Gait classes, keyed by the type name in scenario files."""


class Step(NamedTuple):
    """Step of one half."""

    stride: float
    """Stride of a half in steady walking, from behind the other half to ahead of it [m]; 0 to step in place."""
    turn: float
    """Rotation of the half relative to the heading of the half in stance [rad]."""


class SupportGait(Described):
    """Equal, alternating steps of both halves. For a custom gait, derive a class that overrides `step`.

    Args:
        stride: Stride of a half, see `Step` [m].
        turn_deg: Rotation per step [°].
        lift: Duration of raising the legs of a half [s].
        move: Duration of the forward motion of a half [s].
        lower: Duration of lowering the legs of a half [s].
        shift: Duration of the stance of all legs [s].
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
        """Duration of one step [s]."""
        return self.lift + self.move + self.lower + self.shift

    def step(self, number: int) -> Step:
        """Return the next step.

        A controller requests the first 1000 steps during preparation, and later repeats the last step.

        `number`: count of earlier steps; the second half moves in step 0, the first half in step 1, and so on.
        """
        return Step(self.stride, self.turn)
