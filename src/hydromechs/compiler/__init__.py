"""From a NumPy function to machine code: trace, program, back ends, cache, derivatives."""

from importlib import import_module as _import_module

from ._program import Argument, Operation, OperationCount, Program

_LATER = {  # each back end alone: machine code from the cache needs no CasADi, CUDA no LLVM
    "BoundMarch": "_march",
    "Compiled": "_compiled",
    "Hoisted": "_hoist",
    "CudaKernel": "_cuda",
    "March": "_march",
    "MarchResult": "_march",
    "Recipe": "_compiled",
    "native_lanes": "_llvm",
    "Symbol": "_symbol",
    "call": "_symbol",
    "call_on_lanes": "_symbol",
    "hoist": "_hoist",
    "jacobian_program": "_derivative",
    "jvp_program": "_derivative",
    "linearized": "_derivative",
    "merge": "_hoist",
    "solve": "_symbol",
    "solve_semidefinite": "_symbol",
    "symbols": "_symbol",
    "trace": "_trace",
    "vjp_program": "_derivative",
}

__all__ = [
    "Argument",
    "BoundMarch",
    "Compiled",
    "CudaKernel",
    "Hoisted",
    "March",
    "MarchResult",
    "Operation",
    "OperationCount",
    "Program",
    "Recipe",
    "Symbol",
    "call",
    "call_on_lanes",
    "hoist",
    "jacobian_program",
    "jvp_program",
    "linearized",
    "merge",
    "native_lanes",
    "solve",
    "solve_semidefinite",
    "symbols",
    "trace",
    "vjp_program",
]


def __getattr__(name: str):
    if name in _LATER:
        return getattr(_import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
