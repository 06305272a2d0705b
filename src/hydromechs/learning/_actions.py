"""Commands from actions, numbers from -1 to 1: thrust and voltage over their whole range, targets of joints at a rate."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hydromechs.actuation import Thruster
from hydromechs.model import joints
from hydromechs.simulation import Plant
from hydromechs.values import Array, nearest

RATES = {"rad": 0.5, "m": 0.2}
"""Rate of a target for an action of 1, by its unit [rad/s, m/s]."""


def thrusters(plant: Plant) -> tuple[str, ...]:
    """Names of the commands of thrusters."""
    names = {c.name for c in plant.components if isinstance(c, Thruster)}
    return tuple(name for name in plant.layout.commands if name in names)


def driven_joints(plant: Plant) -> tuple[str, ...]:
    """Names of the commands of joint drives."""
    return tuple(name for name in plant.layout.commands if name in plant.model.joint_parts)


class Actions:
    """Commands that actions drive, one number from -1 to 1 each, for a period [s].

    A command with a range goes from its lowest through its rest to its highest; `ranges` replace those of the plant. A target
    of a joint, which has no range, moves with its rate, between the limits of the joint.
    """

    def __init__(self, plant: Plant, names: Iterable[str], ranges: Mapping[str, tuple[float, float]], period: float) -> None:
        layout = plant.layout
        self.names = tuple(names)
        for name in (*self.names, *ranges):
            if name not in layout.commands:
                raise ValueError(f"no command {name!r} in {plant.model.name}{nearest(name, layout.commands)}")
        self.columns = np.array([layout.commands.index(name) for name in self.names], dtype=int)
        slots = [layout.input_slots[k] for k in self.columns]
        n = len(self.names)
        self.low, self.high = np.full(n, -np.inf), np.full(n, np.inf)
        self.rest, self.stride = np.zeros(n), np.zeros(n)
        for k, (name, slot) in enumerate(zip(self.names, slots, strict=True)):
            low, high = ranges.get(name, slot.limits)
            if np.isfinite([low, high]).all():
                rest = 0.5 * (low + high) if callable(slot.start) else float(slot.start)
                self.low[k], self.high[k], self.rest[k] = low, high, min(max(rest, low), high)
            elif slot.unit in RATES and name in plant.model.joint_parts:
                self.low[k], self.high[k] = _limits(plant.model.joint_parts[name].joint)
                self.stride[k] = RATES[slot.unit] * period
            else:
                raise ValueError(
                    f"command {name!r} [{slot.unit}] has no range that ends; give one, ranges={{{name!r}: (low, high)}}"
                )

    def __len__(self) -> int:
        return len(self.names)

    def commands(self, actions: Array, before: Array) -> Array:
        """Return all commands, shape (n, na), for actions, shape (n, len(self)), after other commands, shape (n, na)."""
        out = np.array(before)
        now = out[:, self.columns]
        up, down = self.high - self.rest, self.rest - self.low
        with np.errstate(invalid="ignore"):
            over = self.rest + np.where(actions > 0.0, actions * up, actions * down)
        moved = np.clip(now + self.stride * actions, self.low, self.high)
        out[:, self.columns] = np.where(self.stride > 0.0, moved, over)
        return out


def _limits(joint: Any) -> tuple[float, float]:
    limits = joint.limits if isinstance(joint, joints.Revolute | joints.Prismatic) else None
    return (-np.inf, np.inf) if limits is None else (float(limits[0]), float(limits[1]))
