"""Paths of a tool: waypoints, and a swing about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hydromechs.spatial import where
from hydromechs.values import Scalar, floats, number, positive, whole

from ._pose_control import pose_waypoints
from ._reference import Sample

SWING = {"t", "travel", "period", "cycles"}
"""Keys of a swing."""


class ToolPath:
    """A place over time: smooth motion from waypoint to waypoint, and sinusoids about it.

        p(t) = p_way(t) + ½ a (1 − cos(2π (t − t_0)/T))   for t_0 < t < t_0 + n T

    A swing begins and ends at rest.

    Args:
        waypoints: As of `FollowPath`: t [s], position [m], roll_deg, pitch_deg, heading_deg.
        swings: Mappings with t (t_0 [s]), travel (a, from end to end [m], shape (3,)), period (T [s]) and cycles (n).
    """

    def __init__(self, waypoints: Sequence[Mapping[str, Any]], swings: Sequence[Mapping[str, Any]] = ()) -> None:
        self.way = pose_waypoints(waypoints)
        self.swings = []
        for k, s in enumerate(swings):
            if not isinstance(s, Mapping) or set(s) != SWING:
                raise ValueError(f"swing {k} is {s!r}, must have {', '.join(sorted(SWING))}")
            travel = np.array([*floats(s["travel"], 3, f"travel of swing {k}"), 0.0, 0.0, 0.0])
            start, period = number(s["t"], f"t of swing {k}"), positive(s["period"], f"period of swing {k}")
            self.swings.append((start, travel, period, whole(s["cycles"], f"cycles of swing {k}")))

    def __call__(self, t: Scalar) -> Sample:
        """Place and roll, pitch, heading at time `t` [s], with rates and second derivatives, shape (6,) each."""
        position, rate, acceleration = self.way(t)
        for start, travel, period, cycles in self.swings:
            swings = where(t > start, where(t < start + cycles * period, 1.0, 0.0), 0.0)
            w, half = 2.0 * np.pi / period, 0.5 * swings * travel
            s, c = np.sin(w * (t - start)), np.cos(w * (t - start))
            position, rate, acceleration = position + half * (1.0 - c), rate + half * w * s, acceleration + half * w * w * c
        return Sample(position, rate, acceleration)
