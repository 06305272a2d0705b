"""Worlds begin and keep time as a simulation does: joints on their given motion, laws and sensors at multiples of their period."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import identification
from hydromechs.actuation import ExternalWrench, drives
from hydromechs.hydro import Current, RegularWave, UniformFlow
from hydromechs.model import joints
from hydromechs.scenario import ModelStart, Scenario
from hydromechs.sensors import DepthGauge
from hydromechs.sweeps import Choices, ParameterSweep, Result
from hydromechs.sweeps._runner import Runner, Task

STEP = 0.01


@dataclass
class Law(hm.TracedBlock):
    """Holds the cart at 0."""

    period: float = 0.1

    def prepare(self, site):
        self.commanded = site.actuators

    def update(self, tick):
        """A spring and a damper, slower than the steps."""
        return hm.Update({self.commanded[0]: -8.0 * tick.q[0] - tick.v[0]})


@pytest.fixture(scope="module")
def scenario():
    """A cart in waves with a swinging arm: sine of phase 0, which begins at its highest speed."""
    water = hm.Hydro(volume=0.005, drag=hm.drag.Damping(linear=(3.0, 3.0, 3.0, 0.1, 0.1, 0.1)))
    inertia = hm.Inertia(mass=5.0, com=(0.1, 0.05, 0.2), tensor=(0.3, 0.4, 0.35, 0.0, 0.0, 0.0))
    cart = hm.Body(name="cart", joint=joints.Prismatic(axis=(1, 0, 0), position=0.5), inertia=inertia, hydro=water)
    place = hm.Origin((0.0, 0.0, 1.5))
    arm = hm.Body(
        name="arm", parent="cart", joint=joints.Revolute(axis=(0, 1, 0), placement=place), inertia=inertia, hydro=water
    )
    return Scenario(
        name="swinging",
        models=[ModelStart(model=hm.Model(name="cart_and_arm", bodies=[cart, arm]))],
        environment=hm.Environment(current=Current(velocity=(0.3, 0.0, 0.0)), waves=[RegularWave(height=0.5, period=3.0)]),
        components=[
            drives.Torque(joint="cart"),
            hm.actuation.JointMotion(joint="arm", motion=hm.actuation.motions.Sine(amplitude=0.6, period=1.0)),
        ],
        step=STEP,
        record=0.1,
        duration=1.0,
    )


def test_joints_with_a_given_motion_begin_on_it(scenario):
    """Worlds of a scenario and of its plant, rollouts from its start: where the simulation is, to rounding."""
    sim = scenario.simulation()
    assert sim.state.v[1] == pytest.approx(0.6 * 2.0 * np.pi)
    np.testing.assert_array_equal(scenario.start.v, sim.state.v)
    end = sim.run(0.2).state
    for what in (scenario, scenario.plant):
        worlds = hm.Worlds(what, 2, step=STEP)
        worlds.step(steps=20)
        np.testing.assert_allclose(worlds.q, np.stack([end.q] * 2), rtol=0.0, atol=1e-12)


def test_a_start_of_each_world_stays_what_it_is(scenario):
    """A state is a state: nothing in it is put elsewhere."""
    q, v = (np.stack([x, x]) for x in (scenario.start.q, scenario.start.v))
    q[1, 0], v[1, 0] = 0.9, 0.2
    worlds = hm.Worlds(scenario, 2, start=hm.State(q=q, v=v))
    np.testing.assert_array_equal(worlds.q, q)
    np.testing.assert_array_equal(worlds.v, v)


def test_runs_of_a_sweep_begin_on_it():
    """With an event runs are simulations, one of which is kept for all."""
    inertia = hm.Inertia(mass=5.0, tensor=(0.3, 0.4, 0.35, 0.0, 0.0, 0.0))
    arm = hm.Body(name="arm", joint=joints.Revolute(axis=(0, 1, 0)), inertia=inertia)
    root = hm.Body(name="root", joint=joints.Free(), inertia=inertia)
    swinging = Scenario(
        name="arm",
        models=[ModelStart(model=hm.Model(name="arm", bodies=[root, arm]))],
        components=[hm.actuation.JointMotion(joint="arm", motion=hm.actuation.motions.Sine(amplitude=0.6, period=1.0))],
        events=[hm.Event(name="late", quantity="time", level=0.15)],
        step=STEP,
        record=0.1,
        duration=0.2,
    )
    sweep = ParameterSweep(
        name="arm",
        scenario=swinging,
        parameters=(Choices(name="mass", path="arm.inertia.mass", values=(5.0, 6.0)),),
        results=(Result(name="angle", quantity="q.arm"),),
    )
    assert not sweep.on_lanes
    rows = Runner(sweep)(Task((0, 1), tuple(sweep.table), (0, 0)))
    assert [row.reason for row in rows] == ["", ""]
    for row in rows:
        assert row.results[0] == pytest.approx(0.6 * np.sin(0.4 * np.pi), abs=1e-6)


def test_a_law_keeps_its_time_in_worlds_that_continue(scenario):
    """From a state between two calls: asked at multiples of its period, as the simulation that continues."""
    sim = hm.Simulation(scenario.plant, controller=Law(), step=STEP, record=0.1)
    middle = sim.run(0.55).state
    end = sim.run(0.65).state
    worlds = hm.Worlds(scenario.plant, 2, step=STEP, controller=Law(), start=middle)
    worlds.step(steps=65)
    np.testing.assert_allclose(worlds.q, np.stack([end.q] * 2), rtol=0.0, atol=1e-12)
    rolled = hm.rollout(
        scenario.plant,
        middle.q,
        middle.v,
        {"cart": middle.command[0]},
        STEP,
        65,
        controller=Law(),
        internal=middle.internal,
        t=0.55,
    )
    np.testing.assert_allclose(rolled.q[-1], end.q, rtol=0.0, atol=1e-12)
    with pytest.raises(ValueError, match=r"start.t is 0.553 s, must be an integer multiple of 0.01 s.*use 0.55 s"):
        hm.Worlds(scenario.plant, 1, step=STEP, controller=Law(), start=replace(middle, t=0.553))


def test_sensors_keep_their_time_in_worlds_that_continue(scenario):
    """Between two measurements there is nothing; at the next multiple of the period there is."""
    gauge = DepthGauge(name="depth", frame="arm", rate=10.0)
    begin = scenario.plant.on_motions(replace(scenario.start, t=0.05))
    worlds = hm.Worlds(scenario.plant, 1, step=STEP, sensors=[gauge], start=begin)
    worlds.step(steps=4)
    assert np.isnan(worlds.readings["depth"]).all()
    worlds.step(steps=3)
    assert np.isfinite(worlds.readings["depth"]).all()


def test_an_added_current_carries_waves(scenario):
    """As a steady one of the environment does."""
    still = replace(scenario.plant, environment=replace(scenario.environment, current=Current()))
    worlds = hm.Worlds(still, 1, step=STEP)
    worlds.add_current((0.3, 0.0, 0.0))
    worlds.step(steps=100)
    end = hm.Simulation(scenario.plant, step=STEP, record=0.1).run(1.0).state
    np.testing.assert_allclose(worlds.q[0], end.q, rtol=0.0, atol=1e-12)


def test_a_current_that_is_sought_carries_waves(scenario):
    """Inputs of an identification are those of a plant that has the current."""
    still, there = identification.CurrentOf(), scenario.plant
    data, _ = there.data(UniformFlow(there.environment, 0), 0.0, {})
    inputs = np.concatenate([np.zeros(there.layout.size - len(data)), data])
    values = still.values(np.array([0.3, 0.0]))
    places = still.places(there)
    np.testing.assert_array_equal(inputs[places], values)
    assert len(places) == 4


def test_open_parameters_of_a_state_continue():
    """A force on a ball whose mass was opened and set: worlds that continue have that mass, and other worlds the mass that they are given."""
    ball = hm.Body(name="ball", inertia=hm.Inertia(mass=2.0, com=(0.1, 0.2, 0.3), tensor=(1, 1, 1, 0, 0, 0)))
    names = ("ball.inertia.com", "ball.inertia.mass")
    plant = hm.Plant(model=hm.Model(bodies=[ball]), parameters=names, components=(ExternalWrench(body="ball"),))
    sim = hm.Simulation(plant, parameters={names[0]: (0.0, 0.0, 0.0), names[1]: 4.0})
    sim.set_wrench("ball", [8, 0, 0, 0, 0, 0])
    half = sim.run(0.5).state
    worlds = hm.Worlds(plant, 2, start=half)
    assert worlds.parameters[names[1]].tolist() == [4.0, 4.0] and not worlds.parameters[names[0]].any()
    worlds.step(steps=500)
    assert worlds.v[1, 0] == pytest.approx(sim.run(0.5).state.v[0], abs=1e-12) == pytest.approx(2.0)
    heavier = hm.Worlds(plant, 2, start=half, parameters={names[1]: [4.0, 8.0]})
    heavier.step(steps=500)
    np.testing.assert_allclose(heavier.v[:, 0], [2.0, 1.5], atol=1e-12)
    with pytest.raises(ValueError, match="start has 1 values of open parameters, must have 4"):
        hm.Worlds(plant, 2, start=replace(half, parameters=np.array([4.0])))
