"""Integrators on the manifold of configurations: methods, block methods, and their steps in machine code."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._block_methods import SlidingBlock, block_named, block_step, corrector_weights, predictor_weights
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
    fastest_root,
    method_named,
    step,
)

_LATER = {  # compile with CasADi and LLVM
    "AdaptiveSteps": "._adaptive",
    "BlockSteps": "._block_steps",
    "StepTooSmall": "._adaptive",
    "Stepper": "._stepper",
}

__all__ = [
    "METHODS",
    "AdaptiveSteps",
    "BlockSteps",
    "DormandPrince",
    "Euler",
    "LinearlyImplicit",
    "RungeKutta4",
    "SemiImplicitEuler",
    "SlidingBlock",
    "StepTooSmall",
    "Stepper",
    "System",
    "block_named",
    "block_step",
    "corrector_weights",
    "dense_output",
    "embedded_step",
    "fastest_root",
    "method_named",
    "predictor_weights",
    "step",
]

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
