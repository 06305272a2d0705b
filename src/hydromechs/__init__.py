"""HydroMechs: simulation of mechanisms that move in water.

    import hydromechs as hm

    model = hm.load("tiburon_titan2")
    q, v = model.neutral()
    dyn = hm.compile(model)
    vdot = dyn.forward_dynamics(q, v, tau, fluid_velocity=(0.5, 0, 0))

Functions such as `hm.forward_dynamics(model, ...)` evaluate the same equations without compilation, with checks, but slowly.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._lazy import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from .equations import (
        coriolis_matrix,
        difference,
        energy,
        forward_dynamics,
        frame_pose,
        integrate,
        inverse_dynamics,
        jacobian,
        kinematics,
        mass_matrix,
    )
    from .errors import CodeNotAllowed, ModelError, ScenarioError, SimulationDiverged, SimulationInterrupted, UnsupportedFeature
    from .geometry import Origin
    from .model import (
        Body,
        BodyShape,
        Frame,
        Hydro,
        HydroModel,
        Inertia,
        Mdh,
        Model,
        State,
        World,
        added_mass,
        attach,
        drag,
        joints,
    )
    from .model import (
        flexible as flexible,
    )

__version__ = "0.5.0"

_PACKAGES = (
    "actuation",
    "bench",
    "bridges",
    "compiler",
    "contact",
    "control",
    "dynamics",
    "equations",
    "errors",
    "formats",
    "geometry",
    "hybrid",
    "hydro",
    "identification",
    "integrators",
    "learning",
    "library",
    "lines",
    "model",
    "naval",
    "navigation",
    "recording",
    "scenario",
    "sensors",
    "simulation",
    "spatial",
    "station",
    "sweeps",
    "viewer",
    "walking",
    "worlds",
)

__getattr__, _all_names, _later = _lazy_names(
    __name__,
    {
        ".browser": ("show",),
        ".equations": (
            "Dynamics",
            "compile",
            "coriolis_matrix",
            "difference",
            "distance",
            "energy",
            "forward_dynamics",
            "frame_pose",
            "integrate",
            "inverse_dynamics",
            "jacobian",
            "kinematics",
            "mass_matrix",
            "to_casadi",
        ),
        ".errors": (
            "CodeNotAllowed",
            "ModelError",
            "ScenarioError",
            "SimulationDiverged",
            "SimulationInterrupted",
            "UnsupportedFeature",
        ),
        ".geometry": ("Origin",),
        ".model": (
            "Body",
            "BodyShape",
            "Frame",
            "Hydro",
            "HydroModel",
            "Inertia",
            "Loop",
            "Mdh",
            "Model",
            "State",
            "World",
            "added_mass",
            "attach",
            "drag",
            "flexible",
            "joints",
        ),
        ".simulation": (
            "Block",
            "Controller",
            "Event",
            "Plant",
            "RolloutCost",
            "Simulation",
            "TracedBlock",
            "linearize",
            "load_state",
            "modes",
            "save_state",
            "Update",
            "trim",
        ),
        ".worlds": ("Worlds", "rollout"),
        ".identification": ("identify",),
        ".model.component": ("Action", "Component", "Output", "Slot"),
        ".naval": ("add_water", "ballast", "hydrostatics"),
        ".hydro": ("Environment",),
        ".actuation": ("Thruster", "drives"),
        ".bridges": ("to_mujoco", "to_pinocchio", "to_state_space"),
        ".recording": ("load_recording", "save_recording", "to_pandas"),
        ".scenario": ("Scenario",),
        ".library": ("load", "load_plant", "load_scenario"),
        ".formats": ("from_fossen", "import_file", "save", "save_scenario"),
    },
    _PACKAGES,
)

# files
__all__ = ["from_fossen", "import_file", "load", "load_plant", "load_recording", "load_scenario", "load_state"]
__all__ += ["save", "save_recording", "save_scenario", "save_state"]
# description
__all__ += ["Body", "BodyShape", "Environment", "Event", "Frame", "Hydro", "Inertia", "Loop", "Mdh"]
__all__ += ["Model", "Origin", "Scenario", "State", "World", "attach"]
# parts
__all__ += ["Action", "Block", "Component", "Controller", "HydroModel", "Output", "Slot", "Thruster", "TracedBlock", "Update"]
# equations
__all__ += ["Dynamics", "compile", "coriolis_matrix", "difference", "energy", "forward_dynamics", "frame_pose", "integrate"]
__all__ += ["inverse_dynamics", "jacobian", "kinematics", "mass_matrix"]
# runs
__all__ += ["Plant", "RolloutCost", "Simulation", "Worlds", "identify", "linearize", "modes", "rollout", "trim"]
# water
__all__ += ["add_water", "ballast", "hydrostatics"]
# exchange with other programs
__all__ += ["to_casadi", "to_mujoco", "to_pandas", "to_pinocchio", "to_state_space"]
# errors
__all__ += ["CodeNotAllowed", "ModelError", "ScenarioError", "SimulationDiverged", "SimulationInterrupted"]
__all__ += ["UnsupportedFeature"]
# modules
__all__ += ["actuation", "added_mass", "contact", "control", "drag", "drives", "equations", "geometry", "hydro", "joints"]
__all__ += ["learning", "library", "lines", "navigation", "sensors", "station", "sweeps", "viewer", "walking"]


def __dir__() -> list[str]:
    """Return the names that most programs need; other packages, such as `hydromechs.spatial`, are loaded on first use."""
    return sorted(__all__)
