"""Equations of motion with hydrodynamics, as functions of a model and its state, plain and compiled."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._after import After, BodyNow
from ._arguments import configuration, model_of
from ._balance import balance
from ._closed_form import (
    ClosedForm,
    closed_form,
    closed_form_dynamics,
    coriolis_matrix,
    coriolis_matrix_lagrange,
    damping_force,
    damping_matrix,
    flow_force,
    restoring_force,
    velocity_coupling,
)
from ._constraints import Response, constrained, constraint_groups, constraint_response
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
from ._euler_form import EulerForm, euler_form
from ._formulations import (
    HeldLoad,
    HeldMotion,
    arm_dynamics,
    closed_chain_dynamics,
    decoupled_dynamics,
    singular_chain_dynamics,
    star_dynamics,
)
from ._parameters import (
    LARGE,
    OPEN,
    Form,
    check_equation_number,
    form_of,
    identity_of,
    open_identity,
    parameter_value,
    with_parameters,
)

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {  # these modules load CasADi and LLVM
        "._branches_on_lanes": ("BranchesOnLanes",),
        "._dynamics": ("Dynamics", "compile_model as compile", "operation_count"),
        "._distance": ("Distance", "distance"),
        "._export": ("FORMATS", "FUNCTIONS", "export_source", "to_casadi"),
        "._rolled": ("RolledTree",),
        "._table": ("EQUATIONS", "FLOW", "FLUID", "FORMULATIONS", "Equation", "shape_of"),
    },
)

__all__ = [
    "LARGE",
    "OPEN",
    "After",
    "BodyMotion",
    "BodyNow",
    "ClosedForm",
    "Energy",
    "EulerForm",
    "Form",
    "HeldLoad",
    "HeldMotion",
    "Response",
    "arm_dynamics",
    "balance",
    "bias_acceleration",
    "check_equation_number",
    "closed_chain_dynamics",
    "closed_form",
    "closed_form_dynamics",
    "configuration",
    "constrained",
    "constraint_groups",
    "constraint_response",
    "coriolis_matrix",
    "coriolis_matrix_lagrange",
    "damping_force",
    "damping_matrix",
    "decoupled_dynamics",
    "difference",
    "energy",
    "euler_form",
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
    "open_identity",
    "parameter_value",
    "restoring_force",
    "singular_chain_dynamics",
    "star_dynamics",
    "velocity_coupling",
    "with_parameters",
    *_later,
]
