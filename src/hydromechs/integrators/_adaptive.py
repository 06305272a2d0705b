"""Steps of a length that the error asks for (Dormand-Prince 5(4))."""

import numpy as np

from ._integrator import NotFinite, Paths, Point, Propagator, Stretch
from ._methods import EQUAL_STEPS, DormandPrince
from ._stepper import Stepper
from ._times import rounding

SMALLEST = 1e-10
"""Step below which it gives up [s]."""


class AdaptiveSteps(Propagator):
    """Adaptive steps of a Dormand-Prince stepper; the error of entries that the stepper does not count is ignored."""

    def __init__(self, stepper: Stepper) -> None:
        if not isinstance(stepper.method, DormandPrince):
            raise TypeError(f"{stepper.method.name} does not estimate its error")
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
        raise ValueError(f"{self.method.name} chooses its steps, but many worlds share steps of one length; {EQUAL_STEPS}")


def _reason(norm: float) -> str:
    if np.isfinite(norm):
        return (
            f"the error asks for a step below {SMALLEST:g} s: a force jumps there, or the tolerances are too tight; smooth the "
            "force, loosen relative and absolute, or use rk4"
        )
    return "the next step is not finite"
