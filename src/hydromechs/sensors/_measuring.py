"""Sensors in front of a controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hydromechs.compiler import Routine, RoutineCode
from hydromechs.contact import Terrain
from hydromechs.integrators import is_multiple
from hydromechs.model import State
from hydromechs.simulation import Controller, Measured, Mission, Pack, Plant, Simulation
from hydromechs.values import Array

from ._sampling import common_period, whole_periods
from ._sensing import REPORT, PlainSensing, messages_of
from ._sensor import Mounted, Sensor
from ._world_inputs import SEEDS, WorldInputs, world_arrays, world_places


class Measuring(Controller):
    """Sensors in front of a controller. A controller.

    It runs at the rate of the fastest sensor. The inner controller runs at its own period with a state in which joints
    with encoders are as measured; all else is true. While control is off, sensors continue.

    Args:
        controller: The inner controller; None: nothing gives commands, the sensors just measure.
        sensors: The sensors.
        terrain: Ground that sensors see besides what the plant can touch.
    """

    messages: Sequence[str] = ()

    def __init__(self, controller: Controller | None, *, sensors: Sequence[Sensor], terrain: Sequence[Terrain] = ()) -> None:
        if controller is not None and not isinstance(controller, Controller):
            raise TypeError(
                f"controller is {controller!r}, must be a Controller or None; a function as FunctionController(f, period)"
            )
        if not sensors:
            raise ValueError("sensors is empty; give at least one")
        self.controller, self.sensors, self.terrain = controller, tuple(sensors), tuple(terrain)
        self.period = common_period(self.sensors)
        if controller is not None:
            whole_periods(controller.period, self.period, f"the period of {type(controller).__name__}")
        self.signals: Mapping[str, str] = {}
        """Names of what it shows of itself, with units."""
        self.messages: Sequence[str] = ()
        """Messages of its last call."""

    # -- what a navigation filter adds ------------------------------------------------------------------------------------

    @property
    def reads(self) -> str:
        """State that the inner controller reads, for people; empty if it is the true one, but for joints with encoders."""
        return ""

    def _sensing(self, plant: Plant, step: float) -> PlainSensing:
        """Return what happens at a tick."""
        return PlainSensing(plant, self.sensors, self.terrain, step, controlled=self.controller is not None)

    def compiled_parts(self) -> tuple[Any, Mission | None] | None:
        if type(self).__call__ is not Measuring.__call__:  # a subclass does more at its ticks
            return None
        if self.controller is None:
            return self.sensing, None
        inner = self.controller.compiled_parts()
        return None if inner is None else (self.sensing, inner[1])

    # -- a controller -----------------------------------------------------------------------------------------------------

    def start(self, simulation: Simulation) -> None:
        """Compile the sensors, and start the inner controller."""
        plant, step = simulation.plant, simulation.step_size
        self._simulation = simulation
        self.sensing = self._sensing(plant, step)
        self._inputs = WorldInputs(plant, step)
        sampling = self.sensing.sampling
        inner, of_inner = np.zeros(0), {}
        if self.controller is not None:
            self.controller.measured = {
                s.name: Measured(_frame(s), np.full(len(channels), np.nan))
                for s, channels in zip(self.sensors, sampling.channels, strict=True)
            }
            self.controller.start(simulation)
            inner = np.array(self.controller.memory, dtype=float)
            of_inner = dict(self.controller.signals)
            self.notes = self.controller.notes
        self.signals = self.sensing.signals | of_inner
        self._inner, self.signal_values = len(of_inner), np.full(len(self.signals), np.nan)
        self._pack = Pack({**{name: x.shape for name, x in self.sensing.state.items()}, "inner": (len(inner),)})
        self.memory = np.zeros(self._pack.size)
        for name, x in self._pack.views(self.memory).items():
            x[...] = inner if name == "inner" else self.sensing.state[name]
        sizes = {name: x.size for name, x in self.sensing.state.items()} | world_arrays(plant)
        given = {name: x.size for name, x in self.sensing.inputs.items()} | {"inputs": plant.layout.size}
        self._results = {
            "seen_q": plant.model.nq,
            "seen_v": plant.model.nv,
            "measured": sampling.size,
            "signals": len(self.sensing.signals),
            "reports": REPORT * len(self.sensing.texts),
        }
        routine = Routine("sensing", sizes | self._results, given)
        for name, entries in self.sensing.add(routine, world_places(routine))._asdict().items():
            if entries.size:
                routine.copy(entries, routine[name])
        self._code = RoutineCode(routine, 1, 1)
        self._code.compile()
        self._given = {name: x[None] for name, x in self.sensing.inputs.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out compiled code; `start` makes it again."""
        made = ("_simulation", "sensing", "_inputs", "_code", "_given")
        return {name: x for name, x in self.__dict__.items() if name not in made}

    def __call__(self, state: State) -> Any:
        """Measure, filter, and ask the inner controller if its time has come."""
        return self._ask(state, lambda inner, told: inner(told))

    def idle(self, state: State) -> None:
        """Measure and filter; the inner controller is idle, too."""
        self._ask(state, lambda inner, told: inner.idle(told))

    def signals_at_end(self, state: State) -> Array:
        """Return the measurements and the estimate at the end of a run; the inner controller's signals do not change."""
        memory, values, messages = np.array(self.memory, dtype=float), self.signal_values, self.messages
        self._ask(state, None)
        shown, self.signal_values = self.signal_values, values
        self.memory, self.messages = memory, messages
        return shown

    def _sense(self, state: State, memory: Mapping[str, Array]) -> dict[str, Array]:
        """One tick of sensors and filter; `memory` is changed. Return results by the names of `Sensed`."""
        sim, sensing = self._simulation, self.sensing
        arrays = {name: memory[name].reshape(1, -1) for name in sensing.state}
        arrays |= self._inputs.arrays(state, self.period, sim.parameters)
        arrays |= {"seed": np.array([[float(sim.plant.seed % SEEDS)]]), "world": np.zeros((1, 1))}
        found = {name: np.zeros((1, size)) for name, size in self._results.items()}
        given = self._given | {"inputs": arrays.pop("inputs")}
        self._code.run(arrays | found, given, 1)
        return {name: x[0] for name, x in found.items()}

    def _ask(self, state: State, ask: Callable[[Controller, State], Any] | None) -> Any:
        """Measure and filter; if the inner controller is due and `ask` is set, return its answer, otherwise None."""
        self.memory = np.array(self.memory, dtype=float)
        memory = self._pack.views(self.memory)
        found = self._sense(state, memory)
        self.messages = messages_of(self.sensing.texts, found["reports"])
        before = self.signal_values[len(self.signal_values) - self._inner :]
        if (
            self.controller is None
            or ask is None
            or not is_multiple(state.t, self.controller.period, self._simulation.step_size)
        ):
            self.signal_values = np.concatenate([found["signals"], before])
            return None
        self.controller.memory, self.controller.signal_values = memory["inner"].copy(), before.copy()
        self.controller.measured = self._measured(found["measured"])
        answer = ask(self.controller, replace(state, q=found["seen_q"], v=found["seen_v"]))
        memory["inner"][:] = self.controller.memory
        self.signal_values = np.concatenate([found["signals"], self.controller.signal_values])
        self.messages = [*self.messages, *self.controller.messages]
        return answer

    def _measured(self, last: Array) -> dict[str, Measured]:
        """Return the last values of the sensors of which something was received."""
        places = zip(self.sensors, self.sensing.sampling.places, strict=True)
        return {s.name: Measured(_frame(s), last[at]) for s, at in places if np.isfinite(last[at]).any()}


def _frame(sensor: Sensor) -> str:
    """Name of the frame that a sensor is mounted on; empty for those of joints."""
    return sensor.frame if isinstance(sensor, Mounted) else ""
