"""Equations of motion put together, and compiled."""

from importlib import import_module as _import_module

from ._closed_chain import closed_chain_dynamics, singular_chain_dynamics
from ._closed_form import (
    ClosedForm,
    closed_form,
    closed_form_dynamics,
    coriolis_matrix,
    coriolis_matrix_lagrange,
)
from ._equations import (
    BodyMotion,
    Energy,
    bias_acceleration,
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
from ._fossen import damping_force, restoring_force
from ._recording import MemoryRecorder, RecordingError, RecordingWriter, Variable, load_recording, save_recording

_LATER = {  # compile with CasADi and LLVM
    "Check": "_scenario",
    "CheckResult": "_scenario",
    "ControllerSpec": "_scenario",
    "BranchesOnLanes": "_spatial",
    "Dynamics": "_dynamics",
    "DormandPrince": "_integrators",
    "Euler": "_integrators",
    "Event": "_events",
    "JointActuation": "_plant",
    "LinearlyImplicit": "_integrators",
    "ModelStart": "_assemble",
    "Plant": "_plant",
    "Rollout": "_rollout",
    "Run": "_results",
    "RungeKutta4": "_integrators",
    "Scenario": "_scenario",
    "SemiImplicitEuler": "_integrators",
    "Simulation": "_simulation",
    "SlidingBlock": "_block_methods",
    "corrector_weights": "_block_methods",
    "predictor_weights": "_block_methods",
    "assemble": "_assemble",
    "evaluate": "_evaluate",
    "rollout": "_rollout",
    "step_warnings": "_stiffness",
    "stiff_modes": "_stiffness",
}

__all__ = [
    "BodyMotion",
    "BranchesOnLanes",
    "Check",
    "CheckResult",
    "ClosedForm",
    "ControllerSpec",
    "DormandPrince",
    "Dynamics",
    "Energy",
    "Euler",
    "Event",
    "JointActuation",
    "LinearlyImplicit",
    "MemoryRecorder",
    "ModelStart",
    "Plant",
    "RecordingError",
    "RecordingWriter",
    "Rollout",
    "Run",
    "RungeKutta4",
    "Scenario",
    "SemiImplicitEuler",
    "Simulation",
    "SlidingBlock",
    "Variable",
    "assemble",
    "bias_acceleration",
    "closed_chain_dynamics",
    "closed_form",
    "closed_form_dynamics",
    "coriolis_matrix",
    "coriolis_matrix_lagrange",
    "corrector_weights",
    "damping_force",
    "energy",
    "evaluate",
    "forward_dynamics",
    "frame_pose",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "kinematics",
    "load_recording",
    "mass_matrix",
    "momentum",
    "predictor_weights",
    "restoring_force",
    "rollout",
    "save_recording",
    "singular_chain_dynamics",
    "step_warnings",
    "stiff_modes",
]


def __getattr__(name: str):
    if name in _LATER:
        return getattr(_import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
