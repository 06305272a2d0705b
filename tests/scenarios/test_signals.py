"""Signals of controllers in the recording, and targets of servos that move between two commands."""

import numpy as np
import pytest
import scipy.integrate

import hydromechs as hm
from hydromechs.actuation import drives
from hydromechs.control import JointControl, JointTrajectory
from hydromechs.errors import ScenarioError
from hydromechs.recording import Check, structured
from hydromechs.scenario import ModelStart
from hydromechs.simulation import PythonBlock

WAY = [{"t": 0.0, "arm": 0.0}, {"t": 1.0, "arm": 0.8}]


def pendulum(**options) -> hm.Model:
    body = hm.Body(
        name="arm",
        joint=hm.joints.Revolute(axis=(0.0, 1.0, 0.0), **options),
        inertia=hm.Inertia(mass=2.0, com=(0.5, 0.0, 0.0), tensor=(0.1, 0.2, 0.3, 0.0, 0.0, 0.0)),
    )
    return hm.Model(name="pendulum", bodies=[body])


def simulation(period=0.05, **options) -> hm.Simulation:
    options = {"controller": JointTrajectory(waypoints=WAY, period=period), "record": 0.01} | options
    return hm.Simulation(pendulum(), components=[drives.Servo(joint="arm", stiffness=200.0, damping=20.0)], **options)


def test_checks_have_units_of_joints_and_of_axes():
    ds = simulation().run(0.1).recording
    slide = hm.Body(
        name="slide", joint=hm.joints.Prismatic(axis=(1.0, 0.0, 0.0)), inertia=hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0))
    )
    straight = hm.Simulation(hm.Model(name="m", bodies=[slide])).run(0.01).recording
    units = {"q.arm": "rad", "v.arm": "rad/s", "tau.arm": "N m", "actuator_force.arm": "N m", "command.arm": "rad"}
    units |= {"velocity.arm.u": "m/s", "velocity.arm.q": "rad/s", "force_weight.arm.Z": "N", "force_weight.arm.M": "N m"}
    units |= {"force_weight.*.Z": "", "depth.arm": "m", "orientation.arm.z": "", "tilt_deg.arm": "deg"}
    assert {q: Check(name="c", quantity=q, below=1e9).judge(ds).unit for q in units} == units
    of_slide = {"q.slide": "m", "v.slide": "m/s", "tau.slide": "N"}
    assert {q: Check(name="c", quantity=q, below=1e9).judge(straight).unit for q in of_slide} == of_slide


def test_signals_are_recorded_with_their_units_and_hold_between_ticks():
    sim = simulation(period=0.05)
    ds = sim.run(0.4).recording
    assert structured(ds, "signal_units") == {"reference.arm": "rad", "error.arm": "rad"}
    assert ds.signal.dims == ("time", "channel")
    reference = ds.signal.sel(channel="reference.arm").values
    path = JointTrajectory(waypoints=WAY).path
    ticks = 0.05 * np.floor((ds.time.values + 1e-6) / 0.05)  # a sample at a tick shows what holds from then on
    ticks[-1] = 0.35  # at the end the controller is not asked
    assert np.allclose(reference, [path(t).position[0] for t in ticks], rtol=0.0, atol=1e-15)
    error = ds.signal.sel(channel="error.arm").values
    at = [np.argmin(abs(ds.time.values - t)) for t in ticks]
    assert np.allclose(error, reference - ds.q.sel(coordinate="arm").values[at], rtol=0.0, atol=1e-12)
    assert np.array_equal(sim.observe()["signal"], ds.signal.values[-1])


def test_a_resumed_run_records_the_same_signals_to_the_last_bit(tmp_path):
    """Also before its first tick, when it stopped between two."""
    whole = simulation().run(0.4).recording
    sim = simulation()
    assert np.isnan(sim.controller.signal_values).all() and sim.state == sim.state
    first = sim.run(0.23)
    hm.save_state(first.state, tmp_path / "state.json")
    other = simulation()
    other.state = hm.load_state(tmp_path / "state.json")
    second = other.run(0.17).recording
    joined = np.concatenate([first.recording.signal.values, second.signal.values[1:]])
    assert np.array_equal(joined, whole.signal.values)
    assert np.array_equal(second.signal.values[0], whole.signal.sel(time=0.23, method="nearest").values)


def test_events_and_checks_name_signals():
    event = hm.Event(name="halfway", quantity="signal.reference.arm", level=0.4, direction="rising", stop=True)
    run = simulation(period=0.05, events=[event]).run(1.0)
    assert run.state.t == pytest.approx(0.5, abs=0.051)
    check = Check(name="follows", quantity="signal.error.arm", statistic="max_abs", below=0.2)
    assert check.judge(run.recording).passed
    with pytest.raises(KeyError, match=r"event 'x': quantity: .*'reference.ar'.*did you mean 'reference.arm'"):
        simulation(events=[hm.Event(name="x", quantity="signal.reference.ar", level=0.0)])

    def scenario(quantity, controller=True):
        return hm.Scenario(
            name="s",
            models=[ModelStart(model=pendulum())],
            components=[drives.Servo(joint="arm", stiffness=200.0, damping=20.0)],
            blocks=[PythonBlock(controller=JointTrajectory(waypoints=WAY))] if controller else [],
            duration=1.0,
            checks=[Check(name="c", quantity=quantity, below=1.0)],
        )

    scenario("signal.error.arm").simulation()
    with pytest.raises(ScenarioError, match="check 'c': quantity: .*unknown name 'error.leg' after 'signal'"):
        scenario("signal.error.leg").simulation()
    with pytest.raises(ScenarioError, match="unknown quantity 'signal'"):
        scenario("signal.error.arm", controller=False)


def test_a_controller_with_a_wrong_number_of_signals_is_named():
    class Wrong(hm.Controller):
        period, signals = 0.02, {"reference.x": "m", "error.x": "m"}

        def __call__(self, state):
            self.signal_values = np.zeros(3)

    with pytest.raises(ValueError, match=r"signal_values must have shape \(2,\) \(reference.x, error.x\), got \(3,\)"):
        hm.Simulation(pendulum(), controller=Wrong()).run(0.1)


def test_a_servo_follows_a_target_that_moves_between_commands():
    """A ramp given once, against SciPy: I q̈ = k (r − q) + d (ṙ − q̇) + m g l cos q."""
    model = pendulum()
    sim = hm.Simulation(model, components=[drives.Servo(joint="arm", stiffness=200.0, damping=20.0)], record=0.1)
    sim.command = {"arm": 0.1, "arm.rate": 0.5, "arm.at": 0.2}
    ds = sim.run(1.0).recording
    inertia, weight = 0.2 + 2.0 * 0.25, 2.0 * 9.81 * 0.5

    def f(t, x):
        r = 0.1 + 0.5 * (t - 0.2)
        return [x[1], (200.0 * (r - x[0]) + 20.0 * (0.5 - x[1]) - weight * np.cos(x[0])) / inertia]

    exact = scipy.integrate.solve_ivp(f, (0.0, 1.0), [0.0, 0.0], rtol=1e-11, atol=1e-12, t_eval=ds.time.values).y[0]
    assert np.allclose(ds.q.values[:, 0], exact, rtol=0.0, atol=2e-8)  # rk4 at 1 ms


def test_joint_rates_do_not_chatter_when_targets_come_seldom():
    """The rate follows that of a path; a staircase of positions at 10 Hz would make it swing by half of itself."""
    motion = JointTrajectory(waypoints=[{"t": 0.0, "arm": 0.0}, {"t": 4.0, "arm": 0.8}], period=0.1)
    ds = simulation(controller=motion).run(4.0).recording
    rate = np.array([motion.path(t).rate[0] for t in ds.time.values])
    late = ds.time.values > 1.0  # the start sags under its weight
    assert np.abs(ds.v.values[late, 0] - rate[late]).max() < 0.07 * rate.max()


@pytest.mark.parametrize(
    ("waypoints", "words"),
    [
        ([{"t": 0.0}], r"waypoint 0 is \{'t': 0.0\}, must contain at least one joint besides t"),
        ([{"t": 0.0}, {"t": 1.0, "arm": 0.2}], "waypoint 0 .* must contain at least one joint"),
        (
            [{"t": 0.0, "arm": 0.0}, {"t": 1.0}],
            r"waypoint 1 is \{'t': 1.0\}, must have exactly the keys of the first waypoint: t, arm",
        ),
    ],
)
def test_waypoints_that_do_not_name_the_same_joints(waypoints, words):
    for controller in (JointTrajectory, JointControl):
        with pytest.raises(ValueError, match=words):
            controller(waypoints=waypoints)
