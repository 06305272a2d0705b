"""Paths to numbers of models, plants and scenarios: what they lead to, what replaces it, and what wrong ones are reported."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import contact, geometry, registry
from hydromechs.actuation import JointFriction, drives
from hydromechs.hydro import Current, Gusts
from hydromechs.model import added_mass, drag, joints
from hydromechs.scenario import ModelStart

INERTIA = hm.Inertia(mass=2.0, com=(0.1, 0.2, 0.3), tensor=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
HYDRO = hm.Hydro(
    volume=0.002,
    added_mass=(added_mass.Diagonal((1.0,) * 6),),
    drag=(drag.Damping(linear=(1.0, 2.0, 3.0, 0, 0, 0)), drag.Damping(linear=(4.0, 5.0, 6.0, 0, 0, 0))),
)


def rover(name="rover"):
    hull = hm.Body(name="hull", joint=joints.Free(), inertia=INERTIA, hydro=HYDRO, frames=(hm.Frame("eye.left", hm.Origin()),))
    arm = hm.Body(name="elbow", parent="hull", joint=joints.Revolute(placement=hm.Origin((1, 0, 0))), inertia=INERTIA)
    return hm.Model(name=name, bodies=(hull, arm))


def scenario(**options):
    floor = contact.Material(law=contact.LinearContact(stiffness=1e3))
    parts = [
        drives.Servo(joint="elbow", stiffness=3.0, damping=1.0),
        JointFriction(joint="elbow", viscous=0.5),
        contact.Terrain(name="floor", material=floor, shape=geometry.Plane.through((0, 0, 9), (0, 0, -1))),
        contact.PointContact(frame="eye.left"),
    ]
    sea = hm.Environment(
        current=Current(velocity=(0.1, 0.2, 0.0)), gusts=Gusts(sigma=(0, 0, 0.1), time_constant=1.0, interval=0.1)
    )
    models = (ModelStart(model=rover(), position=(0.0, 0.0, 3.0), orientation=(1.0, 0.0, 0.0, 0.0)),)
    return hm.Scenario(**{"name": "s", "models": models, "components": parts, "environment": sea, "record": 0.1} | options)


FOUND = {
    "hull.inertia.mass": 2.0,
    "models.hull.inertia.com.z": 0.3,
    "hull.inertia.com": (0.1, 0.2, 0.3),
    "hull.hydro.drag.1.linear.0": 4.0,
    "hull.frames.eye.left.origin.xyz.x": 0.0,
    "world.water_density": 1025.0,
    "rover.position.z": 3.0,
    "rover.rpy_deg.y": 0.0,
    "elbow.stiffness": 3.0,
    "components.elbow.damping": 1.0,
    "elbow.friction.viscous": 0.5,
    "elbow.joint.placement.xyz.0": 1.0,
    "floor.origin.xyz.z": 9.0,
    "terrain.floor.material.law.stiffness": 1e3,
    "environment.current.velocity.y": 0.2,
    "environment.gusts.sigma": (0.0, 0.0, 0.1),
    "duration": 60.0,
    "run.record": 0.1,
}


@pytest.mark.parametrize("path", FOUND)
def test_a_path_leads_to_its_number_and_replaces_it(path):
    mission = scenario()
    np.testing.assert_array_equal(registry.value(mission, path), FOUND[path])
    new = np.array(FOUND[path]) + 0.1
    other = registry.replaced(mission, path, new)
    np.testing.assert_allclose(registry.value(other, path), new, atol=1e-12)
    assert other.model.fingerprint != "own classes"  # numbers of Python, as a file gives them
    np.testing.assert_array_equal(registry.value(mission, path), FOUND[path])


def test_every_listed_path_leads_to_its_value_and_back():
    """Of a scenario, its plant and its model; with units."""
    mission = scenario()
    for thing in (mission, mission.plant, rover()):
        listed = list(registry.paths(thing))
        assert len({n.path for n in listed}) == len(listed) > 20
        for number in listed:
            np.testing.assert_array_equal(registry.value(thing, number.path), number.value)
    units = {n.path: n.unit for n in registry.paths(mission)}
    assert (units["hull.inertia.mass"], units["floor.origin.xyz"], units["duration"]) == ("kg", "m", "s")
    assert {"elbow.friction.viscous", "hull.hydro.drag.0.linear"} <= units.keys()


def test_a_star_is_one_factor_on_all_numbers_that_match():
    mission = scenario()
    assert registry.value(mission, "*.inertia.mass") == 1.0
    heavy = registry.replaced(mission, "*.inertia.mass", 1.5)
    assert [body.inertia.mass for body in heavy.plant.model.bodies] == [3.0, 3.0]
    slow = registry.replaced(mission, "hull.hydro.drag.*.linear", 2.0)
    assert registry.value(slow, "hull.hydro.drag.1.linear")[:3].tolist() == [8.0, 10.0, 12.0]
    assert len(registry.located(mission, "components.*.damping")) == 1


def test_names_of_several_models_and_settings_of_the_world():
    two = scenario(models=(ModelStart(model=rover("a")), ModelStart(model=rover("b"))), components=())
    assert registry.value(two, "b.hull.inertia.mass") == 2.0
    denser = registry.replaced(two, "world.water_density", 1000.0)
    assert [start.model.world.water_density for start in denser.models] == [1000.0, 1000.0]
    settled = replace(two, world=hm.scenario.WorldSettings(water_density=1010.0))
    assert registry.replaced(settled, "world.water_density", 1000.0).world.water_density == 1000.0


def test_an_ambiguous_path_lists_both_with_their_section():
    """A body and a terrain of one name that both have a material's number would be; here a body and a component."""

    @dataclass(frozen=True)
    class Twin:
        one: dict
        two: dict

        def path_items(self):
            return [registry.Item("models", "x", (("one",),)), registry.Item("components", "x", (("two",),))]

    twin = Twin({"size": 1.0, "own": 3.0}, {"size": 2.0})
    with pytest.raises(KeyError, match=r"'x.size'.*models.x.size and components.x.size"):
        registry.value(twin, "x.size")
    assert registry.value(twin, "components.x.size") == 2.0
    assert registry.value(twin, "x.own") == 3.0


@pytest.mark.parametrize(
    "path, said",
    [
        ("hul.inertia.mass", "'hul'.*'hull'.*nearest path is 'hull.inertia.mass'"),
        ("hull.inertia.mas", "hull.inertia has no 'mas'.*'mass'"),
        ("components.elbw.damping", "components has no 'elbw'.*'elbow'"),
        ("hull.inertia", "not a number.*mass, com, tensor"),
        ("hull.inertia.mass.x", "hull.inertia.mass is 2.0, which has no parts"),
        ("rover.velocity.0", "rover.velocity is not set"),
        ("rover.velocity", "not set"),
        ("*.inertia.mas", "matches no number"),
        ("", "path ''"),
    ],
)
def test_a_wrong_path_is_an_error_with_the_nearest(path, said):
    with pytest.raises(KeyError, match=f"(?s){said}"):
        registry.value(scenario(), path)


@pytest.mark.parametrize(
    "values, said",
    [
        ({"hull.inertia.mass": -1.0}, "hull.inertia.mass = -1.0.*mass"),
        ({"elbow.stiffness": "much"}, "elbow.stiffness = 'much'.*stiffness"),
        ({"hull.inertia": 3.0, "hull.inertia.mass": 2.0}, "hull.inertia.*the same number"),
        ({"*.inertia.mass": 2.0, "hull.inertia.mass": 2.0}, "the same number"),
        ({"duration": -3.0}, "duration = -3.0.*duration"),
    ],
)
def test_a_wrong_value_is_rejected_with_its_path(values, said):
    with pytest.raises(ValueError, match=f"(?s){said}"):
        registry.replaced_all(scenario(), values)


def test_values_of_one_object_are_checked_together():
    """Limits that would not fit each other one after the other."""
    stops = drives.JointStops(joint="elbow", lower=-1.0, upper=1.0, stiffness=1.0)
    moved = registry.replaced_all(stops, {"lower": 2.0, "upper": 3.0})
    assert (moved.lower, moved.upper) == (2.0, 3.0)
    assert registry.replaced(stops, "lower", 5.0, checked=False).lower == 5.0
