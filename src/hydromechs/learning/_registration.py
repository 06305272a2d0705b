"""Names of the environments in Gymnasium."""

import dataclasses
from typing import Any

import gymnasium

from hydromechs.values import nearest

from ._environments import ArenaOptions, WorldEnv, WorldsVectorEnv
from ._manipulation import PickAndPlace, Reach
from ._task import Task
from ._tracking import StationKeeping, TrajectoryTracking
from ._walking import WalkAhead

TASKS: dict[str, type[Task]] = {
    kind.__name__: kind for kind in (StationKeeping, TrajectoryTracking, Reach, PickAndPlace, WalkAhead)
}
"""The tasks by name."""
OPTIONS = ("scenario", "render_mode", *ArenaOptions.__annotations__)
"""Arguments of all environments."""


def _split(task: str, given: dict[str, Any], more: tuple[str, ...] = ()) -> tuple[Task, dict[str, Any]]:
    """Return the task with its options, and the arguments of the environment."""
    kind = TASKS[task]
    own = [f.name for f in dataclasses.fields(kind)]  # type: ignore[arg-type]
    known = (*OPTIONS, *more, *own)
    for name in given:
        if name not in known:
            raise TypeError(f"{task} has no option {name!r}{nearest(name, known)}")
    return kind(**{k: x for k, x in given.items() if k in own}), {k: x for k, x in given.items() if k not in own}


def make_single(task: str, **options: Any) -> WorldEnv:
    """Return a single environment of one of `TASKS`, for `gymnasium.make`; options are those of the task and of `WorldEnv`."""
    what, others = _split(task, options)
    return WorldEnv(what, **others)


def make_vector(task: str, num_envs: int = 1, **options: Any) -> WorldsVectorEnv:
    """Return a vector environment, for `gymnasium.make_vec`; see `make_single` and `WorldsVectorEnv`."""
    what, others = _split(task, options, ("threads",))
    return WorldsVectorEnv(what, num_envs, **others)


def register() -> None:
    """Register `gymnasium.make("HydroMechs/StationKeeping-v0")` and others; done when this package is imported."""
    for name in TASKS:
        known_as = f"HydroMechs/{name}-v0"
        if known_as not in gymnasium.registry:
            gymnasium.register(
                known_as,
                entry_point="hydromechs.learning:make_single",
                vector_entry_point="hydromechs.learning:make_vector",
                kwargs={"task": name},
            )
