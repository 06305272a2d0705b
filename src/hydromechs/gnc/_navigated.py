"""A controller that sees through sensors: what it is told of the state is what a navigation filter believes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hydromechs.contact.terrain import Terrain
from hydromechs.integrators import is_multiple
from hydromechs.model import State
from hydromechs.simulation import Controller, Simulation
from hydromechs.spatial import quaternion_matrix, rpy_from_matrix
from hydromechs.values import Array

from ._pack import Pack
from .navigation import Estimate, Navigation, Navigator
from .sensors import Aid, Instruments, JointEncoders, Reading, Sensor, common_period, normals, whole_periods

__all__ = ["Navigated"]

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
    velocity of the vehicle are the filter's and joints with encoders are as measured; all else is true.

    Args:
        controller: The inner controller; None: nothing gives commands, the sensors just measure.
        sensors: The sensors; a filter needs one `Imu`.
        navigation: The filter, and what the inner controller is told; None: the truth, but for joints with encoders.
        terrain: Ground that sensors see besides what the plant can touch.
    """

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

    def start(self, simulation: Simulation) -> None:
        """Compile the sensors and the filter, and start the inner controller.

        Args:
            simulation: The simulation that it will control.
        """
        model = simulation.model
        self._simulation = simulation
        self.instruments = Instruments(simulation.plant, self.sensors, simulation.step_size, self.terrain)
        self.navigator: Navigator | None = None
        if self.navigation is not None:
            self.navigator = self.navigation.filter.on(model, self.sensors)
        inner, of_inner = np.zeros(0), {}
        self.signals = {}
        if self.controller is not None:
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
        self._pack = Pack({**{k: (n,) for k, n in sizes.items()}, "last": (3, self._measured), "inner": (len(inner),)})
        self.memory = np.zeros(self._pack.size)
        views = self._pack.views(self.memory)
        views["instruments"][:], views["inner"][:] = self.instruments.start(), inner
        self._viewed, self._ends = np.zeros(0), np.cumsum([0, *map(len, self.instruments.channels)]).tolist()

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
        self._look()
        sim, t, (known, seen, last) = self._simulation, state.t, self._m["last"]
        arrived = self.instruments.sample(self._of_instruments, state, sim.parameters)
        for r in arrived:
            at = slice(self._ends[r.sensor], self._ends[r.sensor + 1])
            there = np.isfinite(r.value)
            known[at], seen[at], last[at] = there, there | (seen[at] > 0.0), np.where(there, r.value, last[at])
        self.messages = [] if self.navigator is None else self._navigate(self.navigator, state, arrived)
        if self.controller is None or not is_multiple(t, self.controller.period, sim.step_size):
            self._show(state, self.signal_values[len(self.signal_values) - self._inner :])
            return None
        self.controller.memory = self._m["inner"].copy()
        self.controller.signal_values = self.signal_values[len(self.signal_values) - self._inner :].copy()
        told = state if self.navigation is not None and self.navigation.read == "truth" else self._believed(state)
        commands = self.controller(told)
        self._m["inner"][:] = self.controller.memory
        self._show(state, self.controller.signal_values)
        self.messages = [*self.messages, *self.controller.messages]
        return commands

    def _show(self, state: State, inner: Array) -> None:
        """Values of the signals: measurements (NaN for what was not measured), estimate, those of the inner controller."""
        known, _, last = self._m["last"]
        shown = [np.where(known > 0.0, last, np.nan)]
        if self.navigator is not None:
            m = self._of_navigator
            shown += [_shown(self.navigator, self.navigator.estimate(m), state), state.t - m["heard"]]
        self.signal_values = np.concatenate([*shown, inner])

    def _navigate(self, navigator: Navigator, state: State, arrived: Sequence[Reading]) -> list[str]:
        m = self._of_navigator
        if not m["started"]:
            true = navigator.true(state)
            P = navigator.first_covariance(true)[:9, :9]
            draw = normals("navigation", (self._simulation.plant.seed,), 0, (9,))
            navigator.start(m, navigator.moved(true, -_root(P) @ draw), state.t)
        imu = self.sensors.index(navigator.imu)
        measured = next((r.value for r in arrived if r.sensor == imu), np.full(6, np.nan))
        aids = [r._replace(sensor=self._aids[r.sensor]) for r in arrived if r.sensor in self._aids]
        return navigator.tick(m, state.t, measured, aids)

    def _believed(self, state: State) -> State:
        """The state with the vehicle as estimated and joints as their encoders say."""
        q, v, model = state.q.copy(), state.v.copy(), self._simulation.model
        if self.navigator is not None:
            e, i = self.navigator.estimate(self._of_navigator), self.navigator.body
            q[model.q_slices[i]] = np.concatenate([e.position, e.orientation])
            v[model.v_slices[i]] = e.velocity
        _, seen, last = self._m["last"]
        for s, at in zip(self.sensors, self._ends, strict=False):
            if isinstance(s, JointEncoders) and seen[at]:
                for k, name in enumerate(s.joints):
                    part = model.joint_part(name)
                    q[part.q], v[part.v] = last[at + k], last[at + len(s.joints) + k]
        return replace(state, q=q, v=v)


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
