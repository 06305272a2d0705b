"""Ground as known to a walking machine, and choice of footholds: mid-stance position, or an even, reachable place nearby."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hydromechs.compiler import Program, call, trace, when
from hydromechs.contact import Pair, Terrain, ground_height
from hydromechs.simulation import Simulation, Site
from hydromechs.spatial import maximum, minimum, where
from hydromechs.values import Array, Scalar

from ._drives import first_largest, pick
from ._gait import Course
from ._legs import reach

RING = np.array([[np.cos(a), np.sin(a)] for a in np.arange(6) * np.pi / 3.0])
"""Six directions, shape (6, 2)."""


class Ground:
    """All terrain that the machine of a simulation can touch."""

    def __init__(self, simulation: Simulation | Site) -> None:
        touched = [c.solid for c in simulation.plant.components if isinstance(c, Pair)]
        solids = {solid.name: solid for solid in touched if isinstance(solid, Terrain)}
        self.solids = list(solids.values())
        """The terrain."""
        if not self.solids:
            raise ValueError("there is no ground to walk on: no terrain can touch the machine; add terrain")
        self.down = np.asarray(simulation.model.world.down, dtype=float)
        """Unit vector down, shape (3,)."""
        self.up = -float(self.down[2])
        """Height UP per unit of world z, 1 or −1."""

    def __getstate__(self) -> dict[str, Any]:
        """Set up everything except the program."""
        return {name: x for name, x in self.__dict__.items() if name != "program"}

    @cached_property
    def program(self) -> Program:
        """Return the height UP of the ground [m] at a place [m] (2,)."""
        return trace(lambda at: ground_height(self.solids, at[0], at[1], self.down), {"at": (2,)}, name="ground")

    def height(self, at: Array) -> Array:
        """Return heights UP of the ground [m], shape (...), at places in the world [m] (..., 2), of floats or symbols."""
        if at.dtype != object:
            return ground_height(self.solids, at[..., 0], at[..., 1], self.down)
        return np.array([call(self.program, row)[0][()] for row in at.reshape(-1, 2)]).reshape(at.shape[:-1])

    def pad(self, at: Array, radius: float) -> tuple[Scalar, Scalar]:
        """Return the height at which a pad of a radius [m] settles at a place (2,) [m], and the unevenness below it [m]."""
        here = self.height(at)[()]
        if not radius:
            return here, 0.0
        rim = self.height(at + radius * RING)
        low = high = here
        for x in rim:
            low, high = minimum(low, x), maximum(high, x)
        return maximum(here, rim.sum() / len(rim)), high - low

    def depths(self, feet: Array, foot_height: float) -> Array:
        """Return depths of feet (origins (n, 3) [m]) below ground [m], shape (n,); `foot_height`: origins above soles [m]."""
        return self.height(feet[:, :2]) + foot_height - self.up * feet[:, 2]


def buried_stops(names: Sequence[str], depths: Array, allowed: float) -> dict[str, tuple[Scalar, ...]]:
    """Return a stop "buried NAME" for the deepest foot that is further below the ground than allowed [m]."""
    deepest, _ = first_largest(depths)
    rows = zip(names, depths, deepest, strict=True)
    return {f"buried {name}": (where(depth > allowed, own, 0.0), depth) for name, depth, own in rows}


def buried_text(name: str, depth: float, *_: float) -> str:
    """Return the message for a foot that is below the ground at the start, by its depth [m]."""
    return f"foot {name!r} is {depth:.3f} m below the ground at the start; start the machine higher"


REACHED = 2e-3
"""Tolerance of a foot position that counts as reached [m]."""
NONE = -1e300
"""Height below which there is no ground [m]."""
ON_THE_WAY = np.linspace(0.0, 1.0, 12)
"""Fractions of a swing at which the ground is checked."""
DISC = np.concatenate([np.zeros((1, 2)), 0.5 * RING, RING[:, ::-1]])
"""Points in a disc of radius 1, the centre first, shape (13, 2)."""


class Pose(NamedTuple):
    """Pose of the body in the world."""

    R: Array
    """Axes, shape (3, 3)."""
    p: Array
    """Origin [m], shape (3,)."""

    def seen(self, other: Pose, p: Array) -> Array:
        """Return the point that has the same position on the body in the other pose as `p` in this one [m], shape (3,)."""
        return np.asarray(other.p + other.R @ (self.R.T @ (p - self.p)))


class Foothold(NamedTuple):
    """Chosen foothold."""

    place: Array
    """Position in the world [m], shape (3,)."""
    goal: Array
    """Commanded position [m], shape (3,)."""
    top: Scalar
    """z of the swing's highest point, as commanded [m]."""
    failed: Scalar
    """1 if there is no foothold."""
    centre: Array
    """Nominal position in the middle of the stance [m], shape (2,)."""
    nearest: Scalar
    """Distance of the best place from the reach [m]; above 1e300 if there is no ground."""


class Step(NamedTuple):
    """Criteria for a foothold."""

    since: Scalar
    """Time since the start of the walk [s]."""
    late: Scalar
    """Gait progress at the start of the swing."""
    z: Scalar
    """z of the body [m]."""
    course: Array
    """Start of the course: x, y, heading, shape (3,)."""
    home: Array
    """Neutral position of the foot on the body [m], shape (2,)."""
    foot: Array
    """Commanded position of the foot [m], shape (3,)."""
    leg: Array
    """Numbers of its leg, see `Legs.numbers`, shape (27,)."""
    stance: Array
    """Angles of its leg at the start [rad], shape (3,)."""
    pose_R: Array
    """Axes of the body, shape (3, 3)."""
    pose_p: Array
    """Origin of the body [m], shape (3,)."""
    command_R: Array
    """Commanded axes of the body, shape (3, 3)."""
    command_p: Array
    """Commanded origin of the body [m], shape (3,)."""


SHAPES = Step((), (), (), (3,), (2,), (3,), (27,), (3,), (3, 3), (3,), (3, 3), (3,))  # type: ignore[arg-type]
OUTPUTS = ("place", "goal", "top", "failed", "centre", "nearest")


class Footholds:
    """Chooses footholds.

    Args:
        course: Course of the body.
        ground: The ground.
        swing_time: Swing time of the gait [s].
        stance_time: Stance time of the gait [s].
        search: Radius of the search for a better place [m].
        foot_radius: Radius of the pads [m].
        foot_height: Height of the feet above the ground [m].
        step_height: Clearance of a swing [m].
    """

    def __init__(
        self,
        *,
        course: Course,
        ground: Ground,
        swing_time: float,
        stance_time: float,
        search: float,
        foot_radius: float,
        foot_height: float,
        step_height: float,
    ) -> None:
        self.course, self.ground = course, ground
        self.swing_time, self.stance_time = swing_time, stance_time
        self.search, self.foot_radius = search, foot_radius
        self.foot_height, self.step_height = foot_height, step_height

    def __getstate__(self) -> dict[str, Any]:
        """Set up everything except programs."""
        return {name: x for name, x in self.__dict__.items() if name not in ("_candidate_program", "_program")}

    def choose(self, condition: Scalar, step: Step, kept: Foothold) -> Foothold:
        """Choose a foothold where a condition holds; elsewhere return `kept`."""
        results = when(condition, self._program, step, kept)
        return Foothold(*(x if x.ndim else x[()] for x in results))

    @cached_property
    def _program(self) -> Program:
        return trace(self._choice, SHAPES._asdict(), name="foothold", outputs=OUTPUTS)

    def _choice(self, **given: Array) -> tuple[Any, ...]:
        step = Step(**{name: x if x.ndim else x[()] for name, x in given.items()})
        pose, command = Pose(step.pose_R, step.pose_p), Pose(step.command_R, step.command_p)
        landing = step.since + self.swing_time * (1.0 - step.late)
        leaving = landing + self.stance_time
        middle, ends = (
            self.course.at(0.5 * (landing + leaving), step.course),
            [self.course.at(t, step.course) for t in (landing, leaving)],
        )
        centre = middle.xy + (about_z(middle.yaw) @ np.array([*step.home, 0.0]))[:2]
        bodies = np.array([[*x.xy, x.yaw] for x in ends])
        tried = centre + self.search * DISC if self.search else centre[None]
        found = [call(self._candidate_program, at, bodies, np.asarray(step.z), step.leg, step.stance) for at in tried]
        places, rough, left, solid = ([x[k] if x[k].ndim else x[k][()] for x in found] for k in range(4))
        good = [where(x < REACHED, y, 0.0) for x, y in zip(left, solid, strict=True)]
        costs = [x / (0.25 * self.step_height) + far for x, far in zip(rough, np.linalg.norm(DISC, axis=1), strict=False)]
        best, cost = first_largest([where(ok, -x, -np.inf) for ok, x in zip(good, costs, strict=True)])
        place = pick(best, places)
        nearest: Scalar = np.inf
        for x, y in zip(left, solid, strict=True):
            nearest = minimum(nearest, where(y, x, np.inf))
        # commanded relative to the actual pose of the body: the commanded world frame drifts from the true one
        here = command.seen(pose, step.foot)
        way = here + ON_THE_WAY[:, None] * (place - here)
        up, highest = self.ground.up, self.ground.up * here[2]
        for x in (up * place[2], *(self.ground.height(way[:, :2]) + self.foot_height)):
            highest = maximum(highest, x)
        top = np.array([*(0.5 * (here + place))[:2], up * (highest + self.step_height)])
        goal, failed = pose.seen(command, place), where(cost > NONE, 0.0, 1.0)
        return place, goal, np.asarray(pose.seen(command, top)[2]), np.asarray(failed), centre, np.asarray(nearest)

    @cached_property
    def _candidate_program(self) -> Program:
        shapes = {"at": (2,), "bodies": (2, 3), "z": (), "leg": (27,), "stance": (3,)}
        return trace(self._candidate, shapes, name="candidate", outputs=("place", "rough", "left", "solid"))

    def _candidate(self, at: Array, bodies: Array, z: Array, leg: Array, stance: Array) -> tuple[Any, ...]:
        """Return the foothold at a place (3,), its unevenness, its distance from the reach, and 1 if there is ground."""
        height, rough = self.ground.pad(at, self.foot_radius)
        place = np.array([*at, self.ground.up * (height + self.foot_height)])
        off = [(place - np.array([*body[:2], z[()]])) @ about_z(body[2]) for body in bodies]
        left = [reach(leg[None], wanted[None], stance[None])[1][0] for wanted in off]
        return place, np.asarray(rough), np.asarray(maximum(*left)), np.asarray(where(height > NONE, 1.0, 0.0))


def about_z(angle: Scalar) -> Array:
    """Rotation about z, shape (3, 3)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
