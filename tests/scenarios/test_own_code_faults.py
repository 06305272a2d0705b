"""Errors of custom code are named: in files, in `act`, in drives, contact laws and hydrodynamics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hydromechs as hm
from hydromechs import geometry
from hydromechs.cli._main import app
from hydromechs.contact import ContactLaw, Material, NormalForce, Terrain

OWN = '''
import math
from dataclasses import dataclass

import numpy as np

import hydromechs as hm


@dataclass(frozen=True, kw_only=True)
class Ballast(hm.Component):
    """A tank that is filled by a pump."""

    name: str
    frame: str

    def states(self, model):
        return [hm.Slot("mass", 0.5, "kg")]

    def inputs(self, model):
        return [hm.Slot("", unit="1")]

    def act(self, now, z, u):
        weight = now.frame(self.frame).force(np.array([0.0, 0.0, 9.81 * z["mass"]]))
        return hm.Action(forces=[weight], rates={"mass": u[""]})


class Branching(Ballast):
    def act(self, now, z, u):
        if now.frame(self.frame).v[0] > 0:
            return hm.Action(rates={"mass": 1.0})
        return hm.Action(rates={"mass": 0.0})


class Sine(Ballast):
    def act(self, now, z, u):
        return hm.Action(rates={"mass": math.sin(now.t)})


class NotComponent:
    def __init__(self, name): ...


class NeitherComponent(NotComponent): ...


class NotController:
    def __init__(self, period): ...


@dataclass(frozen=True)
class Rail(hm.joints.CustomJoint):
    def pose(self, q):
        return np.eye(3), np.array([q[0], 0.0, 0.0])

    def subspace(self, q):
        return np.eye(6)[:, :1]

    def subspace_rate(self, q, v):
        return np.zeros((6, 1))
'''
SOLID = hm.Inertia(mass=2.0, tensor=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0))


@pytest.fixture
def write(tmp_path, monkeypatch):
    """A function that writes a scenario with one custom component and gives its path."""
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(OWN)
    hull = hm.Body(name="hull", joint=hm.joints.Free(), inertia=SOLID, hydro=hm.Hydro(volume=0.002), frames=[hm.Frame("keel")])
    link = hm.Body(name="arm", parent="hull", joint=hm.joints.Revolute(), inertia=SOLID)
    hm.save(hm.Model(name="m", bodies=[hull, link]), "m.yaml")

    def written(*lines: str, kind: str = "Ballast", parameters: str = "{frame: keel}") -> str:
        head = ["hydromechs_scenario: 2", "name: s", "run: {duration: 1}", "models: {m: {model: ./m.yaml}}"]
        component = f"components: {{tank: {{type: 'own.py:{kind}', {parameters[1:-1]}}}}}"
        Path("s.yaml").write_text("\n".join([*head, component, *lines]) + "\n")
        return "./s.yaml"

    return written


@pytest.mark.parametrize(
    "quantity",
    ["internal_state.tank.mass", "command.tank", "work.ballast", "internal_state.work.ballast", "force_ballast.hull.Z"],
)
def test_checks_and_events_of_custom_components(write, quantity):
    """References to parts that only custom code provides are checked when the code is run."""
    file = write(
        "joints: {arm: {drive: torque}}",
        f"events: {{e: {{quantity: {quantity}, level: 0.6}}}}",
        f"checks: {{c: {{quantity: {quantity}, below: 9}}}}",
    )
    result = CliRunner().invoke(app, ["check", file])
    assert result.exit_code == 0, result.output
    hm.load_scenario(file, code=True).simulation()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("checks: {c: {quantity: internal_state.tank.mas, below: 9}}", "check 'c': quantity: .*unknown name 'tank.mas'"),
        (
            "events: {e: {quantity: work.balast, level: 1}}",
            "event 'e': quantity: .*unknown name 'balast' .*did you mean 'ballast'",
        ),
        ("commands: {tnak: 1}", "commands.*no actuator 'tnak'.*did you mean 'tank'"),
        ("events: {e: {quantity: time, level: 0.5, command: {tnak: 1}}}", "event 'e'.*no actuator 'tnak'"),
    ],
)
def test_names_that_custom_components_do_not_have(write, line, words):
    """They are rejected when the code has run, with their line."""
    file = write(line)
    assert CliRunner().invoke(app, ["check", file]).exit_code == 0
    with pytest.raises(hm.ScenarioError, match=words) as refused:
        hm.load_scenario(file, code=True).simulation()
    assert refused.value.faults[0].path[0] == line.partition(":")[0]
    result = CliRunner().invoke(app, ["run", file, "--no-pictures", "--code"])
    assert "line 6: " in str(result.exception)


def test_names_of_the_model_are_judged_at_once(write):
    """No component brings another body."""
    with pytest.raises(hm.ScenarioError, match="line 6: check 'c': .*unknown name 'hul"):
        hm.load_scenario(write("checks: {c: {quantity: depth.hul, below: 9}}"))


@pytest.mark.parametrize(("kind", "line"), [("Branching", "if now.frame(self.frame).v[0] > 0:"), ("Sine", "math.sin(now.t)")])
def test_an_act_that_cannot_be_traced_is_named(write, kind, line):
    """In a few lines, with that of the user's file."""
    result = CliRunner().invoke(app, ["run", write(kind=kind), "--no-pictures", "--code"])
    assert result.exit_code == 1
    said = result.output[result.output.index("File") :].splitlines()
    assert len(said) <= 6 and line in result.output
    assert f"in act of the component 'tank' ({kind})" in said and "--traceback" in said[-1]
    full = CliRunner().invoke(app, ["run", write(kind=kind), "--no-pictures", "--code", "--traceback"])
    assert isinstance(full.exception, TypeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Jerky(hm.drives.Drive):
    """Branches on the position."""

    def force(self, command, q, qd, x):
        return math.sin(q) if q > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hard(ContactLaw):
    """Branches on the depth."""

    def force(self, depth, rate):
        d = max(depth, 0.0)
        return NormalForce(d, d, 0.5 * d * d)

    def stiffness_at(self, depth):
        return 1.0, 0.0


class Patchy:
    """Hydrodynamics that branch on the velocity."""

    def added_mass(self, body, motion):
        return np.eye(6)

    def wrench(self, body, motion):
        return np.zeros(6) if motion.velocity[0] > 0 else np.ones(6)


def arm(hydro=None) -> hm.Model:
    """One link, which touches what is below it."""
    ball = hm.geometry.Sphere(radius=0.1)
    link = hm.Body(name="arm", joint=hm.joints.Revolute(axis=(0, 1, 0)), inertia=SOLID, hydro=hydro, shapes=[ball])
    return hm.Model(name="arm", bodies=[link])


FLOOR = Terrain(name="floor", material=Material(law=Hard()), shape=geometry.Plane.through((0, 0, 1), (0, 0, -1)))


@pytest.mark.parametrize(
    ("make", "note"),
    [
        (lambda: hm.Simulation(arm(), components=[Jerky(joint="arm")]), "in the drive of joint 'arm' (Jerky)"),
        (lambda: hm.Simulation(arm(), components=[FLOOR]), "in the contact law (Hard)"),
        (lambda: hm.Simulation(arm(Patchy())), "in wrench of the hydrodynamics of the body 'arm' (Patchy)"),
    ],
)
def test_which_part_cannot_be_traced(make, note):
    with pytest.raises(TypeError, match="must not branch") as e:
        make().compile()
    assert note in e.value.__notes__


@pytest.mark.parametrize("kind", ["NotComponent", "NeitherComponent"])
def test_a_class_that_is_no_component(write, kind):
    """Reported in words of the file when its code may run."""
    file = write(kind=kind, parameters="{}")
    words = f"components.tank.type is 'own.py:{kind}', must be a class derived from Component"
    checked = CliRunner().invoke(app, ["check", "--code", file])
    assert checked.exit_code == 1 and words in checked.output and "line 5" in checked.output
    with pytest.raises(hm.ScenarioError) as e:
        hm.load_scenario(file, code=True).simulation()
    assert words in str(e.value) and "hydromechs_code" not in str(e.value)


def test_a_class_that_is_no_controller(write):
    file = write("blocks: {c: {type: 'own.py:NotController', period: 0.1}}")
    checked = CliRunner().invoke(app, ["check", "--code", file])
    assert checked.exit_code == 1 and "line 6" in checked.output
    words = "blocks.c.type is 'own.py:NotController', must be a class derived from Block or Controller"
    assert words in " ".join(checked.output.split())
    with pytest.raises(hm.ScenarioError, match=words):
        hm.load_scenario(file, code=True).simulation()


def test_engines_name_custom_joints_as_files_do(write):
    write()
    Path("r.yaml").write_text(
        "hydromechs_model: 2\nname: r\nbodies:\n  bead:\n    joint: {type: 'own.py:Rail'}\n"
        "    inertia: {mass: 1, tensor: [1, 1, 1, 0, 0, 0]}\n"
    )
    Path("e.yaml").write_text(
        "hydromechs_scenario: 2\nname: s\nrun: {duration: 1, engine: mujoco}\nmodels: {m: {model: ./r.yaml}}\n"
    )
    checked = CliRunner().invoke(app, ["check", "--code", "e.yaml"])
    assert "joint 'bead': engine 'mujoco' has no own.py:Rail joint" in checked.output + str(checked.exception)
    model = hm.load("r.yaml", code=True)
    assert "no own.py:Rail joint" in hm.hybrid.Hybrid(engine="mujoco").faults(hm.Plant(model=model))[0]
