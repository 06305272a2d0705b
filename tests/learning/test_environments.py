"""Gymnasium environments: Gymnasium's own checks, one world against many, seeds, randomisation, and what bad input gets."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'hydromechs[learn]'")

from dataclasses import replace  # noqa: E402

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

import hydromechs as hm  # noqa: E402
from hydromechs import learning  # noqa: E402
from hydromechs.errors import ScenarioError  # noqa: E402
from hydromechs.hydro import Current, Environment, Gusts  # noqa: E402
from hydromechs.library import load_scenario, load_vehicle  # noqa: E402

SMALL = {
    "StationKeeping": {},
    "TrajectoryTracking": {},
    "Reach": {},
    "PickAndPlace": {"scenario": "slow_manipulation"},
    "WalkAhead": {"scenario": "dante_step"},
}
"""Options with which each task compiles little."""
VARIED = dict(current=0.3, delay=0.13, noise={"position": 0.05, "rate": 0.02})


@pytest.mark.parametrize("name", learning.TASKS)
def test_check_env(name, recwarn):
    """Gymnasium's checker passes and has nothing to warn of; what it makes is registered."""
    env = gymnasium.make(f"HydroMechs/{name}-v0", disable_env_checker=True, **SMALL[name])
    recwarn.clear()
    check_env(env.unwrapped, skip_render_check=True)
    assert not [str(w.message) for w in recwarn]


def test_many_worlds_are_single_ones_side_by_side():
    """The native vector equals Gymnasium's vector of single environments, to the last bit: through ends of episodes, noise, delays."""
    options = dict(task="StationKeeping", randomisation=learning.Randomisation(**VARIED), duration=1.0, far=1.0)
    ours = learning.make_vector(num_envs=3, **options)
    theirs = SyncVectorEnv([lambda: learning.make_single(**options)] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    assert ours.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    for space in ("single_observation_space", "single_action_space", "observation_space", "action_space"):
        assert getattr(ours, space) == getattr(theirs, space)
    np.testing.assert_array_equal(ours.reset(seed=7)[0], theirs.reset(seed=7)[0])
    random, ends = np.random.default_rng(1), np.zeros(2, dtype=int)
    for _ in range(25):
        actions = random.uniform(-1, 1, ours.action_space.shape).astype(np.float32)
        a, b = ours.step(actions), theirs.step(actions)
        for x, y in zip(a[:4], b[:4], strict=True):
            np.testing.assert_array_equal(x, y)
            assert x.dtype == y.dtype and x.shape == y.shape
        done = a[2] | a[3]
        ends += [a[2].sum(), a[3].sum()]
        if done.any():
            np.testing.assert_array_equal(a[4]["_final_obs"], b[4]["_final_obs"])
            for k in np.flatnonzero(done):
                np.testing.assert_array_equal(a[4]["final_obs"][k], b[4]["final_obs"][k])
            np.testing.assert_array_equal(a[4]["final_info"]["distance"], b[4]["final_info"]["distance"])
    assert ends.min() > 0, "both kinds of ends were to be seen"


def test_seeds_and_masks():
    """The same seed gives the same episodes, another does not; a mask begins some worlds again and leaves the others."""
    env = learning.make_vector("TrajectoryTracking", 4)
    first, _ = env.reset(seed=3)
    assert len({row.tobytes() for row in first}) == 4
    after = env.step(np.full(env.action_space.shape, 0.5))[0]
    np.testing.assert_array_equal(env.reset(seed=3)[0], first)
    np.testing.assert_array_equal(env.step(np.full(env.action_space.shape, 0.5))[0], after)
    partly, _ = env.reset(seed=[9, None, None, None], options={"reset_mask": np.array([True, False, False, False])})
    np.testing.assert_array_equal(partly[1:], after[1:])
    assert env.arena.count.tolist() == [0, 1, 1, 1] and (partly[0] != after[0]).any()
    assert (env.reset(seed=4)[0][0] == first[1]).all(), "world k draws from seed + k"


def test_randomisation_reaches_the_worlds():
    """Masses, added mass and drag differ from world to world within their shares; worlds feel their own currents, and all is kept at home."""
    varied = learning.Randomisation(mass=0.1, added_mass=0.2, drag=0.3, current=0.4, bodies=("vehicle",))
    env = learning.make_vector("StationKeeping", 32, randomisation=varied, spread=0.0, turn=0.0)
    env.reset(seed=0)
    worlds, model = env.arena.worlds, hm.load("bluerov2_heavy_alpha5")
    mass = worlds.parameters["vehicle.inertia.mass"] / model.bodies[0].inertia.mass
    assert 0.9 <= mass.min() < 0.93 and 1.07 < mass.max() <= 1.1
    moment = worlds.parameters["vehicle.inertia.tensor"][:, 0] / model.bodies[0].inertia.tensor[0]
    np.testing.assert_allclose(moment, mass, rtol=1e-12)
    assert len([name for name in worlds.parameters if ".drag." in name]) == 2
    speed = np.linalg.norm(worlds.added_current, axis=1)
    assert speed.max() <= 0.4 and np.ptp(speed) > 0.1 and not worlds.added_current[:, 2].any()
    for _ in range(10):
        env.step(np.zeros(env.action_space.shape))
    drift = np.stack([env.arena.position[:, k] - env.arena.home_q[k] for k in (0, 1)], axis=1)
    assert np.corrcoef(drift.ravel(), worlds.added_current[:, :2].ravel())[0, 1] > 0.9


def test_delays_reach_the_actuators_late():
    """A command arrives after whole steps of the simulation; before, the rest command holds."""
    env = learning.make_single("StationKeeping", randomisation=learning.Randomisation(delay=0.25), spread=0.0, turn=0.0)
    env.reset(seed=0)
    env.arena._delay[:] = 17  # of 10 ms: one period and seven steps
    still, ahead = learning.make_single("StationKeeping", spread=0.0, turn=0.0), np.ones(8)
    still.reset(seed=0)
    env.step(ahead)
    still.step(0.0 * ahead)
    np.testing.assert_allclose(env.arena.worlds.q, still.arena.worlds.q, rtol=0, atol=1e-12)
    env.step(ahead)
    assert env.arena.worlds.command[0, 0] == 1900.0
    direct = learning.make_single("StationKeeping", spread=0.0, turn=0.0)
    direct.reset(seed=0)
    worlds = direct.arena.worlds
    worlds.step(None, 17)
    worlds.command[:, :8] = 1900.0
    worlds.step(None, 3)
    np.testing.assert_allclose(env.arena.worlds.q, worlds.q, rtol=0, atol=1e-12)


def test_gusts_differ_from_episode_to_episode():
    vehicle = load_vehicle("bluerov2_heavy_alpha5")
    gusty = replace(vehicle, environment=Environment(gusts=Gusts(sigma=(0.3, 0.3, 0.0), time_constant=5.0, interval=0.5)))
    env = learning.make_vector("StationKeeping", 2, scenario=gusty, step=0.01, duration=0.5, spread=0.0, turn=0.0)
    env.reset(seed=0)
    seeds = set(env.arena.worlds.seeds)
    for _ in range(5):
        env.step(np.zeros(env.action_space.shape))
    assert len(seeds | set(env.arena.worlds.seeds)) == 4


def test_jaws_close_and_carry():
    """The extra action closes the jaws; what they hold is seen and rewarded."""
    env = learning.make_single("PickAndPlace", scenario="slow_manipulation", spread=0.0)  # begins with the frame in the jaws
    seen, _ = env.reset(seed=0)
    assert seen[6] == 1.0
    held = env.step(np.array([0.0] * 11 + [1.0]))
    assert held[4]["holds"] and held[0][6] > 0.9
    for _ in range(10):
        free = env.step(np.array([0.0] * 11 + [-1.0]))
    assert not free[4]["holds"] and free[1] < held[1]


def test_a_world_that_diverges_ends_its_episode():
    env = learning.make_vector("StationKeeping", 3)
    env.reset(seed=0)
    env.arena.worlds.v[1] = 1e200
    seen, _, ended, _, infos = env.step(np.zeros(env.action_space.shape))
    assert ended.tolist() == [False, True, False] and infos["final_info"]["diverged"].tolist() == [False, True, False]
    assert np.isfinite(seen).all() and not env.arena.worlds.frozen.any()


def test_pictures():
    """A picture of the world with its goal, of Gymnasium's type; those of a vector, one for each world."""
    env = gymnasium.make("HydroMechs/Reach-v0", render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.dtype == np.uint8 and picture.shape == (360, 480, 3) and picture.std() > 10
    red = (picture[..., 0].astype(int) > picture[..., 2].astype(int) + 80).sum()
    assert red > 20, "the goal is marked"


def test_a_page_in_a_browser(capsys):
    env = gymnasium.make("HydroMechs/StationKeeping-v0", render_mode="human", disable_env_checker=True)
    env.reset(seed=0)
    env.step(np.zeros(8, dtype=np.float32))
    address = env.unwrapped._pictures.url
    assert address in capsys.readouterr().out
    env.close()
    assert env.unwrapped._pictures.url is None


@pytest.mark.parametrize(
    "make, error, words",
    [
        (
            lambda: learning.make_single("StationKeeping", scenario="bluerov"),
            ScenarioError,
            "no library scenario 'bluerov'",
        ),
        (lambda: learning.make_single("StationKeeping", scenario="puma560"), ValueError, "'puma560' has no actuators"),
        (
            lambda: learning.make_single("StationKeeping", scenario="snake"),
            ValueError,
            "has no thrusters, required by StationKeeping",
        ),
        (lambda: learning.make_single("Reach", scenario="dante"), ValueError, "has no thrusters, required by Reach"),
        (lambda: learning.make_single("Reach", frame="tol"), KeyError, "no frame or body 'tol'"),
        (lambda: learning.make_single("PickAndPlace", scenario="bluerov2_heavy_alpha5"), ValueError, "has no grip"),
        (lambda: learning.make_single("WalkAhead", scenario="free_decay"), ValueError, "no driven joints"),
        (lambda: learning.make_single("StationKeeping", spred=1.0), TypeError, "no option named 'spred'.*spread"),
        (lambda: learning.make_single("StationKeeping", spread=-1.0), ValueError, "spread"),
        (lambda: learning.make_single("StationKeeping", period=0.015), ValueError, "period"),
        (lambda: learning.make_single("StationKeeping", scenario=3), TypeError, "scenario is 3"),
        (lambda: learning.make_single("StationKeeping", render_mode="ascii"), ValueError, "render_mode is 'ascii'"),
        (
            lambda: learning.make_single("StationKeeping", ranges={"thruster_9": (0, 1)}),
            ValueError,
            "no command named 'thruster_9'",
        ),
        (lambda: learning.make_vector("StationKeeping", 0), ValueError, "num_envs"),
        (lambda: learning.Randomisation(mass=1.0), ValueError, "mass is 1.*must be below 1"),
        (lambda: learning.Randomisation(noise={"depth": 1.0}), ValueError, "noise: unknown key 'depth'"),
        (
            lambda: learning.make_single("StationKeeping", randomisation=learning.Randomisation(mass=0.1, bodies=("hull",))),
            KeyError,
            "hull",
        ),
    ],
)
def test_bad_input(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_bad_actions():
    env, vector = learning.make_single("StationKeeping"), learning.make_vector("StationKeeping", 2)
    env.reset(seed=0)
    vector.reset(seed=0)
    with pytest.raises(
        ValueError, match=r"actions have shape \(7,\); pass numbers of shape \(8,\), one for each of 8 commands: thruster_1"
    ):
        env.step(np.zeros(7))
    with pytest.raises(ValueError, match=r"shape \(2, 8\)"):
        vector.step(np.zeros(8))
    with pytest.raises(ValueError, match="finite"):
        env.step(np.full(8, np.nan))
    with pytest.raises(ValueError, match="one seed for each of 2 worlds"):
        vector.reset(seed=[1])


def test_worlds_feel_their_own_current():
    """A current that is added to worlds moves them as one of the plant's own does; reset keeps it."""
    vehicle = load_vehicle("bluerov2_heavy_alpha5")
    always = np.array([0.1, 0.0, 0.0])
    steady = np.array([[0.2, -0.1, 0.05], [-0.3, 0.0, 0.0]])
    plants = [
        replace(vehicle.plant, environment=Environment(current=Current(velocity=c))) for c in (always, *(steady + always))
    ]
    ours, *theirs = (hm.Worlds(p, n, step=0.01) for p, n in zip(plants, (2, 1, 1), strict=True))
    ours.add_current(steady)
    for _ in range(2):
        ours.reset()
        ours.step(None, 20)
        for k, one in enumerate(theirs):
            one.reset()
            one.step(None, 20)
            np.testing.assert_allclose(ours.q[k], one.q[0], rtol=0, atol=1e-13)
    ours.add_current((0.0, 0.0, 0.0), [1])
    assert ours.added_current.tolist() == [[0.2, -0.1, 0.05], [0.0, 0.0, 0.0]]
    with pytest.raises(ValueError, match="has no current"):
        hm.Worlds(vehicle.plant, 1, step=0.01).add_current((0.1, 0, 0))
    with pytest.raises(ValueError, match=r"velocity must be finite with shape \(3,\) or \(2, 3\)"):
        ours.add_current([0.1, 0.2])


def test_stable_baselines_sees_the_ends_of_episodes():
    """Its checks of a vector environment hold: last observations, cut-off episodes, seeds."""
    pytest.importorskip("stable_baselines3", reason="needs Stable-Baselines3: pip install 'hydromechs[learn]'")
    env = learning.StableBaselinesEnv(learning.make_vector("StationKeeping", 2, duration=0.2))
    env.seed(3)
    first = env.reset()
    env.step(np.zeros((2, 8)))
    seen, reward, done, infos = env.step(np.zeros((2, 8)))
    assert done.all() and all(info["TimeLimit.truncated"] for info in infos)
    assert (infos[0]["terminal_observation"] != seen[0]).any() and reward.dtype == np.float32
    env.seed(3)
    np.testing.assert_array_equal(env.reset(), first)


def test_a_scenario_declares_what_varies(tmp_path):
    """The randomisation of a scenario file reaches the worlds; one that is given takes its place; a wrong body is a error of the file."""
    text = "hydromechs_scenario: 2\nname: x\nrun: {duration: 10}\nmodels: {m: {plant: bluerov2_heavy_alpha5}}\n"
    file = tmp_path / "x.yaml"
    file.write_text(text + "randomisation: {mass: 0.1, bodies: [vehicle], noise: {position: 0.5}}\n")
    env = learning.make_vector("StationKeeping", 8, scenario=str(file), step=0.01)
    env.reset(seed=0)
    assert np.ptp(env.arena.worlds.parameters["vehicle.inertia.mass"]) > 0.1
    assert env.arena._sigma[:3].tolist() == [0.5] * 3 and not env.arena._sigma[3:].any()
    other = learning.make_vector("StationKeeping", 8, scenario=str(file), step=0.01, randomisation=learning.Randomisation())
    assert not other.arena.worlds.parameters
    file.write_text(text + "randomisation: {bodies: [hull], parameters: {vehicle.hydro.volum: [1, 2]}}\n")
    with pytest.raises(ScenarioError, match="no body 'hull'(.|\n)*no 'volum'"):
        load_scenario(file)


def test_a_policy_sees_what_the_sensors_of_the_scenario_say():
    """Readings with their errors in place of the true motion, by the seed of the episode, the same for one world as for many."""
    noise = hm.sensors.Noise(sigma=0.05, bias=0.1)
    scenario = load_vehicle("bluerov2_heavy_alpha5")
    depth = hm.sensors.DepthGauge(name="depth", frame="vehicle", rate=10.0, noise=noise)
    compass = hm.sensors.Compass(name="compass", frame="vehicle", rate=5.0, latency=0.2, noise=noise)
    scenario = scenario.with_parts(depth, compass)
    options = dict(task="StationKeeping", scenario=scenario, step=0.01, duration=1.0, sensors=("depth", "compass"))
    many, one = learning.make_vector(num_envs=3, **options), learning.make_single(**options)
    labels = many.arena.labels
    assert labels[6:8] == ("depth.depth", "compass.heading") and not {"velocity", "rate", "joint"} & set(labels)
    check_env(one, skip_render_check=True)
    seen, _ = many.reset(seed=4)
    alone, _ = one.reset(seed=5)
    for _ in range(12):  # through the end of an episode
        np.testing.assert_array_equal(seen[1], alone)
        error = seen[:, 6] - many.arena.position[:, 2]
        assert 1e-4 < np.abs(error).max() < 1.0 and len(np.unique(error)) == 3
        action = np.zeros(many.action_space.shape, np.float32)
        seen = many.step(action)[0]
        alone, *_, over, _ = one.step(action[1])
        alone = one.reset()[0] if over else alone
    with pytest.raises(ValueError, match=r"no sensor named 'dept' .*did you mean 'depth'.*available: depth, compass"):
        learning.make_single("StationKeeping", scenario=scenario, sensors=("dept",))
