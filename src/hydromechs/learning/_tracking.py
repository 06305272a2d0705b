"""Tasks of a vehicle with thrusters: station keeping, and tracking a moving place."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.control import thruster_commands
from hydromechs.simulation import Plant
from hydromechs.values import Array, NotNegative, Positive

from ._arena import Arena
from ._arrays import closeness, turned_by, turning
from ._task import EFFORT, GoalTask, Judgement, drawn, named


@dataclass(kw_only=True)
class StationKeeping(GoalTask):
    """Task: a vehicle returns to its initial place and heading, and stays there.

    reward = 1/(1 + (d/`scale`)²) · 1/(1 + (θ/`turn_scale`)²) − 0.05 mean(a²)

    with the distance d and the angle θ to the goal, and the actions a of the thrusters. An arm keeps its posture.
    """

    spread: NotNegative = 1.0
    """Maximum initial distance from the goal along each axis [m]."""
    turn: NotNegative = 0.5
    """Maximum initial heading error [rad]."""
    turn_scale: Positive = 0.5
    """Angle at which the reward is halved [rad]."""

    step = 0.01
    labels = named("goal", "goal.turn")

    def commands(self, plant: Plant) -> Sequence[str]:
        """See `Task.commands`: the thrusters."""
        names = thruster_commands(plant)
        if not names:
            raise ValueError(
                f"{plant.model.name} has no thrusters, which {type(self).__name__} needs; choose a vehicle with thrusters, "
                "such as 'bluerov2_heavy_alpha5', or add them to the scenario"
            )
        return names

    def join(self, arena: Arena) -> None:
        self.arena = arena
        at = arena.base[0].start
        self.home = np.tile(arena.home_q[at : at + 7], (arena.n, 1))

    def draw(self, which: Array, random: Sequence[np.random.Generator]) -> None:
        """See `Task.draw`: starts around the goal."""
        at, start_q = self.arena.base[0].start, self.arena.worlds.start_q
        offsets = drawn(random, -1.0, 1.0, 4)
        start_q[which, at : at + 3] = self.home[which, :3] + self.spread * offsets[:, :3]
        start_q[which, at + 3 : at + 7] = turned_by(self.home[which, 3:], self.turn * offsets[:, 3])

    def goals(self) -> Array:
        return self.home[:, :3]

    def observe(self) -> list[tuple[str, Array]]:
        """See `Task.observe`: vector and rotation to the goal, in axes of the vehicle."""
        arena = self.arena
        way = arena.direction(self.goals() - arena.position)
        return [("position", way), ("attitude", turning(arena.wxyz, self.home[:, 3:]))]

    def judge(self) -> Judgement:
        arena = self.arena
        distance = np.linalg.norm(self.goals() - arena.position, axis=1)
        angle = np.linalg.norm(turning(arena.wxyz, self.home[:, 3:]), axis=1)
        effort = (arena.last**2).mean(axis=1)
        reward = closeness(distance, self.scale) * closeness(angle, self.turn_scale) - EFFORT * effort
        measures = {"distance": distance, "angle": angle, "is_success": distance < self.success}
        return Judgement(reward, distance > self.far, measures)


@dataclass(kw_only=True)
class TrajectoryTracking(StationKeeping):
    """Task: a vehicle follows a place that oscillates about its start in three directions, p + A sin(ω t + φ) − A sin φ.

    The reward is that of `StationKeeping`; the place's velocity, and its position a second ahead, are observed.
    """

    swing: NotNegative = 1.0
    """Maximum amplitude along x and y of the world, half of it along z [m]."""
    speed: Positive = 0.3
    """Maximum speed along each axis [m/s]."""
    ahead: NotNegative = 1.0
    """Look-ahead time of the observed place [s]."""

    spread: NotNegative = 0.3
    labels = named("goal", "goal.turn", "goal.velocity", "goal.ahead")

    def join(self, arena: Arena) -> None:
        super().join(arena)
        self.amplitude, self.omega, self.phase = (np.ones((arena.n, 3)) for _ in range(3))

    def draw(self, which: Array, random: Sequence[np.random.Generator]) -> None:
        """See `Task.draw`: also draws the motion of the goal."""
        super().draw(which, random)
        shares = drawn(random, 0.0, 1.0, 9)
        self.amplitude[which] = self.swing * np.array([1.0, 1.0, 0.5]) * (0.2 + 0.8 * shares[:, :3])
        fastest = self.speed / np.maximum(self.amplitude[which], 1e-9)
        self.omega[which] = np.minimum(fastest * (0.2 + 0.8 * shares[:, 3:6]), 2.0)
        self.phase[which] = 2.0 * np.pi * shares[:, 6:]

    def _moved(self, t: Array) -> Array:
        angle = self.omega * t[:, None] + self.phase
        return self.home[:, :3] + self.amplitude * (np.sin(angle) - np.sin(self.phase))

    @property
    def _time(self) -> Array:
        return self.arena.count * self.arena.period

    def goals(self) -> Array:
        """See `Task.goals`: the present place."""
        return self._moved(self._time)

    def observe(self) -> list[tuple[str, Array]]:
        """See `Task.observe`: also velocity and future position of the place."""
        arena, t = self.arena, self._time
        rate = self.amplitude * self.omega * np.cos(self.omega * t[:, None] + self.phase)
        later = arena.direction(self._moved(t + self.ahead) - arena.position)
        return [*super().observe(), ("velocity", arena.direction(rate)), ("position", later)]
