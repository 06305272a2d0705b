"""Gravity and water that a robot description does not say are listed as assumed, with the values."""

import pytest

from hydromechs.formats import import_file

INERTIA = "<mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>"
SDF = f"<model name='m'><link name='a'><inertial>{INERTIA}</inertial></link></model>"
BUOYANT = "<plugin filename='gz-sim-buoyancy-system' name='gz::sim::systems::Buoyancy'>{}</plugin>"
TENSOR = "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
URDF = f"<robot name='m'><link name='a'><inertial><mass value='2'/>{TENSOR}</inertial></link></robot>"
MJCF = "<mujoco>{}<worldbody><body><freejoint/><geom size='0.1'/></body></worldbody></mujoco>"


def world(given):
    return f"<sdf version='1.7'><world name='w'>{given}{SDF}</world></sdf>"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.sdf", f"<sdf version='1.7'>{SDF}</sdf>", ("gravity and the density of the water", "9.8 m/s², 1000 kg/m³")),
        ("b.sdf", world("<gravity>0 0 -9.7</gravity>"), ("the density of the water", "1000 kg/m³")),
        ("c.sdf", world(BUOYANT.format("<uniform_fluid_density>1020</uniform_fluid_density>")), ("gravity", "9.8 m/s²")),
        ("a.urdf", URDF, ("gravity and the density of the water", "9.81 m/s², 1025 kg/m³")),
        ("a.xml", MJCF.format(""), ("gravity and the density of the water", "9.81 m/s², 1025 kg/m³")),
        ("b.xml", MJCF.format("<option gravity='0 0 -9.8' density='1000'/>"), None),
    ],
)
def test_it_is_guessed(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    notes = [n for n in import_file(tmp_path / name).notes if n.element == "world" and n.kind == "assumed"]
    assert [(n.value, n.done) for n in notes] == ([(f"the file does not specify {said[0]}", said[1])] if said else [])
