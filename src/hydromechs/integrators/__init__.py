"""Integrators on the configuration manifold: one-step methods, block methods, and their steps in machine code."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._block_methods import SlidingBlock, block_named, block_step, corrector_weights, predictor_weights
from ._integrator import (
    MOST_STEPS,
    FixedStep,
    Integrator,
    NotFinite,
    OneStep,
    Paths,
    Point,
    Propagator,
    Stretch,
    is_multiple,
    next_multiple,
    reached,
    rounding,
    slack,
    whole_steps,
)
from ._methods import (
    EQUAL_STEPS,
    METHODS,
    DormandPrince,
    Euler,
    LinearlyImplicit,
    RungeKutta4,
    SemiImplicitEuler,
    System,
    embedded_step,
    implicit_part,
    implicit_step,
    method_named,
)

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {
        "._block_steps": ("BlockSteps",),
        "._stepper": (
            "Stepper",
            "chart_rate_loop",
            "retract_loop",
        ),
        "._steps": (
            "AdaptiveSteps",
            "BoundSteps",
            "FixedSteps",
            "ImplicitSteps",
        ),
    },
)

__all__ = [
    "EQUAL_STEPS",
    "METHODS",
    "MOST_STEPS",
    "DormandPrince",
    "Euler",
    "FixedStep",
    "Integrator",
    "LinearlyImplicit",
    "NotFinite",
    "OneStep",
    "Paths",
    "Point",
    "Propagator",
    "RungeKutta4",
    "SemiImplicitEuler",
    "SlidingBlock",
    "Stretch",
    "System",
    "block_named",
    "block_step",
    "corrector_weights",
    "embedded_step",
    "implicit_part",
    "implicit_step",
    "is_multiple",
    "method_named",
    "next_multiple",
    "predictor_weights",
    "reached",
    "rounding",
    "slack",
    "whole_steps",
    *_later,
]
