"""Interface of integrators, and of propagators that advance a state with one."""

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
    """Return the distance from a multiple of the step within which a time counts as equal [s]."""
    return max(1e-6 * step, rounding(t))


def reached(t: float, t_end: float, step: float) -> bool:
    """True if a time has been reached, up to less than a meaningful step [s]."""
    return t >= t_end - max(min(1e-6 * step, 1e-10), rounding(t_end))


def is_multiple(t: float, period: float, step: float) -> bool:
    """True if a time is a multiple of a period, within rounding and a millionth of a step [s]."""
    return abs(t - round(t / period) * period) <= slack(t, step)


def next_multiple(t: float, period: float, step: float) -> float:
    """Return the first multiple of a period after a time, excluding times that count as equal [s]."""
    return (math.floor((t + slack(t, step)) / period) + 1) * period


def whole_steps(value: float, step: float, name: str, of: str = "steps of", remedy: str = "another step") -> int:
    """Return the number of steps in a time [s]; `ValueError` with `name`, `of` and `remedy` if it is not an integer."""
    if value > MOST_STEPS * step:
        raise ValueError(f"{name} is {value:g} s, must be at most {MOST_STEPS:g} {of} {step:g} s; use longer steps")
    n = max(1, round(value / step))
    if abs(value / step - n) > 1e-6 * n:
        raise ValueError(f"{name} is {value:g} s, must be an integer number of {of} {step:g} s: try {n * step:g} s or {remedy}")
    return n


class Point(NamedTuple):
    """Point of a trajectory."""

    t: float
    """Time [s]."""
    q: np.ndarray
    """Configuration, shape (nq,)."""
    x: np.ndarray
    """Velocity and internal states, shape (nv + nz,)."""


class Stretch(NamedTuple):
    """Equal steps in many worlds."""

    t: float
    """Time of point 0 [s]."""
    n: int | float | np.ndarray
    """Index of the first point: it starts at t + n h; for one-step methods optionally one for each world, shape (worlds,)."""
    q: np.ndarray
    """Configurations, shape (worlds, nq)."""
    x: np.ndarray
    """Velocities and internal states, shape (worlds, nv + nz)."""
    inputs: list[np.ndarray]
    """Shape (worlds or 1, ...) each, held, or (worlds or 1, steps, ...), one for each step."""
    h: float
    """Step [s]."""
    steps: int
    record: int
    """Steps from one recorded state to the next."""


class Paths(NamedTuple):
    """Result of steps of many worlds."""

    q: np.ndarray
    """Configurations after every `record` steps, shape (worlds, rows, nq)."""
    x: np.ndarray
    """Velocities and internal states there, shape (worlds, rows, nv + nz)."""
    good: np.ndarray
    """Number of steps with finite results, shape (worlds,)."""


class NotFinite(ArithmeticError):
    """Raised if the next step is not finite or impossible; `at` is the last valid point."""

    def __init__(self, at: Point, reason: str) -> None:
        self.at, self.reason = at, reason
        super().__init__(f"t = {at.t:.6g} s: {reason}")


class Integrator(abc.ABC):
    """Integration method."""

    __slots__ = ()
    adaptive: ClassVar[bool] = False
    """True if it selects its steps."""
    restarts_at_stops: ClassVar[bool] = True
    """True if its steps depend on earlier ones, so that it restarts whenever a run stops, for example at samples."""
    many_worlds: ClassVar[bool] = True
    """True if it can roll out many worlds; a third-party engine holds one."""
    controlled: ClassVar[bool] = False
    """True if it keeps its error within a tolerance for any step."""
    other: ClassVar[str] = "use the integrator linearly_implicit"
    """Description of alternatives for a system too stiff for its step; empty for none."""
    steps: ClassVar[str] = "FixedSteps"
    """Name of its `Propagator` in this package."""
    impact: ClassVar[float] = 3.0
    """Maximum step through the start of a contact, times the |λ| of its mode."""

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
        """Return the longest stable step [s] for ẍ + decay ẋ + frequency² x = 0 [1/s, rad/s]; infinite if all are stable."""

    def remedy(self, step: float) -> str:
        """Return advice for a run with this step [s] whose state or energy has diverged."""
        if self.adaptive:
            return "tighten its tolerances, or find the quantity that grows without limit"
        return f"take a step below {step:g} s{', or ' if self.other else ''}{self.other}"

    def longest_internal_step(self, frequency: float, decay: float) -> float:
        """Return the longest stable step for a mode whose deflection x is an internal state."""
        return self.longest_step(frequency, decay)

    def propagator(self, stepper: Stepper) -> Propagator:
        """Return the propagator that advances a state in time with this method: `steps` of the compiled system."""
        from hydromechs import integrators  # loads CasADi and LLVM

        made: Propagator = getattr(integrators, self.steps)(stepper)
        return made


class OneStep(Integrator):
    """A method that needs only the current state."""

    __slots__ = ()

    @abc.abstractmethod
    def step(self, system: System, t: Scalar, q: Array, x: Array, h: Scalar) -> tuple[Array, Array]:
        """Return the state after one step from (q, x) at time t over h."""


class FixedStep(OneStep):
    """A one-step method with steps of equal length."""

    __slots__ = ()
    restarts_at_stops = False


class Propagator(abc.ABC):
    """Advances states in time with one method on one system."""

    @abc.abstractmethod
    def compile(self) -> None:
        """Compile the machine code for one world now."""

    @abc.abstractmethod
    def advance(self, at: Point, inputs: np.ndarray, t_end: float, h: float) -> Point:
        """Advance from a point to the time t_end [s], exactly, with held inputs, shape (nu,); raise `NotFinite`.

        A pure function of its arguments: a resumed run takes the same steps. `h` is the step, or the first attempt [s].
        """

    @abc.abstractmethod
    def march(self, stretch: Stretch) -> Paths:
        """Take a `stretch` of equal steps in many worlds without returning to Python."""
