"""Rollouts: many steps of many worlds from given starts, with any leading dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hydromechs.equations import FLOW, Dynamics, shape_of
from hydromechs.integrators import EQUAL_STEPS, Integrator, method_named
from hydromechs.model import State
from hydromechs.simulation import Plant, TracedBlock, check_time
from hydromechs.values import finite, nearest, positive, whole

from ._plant import PlantSource
from ._results import Rollout
from ._shapes import as_array, batch_of, check_quaternions, each_world, flat, leading, rows_of, shape_text
from ._worlds import Worlds, check_record


def rollout(
    what: Dynamics | Plant,
    q: Any,
    v: Any,
    inputs: Any,
    dt: float,
    steps: int,
    *,
    method: str | Integrator = "rk4",
    record: int = 1,
    controller: TracedBlock | None = None,
    internal: Any = None,
    memory: Any = None,
    t: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    lanes: int | None = None,
    threads: int | None = None,
) -> Rollout:
    """March worlds through time without returning to Python but for a control law: `Worlds` for one use.

    Args:
        what: A compiled model, whose lanes and threads are used; or a plant, for all that acts on it.
        q: Configurations at the start, shape (..., nq).
        v: Velocities at the start, shape (..., nv).
        inputs: Of a model, the generalised force tau, or a mapping with tau and optionally fluid_velocity (3,),
            fluid_acceleration (3,) and wrench (nb, 6). Each is held, shape (..., n), or given for every step, shape
            (..., steps, n), with all of the batch's dimensions before it. Of a plant, a mapping of commands and held inputs by
            name, each held, shape (...), or for every step, shape (..., steps); those not named are at rest. A constraint that
            closes at a step makes velocities agree there, as in a simulation.
        dt: Step [s].
        steps: Number of steps.
        method: The integrator: rk4, semi_implicit_euler, euler, linearly_implicit, or a block method such as b4pc5, which wants
            inputs that are held.
        record: Steps from one recorded state to the next; the number of steps is a multiple of it.
        controller: Of a plant: gives commands every period, an integer number of steps.
        internal: Of a plant: internal states at the start, shape (..., nz); defaults to those at a simulation's start. What
            is closed at the start closes there, with an impulse, unless internal states are given: then they hold already.
        memory: Controller's memory at the start, shape (..., nm); defaults to the controller's initial memory.
        t: Of a plant: time at the start [s]; defaults to 0.
        parameters: Values of open parameters by name, shape (..., n); the model's for those not named.
        lanes: Of a plant: worlds per vector operation, 1, 4 or 8; defaults to the machine's vector width.
        threads: Of a plant: threads that share the worlds; defaults to 1.
    """
    begin = 0.0 if t is None else finite(t, "t")
    dt, steps, record = positive(dt, "dt"), whole(steps, "steps", 1), whole(record, "record", 1)
    check_time(begin, "t", dt)
    check_record(steps, record)
    chosen = method_named(method)
    if chosen.adaptive:
        raise ValueError(f"a rollout takes steps of one length; {EQUAL_STEPS}")
    opened = dict(parameters or {})
    if isinstance(what, Dynamics):
        given = {"controller": controller, "internal": internal, "memory": memory, "t": t, "lanes": lanes, "threads": threads}
        extra = [name for name, x in given.items() if x is not None]
        if extra:
            raise ValueError(f"{extra[0]} goes with a plant; build one, hm.Plant(model=..., components=...), and roll it out")
        return _model_rollout(what, chosen, q, v, inputs, dt, steps, record, opened)
    if not isinstance(what, Plant):
        raise TypeError(f"a rollout takes a compiled model, hm.compile(model), or a Plant; got {type(what).__name__}")
    if memory is not None and controller is None:
        raise ValueError("memory goes with a controller; give one, or leave memory out")
    options = {"controller": controller, "lanes": lanes, "threads": 1 if threads is None else threads}
    options |= {"method": chosen, "step": dt}
    return _plant_rollout(what, begin, q, v, inputs, steps, record, internal, memory, opened, options)


def _model_rollout(
    dyn: Dynamics,
    method: Integrator,
    q: Any,
    v: Any,
    inputs: Any,
    dt: float,
    steps: int,
    record: int,
    parameters: Mapping[str, Any],
) -> Rollout:
    given = dict(inputs) if isinstance(inputs, Mapping) else {"tau": inputs}
    unknown = set(given) - {"tau", *FLOW}
    if unknown:
        raise KeyError(f"no input {sorted(unknown)[0]!r}; there are tau, {', '.join(FLOW)}")
    unknown = set(parameters) - set(dyn.parameters)
    if unknown:
        name = sorted(unknown)[0]
        raise KeyError(f"no open parameter {name!r}{nearest(name, dyn.parameters)}; name it in hm.compile(parameters=[...])")
    model = dyn.model
    given.setdefault("tau", np.zeros(model.nv))
    names = ["tau", *(name for name in FLOW if name in given)]
    shapes = {name: shape_of(name, model) for name in names} | {name: x.shape for name, x in dyn.parameters.items()}
    given |= {**dyn.parameters, **parameters}
    q, v, batch = _starts(model, q, v)
    arrays = {name: as_array(given[name], name) for name in shapes}
    leads = {name: leading(x, name, shapes[name], batch, steps) for name, x in arrays.items()}
    batch = batch_of({"q and v": batch, **leads})
    n = int(np.prod(batch))
    flattened = {name: flat(x, leads[name], batch, n) for name, x in arrays.items()}
    worlds = Worlds(
        dyn, n, step=dt, method=method, inputs=names[1:], parameters={name: flattened[name] for name in dyn.parameters}
    )
    worlds.q[:], worlds.v[:] = (each_world(x, batch, n) for x in (q, v))
    rolled = worlds.rollout({name: flattened[name] for name in names}, steps, record)
    return _in_batch(rolled, batch, dt * record * np.arange(steps // record + 1))


def _plant_rollout(
    plant: Plant,
    begin: float,
    q: Any,
    v: Any,
    inputs: Any,
    steps: int,
    record: int,
    internal: Any,
    memory: Any,
    parameters: Mapping[str, Any],
    options: dict[str, Any],
) -> Rollout:
    layout, model = plant.layout, plant.model
    q, v, batch = _starts(model, q, v)
    source = PlantSource(plant, options["method"], options["lanes"], options["threads"])
    arrays = {name: as_array(x, name) for name, x in source.named(inputs).items()}
    leads = {name: leading(x, repr(name), (), batch, steps) for name, x in arrays.items()}
    opened = _parameters(plant, parameters)
    shapes = {"q and v": batch, **leads}
    shapes |= {name: x.shape[: x.ndim - len(shape)] for name, (x, shape) in opened.items()}
    if internal is not None:
        internal = rows_of(internal, "internal", layout.nz)
        shapes["internal"] = internal.shape[:-1]
    if memory is not None:
        memory = as_array(memory, "memory")
        shapes["memory"] = memory.shape[:-1]
    batch = batch_of(shapes)
    n = int(np.prod(batch))
    values = {name: np.broadcast_to(x, (*batch, *shape)).reshape(n, *shape) for name, (x, shape) in opened.items()}
    start = State(t=begin, q=each_world(q, batch, n), v=each_world(v, batch, n))
    if internal is not None:
        start = replace(start, internal=each_world(internal, batch, n))
    if memory is not None:
        start = replace(start, memory=each_world(memory, batch, n))
    worlds = Worlds(plant, n, start=start, parameters=values, **options)
    given = {}
    for name, x in arrays.items():
        each = (*batch, steps) if x.ndim > len(leads[name]) else batch
        given[name] = np.broadcast_to(x, each).reshape(n, *each[len(batch) :])
    times = begin + worlds.step_size * record * np.arange(steps // record + 1)
    return _in_batch(worlds.rollout(given, steps, record), batch, times)


def _starts(model: Any, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Starts as arrays, and the batch's dimensions."""
    q, v = rows_of(q, "q", model.nq), rows_of(v, "v", model.nv)
    check_quaternions(model, q)
    return q, v, batch_of({"q": q.shape[:-1], "v": v.shape[:-1]})


def _parameters(plant: Plant, given: Mapping[str, Any]) -> dict[str, tuple[np.ndarray, tuple[int, ...]]]:
    """Values of open parameters, and the shape of one world's, by name."""
    out = {}
    for name, value in given.items():
        if name not in plant.parameters:
            hint = nearest(name, plant.parameters)
            raise KeyError(f"no open parameter {name!r}{hint}; name it in Plant(parameters=[...])")
        x, (_, shape) = np.asarray(value, dtype=float), plant.layout.data[f"parameter.{name}"]
        if x.shape[x.ndim - len(shape) :] != shape:
            raise ValueError(f"parameter {name!r} must have shape {shape_text(shape)}, got {x.shape}")
        out[name] = x, shape
    return out


def _in_batch(rolled: Rollout, batch: tuple[int, ...], times: np.ndarray) -> Rollout:
    """A rollout with the batch's dimensions."""
    rest = {name: x.reshape((*batch, *x.shape[1:])) for name, x in rolled._asdict().items() if name not in ("t", "readings")}
    return Rollout(t=times, **rest)
