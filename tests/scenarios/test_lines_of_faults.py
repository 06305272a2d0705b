"""Every error of a scenario file is reported with the line of what is to blame, when it is checked and when it is run."""

from __future__ import annotations

import runpy
import sys

import pytest
from rich.console import Console

import hydromechs as hm
from hydromechs import library
from hydromechs.cli._run import run
from hydromechs.control import JointTrajectory
from hydromechs.errors import Fault, FieldError, ScenarioError
from hydromechs.formats import load_scenario_file, located
from hydromechs.hybrid import Hybrid
from hydromechs.integrators import method_named
from hydromechs.scenario import trial_faults
from hydromechs.scenario._judge import place_of
from hydromechs.simulation import stiff_parts

MODEL = """
hydromechs_model: 2
name: rov
bodies:
  hull:
    joint: free
    inertia: {mass: 24, tensor: [1, 1, 1, 0, 0, 0]}
    hydro: {volume: 0.0245}
    shapes: {sphere: {type: sphere, radius: 0.2}}
    frames: {t1: {xyz: [0, 0, 0]}}
  arm:
    parent: hull
    joint: {type: revolute, axis: [0, 1, 0], placement: {xyz: [0.3, 0, 0]}, limits: [-1.5, 1.5]}
    inertia: {mass: 1, com: [0.2, 0, 0], tensor: [0.1, 0.1, 0.1, 0, 0, 0]}
"""
SCENARIO = """
hydromechs_scenario: 2
name: dive
models:
  rov: {model: rov.yaml, position: [0, 0, 5]}
terrain:
  floor: {type: plane, point: [0, 0, 20], normal: [0, 0, -1], material: sand}
thrusters:
  t1: {curve: {type: newtons, forward: 40, reverse: 40}}
run: {duration: 2}
"""
RICH = SCENARIO + "events:\n  first: {quantity: time, level: 1.5}\n"


@pytest.fixture
def read(tmp_path):
    (tmp_path / "rov.yaml").write_text(MODEL)

    def scenario(text):
        (tmp_path / "dive.yaml").write_text(text)
        return load_scenario_file(tmp_path / "dive.yaml", library.load, library.load_vehicle)

    scenario.file = tmp_path / "dive.yaml"
    return scenario


@pytest.fixture
def told(read):
    """Errors of a file as `hydromechs check` lists them."""

    def faults(text):
        try:
            scenario = read(text)
        except ScenarioError as e:
            return list(e.problems)
        return [str(f) for f in located(trial_faults(scenario), scenario)]

    return faults


def line_of(text, words):
    return text[: text.index(words)].count("\n") + 1


LQR = "blocks:\n  go:\n    type: lqr_speed\n    period: 0.05\n    waypoints: [{t: 0, surge: 0.1}]\n"
HOLD = "blocks: {hold: {type: joint_motion, period: 0.05, waypoints: [{t: 0, arm: 0.1}]}}\n"
CABLE = "{diameter: 0.01, mass: 0.1, axial_stiffness: 1.0e+4}"
TOP = "{type: riding, position: [0, 0, 0]}"
WINCH = "{shortest: 6, longest: 20}"
TETHER = f"tethers: {{umb: {{type: tether, frame: t1, top: {TOP}, cable: {CABLE}, length: 3, segments: 4, winch: {WINCH}}}}}\n"
MOTOR = "type: motor, voltage_limit: 24, resistance: 1, torque_constant: 0.1, rotor_inertia: 1.0e-4"
SERVO = "joints: {arm: {drive: {type: servo, stiffness: 20, damping: 2}}}\n"


@pytest.mark.parametrize(
    ("added", "at", "words"),
    [
        (
            SERVO + HOLD + "events:\n  a: {quantity: time, level: 1}\n  b: {quantity: signal.nonsense, level: 1}\n",
            "b: {quantity",
            "event 'b': quantity: 'signal.nonsense'",
        ),
        (
            "grasps:\n  g: {type: grasp, holder: hull, held: arm, closed: true}\n",
            "g: {type: grasp",
            "do not meet: the frames are 0.3 m and",
        ),
        (LQR, "go:", "go: speed control of 'hull': the mode at 0 1/s is uncontrollable"),
        ("contact:\n  material: sand\n  bodies:\n    - [hull, arm]\n", "[hull, arm]", "body 'arm' has no shape for contact"),
        (
            "grasps:\n  g: {type: grasp, holder: hull, held: arm, closed: false}\n"
            "components:\n  g: {type: grasp, holder: t1, held: arm, closed: false}\n",
            "g: {type: grasp, holder: t1",
            "Grasp 'g'",
        ),
        (
            "joints:\n  arm: {stops: {lower: -1, upper: 1, stiffness: 1.0e+9}}\n",
            "arm: {stops",
            "too stiff for a step of 0.001 s",
        ),
        (
            f"joints:\n  arm: {{drive: {{{MOTOR}, gear_ratio: 1.0e+300}}}}\n",
            "arm: {drive",
            "ranges from 1.1 (hull.p) to inf (arm)",
        ),
        ("duration: 2, step: 0.003", "run:", "record is 0.02 s, must be an integer multiple of the step, 0.003 s"),
        ("duration: 2, record: 0.1, step: 0.1", "run:", "step of 0.1 s"),
    ],
)
def test_an_error_has_the_line_of_its_cause(told, added, at, words):
    text = SCENARIO.replace("duration: 2", added) if added.startswith("duration") else SCENARIO + added
    found = [fault for fault in told(text) if words in fault]
    assert found, told(text)
    assert found[0].startswith(f"line {line_of(text, at)}: ")


def test_what_a_model_brings_has_the_line_of_the_model(read):
    """Soft stops at the model's limits are not in the file; a vehicle's actuators are neither."""
    text = SCENARIO + "joints: {arm: {friction: {viscous: 1}}}\n"
    scenario = read(text)
    places = {type(c).__name__: place_of(scenario, c) for c in scenario.plant.components}
    assert places == {
        "Thruster": ("components", 1),
        "JointFriction": ("components", 2),
        "JointStops": ("models", 0),
        "Pair": ("components", 0),
    }
    faults = located([Fault(place, "?") for place in places.values()], scenario)
    at = ["t1: {curve", "arm: {friction", "rov: {model", "floor: {type"]
    assert [f.line for f in faults] == [line_of(text, words) for words in at]


def test_a_run_says_the_line_too(read, monkeypatch, tmp_path):
    text = SCENARIO + SERVO + HOLD + "events:\n  b: {quantity: signal.nonsense, level: 1}\n"
    read(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScenarioError, match=f"line {line_of(text, 'b: {quantity')}: event 'b': quantity: 'signal.nonsense'"):
        run(str(read.file), Console(quiet=True), pictures=False)


@pytest.mark.parametrize(
    ("changes", "only"),
    [
        ([("duration: 2", "duration: -2")], "run.duration is -2, must be finite and > 0"),
        (
            [("2}\n", f"2}}\n{TETHER}commands: {{umb.rate: 0.1}}\n")],
            "tethers.umb.length is 3, must be within the winch limits",
        ),
        (
            [("2}\n", "2}\ngrasps: {g: {type: grasp, holder: hull, held: 3}}\n"), ("level: 1.5", "level: 1.5, grasp: [g]")],
            "held is 3",
        ),
        (
            [("material: sand", "material: sannd"), ("2}\n", "2}\ncontact: {points: [t1]}\n")],
            "terrain.floor.material is 'sannd'",
        ),
        (
            [
                ("2}\n", "2}\nblocks: {c: {type: joint_motion, waypoints: [{t: 0, arm: 0}], period: -1}}\n"),
                ("time, level", "signal.error.arm, level"),
            ],
            "period is -1",
        ),
    ],
)
def test_consequences_of_an_error_are_not_reported(told, changes, only):
    text = RICH
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    found = told(text)
    assert len(found) == 1, found
    assert only in found[0]


@pytest.mark.parametrize(
    ("added", "words"),
    [
        ("  first: {quantity: depth.hull, level: 9}\n", "the key 'first' appears twice"),
        (
            "checks: {late: {quantity: time, above: 0, after: 100}}\n",
            "check 'late': after starts at 100 s",
        ),
        ("checks: {late: {quantity: time, above: 0, mean_of: [3, 4]}}\n", "check 'late': mean_of starts at 3 s"),
    ],
)
def test_what_can_never_be_is_rejected(told, added, words):
    (found,) = told(RICH + added)
    assert found.startswith(f"line {RICH.count(chr(10)) + 1}: ")
    assert words in found


def test_a_check_may_begin_at_the_end(told):
    assert told(RICH + "checks: {late: {quantity: time, above: 0, after: 2}}\n") == []


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda: library.load_scenario("stationkeeping"),
            "no library scenario 'stationkeeping' (did you mean 'station_keeping'?)",
        ),
        (lambda: library.load("puma_560"), "no library model 'puma_560' (did you mean 'puma560'?)"),
        (lambda: library.load_vehicle("tiburon_titan"), "no library vehicle 'tiburon_titan' (did you mean 'tiburon_titan2'?)"),
    ],
)
def test_names_of_the_library_are_guessed(ask, words):
    with pytest.raises(ValueError) as e:
        ask()
    assert words in str(e.value)
    assert "; available: " in str(e.value)


def test_waypoints_without_their_time_are_reported_so():
    with pytest.raises(FieldError, match="must contain a time t and joint positions, such as {t: 0, elbow: 0.5}"):
        JointTrajectory(waypoints=[{"time": 0, "joints": {"elbow": 0.0}}])


def test_an_engine_is_reported_no_integrator():
    """It ignores them; and a method is not told to use itself."""
    inertia = hm.Inertia(mass=2.0, com=(0.3, 0, 0), tensor=(0.01, 0.05, 0.05, 0, 0, 0))
    arm = hm.Body(name="a", joint=hm.joints.Revolute(axis=(0, 1, 0)), inertia=inertia)
    servo = hm.drives.Servo(joint="a", stiffness=1e5, damping=1.0)
    plant = hm.Simulation(hm.Model(name="m", bodies=[arm]), components=[servo]).plant
    q = plant.model.initial().q
    prepared, method = Hybrid(engine="mujoco").on(plant, plant.model.initial())
    assert stiff_parts(prepared, q, method, 0.01)[0][1].endswith("below 0.003 s; use a shorter step, or soften it")
    ours = stiff_parts(plant, q, method_named("rk4"), 0.01)
    assert ours[0][1].endswith("use a shorter step, soften it, or use the integrator linearly_implicit")
    assert "linearly_implicit" not in method_named("linearly_implicit").remedy(0.01)


@pytest.mark.parametrize("module", ["hydromechs", "hydromechs.cli"])
def test_the_command_is_a_module_too(module, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["hydromechs", "--version"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    assert (end.value.code, capsys.readouterr().out) == (0, f"hydromechs {hm.__version__}\n")
