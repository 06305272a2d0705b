"""The interface of integrators, and of what carries a state through time with one."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import numpy as np

from hydromechs.values import Array, Scalar

if TYPE_CHECKING:
    from ._methods import System
    from ._stepper import Stepper


class Point(NamedTuple):
    """Where a trajectory is."""

    t: float
    """Time [s]."""
    q: np.ndarray
    """Configuration, shape (nq,)."""
    x: np.ndarray
    """Velocity and internal states, shape (nv + nz,)."""


class Paths(NamedTuple):
    """Where worlds came."""

    q: np.ndarray
    """Configurations after every `record` steps, shape (worlds, rows, nq)."""
    x: np.ndarray
    """Velocities and internal states there, shape (worlds, rows, nv + nz)."""
    good: np.ndarray
    """Number of steps with finite results, shape (worlds,)."""


class NotFinite(ArithmeticError):
    """The next step is not finite, or not to be had; `at` is the last good point.

    Args:
        at: The last good point.
        reason: Why, in words.
    """

    def __init__(self, at: Point, reason: str) -> None:
        self.at, self.reason = at, reason
        super().__init__(f"t = {at.t:.6g} s: {reason}")


class Samples(Protocol):
    """Takes samples of a trajectory."""

    every: float
    """Time between two samples [s]."""

    def rows(self, times: np.ndarray, q: np.ndarray, x: np.ndarray, inputs: np.ndarray) -> None:
        """Take samples with the same inputs: times (n,) [s], configurations (n, nq), velocities and states (n, nv + nz)."""


class Integrator(abc.ABC):
    """A method of integration."""

    __slots__ = ()
    adaptive: ClassVar[bool] = False
    """Whether it chooses its steps."""
    restarts_at_stops: ClassVar[bool] = True
    """True if its steps depend on earlier ones, so that it restarts wherever a run stops: at every sample."""
    many_worlds: ClassVar[bool] = True
    """Whether it can roll out many worlds; an engine of others holds one."""
    controlled: ClassVar[bool] = False
    """Whether it keeps its error within a tolerance, whatever the step."""
    other: ClassVar[str] = "use the integrator linearly_implicit"
    """What else there is for what is too stiff for its step, in words; empty for nothing."""
    impact: ClassVar[float] = 3.0
    """Longest step through the beginning of a contact, times the |λ| of its mode."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Name in files."""

    @property
    @abc.abstractmethod
    def order(self) -> int:
        """Order of convergence."""

    @property
    @abc.abstractmethod
    def stages(self) -> int:
        """Evaluations of the dynamics in one step."""

    @abc.abstractmethod
    def longest_step(self, frequency: float, decay: float) -> float:
        """Longest stable step [s] for a mode ẍ + decay ẋ + frequency² x = 0; infinite where any step is stable.

        Args:
            frequency: [rad/s]; 0 for a lag.
            decay: [1/s].
        """

    def remedy(self, step: float) -> str:
        """Return advice for a run with this step [s] that has diverged, or whose energy has."""
        if self.adaptive:
            return "tighten its tolerances, or look for what grows without limit"
        return f"take a step below {step:g} s{', or ' if self.other else ''}{self.other}"

    def longest_internal_step(self, frequency: float, decay: float) -> float:
        """The same for a mode whose deflection x is an internal state.

        Args:
            frequency: [rad/s]; 0 for a lag.
            decay: [1/s].
        """
        return self.longest_step(frequency, decay)

    @abc.abstractmethod
    def propagator(self, stepper: Stepper) -> Propagator:
        """What carries a state through time with this method.

        Args:
            stepper: The system, compiled.
        """


class OneStep(Integrator):
    """A method that needs the present state alone."""

    __slots__ = ()

    @abc.abstractmethod
    def step(self, system: System, t: Scalar, q: Array, x: Array, h: Scalar) -> tuple[Array, Array]:
        """One step from (q, x) at time t over h: the new q and x.

        Args:
            system: What is integrated.
            t: Time [s].
            q: Configuration, shape (nq,).
            x: Velocity and internal states, shape (nv + nz,).
            h: Step [s].
        """


class FixedStep(OneStep):
    """A one-step method that takes steps of one length."""

    __slots__ = ()
    restarts_at_stops = False

    def propagator(self, stepper: Stepper) -> Propagator:
        """Steps of one length."""
        from ._fixed_steps import FixedSteps  # CasADi and LLVM

        return FixedSteps(stepper)


class Propagator(abc.ABC):
    """Carries states through time with one method on one system."""

    @abc.abstractmethod
    def compile(self) -> None:
        """Make the machine code for one world now."""

    @abc.abstractmethod
    def advance(self, at: Point, inputs: np.ndarray, t_end: float, h: float, samples: Samples | None) -> Point:
        """From a point to a time, exactly, with held inputs; raises `NotFinite`.

        A pure function of its arguments: a run that is resumed takes the same steps.

        Args:
            at: Where to start.
            inputs: Inputs, held, shape (nu,).
            t_end: Where to stop [s].
            h: Step, or the first step to try [s].
            samples: Where samples go, or None.
        """

    @abc.abstractmethod
    def march(
        self,
        t: float,
        n: int | np.ndarray,
        q: np.ndarray,
        x: np.ndarray,
        inputs: list[np.ndarray],
        h: float,
        steps: int,
        record: int,
    ) -> Paths:
        """Take equal steps in many worlds without returning to Python.

        Args:
            t: Time of point number 0 [s].
            n: Number of the first point: it starts at t + n h; of one-step methods also one for each world, shape (worlds,).
            q: Configurations, shape (worlds, nq).
            x: Velocities and internal states, shape (worlds, nv + nz).
            inputs: Shape (worlds or 1, ...) each, held, or (worlds or 1, steps, ...), one for each step.
            h: Step [s].
            steps: How many.
            record: Steps from one recorded state to the next.
        """
