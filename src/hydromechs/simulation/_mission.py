"""Missions: sensors and a filter, followed by blocks in order, each with a separate period and phase."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np

from hydromechs.compiler import Argument, Entries, Recipe, Routine
from hydromechs.errors import message_of, placed
from hydromechs.integrators import is_multiple, whole_steps
from hydromechs.model import State
from hydromechs.spatial import where
from hydromechs.values import Array, Scalar

from ._block import Phase
from ._controller import Commands, Controller, Measured, own_controller, signals_of
from ._events import settled_targets
from ._plant import Plant
from ._ranges import input_rows
from ._traced_block import Site, TracedBlock

if TYPE_CHECKING:
    from ._simulation import Simulation

TIMES = 1e-6
"""Fraction of a period within which times are equal [-]."""
LARGEST = 1e300
"""Maximum magnitude of commands; a comparison with this value is false for NaN."""


class SensingPlaces(NamedTuple):
    """Entries in the state of a world that sensors and filter read."""

    t: Entries
    """Time [s]."""
    tick: Entries
    """Tick number of the fastest sensor, starting at t = 0."""
    q: Entries
    """Configuration of the mechanism."""
    x: Entries
    """Velocity and internal states."""
    inputs: Entries
    """Inputs of the plant."""
    seed: Entries
    """Seed of sensor errors."""
    world: Entries
    """Index of the world among worlds with the same seed."""


class Sensing(Protocol):
    """Sensors and a filter that run before the blocks of a mission, as nodes of a routine."""

    period: float
    """Time between two ticks [s]."""
    state: dict[str, Array]
    """Initial values of state arrays, keyed by name."""
    inputs: dict[str, Array]
    """Values of constant arrays of a run, keyed by name."""
    signals: dict[str, str]
    """Units of the signals, keyed by name."""
    texts: list[Callable[..., str]]
    """Functions that return message texts from four numbers."""
    measured: dict[str, Measured]
    """Sensors, keyed by name, with NaN values."""

    def check(self, lanes: int) -> None:
        """Raise an error if a sensor is incompatible with the plant. `lanes`: worlds per vector operation."""

    def add(self, routine: Routine, at: SensingPlaces) -> Any:
        """Append the operations of a tick to a routine; see `sensors.PlainSensing`."""


class SensingSource(Protocol):
    """Sensors and a filter before they are prepared for a plant."""

    @property
    def period(self) -> float:
        """Time between two ticks [s]."""

    @property
    def description(self) -> str:
        """Description of the inputs of controllers and of the sensors."""

    def check(self, controller: Controller) -> None:
        """Raise `ValueError` if the period of a controller is incompatible with the sensors."""

    def on(self, plant: Plant, step: float, *, controlled: bool) -> Sensing:
        """Return sensors and filter that are prepared for a plant.

        `step`: step of the integrator [s]. `controlled`: True if a controller reads the sensors.
        """


class BlockPart(NamedTuple):
    """Controller of a mission."""

    block: Controller
    """Controller; only traced blocks are compiled, others run in Python."""
    name: str = ""
    """Prefix of the signals, or empty."""
    phase: Phase = Phase()
    """Time interval in which the controller runs."""

    @property
    def traced(self) -> TracedBlock | None:
        """Controller as a traced block if it is compiled, or None."""
        return self.block if isinstance(self.block, TracedBlock) and self.block.compiled else None


class TickPlaces(NamedTuple):
    """Entries of the data shared by the parts in a tick."""

    t: Entries
    """Time [s]."""
    tick: Entries
    """Tick number, starting at t = 0."""
    q: Entries
    """Configuration."""
    v: Entries
    """Velocity of the mechanism."""
    inputs: Entries
    """Commands and held inputs."""
    control: Entries
    """Control switch, nonzero while control is on."""
    measured: Entries | None = None
    """Last received values of all sensors; None without sensors."""
    signals: Entries | None = None
    """Destination of the signals; None for the array "signals"."""
    reports: Entries | None = None
    """Destination of the reports; None for the array "reports"."""


class Mission:
    """Sensors and a filter, and controllers that run in parallel or sequentially; traced controllers are compiled.

    A part runs in its phase. Afterwards, its commands persist and its servo targets stop. If two parts set the same command,
    the later part in the list has priority. Signals of a part are NaN before it runs and while control is off, and persist
    after its phase. Parts in Python read the state before the tick.

    `parts`: controllers in order. `source`: sensors and filter; None if the parts read the true state.
    """

    def __init__(self, parts: Sequence[BlockPart], source: SensingSource | None = None) -> None:
        self.parts, self.source = tuple(parts), source
        self.sensing: Sensing | None = None
        """Sensors and filter after preparation, or None."""
        self.signals: dict[str, str] = {}
        """Units of the signals of sensors, filter and parts, keyed by signal, after preparation."""
        self.notes: list[str] = []
        """Notes of the parts after preparation."""
        self.period = min((part.block.period for part in self.parts), default=0.0)
        """Time between two ticks of the parts [s]; 0 without parts."""
        for part in self.parts:
            if source is not None:
                source.check(part.block)
        self._ticks()

    def _ticks(self) -> list[int]:
        """Return the number of ticks between two calls of each part; raise `ValueError` if one is not an integer."""
        names = [f"the period of {part.name or type(part.block).__name__}" for part in self.parts]
        return [
            whole_steps(part.block.period, self.period, name, "the shortest controller period", "another period")
            for part, name in zip(self.parts, names, strict=True)
        ]

    def own(self) -> Mission:
        """Return a mission with copies of the parts for one simulation."""
        return Mission([BlockPart(own_controller(block), name, phase) for block, name, phase in self.parts], self.source)

    @property
    def tick_period(self) -> float:
        """Time between two ticks of sensors or parts [s]."""
        return self.period if self.source is None else self.source.period

    @property
    def description(self) -> str:
        """Description of the controllers and their inputs."""
        said = "; ".join(f"{type(part.block).__name__}, every {part.block.period:g} s" for part in self.parts) or "none"
        return said if self.source is None else f"{said}{self.source.description}"

    @property
    def python(self) -> list[BlockPart]:
        """Parts that run in Python."""
        return [part for part in self.parts if part.traced is None]

    @property
    def asking(self) -> list[int]:
        """Number of mission ticks between two calls of each part in Python; 1 for parts with a final time."""
        return [1 if np.isfinite(p.phase.end) else k for p, k in zip(self.parts, self._every, strict=True) if p.traced is None]

    def prepare(self, simulation: Any) -> None:
        """Prepare sensors and parts for a simulation."""
        self._plant = plant = simulation.plant
        measured: Mapping[str, Measured] = {}
        if self.source is not None:
            self.sensing = self.source.on(plant, simulation.step_size, controlled=bool(self.parts))
            self.sensing.check(simulation._programs.lanes)
            measured = self.sensing.measured
        site = Site(plant, simulation.step_size, simulation.start_q, measured)
        said: dict[str, list[str]] = {}
        for k, part in enumerate(self.parts):
            with placed(part.name):
                if part.traced is not None:
                    part.traced.prepared(site)
                else:
                    part.block.measured = measured
                    part.block.start(simulation)
            for note in part.block.notes:
                said.setdefault(note, []).append(part.name or f"part {k} ({type(part.block).__name__})")
        self.notes = [f"{', '.join(names)}: {note}" for note, names in said.items()]
        if len(self.parts) == 1:
            self.notes = list(self.parts[0].block.notes)
        self._lay_out()

    def _lay_out(self) -> None:
        self._every = self._ticks()
        self.signals = {} if self.sensing is None else dict(self.sensing.signals)
        for part in self.parts:
            before = f"{part.name}." if part.name else ""
            for name, unit in part.block.signals.items():
                if before + name in self.signals:
                    raise ValueError(
                        f"two parts have the signal {before + name!r}; name one of the parts, for example with name: arm"
                    )
                self.signals[before + name] = unit
        first = 0 if self.sensing is None else len(self.sensing.signals)
        self._shown = _slices([len(part.block.signals) for part in self.parts], first)
        self._ending = [k for k, p in enumerate(self.parts) if p.traced and np.isfinite(p.phase.end)]
        self._shapes = [np.shape(part.block.memory) for part in self.parts]
        self._sizes = [int(np.prod(shape)) for shape in self._shapes]
        kept: Mapping[str, Array] = {} if self.sensing is None else self.sensing.state
        self._kept = np.concatenate([np.zeros(0), *(np.ravel(x) for x in kept.values())])
        ending = sum(bool(np.isfinite(part.phase.end)) for part in self.python)  # flags of the actuators that these parts moved
        self._flags = np.zeros(len(self._ending) + ending * len(self._plant.layout.commands))
        self._programs = [None if part.traced is None else _traced(part.traced) for part in self.parts]

    @property
    def block_memory(self) -> Array:
        """Memory of the parts in one array, shape (n,)."""
        return np.concatenate([*(np.ravel(np.asarray(part.block.memory, dtype=float)) for part in self.parts), self._flags])

    @property
    def memory(self) -> Array:
        """Memory of sensors, filter and parts in one array, shape (nm,)."""
        return np.concatenate([self._kept, self.block_memory])

    @memory.setter
    def memory(self, values: Array) -> None:
        kept, *own, flags = np.split(np.array(values, dtype=float), np.cumsum([len(self._kept), *self._sizes]))
        self._kept, self._flags = kept, flags
        for part, x, shape in zip(self.parts, own, self._shapes, strict=True):
            part.block.memory = x.reshape(shape)

    def show(self, signals: Array) -> None:
        """Pass each part the values of its signals. `signals`: signals of all parts, shape (ns,)."""
        for part, at in zip(self.parts, self._shown, strict=True):
            part.block.signal_values = signals[at].copy()

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of the arrays of the parts, keyed by name."""
        plant = self._plant
        shown = sum(len(part.block.signals) for part in self.parts)
        reports = sum(part.traced.report_size for part in self.parts if part.traced)
        out = {"memory": sum(self._sizes) + len(self._flags), "signals": shown, "reports": reports}
        if self.python:
            nu = len(plant.layout.commands) + len(plant.layout.held)
            measured = 0 if self.sensing is None else sum(len(m.values) for m in self.sensing.measured.values())
            out |= {"stage": 1, "seen": plant.model.nq + plant.model.nv, "measured": measured}
            out["given"] = nu * len(self.python)
        return out

    @property
    def given(self) -> dict[str, Array]:
        """Constant arrays of a run, keyed by name, shape (1, n) each."""
        traced = [part.traced for part in self.parts if part.traced]
        design = np.concatenate([np.zeros(0), *(block.design_values for block in traced)])
        unset = np.full(max((len(block.signals) for block in traced), default=0), np.nan)
        return {"design": design[None], "unset": unset[None]}

    # -- parts in Python -------------------------------------------------------------------------------------------------------

    def call_batched(self, state: Mapping[str, Array], step: float, worlds: Array) -> tuple[Array, list[tuple[int, str]]]:
        """Call each batched part that is due in some worlds of a loop, and write its memory and signals to the state.

        `state`: arrays of the loop, shape (n, ...) each. `worlds`: indices of the worlds. Returns commands and held inputs of
        each part in Python, NaN for values that are not set, shape (len(worlds), parts, n), and messages with world indices.
        """
        layout, said = self._plant.layout, list[tuple[int, str]]()
        names = (*layout.commands, *layout.held)
        given = np.full((len(worlds), len(self.python), len(names)), np.nan)
        t = (state["n"] * step + state["part"])[worlds, 0]
        parts = [(k, part) for k, part in enumerate(self.parts) if part.traced is None]
        for column, (k, part) in enumerate(parts):
            block = part.block
            if not block.batched:
                continue
            times, at = np.unique(t, return_inverse=True)
            due = np.array([self._is_due(part, x) for x in times.tolist()], dtype=bool)[at]
            for control in (True, False):
                rows = np.flatnonzero(due & ((state["control"][worlds, 0] != 0.0) == control))
                if not len(rows):
                    continue
                some, place = worlds[rows], slice(self._memory_starts[k], self._memory_starts[k] + self._sizes[k])
                block.memory = state["memory"][some, place].reshape(len(rows), *self._shapes[k])
                try:
                    block.measured = self._received(state["measured"][some])
                    commands = self._called(k, self._states(state, t[rows], some), control)
                    given[rows, column] = input_rows(commands, len(rows), names, len(layout.commands))
                    state["memory"][some, place] = np.reshape(block.memory, (len(rows), self._sizes[k]))
                    state["signals"][some, self._shown[k]] = signals_of(block, block.signals, len(rows))
                    for world, texts in zip(some.tolist(), block.messages or [()] * len(rows), strict=True):
                        said += [(world, text) for text in texts]
                except Exception as error:
                    error.add_note(f"in the controller {type(block).__name__} at t = {t[rows[0]]:g} s")
                    raise
                block.memory = np.array(block.memory)[0]
        return given, said

    def _states(self, state: Mapping[str, Array], t: Array, worlds: Array) -> State:
        """Return the states of the worlds as reported by sensors and filter, shape (worlds, ...) each."""
        plant, inputs = self._plant, state["inputs"][worlds]
        nq, nv, na = plant.model.nq, plant.model.nv, len(plant.layout.commands)
        y, told = state["y"][worlds], na + len(plant.layout.held)
        seen = y if self.sensing is None else state["seen"][worlds]
        return State(
            t=t,  # type: ignore[arg-type]  # of each world
            q=seen[:, :nq].copy(),
            v=seen[:, nq : nq + nv].copy(),
            internal=y[:, nq + nv :],
            command=inputs[:, :na],
            held=inputs[:, na:told],
            signal=state["signals"][worlds],
            parameters=inputs[:, inputs.shape[1] - plant.parameter_values({}).size :],
            control=state["control"][worlds, 0],
        )

    def _is_due(self, part: BlockPart, t: float) -> bool:
        near = TIMES * self.period
        inside = part.phase.start - near <= t < part.phase.end - near
        return inside and is_multiple(t, part.block.period, self.period)

    def asks_alone(self, given: Array) -> Array:
        """Return True for worlds that require a call of `ask` after `call_batched`, shape (worlds,).

        `given`: commands and held inputs from `call_batched`; held inputs may close a grasp.
        """
        if not all(part.block.batched and np.isinf(part.phase.end) for part in self.python):
            return np.ones(len(given), dtype=bool)
        return np.asarray(np.isfinite(given[:, :, len(self._plant.layout.commands) :]).any(axis=(1, 2)))

    def ask(
        self, simulation: Simulation, seen: tuple[Array, Array] | None, measured: Array, batched: Array
    ) -> tuple[Array, list[str]]:
        """Call the parts in Python that are due in one world; while control is off, the parts are idle.

        `seen`: configuration and velocity as reported by sensors and filter; None for true values. `measured`: last received
        values of all sensors. `batched`: commands and held inputs of batched parts, shape (parts, n). Returns commands and
        held inputs of each part, NaN for values that are not set, shape (parts, n), and messages.
        """
        layout, true = self._plant.layout, simulation.state
        t, near, na = true.t, TIMES * self.period, len(layout.commands)
        state = true if seen is None else replace(true, q=seen[0], v=seen[1])
        given = np.full((len(self.python), na + len(layout.held)), np.nan)
        said: list[str] = []
        moved = iter(self._flags[len(self._ending) :].reshape(-1, max(na, 1)))
        parts = [(k, part) for k, part in enumerate(self.parts) if part.traced is None]
        for row, ready, (k, part) in zip(given, batched, parts, strict=True):
            block, commands = part.block, cast(Commands, None)
            led = next(moved) if np.isfinite(part.phase.end) else np.zeros(na)
            inside = part.phase.start - near <= t < part.phase.end - near
            if block.batched and inside:
                known = np.isfinite(ready)
                commands = dict(zip(np.array([*layout.commands, *layout.held])[known].tolist(), ready[known], strict=True))
            elif self._is_due(part, t):
                block.measured = self._received(measured)
                try:
                    commands = self._called(k, state, simulation._controlled)
                    simulation._signal[self._shown[k]] = signals_of(block, block.signals)
                except Exception as error:
                    error.add_note(f"in the controller {type(block).__name__} at t = {t:g} s")
                    raise
                said += block.messages
            elif t >= part.phase.end - near and led.any():  # its servo targets are no longer updated
                names = {name for name, on in zip(layout.commands, led, strict=True) if on}
                commands = settled_targets(layout, state.command, state.held, t, names)
            try:
                row[:] = simulation._taken(commands)
            except (KeyError, ValueError) as error:
                kind = KeyError if isinstance(error, KeyError) else ValueError
                raise kind(f"controller {type(block).__name__}: {message_of(error)}; correct its commands") from None
            led[:] = inside * np.maximum(led, np.isfinite(row[:na]))
        return given, said

    def _called(self, k: int, state: State, controlled: bool) -> Commands:
        block = self.parts[k].block
        if not controlled:
            block.idle(state)
            return None
        given = block(state)
        if len(self.parts) > 1 and given is not None and not isinstance(given, Mapping):
            name = type(block).__name__
            raise ValueError(f"part {k} ({name}) returned a list of commands; with several parts, return a mapping of commands")
        return given

    def _received(self, values: Array) -> dict[str, Measured]:
        """Return the last values of sensors with at least one received reading, in one world or in many worlds."""
        measured = {} if self.sensing is None else self.sensing.measured
        places = _slices([len(m.values) for m in measured.values()])
        got = {name: m._replace(values=values[..., at].copy()) for (name, m), at in zip(measured.items(), places, strict=True)}
        return {name: m for name, m in got.items() if np.isfinite(m.values).any()}

    # -- routine ---------------------------------------------------------------------------------------------------------------

    def add(self, r: Routine, at: TickPlaces) -> None:
        """Append the operations of a tick to a routine with the arrays of `sizes` and `given`."""
        n, m = len(self.parts), len(self._ending)
        runs, idle, ends = (r.scratch(name, size) for name, size in (("runs", n), ("idle", n), ("ends", m)))
        settled = r.part("memory", sum(self._sizes), m)
        begun = [r.part("memory", self._memory_starts[k], 1) for k in self._ending]
        r.call(self._schedule, [at.t, at.tick, at.control, begun, settled], [runs, idle, ends, settled])
        layout = self._plant.layout
        names = [*layout.commands, *layout.held]
        places = {name: Entries(at.inputs.array, at.inputs.start + k, 1) for k, name in enumerate(names)}
        measured = r.scratch("none", 0) if at.measured is None else at.measured
        shown = r["signals"] if at.signals is None else at.signals
        said = r["reports"] if at.reports is None else at.reports
        signal_at = report_at = design_at = given_at = 0
        for k, (part, recipe) in enumerate(zip(self.parts, self._programs, strict=True)):
            signals = Entries(shown.array, shown.start + signal_at, len(part.block.signals))
            signal_at += len(part.block.signals)
            block = part.traced
            if block is None or recipe is None:
                row = r.part("given", given_at, len(names))
                r.call(self._take, [at.inputs, row], [at.inputs, row])
                given_at += len(names)
                continue
            memory = r.part("memory", self._memory_starts[k], block.pack.size)
            reports = Entries(said.array, said.start + report_at, block.report_size)
            design = r.part("design", design_at, len(block.design_values))
            with r.when(Entries(runs.array, runs.start + k, 1)):
                given = [at.t, at.q, at.v, at.inputs, measured, memory, design]
                r.call(recipe, given, [[places[name] for name in block.commanded], memory, signals, reports])
            if block.signals:
                with r.when(Entries(idle.array, idle.start + k, 1)):
                    r.copy(r.part("unset", 0, len(block.signals)), signals)
            report_at, design_at = report_at + block.report_size, design_at + len(block.design_values)
        for j, k in enumerate(self._ending):
            traced = self.parts[k].traced
            commanded = () if traced is None else traced.commanded
            servos = [x for x in commanded if f"{x}.rate" in commanded]
            if not servos:
                continue
            with r.when(Entries(ends.array, ends.start + j, 1)):
                three = [[places[name], places[f"{name}.rate"], places[f"{name}.at"]] for name in servos]
                flat = [x for row in three for x in row]
                r.call(self._settle(k, servos), [at.t, runs, flat], [flat])

    @property
    def _memory_starts(self) -> list[int]:
        return [0, *np.cumsum(self._sizes).tolist()]

    @cached_property
    def _schedule(self) -> Recipe:
        n, m, near = len(self.parts), len(self._ending), TIMES * self.period

        def schedule(t: Scalar, tick: Scalar, control: Scalar, begun: Array, settled: Array) -> tuple[Array, ...]:
            t, tick, control = (np.asarray(x)[()] for x in (t, tick, control))
            due = []
            for part, every in zip(self.parts, self._every, strict=True):
                inside = where(t >= part.phase.start - near, where(t < part.phase.end - near, 1.0, 0.0), 0.0)
                due.append(where(tick % float(every) == 0.0, inside, 0.0))
            runs = [where(control != 0.0, x, 0.0) for x in due]
            idle = [where(control != 0.0, 0.0, x) for x in due]
            ends = []
            for j, k in enumerate(self._ending):
                over = where(t >= self.parts[k].phase.end - near, where(begun[j] != 0.0, 1.0, 0.0), 0.0)
                ends.append(where(settled[j] == 0.0, where(control != 0.0, over, 0.0), 0.0))
            return np.array(runs), np.array(idle), np.array(ends), np.array([s + e for s, e in zip(settled, ends, strict=True)])

        inputs = (*(Argument(x, ()) for x in ("t", "tick", "control")), Argument("begun", (m,)), Argument("settled", (m,)))
        outputs = tuple(Argument(x, (k,)) for x, k in (("runs", n), ("idle", n), ("ends", m), ("settled_after", m)))
        identity = repr([(p.phase, every) for p, every in zip(self.parts, self._every, strict=True)])
        return Recipe("schedule", schedule, inputs, outputs, f"{self.period} {identity}", rarely_called=True)

    def _settle(self, k: int, servos: Sequence[str]) -> Recipe:
        """Return a program that stops servo targets moved by part k, unless a running part commands them.

        A controller sets the target of a servo and its rate until the next tick. Without a next tick, the target would move
        past the stops.
        """
        traced = [(i, p.traced) for i, p in enumerate(self.parts) if i != k and p.traced]
        others = {x: [i for i, block in traced if x in block.commanded] for x in servos}

        def settle(t: Scalar, runs: Array, targets: Array) -> Array:
            t, rows = np.asarray(t)[()], np.reshape(np.asarray(targets), (-1, 3))
            out = []
            for name, (target, rate, since) in zip(servos, rows, strict=True):
                free = where(sum((runs[i] for i in others[name]), 0.0) == 0.0, 1.0, 0.0)
                stop = where(rate != 0.0, free, 0.0) != 0.0
                out += [where(stop, target + rate * (t - since), target), where(stop, 0.0, rate), where(stop, t, since)]
            return np.array(out)

        inputs = Argument("t", ()), Argument("runs", (len(self.parts),)), Argument("targets", (3 * len(servos),))
        return Recipe("settle", settle, inputs, (Argument("stopped", (3 * len(servos),)),), repr(others), rarely_called=True)

    @cached_property
    def _take(self) -> Recipe:
        n = len(self._plant.layout.commands) + len(self._plant.layout.held)

        def take(inputs: Array, given: Array) -> tuple[Array, Array]:
            new = [where(abs(y) <= LARGEST, y, x) for x, y in zip(inputs, given, strict=True)]
            return np.array(new), np.full(n, np.nan)

        arguments = tuple(Argument(name, (n,)) for name in ("inputs", "given", "inputs_after", "given_after"))
        return Recipe("take", take, arguments[:2], arguments[2:], str(n), rarely_called=True)

    def texts(self, t: float, reports: Array) -> list[str]:
        """Return the texts of reports, shape (n,), made at time `t` [s]; raise the error of the first stop."""
        said, at = [], 0
        for block in (part.traced for part in self.parts if part.traced):
            own = reports[at : at + block.report_size]
            messages, stops = block.reported(own)
            at += block.report_size
            said += messages
            if stops:
                raise block.stopped(own)(f"t = {t:.3f} s: {stops[0]}")
        return said


def _traced(block: TracedBlock) -> Recipe:
    """Return the recipe of a block after tracing, so that errors are reported before a run and all lanes share the trace."""
    recipe = block.program().recipe
    program = recipe.program()
    return recipe._replace(rolled=lambda: program)


def _slices(sizes: Sequence[int], first: int = 0) -> list[slice]:
    ends = np.cumsum([first, *sizes]).tolist()
    return [slice(a, b) for a, b in itertools.pairwise(ends)]
