"""Navigation filter as a block, with settings, and the suite of sensors and filter that feeds controllers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from hydromechs.contact import Terrain
from hydromechs.model import Model
from hydromechs.model.component import Component
from hydromechs.registry import Inline
from hydromechs.sensors import Sensor, SensorSuite
from hydromechs.simulation import Block, Plant, SensingSource
from hydromechs.values import Array, Bound, NotNegative, Positive, check_fields

from ._navigator import Navigator, Track, run_on
from ._sensing import Sensing


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorStateFilter:
    """Settings of an error-state Kalman filter of position, velocity, attitude, IMU and aid biases, and current."""

    position: NotNegative = 0.5
    """Standard deviation of each coordinate of the initial position [m]."""
    velocity: NotNegative = 0.05
    """Standard deviation of each component of the initial velocity [m/s]."""
    tilt: NotNegative = 0.01
    """Standard deviation of the initial roll and pitch [rad]."""
    heading: NotNegative = 0.05
    """Standard deviation of the initial heading [rad]."""
    current: NotNegative = 0.0
    """Standard deviation of each current component, whose initial estimate is 0 [m/s]; 0 disables estimation of the current."""
    current_time: Positive = 100.0
    """Correlation time of the current [s]."""
    gate: Annotated[float, Bound(above=0.0, below=1.0)] = 0.9999
    """Probability that a valid measurement passes the gate; measurements outside the gate are rejected [-]."""
    patience: Annotated[int, Bound(least=1, whole=True)] = 10
    """Consecutive rejections of a sensor after which the filter inflates its covariance and uses the next measurement [-]."""

    def __post_init__(self) -> None:
        check_fields(self)

    def on(self, model: Model, sensors: Sequence[Sensor]) -> Navigator:
        """Return the compiled filter for the sensors of a vehicle: one `Imu` and others on the same body."""
        return Navigator(self, model, sensors)

    def run(self, log: Mapping[str, tuple[Array, Array]], model: Model, sensors: Sequence[Sensor], start: Array) -> Track:
        """Run the filter on recorded measurements.

        `log`: times (n,) and values (n, channels) of measurements, keyed by sensor name, see `log_of`; `sensors`: sensors
        of the log; `start`: x̂ at the first IMU reading, shape (19,), see `Navigator.true`.
        """
        return run_on(self.on(model, sensors), log, start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Navigation(Block):
    """Navigation filter that estimates the motion of the vehicle for the controllers."""

    read: Literal["estimate", "truth"] = "estimate"
    """Input of controllers: the estimate, or the true state while sensors and filter run in parallel."""
    filter: Annotated[ErrorStateFilter, Inline()] = field(default_factory=ErrorStateFilter)
    """Settings of the filter."""
    name: str = "navigation"
    """Unique name of the block."""

    def __post_init__(self) -> None:
        check_fields(self)

    def sensing(
        self, source: SensingSource | None, blocks: Sequence[Block], components: Sequence[Component]
    ) -> SensingSource | None:
        """Return a suite of all sensors with this filter."""
        sensors = tuple(block for block in blocks if isinstance(block, Sensor))
        return NavigatedSuite(sensors, tuple(part for part in components if isinstance(part, Terrain)), self)


@dataclass(frozen=True)
class NavigatedSuite(SensorSuite):
    """Sensors and a navigation filter that feed controllers.

    Controllers read a state with estimated vehicle pose and velocity and measured positions of joints with encoders; all other
    quantities are true. After the simulation has advanced without sensors (`Simulation.step`), the filter restarts at its next
    tick and reports the restart.
    """

    navigation: Navigation = field(default_factory=Navigation)
    """Navigation filter and input of controllers."""

    @property
    def description(self) -> str:
        """Input of controllers, and sensors, as text."""
        return f", reads the {self.navigation.read}{super().description}"

    def on(self, plant: Plant, step: float, *, controlled: bool) -> Sensing:
        """Return the operations of a tick for a plant."""
        return Sensing(plant, self.sensors, self.navigation, self.terrain, step, controlled=controlled)
