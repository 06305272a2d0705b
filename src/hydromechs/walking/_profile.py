"""Ground profile along a straight path for rolling wheels, with ramps before and behind all obstacles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from hydromechs.compiler import NUMBERS, ROW, Address, Argument, Program, Rolled, Stage, Sweep, call, trace
from hydromechs.spatial import floor, minimum, positive_part, where
from hydromechs.values import Array, Scalar

from ._footholds import NONE, Ground

GRID = 0.02
"""Distance between sample points of the ground [m]."""


class Profile:
    """Height profiles of both wheel tracks of a straight path, and of the ground, on a grid.

    The height of a wheel is its height in contact with the ground, limited in descent by the slope of the ramps.

    Args:
        ground: Known ground.
        half_track: Half of the track width [m].
        radius: Wheel radius [m].
        clearance: Distance before and behind an obstacle over which wheels are already at obstacle height [m].
        slope: Slope of the ramps [-].
        reach: Longitudinal positions of the axles relative to the origin [m], shape (3,).
        distance: Length of the path [m].
        too_far: Function of all wheel heights (3, 2) [m] that returns 1 for each joint that would exceed its limit, else 0.
    """

    def __init__(
        self,
        *,
        ground: Ground,
        half_track: float,
        radius: float,
        clearance: float,
        slope: float,
        reach: Sequence[float],
        distance: float,
        too_far: Callable[[Array], list[Scalar]],
    ) -> None:
        self.ground, self.half_track, self.distance, self.too_far = ground, half_track, distance, too_far
        self.reach = np.array(reach)
        length = float(np.abs(self.reach).max())
        self.first = -2.0 * (length + radius + clearance)
        """Position of the first grid point along the path [m]."""
        self._margin = 2.0 * length + radius + clearance  # ramps of obstacles that a module can climb are shorter
        size = int((radius + clearance) / GRID)
        d = np.maximum(np.abs(GRID * np.arange(-size, size + 1)) - clearance, 0.0)
        self._wheel = np.sqrt(radius**2 - d**2) - radius
        """Axle height for wheel contact at a point, relative to even ground, negated [m]."""
        self._drop = slope * GRID

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without compiled programs, for pickling."""
        return {name: x for name, x in self.__dict__.items() if name not in ("_reading", "_checking")}

    def check(self, course: Array) -> tuple[Array, Array]:
        """Find the first point of a path without ground, and the first point at which a joint would exceed its limit.

        The path starts at `course`: x [m], y [m], heading [rad]. Returns a condition with x and y [m], shape (3,), and a
        condition with the distance along the path [m] and the index of the joint, shape (3,).
        """
        starts, along = self._starts(course, self.first)
        bare, found = call(self._checking, starts, along)
        return np.array([where(bare[0, 0], a, b) for a, b in zip(*bare, strict=True)]), found

    def at(self, course: Array, places: Array) -> Array:
        """Return heights of both wheels and of the ground at three axle positions along the path [m], shape (3, 3).

        `course`: x, y and heading at the start of the path, shape (3,); `places`: distances along the path [m], shape (3,).
        """
        last = minimum(minimum(places[0], places[1]), places[2]) - self._margin
        begin = self.first + GRID * floor((last - self.first) / GRID)
        return call(self._reading, *self._starts(course, begin), places - begin)[1]

    def _starts(self, course: Array, begin: Scalar) -> tuple[Array, Array]:
        """Return the first points of both wheel tracks (2, 2), and the direction of the path (2,)."""
        along = np.array([np.cos(course[2]), np.sin(course[2])])
        across = self.half_track * np.array([-along[1], along[0]])
        here = course[:2] + begin * along
        return np.array([here + across, here - across]), along

    # -- loops --------------------------------------------------------------------------------------------------------------

    @cached_property
    def _reading(self) -> Rolled:
        n = math.ceil((np.ptp(self.reach) + 2.0 * self._margin) / GRID) + 2

        def add(places: Array, s: Array, left: Array, right: Array, ground: Array, values: Array) -> Array:
            shares = [positive_part(1.0 - abs(x - s[0]) / GRID) for x in places]
            row = [left[0], right[0], 0.5 * (ground[0] + ground[1])]
            return values + np.array([[share * x for x in row] for share in shares])

        shapes = {"places": (3,), "s": (1,), "left": (1,), "right": (1,), "ground": (2,), "values": (3, 3)}
        values, sides = Address("values"), (Address("left", ROW), Address("right", ROW))
        places = Address("places"), Address(NUMBERS, ROW), *sides, Address("ground", ROW, 2), values, values
        inputs = {"starts": (2, 2), "along": (2,), "places": (3,)}
        reading = _sweep(trace(add, shapes, name="add"), *places)
        return self._loop("heights", [0] * n, inputs, {"bare": (2, 3), "values": (3, 3)}, reading)

    @cached_property
    def _checking(self) -> Rolled:
        n, ahead = math.ceil((self.distance - 2.0 * self.first) / GRID), math.ceil(self.distance / GRID)
        at = (self.reach - self.first) / GRID
        first = np.floor(at).astype(int).tolist()
        parts = (at - first).tolist()

        def test(s: Array, found: Array, **pairs: Array) -> Array:
            windows = np.array(list(pairs.values())).reshape(3, 2, 2)
            heights = np.array([(1.0 - part) * w[:, 0] + part * w[:, 1] for w, part in zip(windows, parts, strict=True)])
            out = list(found)
            for k, beyond in enumerate(self.too_far(heights)):
                new = where(out[0], 0.0, beyond)
                out = [where(new, a, b) for a, b in zip((1.0, s[0], float(k)), out, strict=True)]
            return np.array(out)

        shapes = {"s": (1,), "found": (3,)} | {f"pair{k}": (2,) for k in range(6)}
        pairs = [Address(side, ROW, 1, k) for k in first for side in ("left", "right")]
        found = Address("found")
        programs = trace(test, shapes, name="test"), trace(lambda found: found, {"found": (3,)}, name="skip")
        stage = Stage(programs, ((Address(NUMBERS, ROW), found, *pairs, found), (found, found)), "kind")
        inputs, outputs = {"starts": (2, 2), "along": (2,)}, {"bare": (2, 3), "found": (3,)}
        return self._loop("way", [0] * ahead + [1] * (n - ahead), inputs, outputs, Sweep((stage,)))

    def _loop(
        self,
        name: str,
        kinds: Sequence[int],
        inputs: Mapping[str, tuple[int, ...]],
        outputs: Mapping[str, tuple[int, ...]],
        last: Sweep,
    ) -> Rolled:
        """Return a loop that stores heights in the working arrays "left", "right" and "ground" and then evaluates a sweep."""
        n, wide, drop = len(kinds), len(self._wheel), self._drop
        pad = wide // 2

        def see(starts: Array, along: Array, s: Array, bare: Array) -> tuple[Array, ...]:
            places = starts + s[0] * along
            heights = self.ground.height(places)
            rows = []
            for place, h, before in zip(places, heights, bare, strict=True):
                new = where(before[0], 0.0, where(h > NONE, 0.0, 1.0))
                rows.append([where(new, a, b) for a, b in zip([1.0, *place], before, strict=True)])
            return heights[:1], heights[1:], heights, np.array(rows)

        def prolong(left: Array, right: Array, left_end: Array, right_end: Array) -> tuple[Array, ...]:
            ends = [np.array([x[0]] * pad) for x in (left, right, left_end, right_end)]
            return (*ends, np.full(2, -np.inf), np.full(2, -np.inf))

        def climb(left: Array, right: Array, before: Array) -> Array:
            windows = zip((left, right), before - drop, strict=True)
            return np.array([_highest([*(window + self._wheel), last]) for window, last in windows])

        def descend(here: Array, behind: Array) -> tuple[Array, ...]:
            out = np.array([where(y - drop > x, y - drop, x) for x, y in zip(here, behind, strict=True)])
            return out, out[:1], out[1:]

        one = {"left": (1,), "right": (1,)}
        starts, along, bare = Address("starts"), Address("along"), Address("bare")
        seen = [Address(side, None, 1, pad + k) for k in (0, n - 1) for side in ("left_seen", "right_seen")]
        ends = [Address(side, None, 1, k) for k in (0, pad + n) for side in ("left_seen", "right_seen")]
        sweeps = [
            _sweep(
                trace(see, {"starts": (2, 2), "along": (2,), "s": (1,), "bare": (2, 3)}, name="see"),
                *(starts, along, Address(NUMBERS, ROW), bare),
                *(Address("left_seen", ROW, 1, pad), Address("right_seen", ROW, 1, pad), Address("ground", ROW, 2), bare),
            ),
            _sweep(
                trace(prolong, one | {"left_end": (1,), "right_end": (1,)}, name="prolong"),
                *(*seen, *ends, Address("up"), Address("down", None, 1, 2 * n)),
                once=True,
            ),
            _sweep(
                trace(climb, {"left": (wide,), "right": (wide,), "before": (2,)}, name="climb"),
                *(Address("left_seen", ROW), Address("right_seen", ROW), Address("up", ROW, 2), Address("up", ROW, 2, 2)),
            ),
            _sweep(
                trace(descend, {"here": (2,), "behind": (2,)}, name="descend"),
                *(Address("up", ROW, 2, 2), Address("down", ROW, 2, 2)),
                *(Address("down", ROW, 2), Address("left", ROW), Address("right", ROW)),
                backward=True,
            ),
            last,
        ]
        work = {"left_seen": n + 2 * pad, "right_seen": n + 2 * pad, "left": n, "right": n}
        work |= {"ground": 2 * n, "up": 2 * n + 2, "down": 2 * n + 2}
        given, wanted = (tuple(Argument(*item) for item in shapes.items()) for shapes in (inputs, outputs))
        numbers, table = GRID * np.arange(n), np.array(kinds)[:, None]
        return Rolled(name, given, wanted, ("kind",), table, numbers, work, tuple(sweeps), tuple(outputs))


def _highest(values: list[Scalar]) -> Scalar:
    """Return the largest number that is not NaN, by pairwise comparison to avoid a chain of dependent operations."""
    while len(values) > 1:
        pairs = [where(a > b, a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[2 * len(pairs) :]
    return values[0]


def _sweep(program: Program, *places: Address, backward: bool = False, once: bool = False) -> Sweep:
    return Sweep((Stage((program,), (places,)),), backward, once)
