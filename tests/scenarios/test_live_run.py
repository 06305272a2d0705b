"""Runs with an open end: taken on piece by piece they are the same run."""

import signal

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.recording import structured
from hydromechs.simulation import sigterm_interrupts


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
    """Inputs that are set between two advances take effect, and the sample there shows them."""
    thruster = hm.actuation.Thruster(name="push", frame="left_grip", curve=hm.actuation.ideal_curve(10.0, 10.0))
    sim = hm.Simulation(hm.load("hand_pipe"), components=[thruster], step=0.01, record=0.05)
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


def pushed(press, times=1, number=signal.SIGINT, **options):
    """A pipe pushed by a controller that remembers its calls and sends a signal (Ctrl-C) at a time [s], so many times."""

    class Pusher(hm.Controller):
        period = 0.04

        def __init__(self):
            self.memory = np.zeros(1)

        def __call__(self, state):
            self.memory = self.memory + 1.0
            if abs(state.t - press) < 1e-9:
                for _ in range(times):
                    signal.raise_signal(number)
            return {"push": 0.1 * self.memory[0]}

    thruster = hm.actuation.Thruster(name="push", frame="left_grip", curve=hm.actuation.ideal_curve(10.0, 10.0))
    return hm.Simulation(hm.load("hand_pipe"), components=[thruster], controller=Pusher(), step=0.01, record=0.05, **options)


@pytest.mark.parametrize("events", [(), (hm.Event(name="never", quantity="time", level=99.0),)], ids=["plain", "watched"])
def test_ctrl_c_ends_a_run_at_its_next_sample_and_nothing_is_lost(default_signals, events, tmp_path):
    """Recording and state end there; resumed, both are those of a run that was not interrupted, to the last bit."""
    whole = pushed(9.0, events=events).run(0.6)
    sim = pushed(0.28, events=events)
    with pytest.raises(hm.SimulationInterrupted, match="interrupted at t = 0.3 s") as stop:
        sim.run(0.6, path=tmp_path / "run.zarr")
    state, first = stop.value.state, hm.load_recording(tmp_path / "run.zarr")
    assert state == sim.state and state.t == first.time.values[-1] == pytest.approx(0.3) and state.memory == [8.0]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert first.attrs["finished"] == 0 and any("interrupted" in text for text in structured(first, "messages"))
    rest = pushed(9.0, events=events, state=state).run(0.3)
    assert rest.state == whole.state
    for name, values in whole.recording.data_vars.items():
        joined = np.concatenate([first[name].values[:-1], rest.recording[name].values])
        assert np.array_equal(values, joined, equal_nan=values.dtype.kind == "f"), name


def test_a_second_ctrl_c_does_not_wait(default_signals):
    with pytest.raises(KeyboardInterrupt) as stop:
        pushed(0.28, times=2).run(0.6)
    assert not isinstance(stop.value, hm.SimulationInterrupted)


def test_ctrl_c_in_the_last_moment_of_a_run_is_not_swallowed(default_signals):
    sim = pushed(0.56)
    with pytest.raises(hm.SimulationInterrupted) as stop:
        sim.run(0.6)
    assert stop.value.state.t == pytest.approx(0.6) and stop.value.recording.time.values[-1] == pytest.approx(0.6)


def test_sigterm_interrupts_where_it_is_asked_for_and_only_there(default_signals):
    with sigterm_interrupts(), pytest.raises(hm.SimulationInterrupted) as stop:
        pushed(0.28, number=signal.SIGTERM).run(0.6)
    assert stop.value.signal is signal.SIGTERM and stop.value.state.t == pytest.approx(0.3)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with sigterm_interrupts():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        assert pushed(0.28, number=signal.SIGTERM).run(0.6).state.t == pytest.approx(0.6)
    with pytest.raises(hm.SimulationInterrupted) as stop:
        pushed(0.28).run(0.6)
    assert stop.value.signal is signal.SIGINT
