"""Steps of one length, in compiled code."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Protocol

import numpy as np

from ._integrator import NotFinite, Paths, Point, Propagator, Samples, Stretch
from ._stepper import Stepper
from ._times import is_multiple, next_multiple, reached, rounding, slack

ROWS = 1024
"""Samples that one call of compiled code can keep."""


class BoundSteps(Protocol):
    """Steps of one world in compiled code, as `compiler.BoundMarch` takes them."""

    state: list[np.ndarray]
    """Number of the point, configuration, velocity and internal states, shape (1, ...) each."""
    inputs: list[np.ndarray]
    """Step, time of point 0, inputs, shape (1, ...) each."""
    records: list[np.ndarray]
    """Parts of the state after every `stride` steps, shape (rows, ...) each."""

    def run(self, steps: int, stride: int) -> float:
        """Take steps; returns how many were taken."""


def numbers(n: float | np.ndarray, worlds: int) -> np.ndarray:
    """The number of the first point in each world, shape (worlds,)."""
    return np.array(np.broadcast_to(n, worlds), dtype=float)


class FixedSteps(Propagator):
    """Steps of a one-step method on the grid of multiples of the step; to a time off the grid, one shorter step."""

    def __init__(self, stepper: Stepper) -> None:
        self.stepper = stepper

    @cached_property
    def _bound(self) -> BoundSteps:
        return self.stepper.march.bound(ROWS)

    def _reason(self) -> str:
        """Why the next step is not taken."""
        return "the next step is not finite"

    def compile(self) -> None:
        _ = self._bound

    def advance(self, at: Point, inputs: np.ndarray, t_end: float, h: float, samples: Samples | None) -> Point:
        while not reached(at.t, t_end, h):
            at = self._some(at, inputs, t_end, h, samples)
        return at

    def _some(self, at: Point, inputs: np.ndarray, t_end: float, h: float, samples: Samples | None) -> Point:
        """Towards a time: steps on the grid, or one shorter step to it or to the end."""
        n = round(at.t / h)
        offset = 0.0 if abs(at.t - n * h) <= rounding(at.t) else at.t - n * h
        steps = math.floor((t_end - at.t + slack(t_end, h)) / h)
        if abs(offset) > slack(at.t, h) or steps == 0:
            return self._short_step(at, inputs, min(t_end, next_multiple(at.t, h, h)), h, samples)
        stride = steps + 1
        if samples is not None:
            stride = round(samples.every / h)
            due = n % stride
            if due:
                steps, stride = min(steps, stride - due), steps + 1
            else:
                steps = min(steps, ROWS * stride)
        bound = self._bound
        bound.state[0][0], bound.state[1][0], bound.state[2][0] = n, at.q, at.x
        bound.inputs[0][0], bound.inputs[1][0], bound.inputs[2][0] = h, offset, inputs
        good = bound.run(steps, stride)
        end = Point(offset + (n + good) * h, bound.state[1][0].copy(), bound.state[2][0].copy())
        if samples is not None:
            rows = int(good // stride)
            if rows:
                times = offset + bound.records[0][:rows] * h
                samples.rows(times, bound.records[1][:rows], bound.records[2][:rows], inputs)
            elif good == steps and (n + good) % round(samples.every / h) == 0:
                samples.rows(np.array([end.t]), end.q[None], end.x[None], inputs)
        if good < steps:
            raise NotFinite(end, self._reason())
        return end

    def _short_step(self, at: Point, inputs: np.ndarray, t_end: float, h: float, samples: Samples | None) -> Point:
        """One step that ends at a time."""
        bound = self._bound
        bound.state[0][0], bound.state[1][0], bound.state[2][0] = 0.0, at.q, at.x
        bound.inputs[0][0], bound.inputs[1][0], bound.inputs[2][0] = t_end - at.t, at.t, inputs
        if bound.run(1, 2) < 1:
            raise NotFinite(at, self._reason())
        end = Point(t_end, bound.state[1][0].copy(), bound.state[2][0].copy())
        if samples is not None and is_multiple(t_end, samples.every, h):
            samples.rows(np.array([t_end]), end.q[None], end.x[None], inputs)
        return end

    def march(self, stretch: Stretch) -> Paths:
        t, n, q, x, inputs, h, steps, record = stretch
        result = self.stepper.march([numbers(n, len(q)), q, x], [np.array([h]), np.array([t]), *inputs], steps, stride=record)
        return Paths(result.records[1], result.records[2], result.good)
