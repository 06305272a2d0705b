"""Speed control of a vehicle by a servo LQR, and path control by an outer loop around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from hydromechs.compiler import Compiled, Recipe, compile_function, jacobian_program, trace
from hydromechs.dynamics import retract
from hydromechs.equations import damping_force, inverse_dynamics, mass_matrix, restoring_force
from hydromechs.model import Model, State
from hydromechs.simulation import Simulation, Site, Tick, TracedBlock, Update
from hydromechs.spatial import maximum, minimum, norm, quaternion_matrix, smallest_angle, where
from hydromechs.values import Array, Bound, Finite, Positive, Scalar, nearest, number, positive

from ._lqr import LqrDesign, loop_margins, servo_lqr
from ._pose_control import POSE, pose_waypoints
from ._reference import JointTrajectory, Waypoints
from ._vehicle import Push, Vehicle, pose_notes

AXES = {"surge": "m/s", "sway": "m/s", "heave": "m/s", "roll": "rad", "pitch": "rad", "yaw_rate": "rad/s"}
"""Controlled outputs with units: speeds in body axes, roll, pitch and yaw rate."""
STATES = ("roll", "pitch", "surge", "sway", "heave", "roll rate", "pitch rate", "yaw rate")
"""States of the servo LQR design."""
SHOWN = (2, 3, 4, 0, 1, 7)
"""Indices of the states that follow references."""
SPEEDS = [0, 1, 2, 5]
"""Axes that are vehicle speeds, with their indices in the vehicle velocity."""
LEAST = (6.0, 30.0)
"""Recommended minimum margins of a loop [dB], [°]."""
FEEDBACK = ("X", "Y", "Z", "K", "M", "N")
"""Inputs of the design: forces and moments in body axes."""
SLOW = 0.1
"""Minimum decay rate of uncontrolled motion in the design, as a fraction of the bandwidth."""
NEUTRAL = 1e-6
"""Righting moment per angle, as a fraction of m ω², below which an angle counts as neutrally stable."""


def linear_vehicle(model: Model, body: int, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return A (8, 8) and M (6, 6) of a vehicle at rest with all other joints held: ẋ = A x + [0; M⁻¹] δτ, x = (φ, θ, ν).

    The result equals the vehicle rows and columns of `Dynamics.linearize` but needs no compilation of the other rows: for
    v̇ = 0, the derivatives of the accelerations are −M⁻¹ times the derivatives of the inverse-dynamics forces h(q ⊕ δ, ν).
    """
    at = model.v_slices[body]

    def of_vehicle(x: Array) -> Array:
        return np.array([x[k - at.start] if at.start <= k < at.stop else 0.0 for k in range(model.nv)])

    def force(delta: Array, nu: Array) -> Array:
        there = retract(model, q, of_vehicle(delta))
        return inverse_dynamics(model, there, of_vehicle(nu), np.zeros(model.nv))[at]

    program = jacobian_program(trace(force, {"delta": (6,), "nu": (6,)}, name="vehicle"), ("delta", "nu"))
    code = Compiled(Recipe.of(program, rarely_called=True), 1, 1, program)
    stiffness, damping = code([np.zeros(6), np.zeros(6)])
    M = np.array(mass_matrix(model, q), dtype=float)[at, at]
    turning = np.hstack([np.zeros((2, 2)), np.eye(6)[3:5]])
    return np.vstack([turning, -np.linalg.solve(M, np.hstack([stiffness[:, 3:5], damping]))]), M


@lru_cache(maxsize=8)
def _initial_vehicle(model: Model, body: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `linear_vehicle` at the initial state, cached for all controllers of a mission."""
    return linear_vehicle(model, body, model.initial().q)


def axes_of(names: Sequence[str]) -> list[int]:
    """Return the indices, 0 to 5, of named axes; reject unknown and repeated names."""
    for name in names:
        if name not in AXES:
            raise ValueError(f"controlled contains an unknown axis {name!r}{nearest(str(name), AXES)}")
    if len(set(names)) < len(names):
        raise ValueError(f"controlled is {', '.join(names)}; list every axis only once")
    return [list(AXES).index(name) for name in names]


def speed_design(
    simulation: Simulation | Site,
    vehicle: Vehicle,
    *,
    controlled: Sequence[str] | None = None,
    bandwidth: float = 1.0,
    integral: float = 1.0,
    period: float = 0.05,
) -> LqrDesign:
    """Return the servo LQR of vehicle speeds; the margins include thruster lag and half a command period of dead time.

    The weights follow Bryson's rule. u_max is the wrench that the thrusters reach along each axis alone. The scale of a
    state is the change that u_max causes in the time 1/ω against inertia m, damping d and righting moment s: ν_max =
    u_max/(m ω + d) for speeds, φ_max = u_max/(m ω² + s) for roll and pitch, ξ_max = k y_max/ω for integrals. Uncontrolled
    axes have zero weight. Their damping is quadratic and often vanishes in a linearisation at rest. A minimum decay rate of
    ω/10 is therefore assumed, also for an angle without restoring moment.

    `simulation`: simulation that contains the vehicle; `controlled`: controlled axes from surge, sway, heave, roll, pitch and
    yaw_rate, defaults to all axes that the thrusters reach; `bandwidth`: ω [rad/s]; `integral`: k, larger is weaker.
    """
    chosen = list(vehicle.axes) if controlled is None else axes_of(controlled)
    names = [list(AXES)[k] for k in chosen]
    missing = [name for name, k in zip(names, chosen, strict=True) if k not in vehicle.axes]
    if missing or not chosen:
        there = ", ".join(name for k, name in enumerate(AXES) if k in vehicle.axes) or "none"
        asked = f"the thrusters cannot control {', '.join(missing)} independently" if missing else "no axis is controlled"
        raise ValueError(f"speed control of {vehicle.name!r}: {asked}; choose controlled from {there}")
    A, M = (x.copy() for x in _initial_vehicle(simulation.model, vehicle.body))
    others = np.array([float(k not in chosen) for k in range(6)])
    m, slow = np.diag(M), SLOW * bandwidth
    forces = M @ A[2:]
    damping, righting = np.maximum(-np.diag(forces[:, 2:]), 0.0), np.maximum([-forces[3, 0], -forces[4, 1]], 0.0)
    A[2:, 2:] -= np.linalg.solve(M, np.diag(others * np.maximum(slow * m - damping, 0.0)))
    idle = others[3:5] * (np.abs(forces[:, :2]).max(axis=0) < NEUTRAL * m[3:5] * bandwidth**2)
    A[:2, :2] -= slow * np.diag(idle)
    B = np.vstack([np.zeros((2, 6)), np.linalg.solve(M, vehicle.given)])[:, chosen]
    strength = np.where(others > 0.0, np.inf, vehicle.reach)
    limits = np.concatenate([strength[3:5] / (m[3:5] * bandwidth**2 + righting), strength / (m * bandwidth + damping)])
    C = np.eye(8)[[SHOWN[k] for k in chosen]]
    try:
        design = servo_lqr(
            A,
            B,
            C,
            state_limits=limits,
            integral_limits=limits[[SHOWN[k] for k in chosen]] * integral / bandwidth,
            input_limits=strength[chosen],
            states=STATES,
            inputs=[FEEDBACK[k] for k in chosen],
            outputs=names,
        )
    except ValueError as error:
        raise ValueError(f"speed control of {vehicle.name!r}: {error}") from None
    lag = max(t.time_constant for t in vehicle.thrusters)
    return replace(design, margins=loop_margins(design, lag=lag, delay=0.5 * period))


def speed_law(
    model: Model, body: int, K_x: Array, K_i: Array, chosen: Sequence[int], q: Array, v: Array, memory: Array, reference: Array
) -> tuple[Array, Array]:
    """Return the wrench in body axes and the error of controlled axes, shape (6,) each.

        τ = K_x (x_ref − x) + K_i ξ + g(q_ref) + D(ν_ref),    ξ̇ = y_ref − y

    g is weight and buoyancy at the reference attitude with the current arm posture. D is the damping in still water at the
    reference speed.

    `body`: index of the vehicle body; `K_x`: gains of the states, shape (m, 8); `K_i`: gains of the integrals, shape (m, m);
    `chosen`: indices of the controlled axes; `memory`: ξ, shape (6,); `reference`: surge, sway, heave, roll, pitch, yaw rate,
    shape (6,).
    """
    iq, iv = model.q_slices[body].start, model.v_slices[body].start
    R = quaternion_matrix(q[iq + 3 : iq + 7])
    roll, pitch = np.arctan2(R[2, 1], R[2, 2]), np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    nu = v[iv : iv + 6]
    y = np.array([nu[0], nu[1], nu[2], roll, pitch, nu[5]])
    off = reference - y
    e = np.array([off[k] if k in chosen else 0.0 for k in range(6)])
    # states of uncontrolled axes have no reference: they are damped
    wanted = [reference[k] if k in chosen else y[k] if k in (3, 4) else 0.0 for k in range(6)]
    x_off = np.array(
        [wanted[3] - roll, wanted[4] - pitch, *(wanted[k] - nu[k] for k in range(3)), -nu[3], -nu[4], wanted[5] - nu[5]]
    )
    force = K_x @ x_off + K_i @ np.array([memory[k] for k in chosen])
    wrench = np.array([force[list(chosen).index(k)] if k in chosen else 0.0 for k in range(6)])
    (cr, sr), (cp, sp) = ((np.cos(0.5 * angle), np.sin(0.5 * angle)) for angle in reference[3:5])
    level = np.concatenate([q[: iq + 3], np.array([cr * cp, sr * cp, cr * sp, -sr * sp]), q[iq + 7 :]])
    steady = {0: wanted[0], 1: wanted[1], 2: wanted[2], 5: wanted[5]}
    moving = np.array([steady.get(k - iv, 0.0) for k in range(model.nv)])
    known = restoring_force(model, level) + damping_force(model, level, moving)
    return wrench + known[iv : iv + 6], e


class Driven(NamedTuple):
    """Output of a speed loop in one command period."""

    push: Push
    """Thruster commands and their wrench."""
    memory: Array
    """Integrals after the period, shape (6,)."""
    error: Array
    """Reference minus current value of each axis, shape (6,); 0 for uncontrolled axes."""


class SpeedLoop:
    """Inner control loop: converts speed and attitude references to thruster commands.

    Args:
        simulation: Controlled simulation, or the site of a block.
        body: Name of the vehicle body; defaults to the first free body.
        controlled: Controlled axes, as in `speed_design`.
        bandwidth: ω of `speed_design` [rad/s].
        integral: k of `speed_design` [-].
        period: Command period [s].
    """

    def __init__(
        self,
        simulation: Simulation | Site,
        body: str | None,
        controlled: Sequence[str] | None,
        bandwidth: float,
        integral: float,
        period: float,
    ) -> None:
        self.vehicle = Vehicle(simulation, body, () if controlled is None else axes_of(controlled))
        self.axes = self.vehicle.axes if controlled is None else tuple(axes_of(controlled))
        """Controlled axes, indices from 0 to 5."""
        self.period = period
        self.design = speed_design(
            simulation, self.vehicle, controlled=controlled, bandwidth=bandwidth, integral=integral, period=period
        )
        """Gains, poles and margins of the servo LQR."""
        self._model = model = simulation.model
        at, self._speeds = model.v_slices[self.vehicle.body], [k for k in SPEEDS if k in self.axes]
        self._inertia = np.array(mass_matrix(model, model.initial().q), dtype=float)[at, at][:, self._speeds]

    @property
    def notes(self) -> list[str]:
        """Margins of the design, with a warning if they are small."""
        d = self.design
        low = d.gain_margin_db < LEAST[0] or d.phase_margin_deg < LEAST[1]
        advice = f", below the recommended {LEAST[0]:g} dB or {LEAST[1]:g}°; reduce the bandwidth" if low else ""
        return [f"servo LQR of {self.vehicle.name!r}: {d.words}{advice}"]

    def driven(
        self,
        q: Array,
        v: Array,
        memory: Array,
        reference: Array,
        rate: Array | None = None,
        gains: Mapping[str, Array] | None = None,
        instead: tuple[Scalar, Sequence[Scalar]] | None = None,
    ) -> Driven:
        """Return commands for a numeric or symbolic state; the integrals pause while a thruster saturates.

        Args:
            q: Configuration, shape (nq,).
            v: Velocity, shape (nv,).
            memory: Integrals, shape (6,).
            reference: Surge, sway, heave, roll, pitch, yaw rate, shape (6,).
            rate: Rates of the references, shape (6,). The feedforward M ν̇_ref uses the inertia of the vehicle including added
                mass and arm. None if unknown.
            gains: K_x and K_i. Defaults to the gains of the design.
            instead: Condition, and a wrench in body axes [N, N·m] (6,) that replaces the computed wrench if the condition
                is not 0.
        """
        K_x, K_i = (self.design.K_x, self.design.K_i) if gains is None else (gains["K_x"], gains["K_i"])
        wrench, e = speed_law(self._model, self.vehicle.body, K_x, K_i, self.axes, q, v, memory, reference)
        if rate is not None:
            wrench = wrench + self._inertia @ rate[self._speeds]
        if instead is not None:
            wrench = np.array([where(instead[0] != 0.0, a, b) for a, b in zip(instead[1], wrench, strict=True)])
        push = self.vehicle.push(wrench)
        after = [where(push.saturated, x, x + self.period * off) for x, off in zip(memory, e, strict=True)]
        return Driven(push, np.array(after), e)

    @cached_property
    def _code(self) -> Compiled:
        def loop(q: Array, v: Array, memory: Array, reference: Array) -> tuple[Array, ...]:
            push, after, e = self.driven(q, v, memory, reference)
            return np.array(list(push.commands.values())), push.wrench, np.asarray(push.saturated), after, e

        nt = len(self.vehicle.thrusters)
        shapes = {"q": (self._model.nq,), "v": (self._model.nv,), "memory": (6,), "reference": (6,)}
        outputs = {"commands": (nt,), "wrench": (6,), "saturated": (), "memory_after": (6,), "error": (6,)}
        return compile_function("speed_loop", loop, shapes, outputs, rarely_called=True)

    def compile(self) -> SpeedLoop:
        """Compile the loop before the first call, for controllers in Python; return the loop."""
        self._code.code(1)
        return self

    def __call__(self, state: State, memory: Array, reference: Array) -> Driven:
        """Evaluate `driven` in machine code at a true or estimated state, without rates of the references."""
        given = state.q, state.v, memory, np.asarray(reference, dtype=float)
        commands, wrench, saturated, after, e = self._code.single_results(*given)
        names = (t.name for t in self.vehicle.thrusters)
        return Driven(Push(dict(zip(names, commands.tolist(), strict=True)), wrench, float(saturated)), after, e)


class LqrSpeed(TracedBlock):
    """Controller that keeps a vehicle level at given speeds by a servo LQR.

        τ = K_x (x_ref − x) + K_i ∫(y_ref − y) dt + g + D(ν_ref) + M ν̇_ref,    x = (φ, θ, ν),   y = (u, v, w, φ, θ, r)

    `speed_design` computes the gains; `design` contains gains, poles and margins, and prints as a table. The signals are
    reference and error of each axis, such as "reference.surge"; NaN for uncontrolled axes.

    Args:
        waypoints: Mappings with t [s] and any of surge, sway, heave [m/s], yaw_rate_deg [°/s], roll_deg, pitch_deg [°]
            (default 0). Values are interpolated smoothly.
        arm: Waypoints of servo-driven joints, as in `JointTrajectory`; optional.
        body: Name of the vehicle body; defaults to the first free body.
        controlled: Controlled axes from surge, sway, heave, roll, pitch, yaw_rate; defaults to all axes that the thrusters
            reach. Waypoints may set only these axes.
        bandwidth: ω of the design [rad/s].
        integral: k of the design [-]; a larger value weakens the integral.
        period: Command period [s].
    """

    def __init__(
        self,
        *,
        waypoints: Sequence[Mapping[str, Any]],
        arm: Sequence[Mapping[str, Any]] = (),
        body: str | None = None,
        controlled: Sequence[str] | None = None,
        bandwidth: Positive = 1.0,
        integral: Positive = 1.0,
        period: Positive = 0.05,
    ) -> None:
        self.path = self._path(waypoints)
        self.body, self.period = body, positive(period, "period")
        self.controlled = None if controlled is None else tuple(controlled)
        self.bandwidth, self.integral = positive(bandwidth, "bandwidth"), positive(integral, "integral")
        self.arm = JointTrajectory(waypoints=arm, period=period) if arm else None
        self.first_memory = {"integrals": np.zeros(6)}

    _asked: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    """Return the path columns that are direct references of the axes."""

    def _path(self, waypoints: Sequence[Mapping[str, Any]]) -> Waypoints:
        return speed_waypoints(waypoints)

    design: LqrDesign
    """Gains, poles and margins, available after the start."""

    def prepare(self, site: Site) -> None:
        self._loop = SpeedLoop(site, self.body, self.controlled, self.bandwidth, self.integral, self.period)
        for k, name in enumerate(AXES):
            if k in self._asked and k not in self._loop.axes and np.any(self.path.points[:, k]):
                there = ", ".join(list(AXES)[i] for i in self._loop.axes)
                own = self._loop.vehicle.name
                raise ValueError(f"a waypoint sets {name} of {own!r}, which is not controlled; set only {there}")
        self.design, self.notes = self._loop.design, self._loop.notes
        self.commanded = tuple(t.name for t in self._loop.vehicle.thrusters)
        self.signals = self._channels()
        if self.arm is not None:
            self.arm.prepare(site)
            self.commanded += self.arm.commanded
            self.signals |= self.arm.signals

    def _channels(self) -> dict[str, str]:
        return {f"{kind}.{x}": unit for kind in ("reference", "error") for x, unit in AXES.items()}

    def update(self, tick: Tick) -> Update:
        reference, shown = self._reference(tick)
        driven = self._loop.driven(tick.q, tick.v, tick.memory["integrals"], reference, self._rate(tick), tick.design)
        arm = Update() if self.arm is None else self.arm.update(tick)
        signals: dict[str, Scalar] = {}
        for kind, values in (("reference", reference), ("error", driven.error)):
            signals |= named(kind, AXES, [values[k] if k in self._loop.axes else np.nan for k in range(6)])
        commands = {**driven.push.commands, **arm.commands}
        return Update(commands, {"integrals": driven.memory}, {**signals, **shown, **arm.signals})

    def _reference(self, tick: Tick) -> tuple[Array, dict[str, Scalar]]:
        """Return references of the six axes, shape (6,), and additional signals."""
        return self.path(tick.t).position, {}

    def _rate(self, tick: Tick) -> Array | None:
        """Return mean rates of the references until the next call, shape (6,); None if unknown."""
        return (self.path(tick.t + self.period).position - self.path(tick.t).position) / self.period


def named(kind: str, parts: Iterable[str], values: Iterable[Scalar]) -> dict[str, Scalar]:
    """Return signal values keyed by "kind.part"."""
    return {f"{kind}.{part}": value for part, value in zip(parts, values, strict=True)}


KEYS = {"surge": 1.0, "sway": 1.0, "heave": 1.0, "roll_deg": np.pi / 180, "pitch_deg": np.pi / 180, "yaw_rate_deg": np.pi / 180}
"""Keys of a speed waypoint, with factors to SI units."""


def speed_waypoints(waypoints: Sequence[Mapping[str, Any]]) -> Waypoints:
    """Return a path of the six axes from waypoints as in `LqrSpeed`."""
    rows, times = [], []
    for k, w in enumerate(waypoints):
        if not isinstance(w, Mapping) or set(w) - {"t", *KEYS}:
            raise ValueError(f"waypoint {k} is {w!r}; use only t, {', '.join(KEYS)}")
        rows.append([number(w.get(key, 0.0), f"{key} of waypoint {k}") * unit for key, unit in KEYS.items()])
        times.append(number(w.get("t", 0.0), f"t of waypoint {k}"))
    return Waypoints(times, rows)


def speeds_towards(here: Array, wanted: Array, rate: Array, stiffness: float, speed: float) -> tuple[Array, Array]:
    """Return speed references that move a vehicle to a pose, and the pose error, shape (6,) each.

        ν_ref = Rᵀ (ṗ_ref + s κ (p_ref − p)),    r_ref = ψ̇_ref + κ (ψ_ref − ψ),    s = min(1, v_max/(κ |p_ref − p|))

    `here`: current position and quaternion, shape (7,); `wanted`: target position and roll, pitch, heading [m, rad], shape
    (6,); `rate`: rates of the target, shape (6,); `stiffness`: κ [1/s]; `speed`: v_max [m/s].
    """
    R = quaternion_matrix(here[3:])
    off = wanted[:3] - here[:3]
    back = stiffness * off
    back = back * minimum(1.0, speed / maximum(norm(back), 1e-300))
    turn = smallest_angle(wanted[5] - np.arctan2(R[1, 0], R[0, 0]))
    nu = R.T @ (rate[:3] + back)
    roll, pitch = np.arctan2(R[2, 1], R[2, 2]), np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    reference = np.array([*nu, wanted[3], wanted[4], rate[5] + stiffness * turn])
    return reference, np.array([*off, wanted[3] - roll, wanted[4] - pitch, turn])


class LqrFollowPath(LqrSpeed):
    """Controller that moves a vehicle along waypoints: an outer loop sets the speeds of the servo LQR.

        ν_ref = Rᵀ (ṗ_ref + s κ (p_ref − p)),    r_ref = ψ̇_ref + κ (ψ_ref − ψ),    s = min(1, v_max/(κ |p_ref − p|))

    The inner loop tracks speeds over ground without steady-state error, so the position along controlled axes is held even in a
    current. `notes` lists uncontrolled axes; a path that requires only uncontrolled axes is rejected. The signals are those of
    `LqrSpeed`, and reference and error of the pose as in `FollowPath`. Other arguments are those of `LqrSpeed`.

    Args:
        waypoints: Mappings with t [s], position (3,) in world axes [m], and heading_deg, pitch_deg, roll_deg (default 0).
        stiffness: κ, decay rate of position errors [1/s]; defaults to a third of the bandwidth.
        speed: v_max, maximum approach speed in addition to the path speed [m/s].
    """

    def __init__(
        self,
        *,
        waypoints: Sequence[Mapping[str, Any]],
        stiffness: Positive | None = None,
        speed: Positive = 0.5,
        arm: Sequence[Mapping[str, Any]] = (),
        body: str | None = None,
        controlled: Sequence[str] | None = None,
        bandwidth: Positive = 1.0,
        integral: Positive = 1.0,
        period: Positive = 0.05,
    ) -> None:
        super().__init__(
            waypoints=waypoints,
            arm=arm,
            body=body,
            controlled=controlled,
            bandwidth=bandwidth,
            integral=integral,
            period=period,
        )
        self.stiffness = self.bandwidth / 3.0 if stiffness is None else positive(stiffness, "stiffness")
        self.speed = positive(speed, "speed")

    _asked = (3, 4)

    def _path(self, waypoints: Sequence[Mapping[str, Any]]) -> Waypoints:
        return pose_waypoints(waypoints)

    def prepare(self, site: Site) -> None:
        super().prepare(site)
        vehicle = self._loop.vehicle
        self.notes = [*self.notes, *pose_notes(vehicle, self._loop.axes, self.path.points)]

    def _channels(self) -> dict[str, str]:
        return super()._channels() | {f"{kind}.{x}": unit for kind in ("reference", "error") for x, unit in POSE.items()}

    def _reference(self, tick: Tick) -> tuple[Array, dict[str, Scalar]]:
        wanted, rate, _ = self.path(tick.t)
        reference, off = speeds_towards(tick.q[self._loop.vehicle.q], wanted, rate, self.stiffness, self.speed)
        return reference, named("reference", POSE, wanted) | named("error", POSE, off)

    def _rate(self, tick: Tick) -> Array | None:
        return None


class LqrHoldPose(LqrFollowPath):
    """Controller that holds a pose by an outer loop around speed control; other arguments are those of `LqrFollowPath`.

    Args:
        position: Setpoint in world axes [m], shape (3,).
        heading_deg: Heading [°].
    """

    def __init__(
        self,
        *,
        position: Annotated[Sequence[float], Bound(size=3)],
        heading_deg: Finite = 0.0,
        stiffness: Positive | None = None,
        speed: Positive = 0.5,
        arm: Sequence[Mapping[str, Any]] = (),
        body: str | None = None,
        controlled: Sequence[str] | None = None,
        bandwidth: Positive = 1.0,
        integral: Positive = 1.0,
        period: Positive = 0.05,
    ) -> None:
        super().__init__(
            waypoints=[{"t": 0.0, "position": position, "heading_deg": heading_deg}],
            stiffness=stiffness,
            speed=speed,
            arm=arm,
            body=body,
            controlled=controlled,
            bandwidth=bandwidth,
            integral=integral,
            period=period,
        )
