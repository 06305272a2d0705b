"""Manipulator arms moved by an operator, joint by joint or by the tool, and their grippers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hydromechs import contact, dynamics
from hydromechs.actuation import drives
from hydromechs.control import ToolLoop, ToolPath
from hydromechs.model import Model, State
from hydromechs.simulation import Simulation
from hydromechs.spatial import rpy_from_matrix

from ._operator import Operator

SWING = 0.4, 7.5, 4
"""Swing of the fast manipulation mission: travel [m], period [s], number of cycles (Razzanelli et al. 2019)."""
LEASH = 0.3
"""Maximum distance by which the reference position leads the tool [m]."""
BASE = ("flies", "settles", "rests")
"""Modes of a vehicle: steered by the operator, approaching the held position, at the held position."""
STIFFNESS = 2.0
"""Decay rate of the position error of a tool [1/s]."""


class ArmSpeeds(NamedTuple):
    """Speeds of an arm at full deflection of an axis."""

    joint: float
    """Joint rate [rad/s or m/s]."""
    tool: float
    """Tool speed [m/s]."""


def tool_frames(model: Model, holdings: Sequence[contact.Holding]) -> list[str]:
    """Return the names of tool frames: frames that hold objects, and frames whose name ends with "tool"."""
    named = [name for name in model.frames if name.rpartition(".")[2].endswith("tool")]
    return list(dict.fromkeys([*(g.holder for g in holdings), *named]))


def arms_of(simulation: Simulation, body: int, speeds: ArmSpeeds, period: float) -> list[Arm]:
    """Return the servo-driven arms of the vehicle with index `body`; each arm receives commands every `period` [s]."""
    model, parts = simulation.model, simulation.plant.components
    holdings = [c for c in parts if isinstance(c, contact.Holding)]
    servos = {c.joint for c in parts if isinstance(c, drives.Servo)}
    out: list[Arm] = []
    for frame in tool_frames(model, holdings):
        chain, above = [], model.locate(frame).body
        while above >= 0 and above != body:
            chain.append(model.body_names[above])
            above = model.parent[above]
        joints = [name for name in chain[::-1] if name in servos]
        if above == body and joints and all(arm.joints != joints for arm in out):
            own = [g for g in holdings if g.holder == frame or model.locate(g.holder).body == model.locate(frame).body]
            out.append(Arm(simulation, frame, joints, own, speeds, period))
    return out


class Arm:
    """Chain of servo-driven joints, listed from the base, with a tool at its end and a gripper."""

    def __init__(
        self,
        simulation: Simulation,
        frame: str,
        joints: list[str],
        holdings: list[contact.Holding],
        speeds: ArmSpeeds,
        period: float,
    ) -> None:
        self.frame, self.joints, self.holdings, self.speeds, self.period = frame, joints, holdings, speeds, period
        self.model = simulation.model
        self._loop = ToolLoop(simulation, frame, joints, ("x", "y", "z"), STIFFNESS, 2.0 * speeds.joint, period)
        self._lead = self._loop.program()
        self._lead.code(1)
        travel, time, cycles = SWING
        up = -np.array(self.model.world.down) * travel
        swing = {"t": 0.0, "travel": up.tolist(), "period": time, "cycles": cycles}
        self._swing, self._swings_until = ToolPath([{"position": (0.0, 0.0, 0.0)}], [swing]), time * cycles

    @property
    def memory(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the memory, keyed by name: joint targets, reference position of the tool, start time of a swing."""
        return {"targets": (len(self.joints),), "place": (3,), "swing": ()}

    def place(self, q: np.ndarray) -> np.ndarray:
        """Return the tool position at a configuration, in world axes [m], shape (3,)."""
        return self._loop.tool(q).p

    def still(self, state: State, m: Mapping[str, np.ndarray]) -> None:
        """Store the present targets of the servos in the memory at the first call."""
        if np.isnan(m["targets"]).any():
            m["targets"][:] = self._loop.servos.targets(state)

    def commands(
        self, state: State, m: Mapping[str, np.ndarray], asked: Operator, forward: np.ndarray, base: str
    ) -> dict[str, float]:
        """Return the commands of the servos, and update the memory `m`.

        Args:
            state: State of the simulation, or an estimate.
            m: Memory of the arm, keyed by name.
            asked: Operator input.
            forward: Columns are the vehicle directions forward, starboard and down in world axes, shape (3, 3).
            base: Mode of the vehicle, one of `BASE`.
        """
        self.still(state, m)
        if asked.arm_mode == "joints":
            m["place"][:], m["swing"][...] = np.nan, np.nan
            rate = np.zeros(len(self.joints))
            used = min(len(rate), 6)
            rate[:used] = self.speeds.joint * np.array(asked.arm_axes[:used])
            return self._moved(state, m, rate)
        return self._led(state, m, asked, forward, base)

    def _moved(self, state: State, m: Mapping[str, np.ndarray], rate: np.ndarray) -> dict[str, float]:
        """Return commands that move the joints at given rates [rad/s or m/s], shape (n,), up to their limits."""
        low, high = self._loop.limits.T
        there = np.clip(m["targets"] + self.period * rate, low, high)
        out = self._loop.servos.commands(m["targets"], (there - m["targets"]) / self.period, state.t)
        m["targets"][:] = there
        return out

    def _led(
        self, state: State, m: Mapping[str, np.ndarray], asked: Operator, forward: np.ndarray, base: str
    ) -> dict[str, float]:
        """Return commands that move the tool: in world axes if the vehicle holds its position, otherwise with the vehicle."""
        pose = self._loop.tool(state.q)
        along = forward @ (self.speeds.tool * np.array(asked.arm_axes[:3]))
        place, rate = m["place"], np.zeros(6)
        if base == "flies" or (base == "settles" and np.isnan(place).any()):
            place[:], m["swing"][...] = np.nan, np.nan
            if not along.any():
                return self._moved(state, m, np.zeros(len(self.joints)))
            wanted, rate[:3] = pose.p, along + (pose.J @ self._loop.carried(state.v))[:3]
        else:
            if np.isnan(place).any():
                place[:] = pose.p
            if asked.target is not None and not along.any():
                way = np.array(asked.target) - place
                along = way / max(self.period, float(np.linalg.norm(way)) / self.speeds.tool)
            moved = place + self.period * along
            off = moved - pose.p
            if np.linalg.norm(off) > LEASH and off @ along > 0.0:
                along = np.zeros(3)  # the reference waits for the tool
            swung = self._swung(m, asked.swing, state.t)
            wanted, rate[:3] = place + swung[0], along + swung[1]
            place += self.period * along
        facing = np.array(rpy_from_matrix(pose.R), dtype=float)
        given = (state.q, state.v, np.array(m["targets"]), np.concatenate([wanted, facing]), rate)
        rates, targets, _ = self._lead.single_results(*given)
        commands = self._loop.servos.commands(given[2], rates, state.t)
        m["targets"][:] = targets
        return commands

    def _swung(self, m: Mapping[str, np.ndarray], wanted: bool, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the displacement [m] and velocity [m/s] of a swing about the tool position, in world axes, shape (3,) each."""
        if not wanted:
            m["swing"][...] = np.nan
        elif np.isnan(m["swing"]):
            m["swing"][...] = t
        if np.isnan(m["swing"]) or t - m["swing"] >= self._swings_until:
            return np.zeros(3), np.zeros(3)
        sample = self._swing(float(t - m["swing"]))
        return sample.position[:3], sample.rate[:3]

    def gripped(self, asked: str, q: np.ndarray) -> tuple[dict[str, float], str]:
        """Return held inputs that "close" or "open" the gripper, and a message; `q` is the true configuration, shape (nq,)."""
        if not self.holdings:
            return {}, f"{self.frame} has no gripper"
        if asked == "open":
            return {f"{g.name}.closed": 0.0 for g in self.holdings}, f"{self.frame} opens"
        kin = dynamics.kinematics(self.model, q, np.zeros(self.model.nv))
        apart = {g.name: g.apart(self.model, kin) for g in self.holdings}
        name = min(apart, key=lambda n: apart[n])
        if apart[name] > 1.0:
            held = next(g.held for g in self.holdings if g.name == name)
            return {}, f"{self.frame} closes without an object, because {held} is out of reach"
        return {f"{name}.closed": 1.0}, f"{self.frame} closes on {next(g.held for g in self.holdings if g.name == name)}"
