"""Custom joints in files: run where a model is loaded or a scenario is run; looked at by `check`; rejected on request."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hydromechs as hm
from hydromechs.cli._main import app
from hydromechs.formats import dumps, loads

PAGE = Path(__file__).parents[2] / "docs" / "own_joint.md"
MODEL = """hydromechs_model: 2
name: rail
bodies:
  carriage:
    joint:
      type: rail.py:EllipticRail
      placement: {xyz: [0, 0, 3], rpy: [1.5, 0, 0]}
      limits: [-2, 2]
      damping: 1.5
      position: 0.3
      a: 2
      b: 1.0
    inertia: {mass: 12, com: [0, 0.05, 0], tensor: [0.2, 0.3, 0.4, 0, 0, 0]}
    hydro: {volume: 0.004}
"""
SCENARIO = """hydromechs_scenario: 2
name: own
models:
  rail: {model: "./rail.yaml", joints: {carriage: 0.5}}
joints:
  carriage: {drive: {type: servo, stiffness: 40, damping: 8}}
checks:
  it holds: {quantity: q.carriage, statistic: last, above: 0}
run: {step: 0.002, duration: 0.4}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    block = re.search(r"```python\n(.*?)\nrail = ", PAGE.read_text(), flags=re.S)[1]
    (tmp_path / "rail.py").write_text(block + "\nopen('ran', 'w').close()\n")
    (tmp_path / "rail.yaml").write_text(MODEL)
    (tmp_path / "own.yaml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_model_file_names_a_joint(folder):
    with pytest.raises(hm.CodeNotAllowed, match=r"--code .*code=True.*\n.*carriage.*rail.py:EllipticRail.*rail.yaml, line 6"):
        hm.load("./rail.yaml")
    assert not Path("ran").exists()
    model = hm.load("./rail.yaml", code=True)
    joint = model.bodies[0].joint
    assert (joint.kind, joint.a, joint.limits, joint.position, joint.placement.xyz[2]) == (
        "EllipticRail",
        2,
        (-2, 2),
        (0.3,),
        3,
    )
    assert pickle.loads(pickle.dumps(model)) == model
    assert hm.load("./rail.yaml", code=True) == model  # the same class, as long as the file is the same
    hm.save(model, "copy.yaml")
    assert 'type: "rail.py:EllipticRail"' in Path("copy.yaml").read_text()
    again = hm.load("./copy.yaml", code=True)
    np.testing.assert_array_equal(
        hm.forward_dynamics(again, [0.4], [1.0], [0.2]), hm.forward_dynamics(model, [0.4], [1.0], [0.2])
    )
    assert loads(dumps(model), code=True) == model


def test_it_can_be_a_part_of_a_composition(folder):
    own = re.search(r"    joint:\n(.*?)    inertia", MODEL, flags=re.S)[1]
    part = "        - " + own.strip().replace("\n      ", "\n          ") + "\n        - {type: revolute}\n"
    Path("rail.yaml").write_text(MODEL.replace(own, "      type: composite\n      parts:\n" + part))
    model = hm.load("./rail.yaml", code=True)
    assert [p.kind for p in model.bodies[0].joint.parts] == ["EllipticRail", "revolute"]
    hm.save(model, "copy.yaml")
    assert [p.kind for p in hm.load("./copy.yaml", code=True).bodies[0].joint.parts] == ["EllipticRail", "revolute"]


def test_a_scenario_runs_it_with_permission(folder):
    result = CliRunner().invoke(app, ["run", "own.yaml"])
    assert isinstance(result.exception, hm.CodeNotAllowed) and "rail.yaml, line 6" in str(result.exception)
    with pytest.raises(hm.CodeNotAllowed):
        hm.load_scenario("./own.yaml")
    assert not Path("ran").exists() and not Path("runs").exists()
    scenario = hm.load_scenario("./own.yaml", code=True)
    assert [x.rpartition("/")[2] for x in scenario.code] == ["rail.py:EllipticRail"]
    hm.save_scenario(scenario, folder / "again.yaml")
    run = hm.load_scenario("./again.yaml", code=True).simulation().run(0.4)
    assert Path("ran").exists()
    q = run.recording.q.sel(coordinate="carriage").values
    assert q[0] == 0.5 and abs(q[-1] - 0.5) > 0.01  # the servo gives way to the weight


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("", "", ""),
        ("rail.py:Ell", "rail.py:El", "joint.type .*has no class 'ElipticRail' (did you mean 'EllipticRail'?)"),
        ("rail.py", "gone.py", "does not exist; write the path"),
        ("rail.py:EllipticRail", "no_such.module:Rail", "'no_such.module' cannot be imported"),
        ("b: 1.0", "c: 1.0", "unknown key 'c'"),
        ("      b: 1.0\n", "", "the key 'b' is missing"),
        ("damping: 1.5", "dampin: 1.5", "unknown key 'dampin' with the value 1.5 (did you mean 'damping'?)"),
        ("damping: 1.5", "damping: -1.5", "damping is -1.5"),
        ("position: 0.3", "position: 3", "initial joint position 3 rad is outside the limits"),
        ("type: rail.py:EllipticRail", "type: elliptic", "or 'file.py:Name' for a custom type"),
    ],
)
def test_check_reports_what_is_wrong_with_it(folder, old, new, words):
    (folder / "rail.yaml").write_text(MODEL.replace(old, new))
    for file in ("rail.yaml", "own.yaml"):
        locked = " ".join(CliRunner().invoke(app, ["check", file]).output.split())
        assert not Path("ran").exists() and (words or "rail.py:EllipticRail" in locked), locked
        result = CliRunner().invoke(app, ["check", file, "--code"])
        said = " ".join(result.output.split())
        Path("ran").unlink(missing_ok=True)
        assert result.exit_code == bool(words), said
        assert re.search(re.escape(words).replace(r"\.\*", ".*"), said), said


def test_errors_that_only_running_shows(folder):
    source = Path("rail.py").read_text()
    Path("rail.yaml").write_text(MODEL.replace("b: 1.0", "b: -1.0"))
    with pytest.raises(hm.ModelError, match="body 'carriage': joint.b is -1 m, must be finite and > 0"):
        hm.load("./rail.yaml", code=True)
    Path("rail.yaml").write_text(MODEL)
    Path("rail.py").write_text(source.replace("2.0 * (self.a", "3.0 * (self.a"))
    with pytest.raises(hm.ScenarioError, match=r"EllipticRail: subspace_rate\(q, v\).*disagrees with the rate of subspace"):
        hm.load_scenario("./own.yaml", code=True).simulation()
    Path("rail.py").write_text("def EllipticRail(**options): ...\n")
    with pytest.raises(hm.ModelError, match="has no class 'EllipticRail'"):
        hm.load("./rail.yaml", code=True)
    Path("rail.py").write_text("1 / 0\n" + source)
    with pytest.raises(hm.ModelError, match="cannot be imported: ZeroDivisionError"):
        hm.load("./rail.yaml", code=True)
