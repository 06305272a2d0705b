"""Commands in many worlds from actions between -1 and 1."""

import numpy as np

from hydromechs.control import ActionMap
from hydromechs.simulation import Plant
from hydromechs.values import Array


def driven_joints(plant: Plant) -> tuple[str, ...]:
    """Return the command names of joint drives."""
    return tuple(name for name in plant.layout.commands if name in plant.model.joint_parts)


class Actions(ActionMap):
    """Map from actions to commands in many worlds."""

    def commands(self, actions: Array, before: Array) -> Array:
        """Return all commands (n, na) for actions (n, len(self)) and the previous commands `before` (n, na)."""
        out = np.array(before)
        now = out[:, self.columns]
        up, down = self.high - self.rest, self.rest - self.low
        with np.errstate(invalid="ignore"):
            over = self.rest + np.where(actions > 0.0, actions * up, actions * down)
        moved = np.clip(now + self.stride * actions, self.low, self.high)
        out[:, self.columns] = np.where(self.stride > 0.0, moved, over)
        return out
