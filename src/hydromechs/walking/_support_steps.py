"""Steps of a frame walker: the longest step after which all feet of a half are on even ground within reach."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from hydromechs.compiler import Program, call, trace, when
from hydromechs.spatial import clamp, lookup, maximum, minimum, nearest_integer, norm, where
from hydromechs.values import Array, Scalar

from ._drives import first_largest, pick, select
from ._footholds import NONE, ON_THE_WAY, Ground
from ._frames import FlatPose, FrameWalker
from ._gait import SupportGait

TRIED = np.linspace(0.0, -0.9, 10)
"""Candidate changes of the lead of a half, as fractions of the largest, longest step first."""
ARRIVED = 0.005
"""Distance below which no further step is taken [m]."""
STEPS = 1000
"""Maximum number of steps requested from a gait."""


class StepPlan(NamedTuple):
    """Changes of the controller's memory at the start of a step."""

    number: Scalar
    when: Scalar
    arrived: Scalar
    gone: Scalar
    middle: Array
    heading: Array
    lead: Scalar
    torso: Array
    ahead: Array
    z: Array
    place: Array
    foot: Array
    top: Array
    failures: Array
    """Conditions and values of the stops, see `plan_texts`."""


class _Goal(NamedTuple):
    """Candidate for a step."""

    torso: Array
    """Slide [m] and turn [rad] of the second half, shape (2,)."""
    ahead: Array
    """Leads of the feet of both halves from their neutral positions [m], shape (2,)."""
    place: Array
    """Footholds of all feet in the world [m], shape (n, 3)."""
    top: Array
    """z of the raised feet, shape (n,) [m]."""
    z: Scalar
    """z of the first half's origin [m]."""
    good: Scalar
    """1 if the step is feasible, else 0."""
    bare: Array
    """1 for a foot without ground, else 0, shape (n,)."""
    uneven: Array
    """1 for a foot on uneven ground, else 0, shape (n,)."""
    rough: Scalar
    """Unevenness of the ground below the uneven foot [m]."""
    joint: Scalar
    """Index of the joint that would exceed its limits."""
    beyond: Scalar
    """Excess over the limits of the joint [m, rad]."""


class Steps:
    """Geometry and selection of steps.

    Args:
        walker: Geometry of the robot.
        ground: Known ground.
        gait: Lengths and durations of the steps.
        distance: Distance of the mean of all feet after which the walk stops [m]; may be infinite.
        evenness: Maximum height difference of the ground below a foot [m].
        foot_radius: Radius within which the ground below a foot must be even [m].
        foot_height: Height of the foot origins above the ground in stance [m].
        step_height: Clearance of raised feet above the ground [m].
    """

    def __init__(
        self,
        *,
        walker: FrameWalker,
        ground: Ground,
        gait: SupportGait,
        distance: float,
        evenness: float,
        foot_radius: float,
        foot_height: float,
        step_height: float,
    ) -> None:
        self.walker, self.ground, self.gait, self.distance = walker, ground, gait, distance
        self.evenness, self.foot_radius = evenness, foot_radius
        self.foot_height, self.step_height = foot_height, step_height
        self.deep = np.where(walker.half == 1, walker.depth, 0.0)
        """z of each foot's half in axes of the first half [m], shape (n,)."""
        self._present = [k for k, part in enumerate(walker.torso) if part]
        steps = [gait.step(k) for k in range(STEPS)]
        self._strides = _table([step.stride for step in steps])
        self._turns = _table([step.turn for step in steps])
        if not (walker.swings or walker.torso[0]) and max(self._strides) > 0.0:
            raise ValueError(
                "stride above 0 needs halves that slide along x or legs that swing about y; add joints or set stride to 0"
            )
        part = walker.torso[1]
        self._limits = (getattr(part.joint, "limits", None) if part else None) or (-math.inf, math.inf)
        for turn in self._turns:
            degrees = f"the gait turns by {math.degrees(turn):g} degrees per step"
            if part is None and turn:
                raise ValueError(f"{degrees}, but no joint rotates the halves; omit turn_deg")
            low, high = self._limits
            if part and not (low <= turn <= high and low <= -turn <= high):
                raise ValueError(
                    f"{degrees}, but joint {part.name!r} turns by at most {math.degrees(high):.3g}; reduce turn_deg"
                )

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without compiled programs, for pickling."""
        return {name: x for name, x in self.__dict__.items() if name not in ("_program", "_goal_program")}

    # -- geometry -----------------------------------------------------------------------------------------------------------

    def torso(self, at: Array) -> Array:
        """Return slide [m] and turn [rad] of the second half from positions of all joints; 0 for a missing joint."""
        return np.array([at[self._present.index(k)] if k in self._present else 0.0 for k in (0, 1)])

    def flat(self, torso: Array, feet: Array) -> Array:
        """Return x and y of feet in axes of the first half [m], shape (n, 2), for feet in axes of their half, (n, 3)."""
        return np.where((self.walker.half == 1)[:, None], self.walker.relative(torso).points(feet), feet[:, :2])

    def joints(self, home: Array, torso: Array, ahead: Array, feet: Array, z: Scalar, tilt: Array) -> Array:
        """Return all joint positions [m, rad], shape (nj,), for feet displaced by leads `ahead` (2,) from `home` (n, 3) [m].

        `feet` (n,): foot heights in the world [m]; `z`: height of the first half's origin [m]; `tilt` (2,): x and y components
        of world z in axes of the first half; `torso` (2,): slide [m] and turn [rad] of the second half.
        """
        places = np.column_stack([home[:, 0] + ahead[self.walker.half], home[:, 1], home[:, 2]])
        places[:, 2] = feet - z - self.flat(torso, places) @ tilt - self.deep
        return np.concatenate([torso[self._present], self.walker.legs(places)])

    def beyond(self, wanted: Array) -> list[Scalar]:
        """Return the excess of required joint positions over their limits [m, rad]."""
        rows = zip(wanted, self.walker.limits.tolist(), strict=True)
        return [maximum(maximum(low - x, x - high), 0.0) for x, (low, high) in rows]

    # -- steps --------------------------------------------------------------------------------------------------------------

    def plan(self, condition: Scalar, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, tuple[Scalar, ...]]]:
        """Start the next step if a condition holds, or detect the end of a step; return changed memory and stops.

        `given` contains fields of `StepPlan`, "home", "height", poses of the "halves" and the time "due" of the step.
        """
        names = StepPlan._fields
        texts = plan_texts(self.walker)
        kept = [*(given[name] for name in names[:-1]), np.zeros((len(texts), 5))]
        program = self._program
        results = when(condition, program, [given[a.name] for a in program.inputs], kept)
        changed = {name: x if x.ndim else x[()] for name, x in zip(names, results, strict=True)}
        rows = changed.pop("failures")
        return changed, {key: tuple(row) for key, row in zip(texts, rows, strict=True)}

    @cached_property
    def _program(self) -> Program:
        n = len(self.walker.feet)
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("number", "when", "arrived", "gone", "lead", "height", "due"), ())
        shapes |= dict.fromkeys(("middle", "heading", "z"), (2,)) | dict.fromkeys(("torso", "ahead"), (2, 2))
        shapes |= {"place": (n, 3), "foot": (n,), "top": (n,), "home": (n, 3), "halves": (2, 3)}
        return trace(self._plan, shapes, name="support_step", outputs=StepPlan._fields)

    def _plan(self, **m: Any) -> StepPlan:
        walker = self.walker
        m = {name: x if x.ndim else x[()] for name, x in m.items()}
        halves = [FlatPose(*half) for half in m["halves"]]
        n, home, lead_before = len(walker.feet), m["home"], m["lead"]
        shifted = home + np.outer(m["ahead"][1][walker.half], [1.0, 0.0, 0.0])  # current positions
        flat = np.where((walker.half == 1)[:, None], halves[1].points(shifted), halves[0].points(shifted))
        here = np.column_stack([flat, m["place"][:, 2]])
        middle = flat.sum(axis=0) / n
        gone = m["gone"] + norm(middle - m["middle"])
        rest = self.distance - gone if math.isfinite(self.distance) else math.inf
        arrives = where(rest < ARRIVED, where(abs(lead_before) < ARRIVED, 1.0, 0.0), 0.0)
        number = m["number"] + 1.0
        goes = number % 2.0  # 1 for the second half
        stride, turn = lookup(self._strides, m["number"]), lookup(self._turns, m["number"])
        if walker.torso[1] is None:
            headings = [halves[0].yaw, halves[1].yaw]
        else:
            headings = [m["heading"][1] + turn, m["heading"][0] + turn]
        heading = np.array([where(goes, m["heading"][0], headings[0]), where(goes, headings[1], m["heading"][1])])
        turned: Scalar = 0.0
        if walker.torso[1] is not None:
            off = where(goes, heading[1] - halves[0].yaw, heading[0] - halves[1].yaw)
            off = off - 2.0 * math.pi * nearest_integer(off / (2.0 * math.pi))
            turned = clamp(where(goes, 1.0, -1.0) * off, *self._limits)
        longest = 0.5 * stride
        lead = minimum(longest, rest - 0.5 * lead_before)  # so that the last step aligns the halves
        lead = where(lead < ARRIVED, 0.0, lead)
        tried = [lead + longest * x for x in TRIED.tolist()]
        stands = select(goes, np.array(halves[0]), np.array(halves[1]))
        before = where(goes, m["ahead"][1, 0], m["ahead"][1, 1])
        given = [turned, goes, stands, before, here, home, m["height"], m["z"][1]]
        goals = [_Goal(*call(self._goal_program, *map(np.asarray, (x, *given)))) for x in tried]
        allowed = [1.0, *(where(x > -lead_before, 1.0, 0.0) for x in tried[1:])]  # no backward steps
        good = [where(a, goal.good[()], 0.0) for a, goal in zip(allowed, goals, strict=True)]
        chosen, any_good = first_largest(good)
        found = _Goal(*(pick(chosen, [goal[k] for goal in goals])[()] for k in range(len(_Goal._fields))))
        failed = where(arrives, 0.0, where(any_good, 0.0, 1.0))
        plan = {
            "number": number,
            "when": m["due"],
            "heading": heading,
            "lead": pick(chosen, [np.asarray(x) for x in tried])[()],
            "torso": np.array([m["torso"][1], found.torso]),
            "ahead": np.array([m["ahead"][1], found.ahead]),
            "z": np.array([m["z"][1], found.z]),
            "place": found.place,
            "foot": here[:, 2],
            "top": found.top,
        }
        kept = m | {"place": here}
        plan = {name: select(arrives, kept[name], x) for name, x in plan.items()}
        failures = self._failures(goals[0], failed, goes, stride)
        return StepPlan(arrived=np.asarray(arrives), gone=np.asarray(gone), middle=middle, failures=failures, **plan)

    def _failures(self, goal: _Goal, failed: Scalar, goes: Scalar, stride: Scalar) -> Array:
        """Return conditions and values of the stops, in the order of `plan_texts`."""
        rows = []
        for place, bare, uneven in zip(goal.place, goal.bare, goal.uneven, strict=True):
            rows.append([where(failed, bare, 0.0), place[0], place[1], stride, 0.0])
            rows.append([where(failed, uneven, 0.0), place[0], place[1], goal.rough[()], stride])
        ground = sum(goal.bare) + sum(goal.uneven)
        joint = where(failed, where(ground == 0.0, 1.0, 0.0), 0.0)
        rows.append([joint, goal.joint[()], goal.beyond[()], goes, stride])
        return np.array(rows)

    @cached_property
    def _goal_program(self) -> Program:
        n = len(self.walker.feet)
        scalars = dict.fromkeys(("lead", "turn", "goes", "before", "height", "z"), ())
        shapes = {**scalars, "stands": (3,), "here": (n, 3), "home": (n, 3)}
        order = ("lead", "turn", "goes", "stands", "before", "here", "home", "height", "z")
        return trace(self._goal, {name: shapes[name] for name in order}, name="support_goal", outputs=_Goal._fields)

    def _goal(
        self,
        lead: Array,
        turn: Array,
        goes: Array,
        stands: Array,
        before: Array,
        here: Array,
        home: Array,
        height: Array,
        z: Array,
    ) -> tuple[Array, ...]:
        """Return the step that makes the moving half lead by `lead` [m]."""
        walker, up = self.walker, self.ground.up
        lead, turn, goes, before, height, z = (x[()] for x in (lead, turn, goes, before, height, z))
        ahead: Array = np.zeros(2)
        travel: Scalar = 0.0
        slide: Scalar = 0.0
        if walker.torso[0]:
            slide = where(goes, lead, -lead)
        else:
            ahead = np.array([where(goes, -0.5, 0.5) * lead, where(goes, 0.5, -0.5) * lead])
            travel = before + 0.5 * lead
        torso = np.array([slide, turn])
        there = FlatPose(*stands).then(FlatPose(travel, 0.0, 0.0))
        between = walker.relative(torso)
        shifted = home + np.outer(ahead[walker.half], [1.0, 0.0, 0.0])
        second = walker.half == 1
        flat = np.where(second[:, None], there.then(between).points(shifted), there.then(between.back()).points(shifted))
        own = [goes if x else 1.0 - goes for x in second]
        heights, rough, place = [], [], []
        for mine, target, foot in zip(own, flat, here, strict=True):
            solid, uneven = self.ground.pad(target, self.foot_radius)
            heights.append(where(mine, solid, 0.0))
            rough.append(where(mine, uneven, -1.0))
            place.append(select(mine, [*target, up * (solid + self.foot_height)], foot))
        bare, missing = first_largest([where(x > NONE, 0.0, 1.0) for x in heights])
        most_uneven, roughest = first_largest(rough)
        uneven = where(missing, 0.0, where(roughest > self.evenness, 1.0, 0.0))
        places = np.array(place)
        after = places[:, 2].sum() / len(places) + up * (height - self.foot_height)
        tops = self._tops(own, here, places)
        joint: Scalar = 0.0
        beyond: Scalar = 0.0
        for feet, body in ((places[:, 2], after), (tops, after), (tops, z)):
            off = self.beyond(self.joints(home, torso, ahead, feet, body, np.zeros(2)))
            chosen, most = first_largest(off)
            new = where(beyond == 0.0, where(most > 0.0, 1.0, 0.0), 0.0)
            joint = where(new, sum(k * x for k, x in enumerate(chosen)), joint)
            beyond = where(new, most, beyond)
        good = where(missing, 0.0, where(uneven, 0.0, where(beyond == 0.0, 1.0, 0.0)))
        goal = _Goal(
            torso,
            ahead,
            places,
            tops,
            after,
            good,
            np.array([where(missing, x, 0.0) for x in bare]),
            np.array([where(uneven, x, 0.0) for x in most_uneven]),
            roughest,
            joint,
            beyond,
        )
        return tuple(map(np.asarray, goal))

    def _tops(self, own: Sequence[Scalar], here: Array, there: Array) -> Array:
        """Return z of raised feet, with clearance above all ground on their path [m], shape (n,)."""
        up, out = self.ground.up, []
        for mine, a, b in zip(own, here, there, strict=True):
            way = b[:2] - a[:2]
            more = self.foot_radius / maximum(norm(way), 1e-9) * way  # ahead of the foot and behind it
            over = self.ground.height(a[:2] - more + ON_THE_WAY[:, None] * (way + 2.0 * more)) + self.foot_height
            highest = maximum(up * a[2], up * b[2])
            for x in over:
                highest = maximum(highest, x)
            out.append(where(mine, up * (highest + self.step_height), a[2]))
        return np.array(out)


def _table(values: Sequence[float]) -> tuple[float, ...]:
    last = len(values)
    while last > 1 and values[last - 2] == values[last - 1]:
        last -= 1
    return tuple(float(x) for x in values[:last])


# -- texts ------------------------------------------------------------------------------------------------------------------


def plan_texts(walker: FrameWalker) -> dict[str, Callable[..., str]]:
    """Return functions that produce messages about steps without footholds, by key."""
    out: dict[str, Callable[..., str]] = {}
    for foot, h in zip(walker.feet, walker.half, strict=True):
        out[f"bare {foot}"] = partial(_bare_text, walker.names[h], foot)
        out[f"uneven {foot}"] = partial(_uneven_text, walker.names[h], foot)
    return out | {"joint": partial(_joint_text, walker.names, walker.joints)}


def _text(half: str, stride: float, why: str) -> str:
    return f"half {half!r} finds no footholds for steps up to {stride:g} m: {why}; change stride, evenness or height"


def _bare_text(half: str, foot: str, x: float, y: float, stride: float, _: float) -> str:
    return _text(half, stride, f"there is no ground below {foot!r} at x = {x:.2f}, y = {y:.2f} m")


def _uneven_text(half: str, foot: str, x: float, y: float, rough: float, stride: float) -> str:
    return _text(half, stride, f"the ground below {foot!r} at x = {x:.2f}, y = {y:.2f} m is uneven by {rough:.3f} m")


def _joint_text(halves: Sequence[str], joints: Sequence[str], k: float, beyond: float, goes: float, stride: float) -> str:
    why = f"joint {joints[int(k)]!r} would exceed its limits by {beyond:.3f}"
    return _text(halves[int(goes)], stride, why)


def beyond_text(joints: Sequence[str], k: float, beyond: float, *_: float) -> str:
    """Return the message for a joint that would exceed its limits by `beyond` [m, rad]."""
    return f"joint {joints[int(k)]!r} would exceed its limits by {beyond:.3f}; reduce the stride, or change the height"
