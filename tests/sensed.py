"""Missions with sensors, for tests: built without a scenario, with ground that only sensors see, and watched at every tick."""

import hydromechs as hm
from hydromechs.navigation import NavigatedSuite
from hydromechs.sensors import SensorSuite
from hydromechs.simulation import BlockPart, Mission


def sensed(*controllers, sensors, navigation=None, terrain=()):
    """Controllers behind sensors, and behind a navigation filter if one is given."""
    suite = SensorSuite if navigation is None else NavigatedSuite
    more = () if navigation is None else (navigation,)
    return Mission([BlockPart(c) for c in controllers], suite(tuple(sensors), tuple(terrain), *more))


class Watch(hm.Controller):
    """Keeps time and all signals at every tick of the sensors, and gives no commands."""

    def __init__(self, sensors):
        self.period = min(s.period for s in sensors)
        self.rows = []

    def start(self, simulation):
        self.simulation = simulation

    def __getstate__(self):
        return {"period": self.period, "rows": []}

    def __call__(self, state):
        self.rows.append((state.t, *self.simulation.state.signal))


def watch_of(simulation):
    """The `Watch` of a simulation."""
    return next(part.block for part in simulation.mission.parts if isinstance(part.block, Watch))
