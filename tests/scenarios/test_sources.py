"""Sources of simulations and worlds: a model with its parts, a plant, a scenario whose numbers can be overridden."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.scenario import ModelStart


def rod(**changes) -> hm.Scenario:
    body = hm.Body(name="rod", joint=hm.joints.Prismatic(axis=(1, 0, 0)), inertia=hm.Inertia(mass=2.0))
    start = ModelStart(model=hm.Model(name="rod", bodies=[body]), joints={"rod": 0.3})
    given = dict(
        components=[hm.drives.Torque(joint="rod")],
        blocks=[hm.simulation.PythonBlock(controller=lambda state: {"rod": 1.0 + state.q[0]}, period=0.1)],
        events=[hm.Event(name="far", quantity="q.rod", level=0.301)],
    )
    return hm.Scenario(name="rod", models=[start], integrator="euler", step=0.01, record=0.05, seed=3, **(given | changes))


def test_simulation_of_a_scenario_is_that_of_its_method():
    """Integrator, step, seed, events, controller, state and commands are the scenario's; the runs agree to the last bit."""
    scenario = rod(commands={"rod": 0.5})
    ours, theirs = hm.Simulation(scenario), scenario.simulation()
    assert (ours.method, ours.step_size, ours.record, ours.events) == (theirs.method, 0.01, 0.05, scenario.events)
    assert ours.plant.seed == 3 and list(ours.command) == [0.5] and ours.controller is not None
    a, b = ours.run(1.0), theirs.run(1.0)
    np.testing.assert_array_equal(a.recording.q, b.recording.q)
    assert a.messages == b.messages and any("far" in text for text in a.messages)


def test_arguments_override_a_scenario():
    free = replace(rod(), blocks=(), events=())
    sim = hm.Simulation(
        rod(),
        integrator="rk4",
        step=0.02,
        record=0.1,
        seed=8,
        events=(),
        state=hm.State(q=[0.1], v=[0.2]),
        commands={"rod": -1.0},
        controller=lambda state: {"rod": 2.0},
        period=0.2,
    )
    assert (sim.method.name, sim.step_size, sim.record, sim.plant.seed, sim.period) == ("rk4", 0.02, 0.1, 8, 0.2)
    assert sim.events == () and list(sim.command) == [-1.0] and sim.state.q[0] == 0.1
    heavier = hm.Simulation(free, parameters={"rod.inertia.mass": 4.0}, commands={"rod": 1.0})
    np.testing.assert_allclose(heavier.step(duration=0.01).v, 0.01 / 4.0, rtol=1e-12)


def test_worlds_of_a_model_with_components_are_those_of_the_plant():
    """A model with parts and open parameters, as of a simulation; a scenario or a plant has its own."""
    scenario = replace(rod(), blocks=(), events=())
    options = dict(components=[hm.drives.Torque(joint="rod")], parameters=["rod.inertia.mass"], step=0.01)
    worlds = hm.Worlds(scenario.models[0].model, 2, **options)
    assert worlds.commands == ("rod",)
    worlds.parameters["rod.inertia.mass"][:] = [2.0, 4.0]
    worlds.step({"rod": 1.0})
    np.testing.assert_allclose(worlds.v[:, 0], [0.005, 0.0025], rtol=1e-12)
    for what in (scenario, scenario.plant):
        with pytest.raises(TypeError, match=f"components is given, but the {type(what).__name__} already"):
            hm.Worlds(what, 2, components=options["components"])


def test_what_does_not_go_together_is_named():
    scenario = rod()
    for what in (scenario, scenario.plant):
        with pytest.raises(TypeError, match=f"components is given, but the {type(what).__name__} already"):
            hm.Simulation(what, components=[hm.drives.Torque(joint="rod")])
        with pytest.raises(TypeError, match=f"environment is given, but the {type(what).__name__} already"):
            hm.Simulation(what, environment=hm.Environment())
    with pytest.raises(TypeError, match=r"Model, a Plant or a Scenario, got str"):
        hm.Simulation("bluerov2")
    pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    with pytest.raises(TypeError, match="integrator is given, but the engine 'mujoco'"):
        hm.Simulation(replace(scenario, engine=hm.hybrid.Hybrid(engine="mujoco")), integrator="rk4")
