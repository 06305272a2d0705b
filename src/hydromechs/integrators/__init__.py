"""Integrators on the manifold of configurations: methods, block methods, and their steps in machine code."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._block_methods import SlidingBlock, block_named, block_step, corrector_weights, predictor_weights
from ._integrator import FixedStep, Integrator, NotFinite, OneStep, Paths, Point, Propagator, Stretch
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
from ._times import MOST_STEPS, is_multiple, next_multiple, reached, rounding, slack, whole_steps

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {  # compile with CasADi and LLVM
        "._adaptive": ("AdaptiveSteps",),
        "._block_steps": ("BlockSteps",),
        "._fixed_steps": ("BoundSteps", "FixedSteps", "ImplicitSteps"),
        "._stepper": ("Stepper", "chart_rate_loop", "retract_loop"),
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
