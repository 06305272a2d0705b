"""`hm.Simulation` as its user sees it: the same to the last bit, resumed runs, events, ticks, steps, and what bad input gets."""

import math
import re
import warnings

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import geometry
from hydromechs.actuation import Thruster, drives, ideal_curve
from hydromechs.contact import DryFriction, LinearContact, Material, NonlinearContact, Terrain
from hydromechs.hydro import Current, Environment, Gusts, PiersonMoskowitzSea
from hydromechs.integrators import DormandPrince
from hydromechs.simulation import _stiffness, components_of

RHO, G = 1025.0, 9.81
FLOOR = Terrain(
    name="floor",
    material=Material(
        law=NonlinearContact(stiffness=8e3, damping_factor=0.3),
        friction=DryFriction(static=0.5, kinetic=0.4, stiffness=4e3, damping=80.0),
    ),
    shape=geometry.Plane.through((0, 0, 0.4), (0.05, 0, -1.0)),
)
GUSTY = Environment(
    current=Current(velocity=(0.2, 0.1, 0.0)), gusts=Gusts(sigma=(0.1, 0.1, 0.0), time_constant=3.0, interval=0.1)
)


def rover(volume=0.009):
    """A heavy ball with two thrusters and an arm on a hinge with Coulomb friction."""
    ball = hm.Body(
        name="ball",
        joint=hm.joints.Free(position=(0, 0, 0.1)),
        inertia=hm.Inertia(mass=10.0, com=(0, 0, 0.02), tensor=(0.05, 0.06, 0.07, 0, 0, 0)),
        hydro=hm.Hydro(
            volume=volume,
            added_mass=hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=0.13)),
            drag=hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.13), coefficient=0.5),
        ),
        shapes=(hm.geometry.Sphere(radius=0.13),),
        frames=(hm.Frame("port", hm.Origin((0, -0.1, 0))), hm.Frame("starboard", hm.Origin((0, 0.1, 0)))),
    )
    arm = hm.Body(
        name="arm",
        parent="ball",
        joint=hm.joints.Revolute(axis=(0, 1, 0), placement=hm.Origin((0.1, 0, 0)), friction=0.05),
        inertia=hm.Inertia(mass=1.0, com=(0.1, 0, 0), tensor=(0.002, 0.004, 0.004, 0, 0, 0)),
        hydro=hm.Hydro(volume=0.0008),
    )
    return hm.Model(name="rover", bodies=[ball, arm])


THRUSTERS = tuple(
    Thruster(name=n, frame=n, curve=ideal_curve(20.0, 20.0), time_constant=0.1, zero_thrust_speed=2.0)
    for n in ("port", "starboard")
)
SERVO = [drives.Servo(joint="arm", stiffness=5.0, damping=0.3)]


class Heading(hm.Controller):
    """A controller with memory: PI on the yaw rate, a slow wave of the arm."""

    period = 0.05

    def __init__(self):
        self.memory = np.zeros(1)
        self.times = []

    def start(self, simulation):
        self.memory = np.zeros(1)

    def __call__(self, state):
        self.times.append(state.t)
        error = 0.2 - state.v[5]
        self.memory = self.memory + error
        push = 5.0 * error + 0.5 * self.memory[0]
        return {"port": 3.0 + push, "starboard": 3.0 - push, "arm": 0.5 * math.sin(state.t)}


def busy(seed=7, controller=None, **options):
    """Gusts, contact, friction, lagging thrusters, a servo, a controller with memory."""
    return hm.Simulation(
        rover(),
        environment=GUSTY,
        components=[FLOOR, *THRUSTERS, *SERVO],
        controller=controller or Heading(),
        step=2e-3,
        seed=seed,
        **options,
    )


@pytest.fixture(scope="module")
def whole():
    """An uninterrupted run of 2 s."""
    return busy().run(2.0)


def same(a, b):
    """Every variable of two recordings equal to the last bit (NaN where NaN)."""
    assert list(a.variables) == list(b.variables)
    for name in a.variables:
        np.testing.assert_array_equal(a[name].values, b[name].values, err_msg=name)


def equal_states(a, b):
    assert a.t == b.t
    for name in ("q", "v", "internal", "command", "memory"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def test_one_seed_one_run(whole):
    """Another simulation, and the same one again after a reset, give the same bits; another seed others."""
    assert whole.recording.contact_force.values.max() > 1.0  # it has landed
    sim = busy()
    first = sim.run(2.0)
    same(first.recording, whole.recording)
    equal_states(first.state, whole.state)
    sim.reset()
    same(sim.run(2.0).recording, whole.recording)
    other = busy(seed=8).run(2.0)
    assert np.abs(other.recording.fluid_velocity.values - whole.recording.fluid_velocity.values).max() > 0.01
    assert np.abs(other.state.q - whole.state.q).max() > 1e-4


@pytest.mark.parametrize("cut", [0.7, 0.36, 0.33])
def test_resumed_run_equals_the_uninterrupted_one(whole, cut):
    """A new simulation that starts from the state of another at the cut ends in the same bits; its recording continues the other's.

    The cuts: at a tick of the controller, a sample and a new gust; at a sample between ticks; between samples.
    """
    first = busy()
    early = first.run(cut).recording
    second = busy()
    second.state = first.state
    rest = second.run(2.0 - cut)
    equal_states(rest.state, whole.state)
    early, late = early.isel(time=slice(-1)), rest.recording  # the last sample has the inputs that held until then
    late = late.isel(time=np.isclose(np.round(late.time.values / 0.02) * 0.02, late.time.values))  # a cut is a sample too
    for name in (
        "time",
        "q",
        "v",
        "position",
        "contact_force",
        "internal_state",
        "actuator_force",
        "fluid_velocity",
        "kinetic_energy_body",
        "work",
        "energy_residual",
    ):
        joined = np.concatenate([early[name].values, late[name].values])
        np.testing.assert_array_equal(joined, whole.recording[name].values, err_msg=name)


def test_resumed_adaptive_run_equals_the_uninterrupted_one():
    """Also with steps of the method's own choice, if it is cut at a tick."""
    options = dict(integrator=DormandPrince(relative=1e-6))
    one = busy(**options).run(1.0)
    first = busy(**options)
    first.run(0.5)
    second = busy(**options)
    second.state = first.state
    equal_states(second.run(0.5).state, one.state)


def test_run_in_pieces_of_one_object_equals_the_whole(whole):
    """run, run, run continues where it was."""
    sim = busy()
    for duration in (0.5, 1.0, 0.5):
        run = sim.run(duration)
    equal_states(run.state, whole.state)
    for name in ("work", "energy_residual"):
        np.testing.assert_array_equal(run.recording[name].values, whole.recording[name].values[-len(run.recording.time) :])


def test_controller_is_asked_at_its_period():
    """At 0, T, 2T ... once each, whatever is recorded and watched in between; not at the end, where the next run asks."""
    for record, events in ((0.02, ()), (0.5, ()), (0.03, [hm.Event(name="never", quantity="time", level=99.0)])):
        controller = Heading()
        sim = hm.Simulation(
            rover(), components=[*THRUSTERS, *SERVO], controller=controller, step=1e-2, record=record, events=events
        )
        sim.run(0.5)
        np.testing.assert_allclose(sim.controller.times, 0.05 * np.arange(10), atol=1e-12)
    controller = Heading()
    with pytest.raises(ValueError, match="Heading has a period of 0.05 s; omit period"):
        hm.Simulation(rover(), components=[*THRUSTERS, *SERVO], controller=controller, step=1e-2, period=0.2)
    controller.period = 0.2
    sim = hm.Simulation(rover(), components=[*THRUSTERS, *SERVO], controller=controller, step=1e-2)
    sim.run(0.5)
    np.testing.assert_allclose(sim.controller.times, [0.0, 0.2, 0.4], atol=1e-12)
    sim.run(0.5)
    np.testing.assert_allclose(sim.controller.times, [0.0, 0.2, 0.4, 0.6, 0.8], atol=1e-12)


def test_command_is_held_between_ticks():
    """The recorded command is a staircase of the controller's values."""
    sim = hm.Simulation(
        rover(), components=[*THRUSTERS, *SERVO], controller=lambda s: [s.t, -s.t, 0.1], period=0.1, step=1e-2, record=0.01
    )
    ds = sim.run(0.5).recording
    ticks = np.floor((ds.time.values[:-1] + 1e-9) / 0.1) * 0.1  # a sample at a tick shows what holds from then on
    np.testing.assert_allclose(ds.command.values[:-1, 0], ticks, atol=1e-9)


# -- events ---------------------------------------------------------------------------------------------------------------


def stone(events=(), **options):
    """A dry ball on a thruster, in gravity: z = g t²/2."""
    ball = hm.Body(
        name="stone",
        inertia=hm.Inertia(mass=2.0, tensor=(0.1,) * 3 + (0,) * 3),
        frames=(hm.Frame("nozzle", hm.Origin((0, 0, 0), (0, math.pi / 2, 0))),),
    )
    up = Thruster(name="rocket", frame="nozzle", curve=ideal_curve(100.0, 100.0))
    options = dict(step=1e-2, record=0.05, components=[up]) | options
    return hm.Simulation(hm.Model(name="stone", bodies=[ball]), events=events, **options)


@pytest.mark.parametrize("integrator", ["rk4", "dormand_prince"])
@pytest.mark.parametrize("level", [0.3, 1.0, 3.21])
def test_event_is_located_and_stops(level, integrator):
    """A stone falls a depth d in √(2 d/g); RK4 is exact on a parabola, bisection is to 1e-9 s."""
    event = hm.Event(name="deep", quantity="depth.stone", level=level, direction="rising", stop=True)
    run = stone([event], integrator=integrator).run(5.0)
    want = math.sqrt(2 * level / G)
    assert run.state.t == pytest.approx(want, abs=2e-9)
    assert run.state.q[2] == pytest.approx(level, abs=G * want * 2e-9)
    assert run.state.v[2] == pytest.approx(G * want, abs=2e-8)
    assert run.stopped.startswith("deep at t = ")
    assert any(f"t = {want:.6f} s: deep (depth.stone crosses {level:g})" in m for m in run.messages)
    assert run.recording.time.values[-1] <= run.state.t + 1e-12


def test_run_continues_after_an_event():
    """From an instant between two steps, the controller is asked at its own times again and samples fall on their grid."""
    times = []
    event = hm.Event(name="instant", quantity="time", level=0.1234, stop=True)
    sim = stone([event], controller=lambda s: times.append(s.t), period=0.1)
    run = sim.run(1.0)
    assert run.state.t == pytest.approx(0.1234, abs=2e-9)
    run = sim.run(0.5)
    np.testing.assert_allclose(times, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6], atol=1e-9)
    np.testing.assert_allclose(run.recording.time.values[1:], [*np.arange(0.15, 0.62, 0.05), 0.6234], atol=3e-9)
    assert run.state.t == pytest.approx(0.6234, abs=2e-9)
    assert run.state.q[2] == pytest.approx(0.5 * G * run.state.t**2, abs=1e-8)


def test_event_gives_a_command_at_its_instant():
    """A rocket of 1.5 weights is lit at a depth d: from there the stone slows with g/2 and stops after 2 d more, at rest at 3 d."""
    d = 0.8
    lit = hm.Event(name="lit", quantity="depth.stone", level=d, direction="rising", command=(("rocket", 1.5 * 2.0 * G),))
    rest = hm.Event(name="rest", quantity="v.stone.w", level=0.0, direction="falling", stop=True)
    sim = stone([lit, rest])
    run = sim.run(5.0)
    fall = math.sqrt(2 * d / G)
    assert run.state.t == pytest.approx(fall + 2 * fall, abs=1e-7)
    assert run.state.q[2] == pytest.approx(3 * d, abs=1e-6)
    assert len(run.messages) == 2


def test_event_puts_a_wrench():
    """A wrench that carries the weight, from a time on a step: the speed stays."""
    event = hm.Event(name="caught", quantity="time", level=0.5, wrench=(("stone", (0, 0, -2.0 * G, 0, 0, 0)),))
    sim = stone([event], components=[hm.actuation.ExternalWrench(body="stone")])
    run = sim.run(1.0)
    assert run.state.v[2] == pytest.approx(0.5 * G, abs=1e-6)
    sim.reset()
    assert sim.run(1.0).state.v[2] == pytest.approx(0.5 * G, abs=1e-6)


def test_event_directions():
    """A servo swings an arm up and back: rising and falling crossings are distinguished, either has both."""
    body = hm.Body(
        name="arm",
        joint=hm.joints.Revolute(axis=(0, 0, 1), velocity=1.0),
        inertia=hm.Inertia(mass=1.0, tensor=(1.0,) * 3 + (0,) * 3),
    )
    model = hm.Model(name="arm", bodies=[body])
    events = [hm.Event(name=d, quantity="q.arm", level=0.2, direction=d) for d in ("rising", "falling", "either")]
    sim = hm.Simulation(model, components=[drives.Servo(joint="arm", stiffness=4.0, damping=0.0)], events=events, step=1e-2)
    sim.command = {"arm": 0.0}
    messages = sim.run(math.pi).messages  # one period of q = ½ sin 2t
    up, down = 0.5 * math.asin(0.4), 0.5 * (math.pi - math.asin(0.4))
    said = [(float(m.split()[2]), m.split()[4]) for m in messages]
    want = [(up, "rising"), (up, "either"), (down, "falling"), (down, "either")]
    assert [name for _, name in said] == [name for _, name in want]
    # RK4 at h ω = 0.02: phase error (h ω)⁴/120 ω t
    np.testing.assert_allclose([t for t, _ in said], [t for t, _ in want], atol=2e-6)


def test_event_errors():
    with pytest.raises(ValueError, match=r"event 'x': Event\.direction is 'up', must be 'rising'"):
        hm.Event(name="x", quantity="time", level=0, direction="up")
    for quantity, message in (
        ("depth.stoned", "available: stone"),
        ("speed", "unknown quantity 'speed'"),
        ("q.arm", "q.arm.*available: stone.x"),
        ("position.stone.z.z", "from the end"),
    ):
        with pytest.raises(KeyError, match=message):
            stone([hm.Event(name="x", quantity=quantity, level=0.0)]).run(0.1)


# -- step, command, state -------------------------------------------------------------------------------------------------


def test_step_advances_by_a_step_or_a_duration():
    sim = stone()
    assert sim.step().t == pytest.approx(0.01, abs=1e-15)
    assert sim.step(duration=0.09).t == pytest.approx(0.1, abs=1e-15)
    assert sim.state.q[2] == pytest.approx(0.5 * G * 0.01, abs=1e-14)
    assert sim.step({"rocket": 2.0 * G}, duration=1.0).v[2] == pytest.approx(G * 0.1, abs=1e-13)
    assert sim.command[0] == 2.0 * G


def test_step_of_a_duration_that_is_no_multiple_ends_there():
    sim = stone()
    state = sim.step(duration=0.025)
    assert state.t == pytest.approx(0.025, abs=1e-15)
    assert state.q[2] == pytest.approx(0.5 * G * 0.025**2, abs=1e-14)


@pytest.mark.parametrize(
    ("commands", "error", "words"),
    [
        ({"racket": 1.0}, KeyError, "controller Wrong: unknown actuator 'racket'.*did you mean 'rocket'"),
        ({"rocket": math.nan}, ValueError, "controller Wrong: t = 0 s: .*'rocket' is nan"),
        ({"rocket": [1.0, 2.0]}, ValueError, r"controller Wrong: actuator 'rocket' is \[1.0, 2.0\]"),
    ],
    ids=["name", "nan", "shape"],
)
def test_wrong_commands_of_a_controller_are_reported_with_its_class(commands, error, words):
    class Wrong(hm.Controller):
        period = 0.1

        def __call__(self, state):
            return commands

    with pytest.raises(error, match=words):
        stone(controller=Wrong()).run(0.2)


def test_many_steps_equal_one_run():
    """100 calls of step and one of run end in the same bits."""
    a, b = stone(), stone()
    a.command = b.command = [7.0]
    for _ in range(100):
        a.step()
    b.run(1.0)
    np.testing.assert_array_equal(a.state.q, b.state.q)
    np.testing.assert_array_equal(a.state.v, b.state.v)


def test_command_errors():
    sim = stone()
    with pytest.raises(KeyError, match="unknown actuator 1.0; .* rocket"):
        sim.command = {1.0: 2.0}
    with pytest.raises(KeyError, match="unknown actuator 'racket' .*available: rocket"):
        sim.command = {"racket": 1.0}
    with pytest.raises(ValueError, match=r"values of the actuators must have shape \(1,\) \(rocket\), got \(2,\)"):
        sim.command = [1.0, 2.0]
    with pytest.raises(ValueError, match="the value of actuator 'rocket' is nan, must be finite"):
        sim.step([math.nan])
    sim.reset()
    assert np.isfinite(sim.step().q).all()
    with pytest.raises(KeyError, match="body 'stone' has no external wrench"):
        sim.set_wrench("stone", np.zeros(6))


def test_rejected_command_leaves_the_old_one():
    sim = stone()
    sim.command = [3.0]
    for bad in ([math.inf], {"rocket": math.nan}):
        with pytest.raises(ValueError, match="must be finite"):
            sim.command = bad
        assert sim.command[0] == 3.0


def test_nan_of_a_controller_names_the_actuator():
    """And the time; the recording up to then is kept."""
    sim = hm.Simulation(
        rover(),
        components=[*THRUSTERS, *SERVO],
        step=1e-2,
        controller=lambda s: {"starboard": math.nan if s.t > 0.25 else 1.0},
        period=0.1,
    )
    with pytest.raises(ValueError, match=r"t = 0\.3 s: the value of actuator 'starboard' is nan"):
        sim.run(1.0)


def test_construction_errors():
    model = rover()
    with pytest.raises(ValueError, match=r"record is 0\.015 s, must be an integer multiple of the step, 0\.01 s; use 0\.02 s"):
        hm.Simulation(model, step=0.01, record=0.015)
    with pytest.raises(ValueError, match=r"period is 0\.015 s, must be an integer multiple of the step"):
        hm.Simulation(model, step=0.01, controller=lambda s: None, period=0.015)
    with pytest.raises(ValueError, match=r"gusts\.interval is 0\.015 s, must be an integer multiple of the step"):
        hm.Simulation(
            model, step=0.01, environment=Environment(gusts=Gusts(sigma=(0.1,) * 3, time_constant=1.0, interval=0.015))
        )
    with pytest.raises(ValueError, match="the controller has no period"):
        hm.Simulation(model, controller=lambda s: None)
    for step in (0.0, -1.0, math.inf, math.nan, "fast"):
        with pytest.raises(ValueError, match="step is .*, must be"):
            hm.Simulation(model, step=step)
    with pytest.raises(ValueError, match="no integrator 'rk5'"):
        hm.Simulation(model, integrator="rk5")
    with pytest.raises(KeyError, match="rover has no joint 'elbow'"):
        hm.Simulation(model, components=[drives.Torque(joint="elbow")])
    with pytest.raises(ValueError, match="joint of body 'ball' is free"):
        hm.Simulation(model, components=[drives.Torque(joint="ball")])
    with pytest.raises(ValueError, match="two components are named 'port'"):
        hm.Simulation(model, components=[THRUSTERS[0], THRUSTERS[0]])
    with pytest.raises(ValueError, match="thruster 'bow': rover has no frame or body 'bow'; .*port, starboard"):
        hm.Simulation(model, components=[Thruster(name="bow", frame="bow", curve=ideal_curve(1, 1))])
    with pytest.raises(KeyError, match="rover has no body 'hull'"):
        hm.Simulation(model, components=[hm.actuation.ExternalWrench(body="hull")])
    with pytest.raises(ValueError, match="duration is -1, must be finite and > 0"):
        stone().run(-1)


def test_state_errors():
    sim = stone()
    with pytest.raises(ValueError, match=r"state\.v must have shape \(6,\), got \(3,\)"):
        sim.state = hm.State(q=sim.state.q, v=np.zeros(3))
    with pytest.raises(ValueError, match=r"state\.command must have shape \(1,\), got \(2,\); use a state of this simulation"):
        sim.state = hm.State(q=sim.state.q, v=np.zeros(6), command=np.zeros(2))
    with pytest.raises(ValueError, match=r"q must have shape|q .* shape"):
        sim.state = hm.State(q=np.zeros(3), v=np.zeros(6))
    with pytest.raises(ValueError, match="quaternion"):
        sim.state = hm.State(q=np.array([0, 0, 0, 2.0, 0, 0, 0]), v=np.zeros(6))
    for name in ("t", "v", "internal", "command"):
        good = sim.state
        value = math.nan if name == "t" else np.full_like(getattr(good, name), np.nan)
        if np.size(value):
            with pytest.raises(ValueError, match="finite"):
                sim.state = hm.State(**{k: getattr(good, k) for k in ("t", "q", "v", "internal", "command")} | {name: value})


def test_states_are_copies():
    sim = stone()
    state = sim.state
    sim.step()
    assert state.t == 0.0 and state.q[2] == 0.0
    sim.state.q[2] = 5.0
    assert sim.state.q[2] != 5.0


# -- warnings and ends ----------------------------------------------------------------------------------------------------


def test_contact_too_stiff_for_the_step_is_rejected(monkeypatch):
    """k = 1e7 N/m on 2 kg moves at 2236 1/s: RK4 needs h < 2.6/2236; at 5 ms it is reported before compiling, at 0.5 ms not."""
    ball = hm.Body(
        name="ball",
        joint=hm.joints.Free(position=(0, 0, -1.0)),
        inertia=hm.Inertia(mass=2.0, tensor=(0.1,) * 3 + (0,) * 3),
        shapes=(hm.geometry.Sphere(radius=0.1),),
    )
    hard = Terrain(
        name="rock", material=Material(law=LinearContact(stiffness=1e7)), shape=geometry.Plane.through((0, 0, 0), (0, 0, -1))
    )
    model = hm.Model(name="ball", bodies=[ball])
    sim = hm.Simulation(model, components=[hard], step=5e-3)
    with monkeypatch.context() as patch:
        patch.setattr(sim, "compile", lambda: pytest.fail("compiled first"))
        with pytest.raises(ValueError, match="contact 'ball on rock' is too stiff for a step of 0.005 s with rk4") as caught:
            sim.run(0.05)
    assert "requires a step below 0.0012 s; use a shorter step" in str(caught.value)
    start = model.initial()
    with pytest.raises(ValueError, match=re.escape(str(caught.value))):
        hm.rollout(sim.plant, start.q, start.v, {}, 5e-3, 2)
    with pytest.raises(ValueError, match=re.escape(str(caught.value))):
        sim.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hm.Simulation(model, components=[hard], step=5e-4).run(0.02).messages == []


def test_steps_are_looked_at_once_for_each_start_and_value_of_parameters(monkeypatch):
    """A light body is too fast for its spring; looking costs nothing per step."""
    mass = hm.Body(name="mass", joint=hm.joints.Prismatic(axis=(1, 0, 0)), inertia=hm.Inertia(mass=2.0))
    servo = drives.Servo(joint="mass", stiffness=1e4, damping=10.0)
    plant = hm.Plant(
        model=(model := hm.Model(name="m", bodies=[mass])),
        components=components_of(model, [servo]),
        parameters=("mass.inertia.mass",),
    )
    calls = []
    monkeypatch.setattr(_stiffness, "step_faults", lambda *a, made=_stiffness.step_faults: calls.append(a) or made(*a))
    sim = hm.Simulation(plant, step=5e-3)
    for _ in range(5):
        sim.step()
    assert len(calls) == 1
    sim.parameters["mass.inertia.mass"] = 1e-3
    with pytest.raises(ValueError, match="servo of joint 'mass' is too stiff for a step of 0.005 s"):
        sim.step()
    start, light = model.initial(), {"mass.inertia.mass": np.array([2.0, 1.0, 1e-3])}
    with pytest.raises(ValueError, match="servo of joint 'mass' is too stiff for a step of 0.005 s"):
        hm.rollout(plant, start.q, start.v, {}, 5e-3, 2, parameters=light)


def test_diverged_run_keeps_its_recording_and_says_why():
    """Forces that grow with speed: negative damping is rejected by the model, so a controller pumps the energy in."""
    body = hm.Body(name="rod", joint=hm.joints.Prismatic(axis=(1, 0, 0)), inertia=hm.Inertia(mass=1.0))
    sim = hm.Simulation(
        hm.Model(name="rod", bodies=[body]),
        components=[drives.Torque(joint="rod")],
        step=1e-2,
        state=hm.State(q=np.array([0.1]), v=np.ones(1), command=np.zeros(1)),
        controller=lambda s: {"rod": 1e4 * s.v[0]},
        period=1e-2,
    )
    with pytest.raises(hm.SimulationDiverged) as caught:
        sim.run(20.0)
    ds = caught.value.recording
    assert ds.attrs["finished"] == 0
    assert len(ds.time) > 3 and ds.time.values[-1] <= caught.value.state.t + 1e-9
    assert "'rod'" in str(caught.value) and "use a step below" in str(caught.value)
    assert np.isfinite(caught.value.state.q).all()


def test_adaptive_divergence_has_the_last_state_too():
    """A force that the method cannot follow: a switching torque from outside is fine, an infinite one is not."""
    body = hm.Body(name="rod", joint=hm.joints.Prismatic(axis=(1, 0, 0)), inertia=hm.Inertia(mass=1.0))
    sim = hm.Simulation(
        hm.Model(name="rod", bodies=[body]), components=[hm.actuation.ExternalWrench(body="rod")], integrator="dormand_prince"
    )
    sim.set_wrench("rod", (1e308, 0, 0, 0, 0, 0))
    with pytest.raises(hm.SimulationDiverged) as caught:
        sim.run(20.0)
    assert np.isfinite(caught.value.state.q).all()
    assert "'rod'" in str(caught.value)


def test_controller_may_return_nothing_or_some():
    """None keeps all commands; a mapping keeps those that it does not name."""
    sim = hm.Simulation(
        rover(),
        components=[*THRUSTERS, *SERVO],
        step=1e-2,
        controller=lambda s: {"port": 2.0} if s.t < 0.05 else None,
        period=0.1,
    )
    sim.command = {"starboard": -1.0}
    ds = sim.run(0.3).recording
    np.testing.assert_array_equal(ds.command.values[-1], [2.0, -1.0, 0.0])


def test_real_time_pacing_and_progress():
    """At a pace of 4 a run of 0.4 s takes 0.1 s; progress is reported."""
    told = []
    sim = stone()
    sim.compile()
    run = sim.run(1.2, real_time=4.0, progress=told.append)
    assert 0.28 < run.wall_time < 1.0
    assert told and told == sorted(told)


def test_irregular_sea_depends_on_the_seed_alone():
    """Waves of a seed are those of the seed."""
    ball = rover().bodies[0]
    sea = Environment(waves=(PiersonMoskowitzSea(significant_height=0.5, peak_period=4.0, components=5),))
    runs = [
        hm.Simulation(hm.Model(name="m", bodies=[ball]), environment=sea, seed=s, step=1e-2).run(1.0).recording
        for s in (1, 1, 2)
    ]
    same(runs[0], runs[1])
    assert np.abs(runs[0].fluid_velocity.values - runs[2].fluid_velocity.values).max() > 0.01


def test_events_at_one_instant_all_act():
    """A push and a stop at the same time: both happen, in their order, and both are reported."""
    events = [
        hm.Event(name="push", quantity="time", level=0.25, wrench={"stone": (1.0, 0, 0, 0, 0, 0)}),
        hm.Event(name="look", quantity="time", level=0.25),
        hm.Event(name="end", quantity="time", level=0.25, stop=True),
    ]
    sim = stone(events, components=[hm.actuation.ExternalWrench(body="stone")])
    run = sim.run(1.0)
    assert run.stopped is not None and "end" in run.stopped and run.state.t == pytest.approx(0.25, abs=1e-9)
    assert [m.split(": ")[1].split(" (")[0] for m in run.messages] == ["push", "look", "end"]
    assert run.state.held[0] == 1.0


def test_the_end_of_a_run_is_recorded():
    run = stone([]).run(0.233)
    assert run.recording.time.values[-1] == pytest.approx(0.233) and run.state.t == pytest.approx(0.233)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (dict(level=float("nan")), "finite"),
        (dict(level="soon"), "must be a number"),
        (dict(level=1.0, wrench={"stone": (1, 2)}), "must have 6 numbers"),
    ],
)
def test_events_check_themselves(fields, words):
    with pytest.raises(ValueError, match=words):
        hm.Event(name="x", quantity="time", **fields)


def test_events_at_times_that_never_come_are_rejected():
    """Time 0 is there at the start and is not crossed, unless the start is before it."""
    for level in (0.0, -1.0):
        with pytest.raises(
            ValueError, match=f"event 'x': time never crosses {level:g} s in a run that starts at 0 s; .*'commands'"
        ):
            stone([hm.Event(name="x", quantity="time", level=level, stop=True)])
    with pytest.raises(ValueError, match="event 'x': direction is falling"):
        stone([hm.Event(name="x", quantity="time", level=1.0, direction="falling")])
    early = hm.State(t=-0.1, q=(0, 0, 0, 1, 0, 0, 0), v=(0,) * 6)
    assert stone([hm.Event(name="x", quantity="time", level=0.0, stop=True)], state=early).run(0.3).state.t == pytest.approx(
        0.0
    )
    late = hm.State(t=2.0, q=(0, 0, 0, 1, 0, 0, 0), v=(0,) * 6)
    stone([hm.Event(name="x", quantity="time", level=1.0)], state=late)  # a resumed run: it has happened


@pytest.mark.parametrize("level", [0.3, 0.1 + 0.2, 0.3 - 5e-17, 0.3 + 1e-9, 0.2503])
def test_an_event_at_a_time_happens_once(level):
    """Also a rounding after a step, where time seemed to cross its level a second time; and just before another event."""
    events = [
        hm.Event(name="push", quantity="time", level=level, wrench={"stone": (10.0, 0, 0, 0, 0, 0)}),
        hm.Event(name="pull", quantity="time", level=level + 4e-9, wrench={"stone": (0.0, 0, 0, 0, 0, 0)}),
        hm.Event(name="fast", quantity="velocity.stone.w", level=1e3),
    ]
    run = stone(events, components=[hm.actuation.ExternalWrench(body="stone")], step=0.01).run(1.0)
    assert [(m.split(" ")[2], m.split(": ")[1].split(" (")[0]) for m in run.messages] == [
        (f"{level:.6f}", "push"),
        (f"{level:.6f}", "pull"),
    ]


def test_events_within_a_rounding_of_the_start_are_rejected():
    """They would be found late."""
    with pytest.raises(ValueError, match="event 'x': time never crosses 1e-09 s.*'commands'"):
        stone([hm.Event(name="x", quantity="time", level=1e-9)], step=0.01)


def test_events_of_unknown_actuators_are_rejected_at_once():
    with pytest.raises(KeyError, match="event 'x': unknown actuator 'rudder'"):
        stone([hm.Event(name="x", quantity="time", level=0.1, command={"rudder": 1.0})])


@pytest.mark.parametrize("integrator", ["rk4", "linearly_implicit", "dormand_prince", "b2pc5"])
@pytest.mark.parametrize("start", [0.0, 1e6, 1e7, 3.1e7 + 0.1234])
def test_late_start_keeps_every_tick(start, integrator):
    """Ticks of the controller and samples are counted, however few digits a late time has left."""
    ball = hm.Body(name="ball", inertia=hm.Inertia(mass=5.0, tensor=(0.02, 0.02, 0.02, 0, 0, 0)), hydro=hm.Hydro(volume=0.0049))
    calls = []

    def controller(state):
        calls.append(state.t)

    sim = hm.Simulation(
        hm.Model(name="ball", bodies=[ball]),
        environment=Environment(current=Current(velocity=(0.2, 0.1, 0.0))),
        controller=controller,
        period=0.02,
        step=1e-4,
        record=0.05,
        integrator=integrator,
        state=hm.State(t=start, q=np.array([0, 0, 0, 1.0, 0, 0, 0]), v=np.zeros(6)),
    )
    run = sim.run(1.0)
    assert len(calls) == 50
    want = np.ceil(start / 0.02 - 1e-6) * 0.02 + 0.02 * np.arange(50)
    np.testing.assert_allclose(calls, want, rtol=0, atol=1e-8)
    assert run.state.t == pytest.approx(start + 1.0, rel=0, abs=1e-8)
    off = abs(start - 0.05 * round(start / 0.05)) > 1e-6  # then the start and the end are samples besides those on the grid
    assert run.recording.sizes["time"] == (22 if off else 21)
    first = sim.reset(hm.State(t=start, q=np.array([0, 0, 0, 1.0, 0, 0, 0]), v=np.zeros(6)))
    assert first.t == start


def test_start_too_late_for_the_step_is_rejected():
    """At 1e13 s neighbouring numbers are 2 ms apart."""
    model = hm.Model(name="ball", bodies=[hm.Body(name="ball", inertia=hm.Inertia(mass=5.0, tensor=(0.1,) * 3 + (0,) * 3))])
    with pytest.raises(ValueError, match=r"state\.t is 1e\+13 s.*too coarse for steps of 0\.001 s; start before 1\.1e\+09 s"):
        hm.Simulation(model, state=hm.State(t=1e13, q=np.array([0, 0, 0, 1.0, 0, 0, 0]), v=np.zeros(6)))


def test_scenario_runs_with_one_call():
    """The short form is the run of its simulation, over its own duration unless another is given."""
    scenario = hm.load_scenario("sinking_chain").with_fields(duration=0.2)
    whole, short = scenario.run(), scenario.run(duration=0.1)
    assert whole.recording.time[-1] == pytest.approx(0.2) and short.recording.time[-1] == pytest.approx(0.1)
    assert np.array_equal(whole.recording.q, scenario.simulation().run(0.2).recording.q)


def test_friction_and_stops_share_one_mass_matrix(monkeypatch):
    """Three mass matrices of a chain of 3,000 joints took most of the time of `hydromechs check`."""
    made = []
    compute = hm.equations.mass_matrix
    monkeypatch.setattr("hydromechs.equations.mass_matrix", lambda *given: made.append(1) or compute(*given))
    joint = hm.joints.Revolute(damping=0.1, friction=0.1, limits=(-1.0, 1.0))
    solid = hm.Inertia(mass=1.0, tensor=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    bodies = [hm.Body(name=f"b{i}", parent=f"b{i - 1}" if i else None, joint=joint, inertia=solid) for i in range(3)]
    plant = hm.Simulation(hm.Model(bodies=bodies)).plant
    assert len(made) == 1 and len(plant.components) == 6
