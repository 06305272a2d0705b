"""Steps in compiled code, of equal length or selected by error (Dormand-Prince 5(4), linearly implicit)."""

import math
from functools import cached_property
from typing import Protocol

import numpy as np

from hydromechs.compiler import March

from ._integrator import NotFinite, Paths, Point, Propagator, Stretch, next_multiple, reached, rounding, slack
from ._methods import EQUAL_STEPS, DormandPrince
from ._stepper import Stepper


class BoundSteps(Protocol):
    """Steps of one world in compiled code, with the interface of `compiler.BoundMarch`."""

    state: list[np.ndarray]
    """Index of the point, configuration, and velocity with internal states, shape (1, ...) each."""
    inputs: list[np.ndarray]
    """Step length, time of point 0, and inputs, shape (1, ...) each."""

    def run(self, steps: int) -> float:
        """Take a number of steps; return the number of completed steps."""


def numbers(n: float | np.ndarray, worlds: int) -> np.ndarray:
    """Return the index of the first point in each world, shape (worlds,)."""
    return np.array(np.broadcast_to(n, worlds), dtype=float)


class FixedSteps(Propagator):
    """Steps of a one-step method on the grid of multiples of the step length, with shorter steps to times off the grid."""

    def __init__(self, stepper: Stepper) -> None:
        self.stepper = stepper

    @cached_property
    def _bound(self) -> BoundSteps:
        return self.stepper.march.bound()

    def _reason(self) -> str:
        return "the next step is not finite"

    def compile(self) -> None:
        _ = self._bound

    def advance(self, at: Point, inputs: np.ndarray, t_end: float, h: float) -> Point:
        while not reached(at.t, t_end, h):
            at = self._some(at, inputs, t_end, h)
        return at

    def _some(self, at: Point, inputs: np.ndarray, t_end: float, h: float) -> Point:
        """Advance towards a time: several steps on the grid, or one shorter step to the next grid point or the end."""
        n = round(at.t / h)
        offset = 0.0 if abs(at.t - n * h) <= rounding(at.t) else at.t - n * h
        steps = math.floor((t_end - at.t + slack(t_end, h)) / h)
        if abs(offset) > slack(at.t, h) or steps == 0:
            return self._short_step(at, inputs, min(t_end, next_multiple(at.t, h, h)), h)
        bound = self._bound
        bound.state[0][0], bound.state[1][0], bound.state[2][0] = n, at.q, at.x
        bound.inputs[0][0], bound.inputs[1][0], bound.inputs[2][0] = h, offset, inputs
        good = bound.run(steps)
        end = Point(offset + (n + good) * h, bound.state[1][0].copy(), bound.state[2][0].copy())
        if good < steps:
            raise NotFinite(end, self._reason())
        return end

    def _short_step(self, at: Point, inputs: np.ndarray, t_end: float, h: float) -> Point:
        bound = self._bound
        bound.state[0][0], bound.state[1][0], bound.state[2][0] = 0.0, at.q, at.x
        bound.inputs[0][0], bound.inputs[1][0], bound.inputs[2][0] = t_end - at.t, at.t, inputs
        if bound.run(1) < 1:
            raise NotFinite(at, self._reason())
        return Point(t_end, bound.state[1][0].copy(), bound.state[2][0].copy())

    def march(self, stretch: Stretch) -> Paths:
        t, n, q, x, inputs, h, steps, record = stretch
        result = self.stepper.march([numbers(n, len(q)), q, x], [np.array([h]), np.array([t]), *inputs], steps, stride=record)
        return Paths(result.records[1], result.records[2], result.good)


PATIENCE = 200_000
"""Maximum number of attempts per step."""


class ImplicitSteps(FixedSteps):
    """Steps on the grid of multiples of the step length, each divided into parts by `LinearlyImplicit`; see `implicit_part`."""

    @cached_property
    def _bound(self) -> BoundSteps:
        return _DividedSteps(self.stepper.attempts)

    def _reason(self) -> str:
        return "the error estimate requires too small a step; smooth forces that jump, or use rk4 with a short step"

    def march(self, stretch: Stretch) -> Paths:
        """Implement `Propagator.march`; at records and input changes, worlds wait for the world with the most parts."""
        t, n, q, x, inputs, h, steps, record = stretch
        attempts, worlds = self.stepper.attempts, len(q)
        changing = [a.ndim == len(b.shape) + 2 for a, b in zip(inputs, self.stepper.inputs, strict=True)]
        stop = record if not any(changing) else 1
        state = [numbers(n, worlds), np.zeros(worlds), np.ones(worlds), *(np.array(a, dtype=float) for a in (q, x))]
        alive, good = np.ones(worlds, dtype=bool), np.zeros(worlds)
        kept_q, kept_x = [], []
        for done in [*range(stop, steps, stop), steps]:
            now = [a[:, done - 1] if each else a for a, each in zip(inputs, changing, strict=True)]
            alive &= _reach(attempts, state, [np.array([h]), np.array([t])], now, numbers(n, worlds) + done, alive)
            if done % record == 0:
                kept_q.append(state[3].copy())
                kept_x.append(state[4].copy())
        good = np.minimum(state[0] - n, steps)
        rows = steps // record
        return Paths(
            np.stack(kept_q, axis=1) if rows else np.zeros((worlds, 0, *q.shape[1:])),
            np.stack(kept_x, axis=1) if rows else np.zeros((worlds, 0, *x.shape[1:])),
            good,
        )


def _reach(
    attempts: March,
    state: list[np.ndarray],
    grid: list[np.ndarray],
    inputs: list[np.ndarray],
    last: np.ndarray,
    alive: np.ndarray,
) -> np.ndarray:
    """Advance worlds to a point, in place; return a mask of the live worlds that reach the point, shape (worlds,)."""
    alive = alive.copy()
    tried = 0
    while True:
        left = np.where(alive, last - state[0], 0.0)
        if not (left > 0.0).any():
            return alive
        some = int(left.max())
        before = state[0].copy()
        result = attempts(state, [*grid, last, *inputs], some, stride=some + 1, ends=state)
        tried = 0 if (state[0] > before).any() else tried + some
        alive &= (result.good >= some) & (tried < PATIENCE)


class _DividedSteps:
    """Full steps of one world that are divided into parts (see `Stepper.attempts`), with the interface `BoundSteps`."""

    def __init__(self, attempts: March) -> None:
        self._march = attempts.bound()
        n, self._part, self._size, q, x = self._march.state
        h, offset, self._last, *inputs = self._march.inputs
        self.state, self.inputs = [n, q, x], [h, offset, *inputs]

    def run(self, steps: int) -> float:
        """Take full steps; return the number of completed steps, including the fraction of an incomplete step."""
        n = self.state[0]
        first = float(n[0])
        self._part[0], self._size[0] = 0.0, 1.0
        return float(steps) if self._reach(first + steps) else float(n[0] + self._part[0]) - first

    def _reach(self, last: float) -> bool:
        """Advance to a point; return True if the point is reached."""
        n, tried = self.state[0], 0
        self._last[0] = last
        while (left := int(last - n[0])) > 0:
            before = n[0]
            good = self._march.run(left)
            tried = 0 if n[0] > before else tried + left
            if good < left or tried > PATIENCE:
                return False
        return True


SMALLEST = 1e-10
"""Minimum step [s], below which the method stops with an error."""


class AdaptiveSteps(Propagator):
    """Adaptive steps of a Dormand-Prince stepper; errors of entries excluded by the stepper are ignored."""

    def __init__(self, stepper: Stepper) -> None:
        if not isinstance(stepper.method, DormandPrince):
            raise TypeError(f"{stepper.method.name} does not estimate its error; use its propagator")
        self.stepper, self.method = stepper, stepper.method

    def compile(self) -> None:
        self.stepper.embedded.code(1)

    def advance(self, at: Point, inputs: np.ndarray, t_end: float, h: float) -> Point:
        nv, method = self.stepper.model.nv, self.method
        t, q, x = at
        h = min(h, method.largest)
        while t < t_end:
            h = min(h, method.largest)
            last = t + h >= t_end - max(1e-12, rounding(t_end))
            h_now = t_end - t if last else h
            q1, x1, error, _ = self.stepper.embedded([t, q, x, h_now, inputs])
            size = np.concatenate([np.ones(nv), np.maximum(np.abs(x), np.abs(x1))])
            with np.errstate(over="ignore", invalid="ignore"):
                ratio = self.stepper.counted * error / (method.absolute + method.relative * size)
                norm = float(np.sqrt(np.mean(ratio * ratio)))
            if not norm <= 1.0:  # also for NaN
                h = h_now * (0.2 if not np.isfinite(norm) else max(0.2, 0.9 * norm**-0.2))
                if h < SMALLEST:
                    raise NotFinite(Point(t, q, x), _reason(norm))
                continue
            t, q, x = t_end if last else t + h_now, q1, x1
            h = h_now * min(5.0, 0.9 * max(norm, 1e-10) ** -0.2)
        return Point(t, q, x)

    def march(self, stretch: Stretch) -> Paths:
        raise ValueError(f"{self.method.name} selects its steps, but many worlds require equal steps; {EQUAL_STEPS}")


def _reason(norm: float) -> str:
    if np.isfinite(norm):
        return (
            f"the error requires a step below {SMALLEST:g} s, because a force jumps or tolerances are too tight; smooth the "
            "force, loosen relative and absolute, or use rk4"
        )
    return "the next step is not finite"
