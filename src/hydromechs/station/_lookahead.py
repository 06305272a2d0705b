"""Look-ahead: predicted outcomes of strategies of an operator, simulated in coarse steps within milliseconds."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hydromechs.errors import SimulationDiverged
from hydromechs.integrators import is_multiple, whole_steps
from hydromechs.model import State
from hydromechs.simulation import PythonBlock, Simulation, TracedBlock, body_poses
from hydromechs.values import positive
from hydromechs.worlds import rollout

from ._configuration import Configured
from ._delayed import DueInputs
from ._ghost import Deliver, OnMessage, advance, as_commands, discard, warn
from ._operator import Operator
from ._pilot import Pilot


@dataclass(frozen=True, slots=True)
class SetPoint:
    """Strategy that sends a setpoint to the on-board controller of the vehicle."""

    content: Any
    """Content of the message, in the form that `deliver` expects."""


Strategy: TypeAlias = Mapping[str, float] | TracedBlock | SetPoint
"""Constant commands and held inputs, keyed by name; or a control law; or a setpoint for the on-board controller."""


class Predictions(NamedTuple):
    """Predicted outcomes of strategies."""

    names: tuple[str, ...]
    t: np.ndarray
    """Times of the points, from the initial state on [s], shape (rows,)."""
    q: np.ndarray
    """Configurations of each strategy, shape (n, rows, nq)."""
    v: np.ndarray
    """Velocities of each strategy, shape (n, rows, nv)."""
    p_WB: np.ndarray
    """Origins of the bodies in world axes [m], shape (n, rows, nb, 3)."""
    R_WB: np.ndarray
    """Rotation matrices from body to world axes, shape (n, rows, nb, 3, 3)."""
    until: np.ndarray
    """Time up to which the prediction of each strategy is finite; a diverging prediction stops there [s], shape (n,)."""


class _Row(NamedTuple):
    """Predicted outcome of one strategy, as in `Predictions`."""

    q: np.ndarray
    v: np.ndarray
    until: float


class LookAhead:
    """Simulator of strategies, all of which start from the same present state.

        look_ahead = LookAhead(simulation)
        paths = look_ahead(state, {"as now": {}, "stop": {"thruster_1": 0.0}}, 10.0)

    Strategies with constant commands run in parallel on the SIMD lanes of one rollout. Each control law runs in a rollout of
    its own. Setpoints run in the simulation with its controller. A control law starts with its initial memory and is evaluated
    at the start and after each period; the on-board controller continues with its present memory. Programs are compiled at
    their first use and kept; a changed law must be a new object.

    Args:
        simulation: Simulation of the vehicle, reserved for the look-ahead; its plant, method, step and controller are used.
        deliver: Function that applies a setpoint to the vehicle. Defaults to setting commands.
        on_message: Function that receives the messages of the on-board controller. Defaults to warnings.
    """

    def __init__(self, simulation: Simulation, *, deliver: Deliver = as_commands, on_message: OnMessage = warn) -> None:
        self.simulation, self.deliver, self.on_message = simulation, deliver, on_message
        if simulation.method.adaptive:
            raise ValueError(f"a look-ahead requires a fixed step, but {simulation.method.name} is adaptive; use rk4")
        if not simulation.method.many_worlds:
            words = f"a look-ahead requires several worlds, but {simulation.method.name} supports only one"
            raise ValueError(f"{words}; use a Simulation of the plant without a third-party engine")
        self._poses = body_poses(simulation.model)

    def __call__(self, state: State, strategies: Mapping[str, Strategy], duration: float, *, every: float = 0.1) -> Predictions:
        """Return the predicted outcomes of strategies.

        Args:
            state: Initial state from a simulation or a ghost; a state with only q and v starts with inactive actuators.
            strategies: Strategies, keyed by name.
            duration: Predicted time, an integer multiple of `every` [s].
            every: Interval between points, an integer multiple of the step [s].
        """
        if not strategies:
            raise ValueError('strategies is empty; add at least one, such as {"stop": {"thruster_1": 0.0}}')
        sim = self.simulation
        rows = whole_steps(duration, positive(every, "every"), "duration")
        whole_steps(every, sim.step_size, "every")
        start = sim.reset(state)
        paths: dict[str, _Row] = {}
        held = {name: self._held(start, s) for name, s in strategies.items() if isinstance(s, Mapping)}
        if held:
            paths |= zip(held, self._roll(list(held.values()), rows, every), strict=True)
        for name, strategy in strategies.items():
            if isinstance(strategy, TracedBlock):
                [paths[name]] = self._roll([start], rows, every, strategy)
            elif isinstance(strategy, SetPoint):
                paths[name] = self._set_point(start, strategy, rows, every)
            elif name not in held:
                kinds = "must be commands keyed by name, a TracedBlock or a SetPoint"
                raise TypeError(f"strategy {name!r} is {strategy!r}, {kinds}")
        q, v, until = (np.array([paths[name][k] for name in strategies]) for k in range(3))
        flat = q.reshape(-1, q.shape[-1])
        p, R = self._poses([flat])
        shape, nb = q.shape[:2], sim.model.nb
        times = start.t + every * np.arange(rows + 1)
        return Predictions(tuple(strategies), times, q, v, p.reshape(*shape, nb, 3), R.reshape(*shape, nb, 3, 3), until)

    def _roll(self, begun: Sequence[State], rows: int, every: float, controller: TracedBlock | None = None) -> list[_Row]:
        """Roll out one world with constant inputs from each state; return q and v, shape (rows, n), and each end time."""
        sim, start = self.simulation, begun[0]
        layout, record = sim.plant.layout, whole_steps(every, sim.step_size, "every")
        held = {name: np.array([s.command[k] for s in begun]) for k, name in enumerate(layout.commands)}
        held |= {name: np.array([s.held[k] for s in begun]) for k, name in enumerate(layout.held)}
        worlds = rollout(
            sim.plant,
            np.array([s.q for s in begun]),
            np.array([s.v for s in begun]),
            held,
            sim.step_size,
            rows * record,
            method=sim.method,
            record=record,
            controller=controller,
            internal=np.array([s.internal for s in begun]),
            t=start.t,
            parameters=sim.plant.named_parameters(start.parameters),
        )
        return [_Row(*one) for one in zip(worlds.q, worlds.v, start.t + sim.step_size * worlds.good, strict=True)]

    def _held(self, start: State, strategy: Mapping[str, float]) -> State:
        """Return the initial state with the commands and held inputs of a strategy; switched constraints open or close here."""
        self.simulation.reset(start)
        self.simulation.command = strategy
        return self.simulation.state

    def _set_point(self, start: State, set_point: SetPoint, rows: int, every: float) -> _Row:
        sim = self.simulation
        states, contents = [sim.reset(start)], [set_point.content]
        until = start.t + rows * every
        for _ in range(rows):
            try:
                states.append(advance(sim, contents, every, self.deliver, self.on_message))
            except SimulationDiverged as error:
                until = error.state.t
                states += [states[-1]] * (rows + 1 - len(states))
                break
            contents = []
        return _Row(np.array([s.q for s in states]), np.array([s.v for s in states]), until)


AHEAD = 10.0
"""Look-ahead time [s]."""
PERIOD = 0.2
"""Interval between two commands of the predicted pilot, and between two points of a path [s]."""
STEP = 0.01
"""Maximum step of predictions [s]."""


class Outlook(NamedTuple):
    """Predicted paths of a vehicle for several strategies."""

    names: tuple[str, ...]
    t: np.ndarray
    """Times of the points [s], shape (rows,)."""
    points: np.ndarray
    """Positions of the vehicle in world axes [m], shape (n, rows, 3)."""
    until: np.ndarray
    """Time up to which each prediction is finite [s], shape (n,)."""
    computing_time: float
    """Wall-clock time of the computation [s]."""


class Strategies:
    """Prediction of three strategies: continue as now, stop and hold, full astern.

    The whole scenario is simulated with the true state instead of sensors, commands every 0.2 s, and steps up to 10 ms, unless
    a stiff component requires shorter steps.
    """

    def __init__(self, configured: Configured) -> None:
        self.configured = configured
        """Flown scenario."""
        self._inputs = DueInputs(Operator())  # the last delivered message remains in force
        step = configured.scenario.step
        longest = next((n for n in range(math.floor(STEP / step + 1e-9), 1, -1) if is_multiple(PERIOD, n * step, n * step)), 1)
        try:
            self._build(longest * step)
        except ValueError:
            if longest == 1:
                raise
            self._build(step)

    def _build(self, step: float) -> None:
        (block,) = self.configured.scenario.controllers
        assert isinstance(block.controller, Pilot)
        blocks = (PythonBlock(controller=block.controller.reading(self._inputs, PERIOD)),)
        blunt = replace(self.configured.scenario, blocks=blocks, events=(), checks=())
        simulation = replace(blunt, step=step, record=PERIOD, duration=AHEAD).simulation()
        pilot = simulation.controller
        assert isinstance(pilot, Pilot)
        self._pilot = pilot
        self._look = LookAhead(simulation, deliver=self._deliver, on_message=discard)
        self(simulation.state, pilot.memory, Operator())  # compiles

    def _deliver(self, simulation: Simulation, content: Operator) -> None:
        self._inputs.asked = content

    def __call__(self, state: State, memory: np.ndarray, asked: Operator) -> Outlook:
        """Predict the strategies from a state, the memory of the pilot and the present input, starting at a command time."""
        begin = time.perf_counter()
        ways = {
            "continue": replace(asked, gripper="keep"),
            "stop and hold": Operator(arm=asked.arm, arm_mode=asked.arm_mode),
            "full astern": Operator(mode="manual", axes=(-1.0, 0, 0, 0, 0, 0), arm=asked.arm, arm_mode=asked.arm_mode),
        }
        start = replace(state, t=round(state.t / PERIOD) * PERIOD, memory=memory, signal=np.zeros(0))
        paths = self._look(start, {name: SetPoint(way) for name, way in ways.items()}, AHEAD, every=PERIOD)
        points = paths.p_WB[:, :, self._pilot.vehicle.body]
        return Outlook(paths.names, paths.t, points, paths.until, time.perf_counter() - begin)
