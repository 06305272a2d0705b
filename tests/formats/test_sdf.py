"""SDF: frames, joints, fluid added mass, Gazebo's plugins; against DART's own reading where it has one."""

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.robot_study import ROBOTS

import hydromechs as hm
from hydromechs.actuation import Thruster
from hydromechs.formats import dumps_robot, import_file, loads_robot

INERTIA = "<inertia><ixx>0.4</ixx><ixy>0.02</ixy><ixz>-0.01</ixz><iyy>0.5</iyy><iyz>0.03</iyz><izz>0.6</izz></inertia>"
ADDED = """<fluid_added_mass><xx>5</xx><xy>0.3</xy><xz>0.1</xz><xp>0.05</xp><xq>0.2</xq><xr>-0.1</xr>
  <yy>8</yy><yz>0.2</yz><yp>-0.3</yp><yq>0.04</yq><yr>0.25</yr><zz>11</zz><zp>0.03</zp><zq>-0.15</zq><zr>0.02</zr>
  <pp>0.2</pp><pq>0.01</pq><pr>0.02</pr><qq>0.3</qq><qr>-0.03</qr><rr>0.4</rr></fluid_added_mass>"""

ROV = (ROBOTS / "rov.sdf").read_text(encoding="utf-8")


def test_accelerations_with_added_mass_are_those_of_dart(tmp_path):
    """DART reads the links and joints itself; a pose with relative_to it does not know, so the poses are written out for it."""
    pytest.importorskip("dartpy", reason="needs pip install 'hydromechs[dart]'")
    from benchmarks.import_study import IMPORT_TOLERANCE, measure_imports

    text = ROV.replace(' relative_to="elbow_frame">0 0 0.3 0 0.4 0', ">0.45 0.2 0.1 0.3 0.4 0.6").replace(
        ' relative_to="arm">0 0.5 0 0.2 0 0', ">0.5 0.6 0.2 0.2 0.1 0"
    )
    text = text.replace(' expressed_in="__model__"', "").replace('version="1.9"', 'version="1.6"')
    (tmp_path / "rov.sdf").write_text(text)
    (row,) = measure_imports([tmp_path / "rov.sdf"])
    assert row.dof == 8
    assert row.relative is not None, row
    assert row.relative <= IMPORT_TOLERANCE


def test_added_mass_is_about_the_links_origin_in_its_axes():
    model = loads_robot(ROV, "rov.sdf").model
    A = np.array(model.bodies[0].hydro.added_mass[0].matrix)
    assert A[0, 0] == 5.0
    assert A[1, 3] == A[3, 1] == -0.3
    assert A[5, 5] == 0.4


def pose(text):
    x = [float(word) for word in text.split()]
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = hm.Origin(rpy=tuple(x[3:])).R, x[:3]
    return T


def test_links_are_where_their_frames_say():
    model = loads_robot(ROV, "rov.sdf").model
    q = model.initial().q
    hull = pose("1 2 3 0.1 0.2 0.3") @ pose("0.1 0 0 0 0 0.5")
    arm = hull @ pose("0.4 0 -0.1 0.2 0 0") @ pose("0 0 0.3 0 0.4 0")
    slider = arm @ pose("0 0.5 0 0.2 0 0")
    np.testing.assert_allclose(hm.frame_pose(model, q, "hull"), hull, atol=1e-14)
    np.testing.assert_allclose(hm.frame_pose(model, q, "arm_origin"), arm, atol=1e-14)
    np.testing.assert_allclose(hm.frame_pose(model, q, "slider"), slider, atol=1e-14)
    # the point of the joint stays where it is when the arm turns
    joint = (arm @ pose("0.1 0.2 -0.3 0 0 0.7"))[:3, 3]
    inside = np.linalg.solve(hm.frame_pose(model, q, "arm"), [*joint, 1.0])
    q[model.q_slices[1]] += 0.7
    np.testing.assert_allclose((hm.frame_pose(model, q, "arm") @ inside)[:3], joint, atol=1e-14)
    axis = (arm @ pose("0.1 0.2 -0.3 0 0 0.7"))[:3, :3] @ np.array([1, 2, -1]) / math.sqrt(6)
    turned = hm.frame_pose(model, q, "arm")[:3, :3] @ arm[:3, :3].T
    np.testing.assert_allclose(turned @ axis, axis, atol=1e-14)
    assert np.trace(turned) == pytest.approx(1 + 2 * math.cos(0.7))
    sense = np.array([turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0], turned[1, 0] - turned[0, 1]])
    assert sense @ axis > 0
    q[model.q_slices[2]] += 0.1  # along y and z of the model, at the configuration of the file
    before = hm.frame_pose(model, model.initial().q, "slider")[:3, 3]
    q[model.q_slices[1]] -= 0.7
    moved = hm.frame_pose(model, q, "slider")[:3, 3] - before
    np.testing.assert_allclose(moved, 0.1 * pose("1 2 3 0.1 0.2 0.3")[:3, :3] @ np.array([0, 1, 1]) / math.sqrt(2), atol=1e-14)


WORLD = (ROBOTS / "sea.sdf").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def auv():
    return loads_robot(WORLD, "sea.sdf")


def test_buoyancy_plugin_gives_volume_and_centre(auv):
    hydro = auv.model.bodies[0].hydro
    ball = 4 / 3 * math.pi * 0.1**3
    assert auv.model.world.water_density == 1020
    assert hydro.volume == pytest.approx(0.04 + ball)
    np.testing.assert_allclose(hydro.buoyancy_center, [0.3 * ball / hydro.volume, 0, 0.1 * 0.04 / hydro.volume], atol=1e-15)


def test_hydrodynamics_plugin_resists_motion_and_adds_mass(auv):
    """Fossen's X_u u + X_u|u| |u| u, with the plugin's coefficients below 0, as a force on the link."""
    model = auv.model
    q, _ = model.neutral()
    u = np.array([1.5, -0.8, 0.4, 0.0, 0.0, 0.7])
    D = hm.equations.damping_force(model, q, u)
    want = [
        -2 * 1.5 - 6 * 1.5 * 1.5,
        -3 * -0.8 - 60 * 0.8 * -0.8 - 7 * 0.7 * 0.8,
        -60 * 0.4 * 0.4,
        0,
        0,
        -1 * 0.7 - 20 * 0.7 * 0.7,
    ]
    np.testing.assert_allclose(-D, want, atol=1e-12)  # D stands on the left-hand side
    M, dry = hm.mass_matrix(model, q), 30.1
    assert M[0, 0] == pytest.approx(dry + 4)
    assert M[1, 1] == pytest.approx(dry + 40)


def test_thruster_pushes_along_the_axis_of_its_joint(auv):
    (thruster,) = [c for c in auv.components if isinstance(c, Thruster)]
    assert thruster.curve.limits == (-40, 60)
    T = hm.frame_pose(auv.model, auv.model.neutral()[0], thruster.frame)
    np.testing.assert_allclose(T[:3, 0], [1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(T[:3, 3], [-0.6, 0, 0.05], atol=1e-15)
    assert auv.model.nv == 6  # the propeller is held


def test_thrust_acts_at_the_propeller_though_its_link_has_its_origin_elsewhere():
    """Both propellers of a boat have their links' origins at the boat's, so that Gazebo cannot turn it with them."""
    propellers = "".join(
        f"""<link name='{side}'><inertial><pose>-0.3 {y} -0.1 0 0 0</pose><mass>0.1</mass>{INERTIA}</inertial></link>
        <joint name='{side}_shaft' type='revolute'><pose>-0.3 {y} -0.1 1.5707963 0 0</pose><parent>a</parent><child>{side}</child>
        <axis><xyz>1 0 0</xyz></axis></joint>
        <plugin filename='gz-sim-thruster-system' name='gz::sim::systems::Thruster'><joint_name>{side}_shaft</joint_name></plugin>"""
        for side, y in (("left", 0.4), ("right", -0.4))
    )
    boat = loads_robot(sdf(LINK + propellers), "boat.sdf")
    thrusters = [c for c in boat.components if isinstance(c, Thruster)]
    for thruster, y in zip(thrusters, (0.4, -0.4), strict=True):
        T = hm.frame_pose(boat.model, boat.model.neutral()[0], thruster.frame)
        np.testing.assert_allclose(T[:3, [0, 3]].T, [[1, 0, 0], [-0.3, y, -0.1]], atol=1e-12)
    notes = [str(note) for note in boat.notes]
    assert sum("0.412 m from the origin" in note and "assumed" in note for note in notes) == 2
    assert sum("no thrust limits" in note and "1000 N" in note for note in notes) == 2


def test_plugins_of_others_that_are_named_like_those_of_gazebo_do_not_stop_the_import():
    """Plugins of the same words with other elements, as in the vehicles of several universities."""
    plugins = """<plugin filename='thruster' name='rov_gz_plugins::thruster'><joint>spin</joint><maximum_rpm>1000</maximum_rpm></plugin>
      <plugin filename='hydrodynamics' name='rov_gz_plugins::hydrodynamics'><hydrodynamics><link>a</link></hydrodynamics></plugin>
      <plugin filename='buoyancy' name='rov_gz_plugins::buoyancy'><buoyancy><compensation>1.01</compensation></buoyancy></plugin>"""
    solid = "<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision></link>"
    imported = loads_robot(sdf(LINK.replace("</link>", solid) + plugins), "m.sdf")
    assert imported.model.bodies[0].hydro is None  # in Gazebo's plugin, the box would float
    assert imported.components == ()
    ignored = [
        note for note in imported.notes if note.element.startswith("plugin 'rov_gz_plugins::") and note.kind == "ignored"
    ]
    assert len(ignored) == 3
    assert any("'thruster', 'hydrodynamics', 'buoyancy'" in text for text in imported.headlines)


def test_what_is_not_read_is_noted(auv):
    notes = [str(note) for note in auv.notes]
    assert any("Physics" in n and "ignored" in n for n in notes)
    assert any("joint 'spin'" in n and "held fixed" in n for n in notes)


def test_plant_of_a_file_runs(tmp_path):
    (tmp_path / "sea.sdf").write_text(WORLD)
    plant = hm.load_plant(tmp_path / "sea.sdf")
    sim = hm.Simulation(plant)
    sim.command = {"spin": 30.0}
    sim.step(duration=0.1)
    assert sim.state.v[0] == pytest.approx(30.0 / 34.1 * 0.1, rel=0.05)  # thrust over mass with added mass


NESTED = (ROBOTS / "nested.sdf").read_text(encoding="utf-8")


def test_nested_models_and_placement_frames():
    model = loads_robot(NESTED, "w.sdf").model
    assert model.body_names == ("a::l", "a::inner::l", "b::l")
    q = model.initial().q
    np.testing.assert_allclose(hm.frame_pose(model, q, "a::inner::mount")[:3, 3], [0, 0, 0], atol=1e-14)
    np.testing.assert_allclose(hm.frame_pose(model, q, "a::inner::l")[:3, 3], [0, 0, -0.5], atol=1e-14)
    np.testing.assert_allclose(hm.frame_pose(model, q, "b::l")[:3, 3], [1, 0, 5], atol=1e-14)
    assert [b.joint.kind for b in model.bodies] == ["free", "fixed", "fixed"]


def sdf(inside, version="1.9"):
    return f'<sdf version="{version}"><model name="m">\n{inside}</model></sdf>'


LINK = f"<link name='a'><inertial><mass>1</mass>{INERTIA}</inertial></link>\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (sdf(""), 1, "no <link>"),
        (sdf(LINK + LINK), 3, "link 'a' has the same name as the element on line 2"),
        (sdf(LINK.replace("<inertial>", "<pose relative_to='x'/><inertial>")), 2, "no frame 'x' in .*; available: a"),
        (sdf(LINK + "<joint name='j' type='hinge'><parent>a</parent><child>a</child></joint>"), 3, "type is 'hinge'"),
        (sdf(LINK + "<joint name='j' type='fixed'><parent>a</parent><child>b</child></joint>"), 3, "no link 'b'"),
        (sdf("<link name='a'><pose>1 2</pose></link>"), 2, "pose .* '1 2', must be 6 finite numbers"),
        (
            sdf(
                LINK.replace("<inertial>", "<pose relative_to='f'/><inertial>")
                + "<frame name='f'><pose relative_to='g'/></frame>\n<frame name='g'><pose relative_to='f'/></frame>"
            ),
            1,
            "depends on itself: its relative_to references form a cycle",
        ),
        (
            sdf(LINK + "<plugin filename='gz-sim-thruster-system' name='T'><joint_name>no</joint_name></plugin>"),
            3,
            "the joint 'no' does not exist",
        ),
    ],
)
def test_errors_have_line_and_remedy(text, line, words):
    with pytest.raises(hm.ModelError, match=words) as error:
        loads_robot(text, "m.sdf")
    assert line in {fault.line for fault in error.value.faults}


def test_included_models_come_from_allowed_folders_only(tmp_path):
    (tmp_path / "world").mkdir()
    (tmp_path / "world/buoy").mkdir()
    (tmp_path / "secret").mkdir()
    for folder in ("world/buoy", "secret"):
        (tmp_path / folder / "model.sdf").write_text(sdf(LINK))
    include = "<include><uri>{}</uri><name>{}</name><pose>0 0 1 0 0 0</pose></include>"
    text = "".join(include.format(*pair) for pair in (("model://buoy", "one"), ("../secret", "two"), ("model://none", "three")))
    (tmp_path / "world/w.sdf").write_text(f"<sdf version='1.9'><world name='w'>{text}</world></sdf>")
    imported = import_file(tmp_path / "world/w.sdf")
    assert imported.model.body_names == ("a",)
    assert imported.model.bodies[0].joint.position == (0.0, 0.0, 1.0)
    assert sum("a model in another file" in str(note) for note in imported.notes) == 2
    assert "outside of the folder" in " ".join(map(str, imported.notes))


def test_relative_meshes_of_an_included_model_are_in_the_folder_of_that_model(tmp_path):
    """As in SDFormat; the including file may be elsewhere, such as a world that includes a marked model."""
    (tmp_path / "worlds").mkdir()
    (tmp_path / "models/rov/meshes").mkdir(parents=True)
    (tmp_path / "models/rov/model.config").write_text("<model/>")
    (tmp_path / "models/rov/meshes/hull.stl").write_text("solid hull\nendsolid\n")
    mesh = "<geometry><mesh><uri>meshes/hull.stl</uri></mesh></geometry>"
    link = LINK.replace("</link>", f"<collision name='c'>{mesh}</collision><visual name='v'>{mesh}</visual></link>", 1)
    (tmp_path / "models/rov/model.sdf").write_text(sdf(link))
    world = "<sdf version='1.9'><world name='w'><include><uri>model://rov</uri></include></world></sdf>"
    (tmp_path / "worlds/w.sdf").write_text(world)
    imported = import_file(tmp_path / "worlds/w.sdf")
    hull = str(tmp_path / "models/rov/meshes/hull.stl")
    assert [shape.shape.file for shape in imported.model.bodies[0].shapes] == [hull, hull]
    (tmp_path / "models/rov/model.sdf").write_text(sdf(link.replace("meshes/hull.stl", "../../secret.stl")))
    (tmp_path / "secret.stl").write_text("solid hull\nendsolid\n")
    with pytest.raises(hm.ModelError, match="secret.stl"):
        import_file(tmp_path / "worlds/w.sdf")


MERGED = """
<link name='base'><pose>0.1 0.2 0.3 0 0 0.4</pose><inertial><mass>3</mass>
  <inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.25</izz></inertia></inertial></link>
<link name='tip'><pose relative_to='{frame}'>0.5 0 0.2 0.3 0 0</pose><inertial><mass>1</mass>
  <inertia><ixx>0.01</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia></inertial></link>
<frame name='mark'><pose relative_to=''/></frame>
<joint name='elbow' type='revolute'><pose relative_to='mark'>0.2 0 0 0 0 0</pose><parent>base</parent><child>tip</child>
  <axis><xyz expressed_in='{frame}'>0 1 0</xyz></axis></joint>
"""


def test_an_include_that_merges_has_its_links_in_the_including_model(tmp_path):
    """It moves like the same links behind a nested model at the pose of the include, and joints reach them by their own names."""
    (tmp_path / "arm").mkdir()
    text = sdf(MERGED.format(frame="__model__")).replace("name='m'", "name='arm'")
    (tmp_path / "arm/model.sdf").write_text(text)
    joint = "<joint name='j' type='fixed'><parent>{}</parent><child>a</child></joint>"
    include = "<include merge='{}'><uri>arm</uri><name>arm</name><pose>1 2 3 0.1 -0.2 0.3</pose></include>"
    (tmp_path / "merged.sdf").write_text(sdf(include.format("true") + LINK + joint.format("base")))
    (tmp_path / "nested.sdf").write_text(sdf(include.format("false") + LINK + joint.format("arm::base")))
    merged, nested = (import_file(tmp_path / f"{name}.sdf").model for name in ("merged", "nested"))
    assert sorted(merged.body_names) == ["a", "base", "tip"] and merged.nv == nested.nv == 7
    rng = np.random.default_rng(1)
    q, v, tau = merged.initial().q, rng.standard_normal(7), rng.standard_normal(7)
    q[7:] += 0.3
    np.testing.assert_allclose(q[:7], nested.initial().q[:7], rtol=0, atol=1e-15)
    a = hm.forward_dynamics(nested, q, v, tau)
    np.testing.assert_allclose(hm.forward_dynamics(merged, q, v, tau), a, rtol=0, atol=1e-12 * np.abs(a).max())


@pytest.mark.parametrize("text", [ROV, WORLD], ids=["rov", "auv"])
def test_written_and_read_again_it_moves_alike(text):
    model = loads_robot(text, "in.sdf").model
    again = loads_robot(dumps_robot(model, ".sdf"), "again.sdf").model
    assert again.body_names == model.body_names
    dry = replace(model, bodies=tuple(_without_volume(b) for b in model.bodies), world=again.world)
    rng = np.random.default_rng(3)
    q, _ = model.neutral()
    q[:] = model.initial().q
    v, tau = rng.standard_normal(model.nv), rng.standard_normal(model.nv)
    a = hm.forward_dynamics(dry, q, v, tau)
    np.testing.assert_allclose(hm.forward_dynamics(again, q, v, tau), a, rtol=0, atol=1e-12 * np.abs(a).max())


def _without_volume(body):
    return body if body.hydro is None else replace(body, hydro=replace(body.hydro, volume=0.0))


@pytest.mark.parametrize("name", ["sinking_chain", "tiburon_titan2"])
def test_library_models_become_sdfs_with_their_added_mass(tmp_path, name):
    model = hm.load(name)
    hm.save(model, tmp_path / "out.sdf")
    again = import_file(tmp_path / "out.sdf").model
    q, qa = model.initial().q, again.initial().q
    q[7:] = qa[7:] = model.neutral()[0][7:]  # where its joints start is not carried
    M, Ma = hm.mass_matrix(model, q), hm.mass_matrix(again, qa)
    np.testing.assert_allclose(Ma, M, rtol=0, atol=1e-11 * np.abs(M).max())
    R = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]]) if model.world.axes == "NED" else np.eye(3)
    last = model.bodies[-1].name
    np.testing.assert_allclose(hm.frame_pose(again, qa, last)[:3, 3], R @ hm.frame_pose(model, q, last)[:3, 3], atol=1e-12)


def test_names_that_an_sdf_keeps_for_itself_are_written_as_others():
    """`a::l` would be a link of another model; links, joints and frames share their names."""
    inertia = hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0))
    turn = hm.joints.Revolute(axis=(0, 1, 0))
    bodies = [
        hm.Body(name="a::l", inertia=inertia, frames=[hm.Frame("__tip__")]),
        hm.Body(name="arm", parent="a::l", joint=turn, inertia=inertia),
        hm.Body(name="arm_joint", parent="arm", joint=turn, inertia=inertia),
    ]
    text = dumps_robot(hm.Model(name="m", bodies=bodies), ".sdf")
    assert "the name 'a::l'" in text.partition("-->")[0]
    again = loads_robot(text, "m.sdf").model
    assert again.body_names == ("a.l", "arm", "arm_joint")
    assert "__tip___" in again.frames


REVERSED = f"""<sdf version="1.9"><model name="m">
  <link name="a">{LINK.partition(">")[2].rpartition("</link>")[0]}</link>
  <link name="b"><pose>0 0 1 0 0 0</pose>{LINK.partition(">")[2].rpartition("</link>")[0]}</link>
  <joint name="hold" type="fixed"><parent>world</parent><child>b</child></joint>
  <joint name="turn" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz>
    <limit><lower>-0.2</lower><upper>1</upper></limit>
    <dynamics><spring_stiffness>3</spring_stiffness><spring_reference>0.1</spring_reference><damping>-1</damping></dynamics>
  </axis></joint>
</model></sdf>"""


def test_a_joint_whose_parent_and_child_change_places_keeps_its_coordinate():
    """b is held, so a hangs on it: by q = 0.7 b turns on a by 0.7 about y, within the limits and the spring of the file."""
    imported = loads_robot(REVERSED, "m.sdf")
    model = imported.model
    a, b = (hm.frame_pose(model, np.array([0.7]), name)[:3, :3] for name in "ab")
    np.testing.assert_allclose(a.T @ b, hm.Origin(rpy=(0, 0.7, 0)).R, atol=1e-15)
    joint = model.joint_part("a").joint
    assert (joint.limits, joint.damping) == ((-0.2, 1.0), 0.0)
    assert imported.components == (hm.actuation.JointSpring(joints=("a",), stiffness=3.0, rest=0.1),)
    assert any(n.value == "damping -1" and n.kind == "repaired" for n in imported.notes)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "screw"])
def test_a_joint_with_equal_limits_is_held_there(kind):
    text = REVERSED.replace("-0.2<", "0.6<").replace("<upper>1<", "<upper>0.6<").replace('type="revolute"', f'type="{kind}"')
    moving = loads_robot(text.replace("<lower>0.6<", "<lower>-1<"), "m.sdf").model
    imported = loads_robot(text, "m.sdf")
    assert (imported.model.nv, moving.nv) == (0, 1) and not imported.components
    held = hm.frame_pose(imported.model, np.zeros(0), "a")
    np.testing.assert_allclose(held, hm.frame_pose(moving, np.array([0.6]), "a"), atol=1e-15)
    assert any(n.element == "joint 'turn'" and "held fixed" in n.done for n in imported.notes)


def test_a_joint_whose_child_is_the_world_turns_its_link_the_other_way():
    """q turns the child, here the world, on the parent: the link turns by −q in the world."""
    inside = LINK.partition(">")[2].rpartition("</link>")[0]
    text = f"""<sdf version="1.9"><model name="m"><link name="a">{inside}</link>
      <joint name="j" type="revolute"><parent>a</parent><child>world</child><axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""
    model = loads_robot(text, "m.sdf").model
    R = hm.frame_pose(model, np.array([0.7]), "a")[:3, :3]
    np.testing.assert_allclose(R, hm.Origin(rpy=(0, -0.7, 0)).R, atol=1e-15)


def test_switches_of_a_link_that_bodies_do_not_know_are_listed():
    text = f"<sdf version='1.9'><model name='m'>{LINK.replace('</link>', '<gravity>0</gravity><kinematic>1</kinematic></link>')}</model></sdf>"
    said = "\n".join(map(str, loads_robot(text, "m.sdf").notes))
    assert "<gravity>0</gravity>; ignored" in said
    assert "<kinematic>1</kinematic>; ignored" in said


@pytest.mark.parametrize(("enabled", "floats"), [("auv", True), ("auv::base", True), ("au", False), ("other", False)])
def test_buoyancy_acts_on_the_models_and_links_that_its_plugin_enables(enabled, floats):
    text = WORLD.replace("</uniform_fluid_density>", f"</uniform_fluid_density><enable>{enabled}</enable>")
    hull = loads_robot(text, "sea.sdf").model.bodies[0]
    assert (hull.hydro.volume > 0.0) == floats


def test_long_chains_are_read_and_a_cycle_is_named():
    """Poses relative to later links, in reverse order, and links without mass: both were followed by recursion."""
    n = 600
    chain = "".join(f"<link name='l{i}'><pose relative_to='l{i - 1}'>0 0 0.5 0 0 0</pose></link>" for i in range(n - 1, 0, -1))
    model = loads_robot(f"<sdf version='1.9'><model name='m'>{chain}<link name='l0'/></model></sdf>").model
    assert model.bodies[model.body_index(f"l{n - 1}")].joint.parts[0].position == (0.0, 0.0, 0.5 * (n - 1))
    links = "".join(f"<link name='l{i}'><inertial><mass>0</mass></inertial></link>" for i in range(n))
    fixed = "".join(
        f"<joint name='j{i}' type='fixed'><parent>l{i - 1}</parent><child>l{i}</child></joint>" for i in range(1, n)
    )
    massless = loads_robot(f"<sdf version='1.9'><model name='m'>{links}{fixed}</model></sdf>").model
    assert massless.nb == n and massless.nv == 0
    cycle = chain.replace("relative_to='l0'", f"relative_to='l{n - 1}'")
    with pytest.raises(hm.ModelError, match=rf"1 problem.*\n.*the pose of 'l{n - 1}' depends on itself"):
        loads_robot(f"<sdf version='1.9'><model name='m'>{cycle}<link name='l0'/></model></sdf>")
