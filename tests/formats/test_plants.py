"""Robots with the actuators of their files: loaded by one call, simulated by the next, and moved by their commands."""

import numpy as np
import pytest

import hydromechs as hm

BLOCK = '<inertial><origin xyz="0.02 0 0.2"/><mass value="{}"/><inertia ixx="0.3" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial>'
URDF = f"""<robot name="arm">
  <link name="world"/><link name="base">{BLOCK.format(8)}</link><link name="fore">{BLOCK.format(1.5)}</link>
  <joint name="mount" type="fixed"><parent link="world"/><child link="base"/></joint>
  <joint name="elbow" type="revolute">
    <parent link="base"/><child link="fore"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="20" velocity="2"/>
  </joint>
</robot>"""
MJCF = """<mujoco model="fish"><option gravity="0 0 0"/><worldbody><body name="hull"><freejoint/>
  <inertial pos="0.01 0 0" mass="5" fullinertia="0.1 0.2 0.2 0.01 0 0"/><site name="stern" pos="-0.2 0 0"/>
  <body name="fin" pos="-0.3 0 0"><joint name="hinge" axis="0 0 1"/><geom type="capsule" fromto="0 0 0 -0.3 0 0" size="0.03"/></body>
</body></worldbody><actuator>
  <position name="steer" joint="hinge" kp="20" kv="2"/><general name="push" site="stern" gear="30 0 0 0 0 0" ctrlrange="-1 1"/>
</actuator></mujoco>"""


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_urdf_moves_up_to_its_velocity_limit(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    run = hm.Simulation(hm.load_plant(tmp_path / "arm.urdf"), commands={"fore": 20.0}).run(0.5)
    speed = run.recording.v.sel(dof="fore").values
    assert 1.9 < speed[-1] <= 2.0
    assert speed.max() <= 2.0


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_mjcf_steers_and_pushes(tmp_path):
    (tmp_path / "fish.xml").write_text(MJCF)
    run = hm.Simulation(hm.load_plant(tmp_path / "fish.xml"), commands={"fin": 0.3, "push": 15.0}).run(0.5)
    ds = run.recording
    assert set(ds.actuator.values) == {"push", "fin"}
    np.testing.assert_allclose(ds.actuator_force.sel(actuator="push"), 15.0)
    assert float(ds.velocity.sel(body="hull", nu="u")[-1]) > 0.5
    assert abs(float(ds.q.sel(coordinate="fin")[-1]) - 0.3) < 0.2
