"""What is wrong with the sensors of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hydromechs.actuation import Thruster
from hydromechs.errors import message_of
from hydromechs.integrators import method_named, whole_steps
from hydromechs.model import Fault, Model
from hydromechs.navigation import Navigation, vehicle_of
from hydromechs.sensors import Sensor, Tachometer, common_period, whole_periods
from hydromechs.simulation import PythonBlock
from hydromechs.values import nearest

if TYPE_CHECKING:
    from ._scenario import Scenario

__all__ = ["sensor_faults"]


def sensor_faults(scenario: Scenario, model: Model) -> list[Fault]:
    """Names that nothing has, rates that do not fit together, sensors that a filter cannot use.

    Args:
        scenario: The scenario.
        model: Its model.
    """
    out = []
    for i, block in enumerate(scenario.blocks):
        if isinstance(block, Navigation) and not scenario.sensors:
            text = f"{block.name} needs sensors; add them, an imu first, or leave {block.name} out"
            out.append(Fault(("blocks", i), text))
        if block.name in [other.name for other in scenario.blocks[:i]] and not isinstance(block, Sensor):
            out.append(Fault(("blocks", i), f"block {block.name!r}: another block has this name, too; names must differ"))
    if not scenario.sensors:
        return out
    thrusters = [t.name for t in scenario.parts(Thruster)]
    for i, s in ((i, block) for i, block in enumerate(scenario.blocks) if isinstance(block, Sensor)):
        try:
            s.check(model)
        except (ValueError, KeyError) as e:
            out.append(Fault(("blocks", i), message_of(e)))
        if s.name in [block.name for block in scenario.blocks[:i]]:
            out.append(Fault(("blocks", i), f"sensor {s.name!r}: another sensor has this name, too; names must differ"))
        if isinstance(s, Tachometer) and s.thruster not in thrusters:
            text = f"sensor {s.name!r}: no thruster {s.thruster!r}{nearest(s.thruster, thrusters)}"
            out.append(Fault(("blocks", i), text))
    return out or _together(scenario, model)


def _together(scenario: Scenario, model: Model) -> list[Fault]:
    """Faults of sensors that are good by themselves."""
    try:
        period = common_period(scenario.sensors)
    except ValueError as e:
        return [Fault(("blocks",), str(e))]
    out = []
    if not method_named(scenario.integrator).adaptive:
        try:
            whole_steps(period, scenario.step, "sensors: 1/rate of the fastest")
        except ValueError as e:
            out.append(Fault(("blocks",), str(e)))
    for i, block in enumerate(scenario.blocks):
        if isinstance(block, PythonBlock):
            try:
                whole_periods(block.make().period, period, f"{block.name}.period")
            except ValueError as e:
                out.append(Fault(("blocks", i, "period"), str(e)))
    if scenario.navigation is not None:
        try:
            vehicle_of(model, scenario.sensors)
        except ValueError as e:
            out.append(Fault(("blocks",), str(e)))
    return out
