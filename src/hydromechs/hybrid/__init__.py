"""Plants on third-party physics engines (MuJoCo, DART, Bullet), with added-mass schemes and their stability."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._scene import depth_first, placement_pose, swap

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {
        "._bullet": ("BulletEngine",),
        "._dart": (
            "DartEngine",
            "DartTree",
        ),
        "._engine": (
            "Engine",
            "Touch",
        ),
        "._hybrid": (
            "ENGINES",
            "EngineMethod",
            "Hybrid",
            "SCHEMES",
        ),
        "._mujoco": (
            "MuJoCoEngine",
            "MujocoTree",
        ),
        "._schemes": (
            "Causal",
            "Exact",
            "Filtered",
            "Iterated",
            "Ratios",
            "Scheme",
            "Stability",
            "UnstableScheme",
            "added_masses",
            "ratios",
            "stability",
        ),
        "._steps": (
            "EngineContact",
            "EngineMemory",
        ),
    },
)

__all__ = ["depth_first", "placement_pose", "swap", *_later]
