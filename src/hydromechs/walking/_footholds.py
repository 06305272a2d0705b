"""Ground known to a walking robot, and foothold selection: the mid-stance position, or an even, reachable point nearby."""

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
"""Six unit vectors in the plane, shape (6, 2)."""


class Ground:
    """Terrain that the robot of a simulation can touch."""

    def __init__(self, simulation: Simulation | Site) -> None:
        touched = [c.solid for c in simulation.plant.components if isinstance(c, Pair)]
        solids = {solid.name: solid for solid in touched if isinstance(solid, Terrain)}
        self.solids = list(solids.values())
        """Terrain solids in contact pairs."""
        if not self.solids:
            raise ValueError(
                "the robot has no ground to walk on, because no contact pair involves terrain; add terrain and contact pairs"
            )
        self.down = np.asarray(simulation.model.world.down, dtype=float)
        """Downward unit vector, shape (3,)."""
        self.up = -float(self.down[2])
        """Upward height per unit of world z, 1 or −1."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the compiled program, for pickling."""
        return {name: x for name, x in self.__dict__.items() if name != "program"}

    @cached_property
    def program(self) -> Program:
        """Program that returns the upward height of the ground at a point (2,) [m]."""
        return trace(lambda at: ground_height(self.solids, at[0], at[1], self.down), {"at": (2,)}, name="ground")

    def height(self, at: Array) -> Array:
        """Return upward heights of the ground [m], shape (...), at world points [m], shape (..., 2), as floats or symbols."""
        if at.dtype != object:
            return ground_height(self.solids, at[..., 0], at[..., 1], self.down)
        return np.array([call(self.program, row)[0][()] for row in at.reshape(-1, 2)]).reshape(at.shape[:-1])

    def pad(self, at: Array, radius: float) -> tuple[Scalar, Scalar]:
        """Return the height at which a pad of a given radius rests at a point (2,), and the unevenness below the pad [m]."""
        here = self.height(at)[()]
        if not radius:
            return here, 0.0
        rim = self.height(at + radius * RING)
        low = high = here
        for x in rim:
            low, high = minimum(low, x), maximum(high, x)
        return maximum(here, rim.sum() / len(rim)), high - low

    def depths(self, feet: Array, foot_height: float) -> Array:
        """Return depths of soles below ground [m], shape (n,), for foot origins (n, 3) at `foot_height` above them [m]."""
        return self.height(feet[:, :2]) + foot_height - self.up * feet[:, 2]


def buried_stops(names: Sequence[str], depths: Array, allowed: float) -> dict[str, tuple[Scalar, ...]]:
    """Return a stop "buried NAME" for the deepest foot, if it is deeper below the ground than allowed [m]."""
    deepest, _ = first_largest(depths)
    rows = zip(names, depths, deepest, strict=True)
    return {f"buried {name}": (where(depth > allowed, own, 0.0), depth) for name, depth, own in rows}


def buried_text(name: str, depth: float, *_: float) -> str:
    """Return the message for a foot below the ground at the start, given its depth [m]."""
    return f"foot {name!r} is {depth:.3f} m below the ground at the start; raise the initial position"


REACHED = 2e-3
"""Tolerance within which a foot position counts as reached [m]."""
NONE = -1e300
"""Height below which the ground counts as missing [m]."""
ON_THE_WAY = np.linspace(0.0, 1.0, 12)
"""Fractions of a swing at which clearance above the ground is checked."""
DISC = np.concatenate([np.zeros((1, 2)), 0.5 * RING, RING[:, ::-1]])
"""Sample points in the unit disc, centre first, shape (13, 2)."""


class Pose(NamedTuple):
    """Pose of the robot body in the world."""

    R: Array
    """Axes of the body in the world, shape (3, 3)."""
    p: Array
    """Origin of the body in the world [m], shape (3,)."""

    def seen(self, other: Pose, p: Array) -> Array:
        """Return the world point with the same body coordinates in `other` as point `p` has in this pose [m], shape (3,)."""
        return np.asarray(other.p + other.R @ (self.R.T @ (p - self.p)))


class Foothold(NamedTuple):
    """Selected foothold."""

    place: Array
    """Foothold in the world [m], shape (3,)."""
    goal: Array
    """Foothold in the commanded world frame [m], shape (3,)."""
    top: Scalar
    """z of the highest point of the swing, in the commanded world frame [m]."""
    failed: Scalar
    """1 if the search found no foothold, else 0."""
    centre: Array
    """Nominal foothold at mid-stance [m], shape (2,)."""
    nearest: Scalar
    """Minimum distance of the candidates from the reachable region [m]; inf without ground."""


class Step(NamedTuple):
    """Data for the selection of a foothold."""

    since: Scalar
    """Time since the start of the walk [s]."""
    late: Scalar
    """Gait progress at the start of the swing [-]."""
    z: Scalar
    """z of the body origin [m]."""
    course: Array
    """Start of the course: x [m], y [m], heading [rad], shape (3,)."""
    home: Array
    """Neutral foot position in body axes [m], shape (2,)."""
    foot: Array
    """Commanded foot position [m], shape (3,)."""
    leg: Array
    """Parameters of the leg, see `Legs.numbers`, shape (27,)."""
    stance: Array
    """Joint angles of the leg at the start [rad], shape (3,)."""
    pose_R: Array
    """Actual axes of the body, shape (3, 3)."""
    pose_p: Array
    """Actual origin of the body [m], shape (3,)."""
    command_R: Array
    """Commanded axes of the body, shape (3, 3)."""
    command_p: Array
    """Commanded origin of the body [m], shape (3,)."""


SHAPES = Step((), (), (), (3,), (2,), (3,), (27,), (3,), (3, 3), (3,), (3, 3), (3,))  # type: ignore[arg-type]
OUTPUTS = ("place", "goal", "top", "failed", "centre", "nearest")


class Footholds:
    """Foothold selection.

    Args:
        course: Reference motion of the body.
        ground: Known ground.
        swing_time: Swing time of the gait [s].
        stance_time: Stance time of the gait [s].
        search: Search radius around the nominal foothold [m].
        foot_radius: Radius of the foot pads [m].
        foot_height: Height of the feet above the ground [m].
        step_height: Swing clearance above the ground [m].
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
        """Return the attributes without compiled programs, for pickling."""
        return {name: x for name, x in self.__dict__.items() if name not in ("_candidate_program", "_program")}

    def choose(self, condition: Scalar, step: Step, kept: Foothold) -> Foothold:
        """Return a new foothold if the condition holds, else `kept`."""
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
        """Return the foothold at a point (3,), its unevenness and distance from the reachable region, and 1 if on ground."""
        height, rough = self.ground.pad(at, self.foot_radius)
        place = np.array([*at, self.ground.up * (height + self.foot_height)])
        off = [(place - np.array([*body[:2], z[()]])) @ about_z(body[2]) for body in bodies]
        left = [reach(leg[None], wanted[None], stance[None])[1][0] for wanted in off]
        return place, np.asarray(rough), np.asarray(maximum(*left)), np.asarray(where(height > NONE, 1.0, 0.0))


def about_z(angle: Scalar) -> Array:
    """Return the rotation matrix about z, shape (3, 3)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
