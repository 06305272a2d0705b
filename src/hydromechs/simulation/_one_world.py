"""One world of a mission: adapter between a simulation and the arrays of its compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from hydromechs.integrators import NotFinite, Point, is_multiple, next_multiple, reached
from hydromechs.values import Array

from ._mission_march import ANSWERED, ASKS, SAMPLED, GridTime, MissionMarch
from ._recorder import Recorder

if TYPE_CHECKING:
    from ._mission import Mission
    from ._programs import PlantPrograms


SEEDS = 2**53
"""Number of distinct seeds of random numbers in compiled code."""

if TYPE_CHECKING:
    from ._simulation import Simulation


class OneWorld:
    """Adapter that runs a simulation in the compiled loop of its mission."""

    def __init__(self, simulation: Simulation, march: MissionMarch) -> None:
        self.simulation, self.march = simulation, march
        self.state = march.new(1)
        self.seen: list[tuple[float, np.ndarray]] = []
        """Times [s] and configurations of the samples and the end of the last call of `advance`."""
        self.said: list[tuple[float, str]] = []
        """Times [s] and texts of messages in the last call of `advance`."""
        self._began, self._until = simulation._at, np.zeros((1, 2))
        self._records = {"n": np.empty((1, 0, 1))}

    # -- between the simulation and the arrays ---------------------------------------------------------------------------------

    def _load(self) -> None:
        sim, march, state = self.simulation, self.march, self.state
        nq, self._began = len(sim._at.q), sim._at
        state["n"][0], state["part"][0] = march.grid(sim._at.t)
        state["y"][0, :nq], state["y"][0, nq:] = sim._at.q, sim._at.x
        state["inputs"][0], state["control"][0], state["paused"][0] = sim._inputs(sim._at.t)[0], sim._controlled, 0.0
        if sim.mission is not None:
            march.remember(state, 0, sim.mission.memory)
            state["signals"][0] = sim._signal

    def _begin(self) -> None:
        self._load()
        state, self.said = self.state, []
        state["alive"][0], state["reports"][:] = 1.0, 0.0
        if self.march.sensing is not None:
            state["seed"][0] = self.simulation.plant.seed % SEEDS
        if self.march.python:
            state["stage"][0] = 0.0

    def _store(self) -> None:
        sim, state = self.simulation, self.state
        nq, na, nu = len(sim._at.q), len(sim._command), state["applied"].shape[1]
        there = GridTime(float(state["n"][0, 0]), float(state["part"][0, 0]))
        sim._at = Point(there.time(self.march.step), state["y"][0, :nq].copy(), state["y"][0, nq:].copy())
        sim._command, sim._held = state["inputs"][0, :na].copy(), state["inputs"][0, na:nu].copy()
        if sim.mission is not None:
            sim.mission.memory, sim._signal = self.march.memory(state, 0), state["signals"][0].copy()
            sim.mission.show(sim._signal)

    # -- parts in Python -------------------------------------------------------------------------------------------------------

    @property
    def _asks(self) -> bool:
        return bool(self.march.python) and self.state["stage"][0, 0] == ASKS

    def _answer(self) -> None:
        """Run the parts in Python that are due."""
        assert self.simulation.mission is not None
        given, said = self.simulation.mission.call_batched(self.state, self.march.step, np.zeros(1, dtype=int))
        self.answer(given[0])
        self.said += [(self.simulation._at.t, text) for _, text in said]

    def answer(self, batched: Array) -> None:
        """Run the parts in Python that are due and not batched. `batched`: results of batched parts; see `Mission.ask`."""
        self._store()
        sim, state, nq = self.simulation, self.state, self.simulation.model.nq
        assert sim.mission is not None
        seen = None if self.march.sensing is None else (state["seen"][0, :nq].copy(), state["seen"][0, nq:].copy())
        given, said = sim.mission.ask(sim, seen, state["measured"][0], batched)
        self.said += [(sim._at.t, text) for text in said]
        self._load()
        state["given"][0], state["stage"][0] = np.ravel(given), ANSWERED

    # -- running ---------------------------------------------------------------------------------------------------------------

    def advance(self, until: float, recorder: Recorder, hurry: Callable[[], bool]) -> None:
        """Advance to a time at which inputs may change [s], or to a report; raise the error that stops the mission.

        Messages are appended to `said`. `hurry`: function called after each call of Python; True stops at the next sample.
        """
        sim, march, state = self.simulation, self.march, self.state
        self._begin()
        self.seen = []
        while True:
            state["sample"][0] = recorder.empty
            at, end = march.grid(sim._at.t), march.grid(until)
            passes = march.passes(at, end)
            if self._records["n"].shape[1] < passes:
                self._records = {name: np.empty((1, passes, state[name].shape[1])) for name in SAMPLED}
            self._until[0] = end
            rows = int(march.run(state, self._until, passes, self._records)[0])
            if rows:
                self._record({name: x[0, :rows].copy() for name, x in self._records.items()}, recorder)
            if not self._asks:
                break
            self._answer()
            if hurry():
                until = min(until, next_multiple(sim._at.t, sim.record, sim.step_size))
        self._store()
        self.seen.append((sim._at.t, sim._at.q))
        recorder.signal = sim._signal
        self._hear()

    def _record(self, got: dict[str, Array], recorder: Recorder) -> None:
        nq, applied, inputs = self.simulation.model.nq, got["applied"], self.state["inputs"][0]
        times = got["n"][:, 0] * self.march.step + got["part"][:, 0]
        data = np.broadcast_to(inputs[applied.shape[1] :], (len(times), len(inputs) - applied.shape[1]))
        own = np.concatenate([applied, data], axis=1)
        recorder.take(times, got["y"][:, :nq], got["y"][:, nq:], own, got["signals"])
        self.seen += zip(times.tolist(), got["y"][:, :nq], strict=True)

    def tick(self) -> list[str]:
        """Run sensors, filter and parts that are due; return messages, and raise the error that stops the mission."""
        sim, march = self.simulation, self.march
        self._begin()
        if not march.tick(self.state, sim._at.t):
            return []
        if self._asks:
            self._answer()
            march.tick(self.state, sim._at.t)
        self._store()
        self._hear(sim._at.t)
        return [text for _, text in self.said]

    def last_signals(self) -> Array:
        """Return the signals at the end of a run. Only sensors that are due measure; the state does not change."""
        self._begin()
        return self.march.look_last(self.state)[0].copy()

    def start(self) -> Point:
        """Return the point before the last steps."""
        if self.march.guards is None:
            return self._began
        n, part, *y = self.state["start"][0]
        nq = self.simulation.model.nq
        return Point(GridTime(n, part).time(self.march.step), np.array(y[:nq]), np.array(y[nq:]))

    @property
    def diverged(self) -> bool:
        """True if the next step is not finite."""
        return self.state["alive"][0, 0] == 0.0

    def _hear(self, t: float | None = None) -> None:
        """Add reports of the last tick to `said`, before messages of parts in Python at the same time."""
        out = self.simulation._ranges.found(self.state["outside"][0], self.state["extreme"][0])
        if self.state["paused"][0, 0] and (self.march.mission is not None or self.march.sensing is not None):
            t = self.march.ticked(self.state) if t is None else t
            out += self.march.texts(t, self.state["reports"][0])
        self.said = sorted([*((t or 0.0, text) for text in out), *self.said], key=lambda said: said[0])


class PropagatedMarch(MissionMarch):
    """Loop of a mission in one world with compiled ticks; a propagator takes the steps between ticks and samples.

    `mission`: see `MissionMarch`. `record`: time between two samples [s].
    """

    def __init__(self, programs: PlantPrograms, mission: Mission | None, step: float, record: float) -> None:
        self._set(programs, mission, step)
        self.record = record
        self.propagator = programs.stepper.propagator
        parts = (self.mission, self.sensing)
        self._periods = [record, *(x.period for x in parts if x is not None)]
        self._ticked = 0.0

    def compile(self) -> None:
        self.propagator.compile()
        if self.mission is not None or self.sensing is not None:
            self._tick.compile()

    def grid(self, t: float) -> GridTime:
        return GridTime(0.0, t)

    def ticked(self, state: Mapping[str, Array]) -> float:
        return self._ticked

    @property
    def bare(self) -> PropagatedMarch:
        return self

    def passes(self, at: GridTime, until: GridTime) -> int:
        return 2 + sum(int((until.part - at.part) / period) + 2 for period in self._periods)

    def run(self, state: Mapping[str, Array], until: Array, passes: int, records: Mapping[str, Array] | None = None) -> Array:
        rows, end = 0, float(until[0, 1])
        while state["alive"][0, 0] and not state["paused"][0, 0]:
            t = float(state["part"][0, 0])
            if reached(t, end, self.step):
                break
            if self.tick(state, t):
                self._ticked = t
                if self.python and state["stage"][0, 0] == ASKS:
                    break
            if state["sample"][0, 0] or is_multiple(t, self.record, self.step):
                state["applied"][0] = state["inputs"][0, : state["applied"].shape[1]]
                for name, x in () if records is None else records.items():
                    x[0, rows] = state[name][0]
                state["sample"][0], rows = 0.0, rows + 1
            stop = min(end, *(next_multiple(t, period, self.step) for period in self._periods))
            self._propagate(state, t, stop)
        return np.array([rows])

    def _propagate(self, state: Mapping[str, Array], t: float, stop: float) -> None:
        """Take steps from time `t` to time `stop` [s]."""
        nq = self.plant.model.nq
        y, inputs = state["y"][0], state["inputs"][0]
        try:
            at = self.advanced(Point(t, y[:nq].copy(), y[nq:].copy()), inputs.copy(), stop)
        except NotFinite as failure:
            at, self.reason = failure.at, failure.reason
            state["alive"][0] = 0.0
        state["part"][0], y[:nq], y[nq:] = at.t, at.q, at.x

    def advanced(self, at: Point, inputs: Array, t_end: float) -> Point:
        return self.propagator.advance(at, inputs, t_end, self.step)
