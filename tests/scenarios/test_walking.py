"""Walking: gaits, legs, courses and footholds on their own; a hexapod and Aquarobot in their scenarios; what cannot be walked.

`python tests/scenarios/test_walking.py [SEED ...]` walks Aquarobot over mounds with these seeds, 1 to 5 by default, and prints the rows of the table in
docs/legged_machines.md.
"""

import sys
from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import geometry
from hydromechs.contact import MATERIALS, Terrain, ground_height
from hydromechs.equations import kinematics
from hydromechs.errors import UnreachableFoothold
from hydromechs.walking import Course, Gait, Legs, Tripod, Walk, Wave

ROCK = MATERIALS["rock"]
FEET = [f"foot{k}" for k in range(1, 7)]
HEXAGON = np.array([[np.cos(a), np.sin(a), -1.0] for a in np.arange(6) * np.pi / 3])


# -- parts --------------------------------------------------------------------------------------------------------------


def test_a_tripod_has_three_feet_on_the_ground_at_any_time():
    gait = Tripod(period=2.0, duty=0.6)
    offsets = gait.offsets(HEXAGON)
    for t in np.arange(0.0, 6.0, 0.05):
        swinging = gait.progress(t, offsets) >= 0.0
        assert swinging.sum() in (0, 3) and (not swinging.any() or set(np.flatnonzero(swinging)) in ({0, 2, 4}, {1, 3, 5}))
    assert (gait.swing_time, gait.stance_time) == pytest.approx((0.8, 1.2))


def test_a_wave_lifts_one_foot_after_the_other_from_the_rear():
    gait = Wave(period=6.0, duty=0.86)
    offsets = gait.offsets(HEXAGON)
    seen = []
    for t in np.arange(0.02, 6.0, 0.05):
        swinging = np.flatnonzero(gait.progress(t, offsets) >= 0.0)
        assert len(swinging) <= 1
        seen += [k for k in swinging.tolist() if not seen or seen[-1] != k]
    assert sorted(seen) == list(range(6)) and seen[0] == 3
    with pytest.raises(ValueError, match="duty is 0.4, must be at least 0.5 for Tripod"):
        Tripod(duty=0.4)
    with pytest.raises(ValueError, match="duty is 0.8, must be at least 0.8333 for a wave of 6 legs"):
        Wave(duty=0.8).offsets(HEXAGON)


@pytest.mark.parametrize(("name", "feet"), [("aquarobot", FEET), ("osu_hexapod", FEET)])
def test_feet_are_where_kinematics_has_them_and_angles_lead_back(name, feet):
    model = hm.load(name)
    legs = Legs(model, feet, "body")
    q = model.initial().q
    q[:7] = model.neutral()[0][:7]
    first = q[legs.at].reshape(6, 3)
    angles = first + np.random.default_rng(2).uniform(-0.25, 0.25, (6, 3))
    q[legs.at] = angles.ravel()
    places, J = legs.positions(angles)
    kin = kinematics(model, q, np.zeros(model.nv))
    for foot, place in zip(feet, places, strict=True):
        at = model.locate(foot)
        X = kin.X_WB[at.body]
        np.testing.assert_allclose(place, X[:3, 3] + X[:3, :3] @ at.p, atol=1e-14)
    h = 1e-6
    nudge = np.array([0.0, h, 0.0])
    slope = (legs.positions(angles + nudge)[0] - legs.positions(angles - nudge)[0]) / (2 * h)
    np.testing.assert_allclose(J[:, :, 1], slope, atol=1e-8)
    found, left = legs.angles(places, first)
    assert left.max() < 1e-6
    np.testing.assert_allclose(found, angles, atol=1e-5)
    _, left = legs.angles(places + np.array([0.0, 0.0, 3.0]), first)
    assert left.min() > 0.5  # out of reach


def test_legs_are_named_with_what_is_wrong():
    model = hm.load("dante")
    with pytest.raises(ValueError, match="'outer_front_port' is prismatic; use three revolute joints"):
        Legs(model, ["outer_front_port_foot"], "outer")
    with pytest.raises(ValueError, match="has 1 revolute joints between foot and 'body'; use exactly three"):
        Legs(hm.load("aquarobot"), ["hip1"], "body")
    with pytest.raises(ValueError, match="is not on body 'upper'"):
        Legs(hm.load("k2t"), ["lower"], "upper")


def test_a_course_goes_the_distance_on_a_line_and_on_an_arc():
    line = Course((0.3, 0.4), 0.0, 2.0, ramp=1.0)
    start = np.array([1.0, 2.0, np.pi / 2])
    assert line.end == pytest.approx(5.0)
    np.testing.assert_allclose(line.at(99.0, start).xy, [1.0 - 1.6, 2.0 + 1.2], atol=1e-12)
    np.testing.assert_allclose(line.at(-1.0, start).xy, start[:2])
    arc = Course((0.5, 0.0), 0.25, np.pi, ramp=0.5)  # half a circle of 2 m radius is 2π; a quarter is π
    there = arc.at(99.0, np.zeros(3))
    np.testing.assert_allclose([*there.xy, there.yaw], [2.0, 2.0, np.pi / 2], atol=1e-12)
    with pytest.raises(ValueError, match="distance is 1, must be omitted if the velocity is 0"):
        Course((0.0, 0.0), 0.1, 1.0, ramp=1.0)


def test_the_height_of_the_ground_is_where_distances_are_zero():
    down = np.array([0.0, 0.0, 1.0])  # NED
    waves = geometry.height_field(heights=lambda x, y: -5.0 + 0.3 * np.sin(x) * np.cos(y), x=(-2, 2), y=(-2, 2), spacing=0.2)
    bumps = Terrain(name="b", material=ROCK, shape=waves)
    slope = Terrain(name="p", material=ROCK, shape=geometry.Plane.through((0, 0, 5.5), (0.3, 0.1, -1)))
    crate = Terrain(
        name="c", material=ROCK, origin=hm.Origin((0.2, 0.1, 4.6), (0.1, 0.2, 0.3)), shape=geometry.Box(size=(1, 1, 1))
    )
    x, y = np.array([[-3.0, 0.1], [0.7, 1.9]]), np.array([[0.4, 0.3], [-0.9, 2.5]])
    for solid in (bumps, slope):
        h = ground_height([solid], x, y, down)
        for a, b, c in zip(x.flat, y.flat, h.flat, strict=True):
            assert solid.distance(np.array([a, b, -c]), down)[0] == pytest.approx(0.0, abs=1e-12)
    over = ground_height([bumps, crate], x, y, down)
    assert over[0, 1] > ground_height([bumps], x, y, down)[0, 1] + 0.3
    assert crate.distance(np.array([x[0, 1], y[0, 1], -over[0, 1]]), down)[0] == pytest.approx(0.0, abs=1e-6)
    assert np.isneginf(ground_height([crate], x, y, down)[0, 0])


# -- machines -----------------------------------------------------------------------------------------------------------


def upward(ds):
    """Vertical force of all contacts [N], shape (time,); z of the world is up."""
    w, x, y, z = np.moveaxis(ds.orientation.values, -1, 0)
    up = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1)  # in axes of each body
    return (up * ds.force_contact.values[..., :3]).sum(axis=(1, 2))


def with_walk(scenario, **changed):
    """The scenario with other arguments of its controller."""
    (block,) = scenario.controllers
    controller = type(block.controller)(**{**block.controller.arguments, **changed})
    return scenario.controlled_by(replace(block, controller=controller))


@pytest.fixture(scope="module")
def hexapod():
    return hm.load_scenario("hexapod_walk")


def test_the_hexapod_walks_its_course_and_its_feet_carry_it(hexapod):
    run = hexapod.simulation().run(hexapod.duration)
    ds = run.recording
    assert not run.messages
    end = ds.position.sel(body="body")[-1].values
    course = Course((0.2, 0.0), np.radians(2.0), 2.0, ramp=0.8).at(99.0, np.zeros(3))
    np.testing.assert_allclose(end[:2], course.xy, atol=0.03)
    assert upward(ds)[40:].mean() == pytest.approx(102.0 * 9.81, rel=0.03)
    assert np.nanmax(np.abs(ds.signal.sel(channel=["error.roll", "error.pitch"]).values)) < 0.06
    assert np.abs(ds.energy_residual).max() < 0.1


class Ripple(Gait):
    """A custom gait: two legs at a time, from the rear to the front."""

    def __init__(self):
        super().__init__(period=2.4, duty=0.7)

    def offsets(self, places):
        return np.argsort(np.argsort(places[:, 0], kind="stable")) // 2 / 3.0


def test_a_users_own_gait_plugs_in(hexapod):
    walk = Walk(feet=FEET, gait=Ripple(), velocity=(0.15, 0.0), distance=0.6, foot_height=0.03, step_height=0.06)
    scenario = hexapod.simulation()
    sim = hm.Simulation(scenario.plant, controller=walk, step=0.001, record=0.05, state=scenario.state)
    ds = sim.run(8.0).recording
    swing = ds.signal.sel(channel=[f"swing.{foot}" for foot in FEET]).values > 0.0
    assert set(swing.sum(axis=1)) == {0, 2} and (swing.sum(axis=1) == 2).mean() > 0.4
    assert ds.position.sel(body="body", xyz="x")[-1].item() == pytest.approx(0.6, abs=0.03)


def test_height_and_stance_are_those_of_the_start(hexapod):
    """Not those of the model; and a resumed run keeps them, also in a simulation that is made with the later state."""
    scenario = hexapod.simulation()
    legs = Legs(scenario.model, FEET, "body")
    state = scenario.model.initial()
    state.q[:] = scenario.state.q
    first = state.q[legs.at].reshape(6, 3)
    angles, left = legs.angles(legs.positions(first)[0] * [1.05, 1.05, 1.0] + [0.0, 0.0, 0.06], first)
    assert left.max() < 1e-6
    state.q[legs.at] = angles.ravel()
    state.q[2] -= 0.06

    def simulation(given):
        walk = Walk(feet=FEET, velocity=(0.15, 0.0), foot_height=0.03, step_height=0.06)
        return hm.Simulation(scenario.plant, controller=walk, step=0.001, record=0.05, state=given)

    sim = simulation(state)
    later = sim.run(2.5).state
    assert later.q[2] == pytest.approx(state.q[2], abs=0.015)
    assert sim.controller.height == pytest.approx(0.03 - legs.positions(angles)[0][:, 2].mean())
    rest = sim.run(1.0).state
    assert simulation(later).run(1.0).state == rest
    other = simulation(None)
    other.state = later
    assert other.run(1.0).state == rest


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        (
            {"velocity": [1.2, 0]},
            UnreachableFoothold,
            "foot 'foot.' has no foothold within 0.05 m of x = .*out of reach; walk more slowly",
        ),
        ({"height": 0.8}, UnreachableFoothold, "out of its reach|out of reach"),
        ({"feet": ["foot1", "foot2", "hip3"]}, ValueError, "has 1 revolute joints"),
        ({"gait": "trot"}, ValueError, "gait is 'trot', must be a Gait"),
        ({"step_height": -1}, ValueError, "step_height is -1, must be"),
        ({"feet": ["foot1"]}, ValueError, "must be the names of at least three feet"),
    ],
)
def test_what_cannot_be_walked_is_a_named_error(hexapod, changed, error, words):
    with pytest.raises(error, match=words):
        with_walk(hexapod, **changed).simulation().run(4.0)


def test_a_machine_without_ground_or_motors_does_not_walk(hexapod):
    with pytest.raises(ValueError, match="no ground to walk on"):
        hm.Simulation(hm.load_plant("osu_hexapod"), controller=Walk(feet=FEET))
    floor = Terrain(name="floor", material=ROCK, shape=geometry.Plane.through((0, 0, 0), (0, 0, 1)))
    with pytest.raises(ValueError, match="joint 'hip1' is not driven"):
        hm.Simulation(hm.load("osu_hexapod"), components=[floor], controller=Walk(feet=FEET))


def test_aquarobot_walks_5_m_over_rubble_in_a_cross_current(tmp_path):
    """Without falling; its feet carry its weight in water on average; resumed it is the same run; ankles stay within their limits."""
    scenario = hm.load_scenario("aquarobot_rubble")
    sim = scenario.simulation()
    first = sim.run(6.0).state
    run = sim.run(scenario.duration - 6.0)
    ds = run.recording
    assert ds.position.sel(body="body", xyz="x")[-1].item() == pytest.approx(5.0, abs=0.1)
    errors = ds.signal.sel(channel=["error.y", "error.z", "error.roll", "error.pitch"]).values
    assert np.abs(errors).max() < 0.12
    weight = 9.81 * sum(b.inertia.mass - 1020.0 * b.hydro.volume for b in scenario.model.bodies)
    assert upward(ds).mean() == pytest.approx(weight, rel=0.03)
    assert np.abs(ds.energy_residual).max() < 0.5
    ankles = ds.q.sel(coordinate=[f"foot{k}.qw" for k in range(1, 7)]).values
    assert 0.05 < 2.0 * np.arccos(np.clip(np.abs(ankles), 0.0, 1.0)).max() < 0.8  # they follow the stones; stops at 0.7 rad
    hm.save_state(first, tmp_path / "state.json")
    other = scenario.simulation()
    other.state = hm.load_state(tmp_path / "state.json")
    sim.state = first
    assert other.run(0.5).state == sim.run(0.5).state


def main(seeds):
    """Print a row for each seed."""
    scenario = hm.load_scenario("aquarobot_rubble")
    (mound,) = scenario.parts(hm.contact.Terrain)
    x, y = np.array(mound.shape.x), np.array(mound.shape.y)
    weight = 9.81 * sum(b.inertia.mass - 1020.0 * b.hydro.volume for b in scenario.model.bodies)
    for seed in seeds:
        heights = geometry.rubble_mound(x, y, level=-10.0, stone=0.5, relief=0.25, seed=seed, start=1.4)
        other = replace(mound, shape=replace(mound.shape, heights=tuple(map(tuple, heights.tolist()))))
        ds = scenario.with_parts(other).simulation().run(scenario.duration).recording
        off = np.linalg.norm(ds.position.sel(body="body")[-1].values[:2] - [5.0, 0.0])
        z, roll, pitch = (np.abs(ds.signal.sel(channel=f"error.{w}").values[20:]).max() for w in ("z", "roll", "pitch"))
        print(f"| {seed} | {off:.3f} | {z:.3f} | {roll:.3f}, {pitch:.3f} | {upward(ds)[20:].mean() / weight:.3f} |", flush=True)


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or range(1, 6))
