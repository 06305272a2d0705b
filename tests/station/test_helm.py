"""The compiled pilot: it flies as the station's pilot does, and leaves a mission alone until it is asked."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.simulation import PythonBlock
from hydromechs.station import HELM_MODES, LiveInputs, Pilot, helmed, piloted

FLOWN = [("hold", (0, 0, 0, 0, 0, 0), 0.4), ("speed", (1, 0, 0, 0, 0, 0.5), 1.6), ("hold", (0, 0.3, 0, 0, 0.2, 0), 2.6)]
FLOWN += [("manual", (0, 0, 0.2, 0, 0, 0), 3.2), ("hold", (0, 0, 0, 0, 0, -1), 5.2)]
"""Mode, deflections, and the time until which they hold [s]."""


def flown(simulation, setter):
    live = simulation.begin()
    for mode, axes, until in FLOWN:
        setter(mode, axes)
        live.advance(until)
    return live.close().recording


def test_helm_flies_like_the_pilot_of_the_station(little):
    plain = little.scenario.controlled_by()
    scenario = helmed(plain)
    period = scenario.controllers[-1].controller.period
    helm, inputs = scenario.simulation(), LiveInputs()
    pilot = piloted(plain.controlled_by(PythonBlock(controller=Pilot(period=period))), inputs)

    def set_helm(mode, axes):
        names = ("surge", "sway", "heave", "roll", "pitch", "yaw")
        given = {f"operator.{name}": float(x) for name, x in zip(names, axes, strict=True)}
        helm.held = {"operator.mode": float(HELM_MODES.index(mode)), **given}

    a = flown(helm, set_helm)
    b = flown(pilot, lambda mode, axes: inputs.set(mode=mode, axes=axes))
    assert float(np.ptp(a.position.sel(body="rov.vehicle", xyz="x").values)) > 0.2
    # the same operations, in machine code and in Python around compiled code: rounding of coordinates of some metres
    np.testing.assert_allclose(a.position, b.position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(a.orientation, b.orientation, rtol=0, atol=1e-9)


def test_joints_follow_their_axes_and_stop_at_their_limits(little):
    scenario = helmed(little.scenario.controlled_by())
    simulation = scenario.simulation()
    assert scenario.controllers[-1].controller.joints == ("rov.upper", "rov.fore")
    live = simulation.begin()
    simulation.held = {"operator.mode": 3.0, "operator.joint_1": 1.0}
    live.advance(2.0)
    q = live.close().recording.q.isel(time=-1)
    assert float(q.sel(coordinate="rov.upper")) == pytest.approx(0.6, abs=0.15)
    assert abs(float(q.sel(coordinate="rov.fore"))) < 0.15


def test_mission_is_unchanged_until_the_operator_takes_over():
    mission = hm.load_scenario("station_keeping")
    a, b = (s.simulation().run(1.0).recording for s in (mission, helmed(mission)))
    np.testing.assert_array_equal(a.position, b.position)
    np.testing.assert_array_equal(a.signal, b.signal)
    assert list(a.channel.values) == list(b.channel.values)  # the checks and events of the file keep their names


def test_scenarios_without_a_vehicle_to_fly_are_returned_unchanged():
    scenario = hm.load_scenario("sinking_chain")
    assert helmed(scenario) is scenario
