"""How a frame walker steps: how far each time, and in what time. A gait of your own derives from `SupportGait`."""

from __future__ import annotations

import math
from typing import NamedTuple

from hydromechs.registry import Described
from hydromechs.values import Finite, NotNegative, Positive, not_negative, number, positive


class Step(NamedTuple):
    """One step of one half."""

    stride: float
    """How far a half goes over the ground in a steady walk, from behind the other to before it [m]; 0 to stay in its place."""
    turn: float
    """By how much the half turns from the heading of the one that stands [rad]."""


class SupportGait(Described):
    """Equal steps of both halves in turn. Derive a class from it, with `step`, for a gait of your own.

    Args:
        stride: See `Step` [m].
        turn_deg: Turn of each step [degrees].
        lift: Time to raise the legs of a half [s].
        move: Time in which it goes ahead [s].
        lower: Time to lower its legs [s].
        shift: Time in which all legs stand [s].
    """

    def __init__(
        self,
        *,
        stride: NotNegative = 0.4,
        turn_deg: Finite = 0.0,
        lift: Positive = 1.0,
        move: Positive = 2.0,
        lower: Positive = 1.0,
        shift: NotNegative = 0.5,
    ) -> None:
        self.stride, self.turn = not_negative(stride, "stride"), math.radians(number(turn_deg, "turn_deg"))
        self.lift, self.move, self.lower = positive(lift, "lift"), positive(move, "move"), positive(lower, "lower")
        self.shift = not_negative(shift, "shift")

    @property
    def period(self) -> float:
        """Time of one step [s]."""
        return self.lift + self.move + self.lower + self.shift

    def step(self, number: int) -> Step:
        """Return the next step.

        A controller asks for the first 1000 steps when it is prepared, and repeats the last of them afterwards.

        Args:
            number: Of steps before it. In step 0 the second half goes, in step 1 the first, and so on.
        """
        return Step(self.stride, self.turn)
