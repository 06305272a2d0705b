"""Sensors in front of a controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hydromechs.contact import Terrain
from hydromechs.integrators import is_multiple
from hydromechs.model import State
from hydromechs.simulation import Controller, Measured, Pack, Simulation
from hydromechs.values import Array

from ._encoders import JointEncoders
from ._imu import Imu
from ._instruments import Instruments, Reading, common_period, whole_periods
from ._sensor import Aid, Mounted, Sensor


class Measuring(Controller):
    """Sensors in front of a controller. A controller.

    It runs at the rate of the fastest sensor. The inner controller is called at its own period with a state in which joints
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

    def _start_filter(self) -> tuple[dict[str, str], int]:
        """Return the signals of a filter with their units, and the size of its memory."""
        return {}, 0

    def _filter(self, state: State, arrived: Sequence[Reading]) -> list[str]:
        """Advance the filter by one period; return messages: without one, that controllers read the true state, once."""
        names = ", ".join(repr(s.name) for s in self.sensors if isinstance(s, Imu | Aid))
        said = self._m["times"]
        if self.controller is None or not names or said[1]:
            return []
        said[1] = 1.0
        return [
            f"the controller reads the true pose and velocity: {names} only measure, since no block is a navigation filter; "
            "add Navigation() to the blocks (in a file, {type: error_state_filter}) for the estimate of a filter"
        ]

    def _filter_values(self, state: State) -> list[Array]:
        """Return the values of the filter's signals."""
        return []

    def _given(self, state: State) -> State:
        """Return the state that the inner controller reads: joints as their encoders measure them."""
        q, v = state.q.copy(), state.v.copy()
        _, seen, last = self._m["last"]
        for at, iq, iv in self._encoders:
            if seen[at]:
                q[iq], v[iv] = last[at : at + len(iq)], last[at + len(iq) : at + 2 * len(iq)]
        return replace(state, q=q, v=v)

    # -- a controller -----------------------------------------------------------------------------------------------------

    def start(self, simulation: Simulation) -> None:
        """Compile the sensors, and start the inner controller."""
        model = simulation.model
        self._simulation = simulation
        self.instruments = Instruments(simulation.plant, self.sensors, simulation.step_size, self.terrain)
        of_filter, filter_size = self._start_filter()
        inner, of_inner = np.zeros(0), {}
        self.signals = {}
        if self.controller is not None:
            self.controller.measured = {
                s.name: Measured(_frame(s), np.full(len(channels), np.nan))
                for s, channels in zip(self.sensors, self.instruments.channels, strict=True)
            }
            self.controller.start(simulation)
            inner = np.array(self.controller.memory, dtype=float)
            of_inner = dict(self.controller.signals)
            self.notes = self.controller.notes
        for s, channels in zip(self.sensors, self.instruments.channels, strict=True):
            self.signals |= {f"{s.name}.{c.label}": c.unit for c in channels}
        self._measured = len(self.signals)
        self.signals |= of_filter
        self.signals |= of_inner
        self._inner, self.signal_values = len(of_inner), np.full(len(self.signals), np.nan)
        sizes = {"instruments": self.instruments.pack.size, "navigator": filter_size}
        self._pack = Pack(
            {**{k: (n,) for k, n in sizes.items()}, "times": (2,), "last": (3, self._measured), "inner": (len(inner),)}
        )
        self.memory = np.zeros(self._pack.size)
        views = self._pack.views(self.memory)
        views["instruments"][:], views["inner"][:] = self.instruments.start(), inner
        self._viewed, self._ends = np.zeros(0), np.cumsum([0, *map(len, self.instruments.channels)]).tolist()
        self._encoders = []
        for s, at in zip(self.sensors, self._ends, strict=False):
            if isinstance(s, JointEncoders):
                parts = [model.joint_part(name) for name in s.joints]
                self._encoders.append((at, [p.q.start for p in parts], [p.v.start for p in parts]))

    def _look(self) -> None:
        """Make views into the memory if it is another one."""
        if self._viewed is not self.memory:
            self.memory = self._viewed = np.array(self.memory, dtype=float)
            self._m = self._pack.views(self.memory)
            self._of_instruments = self.instruments.pack.views(self._m["instruments"])

    def __getstate__(self) -> dict[str, Any]:
        """What is compiled stays behind: `start` makes it again."""
        made = ("_simulation", "instruments", "_viewed", "_m", "_of_instruments")
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

    def _ask(self, state: State, ask: Callable[[Controller, State], Any] | None) -> Any:
        """Measure and filter; if the inner controller is due and `ask` is set, return its answer, otherwise None."""
        self._look()
        sim, t, (known, seen, last) = self._simulation, state.t, self._m["last"]
        arrived = self.instruments.sample(self._of_instruments, state, sim.parameters)
        for r in arrived:
            at = slice(self._ends[r.sensor], self._ends[r.sensor + 1])
            there = np.isfinite(r.value)
            known[at], seen[at], last[at] = there, there | (seen[at] > 0.0), np.where(there, r.value, last[at])
        self.messages = self._filter(state, arrived)
        if self.controller is None or ask is None or not is_multiple(t, self.controller.period, sim.step_size):
            self._show(state, self.signal_values[len(self.signal_values) - self._inner :])
            return None
        self.controller.memory = self._m["inner"].copy()
        self.controller.signal_values = self.signal_values[len(self.signal_values) - self._inner :].copy()
        self.controller.measured = self._said()
        answer = ask(self.controller, self._given(state))
        self._m["inner"][:] = self.controller.memory
        self._show(state, self.controller.signal_values)
        self.messages = [*self.messages, *self.controller.messages]
        return answer

    def _said(self) -> dict[str, Measured]:
        """The last values of the sensors that said something."""
        _, seen, last = self._m["last"]
        out = {}
        for s, start, end in zip(self.sensors, self._ends, self._ends[1:], strict=False):
            if seen[start]:
                out[s.name] = Measured(_frame(s), last[start:end])
        return out

    def _show(self, state: State, inner: Array) -> None:
        """Values of the signals: measurements (NaN for what was not measured), estimate, those of the inner controller."""
        known, _, last = self._m["last"]
        self.signal_values = np.concatenate([np.where(known > 0.0, last, np.nan), *self._filter_values(state), inner])


def _frame(sensor: Sensor) -> str:
    """The frame that a sensor is mounted on; nothing for those of joints."""
    return sensor.frame if isinstance(sensor, Mounted) else ""
