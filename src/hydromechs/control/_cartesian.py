"""Cartesian control of a tool on a moving base: tool paths, damped least-squares inverse kinematics, admittance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hydromechs import compiler
from hydromechs.model import Model
from hydromechs.simulation import Measured, Simulation, Site, Tick, TracedBlock, Update
from hydromechs.spatial import matrix_from_rpy, minimum, where
from hydromechs.values import Array, Positive, Scalar, floats, nearest, number, positive, whole

from ._damped_inverse import DIRECTIONS, Tool, damped_inverse, pose_off
from ._pose_control import pose_waypoints
from ._reference import Sample, Servos

KEYS = ("sensor", "stiffness", "damping", "start", "touched")
"""Keys of `admittance` in a scenario file."""
ZEROING = 0.5
"""Averaging time of the force before compliance starts [s]."""


class Given(NamedTuple):
    """Displacement of a compliant tool."""

    offset: Array
    """Displacement δ in world axes [m], shape (3,)."""
    rate: Array
    """Mean rate of δ until the next call, in world axes [m/s], shape (3,)."""


class Admittance:
    """Admittance control: displaces the reference of a tool under external force as a spring and damper would.

        D δ̇ = f − K (δ − δ_0),    f = −R_WS (f_S − f_0)

    (Hogan 1985). f_S is the measurement of a force-torque sensor outboard of the wrist: the force of the arm on the sensor's
    body. f is the force of the environment on the tool. In equilibrium δ − δ_0 = f/K. The law is solved exactly for a force
    that is constant over a period.

    Before `start`, the tool is rigid, and f_0, the weight of the hand in water, is estimated as a mean over half a second.
    Between `start` and `touched`, the stiffness is zero: a hand that holds an object follows the object. The displacement at
    `touched` is δ_0. A path therefore starts at the touched object, and δ_0 contains the navigation error.

    Args:
        sensor: Name of a force-torque sensor on the tool's body.
        stiffness: K [N/m].
        damping: D [N·s/m]. D/(K + k) should be well above the lag of the servos, where k is the stiffness of the touched
            object.
        start: Time at which compliance starts [s].
        touched: Time at which the stiffness K starts to act [s]; defaults to `start`.
        period: Control period [s].
    """

    SIZE = 9
    """Length of the memory: δ, δ_0 and f_0 in world axes."""

    def __init__(
        self, *, sensor: str, stiffness: float, damping: float, period: float, start: float = 0.0, touched: float | None = None
    ) -> None:
        self.sensor, self.period = sensor, period
        self.stiffness, self.damping = positive(stiffness, "stiffness"), positive(damping, "damping")
        self.start = number(start, "start")
        self.touched = self.start if touched is None else number(touched, "touched")
        if self.touched < self.start:
            raise ValueError(f"touched is {self.touched:g} s, before start at {self.start:g} s; increase touched")

    @classmethod
    def of(cls, given: Mapping[str, Any], period: float) -> Admittance:
        """Return an admittance from a mapping with sensor, stiffness, damping, and optional start and touched."""
        if not isinstance(given, Mapping) or set(given) - set(KEYS) or not {*KEYS[:3]} <= set(given):
            raise ValueError(f"admittance is {given!r}; set {', '.join(KEYS[:3])} and optionally {', '.join(KEYS[3:])}")
        try:
            return cls(**given, period=period)
        except ValueError as error:
            raise ValueError(f"admittance: {error}") from None

    def on(self, model: Model, tool: str, measured: Mapping[str, Measured]) -> None:
        """Find the sensor of a tool among the sensors upstream of the controller."""
        found = measured.get(self.sensor)
        if found is None:
            more = nearest(self.sensor, measured) if measured else "; add a force_torque sensor"
            raise ValueError(f"admittance of {tool!r}: no sensor is named {self.sensor!r}{more}")
        if len(found.values) != 6 or not found.frame:
            raise ValueError(
                f"admittance of {tool!r}: sensor {self.sensor!r} does not measure wrenches; use a force_torque sensor"
            )
        there, here = model.locate(tool), model.locate(found.frame)
        if there.body != here.body:
            raise ValueError(
                f"admittance of {tool!r}: sensor {self.sensor!r} is on body {model.body_names[here.body]!r}, not on "
                f"{model.body_names[there.body]!r}, the body of the tool; move the sensor"
            )
        self._R_TS = there.R.T @ here.R

    def __call__(self, memory: Array, t: Scalar, R_WT: Array, force: Array) -> tuple[Given, Array]:
        """Return the displacement of a tool with axes R_WT (3, 3) in the world at time `t` [s], and the new memory (9,).

        `force` is the last measurement of the sensor in sensor axes [N], shape (3,); NaN before the first measurement.
        """
        offset, middle, weight = memory[:3], memory[3:6], memory[6:]
        T, K, D = self.period, self.stiffness, self.damping
        f_S = R_WT @ (self._R_TS @ force)
        known, slack = abs(f_S[0]) < np.inf, 1e-6 * T
        learns, touches = t < self.start - slack, t < self.touched - slack
        share = where(sum(abs(x) for x in weight) == 0.0, 1.0, T / ZEROING)
        learned = weight + share * (f_S - weight)
        f = weight - f_S
        drawn, rest = offset + f * T / D, middle + f / K
        sprung = rest + (offset - rest) * np.exp(-K * T / D)

        def chosen(silent: Array, learning: Array, touching: Array, springing: Array) -> Array:
            rows = zip(silent, learning, touching, springing, strict=True)
            return np.array([where(known, where(learns, b, where(touches, c, d)), a) for a, b, c, d in rows])

        there = chosen(offset, offset, drawn, sprung)
        remembered = [there, chosen(middle, middle, drawn, middle), chosen(weight, learned, weight, weight)]
        return Given(offset, (there - offset) / T), np.concatenate(remembered)


SWING = {"t", "travel", "period", "cycles"}
"""Keys of a swing in a scenario file."""


class ToolPath:
    """Reference pose of a tool over time: smooth motion between waypoints plus sinusoids.

        p(t) = p_way(t) + ½ a (1 − cos(2π (t − t_0)/T))   for t_0 < t < t_0 + n T

    A swing starts and stops at zero velocity.

    Args:
        waypoints: Mappings as in `FollowPath`: t [s], position [m], roll_deg, pitch_deg, heading_deg.
        swings: Mappings with t (t_0 [s]), travel (peak-to-peak a [m], shape (3,)), period (T [s]) and cycles (n).
    """

    def __init__(self, waypoints: Sequence[Mapping[str, Any]], swings: Sequence[Mapping[str, Any]] = ()) -> None:
        self.way = pose_waypoints(waypoints)
        self.swings = []
        for k, s in enumerate(swings):
            if not isinstance(s, Mapping) or set(s) != SWING:
                raise ValueError(f"swing {k} is {s!r}; set exactly {', '.join(sorted(SWING))}")
            travel = np.array([*floats(s["travel"], 3, f"travel of swing {k}"), 0.0, 0.0, 0.0])
            start, period = number(s["t"], f"t of swing {k}"), positive(s["period"], f"period of swing {k}")
            self.swings.append((start, travel, period, whole(s["cycles"], f"cycles of swing {k}")))

    def __call__(self, t: Scalar) -> Sample:
        """Return position and roll, pitch, heading at time `t` [s], with first and second derivatives, shape (6,) each."""
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
    """Return rates multiplied by a common factor so that the largest is at most `most`."""
    largest = 1e-300
    for x in rates:
        largest = where(abs(x) > largest, abs(x), largest)
    return rates * minimum(1.0, most / largest)


@lru_cache(maxsize=64)
def _fewer(m: int, limits: tuple[tuple[float, float], ...], rate: float, period: float) -> compiler.Program:
    """Return a program that computes rates of the free joints and locks joints that would exceed their limits."""
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
    """Return joint rates that produce a tool velocity within position and rate limits [rad/s or m/s], shape (n,).

    A joint that would exceed its limits within a period is locked, and the other joints compensate.

    `J`: Jacobian of the tool for these joints, shape (m, n); `wanted`: target velocity due to the joints, shape (m,);
    `q`: current targets of the joints, shape (n,); `limits`: minimum and maximum positions, constants, shape (n, 2);
    `rate`: maximum rate [rad/s or m/s]; `period`: control period [s].
    """
    n = len(q)
    program = _fewer(len(wanted), tuple(map(tuple, np.asarray(limits).tolist())), rate, period)
    return compiler.iterate(program, n, np.ones(n), np.zeros(n), J, wanted, q)[1]


class Led(NamedTuple):
    """Output of a tool loop in one control period."""

    rates: Array
    """Rates of the joint targets until the next call [rad/s or m/s], shape (n,)."""
    targets: Array
    """Joint targets at the next call [rad or m], shape (n,)."""
    error: Array
    """Reference minus current pose in world axes [m, rad], shape (6,); rotations are 0 if not controlled."""


class ToolLoop:
    """Loop that converts the world reference of a tool to targets of servo-driven joints, for any base motion.

        q̇ = J⁺ (V_ref + κ e − J_b v_b),    target(t) = ∫ q̇ dt

    Args:
        simulation: Controlled simulation, or the site of a block.
        frame: Name of the tool frame or of a body.
        joints: Names of the moving joints; None for all servo-driven joints between the tool and the root.
        directions: Controlled directions in the world, from x, y, z, rx, ry, rz.
        stiffness: κ, decay rate of errors [1/s].
        rate: Maximum rate of a joint [rad/s or m/s].
        period: Command period [s].
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
        """Kinematics of the tool."""
        names = [n for n in self.tool.chain if n in simulation.actuators] if joints is None else list(joints)
        if not names:
            raise ValueError(f"cartesian control of {frame!r}: no joint between {frame!r} and the root is driven; add servos")
        self.servos = Servos(simulation, names)
        """Servos of the joints."""
        self.limits = joint_limits(model, names)
        """Minimum and maximum positions of the joints [rad or m], shape (n, 2)."""
        self._iv = [model.joint_part(n).v.start for n in names]
        self._rows = [DIRECTIONS.index(name) for name in directions]
        self._stiffness, self._rate, self._period = stiffness, rate, period

    def __call__(self, q: Array, v: Array, targets: Array, wanted: Array, rate: Array) -> Led:
        """Return rates and targets of the joints from true or estimated configuration and velocity, in NumPy operations.

        `targets` (n,) are the current joint targets, `wanted` (6,) is the target position and roll, pitch, heading of the tool
        [m, rad], and `rate` (6,) is the velocity of the reference in world axes [m/s, rad/s].
        """
        pose = self.tool.pose(q)
        off = pose_off(pose, wanted[:3], matrix_from_rpy(wanted[3:]) if max(self._rows) >= 3 else None)
        V = (rate + self._stiffness * off - pose.J @ self.carried(v))[self._rows]
        qd = joint_rates(pose.J[self._rows][:, self._iv], V, targets, self.limits, self._rate, self._period)
        return Led(qd, targets + self._period * qd, off)

    def carried(self, v: Array) -> Array:
        """Return the velocities with zero rates of the controlled joints, shape (nv,)."""
        others = v.copy()
        others[self._iv] = 0.0
        return others

    def program(self) -> compiler.Compiled:
        """Return the loop as compiled machine code."""
        model, n = self.tool.model, len(self._iv)
        inputs = {"q": (model.nq,), "v": (model.nv,), "targets": (n,), "wanted": (6,), "rate": (6,)}
        outputs = {"rates": (n,), "targets_after": (n,), "error": (6,)}
        return compiler.compile_function("tool_loop", lambda **given: tuple(self(**given)), inputs, outputs, rarely_called=True)


class CartesianMotion(TracedBlock):
    """Controller that moves a tool along world waypoints with servo-driven joints, for any base motion.

        q̇ = J⁺ (V_ref + κ e − J_b v_b),    target(t) = ∫ q̇ dt

    J is the tool's Jacobian for the arm joints, J⁺ is the damped inverse of J, and J_b v_b is the tool velocity due to the
    vehicle and other joints. The integration of joint targets also removes the droop of the servos under load. The signals are
    reference and error of the tool in world axes, such as "reference.tool.x" [m] and "error.tool.rx" [rad]. For a compliant
    tool, δ̇ is added to V_ref and δ to e (see `Admittance`), and δ is a signal, "given.tool.x" [m].

    Args:
        frame: Name of the tool frame or of a body.
        waypoints: Mappings with t [s], position (3,) in world axes [m], and heading_deg, pitch_deg, roll_deg of the tool.
        swings: Additional sinusoids: mappings with t [s], peak-to-peak travel (3,) [m], period [s], cycles.
        directions: Controlled directions in the world, from x, y, z, rx, ry, rz; defaults to x, y, z.
        joints: Names of the moving joints; defaults to all servo-driven joints between the tool and the root.
        stiffness: κ, decay rate of errors [1/s].
        rate: Maximum rate of a joint [rad/s or m/s].
        admittance: Compliance to the force measured by a wrist sensor: a mapping with sensor (name), stiffness K [N/m],
            damping D [N·s/m], and optional start and touched [s]. If omitted, the tool is rigid.
        period: Command period [s].
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
                raise ValueError(f"directions contains an unknown name {name!r}{nearest(str(name), DIRECTIONS)}")
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
