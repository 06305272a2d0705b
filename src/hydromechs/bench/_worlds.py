"""Complete steps per second of many worlds on one lane, all lanes, threads or a GPU, compared with MuJoCo rollouts."""

import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

import hydromechs as hm
from hydromechs import compiler
from hydromechs.actuation import Thruster, allocation_matrix
from hydromechs.library import load_scenario
from hydromechs.model import Model
from hydromechs.simulation import Tick, Update
from hydromechs.spatial import clamp, quaternion_matrix

from ._machine import dry_model, machine, random_states, report, timed

STEP = 1e-3
SCENARIO = "station_keeping"
"""Scenario whose plant has thrusters, servos, friction and stops."""
METHODS = {"semi_implicit_euler": "EULER", "rk4": "RK4"}
"""Our integrators, with the corresponding MuJoCo integrators."""
HELD = "thrusters, servos, a law"
"""Label of a row with the complete plant of `SCENARIO`."""


LANES = {
    70: (64, 32),
    75: (64, 2),
    80: (64, 32),
    86: (128, 2),
    87: (128, 2),
    89: (128, 2),
    90: (128, 64),
    100: (128, 64),
    120: (128, 2),
}
"""Float32 and float64 multiply-adds per clock and multiprocessor, keyed by compute capability (CUDA C programming guide)."""


def measure_worlds(model: Model, *, where: str = "cpu", quick: bool = False) -> dict[str, Any]:
    """Return all measurements of `hydromechs bench worlds` on "cpu" or "cuda", for a mechanism with generalised forces.

    `quick` selects few worlds and repetitions, as a test.
    """
    start = machine()
    rows, device = _cpu(model, quick) if where == "cpu" else _gpu(model, quick)
    return report(
        start,
        quick=quick,
        command=f"hydromechs bench worlds --target {where}",
        device=device,
        model={"name": model.name, "degrees_of_freedom": model.nv, "operations": _operations(model)},
        rows=rows,
    )


class HoldPose(hm.TracedBlock):
    """Controller that holds a vehicle at `place` [m], shape (3,), by spring and damper; arms stay at their setpoints."""

    period = 20 * STEP

    def __init__(self, plant: hm.Plant, place: np.ndarray) -> None:
        thrusters = [c for c in plant.components if isinstance(c, Thruster)]
        self.commanded, self.place = tuple(t.name for t in thrusters), place
        reach = np.linalg.pinv(allocation_matrix(plant.model, thrusters, plant.model.body_names[0]))
        self.share = reach / np.abs(reach).max()

    def update(self, tick: Tick) -> Update:
        q, v = tick.q, tick.v
        away = quaternion_matrix(q[3:7]).T @ (q[:3] - self.place)
        turned = 2.0 * q[3] * q[4:7]
        wanted = self.share @ np.concatenate([-away - 0.5 * v[:3], -turned - 0.5 * v[3:6]])
        throttle = [clamp(x, -1.0, 1.0) for x in wanted]
        return Update(dict(zip(self.commanded, throttle, strict=True)))


def _held(n: int, **options: Any) -> hm.Worlds:
    """Return worlds of the plant of `SCENARIO`, with the vehicle held by thrusters and the arm held by servos."""
    scenario = load_scenario(SCENARIO)
    plant = scenario.plant
    worlds = hm.Worlds(plant, n, start=scenario.start, step=STEP, controller=HoldPose(plant, scenario.start.q[:3]), **options)
    everyone = np.arange(n)
    worlds.target.put(worlds.v, everyone, 0.05 * np.random.default_rng(0).normal(size=(n, plant.model.nv)))
    return worlds


def _operations(model: Model) -> dict[str, int]:
    """Return the operation count of one step (multiplications, additions, divisions, roots, sines, cosines) by integrator."""
    out = {}
    for method in METHODS:
        count = hm.Worlds(model, 0, method=method, lanes=1).source.stepper.march.traced.count()
        out[method] = sum(count.papers) + count.sines_cosines
    return out


def _bytes(worlds: hm.Worlds) -> int:
    """Return the memory of one world: state and inputs [bytes]."""
    numbers = 1 + worlds.q.shape[1] + worlds.v.shape[1] + worlds.internal.shape[1]
    numbers += sum(int(np.prod(x.shape[1:])) for x in (*worlds.inputs.values(), *worlds.parameters.values()))
    return numbers * worlds.q.dtype.itemsize


def _set(worlds: hm.Worlds, model: Model) -> None:
    """Set random states and forces, which repeat after 1,024 worlds."""
    n = len(worlds)
    q, v, tau = random_states(model, min(n, 1024))
    times = -(-n // len(q))
    everyone = np.arange(n)
    for array, values in ((worlds.q, q), (worlds.v, 0.2 * v), (worlds.inputs["tau"], tau)):
        worlds.target.put(array, everyone, np.tile(values, (times, 1))[:n])


# -- CPU ----------------------------------------------------------------------------------------------------------------------


def _cpu(model: Model, quick: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    lanes, cores = compiler.native_lanes(), os.cpu_count() or 1
    n, rounds = (64, 2) if quick else (2048, 7)
    rows: list[dict[str, Any]] = []
    peak = _peak(lanes, 3 * rounds)
    for method in METHODS:
        steps = 4 if quick else 40 if method == "semi_implicit_euler" else 12
        shapes = [("one lane", 1, 1), (f"{lanes} lanes", lanes, 1), (f"{lanes} lanes, {cores} threads", lanes, cores)]
        made = []
        for what, lane, threads in shapes:
            worlds = hm.Worlds(model, n, step=STEP, method=method, lanes=lane, threads=threads)
            _set(worlds, model)
            worlds.step(None, 2)
            made.append((what, worlds, threads))
        peer = mujoco_rollout(model, METHODS[method], STEP, quick)
        times: list[list[float]] = [[] for _ in made]
        theirs: list[float] = []
        for _ in range(rounds):  # in rounds, so that all are measured under the same machine load
            for each, (_, worlds, _) in zip(times, made, strict=True):
                each += timed(partial(worlds.step, None, steps), 1)
            theirs += timed(peer[0], 1) if peer else []
        for (what, worlds, threads), each in zip(made, times, strict=True):
            row = row_of(f"ours, {what}", method, n, steps, each, threads, _bytes(worlds), water=True)
            share = row["per_second"] * _operations(model)[method] / (peak * threads)
            rows.append({**row, "fraction_of_peak": share if worlds.source.stepper.lanes > 1 else None})
        if peer:
            rows.append(row_of("MuJoCo's rollout, one thread", method, *peer[1], theirs, 1, None, water=False))
    worlds, steps = _held(n, method="semi_implicit_euler", lanes=lanes), 20
    worlds.step(None, steps)
    each = timed(partial(worlds.step, None, steps), 1 if quick else 3)
    row = row_of(f"ours, {HELD}, {lanes} lanes", "semi_implicit_euler", n, steps, each, 1, _bytes(worlds), water=True)
    return [*rows, row], {"lanes": lanes, "cores": cores, "peak_per_core": peak}


CHAINS, LENGTH = 16, 64
"""Numbers of independent and of consecutive dependent multiply-adds that measure the peak rate of a core."""


def _peak(lanes: int, rounds: int) -> float:
    """Return the peak rate of one core with fused multiply-adds on lanes, which count as two operations [1/s]."""

    def step(s: Any, a: Any, b: Any) -> Any:
        for _ in range(LENGTH):
            s = s * a[0] + b[0]
        return s

    shapes = {"s": (CHAINS,), "a": (1,), "b": (1,)}
    arguments = tuple(compiler.Argument(name, shape) for name, shape in shapes.items())
    march = compiler.March(compiler.Recipe("peak", step, arguments, arguments[:1], None), lanes, 1)
    state, steps = [np.full((lanes, CHAINS), 0.5)], 4000
    given = [np.full((1, 1), 0.5), np.full((1, 1), 0.25)]
    march(state, given, 2, stride=3)
    seconds = min(timed(lambda: march(state, given, steps, stride=steps + 1), rounds))
    return 2.0 * lanes * CHAINS * LENGTH * steps / seconds


def row_of(
    what: str, method: str, n: int, steps: int, times: list[float], threads: int, memory: int | None, *, water: bool
) -> dict[str, Any]:
    """Return one row of the report, from the times of calls that take `steps` steps of n worlds [s]."""
    return {
        "what": what,
        "method": method,
        "water": water,
        "worlds": n,
        "steps": steps,
        "threads": threads,
        "per_second": n * steps / min(times),
        "median_per_second": n * steps / statistics.median(times),
        "bytes_per_world": memory,
    }


def mujoco_peer(model: Model, integrator: str, step: float) -> Any:
    """Return the same tree, dry, in MuJoCo, with an integrator and a step [s]; None if MuJoCo is not installed."""
    try:
        import mujoco
    except ModuleNotFoundError:
        return None
    from ._dynamics import FastMujoco

    peer = FastMujoco(dry_model(model))
    peer.model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    peer.model.opt.timestep = step
    return peer


def mujoco_rollout(
    model: Model, integrator: str, step: float, quick: bool
) -> tuple[Callable[[], object], tuple[int, int]] | None:
    """Return a MuJoCo rollout on one thread, with its numbers of worlds and steps; None if MuJoCo is not installed."""
    peer = mujoco_peer(model, integrator, step)
    if peer is None:
        return None
    import mujoco
    from mujoco import rollout

    data, kind = mujoco.MjData(peer.model), mujoco.mjtState.mjSTATE_FULLPHYSICS
    n, steps = (4, 10) if quick else (64, 100)
    q, v, _ = random_states(model, n)
    starts = np.zeros((n, mujoco.mj_stateSize(peer.model, kind)))
    for k in range(n):
        data.qpos[peer.q_of], data.qvel[peer.v_of] = q[k], 0.2 * v[k]
        mujoco.mj_getState(peer.model, data, starts[k], kind)
    runner = rollout.Rollout(nthread=1)
    runner.rollout([peer.model] * n, [data], starts, nstep=2)
    return lambda: runner.rollout([peer.model] * n, [data], starts, nstep=steps), (n, steps)


# -- GPU ----------------------------------------------------------------------------------------------------------------------


def gpu_device(cupy: Any) -> dict[str, Any]:
    """Return a description of the GPU with peak rates of arithmetic [1/s] (two per multiply-add) and memory [bytes/s]."""
    attributes = cupy.cuda.Device().attributes
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    capability = int(cupy.cuda.Device().compute_capability)
    # newer CUDA versions omit the clocks from the properties; the attributes are in kHz
    clock, memory_clock = 1e3 * attributes["ClockRate"], 1e3 * attributes["MemoryClockRate"]
    cores = attributes["MultiProcessorCount"]
    lanes = LANES.get(capability)
    peaks = (None, None) if lanes is None else tuple(2.0 * clock * cores * n for n in lanes)
    return {
        "name": properties["name"].decode(),
        "compute_capability": capability,
        "multiprocessors": cores,
        "clock_hz": clock,
        "peak_float32": peaks[0],
        "peak_float64": peaks[1],
        "memory_bytes_per_s": 2.0 * memory_clock * attributes["GlobalMemoryBusWidth"] / 8.0,
        "cuda_runtime": cupy.cuda.runtime.runtimeGetVersion(),
        "cuda_driver": cupy.cuda.runtime.driverGetVersion(),
    }


def event_times(cupy: Any, call: Callable[[], object], repeats: int) -> list[float]:
    """Return the times of calls on the current stream [ms], measured by CUDA events."""
    times = []
    for _ in range(repeats):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end))
    return times


def _gpu(model: Model, quick: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    compiler.import_cupy()
    import cupy

    device, rows = gpu_device(cupy), []
    for precision in ("float32", "float64"):
        for method in METHODS:
            operations = _operations(model)[method]
            for exponent in (12,) if quick else (17, 20):
                n, steps = 2**exponent, 4 if quick else 100 if method == "semi_implicit_euler" else 25
                begin = time.perf_counter()
                worlds = hm.Worlds(model, n, step=STEP, method=method, target="cuda", precision=precision)
                seconds = time.perf_counter() - begin
                _set(worlds, model)
                row = row_of("one GPU", method, n, steps, _gpu_times(cupy, worlds, steps, quick), 0, _bytes(worlds), water=True)
                apart = _difference(model, method, precision, steps)
                peak = device[f"peak_{precision}"]
                share = None if peak is None else row["per_second"] * operations / peak
                more = {"compile_s": seconds, "fraction_of_peak": share, "difference_to_cpu": apart}
                rows.append({**row, **_kernel_facts(worlds, precision), **more})
    n, steps = 2 ** (12 if quick else 20), 40 if quick else 100
    begin = time.perf_counter()
    worlds = _held(n, method="semi_implicit_euler", target="cuda")
    seconds = time.perf_counter() - begin
    row = row_of(HELD, "semi_implicit_euler", n, steps, _gpu_times(cupy, worlds, steps, quick), 0, _bytes(worlds), water=True)
    more = {"compile_s": seconds, "fraction_of_peak": None, "difference_to_cpu": None}
    return [*rows, {**row, **_kernel_facts(worlds, "float64"), **more}], device


def _kernel_facts(worlds: hm.Worlds, precision: str) -> dict[str, Any]:
    attributes = worlds.target.attributes()
    return {
        "precision": precision,
        "frozen": int(worlds.frozen.sum()),
        "registers": attributes.registers,
        "local_bytes": attributes.local_bytes,
    }


def _gpu_times(cupy: Any, worlds: hm.Worlds, steps: int, quick: bool) -> list[float]:
    """Return the times of calls of `step` [s], measured by CUDA events."""
    worlds.step(None, steps)
    cupy.cuda.Device().synchronize()
    return [1e-3 * ms for ms in event_times(cupy, partial(worlds.step, None, steps), 2 if quick else 7)]


def _difference(model: Model, method: str, precision: str, steps: int) -> float | None:
    """Return the largest difference between GPU and CPU after some steps, relative to each value or 1; None without LLVM."""
    if find_spec("llvmlite") is None:
        return None
    ends = []
    for where, numbers in (("cpu", "float64"), ("cuda", precision)):
        worlds = hm.Worlds(model, 64, step=STEP, method=method, target=where, precision=numbers)
        _set(worlds, model)
        worlds.step(None, steps)
        ends.append(np.concatenate([worlds.target.get(worlds.q), worlds.target.get(worlds.v)], axis=1))
    return float((np.abs(ends[1] - ends[0]) / np.maximum(1.0, np.abs(ends[0]))).max())
