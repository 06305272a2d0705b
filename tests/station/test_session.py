"""The pilot's modes, sessions in real time, and runs flown again from their inputs. No browser."""

import json

import numpy as np
import pytest

from hydromechs.recording import RunFolder, load_recording
from hydromechs.simulation import load_state
from hydromechs.station import Inputs, Operator, RecordedInputs, Session, fly_again
from hydromechs.station._session import pilot_of, piloted

STILL = (0.0,) * 6


class Script(Inputs):
    """Inputs at given ticks."""

    def __init__(self, *steps):
        self.steps = [(tick, Operator(**fields)) for tick, fields in steps]

    def at(self, tick):
        return [asked for first, asked in self.steps if first <= tick][-1]


@pytest.fixture(scope="module")
def simulation(little):
    """A simulation whose inputs can be exchanged, and the exchange."""
    sim = piloted(little.scenario, Script((0, {})))

    def flown(seconds, *steps):
        sim.reset()
        pilot_of(sim).inputs = Script(*steps)
        return sim.run(seconds)

    return sim, flown


def axis(k, value=1.0):
    return tuple(value if i == k else 0.0 for i in range(6))


@pytest.mark.parametrize(("k", "speed"), [(0, 0.3), (1, 0.2), (2, -0.15), (5, 0.15)])
def test_speed_control_reaches_the_speed(simulation, k, speed):
    """Half a deflection is half the speed at full deflection, upward too."""
    _, flown = simulation
    run = flown(6.0, (0, {"mode": "speed", "axes": axis(k, np.sign(speed) * 0.5)}))
    assert run.recording["velocity"].sel(body="rov.vehicle").values[-1, k] == pytest.approx(speed, rel=0.05)


def test_hold_holds_and_is_moved(simulation):
    """After a flight it stays where it settles; deflections move the place."""
    _, flown = simulation
    steps = (0, {"mode": "speed", "axes": axis(0)}), (75, {"mode": "hold"}), (200, {"mode": "hold", "axes": axis(2)}), (250, {})
    run = flown(16.0, *steps)
    place = run.recording["position"].sel(body="rov.vehicle")
    rest = place.sel(time=8.0).values
    assert 1.2 < rest[0] < 3.0 and abs(place.sel(time=7.0).values - rest).max() < 0.05
    assert place.values[-1] == pytest.approx(rest + np.array([0, 0, 2.0 * 0.3]), abs=0.05)


def test_manual_pushes_along_one_axis(simulation):
    _, flown = simulation
    run = flown(2.0, (0, {"mode": "manual", "axes": axis(0, 0.3)}))
    force = run.recording["force_thrust"].sel(body="rov.vehicle").values[-1]
    reach = 4 * 40 * np.sqrt(0.5)
    assert force[0] == pytest.approx(0.3 * reach, rel=0.1) and abs(force[1:3]).max() < 1e-6
    assert run.recording["velocity"].sel(body="rov.vehicle").values[-1, 0] > 0.1


def test_the_arm_moves_by_joints_and_by_its_tool(simulation):
    """Joints up to their rate; the tool along the vehicle's axes, in the world, and back to a place that is dragged."""
    sim, flown = simulation
    run = flown(3.0, (0, {"arm_axes": axis(1)}))
    assert run.recording["q"].sel(coordinate="rov.fore").values[-1] == pytest.approx(0.9, abs=0.05)
    tool = pilot_of(sim).arms[0]
    bent = {"arm_axes": (0.7, -1.0, 0, 0, 0, 0)}
    by_hand = {"arm_mode": "tool", "arm_axes": axis(2)}
    dragged = {"arm_mode": "tool", "target": (0.62, 0.0, 5.2)}
    run = flown(10.0, (0, bent), (75, {"arm_mode": "tool"}), (100, by_hand), (125, {"arm_mode": "tool"}), (150, dragged))
    q = run.recording["q"]
    before, after, end = (tool.place(q.sel(time=t, method="nearest").values) for t in (4.0, 5.8, 10.0))
    assert after - before == pytest.approx([0, 0, 0.15], abs=0.03)
    assert end == pytest.approx([0.62, 0.0, 5.2], abs=0.03)


def test_the_swing_goes_up_and_down(simulation):
    """40 cm in 7.5 s, as in the mission; here the arm is short, so the way is less and the vehicle stays."""
    sim, flown = simulation
    tool = pilot_of(sim).arms[0]
    bent = {"arm_axes": (0.7, -1.0, 0, 0, 0, 0)}
    run = flown(8.0, (0, bent), (75, {"arm_mode": "tool"}), (100, {"arm_mode": "tool", "swing": True}))
    depth = [tool.place(q)[2] for q in run.recording["q"].values[::5]]
    assert depth[16] - min(depth[16:]) > 0.1


def test_the_gripper_closes_on_what_is_in_reach(simulation):
    """Far off it reports it; near by it holds, so that the ball comes along; it lets go."""
    _, flown = simulation
    far = flown(1.0, (0, {"gripper": "close"}))
    assert "thing.ball is out of reach" in far.messages[-1]
    there = {"mode": "hold", "axes": axis(0, 0.5)}
    steps = (0, there), (29, {}), (150, {"gripper": "close"}), (160, {}), (200, {"axes": axis(0, -1.0)}), (275, {})
    run = flown(16.0, *steps, (330, {"gripper": "open"}))
    assert "closes on thing.ball" in run.messages[0] and "opens" in run.messages[1]
    ball = run.recording["position"].sel(body="thing.ball", xyz="x")
    assert ball.sel(time=12.0) < 0.2 and run.recording["grip_strength"].values[-1] < 0.05


@pytest.fixture
def session(little, tmp_path):
    made = Session(little, tmp_path, lost_after=1e6)
    yield made
    made.close()


def test_a_piloted_run_is_flown_again_to_the_last_bit(session, catalog, until, tmp_path):
    """Whatever the clock did: pauses, single steps, other time scales."""
    session.scale(20.0)
    session.start()
    assert until(lambda: session.snapshot.t > 0.5)
    session.inputs.set(mode="speed", axes=axis(0, 1 / 3))
    assert until(lambda: session.snapshot.t > 1.5)
    session.pause()
    session.inputs.set(arm_mode="tool", arm_axes=axis(2, -0.7))
    assert until(lambda: not session.status["running"])
    t = session.snapshot.t
    for _ in range(3):
        session.step()
    assert until(lambda: session.snapshot.t == pytest.approx(t + 3 * 0.04))
    session.scale(float("inf"))
    session.start()
    assert until(lambda: session.snapshot.t > 4.0)
    session.inputs.set(mode="hold", axes=STILL, gripper="close")
    assert until(lambda: session.snapshot.t > 6.0)
    session.close()
    old = session.run_folder
    again = fly_again(catalog, old.path, tmp_path / "again")
    assert again.state == load_state(old.state)
    before = load_recording(old.recording)
    for name, values in before.data_vars.items():
        assert np.array_equal(values, again.recording[name], equal_nan=values.dtype.kind == "f"), name
    assert json.loads(old.summary.read_text())["title"] and RecordedInputs(old.inputs).end == again.state.t


def test_time_runs_with_the_clock_and_stands_still(session, until):
    assert session.snapshot.t == 0.0
    session.scale(4.0)
    session.start()
    assert until(lambda: session.status["factor"] > 0.0)
    assert session.status["factor"] == pytest.approx(4.0, rel=0.2)
    session.pause()
    assert until(lambda: not session.status["running"])
    t = session.snapshot.t
    assert not until(lambda: session.snapshot.t > t, 0.3)


def test_reset_begins_another_run_in_another_folder(session, until):
    session.start()
    session.scale(float("inf"))
    assert until(lambda: session.snapshot.t > 1.0)
    first = session.run_folder
    session.reset()
    assert until(lambda: session.snapshot.run == 2)
    assert session.snapshot.t == 0.0 and not session.status["running"]
    assert first.has_run() and first.summary.exists() and first.path.name == "little"
    assert session.run_folder.path.name == "little-2"


def test_a_lost_pilot_leaves_the_vehicle_holding(little, tmp_path, until):
    session = Session(little, tmp_path, lost_after=0.3)
    try:
        session.note_pilot()
        session.inputs.set(mode="speed", axes=axis(0))
        session.start()
        assert until(lambda: session.lost)
        assert session.inputs.now == Operator()
        assert "the pilot is disconnected" in session.messages[-1]
        t = session.snapshot.t
        assert until(lambda: session.snapshot.t > t + 0.2), "the run goes on"
        session.note_pilot()
        assert not session.lost
    finally:
        session.close()
    lines = session.run_folder.inputs.read_text().splitlines()
    assert '"mode": "hold"' in lines[2], "re-simulating knows of it"


def test_a_run_that_nobody_started_leaves_nothing(little, tmp_path):
    session = Session(little, tmp_path)
    session.close()
    assert not RunFolder(tmp_path / "little").path.exists()
