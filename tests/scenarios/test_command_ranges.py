"""Commands have a unit and a range: what lies outside is an error where it is known before the start, else it is said once."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.actuation import drives, linear_curve, t200_curve
from hydromechs.errors import ScenarioError
from hydromechs.recording import structured
from hydromechs.scenario import ModelStart, Scenario

MODEL = hm.Model(
    name="sled",
    bodies=[
        hm.Body(
            name="hull",
            joint=hm.joints.Free(),
            inertia=hm.Inertia(mass=10.0, tensor=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
            hydro=hm.Hydro(volume=10.0 / 1025.0),
            frames=[hm.Frame("port"), hm.Frame("star")],
        ),
        hm.Body(
            name="mast",
            parent="hull",
            joint=hm.joints.Prismatic(),
            inertia=hm.Inertia(mass=1.0, tensor=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0)),
        ),
    ],
)
PARTS = dict(
    components=[
        hm.Thruster(name="port", frame="port", curve=t200_curve(16.0)),
        hm.Thruster(name="star", frame="star", curve=linear_curve(40.0, 30.0)),
        drives.Torque(joint="mast", limit=5.0),
    ]
)


def simulation(**options):
    return hm.Simulation(MODEL, **PARTS, **options)


def scenario(**options):
    return Scenario(name="sled", models=[ModelStart(model=MODEL)], duration=0.1, **PARTS, **options)


def test_slots_know_unit_and_range():
    slots = simulation().plant.layout.input_slots
    assert [(s.unit, s.limits) for s in slots] == [("us", (1100.0, 1900.0)), ("throttle", (-1.0, 1.0)), ("N", (-5.0, 5.0))]


def test_the_default_command_is_no_thrust():
    sim = simulation()
    assert sim.command.tolist() == [1500.0, 0.0, 0.0]
    assert sim.observe()["actuator_force"].tolist() == [0.0, 0.0, 0.0]


WORDS = r"'port' is 0 us, outside its range 1100 to 1900 us; its rest value is 1500 us"


def test_commands_that_are_known_before_the_start_are_rejected():
    with pytest.raises(ValueError, match=f"commands: the command of {WORDS}"):
        simulation(commands={"port": 0.0})
    pulse = hm.Event(name="go", quantity="time", level=0.05, command={"star": 25.0})
    with pytest.raises(ValueError, match=r"event 'go': the command of 'star' is 25 throttle, outside its range -1 to 1"):
        simulation(events=[pulse])
    with pytest.raises(ScenarioError, match=WORDS):
        scenario(commands={"port": 0.0})
    with pytest.raises(ScenarioError, match=r"event 'go': the command of 'star' is 25 throttle"):
        scenario(events=[pulse])
    simulation(commands={"port": 1900.0, "star": -1.0, "mast": 5.0})  # the ends belong to it


def test_commands_of_a_controller_are_said_once_and_counted():
    sim = simulation(controller=lambda state: {"port": 0.0 if state.t else 1500.0, "star": 0.5}, period=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = sim.run(0.1)
    said = [m for m in run.messages if "outside its range" in m]
    assert said == [f"t = 0.01 s: the command of {WORDS}"]
    assert structured(run.recording, "commands_outside") == {"port": 9}
    again = sim.run(0.02)
    assert next(m for m in again.messages if "outside" in m).startswith("t = 0.1 s")
    assert structured(again.recording, "commands_outside") == {"port": 2}


def test_commands_of_the_caller_are_a_warning_once():
    sim = simulation()
    with pytest.warns(UserWarning, match=WORDS):
        sim.step({"port": 0.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim.step({"port": 0.0})


def test_rollouts_warn_too():
    sim = simulation()
    command = {"port": np.array([1500.0, 1900.0]), "star": np.array([0.0, 2.0])}
    q, v = np.tile(sim.state.q, (2, 1)), np.zeros((2, 7))
    with pytest.warns(UserWarning, match="'star' is 2 throttle, outside its range -1 to 1") as caught:
        hm.rollout(sim.plant, q, v, command, 1e-3, 2)
    assert len(caught) == 1


def test_units_are_recorded():
    run = simulation().run(0.02)
    assert structured(run.recording, "command_units") == {"port": "us", "star": "throttle", "mast": "N"}
    assert "commands_outside" not in run.recording.attrs


@pytest.mark.parametrize("given", [{"port": "full"}, ["a", "b", "c"], {"port": None}, "full", 3.0])
def test_commands_that_are_no_numbers_are_named(given):
    sim = simulation()
    with pytest.raises(ValueError, match=r"actuator|'port'"):
        sim.command = given
