"""Custom components in scenario files: run, recorded, audited, resumed; looked at without running; rejected on request."""

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hydromechs as hm
from hydromechs.cli._main import app

PAGE = Path(__file__).parents[2] / "docs" / "components.md"
EXAMPLE = Path(__file__).parents[2] / "examples" / "custom_components.py"
SCENARIO = """
hydromechs_scenario: 2
name: own
models:
  tiburon_titan2: {model: tiburon_titan2, position: [0, 0, 5]}
components:
  mooring: {type: "own.py:SpringLine", frame: tool, anchor: [2.5, 0, 4], length: 0.5, stiffness: 400, damping: 300}
  stern:
    type: "own.py:ShaftThruster"
    frame: thruster_1
    thrust_constant: 0.02
    torque_constant: 0.0004
    inertia: 0.05
    limit: 30
commands: {stern: 10}
events:
  taut: {quantity: line_tension.mooring, level: 100, direction: rising}
checks:
  it pulls: {quantity: line_tension.mooring, statistic: max, above: 1}
run: {step: 0.002, duration: 2}
"""


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a scenario and custom components of the documentation."""
    line = re.search(r"```python\n(.*?)\nbuoy = ", PAGE.read_text(), flags=re.S)[1]
    (tmp_path / "own.py").write_text(
        f"from __future__ import annotations\n{line}\n{EXAMPLE.read_text()}\nopen('ran', 'w').close()\n"
    )
    (tmp_path / "own.yaml").write_text(SCENARIO)
    return tmp_path


def test_a_file_names_components(folder, monkeypatch):
    """They run compiled, are recorded and audited; a resumed run is the same to the last bit."""
    monkeypatch.chdir(folder)
    scenario = hm.load_scenario(str(folder / "own.yaml"), code=True)
    assert [x.rpartition("/")[2] for x in scenario.code] == ["own.py:SpringLine", "own.py:ShaftThruster"]
    sim = scenario.simulation()
    whole = sim.run(1.0)
    assert "stern.speed" in sim.plant.layout.states and sim.actuators == ("stern",)
    assert float(whole.recording.line_tension.max()) > 1.0
    assert {"spring_line", "actuator"} <= set(whole.recording.cause.values)
    first = scenario.simulation()
    first.run(0.4)
    second = scenario.simulation()
    second.state = first.state
    rest = second.run(0.6)
    assert rest.state == whole.state or np.array_equal(rest.state.q, whole.state.q)
    roll = hm.rollout(sim.plant, scenario.start.q, scenario.start.v, {"stern": 10.0}, 2e-3, 500, lanes=1)
    np.testing.assert_allclose(roll.q[-1], whole.state.q, rtol=0, atol=1e-12)


def test_saved_and_read_again(folder, monkeypatch):
    monkeypatch.chdir(folder)
    scenario = hm.load_scenario("./own.yaml", code=True)
    for plain in (False, True):
        hm.formats.save_scenario(scenario, folder / "copy.yaml", plain=plain)
        again = hm.load_scenario("./copy.yaml", code=True)
        assert again == scenario and type(again.components[0]).__name__ == "SpringLine"


def test_check_runs_code_with_permission_only(folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(app, ["check", "own.yaml"])
    said = " ".join(result.output.split())
    assert result.exit_code == 0 and "own.py:SpringLine" in said and "own.yaml, line 7" in said and not Path("ran").exists()
    (folder / "both.yaml").write_text((folder / "own.yaml").read_text().replace("level: 100", "level: high"))
    result = CliRunner().invoke(app, ["check", "both.yaml"])
    assert result.exit_code == 1 and "events.taut.level is 'high'" in result.output and "own.py:SpringLine" in result.output
    assert not Path("ran").exists()
    assert CliRunner().invoke(app, ["check", "own.yaml", "--code"]).exit_code == 0 and Path("ran").exists()
    text = (folder / "own.yaml").read_text()
    for old, new, words in (
        ("own.py:SpringLine", "own.py:SprngLine", "has no class 'SprngLine' (did you mean 'SpringLine'?)"),
        ("own.py:SpringLine", "gone.py:SpringLine", "does not exist; write the path"),
        ("own.py:SpringLine", "no_such_package.module:Line", "'no_such_package.module' cannot be imported"),
    ):
        (folder / "bad.yaml").write_text(text.replace(old, new))
        with pytest.raises(hm.ScenarioError) as error:
            hm.load_scenario("./bad.yaml", code=True)
        assert words in error.value.problems[0] and error.value.problems[0].startswith("line 7: components.mooring.type")
        assert CliRunner().invoke(app, ["check", "bad.yaml", "--code"]).exit_code == 1


CONTROLLERS = """
import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar
import hydromechs as hm
import numpy as np

open("ran", "w").close()

@dataclass(kw_only=True)
class Keep(hm.Controller):
    kind: "ClassVar[str]" = "keep"
    depth: float
    period: float
    gain: float = 1.0
    names: list = field(default_factory=list)
    note: "OnlyForTypeChecks" = None
    found: dict = dataclasses.field(init=False, default_factory=dict)

    def __call__(self, state): ...

@dataclass(kw_only=True)
class KeepLonger(Keep):
    time: float

class Written(hm.Controller):
    def __init__(self, depth, gain=2.0, *, period):
        self.period = period
    def __call__(self, state): ...

class Open(hm.Controller):
    period = 0.1
    def __init__(self, depth, **options): ...
    def __call__(self, state): ...

class Untimed(hm.Controller):
    def __call__(self, state): ...

class Further(np.ndarray): ...

def function(state): ...
"""


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("Keep", "depth: 3, gain: 2, names: [a]", []),
        (
            "Keep",
            "dept: 3",
            [r"unknown key 'dept' .*\(did you mean 'depth'\?\).*depth, period, gain, names"],
        ),
        ("Keep", "depth: 3, found: {}", ["unknown key 'found'"]),
        ("Keep", "depth: 3, kind: a", ["unknown key 'kind'"]),
        ("KeepLonger", "depth: 3", ["key 'time' is missing"]),
        ("Written", "depth: 3", []),
        ("Written", "gian: 3, depth: 1", ["unknown key 'gian' .*did you mean 'gain'"]),
        ("Open", "depth: 1, anything: 3", []),
        ("Open", "anything: 3", ["key 'depth' is missing"]),
        ("Untimed", "", ["controller Untimed has no period"]),
        ("Further", "anything: 3", ["must be a class derived from Block or Controller"]),
        ("function", "", []),
        ("function", "depth: 3", ["unknown key 'depth'"]),
        (
            "Kep",
            "",
            ["no class 'Kep' .did you mean 'Keep'..; its classes are Keep, KeepLonger, Written, Open, Untimed, Further$"],
        ),
    ],
)
def test_keys_are_compared_with_the_signature(tmp_path, monkeypatch, name, given, words):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(CONTROLLERS)
    Path("own.yaml").write_text(
        "hydromechs_scenario: 2\nname: own\nmodels: {m: {model: sinking_chain}}\nrun: {duration: 1}\n"
        f"blocks:\n  keep: {{type: 'own.py:{name}', period: 0.1, {given}}}\n"
    )
    assert CliRunner().invoke(app, ["check", "own.yaml"]).exit_code == 0 and not Path("ran").exists()
    try:
        faults = hm.load_scenario("./own.yaml", code=True) and ()
    except hm.ScenarioError as error:
        faults = error.faults
    assert len(faults) == len(words)
    for fault, pattern in zip(faults, words, strict=True):
        assert re.search(pattern, fault.text) and fault.line == 6 and fault.path[:2] == ("blocks", "keep"), fault.text


@pytest.mark.parametrize("given", ["", ", a: 1"])
def test_check_rejects_a_function_as_a_component(tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(CONTROLLERS)
    Path("own.yaml").write_text(
        "hydromechs_scenario: 2\nname: own\nmodels: {m: {model: sinking_chain}}\nrun: {duration: 1}\n"
        f"components: {{c: {{type: 'own.py:function'{given}}}}}\n"
    )
    result = CliRunner().invoke(app, ["check", "own.yaml", "--code"])
    assert result.exit_code == 1 and "components.c.type is 'own.py:function'" in result.output
    assert "has no class 'function'" in result.output


def test_run_without_code_rejects(folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(app, ["run", "own.yaml"])
    assert result.exit_code != 0 and not Path("ran").exists()
    assert isinstance(result.exception, hm.CodeNotAllowed)
    assert [item.partition(".type")[0] for item in result.exception.items] == ["components.mooring", "components.stern"]
    assert all("own.yaml, line" in item for item in result.exception.items)
    loader = "hydromechs.registry:module_kept"
    (folder / "sly.yaml").write_text(
        re.sub(
            r"components:.*?commands",
            f"components:\n  sly: {{type: '{loader}', path: own.py}}\ncommands",
            SCENARIO,
            flags=re.S,
        )
        .replace("commands: {stern: 10}\n", "")
        .split("events:")[0]
        + "run: {step: 0.002, duration: 2}\n"
    )
    assert CliRunner().invoke(app, ["run", "sly.yaml"]).exit_code != 0 and not Path("ran").exists()
    with pytest.raises(hm.ScenarioError, match="has no class 'module_kept'"):
        hm.load_scenario("./sly.yaml").simulation()
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("frame: tool", "components.mooring: the key 'anchor' is missing"),
        ("frame: tol, anchor: [0, 0, 0], length: 1, stiffness: 1", "no frame or body 'tol'"),
    ],
)
def test_errors_of_components(folder, monkeypatch, parameters, words):
    monkeypatch.chdir(folder)
    text = re.sub(r"frame: tool.*\}", f"{parameters}}}", SCENARIO)
    (folder / "bad.yaml").write_text(text)
    with pytest.raises((hm.ScenarioError, KeyError), match=words):
        hm.load_scenario("./bad.yaml", code=True).simulation()


def test_what_act_returns_is_checked():
    class Odd(hm.Component):
        name = "odd"

        def __init__(self, action):
            self.action = action

        def act(self, now, z, u):
            return self.action

    model = hm.load("puma560")
    for action, words in (
        (None, "act returned None, but must return an Action"),
        (hm.Action(rates={"x": 1.0}), "act returned rates of \\['x'\\]"),
        (hm.Action(record={"y": 1.0}), "act records \\['y'\\]"),
        (hm.Action(energy=2.0), "stores energy, but the Action has no power"),
    ):
        with pytest.raises((TypeError, ValueError), match=f"component 'odd' \\(Odd\\).*{words}"):
            hm.Plant(model=model, components=[Odd(action)])
    with pytest.raises(ValueError, match="must be a list of components"):
        hm.Plant(model=model, components=["thruster"])


def test_results_of_another_shape_than_said_are_rejected():
    """A law or a component whose results do not fit their buffers is an error, never a write past them."""

    class Long(hm.TracedBlock):
        period = 0.01
        first_memory = {"x": 0.0}

        def update(self, tick):
            return hm.Update(memory={"x": np.arange(3000.0) + tick.t})

    model = hm.load("sinking_chain")
    with pytest.raises(ValueError, match=r"memory_after has shape \(3001,\); return an array of shape \(2,\)"):
        hm.Simulation(model, controller=Long())

    class Held(hm.Component):
        name = "h"

        def act(self, now, z, u):
            return hm.Action()

    with pytest.raises(ValueError, match=r"component 'h' \(Held\): the kind 'held' is reserved for recordings"):
        hm.Plant(model=model, components=[Held()])
    with pytest.raises(KeyError, match="'zz'"):
        hm.Plant(model=model, parameters=["zz"])
    sim = hm.Simulation(model)
    sim.parameters["mass"] = 3.0
    with pytest.raises(KeyError, match="unknown open parameter 'mass'"):
        sim.run(0.1)


def test_plants_are_copied_and_pickled():
    """Also after a rollout has compiled them."""
    import copy
    import pickle

    sim = hm.load_scenario("underwater_dual_arm").simulation()
    plant, state = sim.plant, sim.state
    hm.rollout(plant, state.q, state.v, {}, 1e-3, 2, lanes=1)
    for again in (copy.copy(plant), copy.deepcopy(plant), pickle.loads(pickle.dumps(plant))):
        assert again == plant
