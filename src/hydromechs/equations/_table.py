"""Equations of a model, keyed by name, with inputs, outputs and shapes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from hydromechs.model import Model
from hydromechs.values import nearest

from . import _closed_form as closed
from . import _equations as equations
from ._euler_form import EulerForm, euler_form
from ._formulations import HeldLoad, arm_dynamics, closed_chain_dynamics, decoupled_dynamics, star_dynamics

FLUID = ("fluid_velocity", "fluid_acceleration")
"""Inputs that describe the motion of the water."""
CURRENT = FLUID[:1]
FLOW = (*FLUID, "wrench")
"""All optional inputs."""


class Equation(NamedTuple):
    """Function of a model and of named arrays."""

    function: Callable
    """NumPy function f(model, **inputs)."""
    inputs: tuple[str, ...]
    """Names of the required arrays."""
    outputs: tuple[str, ...]
    """Names of the returned arrays."""
    purpose: str
    options: tuple[str, ...] = ()
    """Names of the optional arrays, which are zero if omitted."""
    rarely_called: bool = False
    """True for rarely called equations, whose single calls are compiled for short compile time instead of speed."""
    variant: str = ""
    """Text that distinguishes equations with equal names and different results."""
    rows: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    """Shapes of results that the model does not determine, keyed by name."""


EQUATIONS = {
    "forward_dynamics": Equation(
        equations.forward_dynamics, ("q", "v", "tau"), ("vdot",), "Accelerations for given joint forces.", FLOW
    ),
    "inverse_dynamics": Equation(
        equations.inverse_dynamics, ("q", "v", "vdot"), ("tau",), "Joint forces for given accelerations.", FLOW
    ),
    "mass_matrix": Equation(equations.mass_matrix, ("q",), ("M",), "Joint-space inertia matrix with added mass."),
    "coriolis_matrix": Equation(
        closed.coriolis_matrix, ("q", "v"), ("C",), "Coriolis matrix C, for which dM/dt - 2C is skew-symmetric.", CURRENT
    ),
    "damping_matrix": Equation(
        closed.damping_matrix, ("q", "v"), ("D_matrix",), "Hydrodynamic damping matrix, which multiplies v.", CURRENT
    ),
    "flow_force": Equation(closed.flow_force, ("q", "v"), ("F",), "Force of moving water in addition to C and D.", FLUID),
    "damping_force": Equation(
        closed.damping_force, ("q", "v"), ("D",), "Hydrodynamic damping as a generalised force.", CURRENT
    ),
    "restoring_force": Equation(closed.restoring_force, ("q",), ("g",), "Weight and buoyancy as a generalised force."),
    "kinematics": Equation(equations.kinematics, ("q", "v"), ("X_WB", "V_WB_B"), "Poses and velocities of all bodies."),
    "energy": Equation(equations.energy, ("q", "v"), equations.Energy._fields, "Energies of bodies and water.", CURRENT),
    "momentum": Equation(equations.momentum, ("q", "v"), ("h",), "Momentum of bodies and water.", CURRENT),
    "integrate": Equation(
        equations.integrate, ("q", "v", "dt"), ("q_next",), "Configuration after motion with constant v for dt."
    ),
    "difference": Equation(equations.difference, ("q0", "q"), ("dq",), "Constant v that leads from q0 to q in unit time."),
}
"""Equations that are compiled and exported, keyed by name."""

FORMULATIONS = {
    "star_dynamics": Equation(
        star_dynamics, ("q", "v", "tau"), ("vdot",), "Accelerations of a star, by composite bodies.", FLOW
    ),
    "decoupled_dynamics": Equation(
        decoupled_dynamics, ("q", "v", "tau"), ("vdot",), "Accelerations without the arms' reaction on the base.", FLOW
    ),
    "arm_dynamics": Equation(
        arm_dynamics, ("q", "v", "tau", "vdot_base"), ("vdot",), "Accelerations for a given acceleration of the base.", FLOW
    ),
    "closed_form": Equation(
        closed.closed_form, ("q", "v"), closed.ClosedForm._fields, "All terms of the closed form on SE(3).", FLUID
    ),
    "closed_form_dynamics": Equation(
        closed.closed_form_dynamics,
        ("q", "v", "tau"),
        ("vdot",),
        "Accelerations for given joint forces, by the closed form on SE(3).",
        FLOW,
    ),
    "coriolis_matrix_lagrange": Equation(
        closed.coriolis_matrix_lagrange, ("q", "v"), ("C",), "Coriolis matrix of Lagrange's equations.", CURRENT
    ),
    "euler_form": Equation(
        euler_form,
        ("xi", "xi_rate"),
        ("q", "v", "J_xi", *EulerForm._fields[3:]),
        "All terms of the closed form in Euler angles.",
        FLUID,
    ),
}
"""Other formulations, some for models with a special structure, which are compiled like those in `EQUATIONS`."""
ALL = EQUATIONS | FORMULATIONS


EquationName: TypeAlias = str | HeldLoad
"""Name of an equation, or the load of `closed_chain_dynamics`."""


def equation_of(name: EquationName) -> tuple[str, Equation]:
    """Return the name and the equation for an equation name or a load held by arms."""
    if isinstance(name, HeldLoad):
        function = partial(closed_chain_dynamics, load=name.load, grasps=name.grasps)
        shapes = {"forces": (len(name.grasps), 6)}
        purpose, variant = f"Accelerations of arms that hold {name.load!r}, and forces of the grasps on the load.", str(name)
        made = Equation(function, ("q", "v", "tau"), ("vdot", "forces"), purpose, FLOW, variant=variant, rows=shapes)
        return "closed_chain_dynamics", made
    if name not in ALL:
        raise KeyError(f"there is no equation {name!r}{nearest(name, ALL)}; available: {', '.join(ALL)}")
    return name, ALL[name]


_SHAPES = {
    "q": lambda m: (m.nq,),
    "q0": lambda m: (m.nq,),
    "q_next": lambda m: (m.nq,),
    "dt": lambda m: (),
    "vdot_base": lambda m: (m.bodies[0].joint.nv,),
    "point": lambda m: (3,),
    "fluid_velocity": lambda m: (3,),
    "fluid_acceleration": lambda m: (3,),
    "wrench": lambda m: (m.nb, 6),
    "J": lambda m: (6, m.nv),
    "X_WB": lambda m: (m.nb, 4, 4),
    "R_WB": lambda m: (m.nb, 3, 3),
    "p_WB": lambda m: (m.nb, 3),
    "V_WB_B": lambda m: (m.nb, 6),
    "h": lambda m: (6,),
    "A": lambda m: (2 * m.nv, 2 * m.nv),
    "B": lambda m: (2 * m.nv, m.nv),
    **{name: lambda m: () for name in equations.Energy._fields},
    **{name: lambda m: (m.nv,) for name in ("v", "tau", "vdot", "D", "N", "F", "g", "dq", "xi", "xi_rate")},
    **{name: lambda m: (m.nv, m.nv) for name in ("M", "M_RB", "M_A", "C", "C_RB", "C_A", "D_matrix", "J_xi", "J_inverse")},
}


def check_options(names: Sequence[str]) -> None:
    """Raise `KeyError` if a name is not an optional input of any equation."""
    for name in names:
        if name not in FLOW:
            raise KeyError(f"there is no optional input {name!r}; available: {', '.join(FLOW)}")


def shape_of(name: str, model: Model) -> tuple[int, ...]:
    """Return the shape of a named argument or result of a model's equations."""
    if name not in _SHAPES:
        raise KeyError(f"there is no argument or result {name!r}{nearest(name, _SHAPES)}")
    return _SHAPES[name](model)
