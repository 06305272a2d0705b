"""Cartesian control of a tool on a moving base, by damped least-squares inverse kinematics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs.model import Model, State
from hydromechs.simulation import Controller, Simulation
from hydromechs.spatial import matrix_from_rpy
from hydromechs.values import Positive, nearest, positive

from ._admittance import Admittance
from ._inverse_kinematics import DIRECTIONS, Tool, damped_inverse, pose_off
from ._reference import Servos
from ._tool_path import ToolPath


def joint_limits(model: Model, names: Sequence[str]) -> np.ndarray:
    """Lowest and highest position of joints [rad or m], shape (n, 2)."""
    return np.array([getattr(model.joint_part(n).joint, "limits", None) or (-np.inf, np.inf) for n in names]).reshape(-1, 2)


def joint_rates(J: np.ndarray, wanted: np.ndarray, q: np.ndarray, limits: np.ndarray, rate: float, period: float) -> np.ndarray:
    """Rates of joints that give a tool its velocity, within limits of position and rate [rad/s or m/s], shape (n,).

    A joint that would leave its limits within a period keeps still, and the others do its part.

    Args:
        J: Jacobian of the tool for these joints, shape (m, n).
        wanted: Velocity that the joints should give the tool, shape (m,).
        q: Targets of the joints so far, shape (n,).
        limits: Lowest and highest positions, shape (n, 2).
        rate: Highest rate [rad/s or m/s].
        period: Time for which the rates hold [s].
    """
    free = np.ones(len(q), bool)
    out = np.zeros(len(q))
    for _ in range(len(q)):
        out = np.zeros(len(q))
        out[free] = damped_inverse(J[:, free]) @ wanted
        out *= min(1.0, rate / max(float(np.abs(out).max()), 1e-300))
        there = q + period * out
        leaving = free & (((there < limits[:, 0]) & (out < 0.0)) | ((there > limits[:, 1]) & (out > 0.0)))
        if not leaving.any():
            break
        free &= ~leaving
    return np.where(free, out, 0.0)


class Led(NamedTuple):
    """What a tool loop does at one call."""

    commands: dict[str, float]
    """Targets of the servos, and their rates."""
    targets: np.ndarray
    """Targets of the joints at the next call [rad or m], shape (n,)."""
    error: np.ndarray
    """Reference less present pose in world axes [m, rad], 0 for turns where none is controlled, shape (6,)."""


class ToolLoop:
    """From the reference of a tool in the world to targets of servo-driven joints, while the base moves as it likes.

        q̇ = J⁺ (V_ref + κ e − J_b v_b),    target(t) = ∫ q̇ dt

    Args:
        simulation: The simulation that it controls.
        frame: Name of the tool's frame, or of a body.
        joints: Names of the joints that move; all servo-driven ones between the tool and the root if None.
        directions: What is controlled, of x, y, z, rx, ry, rz in the world.
        stiffness: κ, the rate at which errors die away [1/s].
        rate: Highest rate of a joint [rad/s or m/s].
        period: Time between two commands [s].
    """

    def __init__(
        self,
        simulation: Simulation,
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
        """Lowest and highest positions of its joints [rad or m], shape (n, 2)."""
        self._iv = [model.joint_part(n).v.start for n in names]
        self._rows = [DIRECTIONS.index(name) for name in directions]
        self._stiffness, self._rate, self._period = stiffness, rate, period

    def __call__(self, state: State, targets: np.ndarray, wanted: np.ndarray, rate: np.ndarray) -> Led:
        """Commands at a `state`.

        Args:
            state: The state, or an estimate of it.
            targets: Targets of the joints so far [rad or m], shape (n,).
            wanted: Place and roll, pitch, heading of the tool [m, rad], shape (6,).
            rate: Velocity of the reference in world axes [m/s, rad/s], shape (6,).
        """
        pose = self.tool(state.q)
        axes = np.array(matrix_from_rpy(wanted[3:]), dtype=float) if max(self._rows) >= 3 else None
        off = pose_off(pose, wanted[:3], axes)
        V = (rate + self._stiffness * off - pose.J @ self.carried(state))[self._rows]
        qd = joint_rates(pose.J[self._rows][:, self._iv], V, targets, self.limits, self._rate, self._period)
        return Led(self.servos.commands(targets, qd, state.t), targets + self._period * qd, off)

    def carried(self, state: State) -> np.ndarray:
        """Velocities of all but its joints, shape (nv,)."""
        others = state.v.copy()
        others[self._iv] = 0.0
        return others


class CartesianMotion(Controller):
    """Leads a tool along waypoints in the world with servo-driven joints, while the base moves as it likes. A controller.

        q̇ = J⁺ (V_ref + κ e − J_b v_b),    target(t) = ∫ q̇ dt

    J is the tool's Jacobian for the arm's joints, J⁺ its damped inverse, J_b v_b the velocity that the vehicle and other joints
    give it. The joints' targets are integrated; so the servos' sag under load is taken out, too. Its signals are reference and
    error of the tool, as "reference.tool.x" [m] and "error.tool.rx" [rad], in world axes. Where it gives way to a force, V_ref
    has δ̇ besides and e has δ (see `Admittance`), and δ is a signal, "given.tool.x" [m].

    Args:
        frame: Name of the tool's frame, or of a body.
        waypoints: Mappings with t [s], position (3,) in world axes [m], and heading_deg, pitch_deg, roll_deg of its axes.
        swings: Sinusoids besides: mappings with t [s], travel from end to end (3,) [m], period [s], cycles.
        directions: What is controlled, of x, y, z, rx, ry, rz in the world; x, y, z unless given.
        joints: Names of the joints that move; all servo-driven ones between the tool and the root unless given.
        stiffness: κ, the rate at which errors die away [1/s].
        rate: Highest rate of a joint [rad/s or m/s].
        admittance: Compliance to the force that a sensor in its wrist measures: a mapping with sensor (its name), stiffness K
            [N/m], damping D [N·s/m], and optionally start and touched [s]. If omitted, the tool does not give way.
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

    def start(self, simulation: Simulation) -> None:
        """Look up the arm and compile its kinematics."""
        directions = [DIRECTIONS[k] for k in self.rows]
        self._loop = ToolLoop(simulation, self.frame, self.joints, directions, self.stiffness, self.rate, self.period)
        self._n, more = len(self._loop.servos.names), 0
        if self.admittance is not None:
            self.admittance.on(simulation.model, self.frame, self.measured)
            more = Admittance.SIZE
        self.memory = np.concatenate([np.full(self._n, np.nan), np.zeros(more)])
        shown = {DIRECTIONS[k]: "m" if k < 3 else "rad" for k in self.rows}
        self.signals = {f"{kind}.{self.frame}.{x}": unit for kind in ("reference", "error") for x, unit in shown.items()}
        if self.admittance is not None:
            self.signals |= {f"given.{self.frame}.{x}": "m" for x in "xyz"}

    def __call__(self, state: State) -> dict[str, float]:
        """Targets of the servos at a `state`, and their rates."""
        targets, more = self.memory[: self._n], self.memory[self._n :]
        if np.isnan(targets).any():  # the first call: from where the servos are told to be
            targets = self._loop.servos.targets(state)
        wanted, rate, _ = self.path(state.t)
        shown, given = wanted[self.rows], np.zeros(0)
        if self.admittance is not None:
            said = self.measured.get(self.admittance.sensor)
            force = np.full(3, np.nan) if said is None else said.values[:3]
            (given, speed), more = self.admittance(more, state.t, self._loop.tool(state.q).R, force)
            wanted, rate = wanted + np.concatenate([given, np.zeros(3)]), rate + np.concatenate([speed, np.zeros(3)])
        led = self._loop(state, targets, wanted, rate)
        self.memory = np.concatenate([led.targets, more])
        self.signal_values = np.concatenate([shown, led.error[self.rows], given])
        return led.commands
