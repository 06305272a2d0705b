"""A program as a CasADi function of matrices, to be put into expressions and differentiated there."""

from __future__ import annotations

import casadi

from hydromechs.errors import UnsupportedFeature

from ._callee import Argument
from ._derivative import expressions
from ._program import Program
from ._trace import identifiers


def casadi_function(program: Program) -> casadi.Function:
    """The same as a CasADi function with named arguments and results, whose derivatives are finite at rest.

    Arrays are matrices of CasADi: a row of numbers is a column, an array of three dimensions has its first two on one
    another, so that (nb, 4, 4) is 4 nb × 4. Names have `_` for dots. CasADi takes 0 for what is left out of a call by name.

    Args:
        program: The program, without calls.

    Raises:
        UnsupportedFeature: The program calls something that CasADi's expressions cannot hold.
    """
    if program.calls:
        kinds = ", ".join(dict.fromkeys(type(call.callee).__name__ for call in program.calls))
        raise UnsupportedFeature(
            f"{program.name} cannot be a CasADi function: it looks up tables or solves equations with pivots ({kinds}); "
            "call what hm.compile makes of it"
        )
    columns, outputs, _ = expressions(program)
    rows = [casadi.SX.sym(f"y{k}", *_size(a)) for k, a in enumerate(program.inputs)]
    flat = [casadi.vec(x.T) for x in rows]  # row-major
    results = casadi.substitute(casadi.cse(outputs), columns, flat)
    shaped = [_matrix(y, a) for y, a in zip(results, program.outputs, strict=True)]
    names = identifiers([a.name for a in (*program.inputs, *program.outputs)])
    n = len(program.inputs)
    return casadi.Function(program.name, rows, shaped, names[:n], names[n:])


def _size(argument: Argument) -> tuple[int, int]:
    """Rows and columns of an array as a matrix."""
    shape = argument.shape
    return (argument.size, 1) if len(shape) < 2 else (argument.size // shape[-1], shape[-1])


def _matrix(flat: casadi.SX, argument: Argument) -> casadi.SX:
    rows, columns = _size(argument)
    return casadi.densify(casadi.reshape(flat, columns, rows).T)
