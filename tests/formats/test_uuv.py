"""Plugins of the UUV Simulator in a URDF: hydrodynamics against its own equations, thrusters, notes and errors."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.formats import loads_robot

ADDED = np.diag([80.0, 120.0, 360.0, 53.0, 84.0, 22.0])
ADDED[0, 2] = ADDED[2, 0] = -10.0
ADDED[1, 3] = ADDED[3, 1] = 4.0
ADDED[0, 4] = ADDED[4, 0] = -16.0
LINEAR = -np.array([7.0, 6.0, 72.0, 26.0, 30.0, 10.0])
QUADRATIC = -np.array([74.0, 99.0, 182.0, 67.0, 77.0, 52.0])
TEXT = """<robot name="rov">
  <link name="base"><inertial><mass value="186"/><inertia ixx="50" iyy="60" izz="70" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="prop"><inertial><mass value="0.1"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="prop_joint" type="continuous"><parent link="base"/><child link="prop"/><origin xyz="-0.4 0.2 0" rpy="0 0 0.5"/>
    <axis xyz="1 0 0"/></joint>
  <gazebo><plugin name="uuv_plugin" filename="libuuv_underwater_object_ros_plugin.so">
    <fluid_density>1027</fluid_density><flow_velocity_topic>/current</flow_velocity_topic>
    <link name="base">{neutral}<volume>0.18</volume><box><width>1</width><length>2</length><height>1</height></box>
      <center_of_buoyancy>0.01 -0.02 0.3</center_of_buoyancy>
      <hydrodynamic_model><type>{kind}</type><added_mass>{added}</added_mass><linear_damping>{linear}</linear_damping>
        <quadratic_damping>{quadratic}</quadratic_damping></hydrodynamic_model></link></plugin></gazebo>
  <gazebo><plugin name="thruster_0" filename="libuuv_thruster_ros_plugin.so"><linkName>prop</linkName>
    <jointName>prop_joint</jointName><thrusterID>0</thrusterID>{limits}
    <dynamics><type>FirstOrder</type><timeConstant>0.05</timeConstant></dynamics>
    <conversion>{conversion}</conversion></plugin></gazebo>
</robot>"""
BASIC = "<type>Basic</type><rotorConstant>0.0003</rotorConstant>"


def numbers(array):
    return " ".join(map(str, np.ravel(array)))


def imported(**changes):
    given = dict(neutral="", kind="fossen", added=numbers(ADDED), linear=numbers(LINEAR), quadratic=numbers(QUADRATIC))
    return loads_robot(TEXT.format(**(given | dict(limits="", conversion=BASIC) | changes)), "rov.urdf")


def simulated(v, a, linear, quadratic):
    """Force on the link by its velocity and acceleration, as `HMFossen::ApplyHydrodynamicForces` computes it (6,)."""
    ned = np.array([1, -1, -1, 1, -1, -1])
    nu, nudot = ned * v, ned * a
    cross = lambda x: np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])  # noqa: E731
    ab = ADDED @ nu
    coriolis = np.block([[np.zeros((3, 3)), -cross(ab[:3])], [-cross(ab[:3]), -cross(ab[3:])]])
    damping = -(-linear - np.diag(np.diag(quadratic) * np.abs(nu))) @ nu
    return ned * damping, ned * (-ADDED @ nudot - coriolis @ nu)


@pytest.mark.parametrize("full", [False, True], ids=["diagonal", "full"])
def test_forces_are_those_of_the_simulators_equations(full):
    rng = np.random.default_rng(2)
    linear, quadratic = np.diag(LINEAR), np.diag(QUADRATIC)
    if full:
        linear = linear + rng.normal(size=(6, 6))
    text = {"linear": numbers(linear), "quadratic": numbers(quadratic)} if full else {}
    model = imported(**text).model
    q = model.initial().q
    v, a = rng.normal(size=6), rng.normal(size=6)
    damping, added = simulated(v, a, linear, quadratic)
    np.testing.assert_allclose(-hm.equations.damping_force(model, q, v), damping, atol=1e-11)
    (base,) = [b for b in model.bodies if b.hydro]
    A = np.array(base.hydro.added_mass[0].matrix)
    w, p = v[3:], A @ v
    inertial = A @ a + np.concatenate([np.cross(w, p[:3]), np.cross(w, p[3:]) + np.cross(v[:3], p[:3])])  # Kirchhoff
    np.testing.assert_allclose(-inertial, added, atol=1e-11)


def test_buoyancy_acts_at_its_centre_in_the_axes_of_the_link():
    model = imported().model
    base = model.bodies[0]
    assert model.world.water_density == 1027
    assert base.hydro.volume == 0.18 and base.hydro.buoyancy_center == (0.01, -0.02, 0.3)
    neutral = imported(neutral="<neutrally_buoyant>1</neutrally_buoyant>").model
    assert neutral.bodies[0].hydro.volume == pytest.approx(186 / 1027)


@pytest.mark.parametrize(
    ("limits", "conversion", "thrust"),
    [
        ("", BASIC, (-1000, 1000)),
        ("<thrustMin>-50</thrustMin><thrustMax>70</thrustMax>", BASIC, (-50, 70)),
        ("<clampMin>-200</clampMin><clampMax>300</clampMax><thrust_efficiency>0.9</thrust_efficiency>", BASIC, (-10.8, 24.3)),
        ("<clampMin>-1</clampMin><clampMax>1</clampMax><gain>300</gain>", BASIC, (-27, 27)),
        (
            "<clampMin>-200</clampMin><clampMax>200</clampMax>",
            "<type>Bessa</type><rotorConstantL>1e-3</rotorConstantL><rotorConstantR>2e-3</rotorConstantR><deltaL>-1e4</deltaL>"
            "<deltaR>2e4</deltaR>",
            (-30, 40),
        ),
        ("", "<type>LinearInterp</type><inputValues>-1 0 1</inputValues><outputValues>-8 0 9</outputValues>", (-8, 9)),
    ],
)
def test_thruster_pushes_along_its_joint_within_its_limits(limits, conversion, thrust):
    robot = imported(limits=limits, conversion=conversion)
    (thruster,) = robot.components
    assert thruster.curve.limits == pytest.approx(thrust) and thruster.time_constant == 0.05 and thruster.radius == 0.1
    T = hm.frame_pose(robot.model, robot.model.initial().q, thruster.frame)
    np.testing.assert_allclose(T[:3, 0], [np.cos(0.5), np.sin(0.5), 0], atol=1e-15)
    np.testing.assert_allclose(T[:3, 3], [-0.4, 0.2, 0], atol=1e-15)
    assert robot.model.nv == 6
    assert any(note.value == "no thrust limits" for note in robot.notes) == (thrust == (-1000, 1000))


def test_what_is_not_read_is_noted_and_errors_name_the_value():
    robot = imported(kind="cylinder")
    assert robot.model.bodies[0].hydro.added_mass == () and robot.model.bodies[0].hydro.volume == 0.18
    assert any("'cylinder'" in note.value and "add_water" in note.done for note in robot.notes)
    with pytest.raises(hm.ModelError, match="added_mass is '1 2 3', must be 36 finite numbers"):
        imported(added="1 2 3")
    with pytest.raises(hm.ModelError, match="linear_damping"):
        imported(linear="1 2")


def test_fins_are_named_first_because_the_vehicle_is_not_stable_without_them():
    fin = "<gazebo><plugin name='fin0' filename='libuuv_fin_ros_plugin.so'><fin_id>0</fin_id></plugin></gazebo></robot>"
    text = TEXT.format(neutral="", kind="sphere", added="", linear="", quadratic="", limits="", conversion=BASIC)
    assert any("'libuuv_fin_ros_plugin.so'" in line for line in loads_robot(text.replace("</robot>", fin), "r.urdf").headlines)
