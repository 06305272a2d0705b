"""What worlds are copies of: a compiled step, and where its inputs are."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from hydromechs.integrators import Integrator, Stepper
from hydromechs.model import Model

from ._target import Target


class Place(NamedTuple):
    """Where an input is."""

    argument: int
    """Number of the stepper's input that holds it."""
    at: tuple[int | slice, ...]
    """Its entries there; () for all."""
    shape: tuple[int, ...]
    """Its shape in one world."""


class Run:
    """What happens around the compiled steps of some worlds; here nothing."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.seeds = np.zeros(target.worlds, dtype=object)
        """Seed of gusts and waves of each world, integers of shape (worlds,)."""
        self.memory = target.zeros(0)
        """What the controller of each world remembers, shape (worlds, nm)."""

    def begin(self, which: np.ndarray, resumed: bool, held: np.ndarray | None = None) -> None:
        """Set up worlds whose configurations and velocities have been set.

        Args:
            which: Indices of the worlds.
            resumed: True if they resume from internal states of an earlier run.
            held: Held inputs of the state from which they resume, shape (len(which), nh); constraints that these close are
                already closed. If omitted, constraints of the first step are already closed in resumed worlds only.
        """

    def ready(self, driven: Mapping[str, Any], done: int, steps: int) -> int:
        """Do what is to be done at the present instant of all worlds; how many steps can be taken now.

        Args:
            driven: Inputs that change with every step, shape (worlds or 1, all steps, ...) each.
            done: Steps of `driven` that have been taken.
            steps: How many are left.
        """
        return steps

    @property
    def split_worlds(self) -> np.ndarray:
        """Numbers of the worlds whose next step is taken in parts, because the slope of a current changes within it."""
        return np.zeros(0, dtype=int)

    def split_step(self, which: np.ndarray, inputs: list[Any]) -> np.ndarray:
        """Take a step in parts in some worlds, with inputs of all; True for those that took it, (len(which),)."""
        return np.zeros(0, dtype=bool)

    def advanced(self, steps: int) -> None:
        """Record that all worlds have advanced by some steps."""

    def why(self, world: int) -> str:
        """Why a world is frozen, in words."""
        return "the next step is not finite"


class Source(abc.ABC):
    """What worlds are copies of."""

    model: Model
    """The mechanism."""
    method: Integrator
    """The integrator."""
    stepper: Stepper
    """Its compiled steps."""
    nz: int
    """Number of internal states."""
    places: dict[str, Place]
    """Inputs that a caller gives, by name."""
    opened: dict[str, Place]
    """Open parameters, by name."""
    parameters: dict[str, np.ndarray]
    """Their values in the model."""
    commands: tuple[str, ...]
    """Names of commands; none of a bare mechanism."""
    held: tuple[str, ...]
    """Names of held inputs; none of a bare mechanism."""

    def check_value(self, name: str, values: np.ndarray) -> None:  # noqa: B027  a mechanism takes all
        """Raise `ValueError` where a model could not have the values of an open parameter, as a mass below 0.

        Args:
            name: Name of the parameter.
            values: Of some worlds, shape (n, ...).
        """

    @abc.abstractmethod
    def named(self, inputs: Any) -> dict[str, Any]:
        """Inputs by name, from what a caller gave: a mapping by name, one array, or None for none."""

    def run(self, target: Target, step: float, offset: float) -> Run:
        """What happens around the steps of worlds."""
        return Run(target)
