"""Walking of frame walkers on uneven ground: one half supports while the other is raised, advanced and lowered."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from hydromechs.compiler import Program, trace, when
from hydromechs.errors import FieldError, UnreachableFoothold
from hydromechs.model import joints
from hydromechs.simulation import Site, Tick, TracedBlock, Update, check_free_in_world
from hydromechs.spatial import nearest_integer, quaternion_matrix, where
from hydromechs.values import Array, NotNegative, Positive, Scalar, nearest, not_negative, positive

from ._drives import JointServos, first_largest, select, smooth
from ._footholds import Ground, buried_stops, buried_text
from ._frames import FlatPose, FrameWalker
from ._gait import SupportGait
from ._support_steps import StepPlan, Steps, beyond_text, plan_texts

LOST = 0.01
"""Excess of a joint command over its limits at which the walk ends [m, rad]."""
LONG_AGO = -1e6
"""Initial value of the time of the last step [s]."""


class AlternatingSupport(TracedBlock):
    """Walking controller for a robot of two halves on vertical sliding legs, which support it alternately.

    - In one step, the legs of a half are raised, the half moves forward, the legs are lowered, and all legs share the load. The
      slide between the halves causes the motion. Without a slide, supporting legs swing back and raised legs swing forward.
      The rotation between the halves aligns each half with its heading.
    - The initial configuration of the simulation defines the neutral foot positions in the halves.
    - Feet cannot be placed individually. The controller selects the longest step, up to the stride of the gait, that puts all
      feet of the half on even ground within reach.
    - Integral control of height and tilt keeps the first half level and at its height above the mean of all footholds.

    The signals are the errors of height, roll and pitch of the first half, the heading error of the supporting half, the lift
    progress of each half, 0 to 1, and the number of steps.

    Args:
        halves: Feet (names of frames or bodies) of both halves, keyed by body name; the half with the free joint first.
        gait: `SupportGait` or a custom gait. Defaults to `SupportGait()`.
        distance: Distance of the mean of all feet after which the walk stops [m]; if omitted, the walk does not stop.
        height: Height of the first half's origin above the ground [m]; defaults to the initial height.
        foot_height: Height of the foot origins above the ground in stance [m], such as the thickness of a sole.
        foot_radius: Radius within which the ground below a foot must be even [m].
        evenness: Maximum height difference of the ground within `foot_radius` [m].
        step_height: Clearance of raised feet above the ground [m].
        settling: Time constant of the height and tilt control [s].
        bandwidth: Bandwidth of the motor position loops [rad/s].
        start: Time at which the walk starts [s].
        period: Command period [s].
    """

    stop_error = UnreachableFoothold

    def __init__(
        self,
        *,
        halves: Mapping[str, Sequence[str]],
        gait: SupportGait | None = None,
        distance: Positive | None = None,
        height: Positive | None = None,
        foot_height: NotNegative = 0.0,
        foot_radius: NotNegative = 0.0,
        evenness: NotNegative = 0.02,
        step_height: Positive = 0.1,
        settling: Positive = 2.0,
        bandwidth: Positive = 10.0,
        start: NotNegative = 1.0,
        period: Positive = 0.02,
    ) -> None:
        self.period = positive(period, "period")
        if not isinstance(halves, Mapping) or len(halves) != 2 or not all(map(_feet, halves.values())):
            raise FieldError("halves", halves, "must contain two bodies, each with the names of at least three feet")
        self.halves = {name: tuple(feet) for name, feet in halves.items()}
        if not isinstance(gait, SupportGait | None):
            raise FieldError("gait", gait, "must be a SupportGait")
        self.gait = SupportGait() if gait is None else gait
        self.distance = math.inf if distance is None else positive(distance, "distance")
        self.given_height = None if height is None else positive(height, "height")
        self.foot_height, self.foot_radius = not_negative(foot_height, "foot_height"), not_negative(foot_radius, "foot_radius")
        self.evenness, self.step_height = not_negative(evenness, "evenness"), positive(step_height, "step_height")
        self.settling, self.bandwidth = positive(settling, "settling"), positive(bandwidth, "bandwidth")
        self.start_time = not_negative(start, "start")

    def prepare(self, site: Site) -> None:
        model = site.model
        free = [b.name for b in model.bodies if isinstance(b.joint, joints.Free)]
        first = next(iter(self.halves))
        if first not in free:
            raise ValueError(f"the first half {first!r} has no free joint{nearest(first, free)}")
        check_free_in_world(model, model.body_index(first))
        self._at = model.q_slices[model.body_index(first)]
        self._walker = walker = FrameWalker(model, self.halves)
        self._servos = JointServos(site, walker.joints, self.bandwidth)
        self._ground = Ground(site)
        self._steps = steps = Steps(
            walker=walker,
            ground=self._ground,
            gait=self.gait,
            distance=self.distance,
            evenness=self.evenness,
            foot_radius=self.foot_radius,
            foot_height=self.foot_height,
            step_height=self.step_height,
        )
        n, stance = len(walker.feet), site.start_q[walker.at]
        home = walker.positions(stance)
        self.height = self.foot_height - self._ground.up * float((home[:, 2] + steps.deep).mean())
        if self.given_height is not None:
            self.height = self.given_height
        self.design = {
            "home": home,  # initial foot positions in half axes
            "height": self.height,
        }
        self.first_memory = {
            **self.design,  # a resumed run keeps the values of the original start
            "number": 0.0,  # number of started steps
            "when": LONG_AGO,  # start time of the last step
            "arrived": 0.0,
            "gone": 0.0,  # distance travelled by the mean of all feet
            "middle": np.zeros(2),  # previous mean position of all feet
            "heading": np.zeros(2),  # reference headings of both halves
            "lead": 0.0,  # lead of the half that was lowered last
            "torso": np.zeros((2, 2)),  # slide and turn at start and end of a step
            "ahead": np.zeros((2, 2)),  # leads of both halves at start and end of a step
            "z": np.zeros(2),  # z of the first half at start and end of a step
            "shift": np.zeros(3),  # integrals of the errors: z, then x and y components of world z in axes of the first half
            "place": np.zeros((n, 3)),  # footholds in the world
            "foot": np.zeros(n),  # z of the feet at the start of a step
            "top": np.zeros(n),  # z of raised feet
            "joints": np.zeros(len(walker.joints)),  # joint targets at the next call
        }
        self.commanded = self._servos.commanded
        self.signals = {"error.z": "m", "error.roll": "rad", "error.pitch": "rad", "error.yaw": "rad"}
        self.signals |= {f"raised.{half}": "1" for half in self.halves} | {"step": "1"}
        buried = {f"buried {foot}": partial(buried_text, foot) for foot in walker.feet}
        self.stop_texts = {**buried, **plan_texts(walker), "beyond": partial(beyond_text, walker.joints)}
        self.stop_errors = dict.fromkeys(buried, ValueError)

    def update(self, tick: Tick) -> Update:
        p, R = tick.q[self._at][:3], quaternion_matrix(tick.q[self._at][3:7])
        at, gait = tick.q[self._walker.at], self.gait
        halves = self._halves(R, p, at)
        m, stops = self._begun(tick, R, p, at, halves)
        wanted = m["joints"]
        soon = tick.t + self.period
        due = self.start_time + m["number"] * gait.period
        begins = where(soon >= due - 1e-9, where(m["arrived"] == 0.0, 1.0, 0.0), 0.0)
        given = {name: m[name] for name in ("home", "height", *StepPlan._fields[:-1])}
        plan, failures = self._steps.plan(begins, given | {"halves": np.array(halves), "due": due})
        m |= plan
        stops |= failures
        since = soon - m["when"]
        raised = smooth(since / gait.lift) - smooth((since - gait.lift - gait.move) / gait.lower)
        moved = smooth((since - gait.lift) / gait.move)
        z = m["z"][0] + smooth(since / (gait.lift + gait.move)) * (m["z"][1] - m["z"][0])
        off = np.array([z - p[2], -R[2, 0], -R[2, 1]])
        m["shift"] = m["shift"] + self.period / self.settling * off
        low = select(since < gait.lift + 0.5 * gait.move, m["foot"], m["place"][:, 2])
        feet = low + raised * (m["top"] - low)
        torso, ahead = (m[x][0] + moved * (m[x][1] - m[x][0]) for x in ("torso", "ahead"))
        m["joints"] = self._steps.joints(m["home"], torso, ahead, feet, z + m["shift"][0], m["shift"][1:])
        chosen, beyond = first_largest(self._steps.beyond(m["joints"]))
        stops["beyond"] = (where(beyond > LOST, 1.0, 0.0), sum(k * x for k, x in enumerate(chosen)), beyond)
        goes = m["number"] % 2.0
        heading = where(goes, m["heading"][0] - halves[0].yaw, m["heading"][1] - halves[1].yaw)
        yaw = heading - 2.0 * math.pi * nearest_integer(heading / (2.0 * math.pi))
        up = [where(goes, 0.0, raised), where(goes, raised, 0.0)]
        values = [off[0], -R[2, 1], R[2, 0], yaw, *up, m["number"]]
        commands = self._servos.commands(tick.t, at, wanted, (m["joints"] - wanted) / self.period)
        return Update(commands, m, dict(zip(self.signals, values, strict=True)), stops=stops)

    def _halves(self, R: Array, p: Array, at: Array) -> tuple[FlatPose, FlatPose]:
        first = FlatPose(p[0], p[1], np.arctan2(R[1, 0], R[0, 0]))
        return first, first.then(self._walker.relative(self._steps.torso(at)))

    def _begun(
        self, tick: Tick, R: Array, p: Array, at: Array, halves: tuple[FlatPose, FlatPose]
    ) -> tuple[dict[str, Any], dict[str, tuple[Scalar, ...]]]:
        """Return the memory, initialised for standing at the first tick, and stops for feet below the ground."""
        m: dict[str, Any] = dict(tick.memory)
        n, torso = len(self._walker.feet), self._steps.torso(at)
        given = [R, p, at, np.array(halves), tick.design["home"]]
        place, ahead, depths = when(tick.first, self._stand, given, [m["place"], m["ahead"][0], np.zeros(n)])
        begin: dict[str, Any] = {
            **tick.design,
            "joints": at,
            "torso": np.array([torso, torso]),
            "heading": np.array([half.yaw for half in halves]),
            "place": place,
            "ahead": np.array([ahead, ahead]),
            "foot": place[:, 2],
            "top": place[:, 2],
            "z": np.array([p[2], p[2]]),
            "middle": place[:, :2].sum(axis=0) / n,
        }
        m |= {name: select(tick.first, x, m[name])[()] for name, x in begin.items()}
        return m, buried_stops(self._walker.feet, depths, max(0.1, self.foot_radius))

    @property
    def _stand(self) -> Program:
        """Program that returns feet in the world (n, 3), leads of both halves (2,), and foot depths below the ground (n,)."""
        walker, steps = self._walker, self._steps

        def stand(R: Array, p: Array, at: Array, halves: Array, home: Array) -> tuple[Array, Array, Array]:
            here = walker.positions(at)
            flat = [FlatPose(*half).points(here) for half in halves]
            second = walker.half == 1
            over = np.column_stack([steps.flat(steps.torso(at), here), here[:, 2] + steps.deep])
            place = np.column_stack([np.where(second[:, None], flat[1], flat[0]), p[2] + over @ R[2]])
            off = here[:, 0] - home[:, 0]
            ahead = np.array([off[walker.half == h].sum() / (walker.half == h).sum() for h in (0, 1)])
            return place, ahead, self._ground.depths(place, self.foot_height)

        n = len(walker.feet)
        shapes = {"R": (3, 3), "p": (3,), "at": (len(walker.joints),), "halves": (2, 3), "home": (n, 3)}
        return trace(stand, shapes, name="stand", outputs=("place", "ahead", "depths"))


def _feet(names: Any) -> bool:
    return isinstance(names, Sequence) and not isinstance(names, str) and len(names) >= 3
