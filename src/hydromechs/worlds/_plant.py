"""Worlds of a plant: a mechanism with actuators, forces and water."""

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from hydromechs import compiler
from hydromechs.compiler import Compiled
from hydromechs.hydro import UniformFlow, WaveComponents, wave_components
from hydromechs.integrators import Integrator, Point, rounding, slack, whole_steps
from hydromechs.simulation import (
    CommandRanges,
    HeldRanges,
    InitialInstant,
    Plant,
    PlantPrograms,
    closed,
    divergence_hint,
    schema,
    switched_off,
)
from hydromechs.values import nearest, whole

from ._samples import Samples
from ._source import Place, Run, Source
from ._target import Home, Marched

SOME = 16
"""Maximum number of worlds in which array values of an open parameter are checked at the start."""


def lanes_of(lanes: int | None) -> int:
    """Return the number of worlds per vector operation, 1, 4 or 8; the vector width of the machine if `lanes` is None."""
    out = compiler.native_lanes() if lanes is None else lanes
    if out not in (1, 4, 8):
        raise ValueError(f"lanes is {lanes!r}, must be 1, 4 or 8")
    return out


class PlantSource(Source):
    """Plant with an integrator.

    `lanes`: see `lanes_of`. `threads`: number of threads that share the worlds; None for 1.
    """

    def __init__(self, plant: Plant, method: Integrator, lanes: int | None, threads: int | None) -> None:
        self.plant, self.model, self.method = plant, plant.model, method
        self.lanes = lanes_of(lanes)
        self.threads = whole(1 if threads is None else threads, "threads", 1)
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

    def named(self, inputs: Any) -> dict[str, Any]:
        if inputs is None:
            return {}
        if not isinstance(inputs, Mapping):
            x = inputs if hasattr(inputs, "shape") else np.asarray(inputs, dtype=float)
            if x.ndim < 1 or x.shape[-1] != len(self.commands):
                raise ValueError(f"commands must have shape (..., {len(self.commands)}), got {x.shape}; or pass a mapping")
            return {name: x[..., k] for k, name in enumerate(self.commands)}
        for name in inputs:
            if name not in self.places:
                raise KeyError(f"unknown command or held input {name!r}{nearest(name, self.places)}")
        return dict(inputs)

    def check_value(self, name: str, values: np.ndarray) -> None:
        rows = values if values.ndim > 1 else values[[np.argmin(values), np.argmax(values)]] if len(values) else values
        for value in rows[:SOME]:
            self.plant.check_values({name: value})


class PlantRun(Run):
    """Stepping of worlds of a plant; between steps, current and gusts change and constraints close."""

    source: PlantSource
    signals: Mapping[str, str] = MappingProxyType({})
    """Units of the signals of blocks, keyed by signal."""

    def __init__(self, source: PlantSource, home: Home) -> None:
        super().__init__(source, home)
        self.plant = source.plant
        layout, n = self.plant.layout, home.worlds
        self.na, self.nu = len(layout.commands), len(layout.commands) + len(layout.held)
        self.seeds[:] = self.plant.seed
        self.currents = np.zeros((n, 3))
        self._flows: dict[int, UniformFlow] = {}
        self._waves: dict[int, WaveComponents] = {}
        self._until = np.full(n, -np.inf)
        # steps since the start of a world are _base + _ahead, even if stopped: no GPU transfers and no loops over worlds
        self._base, self._ahead, self._together = np.zeros(n), 0.0, True
        self._first_until, self._bent = -np.inf, np.zeros(0, dtype=int)
        self._applied = np.zeros((n, layout.size))
        off = switched_off(self.plant, np.ones(layout.size))
        self._switches = {name for name, place in source.places.items() if off[place.at[0]] == 0.0}
        self.ranges, self.held_ranges = CommandRanges(layout), HeldRanges(self.plant)

    # -- the start of worlds --------------------------------------------------------------------------------------------------

    def begin(self, which: np.ndarray, resumed: bool, start: Mapping[str, np.ndarray]) -> None:
        """See `Run.begin`. Set internal states and inputs as at the start of a simulation, and the run data."""
        plant, layout, home = self.plant, self.plant.layout, self.home
        q, v, U = (home.get(a)[which] for a in (home.q, home.x[:, : plant.model.nv], home.inputs[0]))
        z, u = np.zeros((len(which), layout.nz)), np.zeros((len(which), self.nu))
        values = U[:, layout.size - self._parameters :]
        for k, members in _alike(q, v, values):
            now = InitialInstant(plant, home.offset, q[k], v[k], plant.named_parameters(values[k]))
            if not resumed:
                now.check()
            z[members, : len(layout.state_slots)] = now.states()
            u[members] = now.inputs()
        self._until[which], self._base[which], self._first_until = -np.inf, -self._ahead, -np.inf
        if len(self._flows) > 2 * len(self.seeds) + 16:  # seeds of finished episodes
            here = set(self.seeds)
            self._flows = {seed: flow for seed, flow in self._flows.items() if seed in here}
            self._waves = {seed: waves for seed, waves in self._waves.items() if seed in here}
        self._together = not len(self._base) or bool((self._base == self._base[0]).all())
        home.put(home.x[:, plant.model.nv :], which, z)
        home.put(home.inputs[0][:, : self.nu], which, u)
        inputs = np.concatenate([u, U[:, self.nu :]], axis=1)
        if "held" in start:  # constraints that these close are already closed; those closed later cause an impulse
            inputs[:, self.na : self.nu] = start["held"]
            self._applied[which] = inputs
        else:
            self._applied[which] = np.nan if resumed else switched_off(plant, inputs)

    def add_current(self, which: np.ndarray, velocity: np.ndarray) -> None:
        """Set the additional current of the worlds `which`, in world axes [m/s], shape (3,) or (len(which), 3)."""
        if not self.plant.streams:
            raise ValueError(
                "the plant has no current to which a velocity can be added; set Environment(current=Current()), or any current"
            )
        self.currents[which] = velocity
        self._until[which], self._first_until = -np.inf, -np.inf

    @property
    def _parameters(self) -> int:
        """Number of open parameter values, which are the last inputs."""
        return sum(x.size for x in self.source.parameters.values())

    def look(self, q: np.ndarray) -> None:
        """Raise `ValueError` if the step is too long in the first, middle or last world; `q` has shape (worlds, nq)."""
        n, values = self.home.worlds, self.home.get(self.home.inputs[0])[:, self.plant.layout.size - self._parameters :]
        for k in {0, n // 2, n - 1} if n else ():
            self.source.programs.checks.look(self.home.step, q[k], np.ascontiguousarray(values[k]))

    def too_stiff(self, q: np.ndarray) -> list[str]:
        """Describe the part of each world that is too stiff for the step, or ""; `q` has shape (worlds, nq)."""
        return self.source.programs.checks.faults(self.home.step, q, self.home.get(self.home.inputs[0]))

    def observe(self, names: Collection[str]) -> dict[str, Any]:
        """Return recorded variables at the current instant of each world, keyed by name, shape (worlds, ...)."""
        home = self.home
        for name in names:
            if name not in self._recorded:
                raise KeyError(f"unknown variable {name!r}{nearest(name, sorted(self._recorded))}")
        now = self._now()
        self._renew(now)
        return self._variables(names, home.array(now), home.q, home.x, home.inputs[0], home.call)

    def _variables(
        self, names: Collection[str], t: Any, q: Any, x: Any, U: Any, call: Callable[[Compiled, Sequence[Any]], list[Any]]
    ) -> dict[str, Any]:
        """Return recorded variables, keyed by name, from times [s], states and inputs, shape (..., n)."""
        nv, get = self.plant.model.nv, self.home.get
        out = {"q": q, "v": x[..., :nv], "internal_state": x[..., nv:], "command": U[..., : self.na]}
        out |= {"held_input": U[..., self.na : self.nu], "work": x[..., x.shape[-1] - len(self.plant.layout.causes) :]}
        out = {name: array.copy() for name, array in out.items() if name in names}
        computed = {"R_WB" if name == "orientation" else name for name in names if name not in out}
        if computed:
            code = self.source.programs.observing(computed)
            out |= {a.name: value for a, value in zip(code.recipe.outputs, call(code, [t, q, x, U]), strict=True)}
        if "orientation" in names:
            R, q = get(out["R_WB"]), get(q)
            found = self.plant.orientations(R.reshape(-1, *R.shape[-3:]), q.reshape(-1, q.shape[-1]))
            out["orientation"] = found.reshape(*q.shape[:-1], *found.shape[1:])
        return {name: out[name] for name in names}

    @cached_property
    def _recorded(self) -> set[str]:
        """Names of the recorded variables that are available at a single instant."""
        return {v.name for v in schema(self.plant)} - {"energy_residual"}

    def check_given(self, driven: Mapping[str, Any]) -> None:
        """Reject held inputs outside their ranges, and warn about commands out of range; NaN held inputs stop their world."""
        home = self.home
        if not home.arrays.on_host:
            return
        held, now = home.inputs[0][:, self.na : self.nu], home.inputs[0][:, : self.na]
        names = (*self.source.commands, *self.source.held)
        for name, x in driven.items():
            k = names.index(name)
            if k < self.na:
                self._look(_column(now, k, x), held)
            else:
                self._look(now, _column(held, k - self.na, x))
        if not driven:
            self._look(now, held)
        if held.size:
            home.freeze(~np.isfinite(held).all(axis=1), True)

    def _look(self, commands: np.ndarray, held: np.ndarray) -> None:
        self.held_ranges.check(held)
        for text in self.ranges.look(commands):
            warnings.warn(text, stacklevel=6)

    # -- whole runs -----------------------------------------------------------------------------------------------------------

    def run(self, until: float, record: float, samples: Samples, progress: Callable[[float], None] | None) -> None:
        """Advance all worlds to the time `until` [s].

        `record`: time between two samples [s]. `samples`: receives samples at multiples of `record` and at the end.
        `progress`: function called regularly with the current time [s].
        """
        step, now = self.home.step, self._now()
        if np.ptp(now) > 0.0:
            raise ValueError("worlds that were reset separately have different times; reset all worlds, or call step")
        every, t = whole_steps(record, step, "record"), float(now.max(initial=0.0))
        left = whole_steps(until - t, step, "until") if until > t + slack(t, step) else 0
        while left:
            n = round(float(self._now()[0]) / step)
            self._sample(samples, final=n % every != 0)
            some = min(left, every - n % every)
            self.march({}, some, None)
            left -= some
            if progress is not None:
                progress(float(self._now()[0]))
        self._sample(samples, final=True)

    def _sample(self, samples: Samples, *, final: bool) -> None:
        """Sample watched quantities at the current instant; stopped worlds are omitted."""
        found = {name: self.home.get(x)[:, None] for name, x in self.observe(samples.sources).items()}
        samples.keep(np.where(self.home.frozen, np.nan, self._now())[:, None], found, final=final)

    # -- between steps --------------------------------------------------------------------------------------------------------

    def ready(self, driven: Mapping[str, Any], done: int, steps: int) -> int:
        """See `Run.ready`. Update the run data, then close constraints."""
        if self._first_until < np.inf:
            steps = min(steps, self._steps_alike(steps))
        held = {name: x for name, x in driven.items() if name in self.plant.layout.held}
        if held or self.plant.constrained:
            steps = min(steps, self._switch(held, done, steps))
        return steps

    def _steps_alike(self, steps: int) -> int:
        """Set the run data of the current time; return the number of steps until the slope of a current changes."""
        clock = self._base[:1] + self._ahead if self._together else self._clock
        now = self.home.offset + self.home.step * clock
        latest = float(now.max(initial=0.0))
        step = self.home.step
        near = slack(latest, step)
        if not self._together or not self._first_until > latest + step - near:  # otherwise nothing is due in any world
            now = self._now()
            self._renew(now)
            self._bent = np.flatnonzero(self._until < now + step - near)
            left = ((self._until - now + near) / step).min(initial=np.inf)
        else:
            self._bent = np.zeros(0, dtype=int)
            left = (self._first_until - latest + near) / step
        return max(1, int(left)) if np.isfinite(left) else steps

    def step(self, inputs: list[Any], steps: int, stride: int | None) -> Marched:
        """Take steps, or one step that is split in the worlds in which the slope of a current changes."""
        target = self.target
        if not len(self._bent):
            path = target.march(inputs, steps, stride)
            self._ahead += steps
            return path
        bent = self._bent[~target.frozen[self._bent]]
        rows = target.index(bent)
        target.freeze(bent, True)
        path = target.march(inputs, 1, stride)
        target.freeze(bent, False)
        good = self._split(bent, inputs)
        target.freeze(bent[~good], True)
        taken = target.array(good)
        target.number[rows] += taken
        path.good[rows] = taken
        if stride is not None:
            path.q[rows, -1], path.x[rows, -1] = target.q[rows], target.x[rows]
        self._ahead += 1
        return path

    def _split(self, which: np.ndarray, inputs: list[Any]) -> np.ndarray:
        """Take a split step in the worlds `which`; return True for worlds that advanced, shape (len(which),)."""
        now, step = self._now()[which], self.home.step
        groups: dict[tuple[int, float], list[int]] = {}
        for k, world in enumerate(which):
            groups.setdefault((int(self._drawn[world]), float(now[k])), []).append(k)
        good = np.ones(len(which), dtype=bool)
        rows = inputs[0][self.target.index(which)]
        rows = rows[:, 0] if rows.ndim == 3 else rows
        last = self.plant.layout.size - self._parameters
        for (seed, t), group in groups.items():
            members, end = np.array(group), t + step
            own = rows[self.target.index(members)]
            while t < end - slack(end, step):
                data, until = self._data(seed, t)
                until = min(until, end)
                own[:, self.nu : last] = self.target.array(self._with_current(which[members], data))
                good[members] &= self.target.part(which[members], [own], t, until - t)
                t = until
        return good

    @property
    def _drawn(self) -> np.ndarray:
        """Seed of the water of each world, shape (n,); all are equal if the water is not random."""
        return self.seeds if self.plant.environment.random else np.full_like(self.seeds, self.plant.seed)

    def _data(self, seed: int, t: float) -> tuple[np.ndarray, float]:
        """Return the run data that are valid from time `t` [s], and the end of their validity [s]."""
        if seed not in self._flows:
            self._flows[seed] = self.plant.flow(seed)
        return self.plant.data(self._flows[seed], t + max(1e-9 * self.home.step, rounding(t)), {}, self._waves_of(seed))

    def _with_current(self, which: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Return the run data without parameters, including the additional current of each world, shape (len(which), n)."""
        rows = np.tile(data[: len(data) - self._parameters], (len(which), 1))
        for at in self.plant.current_places:
            rows[:, at.start - self.nu : at.stop - self.nu] += self.currents[which]
        return rows

    def _now(self) -> np.ndarray:
        """Return the times of all worlds, including stopped worlds, on the host [s], shape (n,)."""
        return self.home.offset + self.home.step * self._clock

    @property
    def _clock(self) -> np.ndarray:
        """Number of steps since the start of each world, shape (n,)."""
        return self._base + self._ahead

    def _renew(self, now: np.ndarray) -> None:
        """Set the currents, gusts and waves of worlds to their values at the times `now` [s], shape (n,)."""
        near = slack(float(now.max(initial=0.0)), self.home.step)
        old = np.flatnonzero(self._until <= now + near)
        if not len(old):
            return
        last = self.plant.layout.size - self._parameters
        rows = np.zeros((len(old), last - self.nu))
        drawn = self._drawn[old]
        places = {seed: k for k, seed in enumerate(dict.fromkeys(drawn))}
        numbers = np.array([places[seed] for seed in drawn], dtype=float)
        for k, members in _alike(numbers[:, None], now[old, None]):
            data, until = self._data(int(drawn[k]), float(now[old[k]]))
            rows[members], self._until[old[members]] = self._with_current(old[members], data), until
        if rows.size:
            self.home.put(self.home.inputs[0][:, self.nu : last], old, rows)
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
        """Set held inputs of the next step and close constraints; return the number of steps with equal constraint inputs.

        Non-finite held inputs stop their world.
        """
        home, layout = self.home, self.plant.layout
        U = home.get(home.inputs[0])
        after = np.array(U)
        rows = {name: home.get(x) for name, x in held.items()}
        for name, x in rows.items():
            after[:, self.source.places[name].at[0]] = x[:, done]
        for x in (x for name, x in rows.items() if name in self._switches):
            first, later = x[:, done : done + 1], x[:, done : done + steps]
            change = ((later != first) & ~(np.isnan(later) & np.isnan(first))).any(axis=0)
            if change.any():
                steps = min(steps, int(np.argmax(change)))
        home.freeze(~np.isfinite(after[:, self.na : self.nu]).all(axis=1), True)
        if self.plant.constrained:
            before = after.copy()
            applied = self._applied[:, self.na : self.nu]
            before[:, self.na : self.nu] = np.where(np.isnan(applied), after[:, self.na : self.nu], applied)
            changed = (before != after).any(axis=1) & ~home.frozen
            if changed.any():
                self._close(np.flatnonzero(changed), before, after)
        self._applied[:, : layout.size] = after
        return steps

    def _close(self, which: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
        """Update velocities and internal states of the worlds `which` after inputs change; equal worlds are computed once."""
        home = self.home
        q, x = (np.array(home.get(a)[which]) for a in (home.q, home.x))
        now = self._now()
        alike: dict[bytes, np.ndarray] = {}
        for k, world in enumerate(which):
            if not (np.isfinite(q[k]).all() and np.isfinite(x[k]).all()):
                continue
            key = np.concatenate([q[k], x[k], before[world], after[world]]).tobytes()
            if key not in alike:
                t = float(now[world])
                try:
                    alike[key] = closed(self.plant, Point(t, q[k], x[k]), before[world], after[world])[0].x
                except ValueError as error:
                    error.add_note(f"in world {world}")
                    raise
            x[k] = alike[key]
        home.put(home.x, which, x)

    def why(self, world: int) -> str:
        home, layout = self.home, self.plant.layout
        q, x = (np.array(home.get(a)[world], dtype=float) for a in (home.q, home.x))
        given = np.array(home.get(home.inputs[0])[world], dtype=float)
        if not np.isfinite(given).all():
            parameters = [(f"parameter {name!r}", layout.data[f"parameter.{name}"][0]) for name in self.plant.parameters]
            inputs = [(f"input {name!r}", slice(k, k + 1)) for k, name in enumerate((*layout.commands, *layout.held))]
            for name, at in (*parameters, *inputs):
                if not np.isfinite(given[at]).all():
                    return f"{name} is {', '.join(f'{value:g}' for value in given[at])}, must be finite"
        if not (np.isfinite(q).all() and np.isfinite(x).all()):
            return "the state is not finite"
        at = Point(float(home.get(home.t)[world]), q, x)
        return f"the next step is not finite; {divergence_hint(self.plant, at, self.source.method, home.step)}"


def _alike(*arrays: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield groups of equal rows: the index of the first row, and the indices of all rows in the group."""
    n = len(arrays[0])
    if n and all((a == a[0]).all() for a in arrays):  # by far the fastest for a million worlds with equal starts
        yield 0, np.arange(n)
        return
    groups: dict[bytes, list[int]] = {}
    for k in range(n):
        groups.setdefault(b"".join(a[k].tobytes() for a in arrays), []).append(k)
    for members in groups.values():
        yield members[0], np.array(members)


def _column(array: np.ndarray, k: int, values: np.ndarray) -> np.ndarray:
    """Return `array` repeated for every step, with column `k` replaced by `values`, shape (worlds, steps, n)."""
    out = np.repeat(array[:, None], values.shape[1], axis=1)
    out[:, :, k] = values
    return out
