"""Whole steps per second of many dry worlds in MJX, on the GPU that JAX finds."""

from __future__ import annotations

import contextlib
import sys
import time
from importlib.util import find_spec
from typing import Any

import numpy as np

from hydromechs.bench._machine import random_states
from hydromechs.bench._worlds import METHODS, STEP, mujoco_peer, row_of
from hydromechs.model import Model

__all__ = ["mjx_rows"]

MJX = "MJX"
"""Label of a row of MuJoCo in JAX."""


def mjx_rows(model: Model, quick: bool) -> list[dict[str, Any]]:
    """MJX of the dry tree with as many worlds as suit it, in float32; nothing where it is not installed."""
    if find_spec("jax") is None or find_spec("mujoco") is None or find_spec("mujoco.mjx") is None:
        return []
    rows = []
    for exponent in (4,) if quick else (13, 15, 17):
        n, steps, rounds = 2**exponent, 2 if quick else 100, 2 if quick else 5
        times, compiling = mjx_times(model, METHODS["semi_implicit_euler"], STEP, n, steps, rounds)
        row = row_of(MJX, "semi_implicit_euler", n, steps, times, 0, None, water=False)
        rows.append({**row, "precision": "float32", "compile_s": compiling})
    return rows


def mjx_times(model: Model, integrator: str, step: float, n: int, steps: int, rounds: int) -> tuple[list[float], float]:
    """Seconds of calls of some steps of MJX in n worlds in float32, and the seconds to compile.

    States stay on JAX's device between calls, as ours do.
    """
    with contextlib.redirect_stdout(sys.stderr):  # it prints suggestions
        import jax
        from mujoco import mjx

    peer = mujoco_peer(model, integrator, step)
    q, v, _ = random_states(model, min(n, 1024))
    qpos, qvel = np.zeros((len(q), peer.model.nq), np.float32), np.zeros((len(q), peer.model.nv), np.float32)
    qpos[:, peer.q_of], qvel[:, peer.v_of] = q, 0.2 * v
    times = -(-n // len(q))
    theirs, one = mjx.put_model(peer.model), mjx.make_data(peer.model)

    def start(position: Any, rate: Any) -> Any:
        return one.replace(qpos=position, qvel=rate)

    def go(worlds: Any) -> Any:
        return jax.lax.scan(lambda now, _: (jax.vmap(mjx.step, in_axes=(None, 0))(theirs, now), None), worlds, length=steps)[0]

    worlds = jax.vmap(start)(*(np.tile(x, (times, 1))[:n] for x in (qpos, qvel)))
    call, begin = jax.jit(go), time.perf_counter()
    worlds = jax.block_until_ready(call(worlds))
    compiling, seconds = time.perf_counter() - begin, []
    for _ in range(rounds):
        begin = time.perf_counter()
        worlds = jax.block_until_ready(call(worlds))
        seconds.append(time.perf_counter() - begin)
    if not np.isfinite(np.asarray(worlds.qpos)).all():
        raise FloatingPointError("MJX's worlds diverged; its times are meaningless")
    return seconds, compiling
