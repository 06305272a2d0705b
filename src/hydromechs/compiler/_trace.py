"""Trace: call a function once with symbols and keep the expression that it leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import casadi
import numpy as np

from ._symbol import Symbol, symbols

__all__ = ["trace"]


def trace(function: Callable, shapes: Mapping[str, tuple[int, ...]]) -> casadi.Function:
    """The CasADi function of a NumPy function.

    Args:
        function: Takes arrays by the names of `shapes`; returns an array or a tuple of arrays.
        shapes: Shape of each argument.

    Returns:
        A function of the flattened arguments, in the order of `shapes`, that returns the flattened results (row-major).
    """
    inputs = {name: symbols(name, shape) for name, shape in shapes.items()}
    results = function(**inputs)
    results = results if isinstance(results, tuple) else (results,)
    flat_inputs = [_column(x) for x in inputs.values()]
    outputs = casadi.cse([_column(np.asarray(y)) for y in results])
    return casadi.Function(getattr(function, "__name__", "traced").strip("<>"), flat_inputs, outputs)


def _column(array: np.ndarray) -> casadi.SX:
    """Entries of an array of symbols and numbers, row-major, as one column."""
    entries = [x.sx if isinstance(x, Symbol) else casadi.SX(float(x)) for x in np.ravel(array)]
    return casadi.vertcat(*entries) if entries else casadi.SX(0, 1)
