"""Dynamics and hydrodynamics put together: equations of motion as functions of a model and its state, and compiled."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._after import After, BodyNow
from ._arguments import configuration, model_of
from ._balance import Balance, balance
from ._closed_chain import closed_chain_dynamics, singular_chain_dynamics
from ._closed_form import (
    ClosedForm,
    closed_form,
    closed_form_dynamics,
    coriolis_matrix,
    coriolis_matrix_lagrange,
    damping_matrix,
    flow_force,
)
from ._decoupled import arm_dynamics, decoupled_dynamics
from ._equations import (
    BodyMotion,
    Energy,
    bias_acceleration,
    difference,
    energy,
    forward_dynamics,
    frame_pose,
    integrate,
    inverse_dynamics,
    jacobian,
    kinematics,
    mass_matrix,
    momentum,
)
from ._form import LARGE, Form, form_of
from ._fossen import damping_force, restoring_force, velocity_coupling
from ._identity import identity_of
from ._star import star_dynamics

_LATER = {  # compile with CasADi and LLVM
    "BranchesOnLanes": "._branches_on_lanes",
    "Dynamics": "._dynamics",
    "EQUATIONS": "._table",
    "Equation": "._table",
    "FLUID": "._table",
    "FLOW": "._export",
    "FORMATS": "._export",
    "FORMULATIONS": "._table",
    "FUNCTIONS": "._export",
    "RolledTree": "._rolled",
    "compile": "._dynamics:compile_model",
    "export_source": "._export",
    "operation_count": "._dynamics",
    "parameter_value": "._parameters",
    "shape_of": "._table",
    "to_casadi": "._casadi",
    "with_parameters": "._parameters",
}

__all__ = [
    "EQUATIONS",
    "FLOW",
    "FLUID",
    "FORMATS",
    "FORMULATIONS",
    "FUNCTIONS",
    "LARGE",
    "After",
    "Balance",
    "BodyMotion",
    "BodyNow",
    "BranchesOnLanes",
    "ClosedForm",
    "Dynamics",
    "Energy",
    "Equation",
    "Form",
    "RolledTree",
    "arm_dynamics",
    "balance",
    "bias_acceleration",
    "closed_chain_dynamics",
    "closed_form",
    "closed_form_dynamics",
    "compile",
    "configuration",
    "coriolis_matrix",
    "coriolis_matrix_lagrange",
    "damping_force",
    "damping_matrix",
    "decoupled_dynamics",
    "difference",
    "energy",
    "export_source",
    "flow_force",
    "form_of",
    "forward_dynamics",
    "frame_pose",
    "identity_of",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "kinematics",
    "mass_matrix",
    "model_of",
    "momentum",
    "operation_count",
    "parameter_value",
    "restoring_force",
    "shape_of",
    "singular_chain_dynamics",
    "star_dynamics",
    "to_casadi",
    "velocity_coupling",
    "with_parameters",
]

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
