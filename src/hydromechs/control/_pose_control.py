"""Pose control of a vehicle with thrusters: PID on SE(3) with feedforward at the reference velocity."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from hydromechs.equations import inverse_dynamics, mass_matrix
from hydromechs.hydro import Environment, profile_factor
from hydromechs.model import Model
from hydromechs.simulation import Site, Tick, TracedBlock, Update
from hydromechs.spatial import (
    cross,
    matrix_from_rpy,
    norm,
    quaternion_exp,
    quaternion_from_matrix,
    quaternion_matrix,
    quaternion_product,
    where,
)
from hydromechs.values import Array, Bound, Finite, Positive, Scalar, floats, nearest, number, positive

from ._reference import JointTrajectory, Waypoints, listed_waypoints
from ._vehicle import WAYS, Vehicle, pose_notes

WAYPOINT = {"t", "position", "heading_deg", "pitch_deg", "roll_deg"}
"""Keys of a waypoint in a scenario file."""
POSE = {"x": "m", "y": "m", "z": "m", "roll": "rad", "pitch": "rad", "yaw": "rad"}
"""Components of a pose in signals, with units."""


def pose_error(pose: Array, reference: Array) -> tuple[Array, Array, Array]:
    """Return pose error (6,), reference velocity and reference acceleration (6,) in body axes."""
    turn, R = pose[3:], quaternion_matrix(pose[3:])
    difference = quaternion_product(np.array([turn[0], -turn[1], -turn[2], -turn[3]]), _quaternion(reference[0, 3:]))
    sign = where(difference[0] >= 0.0, 1.0, -1.0)  # the shorter rotation
    sine = norm(difference[1:]) + 1e-150
    angle = 2.0 * np.arctan2(sine, sign * difference[0]) / sine
    e = np.concatenate([R.T @ (reference[0, :3] - pose[:3]), sign * angle * difference[1:]])
    # rates of the angles count as angular velocity about the world's axes: exact for the heading
    V, a = (np.concatenate([R.T @ reference[k, :3], R.T @ reference[k, 3:]]) for k in (1, 2))
    return e, V, a


def pose_waypoints(waypoints: Sequence[Mapping[str, Any]]) -> Waypoints:
    """Return a path of position and roll, pitch, heading from waypoints as in `FollowPath`."""
    rows, times = [], []
    for k, w in enumerate(listed_waypoints(waypoints)):
        unknown = sorted(set(w) - WAYPOINT) if isinstance(w, Mapping) else []
        if unknown:
            raise ValueError(f"waypoint {k} has the unknown key {unknown[0]!r}{nearest(str(unknown[0]), sorted(WAYPOINT))}")
        if not isinstance(w, Mapping) or "position" not in w:
            others = ", ".join(sorted(WAYPOINT - {"position"}))
            raise ValueError(f"waypoint {k} is {w!r}; set position (3 numbers) and optionally {others}")
        angles = [number(w.get(x, 0.0), f"{x} of waypoint {k}") for x in ("roll_deg", "pitch_deg", "heading_deg")]
        rows.append([*floats(w["position"], 3, f"position of waypoint {k}"), *map(math.radians, angles)])
        times.append(number(w.get("t", 0.0), f"t of waypoint {k}"))
    return Waypoints(times, rows)


def pose_law(
    model: Model, body: int, inertia: Array, gains: Array, q: Array, v: Array, memory: Array, reference: Array
) -> tuple[Array, Array]:
    """Return the wrench of the pose controller and the integrand of its integral, in body axes, shape (6,) each.

    The position integral is stored in world axes, in which a steady current remains constant while the vehicle turns.

        τ = M (v̇_ref + 2 ζ ω_0 ė + ω_0² e + (ω_0³/k) ∫e dt) + C(q, v_ref) v_ref + D(q, v_ref) + g(q)

    C v_ref contains the Munk moment of the path speed, which grows with the angle to the path. Without this term, attitude
    stiffness would decrease with path speed and vanish at high speed.

    `body`: index of the vehicle body; `inertia`: M, shape (6, 6); `gains`: factors of e, ė and ∫e dt for position, then for
    orientation, shape (2, 3); `memory`: ∫e dt with positions in world axes, shape (6,); `reference`: position and roll, pitch,
    heading, with first and second derivatives, shape (3, 6).
    """
    iq, iv = model.q_slices[body].start, model.v_slices[body].start
    e, V, a = pose_error(q[iq : iq + 7], reference)
    rate = V - v[iv : iv + 6]
    R = quaternion_matrix(q[iq + 3 : iq + 7])
    summed = np.concatenate([R.T @ memory[:3], memory[3:]])
    numbers = a - np.concatenate([cross(V[3:], V[:3]), np.zeros(3)])  # v̇_ref: the rate of the components in body axes
    wanted = [numbers[k] + _pid(gains[k // 3], e[k], rate[k], summed[k]) for k in range(6)]
    moving = np.array([V[k - iv] if iv <= k < iv + 6 else 0.0 for k in range(model.nv)])
    known = inverse_dynamics(model, q, moving, np.zeros(model.nv))
    integrand = np.concatenate([reference[0, :3] - q[iq : iq + 3], e[3:]])
    return inertia @ np.array(wanted) + known[iv : iv + 6], integrand


def _pid(gains: Array, e: Scalar, rate: Scalar, integral: Scalar) -> Scalar:
    return gains[0] * e + gains[1] * rate + gains[2] * integral


class FollowPath(TracedBlock):
    """Controller that moves a vehicle along waypoints with thrusters, and optionally an arm along waypoints.

        τ = M (v̇_ref + 2 ζ ω_0 ė + ω_0² e + (ω_0³/k) ∫e dt) + C(q, v_ref) v_ref + D(q, v_ref) + g(q)

    e is the error of position and orientation (rotation vector) in body axes. M is the inertia of vehicle, arm and added
    mass in the initial configuration of the model, so the law does not depend on the state at which a run starts or
    resumes. g is weight and buoyancy in the current configuration. C and D are coupling (with the Munk moment) and damping
    in still water at the reference velocity. The integral removes the steady force of the current; it pauses while
    thrusters saturate. Bounded least squares allocate the thrusts.

    `notes` reports a current whose moment exceeds the attitude stiffness, and degrees of freedom that the thrusters cannot
    control. A path that uses only such degrees of freedom is rejected. The signals are reference and error of position (world
    axes) and of roll, pitch, yaw (rotation vector to the reference, body axes). An arm adds the signals of `JointTrajectory`.

    Args:
        waypoints: Mappings with t [s], position (3,) in world axes [m], and heading_deg, pitch_deg, roll_deg (default 0).
        arm: Waypoints of servo-driven joints, as in `JointTrajectory`; optional.
        body: Name of the vehicle body. Defaults to the first free body.
        frequency: ω_0, natural frequency of the closed loop for position [rad/s].
        attitude_frequency: Natural frequency of the closed loop for orientation [rad/s]. Defaults to twice `frequency`.
        damping: ζ, damping ratio of position and orientation [-].
        integral: k [-]; a larger value weakens the integral.
        period: Command period [s].
    """

    def __init__(
        self,
        *,
        waypoints: Sequence[Mapping[str, Any]],
        arm: Sequence[Mapping[str, Any]] = (),
        body: str | None = None,
        frequency: Positive = 0.6,
        attitude_frequency: Positive | None = None,
        damping: Positive = 1.0,
        integral: Positive = 5.0,
        period: Positive = 0.05,
    ) -> None:
        frequency, damping = positive(frequency, "frequency"), positive(damping, "damping")
        attitude = 2.0 * frequency if attitude_frequency is None else positive(attitude_frequency, "attitude_frequency")
        integral = positive(integral, "integral")
        self.path = pose_waypoints(waypoints)
        moves = not isinstance(arm, Sequence) or isinstance(arm, str) or len(arm) > 0
        self.arm = JointTrajectory(waypoints=listed_waypoints(arm, "arm"), period=period) if moves else None
        self.body, self.period = body, positive(period, "period")
        self.gains = tuple((f**2, 2.0 * damping * f, f**3 / integral) for f in (frequency, attitude))
        if not np.isfinite(self.gains).all():
            raise ValueError(
                f"frequency {frequency:g}, damping {damping:g} and integral {integral:g} cause infinite gains; reduce "
                "frequency or damping, or increase integral"
            )
        self.first_memory = {"integral": np.zeros(6)}

    def __repr__(self) -> str:
        of = "" if self.body is None else f" of {self.body!r}"
        times = self.path.times
        return f"<FollowPath{of}: {len(times)} waypoints from t = {times[0]:g} to {times[-1]:g} s, every {self.period:g} s>"

    def prepare(self, site: Site) -> None:
        self._model = model = site.model
        self._vehicle = Vehicle(site, self.body)
        at = self._vehicle.v
        inertia = np.array(mass_matrix(model, model.initial().q), dtype=float)[at, at]
        self.notes = [
            *pose_notes(self._vehicle, self._vehicle.axes, self.path.points),
            *current_notes(self._vehicle, model, site.plant.environment, self.path, inertia, self.gains[1]),
        ]
        self.design = {"gains": self.gains, "inertia": inertia}
        self.commanded = tuple(t.name for t in self._vehicle.thrusters)
        self.signals = {f"{kind}.{x}": unit for kind in ("reference", "error") for x, unit in POSE.items()}
        if self.arm is not None:
            self.arm.prepare(site)
            self.commanded += self.arm.commanded
            self.signals |= self.arm.signals

    def update(self, tick: Tick) -> Update:
        """Return the commands of thrusters and arm; the integral pauses while a thruster saturates."""
        reference, summed, design = np.array(self.path(tick.t)), tick.memory["integral"], tick.design
        body = self._vehicle.body
        wrench, e = pose_law(self._model, body, design["inertia"], design["gains"], tick.q, tick.v, summed, reference)
        push = self._vehicle.push(wrench)
        arm = Update() if self.arm is None else self.arm.update(tick)
        own = dict(zip(self.signals, [*reference[0], *e], strict=False))
        after = [where(push.saturated, x, x + self.period * off) for x, off in zip(summed, e, strict=True)]
        return Update({**push.commands, **arm.commands}, {"integral": after}, {**own, **arm.signals})


class HoldPose(FollowPath):
    """Controller that holds the pose of a vehicle; other arguments are those of `FollowPath`.

    Args:
        position: Setpoint in world axes [m], shape (3,).
        heading_deg: Heading [°].
    """

    def __init__(
        self,
        *,
        position: Annotated[Sequence[float], Bound(size=3)],
        heading_deg: Finite = 0.0,
        arm: Sequence[Mapping[str, Any]] = (),
        body: str | None = None,
        frequency: Positive = 0.6,
        attitude_frequency: Positive | None = None,
        damping: Positive = 1.0,
        integral: Positive = 5.0,
        period: Positive = 0.05,
    ) -> None:
        super().__init__(
            waypoints=[{"t": 0.0, "position": position, "heading_deg": heading_deg}],
            arm=arm,
            body=body,
            frequency=frequency,
            attitude_frequency=attitude_frequency,
            damping=damping,
            integral=integral,
            period=period,
        )

    def __repr__(self) -> str:
        of = "" if self.body is None else f" of {self.body!r}"
        *place, _, _, heading = self.path.points[0].tolist()
        at = ", ".join(f"{x:g}" for x in place)
        return f"<HoldPose{of}: ({at}) m, heading {math.degrees(heading):g}°, every {self.period:g} s>"


def _quaternion(rpy: Array) -> Array:
    (cr, sr), (cp, sp), (cy, sy) = ((np.cos(0.5 * angle), np.sin(0.5 * angle)) for angle in rpy)
    return np.array(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ]
    )


TURN = 1e-4
"""Step of finite differences of the attitude [rad]."""
SLOW = 1e-6
"""Speed below which water counts as still [m/s]."""
DIGITS = 3
"""Decimals of the water velocity in vehicle axes; waypoints with equal rounded values are checked once."""


def current_notes(
    vehicle: Vehicle,
    model: Model,
    environment: Environment,
    path: Waypoints,
    inertia: np.ndarray,
    gains: tuple[float, float, float],
) -> list[str]:
    """Return a warning if the current overturns a pose-controlled vehicle, whose controller cancels the righting moment.

    A rotation obeys θ̈ = λ θ − ω_0² θ − 2 ζ ω_0 θ̇ − (ω_0³/k) ∫θ dt, where λ is due to the current. The rotation is stable if
    λ < ω_0² (1 − 1/(2 ζ k)). The controller compensates the moment of the path speed, so λ is evaluated for the velocity
    relative to the water minus its value for the path speed.

    `model`: mechanism, whose other joints are held in the initial configuration; `environment`: water, of which only the mean
    current is used; `path`: position and roll, pitch, heading [m, rad], checked at waypoints and at the fastest instant of each
    leg; `inertia`: inertia M of the controller, shape (6, 6); `gains`: ω_0², 2 ζ ω_0 and ω_0³/k of the attitude.
    """
    turns = [k - 3 for k in vehicle.axes if k >= 3]
    current = environment.current
    if current is None or not turns:
        return []
    instants = sorted({*path.times, *(0.5 * (path.times[:-1] + path.times[1:]))})
    seen: dict[tuple[float, ...], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
    for pose, rate, _ in map(path, instants):
        factor = float(profile_factor(current.profile, float(pose[:3] @ model.world.down)))
        R, own = np.array(matrix_from_rpy(pose[3:]), dtype=float), rate[:3]
        for row in current.velocities or (current.velocity,):
            flow = factor * np.array(row, dtype=float)
            alike = np.round([R.T @ flow, R.T @ own], DIGITS).ravel() + 0.0
            seen.setdefault(tuple(alike.tolist()), (quaternion_from_matrix(R), flow, own))
    worst, speed, along, axis = 0.0, 0.0, 0.0, turns[0]
    for turn, flow, own in seen.values():
        if np.linalg.norm(flow) <= SLOW:
            continue
        away = turning_rates(model, vehicle.body, inertia, turn, flow - own)
        if np.linalg.norm(own) > SLOW:
            away = away - turning_rates(model, vehicle.body, inertia, turn, -own)
        away = away[np.ix_(turns, turns)]
        if np.isfinite(away).all():
            rates, ways = np.linalg.eig(away)
            k = int(rates.real.argmax())
            if rates[k].real > worst:
                worst, speed, along = float(rates[k].real), float(np.linalg.norm(flow)), float(np.linalg.norm(own))
                axis = turns[int(np.abs(ways[:, k]).argmax())]
    stiffness, damping, integral = gains
    left = 1.0 - integral / (damping * stiffness)  # 1 − 1/(2 ζ k)
    if left <= 0.0 or worst < left * stiffness:
        return []
    J = inertia[3 + axis, 3 + axis]
    enough = math.ceil(10.0 * math.sqrt(2.0 * worst / left)) / 10.0
    there = f" on a path at {along:.2g} m/s" if along > SLOW else ""
    return [
        f"the current of {speed:.2g} m/s destabilises {vehicle.name!r} in {WAYS[3 + axis]} by {J * worst:.2g} N·m/rad{there}, "
        f"which exceeds the control stiffness of {J * stiffness:.2g} N·m/rad without righting moment; to avoid capsizing, "
        f"increase attitude_frequency from {math.sqrt(stiffness):.3g} to {enough:g} rad/s or more"
    ]


def turning_rates(model: Model, body: int, inertia: np.ndarray, turn: np.ndarray, flow: np.ndarray) -> np.ndarray:
    """Return the angular acceleration due to a current per angle of rotation, in body axes [1/s²], shape (3, 3).

    The current `flow` (3,) is in world axes [m/s]. Positive values destabilise; the largest part is the Munk moment, which
    turns a body broadside to the flow. `inertia` (6, 6) includes all parts carried by the body; `turn` (4,) is the attitude.
    """
    at, q, rest = model.v_slices[body], model.initial().q, np.zeros(model.nv)
    initial = quaternion_matrix(q[model.q_slices[body]][3:])

    def needed(angle: np.ndarray) -> np.ndarray:
        """Return the wrench that holds the vehicle at rotation vector `turn`, shape (6,).

        The water is rotated instead of the vehicle, so that its weight is unchanged.
        """
        turned = quaternion_matrix(quaternion_product(turn, quaternion_exp(angle)))
        around = initial @ turned.T @ flow
        return np.array(inverse_dynamics(model, q, rest, rest, fluid_velocity=around), dtype=float)[at]

    columns = [(needed(TURN * e) - needed(-TURN * e)) / (2.0 * TURN) for e in np.eye(3)]
    return -np.linalg.solve(inertia, np.array(columns).T)[3:]
