"""Whole missions of a scenario in many worlds: plant, blocks and samples in compiled code, events between its stretches."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hydromechs import compiler
from hydromechs.errors import UnsupportedFeature
from hydromechs.hydro import WaveComponents, wave_components
from hydromechs.integrators import Point, next_multiple, rounding, slack
from hydromechs.recording import STORED_ENERGIES, CheckResult, angle_difference, find_terms, period_of, source_of, values_of
from hydromechs.scenario import Scenario
from hydromechs.simulation import (
    SAMPLED,
    SEEDS,
    CommandRanges,
    Event,
    GridTime,
    Guards,
    MissionMarch,
    PlantPrograms,
    Reduction,
    Simulation,
    Statistics,
    Watched,
    closed,
    coordinates,
    divergence_hint,
    first_crossings,
    quantities,
    settled_targets,
    switch_places,
    wrench_places,
)
from hydromechs.values import Array, positive, whole

from ._seeds import seeds_of

ROWS = 64
"""Samples that the compiled loop takes before it returns, at most."""
CALL = 0.1
"""Time for which it runs [s]: Ctrl-C acts after it."""


class WorldMessage(NamedTuple):
    """Something that happened in a world."""

    world: int
    """Number of the world."""
    t: float
    """Time [s]."""
    text: str
    """What happened."""


@dataclass
class _Watch:
    """A quantity that is sampled in all worlds."""

    name: str
    head: str
    terms: list[tuple[int, ...]]
    rows: list[Array] = field(default_factory=list)


class Missions:
    """Missions of a scenario in many worlds, with controllers, events and checks.

        missions = hm.Worlds(hm.load_scenario("pick_and_release"), 1000, seed=1)
        missions.run()
        missions.passed.mean()

    A world that diverges or that an event stops is marked; the others continue. All worlds run the same code on the same
    lanes: the bits of a world depend on its own seed and start alone.

    Args:
        scenario: The scenario. Its controllers must be traced blocks and its integrator must take steps of one length.
        worlds: Number of worlds.
        seed: Seed of gusts, waves and sensors: one integer, from which world k derives its own, or one per world, shape
            (worlds,). Defaults to the seed of the scenario in all worlds.
        start_q: Initial configurations, shape (worlds, nq) or (nq,). Defaults to those of the scenario.
        start_v: Initial velocities, shape (worlds, nv) or (nv,).
        watch: Quantities to sample, besides those of the checks.
        lanes: Worlds per vector operation, 1, 4 or 8. Defaults to what the machine has.
        threads: Threads that share the worlds.
        target: Machine on which they run, one of `compiler.TARGETS`.
        samples: False to keep statistics instead of samples; memory does not depend on the duration then.
    """

    def __init__(
        self,
        scenario: Scenario,
        worlds: int,
        *,
        seed: int | Sequence[int] | None = None,
        start_q: Any = None,
        start_v: Any = None,
        watch: Sequence[str] = (),
        lanes: int | None = None,
        threads: int = 1,
        target: str = compiler.NATIVE.target,
        samples: bool = True,
    ) -> None:
        self.scenario, self.worlds = scenario, whole(worlds, "worlds", 1)
        self.simulation = sim = scenario.simulation()
        single = sim.mission_march
        if single is None:
            raise UnsupportedFeature(f"scenario {scenario.name!r} cannot run in many worlds: {_obstacle(sim)}")
        lanes = compiler.native_lanes() if lanes is None else lanes
        self.plant, self.step = sim.plant, sim.step_size
        self.programs = PlantPrograms(sim.plant, sim.method, lanes=lanes, threads=threads)
        guards = Guards(self.programs, scenario.events, sim.signals)
        for event in (e for e in scenario.events if e.quantity != "time" and e not in guards.events):
            raise UnsupportedFeature(
                f"event {event.name!r} of scenario {scenario.name!r}: {event.quantity!r} cannot be watched in many worlds; "
                "watch another quantity, or run one world"
            )
        names = dict.fromkeys([*(c.quantity for c in scenario.checks), *watch])
        reduction = None if samples else Reduction(self.programs, scenario.checks, list(names), sim.signals)
        how = lanes, threads, guards, single.sensing, target, reduction
        self.march = MissionMarch(self.programs, single.mission, self.step, sim.record, *how)
        own = [self.plant.seed] * self.worlds if seed is None else seed
        self._variables = quantities(self.plant, sim.signals)
        self._watched = [self._watch(name) for name in names if name != "time" and samples]
        self._ranges = CommandRanges(self.plant.layout)
        self.restart(seeds_of(own, self.worlds), start_q, start_v)

    def restart(self, seeds: Array, start_q: Any = None, start_v: Any = None) -> None:
        """Start again, with one world for each seed.

        Args:
            seeds: Seeds, shape (worlds,).
            start_q: Initial configurations; see the class.
            start_v: Initial velocities.
        """
        sim, march = self.simulation, self.march
        self.seeds, self.worlds = seeds, len(seeds)
        """Seed of each world."""
        self.state = march.new(self.worlds)
        """Arrays of the compiled loop, shape (worlds, n) each."""
        self.t = sim.state.t
        """Time reached [s]."""
        self.messages: list[WorldMessage] = []
        """What happened, in all worlds."""
        self.ended: dict[int, str] = {}
        """By number, why a world ended early."""
        self.failed: set[int] = set()
        """Worlds that diverged or that an error ended; those that an event stopped are not among them."""
        self._until = -np.inf
        """Time until which current and gusts are constant [s]."""
        self._flows = {s: self.plant.flow(int(s)) for s in dict.fromkeys(seeds)}
        self._waves: dict[int, WaveComponents] = {}
        self._times: list[Array] = []
        for w in self._watched:
            w.rows = []
        state = sim.state
        nq, nv, na = sim.model.nq, sim.model.nv, len(state.command)
        y = self.state["y"]
        y[:, :nq], y[:, nq : nq + nv], y[:, nq + nv :] = state.q, state.v, state.internal
        for given, part in ((start_q, y[:, :nq]), (start_v, y[:, nq : nq + nv])):
            if given is not None:
                part[:] = given
        self.state["n"][:], self.state["part"][:] = GridTime.of(self.t, self.step)
        self.state["inputs"][:, :na], self.state["inputs"][:, na : na + len(state.held)] = state.command, state.held
        march.remember(self.state, slice(None), state.memory)
        self.state["signals"][:], self.state["control"][:] = np.nan, state.control
        if march.sensing is not None:
            self.state["seed"][:, 0] = [float(int(s) % SEEDS) for s in seeds]
        self.state["sample"][:] = 1.0
        self._outside = np.zeros((self.worlds, na), dtype=bool)
        self._energy: Array | None = None
        """Stored energy less work at the start [J], shape (worlds, 1)."""
        self.__dict__.pop("passed", None)

    def _watch(self, name: str) -> _Watch:
        head, terms = find_terms(name, self._variables, coordinates(self.plant, self.simulation.signals))
        return _Watch(name, head, terms)

    # -- running --------------------------------------------------------------------------------------------------------------

    def run(self, until: float | None = None, progress: Callable[[float], None] | None = None) -> None:
        """Run all worlds up to a time.

        Args:
            until: The time [s]. Defaults to the duration of the scenario.
            progress: Called now and then with the time that was reached [s].
        """
        until = self.scenario.duration if until is None else positive(until, "until")
        guards = self.march.guards
        if guards is not None and (self.state["sample"] != 0.0).any():  # the start of the first run
            values = self._values([self._watch(e.quantity) for e in guards.events], self._rows_now(), self.state)
            for k, e in enumerate(guards.events):
                off = values[e.quantity][:, 0] - e.level
                self.state["guard"][:, k] = angle_difference(off, period_of(e.quantity))
        instants = [e.level for e in self.scenario.events if e.quantity == "time"]
        march, span = self.march, 0.0
        grid = self.step * min(x for x in (march.every, march.ticking, march.sensing_every) if x)
        while self.t < until - slack(until, self.step):
            if self.t >= self._until - slack(self.t, self.step):
                self._renew()
            begun, start = time.perf_counter(), self.t
            # between passes of the loop: splits no step, and guards look at the same instants
            end = next_multiple(self.t + min(span, (ROWS - 1) * self.simulation.record), grid, self.step)
            stop = min(until, end, self._until)
            stop = min([stop, *(x for x in instants if x > self.t + slack(self.t, self.step))])
            self._advance(stop)
            self.t = stop
            span = CALL * (stop - start) / max(time.perf_counter() - begun, 1e-9)
            for event in (e for e in self.scenario.events if e.quantity == "time"):
                if abs(event.level - stop) <= slack(stop, self.step):
                    for world in (k for k in range(self.worlds) if k not in self.ended):
                        self._act(event, world, stop)
            if progress is not None:
                progress(stop)
        self._sample_end()

    def _advance(self, stop: float) -> None:
        """March all worlds to a time; worlds that report something continue after it."""
        at, end = GridTime.of(self.t, self.step), GridTime.of(stop, self.step)
        goal, passes, state = np.array([[end.n, end.part]]), self.march.passes(at, end), self.state
        sampled = SAMPLED if self.march.reduction is None else ()
        rows = {name: np.full((self.worlds, passes, state[name].shape[1]), np.nan) for name in sampled}
        filled = self.march.run(state, goal, passes, rows)
        reported = self._reports()
        while len(reported):  # these have stopped at their report
            some = {name: np.ascontiguousarray(x[reported]) for name, x in state.items()}
            more = {name: np.full((len(reported), *x.shape[1:]), np.nan) for name, x in rows.items()}
            count = self.march.run(some, goal, passes, more)
            for name, x in some.items():
                state[name][reported] = x
            for k, world in enumerate(reported):
                for name, x in more.items():
                    rows[name][world, filled[world] : filled[world] + count[k]] = x[k, : count[k]]
                filled[world] += count[k]
            reported = self._reports()
        self._keep({name: x[:, : filled.max(initial=0)] for name, x in rows.items()})
        for world in np.flatnonzero((state["alive"][:, 0] == 0.0) & (state["paused"][:, 0] == 0.0)):
            nq, t = self.simulation.model.nq, self._time(int(world))
            point = Point(t, state["y"][world, :nq], state["y"][world, nq:])
            hint = divergence_hint(self.plant, point, self.simulation.method, self.step)
            self._end(int(world), f"the next step is not finite; {hint}")

    def _end(self, world: int, reason: str, *, failed: bool = True) -> None:
        """Mark a world that ends early."""
        self.ended[world] = reason
        self.failed |= {world} if failed else set()
        self.messages.append(WorldMessage(world, self._time(world), reason))
        self.state["paused"][world] = 1.0

    def _time(self, world: int) -> float:
        return float(self.state["n"][world, 0]) * self.step + float(self.state["part"][world, 0])

    def _reports(self) -> Array:
        """Take what blocks reported; worlds that continue."""
        state, out = self.state, []
        for world in np.flatnonzero(state["paused"][:, 0] != 0.0):
            if world in self.ended:
                continue
            t = self._time(int(world))
            ranges = self._ranges
            new = (state["outside"][world] > 0.0) & ~self._outside[world]
            self._outside[world] |= new
            texts = [ranges.fault(name, float(state["extreme"][world, k])) for k, name in enumerate(ranges.slots) if new[k]]
            try:
                texts += self.march.texts(t, state["reports"][world])
            except Exception as error:  # what stops a simulation ends one world here
                self._end(int(world), str(error))
                continue
            self.messages += [WorldMessage(int(world), t, text) for text in texts if text]
            state["reports"][world] = 0.0
            if self.march.guards is not None:
                self._handle_crossings(int(world), self.march.guards)
            if world not in self.ended:
                state["paused"][world] = 0.0
                out.append(int(world))
        return np.array(out, dtype=int)

    # -- water ----------------------------------------------------------------------------------------------------------------

    def _renew(self) -> None:
        """Set the current, gusts and waves of each world from now on."""
        told, self._until = self.state["told"].shape[1], np.inf
        if told == self.state["inputs"].shape[1]:
            return
        now = self.t + max(1e-9 * self.step, rounding(self.t))
        for seed in dict.fromkeys(self.seeds):
            data, until = self.plant.data(self._flows[seed], now, {}, self._waves_of(int(seed)))
            self.state["inputs"][self.seeds == seed, told:] = data
            self._until = min(self._until, until)

    def _waves_of(self, seed: int) -> WaveComponents | None:
        plant = self.plant
        if plant.waves is None:
            return None
        if seed not in self._waves:
            own = seed == plant.seed
            self._waves[seed] = plant.waves if own else wave_components(plant.environment, plant.model.world.gravity, seed)
        return self._waves[seed]

    # -- events ---------------------------------------------------------------------------------------------------------------

    def _handle_crossings(self, world: int, guards: Guards) -> None:
        """Find what happened in the last steps of a world and do what it asks for, as a simulation of one world does."""
        state, nq = self.state, self.simulation.model.nq
        n, part, *y = state["start"][world]
        before = Point(GridTime(n, part).time(self.step), np.array(y[:nq]), np.array(y[nq:]))
        after = Point(self._time(world), state["y"][world, :nq].copy(), state["y"][world, nq:].copy())
        watch = [Watched(e, self._value(world, e), after) for e in guards.events]
        for w, last in zip(watch, state["guard"][world].tolist(), strict=True):
            w.last = last
        inputs = state["inputs"][world].copy()
        bare = self.march.bare
        found, at = first_crossings(watch, before, after, lambda p, t: bare.advanced(p, inputs, t), self.step)
        if at is not after:
            (state["n"][world], state["part"][world]), state["y"][world] = GridTime.of(at.t, self.step), [*at.q, *at.x]
        for crossing in found:
            self._act(crossing.watched.event, world, crossing.at.t)
        now = Point(at.t, state["y"][world, :nq].copy(), state["y"][world, nq:].copy())
        for k, w in enumerate(watch):
            w.look(now)
            state["guard"][world, k] = w.last

    def _value(self, world: int, event: Event) -> Callable[[Point], float]:
        """Value of a guarded quantity at a point of a world."""
        quantity = self._watch(event.quantity)

        def value(at: Point) -> float:
            rows = {name: x[world : world + 1] for name, x in self._rows_now().items()}
            rows["n"], rows["part"] = (np.array([[[x]]]) for x in GridTime.of(at.t, self.step))
            rows["y"] = np.concatenate([at.q, at.x])[None, None]
            state = {"inputs": self.state["inputs"][world : world + 1]}
            return float(self._values([quantity], rows, state)[event.quantity][0, 0])

        return value

    def _rows_now(self) -> dict[str, Array]:
        """The present instant as rows of the records, shape (worlds, 1, n)."""
        rows = {name: self.state[name][:, None].copy() for name in SAMPLED}
        rows["told"] = self.state["inputs"][:, None, : self.state["told"].shape[1]]
        return rows

    def _act(self, event: Event, world: int, t: float) -> None:
        """Do what an event asks for in a world."""
        layout, sim = self.plant.layout, self.simulation
        na, told = len(layout.commands), self.state["told"].shape[1]
        self.messages.append(WorldMessage(world, t, f"{event.name} ({event.quantity} crosses {event.level:g})"))
        inputs = self.state["inputs"][world]
        names = [*layout.commands, *layout.held]
        changes = dict(event.command)
        if event.control == "off":
            changes = settled_targets(layout, inputs[:na], inputs[na:told], t) | changes
        for name, value in changes.items():
            inputs[names.index(name)] = value
        after = inputs.copy()
        for body, wrench in event.wrench:
            after[na + np.array(wrench_places(self.plant)[body])] = wrench
        for name, on in event.switches.items():
            after[na + switch_places(self.plant)[name]] = on
        if not np.array_equal(after, inputs):
            nq = sim.model.nq
            y = self.state["y"][world]
            point, lost = closed(self.plant, Point(t, y[:nq].copy(), y[nq:].copy()), inputs.copy(), after)
            y[nq:], inputs[:] = point.x, after
            self.messages += [WorldMessage(world, t, text) for text in event.closing(lost, self.plant, y[:nq])]
        if event.control is not None:
            self.state["control"][world] = float(event.control == "on")
            if event.control == "off":
                self.state["signals"][world] = np.nan
        if event.stop:
            self._end(world, f"stopped by {event.name} at t = {t:.6f} s", failed=False)

    # -- samples --------------------------------------------------------------------------------------------------------------

    def _values(self, watched: Sequence[_Watch], rows: Mapping[str, Array], state: Mapping[str, Array]) -> dict[str, Array]:
        """Values of quantities at rows of the records, shape (worlds, rows) each."""
        nq, nv, layout = self.simulation.model.nq, self.simulation.model.nv, self.plant.layout
        worlds, n = rows["n"].shape[:2]
        t = rows["n"][..., 0] * self.step + rows["part"][..., 0]
        q, x = rows["y"][..., :nq], rows["y"][..., nq:]
        na, told = len(layout.commands), rows["told"].shape[2]
        data = np.broadcast_to(state["inputs"][:, None, told:], (worlds, n, layout.size - told))
        known = {
            "q": q,
            "v": x[..., :nv],
            "internal_state": x[..., nv:],
            "command": rows["told"][..., :na],
            "held_input": rows["told"][..., na:],
            "signal": rows["signals"],
            "work": x[..., x.shape[-1] - len(layout.causes) :],
        }
        sources = {source_of(w.head) for w in watched} - set(known)
        if sources:
            audited = "energy_residual" in sources
            sources = sources - {"energy_residual"} | (set(STORED_ENERGIES) if audited else set())
            computed = {"R_WB" if name == "orientation" else name for name in sources}
            code = self.programs.observing(computed)
            with np.errstate(all="ignore"):
                found = code([t, q, x, np.concatenate([rows["told"], data], axis=-1)])
            known |= {a.name: value for a, value in zip(code.recipe.outputs, found, strict=True)}
            if audited:
                energy = sum((known[name] for name in STORED_ENERGIES), -known["work"].sum(axis=-1))
                known["energy_residual"] = energy - (energy[:, :1] if self._energy is None else self._energy)
                self._energy = energy[:, :1] if self._energy is None else self._energy
            if "orientation" in sources:
                flat = self.plant.orientations(known["R_WB"].reshape(worlds * n, *known["R_WB"].shape[2:]), q.reshape(-1, nq))
                known["orientation"] = flat.reshape(worlds, n, *flat.shape[1:])
        out = {}
        for w in watched:
            samples = known[source_of(w.head)]
            out[w.name] = values_of(w.head, samples.reshape(worlds * n, *samples.shape[2:]), w.terms).reshape(worlds, n)
        return out

    def _keep(self, rows: Mapping[str, Array]) -> None:
        """Keep the watched quantities of rows of the records."""
        if self.march.reduction is not None or not rows["n"].shape[1]:
            return
        self._times.append(rows["n"][..., 0] * self.step + rows["part"][..., 0])
        with np.errstate(all="ignore"):
            for w in self._watched:
                w.rows.append(self._values([w], rows, self.state)[w.name])

    def _sample_end(self) -> None:
        """Keep the present instant, the last of a run."""
        if self.march.reduction is not None:
            self.march.reduce_last(self.state, np.array([k for k in range(self.worlds) if k not in self.ended], dtype=int))
            return
        rows = self._rows_now()
        rows["signals"] = self.march.look_last(self.state)[:, None].copy()
        ended = np.array(list(self.ended), dtype=int)
        rows["n"][ended] = np.nan
        self._keep(rows)
        for w in self._watched:
            w.rows[-1][ended] = np.nan

    @property
    def reached(self) -> Array:
        """Time that each world has reached [s], shape (worlds,)."""
        return self.state["n"][:, 0] * self.step + self.state["part"][:, 0]

    @property
    def times(self) -> Array:
        """Times of the samples [s], shape (worlds, n); NaN after the end of a world."""
        return np.concatenate(self._times, axis=1)

    def samples(self, quantity: str) -> Array:
        """Return samples of a watched quantity, shape (worlds, n); NaN after the end of a world."""
        for w in self._watched:
            if w.name == quantity:
                return np.concatenate(w.rows, axis=1)
        raise KeyError(f"no samples of {quantity!r}; name it in watch=[...]")

    # -- results --------------------------------------------------------------------------------------------------------------

    @property
    def q(self) -> Array:
        """Configurations, shape (worlds, nq); a view."""
        return self.state["y"][:, : self.simulation.model.nq]

    @property
    def v(self) -> Array:
        """Velocities, shape (worlds, nv); a view."""
        nq = self.simulation.model.nq
        return self.state["y"][:, nq : nq + self.simulation.model.nv]

    def statistics(self, quantity: str) -> Statistics:
        """Return statistics of a watched quantity or of one of the checks, of worlds with `samples=False`."""
        if self.march.reduction is None:
            raise ValueError("these worlds keep samples; give samples=False, or take statistics of worlds.samples(quantity)")
        return self.march.reduction.statistics(self.state["totals"], quantity)

    def judge(self) -> list[list[CheckResult]]:
        """Return the results of the scenario's checks in each world."""
        if self.march.reduction is not None:
            return self.march.reduction.judge(self.state["totals"])
        times = self.times
        out: list[list[CheckResult]] = []
        samples = {c.quantity: times if c.quantity == "time" else self.samples(c.quantity) for c in self.scenario.checks}
        for world in range(self.worlds):
            there = np.isfinite(times[world])
            out.append([c.judge_samples(times[world, there], samples[c.quantity][world, there]) for c in self.scenario.checks])
        return out

    @cached_property
    def passed(self) -> Array:
        """True for each world that passed all checks and did not fail, shape (worlds,)."""
        return np.array([all(r.passed for r in row) and k not in self.failed for k, row in enumerate(self.judge())])


def _obstacle(sim: Simulation) -> str:
    """What of a simulation is not compiled, and the remedy."""
    if sim.controller is not None and not sim.method.adaptive and sim.method.many_worlds:
        return f"its controller {type(sim.controller).__name__!r} is Python code; derive it from TracedBlock"
    return f"integrator {sim.method.name!r} does not take steps of one length; use rk4 or semi_implicit_euler"
