"""`hydromechs new`: a project from a robot that runs at once and lists its assumptions."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.actuation import JointSpring, drives
from hydromechs.cli._main import _warning_texts
from hydromechs.formats import Imported
from hydromechs.library import load_scenario
from hydromechs.projects import create_project

URDF = """<robot name="My Arm">
  <link name="base">
    <inertial><mass value="8"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.5 0.3 0.2"/></geometry></collision>
  </link>
  <link name="forearm">
    <inertial><origin xyz="0 0 0.2"/><mass value="1.5"/><inertia ixx="0.02" iyy="0.02" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 0.2"/><geometry><cylinder radius="0.03" length="0.4"/></geometry></collision>
  </link>
  <joint name="elbow" type="revolute">
    <parent link="base"/><child link="forearm"/><origin xyz="0 0 0.1"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="20" velocity="2"/>
  </joint>
</robot>"""


SDF = """<sdf version="1.9"><model name="auv">
  <link name="hull"><inertial><mass>10</mass><inertia><ixx>0.1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>
    <collision name="c"><pose>0 0 0 0 1.5708 0</pose><geometry><cylinder><radius>0.06</radius><length>0.9</length></cylinder></geometry></collision></link>
  <link name="propeller"><pose>-0.5 0 0 0 0 0</pose><inertial><mass>0.1</mass><inertia><ixx>1e-4</ixx><iyy>1e-4</iyy><izz>1e-4</izz></inertia></inertial></link>
  <joint name="propeller_joint" type="revolute"><parent>hull</parent><child>propeller</child><axis><xyz>1 0 0</xyz></axis></joint>
  <plugin filename="gz-sim-thruster-system" name="gz::sim::systems::Thruster"><namespace>auv</namespace><joint_name>propeller_joint</joint_name>
    <thrust_coefficient>0.004</thrust_coefficient><fluid_density>1025</fluid_density><propeller_diameter>0.2</propeller_diameter></plugin>
</model></sdf>"""


def test_dry_robot_gets_water_thrusters_and_a_mission_that_passes(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text(URDF)
    code, text, _ = run("new", "arm.urdf")
    assert code == 0 and "hydromechs run my_arm/mission.yaml" in text
    readme = (tmp_path / "my_arm" / "README.md").read_text()
    for assumed in (
        "hydrodynamics of base: volume 0.03 ± 0.003 m³",
        "ballast: weight of",
        "thrusters: eight",
        "limits of torque",
        "elbow → forearm",
    ):
        assert assumed in readme
    assert "limit: 20" in (tmp_path / "my_arm" / "mission.yaml").read_text()
    code, text, _ = run("run", "my_arm/mission.yaml", "--no-pictures")
    assert code == 0 and text.count("passed") == 3
    code, _, err = run("new", "arm.urdf")
    assert code == 1 and "my_arm exists" in err and "PROJECT" in err


def test_servos_of_a_fixed_arm_hold_its_weight(run, tmp_path, monkeypatch):
    """Soft servos would let a level forearm hang down; a base at the surface would leave it dry."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hydromechs.projects.CLOSES", 0.0)  # no step closes the energy balance: the shortest one
    (tmp_path / "arm.urdf").write_text(URDF.replace('xyz="0 0 0.2"', 'xyz="0.2 0 0"'))
    code, text, _ = run("new", "arm.urdf", "--base", "fixed")
    assert code == 0 and "dry" not in text
    scenario = load_scenario(str(tmp_path / "my_arm" / "mission.yaml"))
    result = scenario.run(2.0)
    assert abs(result.state.q[-1]) < 0.03 and float(result.recording.depth.min()) > 4.9
    assert scenario.step == 0.0005


@pytest.mark.parametrize("robot", ["puma560", "tiburon_titan2", "snake"])
def test_projects_of_library_models_have_no_errors(run, tmp_path, monkeypatch, robot):
    monkeypatch.chdir(tmp_path)
    assert run("new", robot, "mine")[0] == 0
    scenario = load_scenario(str(tmp_path / "mine" / "mission.yaml"))
    scenario.simulation()
    assert bool(scenario.controllers) is (robot != "puma560")
    assert "limits of torque" not in (tmp_path / "mine" / "README.md").read_text()


def test_own_drives_and_springs_are_kept(tmp_path):
    """Joints with a source of torque or without a drive get servos; all else of the robot file is in the mission."""
    model = hm.load("puma560")
    first, second, third, *_ = model.joint_parts
    own = (drives.Servo(joint=first, stiffness=7.0, damping=1.0), JointSpring(name="spring", joints=(third,), stiffness=2.0))
    robot = Imported(model=model, components=(*own, drives.Torque(joint=second, limit=30.0)))
    scenario = create_project(robot, tmp_path / "mine").scenario
    servos = {servo.joint: servo for servo in scenario.parts(drives.Servo)}
    assert len(servos) == len(model.joint_parts) and set(own) <= set(scenario.components)
    assert servos[second].limit == 30.0 and not scenario.parts(drives.Torque)
    assert set(load_scenario(str(tmp_path / "mine" / "mission.yaml")).components) == set(scenario.components)


def test_own_thrusters_are_kept(run, tmp_path, monkeypatch):
    """One propeller of a robot file stays one propeller; it cannot hold a pose, so the mission has no controller."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "auv.sdf").write_text(SDF)
    code, text, _ = run("new", "auv.sdf", "mine")
    assert code == 0 and "thrusters of the robot file: propeller_joint" in text
    scenario = load_scenario(str(tmp_path / "mine" / "mission.yaml"))
    (thruster,) = scenario.parts(hm.Thruster)
    assert thruster.name == "propeller_joint" and not scenario.controllers


def test_thrusters_without_limits_get_some_that_suit_the_robot(run, tmp_path, monkeypatch):
    """With Gazebo's 1000 N a pilot throws a vehicle of 10 kg out of the water."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "auv.sdf").write_text(SDF)
    (tmp_path / "strong.sdf").write_text(SDF.replace("</joint_name>", "</joint_name><max_thrust_cmd>90</max_thrust_cmd>"))
    for name in ("auv", "strong"):
        assert run("new", f"{name}.sdf", name)[0] == 0
        scenario = load_scenario(str(tmp_path / name / "mission.yaml"))
        (thruster,), mass = scenario.parts(hm.Thruster), sum(body.inertia.mass for body in scenario.model.bodies)
        limit = float(f"{2.5 * mass:.2g}") if name == "auv" else 90.0
        assert thruster.curve.limits[1] == limit
        assert (f"at most {limit:g} N" in (tmp_path / name / "README.md").read_text()) is (name == "auv")


def test_a_propeller_is_no_arm(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text(URDF.replace("forearm", "Thruster_1"))
    assert run("new", "arm.urdf", "mine")[0] == 0
    assert "tool" not in hm.load("mine/my_arm.yaml").frames


BARE_ROOT = """<robot name="sub"><link name="footprint"/>
<link name="hull"><inertial><mass value="30"/><inertia ixx="1" iyy="2" izz="2" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="1 0.5 0.4"/></geometry></collision></link>
<joint name="j" type="fixed"><parent link="footprint"/><child link="hull"/><origin xyz="0 0 0.5"/></joint></robot>"""


def test_thrusters_surround_the_hull_that_is_fixed_to_a_bare_root(run, tmp_path, monkeypatch):
    """Around the root alone, all eight would be at one point, and the vehicle could not turn."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub.urdf").write_text(BARE_ROOT)
    assert run("new", "sub.urdf")[0] == 0
    model = hm.load("sub/sub.yaml")
    places = np.array([model.locate(f"thruster_{k}")[1] for k in range(1, 9)])
    assert places.min(axis=0) == pytest.approx([-0.5, -0.25, model.rigid[0].first_moment[2] / model.rigid[0].mass], abs=0.02)
    assert places.max(axis=0) == pytest.approx([0.5, 0.25, places[0, 2]], abs=0.02)
    code, text, _ = run("run", "sub/mission.yaml", "--no-pictures")
    assert code == 0 and "cannot control" not in text


def test_a_warning_is_printed_once_and_similar_ones_together(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    links = "".join(
        f"""<link name="s{k}"><inertial><mass value="0.00{k}"/><inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/>
        </inertial><collision><geometry><sphere radius="1e-6"/></geometry></collision></link>
        <joint name="f{k}" type="fixed"><parent link="hull"/><child link="s{k}"/></joint>"""
        for k in range(1, 7)
    )
    (tmp_path / "sub.urdf").write_text(BARE_ROOT.replace("</robot>", links + "</robot>"))
    with pytest.warns(UserWarning, match="body 's1': .* denser than any metal.* \\(and 5 similar\\)") as issued:
        assert run("new", "sub.urdf")[0] == 0
    text = _warning_texts()
    assert "".join(text(w.message, w.category, "", 0) for w in issued).count("denser") == 1 < len(issued)
