"""Resuming, resetting and sharing: a run that is resumed in the middle is the same run, for scenarios of every kind."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.actuation import ExternalWrench, Thruster, drives, ideal_curve
from hydromechs.control import HoldPose
from hydromechs.hydro import FreeSurface
from hydromechs.model import added_mass, joints

KINDS = (
    "crash",  # contact of bodies, sensors, navigation, speed control, an event that ends control
    "dante_step",
    "dual_arm_through_singularity",
    "four_puma_lift",
    "free_decay",
    "hexapod_walk",
    "pick_and_release",  # a grip, a mission
    "sinking_chain",
    "station_keeping",  # gusts, pose control
    "waav_step",
    "wave_zone",  # waves, a free surface, a path
)
"""Scenarios with components and controllers of every kind; `python tests/scenarios/test_every_scenario.py` resumes all of them.

test_walking.py, test_swimming.py and test_tethers.py resume those that take long to compile.
"""


@pytest.mark.parametrize("name", KINDS)
def test_scenarios_of_every_kind_resume_and_reset_to_the_last_bit(name, tmp_path):
    """0.8 s at once, and 0.4 s, saved, loaded, 0.4 s; and once more after `reset`. Margins are as they should be."""
    scenario = hm.load_scenario(name)
    sim = scenario.simulation()
    start = sim.state
    if sim.controller is not None:
        assert not any("below the recommended" in note for note in sim.controller.notes)
    whole = sim.run(0.8).state
    assert sim.reset() == start
    first = sim.run(0.4).state
    hm.save_state(first, tmp_path / "state.json")
    other = scenario.simulation()
    other.state = hm.load_state(tmp_path / "state.json")
    assert other.run(0.4).state == whole


def test_reset_goes_back_to_the_given_start_and_commands():
    model = hm.load("puma560")
    state = hm.State(q=model.initial().q + 0.1, v=model.initial().v)
    joint = next(iter(model.joint_parts))
    free = [drives.JointFriction(joint=name) for name in model.joint_parts]
    sim = hm.Simulation(model, state=state, components=[drives.Torque(joint=joint), *free], commands={joint: 3.0})
    assert not any(c.kind == "joint_friction" for c in sim.plant.components)
    start = sim.state
    sim.run(0.05)
    assert sim.reset() == start and sim.command[0] == 3.0


def test_default_stops_come_from_the_model_not_from_the_state():
    """Another start is not another plant; geared rotors count."""
    model = hm.load("tiburon_titan2")
    later = model.initial()
    moved = hm.State(q=np.concatenate([later.q[:7], later.q[7:] + 0.2]), v=later.v)
    assert hm.Simulation(model).plant.components == hm.Simulation(model, state=moved).plant.components
    motor = drives.Motor(joint="shoulder", resistance=1.0, torque_constant=0.05, gear_ratio=120.0, rotor_inertia=1e-3)
    geared = hm.Simulation(model, components=[motor]).plant.components
    plain = hm.Simulation(model).plant.components

    def stiffness(components):
        return next(c.stiffness for c in components if c.name == "shoulder.stops")

    frequency = 2.0 * np.pi * 5.0
    assert stiffness(geared) - stiffness(plain) == pytest.approx(motor.armature * frequency**2, rel=0.01)


class Counter(hm.Controller):
    """Counts its calls in its memory."""

    period = 0.02

    def __init__(self):
        self.memory = np.zeros(1)

    def __call__(self, state):
        self.memory = self.memory + 1.0
        return


def test_a_scenario_gives_every_simulation_its_own_controller():
    scenario = hm.Scenario(
        name="count",
        models=[hm.scenario.ModelStart(model=hm.load("sinking_chain"))],
        blocks=[hm.simulation.PythonBlock(controller=Counter())],
        duration=1.0,
    )
    counts = []
    for _ in range(2):
        sim = scenario.simulation()
        sim.run(0.5)
        counts.append(sim.state.memory[0])
    assert counts == [25.0, 25.0]


def test_a_scenario_takes_a_function_and_its_period():
    start = hm.scenario.ModelStart(model=hm.load("sinking_chain"))
    calls = []
    scenario = hm.Scenario(
        name="f",
        models=[start],
        blocks=[hm.simulation.PythonBlock(controller=lambda s: calls.append(s.t), period=0.1)],
        duration=1.0,
    )
    scenario.simulation().run(0.5)
    assert len(calls) == 5
    with pytest.raises(ValueError, match="the controller has no period"):
        hm.simulation.PythonBlock(controller=lambda s: None)


def test_events_watch_every_variable_of_the_recording():
    """Each scalar of the recording can be watched; crossing is found for those that move."""
    scenario = hm.load_scenario("station_keeping")
    variables, events = scenario.simulation().run(0.1).recording, []
    for name, v in variables.data_vars.items():
        labels = [str(variables[d].values[0]) for d in v.dims[1:]]
        if name == "energy_residual":  # it needs the start of the run
            with pytest.raises(KeyError, match="unknown quantity 'energy_residual'"):
                hm.Simulation(scenario.plant, events=[hm.Event(name="e", quantity="energy_residual", level=1.0)])
            continue
        quantity = ".".join([str(name), *labels])
        events.append(hm.Event(name=quantity, quantity=quantity, level=np.float32(1e9)))
    assert len(events) > 20
    hm.Simulation(scenario.plant, blocks=scenario.blocks, events=events)


@pytest.mark.parametrize("integrator", ["b1pc5", "b4pc5", "rk4", "dormand_prince"])
def test_events_and_times_off_the_grid(integrator):
    """An event at any time, and an end off the grid of steps, are met exactly by block methods too."""
    events = [hm.Event(name="half", quantity="time", level=0.0537)]
    sim = hm.Simulation(hm.load("sinking_chain"), events=events, integrator=integrator, step=0.01)
    run = sim.run(0.105)
    assert run.state.t == pytest.approx(0.105, abs=1e-12)
    assert run.messages and run.messages[0].startswith("t = 0.0537")


def test_a_kink_of_the_current_off_the_grid():
    """Block methods step to the kink as others do."""
    current = hm.hydro.Current(times=(0.0, 0.333, 2.0), velocities=((0, 0, 0), (1.0, 0, 0), (1.0, 0, 0)))
    ends = [
        hm.Simulation(hm.load("sinking_chain"), environment=hm.Environment(current=current), integrator=i, step=0.01)
        .run(1.0)
        .state.q
        for i in ("rk4", "b4pc5", "dormand_prince")
    ]
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(ends[2], ends[0], rtol=0, atol=1e-5)


def test_closing_a_grasp_under_a_free_surface_is_accounted_for_once():
    """Deep below the surface the audit holds as without one."""
    frames = (hm.Frame("hand", hm.Origin((0.1, 0.0, 0.05))),)
    water = hm.Hydro(volume=0.004, added_mass=added_mass.Diagonal((2.0, 3.0, 4.0, 0.01, 0.02, 0.03)))
    inertia = hm.Inertia(mass=4.0, com=(0.01, 0.02, 0.0), tensor=(0.05, 0.06, 0.07, 0, 0, 0))
    a = hm.Body(
        name="a",
        joint=joints.Free(position=(0, 0, 5), velocity=(0.5, 0, 0, 0, 0.2, 0)),
        inertia=inertia,
        hydro=water,
        frames=frames,
    )
    b = hm.Body(name="b", joint=joints.Free(position=(0.1, 0, 5.05)), inertia=inertia, hydro=water)
    grasp = hm.contact.Grasp(name="g", holder="hand", held="b", closed=False, tolerance=0.01)
    residuals = []
    for surface in (None, FreeSurface()):
        close = hm.Event(name="close", quantity="time", level=0.001, grasp="g")
        sim = hm.Simulation(
            hm.Model(name="m", bodies=[a, b]), components=[grasp], events=[close], environment=hm.Environment(surface=surface)
        )
        run = sim.run(0.3)
        assert any("closes" in m for m in run.messages)
        residuals.append(float(np.abs(run.recording.energy_residual).max()))
    assert max(residuals) < 1e-6


def test_pose_control_uses_thrusters_on_fixed_bodies():
    """A pod that is fixed to the vehicle carries the thrusters."""
    hull = hm.Body(
        name="hull",
        joint=joints.Free(),
        inertia=hm.Inertia(mass=10.0, tensor=(0.3, 0.3, 0.3, 0, 0, 0)),
        hydro=hm.Hydro(volume=10.0 / 1025),
    )
    axes = {"x": (0, 0, 0), "y": (0, 0, np.pi / 2), "z": (0, -np.pi / 2, 0)}
    frames = [
        hm.Frame(f"{k}{s}", hm.Origin(tuple(0.2 * s * np.roll([0.0, 1.0, 0.0], n)), rpy))
        for n, (k, rpy) in enumerate(axes.items())
        for s in (1, -1)
    ]
    pod = hm.Body(name="pod", parent="hull", joint=joints.Fixed(), frames=frames)
    model = hm.Model(name="rov", bodies=[hull, pod])
    thrusters = [Thruster(name=f.name, frame=f.name, curve=ideal_curve(50, 50)) for f in frames]
    sim = hm.Simulation(
        model, components=[*thrusters], controller=HoldPose(position=(0.3, 0.2, 0.1), frequency=2.0, period=0.05)
    )
    state = sim.run(12.0).state
    np.testing.assert_allclose(state.q[:3], [0.3, 0.2, 0.1], atol=0.02)


def test_options_without_effect_are_rejected():
    model = hm.load("sinking_chain")
    with pytest.raises(ValueError, match="point 'nose': there is no terrain"):
        hm.Simulation(model, components=[hm.contact.PointContact(frame="nose")])
    with pytest.raises(ValueError, match="there is no controller"):
        hm.Simulation(model, period=0.1)
    with pytest.raises(ValueError, match="environment is"):
        hm.Simulation(model, environment={"current": 1})


def test_the_instant_of_an_event_does_not_depend_on_earlier_stops():
    """A speed crosses its level in the step that an event off the grid splits: a run that stops after that step ends the same."""
    push = hm.Event(name="push", quantity="v.link_1.w", level=0.1503, wrench={"link_1": (5.0, 0.0, 0.0, 0.0, 0.0, 0.0)})
    scenario = hm.load_scenario("sinking_chain").with_parts(ExternalWrench(body="link_1"))
    scenario = replace(scenario, events=(push,), checks=(), step=4e-3, record=0.04)
    (text,) = [m for m in scenario.simulation().run(0.12).messages if "push" in m]
    t = float(text.partition("t = ")[2].partition(" s")[0])
    split = hm.Event(name="split", quantity="time", level=t - 2e-4, wrench={"link_1": (0.0,) * 6})
    scenario = replace(scenario, events=(split, push))
    run = scenario.simulation().run(0.12)
    for cut in range(int(t / 4e-3) + 1, 10 * int(t / 0.04) + 10):
        other = scenario.simulation()
        other.run(cut * 4e-3)
        assert other.run(0.12 - other.state.t).state == run.state, (t, cut)
