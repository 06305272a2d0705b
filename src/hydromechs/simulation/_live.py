"""Run in progress, which advances between stops with controllers, events and recording until it is closed."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from signal import Signals
from time import perf_counter
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs.errors import SimulationDiverged, SimulationInterrupted
from hydromechs.integrators import MOST_STEPS, Point, is_multiple, next_multiple, slack
from hydromechs.model import State
from hydromechs.recording import real_time_factor
from hydromechs.values import positive

from ._events import Watched, first_crossings, inputs_after
from ._one_world import OneWorld
from ._recorder import Recorder
from ._state_file import Run, RunLog
from ._stiffness import advice
from ._watches import SoftStops

if TYPE_CHECKING:
    from ._simulation import Simulation


PACE = 0.01
"""Time between two checks of the wall clock in a real-time run [s]."""
PROGRESS = 0.1
"""Wall time between two reports of progress [s]."""
MISSED = 1e-3
"""Delay above which a deadline is reported as missed [s]."""
MOST_SAMPLES = 1e9
"""Maximum number of samples of a recording."""


def size_faults(duration: float, step: float, record: float) -> list[tuple[str, str]]:
    """Return the settings that cause too many steps or samples, each with a message.

    `duration`: duration of the run [s]. `record`: time between two samples [s].
    """
    out = []
    for key, value, what, most, remedy in (
        ("step", step, "steps", MOST_STEPS, "increase the step"),
        ("record", record, "samples", MOST_SAMPLES, "increase record"),
    ):
        if duration > most * value:
            each = f"{key} is {value:g} s, so a run of {duration:g} s has more than {most:g} {what}"
            out.append((key, f"{each}; {remedy}, or reduce the duration"))
    return out


class Clock:
    """Stop times of one run.

    `t`: initial time [s]. `periods`: times between stops of controllers, events and recording [s]. `progress`: function called
    regularly with the current time [s], or None. `real_time`: simulated time per wall time in a real-time run [-]; None for
    maximum speed.
    """

    def __init__(
        self, t: float, step: float, periods: Iterable[float], progress: Callable[[float], None] | None, real_time: float | None
    ) -> None:
        self.t_start, self.step, self.progress = t, step, progress
        self.pace = None if real_time is None else positive(real_time, "real_time")
        self.late = 0
        """Number of missed deadlines of a real-time run."""
        self.periods = list(periods)
        if self.pace:
            self.periods.append(max(1, round(PACE / step)) * step)  # complete steps, so that results do not depend on the stops
        self.started = self.reported = time.perf_counter()

    @property
    def wall_time(self) -> float:
        """Wall time since the start [s]."""
        return time.perf_counter() - self.started

    def next(self, t: float, until: float) -> float:
        """Return the time of the next stop after `t`, at most `until` [s]."""
        return min(until, *(next_multiple(t, period, self.step) for period in self.periods))

    def look(self, t: float) -> None:
        """Report the current time `t` [s], and wait for the wall clock in a real-time run."""
        now = time.perf_counter()
        if self.pace is not None:
            ahead = self.started + (t - self.t_start) / self.pace - now
            if ahead > 0.0:
                time.sleep(ahead)
            elif ahead < -MISSED:
                self.late += 1
        if self.progress is not None and now - self.reported > PROGRESS:
            self.reported = now
            self.progress(t)


STRETCH = 16.0
"""Initial number of samples per call of the compiled loop of a mission."""
MAX_SAMPLES = 256.0
"""Maximum number of samples per call of the compiled loop."""
PATIENCE = 0.1
"""Maximum wall time per call of the compiled loop [s], so that Ctrl-C takes effect and progress is reported."""


class LiveRun:
    """Run in progress, from `Simulation.begin`. Results do not depend on the times at which the run stops.

        live = sim.begin(path="run.zarr")
        live.advance(1.0)
        sim.command = {"thruster_1": 0.5}
        live.advance(2.0)
        run = live.close()

    Controllers are called at the start of an advance, not at its end, so that they receive inputs set between two advances.
    With integrators that restart at each stop (dormand_prince, block methods), stop at multiples of the controller period.

    `progress`: function called regularly with the current time [s], or None. `saved`: function called with a state after all
    samples up to this state are recorded. `real_time`: simulated time per wall time in a real-time run [-]; None for maximum
    speed. `notes`: initial messages.
    """

    def __init__(
        self,
        simulation: Simulation,
        recorder: Recorder,
        progress: Callable[[float], None] | None,
        saved: Callable[[State], None],
        real_time: float | None,
        notes: Iterable[str] = (),
    ) -> None:
        self.simulation, self.recorder, self._saved = simulation, recorder, saved
        self.log = RunLog()
        """Log of the messages of the run."""
        self.stopped: str | None = None
        """Reason for an early end, or None."""
        sim = simulation
        for text in notes:
            self.log.say(text)
        self._watch = [Watched(event, sim._value_of(event.quantity), sim._at, sim.step_size) for event in sim.events]
        often = self._watch or sim.method.restarts_at_stops  # so that a run can be resumed at every sample
        periods = [x for x in (sim.period, sim.record if often else None) if x] or [100.0 * sim.record]
        self.clock = Clock(sim._at.t, sim.step_size, periods, progress, real_time)
        """Stop times of the run."""
        self._stops = SoftStops(sim.plant)
        self._mission = OneWorld(sim, sim.march)
        self._stretch = STRETCH * sim.record
        """Simulated time per call of the compiled loop [s]."""
        self._finished: tuple[float, float] | None = None

    @property
    def t(self) -> float:
        """Current time of the run [s]."""
        return self.simulation._at.t

    def advance(self, until: float) -> str | None:
        """Advance the run to a time; return the reason for an early stop, or None. Errors close the recording.

        Ctrl-C in the main thread raises `SimulationInterrupted` at the next sample.

        `until`: time at which to stop [s].
        """
        if self._finished is not None:
            raise ValueError(f"the run is closed at t = {self.t:g} s; start another run")
        if self.stopped:
            return self.stopped
        try:
            with Interrupt() as interrupt:
                self.stopped = self._advance(until, interrupt)
            if interrupt.signal is not None:
                raise self._interrupted(interrupt.signal)
        except BaseException as error:
            if isinstance(error, SimulationDiverged | SimulationInterrupted):
                self.log.say(str(error))
            else:
                self.log.say(f"t = {self.t:g} s: the run was aborted by {type(error).__name__}: {error}")
            self._finish(finished=0)
            if isinstance(error, SimulationDiverged | SimulationInterrupted) and self.recorder.in_memory:
                error.recording = self.recorder.sink.dataset()
            raise
        return self.stopped

    def _interrupted(self, signal: Signals) -> SimulationInterrupted:
        """Record the last sample of a run that a signal stopped; return the error to raise."""
        self._sample_end()
        error = SimulationInterrupted(f"interrupted at t = {self.t:.12g} s")
        error.state, error.signal = self.simulation.state, signal
        return error

    def _advance(self, until: float, interrupt: Interrupt) -> str | None:
        """Advance to a time; return the reason for an early stop, or None. An interrupt stops at the next sample."""
        sim, mission = self.simulation, self._mission
        guards = mission.march.guards
        compiled = [] if guards is None else [w for w in self._watch if w.event in guards.events]
        looks = self.clock.pace is not None or any(
            e.quantity != "time" for e in sim.events if e not in [w.event for w in compiled]
        )

        def hurry() -> bool:
            return interrupt.asked or perf_counter() - began > PATIENCE

        while True:
            t, began = sim._at.t, perf_counter()
            if interrupt.asked:
                until = min(until, next_multiple(t, sim.record, sim.step_size))
            end = next_multiple(t + self._stretch - sim.record, sim.record, sim.step_size)  # does not split a step
            stop = min(until, end, sim._inputs(t)[1], *self._instants(t))
            stop = self.clock.next(t, stop) if looks else stop
            if compiled:
                mission.state["guard"][0] = [w.last for w in compiled]
            try:
                mission.advance(stop, self.recorder, hurry)
            finally:
                for t, text in mission.said:
                    self.log.say(f"t = {t:g} s: {text}")
            if mission.diverged:
                raise sim._diverged(mission.march.reason)
            if perf_counter() - began < 0.5 * PATIENCE:
                self._stretch = min(2.0 * self._stretch, MAX_SAMPLES * sim.record)
            elif perf_counter() - began > PATIENCE:
                self._stretch = max(0.5 * self._stretch, sim.record)
            self.clock.look(sim._at.t)
            for t, q in mission.seen:
                for text in self._stops.look(q):
                    self.log.say(f"t = {t:g} s: {text}")
            for w, last in zip(compiled, mission.state["guard"][0] if compiled else (), strict=True):
                w.last = float(last)
            stopped = self._handle_events(mission.start())
            if self.recorder.commit():
                self._saved(sim.state)
            interrupted = interrupt.asked and is_multiple(sim._at.t, sim.record, sim.step_size)
            if stopped or interrupted or sim._at.t >= until - slack(until, sim.step_size):
                return stopped

    def _instants(self, t: float) -> list[float]:
        """Return the times of timed events after `t` [s]."""
        levels = (event.level for event in self.simulation.events if event.quantity == "time")
        return [level for level in levels if level > t + slack(t, self.simulation.step_size)]

    def _handle_events(self, before: Point) -> str | None:
        """Find events since a point and execute their actions; return the reason for a stop, or None."""
        sim, watch, log = self.simulation, self._watch, self.log
        if not watch:
            return None
        found, sim._at = first_crossings(watch, before, sim._at, sim._advance)
        stopped = None
        for at, watched in found:
            event = watched.event
            log.say(f"t = {at.t:.6f} s: {event.message}")
            na, old = len(sim._command), sim._inputs(at.t)[0]
            inputs = inputs_after(event, sim.plant, old, at.t)
            sim.command = inputs[:na]
            lost = sim._set_held(inputs[na : na + len(sim._held)])
            for text in event.closing(np.array([lost]), sim.plant, sim._at.q[None], old[None])[0]:
                log.say(f"t = {at.t:.6f} s: {text}")
            if event.control:
                sim.switch_control(event.control == "on")
            stopped = stopped or (f"{event.name} at t = {at.t:.6f} s" if event.stop else None)
        for watched in watch:
            watched.look(sim._at)
        return stopped

    def _sample_end(self) -> None:
        """Record the last sample. Sensors that are due measure, but controllers are not called."""
        sim, recording = self.simulation, self.recorder
        recording.sample(sim._at, sim.inputs)
        if sim.mission is not None:
            recording.signal = self._mission.last_signals()
            recording.renew(self.t, sim.inputs)

    def close(self) -> Run:
        """End the run and its recording, and return the result; repeated calls return the same result."""
        if self._finished is None:
            self._sample_end()
            self._finish(finished=1)
        assert self._finished is not None
        wall, factor = self._finished
        return Run(self.recorder.sink, self.simulation.state, self.stopped, self.log.messages, wall, factor, self.clock.late)

    def _finish(self, finished: int) -> None:
        """Close the recording, and store the wall time and the real-time factor of the run."""
        wall = self.clock.wall_time
        factor = real_time_factor(self.t - self.clock.t_start, wall)
        self._finished = wall, factor
        self.recorder.flush()
        sim = self.simulation
        remedy = advice(sim.plant, sim.method, sim.step_size)
        energy = self.recorder.energy.messages(remedy, sim.method.controlled)
        for text in (*self.recorder.free_forces.messages(), *energy):
            self.log.say(text)
        counts = self.simulation._ranges.counts
        self.recorder.close(
            {
                "finished": finished,
                "wall_time": wall,
                "real_time_factor": factor,
                "late_steps": self.clock.late,
                "messages": self.log.messages,
                **({"commands_outside": dict(counts)} if counts else {}),
            }
        )


class Interrupt:
    """Context that defers the first Ctrl-C until the run checks for it; a second Ctrl-C interrupts immediately.

    The context handles every signal that raises `KeyboardInterrupt`: SIGINT, unless the program handles or ignores it, and
    SIGTERM within `sigterm_interrupts`. Outside the main thread, the context has no effect.
    """

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        """Received signal, or None."""
        self._taken: dict[signal.Signals, Any] = {}

    @property
    def asked(self) -> bool:
        """True if a signal requested a stop."""
        return self.signal is not None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.getsignal(number)
                if handler in (signal.default_int_handler, _terminate):
                    signal.signal(number, self._receive)
                    self._taken[number] = handler
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._taken.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            signal.default_int_handler(number, frame)
        self.signal = signal.Signals(number)


def _terminate(number: int, frame: FrameType | None) -> None:
    """Raise `KeyboardInterrupt` with the signal as its attribute."""
    stop = KeyboardInterrupt()
    stop.signal = signal.Signals(number)  # type: ignore[attr-defined]
    raise stop


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """Make SIGTERM raise `KeyboardInterrupt`, like Ctrl-C, with the attribute `signal`.

    A program that handles or ignores SIGTERM keeps its handler. Outside the main thread, this context has no effect.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
