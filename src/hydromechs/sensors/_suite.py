"""The sensors of a mission, before they are prepared for a plant."""

from dataclasses import dataclass

from hydromechs.contact import Terrain
from hydromechs.simulation import Controller, Plant

from ._sampling import common_period, whole_periods
from ._sensing import PlainSensing
from ._sensor import Sensor


@dataclass(frozen=True)
class SensorSuite:
    """Sensors in front of controllers, which read the true state, except joints with encoders."""

    sensors: tuple[Sensor, ...]
    """The sensors."""
    terrain: tuple[Terrain, ...] = ()
    """Visible ground besides that of the plant."""

    def __post_init__(self) -> None:
        if not self.sensors:
            raise ValueError("sensors is empty; give at least one")

    @property
    def period(self) -> float:
        """Time between two ticks [s]."""
        return common_period(self.sensors)

    @property
    def description(self) -> str:
        """The sensors."""
        return f"; sensors: {', '.join(f'{s.name} at {s.rate:g} Hz' for s in self.sensors)}"

    def check(self, controller: Controller) -> None:
        """Raise `ValueError` if the period of a controller does not fit."""
        whole_periods(controller.period, self.period, f"the period of {type(controller).__name__}")

    def on(self, plant: Plant, step: float, *, controlled: bool) -> PlainSensing:
        """Return the operations of a tick."""
        return PlainSensing(plant, self.sensors, self.terrain, step, controlled=controlled)
