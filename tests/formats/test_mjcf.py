"""MJCF: models read as MuJoCo reads them, what is omitted is listed, what is broken is named with its line."""

from __future__ import annotations

import importlib.util
import itertools
import math
import struct
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.mujoco_reading import mujoco_difference
from benchmarks.robot_study import ROBOTS

import hydromechs as hm
from hydromechs.actuation import JointRotor, JointSpring
from hydromechs.formats import ImportOptions, convert_file, dumps_robot, loads_robot
from hydromechs.spatial import tensor_matrix

WALKER = (ROBOTS / "walker.xml").read_text(encoding="utf-8")
LOOSE = (ROBOTS / "loose.xml").read_text(encoding="utf-8")
TILTED = (ROBOTS / "tilted.xml").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", [WALKER, LOOSE, TILTED], ids=["walker", "loose", "tilted"])
def test_accelerations_are_those_of_mujocos_own_reading(text, tmp_path):
    """Rounding of accelerations in trees of a few bodies: 1e-10 of the largest of each degree of freedom."""
    pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    (tmp_path / "robot.xml").write_text(text)
    assert mujoco_difference(hm.import_file(tmp_path / "robot.xml"), np.random.default_rng(3)) < 1e-10


def test_what_the_walker_has():
    """Names, defaults of nested classes, positions, frames, limits and friction."""
    imported = loads_robot(WALKER)
    model = imported.model
    assert (model.name, model.world.axes, model.world.gravity) == ("walker", "ENU", 9.7)
    assert model.body_names == ("torso", "thigh", "shin")
    assert dict(imported.joint_bodies) == {
        "x": "torso.1", "z": "torso.2", "turn": "torso.3", "hip": "thigh.1", "hip_roll": "thigh.2", "knee": "shin",
    }  # fmt: skip
    assert sum(body.inertia.mass for body in model.bodies) == pytest.approx(14.0, rel=1e-14)
    assert model.initial().q == pytest.approx([0.4, 0.0, math.radians(15.0), 0.0, 0.0, 0.0])
    knee = model.joint_part("shin").joint
    assert knee.limits == pytest.approx((math.radians(-70.0), math.radians(80.0)))
    assert knee.damping == 2.0
    assert model.locate("sole").p == pytest.approx([0.0, 0.0, -0.45])  # from the knee's anchor
    assert JointSpring(joints=("shin",), stiffness=5.0, rest=math.radians(20.0)) in imported.components
    assert sum(isinstance(c, JointRotor) for c in imported.components) == 6


def test_springs_are_mujocos():
    """τ = −k (q − springref), as MuJoCo's passive force."""
    mujoco = pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    imported = loads_robot(WALKER)
    there = mujoco.MjModel.from_xml_string(WALKER)
    there.dof_damping[:] = 0.0
    data = mujoco.MjData(there)
    data.qpos[:] = imported.model.initial().q
    mujoco.mj_forward(there, data)
    plant = hm.Plant(model=imported.model, components=imported.components)
    tau = np.zeros(imported.model.nv)
    for force in (force for action in plant.first_actions for force in action.joint_forces):
        tau[force.dofs] += force.tau
    assert tau == pytest.approx(data.qfrc_passive, abs=1e-14)


ACTUATORS = """
<mujoco>
  <worldbody>
    <body name="a"> <joint name="a"/> <geom size="0.1"/>
      <body name="b"> <joint name="b" type="slide"/> <geom size="0.1"/>
        <body name="c"> <joint name="c"/> <geom size="0.1"/>
          <body name="d"> <joint name="d" axis="1 0 0"/> <geom size="0.1"/> </body> </body> </body> </body>
  </worldbody>
  <tendon> <fixed name="t"> <joint joint="a" coef="1"/> </fixed> </tendon>
  <actuator>
    <motor joint="a" gear="50" ctrlrange="-2 2"/>
    <position joint="b" kp="30" kv="4" gear="2" forcerange="-10 10"/>
    <velocity joint="c" kv="7"/>
    <general joint="d" gainprm="20" biastype="affine" biasprm="0 -20 -3"/>
    <motor name="second" joint="a"/>
    <motor name="pull" tendon="t"/>
    <muscle name="flesh" joint="b"/>
  </actuator>
</mujoco>
"""


def test_actuators_become_drives():
    imported = loads_robot(ACTUATORS)
    drives = [c for c in imported.components if isinstance(c, hm.drives.Drive)]
    assert drives == [
        hm.drives.Torque(joint="a", limit=100.0),
        hm.drives.Servo(joint="b", stiffness=120.0, damping=16.0, limit=20.0),
        hm.drives.Servo(joint="c", stiffness=0.0, damping=7.0),
        hm.drives.Servo(joint="d", stiffness=20.0, damping=3.0),
    ]
    left = {note.element: str(note) for note in imported.notes if note.kind == "ignored"}
    assert "line 15: motor 'second'" in left["motor 'second'"]
    assert "the actuator acts on the tendon 't'" in left["motor 'pull'"]
    assert "muscle 'flesh'" in left
    assert "<tendon> in <mujoco>" in left


def test_damping_ratio_of_a_servo_is_the_damping_of_mujoco(tmp_path):
    """Arms of MuJoCo's collection have kp and dampratio; without damping they swing for ever."""
    mujoco = pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    text = """<mujoco><compiler angle="radian"/><default><joint axis="0 1 0" armature="0.1"/></default><worldbody>
      <body name="f" pos="0 0 1"><freejoint/><geom size="0.1"/><body name="g"><joint type="ball"/><geom size="0.07" pos="0 0.1 0"/>
      <body name="a"><joint name="p"/><geom type="capsule" size="0.05" fromto="0 0 0 0.4 0 0"/>
        <body name="b" pos="0.4 0 0"><joint name="q" armature="0.02"/><geom type="capsule" size="0.04" fromto="0 0 0 0 0 0.3"/>
          <body name="c" pos="0 0 0.3"><joint name="r" type="slide" armature="0"/><geom size="0.03"/></body></body></body></body></body>
      </worldbody><actuator><position joint="p" kp="50" dampratio="0.95" gear="3"/><position joint="q" kp="20" dampratio="1"/>
      <position joint="r" kp="200" dampratio="0.5"/></actuator></mujoco>"""
    reference = mujoco.MjModel.from_xml_string(text)
    imported = loads_robot(text)
    servos = [c for c in imported.components if isinstance(c, hm.drives.Servo)]
    want = [-(g**2) * prm[2] for g, prm in zip(reference.actuator_gear[:, 0], reference.actuator_biasprm, strict=True)]
    np.testing.assert_allclose([servo.damping for servo in servos], want, rtol=1e-9)
    assert not any("dampratio" in str(note) for note in imported.notes)


def test_forces_on_sites_become_thrusters():
    """The thrust along the gear, in the axes of the site, on the body that carries it: MuJoCo's generalised force."""
    mujoco = pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    text = """<mujoco> <worldbody> <body name="rov"> <freejoint/> <geom type="box" size="0.3 0.2 0.1"/>
      <site name="port" pos="-0.2 0.1 0.05" euler="10 20 40"/> <site name="up" pos="0.1 0 0.1"/> </body> </worldbody>
      <actuator> <motor name="p" site="port" gear="40 0 0 0 0 0" ctrlrange="-1 1"/>
      <general name="u" site="up" gear="1 -2 30 0 0 0" gainprm="2" ctrlrange="-0.5 1"/>
      <motor name="twist" site="up" gear="0 0 0 0 0 1" ctrlrange="-1 1"/> </actuator> </mujoco>"""
    imported = loads_robot(text)
    assert [c.name for c in imported.components] == ["p", "u"]
    assert any(
        "motor 'twist': the actuator exerts a torque, no force, or uses refsite, at site 'up'" in str(note)
        for note in imported.notes
    )
    there = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(there)
    data.ctrl[:] = [0.7, -0.4, 0.0]
    mujoco.mj_forward(there, data)
    total = np.zeros(6)
    for thruster, ctrl, gear in zip(imported.components, (0.7, -0.4), (40.0, 2.0 * math.sqrt(905.0)), strict=True):
        place = imported.model.locate(thruster.frame)
        force = thruster.curve.steady(gear * ctrl) * place.R[:, 0]
        total += [*force, *np.cross(place.p, force)]
    assert total == pytest.approx(data.qfrc_actuator, rel=1e-12, abs=1e-12)


def test_what_is_not_represented_is_listed_with_its_line():
    text = """<mujoco>
  <option timestep="0.01" wind="1 0 0"/>
  <visual> <map znear="0.1"/> </visual>
  <asset> <texture name="sky" type="skybox" builtin="flat" width="8" height="8"/> </asset>
  <worldbody>
    <light pos="0 0 3"/>
    <body name="a" gravcomp="1"> <joint margin="0.1"/> <geom size="0.1" friction="1 0 0"/> <camera name="eye"/> </body>
  </worldbody>
  <equality> <tendon tendon1="x"/> </equality>
</mujoco>"""
    said = "\n".join(map(str, loads_robot(text).notes))
    for words in (
        "line 2: <option>: timestep='0.01'",
        "line 2: <option>: wind='1 0 0'",
        "line 3: <visual> in <mujoco>: with 1 map",
        "line 4: <texture> in <asset>: 'sky'",
        "line 6: <light> in <worldbody>",
        "line 7: <body>: gravcomp='1'",
        "line 7: <joint>: margin='0.1'",
        "line 7: <geom>: friction='1 0 0'",
        "line 7: <camera> in <body>: 'eye'",
        "line 9: <tendon> in <equality>",
    ):
        assert words in said, said


def test_ellipsoids_in_a_fluid_get_added_mass_and_drag():
    """Along each axis the drag is MuJoCo's, ρ (C_blunt A + C_slender (A_max − A)) v²."""
    mujoco = pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    text = """<mujoco> <option density="1200" gravity="0 0 0"/> <worldbody> <body name="fish"> <freejoint/>
      <geom type="ellipsoid" size="0.3 0.1 0.2" fluidshape="ellipsoid" fluidcoef="0.6 0.2 0 0 0"/> </body> </worldbody> </mujoco>"""
    model = loads_robot(text).model
    assert model.world.water_density == 1200.0
    there = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(there)
    for k in range(3):
        v = np.zeros(6)
        v[k] = 0.7
        data.qvel[:] = v
        mujoco.mj_forward(there, data)
        assert -hm.equations.damping_force(model, model.neutral()[0], v)[:3] == pytest.approx(
            data.qfrc_passive[:3], rel=1e-12, abs=1e-12
        )


def _stl(path, size):
    """A box with a corner at the origin, as a binary STL."""
    a, b, c = size
    corners = np.array([[x, y, z] for x in (0, a) for y in (0, b) for z in (0, c)], dtype="<f4")
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [t for q in quads for t in ((q[0], q[1], q[2]), (q[0], q[2], q[3]))]
    raw = bytes(80) + struct.pack("<I", len(faces))
    for face in faces:
        raw += bytes(12) + corners[list(face)].tobytes() + bytes(2)
    path.write_bytes(raw)


@pytest.mark.parametrize("rule", ["legacy", "exact", "convex"])
def test_inertia_of_a_mesh(rule, tmp_path):
    """A box of 2 × 4 × 8 cm, scaled by (2, 1, 1/2) to a cube, of aluminium: closed form."""
    _stl(tmp_path / "box.stl", (0.03125, 0.0625, 0.125))
    text = f"""<mujoco> <asset> <mesh file="box.stl" scale="2 1 0.5" inertia="{rule}"/> </asset>
      <worldbody> <body> <freejoint/> <geom type="mesh" mesh="box" density="2700" pos="1 0 0"/> </body> </worldbody> </mujoco>"""
    (body,) = loads_robot(text, folder=tmp_path).model.bodies
    a = 0.0625
    assert body.inertia.mass == pytest.approx(2700.0 * a**3, rel=1e-12)
    assert body.inertia.com == pytest.approx((1.0 + a / 2, a / 2, a / 2), rel=1e-12)
    assert tensor_matrix(body.inertia.tensor) == pytest.approx(2700.0 * a**5 / 6.0 * np.eye(3), rel=1e-12, abs=1e-15)
    assert body.shapes[0].shape.file == str(tmp_path.resolve() / "box.stl")


def test_included_files_stay_in_the_folder(tmp_path):
    (tmp_path / "robot").mkdir()
    (tmp_path / "robot" / "arm.xml").write_text(
        "<mujoco><worldbody><body name='arm'><joint/><geom size='.1'/></body></worldbody></mujoco>"
    )
    main = "<mujoco><include file='{}'/></mujoco>"
    assert loads_robot(main.format("arm.xml"), folder=tmp_path / "robot").model.body_names == ("arm",)
    (tmp_path / "out.xml").write_text("<mujoco/>")
    with pytest.raises(hm.ModelError, match=r"line 1: <include>: .*outside of the folder"):
        loads_robot(main.format("../out.xml"), folder=tmp_path / "robot")
    (tmp_path / "robot" / "loop.xml").write_text(main.format("loop.xml"))
    with pytest.raises(hm.ModelError, match="is included twice, or includes itself"):
        loads_robot(main.format("loop.xml"), folder=tmp_path / "robot")


def _world(inside):
    return f"<mujoco>\n<worldbody>\n{inside}\n</worldbody>\n</mujoco>"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<mujoco>\n<compiler coordinate='global'/>\n</mujoco>", "line 2: <compiler>: coordinate is 'global'"),
        ("<mujoco>\n<compiler angle='grad'/>\n</mujoco>", "line 2: <compiler>: angle is 'grad', must be one of degree, radian"),
        ("<mujoco/>", "the file has no body"),
        ("<mujoco>\n<default class='r'/>\n</mujoco>", "line 2: <default>: the outermost class is 'r', must be 'main'"),
        (_world("<body><joint type='fixed'/></body>"), "line 3: <joint>: type is 'fixed', must be one of free, ball"),
        (_world("<body name='a'><joint/><geom size='-1'/></body>"), r"line 3: <geom>: size of the sphere is \(-1.0,\)"),
        (_world("<body name='a'><joint/></body>"), "line 3: body 'a': its revolute joint moves no inertia"),
        (_world("<body><joint axis='0 0 0'/><geom size='1'/></body>"), "line 3: <joint>: axis is"),
        (_world("<body pos='1 2'><joint/><geom size='1'/></body>"), "line 3: <body>: pos is '1 2', must be 3 finite numbers"),
        (_world("<body><joint/><geom class='x' size='1'/></body>"), "line 3: <geom>: there is no default class 'x'"),
        (_world("<body><joint/><geom type='mesh' mesh='m'/></body>"), "line 3: <geom>: the mesh 'm' does not exist in <asset>"),
        (
            _world("<body><joint range='2 1'/><geom size='1'/></body>"),
            "line 3: <joint>: range is .* increasing order; swap the limits",
        ),
        (_world("<body name='a'/>\n<body name='a'/>"), "line 4: two bodies are named 'a'"),
        (
            _world("<body><joint name='j'/><geom size='1'/></body>\n<body><joint name='j'/><geom size='1'/></body>"),
            "line 4: two joints are named 'j', the first in line 3",
        ),
        (_world("<body><body><freejoint/></body></body>"), "has a free joint, but its parent is 'body_1'; move the body into"),
        (_world("<body><inertial pos='0 0 0' mass='-1'/></body>"), "line 3: <inertial> of body 'body_1': mass -1 kg"),
        (
            "<mujoco>\n<asset><mesh file='no.stl'/></asset>\n</mujoco>",
            "line 2: mesh 'no.stl': the file 'no.stl' does not exist",
        ),
        ("<mujoco>\n<asset><mesh file='a.dae'/></asset>\n</mujoco>", "line 2: mesh 'a.dae': the file 'a.dae' does not exist"),
    ],
)
def test_errors_are_named_with_their_line(text, words):
    with pytest.raises(hm.ModelError, match=words):
        loads_robot(text)


def test_an_imported_robot_runs():
    """A pendulum with a spring and a rotor keeps its energy: its frequency is √((m g l + k)/(m l² + I + a))."""
    text = """<mujoco> <worldbody> <body name="p"> <joint axis="0 1 0" stiffness="3" armature="0.2"/>
      <geom size="0.1" pos="0 0 -0.5" mass="2"/> </body> </worldbody> </mujoco>"""
    imported = loads_robot(text)
    omega = math.sqrt((2 * 9.81 * 0.5 + 3.0) / (2 * (0.25 + 0.004) + 0.2))
    sim = hm.Simulation(imported.model, components=imported.components, step=2e-3)
    sim.reset(replace(sim.state, q=np.array([1e-4])))
    sim.run(0.5)
    assert sim.state.q[0] == pytest.approx(1e-4 * math.cos(0.5 * omega), abs=1e-11)
    assert sim.state.v[0] == pytest.approx(-1e-4 * omega * math.sin(0.5 * omega), abs=1e-11)


def test_a_model_is_written_and_read_again(tmp_path):
    """Joints in a row with turned placements, a ball joint, a free body: the same accelerations, in MuJoCo as well."""
    walker, loose = loads_robot(WALKER).model, loads_robot(LOOSE).model
    R, P, Origin = hm.joints.Revolute, hm.joints.Prismatic, hm.Origin
    turned = hm.joints.Composite(
        parts=(
            R(placement=Origin((0.1, 0, 0.2), (0.3, 0.2, 0.1)), axis=(0, 1, 1), limits=(-1, 1)),
            P(placement=Origin((0.05, 0.1, 0), (0, 0.5, 0)), axis=(1, 0, 0.2)),
            R(placement=Origin((0, 0.2, 0.1), (1.0, 0, 0.4)), axis=(1, 0, 0), position=0.3),
        )
    )
    inertia = hm.Inertia(mass=2.0, com=(0.1, 0.2, 0.05), tensor=(0.1, 0.2, 0.25, 0.01, 0.02, 0.0))
    arm = hm.Model(name="arm", bodies=[hm.Body(name="arm", joint=turned, inertia=inertia)], world=hm.World(axes="ENU"))
    rng = np.random.default_rng(5)
    for model in (walker, loose, arm):
        path = tmp_path / f"{model.name}.xml"
        hm.save(model, path)
        again = hm.import_file(path)
        q, v = model.initial().q, rng.uniform(-1.0, 1.0, model.nv)
        tau = rng.uniform(-1.0, 1.0, model.nv)
        expected = hm.forward_dynamics(model, q, v, tau)
        assert hm.forward_dynamics(again.model, q, v, tau) == pytest.approx(expected, rel=1e-10, abs=1e-10)
        assert again.model.body_names == model.body_names
        assert set(again.model.frames) == set(model.frames)
        if importlib.util.find_spec("mujoco"):
            assert mujoco_difference(again, rng) < 1e-10


REPLICATED = """
<mujoco>
  <compiler angle="degree"/>
  <worldbody>
    <body name="hub" pos="0 0 1"> <joint name="turn" axis="0 1 0.3"/> <geom size="0.1"/>
      <replicate count="3" euler="0 10 120" offset="0.1 0 0.05" sep="_">
        <geom type="box" size="0.02 0.03 0.01" pos="0.3 0 0"/>
        <body name="arm" pos="0.2 0 0"> <joint name="hinge" axis="0 1 0"/> <geom type="capsule" size="0.02" fromto="0 0 0 0.2 0 0"/>
          <replicate count="11" offset="0.02 0 0"> <site name="mark" pos="0.1 0 0"/> </replicate> </body>
      </replicate> </body>
  </worldbody>
  <actuator> <motor name="m" joint="hinge" gear="5"/> <motor joint="turn"/> </actuator>
</mujoco>"""


def test_replicate_makes_the_copies_that_mujoco_makes(tmp_path):
    """Names, places, mass and motors; accelerations as in MuJoCo's own reading."""
    mujoco = pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    (tmp_path / "r.xml").write_text(REPLICATED)
    imported = hm.import_file(tmp_path / "r.xml")
    model, there = imported.model, mujoco.MjModel.from_xml_string(REPLICATED)
    assert model.body_names == tuple(there.body(i).name for i in range(1, there.nbody))
    sites = {there.site(i).name for i in range(there.nsite)}
    assert sites == set(model.frames)
    assert sorted(imported.joint_bodies) == sorted(there.joint(i).name for i in range(there.njnt))
    assert sum(isinstance(c, hm.drives.Drive) for c in imported.components) == there.nu == 4
    data = mujoco.MjData(there)
    mujoco.mj_forward(there, data)
    for name in sites:
        np.testing.assert_allclose(hm.frame_pose(model, model.initial().q, name)[:3, 3], data.site(name).xpos, atol=1e-14)
    assert mujoco_difference(imported, np.random.default_rng(3)) < 1e-10
    assert not [n for n in imported.notes if "replica" in str(n)]


@pytest.mark.parametrize("count", ["1e9", "-1", "1.5", "x"])
def test_replicate_has_limits(count):
    text = f"<mujoco>\n<worldbody><body><joint/><geom size='1'/>\n<replicate count='{count}'><site/></replicate></body></worldbody></mujoco>"
    with pytest.raises(hm.ModelError, match="line 3: <replicate>"):
        loads_robot(text)


def test_missing_meshes_become_boxes_on_request_and_wrong_units_are_noted():
    text = """<mujoco> <asset> <mesh name="k" file="no.stl"/> </asset> <worldbody>
      <body> <joint/> <geom type="mesh" mesh="k" density="3e6"/> </body> </worldbody> </mujoco>"""
    with pytest.raises(hm.ModelError, match="placeholders=True"):
        loads_robot(text)
    imported = loads_robot(text, options=ImportOptions(placeholders=True))
    (body,) = imported.model.bodies
    assert body.shapes[0].shape.size == (0.1, 0.1, 0.1)
    assert body.inertia.mass == pytest.approx(3000.0)
    said = "\n".join(map(str, imported.notes))
    assert "a box with edges of 0.1 m replaces the mesh" in said
    assert "denser than any metal" in said


def test_what_mujoco_rejects_is_listed_and_the_rest_opens(tmp_path):
    """Meshes that it cannot read, point masses, rods and plates, on bodies that move and on others."""
    mujoco = pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    moments = {"point": (0.0, 0.0, 0.0), "rod": (0.3, 0.3, 0.0), "plate": (0.1, 0.2, 0.1 + 0.2), "solid": (0.1, 0.2, 0.25)}
    turn = hm.Origin(rpy=(0.3, -0.7, 1.1)).R
    bodies, looks = (
        [],
        (
            hm.BodyShape(shape=hm.geometry.Mesh(file="look.dae", folder=str(tmp_path)), roles=("appearance",)),
            hm.BodyShape(shape=hm.geometry.Box(size=(1.0, 1.0, 1.0)), roles=("appearance",)),
        ),
    )
    for name, row in moments.items():
        t = turn @ np.diag(row) @ turn.T
        tensor = (t[0, 0], t[1, 1], t[2, 2], t[0, 1], t[0, 2], t[1, 2])
        inertia = hm.Inertia(mass=1.0, com=(0.1, 0.0, 0.0), tensor=tensor)
        bodies.append(hm.Body(name=name, joint=hm.joints.Revolute(axis=(0.0, 1.0, 0.0)), inertia=inertia, shapes=looks))
        bodies.append(hm.Body(name=f"{name}_fixed", parent=name, joint=hm.joints.Fixed(), inertia=inertia))
    (tmp_path / "look.dae").write_text("<COLLADA/>")
    model = hm.Model(name="m", bodies=bodies)
    lost = "\n".join(hm.save(model, tmp_path / "m.xml"))
    there = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    assert there.ngeom == len(moments)
    for name, row in moments.items():
        np.testing.assert_allclose(np.sort(there.body(name).inertia), sorted(row), atol=1e-13, rtol=1e-12)
        assert f"body '{name}': shape 'mesh', the mesh '{tmp_path / 'look.dae'}'" in lost
        refused = name == "point"  # what is raised by rounding alone is not worth a word
        assert (f"body '{name}': principal moments" in lost) == refused
    data, (q, v) = mujoco.MjData(there), model.neutral()
    data.qvel[:] = v
    mujoco.mj_forward(there, data)
    np.testing.assert_allclose(data.qacc, hm.forward_dynamics(model, q, v, np.zeros(model.nv)), rtol=1e-9)


def test_meshes_of_a_converted_file_are_found_from_its_folder(tmp_path, monkeypatch):
    mujoco = pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
    (tmp_path / "m.obj").write_text(mesh)
    geometry = '<geometry><mesh filename="m.obj"/></geometry>'
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    link = f"<link name='a'>{inertial}<visual>{geometry}</visual><collision>{geometry}</collision></link>"
    (tmp_path / "r.urdf").write_text(f"<robot name='r'>{link}</robot>")
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    convert_file("r.urdf", "out/r.xml")
    convert_file("r.urdf", "r.yaml")
    hm.save(replace(hm.load("r.yaml"), name="again"), "out/again.xml")
    assert mujoco.MjModel.from_xml_path("out/r.xml").ngeom == 2
    assert str(tmp_path) not in (tmp_path / "out/r.xml").read_text()
    looks = [t for t in (tmp_path / "out/again.xml").read_text().splitlines() if "<mesh" in t and str(tmp_path) in t]
    assert len(looks) == 1


TURNS = {"quat": "1 2 0 0", "axisangle": "0 1 0 40", "euler": "0 90 20", "xyaxes": "0 1 0 0 0 1", "zaxis": "1 0.3 0"}


def test_the_orientation_of_the_inner_default_class_replaces_other_notations():
    """All ordered pairs of notations in an outer and an inner class, compared with MuJoCo."""
    mujoco = pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    pairs = list(itertools.permutations(TURNS, 2))
    classes = ""
    for a, turn in TURNS.items():
        inner = (f"<default class='{a}{b}'><site {b}='{TURNS[b]}'/></default>" for b in TURNS if b != a)
        classes += f"<default class='{a}'><site {a}='{turn}'/>{''.join(inner)}</default>"
    sites = "".join(f"<site name='{a}_{b}' class='{a}{b}'/>" for a, b in pairs)
    sites += "".join(f"<site name='own_{a}_{b}' class='{a}' {b}='{TURNS[b]}'/>" for a, b in pairs)
    body = _world(f"<body><joint/><geom size='.1'/>{sites}</body>")
    text = body.replace("<worldbody>", f"<default>{classes}</default><worldbody>")
    theirs = mujoco.MjModel.from_xml_string(text)
    imported = loads_robot(text)
    assert not [note for note in imported.notes if note.kind == "ignored"]
    for frame in imported.model.bodies[0].frames:
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, theirs.site(frame.name).quat)
        np.testing.assert_allclose(frame.origin.R, R.reshape(3, 3), atol=1e-12, err_msg=frame.name)


def test_long_chains_are_written_to_the_depth_that_mujoco_reads():
    mujoco = pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    solid = hm.Inertia(mass=1.0, tensor=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    links = [
        hm.Body(name=f"b{i}", parent=f"b{i - 1}" if i else None, joint=hm.joints.Revolute(), inertia=solid) for i in range(497)
    ]
    written = dumps_robot(hm.Model(bodies=links[:496]), ".xml")
    assert mujoco.MjModel.from_xml_string(written).nv == 496
    assert "499 levels, of which HydroMechs reads at most 100" in written
    with pytest.raises(hm.UnsupportedFeature, match="500 levels.*at most 499"):
        dumps_robot(hm.Model(bodies=links), ".xml")
