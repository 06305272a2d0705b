"""Controller of the operator station, which converts operator input into commands of thrusters, arms and grippers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hydromechs.control import SpeedLoop, Vehicle, speeds_towards
from hydromechs.model import State
from hydromechs.simulation import Controller, Pack, Simulation
from hydromechs.spatial import quaternion_matrix
from hydromechs.values import floats, positive

from ._arms import Arm, ArmSpeeds, arms_of
from ._helm import SPEEDS, carrier, held_place, level_axes
from ._operator import ARM_MODES, AXES, GRIPPER, MODES, Inputs, LiveInputs, Operator

SETTLED = 0.1
"""Distance from the setpoint [m], and speed [m/s], below which a vehicle has reached the held position."""


class Pilot(Controller):
    """Controller that flies a vehicle by operator input, in the modes manual, speed and hold, and moves its arms.

    In the mode "manual", deflections are fractions of the maximum force or moment along each axis. In the mode "speed", they
    are fractions of `speeds`, tracked by a servo LQR. In the mode "hold", deflections move the held position and heading. An
    arm is moved joint by joint, or by its tool: in world axes while the vehicle holds its position, otherwise with the
    vehicle. The signals of the controller are the operator input.

    Args:
        body: Name of the body of the vehicle. Defaults to the root body of the first thruster.
        speeds: Speeds at full deflection: surge, sway, heave [m/s], roll and pitch [rad], yaw [rad/s], shape (6,).
        joint_speed: Rate of a joint at full deflection [rad/s or m/s].
        tool_speed: Speed of a tool at full deflection [m/s].
        bandwidth: Bandwidth of the speed loop [rad/s].
        stiffness: Decay rate of position errors [1/s].
        period: Interval between two commands [s].
        inputs: Source of operator inputs. If omitted, the vehicle holds its position.
    """

    def __init__(
        self,
        *,
        body: str | None = None,
        speeds: Sequence[float] = SPEEDS,
        joint_speed: float = 0.3,
        tool_speed: float = 0.15,
        bandwidth: float = 1.5,
        stiffness: float = 0.5,
        period: float = 0.04,
        inputs: Inputs | None = None,
    ) -> None:
        self.body, self.period = body, positive(period, "period")
        self.speeds = np.array([positive(x, "speeds") for x in floats(speeds, 6, "speeds")])
        self.arm_speeds = ArmSpeeds(positive(joint_speed, "joint_speed"), positive(tool_speed, "tool_speed"))
        self.bandwidth, self.stiffness = positive(bandwidth, "bandwidth"), positive(stiffness, "stiffness")
        self.inputs: Inputs = LiveInputs() if inputs is None else inputs
        self.arms: list[Arm] = []
        """Arms of the vehicle; empty before `start`."""

    def reading(self, inputs: Inputs, period: float | None = None) -> Pilot:
        """Return a copy of this pilot that reads other inputs; `period` [s] defaults to the period of this pilot."""
        out = type(self)(**{**self.arguments, "period": self.period if period is None else period})
        out.inputs = inputs  # not an argument: files do not hold a device
        return out

    def start(self, simulation: Simulation) -> None:
        self._simulation = simulation
        down = float(simulation.model.world.down[2])
        self._signs = np.array([1.0, down, down, 1.0, down, down])  # starboard and down, whichever way y and z point
        body = self.body or carrier(simulation.model, simulation.plant.components)
        self._loop = SpeedLoop(simulation, body, None, self.bandwidth, 1.0, self.period).compile()
        self.arms = arms_of(simulation, self.vehicle.body, self.arm_speeds, self.period)
        shapes: dict[str, tuple[int, ...]] = {"integrals": (6,), "held": (6,), "last": (2,)}
        for k, arm in enumerate(self.arms):
            shapes |= {f"{k}.{name}": shape for name, shape in arm.memory.items()}
        self._pack = Pack(shapes)
        self.memory = np.full(self._pack.size, np.nan)
        self._pack.views(self.memory)["integrals"][:] = 0.0
        self.signals = {f"operator.{name}": "1" for name in ("mode", *AXES, "arm", "arm_mode", *map(str, range(1, 7)), "swing")}

    @property
    def vehicle(self) -> Vehicle:
        """Flown vehicle; available after `start`."""
        return self._loop.vehicle

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies without compiled code, which `start` rebuilds."""
        return {name: x for name, x in self.__dict__.items() if name not in ("_simulation", "_loop", "arms")} | {"arms": []}

    def __call__(self, state: State) -> dict[str, float]:
        asked = self.inputs.at(round(state.t / self.period))
        memory = np.array(self.memory, dtype=float)
        m = self._pack.views(memory)
        R = np.array(quaternion_matrix(state.q[self.vehicle.q][3:]), dtype=float)
        out, base = self._flown(state, m, asked, R)
        forward = level_axes(R) * self._signs[:3]
        for k, arm in enumerate(self.arms):
            own = {name: m[f"{k}.{name}"] for name in arm.memory}
            mine = asked if k == asked.arm else replace(asked, arm_axes=(0.0,) * 6, target=None, swing=False)
            out |= arm.commands(state, own, mine, forward, base)
        self.messages = []
        gripper = float(GRIPPER.index(asked.gripper))
        if gripper not in (0.0, m["last"][1]) and asked.arm < len(self.arms):
            switches, said = self.arms[asked.arm].gripped(asked.gripper, self._simulation.state.q)
            out |= switches
            self.messages = [said]
        m["last"][:] = MODES.index(asked.mode), gripper
        self.memory = memory
        self.signal_values = np.array(_shown(asked))
        return out

    def _flown(self, state: State, m: dict[str, np.ndarray], asked: Operator, R: np.ndarray) -> tuple[dict[str, float], str]:
        """Return the thruster commands, and the mode of the vehicle, one of `BASE`."""
        axes, here = self._signs * np.array(asked.axes), state.q[self.vehicle.q]
        if asked.mode == "manual":
            m["held"][:], m["integrals"][:] = np.nan, 0.0
            return self.vehicle.push(axes * self.vehicle.reach).commands, "flies"
        if m["last"][0] == MODES.index("manual"):
            m["integrals"][:] = 0.0
        if asked.mode == "speed":
            m["held"][:] = np.nan
            reference = axes * self.speeds
        else:
            reference = self._held_place(state, m["held"], axes, here, R)
        driven = self._loop(state, m["integrals"], reference)
        m["integrals"][:] = driven.memory
        if asked.mode == "speed" or axes.any():
            return driven.push.commands, "flies"
        near = np.linalg.norm(m["held"][:3] - here[:3]) < SETTLED and np.linalg.norm(state.v[self.vehicle.v][:3]) < SETTLED
        return driven.push.commands, "rests" if near else "settles"

    def _held_place(self, state: State, held: np.ndarray, axes: np.ndarray, here: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return references of the speed loop that hold a position, shape (6,); deflections move this position."""
        if np.isnan(held).any():
            coast = R @ state.v[self.vehicle.v][:3] / (2.0 * self.bandwidth)  # stopping position
            held[:] = [*(here[:3] + coast), 0.0, 0.0, np.arctan2(R[1, 0], R[0, 0])]
        held[:], rate = held_place(held, axes, here, self.speeds, self.period)
        return speeds_towards(here, held, rate, self.stiffness, float(self.speeds[0]))[0]


def _shown(asked: Operator) -> list[float]:
    mode, arm_mode = MODES.index(asked.mode), ARM_MODES.index(asked.arm_mode)
    return [mode, *asked.axes, asked.arm, arm_mode, *asked.arm_axes, float(asked.swing)]
