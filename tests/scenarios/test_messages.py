"""Wrong arguments are reported with their name, value and requirement. No built-in Python error."""

from __future__ import annotations

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.actuation import linear_curve
from hydromechs.model.component import Action, Component, JointForce, Wrench
from hydromechs.scenario import ModelStart, Scenario

SOLID = hm.Inertia(mass=10.0, tensor=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
MODEL = hm.Model(
    name="m",
    bodies=[
        hm.Body(name="hull", joint=hm.joints.Free(), inertia=SOLID, frames=[hm.Frame("port")]),
        hm.Body(name="arm", parent="hull", joint=hm.joints.Revolute(), inertia=SOLID),
    ],
)
THRUSTER = hm.Thruster(name="port", frame="port", curve=linear_curve(4.0, 4.0))
EVENT = hm.Event(name="a", quantity="time", level=1.0)
Q, V = MODEL.neutral()


class Own(Component):
    def __init__(self, action, name="own"):
        self.action, self.name = action, name

    def act(self, now, z, u):
        return self.action(now) if callable(self.action) else self.action


class Steer(hm.Controller):
    period = 0.1

    def __call__(self, state):
        return None


BOTH = [
    ({"environment": {"current": 1}}, "environment is {'current': 1}, must be a hydromechs.Environment"),
    ({"components": Own(Action())}, "components is .*must be a list of components"),
    ({"components": [5]}, r"components\[0\] is 5, but components must be a list of components"),
    ({"components": [Own]}, r"components\[0\] is the class Own"),
    ({"events": ["x"]}, r"events\[0\] is 'x', but events must be a list of events"),
    ({"events": EVENT}, "events is Event.*must be a list of events"),
    ({"seed": "a"}, "seed is 'a', must be an integer of at least 0"),
    ({"seed": -1}, "seed is -1, must be an integer of at least 0"),
]


@pytest.mark.parametrize(("given", "words"), BOTH)
def test_arguments_of_simulations_and_scenarios(given, words):
    with pytest.raises((ValueError, TypeError), match=words):
        hm.Simulation(MODEL, **given)
    with pytest.raises((ValueError, TypeError), match=words):
        Scenario(name="x", models=[ModelStart(model=MODEL)], **given)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hm.Simulation(MODEL, state=Q), r"state is array.*must be a hydromechs.State, such as State\(q=q, v=v\)"),
        (lambda: hm.Simulation(MODEL, state=(Q, V)), "state is .*must be a hydromechs.State"),
        (lambda: hm.Simulation(MODEL).reset(Q), "state is .*must be a hydromechs.State"),
        (lambda: hm.Simulation(MODEL, parameters=[5]), r"parameters\[0\] is 5"),
        (lambda: hm.Plant(model="m"), "model must be a hydromechs.Model, got str"),
        (lambda: hm.Plant(model=MODEL, components=THRUSTER), "components is Thruster.*must be a list"),
        (lambda: hm.Event(name="a", quantity=5, level=1.0), "Event.quantity is 5, must be text"),
        (lambda: hm.Event(name="a", quantity="time", level=1.0, command=5), "Event.command is 5, must map names"),
        (lambda: hm.Event(name="a", quantity="time", level=1.0, command={"x": "y"}), "command of 'x' is 'y', must be a number"),
        (lambda: hm.rollout(MODEL, Q, V, V, 0.01, 3), "pass a compiled model, hm.compile"),
        (lambda: Scenario(name="x", models=[MODEL]), r"models\[0\] is <Model.*ModelStart"),
        (lambda: Scenario(name="x", models=MODEL), "models is <Model.*must be a list"),
        (lambda: Scenario(name=5, models=[ModelStart(model=MODEL)]), "Scenario.name is 5"),
    ],
)
def test_other_arguments(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_batches_that_do_not_fit():
    dyn = hm.compile(MODEL)
    q, v = np.tile(Q, (4, 1)), np.tile(V, (4, 1))
    with pytest.raises(ValueError, match=r"tau of shape \(3, 7\) has one row per step but not the batch \(4,\); use the shape"):
        hm.rollout(dyn, q, v, np.zeros((3, 7)), 0.01, 3)
    with pytest.raises(ValueError, match=r"batch shapes are incompatible: q and v \(4,\), tau \(5,\)"):
        hm.rollout(dyn, q, v, np.zeros((5, 7)), 0.01, 3)
    with pytest.raises(ValueError, match="tau is 'x', must be an array of numbers"):
        hm.rollout(dyn, q, v, "x", 0.01, 3)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (None, r"act returned None, but must return an Action\(...\)"),
        (Action(forces=Wrench(0, np.zeros(6))), "with forces Wrench.*must be a list of wrenches, such as frame.force"),
        (Action(forces=[np.zeros(6)]), "with forces .*must be a list of wrenches"),
        (Action(forces=[Wrench(9, np.zeros(6))]), "with a wrench on body 9, must be the index of a body, 0 to 1"),
        (Action(forces=[Wrench("hull", np.zeros(6))]), "with a wrench on body 'hull'"),
        (Action(forces=[Wrench(0, np.zeros(3))]), r"with a wrench of shape \(3,\), must be \(6,\)"),
        (Action(joint_forces=[5]), r"with joint_forces \[5\], must be a list of joint forces"),
        (Action(joint_forces=[JointForce(slice(6, 7), 3.0)]), r"with a joint force of shape \(\), must be \(1,\)"),
        (Action(rates=5), "with rates 5, must be a mapping"),
        (Action(energy="x", power=0.0), "with energy = 'x', must be a number"),
        (Action(armature=[5]), "with an armature entry 5, must be a pair"),
        (Action(constraints=[5]), r"with constraints \[5\], must be a list of constraints"),
    ],
)
def test_what_act_returns(action, words):
    with pytest.raises((ValueError, TypeError), match=rf"component 'own' \(Own\): .*{words}"):
        hm.Simulation(MODEL, components=[Own(action)])


@pytest.mark.parametrize("name", ["", 5, None])
def test_names_of_components(name):
    with pytest.raises(ValueError, match=f"name of component Own is {name!r}, must be text that is not empty"):
        hm.Simulation(MODEL, components=[Own(Action(), name)])


def test_an_act_that_raises_is_named():
    with pytest.raises(ZeroDivisionError) as e:
        hm.Simulation(MODEL, components=[Own(lambda now: 1 / 0)])
    assert e.value.__notes__ == ["in act of the component 'own' (Own)"]


def test_a_controller_that_raises_shows_its_own_lines(tmp_path, capsys, monkeypatch):
    from hydromechs.cli._main import main

    hm.save(MODEL, tmp_path / "m.yaml")
    (tmp_path / "own.py").write_text(
        "import hydromechs as hm\n\n\ndef gain(x):\n    return 1 / x\n\n\n"
        "class Bad(hm.Controller):\n    def __init__(self, period):\n        self.period = period\n\n"
        "    def __call__(self, state):\n        return {'arm': gain(state.t)}\n"
    )
    (tmp_path / "s.yaml").write_text(
        "hydromechs_scenario: 2\nname: s\nrun: {duration: 0.1}\nmodels: {m: {model: ./m.yaml}}\n"
        "joints: {arm: {drive: torque}}\nblocks: {bad: {type: 'own.py:Bad', period: 0.02}}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["hydromechs", "run", "s.yaml", "--no-pictures", "--code"])
    with pytest.raises(SystemExit) as e:
        main()
    err = capsys.readouterr().err
    assert e.value.code == 1
    assert "return 1 / x" in err and "ZeroDivisionError" in err
    assert "in the controller Bad at t = 0 s" in err
    assert "_simulation.py" not in err and "--traceback" in err
    monkeypatch.setattr("sys.argv", ["hydromechs", "run", "s.yaml", "--no-pictures", "--code", "--force", "--traceback"])
    with pytest.raises(ZeroDivisionError):
        main()


@pytest.mark.parametrize("quantity", ["position.lower", "position", "position.hull", "position.hull.x.y", ""])
def test_quantities_that_are_not_there(quantity):
    check = hm.recording.Check(name="deep", quantity=quantity, statistic="max", below=1.0)
    with pytest.raises(hm.ScenarioError, match="check 'deep': quantity"):
        Scenario(name="x", models=[ModelStart(model=MODEL)], checks=[check])
