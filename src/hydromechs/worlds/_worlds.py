"""`Worlds`: copies of a mechanism, a plant or a complete scenario that run in parallel in compiled code.

The step of the integrator with all forces and actuators (equations of motion, water, contact, stops, grasps) is traced once
into one program, (n, q, x; h, offset, inputs) → (n, q, x). Here x contains velocities, internal states and work; the inputs
contain commands, held inputs, current, waves and open parameters. All values that differ between worlds are inputs, so new
parameters, seeds and initial states need no compilation. `Worlds` owns the arrays, with one row per world.

Worlds without blocks and events take many steps of this program per call (`_target`). On the CPU, each SIMD lane runs one
world, and threads share blocks of worlds. On a GPU, each thread runs one world with the state in registers. Worlds with
controllers, sensors or events run in the compiled loop of a mission (`_mission`), each with its own clock. All batch sizes
run the same code on the same lanes, so the results of a world depend only on its own inputs, to the last bit. A step that
is not finite is discarded; the world keeps its state and stops. Python code runs only between calls: for changes in the
slope of a current, closing grasps, and events.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hydromechs.compiler import NATIVE, TARGETS
from hydromechs.contact import Terrain
from hydromechs.equations import Dynamics
from hydromechs.errors import FieldError, UnsupportedFeature
from hydromechs.hydro import Environment
from hydromechs.integrators import EQUAL_STEPS, FixedStep, Integrator, method_named
from hydromechs.model import Model, State
from hydromechs.model.component import Component
from hydromechs.recording import Check, CheckResult
from hydromechs.scenario import Scenario
from hydromechs.sensors import Sensor
from hydromechs.simulation import Plant, Statistics, TracedBlock, check_time, setup_of
from hydromechs.values import nearest, positive, whole

from ._copied import simulation_of, source_of
from ._mission import MissionHome, MissionRun, march_of
from ._plant import PlantRun, PlantSource
from ._results import Rollout
from ._samples import Samples
from ._shapes import as_array, check_quaternions, leading, seeds_of, shape_text
from ._source import Place, Run, WorldMessage, check_target
from ._target import Marched, Target

RECORD = 0.02
"""Default time between two samples of the worlds of a plant [s]."""


class Worlds:
    """Copies of a mechanism that run in parallel, each with its own state, inputs, parameters, seed and clock.

        worlds = hm.Worlds(model, 1000, step=2e-3)
        worlds.q[:, 2] = depths
        worlds.step(tau)

        worlds = hm.Worlds(hm.load_scenario("pick_and_release"), 1000, seed=1)
        worlds.run()
        worlds.passed.mean()

    Args:
        what: A `Model` or a compiled model, whose inputs are the generalised force tau and those named in `inputs`; a
            `Plant`, whose inputs are its commands and held inputs; or a `Scenario` with its initial state, step,
            integrator, blocks and events.
        step: Step [s]. Defaults to the step of the scenario, or 1 ms.
        method: Integrator, or the name of an integrator. Defaults to the integrator of the scenario, or rk4.
        environment: Water of a model with components. Defaults to still water.
        components: Components of a model, as in `Simulation`. The model and its components form a plant.
        controller: Optional controller that sets the commands of a plant.
        sensors: Sensors of a plant; see `readings`.
        ground: Terrain visible to sensors of a plant, in addition to its contact surfaces.
        inputs: Compiled inputs of a model in addition to tau: fluid_velocity, fluid_acceleration, wrench.
        parameters: Open parameters. For a model or scenario: paths of numbers that remain open, or their values, keyed by
            path. For a plant or a compiled model: values of its open parameters. A value applies to all worlds, or has the
            shape (worlds, ...).
        start: Initial state of all worlds, as in a simulation; its arrays may have one row per world, shape (worlds, n).
            Defaults to the initial state of the model or scenario. See `start_q` and `start_v`.
        seed: Seed of gusts, waves and sensors; see `reset`. Defaults to the seed of the plant in all worlds.
        watch: Quantities of a plant or scenario that `run` samples in addition to the quantities of checks.
        record: Time between two samples of `run` [s]. Defaults to the value of the scenario, or about 20 ms.
        samples: False to accumulate statistics instead of samples, so that memory use does not depend on the duration.
        target: Device, one of `compiler.TARGETS`: "cpu" or "cuda".
        precision: Number type, "float64", or "float32" on a GPU for worlds without blocks and events.
        lanes: Worlds per vector operation, 1, 4 or 8. Defaults to the vector width of the machine.
        threads: Number of threads that share the worlds. Defaults to 1, or the number of a compiled model.
    """

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
        sensors: Iterable[Sensor] = (),
        ground: Iterable[Terrain] = (),
        inputs: Iterable[str] = (),
        parameters: Iterable[str] | Mapping[str, Any] = (),
        start: State | None = None,
        seed: int | Sequence[int] | None = None,
        watch: Iterable[str] = (),
        record: float | None = None,
        samples: bool = True,
        target: str = NATIVE.target,
        precision: str = "float64",
        lanes: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.worlds = whole(worlds, "worlds", 0)
        if target not in TARGETS:
            raise ValueError(f"target is {target!r}, must be one of {', '.join(TARGETS)}")
        backend, parts = TARGETS[target], tuple(components)
        if parts or environment is not None:
            what = setup_of(what, environment, parts, tuple(parameters), None).plant
        self.scenario = what if isinstance(what, Scenario) else None
        """Scenario of the worlds; None for worlds of a model or plant."""
        commands: dict[str, float] = {}
        if isinstance(what, Scenario):
            step, method = what.step if step is None else step, method or what.integrator
            commands, start = dict(what.commands), what.start if start is None else start
            record = what.record if record is None else record
        elif isinstance(what, Plant) and start is None:
            start = what.start
        self.step_size = positive(1e-3 if step is None else step, "step")
        self.method = method_named("rk4" if method is None else method)
        if self.method.adaptive:
            raise ValueError(f"worlds require a fixed-step integrator; {EQUAL_STEPS}")
        if not backend.lanes and lanes is None and not isinstance(what, Dynamics):
            lanes = 1  # unused on a GPU; avoids loading LLVM to query this machine
        self.record = positive(max(1, round(RECORD / self.step_size)) * self.step_size if record is None else record, "record")
        """Time between two samples of `run` [s]."""
        compiled = precision == "float64" and isinstance(self.method, FixedStep)
        how = {"step": self.step_size, "integrator": self.method, "record": self.record}
        sim = simulation_of(what, controller, tuple(sensors), tuple(ground), tuple(parameters), start, compiled, lanes, how)
        if isinstance(what, Scenario):
            what = sim.plant if sim else replace(what.plant, parameters=tuple(parameters)) if parameters else what.plant
        self.source = source = source_of(what, self.method, inputs, parameters, lanes, threads)
        check_target(source, backend)
        model = source.model
        first = model.initial() if start is None else start
        self.offset = float(first.t)
        check_time(self.offset, "t", self.step_size)
        names = list(dict.fromkeys([*(c.quantity for c in self._checks), *watch]))
        if sim is not None and isinstance(source, PlantSource):
            if not compiled:
                raise UnsupportedFeature(
                    f"controllers, sensors and events do not support {self.method.name!r} in {precision!r}: they require "
                    "float64 and an integrator that is neither adaptive nor multi-step; use rk4 or semi_implicit_euler"
                )
            of = model.name if self.scenario is None else f"scenario {self.scenario.name!r}"
            march = march_of(source, sim, of, target, self._checks, None if samples else names)
            memory = march.first_memory.copy()

            def make(n: int) -> Run:
                return MissionRun(source, MissionHome(march, source, n, backend, self.offset, memory), sim)
        else:
            if not samples:
                raise ValueError("samples is False, which requires a scenario and precision 'float64'; omit samples")

            def make(n: int) -> Run:
                bare = Target(source.stepper, n, backend, precision, self.step_size, self.offset)
                return PlantRun(source, bare) if isinstance(source, PlantSource) else Run(source, bare)

        self._make, self._names, self._samples_kept = make, names, samples
        self._first, self._parameters = first, dict(parameters) if isinstance(parameters, Mapping) else {}
        self.start_commands = commands
        """Commands that `reset` sets [unit of the actuator], keyed by name; other commands have their rest values."""
        self._populate(seed)

    def _populate(self, seed: int | Sequence[int] | None) -> None:
        self._run = self._make(self.worlds)
        self.target = self._run.home
        """Arrays of the worlds, and compiled code that advances them."""
        first, model = self._first, self.model
        self.start_q = self._rows(first.q, model.nq, "q")
        """Configurations that `reset` sets, shape (worlds, nq)."""
        self.start_v = self._rows(first.v, model.nv, "v")
        """Velocities that `reset` sets, shape (worlds, nv)."""
        self._set_parameters(self._parameters_of(first) | self._parameters)
        self._samples: Samples | None = None
        if isinstance(self._run, PlantRun):
            names = self._names if self._samples_kept else []
            self._samples = Samples(self._run.plant, self._run.signals, names, self.worlds)
        sizes = {"internal": self.source.nz, "command": len(self.source.commands), "held": len(self.source.held)}
        sizes |= self._run.sizes
        rest = {name: np.atleast_1d(np.asarray(getattr(first, name), dtype=float)) for name in sizes}
        self._start = {name: self._rows(x, sizes[name], name) for name, x in rest.items() if x.size}
        self.reset(seed=seed)
        if isinstance(self._run, PlantRun):
            self._run.look(self.start_q)

    @property
    def _checks(self) -> tuple[Check, ...]:
        return () if self.scenario is None else self.scenario.checks

    def restart(self, seeds: int | Sequence[int]) -> None:
        """Restart with one world per seed, without new compilation.

        Args:
            seeds: Seeds of gusts, waves and sensors, shape (worlds,).
        """
        self.worlds = len(np.atleast_1d(np.asarray(seeds, dtype=object)))
        self._populate(np.atleast_1d(np.asarray(seeds, dtype=object)).tolist())

    # -- views ----------------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.worlds

    def __repr__(self) -> str:
        frozen = int(self.frozen.sum())
        lost = f", {frozen} frozen" if frozen else ""
        how = f"{self.method.name}, step {self.step_size:g} s, {self.target.backend.target}"
        return f"<Worlds: {self.worlds} of {self.model.name}, {how}{lost}>"

    @property
    def model(self) -> Model:
        """Model of the mechanism."""
        return self.source.model

    @property
    def q(self) -> Any:
        """Configurations, shape (worlds, nq); the array can be read and written."""
        return self.target.q

    @property
    def v(self) -> Any:
        """Velocities, shape (worlds, nv); the view can be read and written."""
        return self.target.x[:, : self.model.nv]

    @property
    def internal(self) -> Any:
        """Internal states of the components of a plant, and their work [J], shape (worlds, nz); a writable view."""
        return self.target.x[:, self.model.nv :]

    @property
    def t(self) -> Any:
        """Times of the worlds [s], shape (worlds,)."""
        return self.target.t

    @property
    def command(self) -> Any:
        """Commands of a plant [unit of the actuator], shape (worlds, na), in the order of `commands`; a writable view."""
        return self.target.inputs[0][:, : len(self.source.commands)]

    @property
    def commands(self) -> tuple[str, ...]:
        """Names of the commands of a plant."""
        return self.source.commands

    @property
    def held(self) -> Any:
        """Held inputs of a plant, shape (worlds, nh); a writable view."""
        first = len(self.source.commands)
        return self.target.inputs[0][:, first : first + len(self.source.held)]

    @property
    def memory(self) -> Any:
        """Memory of the blocks, shape (worlds, nm), as a view."""
        return self._run.memory

    @property
    def inputs(self) -> dict[str, Any]:
        """Inputs, keyed by name, constant until changed, shape (worlds, ...); writable views."""
        return {name: self._view(place) for name, place in self.source.places.items()}

    @property
    def parameters(self) -> dict[str, Any]:
        """Open parameters, keyed by name, shape (worlds, ...); writable views. Changes need no compilation."""
        return {name: self._view(place) for name, place in self.source.opened.items()}

    @property
    def frozen(self) -> np.ndarray:
        """True for worlds that diverged or that an event stopped, until they are reset, shape (worlds,)."""
        return self.target.frozen

    @property
    def seeds(self) -> np.ndarray:
        """Seed of gusts, waves and sensors of each world of a plant, integers, shape (worlds,)."""
        return self._run.seeds

    def _view(self, place: Place) -> Any:
        array = self.target.inputs[place.argument]
        if not place.at:
            return array
        part = array[(slice(None), *place.at)]
        return part.reshape(self.worlds, *place.shape) if isinstance(place.at[0], slice) and len(place.shape) != 1 else part

    @property
    def added_current(self) -> np.ndarray:
        """Additional current of each world, in world axes [m/s], shape (worlds, 3); set by `add_current`."""
        return self._plant_run("currents").currents.copy()

    def add_current(self, velocity: Any, mask: Any = None) -> None:
        """Add a steady velocity to the current and gusts of worlds of a plant, scaled by the depth profile of the current.

        The velocity persists through `reset` and replaces the velocity of earlier calls. The plant must have a current,
        which may be zero.

        Args:
            velocity: Velocity in world axes [m/s], shape (3,), or one per selected world, shape (n, 3).
            mask: Worlds to change, as in `reset`. Defaults to all worlds.
        """
        which = _numbers(mask, self.worlds)
        value = as_array(velocity, "velocity")
        if value.shape not in ((3,), (len(which), 3)) or not np.isfinite(value).all():
            raise ValueError(f"velocity must be finite with shape (3,) or ({len(which)}, 3), got {value.shape}")
        self._plant_run("add_current").add_current(which, value)

    def _plant_run(self, what: str) -> PlantRun:
        if not isinstance(self._run, PlantRun):
            more = "; for worlds of a model, use inputs=['fluid_velocity']" if "current" in what else ""
            raise ValueError(f"{what} applies only to a plant; use hm.Worlds(hm.Plant(model=..., ...), n){more}")
        return self._run

    @property
    def ended(self) -> dict[int, str]:
        """Reasons why worlds ended early, keyed by index of the world."""
        return self._run.ended

    @property
    def failed(self) -> set[int]:
        """Indices of worlds that ended by divergence or an error; worlds that an event stopped are excluded."""
        return self._run.failed

    @property
    def messages(self) -> list[WorldMessage]:
        """Messages of blocks and events, and the reasons for the end of worlds."""
        return self._run.messages

    def report(self) -> list[str]:
        """Return the time and reason of the end of each world that ended early, as text."""
        at = self.target.get(self.t)
        return [f"world {k}: t = {at[k]:.6g} s: {text}" for k, text in sorted(self.ended.items())]

    def observe(self, *names: str) -> dict[str, Any]:
        """Return recorded variables at the current instant of each world of a plant, keyed by name, shape (worlds, ...).

        The variables are those of `Simulation.observe`, such as "position", "force_drag" or "contact_force". Work is
        accumulated from the start.

        Args:
            names: Names of the variables; only these are computed.
        """
        return self._plant_run("observe").observe(names)

    @property
    def readings(self) -> dict[str, np.ndarray]:
        """Last received measurement of each sensor, keyed by name, shape (worlds, n); NaN before the first measurement.

        Sensors that are due measure first. With the same seed, the values equal those of a simulation. See
        `reading_labels`.
        """
        return self._run.readings

    @property
    def reading_labels(self) -> dict[str, tuple[str, ...]]:
        """Channel labels of each sensor, such as "fx", keyed by sensor name."""
        return self._run.labels

    def step_faults(self) -> list[str]:
        """Describe the part of each world that is too stiff for the step at the initial state; "" if there is no such part."""
        return self._plant_run("step_faults").too_stiff(self.start_q)

    # -- the start ------------------------------------------------------------------------------------------------------------

    def _rows(self, x: Any, n: int, name: str) -> np.ndarray:
        """Return one row of numbers per world, shape (worlds, n), from one row or one row per world."""
        out = as_array(x, name)
        if out.shape not in ((n,), (self.worlds, n)):
            raise ValueError(f"start.{name} must have shape ({n},) or ({self.worlds}, {n}), got {out.shape}")
        return np.array(np.broadcast_to(out, (self.worlds, n)))

    def _parameters_of(self, state: State) -> dict[str, np.ndarray]:
        """Return the open parameters in a state, keyed by name, shape (..., *shape); empty if the state contains none."""
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
                raise KeyError(
                    f"unknown open parameter {name!r}{nearest(name, self.source.opened)}; list this name in parameters=[...]"
                )
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
        """Reset worlds to their initial time, state, inputs and memory of blocks, and delete their samples and messages.

        Grasps that are initially closed cause an impulse in the next step, which equalises velocities. Grasps that are
        closed in `State.held` of the initial state are already closed and cause no impulse.

        Args:
            mask: Worlds to reset: booleans, shape (worlds,), or indices. Defaults to all worlds.
            seed: Seed of gusts, waves and sensors: one integer from which a seed is derived for each world, independently
                of the number of worlds; or one seed per world, shape (worlds,). Defaults to the previous seeds.
        """
        which = _numbers(mask, self.worlds)
        target, nv = self.target, self.model.nv
        if seed is not None:
            seeds = seeds_of(seed, self.worlds)
            self._run.seeds[which] = seeds[which]
        check_quaternions(self.model, self.start_q[which])
        target.begin(which)
        target.put(target.q, which, self.start_q[which])
        target.put(target.x[:, :nv], which, self.start_v[which])
        start = {name: rows[which] for name, rows in self._start.items()}
        self._run.begin(which, "internal" in start, start)
        for name, value in self.start_commands.items():
            target.put(self.inputs[name], which, np.full(len(which), float(value)))
        for name in ("internal", "command", "held"):
            if name in start:
                target.put(getattr(self, name), which, start[name])
        if self._samples is not None:
            self._samples.clear(which)

    # -- steps ----------------------------------------------------------------------------------------------------------------

    def step(self, inputs: Any = None, steps: int = 1) -> None:
        """Take steps in all worlds, in place.

        Args:
            inputs: For a model, tau or a mapping of inputs. For a plant, all commands, or a mapping of commands and held
                inputs. Shapes are (n,), (worlds, n), or, per step, (worlds, steps, n). Omitted inputs keep their values.
        """
        self._march(self._given(inputs, whole(steps, "steps", 0)), steps, None)

    def rollout(self, inputs: Any, steps: int, record: int = 1) -> Rollout:
        """Take steps in all worlds and return recorded states.

        Args:
            inputs: Inputs, as in `step`.
            steps: Number of steps, a multiple of `record`.
            record: Number of steps between recorded states.
        """
        steps, record = whole(steps, "steps", 1), whole(record, "record", 1)
        check_record(steps, record)
        driven = self._given(inputs, steps)
        t = np.array(self.target.get(self.t))
        q, x, good, readings = self._march(driven, steps, record)
        nv, rows = self.model.nv, record * np.arange(steps // record + 1)
        first = t.max(initial=0.0) if t.max(initial=0.0) == t.min(initial=0.0) else t[:, None]
        times = first + self.step_size * rows
        ends = (self.command.copy(), self.memory.copy(), readings)
        return Rollout(times, q, x[:, :, :nv], good.astype(int), x[:, :, nv:], *ends)

    def run(self, until: float | None = None, progress: Callable[[float], None] | None = None) -> None:
        """Run worlds of a plant or scenario to a final time, and sample the watched quantities.

        Args:
            until: Final time [s]. Defaults to the duration of the scenario.
            progress: Function called regularly with the current time [s].
        """
        if until is None and self.scenario is None:
            raise ValueError("a plant has no duration; set the final time `until`")
        until = positive(self.scenario.duration if until is None and self.scenario else until, "until")
        self._plant_run("run").run(until, self.record, self._sampled, progress)

    @property
    def _sampled(self) -> Samples:
        if self._samples is None:
            raise ValueError("samples require a plant or scenario; build Worlds from one of them")
        return self._samples

    @property
    def times(self) -> np.ndarray:
        """Times of the samples of `run` [s], shape (worlds, n); NaN marks a missing sample."""
        return self._sampled.times

    def samples(self, quantity: str) -> np.ndarray:
        """Return the samples of a watched quantity, shape (worlds, n); NaN marks a missing sample."""
        return self._sampled.of(quantity)

    def judge(self) -> list[list[CheckResult]]:
        """Return the results of the checks of the scenario, one list per world; no check of a failed world passes."""
        if self.scenario is None:
            raise ValueError("judge requires the checks of a scenario; build Worlds from a scenario")
        if isinstance(self._run, MissionRun) and self._run.loop.reduction is not None:
            rows = self._run.loop.reduction.judge(self._run.state["totals"])
        else:
            rows = self._sampled.judge(self.scenario.checks)
        failed = self.failed
        return [[result.unjudged() for result in row] if k in failed else row for k, row in enumerate(rows)]

    def statistics(self, quantity: str) -> Statistics:
        """Return statistics of a watched quantity or check; requires `samples=False`."""
        if not isinstance(self._run, MissionRun) or self._run.loop.reduction is None:
            raise ValueError("these worlds keep samples; set samples=False, or compute statistics of worlds.samples(quantity)")
        return self._run.loop.reduction.statistics(self._run.state["totals"], quantity)

    @property
    def capsized(self) -> np.ndarray:
        """True for each world in which a vehicle capsized, shape (worlds,); requires `samples=False`."""
        if not isinstance(self._run, MissionRun) or self._run.loop.reduction is None:
            raise ValueError("these worlds keep samples; set samples=False")
        return self._run.loop.reduction.capsized(self._run.state["totals"])

    @property
    def passed(self) -> np.ndarray:
        """True for each world that did not fail and passed all checks, shape (worlds,)."""
        failed = self.failed  # also without checks
        return np.array([k not in failed and all(r.passed for r in row) for k, row in enumerate(self.judge())])

    def _given(self, inputs: Any, steps: int) -> dict[str, Any]:
        """Set constant inputs; return the inputs that change with every step, shape (worlds or 1, steps, ...)."""
        driven = {}
        for name, value in self.source.named(inputs).items():
            shape = self.source.places[name].shape
            x = self.target.array(value)
            lead = leading(x, name, shape, (self.worlds,), steps)
            if lead not in ((), (1,), (self.worlds,)):
                raise ValueError(
                    f"{name} of shape {x.shape} has rows for {lead[0]} worlds; use rows for {self.worlds} worlds, or one row"
                )
            if x.ndim == len(lead) + 1 + len(shape):
                driven[name] = x if lead == (1,) else x.reshape(self.worlds, steps, *shape)
            else:
                self._view(self.source.places[name])[...] = x
        self._run.check_given(driven)
        return driven

    def _march(self, driven: Mapping[str, Any], steps: int, record: int | None) -> Marched:
        path = self._run.march(driven, steps, record)
        for name, x in driven.items():
            if steps:
                self._view(self.source.places[name])[...] = x[:, -1]
        return path


def check_record(steps: int, record: int) -> None:
    """Raise `ValueError` if the last step would not be recorded."""
    if steps % record:
        least = -(-steps // record) * record
        words = f"steps is {steps}, must be a multiple of record ({record}), so that the final state is recorded"
        raise ValueError(f"{words}; take {least} steps or change record")


def _numbers(mask: Any, worlds: int) -> np.ndarray:
    if mask is None:
        return np.arange(worlds)
    given = np.asarray(mask)
    if given.dtype == bool:
        if given.shape != (worlds,):
            raise ValueError(f"mask must have shape ({worlds},), got {given.shape}")
        return np.flatnonzero(given)
    if given.size and (given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= worlds):
        raise FieldError("mask", mask, f"must be booleans of shape ({worlds},), or indices from 0 to {worlds - 1}")
    return np.unique(given.astype(int))
