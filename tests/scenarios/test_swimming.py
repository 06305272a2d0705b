"""A snake swims: its speed against resistive-force theory, its course, its energy balance; what is no snake."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import library
from hydromechs.control import Serpenoid

N, LENGTH, RADIUS = 10, 0.2, 0.05
BENDS = [f"module{k}" for k in range(2, N + 1)]


def resistive_speed(angles, period, *, across=1.1, along=0.03, ends=0.2, density=1025.0):
    """Speed [m/s] of a snake whose joints follow `angles`(t), by resistive forces on a body whose middle line is led.

    Its mean direction and its centre are taken to go straight ahead, along −x, with a constant speed: the one at which the mean
    of all drag, across and along each piece of a module by its own velocity there, is zero. Inertia does not count.
    """
    pieces = 4
    h = period / 100

    def shape(t):
        theta = np.concatenate([[0.0], np.cumsum(angles(t))])
        theta -= theta.mean()
        d = np.stack([np.cos(theta), np.sin(theta)], axis=1)  # from head to tail, shape (N, 2)
        starts = LENGTH * (np.cumsum(d, axis=0) - d)
        p = starts[:, None] + ((np.arange(pieces) + 0.5) / pieces * LENGTH)[:, None] * d[:, None]
        return p - p.mean(axis=(0, 1)), d

    moments = []
    for t in h * np.arange(100):
        (p0, d0), (p1, d1) = shape(t - 0.5 * h), shape(t + 0.5 * h)
        moments.append(((p1 - p0) / h, (d0 + d1) / np.linalg.norm(d0 + d1, axis=1)[:, None]))
    v, d = (np.stack(x) for x in zip(*moments, strict=True))  # (time, N, pieces, 2), (time, N, 2)
    n = np.stack([-d[..., 1], d[..., 0]], axis=-1)
    area = np.full(N, 2.0 * np.pi * RADIUS * LENGTH * along)
    area[[0, -1]] += 0.5 * ends * np.pi * RADIUS**2

    def thrust(speed):
        w = v - np.array([speed, 0.0])
        wn, wt = (np.einsum("tmpk,tmk->tmp", w, e) for e in (n, d))
        forces = -0.5 * density / pieces * (2.0 * RADIUS * LENGTH * across * abs(wn) * wn * n[..., None, 0])
        forces -= 0.5 * density / pieces * (area[:, None] * abs(wt) * wt * d[..., None, 0])
        return -forces.sum()

    low, high = -3.0, 3.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if thrust(middle) > 0.0 else (low, middle)
    return low


@pytest.fixture(scope="module")
def scenario():
    return hm.load_scenario("snake_swim")


@pytest.mark.parametrize(("phase_deg", "frequency"), [(40.0, 0.7), (-40.0, 0.7), (60.0, 0.5)])
def test_its_speed_is_that_of_resistive_forces(scenario, phase_deg, frequency):
    """Ahead and, with a wave to the head, backwards; through the water. Within 15 %: theory omits recoil and inertia."""
    gait = Serpenoid(joints=BENDS, amplitude_deg=30.0, frequency=frequency, phase_deg=phase_deg)
    there = scenario.simulation()
    sim = hm.Simulation(there.plant, controller=gait, step=1e-3, record=0.02, state=there.state)
    ds = sim.run(6.0 + 4.0 / frequency).recording.sel(time=slice(6.0, None))
    way = ds.position.mean("body").values
    flow = np.array(scenario.environment.current.velocity)
    heading = np.unwrap(ds.signal.sel(channel="heading").values).mean()
    ahead = np.array([np.cos(heading), np.sin(heading), 0.0])
    found = ((way[-1] - way[0]) / float(ds.time[-1] - ds.time[0]) - flow) @ ahead
    angles = np.radians(30.0), np.radians(phase_deg) * np.arange(N - 1)
    expected = resistive_speed(lambda t: angles[0] * np.sin(2.0 * np.pi * frequency * t - angles[1]), 1.0 / frequency)
    assert found == pytest.approx(expected, rel=0.15) and np.sign(found) == np.sign(phase_deg)


def test_snake_swim_keeps_its_course_and_resumes(scenario, tmp_path):
    sim = scenario.simulation()
    run = sim.run(scenario.duration)
    ds = run.recording
    assert not run.messages and all(check.judge(ds).passed for check in scenario.checks)
    last = ds.sel(time=slice(10.0, None))
    assert abs(last.signal.sel(channel="heading").mean()) < np.radians(3.0)  # it began 20° off
    sim.reset()
    whole = sim.run(0.8).state
    sim.reset()
    hm.save_state(sim.run(0.4).state, tmp_path / "state.json")
    other = scenario.simulation()
    other.state = hm.load_state(tmp_path / "state.json")
    assert other.run(0.4).state == whole


def test_the_file_is_the_generated_snake():
    made, read = library.snake(N, length=LENGTH, axes="z"), hm.load("snake")
    for a, b in zip(made.bodies, read.bodies, strict=True):
        assert a == b


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"joints": ["module2"]}, "joints is .*must contain at least two joints"),
        ({"joints": ["module2", "nose"]}, "joint 'nose' is not driven"),
        ({"joints": BENDS[3:]}, "joint 'module5' is not attached to a body with a free joint"),
        ({"frequency": 0.0}, "frequency is 0, must be|frequency is 0.0, must be"),
        ({"frequency": 40.0}, r"frequency is 40, must be below 25, .* a period below 0.0125 s"),
        ({"frequency": 25.0}, "frequency is 25, must be below 25"),
        ({"phase_deg": np.nan}, "phase_deg is nan, must be"),
    ],
)
def test_what_cannot_swim_is_a_named_error(scenario, changed, words):
    with pytest.raises(ValueError, match=words):
        gait = Serpenoid(**{"joints": BENDS} | changed)
        hm.Simulation(scenario.plant, controller=gait)


def test_joints_that_bend_two_ways_are_rejected():
    model = library.snake(4)
    driven = [hm.drives.Servo(joint=f"module{k}", stiffness=10.0, damping=0.2) for k in (2, 3, 4)]
    with pytest.raises(ValueError, match="joint 'module3' is not parallel to 'module2'"):
        hm.Simulation(model, components=driven, controller=Serpenoid(joints=[servo.joint for servo in driven]))
    with pytest.raises(ValueError, match="axes is 'xz', must consist of 'y' and 'z'"):
        library.snake(4, axes="xz")
