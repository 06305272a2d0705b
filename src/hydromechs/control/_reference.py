"""References over time: smooth motion from waypoint to waypoint, of a vehicle or of joints; control of torque-driven joints."""

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
"""Tolerance for targets beyond the stops, for rounding [rad or m]."""


class Sample(NamedTuple):
    """Reference at one time."""

    position: np.ndarray
    """Value, shape (n,)."""
    rate: np.ndarray
    """Its rate, shape (n,)."""
    acceleration: np.ndarray
    """Its second derivative, shape (n,)."""


def listed_waypoints(waypoints: Any, name: str = "waypoints") -> Sequence[Any]:
    """Return the waypoints of a caller: a non-empty list."""
    if not isinstance(waypoints, Sequence) or isinstance(waypoints, str):
        raise FieldError(name, waypoints, "must be a list of waypoints, such as [{t: 0, ...}]")
    if not waypoints:
        raise FieldError(name, [], "must have at least one waypoint")
    return waypoints


class Waypoints:
    """Path through points at given times; with zero velocity and acceleration at each.

        s(τ) = 10 τ³ − 15 τ⁴ + 6 τ⁵

    Args:
        times: Times of the points, increasing [s], shape (m,).
        points: The points, shape (m, n).
    """

    def __init__(self, times: Sequence[float], points: Sequence[Sequence[float]]) -> None:
        self.times, self.points = np.array(times, dtype=float), np.array(points, dtype=float)
        if self.times.ndim != 1 or self.times.size == 0 or self.points.shape[:1] != self.times.shape or self.points.ndim != 2:
            raise ValueError(f"waypoints need one time per point; got {self.times.size} times, points {self.points.shape}")
        if not (np.isfinite(self.times).all() and np.isfinite(self.points).all()):
            raise ValueError("waypoints must be finite numbers")
        if (np.diff(self.times) <= 0.0).any():
            raise ValueError(f"times of waypoints must increase, got {self.times.tolist()}")

    def __call__(self, t: Scalar) -> Sample:
        """Return the reference at time `t` [s], a number or a symbol; constant before the first point and after the last."""
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

    Its signals are the reference and the error of each joint, such as "reference.elbow" and "error.elbow".

    Args:
        waypoints: Mappings with a time "t" [s] and joint positions by name [rad or m]; all name the same joints.
        period: Time between two commands [s].
    """

    def __init__(self, *, waypoints: Sequence[Mapping[str, Any]], period: Positive = 0.02) -> None:
        self.period = positive(period, "period")
        for k, w in enumerate(listed_waypoints(waypoints)):
            if not isinstance(w, Mapping):
                raise FieldError(f"waypoint {k}", w, "must map t and joints to numbers, such as {t: 0, elbow: 0.5}")
            if "t" not in w:
                raise FieldError(
                    f"waypoint {k}", dict(w), "must have t, its time, and joints by name, such as {t: 0, elbow: 0.5}"
                )
        self.names = tuple(name for name in waypoints[0] if name != "t")
        if not self.names:
            raise FieldError(
                "waypoint 0", dict(waypoints[0]), "must name at least one joint besides t, such as {t: 0, elbow: 0.5}"
            )
        for k, w in enumerate(waypoints):
            if set(w) != {"t", *self.names}:
                must = (
                    f"must have {', '.join(('t', *self.names))} and no other keys: all waypoints name the joints of the first"
                )
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
        """Return target positions at this tick, and rates that take the targets to those of the next tick."""
        here, there = self.path(tick.t).position, self.path(tick.t + self.period).position
        values = np.concatenate([here, here - self._servos.positions(tick)])
        commands = self._servos.commands(here, (there - here) / self.period, tick.t)
        return Update(commands, signals=dict(zip(self.signals, values, strict=True)))


def _check_targets(joint: str, targets: Sequence[float], stops: JointStops, unit: str) -> None:
    """Reject targets of a joint beyond its stops [rad or m]."""
    for k, x in enumerate(targets):
        if not stops.lower - BEYOND <= x <= stops.upper + BEYOND:
            degrees = unit == "rad" and stops.lower <= math.radians(x) <= stops.upper
            slip = f"{x:g}° is {math.radians(x):.4g} rad" if degrees else "lead it within"
            raise ValueError(
                f"waypoint {k} moves joint {joint!r} to {x:g} {unit}, but its stops allow {stops.lower:g} to "
                f"{stops.upper:g}; {slip}, or give the joint 'stops: none' or custom stops"
            )


class Servos:
    """Drives of some joints: their commands and setpoints.

    Args:
        simulation: Simulation that contains the joints.
        names: Names of the joints.
        drive: Required kind of drive; defaults to any kind that accepts positions.
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
                wanted = f"drives.{drive.__name__}" if drive else "drives.Servo, which follows positions"
                raise ValueError(f"joint {c.joint!r} has the drive {type(c).__name__}; this controller needs {wanted}")
        self.names = tuple(names)
        """Names of the joints."""
        self.units = {p.name: p.joint.unit for p in parts}
        """Unit of each joint's position."""
        self._at = [p.q.start for p in parts]
        self._commands = [simulation.actuators.index(name) for name in names]
        self._follow = [f"{name}.rate" in simulation.plant.layout.held for name in names]

    @property
    def commanded(self) -> tuple[str, ...]:
        """Names of its commands and settings."""
        pairs = zip(self.names, self._follow, strict=True)
        return tuple(x for name, follows in pairs for x in ((name, f"{name}.rate", f"{name}.at") if follows else (name,)))

    def positions(self, state: State | Tick) -> Array:
        """Positions of the joints [rad or m], shape (n,)."""
        return state.q[self._at]

    def targets(self, state: State | Tick) -> Array:
        """Commanded positions of the joints [rad or m], shape (n,)."""
        if isinstance(state, Tick):
            return np.array([state.inputs[name] for name in self.names])
        return state.command[self._commands]

    def remembered(self, tick: Tick) -> Array:
        """Return targets from the memory of a block [rad or m], initially those of the commands, shape (n,)."""
        pairs = zip(self.targets(tick), tick.memory["targets"], strict=True)
        return np.array([where(tick.first, given, kept) for given, kept in pairs])

    def commands(self, position: Array, rate: Array, t: Scalar) -> dict[str, Scalar]:
        """Return commands for targets [rad or m] (n,) that move on at rates [rad/s or m/s] (n,)."""
        out: dict[str, Scalar] = {}
        for name, follows, r, rd in zip(self.names, self._follow, position, rate, strict=True):
            out |= {name: r, f"{name}.rate": rd, f"{name}.at": t} if follows else {name: r}
        return out


class TorqueControl(TracedBlock):
    """Base of controllers that move torque-driven joints along waypoints.

    Args:
        waypoints: Mappings with a time "t" [s] and joint positions by name [rad or m]; all name the same joints.
        frequency: ω, natural frequency of the error [rad/s].
        damping: ζ, its damping ratio [-].
        integral: k; a larger value weakens the integral; infinite, the default, for none [-].
        period: Time between two commands [s].
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
            raise ValueError(f"integral is {integral!r}, must be above 0; inf for none")
        self.gains = (w**2, 2.0 * z * w, w**3 / integral)
        self.first_memory = {"integral": np.zeros(len(self.names))}
        self.commanded = self.names

    @abc.abstractmethod
    def _torque(self, model: Model, dofs: Sequence[int], tick: Tick, wanted: Array) -> Array:
        """Return torques of the joints for target accelerations, in NumPy operations, shape (n,)."""

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
    """Controller that moves torque-driven joints along waypoints by feedback in each joint.

        τ = m (q̈_ref + 2 ζ ω ė + ω² e + (ω³/k) ∫e dt) + g(q)

    m is the inertia of each joint in the model's initial configuration with all others held, g weight and buoyancy.
    Feedback handles coupling between joints, and drag. Its signals are those of `JointTrajectory`, its arguments those
    of `TorqueControl`.
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

    by inverse dynamics, so that the error obeys ë + 2 ζ ω ė + ω² e + (ω³/k) ∫e dt = 0 for any motion of the joints. All other
    parts, a vehicle too, are assumed to keep their velocity, and the water to be still; friction and rotors are
    ignored. Its signals are those of `JointTrajectory`, its arguments those of `TorqueControl`.
    """

    def _torque(self, model: Model, dofs: Sequence[int], tick: Tick, wanted: Array) -> Array:
        given = dict(zip(dofs, wanted, strict=True))
        return inverse_dynamics(model, tick.q, tick.v, np.array([given.get(i, 0.0) for i in range(model.nv)]))[dofs]
