"""Compiled pilot: operator input as settings of a plant, and a block that steers by them or passes mission commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hydromechs.actuation import Thruster, drives
from hydromechs.control import Servos, SpeedLoop, speeds_towards
from hydromechs.model import Model
from hydromechs.model.component import Action, Component, Now, Slot, Values
from hydromechs.scenario import Scenario
from hydromechs.sensors import common_period
from hydromechs.simulation import PythonBlock, Site, Tick, TracedBlock, Update
from hydromechs.spatial import clamp, norm, planar_rotation, quaternion_matrix, smallest_angle, where
from hydromechs.values import Array, Scalar, positive

from ._operator import AXES

LEASH = 1.0
"""Maximum distance by which the position setpoint leads the vehicle [m]."""
TURN_LEASH = 0.5
"""Maximum angle by which the heading setpoint leads the vehicle [rad]."""
SPEEDS = (0.6, 0.4, 0.3, 0.2, 0.2, 0.3)
"""Speeds at full deflection: surge, sway, heave [m/s], roll and pitch [rad], yaw [rad/s]."""
HELM_MODES = ("mission", "manual", "speed", "hold")
"""Modes of a helm; in the mode "mission", the controllers of the mission steer."""
MOST_JOINTS = 6
"""Maximum number of joints moved by a helm."""
PERIOD = 0.04
"""Minimum interval between two commands of a pilot [s]."""


def level_axes(R: Array) -> Array:
    """Return the horizontal axes of a vehicle as columns, shape (3, 3): forward, sideways, and z of the world."""
    heading = np.arctan2(R[1, 0], R[0, 0])
    return planar_rotation(2, np.cos(heading), np.sin(heading))


def held_place(held: Array, axes: Array, here: Array, speeds: Array, period: float) -> tuple[Array, Array]:
    """Return the setpoint of a held pose after deflections have moved it, and its rate, shape (6,) each; numbers or symbols.

    If the setpoint leads the vehicle by more than `LEASH` or `TURN_LEASH`, it waits for the vehicle.

    Args:
        held: Previous setpoint: position in world axes, then roll, pitch and heading [m, rad], shape (6,).
        axes: Deflections, -1 to 1, shape (6,).
        here: Position [m] and quaternion of the vehicle, shape (7,).
        speeds: Speeds at full deflection, like `SPEEDS`.
        period: Time since the last call [s].
    """
    R = quaternion_matrix(here[3:])
    along = level_axes(R) @ (speeds[:3] * axes[:3])
    off = held[:3] + period * along - here[:3]
    waits = where(off @ along > 0.0, norm(off), 0.0) > LEASH
    turning = speeds[5] * axes[5]
    turn = smallest_angle(held[5] - np.arctan2(R[1, 0], R[0, 0]))
    turning = where(where(turn * turning > 0.0, abs(turn), 0.0) > TURN_LEASH, 0.0, turning)
    rate = np.array([*(where(waits, 0.0, x) for x in along), 0.0, 0.0, turning])
    moved = held + period * rate
    return np.array([*moved[:3], speeds[3] * axes[3], speeds[4] * axes[4], moved[5]]), rate


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorInputs(Component):
    """Operator input as settings: mode, deflections of vehicle axes, and joint rates. The component exerts no force."""

    kind = "operator_inputs"

    name: str = "operator"
    """Prefix of the names of the settings."""
    joints: int = 0
    """Number of joints with a setting."""

    def inputs(self, model: Model) -> list[Slot]:
        one = (-1.0, 1.0)
        axes = [Slot(axis, setting=True, limits=one) for axis in AXES]
        joints = [Slot(f"joint_{k}", setting=True, limits=one) for k in range(1, self.joints + 1)]
        return [Slot("mode", setting=True, limits=(0.0, len(HELM_MODES) - 1.0)), *axes, *joints]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        return Action()


class Helm(TracedBlock):
    """Controller that steers a vehicle and its servo-driven joints by the settings of `OperatorInputs`.

    The helm is the last controller of a mission. In the mode "mission", it passes the commands of the previous controllers.
    The other modes are equal to the modes of `Pilot`: deflections are forces, speeds, or motions of a held pose.

    Args:
        joints: Names of the joints to move.
        speeds: Speeds at full deflection, like `SPEEDS`.
        joint_speed: Rate of a joint at full deflection [rad/s or m/s].
        bandwidth: Bandwidth of the speed loop [rad/s].
        stiffness: Decay rate of position errors [1/s].
        period: Interval between two commands [s].
    """

    def __init__(
        self,
        *,
        joints: Sequence[str] = (),
        speeds: Sequence[float] = SPEEDS,
        joint_speed: float = 0.3,
        bandwidth: float = 1.5,
        stiffness: float = 0.5,
        period: float = PERIOD,
    ) -> None:
        self.joints, self.speeds, self.period = tuple(joints), np.array(speeds, dtype=float), positive(period, "period")
        self.joint_speed, self.bandwidth = positive(joint_speed, "joint_speed"), positive(bandwidth, "bandwidth")
        self.stiffness = positive(stiffness, "stiffness")
        n = len(self.joints)
        self.first_memory = {"integrals": np.zeros(6), "held": np.zeros(6), "targets": np.zeros(n), "mode": 0.0}

    def prepare(self, site: Site) -> None:
        model = site.model
        down = float(model.world.down[2])
        self._signs = np.array([1.0, down, down, 1.0, down, down])  # starboard and down, whichever way y and z point
        self._loop = SpeedLoop(site, carrier(model, site.plant.components), None, self.bandwidth, 1.0, self.period)
        self._servos = Servos(site, self.joints)
        parts = [model.joint_part(name).joint for name in self.joints]
        self._limits = [joint.limits or (-np.inf, np.inf) for joint in parts]
        design = self._loop.design
        self.design = {"K_x": design.K_x, "K_i": design.K_i}
        self.commanded = (*(t.name for t in self._loop.vehicle.thrusters), *self._servos.commanded)

    def update(self, tick: Tick) -> Update:
        given, m = tick.inputs, tick.memory
        mode, vehicle = given["operator.mode"], self._loop.vehicle
        axes = self._signs * np.array([given[f"operator.{axis}"] for axis in AXES])
        here, v = tick.q[vehicle.q], tick.v[vehicle.v]
        steers, holds = where(mode > 0.5, 1.0, 0.0), where(mode > 2.5, 1.0, 0.0)
        manual = where(mode < 1.5, steers, 0.0)
        R = quaternion_matrix(here[3:])
        coast = R @ v[:3] / (2.0 * self.bandwidth)  # stopping position
        fresh = np.array([*(here[:3] + coast), 0.0, 0.0, np.arctan2(R[1, 0], R[0, 0])])
        begins = where(m["mode"] < 2.5, 1.0, 0.0) != 0.0
        held = np.array([where(begins, a, b) for a, b in zip(fresh, m["held"], strict=True)])
        held, rate = held_place(held, axes, here, self.speeds, self.period)
        towards = speeds_towards(here, held, rate, self.stiffness, float(self.speeds[0]))[0]
        reference = np.array([where(holds != 0.0, a, b) for a, b in zip(towards, axes * self.speeds, strict=True)])
        starts = where(m["mode"] < 1.5, 1.0, 0.0) != 0.0
        integrals = np.array([where(starts, 0.0, x) for x in m["integrals"]])
        own = tuple(axes * vehicle.reach)
        driven = self._loop.driven(tick.q, tick.v, integrals, reference, None, tick.design, instead=(manual, own))
        commands, targets = dict(driven.push.commands), m["targets"]
        if self.joints:
            moved, targets = self._moved(tick, m["mode"] > 0.5)
            commands |= moved
        memory = {"integrals": driven.memory, "held": held, "targets": targets, "mode": mode}
        return Update({name: where(steers != 0.0, x, given[name]) for name, x in commands.items()}, memory)

    def _moved(self, tick: Tick, steered: Scalar) -> tuple[dict[str, Scalar], Array]:
        """Return the joint commands, and joint targets [rad or m], shape (n,); initially the joints hold their positions."""
        now = self._servos.positions(tick)
        targets = np.array([where(steered, a, b) for a, b in zip(tick.memory["targets"], now, strict=True)])
        wanted = [tick.inputs[f"operator.joint_{k}"] for k in range(1, len(self.joints) + 1)]
        way = self.period * self.joint_speed * np.array(wanted)
        there = np.array([clamp(x, low, high) for x, (low, high) in zip(targets + way, self._limits, strict=True)])
        return self._servos.commands(targets, (there - targets) / self.period, tick.t), there


def carrier(model: Model, components: Sequence[Component]) -> str:
    """Return the name of the root body of the first thruster."""
    thrusters = [c for c in components if isinstance(c, Thruster)]
    if not thrusters:
        raise ValueError(f"{model.name} has no thrusters to pilot; choose a scenario with a vehicle")
    body = model.locate(thrusters[0].frame).body
    while model.parent[body] >= 0:
        body = model.parent[body]
    return model.body_names[body]


def steered_joints(scenario: Scenario) -> tuple[str, ...]:
    """Return the names of the servo-driven joints of the vehicle from the base, at most `MOST_JOINTS`."""
    model, parts = scenario.model, scenario.plant.components
    root = carrier(model, parts)
    servos = {c.joint for c in parts if isinstance(c, drives.Servo)}
    out = []
    for k, name in enumerate(model.body_names):
        above = k
        while model.parent[above] >= 0:
            above = model.parent[above]
        if name in servos and model.body_names[above] == root:
            out.append(name)
    return tuple(out[:MOST_JOINTS])


def helmed(scenario: Scenario) -> Scenario:
    """Return a scenario with operator inputs and a helm after its controllers, so that an operator can take over.

    A scenario on a third-party engine, or without thrusters on a free vehicle, is returned unchanged.
    """
    if scenario.engine is not None or not scenario.parts(Thruster):
        return scenario
    joints = steered_joints(scenario)
    helm = Helm(joints=joints, period=pilot_period(_base(scenario)))
    with_inputs = replace(scenario, components=(*scenario.components, OperatorInputs(joints=len(joints))))
    flown = with_inputs.with_fields(blocks=(*scenario.blocks, PythonBlock(name="", controller=helm)))
    try:
        helm.prepared(Site(flown.plant, flown.step, flown.start.q))
    except ValueError:
        return scenario  # no speed control is possible, for example with too few thrusters
    return flown


def pilot_period(base: float) -> float:
    """Return the command period of a pilot [s]: the shortest multiple of `base` that is not below `PERIOD`."""
    return float(round(base * np.ceil(PERIOD / base - 1e-9), 12))


def _base(scenario: Scenario) -> float:
    """Return the base period, of which the command period must be a multiple, given the blocks of a scenario [s]."""
    periods = [block.make().period for block in scenario.controllers]
    return min(periods) if periods else common_period(scenario.sensors) if scenario.sensors else scenario.step
