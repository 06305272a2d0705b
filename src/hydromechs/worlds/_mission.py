"""Worlds with blocks or events: plant, blocks and samples in one compiled loop, events between calls of the loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from hydromechs.compiler import NATIVE, Backend, CudaAttributes, CudaRoutine, DeviceState
from hydromechs.errors import UnsupportedFeature, noted
from hydromechs.integrators import Point, is_multiple, next_multiple, rounding, slack
from hydromechs.recording import Check, angle_difference, period_of
from hydromechs.simulation import (
    ANSWERED,
    ASKS,
    SAMPLED,
    SEEDS,
    SNAP,
    Event,
    GridTime,
    Guards,
    MissionMarch,
    OneWorld,
    Reduction,
    Simulation,
    Watched,
    closed,
    constraints_change,
    first_crossings,
    inputs_after,
    put_rows,
    rows_of,
)
from hydromechs.values import Array

from ._plant import PlantRun, PlantSource
from ._samples import Quantities, Samples
from ._source import WorldMessage
from ._target import Home, Marched

ROWS = 64
"""Maximum number of samples in one call of the compiled loop."""
CALLS = {"cpu": 0.1, "cuda": 0.3}
"""Targets for the computing time of one call of the loop [s], by target machine; after a call, Ctrl-C takes effect."""


class MissionHome(Home):
    """Arrays of the compiled loop of a mission. `memory`: initial memory of sensors, filter and blocks, shape (nm,)."""

    def __init__(
        self, march: MissionMarch, source: PlantSource, worlds: int, backend: Backend, offset: float, memory: Array
    ) -> None:
        self.sizes = {name: x.shape[1] for name, x in march.new(0).items()}
        """Sizes of the arrays of the loop, keyed by name."""
        super().__init__(source.stepper, worlds, backend, "float64", march.step, offset, sum(self.sizes.values()))
        self.march = march
        self.memory = memory
        """Initial memory of sensors, filter and blocks, shape (nm,)."""
        self.state = march.new(worlds)
        """Arrays of the loop, keyed by name, shape (worlds, n) each."""
        self._first = GridTime.of(offset, march.step)
        self._nq = source.model.nq

    def all(self, name: str) -> Any:
        """Return an array of the state on its device, for reading or writing."""
        return self.state.device(name) if isinstance(self.state, DeviceState) else self.state[name]

    @property
    def number(self) -> Any:
        return self.all("n")[:, 0] - self._first.n

    @property
    def t(self) -> Any:
        return self.all("n")[:, 0] * self.step + self.all("part")[:, 0]

    @property
    def q(self) -> Any:
        return self.all("y")[:, : self._nq]

    @property
    def x(self) -> Any:
        return self.all("y")[:, self._nq :]

    @property
    def inputs(self) -> list[Any]:  # type: ignore[override]  # an array of the loop
        return [self.all("inputs")]

    @property
    def frozen(self) -> np.ndarray:
        return (self.state["alive"][:, 0] == 0.0) | (self.state["paused"][:, 0] != 0.0)

    def freeze(self, which: np.ndarray, frozen: bool) -> None:
        self.state["alive"][which] = float(not frozen)

    def attributes(self) -> CudaAttributes:
        assert isinstance(self.march.code, CudaRoutine)
        return self.march.code.attributes()

    def begin(self, which: np.ndarray) -> None:
        state, fixed = self.state, {"n": self._first.n, "part": self._first.part, "alive": 1.0, "control": 1.0, "sample": 1.0}
        for name in {"paused", "reports", "outside", "extreme", "stage"} & self.sizes.keys():
            state[name][which] = 0.0
        for name, value in fixed.items():
            state[name][which] = value
        state["signals"][which] = np.nan
        if self.march.reduction is not None:
            state["totals"][which] = self.march.reduction.first
        self.march.remember(state, which, self.memory)


class MissionRun(PlantRun):
    """Stepping of worlds with blocks or events. `sim`: simulation of one world."""

    home: MissionHome

    def __init__(self, source: PlantSource, home: MissionHome, sim: Simulation) -> None:
        super().__init__(source, home)
        self.loop, self.state, self.events = home.march, home.state, sim.events
        if self.loop.ticking or self.loop.sensing_every:
            _check_start(home.offset, home.step)
        self._said: list[WorldMessage] = []
        self.reasons: dict[int, str] = {}
        """Reasons why worlds ended early, keyed by index of the world."""
        self.stopped: set[int] = set()
        """Indices of worlds that an event stopped."""
        self.signals = sim.signals
        guards = self.loop.guards
        self._guarded = [] if guards is None else guards.events
        self._quantities = {e.quantity: Quantities(self.plant, sim.signals, [e.quantity]) for e in self._guarded}
        self._python = OneWorld(sim, self.loop) if self.loop.python else None
        self._fresh = np.ones(home.worlds, dtype=bool)
        self._outside = np.zeros((home.worlds, self.na), dtype=bool)

    @property
    def memory(self) -> Any:
        return self.home.all("memory")

    @property
    def sizes(self) -> dict[str, int]:
        return {"memory": len(self.home.memory), "signal": len(self.signals), "control": 1}

    @property
    def messages(self) -> list[WorldMessage]:
        self._mark()
        return self._said

    @property
    def ended(self) -> dict[int, str]:
        self._mark()
        return self.reasons

    @property
    def failed(self) -> set[int]:
        return set(self.ended) - self.stopped

    def begin(self, which: np.ndarray, resumed: bool, start: Mapping[str, np.ndarray]) -> None:
        super().begin(which, resumed, start)
        state = self.state
        if self.loop.sensing is not None:
            state["seed"][which, 0] = [float(int(seed) % SEEDS) for seed in self.seeds[which]]
        if "memory" in start:
            self.loop.remember(state, which, start["memory"])
        for name, array in (("signal", "signals"), ("control", "control")):
            if name in start:
                state[array][which] = start[name]
        self._fresh[which], self._outside[which] = True, False
        again = set(which.tolist())
        self._said = [m for m in self._said if m.world not in again]
        self.reasons = {k: text for k, text in self.reasons.items() if k not in again}
        self.stopped -= again

    def _now(self) -> np.ndarray:
        return self.state["n"][:, 0] * self.home.step + self.state["part"][:, 0]

    # -- sensors --------------------------------------------------------------------------------------------------------------

    @property
    def _sensors(self) -> dict[str, tuple[slice, tuple[str, ...]]]:
        """Position in the signals and channel labels of each sensor, keyed by name."""
        if self.loop.sensing is None:
            return {}
        sampling: Any = self.loop.sensing.sampling
        rows = zip(sampling.sensors, sampling.places, sampling.channels, strict=True)
        return {s.name: (at, tuple(c.label for c in channels)) for s, at, channels in rows}

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        return {name: labels for name, (_, labels) in self._sensors.items()}

    @property
    def readings(self) -> dict[str, np.ndarray]:
        """Last measurements, see `Run.readings`. Sensors that are due measure now, and again in the next step."""
        if self.loop.sensing is None:
            return {}
        self._prepare(self._now())
        signals = self.loop.look_last(self.state)
        return {name: signals[:, at].copy() for name, (at, _) in self._sensors.items()}

    # -- running --------------------------------------------------------------------------------------------------------------

    def march(self, driven: Mapping[str, Any], steps: int, record: int | None) -> Marched:
        home, state = self.home, self.state
        first = state["n"][:, 0].copy()
        cuts = {0, steps, *range(0, steps, record or steps)} if steps else {0}
        for x in driven.values():
            x = home.get(x)
            changed = (x[:, 1:] != x[:, :-1]) & ~(np.isnan(x[:, 1:]) & np.isnan(x[:, :-1]))
            cuts |= set((1 + np.flatnonzero(changed.any(axis=0))).tolist())
        rows: list[dict[str, Array]] = []
        for a, b in pairwise(sorted(cuts)):
            for name, x in driven.items():
                self.home.inputs[0][(slice(None), *self.source.places[name].at)] = x[:, a]
            goal = np.stack([first + b, np.zeros_like(first)], axis=1)
            if record is None or a % record:
                self._advance(goal, None)
                continue
            state["sample"][:] = 1.0  # after the blocks have run
            self._prepare(self._now())
            row = {name: state[name].copy() for name in ("y", "signals")}
            rows.append(row)
            seen = np.zeros(home.worlds, dtype=bool)

            def keep(got: Mapping[str, Array], count: Array, row: dict[str, Array] = row, seen: Array = seen) -> None:
                new = (count > 0) & ~seen
                for name, x in row.items():
                    x[new] = got[name][new, 0]
                seen |= new

            self._advance(goal, keep)
        good = state["n"][:, 0] - first
        if record is None:
            return Marched(None, None, good)
        self._prepare(self._now())
        rows.append({"y": state["y"], "signals": self.loop.look_last(state)})
        y, signals = (np.stack([row[name] for row in rows], axis=1) for name in ("y", "signals"))
        nq = self.source.model.nq
        readings = {name: signals[..., at] for name, (at, _) in self._sensors.items()}
        return Marched(home.array(y[..., :nq]), home.array(y[..., nq:]), home.array(good), readings)

    def run(self, until: float, record: float, samples: Samples, progress: Callable[[float], None] | None) -> None:
        step, loop, span = self.home.step, self.loop, 0.0
        grid = step * min(x for x in (loop.every, loop.ticking, loop.sensing_every) if x)

        def keep(rows: Mapping[str, Array], count: Array) -> None:
            self._keep(samples, {name: x[:, : count.max(initial=0)] for name, x in rows.items()})

        while True:
            now = self._now()
            behind = (now < until - slack(until, step)) & ~self.home.frozen
            if not behind.any():
                break
            begun, start = time.perf_counter(), float(now[behind].min())
            # between passes of the loop, so that no step is split and guards check the same instants
            stop = min(until, next_multiple(start + min(span, (ROWS - 1) * record), grid, step))
            goal = np.tile(_grid(np.array([stop]), step), (len(now), 1))
            self._advance(goal, keep if loop.reduction is None else None)
            span = CALLS[self.home.backend.target] * (stop - start) / max(time.perf_counter() - begun, 1e-9)
            if progress is not None:
                progress(stop)
        failed = list(self.failed)
        if loop.reduction is not None:
            loop.reduce_last(self.state, np.delete(np.arange(len(now)), failed))
            return
        rows = self._rows_now()
        rows["signals"] = loop.look_last(self.state)[:, None].copy()
        rows["n"][failed] = np.nan
        self._keep(samples, rows, final=True)

    def _advance(self, goal: Array, keep: Callable[[Mapping[str, Array], Array], None] | None) -> None:
        """Advance all worlds to `goal`, grid times (n, part), shape (worlds, 2).

        `keep` receives the recorded rows, and their number in each world.
        """
        state, step = self.state, self.home.step
        last = goal[:, 0] * step + goal[:, 1]
        near = slack(float(np.abs(last).max(initial=0.0)), step)
        instants = [e.level for e in self.events if e.quantity == "time"]
        while True:
            n, part = state["n"][:, 0], state["part"][:, 0]
            behind = (n < goal[:, 0]) | ((n == goal[:, 0]) & (part < goal[:, 1]))
            if not (behind & ~self.home.frozen).any():
                return
            now = self._now()
            self._prepare(now)
            stop = np.minimum(last, self._until)
            for x in instants:
                stop = np.where(x > now + near, np.minimum(stop, x), stop)
            there = stop >= last - near
            until = goal if there.all() else np.where(there[:, None], goal, _grid(stop, step))
            steps = float((until[:, 0] - n).max(initial=0.0))
            passes = self.loop.passes(GridTime(0.0, 0.0), GridTime(max(steps, 0.0), 0.0))
            rows = {name: np.full((len(n), passes, self.home.sizes[name]), np.nan) for name in SAMPLED} if keep else None
            count = self._marched(until, passes, rows)
            if keep is not None and rows is not None:
                keep(rows, count)
            self._mark()
            t = self._now()
            for event in (e for e in self.events if e.quantity == "time"):
                worlds = np.flatnonzero((now < event.level - near) & (t >= event.level - near) & ~self.home.frozen)
                self._act(event, worlds, t[worlds])

    def _marched(self, until: Array, passes: int, rows: dict[str, Array] | None) -> Array:
        """Advance all worlds to grid times, continuing after reports; return the number of recorded rows, shape (worlds,)."""
        state = self.state
        count = self.loop.run(state, until, passes, rows)
        reported = self._reports()
        while len(reported):  # these have stopped at their report
            some = rows_of(state, reported)
            more = None if rows is None else {name: np.full((len(reported), *x.shape[1:]), np.nan) for name, x in rows.items()}
            got = self.loop.run(some, until[reported], passes, more)
            put_rows(state, reported, some)
            for k, world in enumerate(reported):
                for name, x in (more or {}).items():
                    assert rows is not None
                    rows[name][world, count[world] : count[world] + got[k]] = x[k, : got[k]]
                count[world] += got[k]
            reported = self._reports()
        return count

    def _prepare(self, now: np.ndarray) -> None:
        """Prepare the current instant before the next tick: water, constraints, and initial values of guards."""
        self._renew(now)
        if self.plant.constrained:
            self._switch({}, 0, 1)
        if self._fresh.any() and self._guarded:
            values = self._values(self._quantities, self._rows_now(), self.state["inputs"])
            for k, e in enumerate(self._guarded):
                off = angle_difference(values[e.quantity][:, 0] - e.level, period_of(e.quantity))
                self.state["guard"][self._fresh, k] = off[self._fresh]
        self._fresh[:] = False

    def _mark(self) -> None:
        state = self.state
        for world in np.flatnonzero((state["alive"][:, 0] == 0.0) & (state["paused"][:, 0] == 0.0)):
            self._end(int(world), self.why(int(world)))

    def _end(self, world: int, reason: str) -> None:
        self.reasons[world] = reason
        self._said.append(WorldMessage(world, float(self._now()[world]), reason))
        self.state["paused"][world] = 1.0

    def _reports(self) -> Array:
        """Process reports of blocks; return the indices of the worlds that continue."""
        state, out = self.state, list[int]()
        if self._python is not None:
            asking = (state["paused"][:, 0] != 0.0) & (state["stage"][:, 0] == ASKS)
            asking[list(self.reasons)] = False
            if asking.any():
                out += np.flatnonzero(asking).tolist()
                self._answer(self._python, np.flatnonzero(asking))
        for world in (int(k) for k in np.flatnonzero(state["paused"][:, 0] != 0.0) if k not in self.reasons):
            t = float(self._now()[world])
            new = (state["outside"][world] > 0.0) & ~self._outside[world]
            self._outside[world] |= new
            texts = [self.ranges.fault(x, float(state["extreme"][world, k])) for k, x in enumerate(self.ranges.slots) if new[k]]
            try:
                texts += self.loop.texts(t, state["reports"][world])
            except Exception as error:  # an error that would stop a simulation ends only this world
                self._end(world, str(error))
                continue
            self._said += [WorldMessage(world, t, text) for text in texts if text]
            state["reports"][world] = 0.0
            if self._guarded:
                self._handle_crossings(world)
            if world not in self.reasons:
                state["paused"][world] = 0.0
                out.append(world)
        return np.array(out, dtype=int)

    def _answer(self, one: OneWorld, worlds: Array) -> None:
        """Run the Python blocks that are due: batched blocks once, other blocks separately in each world."""
        state, t = self.state, self._now()
        assert self.loop.mission is not None
        given, said = self.loop.mission.call_batched(state, self.home.step, worlds)
        alone = self.loop.mission.asks_alone(given)
        state["given"][worlds], state["stage"][worlds], state["paused"][worlds] = given.reshape(len(worlds), -1), ANSWERED, 0.0
        for world, row in zip(worlds[alone].tolist(), given[alone], strict=True):
            inputs = state["inputs"][world]
            data = inputs[self.nu :].copy()
            one.state, one.said = {name: x[world : world + 1] for name, x in state.items()}, []
            one.simulation.parameters = self.plant.named_parameters(inputs[len(inputs) - self._parameters :])
            with noted(f"in world {world}"):
                one.answer(row)
            inputs[self.nu :], self._applied[world] = data, inputs
            self._said += [WorldMessage(world, t, text) for t, text in one.said]
        self._said += [WorldMessage(world, float(t[world]), text) for world, text in said]

    # -- events ---------------------------------------------------------------------------------------------------------------

    def _handle_crossings(self, world: int) -> None:
        """Find events in the last step of a world and execute their actions, as in a simulation of one world."""
        state, nq, step = self.state, self.source.model.nq, self.home.step
        n, part, *y = state["start"][world]
        before = Point(GridTime(n, part).time(step), np.array(y[:nq]), np.array(y[nq:]))
        after = self._point(world)
        watch = [Watched(e, self._value(world, e), after, step) for e in self._guarded]
        for w, last in zip(watch, state["guard"][world].tolist(), strict=True):
            w.last = last
        inputs = state["inputs"][world].copy()
        bare = self.loop.bare
        found, at = first_crossings(watch, before, after, lambda p, t: bare.advanced(p, inputs, t))
        if at is not after:
            (state["n"][world], state["part"][world]), state["y"][world] = GridTime.of(at.t, step), [*at.q, *at.x]
        for crossing in found:
            self._act(crossing.watched.event, np.array([world]), np.array([crossing.at.t]))
        now = self._point(world)
        for k, w in enumerate(watch):
            w.look(now)
            state["guard"][world, k] = w.last

    def _point(self, world: int) -> Point:
        y, nq = self.state["y"][world], self.source.model.nq
        return Point(float(self._now()[world]), y[:nq].copy(), y[nq:].copy())

    def _value(self, world: int, event: Event) -> Callable[[Point], float]:
        quantity = {event.quantity: self._quantities[event.quantity]}

        def value(at: Point) -> float:
            rows = {name: x[world : world + 1] for name, x in self._rows_now().items()}
            rows["n"], rows["part"] = (np.array([[[x]]]) for x in GridTime.of(at.t, self.home.step))
            rows["y"] = np.concatenate([at.q, at.x])[None, None]
            return float(self._values(quantity, rows, self.state["inputs"][world : world + 1])[event.quantity][0, 0])

        return value

    def _act(self, event: Event, worlds: Array, t: Array) -> None:
        """Execute the actions of an event in `worlds` at times `t` [s], shape (len(worlds),)."""
        if not len(worlds):
            return
        state, nq, message = self.state, self.source.model.nq, event.message
        times, lost = dict(zip(worlds.tolist(), t.tolist(), strict=True)), np.zeros(len(worlds))
        self._said += [WorldMessage(world, at, message) for world, at in times.items()]
        before, y = state["inputs"][worlds], state["y"][worlds]
        after = inputs_after(event, self.plant, before, t)
        changed = (after != before).any(axis=1)
        for k in np.flatnonzero(changed & constraints_change(self.plant, before, after)):
            point, lost[k] = closed(self.plant, Point(float(t[k]), y[k, :nq], y[k, nq:]), before[k], after[k])
            state["y"][worlds[k], nq:] = point.x
        state["inputs"][worlds[changed]] = self._applied[worlds[changed]] = after[changed]
        texts = event.closing(lost[changed], self.plant, y[changed, :nq], before[changed])
        for world, said in zip(worlds[changed].tolist(), texts, strict=True):
            self._said += [WorldMessage(world, times[world], text) for text in said]
        if event.control is not None:
            state["control"][worlds] = float(event.control == "on")
            if event.control == "off":
                state["signals"][worlds] = np.nan
        for world, at in times.items() if event.stop else ():
            self.stopped.add(world)
            self._end(world, f"stopped by {event.name} at t = {at:.6f} s")

    # -- samples --------------------------------------------------------------------------------------------------------------

    def _rows_now(self) -> dict[str, Array]:
        """Return the current instant as recorded rows, shape (worlds, 1, n) each."""
        rows = {name: self.state[name][:, None].copy() for name in SAMPLED}
        rows["applied"] = self.state["inputs"][:, None, : self.nu]
        return rows

    def _found(self, sources: Sequence[str], rows: Mapping[str, Array], inputs: Array) -> tuple[dict[str, Any], Array]:
        """Return variables at recorded rows, shape (worlds, rows, ...) each, and times [s], shape (worlds, rows)."""
        nq, (worlds, n) = self.source.model.nq, rows["n"].shape[:2]
        t = rows["n"][..., 0] * self.home.step + rows["part"][..., 0]
        data = np.broadcast_to(inputs[:, None, self.nu :], (worlds, n, inputs.shape[1] - self.nu))
        U = np.concatenate([rows["applied"], data], axis=-1)
        with np.errstate(all="ignore"):
            names = [name for name in sources if name != "signal"]
            found = self._variables(names, t, rows["y"][..., :nq], rows["y"][..., nq:], U, lambda code, arrays: code(arrays))
        return found | {"signal": rows["signals"]}, t

    def _values(self, quantities: Mapping[str, Quantities], rows: Mapping[str, Array], inputs: Array) -> dict[str, Array]:
        """Return values of quantities at recorded rows, shape (worlds, rows) each."""
        out: dict[str, Array] = {}
        for quantity in quantities.values():
            out |= quantity.values(*self._found(quantity.sources, rows, inputs))
        return out

    def _keep(self, samples: Samples, rows: Mapping[str, Array], *, final: bool = False) -> None:
        if rows["n"].shape[1]:
            found, t = self._found(samples.sources, rows, self.state["inputs"])
            samples.keep(t, found, final=final)


def march_of(
    source: PlantSource, sim: Simulation, name: str, target: str, checks: Sequence[Check], quantities: Sequence[str] | None
) -> MissionMarch:
    """Return the compiled loop of a simulation with its blocks and events. `name` identifies the source in error messages.

    `checks`, `quantities`: checks and quantities whose statistics the loop accumulates. If `quantities` is None, the loop
    records samples instead.
    """
    for part in () if sim.mission is None or target == NATIVE.target else sim.mission.python:
        raise UnsupportedFeature(
            f"{name}: controller {type(part.block).__name__!r} is Python code, which target {target!r} cannot run; derive it "
            f"from TracedBlock, or use target={NATIVE.target!r}"
        )
    programs, signals = source.programs, sim.signals
    guards = Guards(programs, sim.events, signals)
    for event in (e for e in sim.events if e.quantity != "time" and e not in guards.events):
        raise UnsupportedFeature(
            f"{name}: event {event.name!r}: {event.quantity!r} cannot be watched in many worlds; watch another quantity, "
            "or run one world"
        )
    reduction = None if quantities is None else Reduction(programs, checks, quantities, signals)
    how = source.lanes, source.threads, guards, target, reduction
    return MissionMarch(programs, sim.mission, sim.step_size, sim.record, *how)


def _check_start(t: float, step: float) -> None:
    """Raise `ValueError` unless worlds start at a multiple of the step, as required by the ticks of blocks."""
    if not is_multiple(t, step, step):
        raise ValueError(
            f"start.t is {t:g} s, must be an integer multiple of {step:g} s, because controllers and sensors run at "
            f"multiples of their periods; use {round(t / step) * step:g} s or a different step"
        )


def _grid(t: Array, step: float) -> Array:
    """Return grid times (n, part) of times [s], shape (worlds, 2); see `GridTime.of`."""
    n = np.rint(t / step)
    on = np.abs(t - n * step) <= np.maximum(min(1e-6 * step, SNAP), rounding(1.0) * np.abs(t))
    below = np.floor(t / step)
    return np.where(on[:, None], np.stack([n, 0.0 * n], axis=1), np.stack([below, t - below * step], axis=1))
