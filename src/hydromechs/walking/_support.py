"""A frame walker on uneven ground: one half stands while the other is raised, goes ahead, and is lowered."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs.errors import FieldError, UnreachableFoothold
from hydromechs.model import State, joints
from hydromechs.simulation import Controller, Pack, Simulation, check_free_in_world
from hydromechs.spatial import quaternion_matrix
from hydromechs.values import Array, NotNegative, Positive, nearest, not_negative, positive

from ._drives import JointServos, smooth
from ._frames import FlatPose, FrameWalker
from ._ground import Ground
from ._support_gait import SupportGait

LOST = 0.01
"""How far beyond its limits a joint may be asked to go before the walk ends [m, rad]."""
TRIED = np.linspace(0.0, -0.9, 10)
"""What is added to the wanted lead of a half, in parts of the largest, longest first."""
ARRIVED = 0.005
"""Way that is not worth a step [m]."""
LONG_AGO = -1e6
"""When a step ended that there was not [s]."""


class _Goal(NamedTuple):
    """A step as it may be taken."""

    lead: float
    """How far the half that goes comes to lead the one that stands [m]."""
    torso: Array
    """Slide [m] and turn [rad] of the second half, shape (2,)."""
    ahead: Array
    """Feet of both halves ahead of their home [m], shape (2,)."""
    place: Array
    """Footholds of all feet in the world [m], shape (n, 3)."""
    z: float
    """Of the first half [m]."""
    why_not: str
    """What is wrong with it, in words; empty if nothing."""


class AlternatingSupport(Controller):
    """Walks a machine of two halves with legs that slide up and down: each half in turn carries the other ahead. A controller.

    - One step: the legs of a half are raised, it goes ahead, they are lowered, and all legs share the load. What moves ahead is
      the slide between the halves; where there is none, the legs that stand swing back and those that are raised swing forward.
      The turn between the halves leads each half to its heading.
    - Neutral places of the feet in their halves are those of the configuration with which the simulation was made.
    - Feet cannot be placed one by one: of all steps up to the gait's stride the longest is taken after which all feet of the
      half stand on even ground within reach.
    - The first half is kept level and at its height above the mean of all footholds, by integrals of height and tilt.

    Its signals are the errors of height, roll and pitch of the first half, that of the heading of the half that stands, how far
    each half is raised, 0 to 1, and the number of steps.

    Args:
        halves: Feet of both halves, names of frames or bodies, by the name of the half's body; that with the free joint first.
        gait: The `SupportGait`, or a custom one. Defaults to `SupportGait()`.
        distance: Way of the middle of all feet after which it stands [m]; goes on unless given.
        height: Of the first half's origin above the ground [m]; that of the start unless given.
        foot_height: Of the feet above the ground where they stand [m]: thickness of a sole, radius of a ball.
        foot_radius: Within which the ground below a foot must be even [m].
        evenness: Largest difference of heights there [m].
        step_height: Clearance of raised feet above the ground [m].
        settling: Time in which errors of height and tilt are taken out [s].
        bandwidth: Of the position loops of motors [1/s].
        start: Time at which it begins to walk; before, it stands [s].
        period: Time between two commands [s].
    """

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
            raise FieldError("halves", halves, "must be two bodies, each with the names of three feet or more")
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

    def start(self, simulation: Simulation) -> None:
        model = simulation.model
        free = [b.name for b in model.bodies if isinstance(b.joint, joints.Free)]
        first = next(iter(self.halves))
        if first not in free:
            raise ValueError(f"the first half must have a free joint, {first!r} has none{nearest(first, free)}")
        check_free_in_world(model, model.body_index(first))
        self._at = model.q_slices[model.body_index(first)]
        self._walker = walker = FrameWalker(model, self.halves)
        self._servos = JointServos(simulation, walker.joints, self.bandwidth)
        self._ground = Ground(simulation)
        self._torso = [k for k, part in enumerate(walker.torso) if part]
        """Which of slide and turn there are."""
        if not (walker.swings or walker.torso[0]) and self.gait.step(0).stride:
            raise ValueError("nothing moves this machine ahead: its halves do not slide along x, nor do its legs swing about y")
        n = len(walker.feet)
        self._deep = np.where(walker.half == 1, walker.depth, 0.0)
        """z of the half of each foot in the first half's axes [m], shape (n,)."""
        self._pack = Pack(
            {
                "stance": (len(walker.joints),),  # positions of the joints at the start, also of a run that is resumed
                "begun": (),
                "number": (),  # steps that have begun
                "when": (),  # time at which the last of them began
                "arrived": (),
                "gone": (),  # way of the middle of all feet
                "middle": (2,),  # where it was
                "heading": (2,),  # of both halves, as they should be
                "lead": (),  # how far the half that was set down last is ahead of the other
                "torso": (2, 2),  # slide and turn at the start and at the end of a step
                "ahead": (2, 2),  # feet of both halves ahead of their home at the start and at the end of a step
                "z": (2,),  # of the first half at the start and at the end of a step
                "shift": (3,),  # integrals of the errors: z, and what of the world's z lies along x and y of the first half
                "place": (n, 3),  # footholds in the world
                "foot": (n,),  # z of the feet at the start of a step
                "top": (n,),  # z of raised feet
                "joints": (len(walker.joints),),  # wanted at the next call
            }
        )
        self.memory = np.zeros(self._pack.size)
        stance = self._pack.views(self.memory)["stance"]
        stance[:] = simulation.start_q[walker.at]
        self._take_stance(stance)
        self.signals = {"error.z": "m", "error.roll": "rad", "error.pitch": "rad", "error.yaw": "rad"}
        self.signals |= {f"raised.{half}": "1" for half in self.halves} | {"step": "1"}

    def __call__(self, state: State) -> dict[str, float]:
        """Commands at a `state`."""
        p, R = state.q[self._at][:3], quaternion_matrix(state.q[self._at][3:7])
        at = state.q[self._walker.at]
        memory = np.array(self.memory, dtype=float)
        m = self._pack.views(memory)
        if not np.array_equal(m["stance"], self._stance):
            self._take_stance(m["stance"])
        if not m["begun"]:
            self._begin(m, R, p, at)
        wanted = m["joints"].copy()
        soon = state.t + self.period
        due = self.start_time + float(m["number"]) * self.gait.period
        if soon >= due - 1e-9 and not m["arrived"]:
            self._plan(m, self._halves(R, p, at), state.t, due)
        since = soon - float(m["when"])
        gait = self.gait
        raised = float(smooth(np.array(since / gait.lift)) - smooth(np.array((since - gait.lift - gait.move) / gait.lower)))
        moved = float(smooth(np.array((since - gait.lift) / gait.move)))
        z = m["z"][0] + float(smooth(np.array(since / (gait.lift + gait.move)))) * (m["z"][1] - m["z"][0])
        off = np.array([z - p[2], -R[2, 0], -R[2, 1]])
        m["shift"] += self.period / self.settling * off
        low = m["foot"] if since < gait.lift + 0.5 * gait.move else m["place"][:, 2]
        feet = low + raised * (m["top"] - low)
        torso, ahead = (m[x][0] + moved * (m[x][1] - m[x][0]) for x in ("torso", "ahead"))
        m["joints"][:] = self._joints(torso, ahead, feet, z + m["shift"][0], m["shift"][1:])
        beyond = self._beyond(m["joints"])
        if beyond.max() > LOST:
            k = int(np.argmax(beyond))
            raise UnreachableFoothold(
                f"t = {state.t:.3f} s: joint {self._walker.joints[k]!r} would have to go {beyond[k]:.3f} beyond its limits; "
                "walk with shorter steps or on more even ground, or change the body's height"
            )
        self.memory = memory
        goes = self._goes(m)
        stands = self._halves(R, p, at)[1 - goes]
        yaw = math.remainder(float(m["heading"][1 - goes]) - stands.yaw, 2.0 * math.pi)
        up = [raised if h == goes else 0.0 for h in (0, 1)]
        self.signal_values = np.array([off[0], -R[2, 1], R[2, 0], yaw, *up, m["number"]])
        return self._servos.commands(state.t, at, wanted, (m["joints"] - wanted) / self.period)

    def _take_stance(self, stance: Array) -> None:
        """What follows from the positions of the joints at the start, shape (nj,)."""
        self._stance = np.array(stance)
        self._home = self._walker.positions(self._stance)
        """Feet in the axes of their halves there [m], shape (n, 3)."""
        self.height = self.foot_height - self._ground.up * float((self._home[:, 2] + self._deep).mean())
        if self.given_height is not None:
            self.height = self.given_height

    def _goes(self, m: dict[str, Array]) -> int:
        """Half that goes in the step that has begun last."""
        return int(m["number"]) % 2

    def _halves(self, R: Array, p: Array, at: Array) -> tuple[FlatPose, FlatPose]:
        """Where both halves are over the ground."""
        torso = np.zeros(2)
        torso[self._torso] = at[: len(self._torso)]
        first = FlatPose(float(p[0]), float(p[1]), math.atan2(R[1, 0], R[0, 0]))
        return first, first.then(self._walker.relative(torso))

    def _begin(self, m: dict[str, Array], R: Array, p: Array, at: Array) -> None:
        """Stand as the machine stands."""
        walker = self._walker
        m["begun"][...], m["when"][...] = 1.0, LONG_AGO
        m["joints"][:] = at
        m["torso"][:, self._torso] = at[: len(self._torso)]
        halves = self._halves(R, p, at)
        m["heading"][:] = [half.yaw for half in halves]
        home = walker.positions(at)
        for h, half in enumerate(halves):
            own = walker.half == h
            m["place"][own, :2] = half.points(home[own])
            m["ahead"][:, h] = (home - self._home)[own, 0].mean()
        over = np.column_stack([self._flat(m["torso"][0], home), home[:, 2] + self._deep])
        m["place"][:, 2] = p[2] + over @ R[2]
        m["foot"][:] = m["top"][:] = m["place"][:, 2]
        m["z"][:] = p[2]
        m["middle"][:] = m["place"][:, :2].mean(axis=0)
        self._ground.refuse_buried(walker.feet, m["place"], self.foot_height, max(0.1, self.foot_radius))

    # -- geometry -----------------------------------------------------------------------------------------------------------

    def _flat(self, torso: Array, feet: Array) -> Array:
        """x and y of feet, given in the axes of their halves (n, 3), in the first half's axes [m], shape (n, 2)."""
        return np.where((self._walker.half == 1)[:, None], self._walker.relative(torso).points(feet), feet[:, :2])

    def _joints(self, torso: Array, ahead: Array, feet: Array, z: float, tilt: Array) -> Array:
        """Positions of all joints [m, rad], shape (nj,).

        Args:
            torso: Slide [m] and turn [rad] of the second half, shape (2,).
            ahead: Feet of both halves ahead of their home [m], shape (2,).
            feet: z of all feet in the world [m], shape (n,).
            z: Of the first half's origin in the world [m].
            tilt: What of the world's z lies along x and y of the first half, shape (2,).
        """
        walker = self._walker
        places = self._home.copy()
        places[:, 0] += ahead[walker.half]
        places[:, 2] = feet - z - self._flat(torso, places) @ tilt - self._deep
        return np.concatenate([torso[self._torso], walker.legs(places)])

    def _beyond(self, wanted: Array) -> Array:
        """How far joints would have to go beyond their limits [m, rad], shape (nj,)."""
        low, high = self._walker.limits.T
        return np.maximum(np.maximum(low - wanted, wanted - high), 0.0)

    # -- steps --------------------------------------------------------------------------------------------------------------

    def _plan(self, m: dict[str, Array], halves: tuple[FlatPose, FlatPose], t: float, due: float) -> None:
        """Begin the next step, or see that it has arrived."""
        walker = self._walker
        for h, half in enumerate(halves):  # where they stand by now
            own = walker.half == h
            m["place"][own, :2] = half.points(self._home[own] + [m["ahead"][1, h], 0.0, 0.0])
        middle = m["place"][:, :2].mean(axis=0)
        m["gone"] += np.linalg.norm(middle - m["middle"])
        m["middle"][:] = middle
        rest = self.distance - float(m["gone"])
        if rest < ARRIVED and abs(m["lead"]) < ARRIVED:
            m["arrived"][...] = 1.0
            return
        step = self.gait.step(int(m["number"]))
        m["number"] += 1.0
        m["when"][...] = due
        goes = self._goes(m)
        turn = self._turn(m, halves, goes, step.turn)
        longest = 0.5 * step.stride
        lead = min(longest, rest - 0.5 * float(m["lead"]))  # with that of the last step, which brings the halves together
        lead = 0.0 if lead < ARRIVED else lead
        leads = [x for x in lead + longest * TRIED if x > -float(m["lead"])] or [lead]  # no steps back
        found = self._goal(m, halves, goes, leads[0], turn)
        words = found.why_not
        for x in leads[1:]:
            if not found.why_not:
                break
            found = self._goal(m, halves, goes, x, turn)
        if found.why_not:
            raise UnreachableFoothold(
                f"t = {t:.3f} s: no step of half {walker.names[goes]!r} up to {step.stride:g} m finds footholds: {words}; "
                "take another stride, allow less even ground, or change the body's height"
            )
        m["foot"][:] = m["place"][:, 2]
        m["top"][:] = self._tops(m["place"], found.place, goes)
        m["place"][:] = found.place
        m["lead"][...] = found.lead
        for name, value in (("torso", found.torso), ("ahead", found.ahead), ("z", found.z)):
            m[name][0] = m[name][1]
            m[name][1] = value

    def _turn(self, m: dict[str, Array], halves: tuple[FlatPose, FlatPose], goes: int, turn: float) -> float:
        """Turn of the second half that leads the one that goes to its heading [rad]; corrections end at the joint's limits."""
        part = self._walker.torso[1]
        if part is None:
            if turn:
                raise ValueError(
                    f"the gait turns by {math.degrees(turn):g} degrees a step, but the halves cannot; leave it out"
                )
            m["heading"][goes] = halves[goes].yaw
            return 0.0
        m["heading"][goes] = m["heading"][1 - goes] + turn
        low, high = getattr(part.joint, "limits", None) or (-math.inf, math.inf)
        if not low <= turn <= high or not low <= -turn <= high:
            raise ValueError(
                f"the gait turns by {math.degrees(turn):g} degrees a step, joint {part.name!r} only by {math.degrees(high):.3g}"
            )
        wanted = math.remainder(float(m["heading"][goes]) - halves[1 - goes].yaw, 2.0 * math.pi)
        side = 1.0 if goes == 1 else -1.0
        return min(max(side * wanted, low), high)

    def _goal(self, m: dict[str, Array], halves: tuple[FlatPose, FlatPose], goes: int, lead: float, turn: float) -> _Goal:
        """The step after which the half that goes leads by `lead` [m]."""
        walker, stands = self._walker, 1 - goes
        side = 1.0 if goes == 1 else -1.0
        ahead, travel = np.zeros(2), 0.0
        torso = np.array([0.0, turn])
        if walker.torso[0]:
            torso[0] = side * lead
        else:
            ahead[goes], ahead[stands] = 0.5 * lead, -0.5 * lead
            travel = float(m["ahead"][1, stands] - ahead[stands])
        there = halves[stands].then(FlatPose(travel, 0.0, 0.0))
        between = walker.relative(torso)
        own = walker.half == goes
        place = m["place"].copy()
        place[own, :2] = there.then(between if goes == 1 else between.back()).points(self._home[own] + [ahead[goes], 0.0, 0.0])
        heights, rough = self._ground.pads(place[own, :2], self.foot_radius)
        names = [foot for foot, mine in zip(walker.feet, own, strict=True) if mine]
        if not np.isfinite(heights).all():
            k = int(np.argmin(np.isfinite(heights)))
            return _Goal(lead, torso, ahead, place, 0.0, f"there is no ground below {names[k]!r} at {_words(place[own][k])}")
        up = self._ground.up
        place[own, 2] = up * (heights + self.foot_height)
        z = float(place[:, 2].mean()) + up * (self.height - self.foot_height)
        k = int(np.argmax(rough))
        why = ""
        if rough[k] > self.evenness:
            why = f"the ground below {names[k]!r} at {_words(place[own][k])} is uneven by {rough[k]:.3f} m"
        top = np.where(own, self._tops(m["place"], place, goes), place[:, 2])
        for feet, height in ((place[:, 2], z), (top, z), (top, float(m["z"][1]))):
            beyond = self._beyond(self._joints(torso, ahead, feet, height, np.zeros(2)))
            if beyond.max() > 0.0:
                k = int(np.argmax(beyond))
                why = why or f"joint {walker.joints[k]!r} would have to go {beyond[k]:.3f} beyond its limits"
        return _Goal(lead, torso, ahead, place, z, why)

    def _tops(self, here: Array, there: Array, goes: int) -> Array:
        """z of raised feet: above all ground on the way [m], shape (n,)."""
        own = self._walker.half == goes
        out = here[:, 2].copy()
        way = there[own, :2] - here[own, :2]
        long = np.linalg.norm(way, axis=1, keepdims=True)
        more = self.foot_radius * way / np.maximum(long, 1e-9)  # before the foot and behind it
        along = np.linspace(0.0, 1.0, 12)[:, None, None]
        over = self._ground.height(here[own, :2] - more + along * (way + 2.0 * more)).max(axis=0) + self.foot_height
        up = self._ground.up
        out[own] = up * (np.maximum(over, np.maximum(up * here[own, 2], up * there[own, 2])) + self.step_height)
        return out


def _feet(names: Any) -> bool:
    """Whether these can be the feet of a half."""
    return isinstance(names, Sequence) and not isinstance(names, str) and len(names) >= 3


def _words(p: Array) -> str:
    return f"x = {p[0]:.2f}, y = {p[1]:.2f} m"
