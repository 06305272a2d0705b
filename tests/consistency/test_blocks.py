"""Controllers in NumPy operations: machine code against plain floats, world by world, and thrust allocation against NumPy."""

from functools import partial

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import control
from hydromechs.actuation import Allocator, ideal_curve, linear_curve, t200_curve
from hydromechs.compiler import compile_function
from hydromechs.control._vehicle import allocated
from hydromechs.simulation import Site

from .test_allocation import random_case

WORLDS = 11
STEP = 0.002
POSES = [{"t": 0, "position": (0.1, 0.2, 2.0)}, {"t": 8, "position": (3.0, -1.0, 4.0), "heading_deg": 200, "pitch_deg": 5}]
SPEEDS = [{"t": 0.5}, {"t": 2.0, "surge": 0.4, "yaw_rate_deg": 9.0}, {"t": 7.0, "heave": -0.2, "roll_deg": 3.0}]


@pytest.fixture(scope="module")
def plant():
    return hm.load_plant("bluerov2_heavy_alpha5")


def arm_of(plant):
    """Waypoints of two of the joints with servos."""
    servos = [n.removesuffix(".rate") for n in plant.layout.held if n.endswith(".rate")][:2]
    return [{"t": 0, **dict.fromkeys(servos, 0.02)}, {"t": 5, **dict.fromkeys(servos, 0.3)}]


BLOCKS = {
    "hold_pose": lambda arm: control.HoldPose(position=(0.5, -0.2, 3.0), heading_deg=170.0, integral=2.0),
    "follow_path": lambda arm: control.FollowPath(waypoints=POSES, arm=arm, attitude_frequency=1.5),
    "lqr_speed": lambda arm: control.LqrSpeed(waypoints=SPEEDS, arm=arm, bandwidth=1.5),
    "lqr_speed_of_some": lambda arm: control.LqrSpeed(waypoints=[{}], controlled=["surge", "yaw_rate"]),
    "lqr_hold_pose": lambda arm: control.LqrHoldPose(position=(0.5, -0.2, 3.0), heading_deg=170.0, arm=arm),
    "lqr_follow_path": lambda arm: control.LqrFollowPath(waypoints=POSES, bandwidth=1.5, speed=0.3),
}


def instants(block, plant, size, rng):
    """Inputs of `evaluate`: tilted and offset states at times before, within and after the waypoints."""
    model, layout = plant.model, plant.layout
    q = np.array([model.initial().q] * WORLDS) + size * rng.normal(size=(WORLDS, model.nq))
    at = model.q_slices[0].start + 3
    q[:, at : at + 4] /= np.linalg.norm(q[:, at : at + 4], axis=1, keepdims=True)
    v = size * rng.normal(size=(WORLDS, model.nv))
    memory = size * rng.normal(size=(WORLDS, block.pack.size))
    memory[:, 0] = rng.integers(0, 2, WORLDS)
    inputs = rng.normal(size=(WORLDS, len(layout.commands) + len(layout.held)))
    return (
        np.linspace(-0.5, 12.0, WORLDS),
        q,
        v,
        inputs,
        np.zeros((WORLDS, 0)),
        memory,
        np.tile(block.design_values, (WORLDS, 1)),
    )


@pytest.mark.parametrize("name", BLOCKS)
def test_machine_code_does_what_floats_do(plant, name):
    """Commands, memory and signals, with and without thrusters at their limits; 4 and 8 worlds at a time as one by one."""
    block = BLOCKS[name](arm_of(plant)).prepared(Site(plant, STEP, plant.model.initial().q))
    waits = []
    for size in (0.02, 5.0):
        given = instants(block, plant, size, np.random.default_rng(3))
        want = [block.evaluate(*row) for row in zip(*given, strict=True)]
        for lanes in (1, 4, 8):
            got = block.program(lanes=lanes)(list(given))
            for k in range(4):
                rows = np.array([np.asarray(w[k], dtype=float) for w in want])
                np.testing.assert_allclose(
                    got[k], rows, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(rows[:, :8]).max(initial=0.0))
                )
        waits.append([np.array_equal(w[1][1:], row[1:]) for w, row in zip(want, given[5], strict=True)])
    assert not all(waits[0]) and any(waits[1])  # integrals continue, and wait


def test_one_simulation_runs_in_floats_as_in_machine_code(plant, monkeypatch):
    """The float form that a debugger steps through commands the same."""
    start = plant.model.initial()
    start.q[:3] = 0.4, -0.3, 3.0

    def run():
        controller = control.LqrFollowPath(waypoints=POSES, arm=arm_of(plant), period=0.1)
        return hm.Simulation(plant, controller=controller, state=start, step=0.01).run(0.3).recording

    compiled = run()
    monkeypatch.setattr(hm.simulation.TracedBlock, "compiled", False)
    floats = run()
    np.testing.assert_allclose(floats.q, compiled.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(floats.signal, compiled.signal, rtol=0, atol=1e-10)


@pytest.mark.parametrize("case", range(16))
def test_traced_allocation_agrees_with_numpy(case):
    """Random thrusters, limits that act or not, fixed ones, weights with zeros: on one, four and eight lanes."""
    rng = np.random.default_rng(100 + case)
    B, _, lower, upper, weights = random_case(rng)
    if case % 4 == 1:  # thrusters that push one way only
        lower = np.zeros_like(lower)
    if case % 4 == 3:
        weights = rng.choice([0.0, 1.0], size=6)
    allocator = Allocator(B, lower, upper, weights)
    wrenches = rng.normal(size=(29, 6)) * rng.choice([0.1, 1.0, 5.0, 50.0], size=(29, 1))
    wrenches[0] = 0.0
    want = [allocator(w) for w in wrenches]
    n = B.shape[1]
    for lanes in (1, 4, 8):
        outputs = {"forces": (n,), "residual": (6,), "saturated": (n,)}
        code = compile_function(
            "allocation", partial(allocated, allocator), {"wrench": (6,)}, outputs, rarely_called=True, lanes=lanes
        )
        forces, residual, saturated = code([wrenches])
        for k, w in enumerate(want):
            scale = max(float(np.abs(w.forces).max()), 1e-12)
            assert np.abs(forces[k] - w.forces).max() <= 1e-10 * scale
            assert np.abs(residual[k] - w.residual).max() <= 1e-9 * (scale + np.abs(wrenches[k]).max())
            assert np.array_equal(saturated[k] != 0.0, w.saturated)


def test_a_wrench_that_is_no_number_ends():
    """NaN comes out, beside worlds that keep their bits."""
    allocator = Allocator(np.eye(6)[:, :4], -1.0, 1.0)
    code = compile_function(
        "allocation",
        lambda wrench: allocated(allocator, wrench).forces,
        {"wrench": (6,)},
        {"f": (4,)},
        rarely_called=True,
        lanes=8,
    )
    wrenches = np.random.default_rng(1).normal(size=(8, 6)) * 3.0
    alone = code([wrenches])[0]
    wrenches[3, 0] = np.nan
    forces = code([wrenches])[0]
    assert np.isnan(forces[3]).any() and np.array_equal(np.delete(forces, 3, 0), np.delete(alone, 3, 0))


@pytest.mark.parametrize(
    "curve",
    [
        ideal_curve(40.0, 30.0),
        ideal_curve(5.0, 0.0),
        linear_curve(50.0, 40.0, 0.1),
        linear_curve(50.0, 0.0, 0.2),
        t200_curve(14.3),
    ],
    ids=lambda curve: repr(curve),
)
def test_inverse_of_a_force_curve_agrees_with_floats(curve):
    """Between points, at points, in dead bands and beyond the limits."""
    low, high = curve.limits
    forces = np.concatenate([np.linspace(1.2 * low - 1.0, 1.2 * high + 1.0, 301), curve.forces, [0.0]])
    code = compile_function("inverse", lambda f: np.asarray(curve.inverse(f)), {"f": ()}, {"command": ()}, rarely_called=True)
    want = np.array([curve.inverse(float(f)) for f in forces])
    np.testing.assert_allclose(code([forces])[0], want, rtol=1e-13, atol=1e-13 * np.abs(curve.commands).max())


class _Range(hm.TracedBlock):
    """Reads a sensor, remembers a number and commands a thruster, under names that a test can misspell."""

    period = 0.1

    def __init__(self, **names):
        self.names = {"sensor": "depth", "memory": "last", "command": "thruster_1"} | names

    def prepare(self, site):
        self.commanded, self.first_memory = ("thruster_1",), {"last": 0.0}

    def update(self, tick):
        n = self.names
        return hm.Update({n["command"]: tick.measured[n["sensor"]][0]}, {n["memory"]: tick.memory["last"]})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sensor", ("_Range.update: tick.measured has no 'dept'", "did you mean 'depth'?")),
        ("memory", ("memory ['dept']", "`first_memory` lists ['last']", "in prepare")),
        ("command", ("commands ['dept']", "commanded lists ['thruster_1']", "in prepare")),
    ],
)
def test_a_misspelt_name_in_a_block_is_reported_with_the_list_that_has_it(plant, name, words):
    def simulation(**names):
        block = hm.simulation.PythonBlock(name="range", controller=_Range(**names))
        blocks = [hm.sensors.DepthGauge(name="depth", frame="vehicle", rate=10), block]
        return hm.Simulation(plant, blocks=blocks, step=0.01)

    simulation()
    with pytest.raises((KeyError, ValueError)) as caught:
        simulation(**{name: "dept"})
    assert all(word in str(caught.value) for word in words), caught.value
