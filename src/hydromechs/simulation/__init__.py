"""What happens in time: the plant, its components, the evaluation of one instant, simulations, events, rollouts."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._state_file import load_state, save_state

_LATER = {  # compile with CasADi and LLVM
    "CommandRanges": "._ranges",
    "Controller": "._controller",
    "Evaluation": "._evaluate",
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
    "quantities": "._observe",
    "rollout": "._rollout",
    "schema": "._observe",
    "size_faults": "._clock",
    "step_limit": "._stiffness",
    "step_faults": "._stiffness",
    "stiff_modes": "._stiffness",
    "Trim": "._trim",
    "trim": "._trim",
    "watchable": "._events",
}

__all__ = [
    "CommandRanges",
    "Controller",
    "Evaluation",
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
    "quantities",
    "rollout",
    "save_state",
    "schema",
    "size_faults",
    "step_faults",
    "step_limit",
    "stiff_modes",
    "trim",
    "watchable",
]

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
