"""Worlds of a plant: all that acts on a mechanism, its water, and a control law at its own rate."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from hydromechs import compiler
from hydromechs.compiler import Compiled
from hydromechs.contact import Terrain
from hydromechs.hydro import UniformFlow, WaveComponents, wave_components
from hydromechs.integrators import Integrator, Point, is_multiple, rounding, slack, whole_steps
from hydromechs.sensors import InstrumentArray, Sensor
from hydromechs.simulation import (
    CommandRanges,
    HeldRanges,
    InitialInstant,
    Plant,
    PlantPrograms,
    Site,
    TracedBlock,
    closed,
    divergence_hint,
    schema,
    switched_off,
)
from hydromechs.values import nearest, whole

from ._source import Place, Run, Source
from ._target import Target

SOME = 16
"""Worlds whose arrays of an open parameter are looked at before they begin."""


class PlantSource(Source):
    """A plant with an integrator.

    Args:
        lanes: Worlds per vector operation, 1, 4 or 8; what the machine has if None.
        controller: Gives commands every period; None if they come from outside.
        step: Step [s].
        ground: Terrain that sensors see besides what the plant can touch.
    """

    def __init__(
        self,
        plant: Plant,
        method: Integrator,
        lanes: int | None,
        threads: int,
        controller: TracedBlock | None,
        sensors: Sequence[Sensor] = (),
        ground: Sequence[Terrain] = (),
        *,
        step: float,
        start_q: np.ndarray | None = None,
    ) -> None:
        self.plant, self.model, self.method = plant, plant.model, method
        self.lanes = compiler.native_lanes() if lanes is None else lanes
        self.threads = whole(threads, "threads", 1)
        if self.lanes not in (1, 4, 8):
            raise ValueError(f"lanes is {lanes!r}, must be 1, 4 or 8")
        if controller is not None and not isinstance(controller, TracedBlock):
            raise TypeError(f"controller is {controller!r}, must be a TracedBlock, which is written in NumPy operations")
        if controller is not None:
            site = Site(plant, step, plant.start.q if start_q is None else start_q)
            controller = copy.deepcopy(controller).prepared(site)
        self.controller, self.sensors, self.ground = controller, tuple(sensors), tuple(ground)
        key = (method, self.lanes, self.threads)
        if key not in plant.compiled:
            plant.compiled[key] = PlantPrograms(plant, method, lanes=self.lanes, threads=self.threads)
        self.programs: PlantPrograms = plant.compiled[key]
        self.stepper = self.programs.stepper
        layout = plant.layout
        self.nz, self.commands, self.held = layout.nz, layout.commands, layout.held
        self.places = {name: Place(0, (k,), ()) for k, name in enumerate((*layout.commands, *layout.held))}
        data = {name: layout.data[f"parameter.{name}"] for name in plant.parameters}
        self.opened = {name: Place(0, (at,), shape) for name, (at, shape) in data.items()}
        own = plant.named_parameters(plant.parameter_values({}))
        self.parameters = {name: np.asarray(x, dtype=float) for name, x in own.items()}

    def program(self, controller: TracedBlock) -> Compiled:
        """Return the controller in machine code, with the same bits for one world as for many."""
        law = controller.program(lanes=self.lanes, threads=self.threads)
        law.single_lanes = law.lanes
        return law

    def named(self, inputs: Any) -> dict[str, Any]:
        if inputs is None:
            return {}
        if not isinstance(inputs, Mapping):
            x = inputs if hasattr(inputs, "shape") else np.asarray(inputs, dtype=float)
            if x.ndim < 1 or x.shape[-1] != len(self.commands):
                raise ValueError(f"commands must have shape (..., {len(self.commands)}), got {x.shape}; or give them by name")
            return {name: x[..., k] for k, name in enumerate(self.commands)}
        for name in inputs:
            if name not in self.places:
                raise KeyError(f"no command or held input {name!r}{nearest(name, self.places)}")
        return dict(inputs)

    def check_value(self, name: str, values: np.ndarray) -> None:
        rows = values if values.ndim > 1 else values[[np.argmin(values), np.argmax(values)]] if len(values) else values
        for value in rows[:SOME]:
            self.plant.check_values({name: value})

    def run(self, target: Target, step: float, offset: float) -> PlantRun:
        return PlantRun(self, target, step, offset)


class PlantRun(Run):
    """Current and gusts, constraints that close, and a control law around the steps of a plant's worlds.

    Args:
        target: Where the worlds are.
    """

    def __init__(self, source: PlantSource, target: Target, step: float, offset: float) -> None:
        super().__init__(target)
        self.source, self.plant, self.step, self.offset = source, source.plant, step, offset
        layout, n = self.plant.layout, target.worlds
        self.na, self.nu = len(layout.commands), len(layout.commands) + len(layout.held)
        self.seeds[:] = self.plant.seed
        self.currents = np.zeros((n, 3))
        self._flows: dict[int, UniformFlow] = {}
        self._waves: dict[int, WaveComponents] = {}
        self._until = np.full(n, -np.inf)
        # steps since each world began, also of frozen ones, are _base + _ahead: known without asking a GPU, or touching all
        self._base, self._ahead, self._together = np.zeros(n), 0.0, True
        self._first_until, self._bent = -np.inf, np.zeros(0, dtype=int)
        self._applied = np.zeros((n, layout.size))
        off = switched_off(self.plant, np.ones(layout.size))
        self._switches = {name for name, place in source.places.items() if off[place.at[0]] == 0.0}
        self.ranges, self.held_ranges = CommandRanges(layout), HeldRanges(self.plant)
        self.memory = target.zeros(0 if source.controller is None else len(source.controller.memory))
        self.sensing: InstrumentArray | None = None
        if source.sensors:
            how = {"lanes": source.lanes, "threads": source.threads}
            self.sensing = InstrumentArray(self.plant, source.sensors, step, n, source.ground, **how)
        self._first = self._steps_to(offset)
        self.period, self._law = 0, None
        if source.controller is not None:
            self.period = whole_steps(source.controller.period, step, "the controller's period")
            self._law = source.program(source.controller)
            names = [*layout.commands, *layout.held]
            self._commanded = [names.index(name) for name in source.controller.commanded]
            self._design = target.array(np.tile(source.controller.design_values, (n, 1)))

    def _steps_to(self, t: float) -> int:
        """Steps from time 0 to that of point 0: laws and sensors are asked at multiples of their period, as in a simulation."""
        timed = self.source.controller is not None or self.sensing is not None
        if timed and not is_multiple(t, self.step, self.step):
            near = round(t / self.step) * self.step
            raise ValueError(
                f"start.t is {t:g} s, must be an integer number of steps of {self.step:g} s: controllers and sensors "
                f"run at multiples of their period, which steps from there never reach; try {near:g} s, or another step"
            )
        return round(t / self.step)

    # -- the start of worlds --------------------------------------------------------------------------------------------------

    def begin(self, which: np.ndarray, resumed: bool, held: np.ndarray | None = None) -> None:
        """See `Run.begin`: internal states and inputs as at the start of a simulation; the run's data."""
        plant, layout, target = self.plant, self.plant.layout, self.target
        q, v, U = (target.get(a)[which] for a in (target.q, target.x[:, : plant.model.nv], target.inputs[0]))
        z, u = np.zeros((len(which), layout.nz)), np.zeros((len(which), self.nu))
        values = U[:, layout.size - self._parameters :]
        for k, members in _alike(q, v, values):
            now = InitialInstant(plant, self.offset, q[k], v[k], plant.named_parameters(values[k]))
            if not resumed:
                now.check()
            z[members, : len(layout.state_slots)] = now.states()
            u[members] = now.inputs()
        self._until[which], self._base[which], self._first_until = -np.inf, -self._ahead, -np.inf
        if len(self._flows) > 2 * len(self.seeds) + 16:  # seeds of episodes that are over
            here = set(self.seeds)
            self._flows = {seed: flow for seed, flow in self._flows.items() if seed in here}
            self._waves = {seed: waves for seed, waves in self._waves.items() if seed in here}
        self._together = not len(self._base) or bool((self._base == self._base[0]).all())
        target.put(target.x[:, plant.model.nv :], which, z)
        target.put(target.inputs[0][:, : self.nu], which, u)
        inputs = np.concatenate([u, U[:, self.nu :]], axis=1)
        if held is not None:  # constraints that these close are already closed; those closed from now on get an impulse
            inputs[:, self.na : self.nu] = held
            self._applied[which] = inputs
        else:
            self._applied[which] = np.nan if resumed else switched_off(plant, inputs)
        if self.sensing is not None:
            self.sensing.begin(which, self.seeds[which])
        if self.source.controller is not None:
            target.put(self.memory, which, np.tile(self.source.controller.memory, (len(which), 1)))

    def add_current(self, which: np.ndarray, velocity: np.ndarray) -> None:
        """Set the velocity that is added to the current of worlds, in world axes [m/s], shape (3,) or (len(which), 3)."""
        if not self.plant.streams:
            raise ValueError(
                "the plant was built without a current, so none can be added; give it one, which may be 0: "
                "Environment(current=Current())"
            )
        self.currents[which] = velocity
        self._until[which], self._first_until = -np.inf, -np.inf

    @property
    def _parameters(self) -> int:
        """Number of open numbers; they are the last of the inputs."""
        return sum(x.size for x in self.source.parameters.values())

    def look(self, q: np.ndarray) -> None:
        """Raise `ValueError` if the step is too long at configurations (worlds, nq); of a sweep, at ends and middle."""
        n, values = self.target.worlds, self.target.get(self.target.inputs[0])[:, self.plant.layout.size - self._parameters :]
        for k in {0, n // 2, n - 1} if n else ():
            self.source.programs.checks.look(self.step, q[k], np.ascontiguousarray(values[k]))

    def too_stiff(self, q: np.ndarray) -> list[str]:
        """What of each world is too stiff for the step at configurations (worlds, nq), in words; empty where all is well."""
        return self.source.programs.checks.faults(self.step, q, self.target.get(self.target.inputs[0]))

    def measure(self) -> None:
        """Let the sensors that are due at the present instant measure, those that have not done so yet."""
        if self.sensing is None:
            return
        if self.plant.constrained:
            self._switch({}, 0, 1)  # what is closed has closed
        self._measure(self.sensing)

    def _measure(self, sensing: InstrumentArray) -> None:
        target, now = self.target, self.offset + self.step * self._clock
        self._renew(now, slack(float(now.max(initial=0.0)), self.step))

        def truth(which: np.ndarray, t: np.ndarray, *more: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            rows = target.index(which)
            state = (target.q[rows], target.x[rows], target.inputs[0][rows])
            values, kept = target.law(sensing.truth, [target.array(t), *state, *map(target.array, more)])
            return target.get(values), target.get(kept)

        sensing.look(self._clock, self.offset, target.frozen, truth)

    def observe(self, names: Collection[str]) -> dict[str, Any]:
        """Variables of the recording at the present instant of each world, by name, shape (worlds, ...)."""
        target, nv, x = self.target, self.plant.model.nv, self.target.x
        for name in names:
            if name not in self._recorded:
                known = ", ".join(sorted(self._recorded))
                raise KeyError(f"no variable {name!r}{nearest(name, self._recorded)}; there are {known}")
        now = self.offset + self.step * self._clock
        self._renew(now, slack(float(now.max(initial=0.0)), self.step))
        U = target.inputs[0]
        out = {"q": target.q, "v": x[:, :nv], "internal_state": x[:, nv:], "command": U[:, : self.na]}
        out |= {"held_input": U[:, self.na : self.nu], "work": x[:, x.shape[1] - len(self.plant.layout.causes) :]}
        out = {name: array.copy() for name, array in out.items() if name in names}
        computed = {"R_WB" if name == "orientation" else name for name in names if name not in out}
        if computed:
            code = self.source.programs.observing(computed)
            found = target.law(code, [target.array(now), target.q, x, U])
            out |= {a.name: value for a, value in zip(code.recipe.outputs, found, strict=True)}
        if "orientation" in names:
            out["orientation"] = self.plant.orientations(*(target.get(a) for a in (out["R_WB"], target.q)))
        return {name: out[name] for name in names}

    @cached_property
    def _recorded(self) -> set[str]:
        """Names of the variables of a recording that an instant has."""
        return {v.name for v in schema(self.plant)} - {"energy_residual"}

    def check_given(self, commands: np.ndarray, held: np.ndarray) -> None:
        """Refuse held inputs outside of their ranges, and warn of commands."""
        self.held_ranges.check(held)
        for text in self.ranges.look(commands):
            warnings.warn(text, stacklevel=5)

    # -- between steps --------------------------------------------------------------------------------------------------------

    def ready(self, driven: Mapping[str, Any], done: int, steps: int) -> int:
        """See `Run.ready`: the run's data, constraints that close, then sensors and the law, which see what has closed."""
        if self._first_until < np.inf:
            steps = min(steps, self._steps_alike(steps))
        held = {name: x for name, x in driven.items() if name in self.plant.layout.held}
        if held or self.plant.constrained:
            steps = min(steps, self._switch(held, done, steps))
        if self.sensing is not None:
            self._measure(self.sensing)
            steps = min(steps, int((self.sensing.every - self._since(self._clock, self.sensing.every)).min(initial=steps)))
        return steps if self._law is None else min(steps, self._controlled(self._law))

    def _steps_alike(self, steps: int) -> int:
        """Steps, of these at most, until the slope of a current changes; the run's data are those of the present time."""
        clock = self._base[:1] + self._ahead if self._together else self._clock
        now = self.offset + self.step * clock
        latest = float(now.max(initial=0.0))
        near = slack(latest, self.step)
        if not self._together or not self._first_until > latest + self.step - near:  # else nothing is due in any world
            now = self.offset + self.step * self._clock
            self._renew(now, near)
            self._bent = np.flatnonzero(self._until < now + self.step - near)
            left = ((self._until - now + near) / self.step).min(initial=np.inf)
        else:
            self._bent = np.zeros(0, dtype=int)
            left = (self._first_until - latest + near) / self.step
        return max(1, int(left)) if np.isfinite(left) else steps

    @property
    def split_worlds(self) -> np.ndarray:
        return self._bent

    def split_step(self, which: np.ndarray, inputs: list[Any]) -> np.ndarray:
        now = self.offset + self.step * self._clock[which]
        groups: dict[tuple[int, float], list[int]] = {}
        for k, world in enumerate(which):
            groups.setdefault((int(self.seeds[world]), float(now[k])), []).append(k)
        good = np.ones(len(which), dtype=bool)
        rows = inputs[0][self.target.index(which)]
        rows = rows[:, 0] if rows.ndim == 3 else rows
        last = self.plant.layout.size - self._parameters
        for (seed, t), group in groups.items():
            members, end = np.array(group), t + self.step
            own = rows[self.target.index(members)]
            while t < end - slack(end, self.step):
                data, until = self._data(seed, t)
                until = min(until, end)
                own[:, self.nu : last] = self.target.array(self._with_current(which[members], data))
                good[members] &= self.target.part(which[members], [own], t, until - t)
                t = until
        return good

    def _data(self, seed: int, t: float) -> tuple[np.ndarray, float]:
        """The run's data from a time on, and until when they hold [s]."""
        if seed not in self._flows:
            self._flows[seed] = self.plant.flow(seed)
        return self.plant.data(self._flows[seed], t + max(1e-9 * self.step, rounding(t)), {}, self._waves_of(seed))

    def _with_current(self, which: np.ndarray, data: np.ndarray) -> np.ndarray:
        """The run's data but for parameters, of worlds with their own currents, shape (len(which), n)."""
        rows = np.tile(data[: len(data) - self._parameters], (len(which), 1))
        for at in self.plant.current_places:
            rows[:, at.start - self.nu : at.stop - self.nu] += self.currents[which]
        return rows

    def advanced(self, steps: int) -> None:
        self._ahead += steps

    @property
    def _clock(self) -> np.ndarray:
        """Steps since each world began, shape (n,)."""
        return self._base + self._ahead

    def _since(self, clock: np.ndarray, period: int) -> np.ndarray:
        """Steps since the last multiple of a period in time, shape (n,).

        Args:
            clock: Steps since each world began, shape (n,).
            period: The period, in steps.
        """
        return (self._first % period + clock) % period

    def _controlled(self, law: Compiled) -> int:
        """Ask the law in worlds whose time has come; steps until the next time."""
        target, nv = self.target, self.plant.model.nv
        clock = self._base[:1] + self._ahead if self._together else self._clock
        since = self._since(clock, self.period)
        due = since == 0.0
        if due.any():
            inputs = target.inputs[0][:, : self.nu]
            t = self.offset + self.step * clock
            arrays = [target.array(t[0] if self._together else t), target.q, target.x[:, :nv], inputs]
            new, memory, *_ = target.law(law, [*arrays, target.zeros(0), self.memory, self._design])
            which = None if self._together else due
            for k, place in enumerate(self._commanded):
                target.take(inputs[:, place : place + 1], which, new[:, k : k + 1])
            target.take(self.memory, which, memory)
        return int((self.period - since).min(initial=self.period))

    def _renew(self, now: np.ndarray, near: float) -> None:
        """Current, gusts and waves of worlds where they are not those of the present time."""
        old = np.flatnonzero(self._until <= now + near)
        last = self.plant.layout.size - self._parameters
        rows = np.zeros((len(old), last - self.nu))
        places = {seed: k for k, seed in enumerate(dict.fromkeys(self.seeds[old]))}
        numbers = np.array([places[seed] for seed in self.seeds[old]], dtype=float)
        for k, members in _alike(numbers[:, None], now[old, None]):
            data, until = self._data(int(self.seeds[old[k]]), float(now[old[k]]))
            rows[members], self._until[old[members]] = self._with_current(old[members], data), until
        if rows.size:
            self.target.put(self.target.inputs[0][:, self.nu : last], old, rows)
        self._first_until = float(self._until.min(initial=np.inf))

    def _waves_of(self, seed: int) -> WaveComponents | None:
        plant = self.plant
        if plant.waves is None:
            return None
        if seed not in self._waves:
            own = seed == plant.seed
            self._waves[seed] = plant.waves if own else wave_components(plant.environment, plant.model.world.gravity, seed)
        return self._waves[seed]

    def _switch(self, held: Mapping[str, Any], done: int, steps: int) -> int:
        """Held inputs of the next step: those that are not numbers freeze their world, constraints close; steps like it."""
        target, layout = self.target, self.plant.layout
        U = target.get(target.inputs[0])
        after = np.array(U)
        rows = {name: target.get(x) for name, x in held.items()}
        for name, x in rows.items():
            after[:, self.source.places[name].at[0]] = x[:, done]
        for x in (x for name, x in rows.items() if name in self._switches):
            first, later = x[:, done : done + 1], x[:, done : done + steps]
            change = ((later != first) & ~(np.isnan(later) & np.isnan(first))).any(axis=0)
            if change.any():
                steps = min(steps, int(np.argmax(change)))
        target.freeze(~np.isfinite(after[:, self.na : self.nu]).all(axis=1), True)
        if self.plant.constrained:
            before = after.copy()
            applied = self._applied[:, self.na : self.nu]
            before[:, self.na : self.nu] = np.where(np.isnan(applied), after[:, self.na : self.nu], applied)
            changed = (before != after).any(axis=1) & ~target.frozen
            if changed.any():
                self._close(np.flatnonzero(changed), before, after)
        self._applied[:, : layout.size] = after
        return steps

    def _close(self, which: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
        """Velocities and internal states of worlds after inputs change; worlds that are alike are one."""
        target = self.target
        q, x = (np.array(target.get(a)[which]) for a in (target.q, target.x))
        number = target.get(target.number)
        alike: dict[bytes, np.ndarray] = {}
        for k, world in enumerate(which):
            if not (np.isfinite(q[k]).all() and np.isfinite(x[k]).all()):
                continue
            key = np.concatenate([q[k], x[k], before[world], after[world]]).tobytes()
            if key not in alike:
                t = self.offset + self.step * float(number[world])
                try:
                    alike[key] = closed(self.plant, Point(t, q[k], x[k]), before[world], after[world])[0].x
                except ValueError as error:
                    error.add_note(f"in world {world}")
                    raise
            x[k] = alike[key]
        target.put(target.x, which, x)

    def why(self, world: int) -> str:
        target, layout = self.target, self.plant.layout
        q, x = (np.array(target.get(a)[world], dtype=float) for a in (target.q, target.x))
        given = np.array(target.get(target.inputs[0])[world], dtype=float)
        if not np.isfinite(given).all():
            parameters = [(f"parameter {name!r}", layout.data[f"parameter.{name}"][0]) for name in self.plant.parameters]
            inputs = [(f"input {name!r}", slice(k, k + 1)) for k, name in enumerate((*layout.commands, *layout.held))]
            for name, at in (*parameters, *inputs):
                if not np.isfinite(given[at]).all():
                    return f"{name} is {', '.join(f'{value:g}' for value in given[at])}, must be finite"
        if not (np.isfinite(q).all() and np.isfinite(x).all()):
            return "its state is not finite"
        at = Point(self.offset + self.step * float(target.get(target.number)[world]), q, x)
        return f"the next step is not finite; {divergence_hint(self.plant, at, self.source.method, self.step)}"


def _alike(*arrays: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Groups of equal rows: the first of each, and all of them."""
    n = len(arrays[0])
    if n and all((a == a[0]).all() for a in arrays):  # by far the fastest for a million worlds that start alike
        yield 0, np.arange(n)
        return
    groups: dict[bytes, list[int]] = {}
    for k in range(n):
        groups.setdefault(b"".join(a[k].tobytes() for a in arrays), []).append(k)
    for members in groups.values():
        yield members[0], np.array(members)
