"""What is wrong with the sensors of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hydromechs.errors import words_of
from hydromechs.integrators import method_named, whole_steps
from hydromechs.model import Fault, Model
from hydromechs.navigation import vehicle_of
from hydromechs.sensors import Tachometer, common_period, whole_periods
from hydromechs.values import nearest

from ._code import ControllerSpec

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
    if not scenario.sensors:
        if scenario.navigation is not None:
            out.append(Fault(("navigation",), "navigation needs sensors; add them, an imu first, or leave navigation out"))
        return out
    names = [s.name for s in scenario.sensors]
    thrusters = [t.name for t in scenario.thrusters]
    for i, s in enumerate(scenario.sensors):
        try:
            s.check(model)
        except (ValueError, KeyError) as e:
            out.append(Fault(("sensors", i), words_of(e)))
        if s.name in names[:i]:
            out.append(Fault(("sensors", i), f"sensor {s.name!r}: another sensor has this name, too; names must differ"))
        if isinstance(s, Tachometer) and s.thruster not in thrusters:
            text = f"sensor {s.name!r}: no thruster {s.thruster!r}{nearest(s.thruster, thrusters)}"
            out.append(Fault(("sensors", i), text))
    return out or _together(scenario, model)


def _together(scenario: Scenario, model: Model) -> list[Fault]:
    """Faults of sensors that are good by themselves."""
    try:
        period = common_period(scenario.sensors)
    except ValueError as e:
        return [Fault(("sensors",), str(e))]
    out = []
    if not method_named(scenario.integrator).adaptive:
        try:
            whole_steps(period, scenario.step, "sensors: 1/rate of the fastest")
        except ValueError as e:
            out.append(Fault(("sensors",), str(e)))
    spec = scenario.controller
    if isinstance(spec, ControllerSpec):
        try:
            whole_periods(spec.period, period, "controller.period")
        except ValueError as e:
            out.append(Fault(("controller", "period"), str(e)))
    if scenario.navigation is not None:
        try:
            vehicle_of(model, scenario.sensors)
        except ValueError as e:
            out.append(Fault(("sensors",), str(e)))
    return out
