"""Block of a navigation filter, and sensors with it in front of controllers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from hydromechs.contact import Terrain
from hydromechs.model.component import Component
from hydromechs.registry import Inline
from hydromechs.sensors import Sensor, SensorSuite
from hydromechs.simulation import Block, Plant, SensingSource
from hydromechs.values import check_fields

from ._filter import ErrorStateFilter
from ._sensing import Sensing


@dataclass(frozen=True, slots=True, kw_only=True)
class Navigation(Block):
    """Navigation filter that estimates the motion of the vehicle for the controllers."""

    read: Literal["estimate", "truth"] = "estimate"
    """Input of the controller: the estimate, or the truth while sensors and filter run along."""
    filter: Annotated[ErrorStateFilter, Inline()] = field(default_factory=ErrorStateFilter)
    """The filter."""
    name: str = "navigation"
    """Name, unique among the blocks."""

    def __post_init__(self) -> None:
        check_fields(self)

    def sensing(
        self, source: SensingSource | None, blocks: Sequence[Block], components: Sequence[Component]
    ) -> SensingSource | None:
        """Return the filter with all sensors."""
        sensors = tuple(block for block in blocks if isinstance(block, Sensor))
        return NavigatedSuite(sensors, tuple(part for part in components if isinstance(part, Terrain)), self)


@dataclass(frozen=True)
class NavigatedSuite(SensorSuite):
    """Sensors and a navigation filter in front of controllers.

    Controllers read a state in which pose and velocity of the vehicle are the filter's, and joints with encoders are as
    measured; all else is true. Where a simulation advances without them (`Simulation.step`), the filter restarts at its next
    tick, and reports it.
    """

    navigation: Navigation = field(default_factory=Navigation)
    """Filter, and the input of controllers."""

    @property
    def description(self) -> str:
        """Inputs of controllers, and the sensors."""
        return f", reads the {self.navigation.read}{super().description}"

    def on(self, plant: Plant, step: float, *, controlled: bool) -> Sensing:
        """Return the operations of a tick."""
        return Sensing(plant, self.sensors, self.navigation, self.terrain, step, controlled=controlled)
