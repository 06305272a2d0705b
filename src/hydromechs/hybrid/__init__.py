"""The same plant on other physics engines: MuJoCo, DART, Bullet; how added mass acts there, and whether that is stable."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._parts import depth_first, placement_pose, swap

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {  # compile with CasADi and LLVM
        "._bullet": ("BulletEngine",),
        "._components": ("EngineContact", "EngineMemory"),
        "._dart": ("DartEngine",),
        "._dart_tree": ("DartTree",),
        "._engine": ("Engine", "Touch"),
        "._hybrid": ("ENGINES", "SCHEMES", "EngineMethod", "Hybrid"),
        "._mujoco": ("MuJoCoEngine",),
        "._mujoco_tree": ("MujocoTree",),
        "._schemes": ("Causal", "Exact", "Filtered", "Iterated", "Scheme"),
        "._stability": ("Ratios", "Stability", "UnstableScheme", "added_masses", "ratios", "stability"),
    },
)

__all__ = ["depth_first", "placement_pose", "swap", *_later]
