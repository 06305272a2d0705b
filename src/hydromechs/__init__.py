"""HydroMechs: simulation of mechanisms that move in water.

    import hydromechs as hm

    model = hm.load("tiburon_titan2")
    q, v = model.neutral()
    dyn = hm.compile(model)
    vdot = dyn.forward_dynamics(q, v, tau, fluid_velocity=(0.5, 0, 0))

`hm.forward_dynamics(model, ...)` and the like are the same equations uncompiled: slow, checked, readable.
"""

from importlib import import_module as _import_module

from .errors import ModelError, ScenarioError, SimulationDiverged, UnsupportedFeature
from .model import (
    Body,
    Frame,
    Hydro,
    HydroModel,
    Inertia,
    Mdh,
    Model,
    Origin,
    State,
    World,
    added_mass,
    drag,
    joints,
    shapes,
)
from .simulation import (
    BodyMotion,
    ClosedForm,
    Energy,
    bias_acceleration,
    closed_form,
    closed_form_dynamics,
    coriolis_matrix,
    coriolis_matrix_lagrange,
    damping_force,
    energy,
    forward_dynamics,
    frame_pose,
    integrate,
    inverse_dynamics,
    jacobian,
    kinematics,
    mass_matrix,
    momentum,
    restoring_force,
)

__version__ = "0.1.0"

_LATER = {
    # compile with CasADi and LLVM
    "Dynamics": "hydromechs.simulation._dynamics",
    "compile": "hydromechs.simulation._dynamics:compile_model",
    "operation_count": "hydromechs.simulation._dynamics",
    "Event": "hydromechs.simulation._events",
    "Simulation": "hydromechs.simulation._simulation",
    "rollout": "hydromechs.simulation._rollout",
    # water and actuators
    "Environment": "hydromechs.hydro",
    "Thruster": "hydromechs.actuation",
    "drives": "hydromechs.actuation",
    # recordings
    "load_recording": "hydromechs.simulation._recording",
    "load_state": "hydromechs.simulation._state_file",
    "save_recording": "hydromechs.simulation._recording",
    "save_state": "hydromechs.simulation._state_file",
    # scenarios
    "Scenario": "hydromechs.simulation._scenario",
    "load_scenario": "hydromechs.library",
    "save_scenario": "hydromechs.formats",
    # read files with pydantic and yaml, which take long to import
    "load": "hydromechs.library",
    "save": "hydromechs.formats",
}

__all__ = [
    "Body",
    "BodyMotion",
    "ClosedForm",
    "Dynamics",
    "Energy",
    "Environment",
    "Event",
    "Frame",
    "Hydro",
    "HydroModel",
    "Inertia",
    "Mdh",
    "Model",
    "ModelError",
    "Origin",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "SimulationDiverged",
    "State",
    "Thruster",
    "UnsupportedFeature",
    "World",
    "added_mass",
    "bias_acceleration",
    "closed_form",
    "closed_form_dynamics",
    "compile",
    "coriolis_matrix",
    "coriolis_matrix_lagrange",
    "damping_force",
    "drag",
    "drives",
    "energy",
    "forward_dynamics",
    "frame_pose",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "joints",
    "kinematics",
    "load",
    "load_recording",
    "load_scenario",
    "load_state",
    "mass_matrix",
    "momentum",
    "operation_count",
    "restoring_force",
    "rollout",
    "save",
    "save_recording",
    "save_scenario",
    "save_state",
    "shapes",
]


_PACKAGES = ("actuation", "contact", "dynamics", "gnc", "hydro", "viewer")


def __getattr__(name: str):
    if name in _PACKAGES:
        return _import_module(f"hydromechs.{name}")
    if name in _LATER:
        module, _, other = _LATER[name].partition(":")
        return getattr(_import_module(module), other or name)
    raise AttributeError(f"module 'hydromechs' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_LATER])
