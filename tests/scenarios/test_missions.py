"""Missions of the library, and what they need: soft grips among the grasps, control that an event turns off, checks of a window."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.contact import Grip
from hydromechs.integrators import SemiImplicitEuler
from hydromechs.recording import Check, summarise
from hydromechs.simulation import stiff_modes

BALL = hm.Body(
    name="ball",
    joint=hm.joints.Free(),
    inertia=hm.Inertia(mass=2.0, tensor=(0.1, 0.1, 0.1, 0, 0, 0)),
    frames=[hm.Frame("nose")],
)
BOX = hm.Body(name="box", joint=hm.joints.Fixed(), inertia=hm.Inertia(mass=2.0, tensor=(0.1, 0.1, 0.1, 0, 0, 0)))


class Counts(hm.Controller):
    """Gives the number of its calls as a signal and as a command."""

    period = 0.1
    signals = {"calls": "1"}
    memory = np.zeros(1)

    def __call__(self, state):
        self.memory = self.memory + 1.0
        self.signal_values = self.memory.copy()
        return [float(self.memory[0])]


def counted(*events):
    push = hm.Thruster(name="push", frame="nose", curve=hm.actuation.ideal_curve(100.0, 100.0))
    model = hm.Model(name="m", bodies=[BALL])
    return hm.Simulation(model, components=[push], controller=Counts(), events=events, step=0.01, record=0.1)


def test_an_event_turns_control_off_and_on_and_a_run_resumes_between(tmp_path):
    off = hm.Event(name="off", quantity="time", level=0.35, control="off")
    on = hm.Event(name="on", quantity="time", level=0.75, control="on")
    sim = counted(off, on)
    run = sim.run(1.0)
    assert run.state.memory[0] == 6.0 and run.state.control == 1.0  # at 0, 0.1, 0.2, 0.3, 0.8, 0.9
    calls = run.recording.signal.sel(channel="calls").values
    assert np.isnan(calls[5:8]).all() and calls[-1] == 6.0 and run.recording.command.values[6, 0] == 4.0
    sim.reset()
    hm.save_state(sim.run(0.5).state, tmp_path / "s.json")
    other = counted(off, on)
    other.state = hm.load_state(tmp_path / "s.json")
    assert other.state.control == 0.0 and other.run(0.5).state == run.state
    with pytest.raises(ValueError, match="control is 'maybe', must be 'on' or 'off'"):
        hm.Event(name="off", quantity="time", level=1, control="maybe")


def test_a_grip_is_one_of_the_grasps():
    grip = Grip(name="jaws", holder="box", held="ball", stiffness=(1e3,) * 3, damping=(90.0,) * 3)
    model = hm.Model(name="m", bodies=[BOX, BALL])
    closes = hm.Event(name="close", quantity="time", level=0.01, grasp="jaws")
    run = hm.Simulation(model, components=[grip], events=[closes]).run(3.0)
    assert run.state.q[2] == pytest.approx(2.0 * 9.81 / 1e3, rel=1e-3)
    with pytest.raises(ValueError, match=r"components\[0\] is 'jaws'"):
        hm.Simulation(model, components=["jaws"])


def test_a_check_of_a_window():
    recording = counted().run(1.0).recording
    check = Check(name="c", quantity="signal.calls", statistic="max", after=0.25, before=0.75, below=8.5, above=7.5)
    assert check.judge(recording).passed and "after 0.25 s before 0.75 s" in check.judge(recording).text
    early = Check(name="c", quantity="time", before=0.5, below=1)
    assert "started later" in early.judge(recording.isel(time=slice(6, None))).text
    late = summarise(recording.isel(time=slice(6, None)), checks=[early, check])
    assert [c.name for c in late.checks] == ["c"] and any("check 'c' was not evaluated" in text for text in late.messages)
    between = Check(name="c", quantity="time", after=0.605, before=0.615, below=1)
    assert "record more often" in between.judge(recording).text
    assert "ended earlier" in Check(name="c", quantity="time", after=2, below=1).judge(recording).text
    silent = recording.assign(signal=recording.signal.where(recording.time < 0.5))
    assert "samples are not numbers" in check.judge(silent).text
    with pytest.raises(ValueError, match="must be earlier than before"):
        Check(name="c", quantity="time", after=2, before=1, below=1)


def test_a_check_of_a_difference():
    """The calls are 1 at 0 s, 2 at 0.1 s: 9, 10 and 10 less the mean of 2, 3, 4, less 6."""
    recording = counted().run(1.0).recording
    window = {"quantity": "signal.calls", "statistic": "max", "target": 6.0, "after": 0.75, "above": 0.9, "below": 1.1}
    judged = Check(name="c", mean_of=(0.05, 0.35), **window).judge(recording)
    assert judged.passed and judged.value == pytest.approx(1.0) and "minus its mean from 0.05 s to 0.35 s" in judged.text
    assert not Check(name="c", mean_of=(2, 3), **window).judge(recording).passed  # the run ended before
    with pytest.raises(ValueError, match="mean_of starts at 2 s and ends at 1 s"):
        Check(name="c", mean_of=(2, 1), **window)


def test_a_mission_passes_its_checks():
    """Verify those of one; `hydromechs run NAME` flies the others."""
    scenario = hm.load_scenario("pick_and_release")
    recording = scenario.simulation().run(scenario.duration).recording
    assert [c.text for c in (c.judge(recording) for c in scenario.checks) if not c.passed] == []


def test_the_valve_at_its_stop_is_stable_in_the_steps_of_all_engines():
    """Friction, stop and grip at once, which the check of steps does not see: h² ω² + 2 h d < 4."""
    mission = hm.load_scenario("turn_valve")
    (grip,) = mission.parts(hm.contact.Holding)
    modes = {m.name: m for m in stiff_modes(mission.plant, mission.plant.model.initial().q)}
    both = [modes["friction of joint 'well.valve'"], modes["stops of joint 'well.valve'"]]
    inertia, lever = next(c for c in mission.components if c.name == "well.valve.stops").stiffness / both[1].frequency ** 2, 0.3
    frequency = np.sqrt(sum(m.frequency**2 for m in both) + max(grip.stiffness) * lever**2 / inertia)
    decay = sum(m.decay for m in both) + max(grip.damping) * lever**2 / inertia
    assert mission.step < 0.95 * SemiImplicitEuler().longest_step(frequency, decay)
