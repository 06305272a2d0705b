"""Times of whole simulations on this machine: rollouts on lanes and threads, a scenario with its recording, MuJoCo's step."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import hydromechs as hm
from hydromechs import compiler
from hydromechs.model import Model

from ._machine import machine, random_states, report, target, timed
from ._worlds_peers import mujoco_peer

MODEL = "tiburon_titan2"
SCENARIO = "station_keeping"
STEP = 1e-3


def measure_simulation(*, quick: bool = False) -> dict[str, Any]:
    """Time rollouts and the scenario `station_keeping` and compare with what is asked for."""
    rounds, steps, worlds = (2, 200, 256) if quick else (7, 2000, 4096)
    where = machine()
    model = hm.load(MODEL)
    lanes, cores = compiler.native_lanes(), os.cpu_count() or 1
    q, v, _ = random_states(model, worlds)
    v = 0.2 * v
    tau = np.zeros(model.nv)
    rows: dict[str, dict[str, Any]] = {}
    for key, what, n, k, lane, thread in (
        ("one", "one world, one lane", 1, steps, 1, 1),
        ("lanes", f"{worlds} worlds, {lanes} lanes, one thread", worlds, max(4, steps // 40), lanes, 1),
        ("threads", f"{worlds} worlds, {lanes} lanes, {cores} threads", worlds, max(4, steps // 40), lanes, cores),
    ):
        dyn = hm.compile(model, lanes=lane, threads=thread)
        hm.rollout(dyn, q[:n], v[:n], tau, STEP, 2, record=2)
        march = partial(hm.rollout, dyn, q[:n], v[:n], tau, STEP, k, record=k)
        times = timed(march, rounds)
        best = min(times)
        rows[key] = {
            "what": what,
            "real_time_factor": n * k * STEP / best,
            "median_factor": n * k * STEP / statistics.median(times),
            "ns_per_evaluation": best / (4 * n * k) * 1e9,
        }
    scenario = _scenario(2 if quick else 5, 5.0 if quick else None)
    mujoco = _mujoco(model, steps, rounds)
    one = rows["one"]["real_time_factor"]
    gain = rows["threads"]["real_time_factor"] / rows["lanes"]["real_time_factor"]
    targets = [
        target(f"{SCENARIO} with its recording, times real time", "≥ 200", scenario["real_time_factor"]),
        target("rollout of one world on one lane, times real time", "≥ 400", one),
        target(f"{worlds} worlds: two threads over one", "> 1.5", gain if cores > 1 else None),
        target("lanes over one lane, per world", "> 2", rows["lanes"]["real_time_factor"] / one),
    ]
    return report(where, targets, quick=quick, rollouts=rows, scenario=scenario, mujoco_step_us=mujoco)


def _scenario(repeats: int, duration: float | None) -> dict[str, Any]:
    """The shipped scenario as `hydromechs run` does it, recording to disk."""
    from hydromechs.library import load_scenario

    scenario = load_scenario(SCENARIO)
    start = time.perf_counter()
    sim = scenario.simulation()
    sim.compile()
    compiled = time.perf_counter() - start
    first, runs = sim.state, []
    with tempfile.TemporaryDirectory() as folder:
        for k in range(repeats):
            sim.reset(first)
            path = Path(folder) / f"{k}.zarr"
            runs.append(sim.run(duration or scenario.duration, path=path))
    best = max(runs, key=lambda r: r.real_time_factor)
    return {
        "name": SCENARIO,
        "duration": scenario.duration if duration is None else duration,
        "wall_time": best.wall_time,
        "real_time_factor": best.real_time_factor,
        "median_factor": statistics.median(r.real_time_factor for r in runs),
        "compile_time": compiled,
    }


def _mujoco(model: Model, steps: int, rounds: int) -> float | None:
    """Microseconds of one RK4 step of MuJoCo for the same tree, dry, called from Python; None without MuJoCo."""
    peer = mujoco_peer(model, "RK4", STEP)
    if peer is None:
        return None

    def march() -> None:
        for _ in range(steps // 2):
            peer.mujoco.mj_step(peer.model, peer.data)

    return min(timed(march, rounds)) / (steps // 2) * 1e6
