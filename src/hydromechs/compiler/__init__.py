"""From a NumPy function to machine code: trace, program, back ends, cache, derivatives."""

from . import _derivative as derivatives
from ._compiled import Compiled, Recipe
from ._llvm import native_lanes
from ._program import Argument, Operation, OperationCount, Program, trace
from ._symbol import Symbol, symbols

__all__ = [
    "Argument",
    "Compiled",
    "Operation",
    "OperationCount",
    "Program",
    "Recipe",
    "Symbol",
    "derivatives",
    "native_lanes",
    "symbols",
    "trace",
]
