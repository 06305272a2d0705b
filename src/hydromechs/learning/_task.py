"""Task: observations, rewards and the end of an episode; for one world or many, in NumPy."""

from __future__ import annotations

import abc
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from hydromechs.simulation import Plant
from hydromechs.values import Array, Positive, check_fields

if TYPE_CHECKING:
    from ._arena import Arena


EFFORT = 0.05
"""Penalty of full power, or full joint rates, in the reward."""


class Judgement(NamedTuple):
    """Outcome of one period, in each world."""

    reward: Array
    """Shape (n,)."""
    lost: Array
    """True if the episode has failed, shape (n,)."""
    measures: Mapping[str, Array]
    """Other numbers to report, shape (n,) each; "is_success" is one of them."""


class Task(abc.ABC):
    """Task in an `Arena`. Derive a class from it for a custom task.

    Its fields are options; arrays for its goals are created in `join`, one row per world.
    """

    extra: int = 0
    """Actions besides those of commands."""
    labels: Sequence[str] = ()
    """Names of the numbers of `observe`, such as "goal.x". Defaults to their kind and index, such as "position.0"."""
    default: str = ""
    """Library scenario or vehicle used by default."""
    period: float = 0.1
    """Default time of one action [s]."""
    duration: float = 20.0
    """Default time of an episode [s]."""
    step: float | None = None
    """Default step of the simulation [s]; the scenario's if None."""

    def __post_init__(self) -> None:
        """Check the fields of a task that is a dataclass."""
        check_fields(self, type(self).__name__)

    def copy(self) -> Self:
        """Return the same task without its arrays."""
        return copy.copy(self)

    @abc.abstractmethod
    def commands(self, plant: Plant) -> Sequence[str]:
        """Return the names of the commands set by actions; raise `ValueError` for an unsuitable plant."""

    @abc.abstractmethod
    def join(self, arena: Arena) -> None:
        """Prepare for an arena, whose worlds start at `arena.home_q`."""

    @abc.abstractmethod
    def draw(self, which: Array, random: Sequence[np.random.Generator]) -> None:
        """Draw goals and starts of new episodes of worlds, shape (k,), from their generators.

        `arena.worlds.start_q[which]` may be changed.
        """

    def begin(self, which: Array) -> None:
        """Initialise worlds, numbers of shape (k,), that were reset."""
        return

    def act(self, actions: Array) -> None:
        """Apply actions that are not commands, from -1 to 1, shape (n, extra)."""
        return

    @abc.abstractmethod
    def observe(self) -> list[tuple[str, Array]]:
        """Observation of the goal: a kind, for its noise, and values, shape (n, k), of each part."""

    @abc.abstractmethod
    def judge(self) -> Judgement:
        """Outcome of the last period."""

    @abc.abstractmethod
    def goals(self) -> Array:
        """Places to mark in pictures [m], shape (n, 3)."""


@dataclass(kw_only=True)
class GoalTask(Task):
    """A task of a vehicle whose goal is a place."""

    scale: Positive = 0.5
    """Distance at which the reward is halved [m]."""
    success: Positive = 0.2
    """Distance within which it counts as reached [m]."""
    far: Positive = 4.0
    """Distance at which the episode ends [m]."""

    default = "bluerov2_heavy_alpha5"


def named(*vectors: str) -> tuple[str, ...]:
    """Return the labels of vectors, such as "goal.x"."""
    return tuple(f"{name}.{x}" for name in vectors for x in "xyz")


def drawn(random: Sequence[np.random.Generator], low: Any, high: Any, size: int) -> Array:
    """Return uniform numbers between `low` and `high`, a row from the generator of each world, shape (len(random), size)."""
    unit = np.array([g.random(size) for g in random]).reshape(len(random), size)
    return np.asarray(low) + (np.asarray(high) - np.asarray(low)) * unit
