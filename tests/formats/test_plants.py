"""Robots with the actuators of their files: loaded by one call, simulated by the next, and moved by their commands."""

import contextlib

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.formats import convert_file

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


PLUGINS = """
  <plugin filename="gz-sim-hydrodynamics-system" name="gz::sim::systems::Hydrodynamics"><link_name>hull</link_name>
    <xDotU>-4</xDotU><yDotV>-6</yDotV><xU>-2</xU><xUabsU>-6</xUabsU><nR>-1</nR></plugin>
  <plugin filename="gz-sim-thruster-system" name="gz::sim::systems::Thruster"><joint_name>{}</joint_name>
    <max_thrust_cmd>60</max_thrust_cmd><min_thrust_cmd>-40</min_thrust_cmd></plugin>
  <plugin filename="gz-sim-buoyancy-system" name="gz::sim::systems::Buoyancy">
    <uniform_fluid_density>1030</uniform_fluid_density></plugin>"""
AXES = {"port": (0.1, 0.8, 0.3), "stern": (1.0, 0.0, 0.0)}
PLACES = {"port": "0.1 0.2 0 0.3 -0.2 0.5", "stern": "-0.5 0 0.05 0 0 0"}
SDF_MASS = "<inertial><mass>{}</mass><inertia><ixx>0.3</ixx><iyy>0.2</iyy><izz>0.25</izz></inertia></inertial>"
URDF_MASS = BLOCK.replace('<origin xyz="0.02 0 0.2"/>', "")


def sdf_rov():
    """A box with two propellers, in SDF."""
    links = [
        f'<link name="hull">{SDF_MASS.format(30)}<collision name="c"><geometry><box><size>1 0.3 0.1</size></box></geometry></collision></link>'
    ]
    for name, (x, y, z) in AXES.items():
        links.append(f'<link name="{name}_prop"><pose>{PLACES[name]}</pose>{SDF_MASS.format(0.2)}</link>')
        links.append(
            f'<joint name="{name}" type="revolute"><parent>hull</parent><child>{name}_prop</child>'
            f"<axis><xyz>{x} {y} {z}</xyz></axis></joint>"
        )
    return f'<sdf version="1.9"><model name="rov">{"".join(links)}{plugins()}</model></sdf>'


def urdf_rov():
    """The same in URDF, with the same plugins in <gazebo>."""
    hull = '<collision><geometry><box size="1 0.3 0.1"/></geometry></collision>'
    links = [f'<link name="hull">{URDF_MASS.format(30)}{hull}</link>']
    for name, (x, y, z) in AXES.items():
        at = PLACES[name].split()
        links.append(f'<link name="{name}_prop">{URDF_MASS.format(0.2)}</link>')
        links.append(
            f'<joint name="{name}" type="continuous"><parent link="hull"/><child link="{name}_prop"/>'
            f'<origin xyz="{" ".join(at[:3])}" rpy="{" ".join(at[3:])}"/><axis xyz="{x} {y} {z}"/></joint>'
        )
    return f'<robot name="rov">{"".join(links)}<gazebo>{plugins()}</gazebo></robot>'


def plugins():
    """Hydrodynamics, buoyancy, and a thruster for each propeller."""
    water, _, rest = PLUGINS.partition('  <plugin filename="gz-sim-thruster-system"')
    thruster, _, buoyancy = ('  <plugin filename="gz-sim-thruster-system"' + rest).partition(
        '  <plugin filename="gz-sim-buoyancy'
    )
    return water + "".join(thruster.format(name) for name in AXES) + '  <plugin filename="gz-sim-buoyancy' + buoyancy


def acting(plant):
    """Thrusters with the numbers that place them."""
    q = plant.model.initial().q
    return {c.name: (c.curve, hm.frame_pose(plant.model, q, c.frame)) for c in plant.components if isinstance(c, hm.Thruster)}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gazebo_plugins_in_a_urdf_are_those_of_an_sdf(tmp_path):
    (tmp_path / "rov.sdf").write_text(sdf_rov())
    (tmp_path / "rov.urdf").write_text(urdf_rov())
    sdf, urdf = (hm.load_plant(tmp_path / f"rov.{kind}") for kind in ("sdf", "urdf"))
    assert sdf.model.bodies[0].hydro.volume == pytest.approx(0.03)
    assert urdf.model.bodies[0].hydro == sdf.model.bodies[0].hydro
    assert urdf.model.world.water_density == sdf.model.world.water_density == 1030.0
    assert urdf.model.nv == sdf.model.nv == 6  # the propellers are held
    theirs = acting(sdf)
    assert set(acting(urdf)) == set(theirs) == set(AXES)
    for name, (curve, pose) in acting(urdf).items():
        assert curve == theirs[name][0]
        np.testing.assert_allclose(pose, theirs[name][1], atol=1e-14)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_converted_robot_keeps_its_thrusters_and_drives(tmp_path):
    (tmp_path / "rov.sdf").write_text(sdf_rov())
    (tmp_path / "arm.urdf").write_text(URDF)
    for source in ("rov.sdf", "arm.urdf"):
        imported = convert_file(tmp_path / source, tmp_path / "x.yaml", overwrite=True)
        model, plant = imported.written
        assert hm.load(model).body_names == imported.model.body_names
        assert not any("Thruster" in str(note) or "Torque" in str(note) for note in imported.notes)
        again, before = hm.load_plant(plant), hm.load_plant(tmp_path / source)
        assert again.components == before.components
    (tmp_path / "fin.xml").write_text(MJCF.replace('axis="0 0 1"', 'axis="0 0 1" armature="0.3" stiffness="2"'))
    imported = convert_file(tmp_path / "fin.xml", tmp_path / "fin.yaml")
    assert not any("JointSpring" in str(note) or "JointRotor" in str(note) for note in imported.notes)
    assert hm.load_plant(imported.written[1]).components == hm.load_plant(tmp_path / "fin.xml").components


def test_a_plant_warns_of_the_notes_and_not_of_its_actuators(tmp_path):
    (tmp_path / "rov.sdf").write_text(sdf_rov().replace("</model>", "<include><uri>model://none</uri></include></model>"))
    with pytest.warns(UserWarning) as caught:
        hm.load_plant(tmp_path / "rov.sdf")
    said = [str(w.message) for w in caught]
    assert any("model://none" in text for text in said) and any("ignored" in text for text in said)
    assert not any("no actuators" in text for text in said)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_scenario_takes_a_robot_description_as_its_plant(tmp_path):
    (tmp_path / "rov.sdf").write_text(sdf_rov())
    (tmp_path / "fin.xml").write_text(MJCF.replace('axis="0 0 1"', 'axis="0 0 1" armature="0.3" stiffness="2"'))
    alone = tmp_path / "alone.yaml"
    alone.write_text(
        "hydromechs_scenario: 2\nname: s\nmodels: {m: {plant: rov.sdf}}\ncommands: {port: 20}\nrun: {duration: 1}\n"
    )
    assert {c.name for c in hm.load_plant(alone).components} >= set(AXES)
    two = "hydromechs_scenario: 2\nname: s\nmodels: {a: {plant: fin.xml}, b: {plant: fin.xml}}\nrun: {duration: 1}\n"
    (tmp_path / "two.yaml").write_text(two)
    plant = hm.load_plant(tmp_path / "two.yaml")
    joints = {(type(c).__name__, c.joint) for c in plant.components if hasattr(c, "joint")}
    joints |= {(type(c).__name__, joint) for c in plant.components for joint in getattr(c, "joints", ())}
    assert joints >= {(kind, f"{name}.fin") for kind in ("JointSpring", "JointRotor", "Servo") for name in "ab"}
    for name in ("gone.sdf", "bad.urdf"):
        (tmp_path / "bad.urdf").write_text("<robot name='x'/>")
        alone.write_text(f"hydromechs_scenario: 2\nname: s\nmodels: {{m: {{plant: {name}}}}}\nrun: {{duration: 1}}\n")
        with pytest.raises(hm.ScenarioError, match=rf"line 3: models\.m\.plant: .*{name}"):
            hm.load_scenario(alone)


def test_import_options_reach_load_and_load_plant(tmp_path):
    shape = '<collision><geometry><mesh filename="package://parts/hull.stl"/></geometry></collision>'
    (tmp_path / "arm.urdf").write_text(URDF.replace('</link><link name="fore">', f'{shape}</link><link name="fore">'))
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "hull.stl").touch()
    for read in (hm.load, hm.load_plant):
        with pytest.raises(hm.ModelError, match="--package parts=FOLDER"):
            read(tmp_path / "arm.urdf")
        with pytest.warns(UserWarning) if read is hm.load else contextlib.nullcontext():
            here = read(tmp_path / "arm.urdf", packages={"parts": str(tmp_path / "far")}, base="fixed")
            without = read(tmp_path / "arm.urdf", placeholders=True)
        bodies = [(x if read is hm.load else x.model).bodies[0] for x in (here, without)]
        assert len(bodies[0].shapes) == 1 and not bodies[1].shapes
        with pytest.raises(ValueError, match="placeholders: .*tiburon_titan2"):
            read("tiburon_titan2", placeholders=True)
