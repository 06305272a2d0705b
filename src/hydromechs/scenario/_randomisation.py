"""Random variation between learning episodes: masses, water, delays, noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hydromechs import registry
from hydromechs.errors import FieldError, rejections
from hydromechs.model import Fault, Model
from hydromechs.values import NotNegative, Pair, check_fields, nearest

from ._assemble import pairs

if TYPE_CHECKING:
    from ._scenario import Scenario

__all__ = ["ObservationNoise", "Randomisation", "randomisation_faults"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationNoise:
    """Standard deviations of the noise in observations."""

    position: NotNegative = 0.0
    """Of distances to a goal along each axis [m]."""
    attitude: NotNegative = 0.0
    """Of angles and directions [rad]."""
    velocity: NotNegative = 0.0
    """Of velocities along each axis [m/s]."""
    rate: NotNegative = 0.0
    """Of angular velocities about each axis [rad/s]."""
    joint: NotNegative = 0.0
    """Of positions of joints [rad or m]."""
    joint_rate: NotNegative = 0.0
    """Of velocities of joints [rad/s or m/s]."""

    def __post_init__(self) -> None:
        check_fields(self, "noise")


@dataclass(frozen=True, slots=True, kw_only=True)
class Randomisation:
    """Random variation drawn in each world at the start of each episode; none by default.

    Fractions are half widths: `mass=0.1` multiplies by a factor drawn uniformly from 0.9 to 1.1, one for each body.
    Only `hydromechs.learning` uses it; single runs do not.
    """

    mass: NotNegative = 0.0
    """Fraction by which masses and moments of inertia vary, below 1 [-]; buoyancy is constant, so weight in water varies
    too."""
    added_mass: NotNegative = 0.0
    """Fraction by which added mass varies, below 1 [-]."""
    drag: NotNegative = 0.0
    """Fraction by which drag and damping vary, below 1 [-]."""
    bodies: tuple[str, ...] = ()
    """Names of bodies whose masses, added mass and drag vary; all if omitted."""
    current: NotNegative = 0.0
    """Maximum speed of a horizontal current, from any direction, added to the scenario's [m/s]."""
    delay: NotNegative = 0.0
    """Maximum delay from an action to the actuators, rounded to simulation steps [s]."""
    noise: ObservationNoise = field(default_factory=ObservationNoise)
    """Standard deviations of observation noise; may be given as a mapping."""
    parameters: tuple[tuple[str, Pair], ...] = ()
    """Minimum and maximum factor on other numbers by path, such as vehicle.hydro.volume [-]; may be given as a mapping."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "bodies", (self.bodies,) if isinstance(self.bodies, str) else tuple(self.bodies))
        if isinstance(self.noise, Mapping):
            known = ObservationNoise.__dataclass_fields__
            for name in self.noise:
                if name not in known:
                    raise ValueError(f"randomisation.noise has {name!r}{nearest(name, known)}")
            object.__setattr__(self, "noise", ObservationNoise(**self.noise))
        object.__setattr__(self, "parameters", pairs(self.parameters, "randomisation.parameters"))
        check_fields(self, "randomisation")
        for name in ("mass", "added_mass", "drag"):
            if getattr(self, name) >= 1.0:
                raise FieldError(f"randomisation.{name}", getattr(self, name), "must be below 1, so that factors stay above 0")
        for name, (low, high) in self.parameters:
            if not 0.0 <= low <= high:
                raise ValueError(f"randomisation.parameters[{name!r}] is {(low, high)}, must be two factors ≥ 0, low and high")


def randomisation_faults(scenario: Scenario, model: Model) -> list[Fault]:
    """Return the errors of bodies and paths that do not exist in a scenario and its assembled model."""
    out: list[Fault] = []
    given = scenario.randomisation
    for i, name in enumerate(() if given is None else given.bodies):
        if name not in model.body_names:
            text = f"randomisation: no body {name!r} in {model.name}{nearest(name, model.body_names)}"
            out.append(Fault(("randomisation", "bodies", i), text))
    for name, _ in () if given is None else given.parameters:
        out += rejections(("randomisation", "parameters", name), registry.value, scenario, name, prefix="randomisation: ")
    return out
