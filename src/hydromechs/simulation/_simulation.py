"""A simulation: a plant, an integrator, a controller at its own rate, events and a recording."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from hydromechs import compiler, contact, dynamics
from hydromechs.actuation import Thruster, drives
from hydromechs.compiler import Argument
from hydromechs.equations import configuration, is_ours, model_of
from hydromechs.errors import SimulationDiverged
from hydromechs.hydro import Environment, UniformFlow
from hydromechs.integrators import AdaptiveSteps, BlockSteps, SlidingBlock, Stepper, StepTooSmall, method_named
from hydromechs.model import Model, State
from hydromechs.values import positive

from ._evaluate import derivative, evaluate, fluid_at, inertia_matrix
from ._events import Event, Log, happened
from ._joint_actuation import joint_actuation
from ._observe import observer
from ._plant import Plant
from ._recorder import Recorder
from ._results import Controller, Run
from ._stiffness import step_warnings
from ._ticks import Ticks, is_multiple

if TYPE_CHECKING:
    pass

__all__ = ["Controller", "Run", "Simulation"]


KEPT = 1e-9
"""Error of a quaternion's length below which a state is taken as it is."""


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
        grasps: What can be held together; see `grasp` and `release`.
        external: Names of bodies on which `set_wrench` puts forces.
        controller: Called every `period` with the state; gives commands. See `Controller`.
        period: Time between two calls of the controller [s]; the controller's own unless given.
        events: Things to watch for.
        integrator: A method or its name: rk4, semi_implicit_euler, euler, linearly_implicit, dormand_prince,
            or a block method such as b4pc5, which starts anew at every tick of the controller.
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
        grasps: Iterable[contact.Grasp] = (),
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
        self.step_size = positive(step, "step")
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
            grasps=tuple(grasps),
            external=tuple(external),
        )
        """What is simulated."""
        self.controller, self.events = controller, tuple(events)
        memory = getattr(controller, "memory", None)
        self._first_memory = None if memory is None else np.array(memory, dtype=float)
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
        self._check_events()
        self._bound = None
        self._adaptive = AdaptiveSteps(self._stepper, self._work_mask()) if self._stepper.adaptive else None
        self._blocks = BlockSteps(self._stepper) if isinstance(self.method, SlidingBlock) else None
        self.reset(state)

    # -- construction -------------------------------------------------------------------------------------------------------

    def _multiple(self, value, name: str) -> float:
        """`value` if it is a whole number of steps (of a fixed step)."""
        value = positive(value, name)
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

    def _check_events(self) -> None:
        """Names in the actions of events."""
        known = {
            "command": self.actuators,
            "wrench": self.plant.external,
            "grasp": [g.name for g in self.plant.grasps],
            "release": [g.name for g in self.plant.grasps],
        }
        for event in self.events:
            for key, names in known.items():
                for item in getattr(event, key):
                    name = item if isinstance(item, str) else item[0]
                    if name not in names:
                        raise KeyError(f"event {event.name!r}: no {key} {name!r}; there are {', '.join(names) or 'none'}")

    # -- state --------------------------------------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The mechanism."""
        return self.plant.model

    @property
    def actuators(self) -> tuple[str, ...]:
        """Names of the actuators, in the order of commands: thrusters, then driven joints."""
        return self.plant.actuator_names

    def __reduce__(self):
        raise TypeError("a Simulation cannot be pickled or copied; pickle its Scenario and its state, and build it there")

    def reset(self, state: State | None = None) -> State:
        """Put the simulation into a state: the one given, or the model's initial one at time 0.

        Args:
            state: As an earlier `state` gave it, or one with t, q and v only.
        """
        given = self.model.initial() if state is None else state
        q = configuration(self.model, given.q)
        if np.abs(q - given.q).max(initial=0.0) < KEPT:
            q = np.array(given.q, dtype=float)  # to the last bit, as a resumed run needs it
        internal = np.asarray(given.internal, dtype=float)
        if internal.size == 0:
            internal = np.zeros(len(self.plant.internal_names))
        command = np.asarray(given.command, dtype=float)
        if command.size == 0:
            command = self._rest_command(q)
        holding = np.asarray(given.grasps, dtype=float)
        if holding.size == 0:
            holding = np.zeros(len(self.plant.grasps))
        wrench = np.asarray(given.wrench, dtype=float)
        if wrench.size == 0:
            wrench = np.zeros((len(self.plant.external), 6))
        for name, x, shape in (
            ("t", given.t, ()),
            ("q", q, (self.model.nq,)),
            ("v", given.v, (self.model.nv,)),
            ("grasps", holding, (len(self.plant.grasps),)),
            ("internal", internal, (len(self.plant.internal_names),)),
            ("command", command, (len(self.actuators),)),
            ("wrench", wrench, (len(self.plant.external), 6)),
        ):
            if np.shape(x) != shape:
                raise ValueError(f"state.{name} must have shape {shape}, got {np.shape(x)}; is it of another simulation?")
            if not np.isfinite(x).all():
                raise ValueError(f"state.{name} is {x}; its numbers must be finite")
        old = {
            k: v for k, v in self.__dict__.items() if k in ("_t", "_q", "_x", "_wrenches", "_command", "_steady", "_holding")
        }
        self._t, self._q, self._wrenches = float(given.t), q, wrench.copy()
        self._x = np.concatenate([np.asarray(given.v, dtype=float), internal])
        self._command, self._steady = command.copy(), None
        self._holding = holding.copy()
        if np.size(given.grasps) == 0:
            try:
                for grasp in self.plant.grasps:
                    if grasp.closed:
                        self.grasp(grasp.name)
            except ValueError:
                self.__dict__.update(old)
                raise
        if self.controller is not None:
            start = getattr(self.controller, "start", None)
            if start is not None:
                start(self)
            if np.size(given.memory):
                self.controller.memory = np.array(given.memory)
            elif self._first_memory is not None:
                self.controller.memory = self._first_memory.copy()
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
            wrench=self._wrenches.copy(),
            grasps=self._holding.copy(),
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
            values = self._command.copy()
            for name, value in command.items():
                if name not in self.actuators:
                    raise KeyError(f"no actuator {name!r}; there are {', '.join(self.actuators) or 'none'}")
                values[self.actuators.index(name)] = value
        else:
            values = np.array(command, dtype=float)
            if values.shape != self._command.shape:
                raise ValueError(
                    f"command must have shape {self._command.shape} ({', '.join(self.actuators)}), got {values.shape}"
                )
        bad = ~np.isfinite(values)
        if bad.any():
            k = int(np.argmax(bad))
            raise ValueError(f"t = {self._t:g} s: the command of {self.actuators[k]!r} is {values[k]}; it must be finite")
        self._command, self._steady = values, None

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
            self._steady = [t.curve.steady(c) for t, c in zip(plant.thrusters, self._command.tolist(), strict=False)]
        steady = self._steady
        flow, until = [], math.inf
        if plant.streams:
            segment = self._flow.segment(self._t + 1e-9 * self.step_size)
            flow, until = [*segment.velocity, *segment.slope, segment.t_begin], segment.t_end
        return np.array([*steady, *self._command[n:], *flow, *self._wrenches.ravel(), *self._holding]), until

    def _grasp_index(self, name: str) -> int:
        names = [g.name for g in self.plant.grasps]
        if name not in names:
            raise KeyError(f"no grasp {name!r}; there are {', '.join(names) or 'none'}")
        return names.index(name)

    def grasp(self, name: str) -> float:
        """Close a grasp. An impulse between the two makes their velocities equal and conserves momentum; the energy lost [J].

        The frames must meet within the grasp's tolerance.

        Args:
            name: Name of the grasp.
        """
        k = self._grasp_index(name)
        grasp, model, nv = self.plant.grasps[k], self.model, self.model.nv
        kin = dynamics.kinematics(model, self._q, self._x[:nv])
        rows = contact.grasp_rows(model, kin, grasp)
        distance, angle = (float(x) for x in contact.grasp_misfit(rows, grasp))
        if max(distance, angle) > grasp.tolerance:
            raise ValueError(
                f"t = {self._t:g} s: grasp {name!r}: {grasp.holder!r} and {grasp.held!r} do not meet: they are "
                f"{distance:.3g} m and {angle:.3g} rad apart, allowed are {grasp.tolerance:g}; "
                "move them together first, or widen its tolerance"
            )
        self._holding[k] = 1.0
        held = [contact.grasp_rows(model, kin, g).J for g, on in zip(self.plant.grasps, self._holding, strict=True) if on]
        M = inertia_matrix(self.plant, self._t, self._q, self._x[:nv], self._inputs()[0])
        before, v = self._kinetic_energy(), self._x[:nv].copy()
        self._x[:nv] = contact.grasp_impulse(M, np.concatenate(held), v)
        change = self._x[:nv] - v
        lost = 0.5 * float(change @ M @ change)
        given = self._kinetic_energy() - before + lost  # by water that flows: the impulse moves its added mass too
        for cause, work in (("grasps", -lost), ("water" if "water" in self.plant.causes else "grasps", given)):
            self._x[nv + self.plant.internal_names.index(f"work.{cause}")] += work
        return lost

    def _kinetic_energy(self) -> float:
        """Of bodies, rotors and water now [J]."""
        nv = self.model.nv
        e = evaluate(self.plant, self._t, self._q, self._x[:nv], self._x[nv:], self._inputs()[0])
        return float(e.kinetic_energy_body + e.kinetic_energy_fluid)

    def release(self, name: str) -> None:
        """Open a grasp.

        Args:
            name: Name of the grasp.
        """
        self._holding[self._grasp_index(name)] = 0.0

    def _saturated(self) -> np.ndarray:
        """Which commands of thrusters are beyond their curves, shape (nt,)."""
        limits = [(t.curve.commands[0], t.curve.commands[-1]) for t in self.plant.thrusters]
        return np.array([not a < c < b for c, (a, b) in zip(self._command, limits, strict=False)], dtype=float)

    # -- running ------------------------------------------------------------------------------------------------------------

    def compile(self) -> None:
        """Make the machine code now instead of at the first step."""
        if self._adaptive:
            self._stepper.embedded.code(1)
        elif self._blocks:
            self._blocks.compile()
        elif self._bound is None:
            self._bound = self._stepper.march.bound(1024)
        self._observer.code(1)

    def step(self, command=None, duration: float | None = None) -> State:
        """Advance with held commands and without the controller: by one step, or for a duration.

        Args:
            command: Commands, by name or in order; as they are unless given.
            duration: How long [s]; one step unless given.
        """
        duration = self.step_size if duration is None else positive(duration, "duration")
        self.compile()
        self.command = command
        self._advance(self._t + duration, None)
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
        duration = positive(duration, "duration")
        log = Log(step_warnings(self.plant, self._q, self.method, self.step_size))
        for text in log.messages:
            warnings.warn(text, stacklevel=2)
        recording = Recorder(self, recorder, dict(attrs or {}), log)
        t_end = self._t + duration
        ticks = Ticks(self, t_end, progress, real_time)
        started = time.perf_counter()
        watch = [event.watched(self) for event in self.events]
        stopped, t_start = None, self._t
        try:
            self._tick()
            recording.sample()
            while True:
                before = self.state
                self._advance(ticks.next(), None if watch else recording)
                ticks.look()
                stopped = happened(watch, before, log)
                if watch and (stopped or is_multiple(self._t, self.record, self.step_size)):
                    recording.sample()
                recording.commit()
                if stopped or self._t >= t_end - 1e-6 * self.step_size:
                    break  # at the end the controller is not asked: the next run asks
                self._tick()
        except SimulationDiverged as error:
            log.say(str(error))
            self._finish(recording, started, t_start, ticks, log, finished=0)
            raise
        except BaseException as error:
            log.say(f"t = {self._t:g} s: the run was broken off by {type(error).__name__}: {error}")
            self._finish(recording, started, t_start, ticks, log, finished=0)
            raise
        recording.last()
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
        if self.controller is not None and is_multiple(self._t, self.period, self.step_size):
            try:
                self.command = self.controller(self.state)
            except Exception as error:
                error.add_note(f"in the controller {type(self.controller).__name__} at t = {self._t:g} s")
                raise

    def _advance(self, t_end: float, recording: Recorder | None) -> None:
        """To a time, with held commands."""
        while self._t < t_end - min(1e-6 * self.step_size, 1e-10):
            inputs, until = self._inputs()
            if self._adaptive:
                at = (self._t, self._q, self._x, inputs, min(t_end, until), self.step_size, recording)
                try:
                    self._t, self._q, self._x = self._adaptive.advance(*at)
                except StepTooSmall as failure:
                    self._t, self._q, self._x = failure.at
                    raise self._diverged() from None
            elif self._blocks:
                self._t, self._q, self._x, good = self._blocks.advance(
                    self._t, self._q, self._x, inputs, min(t_end, until), self.step_size, recording
                )
                if not good:
                    raise self._diverged()
            else:
                self._march(inputs, min(t_end, until), recording)

    def _march(self, inputs: np.ndarray, t_end: float, recording: Recorder | None) -> None:
        """Fixed steps in compiled code towards a time: on the grid of steps, or one shorter step to it or to the end."""
        h = self.step_size
        n = round(self._t / h)
        offset = 0.0 if n * h == self._t else self._t - n * h
        steps = math.floor((t_end - self._t) / h + 1e-6)
        if abs(offset) > 1e-6 * h or steps == 0:
            grid = (math.floor(self._t / h + 1e-6) + 1) * h
            self._short_step(inputs, min(t_end, grid), recording)
            return
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
            raise self._diverged()

    def _short_step(self, inputs: np.ndarray, t_end: float, recording: Recorder | None) -> None:
        """One step that ends at a time."""
        bound, t = self._bound, self._t
        bound.state[0][0], bound.state[1][0], bound.state[2][0] = 0.0, self._q, self._x
        bound.inputs[0][0], bound.inputs[1][0], bound.inputs[2][0] = t_end - t, t, inputs
        if not bound.run(1, 2):
            raise self._diverged()
        self._t, self._q, self._x = t_end, bound.state[1][0].copy(), bound.state[2][0].copy()
        if recording is not None and is_multiple(t_end, self.record, self.step_size):
            recording.rows(np.array([t_end]), self._q[None], self._x[None], inputs)

    def _diverged(self) -> SimulationDiverged:
        """What to say of a run whose numbers are not finite any more; its quaternions may be off unit length."""
        with np.errstate(all="ignore"):
            V = np.array(dynamics.kinematics(self.model, self._q, self._x[: self.model.nv]).V, dtype=float)
            k = int(np.argmax(np.nan_to_num(np.linalg.norm(V, axis=1), nan=np.inf)))
            linear, angular = np.linalg.norm(V[k, :3]), np.linalg.norm(V[k, 3:])
        advice = [] if self._adaptive else step_warnings(self.plant, self.model.initial().q, self.method, self.step_size)
        remedy = f"take a step below {self.step_size:g} s, or use the integrator linearly_implicit"
        fastest = f"body {self.model.body_names[k]!r} moves fastest, at {linear:.3g} m/s and {angular:.3g} rad/s"
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
