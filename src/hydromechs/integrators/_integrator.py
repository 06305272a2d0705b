"""Interfaces of integrators and of propagators, which advance a state with an integrator."""

from __future__ import annotations

import abc
import math
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from hydromechs.values import Array, Scalar

if TYPE_CHECKING:
    from ._methods import System
    from ._stepper import Stepper


EPS = 2.0**-52
MOST_STEPS = 1e12
"""Maximum number of steps of a run."""


def rounding(t: float) -> float:
    """Return the rounding error of a difference of two times about `t` [s]."""
    return 4.0 * EPS * abs(t)


def slack(t: float, step: float) -> float:
    """Return the distance from a multiple of the step within which two times count as equal [s]."""
    return max(1e-6 * step, rounding(t))


def reached(t: float, t_end: float, step: float) -> bool:
    """Return True if a time has reached `t_end`, except for a remainder shorter than a meaningful step [s]."""
    return t >= t_end - max(min(1e-6 * step, 1e-10), rounding(t_end))


def is_multiple(t: float, period: float, step: float) -> bool:
    """Return True if a time is a multiple of a period, within rounding and a millionth of a step [s]."""
    return abs(t - round(t / period) * period) <= slack(t, step)


def next_multiple(t: float, period: float, step: float) -> float:
    """Return the first multiple of a period after a time, excluding multiples that count as equal to the time [s]."""
    return (math.floor((t + slack(t, step)) / period) + 1) * period


def whole_steps(value: float, step: float, name: str, of: str = "the step", remedy: str = "another step") -> int:
    """Return the number of steps in a time [s]; raise `ValueError` with `name`, `of` and `remedy` if it is not an integer."""
    if value > MOST_STEPS * step:
        raise ValueError(f"{name} is {value:g} s, must be at most {MOST_STEPS:g} times {of}, {step:g} s; use longer steps")
    n = max(1, round(value / step))
    if abs(value / step - n) > 1e-6 * n:
        raise ValueError(
            f"{name} is {value:g} s, must be an integer multiple of {of}, {step:g} s; use {n * step:g} s or {remedy}"
        )
    return n


class Point(NamedTuple):
    """Time and state of one point of a trajectory."""

    t: float
    """Time [s]."""
    q: np.ndarray
    """Configuration, shape (nq,)."""
    x: np.ndarray
    """Velocity and internal states, shape (nv + nz,)."""


class Stretch(NamedTuple):
    """Several steps of equal length in many worlds."""

    t: float
    """Time of point 0 [s]."""
    n: int | float | np.ndarray
    """Index of the first point, whose time is t + n h; for one-step methods optionally one index per world, shape (worlds,)."""
    q: np.ndarray
    """Configurations, shape (worlds, nq)."""
    x: np.ndarray
    """Velocities and internal states, shape (worlds, nv + nz)."""
    inputs: list[np.ndarray]
    """Inputs: constant ones of shape (worlds or 1, ...), or one value per step, shape (worlds or 1, steps, ...)."""
    h: float
    """Step length [s]."""
    steps: int
    record: int
    """Number of steps from one recorded state to the next."""


class Paths(NamedTuple):
    """Recorded states after steps of many worlds."""

    q: np.ndarray
    """Configurations after every `record` steps, shape (worlds, rows, nq)."""
    x: np.ndarray
    """Velocities and internal states at the same points, shape (worlds, rows, nv + nz)."""
    good: np.ndarray
    """Number of steps with finite results, shape (worlds,)."""


class NotFinite(ArithmeticError):
    """Error raised if the next step is not finite or impossible; `at` is the last valid point."""

    def __init__(self, at: Point, reason: str) -> None:
        self.at, self.reason = at, reason
        super().__init__(f"t = {at.t:.6g} s: {reason}")


class Integrator(abc.ABC):
    """Abstract integration method."""

    __slots__ = ()
    adaptive: ClassVar[bool] = False
    """True if the method selects its step lengths."""
    restarts_at_stops: ClassVar[bool] = True
    """True if steps depend on earlier steps, so that the method restarts whenever a run stops, for example at samples."""
    many_worlds: ClassVar[bool] = True
    """True if the method can roll out many worlds; third-party engines simulate one world."""
    controlled: ClassVar[bool] = False
    """True if the method keeps its error within a tolerance for every step length."""
    other: ClassVar[str] = "use the integrator linearly_implicit"
    """Alternative to name in messages if a system is too stiff for the step; empty if there is none."""
    steps: ClassVar[str] = "FixedSteps"
    """Class name of the method's `Propagator` in this package."""
    impact: ClassVar[float] = 3.0
    """Maximum step at the start of a contact, multiplied by |λ| of the contact's mode [-]."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Name of the method in files."""

    @property
    @abc.abstractmethod
    def order(self) -> int:
        """Order of convergence."""

    @property
    @abc.abstractmethod
    def stages(self) -> int:
        """Number of evaluations of the dynamics per step."""

    @abc.abstractmethod
    def longest_step(self, frequency: float, decay: float) -> float:
        """Return the longest stable step [s] for ẍ + decay ẋ + frequency² x = 0, infinity if every step is stable.

        `frequency` is in rad/s, `decay` in 1/s.
        """

    def remedy(self, step: float) -> str:
        """Return advice for a run with this step [s] whose state or energy has diverged."""
        if self.adaptive:
            return "tighten the tolerances of the integrator, or find the quantity that grows without limit"
        return f"use a step below {step:g} s{', or ' if self.other else ''}{self.other}"

    def longest_internal_step(self, frequency: float, decay: float) -> float:
        """Return the longest stable step [s] for a mode whose deflection x is an internal state."""
        return self.longest_step(frequency, decay)

    def propagator(self, stepper: Stepper) -> Propagator:
        """Return the propagator that advances the stepper's system in time with this method."""
        from hydromechs import integrators  # loads CasADi and LLVM

        made: Propagator = getattr(integrators, self.steps)(stepper)
        return made


class OneStep(Integrator):
    """Integration method that uses only the current state."""

    __slots__ = ()

    @abc.abstractmethod
    def step(self, system: System, t: Scalar, q: Array, x: Array, h: Scalar) -> tuple[Array, Array]:
        """Return (q, x) after one step of length h from (q, x) at time t."""


class FixedStep(OneStep):
    """One-step method with steps of equal length."""

    __slots__ = ()
    restarts_at_stops = False


class Propagator(abc.ABC):
    """Method bound to one system; advances states in time."""

    @abc.abstractmethod
    def compile(self) -> None:
        """Compile the machine code for one world immediately."""

    @abc.abstractmethod
    def advance(self, at: Point, inputs: np.ndarray, t_end: float, h: float) -> Point:
        """Advance exactly from a point to the time t_end [s] with held inputs, shape (nu,); raise `NotFinite`.

        The result depends only on the arguments, so that a resumed run takes the same steps. `h` is the step length [s];
        adaptive methods use it for the first attempt.
        """

    @abc.abstractmethod
    def march(self, stretch: Stretch) -> Paths:
        """Take the steps of a `stretch` in many worlds without returning to Python."""
