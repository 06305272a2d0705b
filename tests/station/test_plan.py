"""Plan view of the thrusters against the poses of their frames."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.formats import loads_robot
from hydromechs.station import thruster_plan

ROV = """<robot name="rov"><link name="base">
    <inertial><mass value="9"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="pod"/><link name="prop"/><link name="rudder"><inertial><mass value="1"/></inertial></link>
  <joint name="a" type="fixed"><parent link="base"/><child link="pod"/><origin xyz="-0.3 0.2 0.1" rpy="0.2 0 0.7"/></joint>
  <joint name="b" type="fixed"><parent link="pod"/><child link="prop"/><origin xyz="0.1 0 0" rpy="0 -0.3 0.4"/></joint>
  <joint name="c" type="continuous"><parent link="base"/><child link="rudder"/><axis xyz="0 0 1"/></joint>
</robot>"""


@pytest.mark.parametrize("frame", ["base", "pod", "prop"])
def test_plan_of_a_thruster_on_a_link_that_is_fixed_to_the_vehicle(frame):
    model = loads_robot(ROV, "rov.urdf").model
    T = hm.frame_pose(model, model.initial().q, frame)
    forward, port, up = T[:3, 0]
    np.testing.assert_allclose(thruster_plan(model, 0, frame), [T[0, 3], -T[1, 3], forward, -port, up], atol=6e-4)


def test_a_thruster_that_moves_relative_to_the_vehicle_is_not_in_the_plan():
    assert thruster_plan(loads_robot(ROV, "rov.urdf").model, 0, "rudder") == []
