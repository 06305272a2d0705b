"""Errors of a run and likely mistakes are reported before the start: by the scenario, by `hydromechs check`."""

from __future__ import annotations

import copy
import warnings

import pytest

import hydromechs as hm
from hydromechs import hydro, library
from hydromechs.errors import ModelError, ScenarioError, SimulationDiverged
from hydromechs.formats import loads, loads_scenario
from hydromechs.scenario import unit_mistakes

MODEL = """
hydromechs_model: 2
name: rov
bodies:
  hull:
    joint: free
    inertia: {mass: 24, tensor: [1, 1, 1, 0, 0, 0]}
    hydro: {volume: 0.0245, added_mass: {type: diagonal, diagonal: [5, 6, 7, 0.5, 0.6, 0.7]}}
    shapes: {box: {type: box, size: [0.6, 0.4, 0.3]}}
    frames: {t1: {xyz: [0, 0, 0]}}
  arm:
    parent: hull
    joint: {type: revolute, limits: [-1.5, 1.5]}
    inertia: {mass: 1, com: [0.2, 0, 0], tensor: [0.1, 0.1, 0.1, 0, 0, 0]}
"""
SCENARIO = """
hydromechs_scenario: 2
name: dive
models:
  rov: {model: rov.yaml, position: [0, 0, 5], joints: {arm: 0.5}}
environment: {waves: {type: regular, height: 1, period: 6}}
materials:
  sand: {law: {type: linear, stiffness: 20000, damping: 400}}
terrain:
  floor: {type: plane, point: [0, 0, 20], normal: [0, 0, -1], material: sand}
thrusters:
  t1: {curve: {type: newtons, forward: 40, reverse: 40}}
blocks:
  controller: {type: hold_pose, period: 0.1, position: [0, 0, 5]}
events:
  late: {quantity: time, level: 0.05}
run: {step: 0.01, record: 0.1, duration: 0.2}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rov.yaml").write_text(MODEL)
    return tmp_path


def read(folder, *changes, text=SCENARIO):
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return loads_scenario(text, "dive", folder, library.load)


def test_checks_have_different_names(folder):
    checks = "checks: {a: {quantity: time, below: 9}, a: {quantity: time, above: 0}}\n"
    with pytest.raises(ScenarioError, match="line .*the key 'a' appears twice"):
        read(folder, text=SCENARIO + checks)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "height: 1, period: 6",
            "height: 5, period: 2",
            "environment.waves.0: wave.height is 5 m, but a wave of 2 s breaks above",
        ),
        ("arm: 0.5", "arm: 2", "models.0: joint 'arm' starts at 2, but the stops allow -1.5 to 1.5"),
        ("position: [0, 0, 5], joints", "position: [0, 0, 25], joints", "models.0 starts 5.15 m inside"),
        ("duration: 0.2", "duration: 1.0e+300", "record is 0.1 s, so a run of 1e+300 s has more than 1e+09 samples"),
        ("step: 0.01", "step: 1.0e-300", "step is 1e-300 s, so a run of 0.2 s has more than 1e+12 steps"),
        ("step: 0.01, record: 0.1", "integrator: dormand_prince, record: 1.0e-13", "record is 1e-13 s"),
        ("period: 0.1", "period: 1.0e+300", "controller.period is 1e+300 s, must be at most 1e+12 times the step"),
    ],
)
def test_rejected_by_the_scenario_with_its_line(folder, old, new, words):
    with pytest.raises(ScenarioError) as e:
        read(folder, (old, new))
    assert any(words in p and p.startswith("line ") for p in e.value.problems), e.value.problems


def test_a_joint_without_stops_may_start_anywhere(folder):
    assert read(folder, ("arm: 0.5", "arm: 2"), ("run:", "joints: {arm: {stops: none}}\nrun:")).start.q[7] == 2.0


@pytest.mark.parametrize(
    ("target", "slip"), [("40", "write 40° as 0.6981 rad, or define other stops"), ("200", "keep it within")]
)
def test_check_rejects_targets_beyond_the_stops(run_check, target, slip):
    """Degrees, where radians are meant, are named; without stops, any target is fine."""
    moved = SCENARIO.replace(
        "type: hold_pose, period: 0.1, position: [0, 0, 5]",
        "type: joint_motion, period: 0.1, waypoints: [{t: 0, arm: 0.5}, {t: 1, arm: TARGET}]",
    )
    moved = moved.replace("TARGET", target) + "joints: {arm: {drive: {type: servo, stiffness: 40, damping: 4, limit: 30}}}\n"
    status, err = run_check(moved)
    assert status == 1
    assert f"waypoint 1 moves joint 'arm' to {target} rad, outside the stops of the joint [-1.5, 1.5] rad; {slip}" in err
    assert run_check(moved.replace("arm: {drive", "arm: {stops: none, drive"))[0] == 0


def test_a_vehicle_may_rest_on_the_ground(folder):
    """Soft ground is deep: a millimetre or a weight's worth of it is no error."""
    read(folder, ("position: [0, 0, 5], joints", "position: [0, 0, 19.86], joints"))


def controlled(kind, keys):
    """The scenario with another controller, of keys in braces."""
    before = "{type: hold_pose, period: 0.1, position: [0, 0, 5]}"
    assert before in SCENARIO
    return SCENARIO.replace(before, f"{{type: {kind}, period: 0.1, {keys[1:-1]}}}")


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("{position: [0, 0, x]}", "position"),
        ("{position: 5}", "line 14: blocks.controller.position is 5, must be a list of 3 numbers"),
        ("{position: [0, 0, 5], frequency: fast}", "frequency is 'fast', must be a number"),
        ("{position: [0, 0, 5], frequency: [1]}", "frequency is [1], must be a number"),
        ("{position: [0, 0, 5], speed: 3}", "speed"),
        ("{position: [0, 0, 5], arm: 3}", "line 14: blocks.controller.arm is 3, must be a list"),
        ("{position: [0, 0, 5], arm: [{t: 0, arm: up}]}", "arm of waypoint 0 is 'up', must be a number"),
        ("{position: [0, 0, 5], body: 3}", "line 14: blocks.controller.body is 3, must be text"),
        ("{position: [0, 0, 5], body: arm}", "pose control: 'arm' is not a body with a free joint"),
        ("{position: [0, 0, 5], heading_deg: [1, 2]}", "line 14: blocks.controller.heading_deg is [1, 2], must be a number"),
        ("{}", "position"),
        ("{position: [0, 0, 5], integral: 1.0e-320}", "integral"),
    ],
)
def test_check_tries_controllers_of_the_library(run_check, folder, new, words):
    status, err = run_check(controlled("hold_pose", new))
    assert status == 1
    assert words in err
    for raw in (
        "NoneType",
        "can't multiply",
        "object is not",
        "unsupported operand",
        "__init__",
        "unexpected keyword",
        "<class",
    ):
        assert raw not in err


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("{waypoints: 3}", "line 14: blocks.controller.waypoints is 3, must be a list"),
        ("{waypoints: []}", "waypoints is [], must contain at least one waypoint"),
        ("{waypoints: [3]}", "line 14: blocks.controller.waypoints.0 is 3, must be a mapping"),
        ("{waypoints: {t: 0}}", "line 14: blocks.controller.waypoints is {t: 0}, must be a list"),
        ("{waypoints: [{t: now, position: [0, 0, 5]}]}", "t of waypoint 0 is 'now', must be a number"),
        ("{waypoints: [{t: 0, position: [0, 0, 5]}, {t: 0, position: [0, 0, 5]}]}", "put them in increasing order"),
        ("{}", "waypoints"),
    ],
)
def test_messages_of_follow_path(run_check, folder, parameters, words):
    status, err = run_check(controlled("follow_path", parameters))
    assert (status, words in err, "__init__" in err) == (1, True, False), err


@pytest.fixture
def run_check(folder, capsys):
    from rich.console import Console

    from hydromechs.cli._check import check_file

    def run(text):
        (folder / "dive.yaml").write_text(text)
        good = check_file(str(folder / "dive.yaml"), Console(soft_wrap=True))
        return (0 if good else 1), capsys.readouterr().err

    return run


def test_a_good_one_is_good(run_check):
    assert run_check(SCENARIO) == (0, "")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "[-1.5, 1.5]",
            "[-90, 90]",
            "limits [-90, 90] rad are 14.3 turns; if these are degrees, write [-1.571, 1.571]",
        ),
        (
            "volume: 0.0245",
            "volume: 24.5",
            "volume is 24.5 m³, which displaces 1046 times its mass; if this is in litres, write 0.0245",
        ),
        ("mass: 24,", "mass: 24000,", "9.8e+05 kg/m³, denser than any metal; if the number is in grams, write 24 kg"),
        ("size: [0.6, 0.4, 0.3]", "size: [600, 400, 300]", "lighter than air"),
        (
            "xyz: [0, 0, 0]",
            "rpy: [0, -90, 0]",
            "frame 't1' rpy is [0, -90, 0] rad, 14.3 turns; if this is in degrees, write [0, -1.5",
        ),
        (
            "limits: [-1.5, 1.5]",
            "placement: {rpy: [0, 90, 0]}",
            "'arm': joint rpy is [0, 90, 0] rad, 14.3 turns; if this is in degrees",
        ),
        (
            "limits: [-1.5, 1.5]",
            "placement: {type: mdh, alpha: 90}",
            "joint mdh alpha is 90 rad, 14.3 turns; if this is in degrees, write 1.5708 rad",
        ),
        (
            "limits: [-1.5, 1.5]",
            "position: 45",
            "'arm': joint position is 45 rad, 7.16 turns; if this is in degrees, write 0.785398",
        ),
        ("0.4, 0.3]}", "0.4, 0.3], origin: {rpy: [0, 90, 0]}}", "shapes.box origin rpy is [0, 90, 0] rad"),
        (
            "limits: [-1.5, 1.5]",
            "placement: {xyz: [450, 0, 100]}",
            "joint xyz is [450, 0, 100] m, 421 times the size of the larg",
        ),
        ("com: [0.2, 0, 0]", "com: [0, 0, -50]", "inertia.com is [0, 0, -50] m, 45.6 times the size of the largest body"),
        ("revolute, limits: [-1.5, 1.5]", "prismatic, limits: [-200, 200]", "joint limits is [-200, 200] m"),
    ],
)
def test_slips_of_units_are_warned_of(run_check, folder, old, new, words):
    assert old in MODEL
    text = MODEL.replace(old, new)
    with pytest.warns(UserWarning) as caught:
        loads(text)
    assert any(words in str(w.message) for w in caught), [str(w.message) for w in caught]
    (folder / "rov.yaml").write_text(text)
    still = SCENARIO[: SCENARIO.index("environment:")] + SCENARIO[SCENARIO.index("thrusters:") :]
    status, err = run_check(still)
    assert (status, words in err) == (0, True), err


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([("0, 5], joints", "0, -5], joints")], "body 'hull' starts 5 m above the water"),
        ([("0, 5], joints", "0, -0.5], joints")], ""),
        ([("0, 5], joints", "0, -5], joints"), ("{waves", "{surface: free, waves")], ""),
        (
            [("arm: 0.5", "arm: 45"), ("run:", "joints: {arm: {stops: none}}\nrun:")],
            "models.0.joints.arm is 45 rad, 7.16 turns",
        ),
        (
            [("run:", "joints: {arm: {stops: {lower: -90, upper: 90, stiffness: 10}}}\nrun:")],
            "joints.arm.stops [-90, 90] rad are 14.3 turns",
        ),
        ([("{waves", "{current: {velocity: [30, 0, 0]}, waves")], "30 m/s"),
        ([("{waves", "{current: {velocity: [3, 0, 0]}, waves")], ""),
        (
            [("{waves", "{current: {velocity: [0.3, 0, 0], profile: {type: power_law, depth: 4}}, waves")],
            "below the bed of the current profile: all bodies are 5 m deep, but the bed is at 4 m",
        ),
        ([("{waves", "{current: {velocity: [0.3, 0, 0], profile: {type: power_law, depth: 6}}, waves")], ""),
        ([("{waves", "{water_depth: 4, waves")], "all bodies are 5 m deep, but water_depth is 4 m"),
        ([("{waves", "{water_depth: 6, waves")], ""),
        ([("{waves", "{current: {velocity: [0, 0, 0], profile: {type: power_law, depth: 4}}, waves")], ""),
        ([("{waves", "{current: {times: [0, 1], velocities: [[0, 0, 0], [0, 40, 0]]}, waves")], "40 m/s"),
    ],
)
def test_slips_of_scenarios_are_warned_of(run_check, changes, words):
    text = SCENARIO
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    status, err = run_check(text)
    assert (status, words in err, bool(err)) == (0, True, bool(words)), err


def test_library_scenarios_have_no_such_slips():
    for name in library.scenario_names():
        assert unit_mistakes(library.load_scenario(name)) == []


def test_library_models_have_no_such_slips():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in library.names():
            library.load(name)


# -- extreme numbers ------------------------------------------------------------------------------------------------------


def numbers_in(data, path=()):
    if isinstance(data, dict):
        for key, value in data.items():
            yield from numbers_in(value, (*path, key))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from numbers_in(value, (*path, i))
    elif isinstance(data, int | float) and not isinstance(data, bool):
        yield path


@pytest.mark.parametrize("value", [1e300, 1e-300, -1e300, 0.0])
def test_extreme_numbers_end_in_a_named_error_or_a_result(folder, value):
    """Every number of a scenario, one after the other: built, and run where it can be built."""
    import json

    from hydromechs.formats._yaml import parse

    data = parse(SCENARIO).data
    for path in numbers_in(data):
        changed = copy.deepcopy(data)
        inside = changed
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = value
        try:
            scenario = loads_scenario(json.dumps(changed), "dive", folder, library.load)
        except ScenarioError as e:
            assert "Maximum allowed" not in str(e) and "OverflowError" not in str(e)
            continue
        sim = scenario.simulation()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                sim.step(duration=min(scenario.duration, 0.05))
            except (SimulationDiverged, ValueError) as e:
                assert "cannot convert" not in str(e) and "Maximum allowed" not in str(e), (path, e)


def test_simulations_report_it_too():
    sim = hm.Simulation(loads(MODEL), step=0.01)
    with pytest.raises(ValueError, match=r"step is 0.01 s, so a run of 1e\+300 s has more than 1e\+12 steps"):
        sim.run(1e300)
    with pytest.raises(ValueError, match=r"record is 1e\+300 s, must be at most 1e\+12 times the step"):
        hm.Simulation(loads(MODEL), record=1e300)


# -- inertia that the water lends -----------------------------------------------------------------------------------------


def test_inertia_of_the_water_alone_is_rejected_under_a_free_surface(run_check, folder):
    text = MODEL.replace("mass: 24, tensor: [1, 1, 1, 0, 0, 0]", "mass: 24, tensor: [0, 0, 0, 0, 0, 0]")
    text = text[: text.index("  arm:")]
    model = loads(text)
    hm.Simulation(model)  # under water all is well
    words = "body 'hull': its free joint moves no inertia.*with a free surface, the added mass vanishes"
    with pytest.raises(ModelError, match=words):
        hm.Simulation(model, environment=hm.Environment(surface=hydro.FreeSurface()))
    (folder / "rov.yaml").write_text(text)
    changed = SCENARIO.replace(", joints: {arm: 0.5}", "")
    assert run_check(changed)[0] == 0
    status, err = run_check(changed.replace("environment: {", "environment: {surface: free, "))
    assert status == 1
    assert "its free joint moves no inertia" in err


def test_a_run_reports_that_its_current_does_not_reach_it(folder):
    """As `check` does; above the bed it reports nothing."""
    ball = hm.Body(
        name="ball",
        joint=hm.joints.Free(position=(0, 0, 5)),
        inertia=hm.Inertia(mass=5.0, tensor=(0.02, 0.02, 0.02, 0, 0, 0)),
        hydro=hm.Hydro(volume=0.0042, drag=hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.1), coefficient=0.47)),
    )
    said = []
    for bed in (4.0, 6.0):
        profile = hydro.PowerLaw(depth=bed)
        water = hydro.Environment(
            gusts=hydro.Gusts(sigma=(0.1, 0, 0), time_constant=5, interval=1), current=hydro.Current(profile=profile)
        )
        run = hm.Simulation(hm.Model(name="m", bodies=[ball]), environment=water, step=0.01, record=0.05).run(0.05)
        said.append([text for text in run.messages if "current profile" in text])
    assert [len(texts) for texts in said] == [1, 0] and "set profile.depth" in said[0][0]
