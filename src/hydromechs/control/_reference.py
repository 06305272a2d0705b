"""References over time: smooth vehicle and joint motions between waypoints, and control of torque-driven joints."""

import abc
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs.actuation import JointStops, drives
from hydromechs.equations import inverse_dynamics, mass_matrix, restoring_force
from hydromechs.errors import FieldError
from hydromechs.model import Model, State
from hydromechs.simulation import Simulation, Site, Tick, TracedBlock, Update
from hydromechs.spatial import clamp, lookup, where
from hydromechs.values import Array, Limit, Positive, Scalar, nearest, number, positive

BEYOND = 1e-9
"""Tolerance for rounding of targets beyond the stops [rad or m]."""


class Sample(NamedTuple):
    """Reference at one time."""

    position: np.ndarray
    """Reference value, shape (n,)."""
    rate: np.ndarray
    """First derivative of the reference, shape (n,)."""
    acceleration: np.ndarray
    """Second derivative of the reference, shape (n,)."""


def listed_waypoints(waypoints: Any, name: str = "waypoints") -> Sequence[Any]:
    """Return waypoints as a non-empty list, or raise an error."""
    if not isinstance(waypoints, Sequence) or isinstance(waypoints, str):
        raise FieldError(name, waypoints, "must be a list of waypoints, such as [{t: 0, ...}]")
    if not waypoints:
        raise FieldError(name, [], "must contain at least one waypoint")
    return waypoints


class Waypoints:
    """Path through points at given times, with zero velocity and acceleration at each point.

        s(τ) = 10 τ³ − 15 τ⁴ + 6 τ⁵

    Args:
        times: Increasing times of the points [s], shape (m,).
        points: Points of the path, shape (m, n).
    """

    def __init__(self, times: Sequence[float], points: Sequence[Sequence[float]]) -> None:
        self.times, self.points = np.array(times, dtype=float), np.array(points, dtype=float)
        if self.times.ndim != 1 or self.times.size == 0 or self.points.shape[:1] != self.times.shape or self.points.ndim != 2:
            raise ValueError(
                f"waypoints have {self.times.size} times, but points of shape {self.points.shape}; set one time per point"
            )
        if not (np.isfinite(self.times).all() and np.isfinite(self.points).all()):
            raise ValueError("waypoints contain non-finite numbers; correct them")
        if (np.diff(self.times) <= 0.0).any():
            raise ValueError(f"times of waypoints are {self.times.tolist()}; put them in increasing order")

    def __call__(self, t: Scalar) -> Sample:
        """Return the reference at `t` [s], a number or symbol; it is constant before the first and after the last point."""
        passed = sum(where(t >= time, 1.0, 0.0) for time in self.times.tolist())
        n, last = self.points.shape[1], len(self.times) - 1
        if last == 0:
            return Sample(self.points[0].copy(), np.zeros(n), np.zeros(n))
        inside = where(passed > 0.0, where(passed <= last, 1.0, 0.0), 0.0) != 0.0
        k = clamp(passed - 1.0, 0.0, last - 1.0)  # index of the segment
        T = lookup(np.diff(self.times), k)
        s = where(inside, (t - lookup(self.times, k)) / T, 0.0)
        place = s * s * s * (10.0 + s * (-15.0 + 6.0 * s))
        rate = 30.0 * s * s * (1.0 + s * (-2.0 + s)) / T
        acceleration = 60.0 * s * (1.0 + s * (-3.0 + 2.0 * s)) / (T * T)
        position, way = [], []
        for column in self.points.T:
            way.append(lookup(np.diff(column), k))
            position.append(where(passed > last, float(column[last]), lookup(column, k) + place * way[-1]))
        return Sample(np.array(position), rate * np.array(way), acceleration * np.array(way))


class JointTrajectory(TracedBlock):
    """Controller that moves servo-driven joints along waypoints.

    The signals are reference and error of each joint, such as "reference.elbow" and "error.elbow".

    Args:
        waypoints: Mappings with a time "t" [s] and positions keyed by joint name [rad or m]. All name the same joints.
        period: Command period [s].
    """

    def __init__(self, *, waypoints: Sequence[Mapping[str, Any]], period: Positive = 0.02) -> None:
        self.period = positive(period, "period")
        for k, w in enumerate(listed_waypoints(waypoints)):
            if not isinstance(w, Mapping):
                raise FieldError(f"waypoint {k}", w, "must map t and joints to numbers, such as {t: 0, elbow: 0.5}")
            if "t" not in w:
                raise FieldError(
                    f"waypoint {k}", dict(w), "must contain a time t and joint positions, such as {t: 0, elbow: 0.5}"
                )
        self.names = tuple(name for name in waypoints[0] if name != "t")
        if not self.names:
            raise FieldError(
                "waypoint 0", dict(waypoints[0]), "must contain at least one joint besides t, such as {t: 0, elbow: 0.5}"
            )
        for k, w in enumerate(waypoints):
            if set(w) != {"t", *self.names}:
                must = f"must have exactly the keys of the first waypoint: {', '.join(('t', *self.names))}"
                raise FieldError(f"waypoint {k}", dict(w), must)
        rows = [{x: number(w[x], f"{x} of waypoint {k}") for x in ("t", *self.names)} for k, w in enumerate(waypoints)]
        self.path = Waypoints([row["t"] for row in rows], [[row[name] for name in self.names] for row in rows])

    def prepare(self, site: Site) -> None:
        self._servos = Servos(site, self.names)
        stops = {c.joint: c for c in site.plant.components if isinstance(c, JointStops)}
        for name, column in zip(self.names, self.path.points.T.tolist(), strict=True):
            if name in stops:
                _check_targets(name, column, stops[name], self._servos.units[name])
        units = self._servos.units
        self.commanded = self._servos.commanded
        self.signals = {f"{kind}.{name}": units[name] for kind in ("reference", "error") for name in self.names}

    def update(self, tick: Tick) -> Update:
        """Return target positions at this tick, and target rates until the next tick."""
        here, there = self.path(tick.t).position, self.path(tick.t + self.period).position
        values = np.concatenate([here, here - self._servos.positions(tick)])
        commands = self._servos.commands(here, (there - here) / self.period, tick.t)
        return Update(commands, signals=dict(zip(self.signals, values, strict=True)))


def _check_targets(joint: str, targets: Sequence[float], stops: JointStops, unit: str) -> None:
    """Reject targets of a joint beyond its stops [rad or m]."""
    for k, x in enumerate(targets):
        if not stops.lower - BEYOND <= x <= stops.upper + BEYOND:
            degrees = unit == "rad" and stops.lower <= math.radians(x) <= stops.upper
            slip = f"write {x:g}° as {math.radians(x):.4g} rad" if degrees else "keep it within"
            raise ValueError(
                f"waypoint {k} moves joint {joint!r} to {x:g} {unit}, outside the stops of the joint [{stops.lower:g}, "
                f"{stops.upper:g}] {unit}; {slip}, or define other stops for the joint ('stops: none' removes them)"
            )


class Servos:
    """Drives of joints: commands and setpoints.

    Args:
        simulation: Simulation that contains the joints.
        names: Names of the joints.
        drive: Required kind of drive; defaults to any drive with position commands.
    """

    def __init__(self, simulation: Simulation | Site, names: Sequence[str], drive: type[drives.Drive] | None = None) -> None:
        for name in names:
            if name not in simulation.actuators:
                raise ValueError(f"joint {name!r} is not driven{nearest(name, simulation.actuators)}")
        parts = [simulation.model.joint_part(name) for name in names]
        for c in simulation.plant.components:
            if not isinstance(c, drives.Drive) or c.joint not in names:
                continue
            if not (isinstance(c, drive) if drive else c.commands_position):
                wanted = f"drives.{drive.__name__}" if drive else "drives.Servo or another drive with position commands"
                raise ValueError(f"joint {c.joint!r} has the drive {type(c).__name__}; use {wanted} with this controller")
        self.names = tuple(names)
        """Names of the joints."""
        self.units = {p.name: p.joint.unit for p in parts}
        """Unit of the position of each joint."""
        self._at = [p.q.start for p in parts]
        self._commands = [simulation.actuators.index(name) for name in names]
        self._follow = [f"{name}.rate" in simulation.plant.layout.held for name in names]

    @property
    def commanded(self) -> tuple[str, ...]:
        """Names of the commands and settings of the drives."""
        pairs = zip(self.names, self._follow, strict=True)
        return tuple(x for name, follows in pairs for x in ((name, f"{name}.rate", f"{name}.at") if follows else (name,)))

    def positions(self, state: State | Tick) -> Array:
        """Return the positions of the joints [rad or m], shape (n,)."""
        return state.q[self._at]

    def targets(self, state: State | Tick) -> Array:
        """Return the commanded positions of the joints [rad or m], shape (n,)."""
        if isinstance(state, Tick):
            return np.array([state.inputs[name] for name in self.names])
        return state.command[self._commands]

    def remembered(self, tick: Tick) -> Array:
        """Return targets from block memory [rad or m], initially the commanded positions, shape (n,)."""
        pairs = zip(self.targets(tick), tick.memory["targets"], strict=True)
        return np.array([where(tick.first, given, kept) for given, kept in pairs])

    def commands(self, position: Array, rate: Array, t: Scalar) -> dict[str, Scalar]:
        """Return commands for targets (n,) [rad or m] that move at rates (n,) [rad/s or m/s]."""
        out: dict[str, Scalar] = {}
        for name, follows, r, rd in zip(self.names, self._follow, position, rate, strict=True):
            out |= {name: r, f"{name}.rate": rd, f"{name}.at": t} if follows else {name: r}
        return out


class TorqueControl(TracedBlock):
    """Base class of controllers that move torque-driven joints along waypoints.

    Args:
        waypoints: Mappings with a time "t" [s] and positions keyed by joint name [rad or m]. All name the same joints.
        frequency: ω, natural frequency of the error dynamics [rad/s].
        damping: ζ, damping ratio of the error dynamics [-].
        integral: k [-]; a larger value weakens the integral. Defaults to infinity, which disables the integral.
        period: Command period [s].
    """

    def __init__(
        self,
        *,
        waypoints: Sequence[Mapping[str, Any]],
        frequency: Positive = 10.0,
        damping: Positive = 1.0,
        integral: Limit = np.inf,
        period: Positive = 0.002,
    ) -> None:
        motion = JointTrajectory(waypoints=waypoints, period=period)
        self.names, self.path, self.period = motion.names, motion.path, motion.period
        w, z = positive(frequency, "frequency"), positive(damping, "damping")
        if not integral > 0.0:
            raise ValueError(f"integral is {integral!r}, not above 0; increase it, or set inf to disable the integral")
        self.gains = (w**2, 2.0 * z * w, w**3 / integral)
        self.first_memory = {"integral": np.zeros(len(self.names))}
        self.commanded = self.names

    @abc.abstractmethod
    def _torque(self, model: Model, dofs: Sequence[int], tick: Tick, wanted: Array) -> Array:
        """Return joint torques for target accelerations, in NumPy operations, shape (n,)."""

    def prepare(self, site: Site) -> None:
        self._servos = Servos(site, self.names, drives.Torque)
        self._dofs = [site.model.joint_part(name).v.start for name in self.names]
        self.design = {"gains": np.array(self.gains)}
        units = self._servos.units
        self.signals = {f"{kind}.{name}": units[name] for kind in ("reference", "error") for name in self.names}

    def update(self, tick: Tick) -> Update:
        position, rate, acceleration = self.path(tick.t)
        off, summed, gains = position - self._servos.positions(tick), tick.memory["integral"], tick.design["gains"]
        wanted = acceleration + gains[0] * off + gains[1] * (rate - tick.v[self._dofs]) + gains[2] * summed
        tau = self._torque(self.site.model, self._dofs, tick, wanted)
        return Update(
            dict(zip(self.names, tau, strict=True)),
            {"integral": summed + self.period * off},
            dict(zip(self.signals, np.concatenate([position, off]), strict=True)),
        )


class JointControl(TorqueControl):
    """Controller that moves torque-driven joints along waypoints by independent joint feedback.

        τ = m (q̈_ref + 2 ζ ω ė + ω² e + (ω³/k) ∫e dt) + g(q)

    m is the inertia of each joint in the initial configuration of the model with all other joints held. g is weight and
    buoyancy. Feedback rejects drag and the coupling between joints. Signals are as in `JointTrajectory`, arguments as in
    `TorqueControl`.
    """

    def prepare(self, site: Site) -> None:
        super().prepare(site)
        M = np.array(mass_matrix(site.model, site.model.initial().q), dtype=float)
        self.design = {**self.design, "inertia": np.diag(M)[self._dofs]}

    def _torque(self, model: Model, dofs: Sequence[int], tick: Tick, wanted: Array) -> Array:
        return tick.design["inertia"] * wanted + restoring_force(model, tick.q)[dofs]


class ComputedTorque(TorqueControl):
    """Controller that moves torque-driven joints along waypoints by computed torque.

        τ = M(q) a + C(q, q̇) q̇ + D + g,     a = q̈_ref + 2 ζ ω ė + ω² e + (ω³/k) ∫e dt

    Inverse dynamics yields the error equation ë + 2 ζ ω ė + ω² e + (ω³/k) ∫e dt = 0 for any joint motion. All other parts,
    including a vehicle, are assumed to keep their velocity, and the water to be still. Friction and rotors are ignored. Signals
    are as in `JointTrajectory`, arguments as in `TorqueControl`.
    """

    def _torque(self, model: Model, dofs: Sequence[int], tick: Tick, wanted: Array) -> Array:
        given = dict(zip(dofs, wanted, strict=True))
        return inverse_dynamics(model, tick.q, tick.v, np.array([given.get(i, 0.0) for i in range(model.nv)]))[dofs]
