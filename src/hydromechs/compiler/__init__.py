"""From a NumPy function to machine code: trace, program, back ends, cache, derivatives."""

from ._program import Argument, Operation, OperationCount, Program, trace
from ._symbol import Symbol, symbols

__all__ = [
    "Argument",
    "Operation",
    "OperationCount",
    "Program",
    "Symbol",
    "symbols",
    "trace",
]
