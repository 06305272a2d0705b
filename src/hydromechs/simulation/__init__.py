"""Equations of motion put together, and compiled."""

from importlib import import_module as _import_module

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
    "Dynamics": "_dynamics",
    "DormandPrince": "_integrators",
    "Euler": "_integrators",
    "Event": "_events",
    "JointActuation": "_plant",
    "LinearlyImplicit": "_integrators",
    "Plant": "_plant",
    "Rollout": "_rollout",
    "Run": "_simulation",
    "RungeKutta4": "_integrators",
    "SemiImplicitEuler": "_integrators",
    "Simulation": "_simulation",
    "evaluate": "_evaluate",
    "rollout": "_rollout",
    "step_warnings": "_stiffness",
    "stiff_modes": "_stiffness",
}

__all__ = [
    "BodyMotion",
    "DormandPrince",
    "Dynamics",
    "Energy",
    "Euler",
    "Event",
    "JointActuation",
    "LinearlyImplicit",
    "MemoryRecorder",
    "Plant",
    "RecordingError",
    "RecordingWriter",
    "Rollout",
    "Run",
    "RungeKutta4",
    "SemiImplicitEuler",
    "Simulation",
    "Variable",
    "bias_acceleration",
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
    "restoring_force",
    "rollout",
    "save_recording",
    "step_warnings",
    "stiff_modes",
]


def __getattr__(name: str):
    if name in _LATER:
        return getattr(_import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
