"""Models mounted on frames of others in a scenario."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.formats import dumps_scenario, loads_scenario
from hydromechs.scenario import ModelStart, assemble, unit_mistakes

VEHICLE, ARM = hm.load("bluerov2_heavy"), hm.load("reach_alpha5")


def test_mounted_arm_is_that_of_attach():
    """The accelerations of vehicle and arm are those of `hm.attach`, with the names of the scenario."""
    pose = dict(position=(1.0, 2.0, 3.0), velocity=(0.3, 0.1, -0.2, 0.1, 0.2, -0.1))
    starts = [
        ModelStart(model=ARM, name="arm", mount="rov.camera", joints={"elbow": 0.4}, joint_velocities={"elbow": 0.5}),
        ModelStart(model=VEHICLE, name="rov", **pose),
    ]
    model, start = assemble(starts)
    other = hm.attach(VEHICLE, ARM, frame="camera", prefix="arm")
    assert [b.removeprefix("rov.") for b in model.body_names] == list(other.body_names)
    assert start.q[model.joint_parts["arm.elbow"].q] == 0.4 and start.v[model.joint_parts["arm.elbow"].v] == 0.5
    np.testing.assert_array_equal(start.q[:3], pose["position"])
    ours, theirs = (hm.forward_dynamics(m, start.q, start.v, np.zeros(m.nv)) for m in (model, other))
    np.testing.assert_array_equal(ours, theirs)


def test_free_root_is_fixed_and_chains_of_mounts_work():
    """A load with a free root on the tool of an arm on a vehicle, listed in any order; a scenario with it runs."""
    load = hm.Model(
        name="load",
        bodies=[hm.Body(name="box", joint=hm.joints.Free(), inertia=hm.Inertia(mass=0.2, tensor=(1e-3, 1e-3, 1e-3, 0, 0, 0)))],
        world=VEHICLE.world,
    )
    frame = next(iter(ARM.frames))
    starts = [
        ModelStart(model=load, mount=f"arm.{frame}"),
        ModelStart(model=ARM, name="arm", mount="rov.vehicle"),
        ModelStart(model=VEHICLE, name="rov"),
    ]
    scenario = hm.Scenario(name="carried", models=starts, duration=0.02, step=1e-3, record=0.01)
    model = scenario.model
    assert model.nv == VEHICLE.nv + ARM.nv
    carrier = model.bodies[model.body_index("load.box")].parent
    assert carrier == f"arm.{ARM.bodies[ARM.locate(frame).body].name}"
    hm.Simulation(scenario).run(0.02)


def test_a_root_joint_that_moves_stays():
    """A turntable turns on the frame as it did on the world; only a free root becomes fixed."""
    inertia = hm.Inertia(mass=1.0, com=(0.1, 0.0, 0.0), tensor=(0.1, 0.1, 0.1, 0, 0, 0))
    turntable = hm.joints.Revolute(axis=(0, 0, 1), placement=hm.Origin((0.0, 0.0, 0.1)), limits=(-1.0, 1.0), position=0.3)
    part = hm.Model(name="table", bodies=[hm.Body(name="plate", joint=turntable, inertia=inertia)], world=VEHICLE.world)
    starts = [ModelStart(model=VEHICLE, name="rov"), ModelStart(model=part, mount="rov.camera", joints={"plate": 0.5})]
    model, start = assemble(starts)
    body = model.bodies[model.body_index("table.plate")]
    assert body.parent == "rov.vehicle" and body.joint.limits == (-1.0, 1.0) and model.nv == VEHICLE.nv + 1
    assert start.q[model.joint_parts["table.plate"].q] == 0.5
    at = VEHICLE.frames["camera"][1].origin
    np.testing.assert_allclose(body.joint.placement.xyz, np.array(at.xyz) + at.R @ [0.0, 0.0, 0.1], atol=1e-15)


def test_a_dry_arm_on_a_wet_vehicle_is_reported():
    """Arms from robot files have no hydrodynamics; on a vehicle that floats, nothing else shows it."""
    dry = replace(ARM, bodies=tuple(replace(body, hydro=None) for body in ARM.bodies))
    for arm, reported in ((dry, True), (ARM, False)):
        starts = [ModelStart(model=VEHICLE, name="rov"), ModelStart(model=arm, name="arm", mount="rov.arm_mount")]
        warnings = unit_mistakes(hm.Scenario(name="both", models=starts))
        assert any("'arm'" in text and "'rov.arm_mount'" in text for text in warnings) == reported


def test_mount_is_a_key_of_scenario_files():
    starts = [
        ModelStart(model=VEHICLE, source="bluerov2_heavy", name="rov", position=(0, 0, 5)),
        ModelStart(model=ARM, source="reach_alpha5", name="arm", mount="rov.arm_mount"),
    ]
    scenario = hm.Scenario(name="carried", models=starts)
    again = loads_scenario(dumps_scenario(scenario), library=hm.library.load)
    assert again.models[1].mount == "rov.arm_mount" and again.model == scenario.model


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({1: {"mount": "rob.camera"}}, "models.1: mount is 'rob.camera'.*another model.*'rov'"),
        ({1: {"mount": "camera"}}, "models.1: mount is 'camera'.*another model"),
        ({1: {"mount": "rov.camra"}}, "models.1: mount is 'rov.camra'.*no frame or body 'camra'.*'camera'"),
        ({1: {"position": (0, 0, 1)}}, r"models.1: position is \(0.0, 0.0, 1.0\).*mount 'rov.camera'"),
        ({0: {"mount": "arm.armbase"}}, "models.0: mount is 'arm.armbase'.*'rov' on 'arm' on 'rov'"),
        ({1: {"mount": "arm.armbase"}}, "models.1: mount is 'arm.armbase'.*'arm' on 'arm'"),
    ],
    ids=["model", "form", "frame", "pose", "cycle", "self"],
)
def test_problems_of_mounts_are_named(changes, words):
    given = {0: dict(model=VEHICLE, name="rov"), 1: dict(model=ARM, name="arm", mount="rov.camera")}
    with pytest.raises(hm.ScenarioError, match=words):
        hm.Scenario(name="x", models=[ModelStart(**(given[k] | changes.get(k, {}))) for k in (0, 1)])


def test_several_roots_with_a_free_one_cannot_be_mounted():
    inertia = hm.Inertia(mass=1.0, tensor=(1.0, 1.0, 1.0, 0, 0, 0))
    roots = [hm.Body(name=name, joint=hm.joints.Free(), inertia=inertia) for name in "ab"]
    two = hm.Model(name="two", bodies=roots, world=VEHICLE.world)
    with pytest.raises(hm.ScenarioError, match=r"models.1: mount is 'bluerov2_heavy.camera'.*2 roots \('a', 'b'\)"):
        assemble([ModelStart(model=VEHICLE), ModelStart(model=two, mount="bluerov2_heavy.camera")])
