"""Integrators on the manifold of configurations: methods, block methods, and their steps in machine code."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._block_methods import SlidingBlock, block_named, block_step, corrector_weights, predictor_weights
from ._integrator import FixedStep, Integrator, NotFinite, OneStep, Paths, Point, Propagator, Samples
from ._methods import (
    EQUAL_STEPS,
    METHODS,
    DormandPrince,
    Euler,
    LinearlyImplicit,
    RungeKutta4,
    SemiImplicitEuler,
    System,
    dense_output,
    embedded_step,
    implicit_part,
    implicit_step,
    method_named,
)
from ._times import MOST_STEPS, is_multiple, next_multiple, reached, rounding, slack, whole_steps

_LATER = {  # compile with CasADi and LLVM
    "AdaptiveSteps": "._adaptive",
    "BlockSteps": "._block_steps",
    "Bound": "._fixed_steps",
    "FixedSteps": "._fixed_steps",
    "ImplicitSteps": "._implicit_steps",
    "Stepper": "._stepper",
    "chart_rate_loop": "._chart_loops",
    "retract_loop": "._chart_loops",
    "sample_times": "._adaptive",
}

__all__ = [
    "EQUAL_STEPS",
    "METHODS",
    "MOST_STEPS",
    "AdaptiveSteps",
    "BlockSteps",
    "Bound",
    "DormandPrince",
    "Euler",
    "FixedStep",
    "FixedSteps",
    "ImplicitSteps",
    "Integrator",
    "LinearlyImplicit",
    "NotFinite",
    "OneStep",
    "Paths",
    "Point",
    "Propagator",
    "RungeKutta4",
    "Samples",
    "SemiImplicitEuler",
    "SlidingBlock",
    "Stepper",
    "System",
    "block_named",
    "block_step",
    "chart_rate_loop",
    "corrector_weights",
    "dense_output",
    "embedded_step",
    "implicit_part",
    "implicit_step",
    "is_multiple",
    "method_named",
    "next_multiple",
    "predictor_weights",
    "reached",
    "retract_loop",
    "rounding",
    "sample_times",
    "slack",
    "whole_steps",
]

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
