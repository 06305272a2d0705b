"""Task of a legged robot: walking forward."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.simulation import Plant
from hydromechs.values import Array, NotNegative, Positive

from ._actions import driven_joints
from ._arena import Arena
from ._arrays import rotate, turned_by, turning
from ._task import EFFORT, Judgement, Task, drawn, named


@dataclass(kw_only=True)
class WalkAhead(Task):
    """Task in which a legged robot walks forward along its initial heading.

    reward = min(u, `speed`)/`speed` − 0.5 |w|/`speed` − 0.05 mean(a²)

    u and w are the speeds along and across the heading; a are the actions of the joints. The episode ends when the robot tips
    over.
    """

    speed: Positive = 0.2
    """Target speed [m/s]; higher speeds are not rewarded."""
    turn: NotNegative = 0.3
    """Maximum initial heading deviation from the scenario [rad]."""
    tilt: Positive = 0.8
    """Angle from upright at which the episode ends [rad]."""

    labels = (*named("goal.turn"), "height")
    default = "k2t_walk"

    def commands(self, plant: Plant) -> Sequence[str]:
        """Return the driven joints; see `Task.commands`."""
        names = driven_joints(plant)
        if not names:
            raise ValueError(f"{plant.model.name} has no driven joints for walking; choose a walker, such as 'k2t_walk'")
        return names

    def join(self, arena: Arena) -> None:
        self.arena = arena
        at = arena.base[0].start
        self.home = np.tile(arena.home_q[at : at + 7], (arena.n, 1))
        self.course = self.home[:, 3:].copy()
        self.before = self.home[:, :3].copy()

    def draw(self, which: Array, random: Sequence[np.random.Generator]) -> None:
        """Draw the initial heading; see `Task.draw`."""
        at = self.arena.base[0].start
        self.course[which] = turned_by(self.home[which, 3:], self.turn * drawn(random, -1.0, 1.0, 1)[:, 0])
        self.arena.worlds.start_q[which, at + 3 : at + 7] = self.course[which]

    def begin(self, which: Array) -> None:
        self.before[which] = self.arena.position[which]

    def goals(self) -> Array:
        """Return a point ahead of the robot; see `Task.goals`."""
        return self.arena.position + rotate(self.course, np.tile([2.0, 0.0, 0.0], (self.arena.n, 1)))

    def observe(self) -> list[tuple[str, Array]]:
        """Return the rotation to the course, and the height relative to the start; see `Task.observe`."""
        arena = self.arena
        up = -np.array(arena.plant.model.world.down, dtype=float)
        height = ((arena.position - self.home[:, :3]) @ up)[:, None]
        return [("attitude", turning(arena.wxyz, self.course)), ("position", height)]

    def judge(self) -> Judgement:
        arena = self.arena
        moved = (arena.position - self.before) / arena.period
        self.before = arena.position.copy()
        ahead, across = (rotate(self.course, np.tile(axis, (arena.n, 1))) for axis in ([1.0, 0, 0], [0, 1.0, 0]))
        u, w = (moved * ahead).sum(axis=1), (moved * across).sum(axis=1)
        reward = np.minimum(u, self.speed) / self.speed - 0.5 * np.abs(w) / self.speed
        reward = reward - EFFORT * (arena.last**2).mean(axis=1)
        first = rotate(self.home[:, 3:] * [1, -1, -1, -1], np.tile(arena.plant.model.world.down, (arena.n, 1)).astype(float))
        upright = (arena.down * first).sum(axis=1)
        measures = {"speed": u, "is_success": u > 0.5 * self.speed}
        return Judgement(reward, upright < np.cos(self.tilt), measures)
