"""The same plant on other physics engines: MuJoCo, DART, Bullet; how added mass acts there, and whether that is stable."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._parts import depth_first, joint_parts, placement_pose, swap

_LATER = {  # compile with CasADi and LLVM
    "ENGINES": "._hybrid",
    "SCHEMES": "._hybrid",
    "BulletEngine": "._bullet",
    "Causal": "._schemes",
    "DartEngine": "._dart",
    "DartTree": "._dart_tree",
    "Engine": "._engine",
    "EngineContact": "._components",
    "EngineMemory": "._components",
    "EngineMethod": "._hybrid",
    "Exact": "._schemes",
    "Filtered": "._schemes",
    "Hybrid": "._hybrid",
    "Iterated": "._schemes",
    "MuJoCoEngine": "._mujoco",
    "MujocoTree": "._mujoco_tree",
    "Ratios": "._stability",
    "Scheme": "._schemes",
    "Stability": "._stability",
    "Touch": "._engine",
    "UnstableScheme": "._stability",
    "added_masses": "._stability",
    "ratios": "._stability",
    "stability": "._stability",
}

__all__ = [
    "ENGINES",
    "SCHEMES",
    "BulletEngine",
    "Causal",
    "DartEngine",
    "DartTree",
    "Engine",
    "EngineContact",
    "EngineMemory",
    "EngineMethod",
    "Exact",
    "Filtered",
    "Hybrid",
    "Iterated",
    "MuJoCoEngine",
    "MujocoTree",
    "Ratios",
    "Scheme",
    "Stability",
    "Touch",
    "UnstableScheme",
    "added_masses",
    "depth_first",
    "joint_parts",
    "placement_pose",
    "ratios",
    "stability",
    "swap",
]

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
