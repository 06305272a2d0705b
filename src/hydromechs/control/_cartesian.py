"""Cartesian control of a tool on a moving base, by damped least-squares inverse kinematics; paths of the tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hydromechs import compiler
from hydromechs.model import Model
from hydromechs.simulation import Simulation, Site, Tick, TracedBlock, Update
from hydromechs.spatial import matrix_from_rpy, minimum, where
from hydromechs.values import Array, Positive, Scalar, floats, nearest, number, positive, whole

from ._admittance import Admittance
from ._damped_inverse import damped_inverse
from ._inverse_kinematics import DIRECTIONS, Tool, pose_off
from ._pose_control import pose_waypoints
from ._reference import Sample, Servos

SWING = {"t", "travel", "period", "cycles"}
"""Keys of a swing."""


class ToolPath:
    """Pose reference over time: smooth motion from waypoint to waypoint, plus sinusoids.

        p(t) = p_way(t) + ½ a (1 − cos(2π (t − t_0)/T))   for t_0 < t < t_0 + n T

    A swing starts and stops at zero velocity.

    Args:
        waypoints: As of `FollowPath`: t [s], position [m], roll_deg, pitch_deg, heading_deg.
        swings: Mappings with t (t_0 [s]), travel (a, from end to end [m], shape (3,)), period (T [s]) and cycles (n).
    """

    def __init__(self, waypoints: Sequence[Mapping[str, Any]], swings: Sequence[Mapping[str, Any]] = ()) -> None:
        self.way = pose_waypoints(waypoints)
        self.swings = []
        for k, s in enumerate(swings):
            if not isinstance(s, Mapping) or set(s) != SWING:
                raise ValueError(f"swing {k} is {s!r}, must have {', '.join(sorted(SWING))}")
            travel = np.array([*floats(s["travel"], 3, f"travel of swing {k}"), 0.0, 0.0, 0.0])
            start, period = number(s["t"], f"t of swing {k}"), positive(s["period"], f"period of swing {k}")
            self.swings.append((start, travel, period, whole(s["cycles"], f"cycles of swing {k}")))

    def __call__(self, t: Scalar) -> Sample:
        """Return position and roll, pitch, heading at time `t` [s], with rates and second derivatives, shape (6,) each."""
        position, rate, acceleration = self.way(t)
        for start, travel, period, cycles in self.swings:
            swings = where(t > start, where(t < start + cycles * period, 1.0, 0.0), 0.0)
            w, half = 2.0 * np.pi / period, 0.5 * swings * travel
            s, c = np.sin(w * (t - start)), np.cos(w * (t - start))
            position, rate, acceleration = position + half * (1.0 - c), rate + half * w * s, acceleration + half * w * w * c
        return Sample(position, rate, acceleration)


def joint_limits(model: Model, names: Sequence[str]) -> np.ndarray:
    """Return the minimum and maximum positions of joints [rad or m], shape (n, 2)."""
    return np.array([getattr(model.joint_part(n).joint, "limits", None) or (-np.inf, np.inf) for n in names]).reshape(-1, 2)


def slowed(rates: Array, most: float) -> Array:
    """Return rates scaled down together where the largest is above `most`."""
    largest = 1e-300
    for x in rates:
        largest = where(abs(x) > largest, abs(x), largest)
    return rates * minimum(1.0, most / largest)


@lru_cache(maxsize=64)
def _fewer(m: int, limits: tuple[tuple[float, float], ...], rate: float, period: float) -> compiler.Program:
    """Return a program that computes rates of the free joints, and freezes those that would leave their limits."""
    n = len(limits)

    def fewer(free: Array, out: Array, J: Array, wanted: Array, q: Array) -> tuple[Array, Array, Array]:
        out = slowed(damped_inverse(J * free, wanted, columns=np.sum(free)), rate)
        stays = []
        for x, there, (low, high) in zip(out, q + period * out, limits, strict=True):
            down = where(there < low, where(x < 0.0, 1.0, 0.0), 0.0) if low > -np.inf else 0.0
            up = where(there > high, where(x > 0.0, 1.0, 0.0), 0.0) if high < np.inf else 0.0
            stays.append(1.0 - where(down, 1.0, up))
        after = free * np.array(stays)
        return after, after * out, np.asarray(where(np.sum(after) == np.sum(free), 1.0, 0.0))

    shapes = {"free": (n,), "out": (n,), "J": (m, n), "wanted": (m,), "q": (n,)}
    return compiler.trace(fewer, shapes, name="fewer", outputs=("free", "out", "done"))


def joint_rates(J: Array, wanted: Array, q: Array, limits: np.ndarray, rate: float, period: float) -> Array:
    """Return rates of joints that give a tool its velocity, within limits of position and rate [rad/s or m/s], shape (n,).

    A joint that would leave its limits within a period stops, and the others compensate for it.

    Args:
        J: Jacobian of the tool for these joints, shape (m, n).
        wanted: Wanted velocity of the tool from the joints, shape (m,).
        q: Present targets of the joints, shape (n,).
        limits: Minimum and maximum positions, numbers, shape (n, 2).
        rate: Maximum rate [rad/s or m/s].
        period: Time for which the rates hold [s].
    """
    n = len(q)
    program = _fewer(len(wanted), tuple(map(tuple, np.asarray(limits).tolist())), rate, period)
    return compiler.iterate(program, n, np.ones(n), np.zeros(n), J, wanted, q)[1]


class Led(NamedTuple):
    """Actions of a tool loop at one call."""

    rates: Array
    """Rates of the targets until the next call [rad/s or m/s], shape (n,)."""
    targets: Array
    """Targets of the joints at the next call [rad or m], shape (n,)."""
    error: Array
    """Reference minus present pose in world axes [m, rad], 0 for rotations if none is controlled, shape (6,)."""


class ToolLoop:
    """Converts the reference of a tool in the world to targets of servo-driven joints, for any motion of the base.

        q̇ = J⁺ (V_ref + κ e − J_b v_b),    target(t) = ∫ q̇ dt

    Args:
        simulation: The simulation that it controls, or the site of a block.
        frame: Name of the tool's frame, or of a body.
        joints: Names of the joints that move; all servo-driven ones between the tool and the root if None.
        directions: Controlled directions, of x, y, z, rx, ry, rz in the world.
        stiffness: κ, decay rate of errors [1/s].
        rate: Maximum rate of a joint [rad/s or m/s].
        period: Time between two commands [s].
    """

    def __init__(
        self,
        simulation: Simulation | Site,
        frame: str,
        joints: Sequence[str] | None,
        directions: Sequence[str],
        stiffness: float,
        rate: float,
        period: float,
    ) -> None:
        model = simulation.model
        self.tool = Tool(model, frame)
        """Its kinematics."""
        names = [n for n in self.tool.chain if n in simulation.actuators] if joints is None else list(joints)
        if not names:
            raise ValueError(f"cartesian control of {frame!r}: no joint between it and the root is driven; give it servos")
        self.servos = Servos(simulation, names)
        """Its joints."""
        self.limits = joint_limits(model, names)
        """Minimum and maximum positions of its joints [rad or m], shape (n, 2)."""
        self._iv = [model.joint_part(n).v.start for n in names]
        self._rows = [DIRECTIONS.index(name) for name in directions]
        self._stiffness, self._rate, self._period = stiffness, rate, period

    def __call__(self, q: Array, v: Array, targets: Array, wanted: Array, rate: Array) -> Led:
        """Return rates and targets of the joints, in NumPy operations, from configuration and velocity or their estimates.

        `targets` (n,) are the present ones, `wanted` (6,) position and roll, pitch, heading of the tool [m, rad],
        `rate` (6,) the velocity of the reference in world axes [m/s, rad/s].
        """
        pose = self.tool.pose(q)
        off = pose_off(pose, wanted[:3], matrix_from_rpy(wanted[3:]) if max(self._rows) >= 3 else None)
        V = (rate + self._stiffness * off - pose.J @ self.carried(v))[self._rows]
        qd = joint_rates(pose.J[self._rows][:, self._iv], V, targets, self.limits, self._rate, self._period)
        return Led(qd, targets + self._period * qd, off)

    def carried(self, v: Array) -> Array:
        """Return the velocities of all but its joints, shape (nv,)."""
        others = v.copy()
        others[self._iv] = 0.0
        return others

    def program(self) -> compiler.Compiled:
        """Return the loop in machine code."""
        model, n = self.tool.model, len(self._iv)
        inputs = {"q": (model.nq,), "v": (model.nv,), "targets": (n,), "wanted": (6,), "rate": (6,)}
        outputs = {"rates": (n,), "targets_after": (n,), "error": (6,)}
        return compiler.compile_function("tool_loop", lambda **given: tuple(self(**given)), inputs, outputs, rarely_called=True)


class CartesianMotion(TracedBlock):
    """Controller that moves a tool along waypoints in the world with servo-driven joints, for any motion of the base.

        q̇ = J⁺ (V_ref + κ e − J_b v_b),    target(t) = ∫ q̇ dt

    J is the tool's Jacobian for the arm's joints, J⁺ its damped inverse, J_b v_b the tool's velocity from the vehicle and other
    joints. The joints' targets are integrated, which also removes the servos' sag under load. Its signals are reference and
    error of the tool, as "reference.tool.x" [m] and "error.tool.rx" [rad], in world axes. If it is compliant, δ̇ is
    added to V_ref and δ to e (see `Admittance`), and δ is a signal, "given.tool.x" [m].

    Args:
        frame: Name of the tool's frame, or of a body.
        waypoints: Mappings with t [s], position (3,) in world axes [m], and heading_deg, pitch_deg, roll_deg of its axes.
        swings: Additional sinusoids: mappings with t [s], travel from end to end (3,) [m], period [s], cycles.
        directions: Controlled directions, of x, y, z, rx, ry, rz in the world; defaults to x, y, z.
        joints: Names of the joints that move; defaults to all servo-driven ones between the tool and the root.
        stiffness: κ, decay rate of errors [1/s].
        rate: Maximum rate of a joint [rad/s or m/s].
        admittance: Compliance to the force that a sensor in its wrist measures: a mapping with sensor (its name), stiffness K
            [N/m], damping D [N·s/m], and optionally start and touched [s]. If omitted, the tool is rigid.
        period: Time between two commands [s].
    """

    def __init__(
        self,
        *,
        frame: str,
        waypoints: Sequence[Mapping[str, Any]],
        swings: Sequence[Mapping[str, Any]] = (),
        directions: Sequence[str] = ("x", "y", "z"),
        joints: Sequence[str] | None = None,
        stiffness: Positive = 2.0,
        rate: Positive = 1.0,
        admittance: Mapping[str, Any] | None = None,
        period: Positive = 0.02,
    ) -> None:
        for name in directions:
            if name not in DIRECTIONS:
                raise ValueError(f"directions has {name!r}{nearest(str(name), DIRECTIONS)}")
        self.frame, self.path, self.joints = frame, ToolPath(waypoints, swings), joints
        self.rows = [DIRECTIONS.index(name) for name in directions]
        self.stiffness, self.rate = positive(stiffness, "stiffness"), positive(rate, "rate")
        self.period = positive(period, "period")
        self.admittance = None if admittance is None else Admittance.of(admittance, self.period)

    def prepare(self, site: Site) -> None:
        directions = [DIRECTIONS[k] for k in self.rows]
        self._loop = ToolLoop(site, self.frame, self.joints, directions, self.stiffness, self.rate, self.period)
        self.commanded = self._loop.servos.commanded
        self.first_memory = {"targets": np.zeros(len(self._loop.servos.names))}
        shown = {DIRECTIONS[k]: "m" if k < 3 else "rad" for k in self.rows}
        self.signals = {f"{kind}.{self.frame}.{x}": unit for kind in ("reference", "error") for x, unit in shown.items()}
        if self.admittance is not None:
            self.admittance.on(site.model, self.frame, site.measured)
            self.first_memory = {**self.first_memory, "admittance": np.zeros(Admittance.SIZE)}
            self.signals |= {f"given.{self.frame}.{x}": "m" for x in "xyz"}

    def update(self, tick: Tick) -> Update:
        targets = self._loop.servos.remembered(tick)
        wanted, rate, _ = self.path(tick.t)
        shown, given, memory = wanted[self.rows], np.zeros(0), {}
        if self.admittance is not None:
            force, R = tick.measured[self.admittance.sensor][:3], self._loop.tool.pose(tick.q).R
            (given, speed), memory["admittance"] = self.admittance(tick.memory["admittance"], tick.t, R, force)
            wanted, rate = wanted + np.concatenate([given, np.zeros(3)]), rate + np.concatenate([speed, np.zeros(3)])
        led = self._loop(tick.q, tick.v, targets, wanted, rate)
        values = np.concatenate([shown, led.error[self.rows], given])
        return Update(
            self._loop.servos.commands(targets, led.rates, tick.t),
            memory | {"targets": led.targets},
            dict(zip(self.signals, values, strict=True)),
        )
