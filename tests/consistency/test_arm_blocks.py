"""Arm controllers: machine code on lanes and C against floats and against singular value decompositions of NumPy."""

import ctypes
import math
import shutil
import subprocess

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import compiler
from hydromechs.actuation import Thruster, drives, ideal_curve
from hydromechs.compiler import SourceFile, SourceFunction, compile_function, trace
from hydromechs.control import (
    CarryLoad,
    CartesianMotion,
    ComputedTorque,
    JointControl,
    ManipulabilityTask,
    PostureTask,
    TaskPriority,
    ToolTask,
    VehicleTask,
    damped_inverse,
    prioritised,
)
from hydromechs.control._cartesian import joint_rates
from hydromechs.control._damped_inverse import smallest_singular_value
from hydromechs.model import drag, joints
from hydromechs.simulation import Measured, Site
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix

RNG = np.random.default_rng(27)
WORLDS = 13


# -- inverses ---------------------------------------------------------------------------------------------------------------------


def matrices(m, n, count):
    """Random matrices: regular, rank-deficient, zero, with equal singular values, nearly singular, with a column of zeros."""
    out = []
    for k in range(count):
        u, s, vt = np.linalg.svd(RNG.normal(size=(m, n)), full_matrices=False)
        if k % 6 == 1:
            s[-1] = 0.0
        elif k % 6 == 2:
            s[:] = s[0]
        elif k % 6 == 3:
            s[-1] = 10.0 ** RNG.uniform(-5, -1)
        elif k % 6 == 5:
            s[:] = 0.0 if k % 12 == 5 else [s[0], *([1e-9] * (len(s) - 1))]
        J = (u * s) @ vt
        if k % 6 == 4:
            J[:, RNG.integers(n)] = 0.0
        out.append(J)
    return np.array(out)


def inverse_by_svd(J, damping=0.02, threshold=0.05):
    """The damped inverse from NumPy's singular values."""
    u, s, vt = np.linalg.svd(J, full_matrices=False)
    least = s[-1] if J.shape[0] <= J.shape[1] else 0.0
    squared = damping**2 * max(0.0, 1.0 - (least / threshold) ** 2)
    return (vt.T * np.divide(s, s**2 + squared, out=np.zeros_like(s), where=s > 0.0)) @ u.T


@pytest.mark.parametrize(("m", "n"), [(1, 3), (3, 3), (3, 6), (6, 4), (6, 9)])
@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_damped_inverse_on_lanes(m, n, lanes):
    """Against NumPy: what is left is the rounding of J, 1e-15, times the square of the largest gain, 1/(2 · 0.02)."""
    J = matrices(m, n, 24)
    code = compile_function("inverse", lambda J: damped_inverse(J), {"J": (m, n)}, {"X": (n, m)}, lanes=lanes)
    want = np.array([inverse_by_svd(x) for x in J])
    np.testing.assert_allclose(code([J])[0], want, rtol=0.0, atol=2e-11)
    np.testing.assert_allclose([damped_inverse(x) for x in J], want, rtol=0.0, atol=2e-11)
    least = [np.linalg.svd(x, compute_uv=False)[-1] for x in J]
    np.testing.assert_allclose([smallest_singular_value(x) for x in J], least, rtol=0.0, atol=1e-14)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc on this machine")
def test_damped_inverse_in_c(tmp_path):
    program = trace(damped_inverse, {"J": (4, 6)}, name="inverse", outputs=("X",))
    file = SourceFile("inverse", [SourceFunction(program, "Inverse.", {})])
    (tmp_path / "inverse.h").write_text(compiler.c_header(file))
    (tmp_path / "inverse.c").write_text(compiler.c_source(file))
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
    subprocess.run([*command, tmp_path / "inverse.c", "-lm", "-o", tmp_path / "inverse.so"], check=True)
    shared = ctypes.CDLL(str(tmp_path / "inverse.so"))
    for J in matrices(4, 6, 24):
        given, out = np.ascontiguousarray(J), np.zeros((6, 4))
        shared.inverse_inverse(ctypes.c_void_p(given.ctypes.data), ctypes.c_void_p(out.ctypes.data))
        np.testing.assert_allclose(out, inverse_by_svd(J), rtol=0.0, atol=2e-11)


def by_svd(tasks, n):
    """Tasks in order of priority, from NumPy's singular values; of what is left, rounding counts as nothing."""
    out, free = np.zeros(n), np.eye(n)
    for k, (J, rate) in enumerate(tasks):
        left = J @ free
        size = max(0.05, 0.2 * float(np.linalg.svd(J, compute_uv=False)[-1]) if k else 0.0)
        out = out + free @ (inverse_by_svd(left, 0.4 * size, size) @ (rate - J @ out))
        if np.linalg.norm(left) > 1e-13 * np.linalg.norm(J):
            free = free - np.linalg.pinv(left, rcond=1e-6) @ left
    return out


def test_priorities_against_singular_values():
    """Also where nothing is left for the last tasks, or a task is given twice."""
    for rows in ((3, 2, 3), (3, 2, 1, 2), (4, 3, 3), (6, 5, 1, 3)):
        n = 9
        tasks = [(RNG.normal(size=(m, n)), RNG.normal(size=m)) for m in rows]
        tasks.insert(1, tasks[0])
        np.testing.assert_allclose(prioritised(tasks, n), by_svd(tasks, n), rtol=0.0, atol=1e-10)


def test_tasks_without_room_do_not_disturb_those_before():
    """A first task that needs all joints is done as without the others: nothing is left, and rounding is no freedom."""
    for _ in range(20):
        tasks = [(RNG.normal(size=(m, 3)), RNG.normal(size=m)) for m in (3, 1, 2, 1)]
        alone = prioritised(tasks[:1], 3)
        np.testing.assert_allclose(prioritised(tasks, 3), alone, rtol=0.0, atol=1e-9 * np.abs(alone).max())


def rates_by_svd(J, wanted, q, limits, rate, period):
    """Rates of joints; those that would leave their limits are taken out one pass after the other."""
    free, out = np.ones(len(q), bool), np.zeros(len(q))
    for _ in range(len(q)):
        out = np.zeros(len(q))
        if free.any():
            out[free] = inverse_by_svd(J[:, free]) @ wanted
        out *= min(1.0, rate / max(float(np.abs(out).max()), 1e-300))
        there = q + period * out
        leaving = free & (((there < limits[:, 0]) & (out < 0.0)) | ((there > limits[:, 1]) & (out > 0.0)))
        if not leaving.any():
            break
        free &= ~leaving
    return np.where(free, out, 0.0)


@pytest.mark.parametrize(("m", "n"), [(3, 3), (3, 6), (6, 5)])
def test_rates_within_limits(m, n):
    """Joints at their limits are held one after the other, in each world on its own."""
    limits = np.array([(-np.inf, np.inf), *((-0.5, 0.5),) * (n - 1)])
    shapes = {"J": (m, n), "wanted": (m,), "q": (n,)}
    code = compile_function("rates", lambda **x: joint_rates(**x, limits=limits, rate=1.0, period=0.02), shapes, {"r": (n,)})
    J, wanted, q = matrices(m, n, 60), RNG.normal(size=(60, m)), RNG.choice([-0.5, 0.0, 0.5], size=(60, n))
    want = np.array([rates_by_svd(*row, limits, 1.0, 0.02) for row in zip(J, wanted, q, strict=True)])
    held = (want == 0.0).sum(axis=1)
    assert len(np.unique(held)) > 2
    for lanes in (1, 8):
        code.lanes = lanes
        np.testing.assert_allclose(code([J, wanted, q])[0], want, rtol=0.0, atol=1e-9)


def test_quaternions_of_symbols():
    code = compile_function("quaternion", quaternion_from_matrix, {"R": (3, 3)}, {"q": (4,)})
    R = np.array([matrix_from_rpy(x) for x in RNG.uniform(-math.pi, math.pi, (200, 3))])
    np.testing.assert_allclose(code([R])[0], quaternion_from_matrix(R), rtol=0.0, atol=1e-15)
    turned = compile_function("rpy", matrix_from_rpy, {"rpy": (3,)}, {"R": (3, 3)})
    x = RNG.uniform(-math.pi, math.pi, (50, 3))
    np.testing.assert_allclose(turned([x])[0], [matrix_from_rpy(row) for row in x], rtol=0.0, atol=1e-15)


# -- blocks -----------------------------------------------------------------------------------------------------------------------

NAMES = ("yaw", "upper", "fore", "roll")
WAY = [{"t": 0.0, **dict.fromkeys(NAMES, 0.2)}, {"t": 2.0, **dict.fromkeys(NAMES, 0.6)}]
POSES = [
    {"t": 0.5, "position": [1.2, 0.2, 0.0], "heading_deg": 20.0},
    {"t": 3.0, "position": [1.0, -0.1, 0.2], "roll_deg": 35.0, "pitch_deg": -10.0},
]
SWING = {"t": 0.2, "travel": (0.0, 0.2, 0.1), "period": 1.0, "cycles": 3}
AXES = {"yaw": (0, 0, 1), "upper": (0, 1, 0), "fore": (0, 1, 0), "roll": (1, 0, 0)}


def model():
    """An arm on a free base."""
    hull = hm.Body(
        name="hull",
        joint=joints.Free(),
        inertia=hm.Inertia(mass=90.0, com=(0.0, 0.0, 0.04), tensor=(8.0, 12.0, 14.0, 0.0, 0.0, 0.0)),
        hydro=hm.Hydro(
            volume=0.095,
            buoyancy_center=(0.0, 0.0, -0.06),
            drag=(drag.Damping(linear=(20.0, 30.0, 40.0, 6.0, 6.0, 6.0)),),
        ),
        frames=tuple(hm.Frame(n, hm.Origin(*place)) for n, place in MOUNTS.items()),
    )
    links = [
        hm.Body(
            name=name,
            parent=parent,
            joint=joints.Revolute(axis=AXES[name], placement=hm.Origin((0.35, 0.0, 0.05)), limits=(-1.0, 1.0), position=0.3),
            inertia=hm.Inertia(mass=2.0, com=(0.15, 0.0, 0.01), tensor=(0.05, 0.03, 0.03, 0.0, 0.0, 0.0)),
            frames=(
                hm.Frame("tool", hm.Origin((0.35, 0.0, 0.0))),
                hm.Frame("wrist", hm.Origin((0.02, 0.0, 0.01), (0.4, -0.7, 1.1))),
            )
            if name == "roll"
            else (),
        )
        for name, parent in zip(NAMES, ("hull", *NAMES), strict=False)
    ]
    return hm.Model(name="m", bodies=[hull, *links])


MOUNTS = {
    "port": ((-0.3, -0.3, 0.02), (0.0, 0.0, 0.2)),
    "starboard": ((-0.3, 0.3, 0.02), (0.0, 0.0, -0.2)),
    "lateral": ((0.05, 0.0, 0.0), (0.0, 0.0, math.pi / 2)),
    "bow": ((0.4, 0.0, 0.0), (0.0, math.pi / 2, 0.0)),
    "left": ((-0.3, -0.3, 0.0), (0.0, math.pi / 2, 0.0)),
    "right": ((-0.3, 0.3, 0.0), (0.0, math.pi / 2, 0.0)),
}
THRUSTERS = [Thruster(name=n, frame=n, curve=ideal_curve(200.0, 200.0), time_constant=0.1) for n in MOUNTS]
TASKS = [
    ToolTask(frame="tool", waypoints=POSES, swings=[SWING]),
    VehicleTask(waypoints=[{"position": [0, 0, 0]}]),
    ManipulabilityTask(frame="tool", least=0.2),
    PostureTask(positions={"yaw": 0.0, "upper": 0.6}),
]
SERVOS = [drives.Servo(joint=n, stiffness=400.0, damping=40.0) for n in NAMES]
TORQUES = [drives.Torque(joint=n) for n in NAMES]
WRIST = {"ft": Measured("wrist", np.full(6, np.nan))}
ADMITTANCE = {"sensor": "ft", "stiffness": 1500.0, "damping": 2500.0, "start": 1.0, "touched": 2.0}

BLOCKS = {
    "place": (SERVOS, {}, lambda: CartesianMotion(frame="tool", waypoints=POSES, swings=[SWING])),
    "pose": (SERVOS, {}, lambda: CartesianMotion(frame="tool", waypoints=POSES, directions=("x", "y", "z", "rx", "ry", "rz"))),
    "admittance": (SERVOS, WRIST, lambda: CartesianMotion(frame="tool", waypoints=POSES, admittance=ADMITTANCE, rate=5.0)),
    "joints": (TORQUES, {}, lambda: JointControl(waypoints=WAY, integral=5.0)),
    "computed": (TORQUES, {}, lambda: ComputedTorque(waypoints=WAY)),
    "tasks": ([*SERVOS, *THRUSTERS], {}, lambda: TaskPriority(tasks=TASKS)),
}


def prepared(name):
    """A block on its own copy of a plant."""
    if name == "carry":
        sim = hm.load_scenario("four_puma_lift").simulation()
        block, measured = CarryLoad(load="load.load", waypoints=[{"t": 0.0, "position": [0.0, 0.0, 0.3]}]), {}
    else:
        components, measured, make = BLOCKS[name]
        sim, block = hm.Simulation(model(), components=[*components]), make()
    return block.prepared(Site(sim.plant, sim.step_size, sim.start_q, measured))


def data(block):
    """Random arguments of `evaluate`, first ticks and readings that are missing among them."""
    site = block.site
    q = np.tile(site.start_q, (WORLDS, 1)) + RNG.uniform(-0.2, 0.2, (WORLDS, len(site.start_q)))
    for body, at in zip(site.model.bodies, site.model.q_slices, strict=True):
        if isinstance(body.joint, joints.Free):
            turn = q[:, at][:, 3:]
            q[:, at.start + 3 : at.stop] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    layout = site.plant.layout
    memory = RNG.uniform(-1.0, 1.0, (WORLDS, block.pack.size))
    memory[:, 0] = np.arange(WORLDS) % 3
    measured = RNG.normal(size=(WORLDS, block._sensors.size))
    measured[::4] = np.nan
    inputs = RNG.uniform(-0.9, 0.9, (WORLDS, len(layout.commands) + len(layout.held)))
    v = RNG.normal(size=(WORLDS, site.model.nv))
    return [np.linspace(0.0, 3.5, WORLDS), q, v, inputs, measured, memory, np.tile(block.design_values, (WORLDS, 1))]


@pytest.mark.parametrize("name", [*BLOCKS, "carry"])
def test_machine_code_against_floats(name):
    """Each world on its lane as `update` in floats, within the rounding of the inverses."""
    block = prepared(name)
    given = data(block)
    want = [block.evaluate(*row) for row in zip(*given, strict=True)]
    for lanes in (1, 4, 8):
        for result, rows in zip(block.program(lanes=lanes)(given), zip(*want, strict=True), strict=True):
            rows = np.array(rows, dtype=float)
            np.testing.assert_allclose(result, rows, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(rows).max(initial=0.0)))


def test_debugging_in_floats_gives_the_same_run(monkeypatch):
    def run():
        sim = hm.Simulation(model(), components=[*SERVOS], controller=BLOCKS["place"][2](), record=0.02)
        return sim.run(0.2).recording

    compiled = run()
    monkeypatch.setattr(CartesianMotion, "compiled", False)
    floats = run()
    np.testing.assert_allclose(floats.q.values, compiled.q.values, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(floats.signal.values, compiled.signal.values, rtol=0.0, atol=1e-12)
