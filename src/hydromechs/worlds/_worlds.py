"""`Worlds`: copies of a mechanism, a plant or a scenario that take whole compiled steps together.

How it works: the integrator's step with everything that acts (equations of motion, water, actuators, contact, stops, grasps)
is traced once into one program, (n, q, x; h, offset, inputs) → (n, q, x), where x holds velocities, internal states and work,
and the inputs hold commands, held inputs, current, waves and open parameters. What differs from world to world is an input, so
parameters, seeds and starts compile nothing. `Worlds` owns the arrays, one row per world; a target marches them: on the CPU
blocks of worlds side by side on SIMD lanes, blocks shared by threads, many steps before returning to Python; on a GPU one
thread per world with the state in registers over many steps of one launch. All sizes of a batch, 1 too, run the same code on
the same lanes, and no lane knows its neighbours: a world's bits depend on its own numbers alone. A step that is not finite is
not taken: its world freezes where it was, is marked, and the others go on. Python looks in only where something happens between
steps: a tick of a control law (compiled too, for all worlds at once), a bend of a gusty current, a grasp that closes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hydromechs import equations
from hydromechs.compiler import NATIVE, TARGETS
from hydromechs.contact import Terrain
from hydromechs.equations import Dynamics
from hydromechs.errors import FieldError
from hydromechs.hydro import Environment
from hydromechs.integrators import EQUAL_STEPS, Integrator, method_named
from hydromechs.model import Model, State
from hydromechs.model.component import Component
from hydromechs.scenario import Scenario
from hydromechs.sensors import Sensor
from hydromechs.simulation import Plant, TracedBlock, check_time, setup_of
from hydromechs.values import nearest, positive, whole

from ._mechanism import Mechanism
from ._plant import PlantRun, PlantSource
from ._refused import check_target, law_of
from ._results import Rollout
from ._seeds import seeds_of
from ._seen import Seen
from ._shapes import as_array, check_quaternions, leading, shape_text
from ._source import Place, Source
from ._target import Marched, Target


class Worlds:
    """Copies of a mechanism that move together, each with its own state, inputs, parameters and seed.

        worlds = hm.Worlds(model, 1000, step=2e-3)
        worlds.q[:, 2] = depths
        worlds.step(tau)

    Args:
        what: A `Model` or a compiled one, whose inputs are the generalised force tau and those of `inputs`; a `Plant`, with all
            that acts, whose inputs are its commands and held inputs; or a `Scenario`, with its start, step and integrator.
        step: Step [s]; a scenario's own, or 1 ms, unless given.
        method: The integrator, a method or its name; a scenario's own, or rk4, unless given.
        environment: The water of a model with components. Defaults to still water.
        components: Parts of a model, as of `Simulation`, which make it a plant.
        controller: Gives commands of a plant every period, compiled; they come from the caller unless given.
        sensors: What measures in a plant, see `readings`; a scenario's own unless given.
        ground: Terrain that sensors see besides what the plant can touch; a scenario's own unless given.
        inputs: Of a model: inputs besides tau that are compiled in, of fluid_velocity, fluid_acceleration and wrench.
        parameters: Open parameters: of a model or scenario, paths of numbers that stay open, or their values by path; of a
            plant or a compiled model, values of those that it has open. Values are of one world, or of each: (worlds, ...).
        start: State at the start of all worlds, as that of a simulation; its arrays may be those of each world, shape
            (worlds, n). The model's or scenario's unless given. See `start_q` and `start_v`.
        seed: Of gusts, waves and sensors, see `reset`; the plant's in all worlds unless given.
        target: Where they are, one of `compiler.TARGETS`: "cpu" or "cuda".
        precision: Numbers, "float64" or on a GPU also "float32".
        lanes: Worlds per vector operation, 1, 4 or 8; what the machine has unless given.
        threads: Threads that share the worlds; 1, or those of a compiled model, unless given.
    """

    def __new__(cls, what: Any, worlds: int, **options: Any) -> Any:
        """Return worlds of a scenario with controllers or events, or with `watch`, as missions."""
        if isinstance(what, Scenario) and (what.controllers or what.events or "watch" in options):
            from ._missions import Missions

            return Missions(what, worlds, **options)
        return super().__new__(cls)

    def __init__(
        self,
        what: Model | Dynamics | Plant | Scenario,
        worlds: int,
        *,
        step: float | None = None,
        method: str | Integrator | None = None,
        environment: Environment | None = None,
        components: Iterable[Component] = (),
        controller: TracedBlock | None = None,
        sensors: Iterable[Sensor] | None = None,
        ground: Iterable[Terrain] | None = None,
        inputs: Iterable[str] = (),
        parameters: Iterable[str] | Mapping[str, Any] = (),
        start: State | None = None,
        seed: int | Sequence[int] | None = None,
        target: str = NATIVE.target,
        precision: str = "float64",
        lanes: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.worlds = whole(worlds, "worlds", 0)
        if target not in TARGETS:
            raise ValueError(f"target is {target!r}, must be one of {', '.join(TARGETS)}")
        commands: dict[str, float] = {}
        measuring, seen = tuple(sensors or ()), tuple(ground or ())
        parts = tuple(components)
        if parts or environment is not None:
            what = setup_of(what, environment, parts, tuple(parameters), None).plant
        if isinstance(what, Scenario):
            law = law_of(what)
            controller = law if controller is None else controller
            measuring = what.sensors if sensors is None else measuring
            seen = what.parts(Terrain) if ground is None else seen
            commands, start = dict(what.commands), what.start if start is None else start
            plant = replace(what.plant, parameters=tuple(parameters)) if parameters else what.plant
            step, method, what = what.step if step is None else step, method or what.integrator, plant
        elif isinstance(what, Plant) and start is None:
            start = what.start
        self.step_size = positive(1e-3 if step is None else step, "step")
        self.method = method_named("rk4" if method is None else method)
        if self.method.adaptive:
            raise ValueError(f"worlds take steps of one length; {EQUAL_STEPS}")
        backend = TARGETS[target]
        own_q = None if start is None or np.ndim(start.q) != 1 else np.asarray(start.q, dtype=float)
        if not backend.lanes and lanes is None and not isinstance(what, Dynamics):
            lanes = 1  # of no use there, and what this machine has need not be known
        self.source = _source(
            what, self.method, controller, (measuring, seen), inputs, parameters, lanes, threads, self.step_size, own_q
        )
        check_target(self.source, backend)
        self.target = Target(self.source.stepper, self.worlds, backend, precision)
        """Where the worlds are: their arrays, and the code that moves them."""
        model = self.source.model
        first = model.initial() if start is None else start
        self.offset = float(first.t)
        check_time(self.offset, "t", self.step_size)
        self.start_q = self._rows(first.q, model.nq, "q")
        """Configurations to which `reset` sets, shape (worlds, nq)."""
        self.start_v = self._rows(first.v, model.nv, "v")
        """Velocities to which `reset` sets, shape (worlds, nv)."""
        self.start_commands = commands
        """Commands to which `reset` sets, by name; at rest for those not named."""
        self._set_parameters(self._parameters_of(first) | (dict(parameters) if isinstance(parameters, Mapping) else {}))
        self._run = self.source.run(self.target, self.step_size, self.offset)
        sizes = {"internal": self.source.nz, "command": len(self.source.commands), "held": len(self.source.held)}
        if controller is not None:
            sizes["memory"] = self._run.memory.shape[1]
        rest = {name: np.asarray(getattr(first, name), dtype=float) for name in sizes}
        self._start = {name: self._rows(x, sizes[name], name) for name, x in rest.items() if x.size}
        self.reset(seed=seed)
        if isinstance(self._run, PlantRun):
            self._run.look(self.start_q)

    # -- views ----------------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.worlds

    def __repr__(self) -> str:
        stuck = int(self.frozen.sum())
        lost = f", {stuck} frozen" if stuck else ""
        how = f"{self.method.name}, step {self.step_size:g} s, {self.target.backend.target}"
        return f"<Worlds: {self.worlds} of {self.model.name}, {how}{lost}>"

    @property
    def model(self) -> Model:
        """The mechanism."""
        return self.source.model

    @property
    def q(self) -> Any:
        """Configurations, shape (worlds, nq): the array itself, to read and to write."""
        return self.target.q

    @property
    def v(self) -> Any:
        """Velocities, shape (worlds, nv): a view to read and to write."""
        return self.target.x[:, : self.model.nv]

    @property
    def internal(self) -> Any:
        """Internal states of a plant's components and the work done, shape (worlds, nz): a view to read and to write."""
        return self.target.x[:, self.model.nv :]

    @property
    def t(self) -> Any:
        """Times [s], shape (worlds,)."""
        return self.offset + self.step_size * self.target.number

    @property
    def steps_taken(self) -> Any:
        """Steps since each world was reset, shape (worlds,); a view."""
        return self.target.number

    @property
    def command(self) -> Any:
        """Commands of a plant, shape (worlds, na), in the order of `commands`: a view to read and to write."""
        return self.target.inputs[0][:, : len(self.source.commands)]

    @property
    def commands(self) -> tuple[str, ...]:
        """Names of the commands of a plant."""
        return self.source.commands

    @property
    def held(self) -> Any:
        """Held inputs of a plant, shape (worlds, nh): a view to read and to write."""
        first = len(self.source.commands)
        return self.target.inputs[0][:, first : first + len(self.source.held)]

    @property
    def memory(self) -> Any:
        """What the controller remembers, shape (worlds, nm); a view."""
        return self._run.memory

    @property
    def inputs(self) -> dict[str, Any]:
        """Inputs by name, held until they are changed, shape (worlds, ...): views to read and to write."""
        return {name: self._view(place) for name, place in self.source.places.items()}

    @property
    def parameters(self) -> dict[str, Any]:
        """Open parameters by name, shape (worlds, ...): views to read and to write; no step compiles anything anew."""
        return {name: self._view(place) for name, place in self.source.opened.items()}

    @property
    def frozen(self) -> np.ndarray:
        """Worlds that stay where they are because their next step is not finite, shape (worlds,); until they are reset."""
        return self.target.frozen

    @property
    def seeds(self) -> np.ndarray:
        """Seed of gusts, waves and sensors of each world of a plant, integers of shape (worlds,)."""
        return self._run.seeds

    def _view(self, place: Place) -> Any:
        array = self.target.inputs[place.argument]
        if not place.at:
            return array
        part = array[(slice(None), *place.at)]
        return part.reshape(self.worlds, *place.shape) if isinstance(place.at[0], slice) and len(place.shape) != 1 else part

    @property
    def added_current(self) -> np.ndarray:
        """What is added to the current of each world, in world axes [m/s], shape (worlds, 3); set by `add_current`."""
        return self._plant_run("currents").currents.copy()

    def add_current(self, velocity: Any, mask: Any = None) -> None:
        """Add a steady velocity to the current and gusts of worlds of a plant, times its profile over depth.

        It stays through `reset`; that of earlier calls is replaced. The plant must have a current, if only of 0.

        Args:
            velocity: In world axes [m/s], shape (3,), or of each world named, shape (n, 3).
            mask: Which worlds, as of `reset`; all unless given.
        """
        which = _numbers(mask, self.worlds)
        value = as_array(velocity, "velocity")
        if value.shape not in ((3,), (len(which), 3)) or not np.isfinite(value).all():
            raise ValueError(f"velocity must be finite, of shape (3,) or ({len(which)}, 3), got {value.shape}")
        self._plant_run("add_current").add_current(which, value)

    def _plant_run(self, what: str) -> PlantRun:
        if not isinstance(self._run, PlantRun):
            more = "; worlds of a model take inputs=['fluid_velocity']" if "current" in what else ""
            raise ValueError(f"{what} goes with a plant: hm.Worlds(hm.Plant(model=..., ...), n){more}")
        return self._run

    def report(self) -> list[str]:
        """What to say of each frozen world: when it stopped, and why."""
        at = self.target.get(self.t)
        return [f"world {k}: t = {at[k]:.6g} s: {self._run.why(int(k))}" for k in np.flatnonzero(self.target.frozen)]

    def observe(self, *names: str) -> dict[str, Any]:
        """Variables of a recording at the present instant of each world of a plant, by name, shape (worlds, ...).

        They are those of `Simulation.observe`, as "position", "force_drag", "contact_force"; work is since the start.

        Args:
            names: Which ones; only they are computed.
        """
        return self._plant_run("observe").observe(names)

    @property
    def readings(self) -> dict[str, np.ndarray]:
        """What each sensor has measured last, by its name, shape (worlds, n): of what has arrived by now; NaN for nothing.

        A sensor that is due at the present time measures when it is asked, once; with the same seed these are the numbers of a
        simulation. The numbers of a sensor have names, see `reading_labels`.
        """
        run = self._plant_run("readings")
        run.measure()
        return {} if run.sensing is None else {name: values.copy() for name, values in run.sensing.readings.items()}

    @property
    def reading_labels(self) -> dict[str, tuple[str, ...]]:
        """Names of the numbers of each sensor, as "fx", by the name of the sensor."""
        run = self._plant_run("reading_labels")
        return {} if run.sensing is None else run.sensing.labels

    def step_faults(self) -> list[str]:
        """What of each world of a plant is too stiff for the step at its start, in words; nothing where all is well."""
        return self._plant_run("step_faults").too_stiff(self.start_q)

    # -- the start ------------------------------------------------------------------------------------------------------------

    def _rows(self, x: Any, n: int, name: str) -> np.ndarray:
        """Numbers of each world from those of one or all, shape (worlds, n)."""
        out = as_array(x, name)
        if out.shape not in ((n,), (self.worlds, n)):
            raise ValueError(f"start.{name} must have shape ({n},) or ({self.worlds}, {n}), got {out.shape}")
        return np.array(np.broadcast_to(out, (self.worlds, n)))

    def _parameters_of(self, state: State) -> dict[str, np.ndarray]:
        """Open parameters that a state brings, by name, shape (..., *shape); none where it has none."""
        values = np.asarray(state.parameters, dtype=float)
        if not values.size:
            return {}
        sizes = [int(np.prod(place.shape)) for place in self.source.opened.values()]
        if values.shape[-1] != sum(sizes):
            raise ValueError(f"start has {values.shape[-1]} values of open parameters, must have {sum(sizes)}")
        parts = np.split(values, np.cumsum(sizes)[:-1], axis=-1)
        return {
            name: part.reshape((*part.shape[:-1], *place.shape))
            for (name, place), part in zip(self.source.opened.items(), parts, strict=True)
        }

    def _set_parameters(self, given: Mapping[str, Any]) -> None:
        for name in given:
            if name not in self.source.opened:
                raise KeyError(f"no open parameter {name!r}{nearest(name, self.source.opened)}; name it in parameters=[...]")
        everyone = np.arange(self.worlds)
        for name, place in self.source.opened.items():
            value = as_array(given.get(name, self.source.parameters[name]), name)
            if value.shape not in (place.shape, (self.worlds, *place.shape), (1, *place.shape)):
                raise ValueError(f"parameter {name!r} must have shape {shape_text(place.shape)}, got {value.shape}")
            if name in given:
                self.source.check_value(name, value.reshape(-1, *place.shape))
            array = self.target.inputs[place.argument]
            each = np.broadcast_to(value, (self.worlds, *place.shape))
            part = array[(slice(None), *place.at)] if place.at else array
            self.target.put(part, everyone, each.reshape(part.shape))

    def reset(self, mask: Any = None, seed: int | Sequence[int] | None = None) -> None:
        """Reset worlds to their start: time, state, inputs and controller memory.

        Grasps that are closed then close in the next step with an impulse that matches velocities. Grasps that are closed in
        `State.held` of the start are already closed.

        Args:
            mask: Worlds to reset: booleans of shape (worlds,), or indices. Defaults to all.
            seed: Seed of gusts, waves and sensors: one integer, from which world k derives its own independent of the batch
                size, or one per world, shape (worlds,). Defaults to the previous seeds.
        """
        which = _numbers(mask, self.worlds)
        target, nv = self.target, self.model.nv
        if seed is not None:
            seeds = seeds_of(seed, self.worlds)
            self._run.seeds[which] = seeds[which]
        check_quaternions(self.model, self.start_q[which])
        target.put(target.number, which, np.zeros(len(which)))
        target.put(target.q, which, self.start_q[which])
        target.put(target.x[:, :nv], which, self.start_v[which])
        target.freeze(which, False)
        if not isinstance(self._run, PlantRun):
            for place in self.source.places.values():
                target.put(target.inputs[place.argument], which, np.zeros((len(which), *place.shape)))
        held = self._start["held"][which] if "held" in self._start else None
        self._run.begin(which, "internal" in self._start, held)
        for name, value in self.start_commands.items():
            target.put(self.inputs[name], which, np.full(len(which), float(value)))
        views = {"internal": self.internal, "command": self.command, "held": self.held, "memory": self.memory}
        for name, rows in self._start.items():
            target.put(views[name], which, rows[which])

    # -- steps ----------------------------------------------------------------------------------------------------------------

    def step(self, inputs: Any = None, steps: int = 1) -> None:
        """Take steps in all worlds, in place.

        Args:
            inputs: Of a model, tau or a mapping by name; of a plant, all commands, or a mapping by name of commands and held
                inputs. Each of one world, shape (n,), of each world, (worlds, n), or for every step too, (worlds, steps, n).
                What is not named stays as it is.
        """
        self._go(self._given(inputs, whole(steps, "steps", 0)), steps, None)

    def rollout(self, inputs: Any, steps: int, record: int = 1) -> Rollout:
        """Take steps and keep the states on the way; the worlds stand at the end afterwards.

        Args:
            inputs: As of `step`.
            steps: How many, a multiple of `record`.
            record: Steps from one recorded state to the next.
        """
        steps, record = whole(steps, "steps", 1), whole(record, "record", 1)
        check_record(steps, record)
        driven = self._given(inputs, steps)
        number = np.array(self.target.get(self.target.number))
        seen = Seen(self._run, steps // record + 1, record)
        q, x, good = self._go(driven, steps, record, seen)
        nv, rows = self.model.nv, record * np.arange(steps // record + 1)
        first = number.max(initial=0.0) if number.max(initial=0.0) == number.min(initial=0.0) else number[:, None]
        t = self.offset + self.step_size * (first + rows)
        ends = (self.command.copy(), self.memory.copy(), seen.readings)
        return Rollout(t, q, x[:, :, :nv], good.astype(int), x[:, :, nv:], *ends)

    def _given(self, inputs: Any, steps: int) -> dict[str, Any]:
        """Set what is held; what changes with every step, shape (worlds or 1, steps, ...)."""
        driven = {}
        for name, value in self.source.named(inputs).items():
            shape = self.source.places[name].shape
            x = self.target.array(value)
            lead = leading(x, name, shape, (self.worlds,), steps)
            if lead not in ((), (1,), (self.worlds,)):
                raise ValueError(f"{name} of shape {x.shape} is of {lead[0]} worlds, and there are {self.worlds}")
            if x.ndim == len(lead) + 1 + len(shape):
                driven[name] = x if lead == (1,) else x.reshape(self.worlds, steps, *shape)
            else:
                self._view(self.source.places[name])[...] = x
        self._look(driven)
        return driven

    def _look(self, driven: Mapping[str, Any]) -> None:
        """Inputs of a plant in their ranges; those that are not numbers freeze their world."""
        run, target = self._run, self.target
        if not isinstance(run, PlantRun) or not target.arrays.on_host:
            return
        held, now = target.inputs[0][:, run.na : run.nu], target.inputs[0][:, : run.na]
        names = (*self.source.commands, *self.source.held)
        for name, x in driven.items():
            k = names.index(name)
            if k < run.na:
                run.check_given(_column(now, k, x), held)
            else:
                run.check_given(now, _column(held, k - run.na, x))
        if not driven:
            run.check_given(now, held)
        if held.size:
            target.freeze(~np.isfinite(held).all(axis=1), True)

    def _go(self, driven: Mapping[str, Any], steps: int, record: int | None, seen: Seen | None = None) -> tuple[Any, Any, Any]:
        """All steps, piece by piece: states at the start and after every `record` steps, and how many were good."""
        target, done = self.target, 0
        rows_q: list[Any] = []
        rows_x: list[Any] = []
        good: Any = 0 if record is None else target.zeros()
        while done < steps:
            some = self._run.ready(driven, done, steps - done)
            if seen is not None:
                seen.keep(done, done + some)
            stride = None
            if record is not None:
                if not rows_q:
                    rows_q, rows_x = [target.q[:, None].copy()], [target.x[:, None].copy()]
                elif done % record == 0:
                    rows_x[-1][:, -1] = target.x  # what closed here has closed
                stride = record if done % record == 0 and some % record == 0 else 1
            if len(self._run.split_worlds):
                some, stride = 1, None if record is None else 1
                path = self._bent_step(self._piece(driven, done, 1), stride)
            else:
                path = target.march(self._piece(driven, done, some), self.step_size, self.offset, some, stride)
            self._run.advanced(some)
            if record is not None and stride is not None:
                good = good + path.good
                due = (done + stride * np.arange(1, some // stride + 1)) % record == 0
                rows = np.flatnonzero(due).tolist()
                rows_q.append(path.q if due.all() else path.q[:, rows])
                rows_x.append(path.x if due.all() else path.x[:, rows])
            done += some
        if seen is not None:
            seen.end()
        for name, x in driven.items():
            if steps:
                self._view(self.source.places[name])[...] = x[:, -1]
        return (target.stack(rows_q, 1), target.stack(rows_x, 1), good) if rows_q else (None, None, good)

    def _bent_step(self, inputs: list[Any], stride: int | None) -> Marched:
        """One step, of some worlds in parts."""
        target = self.target
        bent = self._run.split_worlds[~target.frozen[self._run.split_worlds]]
        rows = target.index(bent)
        target.freeze(bent, True)
        path = target.march(inputs, self.step_size, self.offset, 1, stride)
        target.freeze(bent, False)
        good = self._run.split_step(bent, inputs)
        target.freeze(bent[~good], True)
        taken = target.array(good)
        target.number[rows] += taken
        path.good[rows] = taken
        if stride is not None:
            path.q[rows, -1], path.x[rows, -1] = target.q[rows], target.x[rows]
        return path

    def _piece(self, driven: Mapping[str, Any], done: int, some: int) -> list[Any]:
        """Inputs of the stepper for some steps."""
        out = list(self.target.inputs)
        whole_ones = {}
        for name, x in driven.items():
            place = self.source.places[name]
            if not place.at:
                out[place.argument] = x[:, done : done + some]
                continue
            k = place.argument
            if k not in whole_ones:
                whole_ones[k] = self.target.repeated(self.target.inputs[k], some)
            whole_ones[k][(slice(None), slice(None), *place.at)] = x[:, done : done + some]
        for k, array in whole_ones.items():
            out[k] = array
        return out


def check_record(steps: int, record: int) -> None:
    """Reject a number of steps from record to record that leaves out the end."""
    if steps % record:
        least = -(-steps // record) * record
        words = f"steps is {steps}, must be a multiple of record, {record}, so that the end is recorded"
        raise ValueError(f"{words}; take {least} steps, or another record")


def _column(array: np.ndarray, k: int, values: np.ndarray) -> np.ndarray:
    """Rows for every step with one column given, shape (worlds, steps, n)."""
    out = np.repeat(array[:, None], values.shape[1], axis=1)
    out[:, :, k] = values
    return out


def _numbers(mask: Any, worlds: int) -> np.ndarray:
    """Numbers of the worlds that a caller named."""
    if mask is None:
        return np.arange(worlds)
    given = np.asarray(mask)
    if given.dtype == bool:
        if given.shape != (worlds,):
            raise ValueError(f"mask must have shape ({worlds},), got {given.shape}")
        return np.flatnonzero(given)
    if given.size and (given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= worlds):
        raise FieldError("mask", mask, f"must be booleans of shape ({worlds},), or numbers of worlds from 0 to {worlds - 1}")
    return np.unique(given.astype(int))


def _source(
    what: Any,
    method: Integrator,
    controller: TracedBlock | None,
    sensing: tuple[Sequence[Sensor], Sequence[Terrain]],
    inputs: Iterable[str],
    parameters: Iterable[str] | Mapping[str, Any],
    lanes: int | None,
    threads: int | None,
    step: float,
    start_q: np.ndarray | None,
) -> Source:
    if isinstance(what, Plant):
        if tuple(inputs):
            raise ValueError("inputs goes with a model; a plant has the commands and held inputs of its components")
        named = () if isinstance(parameters, Mapping) else tuple(parameters)
        for name in named:
            if name not in what.parameters:
                raise ValueError(f"parameter {name!r} is not open in the plant; name it in Plant(parameters=[...])")
        return PlantSource(
            what, method, lanes, 1 if threads is None else threads, controller, *sensing, step=step, start_q=start_q
        )
    if sensing[0]:
        raise ValueError("sensors goes with a plant; build one, hm.Plant(model=..., components=...)")
    if controller is not None:
        raise ValueError("controller goes with a plant; build one, hm.Plant(model=..., components=...)")
    if isinstance(what, Model):
        what = equations.compile(what, lanes=lanes, threads=1 if threads is None else threads, parameters=list(parameters))
    elif not isinstance(what, Dynamics):
        kind = type(what).__name__
        raise TypeError(f"worlds are made of a Model, a compiled model, hm.compile(model), a Plant or a Scenario; got {kind}")
    elif lanes is not None or threads is not None:
        raise ValueError(
            "lanes and threads go with a model or a plant; a compiled model has its own: hm.compile(model, lanes=8)"
        )
    return Mechanism(what, method, inputs)
