"""Steps of a length that the error asks for (Dormand-Prince 5(4)), with dense output for the recording."""

from __future__ import annotations

import numpy as np

from ._methods import dense_output
from ._stepper import Stepper

__all__ = ["AdaptiveSteps", "StepTooSmall"]

SMALLEST = 1e-10
"""Step below which it gives up [s]."""


class StepTooSmall(ArithmeticError):
    """The error asks for a step below `SMALLEST`; `at` is the last good time, configuration and x."""

    def __init__(self, *at):
        self.at = at
        super().__init__(f"t = {at[0]:.6g} s: the error asks for a step below {SMALLEST:g} s")


class AdaptiveSteps:
    """Adaptive steps of one stepper.

    Args:
        stepper: With the method Dormand-Prince.
        counted: 1 for the entries of y = (u, v, z) whose error counts, else 0, shape (n,).
    """

    def __init__(self, stepper: Stepper, counted: np.ndarray):
        self.stepper, self.counted, self.method = stepper, counted, stepper.method

    def advance(self, t: float, q, x, inputs, t_end: float, first: float, recording) -> tuple[float, np.ndarray, np.ndarray]:
        """From (t, q, x) to t_end exactly; samples of the recording on the way come from dense output.

        A pure function of its arguments: a run that is resumed at a look takes the same steps.

        Args:
            t: Time [s].
            q: Configuration, shape (nq,).
            x: Velocity and internal states, shape (nv + nz,).
            inputs: Inputs, held, shape (nu,).
            t_end: Where to stop [s].
            first: First step to try [s].
            recording: Where samples go, or None.
        """
        nv, method = self.stepper.model.nv, self.method
        system = self.stepper.reference({})
        h = min(first, method.largest)
        while t < t_end:
            h = min(h, method.largest)
            last = t + h >= t_end - 1e-12 * max(1.0, abs(t_end))
            h_now = t_end - t if last else h
            q1, x1, error, stages = self.stepper.embedded([t, q, x, h_now, inputs])
            size = np.concatenate([np.ones(nv), np.maximum(np.abs(x), np.abs(x1))])
            with np.errstate(over="ignore", invalid="ignore"):
                ratio = self.counted * error / (method.absolute + method.relative * size)
                norm = float(np.sqrt(np.mean(ratio * ratio)))
            if not norm <= 1.0:  # also for NaN
                h = h_now * (0.2 if not np.isfinite(norm) else max(0.2, 0.9 * norm**-0.2))
                if h < SMALLEST:
                    raise StepTooSmall(t, q, x)
                continue
            if recording is not None:
                for time in recording.times(t, t_end if last else t + h_now):
                    part = (time - t) / h_now
                    at = (q1, x1) if part >= 1.0 else dense_output(system, q, x, h_now, stages, part)
                    recording.rows(np.array([time]), np.asarray(at[0])[None], np.asarray(at[1])[None], inputs)
            t, q, x = t_end if last else t + h_now, q1, x1
            h = h_now * min(5.0, 0.9 * max(norm, 1e-10) ** -0.2)
        return t, q, x
