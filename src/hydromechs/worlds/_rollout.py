"""Rollouts: many steps of many worlds from specified initial states, with arbitrary leading dimensions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hydromechs.equations import FLOW, Dynamics
from hydromechs.integrators import EQUAL_STEPS, Integrator, method_named
from hydromechs.model import State
from hydromechs.simulation import Plant, TracedBlock, check_time
from hydromechs.values import finite, nearest, positive, whole

from ._copied import source_of
from ._results import Rollout
from ._shapes import as_array, batch_of, check_quaternions, each_world, flat, leading, rows_of, shape_text
from ._source import Source
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
    """Advance many worlds in compiled code and return their trajectories; shorthand for `Worlds`.

    Args:
        what: Compiled model, which defines lanes and threads, or plant with all components.
        q: Initial configurations, shape (..., nq).
        v: Initial velocities, shape (..., nv).
        inputs: For a model, the generalised force tau [N, N·m], or a mapping with tau and optionally fluid_velocity [m/s],
            shape (3,), fluid_acceleration [m/s²], shape (3,), and wrench [N, N·m], shape (nb, 6). An input is constant,
            shape (..., n), or varies per step, shape (..., steps, n) with all batch dimensions. For a plant, a mapping of
            commands and held inputs, each constant, shape (...), or per step, shape (..., steps); omitted inputs have their
            rest values. A constraint that closes at a step causes an impulse, as in a simulation.
        dt: Step [s].
        steps: Number of steps.
        method: Integrator: rk4, semi_implicit_euler, euler, linearly_implicit, or a block method such as b4pc5, which
            requires constant inputs.
        record: Number of steps between recorded states; `steps` must be a multiple of `record`.
        controller: Controller that sets the commands of a plant every period, which is an integer multiple of the step.
        internal: Initial internal states of a plant, shape (..., nz). Defaults to the initial states of a simulation, in
            which closed constraints cause an impulse at the start. If `internal` is given, they are already closed.
        memory: Initial memory of the controller, shape (..., nm). Defaults to the memory defined by the controller.
        t: Initial time of a plant [s]. Defaults to 0.
        parameters: Values of open parameters, keyed by name, shape (..., n). Default to the values in the model.
        lanes: Worlds of a plant per vector operation, 1, 4 or 8. Defaults to the vector width of the machine.
        threads: Number of threads that share the worlds of a plant. Defaults to 1.
    """
    begin = 0.0 if t is None else finite(t, "t")
    dt, steps, record = positive(dt, "dt"), whole(steps, "steps", 1), whole(record, "record", 1)
    check_time(begin, "t", dt)
    check_record(steps, record)
    chosen = method_named(method)
    if chosen.adaptive:
        raise ValueError(f"a rollout requires equal steps; {EQUAL_STEPS}")
    options: dict[str, Any] = {"controller": controller, "lanes": lanes, "threads": threads}
    if isinstance(what, Dynamics):
        for name, x in {**options, "internal": internal, "memory": memory, "t": t}.items():
            if x is not None:
                raise ValueError(f"{name} applies only to a plant; pass hm.Plant(model=..., components=...) to rollout")
        given = inputs if isinstance(inputs, Mapping) else {"tau": inputs}
        options["inputs"] = [name for name in FLOW if name in given]
    elif not isinstance(what, Plant):
        raise TypeError(f"rollout received a {type(what).__name__}; pass a compiled model, hm.compile(model), or a Plant")
    elif memory is not None and controller is None:
        raise ValueError("memory applies only with a controller; add a controller or omit memory")
    model, source = what.model, source_of(what, chosen, options.get("inputs", ()), (), lanes, threads)
    q, v = rows_of(q, "q", model.nq), rows_of(v, "v", model.nv)
    check_quaternions(model, q)
    batch = batch_of({"q": q.shape[:-1], "v": v.shape[:-1]})
    arrays = {name: as_array(x, name) for name, x in source.named(inputs).items()}
    leads = {name: leading(x, name, source.places[name].shape, batch, steps) for name, x in arrays.items()}
    opened = _opened(source, parameters or {}, "hm.compile" if isinstance(what, Dynamics) else "Plant")
    start, starts = State(t=begin, q=q, v=v), dict[str, Any](q=q, v=v)
    if internal is not None:
        starts["internal"] = rows_of(internal, "internal", source.nz)
    if memory is not None:
        starts["memory"] = as_array(memory, "memory")
    shapes = {"q and v": batch, **leads, **{name: lead for name, (_, lead) in opened.items()}}
    batch = batch_of(shapes | {name: x.shape[:-1] for name, x in starts.items() if name not in ("q", "v")})
    n = int(np.prod(batch))
    start = replace(start, **dict[str, Any]({name: each_world(x, batch, n) for name, x in starts.items()}))
    values = {name: flat(x, lead, batch, n) for name, (x, lead) in opened.items()}
    worlds = Worlds(what, n, step=dt, method=chosen, start=start, parameters=values, **options)
    rolled = worlds.rollout({name: flat(x, leads[name], batch, n) for name, x in arrays.items()}, steps, record)
    rest = {name: x.reshape((*batch, *x.shape[1:])) for name, x in rolled._asdict().items() if name not in ("t", "readings")}
    return Rollout(t=begin + dt * record * np.arange(steps // record + 1), **rest)


def _opened(source: Source, given: Mapping[str, Any], where: str) -> dict[str, tuple[np.ndarray, tuple[int, ...]]]:
    """Return values of open parameters and their leading dimensions, keyed by name."""
    out = {}
    for name, value in given.items():
        if name not in source.opened:
            raise KeyError(
                f"unknown open parameter {name!r}{nearest(name, source.opened)}; list this name in {where}(parameters=[...])"
            )
        x, shape = as_array(value, name), source.opened[name].shape
        if x.shape[x.ndim - len(shape) :] != shape:
            raise ValueError(f"parameter {name!r} must have shape {shape_text(shape)}, got {x.shape}")
        out[name] = x, x.shape[: x.ndim - len(shape)]
    return out
