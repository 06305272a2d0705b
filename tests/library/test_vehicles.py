"""Library vehicles with their actuators, and scenario files that take them as a whole."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import library
from hydromechs.formats import load_scenario_file, loads_scenario

HEAD = "hydromechs_scenario: 2\nname: s\nrun: {duration: 1}\nmodels:\n"


WALKERS = ("aquarobot", "dante", "k2t", "osu_hexapod", "waav")
"""Vehicles on legs or wheels. (dual_arm_redundant is omitted below: dual_arm_rov with a joint more in each arm.)"""


@pytest.mark.parametrize("name", sorted(set(library.plant_names()) - {*WALKERS, "dual_arm_redundant", "snake"}))
def test_every_vehicle_has_actuators_in_six_directions(name):
    plant = hm.load_plant(name)
    thrusters = [c for c in plant.components if isinstance(c, hm.Thruster)]
    vehicle = plant.model.bodies[plant.model.locate(thrusters[0].frame).body].name
    assert np.linalg.matrix_rank(hm.actuation.allocation_matrix(plant.model, thrusters, vehicle)) >= 5
    driven = [part.name for part in plant.model.joint_parts.values() if not isinstance(part.joint, hm.joints.Free)]
    assert set(driven) <= set(plant.layout.commands)
    assert np.isfinite(hm.Simulation(plant).run(0.2).state.q).all()


def test_vehicles_are_named_where_there_is_none():
    with pytest.raises(hm.ScenarioError, match="no library vehicle 'rov'.*available: aquarobot"):
        hm.load_plant("rov")


def test_a_scenario_takes_a_vehicle_and_changes_it():
    text = HEAD + "  rov: {plant: bluerov2_heavy_alpha5}\njoints:\n  wrist: {drive: {type: torque, limit: 1}}\n"
    scenario = loads_scenario(text, library=hm.load, plants=library.load_vehicle)
    plain = hm.load_plant("bluerov2_heavy_alpha5")
    assert len(scenario.parts(hm.Thruster)) == 8 and scenario.plant.layout.commands == plain.layout.commands
    assert hm.drives.Torque(joint="wrist", limit=1.0) in scenario.components
    assert hm.drives.Servo(joint="elbow", stiffness=5.0, damping=0.2, limit=9.0) in scenario.components
    two = loads_scenario(
        HEAD + "  a: {plant: bluerov2_heavy_alpha5}\n  b: {plant: bluerov2_heavy_alpha5}\n",
        library=hm.load,
        plants=library.load_vehicle,
    )
    assert {"a.thruster_1", "b.thruster_8"} <= set(two.plant.layout.commands) and len(two.parts(hm.Thruster)) == 16


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{position: [0, 0, 1]}", "models.rov has neither model nor plant; set model"),
        ("{model: puma560, plant: dual_arm_rov}", "models.rov has both model and plant"),
        ("{plant: puma560}", "models.rov.plant: the library model 'puma560' has no actuators; .* model: puma560"),
        ("{plant: ./none.yaml}", "none.yaml"),
    ],
)
def test_errors_of_vehicles_in_files(entry, message):
    with pytest.raises((hm.ScenarioError, OSError), match=message):
        loads_scenario(HEAD + f"  rov: {entry}\n", library=hm.load, plants=library.load_vehicle)


def test_a_saved_scenario_has_the_actuators_of_its_vehicle(tmp_path):
    scenario = hm.load_scenario("bluerov2_square")
    hm.save_scenario(scenario, tmp_path / "s.yaml")
    again = load_scenario_file(tmp_path / "s.yaml", hm.load)
    assert again.plant.components == scenario.plant.components
