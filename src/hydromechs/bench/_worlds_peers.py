"""What `bench worlds` measures beside us, with the dry tree: MuJoCo's rollout on one thread, MJX on the GPU that JAX finds."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from hydromechs.model import Model

from ._machine import dry_model, random_states


def mujoco_peer(model: Model, integrator: str, step: float) -> Any:
    """The same tree, dry, in MuJoCo, with an integrator and a step [s]; None without MuJoCo."""
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
    """A call of MuJoCo's rollout on one thread, and how many worlds and steps it has; None without MuJoCo."""
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


def mjx_times(model: Model, integrator: str, step: float, n: int, steps: int, rounds: int) -> tuple[list[float], float]:
    """Seconds of calls of some steps of MJX in n worlds in float32, and the seconds to compile.

    States stay on JAX's device between calls, as ours do.
    """
    with contextlib.redirect_stdout(sys.stderr):  # it says what else it could have
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
        raise FloatingPointError("MJX's worlds diverged; its times say nothing")
    return seconds, compiling
