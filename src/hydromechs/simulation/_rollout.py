"""Rollouts: many steps of many worlds in compiled code, on lanes and threads; with a plant, all that acts and a control law."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from hydromechs import compiler, dynamics, equations
from hydromechs.compiler import Argument, Compiled, Rolled
from hydromechs.equations import FLUID, Dynamics, identity_of, shape_of, with_parameters
from hydromechs.errors import FieldError
from hydromechs.hydro import UniformFlow
from hydromechs.integrators import (
    Integrator,
    Paths,
    Point,
    Stepper,
    chart_rate_loop,
    method_named,
    retract_loop,
    rounding,
    slack,
    whole_steps,
)
from hydromechs.model import UNIT_TOLERANCE, Model, MovingStep
from hydromechs.values import Array, Scalar, finite, nearest, positive, whole

from ._beginning import Beginning
from ._closing import closed, switched_off
from ._controller import TracedController
from ._plant import Plant
from ._programs import PlantPrograms
from ._ranges import CommandRanges, HeldRanges
from ._start import check_time

__all__ = ["Rollout", "rollout"]

OPTIONAL = (*FLUID, "wrench")


class Rollout(NamedTuple):
    """Trajectories of worlds; the batch's dimensions come first."""

    t: np.ndarray
    """Times of the start and of every recorded step [s], shape (rows + 1,)."""
    q: np.ndarray
    """Configurations, shape (..., rows + 1, nq)."""
    v: np.ndarray
    """Velocities, shape (..., rows + 1, nv)."""
    good: np.ndarray
    """Number of steps that gave finite numbers, whole numbers of shape (...); a world that diverges stays where it was."""
    internal: np.ndarray
    """Internal states of a plant's components and the work done, shape (..., rows + 1, nz)."""
    command: np.ndarray
    """Commands of a plant at the end, shape (..., na)."""
    memory: np.ndarray
    """What the controller remembers at the end, shape (..., nm)."""

    def __repr__(self) -> str:
        worlds, good = self.good.size, self.good
        steps = f"{good.min()} to {good.max()}" if worlds and good.min() < good.max() else f"{good.max(initial=0)}"
        of = f"{worlds} worlds" if self.good.ndim else "one world"
        return f"<Rollout of {of}: {len(self.t)} rows from t = {self.t[0]:g} to {self.t[-1]:g} s, {steps} good steps>"


class _Times(NamedTuple):
    """The steps of a rollout."""

    start: float
    """Time at the start [s]."""
    dt: float
    """Step [s]."""
    steps: int
    """Number of steps."""
    record: int
    """Steps from one recorded state to the next."""

    @property
    def recorded(self) -> np.ndarray:
        """Times of the start and of every recorded step [s], shape (rows + 1,)."""
        return self.start + self.dt * self.record * np.arange(self.steps // self.record + 1)


class _Law(NamedTuple):
    """A control law at work."""

    code: Compiled
    """From (t, q, v, command, memory) to (command, memory)."""
    period: int
    """Steps between two of its calls."""


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
    controller: TracedController | None = None,
    internal: Any = None,
    memory: Any = None,
    t: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    lanes: int | None = None,
    threads: int | None = None,
) -> Rollout:
    """March worlds through time without returning to Python but for a control law.

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
        controller: Of a plant: gives commands every period, a whole number of steps.
        internal: Of a plant: internal states at the start, shape (..., nz); those of a simulation's start unless given. What
            is closed at the start closes there, with an impulse, unless internal states are given: then they hold already.
        memory: What the controller remembers at the start, shape (..., nm); as it says unless given.
        t: Of a plant: time at the start [s]; 0 unless given.
        parameters: Values of open parameters by name, shape (..., n); the model's for those not named.
        lanes: Of a plant: worlds per vector operation, 1, 4 or 8; what the machine has unless given.
        threads: Of a plant: threads that share the worlds; 1 unless given.
    """
    begin = 0.0 if t is None else finite(t, "t")
    times = _Times(begin, positive(dt, "dt"), whole(steps, "steps", 1), whole(record, "record", 1))
    check_time(begin, "t", times.dt)
    if times.steps % times.record:
        least = -(-times.steps // times.record) * times.record
        words = f"steps is {times.steps}, must be a multiple of record, {times.record}, so that the end is recorded"
        raise ValueError(f"{words}; take {least} steps, or another record")
    chosen = method_named(method)
    if chosen.adaptive:
        raise ValueError("a rollout takes steps of one length; use rk4, b1pc5, semi_implicit_euler, euler or linearly_implicit")
    if isinstance(what, Dynamics):
        given = {"controller": controller, "internal": internal, "memory": memory, "t": t, "lanes": lanes, "threads": threads}
        extra = [name for name, x in given.items() if x is not None]
        if extra:
            raise ValueError(f"{extra[0]} goes with a plant; build one, hm.Plant(model=..., components=...), and roll it out")
        return _model_rollout(what, chosen, times, q, v, inputs, parameters or {})
    if not isinstance(what, Plant):
        raise TypeError(f"a rollout takes a compiled model, hm.compile(model), or a Plant; got {type(what).__name__}")
    if memory is not None and controller is None:
        raise ValueError("memory goes with a controller; give one, or leave memory out")
    worlds = _PlantRollout(what, chosen, lanes, 1 if threads is None else threads)
    return worlds.run(times, q, v, inputs, parameters or {}, controller=controller, internal=internal, memory=memory)


def _starts(model: Model, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Starts as arrays, and the batch's dimensions."""
    q, v = _last(q, "q", model.nq), _last(v, "v", model.nv)
    _check_quaternions(model, q)
    return q, v, _batch({"q": q.shape[:-1], "v": v.shape[:-1]})


def _array(x: Any, name: str) -> np.ndarray:
    """Numbers that a caller gave."""
    try:
        return np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise FieldError(name, x, "must be an array of numbers") from None


def _batch(shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The batch of all inputs, whose leading dimensions must fit together."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items() if shape)
        raise ValueError(f"batches do not fit together: {listed}; give all the same leading dimensions, or none") from None


def _last(x: Any, name: str, n: int) -> np.ndarray:
    """An array of rows of n numbers."""
    x = _array(x, name)
    if x.ndim < 1 or x.shape[-1] != n:
        raise ValueError(f"{name} must have shape (..., {n}), got {x.shape}")
    return x


def _shape_text(shape: tuple[int, ...]) -> str:
    """The shape of an array with the batch's dimensions before it, in words."""
    return f"({', '.join(['...', *map(str, shape)])})"


def _check_quaternions(model: Model, q: np.ndarray) -> None:
    """Quaternions at the start must have unit length; numbers that are not finite only stop their world."""
    for body, steps in zip(model.bodies, model.steps, strict=True):
        for step in steps:
            if isinstance(step, MovingStep) and step.quaternion is not None:
                at = step.iq + step.quaternion
                length = np.linalg.norm(q[..., at : at + 4], axis=-1)
                bad = np.abs(length - 1.0) > UNIT_TOLERANCE
                if bad.any():
                    where = tuple(int(k) for k in np.argwhere(bad)[0])
                    world = f" of world {where}" if where else ""
                    raise ValueError(
                        f"q[..., {at}:{at + 4}], the quaternion of body {body.name!r}{world}, has length {length[where]:.6g}; "
                        "it must be a unit quaternion (w, x, y, z)"
                    )


def _leading(x: np.ndarray, name: str, shape: tuple[int, ...], batch: tuple[int, ...], steps: int) -> tuple[int, ...]:
    """Leading dimensions of an input: none, those of the batch, or those of the batch and one row per step."""
    n = len(shape)
    if x.ndim < n or x.shape[x.ndim - n :] != shape:
        raise ValueError(f"{name} must have shape {_shape_text(shape)}, got {x.shape}")
    lead = x.shape[: x.ndim - n]
    if len(lead) == len(batch) + 1:
        if lead[-1] != steps:
            raise ValueError(f"{name} of shape {x.shape} has {lead[-1]} rows for {steps} steps; give one row per step")
        return lead[:-1]
    if len(lead) > len(batch) + 1:
        raise ValueError(
            f"{name} of shape {x.shape} does not fit the batch {batch}: it has more dimensions than that and the steps"
        )
    if lead and batch and lead == (steps,) and lead != batch[-1:]:
        raise ValueError(
            f"{name} of shape {x.shape} has one row per step but not the batch {batch}; give it the shape "
            f"{(*[1] * len(batch), *x.shape)} for the same rows in all worlds"
        )
    return lead


def _flat(x: np.ndarray, lead: tuple[int, ...], batch: tuple[int, ...], worlds: int) -> np.ndarray:
    """With one leading dimension: all worlds, or 1 where it is the same in all."""
    rest = x.shape[len(lead) :]
    if int(np.prod(lead)) == 1:
        return x.reshape(1, *rest)
    return np.broadcast_to(x, batch + rest).reshape(worlds, *rest)


def _worlds(x: np.ndarray, batch: tuple[int, ...], worlds: int) -> np.ndarray:
    return np.broadcast_to(x, batch + x.shape[-1:]).reshape(worlds, x.shape[-1])


# -- a model alone ----------------------------------------------------------------------------------------------------------


def _model_rollout(
    dyn: Dynamics, method: Integrator, times: _Times, q: Any, v: Any, inputs: Any, parameters: Mapping[str, Any]
) -> Rollout:
    given = dict(inputs) if isinstance(inputs, Mapping) else {"tau": inputs}
    unknown = set(given) - {"tau", *OPTIONAL}
    if unknown:
        raise KeyError(f"no input {sorted(unknown)[0]!r}; there are tau, {', '.join(OPTIONAL)}")
    unknown = set(parameters) - set(dyn.parameters)
    if unknown:
        name = sorted(unknown)[0]
        raise KeyError(f"no open parameter {name!r}{nearest(name, dyn.parameters)}; name it in hm.compile(parameters=[...])")
    model = dyn.model
    given.setdefault("tau", np.zeros(model.nv))
    names = ["tau", *(name for name in OPTIONAL if name in given)]
    shapes = {name: shape_of(name, model) for name in names} | {name: x.shape for name, x in dyn.parameters.items()}
    given |= {**dyn.parameters, **parameters}
    q, v, batch = _starts(model, q, v)
    arrays = {name: _array(given[name], name) for name in shapes}
    leads = {name: _leading(x, name, shapes[name], batch, times.steps) for name, x in arrays.items()}
    batch = _batch({"q and v": batch, **leads})
    worlds = int(np.prod(batch))
    flat = [_flat(x, leads[name], batch, worlds) for name, x in arrays.items()]
    starts = [_worlds(x, batch, worlds) for x in (q, v)]
    propagator = _stepper(dyn, method, tuple(names)).propagator
    path = propagator.march(times.start, 0, *starts, flat, times.dt, times.steps, times.record)
    rows = times.steps // times.record
    q_all, v_all = (
        np.concatenate([start[:, None], part], axis=1).reshape(*batch, rows + 1, part.shape[-1])
        for start, part in zip(starts, (path.q, path.x), strict=True)
    )
    nothing = np.zeros((*batch, 0))
    return Rollout(
        times.recorded,
        q_all,
        v_all,
        path.good.reshape(batch).astype(int),
        np.zeros((*batch, rows + 1, 0)),
        nothing,
        nothing,
    )


def _stepper(dyn: Dynamics, method: Integrator, names: tuple[str, ...]) -> Stepper:
    """The compiled stepper of a model; kept with it."""

    def make() -> Stepper:
        model, opened = dyn.model, tuple(dyn.parameters)

        def ydot(t: Scalar, q: Array, y: Array, **inputs: Array) -> Array:
            values = {name: inputs.pop(name) for name in opened}
            here = dynamics.retract(model, q, y[: model.nv])
            v = y[model.nv :]
            vdot = equations.forward_dynamics(with_parameters(model, values) if values else model, here, v, **inputs)
            return np.concatenate([dynamics.chart_rate(model, here, y[: model.nv], v), vdot])

        arguments = tuple(Argument(name, shape_of(name, model)) for name in names)

        def loops() -> Rolled:
            retract, chart = retract_loop(model), chart_rate_loop(model)
            dynamic = equations.RolledTree(model).forward_dynamics(arguments[1:])

            def ydot_rolled(t: Any, q: Any, y: Any, **inputs: Any) -> Any:
                (here,) = compiler.call(retract, q, y[: model.nv])
                (vdot,) = compiler.call(dynamic, here, y[model.nv :], *inputs.values())
                return np.concatenate([*compiler.call(chart, here, y[: model.nv], y[model.nv :]), vdot])

            given = (Argument("t", ()), Argument("q", (model.nq,)), Argument("y", (2 * model.nv,)), *arguments)
            return compiler.trace_whole(ydot_rolled, given, (Argument("ydot", (2 * model.nv,)),), name="derivative")

        rolled, identity = dyn.form == "rolled", identity_of(model)
        opened_too = tuple(Argument(name, x.shape) for name, x in dyn.parameters.items())
        return Stepper(
            model,
            ydot,
            0,
            (*arguments, *opened_too),
            method,
            name="rollout",
            identity=f"{identity} rolled" if rolled and identity is not None else identity,
            lanes=dyn.lanes,
            threads=dyn.threads,
            loops=loops if rolled else None,
        )

    return dyn.kept(("rollout", method, names), make)


# -- a plant ----------------------------------------------------------------------------------------------------------------


class _PlantRollout:
    """Rollouts of one plant with one method."""

    def __init__(self, plant: Plant, method: Integrator, lanes: int | None, threads: int) -> None:
        self.plant, self.threads = plant, whole(threads, "threads", 1)
        self.lanes = compiler.native_lanes() if lanes is None else lanes
        if self.lanes not in (1, 4, 8):
            raise ValueError(f"lanes is {lanes!r}, must be 1, 4 or 8")
        key = (method, self.lanes, self.threads)
        if key not in plant.compiled:
            plant.compiled[key] = PlantPrograms(plant, method, lanes=self.lanes, threads=self.threads)
        self.propagator = plant.compiled[key].stepper.propagator
        self.checks = plant.compiled[key].checks

    def run(
        self,
        times: _Times,
        q: Any,
        v: Any,
        inputs: Any,
        parameters: Mapping[str, Any],
        *,
        controller: TracedController | None,
        internal: Any,
        memory: Any,
    ) -> Rollout:
        """See `rollout`."""
        plant, layout = self.plant, self.plant.layout
        nv, nu = plant.model.nv, len(layout.commands) + len(layout.held)
        q, v, batch = _starts(plant.model, q, v)
        law = self._law(controller, times.dt)
        arrays = {name: _array(x, name) for name, x in self._named(inputs).items()}
        leads = {name: _leading(x, repr(name), (), batch, times.steps) for name, x in arrays.items()}
        opened = self._parameters(parameters)
        shapes = {"q and v": batch, **leads}
        shapes |= {name: x.shape[: x.ndim - len(shape)] for name, (x, shape) in opened.items()}
        opening = internal is None
        if internal is not None:
            internal = _last(internal, "internal", layout.nz)
            shapes["internal"] = internal.shape[:-1]
        remembered = np.zeros(0)
        if controller is not None:
            first = controller.first_memory
            remembered = _last(first if memory is None else memory, "memory", len(first))
            shapes["memory"] = remembered.shape[:-1]
        batch = _batch(shapes)
        worlds = int(np.prod(batch))

        q_start = _worlds(q, batch, worlds)
        v_start = _worlds(v, batch, worlds)
        values = {
            name: np.broadcast_to(x, (*batch, *shape)).reshape(worlds, math.prod(shape)) for name, (x, shape) in opened.items()
        }
        own = [{name: x[k].reshape(opened[name][1]) for name, x in values.items()} for k in range(worlds)]
        begun = [Beginning(plant, times.start, *each) for each in zip(q_start, v_start, own, strict=True)]
        rest = np.array([layout.start(layout.input_slots, now) for now in begun]).reshape(worlds, 1, nu)
        driven = any(x.ndim > len(leads[name]) for name, x in arrays.items())
        given = np.broadcast_to(rest, (worlds, times.steps if driven else 1, nu)).copy()
        for name, x in arrays.items():
            column = x if x.ndim > len(leads[name]) else x[..., None]
            n = column.shape[-1]
            given[:, :, self._place(name)] = np.broadcast_to(column, (*batch, n)).reshape(worlds, n)
        HeldRanges(plant).check(given[..., len(layout.commands) :])
        for text in CommandRanges(layout).look(given[..., : len(layout.commands)]):
            warnings.warn(text, stacklevel=4)
        if internal is None:
            for now in begun:
                plant.check_start(now)
            z = np.array([layout.start(layout.state_slots, now) for now in begun]).reshape(worlds, len(layout.state_slots))
            z = np.concatenate([z, np.zeros((worlds, len(layout.causes)))], axis=1)
        else:
            z = _worlds(internal, batch, worlds)
        for k in {0, worlds // 2, worlds - 1} if worlds else ():  # of a sweep, the ends and the middle
            self.checks.look(times.dt, q_start[k], plant.parameter_values(own[k]))
        x_start = np.concatenate([v_start, z], axis=1)
        path = self._march(times, q_start, x_start, given, values, law, _worlds(remembered, batch, worlds), opening=opening)
        rows = len(times.recorded)
        return Rollout(
            times.recorded,
            path["q"].reshape(*batch, rows, plant.model.nq),
            path["x"][..., :nv].reshape(*batch, rows, nv),
            path["good"].reshape(batch).astype(int),
            path["x"][..., nv:].reshape(*batch, rows, layout.nz),
            path["command"].reshape(*batch, len(layout.commands)),
            path["memory"].reshape(*batch, remembered.shape[-1]),
        )

    def _named(self, inputs: Any) -> dict[str, Any]:
        layout = self.plant.layout
        if inputs is None:
            return {}
        if not isinstance(inputs, Mapping):
            x = np.asarray(inputs, dtype=float)
            if x.ndim < 1 or x.shape[-1] != len(layout.commands):
                raise ValueError(f"commands must have shape (..., {len(layout.commands)}), got {x.shape}; or give them by name")
            return {name: x[..., k] for k, name in enumerate(layout.commands)}
        known = (*layout.commands, *layout.held)
        for name in inputs:
            if name not in known:
                raise KeyError(f"no command or held input {name!r}{nearest(name, known)}")
        return dict(inputs)

    def _place(self, name: str) -> int:
        return (*self.plant.layout.commands, *self.plant.layout.held).index(name)

    def _parameters(self, given: Mapping[str, Any]) -> dict[str, tuple[np.ndarray, tuple[int, ...]]]:
        """Values of open parameters, and the shape of one world's, by name."""
        out = {}
        for name, value in given.items():
            if name not in self.plant.parameters:
                hint = nearest(name, self.plant.parameters)
                raise KeyError(f"no open parameter {name!r}{hint}; name it in Plant(parameters=[...])")
            x, (_, shape) = np.asarray(value, dtype=float), self.plant.layout.data[f"parameter.{name}"]
            if x.shape[x.ndim - len(shape) :] != shape:
                raise ValueError(f"parameter {name!r} must have shape {_shape_text(shape)}, got {x.shape}")
            out[name] = x, shape
        return out

    def _law(self, controller: TracedController | None, dt: float) -> _Law | None:
        """The compiled control law, and the steps between two of its calls."""
        if controller is None:
            return None
        if not isinstance(controller, TracedController):
            raise TypeError(
                f"controller is {controller!r}; a rollout takes a TracedController, whose law is written in NumPy operations"
            )
        period = whole_steps(controller.period, dt, "the controller's period")
        return _Law(controller.compiled(self.plant, lanes=self.lanes, threads=self.threads), period)

    def _march(
        self,
        times: _Times,
        q: np.ndarray,
        x: np.ndarray,
        given: np.ndarray,
        opened: Mapping[str, np.ndarray],
        law: _Law | None,
        memory: np.ndarray,
        *,
        opening: bool,
    ) -> dict[str, np.ndarray]:
        """All worlds, piece by piece: between two calls of the law, changes of the current's slope, constraints that close.

        `opening` says that constraints which are on at the start close there.
        """
        plant, na, nv = self.plant, len(self.plant.layout.commands), self.plant.model.nv
        flow, worlds = UniformFlow(plant.environment, plant.seed), len(q)
        rows_q, rows_x, good, alive = [q[:, None]], [x[:, None]], np.zeros(worlds), np.ones(worlds, dtype=bool)
        t, dt, steps, record = times
        period = steps if law is None else law.period
        n, command = 0, given[:, 0, :na].copy()
        switches = self._switches(given)
        while n < steps:
            now = t + n * dt
            told = np.isfinite(given[:, n if given.shape[1] > 1 else 0, na:]).all(axis=1)
            x = np.where(told[:, None], x, math.nan)
            if law is not None and n % period == 0:
                command, memory = law.code([np.full(worlds, now), q, x[:, :nv], command, memory])
            data, until = self._flow_from(flow, now, dt)
            last = min(steps, n + max(1, int((until - now + slack(now, dt)) / dt)) if np.isfinite(until) else steps)
            last = min([last, (n // period + 1) * period, *(k for k in switches if k > n)])
            commanded = command if law is not None else None
            if n in switches or (n == 0 and opening and plant.constrained):
                after = self._inputs(given, commanded, data, opened, n, n + 1).reshape(worlds, given.shape[2] + len(data))
                before = switched_off(plant, after)
                if n:
                    before[:, na : given.shape[2]] = given[:, n - 1, na:]
                x = self._closed(now, q, x, before, after)
                if n % record == 0:
                    rows_x[-1][:, -1] = x
            some = last - n
            stride = record if n % record == 0 and some % record == 0 else 1
            inputs_with = partial(self._inputs, given, commanded, opened=opened, n=n, last=last)
            if until < now + dt - slack(now, dt):  # the current's slope changes within this step
                path = self._in_parts(now, dt, flow, q, x, inputs_with)
            else:
                path = self.propagator.march(t, n, q, x, [inputs_with(data)], dt, some, stride)
            numbers = n + stride * np.arange(1, path.q.shape[1] + 1)
            due = numbers % record == 0
            rows_q.append(path.q[:, due])
            rows_x.append(path.x[:, due])
            q, x = path.q[:, -1], path.x[:, -1]
            good += np.where(alive, path.good, 0.0)
            alive &= path.good == some
            n = last
        if law is None:
            command = given[:, -1, :na]
        return {
            "q": np.concatenate(rows_q, axis=1),
            "x": np.concatenate(rows_x, axis=1),
            "good": good,
            "command": command,
            "memory": memory,
        }

    def _flow_from(self, flow: UniformFlow, t: float, dt: float) -> tuple[np.ndarray, float]:
        """Inputs that are data, from a time on, and until when they hold [s]."""
        return self.plant.data(flow, t + max(1e-9 * dt, rounding(t)), {})

    def _in_parts(
        self, t: float, dt: float, flow: UniformFlow, q: np.ndarray, x: np.ndarray, inputs_with: Callable[[Array], Array]
    ) -> Paths:
        """One step of all worlds from a time on, in parts that end where the current's slope changes."""
        good, end = np.ones(len(q)), t + dt
        while t < end - slack(end, dt):
            data, until = self._flow_from(flow, t, dt)
            until = min(until, end)
            path = self.propagator.march(t, 0, q, x, [inputs_with(data)], until - t, 1, 1)
            q, x, t, good = path.q[:, -1], path.x[:, -1], until, np.minimum(good, path.good)
        return path._replace(good=good)

    def _switches(self, given: np.ndarray) -> list[int]:
        """Steps at which any world switches constraints."""
        moved = switched_off(self.plant, given) - given
        return [] if not self.plant.constrained else (1 + np.flatnonzero(np.diff(moved, axis=1).any(axis=(0, 2)))).tolist()

    def _closed(self, t: float, q: np.ndarray, x: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Velocities and internal states after inputs change, shape (worlds, nv + nz); worlds that are alike are one."""
        out = x.copy()
        finite = np.flatnonzero(np.isfinite(q).all(axis=1) & np.isfinite(x).all(axis=1) & (before != after).any(axis=1))
        alike: dict[bytes, np.ndarray] = {}
        for world in finite:
            key = np.concatenate([a[world] for a in (q, x, before, after)]).tobytes()
            if key not in alike:
                try:
                    alike[key] = closed(self.plant, Point(t, q[world], x[world]), before[world], after[world])[0].x
                except ValueError as error:
                    error.add_note(f"in world {world} of the rollout")
                    raise
            out[world] = alike[key]
        return out

    def _inputs(
        self,
        given: np.ndarray,
        command: np.ndarray | None,
        data: np.ndarray,
        opened: Mapping[str, np.ndarray],
        n: int,
        last: int,
    ) -> np.ndarray:
        """Inputs of a piece, shape (worlds, nu) or, one row per step, (worlds, steps, nu)."""
        layout, worlds = self.plant.layout, len(given)
        rows = given[:, n:last] if given.shape[1] > 1 else given
        out = np.concatenate([rows, np.broadcast_to(data, (worlds, rows.shape[1], len(data)))], axis=2)
        if command is not None:
            out[:, :, : command.shape[1]] = command[:, None]
        for name, value in opened.items():
            out[:, :, layout.data[f"parameter.{name}"][0]] = value[:, None]
        return out if given.shape[1] > 1 else out[:, 0]
