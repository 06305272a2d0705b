"""Rollouts: many steps of many worlds entirely in compiled code, on lanes and threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hydromechs import dynamics, equations
from hydromechs.compiler import Argument
from hydromechs.equations import FLUID, Dynamics, is_ours, shape_of
from hydromechs.integrators import BlockSteps, SlidingBlock, Stepper, method_named
from hydromechs.model import UNIT_TOLERANCE, BallStep, FreeStep

__all__ = ["Rollout", "rollout"]

OPTIONAL = (*FLUID, "wrench")


class Rollout(NamedTuple):
    """Trajectories of worlds; the batch's dimensions come first."""

    t: np.ndarray
    """Times from the start, of the start and of every recorded step [s], shape (rows + 1,)."""
    q: np.ndarray
    """Configurations, shape (..., rows + 1, nq)."""
    v: np.ndarray
    """Velocities, shape (..., rows + 1, nv)."""
    good: np.ndarray
    """Number of steps that gave finite numbers, shape (...); a world that diverges stays at its last finite state."""


def rollout(dyn: Dynamics, q, v, inputs, dt: float, steps: int, *, method="rk4", record: int = 1) -> Rollout:
    """March worlds through time without returning to Python.

    Args:
        dyn: The compiled model; its lanes and threads are used.
        q: Configurations at the start, shape (..., nq).
        v: Velocities at the start, shape (..., nv).
        inputs: Generalised force tau, or a mapping with tau and optionally fluid_velocity (3,), fluid_acceleration (3,) and
            wrench (nb, 6). Each is held, shape (..., n), or given for every step, shape (..., steps, n), with all of the
            batch's dimensions before it.
        dt: Step [s].
        steps: Number of steps.
        method: The integrator: rk4, semi_implicit_euler, euler, linearly_implicit, or a block method such as b4pc5, which wants
            inputs that are held.
        record: Steps from one recorded state to the next.
    """
    if dyn.parameters:
        raise ValueError("a rollout takes the model's own numbers; compile the model without open parameters")
    if not isinstance(dt, int | float) or not np.isfinite(dt) or dt <= 0.0:
        raise ValueError(f"dt is {dt!r}, must be a number above 0")
    for name, value in (("steps", steps), ("record", record)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} is {value!r}, must be a whole number of at least 1")
    method = method_named(method)
    if method.name == "dormand_prince":
        raise ValueError("a rollout takes steps of one length; use rk4, b1pc5, semi_implicit_euler, euler or linearly_implicit")
    given = dict(inputs) if isinstance(inputs, Mapping) else {"tau": inputs}
    unknown = set(given) - {"tau", *OPTIONAL}
    if unknown:
        raise KeyError(f"no input {sorted(unknown)[0]!r}; there are tau, {', '.join(OPTIONAL)}")
    model = dyn.model
    given.setdefault("tau", np.zeros(model.nv))
    names = ["tau", *(name for name in OPTIONAL if name in given)]
    stepper = _stepper(dyn, method, tuple(names))
    q, v = (np.asarray(x, dtype=float) for x in (q, v))
    for name, x, n in (("q", q, model.nq), ("v", v, model.nv)):
        if x.ndim < 1 or x.shape[-1] != n:
            raise ValueError(f"{name} must have shape (..., {n}), got {x.shape}")
    _check_start(model, q)
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    arrays = [_worlds(np.asarray(given[name], dtype=float), name, shape_of(name, model), batch, steps) for name in names]
    batch = np.broadcast_shapes(batch, *(lead for _, lead in arrays))
    worlds = int(np.prod(batch))
    state = [np.zeros(worlds), *(np.broadcast_to(x, batch + x.shape[-1:]).reshape(worlds, x.shape[-1]) for x in (q, v))]
    flat = [_flat(x, lead, batch, worlds) for x, lead in arrays]
    if isinstance(method, SlidingBlock):
        blocks = dyn._made.setdefault(("blocks", method, tuple(names)), BlockSteps(stepper))
        for name, x in zip(names, flat, strict=True):
            if x.ndim > 1 + len(shape_of(name, model)):
                raise ValueError(
                    f"{name} changes with every step, but {method.name} builds on earlier derivatives and needs inputs without "
                    "jumps: hold it, roll out piece by piece, or use rk4"
                )
        result = blocks.run(0.0, 0.0, *state[1:], flat, float(dt), steps, record)
        paths = [result.q, result.x]
    else:
        result = stepper.march(state, [np.array([float(dt)]), np.zeros(1), *flat], steps, stride=record)
        paths = result.records[1:]
    rows = steps // record
    q_all, v_all = (
        np.concatenate([start[:, None], path], axis=1).reshape(*batch, rows + 1, path.shape[-1])
        for start, path in zip(state[1:], paths, strict=True)
    )
    return Rollout(dt * record * np.arange(rows + 1), q_all, v_all, result.good.reshape(batch))


def _check_start(model, q: np.ndarray) -> None:
    """Quaternions at the start must have unit length; numbers that are not finite only stop their world."""
    for body, steps in zip(model.bodies, model.steps, strict=True):
        for step in steps:
            if isinstance(step, FreeStep | BallStep):
                at = step.iq + (3 if isinstance(step, FreeStep) else 0)
                length = np.linalg.norm(q[..., at : at + 4], axis=-1)
                bad = np.abs(length - 1.0) > UNIT_TOLERANCE
                if bad.any():
                    where = tuple(int(k) for k in np.argwhere(bad)[0])
                    world = f" of world {where}" if where else ""
                    raise ValueError(
                        f"q[..., {at}:{at + 4}], the quaternion of body {body.name!r}{world}, has length {length[where]:.6g}; "
                        "it must be a unit quaternion (w, x, y, z)"
                    )


def _worlds(x: np.ndarray, name: str, shape: tuple[int, ...], batch: tuple[int, ...], steps: int):
    """An input and its leading dimensions: none, those of the batch, or those of the batch and one row per step."""
    n = len(shape)
    if x.ndim < n or x.shape[x.ndim - n :] != shape:
        raise ValueError(f"{name} must have shape (..., {', '.join(map(str, shape))}), got {x.shape}")
    lead = x.shape[: x.ndim - n]
    if len(lead) == len(batch) + 1:
        if lead[-1] != steps:
            raise ValueError(f"{name} of shape {x.shape} has {lead[-1]} rows for {steps} steps; give one row per step")
        return x, lead[:-1]
    if len(lead) > len(batch) + 1:
        raise ValueError(f"{name} of shape {x.shape} does not fit the batch {batch}")
    return x, lead


def _flat(x: np.ndarray, lead: tuple[int, ...], batch: tuple[int, ...], worlds: int) -> np.ndarray:
    """With one leading dimension: all worlds, or 1 where it is the same in all."""
    rest = x.shape[len(lead) :]
    if int(np.prod(lead)) == 1:
        return x.reshape(1, *rest)
    return np.broadcast_to(x, batch + rest).reshape(worlds, *rest)


def _stepper(dyn: Dynamics, method, names: tuple[str, ...]) -> Stepper:
    """The compiled stepper of a model; kept with it."""
    key = ("rollout", method, names)
    if key not in dyn._made:
        model = dyn.model

        def ydot(t, q, y, **inputs):
            here = dynamics.retract(model, q, y[: model.nv])
            v = y[model.nv :]
            vdot = equations.forward_dynamics(model, here, v, **inputs)
            return np.concatenate([dynamics.chart_rate(model, here, y[: model.nv], v), vdot])

        arguments = tuple(Argument(name, shape_of(name, model)) for name in names)
        identity = repr(model) if is_ours(model) else None
        dyn._made[key] = Stepper(
            model, ydot, 0, arguments, method, name="rollout", identity=identity, lanes=dyn.lanes, threads=dyn.threads
        )
    return dyn._made[key]
