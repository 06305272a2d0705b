"""Components of a user's own in scenario files: run, recorded, audited, resumed; looked at without running; refused on request."""

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hydromechs as hm
from hydromechs.cli._main import app
from hydromechs.scenario import ComponentSpec, code_faults

pytestmark = pytest.mark.usefixtures("quickly_compiled")

PAGE = Path(__file__).parents[2] / "docs" / "components.md"
SCENARIO = """
hydromechs_scenario: 1
name: own
models:
  - {model: tiburon_titan2, position: [0, 0, 5]}
components:
  - type: own.py:SpringLine
    parameters: {name: mooring, frame: tool, anchor: [2.5, 0, 4], length: 0.5, stiffness: 400, damping: 300}
  - type: own.py:ShaftThruster
    parameters: {name: stern, frame: thruster_1, thrust_constant: 0.02, torque_constant: 4.0e-4, inertia: 0.05, limit: 30}
commands: {stern: 10}
events:
  - {name: taut, quantity: line_tension.mooring, level: 100, direction: rising}
checks:
  - {name: it pulls, quantity: line_tension.mooring, statistic: max, above: 1}
step: 0.002
duration: 2
"""


@pytest.fixture
def folder(tmp_path):
    """A scenario with the two components of the documentation beside it."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S)
    classes = [re.split(r"\n(?=buoy = |prop = |law = )", block)[0] for block in blocks]
    (tmp_path / "own.py").write_text(
        "from __future__ import annotations\n" + "\n".join(classes) + "\nopen('ran', 'w').close()\n"
    )
    (tmp_path / "own.yaml").write_text(SCENARIO)
    return tmp_path


def test_a_file_names_components(folder, monkeypatch):
    """They run compiled, are recorded and audited; a resumed run is the same to the last bit."""
    monkeypatch.chdir(folder)
    scenario = hm.load_scenario(str(folder / "own.yaml"), code=True)
    assert not Path("ran").exists(), "loading a scenario runs no code"
    assert len(scenario.code) == 2
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
    scenario = hm.load_scenario("./own.yaml")
    hm.save_scenario(scenario, folder / "copy.yaml")
    again = hm.load_scenario("./copy.yaml")
    assert again.components == scenario.components and isinstance(again.components[0], ComponentSpec)


def test_check_reads_code_without_running_it(folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(app, ["check", "own.yaml"])
    assert result.exit_code == 0 and "running it runs" in result.output and not Path("ran").exists()
    text = (folder / "own.yaml").read_text()
    for old, new, words in (
        ("own.py:SpringLine", "own.py:SprngLine", "has no class or function 'SprngLine' (did you mean 'SpringLine'?)"),
        ("own.py:SpringLine", "gone.py:SpringLine", "there is no file"),
        ("own.py:SpringLine", "no_such_package.module:Line", "there is no module 'no_such_package.module'"),
    ):
        (folder / "bad.yaml").write_text(text.replace(old, new))
        assert any(words in fault.text for fault in code_faults(hm.load_scenario("./bad.yaml"))), words
        assert CliRunner().invoke(app, ["check", "bad.yaml"]).exit_code == 1
    assert not Path("ran").exists()


CONTROLLERS = """
import dataclasses
from dataclasses import dataclass, field
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
    found: dict = dataclasses.field(init=False, default_factory=dict)

    def __call__(self, state): ...

@dataclass(kw_only=True)
class KeepLonger(Keep):
    time: float

class Written(hm.Controller):
    def __init__(self, depth, gain=2.0, *, period): ...

class Open(hm.Controller):
    def __init__(self, depth, **options): ...

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
            [r"does not take 'dept' \(did you mean 'depth'\?\)", "needs 'depth'; it takes depth, period, gain, names"],
        ),
        ("Keep", "depth: 3, found: {}", ["does not take 'found'"]),
        ("Keep", "depth: 3, kind: a", ["does not take 'kind'"]),
        ("KeepLonger", "depth: 3", ["needs 'time'"]),
        ("Written", "depth: 3", []),
        ("Written", "gian: 3, depth: 1", ["does not take 'gian' .did you mean 'gain'"]),
        ("Open", "anything: 3", []),
        ("Further", "anything: 3", []),
        ("function", "", []),
        ("function", "depth: 3", ["is a function, which takes none"]),
        (
            "Kep",
            "",
            [
                "no class or function 'Kep' .did you mean 'Keep'..; there are Keep, KeepLonger, Written, Open, Further, function$"
            ],
        ),
    ],
)
def test_check_compares_parameters_with_the_signature(tmp_path, monkeypatch, name, given, words):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(CONTROLLERS)
    Path("own.yaml").write_text(
        "hydromechs_scenario: 1\nname: own\nmodels: [{model: sinking_chain}]\nduration: 1\n"
        f"controller:\n  type: own.py:{name}\n  period: 0.1\n  parameters: {{{given}}}\n"
    )
    faults = code_faults(hm.load_scenario("./own.yaml"))
    assert len(faults) == len(words)
    for fault, pattern in zip(faults, words, strict=True):
        assert re.search(pattern, fault.text), fault.text
    result = CliRunner().invoke(app, ["check", "own.yaml"])
    assert result.exit_code == bool(words) and not Path("ran").exists()
    assert not words or f"line {6 if faults[0].path[-1] == 'type' else 8}: controller" in result.output


@pytest.mark.parametrize("given", ["", ", parameters: {name: a}"])
def test_check_refuses_a_function_as_a_component(tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(CONTROLLERS)
    Path("own.yaml").write_text(
        "hydromechs_scenario: 1\nname: own\nmodels: [{model: sinking_chain}]\nduration: 1\n"
        f"components: [{{type: 'own.py:function'{given}}}]\n"
    )
    result = CliRunner().invoke(app, ["check", "own.yaml"])
    assert result.exit_code == 1 and not Path("ran").exists()
    words = "components.0.type: own.py:function is a function, must be a class derived from hydromechs.Component"
    assert words in result.output.replace(f"{tmp_path}/", "")


def test_run_without_code_refuses(folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(app, ["run", "own.yaml"])
    assert result.exit_code != 0 and not Path("ran").exists()
    assert isinstance(result.exception, hm.CodeNotAllowed)
    assert [re.search(r"components\.\d", item)[0] for item in result.exception.items] == ["components.0", "components.1"]
    assert all("own.yaml, line" in item for item in result.exception.items)
    loader = "hydromechs.registry:module_afresh"
    (folder / "sly.yaml").write_text(
        re.sub(
            r"components:.*?commands",
            f"components:\n  - {{type: '{loader}', parameters: {{path: own.py}}}}\ncommands",
            SCENARIO,
            flags=re.S,
        )
        .replace("commands: {stern: 10}\n", "")
        .split("events:")[0]
        + "step: 0.002\nduration: 2\n"
    )
    assert CliRunner().invoke(app, ["run", "sly.yaml"]).exit_code != 0 and not Path("ran").exists()
    with pytest.raises(hm.ScenarioError, match="must be a class derived from hydromechs.Component"):
        hm.load_scenario("./sly.yaml").simulation()
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("{name: mooring, frame: tool}", "needs 'anchor'; it takes name"),
        ("{name: mooring, frame: tol, anchor: [0, 0, 0], length: 1, stiffness: 1}", "no frame or body 'tol'"),
    ],
)
def test_faults_of_components(folder, monkeypatch, parameters, words):
    monkeypatch.chdir(folder)
    text = re.sub(r"parameters: \{name: mooring.*\}", f"parameters: {parameters}", SCENARIO)
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
        (None, "act returned None, must be an Action"),
        (hm.Action(rates={"x": 1.0}), "act gives rates of \\['x'\\]"),
        (hm.Action(record={"y": 1.0}), "act records \\['y'\\]"),
        (hm.Action(energy=2.0), "stores energy: its Action must have power"),
    ):
        with pytest.raises((TypeError, ValueError), match=f"component 'odd' \\(Odd\\).*{words}"):
            hm.Plant(model=model, components=[Odd(action)])
    with pytest.raises(ValueError, match="must be a list of components"):
        hm.Plant(model=model, components=["thruster"])


def test_results_of_another_shape_than_said_are_refused():
    """A law or a component whose results do not fit their buffers is an error, never a write past them."""

    class Long(hm.TracedController):
        period = 0.01
        first_memory = (0.0,)

        def law(self, plant, t, q, v, command, memory):
            return command, np.arange(3000.0) + t

    model = hm.load("sinking_chain")
    with pytest.raises(ValueError, match=r"law: new_memory has shape \(3000,\), must have \(1,\)"):
        hm.Simulation(model, controller=Long())

    class Held(hm.Component):
        name = "h"

        def act(self, now, z, u):
            return hm.Action()

    with pytest.raises(ValueError, match=r"component 'h' \(Held\): its kind 'held' is a name of the recording's own"):
        hm.Plant(model=model, components=[Held()])
    with pytest.raises(KeyError, match="parameter 'zz'"):
        hm.Plant(model=model, parameters=["zz"])
    sim = hm.Simulation(model)
    sim.parameters["mass"] = 3.0
    with pytest.raises(KeyError, match="no open parameter 'mass'"):
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
