"""The same plant on other physics engines: MuJoCo, DART, Bullet; how added mass acts there, and whether that is stable."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._parts import depth_first, placement_pose, swap

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {  # compile with CasADi and LLVM
        "._bullet": ("BulletEngine",),
        "._steps": ("EngineContact", "EngineMemory"),
        "._dart": ("DartEngine", "DartTree"),
        "._engine": ("Engine", "Touch"),
        "._hybrid": ("ENGINES", "EngineMethod", "Hybrid", "SCHEMES"),
        "._mujoco": ("MuJoCoEngine", "MujocoTree"),
        "._schemes": ("Causal", "Exact", "Filtered", "Iterated", "Scheme"),
        "._stability": ("Ratios", "Stability", "UnstableScheme", "added_masses", "ratios", "stability"),
    },
)

__all__ = ["depth_first", "placement_pose", "swap", *_later]
