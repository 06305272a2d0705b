"""A simulation: a plant, an integrator, a controller at its own rate, events and a recording."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hydromechs import compiler, contact
from hydromechs.actuation import Thruster, drives
from hydromechs.compiler import Argument
from hydromechs.errors import SimulationDiverged
from hydromechs.hydro import Environment, UniformFlow
from hydromechs.model import Model, State

from . import _equations as equations
from ._adaptive import AdaptiveSteps
from ._arguments import configuration, model_of
from ._dynamics import is_ours
from ._evaluate import derivative, fluid_at
from ._events import Event, Log
from ._integrators import method_named
from ._joint_actuation import joint_actuation
from ._observe import observer
from ._plant import Plant
from ._recorder import Recorder
from ._stepper import Stepper
from ._stiffness import step_warnings

if TYPE_CHECKING:
    import xarray

__all__ = ["Controller", "Run", "Simulation"]


class Controller(Protocol):
    """A controller: any callable from the state to commands. What it remembers must be in `memory`: a run can be resumed.

    `period` [s] and `memory` (an array that can be set) are optional, as is `start(simulation)`, called before the first tick.
    """

    def __call__(self, state: State) -> Mapping[str, float] | Sequence[float] | None:
        """Commands by actuator name (those not named stay), or all of them in order, or None for no change."""


@dataclass
class Run:
    """What became of a run."""

    recording: xarray.Dataset
    """The recording."""
    state: State
    """The state at the end."""
    stopped: str | None
    """Why it ended before its time, or None."""
    messages: list[str] = field(default_factory=list)
    """What happened: events, warnings."""
    wall_time: float = 0.0
    """Seconds that it took."""
    real_time_factor: float = 0.0
    """Simulated over real time."""
    late: int = 0
    """Looks at the clock that came late, of a run in real time."""


class Simulation:
    """A mechanism in water with actuators, contacts, a controller and a recording.

        sim = hm.Simulation(model, thrusters=[...], controller=my_controller, period=0.02)
        run = sim.run(60.0)
        run.recording.position.sel(body="vehicle")

    Args:
        model: The mechanism.
        environment: The water; still unless given.
        thrusters: Thrusters.
        drives: Drive of each driven joint, by the name of the body that it carries.
        friction: Friction of joints by name; what the model says unless given.
        stops: Stops of joints by name; soft ones at the model's limits unless given. None as a value leaves a joint without.
        terrain: What stands still and can be touched.
        touching: Names of frames that touch terrain at their origin, as feet do.
        collisions: Pairs of names of bodies that can touch each other.
        material: How bodies meet each other.
        external: Names of bodies on which `wrench` puts forces.
        controller: Called every `period` with the state; gives commands. See `Controller`.
        period: Time between two calls of the controller [s]; the controller's own unless given.
        events: Things to watch for.
        integrator: A method or its name: rk4, semi_implicit_euler, euler, linearly_implicit, dormand_prince.
        step: Step of the integrator [s]; of an adaptive one, the first try.
        record: Time between two samples of the recording [s].
        seed: Of gusts and waves; the same seed gives the same run to the last bit.
        state: State at the start; the model's initial one unless given.
    """

    def __init__(
        self,
        model: Model,
        *,
        environment: Environment | None = None,
        thrusters: Iterable[Thruster] = (),
        drives: Mapping[str, object] | None = None,
        friction: Mapping[str, object] | None = None,
        stops: Mapping[str, object] | None = None,
        terrain: Iterable = (),
        touching: Iterable[str] = (),
        collisions: Iterable[tuple[str, str]] = (),
        material: contact.Material | None = None,
        external: Iterable[str] = (),
        controller: Controller | None = None,
        period: float | None = None,
        events: Iterable[Event] = (),
        integrator="rk4",
        step: float = 1e-3,
        record: float = 0.02,
        seed: int = 0,
        state: State | None = None,
    ):
        model = model_of(model)
        self.method = method_named(integrator)
        self.step_size = _positive(step, "step")
        acting = joint_actuation(model, drives or {}, friction or {}, stops or {}, state)
        pairs = contact.contact_pairs(
            model, tuple(terrain), points=tuple(touching), bodies=tuple(collisions), material=material
        )
        self.plant = Plant(
            model=model,
            environment=environment or Environment(),
            seed=seed,
            thrusters=tuple(thrusters),
            joints=acting,
            contacts=pairs,
            external=tuple(external),
        )
        """What is simulated."""
        self.controller, self.events = controller, tuple(events)
        period = getattr(controller, "period", None) if period is None else period
        if controller is not None and period is None:
            raise ValueError("the controller has no period: give the time between two of its calls, period=0.02")
        self.period = None if controller is None else self._multiple(period, "period")
        self.record = self._multiple(record, "record")
        gusts = self.plant.environment.gusts
        if gusts is not None:
            self._multiple(gusts.interval, "gusts.interval")
        self._flow = UniformFlow(self.plant.environment, seed)
        identity = repr(self.plant) if is_ours(self.plant) else None
        self._stepper = self._make_stepper(identity)
        self._observer = observer(self.plant, self._motion, identity)
        self._bound = None
        self._adaptive = AdaptiveSteps(self._stepper, self._work_mask()) if self._stepper.adaptive else None
        self._wrenches = np.zeros((len(self.plant.external), 6))
        self.reset(state)

    # -- construction -------------------------------------------------------------------------------------------------------

    def _multiple(self, value, name: str) -> float:
        """`value` if it is a whole number of steps (of a fixed step)."""
        value = _positive(value, name)
        ratio = value / self.step_size
        if self.method.name != "dormand_prince" and (round(ratio) < 1 or abs(ratio - round(ratio)) > 1e-6 * ratio):
            raise ValueError(
                f"{name} is {value:g} s, must be a whole number of steps of {self.step_size:g} s: "
                f"try {max(1, round(ratio)) * self.step_size:g} s, or another step"
            )
        return value

    def _motion(self, plant: Plant, p, t, U, rate):
        """Water at a point, as a call of one program for all bodies."""
        return compiler.call(self._water_program, np.asarray(p), np.asarray(t), np.asarray(U), np.asarray(rate))

    @property
    def _water_program(self):
        if not hasattr(self, "_water"):
            shapes = {"p": (3,), "t": (), "U": (3,), "rate": (3,)}
            self._water = compiler.trace(lambda p, t, U, rate: fluid_at(self.plant, p, t, U, rate), shapes, name="water")
        return self._water

    def _make_stepper(self, identity: str | None) -> Stepper:
        plant, nv = self.plant, self.plant.model.nv

        def ydot(t, q, y, inputs):
            return derivative(plant, t, q, y[:nv], y[nv : 2 * nv], y[2 * nv :], inputs, self._motion)

        arguments = (Argument("inputs", (len(plant.input_names),)),)
        nz = len(plant.internal_names)
        return Stepper(plant.model, ydot, nz, arguments, self.method, name="plant", identity=identity, lanes=1, threads=1)

    def _work_mask(self) -> np.ndarray:
        """1 for entries of y whose error counts; work is only booked, shape (n,)."""
        counted = [not name.startswith("work.") for name in self.plant.internal_names]
        return np.array([1.0] * (2 * self.plant.model.nv) + counted)

    # -- state --------------------------------------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The mechanism."""
        return self.plant.model

    @property
    def actuators(self) -> tuple[str, ...]:
        """Names of the actuators, in the order of commands: thrusters, then driven joints."""
        return self.plant.actuator_names

    def reset(self, state: State | None = None) -> State:
        """Put the simulation into a state: the one given, or the model's initial one at time 0.

        Args:
            state: As an earlier `state` gave it, or one with t, q and v only.
        """
        given = self.model.initial() if state is None else state
        q = configuration(self.model, given.q)
        internal = np.asarray(given.internal, dtype=float)
        if internal.size == 0:
            internal = np.zeros(len(self.plant.internal_names))
        command = np.asarray(given.command, dtype=float)
        if command.size == 0:
            command = self._rest_command(q)
        for name, x, n in (
            ("v", given.v, self.model.nv),
            ("internal", internal, len(self.plant.internal_names)),
            ("command", command, len(self.actuators)),
        ):
            if np.shape(x) != (n,):
                raise ValueError(f"state.{name} must have shape {(n,)}, got {np.shape(x)}; is it of another simulation?")
        self._t, self._q = float(given.t), q
        self._x = np.concatenate([np.asarray(given.v, dtype=float), internal])
        self._command, self._steady = command.copy(), None
        if self.controller is not None:
            start = getattr(self.controller, "start", None)
            if start is not None:
                start(self)
            if np.size(given.memory):
                self.controller.memory = np.array(given.memory)
        return self.state

    def _rest_command(self, q: np.ndarray) -> np.ndarray:
        """Commands that do nothing: no thrust, servos at their joints' positions."""
        out = [t.curve.inverse(0.0) for t in self.plant.thrusters]
        for joint in self.plant.drives:
            at = self.model.q_slices[self.model.body_index(joint.joint)].start
            out.append(q[at] if isinstance(joint.drive, drives.Servo) else 0.0)
        return np.array(out, dtype=float)

    @property
    def state(self) -> State:
        """All that a restart needs; a copy. Set it to go on from there."""
        nv = self.model.nv
        memory = np.array(getattr(self.controller, "memory", np.zeros(0)), dtype=float)
        return State(
            t=self._t,
            q=self._q.copy(),
            v=self._x[:nv].copy(),
            internal=self._x[nv:].copy(),
            command=self._command.copy(),
            memory=memory,
        )

    @state.setter
    def state(self, state: State) -> None:
        self.reset(state)

    @property
    def command(self) -> np.ndarray:
        """Commands of the actuators that are held now, shape (na,). Set them by name or in order."""
        return self._command.copy()

    @command.setter
    def command(self, command) -> None:
        if command is None:
            return
        if isinstance(command, Mapping):
            for name, value in command.items():
                if name not in self.actuators:
                    raise KeyError(f"no actuator {name!r}; there are {', '.join(self.actuators) or 'none'}")
                self._command[self.actuators.index(name)] = value
        else:
            values = np.asarray(command, dtype=float)
            if values.shape != self._command.shape:
                raise ValueError(
                    f"command must have shape {self._command.shape} ({', '.join(self.actuators)}), got {values.shape}"
                )
            self._command = values.copy()
        self._steady = None
        bad = ~np.isfinite(self._command)
        if bad.any():
            k = int(np.argmax(bad))
            raise ValueError(
                f"t = {self._t:g} s: the command of {self.actuators[k]!r} is {self._command[k]}; it must be finite"
            )

    def set_wrench(self, body: str, wrench) -> None:
        """Put a wrench on a body until it is changed.

        Args:
            body: One of the names given as `external`.
            wrench: In the body's axes about its origin [N, N·m], shape (6,).
        """
        if body not in self.plant.external:
            raise KeyError(f"no external wrench on {body!r}; name the body in Simulation(external=[...])")
        values = np.asarray(wrench, dtype=float)
        if values.shape != (6,) or not np.isfinite(values).all():
            raise ValueError(f"wrench must be 6 finite numbers, got {wrench!r}")
        self._wrenches[self.plant.external.index(body)] = values

    def _inputs(self) -> tuple[np.ndarray, float]:
        """Inputs that hold from now on, shape (nu,), and until when [s]."""
        plant = self.plant
        n = len(plant.thrusters)
        if self._steady is None:  # looked up once for each new command
            self._steady = [t.curve.steady(c) for t, c in zip(plant.thrusters, self._command, strict=False)]
        steady = self._steady
        flow, until = [], math.inf
        if plant.streams:
            segment = self._flow.segment(self._t + 1e-9 * self.step_size)
            flow, until = [*segment.velocity, *segment.slope, segment.t_begin], segment.t_end
        return np.array([*steady, *self._command[n:], *flow, *self._wrenches.ravel()]), until

    def _saturated(self) -> np.ndarray:
        """Which commands of thrusters are beyond their curves, shape (nt,)."""
        limits = [(t.curve.commands[0], t.curve.commands[-1]) for t in self.plant.thrusters]
        return np.array([not a < c < b for c, (a, b) in zip(self._command, limits, strict=False)], dtype=float)

    # -- running ------------------------------------------------------------------------------------------------------------

    def compile(self) -> None:
        """Make the machine code now instead of at the first step."""
        if self._adaptive:
            self._stepper.embedded.code(1)
        elif self._bound is None:
            self._bound = self._stepper.march.bound(1024)
        self._observer.code(1)

    def step(self, command=None, duration: float | None = None) -> State:
        """Advance with held commands and without the controller: by one step, or for a duration.

        Args:
            command: Commands, by name or in order; as they are unless given.
            duration: How long [s]; one step unless given.
        """
        self.compile()
        self.command = command
        self._advance(self._t + (self.step_size if duration is None else duration), None)
        return self.state

    def run(
        self,
        duration: float,
        *,
        recorder: Callable | None = None,
        progress: Callable[[float], None] | None = None,
        real_time: float | None = None,
        attrs: Mapping | None = None,
    ) -> Run:
        """Simulate for a while, with the controller and the events, and record.

        Args:
            duration: How long [s].
            recorder: Makes the recorder from (schema, coords, attrs), as `RecordingWriter` does; in memory unless given.
            progress: Called now and then with the time reached [s].
            real_time: Pace: 1 runs as fast as the clock, 2 twice as fast; as fast as possible unless given.
            attrs: Attributes of the recording.
        """
        self.compile()
        duration = _positive(duration, "duration")
        log = Log(step_warnings(self.plant, self._q, self.method, self.step_size) if not self._adaptive else [])
        for text in log.messages:
            warnings.warn(text, stacklevel=2)
        recording = Recorder(self, recorder, dict(attrs or {}), log)
        t_end = self._t + duration
        ticks = _Ticks(self, t_end, progress, real_time)
        started = time.perf_counter()
        watch = [event.watched(self) for event in self.events]
        stopped, t_start = None, self._t
        try:
            self._tick()
            recording.sample()
            while self._t < t_end - 1e-9 * self.step_size and stopped is None:
                self._tick()
                before, t_next = self.state, ticks.next()
                self._advance(t_next, recording)
                ticks.look()
                for event in watch:
                    stopped = event.check(before, log) or stopped
        except SimulationDiverged as error:
            log.say(str(error))
            self._finish(recording, started, t_start, ticks, log, finished=0)
            raise
        except BaseException:
            self._finish(recording, started, t_start, ticks, log, finished=0)
            raise
        wall = self._finish(recording, started, t_start, ticks, log, finished=1)
        factor = (self._t - t_start) / wall if wall else math.inf
        return Run(recording.dataset(), self.state, stopped, log.messages, wall, factor, ticks.late)

    def _finish(self, recording, started: float, t_start: float, ticks, log, finished: int) -> float:
        recording.flush()
        wall = time.perf_counter() - started
        recording.close(
            {
                "finished": finished,
                "wall_time": wall,
                "real_time_factor": (self._t - t_start) / wall if wall else 0.0,
                "late_steps": ticks.late,
                "messages": log.messages,
            }
        )
        return wall

    def _tick(self) -> None:
        """Ask the controller if its time has come."""
        if self.controller is not None and _is_multiple(self._t, self.period, self.step_size):
            self.command = self.controller(self.state)

    def _advance(self, t_end: float, recording: Recorder | None) -> None:
        """To a time, with held commands."""
        while self._t < t_end - 1e-9 * self.step_size:
            inputs, until = self._inputs()
            if self._adaptive:
                self._t, self._q, self._x = self._adaptive.advance(
                    self._t, self._q, self._x, inputs, min(t_end, until), self.step_size, recording
                )
            else:
                self._march(inputs, min(t_end, until), recording)

    def _march(self, inputs: np.ndarray, t_end: float, recording: Recorder | None) -> None:
        """Fixed steps in compiled code, to the first step at or after a time."""
        h = self.step_size
        n = round(self._t / h)
        offset = 0.0 if n * h == self._t else self._t - n * h
        steps = max(1, math.ceil((t_end - self._t) / h - 1e-6))
        stride = steps + 1
        if recording is not None:
            stride = round(self.record / h)
            due = n % stride
            if due:
                steps, stride = min(steps, stride - due), steps + 1
            else:
                steps = min(steps, 1024 * stride)
        bound = self._bound
        bound.state[0][0], bound.state[1][0], bound.state[2][0] = n, self._q, self._x
        bound.inputs[0][0], bound.inputs[1][0], bound.inputs[2][0] = h, offset, inputs
        good = bound.run(steps, stride)
        self._q, self._x = bound.state[1][0].copy(), bound.state[2][0].copy()
        self._t = offset + (n + good) * h
        if recording is not None:
            rows = good // stride
            if rows:
                times = offset + bound.records[0][:rows] * h
                recording.rows(times, bound.records[1][:rows], bound.records[2][:rows], inputs)
            elif good == steps and (n + good) % round(self.record / h) == 0:
                recording.rows(np.array([self._t]), self._q[None], self._x[None], inputs)
        if good < steps:
            raise self._diverged(inputs)

    def _diverged(self, inputs: np.ndarray) -> SimulationDiverged:
        """What to say of a run whose numbers are not finite any more."""
        motion = equations.kinematics(self.model, self._q, self._x[: self.model.nv])
        speeds = np.linalg.norm(np.array(motion.V_WB_B, dtype=float), axis=1)
        body = self.model.body_names[int(np.argmax(speeds))]
        advice = step_warnings(self.plant, self._q, self.method, self.step_size)
        remedy = f"take a step below {self.step_size:g} s, or use the integrator linearly_implicit"
        fastest = f"body {body!r} moves fastest, at {speeds.max():.3g} m/s"
        error = SimulationDiverged(
            f"t = {self._t:.6g} s: the next step is not finite; {fastest}; {advice[0] if advice else remedy}"
        )
        error.state = self.state
        return error

    def observe(self) -> dict[str, np.ndarray]:
        """Poses, velocities, forces and energies now, by the names of the recording."""
        inputs, _ = self._inputs()
        names = [a.name for a in self._observer.recipe.outputs]
        return dict(zip(names, self._observer([self._t, self._q, self._x, inputs]), strict=True))


class _Ticks:
    """Where a run looks up from compiled code: ticks of the controller, watched events, progress, the clock."""

    def __init__(self, sim: Simulation, t_end: float, progress, real_time: float | None):
        self.sim, self.t_end, self.progress = sim, t_end, progress
        self.pace = None if real_time is None else _positive(real_time, "real_time")
        self.late = 0
        self.t_start, self.clock = sim._t, time.perf_counter()
        self.told = self.clock
        looks = [x for x in (sim.period, sim.record if sim.events else None, 0.01 if self.pace else None) if x]
        self.interval = min(looks) if looks else 100.0 * sim.record
        if sim.period is not None:
            self.interval = min(self.interval, sim.period)

    def next(self) -> float:
        """Time of the next look [s]."""
        sim, t = self.sim, self.sim._t
        out = min(self.t_end, t + self.interval)
        if sim.period is not None:
            out = min(out, _next_multiple(t, sim.period, sim.step_size))
        return out

    def look(self) -> None:
        """Tell of progress; wait for the clock."""
        now = time.perf_counter()
        if self.pace is not None:
            ahead = self.clock + (self.sim._t - self.t_start) / self.pace - now
            if ahead > 0.0:
                time.sleep(ahead)
            elif ahead < -1e-3:
                self.late += 1
        if self.progress is not None and now - self.told > 0.1:
            self.told = now
            self.progress(self.sim._t)


def _positive(value, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}, must be a number above 0") from None
    if not 0.0 < number < math.inf:
        raise ValueError(f"{name} is {value!r}, must be a number above 0")
    return number


def _is_multiple(t: float, period: float, step: float) -> bool:
    return abs(t - round(t / period) * period) < 1e-6 * step


def _next_multiple(t: float, period: float, step: float) -> float:
    return (math.floor(t / period + 1e-6 * step / period) + 1) * period
