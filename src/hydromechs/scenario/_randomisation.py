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
    """Standard deviation of distances to a goal along each axis [m]."""
    attitude: NotNegative = 0.0
    """Standard deviation of angles and directions [rad]."""
    velocity: NotNegative = 0.0
    """Standard deviation of velocities along each axis [m/s]."""
    rate: NotNegative = 0.0
    """Standard deviation of angular velocities about each axis [rad/s]."""
    joint: NotNegative = 0.0
    """Standard deviation of joint positions [rad or m]."""
    joint_rate: NotNegative = 0.0
    """Standard deviation of joint velocities [rad/s or m/s]."""

    def __post_init__(self) -> None:
        check_fields(self, "noise")


@dataclass(frozen=True, slots=True, kw_only=True)
class Randomisation:
    """Random variation, drawn in each world at the start of each episode; the default is no variation.

    Fractions are half widths: `mass=0.1` multiplies the mass of each body by a factor drawn uniformly from 0.9 to 1.1.
    Only `hydromechs.learning` applies randomisation; single runs ignore it.
    """

    mass: NotNegative = 0.0
    """Fraction by which masses and moments of inertia vary, below 1 [-]. Buoyancy is constant, so the weight in water
    varies as well."""
    added_mass: NotNegative = 0.0
    """Fraction by which added mass varies, below 1 [-]."""
    drag: NotNegative = 0.0
    """Fraction by which drag and damping vary, below 1 [-]."""
    bodies: tuple[str, ...] = ()
    """Names of bodies whose mass, added mass and drag vary. Defaults to all bodies."""
    current: NotNegative = 0.0
    """Maximum speed of an additional horizontal current with a random direction [m/s]."""
    delay: NotNegative = 0.0
    """Maximum delay between an action and the actuators, rounded to simulation steps [s]."""
    noise: ObservationNoise = field(default_factory=ObservationNoise)
    """Observation noise, as an object or a mapping."""
    parameters: tuple[tuple[str, Pair], ...] = ()
    """Minimum and maximum factor on other numbers [-], keyed by path such as vehicle.hydro.volume; may be a mapping."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "bodies", (self.bodies,) if isinstance(self.bodies, str) else tuple(self.bodies))
        if isinstance(self.noise, Mapping):
            known = ObservationNoise.__dataclass_fields__
            for name in self.noise:
                if name not in known:
                    raise ValueError(f"randomisation.noise: unknown key {name!r}{nearest(name, known)}")
            object.__setattr__(self, "noise", ObservationNoise(**self.noise))
        object.__setattr__(self, "parameters", pairs(self.parameters, "randomisation.parameters"))
        check_fields(self, "randomisation")
        for name in ("mass", "added_mass", "drag"):
            if getattr(self, name) >= 1.0:
                raise FieldError(f"randomisation.{name}", getattr(self, name), "must be below 1, so that factors stay above 0")
        for name, (low, high) in self.parameters:
            if not 0.0 <= low <= high:
                raise ValueError(
                    f"randomisation.parameters[{name!r}] is {(low, high)}, must be a minimum and a maximum factor ≥ 0"
                )


def randomisation_faults(scenario: Scenario, model: Model) -> list[Fault]:
    """Return an error for each randomised body or path that the scenario and its assembled model do not contain."""
    out: list[Fault] = []
    given = scenario.randomisation
    for i, name in enumerate(() if given is None else given.bodies):
        if name not in model.body_names:
            text = f"randomisation: {model.name} has no body {name!r}{nearest(name, model.body_names)}"
            out.append(Fault(("randomisation", "bodies", i), text))
    for name, _ in () if given is None else given.parameters:
        out += rejections(("randomisation", "parameters", name), registry.value, scenario, name, prefix="randomisation: ")
    return out
