"""What happens in time: the plant, its components, the evaluation of one instant, simulations, events, rollouts."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._state_file import load_state, save_state

_LATER = {  # compile with CasADi and LLVM
    "Controller": "._controller",
    "Event": "._events",
    "FunctionController": "._controller",
    "Log": "._results",
    "Plant": "._plant",
    "PlantPrograms": "._programs",
    "Rollout": "._rollout",
    "Run": "._results",
    "Simulation": "._simulation",
    "TracedController": "._controller",
    "as_controller": "._controller",
    "components_of": "._build",
    "coordinates": "._observe",
    "derivative": "._evaluate",
    "evaluate": "._evaluate",
    "rollout": "._rollout",
    "schema": "._observe",
    "step_limit": "._stiffness",
    "step_warnings": "._stiffness",
    "stiff_modes": "._stiffness",
    "Trim": "._trim",
    "trim": "._trim",
}

__all__ = [
    "Controller",
    "Event",
    "FunctionController",
    "Log",
    "Plant",
    "PlantPrograms",
    "Rollout",
    "Run",
    "Simulation",
    "TracedController",
    "Trim",
    "as_controller",
    "components_of",
    "coordinates",
    "derivative",
    "evaluate",
    "load_state",
    "rollout",
    "save_state",
    "schema",
    "step_limit",
    "step_warnings",
    "stiff_modes",
    "trim",
]

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
