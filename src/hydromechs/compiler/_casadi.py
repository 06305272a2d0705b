"""Programs as CasADi functions of matrices, and exact derivatives of programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi
import numpy as np

from hydromechs.errors import UnsupportedFeature
from hydromechs.values import Array

from ._callee import Argument
from ._program import Program
from ._symbol import Site, Symbol, applied, column, symbols
from ._trace import identifiers, program_of, program_with_calls


def casadi_function(program: Program) -> casadi.Function:
    """Return the program as a CasADi function with named arguments and results, with finite derivatives at zero velocity.

    Arrays are CasADi matrices. A vector is a column; the first two of three dimensions are stacked, so that (nb, 4, 4) becomes
    4 nb × 4. Names have `_` instead of dots. In a call by name, omitted arguments are 0. Calls that CasADi expressions cannot
    represent raise `UnsupportedFeature`.
    """
    if program.calls:
        kinds = ", ".join(dict.fromkeys(type(call.callee).__name__ for call in program.calls))
        raise UnsupportedFeature(
            f"{program.name} cannot be a CasADi function, because it uses lookup tables or pivoted solvers ({kinds}); "
            "call the result of hm.compile"
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
    shape = argument.shape
    return (argument.size, 1) if len(shape) < 2 else (argument.size // shape[-1], shape[-1])


def _matrix(flat: casadi.SX, argument: Argument) -> casadi.SX:
    rows, columns = _size(argument)
    return casadi.densify(casadi.reshape(flat, columns, rows).T)


TINY = 1e-300
"""Number added under square roots before differentiation. The derivative of √x becomes 1/(2√(x + 1e-300)), whose product
with dx = 0 is 0 instead of NaN at x = 0. The number is negligible against the square of any number above 1e-142."""


def expressions(program: Program) -> tuple[list[casadi.SX], list[casadi.SX], list[Site]]:
    """Return symbols of the inputs, expressions of the outputs with square roots differentiable at 0, and the calls."""
    inputs = [casadi.SX.sym(f"x{k}", a.size) for k, a in enumerate(program.inputs)]
    sites: list[Site] = []
    return inputs, _replay(program, inputs, sites), sites


def _replay(program: Program, inputs: list[casadi.SX], sites: list[Site]) -> list[casadi.SX]:
    """Return the outputs of a program as columns of expressions of the given inputs; append calls to `sites`."""

    def called(callee: Any, arguments: list[list[casadi.SX]]) -> list[casadi.SX]:
        results = [casadi.SX.sym(f"call{len(sites)}_{k}", a.size) for k, a in enumerate(callee.outputs)]
        sites.append(Site(callee, [casadi.vertcat(*row) for row in arguments], results))
        return results

    def smooth(kind: str, *values: casadi.SX) -> casadi.SX:
        return applied("sqrt", values[0] + TINY) if kind == "sqrt" else applied(kind, *values)

    results = program.replayed(inputs, casadi.SX, called, smooth)
    return [casadi.vertcat(*row) if row else casadi.SX(0, 1) for row in results]


def _differentiable(y: casadi.SX) -> casadi.SX:
    variables = casadi.symvar(y)
    arguments = tuple(Argument(f"x{k}", ()) for k in range(len(variables)))
    program = program_of(casadi.Function("y", variables, [casadi.densify(y)]), arguments, (Argument("y", (y.numel(),)),))
    return _replay(program, variables, [])[0]


def _index(arguments: tuple[Argument, ...], name: str, what: str) -> int:
    names = [a.name for a in arguments]
    if name not in names:
        raise KeyError(f"there is no {what} {name!r}; available: {', '.join(names)}")
    return names.index(name)


def _program(
    name: str,
    inputs: list[casadi.SX],
    expressions: list[casadi.SX],
    arguments: tuple[Argument, ...],
    results: tuple[Argument, ...],
    sites: list[Site],
) -> Program:
    dense = [casadi.densify(casadi.vec(e.T)) for e in casadi.cse(expressions)]  # row-major
    if sites:
        return program_with_calls(name, inputs, dense, arguments, results, sites)
    return program_of(casadi.Function(name, inputs, dense), arguments, results)


def _sought(
    program: Program, wrt: Sequence[str], output: str | None
) -> tuple[list[casadi.SX], list[Site], casadi.SX, Argument, list[int]]:
    """Return inputs and calls of a program, an output as expressions and as argument, and the indices of inputs.

    `output` defaults to the first output.
    """
    inputs, outputs, sites = expressions(program)
    o = 0 if output is None else _index(program.outputs, output, "output")
    return inputs, sites, outputs[o], program.outputs[o], [_index(program.inputs, name, "input") for name in wrt]


def jacobian_program(program: Program, wrt: Sequence[str], *, output: str | None = None, with_value: bool = False) -> Program:
    """Return a program for ∂ output / ∂ wrt, with one result (size of output, size of input) for each name in `wrt`.

    Results of calls are treated as constants. With `with_value`, the first result is the output, which shares operations with
    the derivatives.
    """
    inputs, sites, y, of, at = _sought(program, wrt, output)
    wanted = [*([y] if with_value else []), *(casadi.jacobian(y, inputs[k]) for k in at)]
    slopes = [Argument(f"d_{of.name}_d_{program.inputs[k].name}", (of.size, program.inputs[k].size)) for k in at]
    name = f"{program.name}_{'and_' if with_value else ''}jacobian"
    return _program(name, inputs, wanted, program.inputs, (*([of] if with_value else []), *slopes), sites)


def jvp_program(program: Program, wrt: str, *, output: str | None = None) -> Program:
    """Return a program for the Jacobian-vector product (∂ output / ∂ wrt) · direction, with the input `direction`."""
    inputs, sites, y, of, (k,) = _sought(program, [wrt], output)
    direction = casadi.SX.sym("direction", program.inputs[k].size)
    product = casadi.jtimes(y, inputs[k], direction)
    arguments, result = (*program.inputs, Argument("direction", program.inputs[k].shape)), Argument(f"d_{of.name}", of.shape)
    return _program(f"{program.name}_jvp", [*inputs, direction], [product], arguments, (result,), sites)


def vjp_program(program: Program, wrt: str, *, output: str | None = None) -> Program:
    """Return a program for the vector-Jacobian product weightᵀ (∂ output / ∂ wrt), with the additional input `weight`."""
    inputs, sites, y, of, (k,) = _sought(program, [wrt], output)
    weight = casadi.SX.sym("weight", of.size)
    product = casadi.jtimes(y, inputs[k], weight, True)
    x, arguments = program.inputs[k], (*program.inputs, Argument("weight", of.shape))
    result = Argument(f"d_{x.name}", x.shape)
    return _program(f"{program.name}_vjp", [*inputs, weight], [product], arguments, (result,), sites)


def linearized(function: Callable[..., Array], coupling: Array, v: Array, tau: Array) -> tuple[Array, Array]:
    """Return A and B of  d/dt (δ, δv) = A (δ, δv) + B δτ,  as arrays of symbols, in a traced function.

    A = [[K, 1], [∂f/∂δ, ∂f/∂v]],     B = [[0], [∂f/∂τ]]      at δ = 0,  K (nv, nv) = `coupling`
    Here f is v̇ = `function`(displacement, v, tau), and v and tau are symbols, shape (nv,) each.
    """
    n = len(v)
    if n == 0:
        return np.zeros((0, 0)), np.zeros((0, 0))
    displacement = symbols("displacement", (n,))
    y = _differentiable(column(function(displacement, v, tau)))
    jacobians = [casadi.jacobian(y, column(x)) for x in (displacement, v, tau)]
    blocks = casadi.substitute(jacobians, [column(displacement)], [casadi.SX.zeros(n)])
    J_d, J_v, J_tau = (np.array([[Symbol(J[i, j]) for j in range(n)] for i in range(n)], dtype=object) for J in blocks)
    A = np.concatenate([np.concatenate([coupling, np.eye(n)], axis=1), np.concatenate([J_d, J_v], axis=1)])
    return A, np.concatenate([np.zeros((n, n)), J_tau])
