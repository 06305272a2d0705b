"""HydroMechs: simulation of mechanisms that move in water.

    import hydromechs as hm

    model = hm.load("tiburon_titan2")
    q, v = model.neutral()
    dyn = hm.compile(model)
    vdot = dyn.forward_dynamics(q, v, tau, fluid_velocity=(0.5, 0, 0))

`hm.forward_dynamics(model, ...)` and the like are the same equations uncompiled: slow, checked, readable.
"""

from importlib import import_module as _import_module

from .errors import ModelError, SimulationDiverged, UnsupportedFeature
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
    Energy,
    bias_acceleration,
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
    "save_recording": "hydromechs.simulation._recording",
    # read files with pydantic and yaml, which take long to import
    "load": "hydromechs.library",
    "save": "hydromechs.formats",
}

__all__ = [
    "Body",
    "BodyMotion",
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
    "Simulation",
    "SimulationDiverged",
    "State",
    "Thruster",
    "UnsupportedFeature",
    "World",
    "added_mass",
    "bias_acceleration",
    "compile",
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
    "mass_matrix",
    "momentum",
    "operation_count",
    "restoring_force",
    "rollout",
    "save",
    "save_recording",
    "shapes",
]


def __getattr__(name: str):
    if name in _LATER:
        module, _, other = _LATER[name].partition(":")
        return getattr(_import_module(module), other or name)
    raise AttributeError(f"module 'hydromechs' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_LATER])
