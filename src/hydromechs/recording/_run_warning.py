"""Warnings about a run: conditions that make its result doubtful even if its checks pass."""

from __future__ import annotations

from typing import NamedTuple

WARNING_KINDS = {
    "capsized": "a vehicle capsized",
    "saturated": "an actuator was at its limit for a long time",
    "joint_stop": "a joint was at a stop",
    "line_slack": "a line went slack",
    "line_taut": "a line snapped tight",
    "deep_contact": "a contact was deeper than half the thickness of its shape",
    "above_surface": "a body left the water in an environment without a free surface",
    "below_bed": "a body was below the bed of the water",
    "off_terrain": "a body left the grid of a height field",
    "short_waves": "waves are too short for a body that does not scatter them",
    "reynolds": "a smooth body exceeded the critical Reynolds number of its drag coefficient",
    "inflow": "inflow drove a propeller beyond its zero-thrust point",
}
"""Descriptions of the kinds of warnings; a scenario lists kinds in `expected_warnings`."""


class RunWarning(NamedTuple):
    """A condition that occurred in a run: when it first occurred, and its worst value."""

    kind: str
    """One of `WARNING_KINDS`."""
    item: str
    """Name of the body, joint, actuator, line or contact."""
    time: float
    """Time at which the limit was first exceeded [s]."""
    value: float
    """Worst value of the run [in `unit`]."""
    limit: float
    """Limit that it exceeded [in `unit`]."""
    unit: str
    """Unit of value and limit."""
    text: str
    """The warning in one sentence: item, time, value, limit, advice."""
    expected: bool = False
    """True if the scenario expects warnings of this kind."""
