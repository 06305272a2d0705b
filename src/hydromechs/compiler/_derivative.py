"""Exact derivatives of a program, themselves programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi
import numpy as np

from hydromechs.values import Array

from ._program import Argument, Program
from ._symbol import Site, Symbol, applied, column, symbols
from ._trace import program_of, program_with_calls

TINY = 1e-300
"""Added under square roots before differentiating: √x has the slope 1/(2√(x + 1e-300)), so that slope times dx = 0 is 0 at
x = 0 and not 0 · ∞. It vanishes beside any square of a number above 1e-142."""


def expressions(program: Program) -> tuple[list[casadi.SX], list[casadi.SX], list[Site]]:
    """Symbols of the inputs and expressions of the outputs, whose square roots have a slope at 0, and the calls in them."""
    inputs = [casadi.SX.sym(f"x{k}", a.size) for k, a in enumerate(program.inputs)]
    sites: list[Site] = []
    return inputs, _replay(program, inputs, sites), sites


def _replay(program: Program, inputs: list[casadi.SX], sites: list[Site]) -> list[casadi.SX]:
    """Outputs of a program as columns of expressions of the given inputs; its calls go into `sites`."""
    values: list[Any] = []
    for op in program.operations:
        match op.kind:
            case "const":
                values.append(casadi.SX(op.value))
            case "input":
                values.append(inputs[op.value[0]][op.value[1]])
            case "call":
                callee, arguments = program.calls[op.value]
                results = [casadi.SX.sym(f"call{len(sites)}_{k}", a.size) for k, a in enumerate(callee.outputs)]
                sites.append(Site(callee, [casadi.vertcat(*[values[p] for p in row]) for row in arguments], results))
                values.append(results)
            case "result":
                values.append(values[op.a][op.value[0]][op.value[1]])
            case "sqrt":
                values.append(applied("sqrt", values[op.a] + TINY))
            case kind:
                values.append(applied(kind, *[values[k] for k in (op.a, op.b) if k >= 0]))
    return [casadi.vertcat(*[values[k] for k in places]) if places else casadi.SX(0, 1) for places in program.results]


def _differentiable(y: casadi.SX) -> casadi.SX:
    """The same expression with square roots that have a slope at 0."""
    variables = casadi.symvar(y)
    arguments = tuple(Argument(f"x{k}", ()) for k in range(len(variables)))
    program = program_of(casadi.Function("y", variables, [casadi.densify(y)]), arguments, (Argument("y", (y.numel(),)),))
    return _replay(program, variables, [])[0]


def _index(arguments: tuple[Argument, ...], name: str, what: str) -> int:
    names = [a.name for a in arguments]
    if name not in names:
        raise KeyError(f"no {what} {name!r}; there are {', '.join(names)}")
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


def jacobian_program(program: Program, wrt: tuple[str, ...], *, output: str | None = None) -> Program:
    """∂ output / ∂ wrt of a program, one result of shape (size of output, size of input) for each name in `wrt`.

    Results of calls are held constant.

    Args:
        program: The program.
        wrt: Names of inputs.
        output: Name of the output; the first unless given.
    """
    inputs, outputs, sites = expressions(program)
    o = 0 if output is None else _index(program.outputs, output, "output")
    at = [_index(program.inputs, name, "input") for name in wrt]
    jacobians = [casadi.jacobian(outputs[o], inputs[k]) for k in at]
    results = tuple(
        Argument(f"d_{program.outputs[o].name}_d_{program.inputs[k].name}", (program.outputs[o].size, program.inputs[k].size))
        for k in at
    )
    return _program(f"{program.name}_jacobian", inputs, jacobians, program.inputs, results, sites)


def with_jacobians(program: Program, wrt: tuple[str, ...], *, output: str | None = None) -> Program:
    """An output of a program and its derivatives in one program, see `jacobian_program`: they share their operations.

    Args:
        program: The program.
        wrt: Names of inputs.
        output: Name of the output; the first unless given.
    """
    inputs, outputs, sites = expressions(program)
    o = 0 if output is None else _index(program.outputs, output, "output")
    at = [_index(program.inputs, name, "input") for name in wrt]
    value, size = program.outputs[o], program.outputs[o].size
    wanted = [outputs[o], *(casadi.jacobian(outputs[o], inputs[k]) for k in at)]
    results = [value, *(Argument(f"d_{value.name}_d_{program.inputs[k].name}", (size, program.inputs[k].size)) for k in at)]
    return _program(f"{program.name}_and_jacobian", inputs, wanted, program.inputs, tuple(results), sites)


def jvp_program(program: Program, wrt: str, *, output: str | None = None) -> Program:
    """Jacobian-vector product: (∂ output / ∂ wrt) · direction; the direction is one more input, `direction`.

    Args:
        program: The program.
        wrt: Name of an input.
        output: Name of the output; the first unless given.
    """
    inputs, outputs, sites = expressions(program)
    o = 0 if output is None else _index(program.outputs, output, "output")
    k = _index(program.inputs, wrt, "input")
    direction = casadi.SX.sym("direction", program.inputs[k].size)
    product = casadi.jtimes(outputs[o], inputs[k], direction)
    arguments = (*program.inputs, Argument("direction", program.inputs[k].shape))
    result = (Argument(f"d_{program.outputs[o].name}", program.outputs[o].shape),)
    return _program(f"{program.name}_jvp", [*inputs, direction], [product], arguments, result, sites)


def vjp_program(program: Program, wrt: str, *, output: str | None = None) -> Program:
    """Vector-Jacobian product: weightᵀ (∂ output / ∂ wrt); the weight is one more input, `weight`.

    Args:
        program: The program.
        wrt: Name of an input.
        output: Name of the output; the first unless given.
    """
    inputs, outputs, sites = expressions(program)
    o = 0 if output is None else _index(program.outputs, output, "output")
    k = _index(program.inputs, wrt, "input")
    weight = casadi.SX.sym("weight", program.outputs[o].size)
    product = casadi.jtimes(outputs[o], inputs[k], weight, True)
    arguments = (*program.inputs, Argument("weight", program.outputs[o].shape))
    result = (Argument(f"d_{program.inputs[k].name}", program.inputs[k].shape),)
    return _program(f"{program.name}_vjp", [*inputs, weight], [product], arguments, result, sites)


def linearized(function: Callable[..., Array], coupling: Array, v: Array, tau: Array) -> tuple[Array, Array]:
    """A and B of  d/dt (δ, δv) = A (δ, δv) + B δτ, as arrays of symbols; to be called in a traced function.

        A = [[K, 1], [∂f/∂δ, ∂f/∂v]],     B = [[0], [∂f/∂τ]]      at δ = 0

    Args:
        function: v̇ = f(displacement, v, tau), each of shape (nv,).
        coupling: K, shape (nv, nv).
        v: Symbols of the velocity, shape (nv,).
        tau: Symbols of the generalised force, shape (nv,).
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
