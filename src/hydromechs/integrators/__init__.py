"""Integrators on the manifold of configurations: methods, block methods, and their steps in machine code."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._block_methods import SlidingBlock, block_named, block_step, corrector_weights, predictor_weights
from ._integrator import FixedStep, Integrator, NotFinite, OneStep, Paths, Point, Propagator, Samples
from ._methods import (
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

_LATER = {  # compile with CasADi and LLVM
    "AdaptiveSteps": "._adaptive",
    "BlockSteps": "._block_steps",
    "FixedSteps": "._fixed_steps",
    "ImplicitSteps": "._implicit_steps",
    "Stepper": "._stepper",
    "is_multiple": "._fixed_steps",
    "sample_times": "._adaptive",
}

__all__ = [
    "METHODS",
    "AdaptiveSteps",
    "BlockSteps",
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
    "corrector_weights",
    "dense_output",
    "embedded_step",
    "implicit_part",
    "implicit_step",
    "is_multiple",
    "method_named",
    "predictor_weights",
    "sample_times",
]

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
