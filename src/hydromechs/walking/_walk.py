"""A walking machine on uneven ground: gait, footholds, swings, body height and attitude, joint servos."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.errors import FieldError, UnreachableFoothold
from hydromechs.model import State, joints
from hydromechs.simulation import Controller, Pack, Simulation, check_free_in_world
from hydromechs.spatial import quaternion_matrix
from hydromechs.values import Array, Finite, NotNegative, Positive, nearest, not_negative, number, positive

from ._course import Course
from ._drives import JointServos, smooth
from ._gait import Gait, Tripod
from ._ground import RING, Ground
from ._legs import Legs

REACHED = 2e-3
"""Error of a foot that counts as reached when a foothold is chosen [m]."""
LOST = 0.03
"""Error of a foot at which its leg cannot follow any more [m]."""


class _Pose(NamedTuple):
    """Of the body in the world."""

    R: Array
    """Axes, shape (3, 3)."""
    p: Array
    """Origin [m], shape (3,)."""


class Walk(Controller):
    """Walks a machine with legs of three revolute joints over uneven ground, which it knows. A controller.

    - The body follows a `Course`; its height is kept above the mean of the footholds, and it tilts with a part of their slope.
    - Neutral places of the feet on the body are those of the configuration with which the simulation was made.
    - A foot that stands stays where it is in the world. Before a foot swings, its next foothold is chosen: where it will be in
      the middle of its stance, or at a better place near it: reachable at both ends of the stance, and even.
    - A swing goes up, over all ground between, and down.
    - Inverse kinematics gives joint angles, which `JointServos` makes motors or servos follow.
    - Slips, sagging and a current are taken out by integrals of the body's position and attitude, and by planning footholds
      from where the body is.

    Its signals are the reference and the error of the body's position in world axes, the error of its attitude as a rotation
    vector in body axes, and the progress of each foot's swing, below 0 while it stands.

    Args:
        feet: Names of frames or bodies whose origins are the feet.
        velocity: Of the body along its x and y [m/s].
        turn_rate_deg: Rate of turn about z [degrees/s].
        distance: After which it stops [m]; goes on unless given.
        gait: A `Tripod`, a `Wave` or a custom `Gait`. Defaults to `Tripod()`.
        height: Of the body's origin above the ground [m]; that of the start unless given.
        foot_height: Of the feet above the ground where they stand [m]: thickness of a sole, radius of a ball.
        foot_radius: Of the pads [m]; the ground below all of it counts.
        step_height: Clearance of a swing above the ground [m].
        search: Radius about a foothold in which a better one is looked for [m].
        slope_share: Part of the ground's slope by which the body tilts, 0 to 1 [-].
        settling: Time in which errors of the body's position and attitude are taken out [s].
        bandwidth: Of the motors' position loops [1/s].
        start: Time at which it begins to walk; before, it stands [s].
        body: Name of the body; the first with a free joint unless given.
        period: Time between two commands [s].
    """

    def __init__(
        self,
        *,
        feet: Sequence[str],
        velocity: Sequence[float] = (0.1, 0.0),
        turn_rate_deg: Finite = 0.0,
        distance: Positive | None = None,
        gait: Gait | None = None,
        height: Positive | None = None,
        foot_height: NotNegative = 0.0,
        foot_radius: NotNegative = 0.0,
        step_height: Positive = 0.1,
        search: NotNegative = 0.0,
        slope_share: NotNegative = 0.5,
        settling: Positive = 2.0,
        bandwidth: Positive = 10.0,
        start: NotNegative = 1.0,
        body: str | None = None,
        period: Positive = 0.02,
    ) -> None:
        self.period = positive(period, "period")
        if isinstance(feet, str) or len(feet) < 3:
            raise FieldError("feet", feet, "must be the names of three feet or more")
        self.feet = tuple(feet)
        if not isinstance(gait, Gait | None):
            raise FieldError("gait", gait, "must be a Gait, as Tripod()")
        self.gait = Tripod() if gait is None else gait
        self.course = Course(velocity, np.radians(number(turn_rate_deg, "turn_rate_deg")), distance, self.gait.period / 2.0)
        self.given_height = None if height is None else positive(height, "height")
        self.foot_height, self.foot_radius = not_negative(foot_height, "foot_height"), not_negative(foot_radius, "foot_radius")
        self.step_height, self.search = positive(step_height, "step_height"), not_negative(search, "search")
        self.slope_share = not_negative(slope_share, "slope_share")
        self.settling, self.bandwidth = positive(settling, "settling"), positive(bandwidth, "bandwidth")
        self.start_time, self.body = not_negative(start, "start"), body

    def start(self, simulation: Simulation) -> None:
        model = simulation.model
        free = [b.name for b in model.bodies if isinstance(b.joint, joints.Free)]
        name = self.body or (free[0] if free else "")
        if name not in free:
            raise ValueError(f"walking needs a body with a free joint, got {name!r}{nearest(name, free)}")
        check_free_in_world(model, model.body_index(name))
        self._at = model.q_slices[model.body_index(name)]
        self._legs = Legs(model, self.feet, name)
        self._servos = JointServos(simulation, self._legs.names, self.bandwidth)
        self._ground = Ground(simulation)
        self._up = self._ground.up
        n = len(self.feet)
        self._pack = Pack(
            {
                "stance": (n, 3),  # angles of the legs at the start, also of a run that is resumed
                "begun": (),
                "course": (3,),  # where it began: x, y, heading
                "body": (3,),  # z of the body, slopes dz/dx and dz/dy ahead and sideways
                "shift": (6,),  # integrals of the errors: position in world axes, rotation vector in body axes
                "angles": (n, 3),  # wanted at the next call
                "foot": (n, 3),  # wanted feet, or where a swing began, as commanded
                "goal": (n, 3),  # where a swing ends, as commanded
                "place": (n, 3),  # footholds in the world
                "top": (n,),  # z of a swing's highest point, as commanded
                "swings": (n,),  # 1 while a foot swings
                "late": (n,),  # progress of the gait at which its swing began
            }
        )
        self.memory = np.zeros(self._pack.size)
        stance = self._pack.views(self.memory)["stance"]
        stance[:] = np.reshape(simulation.start_q[self._legs.at], (n, 3))
        self._take_stance(stance)
        words = {"x": "m", "y": "m", "z": "m", "roll": "rad", "pitch": "rad", "yaw": "rad"}
        self.signals = {f"reference.{x}": "m" for x in "xyz"} | {f"error.{x}": unit for x, unit in words.items()}
        self.signals |= {f"swing.{foot}": "1" for foot in self.feet}

    def __call__(self, state: State) -> dict[str, float]:
        """Commands at a `state`."""
        n = len(self.feet)
        pose = _Pose(quaternion_matrix(state.q[self._at][3:7]), state.q[self._at][:3])
        angles = np.reshape(state.q[self._legs.at], (n, 3))
        memory = np.array(self.memory, dtype=float)
        m = self._pack.views(memory)
        if not np.array_equal(m["stance"], self._stance):
            self._take_stance(m["stance"])
        if not m["begun"]:
            self._begin(m, pose, angles)
        wanted = m["angles"].copy()
        reference = self._reference(m, state.t)
        off = np.concatenate([reference.p - pose.p, _vector(pose.R.T @ reference.R)])
        m["shift"] += self.period / self.settling * off
        soon = state.t + self.period
        goal = self._reference(m, soon)
        command = _Pose(goal.R @ _rotation(m["shift"][3:]), goal.p + m["shift"][:3])
        swing = self._swing(m, soon, pose, command, state.t)
        feet = self._feet(m, swing)
        m["angles"][:], left = self._legs.angles((feet - command.p) @ command.R, wanted)
        if left.max() > LOST:
            k = int(np.argmax(left))
            raise UnreachableFoothold(
                f"t = {state.t:.3f} s: leg of foot {self.feet[k]!r} cannot follow: {_words(feet[k])} is {left[k]:.3f} m out of "
                "its reach; walk more slowly, with shorter steps (a shorter period), or lower the body"
            )
        self.memory = memory
        self.signal_values = np.concatenate([reference.p, off, swing])
        rate = (m["angles"] - wanted).ravel() / self.period
        return self._servos.commands(state.t, angles.ravel(), wanted.ravel(), rate)

    def _take_stance(self, stance: Array) -> None:
        """What follows from the angles of the legs at the start, shape (n, 3)."""
        n = len(self.feet)
        self._stance = np.array(stance)
        self._places = self._legs.positions(self._stance)[0]
        self._offsets = np.asarray(self.gait.offsets(self._places), dtype=float)
        if self._offsets.shape != (n,):
            raise ValueError(f"offsets of the gait must have shape ({n},), one for each foot, got {self._offsets.shape}")
        self.height = self.foot_height - self._up * float(self._places[:, 2].mean())
        if self.given_height is not None:
            self.height = self.given_height

    # -- body ---------------------------------------------------------------------------------------------------------------

    def _begin(self, m: dict[str, Array], pose: _Pose, angles: Array) -> None:
        """Stand as the machine stands."""
        m["begun"][...] = 1.0
        m["course"][:] = [*pose.p[:2], np.arctan2(pose.R[1, 0], pose.R[0, 0])]
        m["body"][:] = [pose.p[2], 0.0, 0.0]
        m["angles"][:] = angles
        feet = pose.p + self._legs.positions(angles)[0] @ pose.R.T
        m["foot"][:], m["goal"][:], m["place"][:] = feet, feet, feet
        self._ground.refuse_buried(self.feet, feet, self.foot_height, max(0.1, self.foot_radius))

    def _reference(self, m: dict[str, Array], t: float) -> _Pose:
        """Pose of the body at a time, with the height and the tilt that it has now."""
        xy, yaw = self.course.at(t - self.start_time, m["course"])
        z, ahead, sideways = m["body"]
        a, b = math.hypot(1.0, ahead), math.sqrt(1.0 + ahead**2 + sideways**2)
        tilt = np.array(  # z along the normal (−ahead, −sideways, 1)/b, x along (1, 0, ahead)/a
            [
                [1.0 / a, -ahead * sideways / (a * b), -ahead / b],
                [0.0, a / b, -sideways / b],
                [ahead / a, sideways / (a * b), 1.0 / b],
            ]
        )
        return _Pose(_about_z(yaw) @ tilt, np.array([*xy, z]))

    def _follow_ground(self, m: dict[str, Array], yaw: float) -> None:
        """Lead height and tilt of the body to those that the footholds ask for."""
        places = m["place"]
        middle = places.mean(axis=0)
        across = (places - middle) @ _about_z(yaw)
        plane = across[:, :2]
        slopes = np.linalg.solve(plane.T @ plane, plane.T @ across[:, 2])
        wanted = np.array([middle[2] + self._up * (self.height - self.foot_height), *(self.slope_share * slopes)])
        m["body"] += self.period / self.gait.swing_time * (wanted - m["body"])

    # -- feet ---------------------------------------------------------------------------------------------------------------

    def _swing(self, m: dict[str, Array], soon: float, pose: _Pose, command: _Pose, t: float) -> Array:
        """Begin and end swings; the progress of each, below 0 while a foot stands, shape (n,)."""
        since = soon - self.start_time
        progress = self.gait.progress(since, self._offsets) if since >= 0.0 else np.full(len(self.feet), -1.0)
        for k in range(len(self.feet)):
            if progress[k] >= 0.0 and not m["swings"][k]:
                if since > self.course.end + self.gait.period:
                    progress[k] = -1.0  # it has arrived
                    continue
                m["swings"][k], m["late"][k] = 1.0, progress[k]
                m["foot"][k] = m["goal"][k]
                self._plan(m, k, since, pose, command, t)
            elif progress[k] < 0.0 and m["swings"][k]:
                m["swings"][k] = 0.0
                m["foot"][k] = m["goal"][k]
        self._follow_ground(m, self.course.at(since, m["course"]).yaw)
        late = m["late"]
        return np.where(m["swings"] > 0.0, (progress - late) / np.maximum(1.0 - late, 1e-9), -1.0)

    def _plan(self, m: dict[str, Array], k: int, since: float, pose: _Pose, command: _Pose, t: float) -> None:
        """Choose the next foothold of foot k, and the height of its swing."""
        landing = since + self.gait.swing_time * (1.0 - m["late"][k])
        leaving = landing + self.gait.stance_time
        xy, yaw = self.course.at(0.5 * (landing + leaving), m["course"])
        centre = xy + (_about_z(yaw) @ np.array([*self._places[k, :2], 0.0]))[:2]
        tried = centre + self.search * _DISC if self.search else centre[None]
        heights, rough = self._ground.pads(tried, self.foot_radius)
        places = np.column_stack([tried, self._up * (heights + self.foot_height)])
        left = np.zeros(len(places))
        for when in (landing, leaving):
            there = self.course.at(when, m["course"])
            at = np.array([*there.xy, m["body"][0]])
            start = np.repeat(self._stance[k][None], len(places), axis=0)
            left = np.maximum(left, self._legs.angles((places - at) @ _about_z(there.yaw), start, [k] * len(places))[1])
        cost = np.linalg.norm(tried - centre, axis=1) / max(self.search, 1e-9) + rough / (0.25 * self.step_height)
        cost = np.where((left < REACHED) & np.isfinite(heights), cost, np.inf)
        best = int(np.argmin(cost))
        if not np.isfinite(cost[best]):
            bare = "there is no ground" if not np.isfinite(heights).any() else f"the nearest is {left.min():.3f} m out of reach"
            raise UnreachableFoothold(
                f"t = {t:.3f} s: no foothold for {self.feet[k]!r} within {self.search:g} m of x = {centre[0]:.2f}, "
                f"y = {centre[1]:.2f} m: {bare}; walk more slowly, lower the body, or search farther"
            )
        place = places[best]
        m["place"][k] = place
        # commanded so that the foot lands there from where the body is: the commanded world drifts from the true one
        m["goal"][k] = _seen(pose, command, place)
        here = _seen(command, pose, m["foot"][k])
        way = here + np.linspace(0.0, 1.0, 12)[:, None] * (place - here)
        over = float(self._ground.height(way[:, :2]).max()) + self.foot_height
        highest = max(over, float(self._up * here[2]), float(self._up * place[2])) + self.step_height
        m["top"][k] = _seen(pose, command, np.array([*(0.5 * (here + place))[:2], self._up * highest]))[2]

    def _feet(self, m: dict[str, Array], swing: Array) -> Array:
        """Where the feet should be, as commanded, in world axes [m], shape (n, 3)."""
        s = np.clip(swing, 0.0, 1.0)[:, None]
        out = m["foot"] + smooth((s - 0.15) / 0.7) * (m["goal"] - m["foot"])
        rising = m["foot"][:, 2] + smooth(s[:, 0] / 0.45) * (m["top"] - m["foot"][:, 2])
        falling = m["goal"][:, 2] + smooth((1.0 - s[:, 0]) / 0.45) * (m["top"] - m["goal"][:, 2])
        out[:, 2] = np.where(s[:, 0] < 0.5, rising, falling)
        return np.where(m["swings"][:, None] > 0.0, out, m["goal"])


_DISC = np.concatenate([np.zeros((1, 2)), 0.5 * RING, RING[:, ::-1]])
"""Places in a disc of radius 1, the middle first, shape (13, 2)."""


def _seen(one: _Pose, other: _Pose, p: Array) -> Array:
    """The point that lies to the other pose of the body as `p` lies to the one [m], shape (3,)."""
    return np.asarray(other.p + other.R @ (one.R.T @ (p - one.p)))


def _about_z(angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _vector(R: Array) -> Array:
    """Rotation vector of a matrix that turns by less than a right angle, to third order, shape (3,)."""
    sine = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return sine * (1.0 + (sine @ sine) / 6.0)


def _rotation(phi: Array) -> Array:
    """Rotation matrix of a rotation vector, shape (3, 3)."""
    half = 0.5 * phi
    angle = float(np.linalg.norm(half))
    return quaternion_matrix(np.array([np.cos(angle), *(np.sinc(angle / np.pi) * half)]))


def _words(p: Array) -> str:
    return f"({p[0]:.2f}, {p[1]:.2f}, {p[2]:.2f}) m"
