"""HydroMechs: simulation of mechanisms that move in water.

    import hydromechs as hm

    model = hm.load("tiburon_titan2")
    q, v = model.neutral()
    dyn = hm.compile(model)
    vdot = dyn.forward_dynamics(q, v, tau, fluid_velocity=(0.5, 0, 0))

`hm.forward_dynamics(model, ...)` and the like are the same equations uncompiled: slow, checked, readable.
"""

from ._lazy import lazy_names as _lazy_names
from .equations import (
    BodyMotion,
    ClosedForm,
    Energy,
    bias_acceleration,
    closed_form,
    closed_form_dynamics,
    coriolis_matrix,
    coriolis_matrix_lagrange,
    damping_force,
    damping_matrix,
    difference,
    energy,
    flow_force,
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
from .errors import ModelError, ScenarioError, SimulationDiverged, UnreachableFoothold, UnsupportedFeature
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
    visual,
)

__version__ = "0.1.0"

_LATER = {
    # compile with CasADi and LLVM
    "Dynamics": ".equations",
    "compile": ".equations",
    "operation_count": ".equations",
    "Controller": ".simulation",
    "Event": ".simulation",
    "Plant": ".simulation",
    "Simulation": ".simulation",
    "TracedController": ".simulation",
    "rollout": ".simulation",
    "trim": ".simulation",
    # what acts on a mechanism
    "Action": ".model.component",
    "Component": ".model.component",
    "Output": ".model.component",
    "Slot": ".model.component",
    # water and actuators
    "Environment": ".hydro",
    "Thruster": ".actuation",
    "drives": ".actuation",
    # recordings
    "load_recording": ".recording",
    "load_state": ".simulation",
    "save_recording": ".recording",
    "save_state": ".simulation",
    # scenarios
    "Scenario": ".scenario",
    "load_scenario": ".library",
    "save_scenario": ".formats",
    # read files with pydantic and yaml, which take long to import
    "load": ".library",
    "load_plant": ".library",
    "save": ".formats",
}

__all__ = [
    "Action",
    "Body",
    "BodyMotion",
    "ClosedForm",
    "Component",
    "Controller",
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
    "Output",
    "Plant",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "SimulationDiverged",
    "Slot",
    "State",
    "Thruster",
    "TracedController",
    "UnreachableFoothold",
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
    "damping_matrix",
    "difference",
    "drag",
    "drives",
    "energy",
    "flow_force",
    "forward_dynamics",
    "frame_pose",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "joints",
    "kinematics",
    "load",
    "load_plant",
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
    "trim",
    "visual",
]


_PACKAGES = (
    "actuation",
    "compiler",
    "contact",
    "dynamics",
    "equations",
    "formats",
    "gnc",
    "hybrid",
    "hydro",
    "integrators",
    "library",
    "lines",
    "model",
    "recording",
    "scenario",
    "simulation",
    "spatial",
    "station",
    "studies",
    "viewer",
)

__getattr__, __dir__ = _lazy_names(__name__, {**_LATER, **{name: f".{name}:" for name in _PACKAGES}})
