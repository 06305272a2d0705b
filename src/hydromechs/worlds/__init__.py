"""Many worlds of one mechanism in parallel: complete steps in compiled code on SIMD lanes, threads and GPUs."""

from hydromechs._lazy import lazy_names as _lazy_names

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {  # compile with CasADi and LLVM
        "._results": ("Rollout",),
        "._rollout": ("rollout",),
        "._shapes": ("seeds_of",),
        "._source": ("WorldMessage",),
        "._worlds": ("Worlds",),
    },
)

__all__ = _later
