"""Piloted scenario in a separate thread, in real time, with start, pause, step, reset, time scale and telemetry."""

import contextlib
import math
import os
import queue
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydromechs.contact import Terrain
from hydromechs.errors import SimulationDiverged
from hydromechs.integrators import is_multiple
from hydromechs.recording import RunFolder, load_recording
from hydromechs.scenario import Checkpoints, RunResult, Scenario, conclude_run, recording_attrs, run_scenario
from hydromechs.simulation import LiveRun, PythonBlock, Simulation
from hydromechs.values import positive

from ._channel import AcousticLink
from ._configuration import Catalog, Configured
from ._delayed import Delayed, DueInputs
from ._lookahead import Outlook, Strategies
from ._operator import InputLog, Inputs, LiveInputs, Operator, RecordedInputs
from ._pilot import Pilot
from ._telemetry import Display, Snapshot

FRAME = 1.0 / 30.0
"""Interval between two snapshots [s]."""
SCALES = 1e-3, 1e6
"""Minimum and maximum ratio of simulated time to wall-clock time."""
SMOOTH = 0.02
"""Maximum interval between two stops of the simulation, for smooth pictures [s]."""
LOST_AFTER = 2.0
"""Time without input from the pilot after which the vehicle holds its position [s]."""
BEHIND = 0.25
"""Delay with respect to real time above which a session does not catch up [s]."""
MOST_MESSAGES = 40
"""Maximum number of messages kept for pages."""
LOOK_WAIT = 20.0
"""Timeout of a look-ahead [s]."""
CHECKPOINT = 10.0
"""Interval between two checkpoints [s]."""


def piloted(scenario: Scenario, inputs: Inputs) -> Simulation:
    """Return the simulation of a scenario, with a pilot that reads the given inputs."""
    simulation = scenario.simulation()
    pilot_of(simulation).inputs = inputs  # a simulation has its own copy of the pilot
    return simulation


def pilot_of(simulation: Simulation) -> Pilot:
    """Return the pilot of a simulation."""
    assert isinstance(simulation.controller, Pilot)
    return simulation.controller


def fly_again(catalog: Catalog, run: str | os.PathLike[str], folder: str | os.PathLike[str] | RunFolder) -> RunResult:
    """Simulate a piloted run again from its recorded inputs; the result is bit-identical.

    Args:
        catalog: Catalog that reads the scenario.
        run: Folder of the piloted run.
        folder: Run folder to write, new or empty; or a `RunFolder` that the caller has claimed.
    """
    old = RunFolder(run)
    if not old.inputs.is_file():
        raise ValueError(f"{run} contains no {old.inputs.name}; use the folder of a piloted run")
    attrs = load_recording(old.recording).attrs
    text, file = str(attrs["scenario"]), str(attrs["scenario_file"])
    inputs = RecordedInputs(old.inputs)
    if inputs.end is None:
        raise ValueError(
            f'{old.inputs} has no end time, because the run was killed; add a line {{"end": T}} with the final time T [s]'
        )
    read = catalog.read(text, file)
    (block,) = read.controllers
    assert isinstance(block.controller, Pilot)
    scenario = read.controlled_by(PythonBlock(controller=block.controller.reading(inputs))).with_fields(duration=inputs.end)
    return run_scenario(scenario, folder, text=text, file=file, attrs=catalog.drawing(read))


def _slice(simulation: Simulation, period: float) -> float:
    """Return the interval between two stops [s]: a fraction of the control period, short enough for smooth pictures."""
    if simulation.method.restarts_at_stops:
        return period  # different stops would change the numbers
    step = simulation.step_size
    fit = (n for n in range(math.ceil(period / SMOOTH), 0, -1) if is_multiple(period / n, step, step))
    return period / next(fit, 1)


class Session:
    """Session in which an operator flies a scenario.

    All methods may be called from any thread. The simulation never waits for a page.

    Args:
        configured: Scenario to fly.
        folder: Parent folder of the run folders NAME, NAME-2, ...
        lost_after: Time without input from the pilot after which the vehicle holds its position [s].
        link: Link between the operator and the vehicle. Defaults to no link.
    """

    def __init__(
        self,
        configured: Configured,
        folder: str | os.PathLike[str],
        *,
        lost_after: float = LOST_AFTER,
        link: AcousticLink | None = None,
    ) -> None:
        self.folder, self.lost_after = Path(folder), positive(lost_after, "lost_after")
        self.inputs = LiveInputs()
        """Live operator inputs."""
        self.configured = configured
        """Flown scenario."""
        self.problem = ""
        """Reason for an early end of the run; empty if the run has not ended early."""
        self.result: RunResult | None = None
        """Result of the previous run."""
        self.messages: deque[str] = deque(maxlen=MOST_MESSAGES)
        """Messages in chronological order."""
        self.lost = False
        """True if the pilot is disconnected, so that the vehicle holds its position."""
        self._last_received = time.monotonic()
        self._running, self._scale, self._steps = False, 1.0, 0
        self._factor, self._late, self._runs, self._snapshots = 0.0, 0, 0, 0
        self._anchor, self._measured, self._due = (0.0, 0.0), (0.0, 0.0), 0.0
        self._diverged: SimulationDiverged | None = None
        self._snapshot: Snapshot | None = None
        self._link = link
        self._delayed: Delayed | None = None
        self._ghosts: tuple[Configured, Simulation] | None = None
        self._strategies: Strategies | None = None
        self._looking = threading.Lock()
        self._requests: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._wake = threading.Event()
        self._published = threading.Condition()
        self._closed = False
        self._stack = contextlib.ExitStack()
        self._build(configured)
        self._begin()
        self._thread = threading.Thread(target=self._loop, name="session", daemon=True)
        self._thread.start()

    # -- requests of other threads
    # ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Continue the simulation."""
        self._ask(self._start)

    def pause(self) -> None:
        """Pause the simulation at the next control tick."""
        self._ask(self._pause)

    def step(self) -> None:
        """Advance by one control tick if the simulation is paused."""
        self._ask(self._one_step)

    def scale(self, factor: float) -> None:
        """Set the ratio of simulated to wall-clock time, within `SCALES`; infinity selects the maximum speed."""
        factor = float(factor)
        if not (SCALES[0] <= factor <= SCALES[1] or factor == math.inf):
            raise ValueError(f"time scale {factor:g} is outside {SCALES[0]:g} to {SCALES[1]:g}; use inf for maximum speed")
        self._ask(lambda: self._set_scale(factor))

    def reset(self, configured: Configured | None = None) -> None:
        """End the run and begin a new, paused run; `configured` defaults to the same scenario."""
        self._ask(lambda: self._again(configured or self.configured))

    def set_link(self, link: AcousticLink | None) -> None:
        """Send commands and telemetry over a link from now on; None removes the link."""
        self._ask(lambda: self._set_link(link))

    def look_ahead(self) -> Outlook:
        """Return predicted outcomes of strategies from the present state or, with a link, from the state of the ghost."""
        with self._looking:
            strategies, configured = self._strategies, self.configured
            if strategies is None or strategies.configured is not configured:
                strategies = self._strategies = Strategies(configured)
        found: Future[Outlook] = Future()
        self._ask(lambda: self._look(strategies, found))
        return found.result(LOOK_WAIT)

    def note_pilot(self) -> None:
        """Record that a message from the pilot has arrived."""
        self._last_received = time.monotonic()
        self.lost = False

    def drag(self, place: Sequence[float]) -> None:
        """Move the tool to a position in world axes [m], shape (3,), while the vehicle holds its position."""
        self.inputs.set(mode="hold", axes=(0.0,) * 6, arm_mode="tool", arm_axes=(0.0,) * 6, target=place)

    def close(self) -> None:
        """End the run and the thread."""
        self._closed = True
        self._wake.set()
        self._thread.join()

    @property
    def snapshot(self) -> Snapshot:
        """Newest snapshot."""
        assert self._snapshot is not None
        return self._snapshot

    def wait(self, after: Snapshot | None, timeout: float) -> Snapshot:
        """Wait at most `timeout` [s] until the newest snapshot differs from `after`; return the newest snapshot."""
        with self._published:
            self._published.wait_for(lambda: self._snapshot is not after or self._closed, timeout)
        return self.snapshot

    @property
    def status(self) -> dict[str, Any]:
        """Status of the run as plain data."""
        return {
            "scenario": self.configured.name,
            "title": self.configured.scenario.title or self.configured.scenario.name,
            "axes": self.configured.scenario.model.world.axes,
            "duration": self.configured.scenario.duration,
            "checks": list(self.configured.objective),
            "running": self._running,
            "scale": self._scale if math.isfinite(self._scale) else "max",
            "factor": round(self._factor, 3),
            "late": self._late,
            "lost": self.lost,
            "problem": self.problem,
            "link": self._linked(),
            "run": self._run_folder.path.name,
            "messages": list(self.messages)[-6:],
        }

    @property
    def run_folder(self) -> RunFolder:
        """Folder of the run."""
        return self._run_folder

    @property
    def pilot(self) -> Pilot:
        """Pilot; use it only from the thread of the session."""
        return self._pilot

    @property
    def simulation(self) -> Simulation:
        """Simulation; use it only from the thread of the session."""
        return self._sim

    # -- the thread ---------------------------------------------------------------------------------------------------------

    def _ask(self, request: Callable[[], None]) -> None:
        self._requests.put(request)
        self._wake.set()

    def _loop(self) -> None:
        while not self._closed:
            while not self._requests.empty():
                self._requests.get()()
            self._look_for_pilot()
            if self._steps or self._running:
                self._tick()
            else:
                self._wake.wait(0.2)
            self._wake.clear()
        self._end()
        with self._published:
            self._published.notify_all()

    def _tick(self) -> None:
        """Advance by one slice of a control period when the slice is due, or by a complete period on request."""
        slice_ = self._slice
        if self._steps:
            self._steps -= 1
            slice_ = self._pilot.period
        elif math.isfinite(self._scale):
            ahead = self._anchor[1] + (self._live.t - self._anchor[0]) / self._scale - time.perf_counter()
            if ahead > 0.0:
                if self._wake.wait(ahead):
                    return  # there is a request
            elif ahead < -BEHIND:
                self._late += 1
                self._set_anchor()
        self._advance(slice_)
        now = time.perf_counter()
        if not self.problem and (now >= self._due or not self._running):
            self._due = max(self._due + FRAME, now)
            self._publish()
            passed = now - self._measured[1]
            if passed > 0.5:
                self._factor = (self._live.t - self._measured[0]) / passed
                self._measured = (self._live.t, now)

    def _advance(self, period: float) -> None:
        """Advance to the next multiple of a time [s]."""
        try:
            self._listen()
            said = self._live.advance((math.floor(self._live.t / period + 1e-6) + 1) * period)
        except SimulationDiverged as error:
            self._fail(str(error), error)
        except Exception as error:
            self._fail(f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-3)}", None)
        else:
            if self._delayed is not None:
                self._delayed.predict()
            self._tell()
            if said:
                self._fail(f"stopped: {said}", None)

    def _listen(self) -> None:
        """Send the telemetry of the vehicle over the link at control ticks."""
        t, period = self._live.t, self._pilot.period
        if self._delayed is not None and is_multiple(t, period, self._sim.step_size):
            self._delayed.tell(round(t / period), self._sim.state, lambda: self._display.snapshot(0, self._runs))

    def _publish(self) -> None:
        self._snapshots += 1
        if self._delayed is None:
            snapshot = self._display.snapshot(self._snapshots, self._runs)
        else:
            ghost = self._ghost_display.snapshot(self._snapshots, self._runs)
            snapshot = replace(self._delayed.last_received, number=self._snapshots, run=self._runs, ghost=ghost)
        with self._published:
            self._snapshot = snapshot
            self._published.notify_all()

    def _tell(self) -> None:
        new = self._live.log.messages[self._told :]
        self._told += len(new)
        self.messages.extend(new)

    def _linked(self) -> dict[str, Any] | None:
        """Return the status of the link as plain data, or None without a link."""
        delayed = self._delayed
        if delayed is None:
            return None
        link, now = delayed.link, self._live.t
        return {
            "delay": link.delay,
            "message_time": link.message_time,
            "loss": link.loss,
            "age": round(now - delayed.last_received.t, 3),
            "ahead": round(delayed.down.latency * delayed.down.tick, 3),
            "lost": delayed.down.lost + delayed.up.lost,
            "problem": delayed.problem,
        }

    def _set_link(self, link: AcousticLink | None) -> None:
        """Set or remove the link at the present tick."""
        if self._running and not is_multiple(self._live.t, self._pilot.period, self._sim.step_size):
            self._advance(self._pilot.period)
        self._link = link
        operator = self.inputs.now if self._delayed is None else self._delayed.asked
        self._delayed = self.inputs.link = None
        if link is not None:
            try:
                self._delayed = self._behind(link, operator)
            except (ValueError, SimulationDiverged) as error:
                self._link = None
                self.messages.append(f"the link could not be set: {error}")
        if self._delayed is not None:
            self.inputs.link = self._delayed.carry
            self._delayed.predict()
        self._set_anchor()
        if not self.problem:
            self._publish()

    def _behind(self, link: AcousticLink, operator: Operator) -> Delayed:
        """Return the vehicle with a link; the ghost has a separate simulation, created once per scenario."""
        inputs = DueInputs(operator)
        if self._ghosts is None or self._ghosts[0] is not self.configured:
            self._ghosts = self.configured, piloted(self.configured.scenario, inputs)
        simulation = self._ghosts[1]
        pilot_of(simulation).inputs = inputs
        self._ghost_display = Display(simulation, pilot_of(simulation), self.configured.scenario.parts(Terrain))
        now = self._display.snapshot(0, self._runs)
        return Delayed(link, simulation, inputs, self._pilot.period, self._sim.state, now)

    def _look(self, strategies: Strategies, found: Future[Outlook]) -> None:
        """Predict the strategies from the present state, or from the ghost."""
        try:
            sim = self._sim if self._delayed is None else self._delayed.ghost.simulation
            found.set_result(strategies(sim.state, pilot_of(sim).memory, self.inputs.now))
        except Exception as error:
            found.set_exception(error)

    def _look_for_pilot(self) -> None:
        if self.lost or time.monotonic() - self._last_received < self.lost_after:
            return
        self.lost = True
        still = {"mode": "hold", "axes": (0.0,) * 6, "arm_axes": (0.0,) * 6, "gripper": "keep", "target": None}
        now = self.inputs.now
        if any(getattr(now, name) != value for name, value in still.items()):
            self.inputs.set(**still)
            self.messages.append(f"t = {self._live.t:g} s: the pilot is disconnected; the vehicle holds station")

    def _start(self) -> None:
        if not self.problem:
            self._running = True
            self._set_anchor()

    def _pause(self) -> None:
        if self._running and not is_multiple(self._live.t, self._pilot.period, self._sim.step_size):
            self._advance(self._pilot.period)
        if not self.problem:
            self._publish()  # first, so that pages that see the pause also see the final state
        self._running, self._factor = False, 0.0

    def _one_step(self) -> None:
        if not self._running and not self.problem:
            self._steps += 1

    def _set_scale(self, factor: float) -> None:
        self._scale = factor
        self._set_anchor()

    def _set_anchor(self) -> None:
        now = time.perf_counter()
        self._anchor = self._measured = (self._live.t, now)

    def _fail(self, problem: str, diverged: SimulationDiverged | None) -> None:
        self.problem, self._running, self._diverged = problem, False, diverged
        self._tell()
        self.messages.append(problem.splitlines()[0])
        with contextlib.suppress(Exception):  # a state that is not finite cannot be shown
            self._publish()

    # -- runs ---------------------------------------------------------------------------------------------------------------

    def _build(self, configured: Configured) -> None:
        simulation = piloted(configured.scenario, self.inputs)
        simulation.compile()
        pilot = pilot_of(simulation)
        display = Display(simulation, pilot, configured.scenario.parts(Terrain))
        self.configured, self._sim, self._pilot, self._display = configured, simulation, pilot, display
        self._slice = _slice(simulation, pilot.period)

    def _begin(self) -> None:
        configured, simulation, pilot = self.configured, self._sim, self._pilot
        self._run_folder = self._stack.enter_context(RunFolder.numbered(self.folder / configured.scenario.name))
        folder = self._run_folder
        self._saved = Checkpoints(folder.state, simulation, CHECKPOINT)
        attrs = recording_attrs(configured.scenario, configured.text, configured.file) | dict(configured.attrs)
        self._live: LiveRun = simulation.begin(path=folder.recording, saved=self._saved.take, attrs=attrs)
        self.inputs.log = InputLog(folder.inputs, pilot.period)
        self.inputs.set(gripper="keep", target=None, swing=False)
        self.problem, self._running, self._steps, self._told = "", False, 0, 0
        self._diverged = None
        self._runs += 1
        self._due = 0.0
        self._delayed = self.inputs.link = None
        self._set_link(self._link)

    def _end(self) -> None:
        log, self.inputs.log = self.inputs.log, None
        run = self._live.close()
        if log is not None:
            log.close(self._live.t)
        finished = run if self._diverged is None else None
        if self._live.t > 0.0:
            scenario = self.configured.scenario
            self.result = conclude_run(scenario, self._sim, self._run_folder, finished, self._diverged, late=self._late)
        else:
            self._run_folder.clear()  # nothing happened
        self._stack.close()

    def _again(self, configured: Configured) -> None:
        self._end()
        self._sim.reset()
        if configured is not self.configured:
            try:
                self._build(configured)
            except Exception as error:
                self.messages.append(f"scenario {configured.name} cannot be flown: {error}")
        self._begin()
