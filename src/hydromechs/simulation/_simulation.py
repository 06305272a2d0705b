"""Simulation of a plant with an integrator, sensors and controllers at individual rates, events and a recording."""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from hydromechs import compiler
from hydromechs.contact import unrepresented_contacts
from hydromechs.equations import configuration
from hydromechs.errors import SimulationDiverged, placed
from hydromechs.hydro import Environment
from hydromechs.integrators import (
    FixedStep,
    Integrator,
    NotFinite,
    Point,
    method_named,
    reached,
    rounding,
    whole_steps,
)
from hydromechs.model import Model, State
from hydromechs.model.component import Component
from hydromechs.recording import ATTITUDE, STORED_ENERGIES, find_quantity, source_of, values_of
from hydromechs.values import floats, instances, nearest, positive

from . import _energy_ledger
from ._block import Block
from ._closing import closed, switched_off
from ._controller import Commands, Controller, as_controller
from ._events import Event, check_events, opening_events, settled_targets, switch_places, wrench_places
from ._initial_instant import InitialInstant
from ._live import LiveRun, size_faults
from ._mission import BlockPart, Mission
from ._mission_march import MissionMarch
from ._observe import coordinates, quantities
from ._one_world import OneWorld, PropagatedMarch
from ._plant import Plant
from ._programs import PlantPrograms
from ._ranges import CommandRanges, HeldRanges, by_name, input_values
from ._recorder import Recorder
from ._reduction import Guards
from ._setup import Setup, SimulationSource, setup_of
from ._start import check_is_state, check_start
from ._state_file import Run
from ._stiffness import divergence_hint, unstable_together
from ._water import below_the_bed

KEPT = 1e-9
"""Error of the norm of a quaternion below which the quaternion is not normalised [-]."""


class Simulation:
    """Simulation of a mechanism in water with components, controllers and a recording.

        sim = hm.Simulation(model, components=[hm.Thruster(...)], controller=my_controller, period=0.02)
        run = sim.run(60.0)
        run.recording.position.sel(body="vehicle")

        sim = hm.Simulation(hm.load_scenario("hold_in_gusts"), step=1e-3, seed=7)

    Args:
        what: A `Model`; a `Plant`, which contains `environment`, `components`, `seed` and names of `parameters`; or a
            `Scenario`, which contains all of these and the following arguments. Arguments override the values of a scenario.
        environment: Environment of a model: surface, current, gusts and waves. Defaults to still water.
        components: Components in any order: thrusters, drives, joint friction and stops, terrain, grasps, tethers, custom
            components. Contacts are derived from terrain. Joint friction and stops that are not listed are derived from the
            model.
        blocks: Sensors, a navigation filter and controllers (`PythonBlock`), instead of `controller`.
        parameters: Paths of numbers of the model that remain open, such as "vehicle.inertia.mass", or a mapping to their
            initial values. For a `Plant`, values of its open parameters. See `parameters`.
        controller: A `Controller` or a `Mission`, which is copied, or a function of the state that returns commands and is
            called every `period`.
        period: Time between two calls of a function [s]. Omit it for a `Controller`, which defines its own period.
        events: Events to detect.
        integrator: Integrator, or the name of one: rk4 (default), semi_implicit_euler, euler, linearly_implicit,
            dormand_prince, or a block method such as b4pc5. The last two restart at every sample and at every call of a
            controller.
        step: Step of the integrator [s], or initial step of an adaptive integrator. Defaults to 1 ms.
        record: Time between two samples of the recording [s]. Defaults to 20 ms.
        seed: Seed of gusts, waves and sensors. Defaults to 0. Runs with the same seed are bitwise identical.
        state: Initial state. Defaults to the initial state of the model or scenario.
        commands: Initial commands [unit of the actuator], keyed by actuator. Default to rest values.
        lanes: Worlds per vector operation of the compiled code. With the lanes and target of `Worlds`, a mission is bitwise
            identical to a world. Defaults to 1, the fastest code for one world.
        target: Device that runs a mission, one of `compiler.TARGETS`.
    """

    def __init__(
        self,
        what: Model | Plant | Setup | SimulationSource,
        *,
        environment: Environment | None = None,
        components: Iterable[Component] = (),
        blocks: Iterable[Block] = (),
        parameters: Iterable[str] | Mapping[str, Any] = (),
        controller: Controller | Mission | Callable[[State], Commands] | None = None,
        period: float | None = None,
        events: Iterable[Event] | None = None,
        integrator: str | Integrator | None = None,
        step: float | None = None,
        record: float | None = None,
        seed: int | None = None,
        state: State | None = None,
        commands: Mapping[str, float] | None = None,
        lanes: int = 1,
        target: str = compiler.NATIVE.target,
    ) -> None:
        setup = setup_of(what, environment, components, parameters, seed, blocks)
        self.plant = setup.plant
        """Simulated plant."""
        if integrator is not None and setup.engine:
            raise TypeError(
                f"integrator is given, but the engine {setup.engine!r} takes the steps itself; remove one of the two"
            )
        self.method = method_named(setup.integrator if integrator is None else integrator)
        self.step_size = positive(setup.step if step is None else step, "step")
        if controller is not None and blocks:
            raise TypeError("both controller and blocks are given; add PythonBlock(controller=...) to the blocks instead")
        mission = controller if isinstance(controller, Mission) else setup.mission
        if not isinstance(controller, Mission) and (given := as_controller(controller, period)) is not None:
            mission = Mission([BlockPart(given)])
        self.mission = None if mission is None else mission.own()
        """Sensors, filter and controllers, or None."""
        self.events: tuple[Event, ...] = ()
        """Events to detect."""
        self.period = None if self.mission is None else self._multiple(self.mission.tick_period, "period")
        self.record = self._multiple(setup.record if record is None else record, "record")
        gusts = self.plant.environment.gusts
        if gusts is not None:
            self._multiple(gusts.interval, "gusts.interval")
        values = parameters if isinstance(parameters, Mapping) else {}
        self._first_parameters = self.plant.parameter_values(values)
        self.plant.check_values(values)
        self.parameters: dict[str, Any] = {}
        """Values of open parameters, keyed by name; they can be set between two runs. `reset` restores the values of its
        state.
        """
        self._flow = self.plant.flow()
        self._programs, self._target = PlantPrograms(self.plant, self.method, lanes=lanes), target
        self._together: dict[tuple[float, bytes], list[str]] = {}
        valued = self.plant.with_values(self._first_parameters)
        layout = valued.laid_out() if self.plant.opens_components else self.plant.layout
        self._ranges, self._held_ranges = CommandRanges(layout), HeldRanges(self.plant)
        if state is None and setup.state is not None:  # open parameters of prescribed motions change the initial state
            state = valued.on_motions(setup.state) if self.plant.opens_components else setup.state
        self._first = valued.start if state is None else state
        self._first_commands = by_name(setup.commands if commands is None else commands, "commands")
        for text in self._ranges.faults(self._first_commands).values():
            raise ValueError(f"commands: {text}")
        self._first_memory = np.zeros(0)
        if self.mission is not None:
            with placed("controller"):
                self.mission.prepare(self)
            self._first_memory = self.mission.memory
        self.signals: dict[str, str] = {} if self.mission is None else dict(self.mission.signals)
        """Units of the signals of blocks, keyed by signal."""
        self._quantities = quantities(self.plant, self.signals)
        self._at = Point(0.0, np.zeros(0), np.zeros(0))
        self._command, self._held, self._signal, self._controlled = np.zeros(0), np.zeros(0), np.zeros(0), True
        self._energy_ledger = np.zeros(0)
        self.reset()
        self.watch(setup.events if events is None else events)

    def watch(self, events: Iterable[Event]) -> None:
        """Replace the events to detect."""
        given, own = instances(events, Event, "events", "events, such as Event(...)"), opening_events(self.plant.components)
        events = (*(e for e in given if e not in own), *own)
        for event, text in ((e, text) for e in events for text in self._ranges.faults(dict(e.command)).values()):
            raise ValueError(f"event {event.name!r}: {text}")
        check_events(events, self.plant, self.signals, self._at.t, self.step_size)
        self.events = events
        for made in ("march", "_ticks"):
            self.__dict__.pop(made, None)

    # -- construction -------------------------------------------------------------------------------------------------------

    def _multiple(self, value: Any, name: str) -> float:
        """Return `value`; raise `ValueError` unless it is an integer multiple of a fixed step."""
        value = positive(value, name)
        if not self.method.adaptive:
            whole_steps(value, self.step_size, name)
        return value

    # -- state --------------------------------------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """Model of the mechanism."""
        return self.plant.model

    @property
    def start_q(self) -> np.ndarray:
        """Copy of the initial configuration, shape (nq,)."""
        return self._given_q(self._first)

    def _given_q(self, given: Any) -> np.ndarray:
        """Return the configuration of a state argument after checking it, shape (nq,)."""
        check_is_state(given)
        q = configuration(self.model, given.q)
        if np.abs(q - given.q).max(initial=0.0) < KEPT:
            q = np.array(given.q, dtype=float)  # unchanged to the last bit, as a resumed run requires
        return q

    @property
    def controller(self) -> Controller | None:
        """Controller if the simulation has exactly one, otherwise None; with sensors, the controller reads measurements."""
        return self.mission.parts[0].block if self.mission is not None and len(self.mission.parts) == 1 else None

    @property
    def actuators(self) -> tuple[str, ...]:
        """Names of the commands in order."""
        return self.plant.layout.commands

    def __repr__(self) -> str:
        kinds: dict[str, int] = {}
        for c in self.plant.components:
            kinds[c.kind] = kinds.get(c.kind, 0) + 1
        acting = ", ".join(f"{n} {kind}" for kind, n in kinds.items()) or "no components"
        how = f"{self.method.name}, step {self.step_size:g} s"
        return f"<Simulation of {self.model.name} at t = {self._at.t:g} s: {acting}; {how}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Simulation cannot be pickled or copied; pickle its Scenario and its state, and build a new Simulation from both"
        )

    def reset(self, state: State | None = None) -> State:
        """Set the simulation to a state, and return the complete state.

        Args:
            state: An earlier `state`, or a state with only t, q and v. Defaults to the initial state.
        """
        given = self._first if state is None else state
        q = self._given_q(given)
        layout, plant = self.plant.layout, self.plant
        na = len(layout.commands)
        values: dict[str, Any] = {"t": given.t, "q": q, "v": np.asarray(given.v, dtype=float)}
        shapes: dict[str, tuple[int, ...]] = {"t": (), "q": (self.model.nq,), "v": (self.model.nv,)}

        def take(**defaults: np.ndarray) -> None:
            for name, default in defaults.items():
                x = np.asarray(getattr(given, name), dtype=float)
                values[name], shapes[name] = default if x.size == 0 else x, default.shape
            check_start(values, shapes, self.step_size)

        take(parameters=self._first_parameters)
        now = InitialInstant(plant, float(given.t), q, values["v"], plant.named_parameters(values["parameters"]))
        u0 = now.inputs()
        held = u0[na:]
        take(
            internal=np.concatenate([now.states(), np.zeros(len(layout.causes))]),
            command=u0[:na],
            held=held,
            memory=self._first_memory,
            signal=np.full(len(self.signals), np.nan),
            **({"energy_ledger": np.zeros(_energy_ledger.size(layout))} if np.size(given.energy_ledger) else {}),
        )
        if np.size(given.internal) == 0:
            now.check()
        old = self._at, self._command, self._held, self.parameters
        self.parameters = plant.named_parameters(values["parameters"])
        self._at = Point(float(given.t), q, np.concatenate([values["v"], values["internal"]]))
        self._command, self._held = np.array(values["command"]), np.array(values["held"])
        try:
            if np.size(given.command) == 0:
                self.command = self._first_commands
            if np.size(given.held) == 0 and plant.constrained:  # close constraints that are initially closed
                self._held = switched_off(plant, np.concatenate([self._command, self._held]))[na:]
                self._set_held(held)
        except (ValueError, KeyError):
            self._at, self._command, self._held, self.parameters = old
            raise
        self._programs.checks.begin(self._at.q)
        self._controlled, self._energy_ledger = bool(given.control), np.array(values.get("energy_ledger", ()), dtype=float)
        if self.mission is not None:
            self.mission.memory, self._signal = values["memory"], np.array(values["signal"])
            self.mission.show(self._signal)
        return self.state

    @property
    def state(self) -> State:
        """Copy of the complete state, from which a run can restart; set this property to continue from another state."""
        nv = self.model.nv
        memory = np.zeros(0) if self.mission is None else self.mission.memory
        return State(
            t=self._at.t,
            q=self._at.q.copy(),
            v=self._at.x[:nv].copy(),
            internal=self._at.x[nv:].copy(),
            command=self._command.copy(),
            held=self._held.copy(),
            memory=memory,
            parameters=self.plant.parameter_values(self.parameters),
            signal=self._signal.copy(),
            control=float(self._controlled),
            energy_ledger=self._energy_ledger.copy(),
        )

    @state.setter
    def state(self, state: State) -> None:
        self.reset(state)

    @property
    def command(self) -> np.ndarray:
        """Current commands [unit of the actuator], shape (na,); set in order, or as a mapping that may include held inputs."""
        return self._command.copy()

    @command.setter
    def command(self, command: Commands) -> None:
        if command is None:
            return
        taken = self._taken(command)[: len(self._command)]
        self._command = np.where(np.isfinite(taken), taken, self._command)
        for text in self._ranges.look(self._command):
            warnings.warn(text, stacklevel=2)

    def _taken(self, given: Commands) -> np.ndarray:
        """Set held inputs from a mapping; return commands and held inputs, NaN if omitted, shape (na + nh,)."""
        na = len(self._command)
        out = np.full(na + len(self._held), np.nan)
        if isinstance(given, Mapping):
            held = {name: x for name, x in given.items() if name in self.plant.layout.held}
            if held:
                self.held = held
                places = [self.plant.layout.held.index(name) for name in held]
                out[[na + k for k in places]] = self._held[places]
            given = {name: x for name, x in given.items() if name not in held}
        if given is not None:
            values = input_values(given, self._command, self.actuators, "actuator", self._at.t)
            named = [k for k, name in enumerate(self.actuators) if not isinstance(given, Mapping) or name in given]
            out[named] = values[named]
        return out

    @property
    def held(self) -> np.ndarray:
        """Held inputs, which events and callers set, such as external wrenches and switches, shape (nh,).

        They can be set in order or as a mapping.
        """
        return self._held.copy()

    @held.setter
    def held(self, values: Commands) -> None:
        self._set_held(input_values(values, self._held, self.plant.layout.held, "held input", self._at.t))

    @property
    def inputs(self) -> np.ndarray:
        """Current inputs of the compiled programs, as in `plant.layout`: commands, held inputs, run data, shape (nu,)."""
        return self._inputs(self._at.t)[0]

    @property
    def inputs_until(self) -> float:
        """End of the validity of `inputs` [s], when the slope of the current changes; infinite in steady water."""
        return self._inputs(self._at.t)[1]

    def set_wrench(self, body: str, wrench: Any) -> None:
        """Apply a wrench to a body until the next change.

        Args:
            body: Name of a body with an `ExternalWrench`.
            wrench: Wrench in body axes about the origin of the body [N, N·m], shape (6,).
        """
        places = wrench_places(self.plant)
        if body not in places:
            raise KeyError(f"body {body!r} has no external wrench; add ExternalWrench(body=...) to the components")
        values = np.array(floats(wrench, 6, f"the wrench on {body!r}"))
        if not np.isfinite(values).all():
            raise ValueError(f"wrench must be 6 finite numbers, got {wrench!r}")
        held = self._held.copy()
        held[places[body]] = values
        self._set_held(held)

    def grasp(self, name: str) -> float:
        """Close a grasp; return the energy lost [J].

        An impulse equalises the velocities of the frames and conserves momentum. The frames must coincide within the tolerance
        of the grasp.

        Args:
            name: Name of the grasp.
        """
        return self._switch({name: 1.0})

    def release(self, name: str) -> None:
        """Open a grasp. `name`: name of the grasp."""
        self._switch({name: 0.0})

    def switch_control(self, on: bool) -> None:
        """Turn the controllers on or off. While they are off, servos stop and signals are NaN; sensors and filter continue."""
        if not on:
            self.command = settled_targets(self.plant.layout, self._command, self._held, self._at.t)
            self._signal = np.full(len(self.signals), np.nan)
            if self.mission is not None:
                self.mission.show(self._signal)
        self._controlled = on

    def _switch(self, switches: Mapping[str, float]) -> float:
        """Open (0) and close (1) constraints, keyed by name; return the energy lost [J]."""
        places, held = switch_places(self.plant), self._held.copy()
        for name, on in switches.items():
            if name not in places:
                raise KeyError(f"unknown grasp {name!r}{nearest(name, places)}")
            held[places[name]] = on
        return self._set_held(held)

    def _inputs(self, t: float) -> tuple[np.ndarray, float]:
        """Return the inputs that are valid from time `t`, shape (nu,), and the end of their validity [s]."""
        data, until = self.plant.data(self._flow, t + max(1e-9 * self.step_size, rounding(t)), self.parameters)
        return np.concatenate([self._command, self._held, data]), until

    def _set_held(self, values: np.ndarray) -> float:
        """Set held inputs; return the energy lost in impulses of closing constraints [J], whose frames must coincide."""
        self._held_ranges.check(values)
        before, _ = self._inputs(self._at.t)
        after = before.copy()
        after[len(self._command) : len(self._command) + len(values)] = values
        self._at, lost = closed(self.plant, self._at, before, after)
        self._held = values
        return lost

    # -- running ------------------------------------------------------------------------------------------

    def compile(self) -> None:
        """Compile all programs before the first step."""
        self.march.compile()
        self._programs.observer.code(1)

    @cached_property
    def march(self) -> MissionMarch:
        """Compiled loop of sensors, controllers and steps."""
        if not isinstance(self.method, FixedStep):
            return PropagatedMarch(self._programs, self.mission, self.step_size, self.record)
        guards = Guards(self._programs, self.events, self.signals)
        how = self._programs.lanes, 1, guards, self._target
        return MissionMarch(self._programs, self.mission, self.step_size, self.record, *how)

    @cached_property
    def _ticks(self) -> OneWorld:
        return OneWorld(self, self.march)

    def step(self, command: Commands = None, duration: float | None = None) -> State:
        """Advance by one step or for a duration, with constant commands and without controllers; return the state.

        Args:
            command: Commands, as a mapping or in order. Default to the current commands.
            duration: Duration [s]. Defaults to one step.
        """
        duration = self.step_size if duration is None else positive(duration, "duration")
        self._programs.checks.look(self.step_size, self._at.q, self.plant.parameter_values(self.parameters))
        self.command = command
        self._at = self._advance(self._at, self._at.t + duration)
        return self.state

    def control(self) -> list[str]:
        """Run sensors and controllers that are due, as in a run; return messages. Controllers are idle while control is off."""
        return [] if self.mission is None else self._ticks.tick()

    def begin(
        self,
        *,
        path: str | os.PathLike[str] | None = None,
        progress: Callable[[float], None] | None = None,
        saved: Callable[[State], None] | None = None,
        real_time: float | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> LiveRun:
        """Begin an open-ended run, which `advance` continues and `close` ends.

        Args:
            path: New folder, such as "run.zarr", to which the recording is written during the run. Defaults to a recording in
                memory.
            progress: Function called regularly with the current time [s].
            saved: Function called with a state after all samples up to this state are recorded. A run that resumes from this
                state is bitwise identical.
            real_time: Simulated time per wall time [-], 1 for real time. Defaults to as fast as possible.
            attrs: Additional attributes of the recording.
        """
        self._ranges.counts.clear()
        self._programs.checks.begin(self._at.q)  # the inertia may differ at this configuration
        self._programs.checks.look(self.step_size, self._at.q, self.plant.parameter_values(self.parameters))
        self.compile()
        if not self._energy_ledger.size:
            stored = self._observed(self._at, tuple(STORED_ENERGIES))
            self._energy_ledger = _energy_ledger.begun(self.plant.layout, self._at.x, stored)
        own = {"integrator": self.method.name, "step": self.step_size, **dict(attrs or {})}
        recording = Recorder(self.plant, self._programs.observer, self.record, path, own, self.signals, self._energy_ledger)
        return LiveRun(self, recording, progress, saved or (lambda state: None), real_time, notes=self._notes())

    def _notes(self) -> list[str]:
        key = self.step_size, self.plant.parameter_values(self.parameters).tobytes()
        if key not in self._together:
            arguments = self.plant, self.method, self.march.bare.advanced, self._at, self.inputs
            self._together[key] = unstable_together(*arguments, self.step_size)
        return [*self._plant_notes(), *self._together[key]]

    def _plant_notes(self) -> list[str]:
        """Return the notes that do not depend on the step."""
        parts = [note for c in self.plant.components for note in c.notes]
        water = below_the_bed(self.model, self.plant.environment, self._at.q)
        return [*parts, *unrepresented_contacts(self.model, self.plant.components), *water]

    def run(
        self,
        duration: float,
        *,
        path: str | os.PathLike[str] | None = None,
        progress: Callable[[float], None] | None = None,
        saved: Callable[[State], None] | None = None,
        real_time: float | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Run:
        """Simulate for a duration with controllers and events, and return the run with its recording.

        Args:
            duration: Duration [s].
            path: Folder of the recording, as in `begin`.
            progress: Function called with the current time, as in `begin`.
            saved: Function called with recorded states, as in `begin`.
            real_time: Simulated time per wall time [-], as in `begin`.
            attrs: Additional attributes of the recording, as in `begin`.
        """
        duration = positive(duration, "duration")
        for _, text in size_faults(duration, self.step_size, self.record):
            raise ValueError(text)
        live = self.begin(path=path, progress=progress, saved=saved, real_time=real_time, attrs=attrs)
        for text in live.recorder.size_warning(duration):
            warnings.warn(text, stacklevel=2)
        live.advance(self._at.t + duration)
        return live.close()

    def _advance(self, at: Point, t_end: float) -> Point:
        try:
            while not reached(at.t, t_end, self.step_size):
                inputs, until = self._inputs(at.t)
                at = self.march.bare.advanced(at, inputs, min(t_end, until))
        except NotFinite as failure:
            self._at = failure.at
            raise self._diverged(failure.reason) from None
        return at

    def _value_of(self, name: str) -> Callable[[Point], float]:
        """Return a function from a point to the value of a recorded quantity with the current inputs."""
        head, index = find_quantity(name, self._quantities, coordinates(self.plant, self.signals))
        if head == "time":
            return lambda at: at.t
        source = source_of(head)
        return lambda at: float(values_of(head, self._observed(at, [source])[source][None], [index])[0])

    def _diverged(self, reason: str) -> SimulationDiverged:
        error = SimulationDiverged(
            f"t = {self._at.t:.6g} s: {reason}; {divergence_hint(self.plant, self._at, self.method, self.step_size)}"
        )
        error.state = self.state
        return error

    def observe(self) -> dict[str, np.ndarray]:
        """Return current values of all recorded variables, keyed by name; before the first run, work starts at 0."""
        return self._observed(self._at, [name for name in self._quantities if name not in {"time", *ATTITUDE}])

    def _observed(self, at: Point, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Return recorded variables at a point with the current inputs, keyed by name."""
        observer, layout, nv = self._programs.observer, self.plant.layout, self.model.nv
        arrays = np.array(at.t), at.q, at.x, self._inputs(at.t)[0]
        values = observer.single_results(*arrays)
        got = {a.name: value for a, value in zip(observer.recipe.outputs, values, strict=True)}
        computed = {"R_WB" if name == "orientation" else name for name in names} & got.keys()
        if self._programs.lanes > 1 and computed:  # guards get the same bits as in many worlds
            code = self._programs.observing(computed)
            got |= {a.name: value for a, value in zip(code.recipe.outputs, code(arrays), strict=True)}
        got |= {
            "q": at.q.copy(),
            "v": at.x[:nv].copy(),
            "command": self._command.copy(),
            "internal_state": at.x[nv:].copy(),
            "held_input": self._held.copy(),
            "signal": self._signal.copy(),
        }
        ledger = self._energy_ledger if self._energy_ledger.size else _energy_ledger.unknown(layout)
        got["work"], got["energy_residual"] = _energy_ledger.audited(layout, ledger, at.x, got)
        if "orientation" in names:  # dominates the run time
            got["orientation"] = self.plant.orientations(got["R_WB"][None], at.q[None])[0]
        return {name: got[name] for name in names}

    @cached_property
    def layout_names(self) -> str:
        """Names of all entries of a state, which identify its layout."""
        q, v = self.model.coordinate_names
        layout, opened = self.plant.layout, self.plant.parameters
        groups = (q, v, layout.states, layout.commands, layout.held, *([opened] if opened else []))
        kinds = ", ".join(type(part.block).__name__ for part in self.mission.parts) if self.mission is not None else ""
        remembers = f"; {kinds or 'sensors'} remembers {len(self._first_memory)}" if len(self._first_memory) else ""
        return "; ".join(",".join(names) for names in groups) + remembers
