"""Tasks of a vehicle with thrusters: station keeping, and tracking of a moving goal."""

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
    """Task in which a vehicle returns to its initial position and heading and holds them.

    reward = 1/(1 + (d/`scale`)²) · 1/(1 + (θ/`turn_scale`)²) − 0.05 mean(a²)

    d and θ are distance and angle to the goal; a are the actions of the thrusters. An arm keeps its posture.
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
        """Return the thrusters; see `Task.commands`."""
        names = thruster_commands(plant)
        if not names:
            raise ValueError(
                f"{plant.model.name} has no thrusters, required by {type(self).__name__}; choose a vehicle with thrusters, "
                "such as 'bluerov2_heavy_alpha5', or add them to the scenario"
            )
        return names

    def join(self, arena: Arena) -> None:
        self.arena = arena
        at = arena.base[0].start
        self.home = np.tile(arena.home_q[at : at + 7], (arena.n, 1))

    def draw(self, which: Array, random: Sequence[np.random.Generator]) -> None:
        """Draw initial states around the goal; see `Task.draw`."""
        at, start_q = self.arena.base[0].start, self.arena.worlds.start_q
        offsets = drawn(random, -1.0, 1.0, 4)
        start_q[which, at : at + 3] = self.home[which, :3] + self.spread * offsets[:, :3]
        start_q[which, at + 3 : at + 7] = turned_by(self.home[which, 3:], self.turn * offsets[:, 3])

    def goals(self) -> Array:
        return self.home[:, :3]

    def observe(self) -> list[tuple[str, Array]]:
        """Return vector and rotation to the goal in vehicle axes; see `Task.observe`."""
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
    """Task in which a vehicle follows a goal that oscillates about the start, p + A sin(ω t + φ) − A sin φ.

    The reward is as in `StationKeeping`. Velocity and future position of the goal are also observed.
    """

    swing: NotNegative = 1.0
    """Maximum amplitude along world x and y; half of this value along z [m]."""
    speed: Positive = 0.3
    """Maximum speed along each axis [m/s]."""
    ahead: NotNegative = 1.0
    """Lead time of the observed future position of the goal [s]."""

    spread: NotNegative = 0.3
    labels = named("goal", "goal.turn", "goal.velocity", "goal.ahead")

    def join(self, arena: Arena) -> None:
        super().join(arena)
        self.amplitude, self.omega, self.phase = (np.ones((arena.n, 3)) for _ in range(3))

    def draw(self, which: Array, random: Sequence[np.random.Generator]) -> None:
        """Draw initial states and the motion of the goal; see `Task.draw`."""
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
        """Return the current goal positions; see `Task.goals`."""
        return self._moved(self._time)

    def observe(self) -> list[tuple[str, Array]]:
        """Return vectors to the goal, its velocity and future position; see `Task.observe`."""
        arena, t = self.arena, self._time
        rate = self.amplitude * self.omega * np.cos(self.omega * t[:, None] + self.phase)
        later = arena.direction(self._moved(t + self.ahead) - arena.position)
        return [*super().observe(), ("velocity", arena.direction(rate)), ("position", later)]
