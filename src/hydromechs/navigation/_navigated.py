"""The block of a navigation filter, and controllers that read the state which it estimates from sensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from hydromechs.contact import Terrain
from hydromechs.model.component import Component
from hydromechs.registry import Inline
from hydromechs.sensors import Measuring, Sensor
from hydromechs.simulation import Block, Controller, Plant
from hydromechs.values import check_fields

from ._filter import ErrorStateFilter
from ._sensing import Sensing


class Navigated(Measuring):
    """Sensors and a navigation filter in front of a controller. A controller.

    It runs at the rate of the fastest sensor. The inner controller runs at its own period with a state in which pose and
    velocity of the vehicle are the filter's, if there is one, and joints with encoders are as measured; all else is true. While
    control is off, sensors and filter continue. If a simulation continues without its controller (`Simulation.step`),
    the filter restarts at the next call, and reports it.

    Args:
        controller: The inner controller; None: nothing gives commands, the sensors just measure.
        sensors: The sensors; a filter needs one `Imu`.
        navigation: The filter, and what the inner controller reads; None: the truth, but for joints with encoders.
        terrain: Ground that sensors see besides what the plant can touch.
    """

    def __init__(
        self,
        controller: Controller | None,
        *,
        sensors: Sequence[Sensor],
        navigation: Navigation | None = None,
        terrain: Sequence[Terrain] = (),
    ) -> None:
        super().__init__(controller, sensors=sensors, terrain=terrain)
        self.navigation = navigation

    @property
    def reads(self) -> str:
        return "" if self.navigation is None else self.navigation.read

    def _sensing(self, plant: Plant, step: float) -> Sensing:
        controlled = self.controller is not None
        return Sensing(plant, self.sensors, self.navigation, self.terrain, step, controlled=controlled)


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

    def before(
        self, controller: Controller | None, blocks: Sequence[Block], components: Sequence[Component]
    ) -> Controller | None:
        """Put the filter and all sensors in front of a controller."""
        inner = controller.controller if isinstance(controller, Measuring) else controller
        terrain = [part for part in components if isinstance(part, Terrain)]
        sensors = [block for block in blocks if isinstance(block, Sensor)]
        return Navigated(inner, sensors=sensors, navigation=self, terrain=terrain)
