"""Worlds on the CPU: against simulations step by step, against each other in batches of all sizes; starts, seeds, stopped worlds."""

import sys
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.sensed import sensed as sensed_by

import hydromechs as hm
from hydromechs import contact, geometry
from hydromechs.actuation import Thruster, drives, linear_curve
from hydromechs.errors import UnsupportedFeature
from hydromechs.hydro import Current, Gusts, RegularWave
from hydromechs.integrators import method_named
from hydromechs.library import load_scenario, scenario_names
from hydromechs.model import added_mass, drag, joints
from hydromechs.sensors import Channel, DepthGauge, Dvl, Imu, Mounted, Noise, Usbl
from hydromechs.simulation import components_of
from hydromechs.spatial import quaternion_from_matrix

pytestmark = pytest.mark.optimised  # tests share compiled plants and compare their bits

STEP = 2e-3
MASS = "hull.inertia.mass"


def rover():
    """A vehicle with a thruster and a ball for contact, an arm with limits, and a pipe that the arm holds."""
    hull = hm.Body(
        name="hull",
        joint=joints.Free(
            position=(0.1, 0.2, 4.83), orientation=(0.96, 0.2, -0.1, np.sqrt(0.0284)), velocity=(0.3, 0.1, 0.2, 0.1, 0.2, -0.1)
        ),
        inertia=hm.Inertia(mass=11.0, com=(0.02, -0.01, 0.03), tensor=(0.2, 0.3, 0.4, 0.01, 0.02, -0.01)),
        hydro=hm.Hydro(
            volume=0.01,
            buoyancy_center=(0.0, 0.01, -0.05),
            added_mass=added_mass.Diagonal((4.0, 6.0, 8.0, 0.1, 0.2, 0.3)),
            drag=(drag.Damping(linear=(4.0, 5.0, 6.0, 0.3, 0.4, 0.5), quadratic=(9.0, 12.0, 15.0, 0.2, 0.3, 0.4)),),
        ),
        frames=(hm.Frame("port", hm.Origin((-0.2, -0.2, 0.05), (0.1, 0.2, 0.1))),),
        shapes=(geometry.Sphere(radius=0.2),),
    )
    arm = hm.Body(
        name="arm",
        parent="hull",
        joint=joints.Revolute(
            axis=(0, 1, 0.2), placement=hm.Origin((0.3, 0.0, 0.1)), limits=(-0.3, 0.15), damping=0.2, position=0.1
        ),
        inertia=hm.Inertia(mass=1.0, com=(0.15, 0.0, 0.01), tensor=(0.01, 0.02, 0.03, 0, 0, 0)),
    )
    model = hm.Model(name="rover", bodies=[hull, arm])
    pose = hm.kinematics(model, model.initial().q, model.initial().v)[0][1]
    pipe = hm.Body(
        name="pipe",
        joint=joints.Free(position=tuple(pose[:3, 3]), orientation=tuple(quaternion_from_matrix(pose[:3, :3]))),
        inertia=hm.Inertia(mass=0.5, com=(0.2, 0.0, 0.0), tensor=(0.01, 0.02, 0.02, 0, 0, 0)),
    )
    return hm.Model(name="rover", bodies=[hull, arm, pipe])


def floor():
    """A bumpy floor from heights on a grid, which is looked up in tables."""
    x = y = (-1.0, 0.0, 1.0)
    heights = ((-5.0, -5.02, -4.98), (-5.01, -5.0, -5.03), (-4.99, -5.0, -5.01))
    material = contact.Material(
        law=contact.NonlinearContact(stiffness=2e4, damping_factor=0.2),
        friction=contact.DryFriction(static=0.5, kinetic=0.4, stiffness=8e3, damping=100.0),
    )
    return contact.Terrain(name="floor", material=material, shape=geometry.HeightField(x=x, y=y, heights=heights))


WATER = hm.Environment(
    current=Current(velocity=(0.2, -0.1, 0.0)),
    gusts=Gusts(sigma=(0.1, 0.1, 0.05), time_constant=1.0, interval=0.02),
    waves=[RegularWave(height=0.5, period=5.0, direction=0.4)],
)


def make_plant():
    """Thruster, servo, stops, contact with a grid, a grasp, gusts and waves, an open mass."""
    model = rover()
    thruster = Thruster(
        name="port", frame="port", curve=linear_curve(40, 30, dead_band=0.05), time_constant=0.1, zero_thrust_speed=3.0
    )
    acting = components_of(
        model,
        [
            floor(),
            thruster,
            drives.Servo(joint="arm", stiffness=60.0, damping=3.0, limit=20.0),
            hm.actuation.ExternalWrench(body="hull"),
            contact.Grasp(name="hand", holder="arm", held="pipe"),
        ],
    )
    return hm.Plant(model=model, components=acting, environment=WATER, seed=3, parameters=(MASS,))


class Turn(hm.TracedBlock):
    """PI on the yaw rate; the arm waves to its stops."""

    period = 5 * STEP
    first_memory = {"total": 0.0}

    def prepare(self, site):
        self.commanded = site.actuators

    def update(self, tick):
        error = 0.3 - tick.v[5]
        total = tick.memory["total"] + self.period * error
        values = [0.2 + 0.4 * error + 0.8 * total, 0.4 * np.sin(8.0 * tick.t)]
        return hm.Update(dict(zip(self.commanded, values, strict=True)), {"total": total})


@pytest.fixture(scope="module")
def plant():
    return make_plant()


def states(worlds):
    return np.concatenate([worlds.q, worlds.v, worlds.internal], axis=1)


def state_row(state):
    return np.concatenate([state.q, state.v, state.internal])


def difference(a, b):
    return float((np.abs(a - b) / np.maximum(1.0, np.abs(b))).max())


def test_worlds_are_simulations_step_by_step(plant):
    """Thruster, servo, stops, contact with a grid, a grasp, gusts, waves, an open mass and a law: every step to 1e-12."""
    sim = hm.Simulation(plant, controller=Turn(), step=STEP, record=STEP, parameters={MASS: 11.5})
    run = sim.run(60 * STEP)
    record = run.recording
    want = np.concatenate([record[name].values for name in ("q", "v", "internal_state")], axis=1)
    assert float(np.abs(record.contact_force).max()) > 1.0 and float(record.q.sel(coordinate="arm").max()) > 0.15
    assert float(np.abs(record.grasp_force).max()) > 0.1
    worlds = hm.Worlds(plant, 3, step=STEP, controller=Turn(), parameters={MASS: [11.0, 11.5, 12.0]})
    rolled = worlds.rollout(None, 60)
    got = np.concatenate([rolled.q, rolled.v, rolled.internal], axis=2)
    assert difference(got[1], want) < 1e-12
    assert difference(got[0], want) > 1e-6  # another mass
    np.testing.assert_allclose(rolled.t, record.time, rtol=0, atol=1e-12)
    assert difference(rolled.command[1], run.state.command) < 1e-12 and not worlds.frozen.any()
    one_by_one = hm.Worlds(plant, 3, step=STEP, controller=Turn(), parameters={MASS: [11.0, 11.5, 12.0]})
    for k in range(60):
        one_by_one.step()
        np.testing.assert_array_equal(states(one_by_one), got[:, k + 1])


@pytest.mark.parametrize("name", ["bluerov2_square"])
def test_worlds_of_a_library_scenario(name):
    """From the state of a mission under way, the next steps with its commands are those of the simulation to 1e-12."""
    compare_with_worlds(load_scenario(name))


def compare_with_worlds(scenario):
    sim = scenario.simulation()
    sim.begin().advance(sim.step_size * round(0.1 / sim.step_size))
    worlds = hm.Worlds(scenario.plant, 2, start=sim.state, step=scenario.step, method=scenario.integrator)
    for _ in range(10):
        worlds.step()
        assert difference(states(worlds)[1], state_row(sim.step())) < 1e-12
    bare = replace(scenario, blocks=(), events=(), checks=())
    whole, sim = hm.Worlds(bare, 2), bare.simulation()
    whole.step(steps=5)
    assert difference(states(whole)[0], state_row(sim.step(duration=5 * bare.step))) < 1e-12


def test_no_bit_depends_on_the_number_of_worlds_lanes_in_use_or_threads(plant):
    """Batches of 1, 3, 8 and 37 worlds on one and on two threads, the same world at other places: equal to the last bit."""
    rng = np.random.default_rng(0)
    v = 0.2 * rng.normal(size=(37, plant.model.nv))
    mass = rng.uniform(10.0, 12.0, 37)
    ends = {}
    for n, threads in ((37, 1), (37, 2), (8, 1), (3, 1), (1, 1)):
        worlds = hm.Worlds(plant, n, step=STEP, controller=Turn(), parameters={MASS: mass[:n]}, threads=threads)
        worlds.start_v[:] = v[:n]
        worlds.reset(seed=5)
        worlds.step(steps=25)
        ends[n, threads] = states(worlds)
    for (n, _), end in ends.items():
        np.testing.assert_array_equal(end, ends[37, 1][:n])
    alone = hm.Worlds(plant, 1, step=STEP, controller=Turn(), parameters={MASS: mass[20]})
    alone.start_v[:] = v[20]
    seeds = hm.Worlds(plant, 37, step=STEP, controller=Turn(), seed=5).seeds
    alone.reset(seed=[seeds[20]])
    alone.step(steps=25)
    np.testing.assert_array_equal(states(alone)[0], ends[37, 1][20])


def test_reset_of_some_worlds(plant):
    """Worlds that are reset do again what they did; the others continue as if nothing had happened, each at its own time."""
    worlds = hm.Worlds(plant, 4, step=STEP, controller=Turn(), seed=1)
    first = worlds.rollout(None, 12).q
    worlds.reset([True, False, True, False])
    np.testing.assert_allclose(worlds.t, [0, 12 * STEP, 0, 12 * STEP], atol=1e-15)
    second = worlds.rollout(None, 12)
    np.testing.assert_array_equal(second.q[::2], first[::2])
    assert second.t.shape == (4, 13)
    whole = hm.Worlds(plant, 4, step=STEP, controller=Turn(), seed=1)
    np.testing.assert_array_equal(second.q[1::2], whole.rollout(None, 24).q[1::2, 12:])
    worlds.reset([1], seed=9)
    worlds.step(steps=24)
    assert difference(worlds.q[1], second.q[1, -1]) > 1e-9  # other gusts


def test_a_world_that_diverges_is_frozen_and_reported(plant):
    """It stays at its last finite state through later calls with good inputs until it is reset; the others have the same bits."""
    worlds, others = (hm.Worlds(plant, 3, step=STEP) for _ in range(2))
    force = np.zeros((3, 10))
    force[1, 4] = 1e200
    worlds.step({"external.hull.Z": force}, 10)
    others.step({"external.hull.Z": np.zeros((3, 10))}, 10)
    np.testing.assert_array_equal(worlds.frozen, [False, True, False])
    np.testing.assert_array_equal(states(worlds)[::2], states(others)[::2])
    stuck = states(worlds)[1].copy()
    worlds.step({"external.hull.Z": 0.0}, 5)
    np.testing.assert_array_equal(states(worlds)[1], stuck)
    assert worlds.t[0] == pytest.approx(15 * STEP) and 4 * STEP <= worlds.t[1] + 1e-9 <= 5 * STEP + 2e-9
    (text,) = worlds.report()
    assert text.startswith("world 1: t = 0.0") and "moves fastest" in text and "1 frozen" in repr(worlds)
    worlds.reset([1])
    worlds.step(steps=3)
    assert not worlds.frozen.any() and not worlds.report()
    worlds.command[0, 0] = np.nan
    worlds.step()
    np.testing.assert_array_equal(worlds.frozen, [True, False, False])


def test_views_are_the_state_itself():
    """q, v, inputs and parameters are arrays to write into; nothing is copied on the way."""
    model = hm.load("bluerov2_heavy_alpha5")
    worlds = hm.Worlds(model, 5, method="semi_implicit_euler", inputs=["fluid_velocity"], parameters=["vehicle.inertia.mass"])
    q, v = worlds.q, worlds.v
    address = q.__array_interface__["data"]
    worlds.q[:, 2] = 3.0
    worlds.inputs["fluid_velocity"][:] = (0.3, 0.0, 0.0)
    worlds.parameters["vehicle.inertia.mass"][2] *= 1.5
    worlds.step(np.zeros(model.nv), 20)
    assert worlds.q is q and worlds.q.__array_interface__["data"] == address and np.shares_memory(worlds.v, v)
    assert (v[:, 0] > 1e-3).all() and np.abs(q[0] - q[1]).max() == 0.0 and np.abs(q[0] - q[2]).max() > 1e-6
    dyn = hm.compile(model, parameters=["vehicle.inertia.mass"])
    start = np.tile(model.initial().q, (5, 1))
    start[:, 2] = 3.0
    mass = np.array(worlds.parameters["vehicle.inertia.mass"])
    given = {"tau": np.zeros(model.nv), "fluid_velocity": (0.3, 0.0, 0.0)}
    rolled = hm.rollout(
        dyn, start, np.zeros(model.nv), given, 1e-3, 20, method="semi_implicit_euler", parameters={"vehicle.inertia.mass": mass}
    )
    np.testing.assert_array_equal(rolled.q[:, -1], q)


SENSORS = (
    Imu(name="imu", frame="port", rate=100.0, accelerometer=Noise(density=2e-3, bias=0.03, walk=3e-4), misalignment=0.02),
    Dvl(name="dvl", frame="hull", rate=25.0, latency=0.03, noise=Noise(sigma=0.01, bias=0.002), range=60.0, nearest=0.01),
    DepthGauge(name="depth", frame="hull", rate=50.0, dropout=0.2, noise=Noise(sigma=0.03, resolution=0.01), seed=4),
    Usbl(name="usbl", frame="hull", rate=10.0, latency=0.05, range_sigma=0.1, bearing_sigma=0.01, outages=((0.1, 0.15),)),
)
"""At their own rates, some late, some missing, with noise, biases, walks, rounding, and a mounting that is misaligned."""
GROUND = contact.Terrain(
    name="ground",
    material=contact.Material(law=contact.LinearContact(stiffness=1e4)),
    shape=geometry.Plane.through((0, 0, 9.0), (0.1, 0, -0.995)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed(Mounted):
    """Velocity of its frame: a custom sensor."""

    def channels(self, model):
        return [Channel(x, "m/s", Noise(sigma=0.01)) for x in "xyz"]

    def read(self, instant):
        return instant.mount(self.name, self.frame).v


@pytest.fixture(scope="module")
def swimmer():
    """The vehicle in gusts without its arm, contact and pipe: a small program."""
    model = hm.Model(name="swimmer", bodies=rover().bodies[:1])
    water = hm.Environment(gusts=Gusts(sigma=(0.1, 0.1, 0.05), time_constant=1.0, interval=0.02))
    thruster = Thruster(name="port", frame="port", curve=linear_curve(40, 30), time_constant=0.1)
    return hm.Plant(model=model, components=components_of(model, [thruster]), environment=water, seed=3)


@pytest.fixture(scope="module")
def sensed(swimmer):
    """Readings of 5 worlds at every step, two of them with the plant's own seed."""
    worlds = hm.Worlds(swimmer, 5, step=STEP, sensors=SENSORS, ground=[GROUND], seed=[3, 11, 3, 12, 13])
    worlds.command[:] = 0.3
    return worlds.rollout(None, 100)


@pytest.mark.parametrize(("world", "seed"), [(0, 3), (2, 3), (1, 11)])
def test_readings_are_those_of_a_simulation(swimmer, sensed, world, seed):
    """All kinds of errors, gusts of two seeds: the same numbers to 1e-12, the same ones missing."""
    measuring = sensed_by(sensors=SENSORS, terrain=[GROUND])
    sim = hm.Simulation(replace(swimmer, seed=seed), controller=measuring, step=STEP, record=STEP, commands={"port": 0.3})
    signal = sim.run(100 * STEP).recording.signal
    for name, readings in sensed.readings.items():
        want = signal.values[:, [str(c).startswith(f"{name}.") for c in signal.channel.values]]
        got = readings[world]
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        assert np.isfinite(want).any() and np.nanmax(np.abs(got - want) / np.maximum(1.0, np.abs(want))) < 1e-12
    assert np.nanmax(np.abs(sensed.readings["depth"][1] - sensed.readings["depth"][0])) > 1e-3


def test_readings_do_not_depend_on_other_worlds(swimmer, sensed):
    """A world alone, and one that is reset while others continue, measure the same bits; asking twice changes nothing."""
    worlds = hm.Worlds(swimmer, 2, step=STEP, sensors=SENSORS, ground=[GROUND], seed=[12, 11])
    worlds.command[:] = 0.3
    worlds.step(steps=7)
    worlds.reset([1])
    worlds.command[:] = 0.3
    for k in range(7, 40):
        for name, readings in worlds.readings.items():
            np.testing.assert_array_equal(readings[0], sensed.readings[name][3, k])
            np.testing.assert_array_equal(readings[1], sensed.readings[name][1, k - 7])
        assert worlds.readings["depth"].shape == (2, 1) and worlds.reading_labels["depth"] == ("depth",)
        worlds.step()


def test_readings_see_what_has_closed(plant):
    """The grasp that closes at the start has changed velocities when they are first measured, in worlds as in a simulation."""
    speed = Speed(name="speed", frame="hull", rate=100.0)
    sim = hm.Simulation(plant, controller=sensed_by(sensors=[speed]), step=STEP, record=5 * STEP)
    want = sim.run(5 * STEP).recording.signal.values[0]
    worlds = hm.Worlds(plant, 2, step=STEP, sensors=[speed])
    assert np.abs(want - worlds.v[1, :3]).max() > 0.05 and difference(worlds.readings["speed"][1], want) < 1e-12


def test_what_is_recorded_is_observed(plant):
    """Forces, poses and energies of each world at its present instant, as a simulation observes them."""
    worlds, sim = hm.Worlds(plant, 2, step=STEP), hm.Simulation(plant, step=STEP)
    worlds.step(steps=30)
    sim.step(duration=30 * STEP)
    want = sim.observe()
    names = ["position", "orientation", "force_drag", "contact_force", "kinetic_energy_body", "work", "command", "q", "depth"]
    got = worlds.observe(*names)
    assert list(got) == names and np.abs(want["contact_force"]).max() > 1.0
    for name in names:
        assert difference(got[name][1], want[name]) < 1e-11, name
    with pytest.raises(KeyError, match=r"unknown variable 'positon' \(did you mean 'position'\?\)"):
        worlds.observe("positon")


def test_rejected_by_name(plant):
    """Unsupported features and wrong shapes are rejected before anything is computed."""
    with pytest.raises(UnsupportedFeature, match="snake with .* bodies is compiled as loops .* 'cuda' cannot run"):
        hm.Worlds(hm.compile(hm.load("snake"), form="rolled"), 4, target="cuda")
    with pytest.raises(UnsupportedFeature, match="integrator 'linearly_implicit' .* target 'cuda'"):
        hm.Worlds(plant, 4, target="cuda", method="linearly_implicit")
    model = hm.load("bluerov2_heavy_alpha5")
    with pytest.raises(ValueError, match=r"tau of shape \(3, 10\) has rows for 3 worlds; use rows for 4 worlds"):
        hm.Worlds(model, 4).step(np.zeros((3, model.nv)), 2)
    with pytest.raises(ValueError, match="step_faults applies only to a plant; "):
        hm.Worlds(model, 4).step_faults()
    for options, words in (
        ({"target": "tpu"}, "target is 'tpu', must be one of cpu, cuda"),
        ({"precision": "float32"}, "which target 'cpu' does not support; use 'float64'"),
        ({"method": "dormand_prince"}, "require a fixed-step"),
        ({"inputs": ["fluid_velocity"]}, "inputs applies only to a model"),
        ({"parameters": {MASS: np.ones(3)}}, "must have shape"),
        ({"seed": [1, 2]}, "one seed for each of 4 worlds"),
        ({"step": 0.5}, "step"),
    ):
        with pytest.raises(ValueError, match=words):
            hm.Worlds(plant, 4, **options)
    with pytest.raises(KeyError, match="unknown open parameter 'hull.inertia.mas'"):
        hm.Worlds(plant, 4, parameters={"hull.inertia.mas": 1.0})
    with pytest.raises(TypeError, match="pass a Model"):
        hm.Worlds("rover", 4)
    worlds = hm.Worlds(plant, 4, step=STEP)
    with pytest.raises(KeyError, match="unknown command or held input 'prot'"):
        worlds.step({"prot": 1.0})
    with pytest.raises(ValueError, match="commands must have shape"):
        worlds.step(np.zeros((4, 7)))
    with pytest.raises(ValueError, match="has 5 rows for 3 steps"):
        worlds.step({"port": np.zeros((4, 5))}, 3)
    with pytest.raises(ValueError, match="mask must have shape"):
        worlds.reset([True, False])
    with pytest.raises(ValueError, match="indices from 0 to 3"):
        worlds.reset([7])


def main(names):
    """Compare worlds of all scenarios of the library, or of those named, with simulations, and print what became of each."""
    for name in names or scenario_names():
        began, words, scenario = time.perf_counter(), "every step within 1e-12", load_scenario(name)
        try:
            compare_with_worlds(scenario)
        except ValueError as refused:  # a method with steps of its own length
            compare_with_worlds(replace(scenario, integrator=method_named("rk4")))
            words = f"with rk4, every step within 1e-12; as it is: {refused}"
        print(f"{name:30s} {words} ({time.perf_counter() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
