"""Tasks of a vehicle with an arm: reaching a goal with the end effector, and picking up an object."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.contact import Grip
from hydromechs.control import grips_object, thruster_commands
from hydromechs.simulation import Plant
from hydromechs.values import Array, NotNegative, Positive, nearest

from ._actions import driven_joints
from ._arena import Arena
from ._arrays import closeness
from ._task import EFFORT, GoalTask, Judgement, Task, drawn, named

HOLDS = 0.5
"""Grip strength above which the jaws count as closed on an object [-]."""


def _both(plant: Plant, task: Task) -> tuple[str, ...]:
    """Return the commands of thrusters and arm; raise an error if either is missing."""
    pushed, moved = thruster_commands(plant), driven_joints(plant)
    missing = [word for word, names in (("thrusters", pushed), ("driven joints", moved)) if not names]
    if missing:
        raise ValueError(
            f"{plant.model.name} has no {' and no '.join(missing)}, required by {type(task).__name__}; choose a vehicle "
            "with thrusters and an arm, such as 'bluerov2_heavy_alpha5'"
        )
    return (*pushed, *moved)


@dataclass(kw_only=True)
class Reach(GoalTask):
    """Task in which a free vehicle moves its end effector to a goal position and holds it.

    reward = 1/(1 + (d/`scale`)²) − 0.05 mean(a²)

    d is the distance of the end effector from the goal; a are the actions of thrusters and joints.
    """

    frame: str = ""
    """Frame or body of the end effector. Defaults to the frame named "tool"."""
    radius: NotNegative = 0.5
    """Maximum distance of the goal from the initial end-effector position, along each axis [m]."""
    scale: Positive = 0.2
    success: Positive = 0.05

    step = 0.01
    labels = named("tool_goal", "goal")

    def commands(self, plant: Plant) -> Sequence[str]:
        """Return thrusters and arm joints; see `Task.commands`."""
        return _both(plant, self)

    def join(self, arena: Arena) -> None:
        self.arena = arena
        model = arena.plant.model
        tools = [name for name in model.frames if name.rpartition(".")[2] == "tool"]
        if not self.frame and not tools:
            raise ValueError(f"{model.name} has no frame named 'tool'; set frame to the end effector")
        self.tool = self.frame or tools[0]
        model.locate(self.tool)
        self.home = arena.place(self.tool)
        self.goal = self.home.copy()

    def draw(self, which: Array, random: Sequence[np.random.Generator]) -> None:
        self.goal[which] = self.home[which] + drawn(random, -self.radius, self.radius, 3)

    def goals(self) -> Array:
        return self.goal

    def observe(self) -> list[tuple[str, Array]]:
        """Return goal vectors from end effector and vehicle in vehicle axes; see `Task.observe`."""
        arena = self.arena
        way = arena.direction(self.goal - arena.place(self.tool))
        return [("position", way), ("position", arena.direction(self.goal - arena.position))]

    def judge(self) -> Judgement:
        distance = np.linalg.norm(self.goal - self.arena.place(self.tool), axis=1)
        reward = closeness(distance, self.scale) - EFFORT * (self.arena.last**2).mean(axis=1)
        return Judgement(reward, distance > self.far, {"distance": distance, "is_success": distance < self.success})


@dataclass(kw_only=True)
class PickAndPlace(GoalTask):
    """Task in which a free vehicle grips an object on the seabed and lifts it to a goal above.

    reward = 0.3/(1 + (d/`scale`)²) + 0.7 h/(1 + (e/`scale`)²) − 0.05 mean(a²)

    d is the distance of the jaws from the object, h is 1 while the jaws hold the object, e is the distance of the object
    from the goal, and a are the actions. The last action closes the jaws if it is above 0 and opens them otherwise. Jaws
    that close without an object stay empty until they open.
    """

    grip: str = ""
    """Name of the grip. Defaults to the first grip of the scenario."""
    lift: Positive = 0.5
    """Height of the goal above the initial position of the object [m]."""
    spread: NotNegative = 0.5
    """Maximum horizontal distance of the goal from the object, along world x and y [m]."""
    success: Positive = 0.15
    far: Positive = 8.0
    """Distance between vehicle and object at which the episode ends [m]."""

    extra = 1
    labels = (*named("jaws_to_thing", "thing_to_goal"), "grip")
    default = "pick_and_release"
    duration = 30.0

    def commands(self, plant: Plant) -> Sequence[str]:
        """Return thrusters and arm joints; see `Task.commands`."""
        grips = {c.name: c for c in plant.components if isinstance(c, Grip)}
        if not grips:
            raise ValueError(
                f"{plant.model.name} has no grip that opens and closes; add a grip with a stiffness to the scenario under "
                "grasps, as in 'pick_and_release'"
            )
        if self.grip and self.grip not in grips:
            raise ValueError(f"{plant.model.name} has no grip named {self.grip!r}{nearest(self.grip, grips)}")
        self.jaws = grips[self.grip or next(iter(grips))]
        return _both(plant, self)

    def join(self, arena: Arena) -> None:
        self.arena = arena
        names = [slot.full_name(c.name) for c in arena.plant.components for slot in c.states(arena.plant.model)]
        self.strength = names.index(f"{self.jaws.name}.strength")
        self.home = arena.place(self.jaws.held)
        self.gripped = np.zeros(arena.n)
        self.goal = self.home.copy()
        self.up = -np.array(arena.plant.model.world.down, dtype=float)

    def draw(self, which: Array, random: Sequence[np.random.Generator]) -> None:
        aside = drawn(random, -self.spread, self.spread, 2)
        self.goal[which] = self.home[which] + self.lift * self.up
        self.goal[which, :2] += aside

    def goals(self) -> Array:
        return self.goal

    @property
    def _closed(self) -> Array:
        return self.arena.worlds.inputs[f"{self.jaws.name}.closed"]

    @property
    def _near(self) -> Array:
        way = self.arena.place(self.jaws.held) - self.arena.place(self.jaws.holder)
        return 1.0 * (np.linalg.norm(way, axis=1) < self.jaws.reach)

    def begin(self, which: Array) -> None:
        self.gripped[which] = (self._closed * self._near)[which]

    def act(self, actions: Array) -> None:
        closing = 1.0 * (actions[:, 0] > 0.0)
        self.gripped = grips_object(self.gripped, self._closed, closing, self._near)
        self._closed[:] = closing

    @property
    def _holds(self) -> Array:
        return self.arena.worlds.internal[:, self.strength]

    def observe(self) -> list[tuple[str, Array]]:
        """Return vectors jaws-object and object-goal, and 1 if jaws hold the object; see `Task.observe`."""
        arena = self.arena
        jaws, thing = arena.place(self.jaws.holder), arena.place(self.jaws.held)
        ways = [("position", arena.direction(thing - jaws)), ("position", arena.direction(self.goal - thing))]
        return [*ways, ("grip", self.gripped[:, None])]

    def judge(self) -> Judgement:
        arena = self.arena
        jaws, thing = arena.place(self.jaws.holder), arena.place(self.jaws.held)
        near, far = (np.linalg.norm(x, axis=1) for x in (thing - jaws, self.goal - thing))
        holds = self._holds > HOLDS
        reward = 0.3 * closeness(near, self.scale) + 0.7 * holds * closeness(far, self.scale)
        reward = reward - EFFORT * (arena.last**2).mean(axis=1)
        measures = {"distance": far, "from_jaws": near, "holds": holds, "is_success": holds & (far < self.success)}
        return Judgement(reward, np.linalg.norm(thing - arena.position, axis=1) > self.far, measures)
