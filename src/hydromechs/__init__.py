"""HydroMechs: simulation of mechanisms that move in water.

    import hydromechs as hm

    model = hm.load("tiburon_titan2")
    q, v = model.neutral()
    vdot = hm.forward_dynamics(model, q, v, tau, fluid_velocity=(0.5, 0, 0))

The equations take floats and give numbers; conventions are in docs/conventions.md.
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

__version__ = "0.1.0"

_LATER = {
    # read files with pydantic and yaml, which take long to import
    "load": "hydromechs.library",
    "save": "hydromechs.formats",
}

__all__ = [
    "Body",
    "BodyMotion",
    "Energy",
    "Frame",
    "Hydro",
    "HydroModel",
    "Inertia",
    "Mdh",
    "Model",
    "ModelError",
    "Origin",
    "SimulationDiverged",
    "State",
    "UnsupportedFeature",
    "World",
    "added_mass",
    "bias_acceleration",
    "drag",
    "energy",
    "forward_dynamics",
    "frame_pose",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "joints",
    "kinematics",
    "load",
    "mass_matrix",
    "momentum",
    "save",
    "shapes",
]


def __getattr__(name: str):
    if name in _LATER:
        return getattr(_import_module(_LATER[name]), name)
    raise AttributeError(f"module 'hydromechs' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_LATER])
