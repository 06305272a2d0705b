"""A controller that sees through sensors: what it is told of the state is what a navigation filter believes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hydromechs.contact import Terrain
from hydromechs.integrators import is_multiple
from hydromechs.model import State
from hydromechs.sensors import (
    Aid,
    Imu,
    Instruments,
    JointEncoders,
    Mounted,
    Reading,
    Sensor,
    common_period,
    normals,
    whole_periods,
)
from hydromechs.simulation import Controller, Measured, Pack, Simulation
from hydromechs.spatial import quaternion_matrix, rpy_from_matrix
from hydromechs.values import Array

from ._filter import Navigation
from ._navigator import Estimate, Navigator

AXES, TURNS, RATES = ("x", "y", "z"), ("roll", "pitch", "yaw"), ("u", "v", "w", "p", "q", "r")
ESTIMATED = {
    **dict.fromkeys(AXES, "m"),
    **dict.fromkeys(TURNS, "rad"),
    **dict.fromkeys(RATES[:3], "m/s"),
    **dict.fromkeys(RATES[3:], "rad/s"),
    **{f"current_{x}": "m/s" for x in AXES},
    **{f"sigma_{x}": "m" for x in AXES},
    **{f"sigma_{x}": "rad" for x in TURNS},
    **{f"sigma_{x}": "m/s" for x in RATES[:3]},
    **{f"error_{x}": "m" for x in AXES},
    **{f"error_{x}": "rad" for x in TURNS},
    **{f"error_{x}": "m/s" for x in RATES[:3]},
}
"""Signals of a filter after "navigation.", with their units."""


class Navigated(Controller):
    """Sensors and a navigation filter in front of a controller. A controller.

    It runs at the rate of the fastest sensor. The inner controller is called at its own period with a state in which pose and
    velocity of the vehicle are the filter's, if there is one, and joints with encoders are as measured; all else is true. While
    control is off, sensors and filter go on. Where a simulation goes on without its controller (`Simulation.step`), the filter
    starts anew at the next call, and says so.

    Args:
        controller: The inner controller; None: nothing gives commands, the sensors just measure.
        sensors: The sensors; a filter needs one `Imu`.
        navigation: The filter, and what the inner controller is told; None: the truth, but for joints with encoders.
        terrain: Ground that sensors see besides what the plant can touch.
    """

    messages: Sequence[str] = ()

    def __init__(
        self,
        controller: Controller | None,
        *,
        sensors: Sequence[Sensor],
        navigation: Navigation | None = None,
        terrain: Sequence[Terrain] = (),
    ) -> None:
        if controller is not None and not isinstance(controller, Controller):
            raise TypeError(
                f"controller is {controller!r}, must be a Controller or None; a function as FunctionController(f, period)"
            )
        if not sensors:
            raise ValueError("sensors is empty; give at least one")
        self.controller, self.sensors, self.navigation = controller, tuple(sensors), navigation
        self.terrain = tuple(terrain)
        self.period = common_period(self.sensors)
        if controller is not None:
            whole_periods(controller.period, self.period, f"the period of {type(controller).__name__}")
        self.signals: Mapping[str, str] = {}
        """Names of what it shows of itself, with units."""
        self.messages: Sequence[str] = ()
        """Messages of its last call."""

    def _told_the_truth(self) -> list[str]:
        """What to say once of sensors for a filter that is not there."""
        names = ", ".join(repr(s.name) for s in self.sensors if isinstance(s, Imu | Aid))
        said = self._m["times"]
        if self.controller is None or not names or said[1]:
            return []
        said[1] = 1.0
        return [
            f"the controller is told the true pose and velocity: {names} only measure along, since there is no navigation; "
            "give navigation=Navigation() (in a file, the key navigation) for the estimate of a filter"
        ]

    def start(self, simulation: Simulation) -> None:
        """Compile the sensors and the filter, and start the inner controller."""
        model = simulation.model
        self._simulation = simulation
        self.instruments = Instruments(simulation.plant, self.sensors, simulation.step_size, self.terrain)
        self.navigator: Navigator | None = None
        if self.navigation is not None:
            self.navigator = self.navigation.filter.on(model, self.sensors)
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
        if self.navigator is not None:
            self.signals |= {f"navigation.{name}": unit for name, unit in ESTIMATED.items()}
            self.signals |= {f"{s.name}.age": "s" for s in self.navigator.aids}
        self.signals |= of_inner
        self._inner, self.signal_values = len(of_inner), np.full(len(self.signals), np.nan)
        self._aids = {i: k for k, i in enumerate(i for i, s in enumerate(self.sensors) if isinstance(s, Aid))}
        sizes = {"instruments": self.instruments.pack.size, "navigator": self.navigator.pack.size if self.navigator else 0}
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
            self._of_navigator = self.navigator.pack.views(self._m["navigator"]) if self.navigator else {}

    def __getstate__(self) -> dict[str, Any]:
        """What is compiled stays behind: `start` makes it anew."""
        made = ("_simulation", "instruments", "navigator", "_viewed", "_m", "_of_instruments", "_of_navigator")
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
        self.messages = self._told_the_truth() if self.navigator is None else self._navigate(self.navigator, state, arrived)
        e = None if self.navigator is None else self.navigator.estimate(self._of_navigator)
        if self.controller is None or ask is None or not is_multiple(t, self.controller.period, sim.step_size):
            self._show(state, e, self.signal_values[len(self.signal_values) - self._inner :])
            return None
        self.controller.memory = self._m["inner"].copy()
        self.controller.signal_values = self.signal_values[len(self.signal_values) - self._inner :].copy()
        self.controller.measured = self._said()
        told = state if self.navigation is not None and self.navigation.read == "truth" else self._believed(state, e)
        answer = ask(self.controller, told)
        self._m["inner"][:] = self.controller.memory
        self._show(state, e, self.controller.signal_values)
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

    def _show(self, state: State, e: Estimate | None, inner: Array) -> None:
        """Values of the signals: measurements (NaN for what was not measured), estimate, those of the inner controller."""
        known, _, last = self._m["last"]
        shown = [np.where(known > 0.0, last, np.nan)]
        if self.navigator is not None and e is not None:
            shown += [_shown(self.navigator, e, state), state.t - self._of_navigator["heard"]]
        self.signal_values = np.concatenate([*shown, inner])

    def _navigate(self, navigator: Navigator, state: State, arrived: Sequence[Reading]) -> list[str]:
        """Take the filter on by one period. It starts anew if it was not asked for longer: it knows nothing of the way."""
        m, (since, asked), said = self._of_navigator, self._m["times"], []
        late = state.t - asked - self.period > 0.5 * self.period
        if m["started"] and late:
            said.append(f"the filter was not asked since t = {asked:g} s; it starts anew")
        if not m["started"] or late:
            true = navigator.true(state)
            P = navigator.first_covariance(true)[:9, :9]
            draw = normals("navigation", (self._simulation.plant.seed,), 0, (9,))
            navigator.start(m, navigator.moved(true, -_root(P) @ draw), state.t)
            since = state.t
        self._m["times"][:] = since, state.t
        imu = self.sensors.index(navigator.imu)
        measured = next((r.value for r in arrived if r.sensor == imu), np.full(6, np.nan))
        known = [r for r in arrived if r.sensor in self._aids and r.time > since - 0.5 * self.period]  # not of before its start
        aids = [r._replace(sensor=self._aids[r.sensor]) for r in known]
        return said + navigator.tick(m, state.t, measured, aids)

    def _believed(self, state: State, e: Estimate | None) -> State:
        """The state with the vehicle as estimated and joints as their encoders say."""
        q, v, model = state.q.copy(), state.v.copy(), self._simulation.model
        if self.navigator is not None and e is not None:
            i = self.navigator.body
            q[model.q_slices[i]] = np.concatenate([e.position, e.orientation])
            v[model.v_slices[i]] = e.velocity
        _, seen, last = self._m["last"]
        for at, iq, iv in self._encoders:
            if seen[at]:
                q[iq], v[iv] = last[at : at + len(iq)], last[at + len(iq) : at + 2 * len(iq)]
        return replace(state, q=q, v=v)


def _frame(sensor: Sensor) -> str:
    """The frame that a sensor is mounted on; nothing for those of joints."""
    return sensor.frame if isinstance(sensor, Mounted) else ""


def _root(P: Array) -> Array:
    """A matrix L with L Lᵀ = P, for a P that may be singular."""
    values, vectors = np.linalg.eigh(P)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _shown(navigator: Navigator, e: Estimate, state: State) -> Array:
    """Values of `ESTIMATED`."""
    model, i = navigator.model, navigator.body
    pose, V = state.q[model.q_slices[i]], state.v[model.v_slices[i]]
    R, R_true = quaternion_matrix(e.orientation), quaternion_matrix(pose[3:])
    E = R.T @ R_true
    turn = 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
    return np.concatenate(
        [
            e.position,
            rpy_from_matrix(R),
            e.velocity,
            e.current,
            e.position_sigma,
            e.attitude_sigma,
            e.velocity_sigma,
            pose[:3] - e.position,
            turn,
            V[:3] - e.velocity[:3],
        ]
    )
