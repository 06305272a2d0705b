"""The upper end of a line: a point of a body, a point with prescribed motion, or a point of a ship that follows the waves."""

import abc
import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.model import Model
from hydromechs.model.component import FrameNow, Mobility, Now
from hydromechs.registry import Degrees
from hydromechs.spatial import clamp
from hydromechs.values import Array, Checked, NotNegative, Positive, Scalar, Vector3, check_fields

from ._mechanics import Cable


class TopNow(NamedTuple):
    """Upper end of a line at the present instant."""

    p: Array
    """Position in world axes [m], shape (3,)."""
    v: Array
    """Velocity in world axes [m/s], shape (3,)."""
    frame: FrameNow | None
    """Frame on which the line force acts; None for prescribed motion."""


class TopPoint(abc.ABC):
    """Upper end of a line."""

    __slots__ = ()

    @abc.abstractmethod
    def now(self, now: Now) -> TopNow:
        """Return the upper end at the present instant."""

    def check(self, model: Model) -> None:  # noqa: B027  a point of the world fits every model
        """Raise `KeyError` if the frame or body is missing from a model."""

    def mobility(self, model: Model, mobility: Mobility) -> float:
        """Return the acceleration per force at the end [1/kg]; 0 for prescribed motion."""
        return 0.0


def check_ends(line: Any, name: str) -> None:
    """Check the fields of a line, including upper end and cable."""
    check_fields(line, f"{name}: {type(line).__name__}")
    kinds = {"top": (TopPoint, "SwayingPoint(position=...)"), "cable": (Cable, "Cable(diameter=..., ...)")}
    for key, (kind, example) in kinds.items():
        if not isinstance(getattr(line, key), kind):
            raise FieldError(f"{name}: {key}", getattr(line, key), f"must be an object such as lines.{example}")


def too_short(now: Now, frame: str, top: TopPoint, length: float) -> str | None:
    """Return the error of a line that is too short for the distance between its ends; None if the line is long enough."""
    a, b = now.frame(frame).p, top.now(now).p
    apart = float(np.linalg.norm(b - a))
    if not apart > length:
        return None
    places = f"({frame!r} at {np.round(a, 3).tolist()}, top at {np.round(b, 3).tolist()})"
    when = f" at the start, t = {now.t:g} s {places}" if now.t else f" at the start {places}"
    remedy = "increase the length, or move the ends closer together"
    return f"is {length:g} m long, but its ends are {apart:.6g} m apart{when}; {remedy}"


def point_mobility(model: Model, mobility: Mobility, name: str) -> float:
    """Return the acceleration per force at the origin of a frame [1/kg]; 0 if the body cannot move."""
    place = model.locate(name)
    return mobility.point(place.body, place.p) if model.moves[place.body] else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FramePoint(TopPoint):
    """A frame of the mechanism on which the line pulls, for example on a simulated ship, garage or depressor."""

    name: str
    """Frame or body that carries the upper end."""

    def now(self, now: Now) -> TopNow:
        frame = now.frame(self.name)
        return TopNow(frame.p, frame.v, frame)

    def check(self, model: Model) -> None:
        model.locate(self.name)

    def mobility(self, model: Model, mobility: Mobility) -> float:
        """Return the acceleration per force at the frame origin [1/kg]."""
        return point_mobility(model, mobility, self.name)


def _grown(t: Scalar, ramp: float) -> tuple[Scalar, Scalar]:
    """Return a factor that grows smoothly from 0 to 1 within a ramp time, and the rate of the factor [1/s]."""
    if not ramp:
        return 1.0, 0.0
    x = clamp(t / ramp, 0.0, 1.0)
    return x * x * (3.0 - 2.0 * x), 6.0 * x * (1.0 - x) / ramp


@dataclass(frozen=True, slots=True, kw_only=True)
class SwayingPoint(Checked, TopPoint):
    """A point with prescribed sinusoidal motion, p_k = position_k + a_k sin(2π t / T + φ_k); fixed for zero amplitudes."""

    position: Vector3
    """Mean position in world axes [m], shape (3,)."""
    amplitude: Vector3 = (0.0, 0.0, 0.0)
    """Amplitudes a along the world axes [m], shape (3,)."""
    phase: Annotated[Vector3, Degrees()] = (0.0, 0.0, 0.0)
    """Phases φ along the world axes [rad], shape (3,)."""
    period: Positive = 8.0
    """Period T [s]."""
    ramp: NotNegative = 10.0
    """Ramp time until full amplitude, so that the line starts without motion [s]."""

    def now(self, now: Now) -> TopNow:
        grown, rate = _grown(now.t, self.ramp)
        omega = 2.0 * math.pi / self.period
        angles = [omega * now.t + phi for phi in self.phase]
        away = np.array([a * np.sin(x) if a else 0.0 for a, x in zip(self.amplitude, angles, strict=True)])
        v = np.array([a * omega * np.cos(x) if a else 0.0 for a, x in zip(self.amplitude, angles, strict=True)])
        return TopNow(np.array(self.position) + grown * away, grown * v + rate * away, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RidingPoint(Checked, TopPoint):
    """A point of a small ship that follows the waves: its heave is a fraction of the wave elevation at its position."""

    position: Vector3
    """Position on calm water, in world axes [m], shape (3,)."""
    response: NotNegative = 1.0
    """Ratio of heave to wave elevation [-]; 1 for ships that are short compared with the wavelength."""
    ramp: NotNegative = 10.0
    """Ramp time until full amplitude, so that the line starts without motion [s]."""

    def now(self, now: Now) -> TopNow:
        grown, rate = _grown(now.t, self.ramp)
        p, up = np.array(self.position), -now.model.world.down
        height, rise = now.water.waves_at(p)
        return TopNow(p + self.response * grown * height * up, self.response * (grown * rise + rate * height) * up, None)
