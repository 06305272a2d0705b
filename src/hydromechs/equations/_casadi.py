"""A model's equations as CasADi functions, for optimal control and optimisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hydromechs.compiler import casadi_function
from hydromechs.model import Model

from ._arguments import model_of
from ._dynamics import Dynamics
from ._export import DEFAULT
from ._table import EQUATIONS, check_options

if TYPE_CHECKING:
    import casadi


def to_casadi(
    model: Model, functions: Sequence[str] = DEFAULT, *, inputs: Sequence[str] = (), parameters: Sequence[str] = ()
) -> dict[str, casadi.Function]:
    """Equations in water as CasADi functions with named arguments, by name; the same trace that machine code is made of.

    A row of numbers is a column of CasADi, M a matrix of nv × nv; poses `X_WB` stand below one another, 4 nb × 4, and
    velocities `V_WB_B` are nb × 6. Derivatives are finite at rest, where the root in a drag has no slope. In calls by name
    what is left out is 0: `f(q=q, v=v)["vdot"]`; so quaternions must not be left out.

    Args:
        model: The mechanism.
        functions: Names of equations, as "forward_dynamics" or "restoring_force", and "jacobian:NAME" of a body or frame.
        inputs: What each of them takes besides, where it can: "fluid_velocity", "fluid_acceleration" (columns of 3, in world
            axes) and "wrench" (nb × 6, on each body in its axes about its origin).
        parameters: Names of numbers of the model that stay inputs, as in `hm.compile`; each function takes all of them at its
            end, with `_` for dots in their names.

    Raises:
        UnsupportedFeature: An equation looks up tables, as hydrodynamics of your own can.
    """
    functions, inputs = ((x,) if isinstance(x, str) else tuple(x) for x in (functions, inputs))
    dyn = Dynamics(model_of(model), parameters=parameters)
    check_options(inputs)
    out = {}
    for name in functions:
        kind, _, place = name.partition(":")
        if kind == "jacobian" and place:
            program = dyn.jacobian_program(place)
        elif name in EQUATIONS:
            program = dyn.program(name, [x for x in inputs if x in EQUATIONS[name].options])
        else:
            raise KeyError(f"no equation {name!r}; there are {', '.join(EQUATIONS)}, and jacobian:NAME for a body or frame")
        out[name] = casadi_function(program)
    return out
