"""Many worlds of one mechanism at once: whole steps in compiled code, on lanes, threads and GPUs."""

from hydromechs._lazy import lazy_names as _lazy_names

_LATER = {  # compile with CasADi and LLVM
    "Rollout": "._results",
    "Worlds": "._worlds",
    "rollout": "._rollout",
}

__all__ = ["Rollout", "Worlds", "rollout"]

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
