"""Walking robot on uneven ground: gait, footholds, swings, body height and attitude, joint servos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from hydromechs.compiler import Program, trace, when
from hydromechs.errors import FieldError, UnreachableFoothold
from hydromechs.model import joints
from hydromechs.simulation import Site, Tick, TracedBlock, Update, check_free_in_world
from hydromechs.spatial import clamp, maximum, quaternion_exp, quaternion_matrix, where
from hydromechs.values import Array, Finite, NotNegative, Positive, Scalar, nearest, not_negative, number, positive

from ._drives import JointServos, first_largest, select, smooth
from ._footholds import Foothold, Footholds, Ground, Pose, Step, about_z, buried_stops, buried_text
from ._gait import Course, Gait, Tripod
from ._legs import Legs

LOST = 0.03
"""Position error of a foot above which its leg counts as unable to follow [m]."""
NEAR = 1e-9
"""Time by which swings start earlier, so that the first tick of a swing does not depend on rounding [s]."""


class Walk(TracedBlock):
    """Walking controller for legs with three revolute joints, over uneven ground of known shape.

    - The body follows a `Course`. The body height is kept above the mean of the footholds, and the body tilts by a fraction of
      their slope.
    - The initial configuration of the simulation defines the neutral foot positions in body axes.
    - A foot in stance keeps its position in the world. Before a foot swings, its next foothold is selected: the nominal
      mid-stance position, or a better point nearby that is even and reachable at both ends of the stance.
    - A swing clears all ground between the footholds.
    - Inverse kinematics yields joint angles, which motors or servos track through `JointServos`.
    - Integral control of body position and attitude compensates slip, sag and a current. Footholds are planned from the actual
      body pose.

    The signals are reference and error of the body position in world axes, the attitude error as a rotation vector in body
    axes, and the swing progress of each foot, which is negative in stance.

    Args:
        feet: Names of frames or bodies whose origins are the feet.
        velocity: Velocity along body x and y [m/s].
        turn_rate_deg: Turn rate about z [°/s].
        distance: Distance after which the walk stops [m]; if omitted, the walk does not stop.
        gait: `Tripod`, `Wave` or a custom `Gait`. Defaults to `Tripod()`.
        height: Height of the body origin above the ground [m]; defaults to the initial height.
        foot_height: Height of the foot origins above the ground in stance [m], such as the thickness of a sole.
        foot_radius: Radius of the foot pads [m]; unevenness is evaluated below the whole pad.
        step_height: Swing clearance above the ground [m].
        search: Search radius around the nominal foothold [m].
        slope_share: Fraction of the ground slope that the body follows, 0 to 1 [-].
        settling: Time constant of the body position and attitude control [s].
        bandwidth: Bandwidth of the motor position loops [rad/s].
        start: Time at which the walk starts [s].
        body: Name of the body; defaults to the first body with a free joint.
        period: Command period [s].
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
            raise FieldError("feet", feet, "must be the names of at least three feet")
        self.feet = tuple(feet)
        if not isinstance(gait, Gait | None):
            raise FieldError("gait", gait, "must be a Gait, such as Tripod()")
        self.gait = Tripod() if gait is None else gait
        self.course = Course(velocity, np.radians(number(turn_rate_deg, "turn_rate_deg")), distance, self.gait.period / 2.0)
        self.given_height = None if height is None else positive(height, "height")
        self.foot_height, self.foot_radius = not_negative(foot_height, "foot_height"), not_negative(foot_radius, "foot_radius")
        self.step_height, self.search = positive(step_height, "step_height"), not_negative(search, "search")
        self.slope_share = not_negative(slope_share, "slope_share")
        self.settling, self.bandwidth = positive(settling, "settling"), positive(bandwidth, "bandwidth")
        self.start_time, self.body = not_negative(start, "start"), body

    stop_error = UnreachableFoothold

    def prepare(self, site: Site) -> None:
        model = site.model
        free = [b.name for b in model.bodies if isinstance(b.joint, joints.Free)]
        name = self.body or (free[0] if free else "")
        if name not in free:
            raise ValueError(f"walking: {name!r} is not a body with a free joint{nearest(name, free)}")
        check_free_in_world(model, model.body_index(name))
        self._at = model.q_slices[model.body_index(name)]
        self._legs = Legs(model, self.feet, name)
        self._servos = JointServos(site, self._legs.names, self.bandwidth)
        self._ground = Ground(site)
        self._up = self._ground.up
        self._footholds = Footholds(
            course=self.course,
            ground=self._ground,
            swing_time=self.gait.swing_time,
            stance_time=self.gait.stance_time,
            search=self.search,
            foot_radius=self.foot_radius,
            foot_height=self.foot_height,
            step_height=self.step_height,
        )
        n = len(self.feet)
        stance = np.reshape(site.start_q[self._legs.at], (n, 3))
        homes = self._legs.positions(stance)[0]
        offsets = np.asarray(self.gait.offsets(homes), dtype=float)
        if offsets.shape != (n,):
            raise ValueError(f"offsets of the gait have shape {offsets.shape}; return one offset per foot, shape ({n},)")
        self.height = self.foot_height - self._up * float(homes[:, 2].mean())
        if self.given_height is not None:
            self.height = self.given_height
        self.design = {
            "stance": stance,  # initial leg angles
            "homes": homes[:, :2],  # neutral foot positions in body axes
            "offsets": offsets,  # phase offsets of the gait
            "height": self.height,
        }
        self.first_memory = {
            **self.design,  # a resumed run keeps the values of the original start
            "course": np.zeros(3),  # start pose: x, y, heading
            "body": np.zeros(3),  # z of the body, slopes dz/dx and dz/dy ahead and sideways
            "shift": np.zeros(6),  # integrals of the errors: position in world axes, rotation vector in body axes
            "angles": np.zeros((n, 3)),  # joint targets at the next call
            "foot": np.zeros((n, 3)),  # commanded foot positions; for swinging feet, at the start of the swing
            "goal": np.zeros((n, 3)),  # commanded end of a swing
            "place": np.zeros((n, 3)),  # footholds in the world
            "top": np.zeros(n),  # commanded z of the highest point of a swing
            "swings": np.zeros(n),  # 1 while a foot swings
            "late": np.zeros(n),  # gait progress at the start of the swing
        }
        self.commanded = self._servos.commanded
        words = {"x": "m", "y": "m", "z": "m", "roll": "rad", "pitch": "rad", "yaw": "rad"}
        self.signals = {f"reference.{x}": "m" for x in "xyz"} | {f"error.{x}": unit for x, unit in words.items()}
        self.signals |= {f"swing.{foot}": "1" for foot in self.feet}
        self.stop_texts = {f"buried {foot}": partial(buried_text, foot) for foot in self.feet}
        self.stop_texts |= {f"foothold {foot}": partial(_foothold_text, foot, self.search) for foot in self.feet}
        self.stop_texts |= {f"leg {foot}": partial(_lost_text, foot) for foot in self.feet}
        self.stop_errors = {f"buried {foot}": ValueError for foot in self.feet}

    def update(self, tick: Tick) -> Update:
        n, t = len(self.feet), tick.t
        pose = Pose(quaternion_matrix(tick.q[self._at][3:7]), tick.q[self._at][:3])
        angles = np.reshape(tick.q[self._legs.at], (n, 3))
        m, stops = self._begun(tick, pose, angles)
        reference = self._reference(m, t)
        off = np.concatenate([reference.p - pose.p, _vector(pose.R.T @ reference.R)])
        m["shift"] = m["shift"] + self.period / self.settling * off
        soon = t + self.period
        goal = self._reference(m, soon)
        command = Pose(goal.R @ quaternion_matrix(quaternion_exp(m["shift"][3:])), goal.p + m["shift"][:3])
        swing = self._swing(m, soon, pose, command, stops)
        feet = self._wanted(m, swing)
        wanted = m["angles"]
        m["angles"], left = self._legs.angles((feet - command.p) @ command.R, wanted)
        worst, _ = first_largest(left)
        for k, foot in enumerate(self.feet):
            stops[f"leg {foot}"] = (where(left[k] > LOST, worst[k], 0.0), left[k], *feet[k])
        rate = (m["angles"] - wanted).ravel() / self.period
        commands = self._servos.commands(t, angles.ravel(), wanted.ravel(), rate)
        values = np.concatenate([reference.p, off, swing])
        return Update(commands, m, dict(zip(self.signals, values, strict=True)), stops=stops)

    # -- body ---------------------------------------------------------------------------------------------------------------

    def _begun(self, tick: Tick, pose: Pose, angles: Array) -> tuple[dict[str, Array], dict[str, tuple[Scalar, ...]]]:
        """Return the memory, initialised for standing at the first tick, and stops for feet below the ground."""
        m = {name: np.array(x) for name, x in tick.memory.items()}
        n, names = len(self.feet), ("foot", "goal", "place")
        kept = [m["foot"], np.zeros(n)]
        feet, depths = when(tick.first, self._stand, [angles, *pose], kept)
        heading = np.arctan2(pose.R[1, 0], pose.R[0, 0])
        m |= {name: select(tick.first, feet, m[name]) for name in names}
        begin = {"course": [*pose.p[:2], heading], "body": [pose.p[2], 0.0, 0.0], "angles": angles}
        m |= {name: select(tick.first, x, m[name]) for name, x in (begin | dict(tick.design)).items()}
        return m, buried_stops(self.feet, depths, max(0.1, self.foot_radius))

    @property
    def _stand(self) -> Program:
        """Program that returns feet in the world (n, 3) and their depths below the ground (n,)."""

        def stand(angles: Array, R: Array, p: Array) -> tuple[Array, Array]:
            feet = p + self._legs.positions(angles)[0] @ R.T
            return feet, self._ground.depths(feet, self.foot_height)

        shapes = {"angles": (len(self.feet), 3), "R": (3, 3), "p": (3,)}
        return trace(stand, shapes, name="stand", outputs=("feet", "depths"))

    def _reference(self, m: Mapping[str, Array], t: Scalar) -> Pose:
        """Return the reference pose of the body at time t [s], with the current height and tilt."""
        xy, yaw = self.course.at(t - self.start_time, m["course"])
        z, ahead, sideways = m["body"]
        a, b = np.sqrt(1.0 + ahead * ahead), np.sqrt(1.0 + ahead * ahead + sideways * sideways)
        tilt = np.array(  # z along the normal (−ahead, −sideways, 1)/b, x along (1, 0, ahead)/a
            [
                [1.0 / a, -ahead * sideways / (a * b), -ahead / b],
                [0.0, a / b, -sideways / b],
                [ahead / a, sideways / (a * b), 1.0 / b],
            ]
        )
        return Pose(about_z(yaw) @ tilt, np.array([*xy, z]))

    def _follow_ground(self, m: dict[str, Array], yaw: Scalar) -> None:
        places = m["place"]
        middle = places.sum(axis=0) / len(places)
        x, y, z = ((places - middle) @ about_z(yaw)).T
        xx, xy, yy, xz, yz = x @ x, x @ y, y @ y, x @ z, y @ z
        slopes = np.array([yy * xz - xy * yz, xx * yz - xy * xz]) / (xx * yy - xy * xy)
        height = middle[2] + self._up * (m["height"] - self.foot_height)
        wanted = np.array([height, *(self.slope_share * slopes)])
        m["body"] = m["body"] + self.period / self.gait.swing_time * (wanted - m["body"])

    # -- feet ---------------------------------------------------------------------------------------------------------------

    def _swing(self, m: dict[str, Array], soon: Scalar, pose: Pose, command: Pose, stops: dict[str, Any]) -> Array:
        """Start and end swings; return the swing progress of each foot, negative in stance, shape (n,)."""
        n, since = len(self.feet), soon - self.start_time
        progress = np.asarray(self.gait.progress(since + NEAR, m["offsets"]))
        if progress.shape != (n,):
            raise ValueError(f"progress of the gait has shape {progress.shape}; return one value per foot, shape ({n},)")
        begun, arrived = since + NEAR >= 0.0, since > self.course.end + self.gait.period
        begins = []
        for k in range(n):
            stands = m["swings"][k] == 0.0
            due = where(begun, where(progress[k] >= 0.0, 1.0, 0.0), 0.0)
            begin = where(stands, where(arrived, 0.0, due), 0.0)
            end = where(stands, 0.0, 1.0 - due)
            begins.append(begin)
            m["late"][k] = where(begin, progress[k], m["late"][k])
            m["foot"][k] = select(begin + end, m["goal"][k], m["foot"][k])
            m["swings"][k] = where(begin, 1.0, where(end, 0.0, m["swings"][k]))
        numbers, places, goals, tops = self._legs.numbers, [], [], []
        for k, foot in enumerate(self.feet):
            step = Step(
                *(since, m["late"][k], m["body"][0], m["course"], m["homes"][k], m["foot"][k], numbers[k], m["stance"][k]),
                *(*pose, *command),
            )
            kept = Foothold(m["place"][k], m["goal"][k], m["top"][k], 0.0, np.zeros(2), 0.0)
            found = self._footholds.choose(begins[k], step, kept)
            places.append(found.place)
            goals.append(found.goal)
            tops.append(found.top)
            stops[f"foothold {foot}"] = (found.failed, *found.centre, found.nearest)
        m["place"], m["goal"], m["top"] = np.array(places), np.array(goals), np.array(tops)
        self._follow_ground(m, self.course.at(since, m["course"]).yaw)
        late = m["late"]
        return np.array(
            [
                where(s > 0.0, (x - y) / maximum(1.0 - y, 1e-9), -1.0)
                for s, x, y in zip(m["swings"], progress, late, strict=True)
            ]
        )

    def _wanted(self, m: Mapping[str, Array], swing: Array) -> Array:
        """Return commanded foot positions in world axes [m], shape (n, 3)."""
        rows = []
        for s, foot, goal, top, swings in zip(swing, m["foot"], m["goal"], m["top"], m["swings"], strict=True):
            s = clamp(s, 0.0, 1.0)
            ahead = foot + smooth((s - 0.15) / 0.7) * (goal - foot)
            rising = foot[2] + smooth(s / 0.45) * (top - foot[2])
            falling = goal[2] + smooth((1.0 - s) / 0.45) * (top - goal[2])
            rows.append(select(swings > 0.0, [*ahead[:2], where(s < 0.5, rising, falling)], goal))
        return np.array(rows)


def _vector(R: Array) -> Array:
    """Return the rotation vector of a matrix that rotates by less than 90°, to third order, shape (3,)."""
    sine = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return sine * (1.0 + (sine @ sine) / 6.0)


def _foothold_text(foot: str, search: float, x: float, y: float, left: float, *_: float) -> str:
    """Return the message for a foot without foothold, from search centre [m] and distance from the reachable region [m]."""
    bare = f"the nearest point is {left:.3f} m out of reach" if left < np.inf else "there is no ground"
    return (
        f"foot {foot!r} has no foothold within {search:g} m of x = {x:.2f}, y = {y:.2f} m: {bare}; "
        "walk more slowly, lower the body, or increase search"
    )


def _lost_text(foot: str, left: float, x: float, y: float, z: float) -> str:
    """Return the message for a leg that cannot follow, from error and target position of its foot [m]."""
    return (
        f"leg of foot {foot!r} cannot follow: target ({x:.2f}, {y:.2f}, {z:.2f}) m is {left:.3f} m out of "
        "reach; walk more slowly, shorten the gait period, or lower the body"
    )
