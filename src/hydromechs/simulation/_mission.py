"""A mission: blocks in their order, each at its own period and in its own phase, as calls of compiled programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hydromechs.compiler import Argument, Entries, Recipe, Routine, RoutineCode
from hydromechs.errors import placed
from hydromechs.integrators import whole_steps
from hydromechs.model import State
from hydromechs.spatial import where
from hydromechs.values import Array, Scalar, positive

from ._block import Phase
from ._controller import Controller
from ._traced_block import Site, TracedBlock

TIMES = 1e-6
"""BlockPart of a period within which times count as equal."""


class BlockPart(NamedTuple):
    """A block of a mission."""

    block: TracedBlock
    """The block."""
    name: str = ""
    """Prefix of its signals; none if empty."""
    phase: Phase = Phase()
    """Time in which it runs."""


class TickPlaces(NamedTuple):
    """Where a tick finds what is not its own."""

    t: Entries
    """Time [s]."""
    tick: Entries
    """Number of the tick since time 0."""
    q: Entries
    """Configuration."""
    v: Entries
    """Velocity."""
    inputs: Entries
    """Commands and settings."""
    control: Entries
    """Not 0 while control is on."""
    measured: Entries | None = None
    """Last received values of all sensors; None without sensors."""
    signals: Entries | None = None
    """Where the signals go; None for the array of that name."""
    reports: Entries | None = None
    """Where the reports go; None for the array of that name."""


class Mission(Controller):
    """Several controllers side by side, or one after the other, in one compiled routine. A controller.

    A part runs in its phase; its commands then stay, and servo targets that it moved stop. Where two parts give the same
    command, the later one in the list counts. Signals are those of all parts: NaN before a part runs and while control is off,
    and kept after its phase.

    Args:
        parts: The parts, in their order.
        period: Time between two ticks [s]; periods of the parts are integer multiples of it. Defaults to the shortest.
    """

    def __init__(self, *, parts: Sequence[BlockPart | TracedBlock], period: float | None = None) -> None:
        self.parts = [part if isinstance(part, BlockPart) else BlockPart(part) for part in parts]
        if not self.parts:
            raise ValueError("parts is empty; give at least one controller")
        self.period = min(p.block.period for p in self.parts) if period is None else positive(period, "period")
        self._every = [whole_steps(p.block.period, self.period, "period of a part") for p in self.parts]

    @classmethod
    def of(cls, block: TracedBlock, site: Site) -> Mission:
        """Return the mission of one block that is prepared; it has the memory of the block."""
        mission = cls(parts=[block])
        mission._lay_out(site)
        return mission

    def compiled_parts(self) -> tuple[Any, Mission | None] | None:
        own = type(self).__call__ is Mission.__call__  # else a subclass does more at its ticks
        return (None, self) if own else None

    def start(self, simulation: Any) -> None:
        """Prepare the parts for a simulation."""
        site = Site(simulation.plant, simulation.step_size, simulation.start_q, self.measured)
        said: dict[str, list[str]] = {}
        for k, part in enumerate(self.parts):
            with placed(part.name):
                part.block.prepared(site)
            for note in part.block.notes:
                said.setdefault(note, []).append(part.name or f"part {k} ({type(part.block).__name__})")
        self.notes = [f"{', '.join(names)}: {note}" for note, names in said.items()]
        if len(self.parts) == 1:
            self.notes = list(self.parts[0].block.notes)
        self._lay_out(site)

    def _lay_out(self, site: Site) -> None:
        """Find the places of all parts in arrays."""
        self.site = site
        self.signals = {}
        for part in self.parts:
            before = f"{part.name}." if part.name else ""
            for name, unit in part.block.signals.items():
                if before + name in self.signals:
                    raise ValueError(f"two parts have the signal {before + name!r}; give one of them a name, as name: arm")
                self.signals = {**self.signals, before + name: unit}
        self._ending = [k for k, p in enumerate(self.parts) if np.isfinite(p.phase.end)]
        self.memory = np.concatenate([*(p.block.memory for p in self.parts), np.zeros(len(self._ending))])
        self.signal_values = np.full(len(self.signals), np.nan)
        self._programs = [p.block.program().recipe for p in self.parts]

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of the arrays of its state: memory, signals, reports."""
        reports = sum(p.block.report_size for p in self.parts)
        return {"memory": len(self.memory), "signals": len(self.signals), "reports": reports}

    @property
    def given(self) -> dict[str, Array]:
        """Arrays for a run, shape (1, n) each."""
        design = np.concatenate([np.zeros(0), *(p.block.design_values for p in self.parts)])
        unset = np.full(max(len(p.block.signals) for p in self.parts), np.nan)
        return {"design": design[None], "unset": unset[None]}

    # -- routine --------------------------------------------------------------------------------------------------------------

    def add(self, r: Routine, at: TickPlaces) -> None:
        """Add what happens at a tick to a routine with the arrays of `sizes` and `given`."""
        n, m = len(self.parts), len(self._ending)
        runs, idle, ends = (r.scratch(name, size) for name, size in (("runs", n), ("idle", n), ("ends", m)))
        settled = r.part("memory", len(self.memory) - m, m)
        begun = [r.part("memory", self._memory_starts[k], 1) for k in self._ending]
        r.call(self._schedule, [at.t, at.tick, at.control, begun, settled], [runs, idle, ends, settled])
        layout = self.site.plant.layout
        names = [*layout.commands, *layout.held]
        places = {name: Entries(at.inputs.array, at.inputs.start + k, 1) for k, name in enumerate(names)}
        measured = r.scratch("measured", 0) if at.measured is None else at.measured
        shown = r["signals"] if at.signals is None else at.signals
        said = r["reports"] if at.reports is None else at.reports
        signal_at = report_at = design_at = 0
        for k, (part, recipe) in enumerate(zip(self.parts, self._programs, strict=True)):
            block = part.block
            memory = r.part("memory", self._memory_starts[k], block.pack.size)
            signals = Entries(shown.array, shown.start + signal_at, len(block.signals))
            reports = Entries(said.array, said.start + report_at, block.report_size)
            design = r.part("design", design_at, len(block.design_values))
            with r.when(Entries(runs.array, runs.start + k, 1)):
                given = [at.t, at.q, at.v, at.inputs, measured, memory, design]
                r.call(recipe, given, [[places[name] for name in block.commanded], memory, signals, reports])
            if block.signals:
                with r.when(Entries(idle.array, idle.start + k, 1)):
                    r.copy(r.part("unset", 0, len(block.signals)), signals)
            signal_at, report_at = signal_at + len(block.signals), report_at + block.report_size
            design_at += len(block.design_values)
        for j, k in enumerate(self._ending):
            servos = [x for x in self.parts[k].block.commanded if f"{x}.rate" in self.parts[k].block.commanded]
            if not servos:
                continue
            with r.when(Entries(ends.array, ends.start + j, 1)):
                three = [[places[name], places[f"{name}.rate"], places[f"{name}.at"]] for name in servos]
                flat = [x for row in three for x in row]
                r.call(self._settle(k, servos), [at.t, runs, flat], [flat])

    @property
    def _memory_starts(self) -> list[int]:
        return [0, *np.cumsum([p.block.pack.size for p in self.parts]).tolist()]

    @cached_property
    def _schedule(self) -> Recipe:
        """Which parts run, are idle, or have just ended."""
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
        """Stop servo targets that part k moved, unless a part that runs now commands them.

        A controller sets the target of a servo and the rate at which it moves until the next tick. Without a next tick the
        target would move on, past the stops.
        """
        others = {x: [i for i, p in enumerate(self.parts) if i != k and x in p.block.commanded] for x in servos}

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

    def texts(self, t: float, reports: Array) -> list[str]:
        """Return the texts of reports (n,) made at a time [s]; raise the error of the first stop."""
        said, at = [], 0
        for part in self.parts:
            own = reports[at : at + part.block.report_size]
            messages, stops = part.block.reported(own)
            at += part.block.report_size
            said += messages
            if stops:
                raise part.block.stopped(own)(f"t = {t:.3f} s: {stops[0]}")
        return said

    # -- as a controller ---------------------------------------------------------------------------------------

    @cached_property
    def _tick(self) -> RoutineCode:
        """One tick as a routine."""
        model, layout = self.site.model, self.site.plant.layout
        nu = len(layout.commands) + len(layout.held)
        sizes = {"t": 1, "tick": 1, "control": 1, "q": model.nq, "v": model.nv, "inputs": nu, **self.sizes}
        sizes["measured"] = len(self.parts[0].block.received({}))
        r = Routine("tick", sizes, {name: x.shape[1] for name, x in self.given.items()})
        self.add(r, TickPlaces(*(r[name] for name in ("t", "tick", "q", "v", "inputs", "control", "measured"))))
        return RoutineCode(r, 1, 1)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what `start` makes again."""
        made = ("site", "_programs", "_tick", "_schedule")
        return {name: x for name, x in self.__dict__.items() if name not in made}

    def __call__(self, state: State) -> dict[str, float]:
        """Return the commands of all parts."""
        return self._ask(state, 1.0)

    def idle(self, state: State) -> None:
        """Let the parts whose time it is be idle."""
        self._ask(state, 0.0)

    def _ask(self, state: State, control: float) -> dict[str, float]:
        layout = self.site.plant.layout
        arrays: Mapping[str, Array] = {
            "t": np.array([state.t]),
            "tick": np.array([round(state.t / self.period)], dtype=float),
            "control": np.array([control]),
            "q": np.array(state.q, dtype=float),
            "v": np.array(state.v, dtype=float),
            "inputs": np.concatenate([state.command, state.held]),
            "memory": np.array(self.memory, dtype=float),
            "signals": np.array(self.signal_values, dtype=float),
            "reports": np.zeros(self.sizes["reports"]),
            "measured": self.parts[0].block.received(self.measured),
        }
        rows = {name: x[None] for name, x in arrays.items()}
        self._tick.run(rows, self.given, 1)
        self.memory, self.signal_values = arrays["memory"], arrays["signals"]
        self.messages = self.texts(state.t, arrays["reports"])
        after = dict(zip((*layout.commands, *layout.held), arrays["inputs"].tolist(), strict=True))
        return {name: after[name] for part in self.parts for name in part.block.commanded}
