"""Complete missions in compiled code: steps of a plant, ticks of its blocks and samples, for one or many worlds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hydromechs.compiler import (
    NATIVE,
    Argument,
    CudaRoutine,
    DeviceState,
    Entries,
    PackedCode,
    Recipe,
    Routine,
    RoutineCode,
    StepPlaces,
)
from hydromechs.integrators import NotFinite, Point, rounding, slack, whole_steps
from hydromechs.spatial import floor, minimum, where
from hydromechs.values import Array, Scalar

from ._mission import Mission, SensingPlaces, TickPlaces
from ._programs import PlantPrograms
from ._reduction import Guards, Reduction

SNAP = 1e-10
"""Maximum distance of a time on the grid from a grid point [s]; a tenth of the accuracy of events."""
REPORT = 5
"""Number of values in a report: a condition and four numbers for the text."""
ASKS = 1.0
"""Stage of a tick whose parts in Python are due; the stage is 0 before and after this."""
ANSWERED = 2.0
"""Stage of a tick whose parts in Python have finished."""
SAMPLED = ("n", "part", "y", "applied", "signals")
"""Names of the arrays in a recorded row."""


class GridTime(NamedTuple):
    """Time relative to the grid of multiples of a step: t = n h + part."""

    n: float
    """Index of the preceding grid point."""
    part: float
    """Time since the preceding grid point [s]; 0 on the grid."""

    @classmethod
    def of(cls, t: float, step: float) -> GridTime:
        """Return the grid time of `t` [s]; times within rounding error of a grid point are on this point."""
        n = round(t / step)
        if abs(t - n * step) <= max(min(1e-6 * step, SNAP), rounding(t)):
            return cls(float(n), 0.0)
        n = math.floor(t / step)
        return cls(float(n), t - n * step)

    def time(self, step: float) -> float:
        """Return the time [s]."""
        return self.n * step + self.part


def rows_of(state: Mapping[str, Array], worlds: Any) -> Mapping[str, Array]:
    """Return a copy of the state of worlds, given by indices or a slice; the copy of a GPU state remains on the GPU."""
    if isinstance(state, DeviceState):
        return state.rows(worlds)
    return {name: np.array(x[worlds]) for name, x in state.items()}


def put_rows(state: Mapping[str, Array], worlds: Array, rows: Mapping[str, Array]) -> None:
    """Replace the state of worlds by rows from `rows_of`."""
    if isinstance(state, DeviceState) and isinstance(rows, DeviceState):
        state.put(worlds, rows)
        return
    for name, x in rows.items():
        state[name][worlds] = x


class Ticks(NamedTuple):
    """Entries of the conditions of a tick."""

    active: Entries
    """Condition, nonzero in worlds that are at a tick and not waiting."""
    t: Entries
    """Time [s]."""
    ticks: Entries
    """Condition, nonzero if blocks are due."""
    tick: Entries
    """Tick number of the blocks, starting at t = 0."""
    senses: Entries
    """Condition, nonzero if sensors are due."""
    sense: Entries
    """Tick number of the sensors, starting at t = 0."""


class MissionMarch:
    """Compiled loop of a mission.

    One pass advances from one instant to the next: it runs blocks that are due, records a sample if one is due, and takes
    steps to the next tick or sample. A world leaves the loop and waits if it reaches its end, if a block sends a report, if
    its next step is not finite, or, between sensors and blocks, if a part in Python is due (see `OneWorld`).

    Args:
        mission: Sensors, filter and blocks; None for a plant without them.
        guards: Guards of events; a world leaves the loop if a guard crosses its level.
        record: Time between two samples [s].
        lanes: Worlds per vector operation.
        threads: Number of threads that share the worlds.
        target: Device that runs the worlds, one of `compiler.TARGETS`.
        reduction: Statistics that are accumulated at samples instead of records.
    """

    guards: Guards | None = None
    """Compiled guards of events, or None."""
    reduction: Reduction | None = None
    """Statistics that replace samples, or None."""

    def __init__(
        self,
        programs: PlantPrograms,
        mission: Mission | None,
        step: float,
        record: float,
        lanes: int,
        threads: int,
        guards: Guards | None = None,
        target: str = NATIVE.target,
        reduction: Reduction | None = None,
    ) -> None:
        self._set(programs, mission, step)
        self._lanes, self._threads, self._target = lanes, threads, target
        self.guards = guards if guards is not None and guards.events else None
        self.reduction = reduction
        self.every = whole_steps(record, step, "record")
        """Number of steps per sample."""
        self.ticking = 0 if self.mission is None else whole_steps(self.mission.period, step, "period")
        """Number of steps per tick of the blocks; 0 without blocks."""
        self.sensing_every = (
            0 if self.sensing is None else whole_steps(self.sensing.period, step, "period of the fastest sensor")
        )
        """Number of steps per tick of the fastest sensor; 0 without sensors."""
        self._step = programs.stepper.march.recipe
        self.code = self._coded(self._routine)

    def _set(self, programs: PlantPrograms, mission: Mission | None, step: float) -> None:
        self.plant, self.step, self._programs = programs.plant, step, programs
        self.sensing = None if mission is None else mission.sensing
        """Sensors and filter that the blocks read; None if they read the true state."""
        self.mission = mission if mission is not None and mission.parts else None
        self.python = [] if self.mission is None else self.mission.python
        """Parts of the mission that run in Python."""
        self._lanes, self._threads, self._target = 1, 1, NATIVE.target
        self._codes: dict[object, PackedCode] = {}
        self.reason = "the next step is not finite"
        """Reason why a world stopped."""

    def compile(self) -> None:
        """Compile the machine code before the first run."""
        self.code.compile()

    def grid(self, t: float) -> GridTime:
        """Return the grid time of `t` [s], as in the state of a world."""
        return GridTime.of(t, self.step)

    def ticked(self, state: Mapping[str, Array]) -> float:
        """Return the time of the last tick of one world [s]."""
        n, part = float(state["n"][0, 0]), float(state["part"][0, 0])
        every = self.sensing_every or self.ticking
        before = n // every if state["alive"][0, 0] == 0.0 else -(-(n + (part > 0.0)) // every) - 1.0
        return float(before * every * self.step)

    def _coded(self, routine: Routine) -> RoutineCode | CudaRoutine:
        """Return compiled code of a routine for the target; routines share the machine code of programs."""
        if self._target != NATIVE.target:
            return CudaRoutine(routine, own=("until", "now"))
        return RoutineCode(routine, self._lanes, self._threads, self._codes)

    @property
    def _sizes(self) -> dict[str, int]:
        plant, layout = self.plant, self.plant.layout
        nu = len(layout.commands) + len(layout.held)
        sizes = {"n": 1, "part": 1, "y": plant.model.nq + plant.model.nv + layout.nz, "inputs": layout.size, "applied": nu}
        own = {"memory": 0, "signals": 0, "reports": 0} if self.mission is None else self.mission.sizes
        if self.sensing is not None:
            own["signals"] += len(self.sensing.signals)
            own["reports"] += REPORT * len(self.sensing.texts)
            own |= {"seed": 1, "world": 1} | {name: x.size for name, x in self.sensing.state.items()}
        counters = dict.fromkeys(("outside", "extreme"), len(layout.commands))
        looks = {} if self.guards is None else {"start": 2 + sizes["y"], "guard": len(self.guards.events)}
        looks |= {} if self.reduction is None else {"totals": len(self.reduction.first)}
        return sizes | {"alive": 1, "paused": 1, "control": 1, "sample": 1} | own | counters | looks

    @cached_property
    def given(self) -> dict[str, Array]:
        """Constant arrays, keyed by name, shape (1, n) each."""
        sensing = {} if self.sensing is None else {name: np.reshape(x, (1, -1)) for name, x in self.sensing.inputs.items()}
        return {"h": np.array([[self.step]]), **({} if self.mission is None else self.mission.given), **sensing}

    @property
    def _routine(self) -> Routine:
        given = {name: x.shape[1] for name, x in self.given.items()}
        r = Routine("mission", self._sizes, {"until": 2, **given}, SAMPLED if self.reduction is None else ())
        active, ticks, senses, t, tick, sense, due, goal = (r.scratch(a.name, a.size) for a in self._plan.outputs[:-1])
        at = [r[name] for name in ("n", "part", "h", "until", "alive", "paused", "sample")]
        r.call(self._plan, at, [active, ticks, senses, t, tick, sense, due, goal, r["sample"]])
        nq, nu = self.plant.model.nq, self._sizes["applied"]
        inputs = r.part("inputs", 0, nu)
        active = self._stages(r, active, ticks, senses, tick)
        self._look_and_control(r, Ticks(active, t, ticks, tick, senses, sense))
        with r.when(active):
            with r.when(due):
                if self.reduction is not None:
                    self.reduction.add(r, t, self._looked_at(r), r["totals"])
                else:
                    r.copy(inputs, r["applied"])
                    r.sample()
            if self.guards is not None:
                for k, name in enumerate(("n", "part", "y")):
                    r.copy(r[name], r.part("start", k, self._sizes[name]))
            whole = r.part("y", 0, nq), r.part("y", nq, self._sizes["y"] - nq)
            places = r["n"], r["part"], *whole, r["inputs"], r["h"], r["alive"], goal
            r.steps(self._step, StepPlaces(*places))
            if self.guards is not None:
                r.call(self._now, [r["n"], r["part"], r["h"]], [t])
                self.guards.add(r, t, self._looked_at(r), r["guard"], r["paused"])
        return r

    def _looked_at(self, r: Routine) -> dict[str, Entries]:
        nq, na, nu = self.plant.model.nq, len(self.plant.layout.commands), self._sizes["applied"]
        parts = {"q": r.part("y", 0, nq), "x": r.part("y", nq, self._sizes["y"] - nq), "inputs": r["inputs"]}
        parts |= {"command": r.part("inputs", 0, na), "held_input": r.part("inputs", na, nu - na)}
        return parts | {"signal": r["signals"]}

    def _stages(self, r: Routine, active: Entries, ticks: Entries, senses: Entries, tick: Entries) -> Entries:
        """Append operations that make worlds wait for parts in Python; return the condition of worlds that do not wait."""
        if not self.python:
            return active
        every = [float(k) for k in self.mission.asking] if self.mission is not None else []

        def stages(
            active: Scalar, ticks: Scalar, senses: Scalar, tick: Scalar, stage: Scalar, paused: Scalar
        ) -> tuple[Scalar, ...]:
            active, ticks, senses, tick, stage, paused = (
                np.asarray(x)[()] for x in (active, ticks, senses, tick, stage, paused)
            )
            due = where(stage == 0.0, where(active != 0.0, ticks, 0.0), 0.0)
            asks = where(sum((where(tick % k == 0.0, 1.0, 0.0) for k in every), 0.0) != 0.0, due, 0.0)
            goes = where(asks != 0.0, 0.0, active)
            after = where(asks != 0.0, ASKS, where(goes != 0.0, 0.0, stage))
            first = where(active != 0.0, where(stage == 0.0, senses, 0.0), 0.0)
            return goes, first, after, where(asks != 0.0, 1.0, paused)

        inputs = tuple(Argument(x, ()) for x in ("active", "ticks", "senses", "tick", "stage", "paused"))
        outputs = tuple(Argument(x, ()) for x in ("goes", "senses_after", "stage_after", "paused_after"))
        goes = r.scratch("goes", 1)
        recipe = Recipe("stages", stages, inputs, outputs, repr(every), rarely_called=True)
        r.call(recipe, [active, ticks, senses, tick, r["stage"], r["paused"]], [goes, senses, r["stage"], r["paused"]])
        return goes

    def _look_and_control(self, r: Routine, at: Ticks) -> None:
        """Append a tick of sensors and filter, then of the blocks; a world pauses if it has a report."""
        nq, nv, nu = self.plant.model.nq, self.plant.model.nv, self._sizes["applied"]
        q, v, measured = r.part("y", 0, nq), r.part("y", nq, nv), None
        inputs, shown, said = r.part("inputs", 0, nu), None, None
        if self.sensing is not None:
            first, ends = REPORT * len(self.sensing.texts), len(self.sensing.signals)
            shown = r.part("signals", ends, self._sizes["signals"] - ends)
            said = r.part("reports", first, self._sizes["reports"] - first)
        if self.sensing is not None and self.python:  # readings are kept until these have run
            with r.when(at.senses):
                got = self._sense(r, at.t, at.sense)
                q, v, measured = r.part("seen", 0, nq), r.part("seen", nq, nv), r["measured"]
                for source, target in ((got.seen_q, q), (got.seen_v, v), (got.measured, measured)):
                    r.copy(source, target)
        with r.when(at.active):
            if self.sensing is not None and not self.python:
                with r.when(at.senses):
                    got = self._sense(r, at.t, at.sense)
                    if self.mission is not None:
                        seen = got.seen_q, got.seen_v, inputs, r["control"], got.measured
                        with r.when(at.ticks):
                            self._control(r, TickPlaces(at.t, at.tick, *seen, shown, said))
            elif self.mission is not None:
                with r.when(at.ticks):
                    self._control(r, TickPlaces(at.t, at.tick, q, v, inputs, r["control"], measured, shown, said))
            if self._sizes["reports"]:
                r.call(self._pause, [r["reports"], r["paused"]], [r["paused"]])

    def _sense(self, r: Routine, t: Entries, tick: Entries) -> Any:
        """Append a tick of sensors and filter; return the entries of its results."""
        assert self.sensing is not None
        nq, n = self.plant.model.nq, len(self.sensing.signals)
        x = r.part("y", nq, self._sizes["y"] - nq)
        places = SensingPlaces(t, tick, r.part("y", 0, nq), x, r["inputs"], r["seed"], r["world"])
        got = self.sensing.add(r, places)
        r.copy(got.signals, r.part("signals", 0, n))
        if self.sensing.texts:
            r.copy(got.reports, r.part("reports", 0, REPORT * len(self.sensing.texts)))
        return got

    def _control(self, r: Routine, at: TickPlaces) -> None:
        """Append a tick of the blocks, and checks of the ranges of their commands."""
        assert self.mission is not None
        self.mission.add(r, at)
        if self._sizes["outside"]:
            commands = r.part("inputs", 0, len(self.plant.layout.commands))
            counted = [r["outside"], r["extreme"], r["paused"]]
            r.call(self._ranges, [commands, *counted], counted)

    # -- a tick alone ----------------------------------------------------------------------------------------------------------

    def _tick_routine(self, controlled: bool) -> Routine:
        """Return a tick of sensors, filter and, if `controlled`, blocks, without motion; its input `now` contains `Ticks`."""
        given = {name: x.shape[1] for name, x in self.given.items()}
        r = Routine("tick", self._sizes, {"now": len(Ticks._fields), **given})
        at = Ticks(*(r.scratch(name, 1) for name in Ticks._fields))
        for k, place in enumerate(at):
            r.copy(r.part("now", k, 1), place)
        if controlled:
            active = self._stages(r, at.active, at.ticks, at.senses, at.tick)
            self._look_and_control(r, at._replace(active=active))
        else:
            with r.when(at.senses):
                self._sense(r, at.t, at.sense)
        return r

    @cached_property
    def _tick(self) -> RoutineCode | CudaRoutine:
        return self._coded(self._tick_routine(True))

    @cached_property
    def _last_look(self) -> RoutineCode | CudaRoutine:
        return self._coded(self._tick_routine(False))

    def routines(self) -> dict[str, Routine]:
        """Return the routines of a run: "mission", "bare" (only steps) and, with sensors, "look" (only sensors)."""
        out = {"mission": self._routine, "bare": self.bare._routine}
        return out if self.sensing is None else {**out, "look": self._tick_routine(False)}

    def _run_tick(self, code: RoutineCode | CudaRoutine, state: Mapping[str, Array], t: Array) -> bool:
        """Run a tick in worlds that are due at times `t` [s], shape (worlds,); return True if any world is due."""
        now = [np.ones(len(t)), t]
        for period in (0.0 if x is None else x.period for x in (self.mission, self.sensing)):
            number = np.rint(t / period) if period else np.zeros(len(t))
            near = np.abs(t - number * period) <= slack(float(t.max(initial=0.0)), self.step)
            now += [near & (period > 0.0), number]
        if due := bool(now[2].any() or now[4].any()):
            code.run(state, {"now": np.array(now, dtype=float).T.copy(), **self.given}, 1)
        return due

    def tick(self, state: Mapping[str, Array], t: float) -> bool:
        """Run sensors, filter and blocks of one world if they are due at time `t` [s]; return True if they ran."""
        return self._run_tick(self._tick, state, np.array([t]))

    def look_last(self, state: Mapping[str, Array]) -> Array:
        """Return the signals at the end of a run, when no block runs, shape (worlds, ns); `state` does not change."""
        if self.sensing is None:
            return state["signals"].copy()
        copied = rows_of(state, slice(None))
        self._run_tick(self._last_look, copied, (state["n"] * self.step + state["part"])[:, 0])
        return copied["signals"]

    @cached_property
    def _last_sample(self) -> RoutineCode | CudaRoutine:
        assert self.reduction is not None
        r = Routine("last sample", self._sizes, {"h": 1})
        t = r.scratch("t", 1)
        r.call(self._now, [r["n"], r["part"], r["h"]], [t])
        self.reduction.add(r, t, self._looked_at(r), r["totals"])
        return self._coded(r)

    def reduce_last(self, state: Mapping[str, Array], worlds: Array) -> None:
        """Add the samples at the end of a run to the statistics of worlds."""
        some = rows_of(state, worlds)
        some["signals"][:] = self.look_last(state)[worlds]
        self._last_sample.run(some, {"h": self.given["h"]}, 1)
        state["totals"][worlds] = some["totals"]

    @cached_property
    def _now(self) -> Recipe:
        inputs = tuple(Argument(name, ()) for name in ("n", "part", "h"))
        return Recipe("now", lambda n, part, h: n * h + part, inputs, (Argument("t", ()),), "now", rarely_called=True)

    @cached_property
    def bare(self) -> MissionMarch:
        """Loop without blocks and guards, which shares the machine code of this loop."""
        out = MissionMarch(
            self._programs, None, self.step, self.every * self.step, self._lanes, self._threads, target=self._target
        )
        out._codes = self._codes
        out.code = out._coded(out._routine)
        return out

    @cached_property
    def _plan(self) -> Recipe:
        every, ticking, sensing = float(self.every), float(self.ticking), float(self.sensing_every)

        def plan(
            n: Scalar, part: Scalar, h: Scalar, until: Array, alive: Scalar, paused: Scalar, sample: Scalar
        ) -> tuple[Scalar, ...]:
            n, part, h, alive, paused, sample = (np.asarray(x)[()] for x in (n, part, h, alive, paused, sample))
            ahead = where(n < until[0], 1.0, where(n == until[0], where(part < until[1], 1.0, 0.0), 0.0))
            active = where(alive != 0.0, where(paused != 0.0, 0.0, ahead), 0.0)
            on_grid = where(part == 0.0, 1.0, 0.0)
            due = where(n % every == 0.0, on_grid, 0.0)
            following = (floor(n / every) + 1.0) * every
            flags, numbers = [], []
            for period in (ticking, sensing):
                flags.append(where(n % period == 0.0, on_grid, 0.0) if period else 0.0)
                numbers.append(floor(n / period + 0.5) if period else 0.0)
                following = minimum(following, (floor(n / period) + 1.0) * period) if period else following
            inside = where(following <= until[0], 1.0, 0.0) != 0.0
            goal = np.array([where(inside, following, until[0]), where(inside, 0.0, until[1])])
            due = where(sample != 0.0, 1.0, due)
            return active, *flags, n * h + part, *numbers, due, goal, where(active != 0.0, 0.0, sample)

        names = ("n", "part", "h", "until", "alive", "paused", "sample")
        inputs = tuple(Argument(name, (2,) if name == "until" else ()) for name in names)
        found = ("active", "ticks", "senses", "t", "tick", "sense", "due", "goal", "sample_after")
        outputs = tuple(Argument(name, (2,) if name == "goal" else ()) for name in found)
        return Recipe("plan", plan, inputs, outputs, f"{every} {ticking} {sensing}", rarely_called=True)

    @cached_property
    def _ranges(self) -> Recipe:
        """Program that counts commands outside their ranges and pauses worlds at the first occurrence."""
        slots = self.plant.layout.input_slots[: len(self.plant.layout.commands)]
        limits = np.array([s.limits for s in slots], dtype=float)
        room = 1e-9 * np.abs(np.where(np.isfinite(limits), limits, 0.0))

        def ranges(command: Array, outside: Array, extreme: Array, paused: Scalar) -> tuple[Array, Array, Scalar]:
            counts, values, new = [], [], np.asarray(paused)[()]
            for u, count, value, (low, high), (below, above) in zip(command, outside, extreme, limits, room, strict=True):
                bad = where(u < low - below, 1.0, where(u > high + above, 1.0, 0.0))
                first = where(count == 0.0, bad, 0.0)
                counts.append(count + bad)
                values.append(where(first != 0.0, u, value))
                new = where(first != 0.0, 1.0, new)
            return np.array(counts), np.array(values), new

        n = len(slots)
        inputs = (*(Argument(x, (n,)) for x in ("command", "outside", "extreme")), Argument("paused", ()))
        outputs = Argument("outside", (n,)), Argument("extreme", (n,)), Argument("paused", ())
        return Recipe("ranges", ranges, inputs, outputs, repr(limits.tolist()), rarely_called=True)

    @cached_property
    def _pause(self) -> Recipe:
        size = self._sizes["reports"]
        conditions = range(0, size, REPORT)

        def pause(reports: Array, paused: Scalar) -> Scalar:
            out = np.asarray(paused)[()]
            for k in conditions:
                out = where(reports[k] != 0.0, 1.0, out)
            return out

        inputs = Argument("reports", (size,)), Argument("paused", ())
        return Recipe("pause", pause, inputs, (Argument("paused", ()),), f"{size} {conditions}", rarely_called=True)

    def new(self, worlds: int) -> Mapping[str, Array]:
        """Return state arrays of worlds, keyed by name, shape (worlds, n) each.

        Look up GPU arrays by name before each use, as in `state["y"]`.
        """
        out = {name: np.zeros((worlds, size)) for name, size in self._sizes.items()}
        out["alive"][:] = 1.0
        self.remember(out, slice(None), self.first_memory)
        if self.reduction is not None:
            out["totals"][:] = self.reduction.first
        return out if self._target == NATIVE.target else DeviceState(out)

    @property
    def first_memory(self) -> Array:
        """Initial memory of sensors, filter and blocks in one array, shape (nm,)."""
        sensing = [] if self.sensing is None else [np.ravel(x) for x in self.sensing.state.values()]
        return np.concatenate([*sensing, np.zeros(0) if self.mission is None else self.mission.block_memory])

    def remember(self, state: Mapping[str, Array], worlds: Any, memory: Array) -> None:
        """Write the memory of sensors, filter and blocks, in one array of shape (..., nm), to the state of worlds."""
        at = 0
        for name in self._remembered:
            size = state[name].shape[1]
            state[name][worlds] = memory[..., at : at + size]
            at += size

    def memory(self, state: Mapping[str, Array], world: int) -> Array:
        """Return the memory of sensors, filter and blocks of a world in one array, shape (nm,)."""
        return np.concatenate([state[name][world] for name in self._remembered])

    @property
    def _remembered(self) -> list[str]:
        return [*([] if self.sensing is None else self.sensing.state), "memory"]

    def texts(self, t: float, reports: Array) -> list[str]:
        """Return the texts of reports, shape (n,), made at time `t` [s]; raise the error of the first stop."""
        own = [] if self.sensing is None else self.sensing.texts
        rows = np.reshape(reports, (-1, REPORT))
        said = [text(*row[1:]) for text, row in zip(own, rows, strict=False) if row[0] != 0.0]
        return said + ([] if self.mission is None else self.mission.texts(t, reports[REPORT * len(own) :]))

    def passes(self, at: GridTime, until: GridTime) -> int:
        """Return an upper bound of the number of passes between two times."""
        steps = until.n - at.n + 1.0
        return int(sum(steps // k for k in (self.every, self.ticking, self.sensing_every) if k)) + 3

    def run(self, state: Mapping[str, Array], until: Array, passes: int, records: Mapping[str, Array] | None = None) -> Array:
        """Run worlds in place to a time; return the number of recorded rows in each world, shape (worlds,).

        `state`: see `new`. `until`: n and part of the time, shape (worlds or 1, 2). `passes`: maximum number of passes.
        `records`: arrays for recorded rows, keyed by `SAMPLED`, shape (worlds, rows, n) each.
        """
        return self.code.run(state, {"until": until, **self.given}, passes, records)

    def advanced(self, at: Point, inputs: Array, t_end: float) -> Point:
        """Return the point at `t_end` [s] with constant inputs, shape (nu,), without running blocks; may raise `NotFinite`."""
        state, nq = self.new(1), len(at.q)
        now, end = GridTime.of(at.t, self.step), GridTime.of(t_end, self.step)
        state["n"][0], state["part"][0], state["inputs"][0] = *now, inputs
        state["y"][0, :nq], state["y"][0, nq:] = at.q, at.x
        self.run(state, np.array([list(end)]), self.passes(now, end))
        there = GridTime(float(state["n"][0, 0]), float(state["part"][0, 0]))
        out = Point(there.time(self.step), state["y"][0, :nq].copy(), state["y"][0, nq:].copy())
        if not state["alive"][0, 0]:
            raise NotFinite(out, "the next step is not finite")
        return out
