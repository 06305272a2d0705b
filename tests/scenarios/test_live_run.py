"""Runs with an open end: taken on piece by piece they are the same run."""

import numpy as np
import pytest

import hydromechs as hm

pytestmark = pytest.mark.usefixtures("quickly_compiled")


def test_a_run_in_pieces_is_the_same_run(tmp_path):
    """State, recording and messages, to the last bit; stops at whole steps. With sensors, controllers and events."""
    stops = (0.1, 0.12, 0.3, 0.5)
    sim = hm.load_scenario("pick_and_release").simulation()
    whole = sim.run(stops[-1])
    sim.reset()
    live = sim.begin(path=tmp_path / "run.zarr")
    for t in stops:
        assert live.advance(t) is None
        assert live.t == pytest.approx(t, abs=1e-12)
    run = live.close()
    assert run.state == whole.state and run.messages == whole.messages
    for name, values in whole.recording.data_vars.items():
        assert np.array_equal(values, run.recording[name], equal_nan=values.dtype.kind == "f"), name


def test_commands_between_two_stops_hold_from_there_on():
    """What is set between two advances counts, and the sample there shows it."""
    thruster = hm.actuation.Thruster(name="push", frame="left_grip", curve=hm.actuation.ideal_curve(10.0, 10.0))
    sim = hm.Simulation(hm.load("hand_pipe"), thrusters=[thruster], step=0.01, record=0.05)
    live = sim.begin()
    live.advance(0.1)
    first = sim.actuators[0]
    sim.command = {first: 0.25}
    live.advance(0.2)
    run = live.close()
    assert run.recording["command"].sel(actuator=first).values.tolist() == [0.0, 0.0, 0.25, 0.25, 0.25]
    with pytest.raises(ValueError, match="the run is closed at t = 0.2 s"):
        live.advance(0.3)
    assert live.close().state == run.state
