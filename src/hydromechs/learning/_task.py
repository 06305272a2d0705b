"""Tasks: observations, rewards and ends of episodes, in NumPy for one world or many."""

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
"""Weight of the effort penalty in the reward."""


class Judgement(NamedTuple):
    """Outcome of one period in each world."""

    reward: Array
    """Rewards, shape (n,)."""
    lost: Array
    """True if the episode has failed, shape (n,)."""
    measures: Mapping[str, Array]
    """Additional reported values, shape (n,) each, including "is_success"."""


class Task(abc.ABC):
    """Base class of tasks in an `Arena`; derive custom tasks from this class.

    Fields are options. `join` creates the arrays of goals, with one row per world.
    """

    extra: int = 0
    """Number of actions in addition to commands."""
    labels: Sequence[str] = ()
    """Labels of the values of `observe`, such as "goal.x". Defaults to kind and index, such as "position.0"."""
    default: str = ""
    """Default library scenario or vehicle."""
    period: float = 0.1
    """Default action period [s]."""
    duration: float = 20.0
    """Default duration of an episode [s]."""
    step: float | None = None
    """Default step of the simulation [s]; None for the step of the scenario."""

    def __post_init__(self) -> None:
        """Check the fields of the task."""
        check_fields(self, type(self).__name__)

    def copy(self) -> Self:
        """Return a copy of the task that is not connected to an arena."""
        return copy.copy(self)

    @abc.abstractmethod
    def commands(self, plant: Plant) -> Sequence[str]:
        """Return the names of the commands set by actions; raise `ValueError` for an unsuitable plant."""

    @abc.abstractmethod
    def join(self, arena: Arena) -> None:
        """Connect the task to an arena, whose worlds start at `arena.home_q`."""

    @abc.abstractmethod
    def draw(self, which: Array, random: Sequence[np.random.Generator]) -> None:
        """Draw goals and initial states of new episodes of worlds `which`, shape (k,), from their generators.

        The method may change `arena.worlds.start_q[which]`.
        """

    def begin(self, which: Array) -> None:
        """Initialise the task in worlds `which`, shape (k,), after a reset."""
        return

    def act(self, actions: Array) -> None:
        """Apply additional actions from -1 to 1, shape (n, extra)."""
        return

    @abc.abstractmethod
    def observe(self) -> list[tuple[str, Array]]:
        """Return the observation of the goal as parts, each with a kind, for its noise, and values of shape (n, k)."""

    @abc.abstractmethod
    def judge(self) -> Judgement:
        """Return the outcome of the last period."""

    @abc.abstractmethod
    def goals(self) -> Array:
        """Return the goal positions to mark in pictures [m], shape (n, 3)."""


@dataclass(kw_only=True)
class GoalTask(Task):
    """Base class of vehicle tasks with a goal position."""

    scale: Positive = 0.5
    """Distance from the goal at which the reward is halved [m]."""
    success: Positive = 0.2
    """Distance within which the goal counts as reached [m]."""
    far: Positive = 4.0
    """Distance from the goal at which the episode ends [m]."""

    default = "bluerov2_heavy_alpha5"


def named(*vectors: str) -> tuple[str, ...]:
    """Return component labels of vectors, such as "goal.x"."""
    return tuple(f"{name}.{x}" for name in vectors for x in "xyz")


def drawn(random: Sequence[np.random.Generator], low: Any, high: Any, size: int) -> Array:
    """Return uniformly distributed numbers between `low` and `high`, one row per generator, shape (len(random), size)."""
    unit = np.array([g.random(size) for g in random]).reshape(len(random), size)
    return np.asarray(low) + (np.asarray(high) - np.asarray(low)) * unit
