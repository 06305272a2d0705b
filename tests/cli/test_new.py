"""`hydromechs new`: a project from a robot that runs at once and lists its assumptions."""

import pytest

from hydromechs.library import load_scenario

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


def test_dry_robot_gets_water_thrusters_and_a_mission_that_passes(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text(URDF)
    code, text, _ = run("new", "arm.urdf")
    assert code == 0 and "hydromechs run my_arm/mission.yaml" in text
    readme = (tmp_path / "my_arm" / "README.md").read_text()
    for assumed in ("hydrodynamics: base volume 0.03 ± 0.003 m³", "ballast: weight of", "thrusters: eight"):
        assert assumed in readme
    assert "limit: 20" in (tmp_path / "my_arm" / "mission.yaml").read_text()
    code, text, _ = run("run", "my_arm/mission.yaml", "--no-pictures")
    assert code == 0 and text.count("passed") == 2
    code, _, err = run("new", "arm.urdf")
    assert code == 1 and "my_arm exists" in err and "PROJECT" in err


@pytest.mark.parametrize("robot", ["puma560", "tiburon_titan2", "snake"])
def test_projects_of_library_models_have_no_errors(run, tmp_path, monkeypatch, robot):
    monkeypatch.chdir(tmp_path)
    assert run("new", robot, "mine")[0] == 0
    scenario = load_scenario(str(tmp_path / "mine" / "mission.yaml"))
    scenario.simulation()
    assert bool(scenario.controllers) is (robot != "puma560")
