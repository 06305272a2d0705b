"""Task-priority control of a vehicle and its arm together: tasks in order, each in what the ones before it leave free."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.model import State
from hydromechs.registry import Described
from hydromechs.simulation import Controller, Simulation
from hydromechs.spatial import matrix_from_rpy, quaternion_matrix
from hydromechs.values import Bound, Positive, floats, nearest, positive

from ._cartesian import joint_limits
from ._inverse_kinematics import DIRECTIONS, Tool, damped_inverse, pose_off
from ._pose_control import pose_waypoints
from ._reference import Servos
from ._speed_control import AXES, SpeedLoop
from ._tool_path import ToolPath

CONFLICT = 0.2
"""Part of a task that those before it leave free below which it is damped."""
APPROACH = 2.0
"""Highest rate at which a joint nears its limit, per distance [1/s]."""


def prioritised(tasks: Sequence[tuple[np.ndarray, np.ndarray]], n: int) -> np.ndarray:
    """The velocity ζ that does tasks J_k ζ = ẋ_k in order of their priority, shape (n,).

        ζ_k = ζ_{k−1} + (J_k N_{k−1})⁺ (ẋ_k − J_k ζ_{k−1}),    N_k = N_{k−1} − (J_k N_{k−1})⁺ J_k N_{k−1},    ζ_0 = 0, N_0 = 1

    (Siciliano and Slotine 1991): what task k adds lies in the null space of all before it, whose velocities it does not change.
    The inverse is damped where little of a task is left free by those before it.

    Args:
        tasks: Jacobian (m_k, n) and wanted velocity (m_k,) of each, the most important first.
    """
    out, free = np.zeros(n), np.eye(n)
    for k, (J, rate) in enumerate(tasks):
        left = J @ free
        least = float(np.linalg.svd(J, compute_uv=False)[-1]) if k and J.size else 0.0
        size = max(0.05, CONFLICT * least)
        out = out + free @ (damped_inverse(left, damping=0.4 * size, threshold=size) @ (rate - J @ out))
        free = free - np.linalg.pinv(left, rcond=1e-6) @ left
    return out


class Body(NamedTuple):
    """What tasks look at: the mechanism of vehicle and arm."""

    simulation: Simulation
    """The simulation."""
    vehicle: slice
    """Place of the vehicle in q."""
    places: list[int]
    """Places in v of what is moved: the vehicle's six, then the joints."""
    joints: tuple[str, ...]
    """Names of the joints."""
    positions: list[int]
    """Places of the joints in q."""


class KinematicTask(Described, abc.ABC):
    """Something that vehicle and arm should do: its Jacobian and the velocity that it wants."""

    @abc.abstractmethod
    def start(self, body: Body) -> None:
        """Look up and compile what it needs."""

    @abc.abstractmethod
    def __call__(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """J (m, 6 + n) for the vehicle's velocity and the joints' rates, and ẋ (m,)."""


class ToolTask(KinematicTask):
    """A tool follows a path: ẋ = V_ref + κ e − (what joints that are not moved give), in world axes.

    Args:
        frame: Name of its frame.
        waypoints: As of `CartesianMotion`.
        swings: As of `CartesianMotion`.
        directions: As of `CartesianMotion`.
        stiffness: κ [1/s].
    """

    def __init__(
        self,
        *,
        frame: str,
        waypoints: Sequence[Mapping[str, Any]],
        swings: Sequence[Mapping[str, Any]] = (),
        directions: Sequence[str] = ("x", "y", "z"),
        stiffness: Positive = 1.0,
    ) -> None:
        self.frame, self.path, self.stiffness = frame, ToolPath(waypoints, swings), positive(stiffness, "stiffness")
        for name in directions:
            if name not in DIRECTIONS:
                raise ValueError(f"directions has {name!r}{nearest(str(name), DIRECTIONS)}")
        self.rows = [DIRECTIONS.index(name) for name in directions]

    def start(self, body: Body) -> None:
        self._body, self._tool = body, Tool(body.simulation.model, self.frame)

    def __call__(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """As of `KinematicTask`."""
        wanted, rate, _ = self.path(state.t)
        pose = self._tool(state.q)
        off = pose_off(pose, wanted[:3], np.array(matrix_from_rpy(wanted[3:]), dtype=float))
        others = state.v.copy()
        others[self._body.places] = 0.0
        self.shown = wanted[self.rows], off[self.rows]
        return pose.J[self.rows][:, self._body.places], (rate + self.stiffness * off - pose.J @ others)[self.rows]


class VehicleTask(KinematicTask):
    """The vehicle keeps or changes its place or attitude: ẋ = κ (wanted − present), plus the rate of the path.

    Args:
        waypoints: As of `FollowPath`.
        parts: What of the pose, of x, y, z, roll, pitch, yaw.
        stiffness: κ [1/s].
    """

    def __init__(
        self,
        *,
        waypoints: Sequence[Mapping[str, Any]],
        parts: Sequence[str] = ("roll", "pitch", "yaw"),
        stiffness: Positive = 0.3,
    ) -> None:
        self.path, self.stiffness = pose_waypoints(waypoints), positive(stiffness, "stiffness")
        names = ("x", "y", "z", "roll", "pitch", "yaw")
        for name in parts:
            if name not in names:
                raise ValueError(f"parts has {name!r}{nearest(str(name), names)}")
        self.rows = [names.index(name) for name in parts]

    def start(self, body: Body) -> None:
        self._body = body

    def __call__(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """As of `KinematicTask`; angles as turns about the body's axes, which is right near level."""
        here, (wanted, rate, _) = state.q[self._body.vehicle], self.path(state.t)
        R = np.array(quaternion_matrix(here[3:]), dtype=float)
        angles = np.array(
            [np.arctan2(R[2, 1], R[2, 2]), np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])), np.arctan2(R[1, 0], R[0, 0])]
        )
        turn = (wanted[3:] - angles + np.pi) % (2.0 * np.pi) - np.pi
        off = np.concatenate([wanted[:3] - here[:3], turn])
        J = np.zeros((6, len(self._body.places)))
        J[:3, :3], J[3:, 3:6] = R, np.eye(3)
        return J[self.rows], (rate + self.stiffness * off)[self.rows]


class PostureTask(KinematicTask):
    """Joints go to wanted positions: ẋ = κ (q_ref − q).

    Args:
        positions: Positions by joint [rad or m].
        stiffness: κ [1/s].
    """

    def __init__(self, *, positions: Mapping[str, float], stiffness: Positive = 0.3) -> None:
        self.positions, self.stiffness = dict(positions), positive(stiffness, "stiffness")

    def start(self, body: Body) -> None:
        for name in self.positions:
            if name not in body.joints:
                raise ValueError(f"posture: joint {name!r} is not moved{nearest(name, body.joints)}")
        self._which = [body.joints.index(name) for name in self.positions]
        self._q = [body.positions[k] for k in self._which]
        self._n = len(body.places)

    def __call__(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """As of `KinematicTask`."""
        J = np.eye(self._n)[[6 + k for k in self._which]]
        return J, self.stiffness * (np.array(list(self.positions.values())) - state.q[self._q])


class ManipulabilityTask(KinematicTask):
    """An arm stays away from singular configurations: its manipulability w = √det(J Jᵀ) rises to w_0 where it is below.

    The rate along the unit vector of ∂w/∂q is κ (1 − w/w_0) |∂w/∂q|/w_0: it dies away where w is highest, too.

    Args:
        frame: Name of the tool's frame.
        least: w_0 [in the unit of w].
        stiffness: κ [1/s].
    """

    def __init__(self, *, frame: str, least: Positive, stiffness: Positive = 0.2) -> None:
        self.frame, self.least, self.stiffness = frame, positive(least, "least"), positive(stiffness, "stiffness")

    def start(self, body: Body) -> None:
        self._body, self._tool = body, Tool(body.simulation.model, self.frame)

    def measure(self, q: np.ndarray) -> float:
        """w of the tool's place for the joints, at a configuration, shape (nq,)."""
        J = self._tool(q).J[:3][:, self._body.places[6:]]
        small = J @ J.T if J.shape[0] <= J.shape[1] else J.T @ J
        return float(np.sqrt(max(np.linalg.det(small), 0.0)))

    def __call__(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """As of `KinematicTask`; no rows where w is high enough."""
        w = self.measure(state.q)
        if w >= self.least:
            return np.zeros((0, len(self._body.places))), np.zeros(0)
        slope = np.zeros(len(self._body.places))
        for k, i in enumerate(self._body.positions, 6):
            up, down = state.q.copy(), state.q.copy()
            up[i] += 1e-5
            down[i] -= 1e-5
            slope[k] = (self.measure(up) - self.measure(down)) / 2e-5
        size = float(np.linalg.norm(slope)) / self.least
        if size < 1e-9:
            return np.zeros((0, len(slope))), np.zeros(0)
        return slope[None] / (size * self.least), np.array([self.stiffness * (1.0 - w / self.least) * size])


TASKS: dict[str, type[KinematicTask]] = {
    "tool": ToolTask,
    "vehicle": VehicleTask,
    "posture": PostureTask,
    "manipulability": ManipulabilityTask,
}
"""Tasks by their name in a list of tasks."""


class TaskPriority(Controller):
    """Moves a vehicle and its arm together by tasks in order of priority. A controller.

    Joint limits come first: a joint nears a limit less a margin with at most 2/s of the distance, and the tasks are done with
    what is left. Then come the tasks as `prioritised` does them. The vehicle's part of the velocity goes to its servo LQR (roll
    and pitch as integrated angles). The vehicle is slow: so the joints' rates, which go to their servos, are solved anew for
    the velocity that it has. Its signals are those of `LqrSpeed`, and reference and error of each tool, as "reference.tool.x".

    Args:
        tasks: Tasks, the most important first: `ToolTask`, `VehicleTask`, `PostureTask`, `ManipulabilityTask`.
        joints: Names of the joints that move; all servo-driven ones unless given.
        body: Name of the vehicle's body; the first free one unless given.
        margin: Distance from a joint's limit that is kept [rad or m].
        rates: Highest speed [m/s], turning rate [rad/s] and joint rate [rad/s or m/s]; beyond, all are scaled down together.
        bandwidth: As of `LqrSpeed` [rad/s].
        integral: As of `LqrSpeed` [-].
        period: Time between two commands [s].
    """

    def __init__(
        self,
        *,
        tasks: Sequence[KinematicTask],
        joints: Sequence[str] | None = None,
        body: str | None = None,
        margin: Positive = 0.05,
        rates: Annotated[Sequence[float], Bound(size=3)] = (0.5, 0.5, 1.0),
        bandwidth: Positive = 1.0,
        integral: Positive = 1.0,
        period: Positive = 0.05,
    ) -> None:
        for k, task in enumerate(tasks):
            if not isinstance(task, KinematicTask):
                raise FieldError("tasks", task, f"item {k} must be a task, as ToolTask(...)")
        self.tasks = tuple(tasks)
        self.joints, self.body, self.margin = joints, body, positive(margin, "margin")
        self.rates = floats(rates, 3, "rates")
        self.bandwidth, self.integral = positive(bandwidth, "bandwidth"), positive(integral, "integral")
        self.period = positive(period, "period")

    def start(self, simulation: Simulation) -> None:
        """Design the vehicle's speed control, look up the arm and compile."""
        model = simulation.model
        self._loop = SpeedLoop(simulation, self.body, tuple(AXES), self.bandwidth, self.integral, self.period).compile()
        self.notes = self._loop.notes
        servos = [n.removesuffix(".rate") for n in simulation.plant.layout.held if n.endswith(".rate")]
        names = tuple(n for n in simulation.actuators if n in servos) if self.joints is None else tuple(self.joints)
        self._servos = Servos(simulation, names)
        parts = [model.joint_part(n) for n in names]
        vehicle = self._loop.vehicle
        places = [*range(vehicle.v.start, vehicle.v.start + 6), *(p.v.start for p in parts)]
        self._body = Body(simulation, vehicle.q, places, names, [p.q.start for p in parts])
        self._limits = joint_limits(model, names)
        for task in self.tasks:
            task.start(self._body)
        self.memory = np.concatenate([np.zeros(8), np.full(len(names), np.nan)])
        """Integrals of the speed control (6), roll and pitch wanted [rad], targets of the joints."""
        self.signals = {f"{kind}.{x}": unit for kind in ("reference", "error") for x, unit in AXES.items()}
        for task in self._tools:
            shown = {DIRECTIONS[k]: "m" if k < 3 else "rad" for k in task.rows}
            self.signals |= {f"{kind}.{task.frame}.{x}": u for kind in ("reference", "error") for x, u in shown.items()}

    @property
    def _tools(self) -> list[ToolTask]:
        return [task for task in self.tasks if isinstance(task, ToolTask)]

    def velocities(self, state: State, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Velocity of the vehicle that the tasks ask for, shape (6,), and rates of the joints for its present one, shape (n,).

        Args:
            state: The state, or an estimate of it.
            targets: Targets of the joints so far [rad or m], shape (n,).
        """
        given = [task(state) for task in self.tasks]
        wanted = self._within_limits(given, targets)
        own = state.v[self._body.places[:6]]
        rates = self._within_limits([(J[:, 6:], rate - J[:, :6] @ own) for J, rate in given], targets)
        speeds = (np.linalg.norm(wanted[:3]), np.linalg.norm(wanted[3:6]))
        slower = min(1.0, *(most / max(float(x), 1e-300) for most, x in zip(self.rates, speeds, strict=False)))
        return slower * wanted[:6], rates * min(1.0, self.rates[2] / max(float(np.abs(rates).max(initial=0.0)), 1e-300))

    def _within_limits(self, given: list[tuple[np.ndarray, np.ndarray]], targets: np.ndarray) -> np.ndarray:
        """The tasks in order, with joints, the last of what is moved, held back that come near a limit."""
        n, first = given[0][0].shape[1], given[0][0].shape[1] - len(targets)
        low = APPROACH * (self._limits[:, 0] + self.margin - targets)
        high = APPROACH * (self._limits[:, 1] - self.margin - targets)
        kept: dict[int, float] = {}
        out = np.zeros(n)
        for _ in range(len(targets) + 1):
            held = [(np.eye(n)[first + k][None], np.array([rate])) for k, rate in kept.items()]
            out = prioritised([*held, *given], n)
            bounded = np.clip(out[first:], low, high)
            fresh = [int(k) for k in np.flatnonzero(np.abs(bounded - out[first:]) > 1e-12) if int(k) not in kept]
            if not fresh:
                break
            kept |= {k: float(bounded[k]) for k in fresh}
        return out

    def __call__(self, state: State) -> dict[str, float]:
        """Commands of thrusters and servos at a `state`."""
        if np.isnan(self.memory).any():  # the first call: from where the servos are told to be
            self.memory = np.concatenate([self.memory[:8], self._servos.targets(state)])
        targets = self.memory[8:]
        nu, rates = self.velocities(state, targets)
        tilt = self.memory[6:8] + self.period * nu[3:5]
        reference = np.array([*nu[:3], *tilt, nu[5]])
        driven = self._loop(state, self.memory[:6], reference)
        self.memory = np.concatenate([driven.memory, tilt, targets + self.period * rates])
        shown = [part for task in self._tools for part in task.shown]
        self.signal_values = np.concatenate([reference, driven.error, *shown])
        return driven.push.commands | self._servos.commands(targets, rates, state.t)
