"""The block of a navigation filter, and controllers that read the state which it estimates from sensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import numpy as np

from hydromechs.contact import Terrain
from hydromechs.model import State
from hydromechs.model.component import Component
from hydromechs.registry import Inline
from hydromechs.sensors import Aid, Measuring, Reading, Sensor, normals
from hydromechs.simulation import Block, Controller
from hydromechs.spatial import quaternion_matrix, rpy_from_matrix
from hydromechs.values import Array, check_fields

from ._filter import ErrorStateFilter
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


class Navigated(Measuring):
    """Sensors and a navigation filter in front of a controller. A controller.

    It runs at the rate of the fastest sensor. The inner controller is called at its own period with a state in which pose and
    velocity of the vehicle are the filter's, if there is one, and joints with encoders are as measured; all else is true. While
    control is off, sensors and filter go on. Where a simulation goes on without its controller (`Simulation.step`), the filter
    restarts at the next call, and reports it.

    Args:
        controller: The inner controller; None: nothing gives commands, the sensors just measure.
        sensors: The sensors; a filter needs one `Imu`.
        navigation: The filter, and what the inner controller reads; None: the truth, but for joints with encoders.
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
        super().__init__(controller, sensors=sensors, terrain=terrain)
        self.navigation = navigation

    @property
    def reads(self) -> str:
        return "" if self.navigation is None else self.navigation.read

    def _start_filter(self) -> tuple[dict[str, str], int]:
        self.navigator: Navigator | None = None
        if self.navigation is None:
            return super()._start_filter()
        self.navigator = self.navigation.filter.on(self._simulation.model, self.sensors)
        self._aids = {i: k for k, i in enumerate(i for i, s in enumerate(self.sensors) if isinstance(s, Aid))}
        signals = {f"navigation.{name}": unit for name, unit in ESTIMATED.items()}
        return signals | {f"{s.name}.age": "s" for s in self.navigator.aids}, self.navigator.pack.size

    def _look(self) -> None:
        viewed = self._viewed
        super()._look()
        if self.navigator is not None and self._viewed is not viewed:
            self._of_navigator = self.navigator.pack.views(self._m["navigator"])

    def __getstate__(self) -> dict[str, Any]:
        made = ("navigator", "_of_navigator")
        return {name: x for name, x in super().__getstate__().items() if name not in made}

    def _filter(self, state: State, arrived: Sequence[Reading]) -> list[str]:
        if self.navigator is None:
            return super()._filter(state, arrived)
        return self._navigate(self.navigator, state, arrived)

    def _filter_values(self, state: State) -> list[Array]:
        if self.navigator is None:
            return super()._filter_values(state)
        e = self.navigator.estimate(self._of_navigator)
        return [_shown(self.navigator, e, state), state.t - self._of_navigator["heard"]]

    def _given(self, state: State) -> State:
        """Return the state that the inner controller reads: the vehicle as estimated, joints as their encoders measure them."""
        if self.navigator is None:
            return super()._given(state)
        if self.reads == "truth":
            return state
        given, model, i = super()._given(state), self._simulation.model, self.navigator.body
        q, v, e = given.q, given.v, self.navigator.estimate(self._of_navigator)
        q[model.q_slices[i]] = np.concatenate([e.position, e.orientation])
        v[model.v_slices[i]] = e.velocity
        return replace(state, q=q, v=v)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Navigation(Block):
    """Navigation filter that estimates the motion of the vehicle for the controllers."""

    read: Literal["estimate", "truth"] = "estimate"
    """What the controller is told: the estimate, or the truth while sensors and filter run along."""
    filter: Annotated[ErrorStateFilter, Inline()] = field(default_factory=ErrorStateFilter)
    """The filter."""
    name: str = "navigation"
    """Name, unique among the blocks."""

    def __post_init__(self) -> None:
        check_fields(self)

    def before(
        self, controller: Controller | None, blocks: Sequence[Block], components: Sequence[Component]
    ) -> Controller | None:
        """Put the filter and all sensors in front of a controller."""
        inner = controller.controller if isinstance(controller, Measuring) else controller
        terrain = [part for part in components if isinstance(part, Terrain)]
        sensors = [block for block in blocks if isinstance(block, Sensor)]
        return Navigated(inner, sensors=sensors, navigation=self, terrain=terrain)


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
