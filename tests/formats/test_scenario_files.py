"""Scenario files: every key is read, kept and explained; every error is reported at once with its line; nothing else is raised."""

from __future__ import annotations

import functools
import json
import math
import pickle
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from benchmarks.mutations import flow_yaml

from hydromechs import contact, hydro, library, lines
from hydromechs.actuation import (
    ExternalWrench,
    JointFriction,
    JointMotion,
    JointRotor,
    JointSpring,
    JointStops,
    Thruster,
    drives,
    motions,
)
from hydromechs.equations import kinematics, restoring_force
from hydromechs.errors import CodeNotAllowed, ScenarioError, UnsupportedFeature
from hydromechs.formats import dumps_scenario, load_scenario_file, loads_scenario, save_scenario, scenario_json_schema
from hydromechs.formats._yaml import parse
from hydromechs.integrators import DormandPrince
from hydromechs.model import Body, Inertia, Model, Origin, World, joints
from hydromechs.recording import Check, find_quantity, find_terms
from hydromechs.registry import module_kept
from hydromechs.scenario import ModelStart, Scenario, assemble
from hydromechs.simulation import Event, PythonBlock
from hydromechs.spatial import quaternion_from_matrix, quaternion_matrix

Hold = module_kept(str(Path(__file__).parent / "ctl.py")).Hold
RICH = (Path(__file__).parent / "scenario_rich.yaml").read_text()
DOC = (Path(__file__).parents[2] / "docs" / "scenario_file.md").read_text(encoding="utf-8")
LIGHT = RICH.replace("  pipe: {type", "  # pipe: {type").replace("  crate: {type", "  # crate: {type")
"""The same without the solids that most contacts are with: read in half of the time, with the same lines."""
load = functools.cache(library.load)

VALIDATOR = jsonschema.Draft202012Validator(scenario_json_schema())


def read(text: str = RICH, folder=Path(__file__).parent) -> Scenario:
    return loads_scenario(text, "rich", folder, load, code=True)


def problems(*changes: tuple[str, str], text: str = LIGHT) -> list[str]:
    """Errors of the rich file with some texts changed."""
    for old, new in changes:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    with pytest.raises(ScenarioError) as e:
        read(text)
    assert len(e.value.places) in (0, len(e.value.problems))
    return list(e.value.problems)


def line(text: str) -> int:
    return RICH[: RICH.index(text)].count("\n") + 1


# -- reading and writing ------------------------------------------------------------------------------------------------


def test_all_is_read():
    s = read()
    assert s.model.nb == 12
    assert s.model.body_names[0] == "rov.vehicle"
    assert s.start.q[:3].tolist() == [0.0, 0.0, 10.0]
    np.testing.assert_allclose(s.start.q[3:7], [math.sqrt(0.5), 0, 0, math.sqrt(0.5)])
    assert s.start.q[7] == 0.3
    assert s.start.v[[0, 6]].tolist() == [0.1, 0.1]
    assert s.environment.current.profile == hydro.PowerLaw(depth=30, exponent=0.143)
    assert s.environment.waves[0] == hydro.RegularWave(height=1, period=6, direction=math.radians(30), phase=math.radians(10))
    assert s.environment.surface == hydro.FreeSurface()
    assert s.parts(contact.Terrain)[1].origin == Origin((1, 2, 19), (0, math.pi / 2, math.radians(17)))
    assert s.parts(contact.Terrain)[0].material.friction.kinetic == 0.5
    assert [t.name for t in s.parts(Thruster)] == [
        "rov.thruster_1",
        "rov.thruster_2",
        "third",
        "rov.thruster_4",
        "rov.thruster_5",
    ]
    assert JointStops(joint="rov.upper_arm") in s.components
    assert JointFriction(joint="rov.forearm") in s.components
    assert drives.Torque(joint="rov.wrist_pitch") in s.components
    assert s.events[0].wrench == (("rov.vehicle", (1, 0, 0, 0, 0, 0)),)
    assert s.integrator == DormandPrince(relative=1e-5)
    assert s.checks[0].below == 0.3


def test_round_trip():
    for plain in (False, True):
        text = dumps_scenario(read(), plain=plain)
        assert read(text) == read()
        assert dumps_scenario(read(text), plain=plain) == text


def test_saved_paths_are_relative(tmp_path):
    (tmp_path / "models").mkdir()
    text = Path(library.model_path("sinking_chain")).read_text()
    (tmp_path / "models" / "chain.yaml").write_text(text)
    (tmp_path / "a.yaml").write_text(RICH.replace("model: sinking_chain", "model: models/chain.yaml"))
    (tmp_path / "ctl.py").write_text((Path(__file__).parent / "ctl.py").read_text())
    s = library.load_scenario(tmp_path / "a.yaml", code=True)
    assert s.models[1].source == str(tmp_path / "models" / "chain.yaml")
    assert s.code == (f"{tmp_path / 'ctl.py'}:Hold",)
    (tmp_path / "sub").mkdir()
    save_scenario(s, tmp_path / "sub" / "b.yaml")
    saved = (tmp_path / "sub" / "b.yaml").read_text()
    assert 'model: "../models/chain.yaml"' in saved
    assert '"../ctl.py:Hold"' in saved
    assert library.load_scenario(tmp_path / "sub" / "b.yaml", code=True).models[1].model == s.models[1].model


def test_what_a_file_cannot_hold():
    chain = ModelStart(model=load("sinking_chain"))
    with pytest.raises(UnsupportedFeature, match="has no source"):
        dumps_scenario(Scenario(name="x", models=[chain]))
    named = replace(chain, source="sinking_chain")
    controller = lambda state: None  # noqa: E731
    with pytest.raises(UnsupportedFeature, match="blocks.controller: .*cannot be imported"):
        dumps_scenario(Scenario(name="x", models=[named], blocks=[PythonBlock(controller=controller, period=0.1)]))
    held = Hold(gain=object(), names=[], nested={}, period=0.1)
    with pytest.raises(UnsupportedFeature, match=re.escape("blocks.controller.gain")):
        dumps_scenario(Scenario(name="x", models=[named], blocks=[PythonBlock(controller=held)]))


def test_made_in_python_and_written():
    """Angles that come from no number of degrees come back to the last digit but one."""
    wave = hydro.RegularWave(height=1, period=5, direction=0.123456789)
    chain = ModelStart(model=load("sinking_chain"), source="sinking_chain", position=(0, 0, 1), joints={"link_3": 0.1})
    s = Scenario(
        name="x",
        models=[chain],
        environment=hydro.Environment(waves=[wave]),
        components=[drives.Torque(joint="link_3", limit=3)],
    )
    again = read(dumps_scenario(s))
    assert again.environment.waves[0].direction == pytest.approx(wave.direction, rel=1e-15)
    assert replace(again, environment=s.environment) == s
    assert pickle.loads(pickle.dumps(s)) == s


def test_numpy_numbers_are_written_as_numbers():
    """NumPy's floats are floats, but their text is "np.float64(3.0)", which nothing reads."""
    three = np.float64(3.0)
    chain = ModelStart(model=load("sinking_chain"), source="sinking_chain")
    hold = Hold(gain=three, names=np.array([1.0, 2.0]), nested={"n": np.int64(2), "on": np.bool_(True)}, period=0.1)
    s = Scenario(
        name="x",
        models=[chain],
        components=[drives.Torque(joint="link_3")],
        commands={"link_3": three},
        blocks=[PythonBlock(controller=hold)],
        events=[Event(name="e", quantity="time", level=three, command={"link_3": three})],
    )
    text = dumps_scenario(s)
    assert "np." not in text
    again = read(text)
    assert again == s
    assert again.controllers[0].controller.arguments["nested"] == {"n": 2, "on": True}


def test_errors_are_objects():
    with pytest.raises(ScenarioError) as caught:
        read(RICH.replace("static: 0.7", "static: 0.1").replace("duration: 60", "duration: -1"))
    static, duration = caught.value.faults
    assert (static.path, static.value) == (("materials", "seabed", "friction", "static"), 0.1)
    assert static.must == "must be at least kinetic, 0.5; swap them"
    assert (duration.where, duration.value, duration.must) == ("run.duration", -1, "must be finite and > 0")
    assert caught.value.problems == tuple(map(str, caught.value.faults))


# -- errors ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("hydromechs_scenario: 2", "hydromechs_scenario: 3", "hydromechs_scenario is 3, must be 2"),
        ("title:", "titel:", "unknown key 'titel'"),
        ("duration: 60", "duration: long", "run.duration is 'long', must be a number"),
        ("duration: 60", "duration: -1", "run.duration is -1, must be finite and > 0"),
        ("model: tiburon_titan2", "model: tiburon", "no library model 'tiburon'"),
        ("model: tiburon_titan2", "model: ./tiburon.yaml", "tiburon.yaml' does not exist"),
        ("velocity: [0.1, 0, 0, 0, 0, 0]", "velocity: [0.1]", "must be a list of 6 numbers"),
        (
            "heading_deg: 90",
            "heading_deg: 90, quaternion: [1, 0, 0, 0]",
            "models.rov has heading_deg 90.0, quaternion",
        ),
        ("joints: {shoulder", "joints: {sholder", "(did you mean 'shoulder'?)"),
        ("quaternion: [0, 1", "quaternion: [0, 2", "must be a unit quaternion"),
        ("{type: power_law, depth: 30, exponent: 0.143}", "{type: log}", "must be one of uniform, power_law, table"),
        (
            "{type: power_law, depth: 30, exponent: 0.143}",
            "{type: table, depths: [3, 2], factors: [1, 1]}",
            "depths is [3.0, 2.0], must increase, but has 2 after 3",
        ),
        ("height: 1,", "height: 0,", "environment.waves.0.height is 0, must be finite and > 0"),
        ("surface: free", "surface: none", "surface.type is 'none'"),
        ("static: 0.7", "static: 0.1", "static is 0.1, must be at least kinetic, 0.5"),
        ("normal: [0, 0, -1], material: seabed", "normal: [0, 0, -1], material: seabd", "(did you mean 'seabed'?)"),
        ("normal: [0, 0, -1]", "normal: [0, 0, 0]", "terrain.floor.normal is [0.0, 0.0, 0.0], must not be zero"),
        ("type: sphere", "type: ball", "must be one of box, sphere"),
        ("[chain.tail]", "[chain.tai]", "(did you mean 'chain.tail'?)"),
        ("[[rov.forearm, ", "[[rov.vehicle, rov.forearm, ", "must be two"),
        ("bodies: [[rov.forearm, chain.link_1]]", "groups: [[rov.forearm]]", "at least two"),
        ("bodies: [[rov.forearm, chain.link_1]]", "groups: [every]", "a list of body names, or all"),
        ("bodies: [[rov.forearm, chain.link_1]]", "exclude: [[rov.forearm, chain.link_1]]", "contact.groups"),
        (
            "frames: [rov.thruster_1, rov.thruster_2]",
            "frames: [rov.thruster_1, rov.thruster_1]",
            "Thruster 'rov.thruster_1'",
        ),
        ("voltage: 16", "voltage: 30", "voltage is 30.0, must be finite and from 10 to 20"),
        ("forces: [-30, 0, 40]", "forces: [-30, 0]", "3 commands and 2 forces"),
        ("drive: {type: servo", "drive: {type: pid", "must be one of torque, servo, motor, hydraulic"),
        ("stops: none", "stops: 3", "must be a mapping"),
        ("stops: none", "stops: never", "must be one of stops, none"),
        ("{type: throttle, forward: 300, reverse: 250, dead_band: 0.05}", "{type: throttle}", "thrusters.third.curve"),
        ("relative: 1.0e-05", "rel: 1.0e-5", "unknown key 'rel'"),
        ("external: [rov.vehicle]", "external: [vehicle]", "(did you mean 'rov.vehicle'?)"),
        ("commands: {rov.shoulder", "commands: {rov.sholder", "(did you mean 'rov.shoulder'?)"),
        ("depth.rov.vehicle", "depth.rov.vehicl", "(did you mean 'rov.vehicle'?)"),
        ("depth.rov.vehicle", "wrk.drag", "unknown quantity 'wrk'"),
        ("direction: rising", "direction: up", "must be 'rising', 'falling' or 'either'"),
        ("position.rov.vehicle.x", "position.rov.vehicle.x.y", "from the end"),
        ("statistic: max_abs", "statistic: median", "must be one of last, min"),
        ("after: 20, below: 0.3", "after: 20", "has no limit"),
        ("{type: dormand_prince, relative: 1.0e-05}", "rk5", "integrator.type is 'rk5'"),
        ("seed: 1", "seed: 1.5", "must be an integer"),
    ],
)
def test_error_names_line_value_and_remedy(old, new, words):
    found = problems((old, new))
    assert any(p.startswith(f"line {line(old)}: ") and words in p for p in found), found


def test_all_errors_are_reported_at_once():
    found = problems(
        ("title:", "titel:"),
        ("height: 1,", "height: -1,"),
        ("normal: [0, 0, -1], material: seabed", "normal: [0, 0, -1], material: peat"),
        ("rov.thruster_1", "rov.thruster_99"),
        ("depth.rov.vehicle", "depth.vehicle"),
        ("servo, stiffness: 100,", "servo, stiffness: x,"),
        ("below: 0.3", "below: 0.3, abve: 1"),
    )
    at = ["title", "regular, height", "type: plane", "rov.thruster_1", "rov.shoulder: {drive", "depth.rov", "stays within"]
    assert [int(re.match(r"line (\d+): ", p)[1]) for p in found] == [line(text) for text in at]


def test_what_refers_to_a_faulty_part_is_not_blamed():
    """A thruster that cannot be read is not also missing where a command names it."""
    (only,) = problems(("curve: {type: throttle", "curve: {type: throtle"))
    assert "thrusters.third.curve" in only


def test_times_are_integer_multiples_of_steps():
    text = LIGHT.replace("{type: dormand_prince, relative: 1.0e-05}", "rk4")
    assert read(text).integrator.name == "rk4"
    found = problems(("record: 0.05", "record: 0.0503"), ("interval: 0.5", "interval: 0.0007"), text=text)
    assert [p.split(" is ")[0].split(": ")[1] for p in found] == ["environment.gusts.interval", "record"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("[1, 2]", "must be a mapping that starts with 'hydromechs_scenario: 2'"),
        ("hydromechs_model: 2\nname: x", "the file is a model file"),
        ("a: [", "not YAML"),
        ("hydromechs_scenario: 2\nname: x\nrun: {duration: 1}\nmodels: {}", "models is empty"),
        ("hydromechs_scenario: 2\nname: x\nrun: {duration: 1}", "the key 'models' is missing"),
    ],
)
def test_files_of_something_else(text, words):
    assert words in problems(text=text)[0]


def test_a_misspelt_run_is_the_only_problem():
    text = "hydromechs_scenario: 2\nname: x\nmodels: {rov: {model: bluerov2_heavy, position: [0, 0, 5]}}\nrn: {duration: 1, step: 0.01}"
    [found] = problems(text=text)
    assert "unknown key 'rn'" in found and "did you mean 'run'" in found


def test_errors_of_model_files_are_reported(tmp_path):
    (tmp_path / "m.yaml").write_text("hydromechs_model: 2\nname: m\nbodies:\n  a: {joint: {type: fre}, inertia: {mass: 1}}\n")
    (tmp_path / "s.yaml").write_text("hydromechs_scenario: 2\nname: s\nrun: {duration: 1}\nmodels: {m: {model: m.yaml}}\n")
    with pytest.raises(ScenarioError, match=r"line 4: models.m.model: .*m.yaml: line 4: body 'a': joint.type is 'fre'"):
        load_scenario_file(tmp_path / "s.yaml")
    (tmp_path / "s.yaml").write_text("hydromechs_scenario: 2\nname: s\nrun: {duration: 1}\nmodels: {m: {model: puma560}}\n")
    with pytest.raises(ScenarioError, match="'puma560'.*library"):
        load_scenario_file(tmp_path / "s.yaml")


def test_paths(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.yaml"):
        load_scenario_file(tmp_path / "none.yaml")
    with pytest.raises(ScenarioError, match="is a folder"):
        load_scenario_file(tmp_path)
    (tmp_path / "a.yaml").write_bytes(b"hydromechs_scenario: 2\nname: \xff\n")
    with pytest.raises(ScenarioError, match="line 2: byte 0xff"):
        load_scenario_file(tmp_path / "a.yaml")
    with pytest.raises(ScenarioError, match="no library scenario 'nothing'; available: .*sinking_chain"):
        library.load_scenario("nothing")
    with pytest.raises(ScenarioError, match="no library scenario"):
        library.scenario_path("nothing")


def test_the_error_can_be_sent_to_another_process():
    error = ScenarioError("x", ["a", "b"], [("a",), ()])
    again = pickle.loads(pickle.dumps(error))
    assert (again.source, again.problems, again.places) == (error.source, error.problems, error.places)


# -- models ---------------------------------------------------------------------------------------------------------------


def pose(model, state, body):
    motion = kinematics(model, state.q, state.v)
    X = np.array(motion.X_WB[model.body_index(body)], dtype=float)
    return X[:3, :3], X[:3, 3]


def test_a_single_model_keeps_its_names_and_identity():
    chain = load("sinking_chain")
    model, state = assemble([ModelStart(model=chain, name="x", position=(1, 2, 3), velocity=(1, 2, 3, 4, 5, 6))])
    assert model is chain
    assert state.q[:3].tolist() == [1, 2, 3]
    assert state.q[3:7].tolist() == chain.initial().q[3:7].tolist()
    assert state.v[:6].tolist() == [1, 2, 3, 4, 5, 6]


def test_pose_of_a_free_root_is_in_world_axes():
    """Also where its joint frame is moved and turned."""
    joint = joints.Free(placement=Origin((1, -2, 0.5), (0.3, -0.4, 1.2)))
    model = Model(bodies=[Body(name="a", joint=joint, inertia=Inertia(mass=1, tensor=(1, 1, 1, 0, 0, 0)))])
    orientation = quaternion_from_matrix(quaternion_matrix([0.5, 0.5, -0.5, 0.5]))
    start = ModelStart(model=model, position=(4, 5, 6), orientation=orientation)
    R, p = pose(*assemble([start]), "a")
    np.testing.assert_allclose(p, [4, 5, 6], atol=1e-14)
    np.testing.assert_allclose(R, quaternion_matrix(orientation), atol=1e-14)


def test_a_model_without_free_root_stands_on_a_base():
    """All of it is moved and turned as one, its motion in itself is the same."""
    puma = load("puma560")
    q, v = puma.initial().q, puma.initial().v
    orientation = (math.cos(0.4), 0.0, math.sin(0.4), 0.0)
    model, state = assemble([ModelStart(model=puma, position=(1, 2, 3), orientation=orientation, joints={"link2": 0.2})])
    assert model.body_names == ("base", *puma.body_names)
    moved = puma.initial()
    q = moved.q.copy()
    q[puma.q_slices[puma.body_index("link2")]] = 0.2
    R0, p0 = pose(puma, replace(moved, q=q), "link6")
    R, p = pose(model, state, "link6")
    R_WB = quaternion_matrix(orientation)
    np.testing.assert_allclose(p, R_WB @ p0 + [1, 2, 3], atol=1e-12)
    np.testing.assert_allclose(R, R_WB @ R0, atol=1e-12)
    assert state.v.tolist() == v.tolist()


def test_models_that_do_not_fit_together():
    chain, puma = load("sinking_chain"), load("puma560")
    with pytest.raises(ScenarioError, match=r"world.axes is ENU in 'puma560' but NED in 'sinking_chain'"):
        assemble([ModelStart(model=chain), ModelStart(model=puma)])
    with pytest.raises(ScenarioError, match="'sinking_chain'"):
        assemble([ModelStart(model=chain), ModelStart(model=chain)])
    other = replace(chain, world=World(gravity=9.8))
    with pytest.raises(ScenarioError, match=r"world.gravity is 9.8 in 'b'"):
        assemble([ModelStart(model=chain, name="a"), ModelStart(model=other, name="b")])
    mine, theirs = (
        ModelStart(model=chain, source="rov.yaml"),
        ModelStart(model=load("bluerov2_heavy_alpha5"), source="rov_2022"),
    )
    for first, second, density in ((mine, theirs, 1025.0), (theirs, mine, 1000.0)):
        with pytest.raises(ScenarioError) as refused:
            assemble([first, second])
        assert f"world: {{water_density: {density}}}" in str(refused.value)
    free = [Body(name=n, joint=joints.Free(), inertia=Inertia(mass=1, tensor=(1, 1, 1, 0, 0, 0))) for n in "ab"]
    with pytest.raises(ScenarioError, match=r"several free roots \('a', 'b'\)"):
        assemble([ModelStart(model=Model(bodies=free), position=(0, 0, 0))])
    with pytest.raises(ScenarioError, match="models is empty"):
        assemble([])


WORLD = """hydromechs_scenario: 2
name: shared
{world}
models:
  rov: {{plant: bluerov2_heavy_alpha5, position: [0, 0, 5]}}
  pipe: {{model: hand_pipe, position: [3, 0, 5]}}
run: {{duration: 1}}
"""


def test_a_scenario_sets_the_world_of_its_models():
    with pytest.raises(ScenarioError, match=r"world.water_density is 1025.0 in 'pipe' but 1000.0 in 'rov'"):
        loads_scenario(WORLD.format(world=""), library=load, plants=library.load_vehicle)
    text = WORLD.format(world="world: {water_density: 1013, gravity: 9.7}")
    scenario = loads_scenario(text, library=load, plants=library.load_vehicle)
    assert scenario.model.world == World(axes="NED", gravity=9.7, water_density=1013.0)
    again = loads_scenario(dumps_scenario(scenario), library=load, plants=library.load_vehicle)
    assert again.world == scenario.world and again.model.world == scenario.model.world
    # the water carries the assembled vehicle by its density
    force = restoring_force(scenario.model, scenario.start.q)[:3]
    bodies = [b for b in scenario.model.bodies if b.name.startswith("rov.")]
    up = sum(1013.0 * b.hydro.volume - b.inertia.mass for b in bodies) * 9.7
    assert force == pytest.approx([0.0, 0.0, up], abs=1e-9)


def test_a_scenario_does_not_turn_its_models():
    text = WORLD.format(world="world: {axes: ENU, water_density: 1000}")
    with pytest.raises(ScenarioError, match=r"world.axes is ENU, but model 'rov' uses NED axes") as refused:
        loads_scenario(text, library=load, plants=library.load_vehicle)
    assert refused.value.faults[0].line == 3
    with pytest.raises(ScenarioError, match="world.gravity"):
        loads_scenario(WORLD.format(world="world: {gravity: -1}"), library=load, plants=library.load_vehicle)


def test_two_of_a_kind_move_like_one():
    """The state of each part of an assembled model is the one it would have alone."""
    chain = load("sinking_chain")
    starts = [ModelStart(model=chain, name=n, position=(x, 0, 2), joints={"link_3": x}) for n, x in (("a", 0.0), ("b", 5.0))]
    model, state = assemble(starts)
    assert model.body_names == (*(f"a.{n}" for n in chain.body_names), *(f"b.{n}" for n in chain.body_names))
    assert set(model.frames) == {"a.tail", "b.tail"}
    for n, start in zip("ab", starts, strict=True):
        R1, p1 = pose(*assemble([start]), "link_5")
        R2, p2 = pose(model, state, f"{n}.link_5")
        assert (R1 == R2).all()
        assert (p1 == p2).all()


# -- controllers ----------------------------------------------------------------------------------------------------------

CONTROLLER = """
import hydromechs

class Hold(hydromechs.Controller):
    def __init__(self, *, gain, period):
        if gain < 0:
            raise ValueError(f"gain is {gain}, must not be negative")
        self.gain, self.period = gain, period
    def __call__(self, state):
        return {"link_3": self.gain}
def nothing(state):
    return None
number = 3
"""


def controlled(folder, **keys) -> Scenario:
    """A scenario with a controller from a file."""
    block = {"period": 0.1} | keys
    text = "hydromechs_scenario: 2\nname: x\nmodels: {m: {model: sinking_chain}}\nrun: {duration: 1}\n"
    text += f"joints: {{link_3: {{drive: torque}}}}\nblocks: {{controller: {flow_yaml(block)}}}\n"
    return read(text, folder)


def test_controllers_of_files(tmp_path):
    (tmp_path / "own.py").write_text(CONTROLLER)
    scenario = controlled(tmp_path, type="own.py:Hold", gain=2.0)
    sim = scenario.simulation()
    assert (sim.controller.gain, sim.controller.period, sim.period) == (2.0, 0.1, 0.1)
    assert scenario.simulation().controller is not sim.controller
    assert controlled(tmp_path, type="own.py:nothing").simulation().period == 0.1
    assert controlled(tmp_path, type="operator:neg").simulation().controller.function is __import__("operator").neg
    for one in (scenario, controlled(tmp_path, type="own.py:nothing")):
        assert read(dumps_scenario(one, tmp_path), tmp_path) == one


@pytest.mark.parametrize(
    ("type_", "parameters", "words"),
    [
        ("hold_pos", {}, r"blocks.controller.type is 'hold_pos' \(did you mean 'hold_pose'\?\)"),
        ("no.such.module:Thing", {}, "blocks.controller.type.*'no.such.module' cannot be imported: ModuleNotFoundError"),
        ("none.py:Hold", {}, "blocks.controller.type.*does not exist; write the path"),
        ("own.py:Hod", {}, r"has no class 'Hod' \(did you mean 'Hold'\?\)"),
        ("own.py:number", {}, "has no class 'number'"),
        ("own.py:Hold", {}, "blocks.controller: the key 'gain' is missing"),
        ("own.py:Hold", {"gain": 1, "gian": 2}, "unknown key 'gian'"),
        ("own.py:Hold", {"gain": -1}, "gain is -1, must not be negative"),
        ("own.py:nothing", {"gain": 1}, "unknown key 'gain'"),
        ("lqr_hold_pose", {"position": [0, 0, 1], "bandwith": 2}, r"unknown key 'bandwith' .*\(did you mean 'bandwidth'\?\)"),
        (
            "lqr_hold_pose",
            {"position": [0, 0, 1], "bandwidth": -2},
            r"blocks.controller.bandwidth is -2\.0, must be finite and > 0",
        ),
        ("lqr_follow_path", {"waypoints": [], "controled": []}, r"unknown key 'controled' .*\(did you mean 'controlled'\?\)"),
        ("broken.py:Hold", {}, "cannot be imported: ZeroDivisionError: division by zero"),
    ],
)
def test_controller_that_cannot_be_made(tmp_path, type_, parameters, words):
    (tmp_path / "own.py").write_text(CONTROLLER)
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(ScenarioError, match=words):
        controlled(tmp_path, type=type_, **parameters)


COMPONENT = """
from dataclasses import dataclass
from hydromechs import Action, Component

@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing(Component):
    kind = "nothing"
    cause = "nothing"
    name: str

    def act(self, now, z, u):
        return Action()

class AnyKeys(Component):
    kind = "nothing"
    cause = "nothing"

    def __init__(self, **keys):
        self.name, self.keys = keys.pop("name"), keys

    def act(self, now, z, u):
        return Action()
"""


@pytest.mark.parametrize(
    "part",
    [
        JointSpring(joints=("link_3",), stiffness=5.0, rest=0.2),
        JointRotor(joint="link_3", inertia=0.02),
        JointFriction(joint="link_3", viscous=0.1, armature=0.3),
        JointFriction(joint="link_3"),
        JointStops(joint="link_3"),
        JointMotion(joint="link_3", motion=motions.Sine(amplitude=0.1, period=2.0), correction=3.0),
        ExternalWrench(body="link_3"),
        lines.LiftedLine(name="line", body="link_3", weight=2.0),
    ],
    ids=lambda part: type(part).__name__,
)
def test_components_of_the_package_come_back(part):
    """Also those that have no section; they are no third-party code, so that nothing has to be allowed."""
    chain = ModelStart(model=library.load("sinking_chain"), source="sinking_chain")
    scenario = Scenario(name="x", models=[chain], components=[part], duration=1)
    again = loads_scenario(dumps_scenario(scenario), library=library.load)
    assert again.components == (part,) and not again.code


def test_components_of_the_package_can_be_named_by_their_class():
    text = "hydromechs_scenario: 2\nname: x\nrun: {duration: 1}\nmodels: {m: {model: sinking_chain}}\n"
    named = 'components: {spring: {type: "hydromechs.actuation:JointSpring", joints: [link_3], stiffness: 5}}\n'
    scenario = loads_scenario(text + named, library=library.load)
    assert scenario.components == (JointSpring(joints=("link_3",), stiffness=5.0, name="spring"),) and not scenario.code


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (
            "{type: torque, joint: link_3}",
            "line 5: components.own: the name of a Torque .*; rename the key to 'link_3'",
        ),
        ("{type: external_wrench, body: link_3}", "line 5: components.own: .*; rename the key to 'external.link_3'"),
        (
            "{type: joint_spring, joints: [link_3], name: x}",
            "line 5: components.own: unknown key 'name' with the value 'x'; remove it, .*'own'",
        ),
        ("{type: joint_stops, joint: link_3, stiffness: 1, upper: 1, name: x}", "unknown key 'name' .*; remove it, .*'own'"),
        ('{type: "own.py:AnyKeys", name: x}', "unknown key 'name' with the value 'x'; remove it, .*'own'"),
    ],
)
def test_a_name_is_not_ignored(keys, words, tmp_path):
    """Neither the key of a component whose name follows from its fields, nor a second name."""
    (tmp_path / "own.py").write_text(COMPONENT)
    text = "hydromechs_scenario: 2\nname: x\nrun: {duration: 1}\nmodels: {m: {model: sinking_chain}}\n"
    with pytest.raises(ScenarioError, match=words):
        read(f"{text}components: {{own: {keys}}}\n", tmp_path)


def test_a_custom_class_that_takes_any_keys_gets_its_name(tmp_path):
    (tmp_path / "own.py").write_text(COMPONENT)
    text = "hydromechs_scenario: 2\nname: x\nrun: {duration: 1}\nmodels: {m: {model: sinking_chain}}\n"
    (part,) = read(f'{text}components: {{own: {{type: "own.py:AnyKeys", gain: 2}}}}\n', tmp_path).components
    assert part.name == "own" and part.keys == {"gain": 2}


def test_components_of_files(tmp_path):
    """They are named in the file, and come back when it is written."""
    (tmp_path / "own.py").write_text(COMPONENT)
    text = "hydromechs_scenario: 2\nname: x\nrun: {duration: 1}\nmodels: {m: {model: sinking_chain}}\n"
    text += 'components:\n  nil: {type: "own.py:Nothing"}\n'
    scenario = read(text, tmp_path)
    assert "nil" in [c.name for c in scenario.plant.components]
    assert scenario.code == (f"{tmp_path}/own.py:Nothing",)
    assert read(dumps_scenario(scenario, tmp_path), tmp_path) == scenario
    with pytest.raises(ScenarioError, match="line 6: components.nil is .* without the key 'type'"):
        read(text.replace("type:", "kind:"), tmp_path)


# -- checks ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recording():
    import xarray

    t = np.arange(5.0)
    position = np.zeros((5, 2, 3))
    position[:, 1, 0] = [0.0, -3.0, 2.0, 1.0, 1.0]
    variables = {"position": (("time", "body", "xyz"), position), "energy": (("time",), t * t)}
    return xarray.Dataset(variables, {"time": t, "body": ["a", "a.b"], "xyz": ["x", "y", "z"]})


@pytest.mark.parametrize(
    ("fields", "value", "passed"),
    [
        (dict(statistic="last", below=1.5), 1.0, True),
        (dict(statistic="min", above=-2.5), -3.0, False),
        (dict(statistic="min", after=2.0, above=0.5), 1.0, True),
        (dict(statistic="max", above=1, below=3), 2.0, True),
        (dict(statistic="mean", below=0.3), 0.2, True),
        (dict(statistic="rms", below=1.8), math.sqrt(3.0), True),
        (dict(statistic="max_abs", below=3.0), 3.0, False),
        (dict(statistic="max_abs", target=-1.0, below=3.1), 3.0, True),
        (dict(quantity="energy", statistic="last", above=15), 16.0, True),
        (dict(quantity="time", above=3), 4.0, True),
        (dict(after=10.0, below=1.0), math.nan, False),
    ],
)
def test_check(recording, fields, value, passed):
    check = Check(**({"name": "c", "quantity": "position.a.b.x"} | fields))
    result = check.judge(recording)
    assert result.value == pytest.approx(value, nan_ok=True)
    assert result.passed is passed
    assert result.limit == check.limit


def test_check_in_words(recording):
    check = Check(name="c", quantity="position.a.b.x", statistic="max_abs", target=2, after=1, above=0.5, below=3)
    result = check.judge(recording)
    assert result.limit == "above 0.5 and below 3"
    assert result.text == "maximum |position.a.b.x - 2| after 1 s"
    with pytest.raises(ValueError, match="swap them"):
        Check(name="c", quantity="x", above=2, below=1)
    with pytest.raises(ValueError, match="statistic is 'median'"):
        Check(name="c", quantity="x", statistic="median", below=1)


def test_place_of_names_with_dots():
    variables = {"position": ("body", "xyz"), "depth": ("body",), "energy": ()}
    labels = {"body": ["a", "a.b", "a.x"], "xyz": ["x", "y", "z"]}
    assert find_quantity("position.a.b.y", variables, labels) == ("position", (1, 1))
    assert find_quantity("position.a.x", variables, labels) == ("position", (0, 0))
    assert find_quantity("position.a.x.x", variables, labels) == ("position", (2, 0))
    assert find_quantity("depth.a.x", variables, labels) == ("depth", (2,))
    assert find_quantity("energy", variables, labels) == ("energy", ())
    for wrong in ("speed", "position", "position.c.x", "position.a.b", "depth.a.y", "energy.x"):
        with pytest.raises(KeyError):
            find_quantity(wrong, variables, labels)
    with pytest.raises(KeyError, match=r"add one name of the dimension 'body' after 'depth\.'; available: a, a\.b"):
        find_quantity("depth", variables, labels)


def test_a_star_stands_for_all_names():
    variables = {"position": ("body", "xyz"), "depth": ("body",)}
    labels = {"body": ["a", "b"], "xyz": ["x", "y", "z"]}
    assert find_terms("depth.*", variables, labels) == ("depth", [(0,), (1,)])
    assert find_terms("position.*.y", variables, labels) == ("position", [(0, 1), (1, 1)])
    assert find_terms("position.b.z", variables, labels) == ("position", [(1, 2)])
    with pytest.raises(KeyError, match="is a sum, which only checks"):
        find_quantity("depth.*", variables, labels)
    for wrong in ("*", "position.*", "position.*.w", "depth.*.x"):
        with pytest.raises(KeyError):
            find_terms(wrong, variables, labels)


# -- the library's scenario -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", library.scenario_names())
def test_library_scenarios_load_and_come_back(name):
    scenario = library.load_scenario(name)
    assert scenario.name == name
    assert scenario.title
    assert scenario.checks
    assert loads_scenario(dumps_scenario(scenario), library=library.load) == scenario
    VALIDATOR.validate(parse(Path(library.scenario_path(name)).read_text()).data)


def test_sinking_chain_settles():
    scenario = library.load_scenario("sinking_chain")
    run = scenario.simulation().run(scenario.duration)
    assert [r for r in (check.judge(run.recording) for check in scenario.checks) if not r.passed] == []
    # at rest the floor carries what weighs in water: five links of 7 kg that displace 0.004451 m³
    weight = 5 * (7.0 - 1025.0 * 0.004451) * 9.81
    assert float(run.recording.contact_force.sum("contact")[-1]) == pytest.approx(weight, rel=1e-6)
    assert "the tail touches down" in run.messages[0]


# -- JSON Schema ----------------------------------------------------------------------------------------------------------


def test_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(scenario_json_schema())


def test_schema_takes_good_files():
    validator = VALIDATOR
    for text in (RICH, dumps_scenario(read())):
        assert list(validator.iter_errors(parse(text).data)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("hydromechs_scenario: 2", "hydromechs_scenario: 3"),
        ("title:", "titel:"),
        ("duration: 60", "duration: -1"),
        ("height: 1,", "height: 0,"),
        ("{type: power_law, depth: 30, exponent: 0.143}", "{type: log}"),
        ("{type: throttle, forward: 300, reverse: 250, dead_band: 0.05}", "{type: throttle}"),
        ("stops: none", "stops: never"),
        ("type: sphere", "type: ball"),
        ("relative: 1.0e-05", "rel: 1.0e-5"),
    ],
)
def test_schema_rejects_bad_files(old, new):
    """The reader rejects them too: they are among those of `test_error_names_line_value_and_remedy`."""
    assert old in RICH
    text = RICH.replace(old, new, 1)
    assert not VALIDATOR.is_valid(parse(text).data)


def fields_of_schema():
    whole = scenario_json_schema()
    return [(n, k, f) for n, table in {"file": whole, **whole["$defs"]}.items() for k, f in table["properties"].items()]


def test_every_key_is_described():
    for name, key, entry in fields_of_schema():
        assert entry.get("description") or "$ref" in entry, f"{name}.{key}"  # a reference has that of what it refers to


def test_every_number_has_its_unit():
    no_unit = {"hydromechs_scenario", "quaternion", "components", "seed"}
    for name, key, entry in fields_of_schema():
        numeric = re.search(r'"type": "(number|integer)"', json.dumps(entry))
        assert not numeric or key in no_unit or "[" in entry["description"], f"{name}.{key}"


def test_fragments_of_the_documentation_are_right():
    """One is a whole file; the others add keys to a small one, where they take the place of what was there."""
    blocks = re.findall(r"^```yaml fragment\n(.*?)^```$", DOC, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 8
    base = "hydromechs_scenario: 2\nname: x\nrun: {duration: 10}\nmodels: {m: {model: tiburon_titan2}}\n"
    needs = "materials: {seabed: {law: {type: linear, stiffness: 2.0e4}}}\nexternal: [vehicle]\n"
    needs += "thrusters: {thruster_1: {curve: {type: newtons, forward: 1, reverse: 1}}}\n"
    needs += "joints: {shoulder: {drive: torque}}\n"
    for block in blocks:
        whole = "hydromechs_scenario" in block
        data = parse(block).data if whole else parse(base).data | parse(needs).data | parse(block).data
        text = "".join(f"{flow_yaml(k)}: {flow_yaml(v)}\n" for k, v in data.items())
        if ".py:" in block:  # code of the reader's own
            with pytest.raises(CodeNotAllowed):
                loads_scenario(text, library=load)
        else:
            assert read(text).name
