"""Arms, tools and payloads on vehicles: the same mechanism as one that was written whole, and errors that report what to do."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm

PAIRS = {
    "bluerov2_heavy_alpha5": ("reach_alpha5", hm.Origin((0.25, 0.10965, -0.005))),
    "tiburon_titan2": ("titan2", hm.Origin((1.65, 0.63, 0.62))),
    "rexrov2_oberon7": ("oberon7", hm.Origin((1.3, -0.5, -0.665))),
}
"""Library models of a vehicle with an arm: the arm as a model of its own, and its mount."""
SOLID = hm.Inertia(mass=2.0, com=(0.1, 0.02, -0.03), tensor=(0.2, 0.3, 0.25, 0.01, 0.0, 0.02))


def body(name, parent=None, joint=None, **fields):
    """A body with inertia and water."""
    hydro = hm.Hydro(
        volume=1e-3, added_mass=[hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=0.05).at((0.1, 0, 0)))]
    )
    return hm.Body(name=name, parent=parent, joint=joint, inertia=SOLID, hydro=hydro, **fields)


def arm(*, root=None, name="arm", **world):
    """Two links on a base."""
    return hm.Model(
        name=name,
        world=hm.World(**world),
        bodies=[
            body("base", joint=root or hm.joints.Free()),
            body("elbow", "base", hm.joints.Revolute(placement=hm.Origin((0.2, 0, 0), (0.3, 0, 0.1)), axis=(0, 1, 0))),
        ],
    )


MOUNT = hm.Frame("mount", hm.Origin((0.4, 0.1, -0.2), (0.2, -0.5, 1.1)))


def rov(**world):
    """A vehicle with a mount."""
    return hm.Model(name="rov", world=hm.World(**world), bodies=[body("vehicle", frames=[MOUNT])])


def states(model, seed=1):
    """A random configuration, velocity and force."""
    random = np.random.default_rng(seed)
    q = hm.integrate(model, model.initial().q, random.normal(size=model.nv), 1.0)
    return q, random.normal(size=model.nv), random.normal(size=model.nv)


@pytest.mark.parametrize("combined", PAIRS)
def test_a_vehicle_with_a_library_arm_attached_is_the_library_model_of_both(combined):
    whole = hm.load(combined)
    name, origin = PAIRS[combined]
    part = replace(hm.load(name), world=whole.world)
    carried = set(part.body_names)
    alone = [b if b.name != "vehicle" else replace(b, frames=(*b.frames, hm.Frame("mount", origin))) for b in whole.bodies]
    vehicle = replace(whole, bodies=tuple(b for b in alone if b.name not in carried))
    made = hm.attach(vehicle, part, frame="mount")
    assert set(made.body_names) == set(whole.body_names) and made.body_names == whole.body_names
    for mine, theirs in zip(made.bodies, whole.bodies, strict=True):
        assert (mine.inertia, mine.hydro, mine.shapes) == (theirs.inertia, theirs.hydro, theirs.shapes)
    np.testing.assert_array_equal(made.initial().q, whole.initial().q)
    q, v, tau = states(whole)
    flow = {"fluid_velocity": (0.3, -0.2, 0.1)}
    want, found = (hm.forward_dynamics(m, q, v, tau, **flow) for m in (whole, made))
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12 * np.abs(want).max())
    pose, theirs = (hm.frame_pose(m, q, "tool") for m in (made, whole))
    np.testing.assert_allclose(pose, theirs, atol=1e-12)


def test_the_mount_of_the_library_vehicle_is_that_of_the_library_model():
    whole, made = (
        hm.load("bluerov2_heavy_alpha5"),
        hm.attach(hm.load("bluerov2_heavy"), hm.load("reach_alpha5"), frame="arm_mount"),
    )
    for m in (whole, made):
        assert m.nv == 10
    poses = [hm.frame_pose(m, m.neutral()[0], "tool") for m in (whole, made)]
    np.testing.assert_allclose(poses[1], poses[0], atol=1e-12)
    assert made.name == "bluerov2_heavy_reach_alpha5"
    assert dict(made.sources)["elbow.hydro"].startswith("published")


PLACED = hm.Origin((0.05, -0.1, 0.02), (0.4, 0.3, -0.2))


@pytest.mark.parametrize(
    ("root", "place"),
    [
        (hm.joints.Free(position=(3, 2, 1)), hm.Origin()),
        (hm.joints.Fixed(placement=PLACED), PLACED),
        (hm.joints.Revolute(placement=PLACED, axis=(0, 1, 1), position=0.0), PLACED),
        (hm.joints.Revolute(placement=hm.Mdh(a=0.1, alpha=0.3, d=0.2, theta=0.4)), None),
        (
            hm.joints.Composite(
                parts=(hm.joints.Prismatic(placement=PLACED, axis=(1, 0, 0)), hm.joints.Revolute(axis=(0, 0, 1)))
            ),
            PLACED,
        ),
    ],
    ids=["free", "fixed", "revolute", "mdh", "composite"],
)
@pytest.mark.parametrize("at", [None, hm.Origin((0.3, 0, 0), (0, 0.7, 0))], ids=["there", "aside"])
def test_every_root_goes_to_the_frame(root, place, at):
    made = hm.attach(rov(), arm(root=root), frame="mount", at=at)
    q = made.neutral()[0]
    alone = arm(root=root)
    want = np.eye(4) if isinstance(root, hm.joints.Free) else hm.frame_pose(alone, alone.neutral()[0], "base")
    found = np.linalg.inv(hm.frame_pose(made, q, "mount")) @ hm.frame_pose(made, q, "base")
    shift = np.eye(4)
    if at is not None:
        shift[:3, :3], shift[:3, 3] = at.R, at.xyz
    np.testing.assert_allclose(found, shift @ want, atol=1e-14)
    assert made.nv == 6 + alone.nv - (6 if isinstance(root, hm.joints.Free) else 0)


def test_two_arms_and_a_tool_go_through_a_file(tmp_path):
    pair = hm.attach(hm.attach(rov(), arm(), frame="mount", prefix="left"), arm(), frame="mount", prefix="right")
    tool = hm.Model(name="saw", bodies=[body("blade", frames=[hm.Frame("edge")])])
    model = hm.attach(pair, tool, frame="right.elbow", at=hm.Origin((0.3, 0, 0)), name="cutter")
    assert model.body_names == ("vehicle", "left.base", "left.elbow", "right.base", "right.elbow", "blade")
    assert model.name == "cutter" and model.frames["edge"][0] == 5
    hm.save(model, tmp_path / "cutter.yaml")
    again = hm.load(tmp_path / "cutter.yaml")
    assert again == model
    q, v, tau = states(model)
    np.testing.assert_array_equal(hm.forward_dynamics(again, q, v, tau), hm.forward_dynamics(model, q, v, tau))


def test_names_in_use_get_the_name_of_the_part():
    once = hm.attach(rov(), arm(), frame="mount")
    assert once.body_names == ("vehicle", "base", "elbow")
    twice = hm.attach(once, arm(), frame="mount")
    assert twice.body_names[3:] == ("arm.base", "arm.elbow") and twice.bodies[4].parent == "arm.base"
    with pytest.raises(ValueError, match=r"'arm\.base'.*prefix='left'"):
        hm.attach(twice, arm(), frame="mount")


def test_the_description_of_a_part_has_its_name():
    """A vehicle without a description is not described as its arm."""
    both = hm.attach(replace(rov(), description=""), replace(arm(), description="four joints"), frame="mount")
    assert both.description == "arm: four joints"


@pytest.mark.parametrize(
    ("part", "options", "error", "words"),
    [
        (arm(), {"frame": "mont"}, KeyError, "'mont'.*mount"),
        (arm(axes="ENU"), {}, ValueError, "axes ENU.*NED.*replace.*`at`"),
        (arm(gravity=9.82), {}, ValueError, r"gravity 9\.82.*9\.81.*replace"),
        (arm(water_density=1000.0), {}, ValueError, "water_density 1000.*1025.*replace"),
        (arm(), {"prefix": ""}, ValueError, "prefix is ''"),
        ("reach_alpha5", {}, TypeError, "part is 'reach_alpha5'.*hydromechs.load"),
        (hm.Plant(model=hm.load("reach_alpha5")), {}, TypeError, "part is a Plant, must be a Model; pass part.model$"),
        (hm.Model(name="two", bodies=[body("a"), body("b")]), {}, ValueError, "2 roots.*'a', 'b'"),
    ],
)
def test_unmountable_parts_are_rejected_with_a_remedy(part, options, error, words):
    with pytest.raises(error, match=words):
        hm.attach(rov(), part, **{"frame": "mount", **options})


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_imported_arm_and_actuators_of_both(tmp_path):
    """A URDF arm, whose z is up, on a vehicle whose z is down: turned by `at`. Names are as they were, so the actuators fit."""
    (tmp_path / "arm.urdf").write_text(
        """<robot name="arm"><link name="shoulder_base"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <link name="fore"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="revolute"><parent link="shoulder_base"/><child link="fore"/><origin xyz="0 0 0.5"/>
        <limit lower="-1" upper="1" effort="20" velocity="2"/></joint></robot>"""
    )
    vehicle, robot = hm.load_plant("bluerov2_heavy"), hm.load_plant(tmp_path / "arm.urdf")
    part = replace(robot.model, world=vehicle.model.world)
    model = hm.attach(vehicle.model, part, frame="arm_mount", at=hm.Origin(rpy=(np.pi, 0.0, 0.0)))
    plant = hm.Plant(model=model, components=(*vehicle.components, *robot.components))
    assert set(plant.layout.commands) == {*(f"thruster_{k}" for k in range(1, 9)), "fore"}
    place = hm.frame_pose(model, model.neutral()[0], "fore")[:3, 3]
    np.testing.assert_allclose(place, [0.25, 0.10965, -0.505], atol=1e-12)  # half a metre above the mount
