"""What happens in time: the plant, its components, the evaluation of one instant, simulations, events, rollouts."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._state_file import load_state, save_state

_LATER = {  # compile with CasADi and LLVM
    "Controller": "._results",
    "Event": "._events",
    "JointActuation": "._plant",
    "Log": "._events",
    "Mode": "._stiffness",
    "Plant": "._plant",
    "Rollout": "._rollout",
    "Run": "._results",
    "Simulation": "._simulation",
    "coordinate_names": "._observe",
    "coordinates": "._observe",
    "evaluate": "._evaluate",
    "joint_actuation": "._joint_actuation",
    "rollout": "._rollout",
    "schema": "._observe",
    "step_warnings": "._stiffness",
    "stiff_modes": "._stiffness",
    "watchable": "._events",
}

__all__ = [
    "Controller",
    "Event",
    "JointActuation",
    "Log",
    "Mode",
    "Plant",
    "Rollout",
    "Run",
    "Simulation",
    "coordinate_names",
    "coordinates",
    "evaluate",
    "joint_actuation",
    "load_state",
    "rollout",
    "save_state",
    "schema",
    "step_warnings",
    "stiff_modes",
    "watchable",
]

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
