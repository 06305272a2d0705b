"""Frame walkers and modules on ball joints: their geometry, their scenarios, custom gaits, and what they cannot do.

`python tests/scenarios/test_frame_walkers.py` runs all walking scenarios and prints the rows of the table in docs/legged_machines.md.
"""

import time
from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import geometry
from hydromechs.contact import MATERIALS, Terrain
from hydromechs.equations import kinematics
from hydromechs.errors import UnreachableFoothold
from hydromechs.walking import AlternatingSupport, ArticulatedDrive, FlatPose, FrameWalker, Step, SupportGait

CONCRETE = MATERIALS["concrete"]
SCENARIOS = ("dante_step", "k2t_walk", "waav_step")


@pytest.fixture(scope="module")
def scenarios():
    return {name: hm.load_scenario(name) for name in SCENARIOS}


@pytest.fixture(scope="module")
def programs(scenarios):
    """A simulation of each scenario; those with other controllers share its plant and so its programs."""
    return {name: scenario.simulation() for name, scenario in scenarios.items()}


def changed(scenarios, programs, name, kind=None, **parameters):
    """The scenario's simulation with another controller, or with other parameters of its own."""
    (block,) = scenarios[name].controllers
    given = {**block.controller.arguments, **parameters}
    kind = kind or type(block.controller)
    sim = programs[name]
    return hm.Simulation(
        sim.plant, controller=kind(**given), step=sim.step_size, record=0.05, state=scenarios[name].simulation().state
    )


def upward(ds):
    """Vertical force of all contacts [N], shape (time,); z of the world is up."""
    w, x, y, z = np.moveaxis(ds.orientation.values, -1, 0)
    up = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1)  # in axes of each body
    return (up * ds.force_contact.values[..., :3]).sum(axis=(1, 2))


def weight(model):
    """In water [N]."""
    water = model.world.water_density
    return 9.81 * sum(b.inertia.mass - (water * b.hydro.volume if b.hydro else 0.0) for b in model.bodies)


# -- geometry -----------------------------------------------------------------------------------------------------------


def test_poses_over_the_ground_compose_as_rotations_do():
    a, b = FlatPose(1.0, -2.0, 0.7), FlatPose(0.3, 0.4, -1.9)
    there = a.then(b)
    np.testing.assert_allclose(a.back().then(there), b, atol=1e-14)
    np.testing.assert_allclose(
        there.points(np.array([[0.5, 0.2, 9.0]])), a.points(b.points(np.array([[0.5, 0.2]]))), atol=1e-14
    )


@pytest.mark.parametrize("name", ["dante_step", "k2t_walk"])
def test_feet_are_where_kinematics_has_them_and_joints_lead_back(scenarios, name):
    model = scenarios[name].model
    walker = FrameWalker(model, scenarios[name].controllers[0].controller.halves)
    q = model.initial().q
    q[:7] = model.neutral()[0][:7]
    at = q[walker.at] + np.random.default_rng(3).uniform(-0.15, 0.15, len(walker.at))
    q[walker.at] = at
    kin = kinematics(model, q, np.zeros(model.nv))
    torso = np.zeros(2)
    present = [k for k, part in enumerate(walker.torso) if part]
    torso[present] = at[: len(present)]
    first, second = (kin.X_WB[model.body_index(half)] for half in walker.names)
    X = np.linalg.inv(first) @ second
    np.testing.assert_allclose(walker.relative(torso), [X[0, 3], X[1, 3], np.arctan2(X[1, 0], X[0, 0])], atol=1e-14)
    assert X[2, 3] == pytest.approx(walker.depth)
    feet = walker.positions(at)
    for foot, half, place in zip(walker.feet, walker.half, feet, strict=True):
        where = model.locate(foot)
        world = kin.X_WB[where.body][:3, :3] @ where.p + kin.X_WB[where.body][:3, 3]
        np.testing.assert_allclose(np.linalg.inv((first, second)[half]) @ [*world, 1.0], [*place, 1.0], atol=1e-14)
    np.testing.assert_allclose(walker.legs(feet), at[len(present) :], atol=1e-12)


def test_machines_that_are_no_frame_walkers_are_named_with_what_is_wrong():
    dante, hexapod = hm.load("dante"), hm.load("osu_hexapod")
    outer = [f"outer_{x}_foot" for x in ("front_port", "front_starboard", "rear_port")]
    inner = [x.replace("outer", "inner") for x in outer]
    with pytest.raises(ValueError, match="'outer' is not connected to body 'inner'"):
        FrameWalker(dante, {"inner": inner, "outer": outer})
    with pytest.raises(ValueError, match="foot 'inner_front_port_foot' has 'inner.1' .*slide"):
        FrameWalker(dante, {"outer": inner, "inner": outer})
    with pytest.raises(ValueError, match="joint 'hip1' is revolute; use a slide|has 'hip1'"):
        FrameWalker(hexapod, {"body": ["foot1", "foot2", "foot3"], "hip1": ["foot4", "foot5", "foot6"]})
    with pytest.raises(ValueError, match="halves is .*must contain two bodies"):
        AlternatingSupport(halves={"outer": outer})


# -- scenarios ----------------------------------------------------------------------------------------------------------


def test_dante_walks_over_a_ledge(scenarios, programs):
    """It passes its checks; four feet or more stand at any time; its frames carry it in turn; resumed it is the same run."""
    scenario, sim = scenarios["dante_step"], programs["dante_step"]
    start = sim.state
    run = sim.run(scenario.duration)
    ds = run.recording
    assert not run.messages
    assert [check.judge(ds).text for check in scenario.checks if not check.judge(ds).passed] == []
    assert upward(ds)[20:].mean() == pytest.approx(weight(scenario.model), rel=0.005)
    feet = ds.contact_force.values[20:] > 0.0
    assert feet.sum(axis=1).min() >= 4
    on_ledge = [x for x in ds.contact.values if x.endswith("on ledge")]
    assert (ds.contact_force.sel(contact=on_ledge).max(dim="time") > 500.0).all()  # every foot has stood there
    raised = ds.signal.sel(channel=["raised.outer", "raised.inner"]).values
    assert np.minimum(*raised.T).max() == 0.0 and (raised.max(axis=0) > 0.99).all()
    sim.state = start
    first = sim.run(6.5).state
    whole = sim.run(0.5).state
    sim.state = first
    assert sim.run(0.5).state == whole


def test_k2t_walks_along_an_arc(scenarios, programs):
    """Three steps of it: it goes ahead and turns, on four feet or more, and its feet carry its weight in water."""
    scenario, sim = scenarios["k2t_walk"], programs["k2t_walk"]
    run = sim.run(1.0 + 3 * 4.5)
    ds = run.recording
    assert not run.messages
    late = [check for check in scenario.checks if check.statistic == "last"]
    assert [c.judge(ds).text for c in scenario.checks if c not in late and not c.judge(ds).passed] == []
    assert upward(ds)[20:].mean() == pytest.approx(weight(scenario.model), rel=0.01)
    assert (ds.contact_force.values[20:] > 0.0).sum(axis=1).min() >= 4
    x, y = ds.position.sel(body="lower")[-1].values[:2]
    lead = 0.25  # half of the stride; the second half has gone 2 leads and the first 1 and a half, its legs being ahead by half a lead
    assert x == pytest.approx(2.5 * lead, abs=0.06) and 0.02 < y < 0.08
    yaw = 2.0 * np.arctan2(*ds.orientation.sel(body="lower")[-1].values[[3, 0]])
    assert yaw == pytest.approx(np.radians(6.0), abs=0.02)


class AboutTurn(SupportGait):
    """A custom gait: turns on the spot, then walks."""

    def __init__(self):
        super().__init__(lift=0.5, move=1.5, lower=0.5, shift=0.2)

    def step(self, number):
        return Step(stride=0.0, turn=np.radians(10.0)) if number < 3 else Step(stride=0.3, turn=0.0)


def test_height_and_stance_are_those_of_the_start(scenarios, programs):
    """Not those of the model; and a resumed run keeps them, also in a simulation that is made with the later state."""
    there, given = programs["k2t_walk"], scenarios["k2t_walk"].controllers[0].controller.arguments
    walker = FrameWalker(there.model, given["halves"])
    state = there.model.initial()
    state.q[:] = scenarios["k2t_walk"].simulation().state.q
    joints = state.q[walker.at]
    torso = len(joints) - 2 * len(walker.feet)
    joints[torso:] = walker.legs(walker.positions(joints) + np.array([0.03, 0.0, 0.05]))
    state.q[walker.at] = joints
    state.q[2] -= 0.05

    def simulation(start):
        return hm.Simulation(
            there.plant, controller=AlternatingSupport(**given), step=there.step_size, record=0.05, state=start
        )

    sim = simulation(state)
    later = sim.run(3.0).state
    assert later.q[2] == pytest.approx(state.q[2], abs=0.015)
    assert sim.controller.height == pytest.approx(0.05 - np.mean(over(walker, joints)))
    rest = sim.run(1.0).state
    assert simulation(later).run(1.0).state == rest


def over(walker, joints):
    """z of the feet in the first half's axes [m], shape (n,)."""
    return walker.positions(joints)[:, 2] + np.where(walker.half == 1, walker.depth, 0.0)


def test_a_users_own_gait_plugs_in(scenarios, programs):
    sim = changed(scenarios, programs, "k2t_walk", gait=AboutTurn(), distance=None)
    ds = sim.run(1.0 + 5 * 2.7).recording
    q = ds.orientation.sel(body="lower").values
    yaw = 2.0 * np.arctan2(q[:, 3], q[:, 0])
    x, y = ds.position.sel(body="lower", xyz=["x", "y"]).values.T
    turned = int(np.searchsorted(ds.time, 1.0 + 3 * 2.7))
    assert np.hypot(x, y)[:turned].max() < 0.03  # it stays in its place
    assert yaw[-1] == pytest.approx(np.radians(30.0), abs=0.02)
    assert np.hypot(x, y)[-1] > 0.15 and np.arctan2(y[-1], x[-1]) == pytest.approx(yaw[-1], abs=0.2)  # and goes where it looks


class Rigid(ArticulatedDrive):
    """Keeps its ball joints straight."""

    def _rotations(self, heights, steer):
        return [np.zeros(3), np.zeros(3)]


def test_waav_drives_over_a_ledge_that_wheels_cannot_climb(scenarios, programs):
    scenario, sim = scenarios["waav_step"], programs["waav_step"]
    run = sim.run(scenario.duration)
    ds = run.recording
    assert not run.messages
    assert [check.judge(ds).text for check in scenario.checks if not check.judge(ds).passed] == []
    assert upward(ds)[20:].mean() == pytest.approx(weight(scenario.model), rel=0.005)
    wheels = ds.position.sel(body=["front_port", "middle_port", "rear_port"], xyz="z").values
    assert (wheels.max(axis=0) > 0.54).all()  # all have been on the ledge of 0.3 m
    stuck = changed(scenarios, programs, "waav_step", Rigid, distance=2.0).run(12.0).recording
    assert stuck.position.sel(body="front_port", xyz="x").max().item() < 1.8  # before the ledge


def test_ball_joints_steer_back_to_the_line(scenarios, programs):
    sim = changed(scenarios, programs, "waav_step")
    sim.controller.memory = np.array([1.0, 0.0, 0.15, 0.0])  # as if it had begun 15 cm to port, on the same heading
    off = sim.run(16.0).recording.signal.sel(channel=["error.side", "error.yaw"]).values
    assert off[0, 0] == pytest.approx(0.15) and np.abs(off[-1]).max() < 0.02


# -- what cannot be done ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameters", "error", "words"),
    [
        (
            "dante_step",
            {"height": 2.0},
            UnreachableFoothold,
            "half 'inner' finds no footholds for steps up to 1 m: joint '.*' would",
        ),
        (
            "dante_step",
            {"step_height": 0.9},
            UnreachableFoothold,
            "finds no footholds .*: joint 'inner_front_port' would exceed",
        ),
        (
            "dante_step",
            {"gait": SupportGait(turn_deg=20)},
            ValueError,
            "turns by 20 degrees per step, but joint 'inner.2' turns by at most 11.5",
        ),
        ("dante_step", {"gait": "trot"}, ValueError, "gait is 'trot', must be a SupportGait"),
        ("dante_step", {"evenness": -1}, ValueError, "evenness is -1, must"),
        (
            "waav_step",
            {"modules": {"middle": ["front_port"], "front": ["front_port"], "rear": ["rear_port"]}},
            ValueError,
            "is not on a revolute joint of module 'middle'",
        ),
        (
            "waav_step",
            {"modules": {"front": [], "middle": [], "rear": []}},
            ValueError,
            "modules is .*must contain three bodies",
        ),
        ("waav_step", {"velocity": 0}, ValueError, "velocity is 0, must be"),
    ],
)
def test_what_cannot_be_walked_is_a_named_error(scenarios, programs, name, parameters, error, words):
    with pytest.raises(error, match=words):
        changed(scenarios, programs, name, **parameters).run(1.2)


def test_a_ledge_that_is_too_high_is_rejected_before_it_is_reached(scenarios):
    scenario = scenarios["waav_step"]
    _, ledge = scenario.parts(hm.contact.Terrain)
    high = scenario.with_parts(replace(ledge, shape=replace(ledge.shape, size=(1.2, 4.0, 1.2)))).simulation()
    with pytest.raises(UnreachableFoothold, match=r"the ball joint of 'front' would exceed its limit of 0.8 rad .* m ahead"):
        high.controller(high.state)
    pillar = Terrain(
        name="pillar", material=CONCRETE, origin=hm.Origin((1.1, 0.0, 0.0)), shape=geometry.Box(size=(0.2, 4.0, 4.0))
    )
    walker = scenarios["dante_step"].with_parts(pillar).simulation()
    controller, state = walker.controller, replace(walker.state, t=1.0)
    with pytest.raises(UnreachableFoothold, match="t = 1.000 s: half 'inner' finds no footholds for steps up to 1 m"):
        controller(state)


def test_feet_below_the_ground_at_the_start_are_rejected(scenarios):
    scenario = scenarios["k2t_walk"]
    (model,) = scenario.models
    with pytest.raises(hm.ScenarioError, match="starts 0.32 m inside .*contact 'lower_front_port on sand'"):
        replace(scenario, models=(replace(model, position=(0.0, 0.0, -3.7)),))
    sim = scenario.simulation()
    q = sim.state.q.copy()
    q[2] -= 0.3
    with pytest.raises(
        ValueError, match="foot 'lower_front_port_foot' is 0.300 m below the ground at the start; raise the initial position"
    ):
        sim.controller(replace(sim.state, q=q))


def main():
    """Print a row for each walking scenario."""
    for name in ("hexapod_walk", "aquarobot_rubble", *SCENARIOS):
        scenario = hm.load_scenario(name)
        sim = scenario.simulation()
        sim.compile()
        began = time.process_time()
        ds = sim.run(scenario.duration).recording
        factor = scenario.duration / (time.process_time() - began)
        carried = upward(ds)[ds.time.values >= 1.0].mean() / weight(scenario.model)
        residual = np.abs(ds.energy_residual).max().item()
        print(f"| `{name}` | {scenario.duration:g} | {factor:.0f} | {residual:.4f} | {carried:.3f} |", flush=True)


if __name__ == "__main__":
    main()
