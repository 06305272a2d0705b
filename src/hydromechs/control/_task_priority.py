"""Task-priority control of vehicle and arm: each task uses the freedom that earlier tasks leave."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from hydromechs.compiler import Program, call, iterate, jacobian_program, trace
from hydromechs.errors import FieldError
from hydromechs.model import Model
from hydromechs.registry import Described
from hydromechs.simulation import Site, Tick, TracedBlock, Update
from hydromechs.spatial import clamp, matrix_from_rpy, maximum, minimum, positive_part, quaternion_matrix, where
from hydromechs.values import Array, Bound, Positive, Scalar, floats, nearest, positive

from ._cartesian import ToolPath, joint_limits, slowed
from ._damped_inverse import DIRECTIONS, Tool, pose_off, prioritised, smallest_singular_value
from ._pose_control import pose_waypoints
from ._reference import Servos
from ._speed_control import AXES, SpeedLoop

WIDE = 1e12
"""Limit assumed for joints without limits [rad or m]."""
APPROACH = 2.0
"""Maximum rate of approach to a joint limit per distance [1/s]."""


class Body(NamedTuple):
    """Controlled mechanism: vehicle and arm."""

    model: Model
    """Model of the mechanism."""
    vehicle: slice
    """Indices of the vehicle in q."""
    places: list[int]
    """Indices in v of the controlled velocities: six of the vehicle, then the joints."""
    joints: tuple[str, ...]
    """Names of the joints."""
    positions: list[int]
    """Indices of the joints in q."""


class Asked(NamedTuple):
    """Target of a task at one tick, as numbers or symbols."""

    J: Array
    """Jacobian with respect to vehicle velocity and joint rates, shape (m, 6 + n); inactive rows are 0."""
    rate: Array
    """Target velocity ẋ, shape (m,)."""
    shown: tuple[Array, Array] = (np.zeros(0), np.zeros(0))
    """Reference and error of the controlled quantities."""


class KinematicTask(Described, abc.ABC):
    """Base class of tasks of vehicle and arm, with Jacobian and target velocity."""

    @abc.abstractmethod
    def start(self, body: Body) -> None:
        """Find the named parts of the task in the model."""

    @abc.abstractmethod
    def __call__(self, tick: Tick) -> Asked:
        """Return the target of the task, in NumPy operations."""


class ToolTask(KinematicTask):
    """Task that moves a tool along a path: ẋ = V_ref + κ e − (velocity due to other joints), in world axes.

    Args:
        frame: Name of the tool frame.
        waypoints: Waypoints, as in `CartesianMotion`.
        swings: Additional sinusoids, as in `CartesianMotion`.
        directions: Controlled directions, as in `CartesianMotion`.
        stiffness: κ, decay rate of errors [1/s].
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
                raise ValueError(f"directions contains an unknown name {name!r}{nearest(str(name), DIRECTIONS)}")
        self.rows = [DIRECTIONS.index(name) for name in directions]

    def start(self, body: Body) -> None:
        self._body, self._tool = body, Tool(body.model, self.frame)

    def __call__(self, tick: Tick) -> Asked:
        wanted, rate, _ = self.path(tick.t)
        pose = self._tool.pose(tick.q)
        off = pose_off(pose, wanted[:3], matrix_from_rpy(wanted[3:]))
        others = tick.v.copy()
        others[self._body.places] = 0.0
        V = rate + self.stiffness * off - pose.J @ others
        return Asked(pose.J[self.rows][:, self._body.places], V[self.rows], (wanted[self.rows], off[self.rows]))


class VehicleTask(KinematicTask):
    """Task that holds or changes the vehicle pose: ẋ = κ (target − current) plus the rate of the path.

    Args:
        waypoints: Waypoints, as in `FollowPath`.
        parts: Controlled components of the pose, from x, y, z, roll, pitch, yaw.
        stiffness: κ, decay rate of errors [1/s].
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
                raise ValueError(f"parts contains an unknown name {name!r}{nearest(str(name), names)}")
        self.rows = [names.index(name) for name in parts]

    def start(self, body: Body) -> None:
        self._body = body

    def __call__(self, tick: Tick) -> Asked:
        """Return the target with angles as rotations about body axes, an approximation near level attitude."""
        here, (wanted, rate, _) = tick.q[self._body.vehicle], self.path(tick.t)
        R = quaternion_matrix(here[3:])
        angles = np.array(
            [np.arctan2(R[2, 1], R[2, 2]), np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])), np.arctan2(R[1, 0], R[0, 0])]
        )
        turn = (wanted[3:] - angles + np.pi) % (2.0 * np.pi) - np.pi
        off = np.concatenate([wanted[:3] - here[:3], turn])
        rest = np.zeros((3, len(self._body.places) - 6))
        J = np.concatenate([np.hstack([R, np.zeros((3, 3)), rest]), np.hstack([np.zeros((3, 3)), np.eye(3), rest])])
        return Asked(J[self.rows], (rate + self.stiffness * off)[self.rows])


class PostureTask(KinematicTask):
    """Task that moves joints to target positions: ẋ = κ (q_ref − q).

    Args:
        positions: Target positions, keyed by joint name [rad or m].
        stiffness: κ, decay rate of errors [1/s].
    """

    def __init__(self, *, positions: Mapping[str, float], stiffness: Positive = 0.3) -> None:
        self.positions, self.stiffness = dict(positions), positive(stiffness, "stiffness")

    def start(self, body: Body) -> None:
        for name in self.positions:
            if name not in body.joints:
                raise ValueError(f"posture: joint {name!r} is not controlled{nearest(name, body.joints)}")
        self._which = [body.joints.index(name) for name in self.positions]
        self._q = [body.positions[k] for k in self._which]
        self._n = len(body.places)

    def __call__(self, tick: Tick) -> Asked:
        J = np.eye(self._n)[[6 + k for k in self._which]]
        return Asked(J, self.stiffness * (np.array(list(self.positions.values())) - tick.q[self._q]))


class ManipulabilityTask(KinematicTask):
    """Task that avoids singular arm configurations by raising the manipulability w = √det(J Jᵀ) to w_0.

    For w < w_0, the rate along the unit vector of ∂w/∂q is κ (1 − w/w_0) |∂w/∂q|/w_0, which also vanishes at the maximum of w.

    Args:
        frame: Name of the tool frame.
        least: Manipulability threshold w_0 [unit of w].
        stiffness: Gain κ [1/s].
    """

    def __init__(self, *, frame: str, least: Positive, stiffness: Positive = 0.2) -> None:
        self.frame, self.least, self.stiffness = frame, positive(least, "least"), positive(stiffness, "stiffness")

    def start(self, body: Body) -> None:
        tool, columns = Tool(body.model, self.frame), body.places[6:]
        self._n, self._q = len(body.places), body.positions

        def measure(q: Array, moved: Array) -> Array:
            there = np.array(q)
            there[body.positions] = moved
            J = tool.pose(there).J[:3][:, columns]
            return np.asarray(_determinant(J @ J.T if J.shape[0] <= J.shape[1] else J.T @ J))

        program = trace(measure, {"q": (body.model.nq,), "moved": (len(columns),)}, name="manipulability")
        self._measure, self._slope = program, jacobian_program(program, ("moved",))

    def __call__(self, tick: Tick) -> Asked:
        """Return the target, which is inactive for w above w_0."""
        given = tick.q, tick.q[self._q]
        w = np.sqrt(positive_part(call(self._measure, *given)[0][()]))
        # ∂w/∂q = ∂det/∂q / 2 w
        slope = np.ravel(call(self._slope, *given)[0]) / (2.0 * where(w > 0.0, w, 1.0))
        length = np.sqrt(slope @ slope)
        wants = where(w < self.least, where(length >= 1e-9 * self.least, where(w > 0.0, 1.0, 0.0), 0.0), 0.0)
        J = np.zeros((1, self._n), dtype=slope.dtype)
        J[0, 6:] = wants * slope / where(wants, length, 1.0)
        return Asked(J, np.array([wants * self.stiffness * (1.0 - w / self.least) * length / self.least]))


def _determinant(M: Array) -> Scalar:
    if len(M) < 2:
        return M[0, 0] if len(M) else 1.0
    rest = [np.delete(M[1:], k, axis=1) for k in range(len(M))]
    return sum((-1.0) ** k * M[0, k] * _determinant(minor) for k, minor in enumerate(rest))


TASKS: dict[str, type[KinematicTask]] = {
    "tool": ToolTask,
    "vehicle": VehicleTask,
    "posture": PostureTask,
    "manipulability": ManipulabilityTask,
}
"""Task classes, keyed by type name in files."""


class TaskPriority(TracedBlock):
    """Controller that moves vehicle and arm together by tasks in order of priority.

    Joint limits have the highest priority: a joint approaches a limit at no more than 2/s times the distance less a margin. The
    tasks use the remaining freedom; see `prioritised`. The servo LQR tracks the vehicle velocity (roll and pitch as integrated
    angles). As the vehicle responds slowly, joint rates are solved again for the actual vehicle velocity before they are
    sent to the servos. The signals are those of `LqrSpeed`, and reference and error of each tool, such as
    "reference.tool.x".

    Args:
        tasks: Tasks, highest priority first: `ToolTask`, `VehicleTask`, `PostureTask`, `ManipulabilityTask`.
        joints: Names of the moving joints; defaults to all servo-driven joints.
        body: Name of the vehicle body; defaults to the first free body.
        margin: Minimum distance from a joint limit [rad or m].
        rates: Maximum speed [m/s], turning rate [rad/s] and joint rate [rad/s or m/s]. A common factor reduces all rates.
        bandwidth: Bandwidth of the servo LQR, as in `LqrSpeed` [rad/s].
        integral: Integral factor of the servo LQR, as in `LqrSpeed` [-].
        period: Command period [s].
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
                raise FieldError("tasks", task, f"item {k} must be a task, such as ToolTask(...)")
        self.tasks = tuple(tasks)
        self.joints, self.body, self.margin = joints, body, positive(margin, "margin")
        self.rates = floats(rates, 3, "rates")
        self.bandwidth, self.integral = positive(bandwidth, "bandwidth"), positive(integral, "integral")
        self.period = positive(period, "period")

    def prepare(self, site: Site) -> None:
        model = site.model
        self._loop = SpeedLoop(site, self.body, tuple(AXES), self.bandwidth, self.integral, self.period)
        self.notes = self._loop.notes
        servos = [n.removesuffix(".rate") for n in site.plant.layout.held if n.endswith(".rate")]
        names = tuple(n for n in site.actuators if n in servos) if self.joints is None else tuple(self.joints)
        self._servos = Servos(site, names)
        parts = [model.joint_part(n) for n in names]
        vehicle = self._loop.vehicle
        places = [*range(vehicle.v.start, vehicle.v.start + 6), *(p.v.start for p in parts)]
        self._body = Body(model, vehicle.q, places, names, [p.q.start for p in parts])
        self._limits = joint_limits(model, names)
        for task in self.tasks:
            task.start(self._body)
        self.first_memory = {"integrals": np.zeros(6), "tilt": np.zeros(2), "targets": np.zeros(len(names))}
        self.commanded = (*(t.name for t in vehicle.thrusters), *self._servos.commanded)
        self.signals = {f"{kind}.{x}": unit for kind in ("reference", "error") for x, unit in AXES.items()}
        for task in (task for task in self.tasks if isinstance(task, ToolTask)):
            shown = {DIRECTIONS[k]: "m" if k < 3 else "rad" for k in task.rows}
            self.signals |= {f"{kind}.{task.frame}.{x}": u for kind in ("reference", "error") for x, u in shown.items()}

    def velocities(self, given: Sequence[Asked], own: Array, targets: Array) -> tuple[Array, Array]:
        """Return vehicle velocity (6,) for the tasks, and joint rates (n,) for the `own` actual vehicle velocity (6,).

        `given` contains the targets of the tasks, `targets` (n,) the joint targets [rad or m].
        """
        tasks = [(asked.J, asked.rate) for asked in given]
        bounds = targets, self._limits, self.margin
        wanted = within_limits(tasks, *bounds)
        rates = within_limits([(J[:, 6:], rate - J[:, :6] @ own) for J, rate in tasks], *bounds)
        slower: Scalar = 1.0
        for most, part in zip(self.rates, (wanted[:3], wanted[3:6]), strict=False):
            slower = minimum(slower, most / maximum(np.sqrt(part @ part), 1e-300))
        return slower * wanted[:6], slowed(rates, self.rates[2])

    def update(self, tick: Tick) -> Update:
        targets = self._servos.remembered(tick)
        given = [task(tick) for task in self.tasks]
        nu, rates = self.velocities(given, tick.v[self._body.places[:6]], targets)
        tilt = tick.memory["tilt"] + self.period * nu[3:5]
        reference = np.array([*nu[:3], *tilt, nu[5]])
        driven = self._loop.driven(tick.q, tick.v, tick.memory["integrals"], reference)
        values = np.concatenate([reference, driven.error, *(part for asked in given for part in asked.shown)])
        return Update(
            {**driven.push.commands, **self._servos.commands(targets, rates, tick.t)},
            {"integrals": driven.memory, "tilt": tilt, "targets": targets + self.period * rates},
            dict(zip(self.signals, values, strict=True)),
        )


@cache
def _fewer_free(rows: tuple[int, ...], n: int, joints: int) -> Program:
    """Return a program that solves stacked tasks with `rows` rows each, and fixes joints that exceed permitted rates."""
    first = n - joints

    def fewer(held: Array, out: Array, J: Array, rate: Array, sizes: Array, bounds: Array) -> tuple[Array, ...]:
        ends = np.cumsum(rows)
        tasks = [(J[end - m : end], rate[end - m : end]) for m, end in zip(rows, ends.tolist(), strict=True)]
        out = prioritised(tasks, n, held, sizes)
        bounded = [clamp(x, *bound) for x, bound in zip(out[first:], bounds.T, strict=True)]
        fresh = [
            where(kept, 0.0, where(abs(b - x) > 1e-12, 1.0, 0.0))
            for kept, b, x in zip(held[0, first:], bounded, out[first:], strict=True)
        ]
        after = np.array(held)
        for k, new in enumerate(fresh):
            after[0, first + k] = where(new, 1.0, held[0, first + k])
            after[1, first + k] = where(new, bounded[k], held[1, first + k])
        return after, out, np.asarray(where(sum(fresh, start=0.0) > 0.0, 0.0, 1.0))

    shapes = {"held": (2, n), "out": (n,), "J": (sum(rows), n), "rate": (sum(rows),), "sizes": (len(rows),)}
    return trace(fewer, {**shapes, "bounds": (2, joints)}, name="fewer_free", outputs=("held", "out", "done"))


def within_limits(tasks: Sequence[tuple[Array, Array]], targets: Array, limits: np.ndarray, margin: float) -> Array:
    """Solve tasks (J (m_k, N), target velocity (m_k,)) in order of priority, shape (N,), with slower joints near limits.

    The last n entries belong to joints with `targets` (n,) and `limits` (n, 2); `margin` is the distance to keep [rad or m].
    """
    n, joints = tasks[0][0].shape[1], len(targets)
    if not joints:
        return prioritised(tasks, n)
    wide = np.clip(limits, -WIDE, WIDE)
    bounds = APPROACH * np.array([wide[:, 0] + margin - targets, wide[:, 1] - margin - targets])
    program = _fewer_free(tuple(len(J) for J, _ in tasks), n, joints)
    sizes = np.array([smallest_singular_value(J) for J, _ in tasks])
    J, rate = np.concatenate([J for J, _ in tasks]), np.concatenate([rate for _, rate in tasks])
    return iterate(program, joints + 1, np.zeros((2, n)), np.zeros(n), J, rate, sizes, bounds)[1]
